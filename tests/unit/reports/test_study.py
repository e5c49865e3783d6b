"""Every study has a page that its committed results reproduce; a run that was stopped goes on where it was."""

import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from setuptools import find_packages

from reports import STUDIES, load
from reports.cells import draws, first_of_all_first
from reports.markdown import table_of
from reports.study import KEPT, Study, replicated, shared_data
from synthdp.errors import InputError

ROOT = Path(__file__).parents[3]


def doubled(r: int) -> np.ndarray:
    return np.array([2.0 * r, np.nan])


def tripled(r: int, *, seed: int) -> float:
    return 3.0 * (r + 1) if seed == 3 else 0.0


def kinds(part: str, case: str, number: int, *, data: Path) -> dict:
    return {"verdict": f"{part} {case} {number}"}


DOUBLED = Study(
    name="doubled",
    cells=lambda asked: ({"r": r} for r in range(asked or 5)),
    work=doubled,
    results=lambda lines: {"sum": float(draws(lines)[:, 0].sum())},
    page=lambda results, settings: f"{results['sum']:g} of {settings['replications']}, seed {settings['seed']}",
    settings={"seed": 1},
)
KINDS = Study(
    name="kinds",
    cells=lambda most: first_of_all_first([("a", "x", 3), ("b", "y", 1)], most),
    work=kinds,
    results=lambda lines: {"verdicts": [line["verdict"] for line in lines]},
    page=lambda results, settings: ", ".join(results["verdicts"]),
    reads_data=True,
    committed="verdicts.jsonl",
)


class Counting:
    """Work that counts its cells, and stops after some of them."""

    def __init__(self, stop_after: int = 100) -> None:
        self.cells, self.stop_after = [], stop_after

    def __call__(self, r: int) -> np.ndarray:
        if len(self.cells) == self.stop_after:
            raise KeyboardInterrupt
        self.cells.append(r)
        return doubled(r)


# written, not run yet: none
WITHOUT_RESULTS: set[str] = set()


def test_only_studies_that_were_not_run_have_no_results():
    assert {name for name in STUDIES if not (ROOT / "reports" / name / "results.json").exists()} == WITHOUT_RESULTS


@pytest.mark.parametrize("name", sorted(set(STUDIES) - WITHOUT_RESULTS))
def test_the_page_is_what_the_committed_results_say(name):
    study, folder = load(name), ROOT / "reports" / name
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert study.name == record["study"] == name
    assert record["command"].startswith(f"python -m reports {name}")
    if study.committed:
        lines = [json.loads(line) for line in (folder / study.committed).read_text(encoding="utf-8").splitlines()]
        assert json.loads(json.dumps(study.results(lines))) == record["results"]
    page = study.page(record["results"], record["settings"]).rstrip() + "\n"
    assert page == (folder / "README.md").read_text(encoding="utf-8")
    assert f"python -m reports {name}" in page


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_writes_results_and_page(tmp_path, jobs):
    assert DOUBLED.run(out=tmp_path, jobs=jobs) == {"sum": 20.0}
    assert (tmp_path / "README.md").read_text() == "20 of 5, seed 1\n"
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["settings"] == {"seed": 1, "replications": 5}
    assert record["command"] == "python -m reports doubled"
    # fewer are a look at the first ones
    assert DOUBLED.run(out=tmp_path, replications=3) == {"sum": 6.0}


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    stopped = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        replace(DOUBLED, work=stopped).run(out=tmp_path, jobs=1)
    rest = Counting()
    assert replace(DOUBLED, work=rest).run(out=tmp_path, jobs=1) == {"sum": 20.0}
    assert (stopped.cells, rest.cells) == ([0, 1], [2, 3, 4])
    assert json.loads((tmp_path / "results.json").read_text())["cells_of_earlier_runs"] == 2


@pytest.mark.parametrize("left", [1, 5, 20])
def test_a_run_killed_in_mid_line_goes_on_after_the_last_whole_one(tmp_path, left):
    DOUBLED.run(out=tmp_path, jobs=1)
    whole = (tmp_path / KEPT).read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    (tmp_path / KEPT).write_bytes(whole[: len(whole) - len(last) + left])
    rest = Counting()
    assert replace(DOUBLED, work=rest).run(out=tmp_path, jobs=1) == {"sum": 20.0}
    assert rest.cells == [4]
    assert (tmp_path / KEPT).read_bytes() == whole


def test_a_run_killed_in_its_first_line_starts_anew(tmp_path):
    (tmp_path / KEPT).write_bytes(b'{"setti')
    assert DOUBLED.run(out=tmp_path, jobs=1) == {"sum": 20.0}


def test_results_of_another_run_are_refused(tmp_path):
    DOUBLED.run(out=tmp_path, jobs=1)
    with pytest.raises(InputError, match=r"cells\.jsonl: holds results of another run; remove it, or give another"):
        replace(DOUBLED, settings={"seed": 2}).run(out=tmp_path, jobs=1)


def test_committed_lines_are_all_reported_and_the_page_follows_them(tmp_path):
    assert [cell["case"] + str(cell["number"]) for cell in KINDS.cells(None)] == ["x0", "y0", "x1", "x2"]
    KINDS.run(out=tmp_path, jobs=1, data=tmp_path)
    assert len(KINDS.run(out=tmp_path, replications=1, jobs=1, data=tmp_path)["verdicts"]) == 4
    lines = (tmp_path / "verdicts.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "verdicts.jsonl").write_text("".join(lines[:2]))
    KINDS.rewrite(tmp_path)
    assert (tmp_path / "README.md").read_text() == "a x 0, b y 0\n"
    assert json.loads((tmp_path / "results.json").read_text())["results"]["verdicts"] == ["a x 0", "b y 0"]


def test_replications_with_one_seed(tmp_path):
    study = replicated("tripled", 4, tripled, lambda draws: [float(draws.sum())], DOUBLED.page, seed=3, n=7)
    assert study.settings == {"n": 7, "seed": 3}
    assert replace(study, page=lambda results, settings: str(results)).run(out=tmp_path) == {"rows": [30.0]}


def test_without_the_shared_data(monkeypatch):
    monkeypatch.delenv("SYNTHDP_SHARED_DATA", raising=False)
    with pytest.raises(SystemExit, match="give their folder with --data, or set SYNTHDP_SHARED_DATA"):
        shared_data()


def test_table_of_results():
    rows = [{"a": 1, "b": None}, {"a": 2, "b": 0.5}]
    assert table_of(rows) == "| a | b |\n| --- | --- |\n| 1 | – |\n| 2 | 0.5 |"
    assert table_of(rows, ("a",), ("A",)) == "| A |\n| --- |\n| 1 |\n| 2 |"


def test_the_command_writes_a_page_without_computing(tmp_path):
    for name in ("results.json", "README.md"):
        (tmp_path / name).write_bytes((ROOT / "reports" / "kinds" / name).read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    command = [sys.executable, "-m", "reports", "kinds", "--page", "--out", str(tmp_path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said == f"Written to {tmp_path}.\n"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_studies_are_not_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = find_packages(str(ROOT), **project["tool"]["setuptools"]["packages"]["find"])
    assert "synthdp.table" in packages
    assert {name.split(".")[0] for name in packages} == {"synthdp"}
