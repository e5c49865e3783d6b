"""Simulation-based calibration of the regression families: θ from the prior, data from θ, ranks must be uniform.

Talts, Betancourt, Simpson, Vehtari, Gelman (2018), arXiv:1804.06788.
"""

import numpy as np
import pytest
from scipy import stats

from synthdp.imputation.families import sampling
from synthdp.imputation.families.counts import NegativeBinomial
from synthdp.imputation.families.normal import Semicontinuous
from synthdp.imputation.families.ordered import Ordered
from synthdp.imputation.families.unordered import Multinomial

pytestmark = pytest.mark.slow

REPLICATIONS = 500
POSTERIOR_DRAWS = 9
SMALLEST_P = 1e-3
PRIOR = np.array([1.0, 1.2])


def smallest_p(ranks: np.ndarray) -> float:
    """The smallest of the columns' p-values, times their number."""
    counts = [np.bincount(column, minlength=POSTERIOR_DRAWS + 1) for column in ranks.T]
    return min(float(stats.chisquare(count).pvalue) for count in counts) * len(counts)


def calibrate(family, prior_draw, outcome, parameters, *, seed, n=10, replications=REPLICATIONS):
    """Return the rank of every true parameter among draws from its posterior.

    Few records, so that a wrong prior would show as well as a wrong likelihood.
    """
    rng = np.random.default_rng(seed)
    ranks = []
    for _ in range(replications):
        design = np.column_stack([np.ones(n), rng.normal(size=n)])
        truth = prior_draw(rng)
        fitted = family.fit(design, outcome(design, truth, rng), PRIOR, rng=rng)
        draws = np.array([parameters(fitted.draw(rng=rng)) for _ in range(POSTERIOR_DRAWS)])
        ranks.append((draws < truth).sum(axis=0))
    return np.array(ranks)


def ordered_case(link: str):
    family = Ordered(4, link, location_sd=1.0, spacing_mean=-0.3, spacing_sd=0.7)

    def prior_draw(rng):
        # the middle one of three cutpoints is the location
        spacing = np.exp(-0.3 + 0.7 * rng.standard_normal(2))
        middle = rng.standard_normal()
        return np.array([PRIOR[1] * rng.standard_normal(), middle - spacing[0], middle, middle + spacing[1], *spacing])

    def outcome(design, truth, rng):
        noise = rng.standard_normal(len(design)) if link == "probit" else rng.logistic(size=len(design))
        return np.digitize(design[:, 1] * truth[0] + noise, truth[1:4]).astype(float)

    def parameters(drawn):
        return np.concatenate([drawn.beta[1], drawn.cutpoints, np.diff(drawn.cutpoints)])

    return family, prior_draw, outcome, parameters


def multinomial_case():
    def prior_draw(rng):
        return (PRIOR * rng.standard_normal((2, 2))).ravel()

    def outcome(design, truth, rng):
        utility = np.column_stack([np.zeros(len(design)), design @ truth.reshape(2, 2).T])
        return np.argmax(utility + rng.gumbel(size=utility.shape), axis=1).astype(float)

    return Multinomial(3), prior_draw, outcome, lambda drawn: drawn.beta.T.ravel()


def count_case():
    def prior_draw(rng):
        return np.append(PRIOR * rng.standard_normal(2), -0.5 + 0.8 * rng.standard_normal())

    def outcome(design, truth, rng):
        shape = np.exp(-truth[2])
        return rng.poisson(np.exp(design @ truth[:2]) * rng.gamma(shape, 1 / shape, size=len(design))).astype(float)

    family = NegativeBinomial(10**6, log_dispersion=(-0.5, 0.8))
    return family, prior_draw, outcome, lambda drawn: np.append(drawn.beta[:, 0], np.log(drawn.dispersion))


def two_part_case():
    def prior_draw(rng):
        variance = 3.0 / rng.gamma(4.0)
        amount = 2 * PRIOR * np.sqrt(variance) * rng.standard_normal(2)
        return np.concatenate([PRIOR * rng.standard_normal(2), amount, [variance]])

    def outcome(design, truth, rng):
        off = design @ truth[:2] + rng.standard_normal(len(design)) > 0
        return np.where(off, design @ truth[2:4] + np.sqrt(truth[4]) * rng.standard_normal(len(design)), 0.25)

    family = Semicontinuous(0.25, linear_widening=2.0, variance_prior=(4.0, 3.0))
    return family, prior_draw, outcome, lambda drawn: np.append(drawn.beta.T.ravel(), drawn.amount_variance)


CASES = {
    "ordered probit": lambda: ordered_case("probit"),
    "ordered logit": lambda: ordered_case("logit"),
    "multinomial": multinomial_case,
    "negative binomial": count_case,
    "semicontinuous": two_part_case,
}


@pytest.mark.parametrize("name", CASES)
def test_the_family_is_calibrated(name):
    assert smallest_p(calibrate(*CASES[name](), seed=31)) > SMALLEST_P


@pytest.mark.parametrize("name", ["ordered probit", "multinomial", "negative binomial"])
def test_the_family_is_calibrated_with_few_records_and_trajectories(name, monkeypatch):
    """Few records leave levels empty and posteriors skewed, which is where trajectories take over."""
    monkeypatch.setattr(sampling, "MOST_INDEPENDENT_STEPS", 0)
    assert smallest_p(calibrate(*CASES[name](), seed=32, n=6, replications=100)) > SMALLEST_P
