"""Columns that were computed from others: logs, powers, products, ratios, sums, and indicators of a level or a range.

Files for teaching and for analysis are full of them (``lwage``, ``expersq``, ``marrmale``). A formula is taken only
when it reproduces the column in every record, as ``check`` will ask.

Notes
-----
A look at 64 records tries all pairs of p columns, O(p³) numbers in all; what survives is checked on all records, O(n)
for each candidate.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from synthdp.errors import InputError
from synthdp.table import derived, expressions
from synthdp.table.guess import names, shapes
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Role, Schema

MOST_COLUMNS = 150
LOOKED_AT = 64
FEWEST_RECORDS = 30
ASKED = ("birth", "age", "sex", "education", "origin")  # people are asked for these, the rest is computed from them
MOST_TRIED = 12
SINGLE_PRECISION = 1e-6
MOST_DECIMALS = 15
FINE = 1e-3  # of an sd: what rounding may cost


@dataclass(frozen=True)
class Formula:
    """A formula that gives a column, the columns it names, and the decimals to which it does, where not all."""

    text: str
    sources: tuple[str, ...]
    decimals: int | None = None


def find(data: Microdata, *, never: Collection[str] = (), unused: Collection[str] = ()) -> dict[str, Formula]:
    """Return the columns that a formula gives, none of them through itself.

    Parameters
    ----------
    never
        Columns that stay what they are, whatever formula gives them.
    unused
        Columns that no formula may name.

    Notes
    -----
    Where each of several columns follows from the others, that one is taken to be computed that nobody is asked for
    (not age), whose name says so (``expersq``), and that comes after the others in the file.
    """
    numbers = _numbers(data)
    if not len(data) >= FEWEST_RECORDS or len(numbers) > MOST_COLUMNS:
        return {}
    sources = {name: values for name, values in numbers.items() if name not in unused}
    found: dict[str, Formula] = {}
    order = list(data.schema.names())
    every = [(name, one) for name in numbers if name not in never for one in _of(data, name, numbers[name], sources)]
    for name, one in sorted(every, key=lambda pair: _doubt(pair[0], pair[1], order)):
        if name not in found and not any(leads_to(source, name, found) for source in one.sources):
            found[name] = one
    return found


def _doubt(name: str, one: Formula, order: Sequence[str]) -> tuple[bool, bool, bool, bool, bool, bool, int, int]:
    """Return what speaks against a column having been computed so, what weighs most first."""
    topic, at = names.topic(name), order.index(name)
    said = any(len(source) > 1 and source in name and source != name for source in one.sources)
    # y85educ is the product of both, whatever it is about
    named = len(one.sources) > 1 and all(source in name for source in one.sources)
    after = all(order.index(source) < at for source in one.sources)
    computed = names.is_computed(name) and not all(names.is_computed(source) for source in one.sources)
    recomputing = any(names.is_computed(source) for source in one.sources) and not names.is_computed(name)
    # of a product and its factors the product was computed
    return (
        topic in ASKED and not named,
        recomputing,
        not (said or computed),
        not after,
        " / " in one.text,
        topic is not None,
        len(one.sources),
        -at,
    )


def leads_to(source: str, name: str, found: Mapping[str, Formula]) -> bool:
    """Return whether a column is computed from another, through however many others."""
    return source == name or (source in found and any(leads_to(one, name, found) for one in found[source].sources))


def _numbers(data: Microdata) -> dict[str, Floats]:
    found = {}
    for column in data.schema.columns:
        series = data.frame[column.name]
        if series.dtype.kind in "iuf":
            values = series.to_numpy(np.float64, na_value=np.nan)
            if np.nanmax(values, initial=-np.inf) > np.nanmin(values, initial=np.inf):
                found[column.name] = values
    return found


def _of(data: Microdata, name: str, y: Floats, sources: Mapping[str, Floats]) -> Iterator[Formula]:
    """Yield the simplest formulas of a column."""
    others = {other: values for other, values in sources.items() if other != name}
    present = np.flatnonzero(np.isfinite(y))
    if len(present) < FEWEST_RECORDS:
        return
    rows = _telling(y, present)
    table = np.array([values[rows] for values in others.values()], dtype=np.float64).reshape(len(others), len(rows)).T
    clipped = float(y[present].min()) == 0
    for forms in (
        shapes.of_one(list(others), table, y[rows]),
        shapes.indicators(data, others, y),
        shapes.of_two(list(others), table, y[rows]),
        shapes.sums(list(others), table, y[rows], clipped=clipped),
        shapes.totals(list(others), table, y[rows]),
    ):
        for form, used in islice(forms, MOST_TRIED):
            if (one := _checked(data, name, y, form, used)) is not None:
                yield one


def _telling(y: Floats, present: Codes) -> Codes:
    """Return records to look at: half of them spread over the values that are not zero, half over the file."""
    other = present[y[present] != 0]
    ranked = other[np.argsort(y[other], kind="stable")]
    spread = [np.linspace(0, len(group) - 1, LOOKED_AT // 2).astype(np.int64) for group in (ranked, present)]
    return np.unique(np.concatenate([ranked[spread[0]] if len(ranked) else ranked, present[spread[1]]]))


def _checked(data: Microdata, name: str, y: Floats, form: str, used: Iterable[str]) -> Formula | None:
    """Return a formula that reproduces the column in all records, with the decimals to which it does."""
    try:
        value = expressions.evaluate(form, data.frame)
    except InputError:
        return None
    if value.dtype.kind not in "iufb":
        return None
    made = value.to_numpy(np.float64)
    both = np.isfinite(made) & np.isfinite(y)
    if both.sum() < FEWEST_RECORDS:
        return None
    error = float(np.abs(made - y)[both].max())
    decimals = None
    if error > 0 and not data.schema[name].kind.categorical and data.schema[name].decimals is None:
        # numbers kept in single precision agree to seven digits only
        if bool((np.abs(made - y)[both] > SINGLE_PRECISION * np.maximum(1.0, np.abs(y[both]))).any()):
            return None
        decimals = int(np.floor(-np.log10(2 * error)))
        if 10.0**-decimals > FINE * float(y[both].std()):
            return None
        decimals = min(decimals, MOST_DECIMALS)
    update = {"role": Role.DERIVED, "derived": form} | ({} if decimals is None else {"decimals": decimals})
    columns: list[Column] = [
        column.model_copy(update=update) if column.name == name else column for column in data.schema.columns
    ]
    fits = not derived.problems(Microdata(data.frame, Schema(columns=tuple(columns))))
    return Formula(form, tuple(used), decimals) if fits else None
