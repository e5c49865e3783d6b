"""A run over shards ends in a verdict, and publishes only what passed."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp import seeding
from synthdp.config import parse
from synthdp.progress import Silent, Timer
from synthdp.release.metrics import Metrics
from synthdp.stages.sharded import judging
from synthdp.stages.streaming import running

N = 600


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeding, "BLOCK", 256)


def ran(folder: Path, sd: float, **more: Any) -> tuple[Metrics, Path]:
    draw = np.random.default_rng(5)
    z = draw.normal(size=N).round(2)
    frame = pd.DataFrame(
        {
            "z": z,
            "area": draw.choice(["a", "b"], N),
            "sex": draw.integers(0, 2, N),
            "age": (50 + 8 * z + 9 * draw.normal(size=N)).round(1),
        }
    )
    frame.to_parquet(folder / "people.parquet", index=False)
    config = parse(
        {
            "data": {"path": str(folder / "people.parquet")},
            "variables": {
                "z": {"key": False},
                "area": {"key": False},
                "sex": {"role": "replace", "key": True},
                "age": {"role": "replace", "key": True, "tolerance": 3},
            },
            "masks": {"age": {"method": "gaussian", "sd": sd}, "sex": {"method": "shifted_normal", "alpha": 0.3}},
            "synthesis": {"copies": 2},
            "evaluation": {"utility": ["panel"], "risk": ["identity", "identity_likelihood", "verbatim", "exposure"]},
            "release": {"format": "csv", "recorded_in": "none", "draws": 12, "max_memorised": None},
            "engine": {"streaming": True},
            "seed": 2**90 + 1,
        }
    )
    return running.run(config, out=folder / "out", timer=Timer(Silent()), **more)


def test_what_passes_is_published_with_its_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smaller = partial(judging.sample_of, size=400)  # than the file, which is what the pages count
    monkeypatch.setattr(judging, "sample_of", smaller)
    metrics, report = ran(tmp_path, 2.5)
    out = tmp_path / "out"
    assert metrics.gate["reasons"] == []
    assert sorted(path.name for path in (out / "public").iterdir())[-2:] == ["synthetic_01.csv", "synthetic_02.csv"]
    told = json.loads((out / "confidential" / "metrics.json").read_text())
    assert told["gate"]["draws"] == 12
    assert told["gate"]["sampled"]["of"] == N
    assert told["risk"]["identity_likelihood"]["sampled"]["candidates"] == "all"
    assert told["utility"]["panel"]["sampled"]["of"] == N
    assert "Judged shard by shard" in report.read_text()
    assert f"The file has {N} records" in report.read_text()
    assert (out / "confidential" / "dossier.html").is_file()
    assert not (out / "confidential" / "work").exists()


def test_what_is_refused_is_not(tmp_path: Path) -> None:
    metrics, report = ran(tmp_path, 0.02)
    assert metrics.gate["verdict"] == "refused"
    assert not (tmp_path / "out" / "public").exists()
    at_risk = pd.read_csv(tmp_path / "out" / "confidential" / "records_at_risk.csv")
    assert at_risk["record"].between(1, N).all()
    assert len(at_risk) > 20
    assert "people were looked for, some at random and the most exposed" in " ".join(
        (tmp_path / "out" / "confidential" / "dossier.html").read_text().split()
    )
    assert report.is_file()
