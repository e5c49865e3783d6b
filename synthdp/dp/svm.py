r"""A private support vector machine: a decision function released as a whole, so that anyone may ask it anywhere.

    f = argmin_{g ∈ H} (1/n) Σ_i (1 − y_i g(x_i))₊ + λ‖g‖²,     y_i ∈ {−1, 1}

One record moves f by at most 1/(λn) in the norm of H, where K(x, x) ≤ 1: the loss moves by at most |g(x) − g′(x)|, and
the objective is 2λ-strongly convex. H here is the span of a normal kernel at a public grid of landmarks on the bounds,
a kernel space of its own with K(x, x) ≤ 1; so f is a finite vector, noise on it comes from the safe source, and n²
numbers are never held. There is no intercept: one without a penalty would break the bound.

Notes
-----
The bound is that of the exact minimum. The solver stops when the duality gap says that it is within ½% of the
bound, and the noise pays for that with both files: a gap τ leaves f within √(τ/λ). Where n is so large that a gap of
this size would drown in the rounding of double arithmetic, it stops at twice that rounding, and pays for this.

References
----------
Hall (2012, PhD thesis, CMU), section 3.3.3. Its derivation prints 2λ‖η(f′ − f)‖² for 2λη(1 − η)‖f′ − f‖², and a wrong
sign in the difference of losses; the bound is right. Rubinstein, Bartlett, Huang, Taft (2012), JPC 4(1). Hsieh, Chang,
Lin, Keerthi, Sundararajan (2008), ICML (coordinate descent on the dual).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Unpack

import numpy as np
import pandas as pd

from synthdp.arrays import compiled
from synthdp.dp.declarations import Budget, Limits
from synthdp.dp.functions import Basis, mechanism_of
from synthdp.dp.kernels import gaussian_gram
from synthdp.dp.least_squares import named
from synthdp.dp.request import NoisePrice, Priced, Request, below_noise, priced
from synthdp.errors import InputError, Unfinished
from synthdp.privacy.guarantees import floats, positive
from synthdp.table.microdata import Floats

SLACK = 0.01
MOST_LANDMARKS = 2000
PER_BANDWIDTH = 1.0
PASSES, MOST_PASSES, BATCH = 20_000, 400_000, 20
WORK = 2 * 10**10
"""Numbers touched by the passes beyond the first ones: seconds for thousands of records."""


@dataclass(frozen=True, repr=False)
class Classifier(Priced):
    """A released decision function; ``predict`` and ``decision`` take records in the columns' own units.

    ``noise_sd`` is the sd of the noise of the decision function at any point within the bounds, at most.
    """

    weights: Floats
    noise_sd: float
    names: tuple[str, ...]
    landmarks: tuple[Floats, ...]
    into: tuple[Floats, ...]
    lows: Floats
    widths: Floats
    bandwidths: tuple[float, ...]
    budget: Budget
    notes: tuple[str, ...]
    reason: str | None
    confidential: tuple[str, ...]

    without_interval = "a decision function follows where the classes are; it estimates nothing of a population"

    def __repr__(self) -> str:
        return f"Classifier({len(self.names)} columns, {len(self.weights)} coordinates; {self.guarantee()})"

    @property
    def statistic(self) -> str:
        """What was released."""
        return f"support vector machine on {', '.join(self.names)}"

    def decision(self, x: Any) -> Floats:
        """Return f at records (rows), clipped to the bounds."""
        rows = floats(x, "x")
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise InputError(f"x: must have {len(self.names)} columns, found an array of shape {np.shape(x)}.")
        if missing := int(np.isnan(rows).any(axis=1).sum()):
            raise InputError(f"x: {missing} records have a missing value, for which there is no class.")
        units = np.clip((rows - self.lows) / self.widths, 0, 1)
        return np.asarray(_features(units, self.landmarks, self.into, self.bandwidths) @ self.weights)

    def predict(self, x: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return −1 or 1 for every record."""
        return np.where(self.decision(x) >= 0, 1, -1).astype(np.int64)

    def table(self) -> pd.DataFrame:
        """Return the decision function at the landmarks."""
        own = [low + width * at for low, width, at in zip(self.lows, self.widths, self.landmarks, strict=True)]
        places = np.stack([at.ravel() for at in np.meshgrid(*own, indexing="ij")], axis=1)
        frame = pd.DataFrame(places, columns=list(self.names)).assign(decision=self.decision(places))
        return frame.set_index(pd.RangeIndex(1, len(places) + 1, name="landmark"))


@priced(NoisePrice)
def svm(
    x: Any,
    y: Any,
    *,
    bounds: Sequence[Limits],
    bandwidth: float | Sequence[float],
    regularisation: float,
    names: Sequence[str] | None = None,
    **price: Unpack[NoisePrice],
) -> Classifier:
    """Release a classifier of two classes.

    Parameters
    ----------
    x, bounds
        Columns (a data frame, a list, or an array of records) of one to three numbers, and the bounds of each.
    y
        −1 or 1, or 0 or 1, for each record.
    bandwidth
        Of the kernel, in the columns' own units, chosen without looking at the data.
    regularisation
        λ, likewise: the noise has sd about r(ε, δ)/(λn), so a small one wants many records.

    Notes
    -----
    Where the solver does not come as close as it must it stops with an error, which says that much about the data; so
    it did for 200,000 records at λ = 0.01 after half a minute, while 50,000 took four seconds. Cost: O(n r) for each
    pass, r landmarks.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(0, 1, 2000)
    >>> fixed = {"bounds": [(0, 1)], "bandwidth": 0.3, "regularisation": 0.01}
    >>> noise = Simulated(rng)
    >>> found = svm(x, x > 0.5, **fixed, epsilon=1, delta=1e-5, source=noise)
    >>> bool((found.predict(x) == np.where(x > 0.5, 1, -1)).mean() > 0.9)
    True
    """
    request = Request(**price)
    budget = request.budget
    request.replace_only("svm: takes adjacency replace only, as its noise follows from the number of records.")
    lam = positive(regularisation, "regularisation")
    columns = _columns(x)
    called = named(names, [str(getattr(c, "name", None) or f"x{k + 1}") for k, c in enumerate(columns)])
    inside = request.columns(columns, bounds, called)
    n = len(inside[0])
    sign = _signs(y, n)
    widths = np.array([column.width for column in inside])
    each = [bandwidth] * len(inside) if np.ndim(bandwidth) == 0 else list(bandwidth)  # type: ignore[arg-type]
    if len(each) != len(inside):
        raise InputError(f"bandwidth: must be one for each of {len(inside)} columns, found {len(each)}.")
    scaled = tuple(positive(h, "bandwidth") / float(w) for h, w in zip(each, widths, strict=True))  # type: ignore[arg-type]
    many = [math.ceil(PER_BANDWIDTH / h) + 1 for h in scaled]
    if (size := math.prod(many)) > MOST_LANDMARKS:
        raise InputError(f"svm: {size:,} landmarks, at most {MOST_LANDMARKS:,}; use a larger bandwidth.")
    landmarks = tuple(np.linspace(0, 1, count) for count in many)
    bases = [Basis.of(gaussian_gram(at, at, h)) for at, h in zip(landmarks, scaled, strict=True)]
    into = tuple(basis.into for basis in bases)
    source = request.source(f"support vector machine on {', '.join(called)}")
    within = reached(lam, n, math.prod(len(basis.into) for basis in bases))
    mechanism = mechanism_of(budget, 1 / (lam * n) + 2 * within, "svm")
    rows = np.column_stack([(column.values - column.low) / column.width for column in inside])
    fitted = minimise(_features(rows, landmarks, into, scaled), sign, lam, within)
    weights = mechanism.release(fitted, source=source)
    notes = (
        f"f moves by at most {1 / (lam * n):.3g} with one record; the noise has sd up to {mechanism.sd:.3g}",
        *below_noise(mechanism.sd, float(np.abs(weights).max()), "any coordinate of the function"),
    )
    return Classifier(
        weights,
        mechanism.sd,
        tuple(called),
        landmarks,
        into,
        np.array([column.low for column in inside]),
        widths,
        scaled,
        budget,
        notes,
        request.reason,
        request.confidential,
    )


def lost_to_rounding(regularisation: float, size: int) -> float:
    """Return by how much a computed duality gap may be off, for weights of so many coordinates.

    Scalar products of vectors of norm 1 and at most 1/√λ, and sums taken in pairs.
    """
    return 2.0**-53 * (size * (1 / math.sqrt(regularisation) + 2) + 128)


def reached(regularisation: float, n: int, size: int) -> float:
    """Return how close to the exact minimum the solver certainly comes: half a per cent of 1/(λn), or what it can."""
    lost = 2 * lost_to_rounding(regularisation, size)
    return max(SLACK / (2 * regularisation * n), math.sqrt(lost / regularisation))


def minimise(features: Floats, sign: Floats, regularisation: float, within: float) -> Floats:
    """Return the weights of the least objective, certainly within this distance of the exact ones.

    Coordinate descent on the dual, whose objective bounds the primal from below: F(w) − F* ≥ λ‖w − w*‖².

    Raises
    ------
    Unfinished
        When that takes too many passes.
    """
    n = len(features)
    rows = np.ascontiguousarray(features * sign[:, None])
    squares = (rows**2).sum(axis=1)
    # α in [0, 1/n], w = Σ α_i y_i φ_i / 2λ
    alpha, weights = np.zeros(n), np.zeros(features.shape[1])
    passes = max(PASSES, min(MOST_PASSES, WORK // features.size))
    for _ in range(passes // BATCH):
        _descend(rows, squares, regularisation, alpha, weights, BATCH)
        # afresh, and each sum in pairs: what was added up step by step has drifted
        weights = np.array([(column * alpha).sum() for column in rows.T]) / (2 * regularisation)
        norm = regularisation * float(weights @ weights)
        primal = float(np.maximum(1 - rows @ weights, 0.0).mean()) + norm
        gap = primal - (float(alpha.sum()) - norm) + lost_to_rounding(regularisation, features.shape[1])
        if gap <= regularisation * within**2:
            return weights
    raise Unfinished(f"svm: not within 1% after {passes:,} passes; use a larger regularisation.")


@compiled
def _descend(rows: Floats, squares: Floats, regularisation: float, alpha: Floats, weights: Floats, passes: int) -> None:
    n, size = rows.shape
    for _ in range(passes):
        for i in range(n):
            if squares[i] <= 0:
                alpha[i] = 1 / n
                continue
            margin = 0.0
            for j in range(size):
                margin += rows[i, j] * weights[j]
            best = min(max(alpha[i] + 2 * regularisation * (1 - margin) / squares[i], 0.0), 1 / n)
            change = (best - alpha[i]) / (2 * regularisation)
            if change != 0:
                alpha[i] = best
                for j in range(size):
                    weights[j] += change * rows[i, j]


def _features(
    units: Floats, landmarks: Sequence[Floats], into: Sequence[Floats], bandwidths: Sequence[float]
) -> Floats:
    """Return each record's coordinates in the span of the kernel at the landmarks."""
    each = [
        gaussian_gram(units[:, k], at, h) @ basis.T
        for k, (at, basis, h) in enumerate(zip(landmarks, into, bandwidths, strict=True))
    ]
    return np.asarray(reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(units), -1), each))


def _columns(x: Any) -> list[Any]:
    columns: list[Any]
    if isinstance(x, pd.DataFrame):
        columns = [x.iloc[:, j] for j in range(x.shape[1])]
    elif isinstance(x, np.ndarray):
        columns = list(x.T) if x.ndim == 2 else [x]
    elif isinstance(x, list | tuple) and len(x) and np.ndim(x[0]) == 1:
        columns = list(x)
    else:
        columns = [x]
    if not 1 <= len(columns) <= 3:
        raise InputError(f"svm: takes one to three columns, found {len(columns)}.")
    return columns


def _signs(y: Any, n: int) -> Floats:
    given = np.asarray(y)
    values = given.astype(np.float64) if given.dtype.kind in "biuf" and given.ndim == 1 else np.full(1, np.nan)
    if len(values) != n:
        raise InputError(f"y: must be {n} numbers, one for each record.")
    if not (np.isin(values, (0, 1)).all() or np.isin(values, (-1, 1)).all()):
        raise InputError("y: must be −1 or 1, or 0 or 1.")
    return np.where(values > 0, 1.0, -1.0)
