"""The gate with nothing but its defaults: refuses what gives people away, passes what does not, and dies cleanly.

Sound copies are made by da_mi with wide masks from a simulated registry; each way of cheating is planted in files that
are otherwise like them.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import api, io
from synthdp.cli import app
from synthdp.datasets import registry

ROOT = Path(__file__).parents[2]
PATIENCE = 120
N = 1000
MASKED = ("age", "disease_duration", "sex", "education", "race")
VARIABLES = """\
data: {path: registry.csv}
variables:
  age: {kind: continuous, role: replace, key: true, bounds: [18, 95], tolerance: 3}
  disease_duration: {kind: continuous, role: replace, key: true, bounds: [0, 60], tolerance: 2}
  sex: {role: replace, key: true}
  education: {role: replace, key: true}
  race: {role: replace, key: true}
"""
MASKS = """\
masks:
  age: {method: gaussian, sd: %g}
  disease_duration: {method: gaussian, sd: %g}
  sex: {method: shifted_normal, alpha: 0.5}
  education: {method: shifted_normal, alpha: 0.5}
  race: {method: shifted_normal, alpha: 0.5}
synthesis: {copies: 3}
"""


@pytest.fixture(scope="module")
def original() -> pd.DataFrame:
    return registry(N, rng=np.random.default_rng(11))


@pytest.fixture(scope="module")
def folder(original: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gate")
    io.write(original, made / "registry.csv", format="csv")
    (made / "config.yaml").write_text(VARIABLES)
    return made


@pytest.fixture(scope="module")
def sound(folder: Path) -> tuple[pd.DataFrame, ...]:
    settings = api_settings(VARIABLES + MASKS % (2.0, 2.0))
    return api.synthesize(io.read(folder / "registry.csv"), settings, seed=5).copies


def api_settings(text: str) -> Any:
    import yaml

    return yaml.safe_load(text)


def judged(folder: Path, name: str, copies: list[pd.DataFrame]) -> dict[str, Any]:
    """Return the numbers of ``synthdp evaluate`` with default settings; it judges, so a refusal is no failure of it."""
    files = []
    for number, copy in enumerate(copies, start=1):
        files.append(folder / f"{name}_{number}.csv")
        io.write(copy, files[-1], format="csv")
    arguments = ["evaluate", folder / "config.yaml", "--synthetic", *files, "--out", folder / name, "--quiet"]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads((folder / name / "metrics.json").read_text())
    return found


def refusing(metrics: dict[str, Any]) -> set[tuple[str, str]]:
    return {(check["attack"], check["name"]) for check in metrics["gate"]["checks"] if not check["passed"]}


def test_a_sound_release_passes(folder: Path, sound: tuple[pd.DataFrame, ...]) -> None:
    metrics = judged(folder, "sound", list(sound))
    assert (metrics["gate"]["passed"], metrics["gate"]["reasons"]) == (True, [])
    assert {check["attack"] for check in metrics["gate"]["checks"]} >= {
        *("identity", "identity_averaged", "identity_linked", "identity_likelihood", "verbatim")
    }


def test_the_raw_file_is_refused_by_every_attack(folder: Path, original: pd.DataFrame) -> None:
    metrics = judged(folder, "raw", [original])
    assert not metrics["gate"]["passed"]
    assert {attack for attack, _ in refusing(metrics)} >= {
        *("identity", "identity_averaged", "identity_linked", "identity_likelihood", "verbatim")
    }
    distinct = len(original[list(MASKED)].drop_duplicates())
    assert metrics["risk"]["identity_likelihood"]["expected_links"] == pytest.approx(distinct)  # the ceiling
    assert metrics["risk"]["identity"]["expected_match"] == metrics["risk"]["original"]["expected_match"]


def test_noise_of_one_percent_is_refused(folder: Path, original: pd.DataFrame) -> None:
    draw = np.random.default_rng(3)
    noise = {
        name: original[name] + draw.normal(0, 0.01 * original[name].std(), N) for name in ("age", "disease_duration")
    }
    metrics = judged(folder, "one_percent", [original.assign(**noise)])
    assert not metrics["gate"]["passed"]
    assert {attack for attack, _ in refusing(metrics)} >= {*("identity", "identity_averaged", "identity_likelihood")}
    assert metrics["risk"]["identity_likelihood"]["expected_links_rate"] > 0.5


def test_noise_that_is_shaped_around_the_tolerance_is_refused_by_its_likelihood(
    folder: Path, original: pd.DataFrame
) -> None:
    draw = np.random.default_rng(4)
    shell = original["age"] + draw.choice([-1, 1], N) * draw.uniform(3.1, 4, N)
    metrics = judged(folder, "shell", [original.assign(age=shell)])
    assert not metrics["gate"]["passed"]
    for name in ("identity", "identity_averaged", "identity_linked"):
        assert metrics["risk"][name]["expected_match"] == 0.0
    assert refusing(metrics) == {("identity_likelihood", "max_expected_match_rate")}


def test_three_rows_copied_over_are_refused(
    folder: Path, original: pd.DataFrame, sound: tuple[pd.DataFrame, ...]
) -> None:
    planted = sound[0].copy()
    names = list(MASKED)
    planted.loc[[10, 500, 900], names] = original.loc[[10, 500, 900], names]
    metrics = judged(folder, "planted", [planted])
    assert not metrics["gate"]["passed"]
    assert ("verbatim", "max_excess_verbatim") in refusing(metrics)
    assert metrics["risk"]["verbatim"]["rows"] >= 3
    # the same file without them passes, so it is they who are found
    assert judged(folder, "unplanted", [sound[0]])["gate"]["passed"]


def test_tables_in_memory_are_judged_alike(
    folder: Path, original: pd.DataFrame, sound: tuple[pd.DataFrame, ...]
) -> None:
    settings = api_settings(VARIABLES)
    frame = io.read(folder / "registry.csv")
    assert api.evaluate(frame, [frame], settings)["gate"]["passed"] is False
    assert api.evaluate(frame, list(sound), settings)["gate"]["passed"] is True


# killed in mid-gate


class Run:
    """One real ``synthdp run`` in its own process."""

    def __init__(self, config: Path, out: Path, *options: str) -> None:
        self.out = out
        command = [sys.executable, "-m", "synthdp", "run", config, "--out", out, "--quiet", *options]
        self.process = subprocess.Popen([str(part) for part in command], cwd=ROOT, stderr=subprocess.PIPE, text=True)

    def finish(self) -> int:
        self.process.communicate(timeout=PATIENCE)
        return int(self.process.returncode)


SEED = ("--seed", str(2**100 + 7))


@pytest.fixture(scope="module")
def refused(folder: Path) -> tuple[Path, Path, dict[str, float]]:
    """Return the config of a run that is refused, the folder of such a run, and how long its stages took."""
    # learning columns by trees and tables of three columns make the evaluation the longest stage
    text = VARIABLES + MASKS % (0.02, 0.02)
    config = folder / "narrow.yaml"
    config.write_text(text + "evaluation: {utility: [pmse, tables, prediction], table_ways: [1, 2, 3]}\n")
    whole = Run(config, folder / "whole", *SEED)
    assert whole.finish() == 3
    return config, whole.out, json.loads((whole.out / "confidential" / "manifest.json").read_text())["timings"]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.7])
def test_killed_in_mid_gate_leaves_nothing_public_and_going_on_refuses_again(
    refused: tuple[Path, Path, dict[str, float]], tmp_path: Path, share: float
) -> None:
    config, whole, seconds = refused
    run = Run(config, tmp_path / "out", *SEED)
    while not (run.out / "confidential" / "manifest.json").exists():
        assert run.process.poll() is None
        time.sleep(0.001)
    time.sleep(seconds["synthesise"] + share * seconds["evaluate"])
    assert run.process.poll() is None, "the run was over before it was killed"
    run.process.kill()
    run.process.communicate(timeout=PATIENCE)
    assert not list(run.out.glob("*public*"))
    assert not (run.out / "confidential" / "metrics.json").exists()  # it had not come to a verdict
    again = Run(config, run.out, *SEED, "--resume")
    assert again.finish() == 3
    assert sorted(path.name for path in run.out.iterdir()) == ["confidential"]
    gates = [json.loads((out / "confidential" / "metrics.json").read_text())["gate"] for out in (whole, run.out)]
    assert gates[0] == gates[1]
    assert gates[0]["reasons"]
    assert json.loads((run.out / "confidential" / "manifest.json").read_text())["status"] == "refused"
