"""What should happen to a column: drawn anew, kept, recomputed or dropped, each with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from synthdp.config.decisions import Guess
from synthdp.imputation.copula.coding import MOST_UTILITIES
from synthdp.imputation.regression.association import MOST_COUNT, MOST_LEVELS
from synthdp.table import expressions
from synthdp.table.guess import identifiers, keys, kinds, missing, names, relatives
from synthdp.table.guess.keys import Key
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.relations import Relation
from synthdp.table.schema import Design, Kind, Role

Method = Literal["auto", "regression", "cart", "copula"]
# what init proposes when nobody names a method
PROPOSED: Method = "auto"
# how many keys are replaced in any case, and how many at most while others leave people alone
REPLACED: Mapping[Method, tuple[int, int]] = {
    "auto": (40, 40),
    "regression": (6, 12),
    "cart": (6, 12),
    "copula": (6, 12),
}
MANY_LONELY = 0.01
LITTLE = 50  # values of the source for each of the function: what is told is lost among them
COARSER = "drop it, make it coarser (topcode, round, recode, rare)"
UNITS = {
    "household": "households",
    "person": "people with several records",
    "institution": "schools, clinics or firms",
    "group": "groups of records",
}


def kept(series: pd.Series, name: str, nature: kinds.Nature) -> Guess:
    """Return a column as it is, with what its values say and what a person should look at."""
    gaps = int(series.isna().sum())
    evidence = [nature.evidence, *([f"{gaps} missing"] if gaps else [])]
    decide = [nature.doubt] if nature.doubt else []
    if nature.kind.categorical and not pd.api.types.is_numeric_dtype(series):
        lonely = identifiers.lonely_share(series)
        if lonely >= MANY_LONELY:
            decide.append(f"{lonely:.0%} of the records have a level that nobody shares; add rare: 10 to group those.")
    if nature.kind in (Kind.CONTINUOUS, Kind.COUNT, Kind.SEMICONTINUOUS):
        far = missing.far_out(numbers(series))
        if far:
            many = "1 value lies" if far == 1 else f"{far} values lie"
            ask = "is it a slip, or a code" if far == 1 else "are they slips, or codes"
            decide.append(f"{many} far beyond all others; {ask} for missing?")
    said = Guess(name, Role.KEEP, nature.kind, levels=nature.levels, evidence=tuple(evidence), decide=tuple(decide))
    return replace(said, constant=series.nunique() == 1)


def of_design(guess: Guess, part: Design | None, why: str) -> Guess:
    """Return a column of the survey's design, which is kept as it is."""
    kind = Kind.NOMINAL if part in ("strata", "cluster") else guess.kind
    said = (why, *guess.evidence[1:])
    return replace(guess, kind=kind, levels=(), design=part, technical=True, evidence=said, decide=())


def of_unit(guess: Guess, unit: str) -> Guess:
    """Return the number of a household or of somebody with several records, which is kept and asked about."""
    sentence = (
        f"it numbers {UNITS[unit]}; where the number is known outside the file, renumber it at random or drop it. "
        "Rows of one unit are masked one by one, so that together they tell more than the verdict sees."
    )
    return replace(guess, decide=(*guess.decide, sentence))


def keyed(guess: Guess, series: pd.Series, key: Key, method: Method, *, full: int) -> Guess:
    """Return a key: replaced when the method can, else kept, or dropped where keeping would name people."""
    guess = known(guess, series, key.evidence)
    hindered = obstacle(guess, series, method)
    if hindered is None and not full:
        return replaced_too(guess, series)
    if guess.kind is Kind.DATE and names.topic(guess.name) == "birth":
        why = f"a date of birth, and {method} cannot replace dates; --method cart can."
        return replace(guess, role=Role.DROP, key=None, decide=(*guess.decide, why))
    other = "copula" if method == "regression" and series.isna().any() and guess.kind is not Kind.DATE else "cart"
    cure = "replace it instead of another" if hindered is None else f"try --method {other}"
    hindered = hindered or f"{full} columns are replaced already"
    sentence = f"a likely key that is kept, because {hindered}; {COARSER}, or {cure}."
    return replace(guess, decide=(*guess.decide, sentence))


def known(guess: Guess, series: pd.Series, evidence: str) -> Guess:
    """Return a guess that intruders may know the column, and how well."""
    guess = replace(guess, key=True, evidence=(*guess.evidence, f"likely a key: {evidence}"))
    if not guess.numeric:
        return guess
    places, _ = kinds.decimals(numbers(series))
    return replace(guess, tolerance=kinds.tolerance(numbers(series), places))


def following(guess: Guess, series: pd.Series, sources: Sequence[str]) -> Guess:
    """Return a kept column that follows from others as the key that its name makes it."""
    topic = names.topic(guess.name)
    if guess.role is not Role.KEEP or guess.key or topic is None or not keys.believable(series, guess.name, topic):
        return guess
    if guess.kind is Kind.DATE and topic == "birth":
        why = f"a date of birth that follows from {' and '.join(sources)}, and is not kept."
        return replace(guess, role=Role.DROP, decide=(*guess.decide, why))
    sentence = f"a likely key that is kept, because it follows from {' and '.join(sources)}; {COARSER}."
    return known(replace(guess, decide=(*guess.decide, sentence)), series, f"its name says {topic}")


def obstacle(guess: Guess, series: pd.Series, method: Method) -> str | None:
    """Return why a method cannot replace a column, or None; trees and ``auto`` replace every column."""
    if method in ("auto", "cart"):
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
    if guess.kind is Kind.COUNT and float(numbers(series).max()) > MOST_COUNT:
        return f"regression replaces counts up to {MOST_COUNT}"
    return None


def replaced_too(guess: Guess, series: pd.Series) -> Guess:
    """Return a column that is drawn anew, with the digits and the scale it is worked on."""
    if not guess.numeric:
        return replace(guess, role=Role.REPLACE)
    values = numbers(series)
    places, rounded = kinds.decimals(values)
    evidence = guess.evidence
    if rounded:
        evidence = (*evidence, "more decimals than a person would write; about a hundredth of an sd is kept")
    log = guess.kind in (Kind.CONTINUOUS, Kind.SEMICONTINUOUS) and kinds.is_skewed(values)
    if log:
        evidence = (*evidence, "very skewed: worked on as logs")
    return replace(guess, role=Role.REPLACE, decimals=places, log=log, evidence=evidence)


def protect(guesses: dict[str, Guess], data: Microdata, method: Method) -> None:
    """Recompute, replace or drop every column that would give a replaced one away."""
    for _ in guesses:
        replaced = [name for name, guess in guesses.items() if guess.role is Role.REPLACE]
        kept = [name for name, guess in guesses.items() if guess.role is Role.KEEP and not guess.keep_anyway]
        found = relatives.giving_away(data, kept, replaced)
        if not found:
            return
        for relation in found:
            guess = guesses[relation.kept]
            if guess.role is not Role.KEEP:
                continue
            if guess.design in ("weights", "strata"):
                guesses[relation.kept] = _telling_design(guess, relation)
                continue
            relative = relatives.describe(data, relation)
            if len(relation.replaced) > 1 and names.is_time(guess.name) and _all_replaced(guesses, relation):
                note = f"{relative.words}, all of them replaced: it says when somebody was asked, not who that is"
                guesses[relation.kept] = replace(guess, keep_anyway=True, evidence=(*guess.evidence, note))
                continue
            if relation.kind == "function" and _says_little(data, relation):
                note = f"{relative.words}, of which it has too few values to tell any"
                guesses[relation.kept] = replace(guess, keep_anyway=True, evidence=(*guess.evidence, note))
                continue
            gone = any(guesses[source].role in (Role.DROP, Role.DERIVED) for source in relative.sources)
            if method == "auto" and guess.numeric and not guess.technical and (relative.formula is None or gone):
                series = data.frame[guess.name]
                too = replace(guess, evidence=(*guess.evidence, f"{relative.words}, so replaced too"))
                guesses[relation.kept] = replaced_too(known(too, series, relative.words), series)
                continue
            if relative.formula is not None and not gone:
                note = "recomputed in every copy"
                changed = replace(guess, role=Role.DERIVED, derived=relative.formula, tolerance=None)
            else:
                note = "would give that away, and no simple formula recomputes it"
                changed = Guess(guess.name, Role.DROP)
            if guess.design == "cluster":
                note = "rows that share it would tell that, whatever the mask hides; to keep it, keep what it tells"
            seen = dict.fromkeys((*guess.evidence, relative.words, note))
            guesses[relation.kept] = replace(changed, evidence=tuple(seen), decide=())


def _all_replaced(guesses: Mapping[str, Guess], relation: Relation) -> bool:
    return all(guesses[source].role is Role.REPLACE for source in relation.replaced)


def _says_little(data: Microdata, relation: Relation) -> bool:
    """Return whether a column is no coarsening but some function, with few values, of a column with very many."""
    values = min(data.frame[source].nunique() for source in relation.replaced)
    return LITTLE * data.frame[relation.kept].nunique() <= values


def _telling_design(guess: Guess, relation: Relation) -> Guess:
    """Return weights or strata that give a replaced column away: kept all the same, and asked about."""
    told = " and ".join(relation.replaced)
    sentence = (
        f"the {guess.design} tell {told}, which is replaced; drop them, make them coarser (round), or keep {told}."
    )
    return replace(guess, keep_anyway=True, decide=(*guess.decide, sentence))


def without_sources(guesses: dict[str, Guess]) -> None:
    """Drop computed columns whose sources are gone, until none is left."""
    for _ in guesses:
        gone = {name for name, guess in guesses.items() if guess.role is Role.DROP}
        orphans = [
            name
            for name, guess in guesses.items()
            if guess.role is Role.DERIVED and expressions.names(str(guess.derived)) & gone
        ]
        if not orphans:
            return
        for name in orphans:
            note = "its sources are dropped"
            guesses[name] = Guess(name, Role.DROP, evidence=(*guesses[name].evidence, note))


def numbers(series: pd.Series) -> Floats:
    """Return a column as numbers, NaN where it has none."""
    return np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
