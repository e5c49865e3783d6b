"""A cluster gives what this process gives, shows nothing of it, and what goes wrong is one sentence."""

import builtins
import logging
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

import errands
import pytest

from synthdp.engine import Local, parcels
from synthdp.engine import dask as engine
from synthdp.errors import InputError, Unfinished
from synthdp.files import prepare_out

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("job")


@pytest.fixture(scope="module")
def two(place):
    """Two processes of this machine."""
    with engine.cluster(place, workers=2) as found:
        yield found


def test_it_gives_what_one_process_gives_in_the_same_order(two):
    told = []
    found = list(two.each(errands.square, range(40), advance=lambda *done: told.append(done)))
    assert found == list(Local().each(errands.square, range(40)))
    assert told == [(done, 40) for done in range(1, 41)]
    assert len({process for process, _ in two.each(errands.process, range(20))} - {os.getpid()}) == 2
    assert list(two.each(errands.square, [])) == []


def test_only_so_many_pieces_are_on_their_way(two, tmp_path):
    first = next(two.each(errands.held_up, [(str(tmp_path), number) for number in range(40)]))
    assert first == 0
    assert len(list(tmp_path.iterdir())) <= engine.IN_FLIGHT * 2


def test_what_work_raises_is_raised_here(two):
    with pytest.raises(InputError, match=r"variables\.age: must be there\."):
        list(two.each(errands.refuse, range(4)))
    with pytest.raises(ValueError, match="cannot convert 1") as error:
        list(two.each(errands.fail_on, [1]))
    places = [(entry.frame.f_globals["__name__"], entry.name) for entry in error.traceback]
    assert places[-1] == ("errands", "fail_on")
    with pytest.raises(RuntimeError, match="a worker raised Odd"):
        list(two.each(errands.fail_oddly, [1]))
    assert list(two.each(errands.square, [3])) == [9]


def test_a_full_disk_in_a_worker_is_one_here(two, tmp_path):
    with (
        pytest.raises(Unfinished, match=r"the disk is full .* continue with --resume"),
        prepare_out(tmp_path / "out", resume=False),
    ):
        list(two.each(errands.fill, [str(tmp_path)]))


def test_nothing_large_passes_through_the_scheduler(two):
    with pytest.raises(ValueError, match=r"the result of a piece of work is 16,777,\d+ bytes, and at most 16,777,216"):
        list(two.each(errands.large, [parcels.LIMIT]))
    with pytest.raises(ValueError, match=r"a piece of work is .* large things go to files"):
        list(two.each(errands.square, [b"x" * parcels.LIMIT]))


def test_neither_logs_nor_keys_nor_files_show_what_is_worked_on(two, place, capfd):
    scheduler = two.client.cluster.scheduler
    logs = logging.getLogger("distributed")
    kept = []
    handler = logging.Handler()
    handler.emit = lambda record: kept.append(record.getMessage())
    logs.addHandler(handler)
    try:
        results = two.each(errands.echo, [errands.SECRET] * 30)
        next(results)
        shown = [(key, repr(task), repr(task.run_spec)) for key, task in scheduler.tasks.items()]
        list(results)
        with pytest.raises(ValueError, match="cannot convert Rumpel"):
            list(two.each(errands.fail_on, [errands.SECRET]))
    finally:
        logs.removeHandler(handler)
    assert shown  # some were on their way
    told = [*map(str, kept), str(shown), str(two.client.get_scheduler_logs()), str(two.client.get_worker_logs())]
    told += [str(list(scheduler.transition_log)), str(scheduler.get_events()), *capfd.readouterr()]
    assert not [one for one in told if errands.SECRET in one or "echo" in one]
    for file in (path for path in place.rglob("*") if path.is_file()):
        assert errands.SECRET.encode() not in file.read_bytes()


def test_the_cluster_is_closed_to_the_outside(two):
    from distributed import Client, Security

    scheduler = two.client.cluster.scheduler
    assert scheduler.address.startswith("tls://127.0.0.1:")
    with pytest.raises(OSError, match=r"reset by peer|Timed out"):
        Client(scheduler.address.replace("tls", "tcp"), timeout=1, set_as_default=False)
    with pytest.raises(OSError, match=r"CERTIFICATE_VERIFY_FAILED|certificate|Timed out"):
        Client(scheduler.address, timeout=1, set_as_default=False, security=Security.temporary())
    workers = two.client.run(lambda dask_worker: dask_worker.http_server.port)
    for port in (scheduler.http_server.port, *workers.values()):
        for page in ("status", "info/main/workers.html", "metrics", "json/counts.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5)


def test_workers_write_nowhere_else_and_spill_nothing(two, place):
    folders = two.client.run(lambda dask_worker: dask_worker.local_directory)
    assert all(Path(folder).is_relative_to(place) for folder in folders.values())
    spilled = two.client.run(lambda dask_worker: type(dask_worker.data).__name__)
    assert set(spilled.values()) == {"dict"}


def test_a_worker_that_is_killed_is_replaced(two, tmp_path):
    tasks = [(str(tmp_path), number) for number in range(12)]
    assert list(two.each(errands.die_once, tasks)) == [number * number for number in range(12)]
    assert (tmp_path / "died-3").exists()


def test_a_worker_with_another_version_or_another_disk_is_named(two, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(parcels, "versions", lambda: {"numpy": "1.0", "synthdp": "0.1"})
        with pytest.raises(InputError, match=r"a worker has another numpy \(1\.0 here, .* another synthdp \(0\.1 here"):
            list(two.each(errands.square, [1]))
    monkeypatch.setattr(two, "_mark", Path("/nowhere/here"))
    with pytest.raises(InputError, match="a worker cannot see the folder /nowhere; every machine of the cluster"):
        list(two.each(errands.square, [1]))


def test_work_that_workers_cannot_load_is_no_bug_of_ours(two, monkeypatch):
    monkeypatch.setattr(two.client, "submit", lambda *_, **__: two.client.map(errands.fail_on, [1], pure=False)[0])
    with pytest.raises(InputError, match=r"the workers cannot run synthdp \(ValueError\); install it there"):
        list(two.each(errands.square, [1]))


def test_without_the_library_its_extra_is_named(monkeypatch, tmp_path):
    load = builtins.__import__

    def without(name, *rest, missing):
        if name.split(".")[0] == missing:
            raise ImportError(name)
        return load(name, *rest)

    for missing in ("distributed", "cryptography"):
        with monkeypatch.context() as patch:
            for module in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
                patch.delitem(sys.modules, module)
            patch.setattr(builtins, "__import__", lambda *given, lost=missing, **_: without(*given, missing=lost))
            words = rf"needs the library {missing}: pip install 'synthdp\[cluster\]'"
            with pytest.raises(InputError, match=words), engine.cluster(tmp_path):
                pass
    assert not list(tmp_path.iterdir())


def test_a_script_that_starts_itself_again_is_told_why(monkeypatch, tmp_path):
    import distributed

    def failing(*_, **__):
        raise RuntimeError("an attempt has been made to start a new process")

    monkeypatch.setattr(distributed, "LocalCluster", failing)
    words = r"2 processes could not be started; .* `if __name__ == \"__main__\":`"
    with pytest.raises(InputError, match=words), engine.cluster(tmp_path):
        pass


def test_what_a_killed_run_left_is_cleared(monkeypatch, tmp_path):
    (tmp_path / "engine-0").mkdir()
    (tmp_path / "engine-0" / "here").touch()
    monkeypatch.setattr(engine, "CONNECTING", 0.5)
    words, address = r"no scheduler answers at tcp://127\.0\.0\.1:9", "tcp://127.0.0.1:9"
    with pytest.raises(InputError, match=words), engine.cluster(tmp_path, address=address):
        pass
    assert not list(tmp_path.iterdir())
