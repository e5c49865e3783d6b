"""Metrics: sections in the order in which they are added, look-ups by name, and back from the file."""

import json

import pytest

from synthdp.errors import InputError
from synthdp.evaluation.assessment import Assessment
from synthdp.privacy.events import Pure
from synthdp.privacy.guarantees import Guarantee
from synthdp.release.metrics import Metrics

GATE = {"verdict": "passed", "passed": True, "reasons": [], "accepted": [{"risk": "r", "reason": "agreed"}]}


@pytest.fixture
def metrics():
    found = Metrics()
    found.measured(Assessment({"panel": {}}, {"original": {"true_match": 3}}, {}), releases={"earlier": ["2026"]})
    found.claimed(masking=[{"column": "age"}])
    found.decided(GATE)
    found.timed({"read": 1.0})
    return found


def test_sections_stand_in_the_order_of_the_stages(metrics):
    metrics.chained([{"column": "age"}])
    assert list(metrics) == ["version", "utility", "risk", "privacy", "gate", "timings", "chain"]
    assert len(metrics) == 7
    assert repr(metrics) == "Metrics(version, utility, risk, privacy, gate, timings, chain)"


def test_what_readers_ask_for_has_a_name(metrics):
    assert metrics.passed
    assert not metrics.private
    assert metrics.original_risk == {"true_match": 3}
    assert [line["column"] for line in metrics.masking] == ["age"]
    assert metrics.signed() == {
        "accepted": GATE["accepted"],
        "earlier_releases": ["2026"],
        "privacy": {"epsilon": None},
    }


def test_cautions_are_those_of_the_files_or_of_the_noise(metrics):
    assert metrics.cautions == ()
    metrics.claimed(Guarantee(1.0, 0.0, "replace", "secure", Pure(1.0), None), cautions=["mostly noise"])
    assert metrics.private
    assert metrics.cautions == ("mostly noise",)
    metrics.cautioned(["another order of levels"])
    assert metrics.cautions == ("another order of levels",)


def test_a_leak_turns_the_verdict_and_leaves_the_rest(metrics):
    metrics.leaked(["the seed is in README.md"], {"attempt": 2})
    assert not metrics.passed
    assert metrics.gate["reasons"] == ["the seed is in README.md"]
    assert metrics.gate["attempt"] == 2
    assert list(metrics.gate)[: len(GATE)] == list(GATE)
    assert GATE["passed"]


def test_it_is_read_back_as_it_was_written(metrics, tmp_path):
    metrics.write(tmp_path / "metrics.json")
    assert Metrics.read(tmp_path / "metrics.json") == json.loads((tmp_path / "metrics.json").read_text())
    assert Metrics.read(tmp_path / "metrics.json") == metrics


@pytest.mark.parametrize("text", ["", "[1]", "[[1]]", '{"gate": {}}', '{"gate": {"passed": true}, "privacy": {}}'])
def test_a_damaged_file_is_one_sentence(text, tmp_path):
    path = tmp_path / "metrics.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Metrics.read(path)
    assert str(caught.value) == f"{path}: the file is damaged; restore it, or start again with another --out."
