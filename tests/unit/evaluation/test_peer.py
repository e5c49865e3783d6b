"""Anonymeter beside ours: said to be absent, and read rightly where it is present (a stand-in with its interface)."""

import importlib
import sys
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk import peer
from synthdp.evaluation.risk.peer import NOT_INSTALLED, evaluate_peer
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

FRAME = pd.DataFrame({"sex": ["F", "M"] * 10, "age": range(20), "job": list("xy") * 10})


def comparison() -> Comparison:
    data = resolve(FRAME, {"sex": Variable(key=True), "age": Variable(key=True)})
    return Comparison(data.frame, (FRAME,), data.schema, aligned=True)


class StandIn:
    def __init__(self, **settings) -> None:
        self.settings = settings

    def evaluate(self, **options):
        return self

    def results(self):
        rate = SimpleNamespace(value=0.5, error=0.1)
        return SimpleNamespace(attack_rate=rate, baseline_rate=rate, control_rate=rate)

    def risk(self):
        return SimpleNamespace(value=0.0, ci=(0.0, 0.2))


class Failing(StandIn):
    def evaluate(self, **options):
        raise RuntimeError("F 17 x")


@pytest.fixture
def installed(monkeypatch) -> None:
    package, module = ModuleType("anonymeter"), ModuleType("anonymeter.evaluators")
    module.SinglingOutEvaluator = module.InferenceEvaluator = StandIn
    module.LinkabilityEvaluator = Failing
    monkeypatch.setitem(sys.modules, "anonymeter", package)
    monkeypatch.setitem(sys.modules, "anonymeter.evaluators", module)
    monkeypatch.setattr(peer.metadata, "version", lambda name: "1.1.0")


def test_absent(monkeypatch) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    assert evaluate_peer(comparison(), targets=["job"], holdout=FRAME) == {"reason": NOT_INSTALLED}


@pytest.mark.usefixtures("installed")
def test_present_and_failing_in_one_attack() -> None:
    found = evaluate_peer(comparison(), targets=["job", "age"], holdout=FRAME)
    assert found["version"] == "1.1.0"
    assert found["linkability"] == {"reason": "anonymeter failed with RuntimeError"}
    assert found["inference of age"]["risk"] == {"value": 0.0, "low": 0.0, "high": 0.2}
    assert found["univariate"]["attack"] == {"value": 0.5, "low": 0.4, "high": 0.6}


@pytest.mark.usefixtures("installed")
def test_it_needs_a_holdout() -> None:
    with pytest.raises(InputError, match="anonymeter: needs records of people who were not used"):
        evaluate_peer(comparison(), targets=[], holdout=None)
