"""``synthdp run`` with a budget ledger: paid before the noise, once, also after kill -9; what is promised is said."""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from synthdp import pipeline, release
from synthdp.cli import app
from synthdp.cli.paying import UNCHARGED
from synthdp.config import load
from synthdp.errors import InputError
from synthdp.evaluation.gate import Thresholds
from synthdp.privacy.guarantees import NOT_PRIVATE
from synthdp.privacy.ledger import Ledger, fingerprint
from synthdp.privacy.mechanisms import mechanism

ROOT = Path(__file__).parents[3]
OPEN = dict.fromkeys(Thresholds.model_fields)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with data and a config whose method is differentially private."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 300), "sex": rng.choice(["F", "M"], 300)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    write(tmp_path)
    return tmp_path


def write(folder, synthesis=None, **release_settings):
    raw = {
        "data": {"path": "people.csv"},
        "variables": {
            "age": {"role": "replace", "key": True, "kind": "count", "bounds": [18, 90]},
            "sex": {"role": "replace", "key": True, "levels": ["F", "M"]},
        },
        "synthesis": {"method": "dp_margins", "epsilon": 0.5, "copies": 2} if synthesis is None else synthesis,
        "evaluation": {"utility": [], "risk": ["identity"]},
        "release": {"recorded_in": "none", **OPEN, **release_settings},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(raw))


def run(folder, *args, out="out"):
    command = ["run", folder / "config.yaml", "--out", folder / out, "--quiet", *args]
    return CliRunner().invoke(app, [str(part) for part in command])


def entries(folder):
    return Ledger(folder / "l", fingerprint(folder / "people.csv")).account().entries


def manifest(folder, out="out"):
    return json.loads((folder / out / "confidential" / "manifest.json").read_text())


def test_a_run_is_recorded_with_price_time_and_hash(folder):
    found = run(folder, "--ledger", folder / "l", "--cap", "1")
    assert found.exit_code == 0, found.stderr
    (entry,) = entries(folder)
    assert (entry.what, entry.epsilon, entry.delta, entry.source) == (
        "synthetic data by dp_margins",
        0.5,
        0.0,
        "secure",
    )
    assert entry.when.startswith("20")
    assert entry.file == fingerprint(folder / "out" / "public" / "SHA256SUMS")
    assert entry.run == manifest(folder)["run"]
    assert manifest(folder)["charge"] == 1
    assert UNCHARGED not in found.stderr


def test_a_new_run_pays_again_and_over_the_cap_nothing_is_drawn(folder, monkeypatch):
    assert run(folder, "--ledger", folder / "l", "--cap", "1", out="first").exit_code == 0
    assert run(folder, "--ledger", folder / "l", out="second").exit_code == 0
    assert [entry.epsilon for entry in entries(folder)] == [0.5, 0.5]

    def drawn(*_args, **_kwargs):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(mechanism.Secure, "discrete_laplace", drawn)
    found = run(folder, "--ledger", folder / "l", out="third")
    assert found.exit_code == 2
    assert "over the cap of (1, 0); (0, 0) is left. Nothing was released." in found.stderr
    assert not (folder / "third").exists()
    assert len(entries(folder)) == 2


def test_two_runs_at_once_cannot_both_take_the_last_of_it(folder, monkeypatch):
    """Both see that it would do; the charge itself decides, and a run that is resumed may find nothing left."""
    assert run(folder, "--ledger", folder / "l", "--cap", "0.5", out="first").exit_code == 0
    monkeypatch.setattr(Ledger, "check", lambda *_args, **_kwargs: None)
    found = run(folder, "--ledger", folder / "l", out="second")
    assert found.exit_code == 2
    assert not (folder / "second" / "public").exists()
    assert len(entries(folder)) == 1


def test_a_study_owes_nothing(folder):
    assert run(folder, "--ledger", folder / "l", "--cap", "1", "--study").exit_code == 0
    assert entries(folder) == ()
    assert manifest(folder)["charge"] is None


def test_without_a_ledger_it_is_said(folder):
    found = run(folder)
    assert found.exit_code == 0
    assert UNCHARGED in found.stderr
    assert run(folder, "--cap", "1", out="b").exit_code == 2
    write(folder, {"method": "sequential", "copies": 2})
    assert UNCHARGED not in run(folder, out="c").stderr


@pytest.mark.parametrize(
    ("synthesis", "limits", "sentence"),
    [
        ({"method": "sequential"}, {}, "method sequential is not differentially private, so its release has no price"),
        ({"method": "k_noise"}, {}, "method k_noise is not differentially private"),
        (None, {"max_individual": 0.9}, "dp_margins cannot be charged, as the release gate looked at the data"),
    ],
)
def test_what_has_no_epsilon_is_not_charged(folder, synthesis, limits, sentence):
    write(folder, synthesis, **limits)
    found = run(folder, "--ledger", folder / "l", "--cap", "1")
    assert found.exit_code == 2
    assert sentence in found.stderr
    assert not (folder / "out").exists()
    assert entries(folder) == ()


def test_ledgers_that_cannot_be_used(folder):
    """Absent, damaged, of other data, of another adjacency: one sentence, and nothing is written."""
    found = run(folder, "--ledger", folder / "l")
    assert (found.exit_code, "there is no ledger here" in found.stderr) == (2, True)

    Ledger(folder / "a", fingerprint(folder / "people.csv")).create(epsilon=1.0, adjacency="add_remove")
    found = run(folder, "--ledger", folder / "a")
    assert (found.exit_code, "counts under add_remove, the release under replace" in found.stderr) == (2, True)

    (folder / "d").write_text("{")
    found = run(folder, "--ledger", folder / "d")
    assert (found.exit_code, "the ledger is damaged" in found.stderr) == (2, True)

    Ledger(folder / "o", "0f1e").create(epsilon=1.0)
    found = run(folder, "--ledger", folder / "o")
    assert (found.exit_code, "belongs to another data set" in found.stderr) == (2, True)
    assert not (folder / "out").exists()


def test_a_locked_ledger_is_waited_for_and_the_run_can_go_on(folder, monkeypatch):
    assert run(folder, "--ledger", folder / "l", "--cap", "1", out="first").exit_code == 0
    monkeypatch.setattr("synthdp.files.time.monotonic", iter(range(0, 10**6, 5)).__next__)
    with (folder / "l.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = run(folder, "--ledger", folder / "l")
    assert found.exit_code == 4
    assert "l: another process holds the ledger; try again when it is done." in found.stderr
    assert not (folder / "out" / "public").exists()
    assert run(folder, "--ledger", folder / "l", "--resume").exit_code == 0
    assert len(entries(folder)) == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from synthdp import pipeline, release
from synthdp.config import load
from synthdp.privacy.ledger import Ledger, fingerprint
from synthdp.stages import draws, trail
folder, moment = Path(sys.argv[1]), sys.argv[2]
owner, name = {"drawing": (draws, "make"), "judged": (pipeline, "publish"), "public": (trail.Trail, "finish"),
               "attached": (release, "finish_manifest")}[moment]
setattr(owner, name, lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))
ledger = Ledger(folder / "l", fingerprint(folder / "people.csv"))
ledger.create(epsilon=0.5)
pipeline.run(load(folder / "config.yaml"), out=folder / "out", ledger=ledger)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["drawing", "judged", "public", "attached"])
def test_killed_after_it_paid_and_resumed_it_pays_once(folder, moment):
    """The cap is the price of one run, so a second charge would be refused."""
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder), moment], cwd=ROOT, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert len(entries(folder)) == 1
    before = fingerprint(folder / "out/public/SHA256SUMS") if (folder / "out" / "public").exists() else None
    assert (before is not None) == (moment in {"public", "attached"})

    found = run(folder, "--ledger", folder / "l", "--resume")
    assert found.exit_code == 0, found.stderr
    after = fingerprint(folder / "out/public/SHA256SUMS")
    # what may have been seen is not drawn again: that would be a second release at the price of one
    assert before in {None, after}
    (entry,) = entries(folder)
    assert entry.file == after
    told = manifest(folder)
    assert (told["status"], told["charge"], told["privacy"]["epsilon"]) == ("published", 1, 0.5)
    assert "attempts" in told
    assert set(told["public"]) == {p.name for p in (folder / "out/public").iterdir()} - {"SHA256SUMS"}
    assert release.verify(folder / "out") == []
    assert run(folder, "--ledger", folder / "l", "--resume").exit_code == 0, "finished runs owe nothing"
    assert run(folder, "--ledger", folder / "l", out="another").exit_code == 2, "another run does"


def test_changed_public_files_are_not_made_again(folder):
    ledger = Ledger(folder / "l", fingerprint(folder / "people.csv"))
    ledger.create(epsilon=5.0)
    config = load(folder / "config.yaml")
    pipeline.run(config, out=folder / "out", ledger=ledger)
    path = folder / "out" / "confidential" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "status": "running"}))
    (folder / "out" / "public" / "codebook.csv").write_text("changed")
    with pytest.raises(InputError, match="public files of the interrupted run were changed"):
        pipeline.run(config, out=folder / "out", ledger=ledger, resume=True)
    # taken away, so that other files go out under the same run: that is another release, and costs as much
    (folder / "out" / "public").rename(folder / "taken")
    pipeline.run(config, out=folder / "out", ledger=ledger, resume=True)
    assert [entry.epsilon for entry in entries(folder)] == [0.5, 0.5]


def test_the_public_files_state_the_guarantee(folder):
    write(folder, {"method": "dp_histogram", "epsilon": 0.5, "delta": 1e-6, "copies": 2, "bins": 4})
    assert run(folder).exit_code == 0
    told = json.loads((folder / "out" / "public" / "release.json").read_text())["privacy"]
    assert (told["epsilon"], told["delta"], told["adjacency"], told["unit"]) == (0.5, 1e-6, "replace", "one record")
    assert any("declared from what is known without the data" in phrase for phrase in told["assumed"])
    assert manifest(folder)["privacy"] == told
    text = (folder / "out" / "public" / "README.md").read_text()
    for line in (
        "The release is differentially private: ε = 0.5, δ = 1e-06",
        "- ε = 0.5, δ = 1e-06, all data sets together",
        "- adjacency: replace; neighbours have the same number of records and differ in one",
        "- unit: one record",
        "- assumed: the number of records is public",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("synthesis", "limits", "sentence"),
    [
        ({"method": "sequential", "copies": 2}, {}, NOT_PRIVATE),
        ({"method": "k_noise"}, {}, NOT_PRIVATE),
        (None, {"max_individual": 1.0}, "No epsilon is claimed for the release"),
    ],
)
def test_other_releases_never_show_an_epsilon(folder, synthesis, limits, sentence):
    write(folder, synthesis, **limits)
    assert run(folder).exit_code == 0
    public = folder / "out" / "public"
    told = json.loads((public / "release.json").read_text())["privacy"]
    assert told["epsilon"] is None
    assert told["statement"].startswith(sentence)
    text = (public / "README.md").read_text()
    assert sentence in text
    assert "ε" not in text
    assert manifest(folder)["privacy"]["epsilon"] is None


def test_checking_costs_nothing(folder):
    book = Ledger(folder / "l", fingerprint(folder / "people.csv"))
    book.create(epsilon=1.0)
    book.check("a", epsilon=1.0, adjacency="replace")
    with pytest.raises(InputError, match="over the cap"):
        book.check("a", epsilon=1.1, adjacency="replace")
    assert book.account().entries == ()
