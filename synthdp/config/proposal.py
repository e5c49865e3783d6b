"""A whole config guessed from a table: what each column is, and what should happen to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.config import roles, told
from synthdp.config.decisions import Guess, decide
from synthdp.config.roles import PROPOSED, REPLACED, Method
from synthdp.imputation.copula.coding import MOST_UTILITIES
from synthdp.table import applies
from synthdp.table.guess import design, families, formulas, identifiers, kinds, missing, relatives
from synthdp.table.guess.formulas import Formula
from synthdp.table.guess.keys import find_keys, to_replace, with_shares
from synthdp.table.guess.missing import Code, Skip
from synthdp.table.io import Labels
from synthdp.table.microdata import Floats, Microdata, resolve
from synthdp.table.relations import Relation
from synthdp.table.schema import Design, Kind, Role, Schema, Variable

__all__ = ["PROPOSED", "Method", "Proposal", "propose"]

FEW_TWICE = 0.8
FEW_ANSWERS, ANSWERS_PER_LEVEL, RARE_LEVEL = 0.2, 100, 0.01  # what a copula can learn little from
_CONDITIONS = ("derived", "applies_when", "applies_exceptions")
PLAIN = Labels()


@dataclass(frozen=True, repr=False)
class Proposal:
    """Everything that was guessed about a table.

    Parameters
    ----------
    crowded
        Columns with more levels than the method can see, or than their answers can tell apart.
    thin
        Whether few people answer a question that the method sees, or a level is rare.
    asked, alone, unique
        Columns whose ``key`` a person must decide, the most useful first; how many records are alone on the kept keys;
        which share of the records is unique on all kept columns.
    """

    records: int
    columns: tuple[Guess, ...]
    codes: Mapping[str, tuple[Code, ...]]
    words: Mapping[str, tuple[tuple[str, int], ...]]
    skips: Mapping[str, Skip]
    method: Method
    crowded: tuple[str, ...] = ()
    thin: bool = False
    asked: tuple[str, ...] = ()
    alone: int = 0
    unique: float = 0.0

    @property
    def design(self) -> dict[Design, str]:
        """The columns of the survey's design that are kept."""
        return {guess.design: guess.name for guess in self.having(Role.KEEP) if guess.design is not None}

    def __repr__(self) -> str:
        return f"Proposal({self.records} records, {len(self.columns)} columns)"

    def having(self, role: Role) -> tuple[Guess, ...]:
        """Return the columns of a role, in file order."""
        return tuple(guess for guess in self.columns if guess.role is role)


def propose(frame: pd.DataFrame, *, method: Method = PROPOSED, labels: Labels = PLAIN) -> Proposal:
    """Guess a config for a table.

    Parameters
    ----------
    method
        ``auto``: a model for every kind of column, with masks; ``regression`` with masks; ``copula`` with masks, which
        also replaces columns with gaps; or ``cart``: sequential trees, which also replace columns with gaps, dates and
        thousands of levels.
    labels
        What the file itself says its columns are.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"id": range(100), "age": rng.integers(18, 90, 100), "score": rng.normal(size=100)})
    >>> [(guess.name, str(guess.role)) for guess in propose(frame).columns]
    [('id', 'drop'), ('age', 'replace'), ('score', 'keep')]
    """
    said = labels.variables
    # a record entered twice has its number twice; but in a file of few columns records are alike without that
    once = frame.drop_duplicates()
    once = once if len(once) >= FEW_TWICE * len(frame) else frame
    survey = design.find(once, said)
    dropped = _dropped(once[[name for name in frame.columns if name not in survey.why]], said)
    rest = [name for name in frame.columns if name not in dropped]
    clean, codes, words = _without_codes(frame[rest])
    for name in rest:
        if bool(clean[name].isna().all()):
            dropped[name] = "nothing but missing codes"
    items = families.battery(clean)
    natures = {
        # what the name of an item says is what it asks about, not what its answers are
        name: kinds.nature(clean[name], "" if name in items else name, said.get(name, ""))
        for name in rest
        if name not in dropped
    }
    guesses = {name: Guess(name, Role.DROP, evidence=(why,)) for name, why in dropped.items()}
    guesses |= {name: roles.kept(clean[name], name, nature) for name, nature in natures.items()}
    _lay_design(guesses, survey)
    data = resolve(clean, {name: _declared(guess) for name, guess in guesses.items() if name in clean.columns})
    related = relatives.everywhere(data)
    computed = _computed(data, related, survey)
    for name, formula in computed.items():
        guesses[name] = _recomputed(guesses[name], formula)
    beside = {*computed, *survey.why}
    related = {
        name: relation
        for name, relation in related.items()
        if name not in beside and not set(relation.replaced) & set(survey.why)
    }
    for name, relation in related.items():
        guesses[name] = replace(guesses[name], evidence=(*guesses[name].evidence, relatives.words(relation)))
    own = [name for name in natures if guesses[name].role is Role.KEEP and name not in survey.why]
    candidates = [name for name in own if clean[name].nunique() > 1 and (method == "auto" or name not in related)]
    keys = with_shares(clean, find_keys(clean, candidates, said))
    able = [key.name for key in keys if roles.obstacle(guesses[key.name], clean[key.name], method) is None]
    chosen = to_replace(clean, [key.name for key in keys], able, *REPLACED[method])
    for key in keys:
        full = len(chosen) if key.name not in chosen else 0
        guesses[key.name] = roles.keyed(guesses[key.name], clean[key.name], key, method, full=full)
    roles.protect(guesses, data, method)
    if told.protect(guesses, data, method):
        roles.protect(guesses, data, method)
    roles.without_sources(guesses)
    for name, relation in related.items():
        guesses[name] = roles.following(guesses[name], clean[name], relation.replaced)
    found = _skips(guesses, data, [name for name in rest if name not in dropped])
    settled = decide(guesses, data)
    columns = tuple(settled.guesses[name] for name in frame.columns)
    seen = [guess for guess in columns if method == "copula" and guess.role in (Role.KEEP, Role.REPLACE)]
    crowded = [guess.name for guess in seen if _crowded(guess, clean[guess.name])]
    thin = any(_thin(guess, clean[guess.name]) for guess in seen if guess.name not in crowded)
    left = (settled.asked, settled.alone, settled.unique)
    return Proposal(len(frame), columns, codes, words, found, method, tuple(crowded), thin, *left)


def _lay_design(guesses: dict[str, Guess], survey: design.Found) -> None:
    """Write what is known of the survey's design into the guesses."""
    parts = {name: part for part, name in survey.parts.items()}
    for name, why in survey.why.items():
        guesses[name] = roles.of_design(guesses[name], parts.get(name), why)
        if name in survey.units:
            guesses[name] = roles.of_unit(guesses[name], survey.units[name])


def _computed(data: Microdata, related: Mapping[str, Relation], survey: design.Found) -> dict[str, Formula]:
    """Return the columns that a formula gives: a simple one, or a relation that can be written as one."""
    fixed = {*survey.parts.values(), *survey.units}
    found = formulas.find(data, never=fixed, unused=survey.units)
    for name, relation in related.items():
        if name in found or name in fixed or set(relation.replaced) & set(survey.units):
            continue
        formula = relatives.describe(data, relation).formula
        if formula is not None and not any(formulas.leads_to(source, name, found) for source in relation.replaced):
            found[name] = Formula(formula, relation.replaced)
    return found


def _recomputed(guess: Guess, formula: Formula) -> Guess:
    words = f"a function of {' and '.join(formula.sources)}"
    evidence = (*guess.evidence, words, "recomputed in every copy")
    return replace(
        guess, role=Role.DERIVED, derived=formula.text, decimals=formula.decimals, evidence=evidence, decide=()
    )


def _skips(guesses: dict[str, Guess], data: Microdata, columns: Sequence[str]) -> dict[str, Skip]:
    """Return which questions were not asked of everyone; conditions and doubts are written into the guesses."""
    asking = (Kind.BINARY, Kind.ORDINAL, Kind.NOMINAL, Kind.COUNT, Kind.SEMICONTINUOUS, Kind.CONTINUOUS)
    askable = [name for name in columns if guesses[name].kind in asking and guesses[name].role is not Role.DROP]
    found = missing.find_skips(data.frame[list(columns)], askable)
    for skip in found.values():
        if guesses[skip.because].role is Role.REPLACE and guesses[skip.column].role is Role.KEEP:
            sentence = f"its gaps reveal {skip.because}, which is replaced; drop it, or keep {skip.because}."
            guesses[skip.column] = replace(guesses[skip.column], decide=(*guesses[skip.column].decide, sentence))
        elif guesses[skip.because].role is Role.DERIVED and guesses[skip.column].role is Role.KEEP:
            sentence = f"its gaps reveal {skip.because}, which follows from a replaced column; drop it, or keep that."
            guesses[skip.column] = replace(guesses[skip.column], decide=(*guesses[skip.column].decide, sentence))
        _condition(guesses, data, skip)
    return found


def _crowded(guess: Guess, series: pd.Series) -> bool:
    """Return whether a kept nominal column has more levels than a copula takes, or than its answers can tell apart."""
    levels = series.nunique()
    few = series.notna().mean() < FEW_ANSWERS and series.count() < ANSWERS_PER_LEVEL * levels
    return (guess.role, guess.kind) == (Role.KEEP, Kind.NOMINAL) and (levels > MOST_UTILITIES + 1 or bool(few))


def _thin(guess: Guess, series: pd.Series) -> bool:
    """Return whether few records have a value, or few a level of a nominal column."""
    rare = guess.kind is Kind.NOMINAL and series.value_counts(normalize=True).min() < RARE_LEVEL
    return bool(series.notna().mean() < FEW_ANSWERS or rare)


def _dropped(frame: pd.DataFrame, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that are empty or name a person by themselves, with the reason."""
    found: dict[str, str] = {}
    for name in frame.columns:
        empty = bool(frame[name].isna().all())
        why = "empty" if empty else identifiers.why(frame[name], name, labels.get(name, ""))
        if why is not None:
            found[name] = why if why == "empty" else f"a direct identifier: {why}"
    return found


def _without_codes(
    frame: pd.DataFrame,
) -> tuple[pd.DataFrame, dict[str, tuple[Code, ...]], dict[str, tuple[tuple[str, int], ...]]]:
    """Return the table with guessed codes missing, the codes, and the words between numbers."""
    numbers: dict[str, Floats] = {}
    words: dict[str, tuple[tuple[str, int], ...]] = {}
    for name in frame.columns:
        series = frame[name]
        if pd.api.types.is_bool_dtype(series) or pd.api.types.is_datetime64_any_dtype(series):
            continue
        if pd.api.types.is_numeric_dtype(series):
            numbers[name] = series.to_numpy(np.float64, na_value=np.nan)
        elif found := missing.text_codes(series):
            words[name] = found
            numbers[name] = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
    codes = missing.find_codes(numbers)
    clean = frame.copy(deep=False)
    for name in {*codes, *words}:
        values = numbers[name]
        coded = np.isin(values, [code.value for code in codes.get(name, ())])
        clean[name] = np.where(coded, np.nan, values)
    return clean, codes, words


def _condition(guesses: dict[str, Guess], data: Microdata, skip: Skip) -> None:
    """Let a column apply only where its skip says so, if that is nearly always true and ``check`` accepts it."""
    if guesses[skip.column].role not in (Role.KEEP, Role.REPLACE):
        return
    slips = missing.MOST_EXCEPTIONS if skip.exceptions else 0.0
    tried = replace(guesses[skip.column], applies_when=skip.applies_when(), applies_exceptions=slips)
    settled = guesses | {skip.column: tried}
    columns = [
        column.model_copy(update={name: getattr(settled[column.name], name) for name in ("role", *_CONDITIONS)})
        for column in data.schema.columns
        if settled[column.name].role is not Role.DROP
    ]
    if not applies.problems(applies.without_exceptions(Microdata(data.frame, Schema(columns=tuple(columns))))):
        guesses[skip.column] = tried


def _declared(guess: Guess) -> Variable:
    if guess.role is Role.DROP:
        return Variable(role=Role.DROP)
    return Variable(kind=guess.kind, levels=guess.levels or None)
