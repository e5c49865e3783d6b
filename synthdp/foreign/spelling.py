"""Which level a value stands for, however another tool has written it."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from synthdp.io.labels import Labels
from synthdp.microdata import MISSING, Codes, codes
from synthdp.schema import Column, Level, Variable


def by_order(column: Column, series: Sequence[pd.Series], *, declared: bool) -> list[Codes] | None:
    """Return codes 0…K − 1 or 1…K as positions in the declared levels, or None when they cannot be that."""
    if not declared or not all(pd.api.types.is_numeric_dtype(one) for one in series):
        return None
    values = [np.asarray(one.to_numpy(dtype=np.float64, na_value=np.nan)) for one in series]
    present = np.concatenate([one[~np.isnan(one)] for one in values])
    low, high, last = present.min(), present.max(), len(column.levels)
    if (present % 1 != 0).any() or not ((low == 0 and high < last) or (low >= 1 and high == last)):
        return None
    first = 0 if low == 0 else 1
    return [np.where(np.isnan(one), MISSING, np.nan_to_num(one) - first).astype(np.int64) for one in values]


def positions(column: Column, variable: Variable, series: pd.Series, own: Labels, labels: Labels) -> Codes:
    """Return the level of each value, by any of the ways it may be written.

    Parameters
    ----------
    own, labels
        The value labels of the file and of the original.
    """
    found = codes(series, column)
    outside = (found == MISSING) & series.notna().to_numpy()
    if not outside.any():
        return found
    place, distinct = pd.factorize(series)
    known = _names(column, variable, labels)
    texts = {canonical(code): text for code, text in own.values.get(column.name, {}).items()}
    settled = np.full(len(distinct) + 1, MISSING, dtype=np.int64)
    for number in np.unique(place[outside]):
        settled[number] = next((known[name] for name in _spellings(distinct[number], texts) if name in known), MISSING)
    return np.where(outside, settled[place], found)


def _spellings(value: object, own: Mapping[str, str]) -> Iterator[str]:
    name = canonical(value)
    if name in own:
        yield canonical(own[name])
    yield name


def _names(column: Column, variable: Variable, labels: Labels) -> dict[str, int]:
    """Return what a level may be called; a name that could be two levels is none."""
    position = {canonical(level): number for number, level in enumerate(column.levels)}
    aliases: list[tuple[Level, Level]] = [(text, code) for code, text in labels.values.get(column.name, {}).items()]
    aliases += (variable.recode or {}).items()
    named = [(canonical(level), number) for number, level in enumerate(column.levels)]
    named += [(canonical(alias), position[canonical(of)]) for alias, of in aliases if canonical(of) in position]
    names: dict[str, int] = {}
    for name, number in named:
        names[name] = number if names.get(name, number) == number else MISSING
    return {name: number for name, number in names.items() if number != MISSING}


def canonical(value: object) -> str:
    """Return one spelling for 1, 1.0, "1.0" and True, and for text whatever its case."""
    text = str(value).strip()
    truth = {"true": "1.0", "false": "0.0"}.get(text.casefold())
    if truth is not None:
        return truth
    try:
        number = float(text)
    except ValueError:
        return text.casefold()
    return repr(number) if np.isfinite(number) and abs(number) < 2**53 else text.casefold()
