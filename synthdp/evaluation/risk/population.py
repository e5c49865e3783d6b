"""Population uniqueness: whether somebody who is alone in the sample is alone in the population, by survey weights."""

from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import combine
from synthdp.evaluation.comparison import Comparison
from synthdp.microdata import Codes, Floats


def evaluate_population(comparison: Comparison) -> dict[str, Any]:
    """Estimate how many sample uniques are population uniques, and the risk of a link to the population.

    The intruder holds a register of the whole population with the keys, and the original records without names. A
    record whose class has F people in the population is found with probability 1/F. F is unknown; given the f records
    of the class in the sample it is taken as negative binomial,

        Pr(F = h | f) = C(h − 1, f − 1) π^f (1 − π)^(h − f),   h ≥ f,   π = f / Σ weights of the class,

    so Pr(F = 1 | f = 1) = π and E(1/F | f) = (π/f) · ₂F₁(1, 1; f + 1; 1 − π).

    Returns
    -------
    dict
        ``sample_unique``; ``population_unique`` (expected number of sample uniques that are population uniques) and
        its share; ``expected_links`` (sum of E(1/F) over records) and its rate; ``max_individual``.

    Raises
    ------
    InputError
        Without keys or weights, or when a weight is missing or below 1.

    Notes
    -----
    The model is exact when sampling is Bernoulli with probability π and class sizes follow Pr(F) ∝ 1/F (many small
    classes, a few large ones), and wrong otherwise: with classes of nearly equal size it overstates population
    uniqueness (checked by simulation in the tests). The risk is that of the original, before any synthesis. O(n).

    References
    ----------
    Benedetti and Franconi (1998), Statistical and technological solutions for controlled data dissemination, NTTS
    pre-proceedings 1, 225-232; Polettini (2003), ISTAT, on the series for E(1/F); the estimator of μ-Argus 4.
    """
    keys = comparison.schema.keys()
    if not keys:
        raise InputError("population: needs to know what an intruder knows; set key: true for at least one column.")
    names = [column.name for column in comparison.schema.columns if column.design == "weights"]
    if not names:
        raise InputError("population: needs the survey's weights; set data.weights to their column.")
    weights = np.asarray(pd.to_numeric(comparison.original[names[0]], errors="coerce"), dtype=np.float64)
    bad = ~np.isfinite(weights) | (weights < 1 - 1e-9)
    if bad.any():
        raise InputError(
            f"population: weights must be numbers of people, at least 1; found {int(bad.sum())} others, first at row "
            f"{int(np.flatnonzero(bad)[0]) + 1}; scale them to the population."
        )
    cells = combine([comparison.original], [key for key in keys if key.name != names[0]])[0]
    return population_risk(cells, weights)


def population_risk(cells: Codes, weights: Floats) -> dict[str, Any]:
    """Return the measures of :func:`evaluate_population` for coded classes."""
    n = len(cells)
    sample = np.bincount(cells)
    share = np.minimum(sample / np.maximum(np.bincount(cells, weights=weights), 1e-300), 1.0)
    unique = sample == 1
    risk = inverse_size(sample, share)[cells]
    return {
        "sample_unique": int(unique.sum()),
        "population_unique": float(share[unique].sum()),
        "population_unique_rate": float(share[unique].sum()) / n,
        "expected_links": float(risk.sum()),
        "expected_links_rate": float(risk.mean()),
        "max_individual": float(risk.max()),
    }


def inverse_size(sample: Codes, share: Floats) -> Floats:
    """Return E(1/F | f) for f records sampled at rate π, as a series that is stable for large f.

    Examples
    --------
    >>> inverse_size(np.array([1, 1]), np.array([1.0, 0.5])).round(4).tolist()
    [1.0, 0.6931]
    """
    from scipy.special import hyp2f1

    return np.asarray(share / sample * hyp2f1(1.0, 1.0, sample + 1.0, 1 - share), dtype=np.float64)
