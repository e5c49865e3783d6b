"""A run over shards makes the files that a run in memory makes, whatever the shards and the processes."""

import errno
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from synthdp import release, seeding
from synthdp.config import parse
from synthdp.engine import Local
from synthdp.errors import GateRefused, InputError, Unfinished
from synthdp.evaluation.gate.limits import OFF
from synthdp.progress import Silent, Timer
from synthdp.stages.intake import Source
from synthdp.stages.planning import plan_of
from synthdp.stages.publishing import publish, row_orders
from synthdp.stages.streaming import preparing, running
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
        "evaluation": {"utility": [], "risk": []},
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
    return running.run(config, out=out, timer=timer, jobs=jobs, study=study, resume=resume)


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
    rows = pd.read_parquet(tmp_path / "shards" / "confidential" / "rows.parquet")
    released = pd.read_csv(tmp_path / "shards" / "public" / "synthetic_02.csv")
    pd.testing.assert_series_equal(released["z"], table()["z"].iloc[rows["synthetic_02"]].reset_index(drop=True))
    assert release.verify(tmp_path / "shards") == []


@pytest.mark.parametrize("further", [{"synthesis": {"method": "mi", "copies": 2}, "masks": {}}, {"once": True}])
def test_other_ways_of_masking_give_the_files_of_a_run_in_memory(file, tmp_path, monkeypatch, further):
    further = {"synthesis": {"copies": 2, "mask_draw": "once", "shuffle": False}} if "once" in further else further
    config = parse(settings(file, **further))
    streamed(config, tmp_path / "shards", each=2, monkeypatch=monkeypatch)
    found, wanted = contents(tmp_path / "shards" / "public"), contents(in_memory(config, tmp_path / "memory"))
    assert found["synthetic_02.csv"] == wanted["synthetic_02.csv"]


def test_parquet_files_hold_the_values_of_a_run_in_memory(file, tmp_path, monkeypatch):
    plain = settings(file)
    config = parse(plain | {"release": plain["release"] | {"format": "parquet"}})
    streamed(config, tmp_path / "shards", each=2, monkeypatch=monkeypatch)
    public, wanted = tmp_path / "shards" / "public", in_memory(config, tmp_path / "memory")
    for name in ("synthetic_01.parquet", "synthetic_02.parquet"):
        one, other = (pyarrow.parquet.read_table(folder / name) for folder in (public, wanted))
        assert one.equals(other)
    assert release.verify(tmp_path / "shards") == []


def test_a_run_that_was_killed_goes_on_where_it_was(file, tmp_path, monkeypatch):
    config, out = parse(settings(file)), tmp_path / "shards"
    with monkeypatch.context() as patched:
        patched.setattr(running.mixing, "mix", _killed)
        with pytest.raises(KeyboardInterrupt):
            streamed(config, out, each=2, monkeypatch=patched)
    work = out / "confidential" / "work"
    assert not (out / "public").exists()
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*.arrow")}
    assert len(before) == 4 + 2 * 4  # shards, and two copies of each
    broken = work / "copies" / "01" / "00002.arrow"
    broken.write_bytes(b"half")
    seen = {}

    def look(*args, **kwargs):
        seen.update({path: path.stat().st_mtime_ns for path in before})
        return mixed(*args, **kwargs)

    mixed = running.mixing.mix
    monkeypatch.setattr(running.mixing, "mix", look)
    streamed(config, out, resume=True, jobs=2)  # other processes, the same shards
    assert {path for path in before if seen[path] != before[path]} == {broken}
    wanted = contents(in_memory(config, tmp_path / "memory"))
    assert contents(out / "public")["synthetic_01.csv"] == wanted["synthetic_01.csv"]
    assert streamed(config, out, resume=True)[0].gate["verdict"] == "passed"  # nothing is left to do


def _killed(*args, **kwargs):
    raise KeyboardInterrupt


def test_a_full_disk_ends_the_run_and_publishes_nothing(file, tmp_path, monkeypatch):
    def full(to, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(running.publishing, "_place", full)
    with pytest.raises(Unfinished, match="full"):
        streamed(parse(settings(file)), tmp_path / "out")
    assert not (tmp_path / "out" / "public").exists()


def test_files_that_lack_records_are_not_published(file, tmp_path, monkeypatch):
    monkeypatch.setattr(running.publishing, "_rows", lambda path: 1)
    with pytest.raises(Unfinished, match="2 files do not hold all records; nothing published"):
        streamed(parse(settings(file)), tmp_path / "out")
    assert not (tmp_path / "out" / "public").exists()


def test_a_leak_keeps_the_files_back(tmp_path):
    with pytest.raises(GateRefused, match=r"nothing was published\.\nA name\."):
        running.publishing.publish(tmp_path, {}, {"README.md": b"x"}, records=1, inspect=lambda folder: ["A name."])
    assert list(tmp_path.iterdir()) == []


def test_lines_between_quotation_marks_are_no_records(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\n1,"two\nlines"\n2,"say ""so"""\n')
    assert running.publishing._rows(path) == 2


def test_draws_for_the_verdict_differ_from_the_release_and_can_be_asked_again(file, tmp_path):
    config, out = parse(settings(file)), tmp_path / "out"
    with release.prepare_out(out, resume=False):
        release.start_manifest(out, config={}, inputs={}, study=True, resume=False, seed=SEED)
        ready = preparing.prepared(config, out, Local(), Timer(Silent()), jobs=1, memory=4e9, draws=2)
        first, second = ready.redrawn(0), ready.redrawn(1)
        x = first.copy(0, 1)["x"]
        assert first.copy(0, 1)["x"].equals(x)
        assert not second.copy(0, 1)["x"].equals(x)
        assert not first.copy(0, 2)["x"].equals(x)
        assert first.records == RECORDS
        assert (first.rows(0), first.schema) == (slice(0, RECORDS), ready.facts.schema)
        pd.testing.assert_frame_equal(first.original(0).frame, pd.read_parquet(file), check_dtype=False)
        assert repr(first) == "Redrawn(1 shards, 2 copies x 500 records)"


def test_a_study_publishes_nothing(file, tmp_path):
    metrics, report = streamed(parse(settings(file)), tmp_path / "out", study=True)
    assert not (tmp_path / "out" / "public").exists()
    assert report.is_file()
    assert {row["column"] for row in metrics.masking} == {"x", "income", "b", "c"}


def test_files_that_no_register_would_know_are_not_published(file, tmp_path):
    with pytest.raises(InputError, match="releases made shard by shard are not recorded yet"):
        streamed(parse(settings(file) | {"release": {}}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


GRADED = {"method": "gaussian", "sd": 0.5, "graded": 4.0, "fewest": 2}
GROUPED = {
    "neighbours": {"groups": {"k": 3}},
    "no group of high": {"groups": {"k": 3}, "variables": {"area": {"key": True}}},
    "rules": {"groups": {"method": "rules", "rules": {"high": "z > 60", "medium": "area != 'north'"}}},
    "graded": {"masks_by_group": {}, "masks": {"x": GRADED}, "groups": {"k": 3}},
    "no key": {"masks_by_group": {}, "masks": {"x": GRADED}, "variables": {"x": {"key": False}, "b": {"key": False}}},
}


@pytest.mark.parametrize("case", GROUPED)
def test_masks_by_risk_group_give_the_files_of_a_run_in_memory(file, tmp_path, monkeypatch, case):
    wide, wider = ({"x": {"method": "gaussian", "sd": sd}} for sd in (1.5, 3.0))
    plain = settings(file, masks_by_group={"high": wider, "medium": wide})
    further = GROUPED[case]
    changed = {name: plain["variables"].get(name, {}) | more for name, more in further.get("variables", {}).items()}
    config = parse(plain | further | {"variables": plain["variables"] | changed})
    streamed(config, tmp_path / "shards", each=2, jobs=2, monkeypatch=monkeypatch)
    found, wanted = contents(tmp_path / "shards" / "public"), contents(in_memory(config, tmp_path / "memory"))
    assert found["synthetic_02.csv"] == wanted["synthetic_02.csv"]


def test_rows_that_were_copied_over_are_not_published(file, tmp_path, monkeypatch):
    def honest(job, original, drawn):
        return original.frame

    monkeypatch.setattr(running.drawing, "_written", honest)
    metrics, _ = streamed(parse(settings(file)), tmp_path / "out")
    assert metrics.gate["reasons"][0] == "The files hold what must not be public; nothing was published."
    assert (metrics.gate["verdict"], metrics.passed) == ("refused", False)
    assert not (tmp_path / "out" / "public").exists()
    assert not (tmp_path / "out" / "confidential" / "work").exists()


def test_files_in_the_order_of_the_records_are_not_published(file, tmp_path, monkeypatch):
    monkeypatch.setattr(running.mixing, "buckets", lambda streams, copy, block, n, count: np.full(n, block))
    monkeypatch.setattr(running.mixing, "within", lambda streams, copy, bucket, n: np.arange(n))
    metrics, _ = streamed(parse(settings(file)), tmp_path / "out")
    assert any("order" in reason for reason in metrics.gate["reasons"])


def test_a_column_may_have_any_name(tmp_path):
    path = tmp_path / "data.parquet"
    table().rename(columns={"z": "bucket", "gaps": "record"}).to_parquet(path)
    plain = settings(path)
    names = {"z": "bucket", "gaps": "record"}
    config = parse(plain | {"variables": {names.get(name, name): one for name, one in plain["variables"].items()}})
    streamed(config, tmp_path / "shards")
    wanted = in_memory(config, tmp_path / "memory")
    assert contents(tmp_path / "shards" / "public")["synthetic_01.csv"] == contents(wanted)["synthetic_01.csv"]


def test_values_that_do_not_fit_their_kind_are_not_published(tmp_path):
    # whole numbers, floats because one is missing, beyond those that floats keep apart
    path = tmp_path / "data.parquet"
    values = 2.0**60 + 4096.0 * np.arange(RECORDS)
    values[7] = np.nan
    table().assign(gaps=values).to_parquet(path)
    with pytest.raises(
        InputError, match="streaming: the values of 'gaps' do not fit the column's kind; set role: drop"
    ):
        streamed(parse(settings(path)), tmp_path / "out")
    assert not (tmp_path / "out" / "public").exists()
