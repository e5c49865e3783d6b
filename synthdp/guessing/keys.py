"""Columns an intruder may know: by their names, and by how many people they make unique."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.guessing import names
from synthdp.microdata import Codes

MOST_KEYS = 6
MOST_REPLACED = 12
FEWEST_KEYS = 3
_ORDER = tuple(names.KEYS)


@dataclass(frozen=True)
class Key:
    """A likely key and what speaks for it."""

    name: str
    evidence: str


def find(frame: pd.DataFrame, candidates: Sequence[str]) -> tuple[Key, ...]:
    """Return the likely keys among the candidates, those that identify most surely first.

    Names decide. Where no name is known, the columns that together make most records unique are taken.
    """
    topics = {name: topic for name in candidates if (topic := names.topic(name)) is not None}
    known = sorted(topics, key=lambda name: _ORDER.index(topics[name]))
    if known:
        return tuple(Key(name, f"its name says {topics[name]}") for name in known)
    chosen = _greedy(_coded(frame, candidates), FEWEST_KEYS)
    return tuple(Key(name, "no name is known; this column makes many records unique") for name in chosen)


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


def to_replace(frame: pd.DataFrame, keys: Sequence[str], able: Sequence[str]) -> set[str]:
    """Return which keys to replace: the first six that can be, and more while that leaves fewer alone on the kept ones.

    Parameters
    ----------
    keys
        The likely keys, those that identify most surely first.
    able
        Those that the method can replace.
    """
    chosen = [name for name in keys if name in able][:MOST_KEYS]
    kept = [name for name in keys if name not in chosen]
    exact = {name: np.asarray(pd.factorize(frame[name])[0], dtype=np.int64) for name in kept}
    for name in [name for name in kept if name in able]:
        without = [other for other in kept if other != name]
        if len(chosen) < MOST_REPLACED and unique_share(exact, without) < unique_share(exact, kept):
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
        found[name] = np.asarray(pd.factorize(series)[0], dtype=np.int64)
    return found


def _greedy(coded: Mapping[str, Codes], most: int) -> list[str]:
    chosen: list[str] = []
    while len(chosen) < min(most, len(coded)):
        rest = [name for name in coded if name not in chosen]
        chosen.append(max(rest, key=lambda name: unique_share(coded, [*chosen, name])))
    return chosen
