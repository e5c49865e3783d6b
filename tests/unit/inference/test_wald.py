"""Tests of several terms at once: by hand, against the scalar rules, under the null, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats

from synthdp.errors import InputError
from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import Pooled, combine

RULES = ("reiter2003", "rubin1987", "raghunathan2003", "raab2016", "raab2016_proper", "mean_se")


def copies(q: np.ndarray, covariance: np.ndarray) -> list[Estimates]:
    names = tuple("abcdef"[: q.shape[1]])
    return [Estimates(names, line, covariance, None) for line in q]


@pytest.mark.parametrize("rule", RULES)
def test_one_term_is_the_square_of_its_t(rule):
    # t = k(M − 1) = 3 ≤ 4: there the reference is the scalar one exactly
    pooled = combine(copies(np.array([[1.0], [4.0], [6.0], [2.0]]), np.array([[1.5]])), rule)
    test = pooled.wald()
    assert test.statistic == pytest.approx((pooled.estimate[0] / pooled.se[0]) ** 2)
    assert test.df2 == pytest.approx(pooled.df[0])
    assert test.p_value == pytest.approx(pooled.p_value[0])


def test_two_terms_by_hand():
    # q̄ = (2, 3); deviations (−1, −2), (0, 1), (1, 1), so B has 1 and 3 on its diagonal; V̄ = I
    q = np.array([[1.0, 1.0], [2.0, 4.0], [3.0, 4.0]])
    test = combine(copies(q, np.eye(2)), "reiter2003").wald()
    # tr B / 2 = (1 + 3)/2 = 2; r = 2/3; S = 13/(2 · 5/3) = 3.9; t = 4: w = 4 · 1.5 · (1 + 1.5)²/2 = 18.75
    assert (test.statistic, test.df1, test.df2) == pytest.approx((3.9, 2, 18.75))
    assert test.p_value == pytest.approx(stats.f.sf(3.9, 2, 18.75))
    assert str(test) == "F(2, 18.8) = 3.9, p = 0.038 (a, b; reiter2003)"
    full = combine(copies(q, np.eye(2)), "raghunathan2003").wald()
    # r = (4/3) · 2 = 8/3; S = 13/(2 · 5/3); w = 4 · 1.5 · (1 − 3/8)²/2
    assert (full.statistic, full.df2) == pytest.approx((3.9, 1.171875))
    more = combine(copies(np.vstack([q, q]), np.eye(2)), "reiter2003").wald()
    # M = 6: B shrinks by 4/5, r = 1.6/6; t = 10
    r = 1.6 / 6
    assert more.df2 == pytest.approx(4 + 6 * (1 + 0.8 / r) ** 2)
    assert more.statistic == pytest.approx(13 / (2 * (1 + r)))


def test_terms_values_and_units():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    q = rng.normal([1.0, 2.0, 3.0], size=(5, 3))
    pooled = combine(copies(q, root @ root.T), "reiter2003")
    change = rng.normal(size=(3, 3))
    turned = combine(copies(q @ change.T, change @ root @ root.T @ change.T), "reiter2003")
    assert turned.wald().statistic == pytest.approx(pooled.wald().statistic)
    assert pooled.wald(["c", "a"]).statistic == pytest.approx(pooled.wald(["a", "c"]).statistic)
    assert pooled.wald(value=pooled.estimate).p_value == 1.0
    assert pooled.wald(["b"], value=float(pooled.estimate[1])).statistic == pytest.approx(0, abs=1e-20)


def test_known_variance_gives_chi_squared():
    q = np.array([[1.0, 2.0], [1.0, 2.0]])
    for rule, factor in (("mean_se", 1.0), ("raab2016", 2.5), ("raab2016_proper", 3.5), ("raab2016_sample", 0.5)):
        test = combine(copies(q, np.eye(2)), rule, ratio=2.0).wald()
        assert test.df2 == math.inf
        assert test.p_value == pytest.approx(stats.chi2.sf(5 / factor, 2))
    agreeing = combine(copies(q, np.eye(2)), "reiter2003").wald()
    assert "F(2, inf) = 2.5" in str(agreeing)


@pytest.mark.parametrize(("rule", "between"), [("reiter2003", 2.0), ("rubin1987", 0.5), ("raghunathan2003", 2.0)])
def test_the_null_is_rejected_as_often_as_it_says(rule, between):
    """Estimates drawn as each design has them, V = I: q̂ ~ N(0, V_n), copies around it with variance ``between``."""
    rng = np.random.default_rng(7)
    runs, m, k = 3000, 20, 3
    # partial and full synthesis: the original's estimate has variance 1; missing data: 1 + between
    sd = math.sqrt(1 + between) if rule == "rubin1987" else 1.0
    rejected = 0
    for _ in range(runs):
        q = sd * rng.normal(size=k) + math.sqrt(between) * rng.normal(size=(m, k))
        pooled = combine(copies(q, np.eye(k)), rule)
        rejected += pooled.wald().p_value < 0.05
    # four Monte Carlo errors; F references of averaged odds are approximate, here to less than a point
    assert rejected / runs == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / runs))


class TestRefused:
    """Each in one sentence."""

    @pytest.mark.parametrize(
        "covariance", [np.ones((2, 2)), np.zeros((2, 2)), np.full((2, 2), np.nan), np.diag([1.0, 0.0])]
    )
    def test_singular(self, covariance):
        pooled = combine(copies(np.array([[1.0, 2.0], [3.0, 5.0]]), covariance))
        with pytest.raises(
            InputError, match=r"^wald: the covariance of a, b is singular; leave out a term that the othe"
        ):
            pooled.wald()

    def test_terms(self):
        pooled = combine(copies(np.array([[1.0, 2.0], [3.0, 5.0]]), np.eye(2)))
        with pytest.raises(InputError, match=r"^wald: no term named 'z'; there are a, b\.$"):
            pooled.wald(["z"])
        with pytest.raises(InputError, match=r"^wald: needs at least one term, found none\.$"):
            pooled.wald([])

    def test_a_variance_below_zero(self):
        pooled = combine(copies(np.array([[1.0, 2.0], [1.1, 2.1]]), np.eye(2)), "raghunathan2003")
        with pytest.raises(
            InputError, match=r"^wald: the variance that raghunathan2003 gives a, b together is not posit"
        ):
            pooled.wald()

    def test_nested_rules_have_none(self):
        pooled = combine(copies(np.array([[1.0], [2.0], [4.0], [3.0]]), np.eye(1)), "reiter2004", nests=2)
        with pytest.raises(InputError, match=r"^wald: there is no test of several terms for reiter2004; test them one"):
            pooled.wald()

    def test_without_covariances(self):
        one = np.ones(1)
        bare = Pooled(("a",), one, one, one, one, one, one, one, one, "mean_se", 1, 0.95)
        with pytest.raises(InputError, match=r"^wald: needs the covariances of the estimates, found none; use combine"):
            bare.wald()
