"""Which cells a log-linear model is fitted on: all of them where they fit into memory, else a large sample.

The sample is drawn forward, column after column, each given what tells most of it within one of the margins, as in the
best tree of Chow and Liu (1968, IEEE Transactions on Information Theory 14(3), 462–467). That is a member of the
model's own family, so raking it gives the model itself, but for the chance in which cells were drawn (see ``raking``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.synthesis.loglinear.axes import Records
from synthdp.synthesis.loglinear.raking import Margin
from synthdp.table.coded import joint

# domains of no more cells than this are listed
LISTED = 400_000
# the fewest rows that stand for a combination of the kept columns
FEWEST = 20
MOST_FLAT = 2**62


@dataclass(frozen=True, repr=False)
class Support:
    """Rows that copies are drawn from.

    Parameters
    ----------
    cells
        By column, the cell of each row.
    group
        Which combination of the kept columns each row has; rows of one stand together.
    base
        What each row weighs before it is fitted.
    """

    cells: Mapping[str, Codes]
    group: Codes
    base: Floats

    def __repr__(self) -> str:
        return f"Support({len(self.group)} cells)"

    def of(self, rows: Booleans | Codes) -> "Support":
        """Return some of the rows."""
        cells = {name: found[rows] for name, found in self.cells.items()}
        return replace(self, cells=cells, group=self.group[rows], base=self.base[rows])

    def draw(self, weights: Floats, groups: Codes, *, rng: np.random.Generator, systematic: bool = False) -> Codes:
        """Return a row for each record, among those of its group and in proportion to their weights.

        Parameters
        ----------
        groups
            The group of each record.
        systematic
            Whether rows are dealt at even steps, which leaves less to chance than independent draws; for a single
            group. The records then take them in random order.
        """
        upto = np.cumsum(weights)
        last = np.searchsorted(self.group, np.arange(int(self.group[-1]) + 1), side="right") - 1
        end = upto[last]
        start = np.concatenate([[0.0], end[:-1]])
        if systematic:
            u = rng.permutation((np.arange(len(groups)) + rng.random()) / len(groups))
        else:
            u = rng.random(len(groups))
        place = np.searchsorted(upto, start[groups] + u * (end - start)[groups], side="right")
        # rounding may put a draw behind the last row of its group that weighs anything
        heavy = np.maximum.accumulate(np.where(weights > 0, np.arange(len(weights)), -1))
        return np.asarray(np.minimum(place, heavy[last[groups]]), dtype=np.int64)


def listed(records: Records) -> bool:
    """Return whether all cells can be listed."""
    return records.groups * records.size <= LISTED


def rows_needed(records: Records, candidates: int) -> int:
    """Return how many rows a sample has at most."""
    return candidates + FEWEST * records.groups


def every_cell(records: Records) -> Support:
    """Return all combinations of the drawn columns' cells, for every combination of the kept ones that occurs."""
    sizes = [records.axes[name].size for name in records.drawn]
    places = np.unravel_index(np.arange(records.size), sizes)
    group = np.repeat(np.arange(records.groups), records.size)
    drawn = {n: np.tile(p.astype(np.int64), records.groups) for n, p in zip(records.drawn, places, strict=True)}
    kept = {name: records.axes[name].codes[records.first][group] for name in records.kept}
    return Support({**kept, **drawn}, group, np.bincount(records.group)[group] / records.size)


def sampled(records: Records, margins: Sequence[Margin], candidates: int, *, rng: np.random.Generator) -> Support:
    """Return a sample of cells, each once, weighing as often as it was drawn. Cost O(candidates log cells) per column.

    Parameters
    ----------
    candidates
        How many are drawn in all; each combination of kept columns has its share of them, and at least ``FEWEST``.
    """
    held = np.bincount(records.group)
    each = np.maximum(np.ceil(candidates * held / held.sum()).astype(np.int64), FEWEST)
    group = np.repeat(np.arange(records.groups), each)
    cells = {name: records.axes[name].codes[records.first][group] for name in records.kept}
    own = records.cells()
    for name, given in proposal(records, margins):
        sizes = tuple(records.axes[other].size for other in (*given, name))
        margin = Margin((*given, name), sizes)
        table = margin.shares(own).reshape(-1, sizes[-1])
        parent = Margin(given, sizes[:-1]).places(cells) if given else np.zeros(len(group), dtype=np.int64)
        cells[name] = _child(table, own_margin(table), parent, rng=rng)
    weigh = (held / each)[group]
    return _once(Support(cells, group, weigh), records)


def own_margin(table: Floats) -> Floats:
    """Return the distribution of the last column alone."""
    return np.asarray(table.sum(axis=0), dtype=np.float64)


def proposal(records: Records, margins: Sequence[Margin]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the order in which columns are drawn, each with the columns it is drawn given.

    The next one is always that of which the columns before it, as far as they share a margin with it, tell most.
    """
    own, known = records.cells(), set(records.kept)
    told: dict[tuple[str, tuple[str, ...]], float] = {}
    found: list[tuple[str, tuple[str, ...]]] = []
    while len(found) < len(records.drawn):
        best: tuple[float, str, tuple[str, ...]] | None = None
        for margin in margins:
            for name in margin.names:
                if name in known or name not in records.drawn:
                    continue
                given = tuple(other for other in margin.names if other in known)
                if (name, given) not in told:
                    told[name, given] = _told(records, own, name, given)
                if best is None or told[name, given] > best[0]:
                    best = told[name, given], name, given
        assert best is not None  # every drawn column is in a margin
        found.append(best[1:])
        known.add(best[1])
    return found


def _told(records: Records, own: Mapping[str, Codes], name: str, given: tuple[str, ...]) -> float:
    """Return the mutual information of a column and some others, less what chance would give (Miller 1955)."""
    if not given:
        return 0.0
    size = records.axes[name].size
    sizes = tuple(records.axes[other].size for other in given)
    table = Margin((*given, name), (*sizes, size)).shares(own).reshape(-1, size)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    filled = table > 0
    expected = np.outer(rows, columns)[filled]
    chance = filled.sum() - (rows > 0).sum() - (columns > 0).sum() + 1
    return float((table[filled] * np.log(table[filled] / expected)).sum() - chance / (2 * len(records.group)))


def _child(table: Floats, alone: Floats, parent: Codes, *, rng: np.random.Generator) -> Codes:
    """Return a cell for each row, given that of its parents; by the column's own law where nobody has those."""
    empty = table.sum(axis=1) == 0
    table = np.where(empty[:, None], alone, table)
    upto = np.cumsum(table.ravel())
    end = upto[table.shape[1] - 1 :: table.shape[1]]
    start = np.concatenate([[0.0], end[:-1]])
    place = np.searchsorted(upto, start[parent] + rng.random(len(parent)) * (end - start)[parent], side="right")
    last = table.shape[1] - 1 - (table[:, ::-1] > 0).argmax(axis=1)
    return np.asarray(np.minimum(place - parent * table.shape[1], last[parent]), dtype=np.int64)


def _once(support: Support, records: Records) -> Support:
    """Return each row once, with the sum of its weights; rows stay in the order of their groups."""
    sizes = [records.axes[name].size for name in records.drawn]
    if records.groups * records.size < MOST_FLAT:
        flat = Margin(records.drawn, tuple(sizes)).places(support.cells) + support.group * records.size
        _, first, place = np.unique(flat, return_index=True, return_inverse=True)
    else:
        code = joint([support.group, *(support.cells[name] for name in records.drawn)])
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(support.group[first], kind="stable")
    weigh = np.bincount(place, weights=support.base).astype(np.float64)
    return replace(support.of(first[order]), base=weigh[order])
