"""Columns that an intruder may know: by what they are about, and by how many people they make unique."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from synthdp.arrays import Codes
from synthdp.table.coded import distinct
from synthdp.table.guess import answers, families, names, vocabulary
from synthdp.table.guess.kinds import HOUSING_CODES

MOST_SIZES = 30
GROUPS = frozenset({"sex", "origin", "marital", "veteran"})
DEGREES = 180
MOST_SEXES = 6  # more are the answers to a question about it
LAST_GRADE = (14, 25)
LOWER_GRADE = 8
TUMOUR_GRADES = 5
DAY = r"^\d{4}-\d{2}-\d{2}$"
MOST_KEYS = 6
MOST_REPLACED = 12
FEWEST_KEYS = 3
_ORDER = tuple(vocabulary.KEYS)


@dataclass(frozen=True)
class Key:
    """A likely key and what speaks for it."""

    name: str
    evidence: str


def find_keys(
    frame: pd.DataFrame, candidates: Sequence[str], labels: Mapping[str, str] | None = None
) -> tuple[Key, ...]:
    """Return the likely keys among the candidates, those that identify most surely first.

    Names decide, and labels where a name says nothing. Where neither is known, the columns that together make most
    records unique are taken.
    """
    labels = labels or {}
    said = {name: names.topic(name) for name in candidates}
    topics = {name: topic for name in candidates if (topic := said[name] or names.topic(name, labels.get(name, "")))}
    topics |= {name: "occupation" for name in topics if topics[name] == "housing" and _in_years(frame[name])}
    items = families.battery(frame[list(candidates)])
    topics = {name: topic for name, topic in topics.items() if name not in items}
    topics |= {name: "education" for name in candidates if name not in topics and _years_of_school(frame[name], name)}
    silent = [name for name in candidates if name not in topics and name not in items]
    by_values = {name: told for name in silent if (told := answers.topic(frame[name], name))}
    topics |= by_values
    topics |= families.siblings([name for name in candidates if name not in items], topics)
    topics |= families.indicators(frame[list(candidates)], topics)
    topics |= {name: "birth" for name in candidates if name not in topics and _day(frame[name])}
    topics |= {name: "household" for name in candidates if name not in topics and _size(frame, name, topics)}
    topics = {name: topic for name, topic in topics.items() if believable(frame[name], name, topic)}
    topics |= dict.fromkeys(_coordinates(frame, candidates), "place")
    known = sorted(topics, key=lambda name: _ORDER.index(topics[name]))
    if known:
        by = {name: "label says" if not said[name] and labels.get(name) else "name says" for name in known}
        by |= dict.fromkeys(by_values, "values say")
        return tuple(Key(name, _evidence(name, by[name], topics[name], said[name])) for name in known)
    chosen = _greedy(_coded(frame, candidates), FEWEST_KEYS)
    return tuple(Key(name, "no name is known; this column makes many records unique") for name in chosen)


def _evidence(name: str, by: str, topic: str, said: str | None) -> str:
    """Return what speaks for a key."""
    if topic == "birth" and said is None and by == "name says":
        return "an exact day, which those who were near know"
    return f"its {by} {topic}"


def believable(series: pd.Series, name: str, topic: str) -> bool:
    """Return whether the values of a column may be what its name says it is about.

    Examples
    --------
    >>> believable(pd.Series([1, 2, 1]), "sex", "sex"), believable(pd.Series(range(9)), "sex", "sex")
    (True, False)
    """
    if topic == "place":
        return not _measured(series, name)
    if topic == "sex" and series.nunique() > MOST_SEXES:
        return False
    return topic not in GROUPS or not _scored(series)


def _scored(series: pd.Series) -> bool:
    """Return whether numbers of many values with decimals are a score: nobody's religion is 0.731."""
    if not pd.api.types.is_numeric_dtype(series) or series.nunique() <= MOST_SIZES:
        return False
    return bool((series.dropna() % 1 != 0).any())


def _coordinates(frame: pd.DataFrame, candidates: Sequence[str]) -> list[str]:
    """Return a latitude and a longitude that are there together, whose short names mean other things alone."""
    north = [name for name in candidates if names.means(name, vocabulary.LATITUDES)]
    east = [name for name in candidates if names.means(name, vocabulary.LONGITUDES)]
    both = [*north, *east] if north and east else []
    numbers = all(pd.api.types.is_numeric_dtype(frame[name]) and frame[name].abs().max() <= DEGREES for name in both)
    return both if numbers else []


def _day(series: pd.Series) -> bool:
    """Return whether a column holds many different days."""
    if series.nunique() <= MOST_SIZES or pd.api.types.is_numeric_dtype(series):
        return False
    return pd.api.types.is_datetime64_any_dtype(series) or bool(series.dropna().astype(str).str.match(DAY).all())


def _years_of_school(series: pd.Series, name: str) -> bool:
    """Return whether ``grade`` is one of a school, reached or attended: of tumours and of exams there are fewer."""
    if names.plain(name) not in ("grade", "grades", "hgc"):
        return False
    found = pd.to_numeric(pd.Series(series.dropna().unique()), errors="coerce").dropna()
    if not pd.api.types.is_numeric_dtype(series):
        # beside numbers of classes a word or two may stand: other, ungraded
        few = len(found) >= series.nunique() - 2 and len(found) > 1
        return few and LOWER_GRADE <= float(found.max()) <= LAST_GRADE[1]
    whole = bool((found % 1 == 0).all()) and len(found) > 1
    reached = LAST_GRADE[0] <= float(found.max()) <= LAST_GRADE[1]
    attended = float(found.min()) > TUMOUR_GRADES and LOWER_GRADE <= float(found.max()) < LAST_GRADE[0]
    return whole and (reached or attended)


def _size(frame: pd.DataFrame, name: str, topics: Mapping[str, str]) -> bool:
    """Return whether ``size`` is that of a household or a firm: few values, in a file about either."""
    about = {"occupation", "income", "household", "marital"} & set(topics.values())
    return names.plain(name) == "size" and bool(about) and frame[name].nunique() <= MOST_SIZES


def _measured(series: pd.Series, name: str) -> bool:
    """Return whether a place is a measured quantity, as the length or the density of one; coordinates are places."""
    exact = names.means(name, vocabulary.COORDINATES)
    return not exact and pd.api.types.is_numeric_dtype(series) and bool((series.dropna() % 1 != 0).any())


def _in_years(series: pd.Series) -> bool:
    """Return whether a tenure is a job's: the codes of housing are few."""
    return pd.api.types.is_numeric_dtype(series) and series.nunique() > HOUSING_CODES


def with_shares(frame: pd.DataFrame, keys: Sequence[Key]) -> tuple[Key, ...]:
    """Return the keys with how many records are unique on all of them, and would be without each.

    Of more than 12 keys these are the first 12; the others come as they are.
    """
    first = keys[:MOST_REPLACED]
    coded = _coded(frame, [key.name for key in first])
    together = unique_share(coded, list(coded))
    return tuple(
        Key(
            key.name,
            f"{key.evidence}; {together:.0%} of the records are unique on all keys, "
            f"{unique_share(coded, [name for name in coded if name != key.name]):.0%} without this one",
        )
        for key in first
    ) + tuple(keys[MOST_REPLACED:])


def to_replace(
    frame: pd.DataFrame, keys: Sequence[str], able: Sequence[str], first: int = MOST_KEYS, most: int = MOST_REPLACED
) -> set[str]:
    """Return which keys to replace: the first six that can be, and more while that leaves fewer alone on the kept ones.

    Parameters
    ----------
    keys
        The likely keys, those that identify most surely first.
    able
        Those that the method can replace.
    first, most
        How many are replaced in any case, and how many at most.
    """
    chosen = [name for name in keys if name in able][:first]
    kept = [name for name in keys if name not in chosen]
    exact = {name: distinct(frame[name], missing="none") for name in kept}
    for name in [name for name in kept if name in able]:
        without = [other for other in kept if other != name]
        if len(chosen) < most and unique_share(exact, without) < unique_share(exact, kept):
            chosen, kept = [*chosen, name], without
    return set(chosen)


def unique_share(coded: Mapping[str, Codes], of: Sequence[str]) -> float:
    """Return the share of records that no other record equals on these columns."""
    if not of:
        return 0.0
    table = pd.DataFrame({name: coded[name] for name in of})
    return float((~table.duplicated(keep=False)).mean())


def _coded(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, Codes]:
    """Return columns as codes; numbers of many values in twenty classes, as nobody knows them exactly."""
    found = {}
    for name in columns:
        series = frame[name]
        if pd.api.types.is_numeric_dtype(series) and series.nunique() > 100:
            series = series.rank(pct=True).mul(20).floordiv(1)
        found[name] = distinct(series, missing="none")
    return found


def _greedy(coded: Mapping[str, Codes], most: int) -> list[str]:
    chosen: list[str] = []
    while len(chosen) < min(most, len(coded)):
        rest = [name for name in coded if name not in chosen]
        chosen.append(max(rest, key=lambda name: unique_share(coded, [*chosen, name])))
    return chosen
