"""Whether intervals cover: of one replication, over all of them, and how pages tell it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.markdown import table
from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import combine
from synthdp.table.microdata import Floats


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


def monte_carlo_error(replications: int) -> float:
    """Return the standard error of a coverage near 0.95."""
    return float(np.sqrt(0.95 * 0.05 / replications))


def verdict(rows: pd.DataFrame, band: tuple[float, float], of: str, name: Callable[[Any], str]) -> str:
    """Return the range of coverages in a sentence, and the name of each that lies outside the band."""
    covered = rows["coverage"]
    said = f"{len(rows)} coverages{of}: {covered.min():.3f} to {covered.max():.3f}"
    outside = rows[~covered.between(*band)]
    if outside.empty:
        return f"{said}, all in [{band[0]}, {band[1]}]."
    named = "; ".join(f"{name(row)}: {row.coverage:.3f}" for row in outside.itertuples())
    return f"{said}. **{len(outside)} lie outside [{band[0]}, {band[1]}]**: {named}."


def before(study: str) -> list[dict[str, Any]]:
    """Return the rows of the same study made before the package was changed, kept in its ``before.json``."""
    rows: list[dict[str, Any]] = json.loads(Path(study).with_name("before.json").read_text(encoding="utf-8"))
    return rows


def compared(results: Mapping[str, Any], schemes: Sequence[str], said: str) -> str:
    """Return coverage before and now by design and term, and how far the first scheme is from the original."""

    def wide(rows: str, values: str = "coverage") -> pd.DataFrame:
        return pd.DataFrame(results[rows]).pivot_table(
            index=["design", "term"], columns="scheme", values=values, sort=False
        )

    old, now, shift = wide("before"), wide("rows"), wide("rows", "shift_from_original_in_se")
    lines = [
        (
            *index,
            *(f"{part.loc[index, scheme]:.3f}" for scheme in schemes for part in (old, now)),
            f"{now.loc[index, 'original']:.3f}",
            f"{shift.loc[index, schemes[0]]:.2f}",
        )
        for index in now.index
    ]
    pairs = [name for scheme in schemes for name in (f"{scheme} before", scheme)]
    head = ("design", "term", *pairs, "original", f"shift of {schemes[0]} in se")
    return f"{table(head, lines)}\n\nShift: the mean distance from the estimate on the original. `before`: {said}."
