"""Whether intervals hold the truth: what the coverage studies count."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import combine
from synthdp.microdata import Floats


def together(parts: Mapping[str, Estimates]) -> Estimates:
    """Return several analyses as one vector (their covariances with each other are not needed)."""
    names = tuple(f"{label}: {name}" for label, part in parts.items() for name in part.names)
    variances = np.concatenate([np.diag(part.covariance) for part in parts.values()])
    return Estimates(names, np.concatenate([part.values for part in parts.values()]), np.diag(variances), None)


def interval(estimates: Sequence[Estimates], rule: str, *, nests: int | None = None) -> Floats:
    """Return estimate, variance, lower and upper limit, 4 × terms."""
    pooled = combine(estimates, rule=rule, nests=nests)
    return np.asarray([pooled.estimate, np.asarray(pooled.se) ** 2, pooled.low, pooled.high])


def truth_vector(truth: Mapping[str, Mapping[str, float]]) -> pd.Series:
    """Return the truth by "analysis: term"."""
    return pd.Series({f"{label}: {term}": value for label, terms in truth.items() for term, value in terms.items()})


def coverage_rows(
    draws: Floats, truth: pd.Series, strengths: Sequence[Mapping[str, float]], schemes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return coverage, bias and variance ratio by strength, scheme and term.

    Parameters
    ----------
    draws
        replications × strengths × schemes × (estimate, variance, low, high) × terms; the last scheme is the original.
    """
    rows: list[dict[str, Any]] = []
    known = truth.to_numpy()
    for s, strength in enumerate(strengths):
        original = draws[:, s, -1]
        for k, scheme in enumerate(schemes):
            estimate, variance, low, high = (draws[:, s, k, part] for part in range(4))
            covered = (low <= known) & (known <= high)
            bias = estimate.mean(axis=0) - known
            shift = (estimate - original[:, 0]).mean(axis=0) / np.sqrt(original[:, 1].mean(axis=0))
            for t, term in enumerate(truth.index):
                rows.append(
                    {
                        **strength,
                        "scheme": scheme,
                        "term": term,
                        "coverage": round(float(covered[:, t].mean()), 4),
                        "bias_in_mc_errors": round(float(bias[t] / (estimate[:, t].std() / np.sqrt(len(draws)))), 2),
                        "shift_from_original_in_se": round(float(shift[t]), 4),
                        "variance_ratio": round(float(variance[:, t].mean() / estimate[:, t].var()), 4),
                    }
                )
    return rows
