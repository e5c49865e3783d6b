"""No shipped mechanism above its promise, every planted mistake found: 0.001 over all cases together."""

import inspect

import numpy as np
import pytest

from reports.audits import study
from reports.audits.study import misused, planted
from synthdp.dp.audited import algorithms, functions
from synthdp.privacy import mechanisms
from synthdp.privacy.audit import judge
from synthdp.privacy.audit.cases import shipped
from synthdp.privacy.mechanisms import Secure


def test_every_mechanism_has_a_case():
    names = " ".join(case.name for case in shipped())
    for name in mechanisms.__all__:
        found = getattr(mechanisms, name)
        if inspect.isclass(found) and hasattr(found, "release") and not getattr(found, "_is_protocol", False):
            assert name in names, f"{name} is not audited: add a case to privacy/audit/cases.py"


@pytest.mark.slow
def test_shipped_mechanisms_keep_their_promises():
    verdicts = judge(shipped(), runs=40_000, rng=np.random.default_rng(20_258))
    assert not [verdict.name for verdict in verdicts if verdict.broken]
    # the audits have teeth: for most mechanisms the auditor finds more than half of the ε that is there
    assert np.mean([verdict.found.epsilon > verdict.promised / 2 for verdict in verdicts]) > 0.6


@pytest.mark.slow
def test_every_planted_mistake_is_found():
    verdicts = judge(planted(), runs=30_000, rng=np.random.default_rng(1))
    assert not [verdict.name for verdict in verdicts if not verdict.broken]


@pytest.mark.slow
def test_algorithms_keep_their_promises_and_a_misused_one_does_not():
    rng = np.random.default_rng(7)
    assert not [verdict.name for verdict in judge(algorithms(), runs=8_000, rng=rng) if verdict.broken]
    (verdict,) = judge(misused(), runs=12_000, rng=rng)
    assert verdict.broken


@pytest.mark.slow
def test_private_functions_keep_their_promises():
    assert not [
        verdict.name for verdict in judge(functions(), runs=3_200, rng=np.random.default_rng(8)) if verdict.broken
    ]


def test_algorithms_are_audited_with_safe_noise_too():
    for case in (*algorithms(Secure()), *functions(Secure())):
        one, two = (case.mechanism(data, 2, np.random.default_rng(1)) for data in (case.first, case.second))
        assert np.isfinite([*one, *two]).all()


def test_secure_noise_leaves_out_what_it_refuses():
    missing = {case.name for case in shipped()} - {case.name for case in shipped(Secure())}
    assert missing == {"gamma (l2 noise)", "KNorm, l1 ball", "KNorm, linf ball", "SmoothNoise, heavy_tail"}


@pytest.mark.slow
def test_the_study_writes_its_page(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SECURE_SHARE", 4)
    monkeypatch.setattr(study, "planted", lambda: planted()[:2])
    monkeypatch.setattr(study, "FUNCTIONS_SHARE", 1)
    monkeypatch.setitem(study.TABLES, "algorithms", lambda: algorithms()[:1])
    monkeypatch.setitem(study.TABLES, "functions", lambda: functions()[:1])
    results = study.STUDY.run(out=tmp_path, replications=4000, jobs=1)
    assert len(results["planted"]) == 2
    assert not any(row["refuted"] for row in results["simulated"] + results["secure"])
    assert "Wrong on purpose" in (tmp_path / "README.md").read_text()
