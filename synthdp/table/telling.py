"""Kept columns that tell a replaced one for nearly everybody, alone or in twos.

The rate of unemployment and the highest benefit of a state are no copies of its name, and no formula gives one from the
other; but who has both in a kept row finds the state in a table of states. Relations without a single exception are
found by :mod:`synthdp.table.relations`; here a few records may contradict.

Notes
-----
A cell holds the records that agree on the kept columns. A record is *told* when more than half of the others in its
cell have its value of the replaced column, which is what an intruder learns who has the rest of the file. Where one
value is common most records are told by chance, so that the share must also exceed that of guessing the commonest.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from synthdp.arrays import Codes
from synthdp.table.coded import distinct
from synthdp.table.microdata import Microdata
from synthdp.table.relations import FEWEST_RECORDS, MOST_SCREENED, Relation

LEAST_TOLD = 0.9
LEAST_GAIN = 0.8  # of what guessing the commonest value leaves open
MOST_CELLS = 0.4  # of the records: smaller cells tell little
MOST_LOOKED_AT = 20_000
SLACK = 0.05  # a few thousand records may show less than all of them


def find(
    data: Microdata, *, kept: Sequence[str] | None = None, replaced: Sequence[str] | None = None
) -> tuple[Relation, ...]:
    """Return which kept columns tell a replaced one for nine of ten records or more, one relation for each of a pair.

    Parameters
    ----------
    data
        The records; fewer than 30 show nothing.
    kept, replaced
        Which columns to look at, when roles are not decided yet; by default as the schema says.

    Notes
    -----
    A replaced column that one kept column tells is not looked for in pairs with that one. O(n log n) for each of at
    most 20,000 combinations, on 2,000 records unless these show something.
    """
    schema = data.schema
    kept = [column.name for column in schema.kept()] if kept is None else kept
    replaced = [column.name for column in schema.replaced()] if replaced is None else replaced
    if len(data) < FEWEST_RECORDS or not kept or not replaced:
        return ()
    rows = np.unique(np.linspace(0, len(data) - 1, min(len(data), MOST_SCREENED)).astype(np.int64))
    codes = {name: distinct(data.frame[name]) for name in dict.fromkeys((*kept, *replaced))}
    few = {name: codes[name][rows] for name in codes}
    known = {name: data.frame[name].notna().to_numpy() for name in replaced}
    found: dict[tuple[str, str], Relation] = {}
    for group, name in islice(_combinations(kept, replaced, few, len(rows)), MOST_LOOKED_AT):
        if any((one, name) in found and len(found[one, name].beside) == 0 for one in group):
            continue
        at = known[name][rows]
        if not _telling(*_told(_cells([few[one] for one in group])[at], few[name][at]), slack=SLACK):
            continue
        at = known[name]
        share, common = _told(_cells([codes[one] for one in group])[at], codes[name][at])
        if _telling(share, common, slack=0.0):
            for one in group:
                beside = tuple(other for other in group if other != one)
                found.setdefault((one, name), Relation("tells", one, (name,), beside, share))
    return tuple(found.values())


def _combinations(
    kept: Sequence[str], replaced: Sequence[str], codes: dict[str, Codes], records: int
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield kept columns, alone and then in twos, with each replaced column that they have cells enough to tell."""
    sizes = {name: len(np.unique(codes[name])) for name in codes}
    usable = [name for name in kept if 1 < sizes[name] <= MOST_CELLS * records]
    targets = [name for name in replaced if 1 < sizes[name] <= MOST_CELLS * records]
    for group in (*((one,) for one in usable), *combinations(usable, 2)):
        most = int(np.prod([sizes[one] for one in group]))
        wanted = [name for name in targets if name not in group and sizes[name] <= most]
        if wanted and len(np.unique(_cells([codes[one] for one in group]))) <= MOST_CELLS * records:
            yield from ((group, name) for name in wanted)


def _cells(columns: Sequence[Codes]) -> Codes:
    """Return which records agree on all columns."""
    found = columns[0].astype(np.int64)
    for column in columns[1:]:
        found = found * (int(column.max()) + 2) + column + 1
    return found


def _told(cells: Codes, values: Codes) -> tuple[float, float]:
    """Return the share of records whose value most others of their cell have, and the share of the commonest value."""
    if len(values) == 0:
        return 0.0, 1.0
    _, cell, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    _, pair, alike = np.unique(cell * (int(values.max()) + 2) + values + 1, return_inverse=True, return_counts=True)
    same, others = alike[pair] - 1, sizes[cell] - 1
    common = float(np.unique(values, return_counts=True)[1].max() / len(values))
    return float(np.mean(2 * same > others)), common


def _telling(share: float, common: float, *, slack: float) -> bool:
    return share >= LEAST_TOLD - slack and share - common >= (LEAST_GAIN - slack) * (1 - common) > 0
