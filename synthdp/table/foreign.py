"""Files of other tools, spelt as the original is: column order, codes or labels, types, coarsening, derived columns.

What a file means is settled value by value; nothing is guessed from frequencies, and what cannot be settled is refused
with the column's name. Messages count, they never quote a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from synthdp.arrays import Codes
from synthdp.table import derived
from synthdp.table.coarsening import OTHER, coarsen
from synthdp.table.coded import FOREIGN, LARGEST, MISSING, codes, decode, numbers
from synthdp.table.io.labels import Labels
from synthdp.table.microdata import Microdata
from synthdp.table.schema import NUMERIC_COARSENINGS, Column, Kind, Level, Role, Variable

NO_LABELS = Labels()


def by_order(column: Column, series: Sequence[pd.Series]) -> list[Codes] | None:
    """Return codes 0…K − 1 or 1…K as positions in the declared levels, or None when they cannot be that."""
    if not all(pd.api.types.is_numeric_dtype(one) for one in series):
        return None
    values = [np.asarray(one.to_numpy(dtype=np.float64, na_value=np.nan)) for one in series]
    present = np.concatenate([one[~np.isnan(one)] for one in values])
    low, high, last = present.min(), present.max(), len(column.levels)
    if (present % 1 != 0).any() or not ((low == 0 and high < last) or (low >= 1 and high == last)):
        return None
    first = 0 if low == 0 else 1
    return [np.where(np.isnan(one), MISSING, np.nan_to_num(one) - first).astype(np.int64) for one in values]


def positions(column: Column, variable: Variable, series: pd.Series, own: Labels, labels: Labels) -> Codes:
    """Return the level of each value, by any of the ways it may be written; -2 where it is none.

    Parameters
    ----------
    own, labels
        The value labels of the file and of the original.
    """
    found = codes(series, column, foreign=FOREIGN)
    outside = found == FOREIGN
    if not outside.any():
        return found
    place, distinct = pd.factorize(series)
    known = _names(column, variable, labels)
    texts = {canonical(code): text for code, text in own.values.get(column.name, {}).items()}
    settled = np.full(len(distinct) + 1, FOREIGN, dtype=np.int64)
    for number in np.unique(place[outside]):
        settled[number] = next((known[name] for name in _spellings(distinct[number], texts) if name in known), FOREIGN)
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


@dataclass
class Findings:
    """What is wrong with the files, and what a person should know of how they were read."""

    problems: list[str] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=dict)

    def remark(self, file: str, sentence: str) -> None:
        """Note something about a file that is no error."""
        self.remarks.setdefault(sentence, []).append(file)

    @property
    def cautions(self) -> tuple[str, ...]:
        """One sentence each, with the first file it is about and how many more there are."""
        return tuple(
            f"{files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}: {sentence}"
            for sentence, files in self.remarks.items()
        )


@dataclass(frozen=True, repr=False)
class File:
    """A synthetic table, what it is called, and its own value labels."""

    name: str
    frame: pd.DataFrame
    labels: Labels = NO_LABELS

    def __repr__(self) -> str:
        return f"File({self.name}, {len(self.frame)} rows)"


def harmonise(
    files: Sequence[File], data: Microdata, variables: Mapping[str, Variable], labels: Labels = NO_LABELS
) -> tuple[list[pd.DataFrame], Findings]:
    """Return the tables with the original's columns, in its order, values and types.

    Parameters
    ----------
    files
        Synthetic tables, missing codes already missing.
    data
        The original as it is judged.
    variables
        As declared: the order of levels, and how columns were made coarser.
    labels
        Of the original's file: a copy may hold the labels where the original holds the codes.

    Notes
    -----
    * other columns are left out, with a caution; absent ones are refused, but derived ones are computed;
    * a level is recognised as it is, by its value label in either file, by another spelling of the same number or
      truth value ("1.0", 1, True), by upper and lower case, or by ``recode``; whole columns of codes by the declared
      order of levels, from 0 or from 1;
    * numbers beyond ``topcode`` and ``bottomcode``, or not rounded, are made coarser as the original was.
    """
    findings = Findings()
    frames = [_with_columns(file, data, findings) for file in files]
    if findings.problems:
        return frames, findings
    for column in data.schema.columns:
        variable = variables.get(column.name, Variable())
        given = [(file, frame) for file, frame in zip(files, frames, strict=True) if column.name in frame]
        if column.kind.categorical:
            made = _spell(column, variable, given, data, labels, findings)
        else:
            made = [_number(column, variable, file.name, frame[column.name], findings) for file, frame in given]
        for (_, frame), series in zip(given, made, strict=True):
            frame[column.name] = series
    if not findings.problems:
        complete = len(data.schema.columns)
        frames = [frame if frame.shape[1] == complete else derived.recompute(frame, data) for frame in frames]
    return frames, findings


def _with_columns(file: File, data: Microdata, findings: Findings) -> pd.DataFrame:
    frame, names = file.frame, data.schema.names()
    twice = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]} & set(names))
    if twice:
        findings.problems.append(f"{file.name}: the column name {twice[0]!r} occurs more than once; rename one.")
    absent = [name for name in names if name not in frame.columns]
    computed = [name for name in absent if data.schema[name].role is Role.DERIVED]
    if len(computed) < len(absent):
        lacking = ", ".join(name for name in absent if name not in computed)
        hint = "add them, or give them role: drop in the config"
        similar = {str(name).casefold() for name in frame.columns} & {name.casefold() for name in absent}
        if similar:
            hint = "there are columns that differ in upper and lower case: rename them"
        findings.problems.append(f"{file.name}: lacks the columns {lacking}; {hint}.")
    elif computed:
        findings.remark(file.name, f"derived columns that are not there were computed: {', '.join(computed)}.")
    more = [str(name) for name in frame.columns if name not in names]
    if more:
        shown = ", ".join(more[:5]) + (f" and {len(more) - 5} more" if len(more) > 5 else "")
        findings.remark(file.name, f"columns that the original is not judged by were left out: {shown}.")
    return frame[[name for name in names if name in frame.columns]].reset_index(drop=True)


def _number(column: Column, variable: Variable, file: str, series: pd.Series, findings: Findings) -> pd.Series:
    """Return a numeric column as numbers, as coarse as the original."""
    try:
        values = numbers(series, column)
        fits = bool(np.all((np.abs(values) <= LARGEST) | series.isna().to_numpy()))
    except (ValueError, TypeError):
        fits = False
    if not fits:
        wanted = "dates" if column.kind is Kind.DATE else "numbers"
        sentence = f"{column.name} is {column.kind} and needs {wanted}, found values that are not."
        findings.problems.append(f"{file}: {sentence}")
        return series
    if column.kind is Kind.DATE:
        return series if variable.period is None else _coarse(column, variable, file, series, findings)
    if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
        series = pd.Series(values, index=series.index, name=series.name)
    return _coarse(column, variable, file, series, findings)


def _coarse(column: Column, variable: Variable, file: str, series: pd.Series, findings: Findings) -> pd.Series:
    steps = [step for step in NUMERIC_COARSENINGS if getattr(variable, step) is not None]
    recode = _occurring(variable.recode or {}, series)
    if not steps and not recode:
        return series
    update = dict.fromkeys(("rare", "kind", "levels", "derived")) | {"recode": recode or None}
    made, _ = coarsen(series.to_frame(), {column.name: variable.model_copy(update=update)})
    changed = numbers(made[column.name], column) != numbers(series, column)
    if not (changed & series.notna().to_numpy()).any():
        return series
    said = ", ".join(step for step in ("recode", *NUMERIC_COARSENINGS) if getattr(variable, step) is not None)
    findings.remark(file, f"{column.name} was made coarser as the original was ({said}).")
    return made[column.name]


def _occurring(recode: Mapping[Level, Level], series: pd.Series) -> dict[Level, Level]:
    """Return the recodings that apply; none when the new values are old ones too, for it may have been done already."""
    if {str(old) for old in recode} & {str(new) for new in recode.values()}:
        return {}
    present = {canonical(value) for value in pd.unique(series.dropna())}
    return {old: new for old, new in recode.items() if canonical(old) in present}


def _spell(
    column: Column,
    variable: Variable,
    given: Sequence[tuple[File, pd.DataFrame]],
    data: Microdata,
    labels: Labels,
    findings: Findings,
) -> list[pd.Series]:
    """Return a categorical column of every file with the original's levels."""
    original = data.frame[column.name]
    places = [positions(column, variable, frame[column.name], file.labels, labels) for file, frame in given]
    series = [frame[column.name] for _, frame in given]
    # no value at all is a level
    lost = [number for number, found in enumerate(places) if (found == FOREIGN).any() and not (found >= 0).any()]
    if lost:
        declared = variable.levels is not None or isinstance(original.dtype, pd.CategoricalDtype)
        ordered = by_order(column, [series[number] for number in lost]) if declared else None
        for place, number in enumerate(lost):
            if ordered is None:
                findings.problems.append(_unknown(column, given[number][0].name, series[number]))
            else:
                places[number] = ordered[place]
                sentence = f"{column.name} holds codes; they were read as the levels in the order of the config."
                findings.remark(given[number][0].name, sentence)
    made = []
    for (file, _), found, one in zip(given, places, series, strict=True):
        outside = found == FOREIGN
        if outside.any() and (found >= 0).any():
            # levels that were too rare in the original have become one
            names = [str(level) for level in column.levels]
            group = names.index(OTHER) if variable.rare is not None and OTHER in names else FOREIGN
            what = f"as {OTHER!r}, as the rare levels of the original do" if group >= 0 else "as a level of their own"
            number = int(outside.sum())
            values = "value outside the levels counts" if number == 1 else "values outside the levels count"
            findings.remark(file.name, f"{column.name}: {number} {values} {what}.")
            found = np.where(outside, group, found)
        made.append(_as_original(found, column, one, original))
    return made


def _unknown(column: Column, file: str, series: pd.Series) -> str:
    if pd.api.types.is_numeric_dtype(series):
        return (
            f"{file}: {column.name} holds codes, and none is a level of the original; list variables.{column.name}."
            "levels in the order of the codes (from 0 or from 1, the last one occurring), or write the levels."
        )
    return f"{file}: no value of {column.name} is a level of the original; write them as the original does, or recode."


def _as_original(found: Codes, column: Column, series: pd.Series, original: pd.Series) -> pd.Series:
    """Return the levels as the original writes them; values that are no level stay as they are."""
    outside, same = found == FOREIGN, codes(series, column, foreign=FOREIGN)
    if outside.all() or (series.dtype == original.dtype and np.array_equal(found, same)):
        return series
    like = original.iloc[np.zeros(len(found), dtype=np.int64)].set_axis(series.index)
    made = decode(np.maximum(found, 0), column, like)
    if outside.any():
        made = made.astype(object).where(~outside, series.astype(object))
    missing = found == MISSING
    return made.mask(missing) if missing.any() else made
