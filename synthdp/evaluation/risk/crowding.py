"""Where the risk groups lie on two keys: who is in the crowd, and who is at its edges.

Jiang (2025) draws every person at their own age and disease duration, all together and in the commonest cells of the
categorical keys. A report must not hold anybody's values, so here records are counted in the tiles of a coarse grid;
its outermost tiles hold everybody beyond the 5% and 95% points, and where the tiles lie is not told.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.evaluation.blocks import Crowds, counted, listing
from synthdp.evaluation.comparison import Comparison
from synthdp.table.coded import coded
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column

TILES = 8
EDGES = (0.05, 0.95)
CELLS = 3
# a cell of fewer people is no crowd, and its panel would be about them
FEWEST = 20


def crowds(files: Comparison) -> tuple[Crowds, ...]:
    """Return the picture, where there are two numeric keys and more than one risk group; O(n) time."""
    keys = files.schema.keys()
    numeric = [key for key in keys if not key.kind.categorical][:2]
    if len(numeric) < 2 or files.groups is None or files.groups.nunique() < 2:
        return ()
    table = coded(files.original)
    values = [table.numbers(key) for key in numeric]
    known: Booleans = np.asarray(np.isfinite(np.stack(values)).all(axis=0))
    if known.sum() < FEWEST:
        return ()
    across, up = (tiles(column, known) for column in values)
    # as text, since groups of the user's own may be plain
    labels = files.groups.astype(str).to_numpy()
    named = files.groups.cat.categories if isinstance(files.groups.dtype, pd.CategoricalDtype) else np.unique(labels)
    groups = tuple(str(name) for name in named if (labels == str(name)).any())

    def count(rows: Booleans) -> dict[str, list[list[int]]]:
        return {group: grid(across, up, rows & (labels == group)) for group in groups}

    panels = {"All records": count(known)}
    categorical = [key for key in keys if key.kind.categorical]
    if categorical:
        codes = np.column_stack([table.codes(key) for key in categorical])
        _, cell, sizes = np.unique(codes[known], axis=0, return_inverse=True, return_counts=True)
        cell = np.asarray(cell).reshape(-1)
        for number, place in enumerate(np.argsort(-sizes, kind="stable")[:CELLS], start=1):
            if sizes[place] >= FEWEST:
                rows = np.zeros(len(known), dtype=np.bool_)
                rows[np.flatnonzero(known)[cell == place]] = True
                panels[f"Cell {number}: {counted(int(sizes[place]), 'record')}"] = count(rows)
    first, second = (key.name for key in numeric)
    return (Crowds("Where the risk groups lie", (first, second), groups, panels, _caption(categorical, known)),)


def tiles(values: Floats, known: Booleans) -> Codes:
    """Return the tile of each value: equal steps between the 5% and 95% points, everybody beyond in the outermost."""
    low, high = np.quantile(values[known], EDGES)
    inner = np.linspace(low, high, TILES - 1) if high > low else np.array([low])
    found = np.searchsorted(inner, np.where(known, values, low), side="right")
    return np.asarray(found, dtype=np.int64)


def grid(across: Codes, up: Codes, rows: Booleans) -> list[list[int]]:
    """Return how many of these records lie in each tile."""
    found = np.zeros((TILES, TILES), dtype=np.int64)
    np.add.at(found, (up[rows], across[rows]), 1)
    return [[int(count) for count in row] for row in found]


def _caption(categorical: Sequence[Column], known: Booleans) -> str:
    said = (
        "Records are counted in tiles and each is drawn somewhere in its tile: no dot is where a person's values are, "
        "and the axes have no numbers. The outermost tiles hold everybody beyond the 5% and 95% points."
    )
    if categorical:
        names = listing([key.name for key in categorical])
        said += f" Cells are the commonest combinations of {names}."
    missing = int((~known).sum())
    return said + (f" {counted(missing, 'record')} without one of the two values are not drawn." if missing else "")
