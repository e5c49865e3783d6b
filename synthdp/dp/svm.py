r"""A private support vector machine: a decision function released as a whole, so that anyone may ask it anywhere.

    f = argmin_{g ∈ H} (1/n) Σ_i loss(y_i g(x_i)) + λ‖g‖²,     y_i ∈ {−1, 1}

with the loss (1 − m)₊ (``hinge``) or log(1 + e^{−m}) (``logistic``: kernel logistic regression). One record moves f by
at most 1/(λn) in the norm of H, where K(x, x) ≤ 1: either loss moves by at most |g(x) − g′(x)|, and the objective is
2λ-strongly convex. H here is the span of a normal kernel at a public grid of landmarks on the bounds, a kernel space of
its own with K(x, x) ≤ 1; so f is a finite vector, noise on it comes from the safe source, and n² numbers are never
held. There is no intercept: one without a penalty would break the bound. The bound is that of the exact minimum; the
noise also pays for the distance from it that the solver leaves, with both files (`margins`).

References
----------
Hall (2012, PhD thesis, CMU), section 3.3.3. Its derivation prints 2λ‖η(f′ − f)‖² for 2λη(1 − η)‖f′ − f‖², and a wrong
sign in the difference of losses; the bound is right. Rubinstein, Bartlett, Huang, Taft (2012), JPC 4(1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget, Limits
from synthdp.dp.functions import Basis, mechanism_of
from synthdp.dp.kernels import gaussian_gram
from synthdp.dp.least_squares import named
from synthdp.dp.margins import Loss, minimise, reached
from synthdp.dp.request import NoisePrice, Priced, Request, below_noise, priced
from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats, positive
from synthdp.table.microdata import Floats

MOST_LANDMARKS = 2000
PER_BANDWIDTH = 1.0
METHODS: dict[Loss, str] = {"hinge": "support vector machine", "logistic": "kernel logistic regression"}


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
    loss: Loss = "hinge"

    without_interval = "a decision function follows where the classes are; it estimates nothing of a population"

    def __repr__(self) -> str:
        return f"Classifier({len(self.names)} columns, {len(self.weights)} coordinates; {self.guarantee()})"

    @property
    def statistic(self) -> str:
        """What was released."""
        return f"{METHODS[self.loss]} on {', '.join(self.names)}"

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
    loss: Loss = "hinge",
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
    loss
        ``hinge``, or ``logistic``, whose decision function f gives the probability 1/(1 + e^−f) of class 1.

    Notes
    -----
    Where the solver does not come as close as it must it stops with an error, which says that much about the data; so
    it did for 200,000 records at λ = 0.01 after half a minute, while 50,000 took four seconds. Cost: O(n r) for each
    pass, r landmarks; of ``logistic`` O(n r²), in a few passes.

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
    if loss not in METHODS:
        raise InputError(f"loss: must be hinge or logistic, found {loss!r}.")
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
    source = request.source(f"{METHODS[loss]} on {', '.join(called)}")
    within = reached(lam, n, math.prod(len(basis.into) for basis in bases), loss)
    mechanism = mechanism_of(budget, 1 / (lam * n) + 2 * within, "svm")
    rows = np.column_stack([(column.values - column.low) / column.width for column in inside])
    fitted = minimise(_features(rows, landmarks, into, scaled), sign, lam, within, loss)
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
        loss,
    )


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
