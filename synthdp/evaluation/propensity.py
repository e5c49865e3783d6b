"""Can a model tell the synthetic records from the original ones? Propensity scores and three summaries of them.

The original and one copy are stacked, and a logistic regression on the main effects of all columns predicts which
file a record comes from. If the files are alike, every prediction is near the share of synthetic records.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from synthdp.evaluation.comparison import Comparison
from synthdp.microdata import MISSING, Codes, Floats, codes, numbers
from synthdp.schema import Column, Schema

MOST_LEVELS = 50
CHUNK = 32_768
NEWTON_STEPS = 50
# as a share of the number of records, on unit scale: too small to show in six digits, large enough that a perfectly
# separated or collinear design still has a maximum
RIDGE = 1e-9
# what a further step could still add to the log-likelihood
CONVERGED = 1e-14
# scores closer than this are equal: records with equal values may differ in the last bits of a matrix product
SCORE_DECIMALS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The fitted probability of being synthetic, for each original and each synthetic record.

    Parameters
    ----------
    original, synthetic
        The scores of the two files' records.
    slopes
        How many independent columns the design has beside the intercept.
    """

    original: Floats
    synthetic: Floats
    slopes: int

    @property
    def share(self) -> float:
        """The share c of synthetic records."""
        return len(self.synthetic) / (len(self.original) + len(self.synthetic))

    @property
    def pmse(self) -> float:
        """Mean (p̂ − c)² over all records: 0 when alike, c(1 − c) when every record is told apart."""
        squares = ((self.original - self.share) ** 2).sum() + ((self.synthetic - self.share) ** 2).sum()
        return float(squares / (len(self.original) + len(self.synthetic)))

    @property
    def ratio(self) -> float | None:
        """The pMSE over its null expectation (1 − c)² c k/N for k slopes and N records; None without slopes.

        Notes
        -----
        The null is that of copies drawn whole from the model fitted to the original (plug-in): their mean ratio is 1.
        Copies that are independent samples, or drawn from a posterior, give about 2. Under partial synthesis the
        kept columns agree and a ratio below 1 is normal: it does not mean "better than right".

        References
        ----------
        Snoke, Raab, Nowok, Dibben, Slavković (2018), JRSS A 181(3), 663–688.
        """
        if self.slopes == 0:
            return None
        null = (1 - self.share) ** 2 * self.share * self.slopes / (len(self.original) + len(self.synthetic))
        return self.pmse / null

    @property
    def specks(self) -> float:
        """The Kolmogorov–Smirnov distance between the scores of the two files."""
        original, synthetic = np.sort(self.original), np.sort(self.synthetic)
        at = np.concatenate([original, synthetic])
        below_original = np.searchsorted(original, at, side="right") / len(original)
        below_synthetic = np.searchsorted(synthetic, at, side="right") / len(synthetic)
        return float(np.abs(below_original - below_synthetic).max())

    @property
    def po50(self) -> float:
        """The percentage of records classified correctly, beyond the 50 of a coin; each file counts half."""
        right = (self.synthetic > self.share).mean() + (self.original <= self.share).mean()
        return float(50 * right - 50)


def evaluate_propensity(comparison: Comparison) -> dict[str, Any]:
    """Return the ``pmse``, ``specks`` and ``po50`` sections of metrics.json.

    Notes
    -----
    Cost: a Newton step is one pass over the stacked design, about 2 N k² operations; some 5 steps are needed. 200,000
    stacked records with 30 columns take about a second per copy and hold the design (8 N k bytes) in memory.
    """
    original = _encode(comparison.original, comparison.schema)
    scores = [_scores(original, _encode(copy, comparison.schema)) for copy in comparison.copies]
    ratios = [score.ratio for score in scores if score.ratio is not None]
    pmse = _section(scores, lambda score: score.pmse)
    pmse = {"value": pmse["value"], "ratio": float(np.mean(ratios)) if ratios else None, "per_copy": pmse["per_copy"]}
    return {
        "pmse": {"logit": pmse},
        "specks": _section(scores, lambda score: score.specks),
        "po50": _section(scores, lambda score: score.po50),
    }


def propensity(original: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> Scores:
    """Return the propensity scores of one copy against the original."""
    return _scores(_encode(original, schema), _encode(synthetic, schema))


def _section(scores: list[Scores], measure: Callable[[Scores], float]) -> dict[str, Any]:
    per_copy = [measure(score) for score in scores]
    return {"value": float(np.mean(per_copy)), "per_copy": per_copy}


def _scores(original: list[Floats | Codes], synthetic: list[Floats | Codes]) -> Scores:
    matrix = _design(original, synthetic)
    n = len(original[0])
    label = np.zeros(len(matrix))
    label[n:] = 1.0
    fitted = np.round(fit_logistic(matrix, label), SCORE_DECIMALS)
    # the intercept is in every design, so the slopes are the rank beside it
    rank = int(np.linalg.matrix_rank(_gram(matrix, np.ones(len(matrix))), hermitian=True, tol=1e-9 * len(matrix)))
    return Scores(original=fitted[:n], synthetic=fitted[n:], slopes=rank - 1)


def _encode(frame: pd.DataFrame, schema: Schema) -> list[Floats | Codes]:
    """Return each column as floats (numeric) or codes (levels), in schema order."""
    return [_encode_column(frame[column.name], column) for column in schema.columns]


def _encode_column(series: pd.Series, column: Column) -> Floats | Codes:
    if not column.kind.categorical:
        return numbers(series, column)
    found = codes(series, column)
    # a value outside the levels is a level of its own: it must not pass for a missing one
    found[(found == MISSING) & series.notna().to_numpy()] = len(column.levels)
    return found


def _design(original: list[Floats | Codes], synthetic: list[Floats | Codes]) -> Floats:
    """Return the intercept and the main effects of all columns that vary, each standardised."""
    blocks = [np.ones((len(original[0]) + len(synthetic[0]), 1))]
    for first, second in zip(original, synthetic, strict=True):
        stacked = np.concatenate([first, second])
        blocks.append(_dummies(stacked) if stacked.dtype.kind == "i" else _with_indicator(stacked))
    return np.concatenate(blocks, axis=1)


def _with_indicator(values: Floats) -> Floats:
    """Return a numeric column, gaps at its mean, beside an indicator of the gaps."""
    present = np.isfinite(values)
    if not present.any():
        return np.empty((len(values), 0))
    filled = np.where(present, values, values[present].mean())
    return _standardised(np.column_stack([filled, ~present]))


def _dummies(levels: Codes) -> Floats:
    """Return one column per level but the commonest; beyond the 50 commonest levels the rest is one level."""
    found, place, counts = np.unique(levels, return_inverse=True, return_counts=True)
    rank = np.empty(len(found), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(found))
    group = np.minimum(rank[place], MOST_LEVELS)
    columns = np.arange(1, min(len(found), MOST_LEVELS + 1))
    return _standardised((group[:, None] == columns).astype(np.float64))


def _standardised(block: Floats) -> Floats:
    centred = block - block.mean(axis=0)
    sd = np.sqrt((centred**2).mean(axis=0))
    varies = sd > 1e-12 * np.abs(block).max(axis=0, initial=0.0)
    return np.asarray(centred[:, varies] / sd[varies], dtype=np.float64)


def fit_logistic(matrix: Floats, label: Floats) -> Floats:
    """Return the fitted probabilities of a logistic regression with a ridge too small to matter.

    Newton's method on Σ log p(label) − ½ λ|β|², λ = 1e-9 n; a step that does not climb is halved.

    Parameters
    ----------
    matrix
        The design with its intercept, columns on unit scale.
    label
        0 or 1 for each row.
    """
    ridge = RIDGE * len(matrix)
    beta = np.zeros(matrix.shape[1])
    eta = matrix @ beta
    height = _height(eta, label, beta, ridge)
    for _ in range(NEWTON_STEPS):
        p = expit(eta)
        slope = matrix.T @ (label - p) - ridge * beta
        curvature = _gram(matrix, p * (1 - p)) + ridge * np.eye(len(beta))
        step = np.linalg.solve(curvature, slope)
        if slope @ step < CONVERGED:
            break
        while True:
            moved = beta + step
            eta_moved = matrix @ moved
            height_moved = _height(eta_moved, label, moved, ridge)
            if height_moved >= height - 1e-12 * abs(height):
                break
            step = step / 2
        beta, eta, height = moved, eta_moved, height_moved
    return np.asarray(expit(eta), dtype=np.float64)


def _height(eta: Floats, label: Floats, beta: Floats, ridge: float) -> float:
    return float(label @ eta - np.logaddexp(0, eta).sum() - 0.5 * ridge * beta @ beta)


def _gram(matrix: Floats, weight: Floats) -> Floats:
    """Return Xᵀ diag(w) X a slice at a time, so that no second copy of the design is made."""
    total = np.zeros((matrix.shape[1], matrix.shape[1]))
    for start in range(0, len(matrix), CHUNK):
        rows = matrix[start : start + CHUNK]
        total += (rows * weight[start : start + CHUNK, None]).T @ rows
    return total
