"""A person at a real browser: columns, a mask, the map, a config written, run here and on the command line, and a kill.

Debian's chromium is driven; without it these tests are skipped. Any request to another host fails them.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.cli.starting import settings as of_the_demo
from synthdp.datasets import anes96
from synthdp.stages.kept_advice import as_text, given_settings

from .conftest import people, settings

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (apt-get install chromium)"),
]
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
PLANTED = "Plantagenet"
PICTURE = Path(__file__).parents[3] / "docs" / "workbench.png"
QUICK = {"utility": ["analyses"], "risk": ["identity"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    frame = people().assign(name=PLANTED).rename(columns={"score": f"{PLANTED} score"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    said = settings(evaluation=QUICK, release={"recorded_in": "none", "draws": 12, "max_memorised": None})
    said["variables"] = {**said["variables"], "name": {"key": False}}  # type: ignore[dict-item]
    said["variables"][f"{PLANTED} score"] = said["variables"].pop("score")  # type: ignore[index, attr-defined]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    return tmp_path


class Workbench:
    """The command, started as a person starts it."""

    def __init__(self, home: Path, given: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "synthdp", "explore", given, "--no-browser"],
            cwd=home,
            env=None,
            stdout=subprocess.PIPE,
            stderr=(home / "stderr.txt").open("w"),
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found, (home / "stderr.txt").read_text()
        self.address = found[0]

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=20)


@pytest.fixture
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "public").iterdir())}


def test_from_the_file_to_the_same_bytes_and_on_after_a_kill(home: Path, browser) -> None:  # type: ignore[no-untyped-def]
    bench = Workbench(home, "config.yaml")
    asked: list[str] = []
    try:
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(120_000)  # machines of CI are busy
        page.on("request", lambda request: asked.append(request.url))
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(bench.address)
        page.locator('[id="press|tour|skip"]').click()

        # the roles change, and change back
        role = page.locator('[id="column|role|3"]')
        role.select_option("drop")
        page.get_by_text("2 replaced, 1 kept, 1 dropped").wait_for()
        page.keyboard.press("Control+z")
        page.get_by_text("2 replaced, 2 kept, 0 dropped").wait_for()
        role.select_option("drop")
        page.get_by_text("2 replaced, 1 kept, 1 dropped").wait_for()
        page.locator("#filter").fill("sex")
        assert page.locator("#column-rows > tr:visible").count() == 1

        # who is alone
        page.locator('[id="view|unique"]').click()
        page.get_by_text("are alone on age, sex together").wait_for()
        page.locator("#unique-columns input").nth(1).uncheck()
        page.get_by_text("are alone on age together").wait_for()

        # a mask moves, and the map with it
        page.locator('[id="view|masks"]').click()
        page.locator('[id="slide|mask|0"]').focus()
        page.keyboard.press("ArrowRight")
        page.locator("#map .scatterlayer .point").first.wait_for(state="attached")
        page.get_by_text("These settings: usefulness").wait_for()
        first = page.locator("#masks-said").inner_text()
        page.locator('[id="slide|mask|0"]').focus()
        page.keyboard.press("ArrowRight")
        page.locator("#main tbody tr").nth(1).wait_for()
        page.get_by_text("These settings: usefulness").wait_for()
        assert page.locator("#masks-said").inner_text() != first
        page.keyboard.press("ArrowLeft")  # what was tried is answered at once
        page.get_by_text(first).wait_for()

        # the config is written, and runs
        page.locator('[id="view|run"]').click()
        page.locator("#config-path").fill(str(home / "chosen.yaml"))
        page.locator('[id="press|write|config-path"]').click()
        page.get_by_text("Written, read back and found to say the same").wait_for()
        page.locator('[id="press|run|"]').click()
        page.locator('[id="press|ended|"]').wait_for()
        (ran,) = [path for path in (home / "synthdp-out").iterdir() if not path.name.startswith("explore-")]
        page.locator('[id="press|ended|"]').click()
        page.get_by_text("What the gate checked").wait_for()
        with page.context.expect_page() as opened:
            page.get_by_text("the report: everything that was measured").click()
        opened.value.locator("#verdict").wait_for()

        # nothing was asked of others, nothing confidential is in an address or kept by the browser
        host = urlsplit(bench.address).netloc
        assert {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:"))} == {host}
        assert not [url for url in asked if PLANTED in url or "people" in url]
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        assert kept == '[{},{},""]'
        assert not wrong

        # the server is killed in the middle of a run
        time.sleep(1.1)  # the next run's folder has the next second's name
        page.locator('[id="view|run"]').click()
        page.locator('[id="press|run|"]').click()
        page.get_by_text(re.compile("Run: (judge|synthesise|tag|read)")).wait_for()
        bench.process.kill()
        bench.process.wait(timeout=10)
        page.get_by_text("The workbench has ended and answers no more").wait_for()
    finally:
        bench.process.kill()
    assert PLANTED not in (home / "stderr.txt").read_text()
    (cut,) = [path for path in (home / "synthdp-out").iterdir() if not path.name.startswith("explore-") and path != ran]
    assert not (cut / "public").exists()
    for _ in range(300):  # the worker ends with its session, and the folder is free then
        done = CliRunner().invoke(app, ["run", str(home / "chosen.yaml"), "--out", str(cut), "--resume", "--quiet"])
        if done.exit_code == 0:
            break
        assert "another run is writing into this folder" in done.output
        time.sleep(0.1)
    assert published(cut) == published(ran)


def test_the_picture_of_the_docs(tmp_path: Path, browser) -> None:  # type: ignore[no-untyped-def]
    """The masks of the bundled voters beside their map; written anew, with more trials, when SYNTHDP_REDRAW is set."""
    redrawn = bool(os.environ.get("SYNTHDP_REDRAW"))
    anes96().to_csv(tmp_path / "voters.csv", index=False)
    said = given_settings(of_the_demo(quick=True)) | {"version": 1, "data": {"path": "voters.csv"}}
    (tmp_path / "voters.yaml").write_text(as_text(said))
    bench = Workbench(tmp_path, "voters.yaml")
    try:
        page = browser.new_context(viewport={"width": 1180, "height": 800}, color_scheme="light").new_page()
        page.set_default_timeout(240_000)
        page.goto(bench.address)
        page.locator('[id="press|tour|skip"]').click()
        page.locator('[id="view|masks"]').click()
        page.locator('[id="press|try|"]').click()
        page.get_by_text("These settings: usefulness").wait_for()
        page.locator("#map .scatterlayer .point").first.wait_for(state="attached")
        if redrawn:
            page.locator('[id="press|around|"]').click()
            page.locator("#trials tbody tr").nth(4).wait_for()
            page.wait_for_timeout(1500)
        shot = PICTURE if redrawn else tmp_path / "workbench.png"
        page.screenshot(path=shot)
        # what README shows is still what the page shows: the same size, and no less drawn on it
        assert shot.read_bytes()[16:24] == PICTURE.read_bytes()[16:24]
        assert shot.stat().st_size > 0.5 * PICTURE.stat().st_size
    finally:
        bench.end()
