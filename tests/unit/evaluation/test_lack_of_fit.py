"""The lack-of-fit test of all coefficients: by hand, and its level under the designs it is for."""

import numpy as np
import pytest
from scipy import stats

from synthdp.evaluation.comparison import Sizes
from synthdp.evaluation.utility.analyses import lack_of_fit
from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import combine

NAMES = ("a", "b", "c")
V = np.array([[4.0, 1.0, 0.5], [1.0, 2.0, 0.3], [0.5, 0.3, 1.0]])


def pooled(values):
    return combine([Estimates(NAMES, one, V, None) for one in values], rule="mean_se")


def test_by_hand():
    copies = np.array([[1.0, 2.0, 3.0], [1.5, 2.5, 2.0]])
    d = copies.mean(axis=0) - np.ones(3)
    found = lack_of_fit(d, V, pooled(copies), [0, 1, 2], sizes=Sizes(100, 50), proper=None)
    statistic = d @ np.linalg.inv(V * 100 / 50 / 2) @ d
    assert (found["statistic"], found["df"]) == (pytest.approx(statistic), 3)
    assert found["p_value"] == pytest.approx(stats.chi2.sf(statistic, 3))
    rho = np.trace(np.cov(copies.T) @ np.linalg.inv(V)) / 3
    own = d @ np.linalg.inv(V) @ d * 2 / (3 * rho)
    assert found["from_copies"]["df"] == [3, 3]
    assert found["from_copies"]["statistic"] == pytest.approx(own)
    assert found["from_copies"]["p_value"] == pytest.approx(stats.f.sf(own, 3, 3))
    proper = lack_of_fit(d, V, pooled(copies), [0, 1, 2], sizes=Sizes(100, 50), proper=True)
    assert proper["statistic"] == pytest.approx(d @ np.linalg.inv(V * (1 + 100 / 50) / 2) @ d)


def test_the_order_of_terms_does_not_matter():
    copies = np.random.default_rng(1).normal(size=(4, 3))
    d = copies.mean(axis=0)
    order = [2, 0, 1]
    one = lack_of_fit(d, V, pooled(copies), [0, 1, 2], sizes=Sizes(10, 10), proper=None)
    other = lack_of_fit(d[order], V[np.ix_(order, order)], pooled(copies), order, sizes=Sizes(10, 10), proper=None)
    assert one["statistic"] == pytest.approx(other["statistic"])
    assert one["from_copies"]["statistic"] == pytest.approx(other["from_copies"]["statistic"])


def test_estimates_that_do_not_vary():
    d, same = np.zeros(3), pooled(np.ones((2, 3)))
    nothing = lack_of_fit(d, np.zeros((3, 3)), same, [0, 1, 2], sizes=Sizes(10, 10), proper=None)
    assert nothing == {"statistic": None, "df": 0, "p_value": None, "from_copies": None}
    flat = V.copy()
    flat[2] = flat[:, 2] = 0
    found = lack_of_fit(d, flat, same, [0, 1, 2], sizes=Sizes(10, 10), proper=None)
    assert found == {"statistic": 0, "df": 2, "p_value": 1, "from_copies": None}
    one = lack_of_fit(np.ones(3), V, pooled(np.ones((1, 3))), [0, 1, 2], sizes=Sizes(10, 10), proper=None)
    assert one["from_copies"] is None


@pytest.mark.parametrize(("proper", "variance"), [(False, 0.5), (True, 1.5)])
def test_its_level(proper, variance):
    """Under plug-in and under proper synthesis 5% of right copies are rejected (2,000 repeats, 4 standard errors)."""
    rng = np.random.default_rng(2)
    root = np.linalg.cholesky(V * variance)
    known, own = [], []
    for _ in range(2000):
        copies = rng.normal(size=(5, 3)) @ root.T
        found = lack_of_fit(copies.mean(axis=0), V, pooled(copies), [0, 1, 2], sizes=Sizes(100, 200), proper=proper)
        known.append(found["p_value"] < 0.05)
        own.append(found["from_copies"]["p_value"] < 0.05)
    error = np.sqrt(0.05 * 0.95 / 2000)
    assert abs(np.mean(known) - 0.05) < 4 * error
    assert abs(np.mean(own) - 0.05) < 4 * error
