"""Which columns a copula can use: enough values, more than one, and not a copy of others."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtri

from synthdp.microdata import Floats, Microdata
from synthdp.schema import Column, Kind

FEWEST_KNOWN = 10
NEARLY_ONE = 1 - 1e-6


def scores(data: Microdata, name: str) -> Floats:
    """Return the normal scores of a number or ordered levels; zero where it is missing."""
    from scipy.stats import rankdata

    column = data.schema[name]
    values = data.codes(name).astype(np.float64) if column.kind.categorical else data.numbers(name)
    known = (values >= 0) if column.kind.categorical else np.isfinite(values)
    found = np.zeros(len(values))
    found[known] = ndtri((rankdata(values[known]) - 0.5) / max(int(known.sum()), 1))
    return found


def leave_out(data: Microdata, exclude: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield kept columns a copula cannot use, with the reason: too few values, one value only, or a copy of others.

    O(n p²) for p columns.
    """
    seen: list[Floats] = []
    for column in data.schema.kept():
        if column.name in exclude:
            continue
        why = _unusable(data, column)
        if why is None and column.kind is not Kind.NOMINAL:
            why = "it follows from other columns" if follows(data, column.name, seen) else None
        if why is not None:
            yield column.name, why


def follows(data: Microdata, name: str, seen: list[Floats]) -> bool:
    """Return whether a column's scores follow from those seen before; they are added to them if not."""
    mine = scores(data, name)
    mine = mine / np.sqrt(np.mean(mine**2))
    if seen:
        others = np.column_stack(seen)
        fitted = others @ np.linalg.lstsq(others.T @ others, others.T @ mine, rcond=None)[0]
        if np.mean(fitted**2) > NEARLY_ONE:
            return True
    seen.append(mine)
    return False


def _unusable(data: Microdata, column: Column) -> str | None:
    known = data.codes(column.name) >= 0 if column.kind.categorical else np.isfinite(data.numbers(column.name))
    if int(known.sum()) < FEWEST_KNOWN:
        return f"it has fewer than {FEWEST_KNOWN} values"
    return "all its values are the same" if data.frame[column.name].nunique() < 2 else None
