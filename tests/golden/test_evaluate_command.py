"""``synthdp evaluate`` on files of other tools and on our own releases, through the real command line.

The published re-identification risks come from the DA-MI authors' R function; the files and the numbers lie beside
each other in ``published/matching``.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED
from typer.testing import CliRunner

from synthdp import pipeline
from synthdp.cli import app
from synthdp.config import load
from synthdp.evaluation.gate.limits import OFF
from synthdp.table import io

ROOT = Path(__file__).parents[2]
PUBLISHED = SHARED / "published" / "matching"
CATEGORICAL = ("Gender", "NewWhite", "MoreThanHighSchool")
TOLERANCES = (1, 3, 5)
SEED = 0xC0FFEE_5EED_0000_0000_1234
published = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published matching files are not on this machine")

CONFIG = """\
version: 1
data: {path: %s}
variables:
  Age_raw: {kind: continuous, role: replace, key: true, tolerance: 3}
  Gender: {kind: binary, role: replace, key: true, levels: [0, 1]}
  NewWhite: {kind: binary, role: replace, key: true, levels: [0, 1]}
  MoreThanHighSchool: {kind: binary, role: replace, key: true, levels: [0, 1]}
"""


def command(*args: object) -> Any:
    return CliRunner().invoke(app, ["evaluate", *map(str, args)])


def metrics(out: Path) -> dict[str, Any]:
    assert sorted(path.name for path in out.iterdir()) == ["metrics.json", "report.html"]
    found: dict[str, Any] = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def matching(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    folder = tmp_path_factory.mktemp("matching")
    (folder / "config.yaml").write_text(CONFIG % (PUBLISHED / "original.csv"))
    return folder / "config.yaml", [PUBLISHED / f"copy_{number}.csv" for number in (1, 2, 3)]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PUBLISHED / "expected.json").read_text())
    return found


def check(section: dict[str, Any], wanted: dict[str, float]) -> None:
    assert len(wanted) == 9
    assert {key: section[key] for key in wanted} == pytest.approx(wanted, rel=0, abs=1e-9)


@published
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_published_risks(
    matching: tuple[Path, list[Path]], expected: dict[str, Any], tmp_path: Path, tolerance: int
) -> None:
    config, copies = matching
    override = f"variables.Age_raw.tolerance={tolerance}"
    done = command(config, "--synthetic", *copies, "--out", tmp_path / "out", "--set", override)
    assert done.exit_code == 0, done.output
    risk = metrics(tmp_path / "out")["risk"]
    check(risk["identity"], expected[f"tolerance {tolerance}"]["copies"])
    check(risk["identity_averaged"], expected[f"tolerance {tolerance}"]["averaged"])
    itself = f"original against itself, tolerance {tolerance}"
    if itself in expected:
        check(risk["original"], expected[itself])


@published
def test_no_published_setting_is_left_out(expected: dict[str, Any]) -> None:
    settings = {f"tolerance {tolerance}" for tolerance in TOLERANCES}
    assert set(expected) == settings | {f"original against itself, tolerance {tolerance}" for tolerance in (3, 5)}
    assert all(set(expected[setting]) == {"copies", "averaged"} for setting in settings)


@published
def test_the_original_given_as_a_copy_is_the_original_against_itself(
    matching: tuple[Path, list[Path]], expected: dict[str, Any], tmp_path: Path
) -> None:
    config, _ = matching
    done = command(config, "--synthetic", PUBLISHED / "original.csv", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = metrics(tmp_path / "out")
    for attack in ("identity", "identity_averaged", "original"):
        check(found["risk"][attack], expected["original against itself, tolerance 3"])
    assert found["utility"]["pmse"]["logit"]["value"] == pytest.approx(0, abs=1e-12)
    assert found["gate"]["passed"] is False


@published
def test_as_a_process(matching: tuple[Path, list[Path]], expected: dict[str, Any], tmp_path: Path) -> None:
    config, copies = matching
    line = [sys.executable, "-m", "synthdp", "evaluate", config, "--synthetic", *copies, "--out", tmp_path / "out"]
    done = subprocess.run([str(word) for word in line], cwd=ROOT, capture_output=True, text=True, check=False)
    # a judgement is no refusal: the gate's verdict is shown, the command succeeds
    assert done.returncode == 0, done.stderr
    assert f"report: {tmp_path / 'out' / 'report.html'}" in done.stdout
    assert "REFUSED" in done.stdout
    found = metrics(tmp_path / "out")
    check(found["risk"]["identity"], expected["tolerance 3"]["copies"])
    check(found["risk"]["identity_averaged"], expected["tolerance 3"]["averaged"])
    assert set(found) == {"version", "utility", "risk", "privacy", "gate", "timings", "cautions"}
    assert found["privacy"] == {"epsilon": None, "masking": []}


@published
def test_the_order_of_the_copies_and_the_spelling_of_levels_do_not_matter(
    matching: tuple[Path, list[Path]], expected: dict[str, Any], tmp_path: Path
) -> None:
    # the original writes MoreThanHighSchool as 1.0 and the copies as 1; here as 1.0 and as truth values
    config, copies = matching
    spelt = []
    for number, path in enumerate(reversed(copies)):
        frame = pd.read_csv(path)
        for name in CATEGORICAL:
            frame[name] = frame[name].astype(bool if number else float)
        spelt.append(tmp_path / f"spelt_{number}.parquet")
        io.write(frame, spelt[-1], format="parquet")
    done = command(config, "--synthetic", *spelt, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    check(metrics(tmp_path / "out")["risk"]["identity"], expected["tolerance 3"]["copies"])


# our own releases


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """Return a config beside its data, the folder of its run, and the run's own metrics."""
    folder = tmp_path_factory.mktemp("registry")
    for name in ("registry_small.yaml", "registry_small.csv"):
        shutil.copy(ROOT / "data" / name, folder / name)
    config = folder / "registry_small.yaml"
    outcome = pipeline.run(
        load(config, [f"seed={SEED}", f"release={json.dumps(OFF.model_dump())}"]), out=folder / "out"
    )
    assert outcome.passed
    return config, folder / "out", json.loads((folder / "out" / "confidential" / "metrics.json").read_text())


@pytest.mark.parametrize("given", ["", "public"])
def test_rows_of_a_release_cannot_be_traced(run: tuple[Path, Path, dict[str, Any]], tmp_path: Path, given: str) -> None:
    config, out, own = run
    done = command(config, "--synthetic", out / given, "--out", tmp_path / "judged")
    assert done.exit_code == 0, done.output
    found = metrics(tmp_path / "judged")
    reason = {"reason": "rows of these files cannot be traced to records (evaluation.rows: none)"}
    for attack in ("identity", "identity_averaged", "identity_likelihood"):
        assert found["risk"][attack] == reason
    # the kept columns tell an intruder, and us, which rows belong together
    assert found["risk"]["identity_linked"]["expected_match"] >= 0
    assert found["risk"]["verbatim"]["rows"] >= 0
    assert found["gate"]["passed"] is False
    assert "was not measured" in found["gate"]["reasons"][0]
    # usefulness needs no alignment, but the sums are taken in another order
    for analysis, before in zip(found["utility"]["analyses"], own["utility"]["analyses"], strict=True):
        assert analysis["mean_ci_overlap"] == pytest.approx(before["mean_ci_overlap"], rel=1e-6)
    pmse, before = (source["utility"]["pmse"]["logit"]["per_copy"] for source in (found, own))
    assert pmse == pytest.approx(before, rel=1e-6)


def test_the_row_order_gives_the_runs_own_risks(run: tuple[Path, Path, dict[str, Any]], tmp_path: Path) -> None:
    config, out, own = run
    rows = "evaluation.rows=out/confidential/rows.parquet"
    done = command(config, "--synthetic", out, "--out", tmp_path / "judged", "--set", rows)
    assert done.exit_code == 0, done.output
    risk = metrics(tmp_path / "judged")["risk"]
    assert set(risk) == set(own["risk"])
    for attack in risk:
        assert risk[attack] == own["risk"][attack], attack


def test_files_of_a_release_taken_for_aligned_are_not(run: tuple[Path, Path, dict[str, Any]], tmp_path: Path) -> None:
    config, out, own = run
    done = command(config, "--synthetic", out, "--out", tmp_path / "judged", "--set", "evaluation.rows=aligned")
    assert done.exit_code == 0, done.output
    wrong = metrics(tmp_path / "judged")["risk"]["identity"]
    assert wrong["mean_individual"] < own["risk"]["identity"]["mean_individual"]


# what cannot be judged


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 30), "name": "Zebulon", "sex": rng.choice(["F", "M"], 30)})
    io.write(frame, tmp_path / "original.csv", format="csv")
    io.write(frame.assign(age=frame["age"] + 1), tmp_path / "copy.csv", format="csv")
    io.write(frame.drop(columns="sex"), tmp_path / "lacking.csv", format="csv")
    io.write(frame[:-1], tmp_path / "shorter.csv", format="csv")
    (tmp_path / "config.yaml").write_text("data: {path: original.csv}\nvariables: {age: {key: true, tolerance: 1}}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "overrides", "sentence"),
    [
        (
            "lacking.csv",
            (),
            "{}/lacking.csv: lacks the columns sex; add them, or give them role: drop in the config.",
        ),
        (
            "shorter.csv",
            (),
            "{}/shorter.csv: evaluation.rows is aligned, so 30 rows are required, found 29; "
            "set evaluation.rows: none (aligned=False) for files whose rows are not the records.",
        ),
        ("nobody.csv", (), "{}/nobody.csv: no such file."),
        (".", (), "{}: a file or the folder of a release is required, found neither."),
        (
            "copy.csv",
            ("evaluation.rows=original.csv",),
            "evaluation.rows: original.csv holds no row order for copy.csv.",
        ),
        (
            "copy.csv",
            ("analyses=[{name: a, model: ols, formula: age ~ sexx}]",),
            "analyses.a: no column named 'sexx'; did you mean 'sex'?",
        ),
        ("copy.csv", ("variables.nobody.role=drop",), "variables.nobody: no such column in the data."),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(
    small: Path, name: str, overrides: tuple[str, ...], sentence: str
) -> None:
    options = [word for override in overrides for word in ("--set", override)]
    done = command(small / "config.yaml", "--synthetic", small / name, "--out", small / "out", "--quiet", *options)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert sentence.format(small) in line
    assert "Zebulon" not in done.output
    assert not (small / "out").exists()


def test_shorter_files_are_judged_without_alignment(small: Path) -> None:
    rows = ("--set", "evaluation.rows=none")
    done = command(small / "config.yaml", "--synthetic", small / "shorter.csv", "--out", small / "out", *rows)
    assert done.exit_code == 0, done.output
    assert "reason" in metrics(small / "out")["risk"]["identity"]


def test_a_full_folder_is_refused_before_the_work(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "assess_comparison", lambda *args: pytest.fail("the work was begun"))
    done = command(small / "config.yaml", "--synthetic", small / "copy.csv", "--out", small)
    assert done.exit_code == 2
    assert "the folder is not empty" in done.stderr


def test_the_report_of_other_peoples_files_shows_no_identifier(small: Path) -> None:
    dropped = ("--set", "variables.name.role=drop")
    done = command(small / "config.yaml", "--synthetic", small / "copy.csv", "--out", small / "out", *dropped)
    assert done.exit_code == 0, done.output
    page = (small / "out" / "report.html").read_text(encoding="utf-8")
    assert "Zebulon" not in page
    assert "Zebulon" not in (small / "out" / "metrics.json").read_text(encoding="utf-8")
