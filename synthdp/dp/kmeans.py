"""DP k-means: Lloyd's algorithm in which every step sees noisy counts and noisy sums only.

Of T rounds each gets ε/T, half for the counts of the clusters and half for their sums: ε' = ε/(2T). Records are scaled
from their bounds into the ℓ1 unit ball. Replacing one record moves the counts by 2 in ℓ1 and the sums by 2 in ℓ1;
adding one moves each by 1. A cluster whose noisy count is under 1 starts again at a uniform place.

That is ε-DP: centres of the start are drawn without the data, given a round's centres every record belongs to one
cluster, so counts and sums are two Laplace mechanisms of ε' each, and the next centres are computed from their noisy
answers alone; 2T adaptive releases of ε/(2T) compose to ε (Dwork and Roth 2014, Theorem 3.16, adaptively), and what is
released is computed from the last of them.

References
----------
Blum, Dwork, McSherry, Nissim (2005), "Practical privacy: the SuLQ framework", PODS, section 4; Dwork, Roth (2014), "The
algorithmic foundations of differential privacy", section 3.5; Jiang (2025), short course on data privacy, DP part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget, Limits
from synthdp.dp.least_squares import named
from synthdp.dp.noise import Noise, bootstrap_generator
from synthdp.dp.request import Price, Priced, Request, below_noise, priced
from synthdp.errors import InputError
from synthdp.table.microdata import Floats


@dataclass(frozen=True, repr=False)
class Clusters(Priced):
    """Released centres (k × p, in the columns' own units) and noisy sizes of the last round."""

    centres: Floats
    sizes: Floats
    budget: Budget
    notes: tuple[str, ...]
    reason: str | None
    confidential: tuple[str, ...]
    names: tuple[str, ...]

    without_interval = "centres depend on where the rounds began; they estimate nothing of a population"

    def __repr__(self) -> str:
        price = f"NonPrivate: {self.reason}" if self.reason else f"ε = {self.budget.epsilon:g}"
        said = "".join(f"; {note}" for note in self.notes)
        return f"Clusters({len(self.centres)} centres; {price}, adjacency {self.budget.adjacency}{said})"

    @property
    def statistic(self) -> str:
        """What was released."""
        return f"{len(self.centres)} means"

    def table(self) -> pd.DataFrame:
        """Return one row per cluster: its centre, column by column, and its noisy size."""
        # columns may be called cluster or size, too
        number, size = (b if a in self.names else a for a, b in (("cluster", "number"), ("size", "noisy size")))
        index = pd.RangeIndex(1, len(self.centres) + 1, name=number)
        return pd.DataFrame(self.centres, index=index, columns=list(self.names)).assign(**{size: self.sizes})

    def _headline(self) -> str:
        return f"Clusters, {self.statistic}"


@priced(Price)
def kmeans(
    columns: Sequence[Any],
    k: int,
    *,
    bounds: Sequence[Limits],
    rounds: int = 5,
    names: Sequence[str] | None = None,
    **price: Unpack[Price],
) -> Clusters:
    """Release k centres after a fixed number of noisy rounds of Lloyd's algorithm.

    Parameters
    ----------
    columns, bounds, names
        Columns of numbers, the bounds of each, known without looking at the data, and what they are called.
    k, rounds
        Clusters, and rounds, which share ε: more rounds mean more noise in each.

    Notes
    -----
    No interval: centres have no population value of their own. Cost: O(rounds·n·k·p).

    Examples
    --------
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> rng = np.random.default_rng(1)
    >>> ages = np.concatenate([rng.normal(30, 3, 2000), rng.normal(70, 3, 2000)])
    >>> found = kmeans([ages], 2, bounds=[(18, 90)], names=["age"], epsilon=2, source=Simulated(rng))
    >>> [bool(abs(centre - true) < 2) for centre, true in zip(sorted(found.centres[:, 0]), (30, 70))]
    [True, True]
    """
    request = Request(**price)
    if isinstance(columns, pd.DataFrame):
        names = [str(name) for name in columns] if names is None else names
        columns = [columns.iloc[:, j] for j in range(columns.shape[1])]
    if not all(isinstance(count, int | np.integer) and not isinstance(count, bool) for count in (k, rounds)):
        raise InputError("kmeans: clusters and rounds must be whole numbers.")
    if k < 1 or rounds < 1 or not len(columns):
        raise InputError(f"kmeans: needs a column, a cluster and a round, found {len(columns)}, {k}, {rounds}.")
    budget = request.budget
    called = named(names, [f"column {j + 1}" for j in range(len(columns))])
    inside = request.columns(columns, bounds, called)
    source = request.source(f"{k} means" if names is None else f"{k} means of {', '.join(called)}")
    rng = bootstrap_generator(source)
    p = len(inside)
    ball = np.column_stack([column.scaled() for column in inside]) / p
    moved = 2.0 if budget.replacing else 1.0
    noise = Noise.of(budget.part(1 / (2 * rounds)), moved)
    centres = rng.uniform(-1 / p, 1 / p, (k, p))
    sizes = np.zeros(k)
    restarts = 0
    for _ in range(rounds):
        nearest = _nearest(ball, centres)
        sizes = noise.add(np.bincount(nearest, minlength=k).astype(np.float64), source)
        true = [np.bincount(nearest, ball[:, j], minlength=k).astype(np.float64) for j in range(p)]
        sums = noise.add(np.stack(true, axis=1), source)
        alive = sizes >= 1
        restarts += int((~alive).sum())
        fresh = rng.uniform(-1 / p, 1 / p, (k, p))
        centres = np.where(alive[:, None], np.clip(sums / np.maximum(sizes, 1)[:, None], -1 / p, 1 / p), fresh)
    notes = [f"{rounds} rounds, noise of scale {noise.scale:.3g} on every count and sum"]
    if restarts:
        notes.append(f"{restarts} times a cluster had a noisy count under 1 and started again")
    notes += below_noise(noise.sd, max(float(sizes.sum()), 0.0) / k, "a mean cluster of the last round holds")
    half = np.array([column.width / 2 for column in inside])
    middle = np.array([column.middle for column in inside])
    return Clusters(
        middle + centres * p * half,
        np.maximum(sizes, 0.0),
        budget,
        tuple(notes),
        request.reason,
        request.confidential,
        tuple(called),
    )


def _nearest(points: Floats, centres: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    # ‖x − c‖² less ‖x‖², which is the same for every centre
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2 * points @ centres.T, axis=1))
