"""A number given the kept columns and the columns before it: a regression, and a tree of what it leaves.

On the scale of its scores

    s = x'β + σ(x) e,    log σ² = x'γ,    e ~ the mixture of the tree's leaf:  Σ_g b_g N(m_g, h_g²)

Groups g of at least five neighbouring residuals of a leaf have their own mean and spread; masses are drawn by the
Bayesian bootstrap, β from its posterior given σ; γ is the regression of log squared residuals on the few predictors
that explain them. Without a regression β = γ = 0. The tree grows only splits that chance would not give, so where the
regression is right it is a single leaf.

References
----------
Rubin (1981), Annals of Statistics 9(1), 130-134 (the Bayesian bootstrap).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats, compiled, summing
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.trees.donors import Donors
from synthdp.imputation.trees.tree import Tree

GROUP = 5
MOST_GROUPS = 40
# records of a stratum of fitted values, at least, and how many strata at most
STRATUM, MOST_STRATA = 150, 6
# squared residuals below this share of their mean count as this much
SMALL = 1e-3
# scores beyond are the column's last value anyway, but their squares would run away from column to column
FARTHEST = 8.0
# the log of a weight that is nothing beside the largest
NOTHING = -25.0


@dataclass(frozen=True, repr=False)
class Sorted:
    """The records of each cell, sorted by what is left of them, and where cells and groups of neighbours begin."""

    rows: Codes
    starts: Codes
    offsets: Codes
    cells: Codes

    @classmethod
    def of(cls, rows: Codes, cell: Codes, cells: int, residual: Floats) -> "Sorted":
        """Group the records of each cell. Cost O(n log n)."""
        order = np.lexsort((residual[rows], cell))
        begins = np.searchsorted(cell[order], np.arange(cells + 1))
        starts: list[Codes] = []
        offsets = [0]
        for begin, count in zip(begins[:-1], np.diff(begins), strict=True):
            groups = int(np.clip(count // GROUP, 1, MOST_GROUPS))
            starts.append(begin + np.linspace(0, count, groups + 1).astype(np.int64)[:-1])
            offsets.append(offsets[-1] + groups)
        return cls(rows[order], np.concatenate(starts), np.asarray(offsets, dtype=np.int64), begins)

    def donors(self, residual: Floats, weights: Floats) -> Donors:
        """Return each cell's mixture: means, spreads and masses of its groups. Cost O(n)."""
        r, w = residual[self.rows], weights[self.rows]
        mass = np.add.reduceat(w, self.starts)
        mean = np.add.reduceat(w * r, self.starts) / mass
        spread = np.add.reduceat(w * r**2, self.starts) / mass - mean**2
        per_leaf = np.add.reduceat(mass, self.offsets[:-1])
        share = mass / np.repeat(per_leaf, np.diff(self.offsets))
        return Donors(self.offsets, mean, np.sqrt(np.maximum(spread, 0.0)), np.log(share))


@dataclass(frozen=True, repr=False)
class Linear:
    """One draw of a number's distribution.

    Parameters
    ----------
    base
        x'β of the kept columns, and x'γ/2, by record.
    slopes
        β and γ/2 of every column drawn before, by name.
    edges
        Between the strata of x'β into which a single leaf is divided: what is left may have another shape in each.
    low, high
        By leaf or stratum: the range of what is left; nothing is drawn beyond.
    """

    tree: Tree
    donors: Donors
    base: Floats
    slopes: Mapping[str, Floats]
    edges: Floats
    low: Floats
    high: Floats

    def draw(
        self, leaves: Codes, shift: Floats, center: Floats, precision: Floats, *, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw a value for each path, and return the log of how well its leaf explains W.

        Parameters
        ----------
        shift
            x'β and x'γ/2 of each path.
        center, precision
            What W says of each path's record.
        """
        mean, sd = shift[:, 0], np.exp(np.clip(shift[:, 1], -FARTHEST, FARTHEST))
        cells = leaves if not len(self.edges) else np.searchsorted(self.edges, mean)
        e, norm = rng.standard_normal(len(leaves)), np.empty(len(leaves))
        _choose(
            cells,
            self.donors.offsets,
            self.donors.value,
            self.donors.sd**2,
            np.exp(self.donors.log_mass),
            (center - mean) / sd,
            precision * sd**2,
            dealt(cells, rng=rng),
            np.empty(int(np.diff(self.donors.offsets).max())),
            e,
            norm,
        )
        drawn = mean + sd * np.clip(e, self.low[cells], self.high[cells])
        return np.clip(drawn, -FARTHEST, FARTHEST), norm


@summing
def _choose(
    cells: Codes,
    offsets: Codes,
    value: Floats,
    variance: Floats,
    mass: Floats,
    center: Floats,
    precision: Floats,
    chance: Floats,
    room: Floats,
    x: Floats,
    norm: Floats,
) -> None:
    """Draw a value of each path's mixture given W, and the log of how well the mixture explains W.

    ``x`` holds standard normal noise, and then the values. As ``trees.donors.draw``, its twin, does it for numbers, but
    with one exponential a donor and no logarithm.
    """
    top, total = 0.0, 0.0
    for i in range(len(cells)):
        first, many = offsets[cells[i]], offsets[cells[i] + 1] - offsets[cells[i]]
        told, where = precision[i], center[i]
        # a record's paths stand side by side: what those of one cell are told is worked out once
        if i == 0 or cells[i] != cells[i - 1] or told != precision[i - 1] or where != center[i - 1]:
            top, total = -np.inf, 0.0
            for c in range(many):
                gap = where - value[first + c]
                room[c] = -0.5 * told * gap * gap / (1.0 + told * variance[first + c])
                top = max(top, room[c])
            for c in range(many):
                if room[c] - top > NOTHING:
                    weight = np.float64(np.exp(np.float32(room[c] - top)))
                    total += mass[first + c] * weight / np.sqrt(1.0 + told * variance[first + c])
                room[c] = total
        norm[i] = top + np.log(total)
        low, high, wanted = 0, many - 1, chance[i] * total
        while low < high:
            middle = (low + high) // 2
            if room[middle] > wanted:
                high = middle
            else:
                low = middle + 1
        spread = 1.0 + told * variance[first + low]
        mean = (value[first + low] + told * variance[first + low] * where) / spread
        x[i] = mean + x[i] * np.sqrt(variance[first + low] / spread)


def dealt(cells: Codes, *, rng: np.random.Generator) -> Floats:
    """Return a uniform number for each path, dealt out evenly among the paths of a cell.

    Each is uniform, but those of one cell fall one into each of equally many intervals, in random order: what is drawn
    from a cell then has the cell's shares more closely than independent draws would, and copies differ less. Combining
    rules see that, as they measure how much copies differ. Cost O(n).
    """
    count = np.bincount(cells)
    number = _numbered(cells, rng.permutation(len(cells)), len(count))
    return np.minimum((number + rng.random(len(cells))) / count[cells], 1.0 - 1e-12)


@compiled
def _numbered(cells: Codes, order: Codes, many: int) -> Floats:
    """Return for each path how many of its cell come before it in an order."""
    seen, found = np.zeros(many), np.empty(len(cells))
    for i in order:
        found[i] = seen[cells[i]]
        seen[cells[i]] += 1
    return found


@dataclass(frozen=True, repr=False)
class NumberFit:
    """What is learnt of a number once; masses and coefficients are drawn for every copy."""

    tree: Tree
    sorted: Sorted
    line: "Line | None"
    edges: Floats
    design: Floats
    y: Floats
    rows: Codes

    def draw(self, n: int, *, rng: np.random.Generator) -> tuple[Donors, Floats, Floats, Floats]:
        """Draw the leaf's mixtures, β and γ/2 side by side; return them with the range of each leaf."""
        weights = rng.standard_exponential(n)
        beta = np.empty((0, 2))
        residual = self.y
        if self.line is not None:
            beta = np.column_stack([self.line.posterior.draw(rng=rng).beta, self.line.half])
            residual = (self.y - self.design @ beta[:, 0]) * np.exp(-self.design @ beta[:, 1])
        everyone = np.zeros(n)
        everyone[self.rows] = residual
        held = everyone[self.sorted.rows]
        begin = self.sorted.cells[:-1]
        low, high = np.minimum.reduceat(held, begin), np.maximum.reduceat(held, begin)
        return self.sorted.donors(everyone, weights), beta, low, high


@dataclass(frozen=True, repr=False)
class Line:
    """A linear regression whose spread is log-linear: the posterior of β given σ, and γ/2."""

    posterior: LinearPosterior
    half: Floats

    @classmethod
    def fit(cls, design: Floats, y: Floats, prior_sd: Floats) -> "Line":
        """Fit the mean, the spread of what is left, and the mean again. Cost O(n·d²)."""
        plain = LinearPosterior.fit(design, y, prior_sd)
        half = _spread(design, y - design @ plain.mean, prior_sd)
        sd = np.exp(design @ half)
        return cls(LinearPosterior.fit(design / sd[:, None], y / sd, prior_sd), half)

    def left(self, design: Floats, y: Floats) -> Floats:
        """Return what the regression leaves, in units of its spread."""
        return np.asarray((y - design @ self.posterior.mean) * np.exp(-design @ self.half))


def _spread(design: Floats, left: Floats, prior_sd: Floats) -> Floats:
    """Return γ/2, without its constant: what is left is standardised by its leaf.

    Predictors enter one after the other, the best first, while the squared t statistic of the next exceeds 2 log d + 2.
    """
    squares = np.log(left**2 + SMALL * max(float((left**2).mean()), 1e-300))
    chosen = [0, *forward(design[:, 1:], squares - squares.mean(), 2 * np.log(design.shape[1]) + 2) + 1]
    gamma = np.zeros(design.shape[1])
    gamma[chosen] = LinearPosterior.fit(design[:, chosen], squares, prior_sd[chosen]).mean
    gamma[0] -= float((design @ gamma).mean())
    return gamma / 2


def forward(columns: Floats, response: Floats, bound: float) -> Codes:
    """Return the columns that explain a response, one after the other, while the next one's t² exceeds a bound.

    Cost O(n · d) for each that enters, at most twenty.
    """
    basis = columns - columns.mean(axis=0)
    length = np.sqrt((basis**2).sum(axis=0))
    least = 1e-3 * length
    left, chosen = response.copy(), []
    for _ in range(min(20, basis.shape[1], len(response) // 10)):
        usable = length > np.maximum(least, 1e-12)
        t = np.where(usable, (left @ basis) / np.where(usable, length, 1.0), 0.0) / max(float(left.std()), 1e-300)
        best = int(np.argmax(np.abs(t)))
        if t[best] ** 2 <= bound:
            break
        chosen.append(best)
        direction = basis[:, best] / length[best]
        left -= direction * (direction @ left)
        basis -= np.outer(direction, direction @ basis)
        length = np.sqrt((basis**2).sum(axis=0))
        least[best] = np.inf
    return np.asarray(chosen, dtype=np.int64)


def fit_number(tree: Tree, line: Line | None, design: Floats, y: Floats, rows: Codes, n: int) -> NumberFit:
    """Return what a number's distribution is drawn from; without a line the tree alone."""
    residual = np.zeros(n)
    residual[rows] = y if line is None else line.left(design, y)
    edges = np.empty(0)
    cell, cells = np.repeat(np.arange(tree.leaves), np.diff(tree.offsets)), tree.leaves
    if line is not None and tree.leaves == 1:
        fitted = np.zeros(n)
        fitted[rows] = design @ line.posterior.mean
        strata = int(np.clip(len(rows) // STRATUM, 1, MOST_STRATA))
        edges = np.unique(np.quantile(fitted[rows], np.arange(1, strata) / strata))
        cell, cells = np.searchsorted(edges, fitted[tree.rows]), len(edges) + 1
        if np.bincount(cell, minlength=cells).min() < GROUP:
            edges, cell, cells = np.empty(0), np.zeros(len(tree.rows), dtype=np.int64), 1
    return NumberFit(tree, Sorted.of(tree.rows, cell, cells, residual), line, edges, design, y, rows)
