"""Intervals cover at their nominal rate when copies are drawn from the exact posterior predictive."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import integrate, stats

from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import combine

pytestmark = pytest.mark.slow

RUNS = 4000
LEVEL = 0.95
FOUR_ERRORS = 4 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)
TRUTH = np.array([1.0, 0.5])


def regressed(y: np.ndarray, design: np.ndarray, names: tuple[str, ...]) -> Estimates:
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    df = len(y) - len(beta)
    return Estimates(names, beta, inverse * np.sum((y - design @ beta) ** 2) / df, df)


def posterior_draw(y: np.ndarray, design: np.ndarray, *, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Draw (β, σ) of a normal regression under the prior 1/σ²."""
    fit = regressed(y, design, ())
    df = len(y) - design.shape[1]
    variance = np.sum((y - design @ fit.values) ** 2) / rng.chisquare(df)
    root = np.linalg.cholesky(np.linalg.inv(design.T @ design) * variance)
    return fit.values + root @ rng.normal(size=len(fit.values)), float(np.sqrt(variance))


def synthesised(m: int, replaced: float, *, rng: np.random.Generator, n: int = 200) -> Iterator[list[Estimates]]:
    """Yield the estimates of m copies, run after run; ``replaced`` is the share of responses drawn anew."""
    z = rng.normal(size=n)
    design = np.column_stack([np.ones(n), z])
    # which records are replaced must not depend on the response, and only they may inform the model
    anew = np.arange(n) < replaced * n
    for _ in range(RUNS):
        y = design @ TRUTH + rng.normal(size=n)
        copies = []
        for _ in range(m):
            beta, sd = posterior_draw(y[anew], design[anew], rng=rng)
            released = np.where(anew, design @ beta + sd * rng.normal(size=n), y)
            copies.append(regressed(released, design, ("Intercept", "z")))
        yield copies


def coverage(runs: Iterator[list[Estimates]], rule: str) -> np.ndarray:
    pooled = [combine(copies, rule, LEVEL) for copies in runs]
    return np.mean([(found.low <= TRUTH) & (found.high >= TRUTH) for found in pooled], axis=0)


def promised(m: int) -> float:
    """Return the rule's coverage when all of a column is redrawn, by quadrature over b.

    With V the variance of the original's estimate, q̄ ~ N(truth, V + 2V/m), v̄ = V and b ~ 2V χ²/(m − 1).
    """

    def covered(chi2: float) -> float:
        b = 2 * chi2 / (m - 1)
        t = stats.t.ppf((1 + LEVEL) / 2, (m - 1) * (1 + m / b) ** 2)
        return float((2 * stats.norm.cdf(t * np.sqrt((1 + b / m) / (1 + 2 / m))) - 1) * stats.chi2.pdf(chi2, m - 1))

    return float(integrate.quad(covered, 1e-12, stats.chi2.isf(1e-10, m - 1), limit=200)[0])


@pytest.mark.parametrize(("m", "replaced", "seed"), [(5, 1.0, 2), (5, 0.5, 3)])
def test_reiter_covers_in_regression(m: int, replaced: float, seed: int) -> None:
    found = coverage(synthesised(m, replaced, rng=np.random.default_rng(seed)), "reiter2003")
    np.testing.assert_allclose(found, LEVEL, atol=FOUR_ERRORS)


@pytest.mark.parametrize("m", [2, 3])
def test_reiter_with_few_copies_covers_as_much_as_its_formula_can(m: int) -> None:
    found = coverage(synthesised(m, 1.0, rng=np.random.default_rng(m)), "reiter2003")
    expected = promised(m)
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(expected * (1 - expected) / RUNS))


def test_what_the_formula_promises() -> None:
    assert [round(promised(m), 3) for m in (2, 3, 5, 20)] == [0.929, 0.945, 0.95, 0.95]


def test_the_test_can_fail() -> None:
    """Without b/M the intervals are too short, and this design shows it."""
    found = coverage(synthesised(5, 1.0, rng=np.random.default_rng(4)), "mean_se")
    assert (found < LEVEL - FOUR_ERRORS).all()


def test_rubin_covers_with_imputed_responses() -> None:
    """Half of the responses are missing completely at random and imputed properly."""
    rng = np.random.default_rng(5)
    n, m = 200, 5
    z = rng.normal(size=n)
    design = np.column_stack([np.ones(n), z])

    def runs() -> Iterator[list[Estimates]]:
        for _ in range(RUNS):
            y = design @ TRUTH + rng.normal(size=n)
            missing = rng.random(n) < 0.5
            copies = []
            for _ in range(m):
                beta, sd = posterior_draw(y[~missing], design[~missing], rng=rng)
                completed = np.where(missing, design @ beta + sd * rng.normal(size=n), y)
                copies.append(regressed(completed, design, ("Intercept", "z")))
            yield copies

    np.testing.assert_allclose(coverage(runs(), "rubin1987"), LEVEL, atol=FOUR_ERRORS)
