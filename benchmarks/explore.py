"""The workbench at 100,000 records of 30 columns: its first screen, a slider's answer, memory over 500 interactions.

python benchmarks/explore.py            measures in a real browser (needs Debian's chromium)
python benchmarks/explore.py answers    what a slider's answer costs the server alone, without a browser
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright

RECORDS, INTERACTIONS = 100_000, 500
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
COUNTED = """async (about) => {
  const said = document.getElementById("masks-said"), before = said.textContent;
  const slider = document.getElementById(about);
  const came = new Promise((done) => new MutationObserver((_, seen) => {
    if (said.textContent !== before) { seen.disconnect(); done(performance.now()); }
  }).observe(said, {childList: true, subtree: true, characterData: true}));
  const began = performance.now();
  slider.dispatchEvent(new Event("change", {bubbles: true}));
  return (await came) - began;
}"""


def file(home: Path) -> None:
    """Write 100,000 records of 30 columns and their config."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "age": rng.integers(18, 90, RECORDS),
        "sex": rng.choice(["f", "m"], RECORDS),
        "income": np.exp(rng.normal(10, 0.5, RECORDS)).round(-2),
    }
    for k in range(9):
        columns |= {f"number{k}": rng.normal(size=RECORDS).round(2), f"count{k}": rng.poisson(3, RECORDS)}
        columns[f"level{k}"] = rng.choice(list("abcdef"), RECORDS)
    pd.DataFrame(columns).to_csv(home / "large.csv", index=False)
    key = {"role": "replace", "key": True}
    said = {
        "version": 1,
        "data": {"path": "large.csv"},
        "variables": {"age": {**key, "bounds_from": "data"}, "sex": key, "income": {**key, "bounds_from": "data"}},
        "masks": {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}},
        "synthesis": {"method": "da_mi", "copies": 3},
    }
    said["masks"]["income"] = {"method": "gaussian", "sd": 1.0}  # type: ignore[index]
    said["variables"] |= {name: {"key": False} for name in columns if name not in said["variables"]}  # type: ignore[operator]
    (home / "large.yaml").write_text(json.dumps(said))


class Workbench:
    """The command, and a page that is open in it."""

    def __init__(self, home: Path, given: str) -> None:
        self.began = time.perf_counter()
        command = [sys.executable, "-m", "synthdp", "explore", given, "--no-browser"]
        self.process = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found is not None
        self.address = found[0]
        self.up = time.perf_counter() - self.began

    @property
    def seconds(self) -> float:
        """Seconds of the processor that the server has taken."""
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def first(self, page: Page) -> float:
        """Return the seconds from opening the address to the table of columns."""
        began = time.perf_counter()
        page.goto(self.address)
        page.locator("#column-rows > tr").nth(1).wait_for()
        return time.perf_counter() - began

    @property
    def memory(self) -> float:
        """Megabytes of the server."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * 4096 / 1e6

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


def moved(page: Page, about: str, step: int) -> float:
    """Move a slider and return the milliseconds until the page says what came of it."""
    slider = page.locator(f'[id="{about}"]')
    slider.evaluate("(one, step) => { one.value = step; }", step)
    return float(page.evaluate(COUNTED, about))


def measure() -> None:
    """Print what was measured."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        home = Path(name)
        file(home)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for given in ("large.csv", "large.yaml"):
            bench = Workbench(home, given)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            took = bench.first(page)
            print(f"{given}: server up after {bench.up:.1f} s, first screen {took:.2f} s later, ", end="")
            print(f"{bench.seconds:.1f} s of the processor in all; load {os.getloadavg()[0]:.0f}")
            if given == "large.csv":
                bench.end()
                page.close()
                time.sleep(1)
        page.locator('[id="view|masks"]').click()
        page.locator('[id="slide|mask|0"]').wait_for()
        began = time.perf_counter()
        page.locator('[id="press|try|"]').click()
        page.get_by_text(re.compile("trying these settings")).wait_for(timeout=300_000)
        print(f"progress of a fresh trial is shown after {time.perf_counter() - began:.1f} s")
        page.locator("#map .scatterlayer .point").first.wait_for(state="attached", timeout=300_000)
        print(f"a fresh trial: {time.perf_counter() - began:.1f} s")
        moved(page, "slide|mask|0", 2)
        page.get_by_text("These settings: usefulness").wait_for(timeout=300_000)
        took_each, worked, held = [], [], []
        for k in range(INTERACTIONS):
            before = bench.seconds
            took_each.append(moved(page, "slide|mask|0", 2 * (k % 2)))
            worked.append(1000 * (bench.seconds - before))
            if k % 100 == 99:
                held.append(bench.memory)
        quantiles = np.quantile(took_each, [0.5, 0.95, 1.0])
        print("cached answers in the browser: median {:.0f} ms, 95% {:.0f} ms, worst {:.0f} ms".format(*quantiles))
        print(f"the server worked {np.mean(worked):.0f} ms for each, load {os.getloadavg()[0]:.0f}")
        print("memory after each 100 interactions:", ", ".join(f"{one:.0f} MB" for one in held))
        bench.end()
        browser.close()


def answers() -> None:
    """Print what a cached answer costs the server alone, without a browser, and what memory does meanwhile."""
    from synthdp.explore import steering
    from synthdp.explore.desk import Desk
    from synthdp.explore.masks import steps_of
    from synthdp.explore.session import Session
    from synthdp.explore.trials import laboratory

    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        file(home)
        desk = Desk(Session(home / "out"), home=home / "out")
        desk.open(home / "large.yaml")
        desk.ask_trial = lambda: None  # type: ignore[method-assign]
        lab = laboratory(desk.session.config, desk.session.opened.table, seed=1)  # type: ignore[union-attr]
        found = lab.try_out("explore", lab.space.shape(), 0, draws=2, whole=False, off=("max_memorised",)).plain()
        for step in (0, 2):
            desk.slide("mask", 0, step)
            steps, groups = steps_of(desk.session.config, desk.data())
            desk.shelf.keep(desk.session.config, found, steps=steps, groups=groups)
        worked, took, held = [], [], []
        for k in range(INTERACTIONS):
            cpu, began = time.process_time(), time.perf_counter()
            desk.slide("mask", 0, 2 * (k % 2))
            json.dumps(steering.parts(desk), default=lambda one: one.to_plotly_json())
            worked.append(1000 * (time.process_time() - cpu))
            took.append(1000 * (time.perf_counter() - began))
            if k % 100 == 99:
                held.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6)
        for what, each in (("processor", worked), ("clock", took)):
            print("cached answers, {}: median {:.0f} ms, 95% {:.0f} ms".format(what, *np.quantile(each, [0.5, 0.95])))
        print(f"load {os.getloadavg()[0]:.0f}; memory after each 100:", ", ".join(f"{one:.0f} MB" for one in held))
        desk.close()


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    does = {"measure": measure, "answers": answers}
    parser.add_argument("what", nargs="?", choices=tuple(does), default="measure")
    what = parser.parse_args().what
    if CHROMIUM is None and what != "answers":
        parser.exit(2, "no chromium on this machine (apt-get install chromium)\n")
    does[what]()


if __name__ == "__main__":
    main()
