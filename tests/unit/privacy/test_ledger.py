"""The budget ledger: charged first, refused over the cap, whole after two writers and kill -9."""

import fcntl
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from synthdp.errors import InputError, Unfinished
from synthdp.privacy import events
from synthdp.privacy.accounting.closed_forms import epsilon_of_rho
from synthdp.privacy.ledger import Account, Ledger, fingerprint

DATA = "a" * 64


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger.json", DATA)
    made.create(epsilon=1.0, delta=1e-5)
    return made


def test_charges_add_up_and_a_file_is_attached(ledger, tmp_path):
    entry = ledger.charge("mean of age", epsilon=0.4, adjacency="replace")
    ledger.charge("count", epsilon=0.5, delta=1e-6, adjacency="replace", source="simulated")
    released = tmp_path / "mean.json"
    released.write_text("{}")
    done = ledger.attach(entry, released)
    account = ledger.account()
    assert account.spent() == (0.9, 1e-6)
    assert account.left() == pytest.approx((0.1, 9e-6))
    assert account.entries[0] == done
    assert done.file == fingerprint(released)
    assert [e.source for e in account.entries] == ["secure", "simulated"]
    assert account.entries[0].when.endswith("+00:00")


def test_over_the_cap_is_refused_and_nothing_recorded(ledger):
    ledger.charge("first", epsilon=0.9, adjacency="replace")
    with pytest.raises(
        InputError, match=r"total to \(1\.1, 0\), over the cap of \(1, 1e-05\); \(0\.1, 1e-05\) is left"
    ):
        ledger.charge("second", epsilon=0.2, adjacency="replace")
    with pytest.raises(InputError, match="over the cap"):
        ledger.charge("delta", epsilon=0.01, delta=1e-4, adjacency="replace")
    assert len(ledger.account().entries) == 1


def test_ten_tenths_fill_a_budget_of_one(ledger):
    for _ in range(10):
        ledger.charge("tenth", epsilon=0.1, adjacency="replace")
    with pytest.raises(InputError, match="over the cap"):
        ledger.charge("eleventh", epsilon=1e-9, adjacency="replace")


def test_concentrated_rule_adds_rho(tmp_path):
    ledger = Ledger(tmp_path / "l.json", DATA)
    ledger.create(epsilon=2.0, delta=1e-6, rule="concentrated", adjacency="add_remove")
    ledger.charge_event("gaussian", events.Gaussian(0.2), delta=1e-6, adjacency="add_remove")
    ledger.charge("pure", epsilon=0.1, adjacency="add_remove")
    assert ledger.account().spent()[0] == pytest.approx(epsilon_of_rho(0.02 + 0.005, 1e-6, method="tight"))
    with pytest.raises(InputError, match="needs the rho of a release with a delta"):
        ledger.charge("unknown", epsilon=0.1, delta=1e-7, adjacency="add_remove")
    with pytest.raises(InputError, match="over the cap"):
        ledger.charge_event("much", events.Gaussian(2.0), delta=1e-6, adjacency="add_remove")
    with pytest.raises(InputError, match="needs a delta above 0"):
        Ledger(tmp_path / "m.json", DATA).create(epsilon=1.0, rule="concentrated")


def test_events_are_charged_at_their_price(ledger):
    entry = ledger.charge_event("laplace", events.Laplace(0.25), adjacency="replace")
    assert (entry.epsilon, entry.delta) == (0.25, 0.0)
    with pytest.raises(InputError, match="median: cannot be charged to a ledger: bounds come from the data"):
        ledger.charge_event("median", events.NonPrivate("bounds come from the data"), adjacency="replace")
    with pytest.raises(InputError, match="no finite epsilon at delta 0"):
        ledger.charge_event("gaussian", events.Gaussian(0.1), adjacency="replace")


def test_wrong_use_is_one_sentence(ledger, tmp_path):
    with pytest.raises(InputError, match="counts under replace, the release under add_remove"):
        ledger.charge("x", epsilon=0.1, adjacency="add_remove")
    with pytest.raises(InputError, match="must be a finite number above 0"):
        ledger.charge("x", epsilon=float("nan"), adjacency="replace")
    with pytest.raises(InputError, match="has other terms"):
        ledger.create(epsilon=2.0, delta=1e-5)
    assert ledger.create(epsilon=1.0, delta=1e-5).entries == ()
    entry = ledger.charge("x", epsilon=0.1, adjacency="replace")
    with pytest.raises(InputError, match="charge 7 is not in the ledger"):
        ledger.attach(replace(entry, number=7), tmp_path / "ledger.json")
    with pytest.raises(InputError, match="there is no ledger here"):
        Ledger(tmp_path / "none.json", DATA).account()
    with pytest.raises(InputError, match="cannot be written here"):
        Ledger(tmp_path / "no" / "folder.json", DATA).create(epsilon=1.0)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="the ledger cannot be read"):
        Ledger(tmp_path / "folder", DATA).account()
    assert repr(ledger) == "Ledger(ledger.json)"


def test_another_data_set_is_refused(ledger, tmp_path):
    with pytest.raises(InputError, match="belongs to another data set"):
        Ledger(tmp_path / "ledger.json", "b" * 64).charge("x", epsilon=0.1, adjacency="replace")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"epsilon": 1.0', '"epsilon": 9.0'),
        lambda text: json.dumps({"version": 1, "content": {}, "sha256": ""}),
    ],
)
def test_a_damaged_ledger_is_refused(ledger, tmp_path, damage):
    path = tmp_path / "ledger.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match="the ledger is damaged; restore it from a backup"):
        ledger.charge("x", epsilon=0.1, adjacency="replace")


def test_fields_that_are_not_ours_are_damage(ledger, tmp_path):
    from synthdp.files import KeptFile

    KeptFile(tmp_path / "ledger.json", "ledger", patience=0).write({"entries": [], "surprise": 1})
    with pytest.raises(InputError, match="damaged"):
        ledger.account()


def test_another_version_is_named(ledger, tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(InputError, match="ledger of version 2, this program reads version 1"):
        ledger.account()


def test_a_held_ledger_is_waited_for_then_refused(ledger, tmp_path):
    with (tmp_path / "ledger.json.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Unfinished, match="another process holds the ledger"):
            Ledger(tmp_path / "ledger.json", DATA, patience=0.05).charge("x", epsilon=0.1, adjacency="replace")
    ledger.charge("x", epsilon=0.1, adjacency="replace")


def test_a_full_disk_is_told(ledger, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unfinished, match=r"could not be written \(No space left on device\)"):
        ledger.charge("x", epsilon=0.1, adjacency="replace")
    monkeypatch.undo()
    assert ledger.account().entries == ()


def _spend(path: str, times: int) -> int:
    ledger = Ledger(Path(path), DATA)
    done = 0
    for _ in range(times):
        try:
            ledger.charge("race", epsilon=0.01, adjacency="replace")
            done += 1
        except InputError:
            pass
    return done


def test_two_processes_never_pass_the_cap(ledger, tmp_path):
    path = str(tmp_path / "ledger.json")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        done = pool.starmap(_spend, [(path, 70), (path, 70)])
    account = ledger.account()
    assert sum(done) == 100 == len(account.entries)
    assert [e.number for e in account.entries] == list(range(1, 101))
    assert account.spent()[0] == pytest.approx(1.0)


def test_kill_leaves_a_whole_ledger_and_no_lock(tmp_path):
    ledger = Ledger(tmp_path / "ledger.json", DATA)
    ledger.create(epsilon=1e6)
    code = (
        "import sys; from pathlib import Path; from synthdp.privacy.ledger import Ledger\n"
        f"ledger = Ledger(Path(sys.argv[1]), {DATA!r})\n"
        "print('go', flush=True)\n"
        "while True:\n"
        "    entry = ledger.charge('killed', epsilon=0.001, adjacency='replace'); print(entry.number, flush=True)\n"
    )
    for round_ in range(3):
        worker = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "ledger.json")],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "go\n"
        time.sleep(0.15 + 0.07 * round_)
        worker.send_signal(signal.SIGKILL)
        told = worker.stdout.read().split()
        worker.wait()
        recorded = len(ledger.account().entries)
        # whoever was told of a charge finds it; at most one more was written and not told
        assert recorded - int(told[-1] if told else recorded) in (0, 1)
        ledger.charge("after", epsilon=0.001, adjacency="replace")


def test_an_empty_account_has_spent_nothing():
    assert Account(DATA, "replace", 1.0, 1e-6, "concentrated").spent() == (0.0, 0.0)
