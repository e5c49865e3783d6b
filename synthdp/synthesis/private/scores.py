r"""Pairs of columns by products of their scores: copies that know of the noise where tables would be mostly empty.

A noisy table of two columns says of each cell that its share is small, and never that it is 0. Cells that nobody is in
take records from the others, and correlations fall. Here a pair is known by few numbers. Released are

1. a noisy margin of every column, in its own cells, as fine as they are (``MARGINS`` of the budget);
2. the noisy sum of u_a u_bᵀ for every pair, u the columns' vectors (`encoding`), and of u_a itself for columns that
   were cut into groups.

The model has a parameter for each of these numbers (`halves`), so a linear regression without interactions among the
columns is a function of what was measured, and a logistic one is part of the model. Cells within a group follow the
margin.

What is assumed of these parameters beforehand: `shrinking`.

Notes
-----
Scores are linear on the log scale. What a pair has beyond (a curved mean, a corner that cannot be) is in no copy, and
in no interval. Shares and scales were chosen on `fair` and `adult` (reports/noise_aware says how).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from synthdp.dp.noise import projected
from synthdp.privacy.events import Composed, Event
from synthdp.privacy.mechanisms import Gaussian, Sensitivity, Source
from synthdp.synthesis.private.domain import Axis, thin
from synthdp.synthesis.private.encoding import Encoded, encoded, lowest, moved, ordered
from synthdp.synthesis.private.halves import Halves
from synthdp.synthesis.private.junction import Columns
from synthdp.synthesis.private.posterior import Known, Posterior, draws, found_from
from synthdp.synthesis.private.shrinking import Shrunk, spread_of
from synthdp.synthesis.private.synthesizer import Draw, Each
from synthdp.synthesis.private.tree import picked
from synthdp.table.microdata import Codes, Floats

MARGINS = 0.4
MOST_GROUPS, FEWEST_GROUPS = 10, 3
DROWNED = 0.1
"""Noise of a mean product: with scores of sd .55, as even ones have, it is a correlation within a third."""
LEAST_SHARE = 0.002
"""Of the records, that a cell has where the search for the mode begins."""


def groups_within(axes: Sequence[Axis], limit: int) -> int:
    """Return into how many groups ordered columns are cut so that all cells together are within a limit; 0 if none."""
    for most in range(MOST_GROUPS, FEWEST_GROUPS - 1, -1):
        if (
            math.prod(min(axis.plain, most) + axis.size - axis.plain if ordered(axis) else axis.size for axis in axes)
            <= limit
        ):
            return most
    return 0


def impossible(
    axes: Sequence[Axis], workload: Sequence[Columns], weights: Mapping[Columns, float], limit: int
) -> list[str]:
    """Return why a workload cannot be measured by scores."""
    if not weights or any(len(table) > 2 for table in workload):
        return ["synthesis.workload: associations: scores takes pairs of columns, and needs one at least."]
    used = _used(axes, weights)
    if groups_within(used, limit):
        return []
    levels = math.prod(axis.size for axis in used if not ordered(axis))
    return [
        f"synthesis.workload: its columns have more than {limit:,} cells together (model_cells), even with ordered "
        f"ones in {FEWEST_GROUPS} groups; those without an order have {levels:,}. Use fewer columns, or group levels."
    ]


def _used(axes: Sequence[Axis], weights: Mapping[Columns, float]) -> list[Axis]:
    return [axes[v] for v in sorted({v for pair in weights for v in pair})]


@dataclass(frozen=True)
class Release:
    """What is measured: fixed by the declared columns and the workload.

    Parameters
    ----------
    axes, weights
        The columns, and how much each pair's products count when noise is shared out.
    most
        Into how many groups ordered columns are cut.
    epsilon, delta
        The budget.
    """

    axes: tuple[Axis, ...]
    weights: Mapping[Columns, float]
    most: int
    epsilon: float
    delta: float

    @classmethod
    def of(
        cls, axes: tuple[Axis, ...], weights: Mapping[Columns, float], limit: int, *, epsilon: float, delta: float
    ) -> "Release":
        """Return what is measured by a model within a limit of cells."""
        return cls(axes, weights, groups_within(_used(axes, weights), limit), epsilon, delta)

    def notes(self, n: int) -> list[str]:
        """Return a sentence where the noise leaves nothing of n records; from public numbers alone."""
        found = thin(self.margins.sd, n, min(axis.size for axis in self.axes), "of the smallest margin")
        sd = self.products.sd / max(n, 1)
        if found or sd <= DROWNED:
            return found
        return [
            f"synthesis.epsilon: the noise of a mean product of scores is {sd:.3g}, and scores lie between −1 and 1: "
            "how columns hang together is mostly noise. Raise epsilon, or use fewer columns."
        ]

    @property
    def looks(self) -> list[float]:
        """The weight with which each column's own vector is summed: 1 for those that are cut into groups."""
        used = {v for pair in self.weights for v in pair}
        return [float(v in used and ordered(axis) and axis.plain > self.most) for v, axis in enumerate(self.axes)]

    @property
    def margins(self) -> Gaussian:
        """The noise of the margins."""
        return self._noise(math.sqrt(2 * len(self.axes)), MARGINS)

    @property
    def products(self) -> Gaussian:
        """The noise of the products."""
        return self._noise(moved([lowest(axis) for axis in self.axes], self.weights, self.looks), 1 - MARGINS)

    def _noise(self, far: float, share: float) -> Gaussian:
        """Return noise that spends a share of μ², which is what adds up for Gaussian noise."""
        alone = Gaussian.calibrated(
            Sensitivity(far / math.sqrt(share), "l2", "replace"), epsilon=self.epsilon, delta=self.delta
        )
        return Gaussian(Sensitivity(far, "l2", "replace"), alone.sd)

    def event(self) -> Event:
        """Return what was done, for the accountants."""
        return Composed((self.margins.event(), self.products.event()))

    def measured(self, cells: Codes, source: Source) -> "Measured":
        """Return noisy margins, and noisy sums of products of what they say of each column."""
        counts = [np.bincount(cells[:, v], minlength=axis.size) for v, axis in enumerate(self.axes)]
        flat = self.margins.release(np.concatenate(counts).astype(np.float64), source=source)
        margins = np.split(flat, np.cumsum([axis.size for axis in self.axes])[:-1])
        columns = tuple(
            encoded(axis, margin, len(cells), self.most, self.margins.sd)
            for axis, margin in zip(self.axes, margins, strict=True)
        )
        said = [column.vectors[column.group[cells[:, v]]] for v, column in enumerate(columns)]
        sums = [w * (said[a].T @ said[b]).ravel() for (a, b), w in self.weights.items()]
        sums += [look * said[v].sum(axis=0) for v, look in enumerate(self.looks) if look]
        noisy = self.products.release(np.concatenate(sums), source=source)
        return Measured(self, tuple(margins), columns, noisy, len(cells))


@dataclass(frozen=True)
class Measured:
    """Noisy margins by cell, the columns' vectors made from them, and noisy sums of products, all in one vector."""

    release: Release
    margins: tuple[Floats, ...]
    columns: tuple[Encoded, ...]
    sums: Floats
    total: int

    @property
    def used(self) -> tuple[int, ...]:
        """The columns of the model: those of a pair."""
        return tuple(sorted({v for pair in self.release.weights for v in pair}))

    def known(self, model: Halves) -> Known:
        """Return all that is known of the model's means: groups of margins, corrected by the second look, and products.

        A second look z = Uᵀs + N(0, τ²) at counts s that are known with covariance C moves them by C U (UᵀCU + τ²)⁻¹ of
        what it differs by.
        """
        weights, looks = self.release.weights, self.release.looks
        sizes = [self.columns[a].vectors.shape[1] * self.columns[b].vectors.shape[1] for a, b in weights]
        sizes += [self.columns[v].vectors.shape[1] for v, look in enumerate(looks) if look]
        pieces = np.split(self.sums, np.cumsum(sizes)[:-1])
        again = dict(zip([v for v, look in enumerate(looks) if look], pieces[len(weights) :], strict=True))
        y, noise = np.zeros(model.parameters), np.zeros((model.parameters,) * 2)
        sd, other = self.release.margins.sd, self.release.products.sd
        for span, v in zip(model.mains, self.used, strict=True):
            column = self.columns[v]
            counts = np.asarray(np.bincount(column.group, self.margins[v]), dtype=np.float64)
            spread = np.diag(sd**2 * np.bincount(column.group))
            if v in again:
                crossed = spread @ column.vectors
                inner = column.vectors.T @ crossed + other**2 * np.eye(crossed.shape[1])
                gain = np.linalg.solve(inner, crossed.T).T
                counts = counts + gain @ (again[v] - column.vectors.T @ counts)
                spread = spread - gain @ crossed.T
            y[span], noise[span, span] = counts, (spread + spread.T) / 2
        for span, piece, w in zip(model.products.values(), pieces, weights.values(), strict=False):
            y[span] = piece / w
            noise[span, span] = np.eye(len(piece)) * (other / w) ** 2
        return Known(y, noise, float(self.total))

    def posterior(self, *, rng: np.random.Generator) -> Posterior:
        """Return the posterior of the model's parameters."""
        place = {v: at for at, v in enumerate(self.used)}
        columns = [self.columns[v] for v in self.used]
        model = Halves([column.vectors for column in columns], [(place[a], place[b]) for a, b in self.release.weights])
        known, start = self.known(model), np.zeros(model.parameters)
        for span in model.mains:
            start[span] = np.log(np.maximum(known.y[span], LEAST_SHARE * self.total))
            start[span] -= start[span].mean()
        spreads = [
            spread_of(column.vectors[:, 0], known.y[span]) if column.ordered else None
            for column, span in zip(columns, model.mains, strict=True)
        ]
        return found_from(start, known, model, Shrunk.of(model, spreads), rng=rng)

    def drawn(self, copies: int, *, noise_aware: bool, rng: np.random.Generator) -> Draw | Each:
        """Return how records are drawn: from the mode for all copies, or from a draw of everything for each."""
        found = self.posterior(rng=rng)
        if not noise_aware:
            return partial(self._records, found, found.mode, [projected(one, self.total) for one in self.margins])
        thetas, _ = draws(found, copies, rng=rng)
        sd, each = self.release.margins.sd, []
        for theta in thetas:
            # given a flat prior a count is normal around what was measured
            within = [projected(one + rng.normal(0, sd, len(one)), self.total) for one in self.margins]
            each.append(partial(self._records, found, theta, within))
        return Each(tuple(each))

    def _records(self, found: Posterior, theta: Floats, within: Sequence[Floats], rng: np.random.Generator) -> Codes:
        """Return cells of every column: groups by the model, cells of a group by the margin."""
        model = found.means
        assert isinstance(model, Halves)
        groups = model.draw(theta, self.total, rng=rng)
        cells = np.zeros((self.total, len(self.columns)), dtype=np.int64)
        place = {v: at for at, v in enumerate(self.used)}
        for v, (column, counts) in enumerate(zip(self.columns, within, strict=True)):
            if v not in place:
                cells[:, v] = picked(counts[None, :], np.zeros(self.total, dtype=np.int64), rng)
                continue
            shares = np.zeros((column.size, len(column.group)))
            # evenly where the margin leaves nothing of a group
            shares[column.group, np.arange(len(column.group))] = counts + 1e-9
            cells[:, v] = picked(shares, groups[:, place[v]], rng)
        return cells
