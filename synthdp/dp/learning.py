"""Private learning: `sgd` (DP-SGD, accounted for), and `gradient_descent` with adaptive Laplace noise beside it.

Take `sgd`. `gradient_descent` is pure ε-DP and proven for the last iterate only, with the noise of the worst case on it
(see `descent`); in reports/gradient its error is hundreds to thousands of times as large. For a mean or a linear
regression, `mean`, `ols` and `adassp` need no steps at all.

Rows are scaled from declared bounds into the unit ball, an intercept is added (not for the mean), and coefficients are
brought back to the columns' own units.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Required, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Limits
from synthdp.dp.descent import descend, last_scale, noise_factors, rates
from synthdp.dp.losses import Loss, Name, clipped, loss_of
from synthdp.dp.noise import bootstrap_generator
from synthdp.dp.preparing import Preparation, declared
from synthdp.dp.regression import Coefficients
from synthdp.dp.request import Price, Request, below_noise, priced
from synthdp.dp.subsampling import multiplier_of
from synthdp.errors import InputError
from synthdp.privacy.guarantees import not_negative, number, positive, whole
from synthdp.privacy.mechanisms.mechanism import least_scale
from synthdp.table.microdata import Floats

WEAKER = "only the last iterate is covered, by the noise of its worst case; sgd is closer for the same ε with a small δ"
MOST_GROWN = 1e9
ROUNDED = 2.0**-47
UNTOLD = "what noise does to coefficients learnt in steps has no known law; mean and ols have intervals"


class SgdPrice(Price, total=False):
    """Gaussian noise, so a δ above 0 is part of the price."""

    delta: Required[float]


class Learnt(Coefficients):
    """Coefficients that were learnt in steps."""

    without_interval = UNTOLD

    def _headline(self) -> str:
        return self.method


@priced(Price)
def gradient_descent(
    loss: Name,
    records: Sequence[Any] | pd.DataFrame,
    *,
    bounds: Sequence[Limits],
    steps: int = 100,
    clip: float = 1.0,
    power: float = 0.5,
    kappa: float = 0.0,
    penalty: float = 0.0,
    **price: Unpack[Price],
) -> Learnt:
    """Release the last iterate of a descent with adaptive Laplace noise; pure ε-DP.

    Parameters
    ----------
    loss
        ``mean``, ``ridge`` or ``logistic`` (a response of two values, at its bounds).
    records
        Columns of the same records, or a DataFrame of them; the response comes first, except for the mean.
    bounds
        Lowest and highest possible value of each column, known without the data.
    epsilon
        The price of the last iterate.
    steps, clip
        N, and the ℓ1 norm that gradients are shortened to.
    power, kappa
        ρ and κ: rates fall as (1 + t)^−ρ from 1/(8L), and the noise of step t is t^κ times smaller.
    penalty
        λ of ridge and logistic.

    Notes
    -----
    The noise on the last iterate has scale 2·clip·Σ η/ε whatever the number of records. Cost: O(steps).
    """
    request = Request(**price)
    task = _read(request, loss, records, bounds, penalty)
    eta = rates(steps, 1 / (8 * task.loss.smoothness), power)
    diameter = 2 * positive(clip, "clip")
    epsilon = request.budget.epsilon
    # β_N = N^κ, and the last iterate shall cost ε: all others have less of it
    if not_negative(kappa, "kappa") * math.log(len(eta)) > math.log(MOST_GROWN):
        raise InputError(f"kappa: steps^kappa must be at most {MOST_GROWN:g}; noise beyond drowns every double.")
    gammas = noise_factors(eta, kappa=kappa) * diameter / (epsilon / len(eta) ** kappa)
    source = request.source(f"last iterate of {loss}")
    rng = bootstrap_generator(source)

    def gradient(theta: Floats, lot: int) -> Floats:
        one = task.loss.full(theta, task.rows[[lot]], task.y[[lot]])
        return np.asarray(clipped(one, diameter / 2, 1)[0])

    path = descend(gradient, np.zeros(task.rows.shape[1]), eta, gammas, records=len(task.rows), rng=rng)
    # N sums of up to N draws of noise, each up to 64 scales, in doubles: two paths may be so much farther apart
    rounded = 1 + ROUNDED * len(eta) ** (2 + kappa) / epsilon
    step = last_scale(eta, diameter=diameter, epsilon=1.0) * rounded
    theta = source.laplace(path.last, scale=least_scale(step, epsilon), sensitivity=step)
    notes = [WEAKER, *below_noise(math.sqrt(2) * step / epsilon, 1.0, "the scaled coefficients can be expected to be")]
    return task.learnt(f"gradient descent, {loss}", theta, request, notes)


@priced(SgdPrice)
def sgd(
    loss: Name,
    records: Sequence[Any] | pd.DataFrame,
    *,
    bounds: Sequence[Limits],
    steps: int = 200,
    batch: float = 0.05,
    clip: float = 1.0,
    rate: float | None = None,
    penalty: float = 0.0,
    size: int | None = None,
    **price: Unpack[SgdPrice],
) -> Learnt:
    """Release the average of the last half of a noisy gradient descent on samples (DP-SGD).

    Parameters
    ----------
    loss, records, bounds, penalty
        As for `gradient_descent`.
    epsilon, delta
        The price of the whole path, by loss distributions of the sampled Gaussian.
    steps, batch
        How many steps, and the probability of each record to be in one.
    clip
        The ℓ2 norm that gradients are shortened to.
    rate
        The step size; 1/(2L) if nothing is said.
    size
        Under add_remove, about how many records there are, from what is known without them: sums are divided by it.

    Notes
    -----
    Steps, batch, clip and rate are part of the promise: whoever tries several on the data spends for each.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> ages = np.random.default_rng(1).integers(18, 90, 2000)
    >>> found = sgd("mean", [ages], bounds=[(18, 90)], epsilon=1, delta=1e-6,
    ...     source=Simulated(np.random.default_rng(2)))
    >>> bool(abs(found.coefficients[0] - ages.mean()) < 3)
    True
    """
    request = Request(**price)
    budget = request.budget
    if not budget.delta > 0:
        raise InputError(f"delta: must be above 0 for Gaussian noise, found {budget.delta:g}.")
    number(batch, "batch")
    if not 0 < batch <= 1:
        raise InputError(f"batch: must be above 0 and at most 1, found {batch:g}.")
    task = _read(request, loss, records, bounds, penalty)
    if size is None and not budget.replacing:
        raise InputError("size: is needed under add_remove, where the number of records is confidential.")
    if size is not None and budget.replacing:
        raise InputError("size: belongs to add_remove; under replace the number of records is public and known.")
    count = len(task.rows) if budget.replacing else whole(size or 0, "size", 1)
    most, stride = positive(clip, "clip"), positive(1 / (2 * task.loss.smoothness) if rate is None else rate, "rate")
    multiplier = multiplier_of(
        budget.epsilon, budget.delta, rate=batch, steps=whole(steps, "steps", 1), adjacency=budget.adjacency
    )
    source = request.source(f"{loss} by sgd")
    rng = bootstrap_generator(source)
    theta, total = np.zeros(task.rows.shape[1]), np.zeros(task.rows.shape[1])
    kept = steps - steps // 2
    for t in range(steps):
        chosen = np.flatnonzero(rng.random(len(task.rows)) < batch)
        found = clipped(task.loss.gradients(theta, task.rows[chosen], task.y[chosen]), most, 2).sum(axis=0)
        moved = 2 * most if budget.replacing else most
        noisy = source.gaussian(found, sd=multiplier * most, sensitivity=moved)
        theta = theta - stride * (noisy / (batch * count) + task.loss.penalty * theta)
        total += theta if t >= steps - kept else 0.0
    spread = multiplier * most * stride / (batch * count)
    notes = below_noise(spread, 1.0, "the scaled coefficients can be expected to be")
    return task.learnt(f"sgd, {loss}", total / kept, request, list(notes))


class _Task(NamedTuple):
    """Prepared rows, the loss on them, and the way back."""

    loss: Loss
    rows: Floats
    y: Floats
    names: tuple[str, ...]
    back: Preparation | tuple[Floats, Floats]

    def learnt(self, method: str, theta: Floats, request: Request, notes: list[str]) -> Learnt:
        if isinstance(self.back, Preparation):
            first, slopes = self.back.coefficients(theta)
            found = np.concatenate([[first], slopes])
        else:
            found = self.back[0] + self.back[1] * theta
        return Learnt(
            method,
            theta,
            0.0,
            request.budget,
            request.reason,
            tuple(notes),
            names=self.names,
            coefficients=found,
            confidential=request.confidential,
        )


def _read(
    request: Request, loss: Name, records: Sequence[Any] | pd.DataFrame, bounds: Sequence[Limits], penalty: float
) -> _Task:
    """Return the records inside the unit ball, with the loss on them."""
    norm = 1.0 if loss == "mean" else math.sqrt(2)
    chosen = loss_of(loss, penalty=penalty, norm=norm)
    least = 1 if loss == "mean" else 2
    if isinstance(records, pd.DataFrame):
        records = [records[name] for name in records.columns]
    if len(records) < least:
        raise InputError(f"records: {loss} needs {least} columns or more, found {len(records)}.")
    names = [str(getattr(column, "name", None) or f"column {k + 1}") for k, column in enumerate(records)]
    columns = request.columns(records, bounds, names)
    values = np.column_stack([column.values for column in columns])
    if loss == "mean":
        radius = math.sqrt(len(columns))
        rows = np.column_stack([column.scaled() for column in columns]) / radius
        middles, halves = (np.array(ends) for ends in zip(*((c.middle, c.width / 2) for c in columns), strict=True))
        return _Task(chosen, rows, np.zeros(len(rows)), tuple(names), (middles, halves * radius))
    y = columns[0]
    if loss == "logistic" and not np.isin(y.values, (y.low, y.high)).all():
        raise InputError(f"{names[0]}: logistic needs a response of two values, which are its bounds.")
    ready = declared([(c.low, c.high) for c in columns[1:]], (y.low, y.high), intercept=True)
    rows, response = ready.rows(values[:, 1:]), ready.response(values[:, 1:], values[:, 0])
    back = ready if loss == "ridge" else declared([(c.low, c.high) for c in columns[1:]], (-1.0, 1.0), intercept=True)
    return _Task(chosen, rows, response, ("intercept", *names[1:]), back)
