"""Clusters of their own processes, with keys of their own, a clock that is wrong, and ends that nobody asked for."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import errands
import pytest

from synthdp.engine import dask as engine
from synthdp.errors import InputError, Unfinished

distributed = pytest.importorskip("distributed")
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
# loaded by every Python before anything else
WRONG_CLOCK = "import time\nright = time.time\ntime.time = lambda: right() + 86400\n"


def until(true, *, seconds=60):
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := true():
            return found
        time.sleep(0.05)
    pytest.fail("it did not happen")


def running(process):
    """Return whether a process is there and is more than its name."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture
def started():
    """Return a way to start Python processes that end with the test."""
    processes = []

    def start(*arguments, paths=()):
        path = os.pathsep.join(map(str, (*paths, ROOT, HERE)))
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def keys(tmp_path):
    """Return the files of an authority that vouches for itself, and the words that name them to Dask."""
    made = distributed.Security.temporary()
    files = tuple(tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem"))
    for file, text in zip(files, (made.tls_ca_file, made.tls_client_cert, made.tls_client_key), strict=True):
        file.write_text(text)
    words = zip(("--tls-ca-file", "--tls-cert", "--tls-key"), files, strict=True)
    return files, [part for pair in words for part in pair]


def test_a_cluster_that_is_there(started, keys, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LOOKING", 0.2)
    monkeypatch.setattr(engine, "PATIENCE", 0.5)
    (files, words), told = keys, tmp_path / "scheduler.json"
    common = (*words, "--protocol", "tls", "--no-dashboard")
    scheduler = started(
        "-m", "distributed.cli.dask_scheduler", *common, "--host", "127.0.0.1", "--port", 0, "--scheduler-file", told
    )
    until(lambda: told.exists() and told.read_text().endswith("}"))
    address = json.loads(told.read_text())["address"]
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "sitecustomize.py").write_text(WRONG_CLOCK)
    job = tmp_path / "job"
    job.mkdir()

    words, absent = r"engine\.tls\.key: .*absent\.pem is not there", (*files[:2], tmp_path / "absent.pem")
    with pytest.raises(InputError, match=words), engine.cluster(job, address=address, tls=absent):
        pass
    with engine.cluster(job, address=address, tls=files) as found:
        with pytest.raises(
            Unfinished, match=r"engine: tls://.*: there has been no worker for 0 seconds; start some, and"
        ):
            list(found.each(errands.square, [1]))
        with pytest.raises(Unfinished, match="there has been no worker"):
            found.size()

        worker = started(
            "-m", "distributed.cli.dask_worker", address, *common, "--nthreads", 1, "--memory-limit", "1GB",
            "--no-nanny", "--local-directory", tmp_path / "spill", paths=[tmp_path / "early"],
        )  # fmt: skip
        monkeypatch.setattr(engine, "PATIENCE", 60)
        assert list(found.each(errands.square, range(9))) == [number * number for number in range(9)]
        assert found.size() == (1, 10**9)
        ahead = next(found.each(errands.now, [0])) - time.time()
        assert 86_000 < ahead < 87_000  # and nothing minded

        results = found.each(errands.wait, [0.01] * 500)
        next(results)
        scheduler.kill()
        with pytest.raises(Unfinished, match=r"tls://.*: the scheduler is gone; nothing is lost .*with --resume\."):
            list(results)
        with pytest.raises(Unfinished, match="the scheduler is gone"):
            list(found.each(errands.square, [1]))
    assert not list(job.iterdir())
    worker.kill()


JOB = """
import sys
from pathlib import Path

import errands
from synthdp.engine.dask import cluster

if __name__ == "__main__":
    with cluster(Path(sys.argv[1]), workers=2) as engine:
        for process in engine.each(errands.wait, [0.05] * 1000):
            print(process, flush=True)
"""


def test_processes_of_a_client_that_is_killed_end_too(started, tmp_path):
    script, job = tmp_path / "script.py", tmp_path / "job"
    script.write_text(JOB)
    job.mkdir()
    client = started(script, job)
    workers = {int(client.stdout.readline()) for _ in range(8)}
    assert len(workers) == 2
    assert all(map(running, workers))
    client.kill()
    until(lambda: not any(map(running, workers)))
    assert [path.name[:7] for path in job.iterdir()] == ["engine-"]  # which the next run clears


@pytest.mark.slow
def test_work_that_ends_every_worker_is_given_up(tmp_path):
    with (
        engine.cluster(tmp_path, workers=1) as found,
        pytest.raises(
            Unfinished,
            match=r"1 process of this machine: one piece of work ended every worker that tried it, .*--resume",
        ),
    ):
        list(found.each(errands.die, [1]))
