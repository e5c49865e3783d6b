"""Kept columns of which nobody has said whether an intruder may know them.

Also the coarser versions that a person may be offered.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.evaluation.blocks import listing
from synthdp.evaluation.combinations import classes
from synthdp.evaluation.risk.exposure import SHARE, KeptSet, smallest_sets, unique_records
from synthdp.table.coarsening import coarsen
from synthdp.table.coded import distinct, numbers
from synthdp.table.microdata import Microdata
from synthdp.table.schema import PERIODS, Column, Kind, Role, Schema, Variable

LADDER = (1.0, 2.0, 5.0)
FINEST, COARSEST = 0.05, 1.0  # steps in standard deviations
SKEWED = 0.25  # of a standard deviation between mean and median, from which large values are cut off too
CUT = 0.95
RARE = (10, 20, 50, 100, 200, 500, 1000)
MOST_IN_OTHER = 0.5


@dataclass(frozen=True)
class Proposal:
    """Settings of a variable that make it coarser."""

    settings: Variable

    @property
    def setting(self) -> str:
        """The settings as they are written in a config, after ``variables.NAME.``."""
        given = self.settings.model_dump(include={"round", "topcode", "rare"}, exclude_none=True)
        return " and ".join(f"{name}: {_shown(value)}" for name, value in given.items())

    def codes(self, series: pd.Series, column: Column) -> Codes:
        """Return the column made coarser, coded.

        Raises
        ------
        InputError
            Where it cannot be, as when a single level would be left.
        """
        table, _ = coarsen(series.to_frame(), {column.name: self.settings})
        return distinct(table[column.name])


def proposals(series: pd.Series, column: Column) -> Iterator[Proposal]:
    """Yield coarser versions of a column, the finest first.

    Numbers are rounded to steps of 1, 2 or 5 times a power of ten between a twentieth of a standard deviation and a
    whole one, and where the large ones are far out also cut off near their 95% point, rounded to one digit; dates to
    month, quarter or year; and levels are grouped when fewer than 10, 20, 50 … records have them, as long as most
    records keep theirs. Where a column was rounded before, the steps are taken from what it was rounded to.
    """
    if column.kind is Kind.DATE:
        reached = PERIODS.index(column.period) + 1 if column.period is not None else 0
        yield from (Proposal(Variable(kind=Kind.DATE, round=period)) for period in PERIODS[reached:])
    elif column.kind is Kind.BINARY:
        return
    elif column.kind.categorical:
        counts = series.value_counts().to_numpy()
        for fewest in RARE:
            if 0 < counts[counts < fewest].sum() <= MOST_IN_OTHER * counts.sum():
                yield Proposal(Variable(kind=Kind.NOMINAL, rare=fewest))
    else:
        yield from _of_numbers(numbers(series, column), column)


def _of_numbers(values: Floats, column: Column) -> Iterator[Proposal]:
    present = values[np.isfinite(values)]
    if len(present) == 0 or (sd := float(present.std())) == 0:
        return
    middle, high = np.quantile(present, [0.5, CUT])
    # the sd of a skewed column is that of its tail: steps for the rest are finer
    spread = min(sd, float(high - middle)) or sd
    smallest = 10.0 ** -(column.decimals if column.decimals is not None else 15)
    top = float(f"{high:.0e}") if abs(present.mean() - middle) > SKEWED * sd and high > 0 else None
    for power in range(int(np.floor(np.log10(FINEST * spread))), int(np.ceil(np.log10(COARSEST * spread))) + 1):
        for step in LADDER:
            size = float(f"{step * 10.0**power:.1g}")
            if not max(FINEST * spread, 1.5 * smallest) <= size <= COARSEST * spread:
                continue
            yield Proposal(Variable(round=size))
            if top is not None and top > size:
                yield Proposal(Variable(topcode=top, round=size))


def _shown(value: object) -> str:
    return np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value)


MOST_QUESTIONS = 12
WORTHWHILE = 0.25  # of the unique records that a coarser column must take away to be proposed


@dataclass(frozen=True)
class Undecided:
    """A kept column without ``key: true`` or ``key: false``, and the sets in which it makes many records unique.

    Until somebody decides it counts as a key: an intruder who knew it and the others of a set would find those records
    with certainty, as no mask touches what is kept.

    Parameters
    ----------
    sets
        The smallest sets it is in, the one that makes most records unique first.
    settles
        How many sets are gone once this column is ``key: false``, coarse enough, replaced or dropped, after the columns
        asked about before it.
    """

    name: str
    sets: tuple[KeptSet, ...]
    settles: int


@dataclass(frozen=True)
class Coarser:
    """A coarser column, and how many records would still be unique on the set with it."""

    setting: str
    unique: int
    share: float
    exact: bool


def undecided(data: Microdata) -> tuple[Undecided, ...]:
    """Return the columns to decide on, first those whose decision settles most sets.

    Cost: that of :func:`smallest_sets`.
    """
    return undecided_in(smallest_sets(data.frame, data.schema), data.schema)


def undecided_in(sets: Sequence[KeptSet], schema: Schema) -> tuple[Undecided, ...]:
    """Return the columns to decide on, given the sets of kept columns that make many records unique."""
    open_ = {column.name for column in schema.kept() if not column.key_decided}
    left = [one for one in sets if open_ & set(one.columns)]
    names = [name for name in schema.names() if any(name in one.columns for one in left) and name in open_]
    found: list[Undecided] = []
    mine = {name: sorted((one for one in left if name in one.columns), key=lambda one: -one.unique) for name in names}
    while names:
        # of equals, the column that makes more records unique, then the earlier one
        name = max(names, key=lambda name: (sum(name in one.columns for one in left), mine[name][0].unique))
        found.append(Undecided(name, tuple(mine[name]), sum(name in one.columns for one in left)))
        left = [one for one in left if name not in one.columns]
        names.remove(name)
    return tuple(found)


def with_undecided_as_keys(schema: Schema, found: Iterable[Undecided]) -> Schema:
    """Return the schema by which a release is judged: what is undecided is a key (and still not ``key_decided``)."""
    names = {one.name for one in found}
    return Schema(
        columns=tuple(
            column.model_copy(update={"key": True}) if column.name in names else column for column in schema.columns
        )
    )


def replaced_as_keys(schema: Schema, targets: Sequence[str] = ()) -> Schema:
    """Return the schema in which replaced columns of which nobody has said so are keys, but for an intruder's targets.

    Who replaces a column has a reason, and a mask that hides nothing must not pass because nobody wrote ``key: true``.
    """
    return Schema(
        columns=tuple(
            column.model_copy(update={"key": True})
            if column.role is Role.REPLACE and not column.key_decided and column.name not in targets
            else column
            for column in schema.columns
        )
    )


def questions(data: Microdata, found: Sequence[Undecided] | None = None, *, most: int = MOST_QUESTIONS) -> list[str]:
    """Return what to ask whoever decides: one sentence or two for each undecided column, the most useful first.

    Names and counts, no values. At most ``most`` columns are asked about in full, the rest are named in one line.

    Notes
    -----
    For each column a few coarser versions are tried, O(n) each: 12 questions take 2 s of one core at n = 1,000,000.
    """
    columns = undecided(data) if found is None else tuple(found)
    coded: dict[str, Codes] = {}
    asked = [_question(data, one, coded) for one in columns[:most]]
    if rest := [one.name for one in columns[most:]]:
        asked.append(f"Then the same of {_listed(rest)}, where they are still in such a set.")
    return asked


def coarser(data: Microdata, name: str, among: Sequence[str], coded: dict[str, Codes] | None = None) -> Coarser | None:
    """Return the least coarsening of a column that leaves at most 5% of the records unique on a set of columns.

    Or, where none does, the one that leaves fewest; None where none takes a quarter of them away. ``coded`` keeps the
    columns as they are from one question to the next.
    """
    coded = {} if coded is None else coded
    for other in among:
        if other not in coded:
            coded[other] = classes([data.frame], data.schema[other], exact=True)[0]
    others = [coded[other] for other in among if other != name]
    column, series = data.schema[name], data.frame[name]
    before, exact = unique_records([*others, coded[name]])
    best: Coarser | None = None
    for proposal in proposals(series, column):
        made = _made(series, column, proposal)
        if made is None:
            continue
        unique = unique_records([*others, made])[0]
        if best is None or unique < best.unique:
            best = Coarser(proposal.setting, unique, unique / len(data), exact)
        if unique <= SHARE * len(data):
            break
    return best if best is not None and best.unique <= (1 - WORTHWHILE) * before else None


def coarser_together(data: Microdata, names: Iterable[str], *, most: float) -> dict[str, str | None]:
    """Return the least coarsening of every kept column at which at most ``most`` records are alone on all of them.

    Columns that are coarse enough one by one still single people out together, so each is held against those before
    it, the ones with fewest values first.

    Returns
    -------
    dict
        By column: the settings, empty where it can stay as it is, None where no coarsening does and it has to go.
    """
    coded = {name: classes([data.frame], data.schema[name], exact=True)[0] for name in names}
    found: dict[str, str | None] = {}
    stay: list[Codes] = []
    for name in sorted(coded, key=lambda name: int(coded[name].max(initial=0))):
        found[name] = None
        series, column = data.frame[name], data.schema[name]
        tried = ((proposal.setting, _made(series, column, proposal)) for proposal in proposals(series, column))
        for setting, made in (("", coded[name]), *tried):
            if made is not None and unique_records([*stay, made])[0] <= most:
                found[name] = setting
                stay.append(made)
                break
    return found


def _made(series: pd.Series, column: Column, proposal: Proposal) -> Codes | None:
    try:
        return proposal.codes(series, column)
    except InputError:  # such as levels so rare that one would be left
        return None


def _question(data: Microdata, one: Undecided, coded: dict[str, Codes]) -> str:
    column, worst = data.schema[one.name], one.sets[0]
    about = "" if worst.exact else "about "
    many = f"{about}{worst.unique:,} record{'s' if worst.unique > 1 else ''} ({_percent(worst.share)}) unique"
    if len(worst.columns) == 1:
        who = f"{_name(one.name)}, which is kept, makes {many} by itself."
    else:
        who = f"{_listed(worst.columns)}, {'both' if len(worst.columns) == 2 else 'all'} kept, make {many}."
    more = f" {_name(one.name)} is in {len(one.sets)} such sets." if len(one.sets) > 1 else ""
    return f"{who}{more} May an intruder know {_name(one.name)}? Decide: {_choices(data, column, worst, coded)}."


def _choices(data: Microdata, column: Column, worst: KeptSet, coded: dict[str, Codes]) -> str:
    where = f"variables.{_name(column.name)}"
    # a column of the survey's design must be kept as it is
    kept = column.design is not None
    choices = [
        f"{where}.key: true (judged as known{'' if kept else '; or role: replace'})",
        "key: false (nobody outside can know it)",
    ]
    if (less := coarser(data, column.name, worst.columns, coded)) is not None:
        about = "" if less.exact else "about "
        left = f"leaves {about}{less.unique:,} unique, {_percent(less.share)}"
        choices.append(f"coarser ({where}.{less.setting} {left})")
    if not kept:
        choices.append("role: drop")
    return f"{', '.join(choices[:-1])}, or {choices[-1]}"


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "under 1%"
    # near the limit a digit more says on which side
    return f"{share:.1%}" if round(share, 2) == SHARE else f"{share:.0%}"


def _listed(names: Sequence[str]) -> str:
    return listing([_name(name) for name in names])


def _name(name: str) -> str:
    # a question is one line
    return name if name.isprintable() else repr(name)
