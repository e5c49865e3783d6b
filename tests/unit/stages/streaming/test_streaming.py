"""A run over shards makes the files that a run in memory makes, whatever the shards and the processes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp import release, seeding
from synthdp.config import parse
from synthdp.engine import Local
from synthdp.evaluation.gate.limits import OFF
from synthdp.progress import Silent, Timer
from synthdp.stages.intake import Source
from synthdp.stages.planning import plan_of
from synthdp.stages.publishing import publish, row_orders
from synthdp.stages.streaming import running
from synthdp.synthesis.making import make

SEED, BLOCK, RECORDS = 2**80 + 1, 64, 500
UNJUDGED = {name: value for name, value in OFF.model_dump().items() if value is None}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(seeding, "BLOCK", BLOCK)


def table(n: int = RECORDS) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    z = rng.normal(40, 12, size=n).round(1)
    gaps = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 9, size=n))
    area = rng.choice(["north", 'so"uth', "east, west"], size=n, p=[0.6, 0.3, 0.1])
    x = (0.5 * z + rng.normal(0, 8, size=n)).round(2)
    b = (0.05 * (z - 40) + rng.normal(size=n) > 0).astype(int)
    c = np.where(rng.random(n) < 0.4, "yes", "no")
    income = np.exp(rng.normal(7, 1, size=n) + 0.01 * z).round()
    return pd.DataFrame({"z": z, "b": b, "gaps": gaps, "area": area, "x": x, "c": c, "income": income})


def settings(path: Path, **further) -> dict:
    found = {
        "data": {"path": str(path)},
        "variables": {
            "x": {"role": "replace", "key": True},
            "income": {"role": "replace", "key": False, "bounds": [0, 1_000_000], "transform": "log"},
            "b": {"role": "replace", "key": True},
            "c": {"role": "replace", "key": False},
            **{name: {"key": False} for name in ("z", "gaps", "area")},
        },
        "masks": {"x": {"method": "gaussian", "sd": 0.7}},
        "synthesis": {"copies": 2},
        "release": {"format": "csv", "recorded_in": "none", **UNJUDGED},
        "seed": SEED,
    }
    return found | further


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.parquet"
    table().to_parquet(path, row_group_size=90)
    return path


def streamed(config, out, *, jobs=1, each=None, monkeypatch=None, study=False, resume=False):
    if each is not None:
        plain = running.reading.shard_rows

        def cut(*args, **kwargs):
            job = plain(*args, **kwargs)
            return type(job)(job.folder, job.records, job.block, each)

        monkeypatch.setattr(running.reading, "shard_rows", cut)
    timer = Timer(Silent())
    return running.run(
        config, out=out, engine=Local(jobs), timer=timer, jobs=jobs, memory=4e9, study=study, resume=resume
    )


def in_memory(config, out) -> Path:
    source = Source.of(config)
    plan = plan_of(config, source.data)
    streams = seeding.Streams(SEED)
    made = make(config.synthesis, plan, streams=streams)
    out.mkdir()
    publish(config, source.data, made, row_orders(config, made, streams), out, source.table)
    return out / "public"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(("each", "jobs"), [(1, 1), (100, 1), (3, 2)])
def test_the_files_are_those_of_a_run_in_memory(file, tmp_path, monkeypatch, each, jobs):
    config = parse(settings(file))
    streamed(config, tmp_path / "shards", jobs=jobs, each=each, monkeypatch=monkeypatch)
    found, wanted = contents(tmp_path / "shards" / "public"), contents(in_memory(config, tmp_path / "memory"))
    for name in ("synthetic_01.csv", "synthetic_02.csv", "codebook.csv"):
        assert found[name] == wanted[name], name
    told, plain = (json.loads(one["release.json"]) for one in (found, wanted))
    assert told == {key: value for key, value in plain.items() if key != "documents"}
    assert not (tmp_path / "shards" / "confidential" / "work").exists()
    assert release.verify(tmp_path / "shards") == []
