"""Logistic regression and gradient boosting that tell synthetic from original records.

Near the null the fit is linear: p̂ − c = H(y − c) with the hat matrix H = X G⁻¹ Xᵀ, G = XᵀX, columns centred. Hence
every null is a matrix V, the covariance of G⁻¹Xᵀ(y − c): a record's expected (p̂ − c)² is xᵀVx, and the pMSE has
expectation tr(VG)/N and standard deviation √(2 tr (VG)²)/N.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import expit

from synthdp.evaluation.utility.propensity.nulls import Null
from synthdp.evaluation.utility.propensity.stacking import Stack
from synthdp.newton import maximise
from synthdp.table.microdata import Codes, Floats

MOST_LEVELS = 50
# products of columns beyond this many would take minutes, and tell small files apart whatever they hold
MOST_SLOPES = 400
CHUNK = 32_768
STEPS = 100
# the share of the last gain above which a step with an old curvature is not worth taking
FASTER = 0.01
# as a share of the number of records, on unit scale: too small to show in six digits, large enough that a perfectly
# separated or collinear design still has a maximum
RIDGE = 1e-9
# what a further step could still add to the log-likelihood
CONVERGED = 1e-14


class TooManyTermsError(Exception):
    """The design has more columns than can be fitted; the message says how many."""


@dataclass(frozen=True, repr=False)
class Logit:
    """A logistic regression on the main effects of all columns, or on the products of every two columns as well.

    Notes
    -----
    Cost: XᵀX, about 2 N k² operations, and near the null some 6 passes of 4 N k. The design (8 N k bytes) is in memory.
    """

    stack: Stack
    interactions: bool = False
    matrix: Floats = field(init=False)

    def __post_init__(self) -> None:
        blocks = [_effects(column) for column in self.stack.columns()]
        if self.interactions:
            blocks += _products(blocks)
        matrix = np.concatenate([np.ones((len(self.stack), 1)), *blocks], axis=1)
        object.__setattr__(self, "matrix", matrix)

    def scores(self, label: Floats) -> Floats:
        """Return the fitted probabilities."""
        return fit_logistic(self.matrix, label, self._gram)

    @property
    def slopes(self) -> int:
        """How many independent columns the design has beside the intercept."""
        return int(self._spectrum[0].size)

    def formula(self, *, proper: bool) -> Null | None:
        """Return what a right full synthesis gives: V = c(1 − c) G⁻¹, times 1 − c for draws from the fitted model.

        The expectation is c(1 − c) k/N for k slopes, which is also that of permuted labels; for plug-in draws it is
        (1 − c)² c k/N, because the copy varies around the original and not around what the original varies around.

        References
        ----------
        Snoke, Raab, Nowok, Dibben, Slavković (2018), JRSS A 181(3), 663–688 (plug-in).
        """
        share = self.stack.share
        scale = share * (1 - share) * (1 if proper else 1 - share)
        return self._null("formula", scale * np.eye(self.slopes))

    def within_record(self, *, proper: bool) -> Null | None:
        """Return what labels swapped within records give: V = ¼ G⁻¹ DᵀD G⁻¹, D the differences of the two rows.

        Halved for draws from the fitted model. Columns that agree have no difference and add nothing.
        """
        n = len(self.stack.original)
        values, vectors = self._spectrum
        differences = self.matrix[n:, 1:] - self.matrix[:n, 1:]
        inner = vectors.T @ _gram(differences) @ vectors / np.sqrt(np.outer(values, values))
        return self._null("within_record", 0.25 * (1 if proper else 0.5) * inner)

    def _null(self, kind: str, inner: Floats) -> Null | None:
        """Return the null of V = U Λ^-½ inner Λ^-½ Uᵀ for G = U Λ Uᵀ, so that tr(VG) is the trace of ``inner``."""
        if self.slopes == 0 or np.trace(inner) <= 0:
            return None
        values, vectors = self._spectrum
        weights = vectors / np.sqrt(values)
        total = len(self.matrix)
        expected, sd = np.trace(inner) / total, np.sqrt(2 * np.sum(inner * inner.T)) / total
        turned = weights @ inner @ weights.T
        per_record = np.empty(total)
        for start in range(0, total, CHUNK):
            rows = self.matrix[start : start + CHUNK, 1:]
            per_record[start : start + CHUNK] = np.einsum("ij,ij->i", rows @ turned, rows)
        return Null(kind, float(expected), float(sd), per_record, records=total)

    @cached_property
    def _gram(self) -> Floats:
        return _gram(self.matrix)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """The eigenvalues and eigenvectors of G that are not zero."""
        values, vectors = np.linalg.eigh(self._gram[1:, 1:])
        kept = values > 1e-9 * len(self.matrix)
        return values[kept], vectors[:, kept]


def _effects(column: Floats | Codes) -> Floats:
    return _dummies(column) if column.dtype.kind == "i" else _with_indicator(np.asarray(column, dtype=np.float64))


def _products(blocks: list[Floats]) -> list[Floats]:
    widths = [block.shape[1] for block in blocks]
    slopes = sum(widths) + (sum(widths) ** 2 - sum(width**2 for width in widths)) // 2
    if slopes > MOST_SLOPES:
        raise TooManyTermsError(f"{slopes} terms with all products of two columns, more than {MOST_SLOPES}")
    pairs = [(first, second) for i, first in enumerate(blocks) for second in blocks[i + 1 :]]
    return [_standardised((a[:, :, None] * b[:, None, :]).reshape(len(a), -1)) for a, b in pairs]


def _with_indicator(values: Floats) -> Floats:
    """Return a numeric column, gaps at its mean, beside an indicator of the gaps."""
    present = np.isfinite(values)
    if not present.any():
        return np.empty((len(values), 0))
    filled = np.where(present, values, values[present].mean())
    return _standardised(np.column_stack([filled, ~present]))


def _dummies(levels: Codes | Floats) -> Floats:
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


def fit_logistic(matrix: Floats, label: Floats, gram: Floats | None = None) -> Floats:
    """Return the fitted probabilities of a logistic regression with a ridge too small to matter.

    Newton's method on Σ log p(label) − ½ λ|β|², λ = 1e-9 n; a step that does not climb is halved. The curvature is
    taken anew only when the last step did not come ten times closer: near the null the first one is nearly right, and
    a step with an old curvature costs N k instead of N k².

    Parameters
    ----------
    matrix
        The design with its intercept, columns on unit scale.
    label
        0 or 1 for each row.
    gram
        XᵀX, where it is known.
    """
    ridge = RIDGE * len(matrix)
    curvature = 0.25 * (_gram(matrix) if gram is None else gram) + ridge * np.eye(matrix.shape[1])
    gain = np.inf

    def at(beta: Floats) -> tuple[float, Floats]:
        eta = matrix @ beta
        return _height(eta, label, beta, ridge), eta

    def newton(beta: Floats, eta: Floats) -> tuple[Floats, float, None]:
        nonlocal curvature, gain
        p = expit(eta)
        slope = matrix.T @ (label - p) - ridge * beta
        step = np.linalg.solve(curvature, slope)
        if slope @ step > FASTER * gain:
            curvature = _gram(matrix, p * (1 - p)) + ridge * np.eye(len(beta))
            step = np.linalg.solve(curvature, slope)
        gain = float(slope @ step)
        return np.asarray(step, dtype=np.float64), gain, None

    start = np.zeros(matrix.shape[1])
    found = maximise(at, newton, start, steps=STEPS, near=CONVERGED, rounding=1e-12)
    return np.asarray(expit(found.known), dtype=np.float64)


def _height(eta: Floats, label: Floats, beta: Floats, ridge: float) -> float:
    return float(label @ eta - np.logaddexp(0, eta).sum() - 0.5 * ridge * beta @ beta)


def _gram(matrix: Floats, weight: Floats | None = None) -> Floats:
    """Return Xᵀ diag(w) X a slice at a time, so that no second copy of the design is made."""
    total = np.zeros((matrix.shape[1], matrix.shape[1]))
    for start in range(0, len(matrix), CHUNK):
        rows = matrix[start : start + CHUNK]
        total += (rows if weight is None else rows * weight[start : start + CHUNK, None]).T @ rows
    return total


FOLDS = 3
TREES = 60
LEAVES = 15
# beyond this scikit-learn takes no levels: they are then split by threshold, as numbers are
MOST_CATEGORIES = 255


@dataclass(frozen=True, repr=False)
class Boosting:
    """scikit-learn's histogram gradient boosting, cross-fitted over three folds.

    Both rows of a record are in the same fold: otherwise the kept columns would lead from the one that was fitted to
    the label of the other.

    Notes
    -----
    Cost O(trees · N · columns) for each fold: about 0.7 s of one core for 20,000 stacked records and 10 columns.
    """

    stack: Stack
    codes: Floats
    folds: Codes

    @classmethod
    def of(cls, stack: Stack, rng: np.random.Generator) -> Self:
        """Return the model of a stack, columns put into bins and records into folds."""
        folds = rng.permutation(len(stack.original) if stack.paired else len(stack)) % FOLDS
        codes = stack.bins().T.astype(np.float64)
        return cls(stack, codes, np.tile(folds, 2) if stack.paired else folds)

    def scores(self, label: Floats) -> Floats:
        """Return each record's probability as the models of the other folds give it."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        found = np.full(len(label), label.mean())
        for fold in range(FOLDS):
            inside = self.folds == fold
            if inside.all() or not inside.any() or len(np.unique(label[~inside])) < 2:
                continue
            model = HistGradientBoostingClassifier(
                max_iter=TREES,
                max_leaf_nodes=LEAVES,
                categorical_features=~np.asarray(self.stack.ordered) & (self.codes.max(axis=0) < MOST_CATEGORIES),
                early_stopping=False,
                random_state=0,  # without early stopping nothing is drawn
            )
            # threads that wait for each other's turn take many times longer on a machine with other work
            with threadpool_limits(1, user_api="openmp"):
                model.fit(self.codes[~inside], label[~inside])
                found[inside] = model.predict_proba(self.codes[inside])[:, 1]
        return found
