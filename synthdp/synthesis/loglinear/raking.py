r"""Iterative proportional fitting over a list of cells: weights with given margins, as near as can be to their start.

    w ← w · t(margin cell of w) / m(margin cell of w)      margin after margin, again and again

Started at even weights over all cells this is the maximum-likelihood fit of the log-linear model with these margins.
Started at any member of the model's own family it is the same fit, because the fit is the member of the family that
has the margins (Csiszár 1975); so the cells may be a sample drawn from a simple member, each weighing as often as it
was drawn.

References
----------
Deming, Stephan (1940), Annals of Mathematical Statistics 11(4), 427–444. Bishop, Fienberg, Holland (1975), Discrete
Multivariate Analysis, section 3.5. Csiszár (1975), Annals of Probability 3(1), 146–158.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats

# fitting stops where this many turns leave more than this of the error
PATIENCE, STALLED = 5, 0.9


@dataclass(frozen=True)
class Margin:
    """A table that is to be reproduced.

    Parameters
    ----------
    names
        Its columns; the last runs fastest.
    sizes
        How many cells each has.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells the table has, as an exact integer."""
        return math.prod(self.sizes)

    def places(self, cells: Mapping[str, Codes]) -> Codes:
        """Return the cell of each row."""
        found = cells[self.names[0]]
        for name, size in zip(self.names[1:], self.sizes[1:], strict=True):
            found = found * size + cells[name]
        return found

    def shares(self, cells: Mapping[str, Codes], weights: Floats | None = None) -> Floats:
        """Return the share of every cell."""
        found = np.bincount(self.places(cells), weights=weights, minlength=self.cells)
        return np.asarray(found / found.sum(), dtype=np.float64)


@dataclass(frozen=True)
class Raked:
    """Weights that have the margins.

    Parameters
    ----------
    iterations
        How often all margins were gone through.
    error
        The largest sum of differences of shares, of any margin, that was left before the last time.
    uncovered
        The largest share of a margin that lies in cells of which there is no row.
    """

    weights: Floats
    iterations: int
    error: float
    uncovered: float

    def __repr__(self) -> str:
        return f"Raked({len(self.weights)} cells, {self.iterations} iterations)"


def rake(
    cells: Mapping[str, Codes],
    base: Floats,
    margins: Sequence[tuple[Margin, Floats]],
    *,
    iterations: int,
    tolerance: float,
) -> Raked:
    """Return weights that sum to one and have the margins, as far as the rows can.

    Parameters
    ----------
    cells
        The rows: by column, the cell of each.
    base
        What each row weighs at first.
    margins
        Tables with the shares they are to have. Shares in cells without a row are left out, and the others raised.
    iterations, tolerance
        When to stop: after so many times, or when no margin is further off than this (sum of differences of shares);
        and when going on does not help, because no weights of these rows have all the margins.

    Notes
    -----
    Cost O(rows) for each margin and iteration; the places of rows in tables are computed each time, so that memory
    does not grow with the number of margins.

    Examples
    --------
    >>> rows = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    >>> wanted = [(Margin((name,), (2,)), np.array(share)) for name, share in (("a", [0.3, 0.7]), ("b", [0.6, 0.4]))]
    >>> rake(rows, np.ones(4), wanted, iterations=5, tolerance=1e-12).weights.round(2).tolist()
    [0.18, 0.12, 0.42, 0.28]
    """
    weights = base / base.sum()
    reachable, uncovered = [], 0.0
    for margin, wanted in margins:
        rows = np.bincount(margin.places(cells), weights=base, minlength=margin.cells) > 0
        uncovered = max(uncovered, float(wanted[~rows].sum()))
        target = np.where(rows, wanted, 0.0)
        reachable.append((margin, target / target.sum()))
    errors: list[float] = []
    while len(errors) < iterations and not _settled(errors, tolerance):
        error = 0.0
        for margin, target in reachable:
            place = margin.places(cells)
            now = np.bincount(place, weights=weights, minlength=margin.cells)
            error = max(error, float(np.abs(now / now.sum() - target).sum()))
            weights *= np.divide(target, now, out=np.zeros_like(target), where=now > 0)[place]
        errors.append(error)
    return Raked(weights / weights.sum(), len(errors), errors[-1], uncovered)


def _settled(errors: Sequence[float], tolerance: float) -> bool:
    if not errors or errors[-1] <= tolerance:
        return bool(errors)
    return len(errors) > PATIENCE and errors[-1] > STALLED * errors[-1 - PATIENCE]
