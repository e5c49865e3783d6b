r"""Noisy tables of counts, and the log-linear model whose margins are nearest to them.

Minimised over all distributions of records is

    L(μ) = Σ_t ‖n μ_t − y_t‖²/(2σ_t²),

and of those that do, the one of largest entropy is log-linear in the tables (`junction`). Entropic mirror descent moves
θ by −α ∂L/∂μ, so that every step is a distribution; α is doubled after a step and halved until L falls as far as the
gradient says.

References
----------
McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for differential privacy", ICML,
Algorithm 1. Beck, Teboulle (2003), Operations Research Letters 31(3) (mirror descent).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synthdp.arrays import Booleans
from synthdp.synthesis.private.junction import Columns, Junction
from synthdp.table.microdata import Floats

HALVINGS = 25
SETTLED = 1e-7


@dataclass(frozen=True)
class Noisy:
    """Tables of counts with Gaussian noise: one for each set of columns.

    Parameters
    ----------
    sizes
        Cells of every column.
    tables
        By columns, in rising order: the noisy counts, and the variance of each.
    total
        How many records there are.
    ruled_out
        By columns, in rising order: the cells that hold nobody, as was declared.
    """

    sizes: tuple[int, ...]
    tables: Mapping[Columns, tuple[Floats, float]]
    total: int
    ruled_out: Mapping[Columns, Booleans] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[Columns, ...]:
        """The columns of each table."""
        return tuple(self.tables)

    @property
    def cells(self) -> int:
        """How many noisy counts there are."""
        return sum(counts.size for counts, _ in self.tables.values())

    def joined(self, columns: Columns, counts: Floats, variance: float) -> "Noisy":
        """Return these and another look; two looks at the same table become their weighted mean, which says as much."""
        tables = dict(self.tables)
        if columns in tables:
            before, known = tables[columns]
            share = known / (known + variance)
            counts, variance = (1 - share) * before + share * counts, 1 / (1 / known + 1 / variance)
        tables[columns] = counts, variance
        return Noisy(self.sizes, tables, self.total, self.ruled_out)

    def flat(self) -> Floats:
        """Return all counts as one vector."""
        return np.concatenate([counts.ravel() for counts, _ in self.tables.values()])

    def variances(self) -> Floats:
        """Return the variance of each count's noise."""
        return np.concatenate([np.full(counts.size, variance) for counts, variance in self.tables.values()])


@dataclass(frozen=True)
class Fit:
    """A log-linear model: θ by table, and what it says of every block; last come tables of what cannot be."""

    model: Junction
    theta: tuple[Floats, ...]
    beliefs: tuple[Floats, ...]

    @classmethod
    def at(cls, model: Junction, theta: Sequence[Floats], never: Sequence[Floats] = ()) -> "Fit":
        """Return the model at θ; of tables of what cannot be, ``never`` has −∞ in the cells that hold nobody."""
        return cls(model, tuple(theta), tuple(model.beliefs([*theta, *never])))

    def by_table(self) -> dict[Columns, Floats]:
        """Return θ by the columns of its table, for another fit to start from."""
        return dict(zip(self.model.tables[: len(self.theta)], self.theta, strict=True))

    def margins(self) -> list[Floats]:
        """Return the distribution in the columns of every table with a θ."""
        return self.model.margins(self.beliefs)[: len(self.theta)]

    def margin(self, columns: Columns) -> Floats:
        """Return the distribution in any columns."""
        return self.model.margin(self.beliefs, columns)


def nearest(noisy: Noisy, *, start: Mapping[Columns, Floats] | None = None, turns: int = 1000) -> Fit:
    """Return the model whose margins are nearest to noisy tables.

    Parameters
    ----------
    start
        θ by table from an earlier fit; tables that are not in it start at 0.
    turns
        The most steps; what is left undone costs no privacy. Cost O(cells of the blocks) each.
    """
    model = Junction.of(noisy.sizes, (*noisy.columns, *noisy.ruled_out))
    never = [np.where(out, -np.inf, 0.0) for out in noisy.ruled_out.values()]
    n, known = float(noisy.total), list(noisy.tables.values())
    theta = [np.zeros(counts.shape) if start is None else start.get(c, np.zeros(counts.shape))
             for c, (counts, _) in noisy.tables.items()]  # fmt: skip

    def loss(margins: Sequence[Floats]) -> tuple[float, list[Floats]]:
        gaps = [n * mu - counts for mu, (counts, _) in zip(margins, known, strict=True)]
        value = sum(float((gap**2).sum()) / (2 * v) for gap, (_, v) in zip(gaps, known, strict=True))
        return value, [n * gap / v for gap, (_, v) in zip(gaps, known, strict=True)]

    fit = Fit.at(model, theta, never)
    margins = fit.margins()
    value, slope = loss(margins)
    alpha = 1 / (n * max(n / v for _, v in known))
    for _ in range(turns):
        alpha *= 2
        for _ in range(HALVINGS):
            moved = Fit.at(model, [one - alpha * g for one, g in zip(fit.theta, slope, strict=True)], never)
            now = moved.margins()
            new, new_slope = loss(now)
            fell = sum(float((g * (a - b)).sum()) for g, a, b in zip(slope, margins, now, strict=True))
            if value - new >= 0.5 * fell:
                break
            alpha /= 2
        else:
            return fit
        settled = value - new <= SETTLED * max(abs(value), 1.0)
        fit, margins, value, slope = moved, now, new, new_slope
        if settled:
            break
    return fit
