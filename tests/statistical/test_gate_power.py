"""The commands with the gate's default limits: refuse what gives people away, pass what does not, and die cleanly.

How often the gate errs in either direction is the study's business (reports/gate, test_gate_study.py); here one file of
each kind goes the whole way of a user.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from reports.gate.cases import N, cases, fine, gaussian, shell
from synthdp import api
from synthdp.cli import app
from synthdp.table import io

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENCE = 240
SEED = 2**100 + 7
KEYS = ("a", "b", "c")
SETTINGS: dict[str, Any] = {
    "data": {"path": "original.csv"},
    **cases(Path())["fine measurements"].settings,
    "masks": gaussian(5.0, *KEYS),
    "synthesis": {"copies": 3},
    "evaluation": {"utility": []},
    "seed": SEED,
}
EVERYBODY = {"identity", "identity_averaged", "identity_linked", "identity_likelihood", "identity_public"}


@pytest.fixture(scope="module")
def original() -> pd.DataFrame:
    return fine(np.random.default_rng(11)).round(6)


@pytest.fixture(scope="module")
def folder(original: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gate")
    io.write(original, made / "original.csv", format="csv")
    (made / "sound.yaml").write_text(yaml.safe_dump(SETTINGS))
    narrow = SETTINGS | {"masks": gaussian(0.02, *KEYS), "release": {"draws": 12}}
    (made / "narrow.yaml").write_text(yaml.safe_dump(narrow))
    return made


def command(*arguments: object) -> int:
    return CliRunner().invoke(app, [str(argument) for argument in (*arguments, "--quiet")]).exit_code


def judged(folder: Path, name: str, *copies: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of ``synthdp evaluate`` with default settings; it judges, so a refusal is no failure of it."""
    files = [folder / f"{name}_{number}.csv" for number in range(len(copies))]
    for copy, file in zip(copies, files, strict=True):
        io.write(copy, file, format="csv")
    assert command("evaluate", folder / "sound.yaml", "--synthetic", *files, "--out", folder / name) == 0
    found: dict[str, Any] = json.loads((folder / name / "metrics.json").read_text())
    return found


def noisy(original: pd.DataFrame, draw: Callable[[], Any]) -> pd.DataFrame:
    """Return the original with noise in sds of each key; ``c`` is never negative."""
    made = {name: original[name] + original[name].std() * draw() for name in KEYS}
    return original.assign(**made).clip(lower=pd.Series({"z": -np.inf, "a": -np.inf, "b": -np.inf, "c": 0.0}), axis=1)


def refusing(metrics: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["attack"], one["name"]) for one in metrics["gate"]["checks"] if not one["passed"]}


def gate_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "confidential" / "metrics.json").read_text())["gate"]
    return found


# whole runs


def test_wide_masks_are_published(folder: Path) -> None:
    assert command("run", folder / "sound.yaml", "--out", folder / "sound") == 0
    gate = gate_of(folder / "sound")
    assert (gate["passed"], gate["basis"], gate["draws"], gate["advice"]) == (True, "draws", 20, {})
    assert {one["attack"] for one in gate["checks"]} >= EVERYBODY | {"identity_bayes", "verbatim", "memorised", "panel"}
    assert (folder / "sound" / "public" / "SHA256SUMS").is_file()


@pytest.fixture(scope="module")
def refused(folder: Path) -> dict[str, Any]:
    """Return the verdict on narrow masks, from a run that nobody disturbed."""
    assert command("run", folder / "narrow.yaml", "--out", folder / "narrow") == 3
    assert [path.name for path in (folder / "narrow").iterdir()] == ["confidential"]
    return gate_of(folder / "narrow")


def test_narrow_masks_are_refused_by_everybody(refused: dict[str, Any]) -> None:
    found = {one["attack"] for one in refused["checks"] if one["name"] == "max_individual" and not one["passed"]}
    assert found >= EVERYBODY | {"identity_bayes"}


DYING = """
import os, signal, sys
from pathlib import Path
from synthdp import pipeline
from synthdp.config import load
from synthdp.evaluation.gate.inquiry import Averages

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

add = Averages.add
def third(self, drawn):
    add(self, drawn)
    self.draws < 3 or die()

if sys.argv[3] == "between draws":
    Averages.add = third
else:
    pipeline.advise_on = die
pipeline.run(load(Path(sys.argv[1])), out=Path(sys.argv[2]))
"""


@pytest.mark.parametrize("moment", ["between draws", "after the verdict"])
def test_killed_in_mid_gate_leaves_nothing_public_and_going_on_refuses_again(
    folder: Path, refused: dict[str, Any], tmp_path: Path, moment: str
) -> None:
    out = tmp_path / "out"
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(folder / "narrow.yaml"), str(out), moment], cwd=ROOT, timeout=PATIENCE
    )
    assert died.returncode == -signal.SIGKILL
    assert not list(out.glob("*public*"))
    assert not (out / "confidential" / "metrics.json").exists()  # no verdict was written
    assert command("run", folder / "narrow.yaml", "--out", out, "--resume") == 3
    assert [path.name for path in out.iterdir()] == ["confidential"]
    assert gate_of(out) == refused
    assert json.loads((out / "confidential" / "manifest.json").read_text())["status"] == "refused"


# files made elsewhere, judged as they are


def test_the_raw_file_is_refused_by_every_attack(folder: Path, original: pd.DataFrame) -> None:
    metrics = judged(folder, "raw", original)
    assert not metrics["gate"]["passed"]
    assert {attack for attack, _ in refusing(metrics)} >= EVERYBODY | {"verbatim"}
    # everybody is unique, so that whoever reads the likelihood finds all of them
    assert metrics["risk"]["identity_likelihood"]["expected_links"] == pytest.approx(N)
    assert metrics["risk"]["identity"]["expected_match"] == metrics["risk"]["original"]["expected_match"]


def test_noise_of_one_percent_is_refused(folder: Path, original: pd.DataFrame) -> None:
    draw = np.random.default_rng(3)
    metrics = judged(folder, "one_percent", noisy(original, lambda: 0.01 * draw.normal(size=N)))
    assert not metrics["gate"]["passed"]
    assert {attack for attack, _ in refusing(metrics)} >= EVERYBODY
    assert metrics["risk"]["identity_likelihood"]["expected_links_rate"] > 0.5


def test_noise_that_is_shaped_around_the_tolerance_is_refused_by_its_likelihood(
    folder: Path, original: pd.DataFrame
) -> None:
    draw = np.random.default_rng(4)
    metrics = judged(folder, "shell", noisy(original, lambda: shell(draw, N)))
    for name in ("identity", "identity_averaged"):
        assert metrics["risk"][name]["expected_match"] == 0.0
    assert ("identity_likelihood", "max_expected_match_rate") in refusing(metrics)


def test_three_rows_copied_over_are_refused(folder: Path, original: pd.DataFrame) -> None:
    made = api.synthesize(io.read(folder / "original.csv"), SETTINGS, seed=5).copies[0]
    planted = made.copy()
    planted.loc[[10, 150, 290], list(KEYS)] = original.loc[[10, 150, 290], list(KEYS)]
    copied = ("verbatim", "max_excess_verbatim")
    metrics = judged(folder, "planted", planted)
    assert not metrics["gate"]["passed"]
    assert copied in refusing(metrics)
    assert metrics["risk"]["verbatim"]["rows"] >= 3
    # the same file without them is not, so it is they who are found
    assert copied not in refusing(judged(folder, "unplanted", made))


def test_tables_in_memory_are_judged_alike(folder: Path) -> None:
    frame = io.read(folder / "original.csv")
    found = api.evaluate(frame, [frame], SETTINGS)["gate"]
    assert found["passed"] is False
    assert found["checks"] == json.loads((folder / "raw" / "metrics.json").read_text())["gate"]["checks"]
