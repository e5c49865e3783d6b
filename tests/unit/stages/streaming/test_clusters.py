"""A run on a cluster makes the files of a run in memory, and goes on where it was stopped, here or there."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_streaming import contents, in_memory, settings, streamed, table

from synthdp import seeding
from synthdp.config import parse
from synthdp.engine import dask
from synthdp.errors import Unfinished
from synthdp.stages.streaming import drawing, engines
from synthdp.stages.streaming.preparing import WORK

pytest.importorskip("distributed")
ROOT = Path(__file__).parents[4]
MADE = ("synthetic_01.csv", "synthetic_02.csv", "codebook.csv")
WORDS = ("value", "low", "high")
ON_TWO = {"engine": {"method": "dask", "workers": 2}}


BLOCK = 128


@pytest.fixture(scope="module", autouse=True)
def _small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeding, "BLOCK", BLOCK)
        yield


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    with dask.cluster(tmp_path_factory.mktemp("engine"), workers=2) as found:
        yield found


@pytest.fixture
def two(processes, monkeypatch):
    """Let runs have the processes that are there."""

    @contextlib.contextmanager
    def there(folder, **asked):
        assert asked == {"address": None, "tls": None, "workers": 2, "memory": None}
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / "engine-here"
        mark.touch()
        yield dask.Dask(processes.client, mark, "engine: two")
        mark.unlink()

    monkeypatch.setattr(engines, "cluster", there)
    return processes


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.parquet"
    table().to_parquet(path, row_group_size=90)
    return path


@pytest.fixture(scope="module")
def wanted(file):
    return contents(in_memory(parse(settings(file)), file.parent / "memory"))


def same(out, wanted):
    found = contents(out / "public")
    return all(found[name] == wanted[name] for name in MADE)


def wait_for(pattern, folder, *, seconds=60):
    end = time.monotonic() + seconds
    while not any(folder.glob(pattern)) and time.monotonic() < end:
        time.sleep(0.002)
    assert any(folder.glob(pattern))


def test_the_bytes_are_those_of_memory_though_a_worker_is_killed(two, file, wanted, tmp_path):
    out, killed = tmp_path / "out", []

    def kill():
        wait_for(f"confidential/{WORK}/**/*.done", out)
        worker = next(iter(two.client.run(os.getpid).values()))
        os.kill(worker, signal.SIGKILL)
        killed.append(worker)

    thread = threading.Thread(target=kill)
    thread.start()
    streamed(parse(settings(file, **ON_TWO)), out)
    thread.join()
    assert killed
    assert same(out, wanted)
    assert not (out / "confidential" / WORK).exists()


def _short(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def test_a_full_disk_in_a_worker_ends_in_a_sentence_and_is_resumed_elsewhere(two, file, wanted, tmp_path):
    out = tmp_path / "out"
    two.client.run(_short, 2_000)
    try:
        with pytest.raises(Unfinished, match=r"out: the disk is full .*; free some space and continue with --resume\."):
            streamed(parse(settings(file, **ON_TWO)), out)
    finally:
        two.client.run(_short, resource.RLIM_INFINITY)
    assert not (out / "public").exists()
    streamed(parse(settings(file)), out, resume=True)
    assert same(out, wanted)


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"something else")])
def test_a_shard_that_is_gone_or_damaged_is_made_again(file, wanted, tmp_path, monkeypatch, harm):
    out, store = tmp_path / "out", drawing.store

    def harmed(job, *rest):
        harm(job.place("original", 0))
        return store(job, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "store", harmed)
        with pytest.raises(Unfinished, match=r"00000\.arrow: this shard is gone or damaged; continue with --resume"):
            streamed(parse(settings(file)), out)
    assert not (out / "public").exists()
    streamed(parse(settings(file)), out, resume=True)
    assert same(out, wanted)


RUN = f"""
from synthdp import seeding
from synthdp.cli import main

if __name__ == "__main__":
    seeding.BLOCK = {BLOCK}
    main()
"""


@pytest.mark.slow
def test_a_client_that_is_killed_is_resumed_on_another_engine(file, wanted, tmp_path):
    import yaml

    out, script, config = tmp_path / "out", tmp_path / "script.py", tmp_path / "config.yaml"
    script.write_text(RUN)
    config.write_text(yaml.safe_dump(settings(file, **ON_TWO)))
    command = [sys.executable, str(script), "run", str(config), "--out", "out", "--quiet"]
    client = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        wait_for(f"confidential/{WORK}/*/*.done", out)
    finally:
        client.kill()
        client.wait()
    assert not (out / "public").exists()
    assert any((out / "confidential" / WORK).glob("engine-*"))
    streamed(parse(settings(file)), out, resume=True)
    assert same(out, wanted)


def judged(folder, engine):
    """Return what the gate found, and the public files."""
    folder.mkdir()
    rng = np.random.default_rng(5)
    z = rng.normal(size=400).round(2)
    age = (50 + 8 * z + 9 * rng.normal(size=400)).round(1)
    sex, area = rng.integers(0, 2, 400), rng.choice(["a", "b"], 400)
    pd.DataFrame({"z": z, "area": area, "sex": sex, "age": age}).to_parquet(folder / "people.parquet", index=False)
    config = {
        "data": {"path": str(folder / "people.parquet")},
        "variables": {
            **{name: {"key": False} for name in ("z", "area")},
            **{name: {"role": "replace", "key": True} for name in ("sex", "age")},
        },
        "masks": {"age": {"method": "gaussian", "sd": 2.5}, "sex": {"method": "shifted_normal", "alpha": 0.3}},
        "synthesis": {"copies": 2},
        "evaluation": {"utility": ["panel"], "risk": ["identity", "identity_likelihood", "verbatim", "exposure"]},
        "release": {"format": "csv", "recorded_in": "none", "draws": 12, "max_memorised": None},
        "seed": 2**90 + 1,
    }
    metrics, _ = streamed(parse(config | {"engine": engine}), folder / "out")
    return metrics.gate, contents(folder / "out" / "public")


@pytest.mark.slow
def test_the_verdict_is_that_of_one_process(two, tmp_path):
    here, public = judged(tmp_path / "here", {"streaming": True})
    there, equal = judged(tmp_path / "there", ON_TWO["engine"])
    assert here["verdict"] in ("passed", "amber")
    # shards are cut by how many work on them, and figures are sums over shards: their last digits may differ
    absent = float("nan")
    figures = [
        [absent if (found := check.pop(name)) is None else found for check in gate["checks"] for name in WORDS]
        for gate in (here, there)
    ]
    assert figures[1] == pytest.approx(figures[0], rel=1e-9, abs=1e-8, nan_ok=True)
    assert there == here
    assert all(equal[name] == public[name] for name in MADE)
