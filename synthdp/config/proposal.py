"""A whole config guessed from a table: what each column is, and what should happen to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from synthdp.config.decisions import Guess, decide
from synthdp.imputation.copula.coding import MOST_UTILITIES
from synthdp.imputation.regression.association import MOST_COUNT, MOST_LEVELS
from synthdp.table import applies
from synthdp.table.guess import identifiers, kinds, missing, relatives
from synthdp.table.guess.identifiers import Key, find_keys, to_replace, with_shares
from synthdp.table.guess.missing import Code, Skip
from synthdp.table.microdata import Floats, Microdata, resolve
from synthdp.table.schema import Kind, Role, Schema, Variable

Method = Literal["regression", "cart", "copula"]
MANY_LONELY = 0.01
FEW_TWICE = 0.8
FEW_ANSWERS, ANSWERS_PER_LEVEL, RARE_LEVEL = 0.2, 100, 0.01  # what a copula can learn little from
_CONDITIONS = ("derived", "applies_when")
_COARSER = "drop it, make it coarser (topcode, round, recode, rare)"


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

    def __repr__(self) -> str:
        return f"Proposal({self.records} records, {len(self.columns)} columns)"

    def having(self, role: Role) -> tuple[Guess, ...]:
        """Return the columns of a role, in file order."""
        return tuple(guess for guess in self.columns if guess.role is role)


def propose(frame: pd.DataFrame, *, method: Method = "regression") -> Proposal:
    """Guess a config for a table.

    Parameters
    ----------
    method
        ``regression`` with masks; ``copula`` with masks, which also replaces columns with gaps; or ``cart``:
        sequential trees, which also replace columns with gaps, dates and thousands of levels.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"id": range(100), "age": rng.integers(18, 90, 100), "score": rng.normal(size=100)})
    >>> [(guess.name, str(guess.role)) for guess in propose(frame).columns]
    [('id', 'drop'), ('age', 'replace'), ('score', 'keep')]
    """
    dropped = _dropped(frame)
    rest = [name for name in frame.columns if name not in dropped]
    clean, codes, words = _without_codes(frame[rest])
    for name in rest:
        if bool(clean[name].isna().all()):
            dropped[name] = "nothing but missing codes"
    natures = {name: kinds.nature(clean[name], name) for name in rest if name not in dropped}
    guesses = {name: Guess(name, Role.DROP, evidence=(why,)) for name, why in dropped.items()}
    guesses |= {name: _kept(clean[name], name, nature) for name, nature in natures.items()}
    data = resolve(clean, {name: _declared(guess) for name, guess in guesses.items() if name in clean.columns})
    related = relatives.everywhere(data)
    for name, relation in related.items():
        guesses[name] = replace(guesses[name], evidence=(*guesses[name].evidence, relatives.words(relation)))
    candidates = [name for name in natures if clean[name].nunique() > 1 and name not in related]
    keys = with_shares(clean, find_keys(clean, candidates))
    able = [key.name for key in keys if _obstacle(guesses[key.name], clean[key.name], method) is None]
    chosen = to_replace(clean, [key.name for key in keys], able)
    for key in keys:
        full = len(chosen) if key.name not in chosen else 0
        guesses[key.name] = _keyed(guesses[key.name], clean[key.name], key, method, full=full)
    _protect(guesses, data)
    for name, relation in related.items():
        guesses[name] = _following(guesses[name], clean[name], relation.replaced)
    askable = [name for name in natures if natures[name].kind.categorical and guesses[name].role is not Role.DROP]
    found = missing.find_skips(clean[[name for name in rest if name not in dropped]], askable)
    for skip in found.values():
        if guesses[skip.because].role is Role.REPLACE and guesses[skip.column].role is Role.KEEP:
            sentence = f"its gaps reveal {skip.because}, which is replaced; drop it, or keep {skip.because}."
            guesses[skip.column] = replace(guesses[skip.column], decide=(*guesses[skip.column].decide, sentence))
        elif guesses[skip.because].role is Role.DERIVED and guesses[skip.column].role is Role.KEEP:
            sentence = f"its gaps reveal {skip.because}, which follows from a replaced column; drop it, or keep that."
            guesses[skip.column] = replace(guesses[skip.column], decide=(*guesses[skip.column].decide, sentence))
        _condition(guesses, data, skip)
    settled = decide(guesses, data)
    columns = tuple(settled.guesses[name] for name in frame.columns)
    seen = [guess for guess in columns if method == "copula" and guess.role in (Role.KEEP, Role.REPLACE)]
    crowded = [guess.name for guess in seen if _crowded(guess, clean[guess.name])]
    thin = any(_thin(guess, clean[guess.name]) for guess in seen if guess.name not in crowded)
    left = (settled.asked, settled.alone, settled.unique)
    return Proposal(len(frame), columns, codes, words, found, method, tuple(crowded), thin, *left)


def _crowded(guess: Guess, series: pd.Series) -> bool:
    """Return whether a kept nominal column has more levels than a copula takes, or than its answers can tell apart."""
    levels = series.nunique()
    few = series.notna().mean() < FEW_ANSWERS and series.count() < ANSWERS_PER_LEVEL * levels
    return (guess.role, guess.kind) == (Role.KEEP, Kind.NOMINAL) and (levels > MOST_UTILITIES + 1 or bool(few))


def _thin(guess: Guess, series: pd.Series) -> bool:
    """Return whether few records have a value, or few a level of a nominal column."""
    rare = guess.kind is Kind.NOMINAL and series.value_counts(normalize=True).min() < RARE_LEVEL
    return bool(series.notna().mean() < FEW_ANSWERS or rare)


def _dropped(frame: pd.DataFrame) -> dict[str, str]:
    """Return the columns that are empty or name a person by themselves, with the reason."""
    found: dict[str, str] = {}
    # a record entered twice has its number twice; but in a file of few columns records are alike without that
    once = frame.drop_duplicates()
    once = once if len(once) >= FEW_TWICE * len(frame) else frame
    for name in frame.columns:
        why = "empty" if bool(frame[name].isna().all()) else identifiers.why(once[name], name)
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


def _kept(series: pd.Series, name: str, nature: kinds.Nature) -> Guess:
    gaps = int(series.isna().sum())
    evidence = [nature.evidence, *([f"{gaps} missing"] if gaps else [])]
    decide = [nature.doubt] if nature.doubt else []
    if nature.kind.categorical and not pd.api.types.is_numeric_dtype(series):
        lonely = identifiers.lonely_share(series)
        if lonely >= MANY_LONELY:
            decide.append(f"{lonely:.0%} of the records have a level that nobody shares; add rare: 10 to group those.")
    if nature.kind in (Kind.CONTINUOUS, Kind.COUNT, Kind.SEMICONTINUOUS):
        far = missing.far_out(_numbers(series))
        if far:
            decide.append(f"{far} values lie far beyond all others; are they slips, or codes for missing?")
    return Guess(name, Role.KEEP, nature.kind, levels=nature.levels, evidence=tuple(evidence), decide=tuple(decide))


def _keyed(guess: Guess, series: pd.Series, key: Key, method: Method, *, full: int) -> Guess:
    """Return a key: replaced when the method can, else kept, or dropped where keeping would name people."""
    guess = _known(guess, series, key.evidence)
    obstacle = _obstacle(guess, series, method)
    if obstacle is None and not full:
        return _replaced(guess, series)
    if guess.kind is Kind.DATE and kinds.topic(guess.name) == "birth":
        why = f"a date of birth, and {method} cannot replace dates; --method cart can."
        return replace(guess, role=Role.DROP, key=None, decide=(*guess.decide, why))
    other = "copula" if method == "regression" and series.isna().any() and guess.kind is not Kind.DATE else "cart"
    cure = "replace it instead of another" if obstacle is None else f"try --method {other}"
    obstacle = obstacle or f"{full} columns are replaced already"
    sentence = f"a likely key that is kept, because {obstacle}; {_COARSER}, or {cure}."
    return replace(guess, decide=(*guess.decide, sentence))


def _known(guess: Guess, series: pd.Series, evidence: str) -> Guess:
    """Return a guess that intruders may know the column, and how well."""
    guess = replace(guess, key=True, evidence=(*guess.evidence, f"likely a key: {evidence}"))
    if not guess.numeric:
        return guess
    places, _ = kinds.decimals(_numbers(series))
    return replace(guess, tolerance=kinds.tolerance(_numbers(series), places))


def _following(guess: Guess, series: pd.Series, sources: Sequence[str]) -> Guess:
    """Return a kept column that follows from others as the key that its name makes it."""
    topic = kinds.topic(guess.name)
    if guess.role is not Role.KEEP or guess.key or topic is None:
        return guess
    if guess.kind is Kind.DATE and topic == "birth":
        why = f"a date of birth that follows from {' and '.join(sources)}, and is not kept."
        return replace(guess, role=Role.DROP, decide=(*guess.decide, why))
    sentence = f"a likely key that is kept, because it follows from {' and '.join(sources)}; {_COARSER}."
    return _known(replace(guess, decide=(*guess.decide, sentence)), series, f"its name says {topic}")


def _obstacle(guess: Guess, series: pd.Series, method: Method) -> str | None:
    """Return why a method cannot replace a column, or None; trees replace every column."""
    if method == "cart":
        return None
    if guess.kind is Kind.DATE:
        return f"{method} cannot replace dates"
    if method == "copula":
        crowded = guess.kind is Kind.NOMINAL and series.nunique() > MOST_UTILITIES + 1
        return f"a copula takes at most {MOST_UTILITIES + 1} levels and it has {series.nunique()}" if crowded else None
    gaps = int(series.isna().sum())
    if gaps:
        return f"regression cannot replace a column with {gaps} missing values"
    if guess.kind is not None and guess.kind.categorical and (distinct := series.nunique()) > MOST_LEVELS:
        return f"regression replaces at most {MOST_LEVELS} levels and it has {distinct}"
    if guess.kind is Kind.COUNT and float(_numbers(series).max()) > MOST_COUNT:
        return f"regression replaces counts up to {MOST_COUNT}"
    return None


def _replaced(guess: Guess, series: pd.Series) -> Guess:
    if not guess.numeric:
        return replace(guess, role=Role.REPLACE)
    values = _numbers(series)
    places, rounded = kinds.decimals(values)
    evidence = guess.evidence
    if rounded:
        evidence = (*evidence, "more decimals than a person would write; about a hundredth of an sd is kept")
    log = guess.kind in (Kind.CONTINUOUS, Kind.SEMICONTINUOUS) and kinds.is_skewed(values)
    if log:
        evidence = (*evidence, "very skewed: worked on as logs")
    return replace(guess, role=Role.REPLACE, decimals=places, log=log, evidence=evidence)


def _protect(guesses: dict[str, Guess], data: Microdata) -> None:
    """Recompute or drop every column that would give a replaced one away."""
    replaced = [name for name, guess in guesses.items() if guess.role is Role.REPLACE]
    for _ in guesses:
        kept = [name for name, guess in guesses.items() if guess.role is Role.KEEP]
        found = relatives.giving_away(data, kept, replaced)
        if not found:
            return
        for relation in found:
            guess, relative = guesses[relation.kept], relatives.describe(data, relation)
            if guess.role is not Role.KEEP:
                continue
            gone = any(guesses[source].role in (Role.DROP, Role.DERIVED) for source in relative.sources)
            if relative.formula is not None and not gone:
                note = "recomputed in every copy"
                changed = replace(guess, role=Role.DERIVED, derived=relative.formula, tolerance=None)
            else:
                note = "would give that away, and no simple formula recomputes it"
                changed = Guess(guess.name, Role.DROP)
            seen = dict.fromkeys((*guess.evidence, relative.words, note))
            guesses[relation.kept] = replace(changed, evidence=tuple(seen), decide=())


def _condition(guesses: dict[str, Guess], data: Microdata, skip: Skip) -> None:
    """Let a column apply only where its skip says so, if that is true of every record and ``check`` accepts it."""
    if skip.exceptions or guesses[skip.column].role not in (Role.KEEP, Role.REPLACE):
        return
    tried = replace(guesses[skip.column], applies_when=skip.applies_when())
    settled = guesses | {skip.column: tried}
    columns = [
        column.model_copy(update={name: getattr(settled[column.name], name) for name in ("role", *_CONDITIONS)})
        for column in data.schema.columns
        if settled[column.name].role is not Role.DROP
    ]
    if not applies.problems(Microdata(data.frame, Schema(columns=tuple(columns)))):
        guesses[skip.column] = tried


def _declared(guess: Guess) -> Variable:
    if guess.role is Role.DROP:
        return Variable(role=Role.DROP)
    return Variable(kind=guess.kind, levels=guess.levels or None)


def _numbers(series: pd.Series) -> Floats:
    return np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
