"""A real browser for tests of pages, and JavaScript without one; both skip with the reason where there is none."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("SYNTHDP_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
NODE = shutil.which("node")


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a headless Chromium of this machine, driven by playwright."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install synthdp[dev])")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (apt-get install chromium)")
    with driver.sync_playwright() as playwright:
        # a container's root has no sandbox of its own
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-extensions", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=quiet)
        try:
            yield browser
        finally:
            browser.close()


def computed(source: str, expression: str, given: Any, folder: Path) -> Any:
    """Return what JavaScript makes of ``given``, in node where it is there and in Chromium otherwise."""
    if NODE is not None:
        script = folder / "script.js"
        told = f"process.stdout.write(JSON.stringify(({expression})({json.dumps(given)})));"
        script.write_text(f"{source}\n{told}", encoding="utf-8")
        done = subprocess.run([NODE, str(script)], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr[-800:]
        return json.loads(done.stdout)
    with chromium() as browser:
        page = browser.new_page()
        return page.evaluate(f"(given) => {{ {source}\n return ({expression})(given); }}", given)
