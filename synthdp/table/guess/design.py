"""Columns of a survey's design: weights, strata, clusters, households, and people who come back in a panel.

By name first; a name that may mean something else (``weight`` of a body or of a sample) must also behave so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.table.coded import distinct
from synthdp.table.guess import names, vocabulary
from synthdp.table.schema import Design

FEWEST_VALUES = 3
FEWEST_UNITS = 20
FEWEST_ROWS = 3
MOST_PER_UNIT = 50
LEAST_REPEATED = 0.1
LARGEST_STRATUM_SHARE = 0.2
NARROW = 0.4  # coefficient of variation: bodies vary less, samples more
NEAR_ONE = 0.02
LARGE = 1000.0
FEWEST_ALIKE = 2
BACK_AND_FORTH = 1.2
MOSTLY = 0.95
BODY_LABEL = vocabulary.BODY


@dataclass(frozen=True)
class Found:
    """The columns of the design, and what speaks for each.

    Parameters
    ----------
    parts
        The column of each part of the design, where there is one.
    why
        What speaks for a column; also for weights and units beside those of ``parts``.
    units
        Columns that number households, or people of whom there are several records; each with what it numbers.
    """

    parts: Mapping[Design, str] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def find(frame: pd.DataFrame, labels: Mapping[str, str]) -> Found:
    """Return the design of a table whose missing codes are missing.

    Notes
    -----
    O(n log n) for every column whose name, or whose rows that lie together, make it a candidate.
    """
    parts: dict[Design, str] = {}
    why: dict[str, str] = {}
    tall = any(names.means(str(name), vocabulary.HEIGHTS) for name in frame.columns)
    weights = {name: said for name in frame.columns if (said := _weight(frame[name], name, labels.get(name, ""), tall))}
    if weights:
        parts["weights"] = min(weights, key=lambda name: _rank(frame, name, weights))
        why |= weights
    for name in frame.columns:
        levels = frame[name].nunique()
        if "strata" not in parts and names.means(name, vocabulary.STRATA) and _several(levels, len(frame)):
            parts["strata"], why[name] = name, f"strata: the name says so, {levels} of them"
        elif "cluster" not in parts and names.means(name, vocabulary.CLUSTERS) and 1 < levels < len(frame):
            parts["cluster"], why[name] = name, f"clusters: the name says so, {levels} of them"
    units = _units(frame, [name for name in frame.columns if name not in why])
    if not units and "cluster" not in parts:
        units = _institution(frame, [name for name in frame.columns if name not in why])
    if units and "cluster" not in parts:
        first = next(iter(units))
        # of groups within groups the largest were sampled
        groups = [name for name, (unit, _) in units.items() if unit == "group"]
        parts["cluster"] = min(groups, key=lambda name: frame[name].nunique()) if first in groups else first
    return Found(parts, why | {name: said for name, (_, said) in units.items()}, {n: u for n, (u, _) in units.items()})


def _several(levels: int, records: int) -> bool:
    return 1 < levels <= max(LARGEST_STRATUM_SHARE * records, FEWEST_VALUES)


def _weight(series: pd.Series, name: str, label: str, tall: bool) -> str | None:
    """Return why a column holds the weights of a sample, or None."""
    sure = names.means(name, vocabulary.WEIGHTS)
    if not sure and set(names.words(name)) & BODY_LABEL:
        return None
    if not (sure or names.means(name, vocabulary.MAYBE_WEIGHTS) or _said(label)):
        return None
    if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series) or series.isna().any():
        return None
    values = series.to_numpy(np.float64)
    levels = len(np.unique(values))
    if values.min() < 0 or levels < FEWEST_VALUES or (not sure and values.min() == 0):
        return None
    if sure or _said(label):
        return f"weights of a sample: the {'name' if sure else 'label'} says so, positive, {levels} values"
    if set(names.words(label)) & BODY_LABEL or tall or not _spread(values):
        return None
    return f"weights of a sample: positive, {levels} values that spread as no measured weight does"


def _rank(frame: pd.DataFrame, name: str, weights: Mapping[str, str]) -> tuple[bool, bool, bool]:
    """Return what speaks against a column being the weight to use: a person's, a plain name, the product of stages."""
    plain = names.plain(name)
    largest = all(bool((frame[name] >= frame[other] * (1 - NEAR_ONE)).mean() > MOSTLY) for other in weights)
    known = vocabulary.WEIGHTS | vocabulary.MAYBE_WEIGHTS
    return plain not in vocabulary.PERSON_WEIGHTS, plain not in known, not largest


def _said(label: str) -> bool:
    """Return whether a label speaks of the weights of a sample."""
    words = set(names.words(label))
    return bool(words & {"weight", "weights", "wgt"}) and bool(words & vocabulary.SAMPLING)


def _spread(values: Floats) -> bool:
    mean, sd = float(values.mean()), float(values.std())
    return abs(mean - 1) < NEAR_ONE or float(np.median(values)) > LARGE or sd > NARROW * mean


def _units(frame: pd.DataFrame, candidates: list[str]) -> dict[str, tuple[str, str]]:
    """Return the columns that number units of several records, with what they number and why; the surest first."""
    times = [name for name in candidates if names.means(name, vocabulary.TIMES)]
    found: dict[str, tuple[str, str]] = {}
    for name in candidates:
        # people's own names, and what stands for them, never stay in a file, however often they recur
        if names.is_person_name(name) or not _numbering(frame[name]):
            continue
        codes = distinct(frame[name])
        counts = np.bincount(codes)
        repeated = 1 - len(counts) / len(frame)
        if not len(counts) >= FEWEST_UNITS or repeated < LEAST_REPEATED or len(frame) > MOST_PER_UNIT * len(counts):
            continue
        when = next((time for time in times if time != name and not _twice(frame, name, time)), None)
        person = names.means(name, vocabulary.PERSONS) or names.is_identifier(name)
        house = names.means(name, vocabulary.HOUSEHOLDS)
        together = _runs(codes) == len(counts)
        if person and when is not None and not together and _anew(frame, name, codes, when):
            continue
        if person and when is not None:
            found[name] = ("person", f"numbers {len(counts)} people of a panel, each once for every {when}")
        elif house:
            found[name] = (
                "household",
                f"numbers {len(counts)} households: the name says so, and they have several rows",
            )
        elif person:
            found[name] = ("person", f"numbers {len(counts)} units of several rows: the name says so")
        elif together and when is not None and _constant_within(frame, codes, [name, when]):
            found[name] = ("person", f"numbers {len(counts)} units whose rows lie together, each once for every {when}")
        elif together and not names.topic(name) and (alike := _alike(frame, name, codes)) >= FEWEST_ALIKE:
            why = f"numbers {len(counts)} units whose rows lie together and are alike in {alike} other columns"
            found[name] = ("group", why)
    return dict(sorted(found.items(), key=lambda item: item[1][0] != "household"))


def _institution(frame: pd.DataFrame, candidates: list[str]) -> dict[str, tuple[str, str]]:
    """Return the school, the clinic or the firm by which people were sampled: of nested ones the largest."""
    found: dict[str, int] = {}
    for name in candidates:
        numbered = names.is_institution(name, numbered=True)
        coded = pd.api.types.is_numeric_dtype(frame[name]) and names.is_institution(name, numbered=False)
        units = frame[name].nunique()
        if (numbered or coded) and _numbering(frame[name]) and FEWEST_UNITS <= units <= len(frame) / FEWEST_ROWS:
            codes = distinct(frame[name])
            if _constant_within(frame, codes, [name]):
                found[name] = units
    if not found:
        return {}
    name = min(found, key=lambda one: found[one])
    return {name: ("institution", f"numbers {found[name]} units with several people each, alike in other columns")}


def _numbering(series: pd.Series) -> bool:
    """Return whether values are whole numbers or texts, none missing."""
    if series.isna().any() or pd.api.types.is_bool_dtype(series) or pd.api.types.is_datetime64_any_dtype(series):
        return False
    if not pd.api.types.is_numeric_dtype(series):
        return True
    values = series.to_numpy(np.float64)
    return bool(np.all(values == np.round(values)))


def _twice(frame: pd.DataFrame, unit: str, time: str) -> bool:
    return bool(frame.duplicated([unit, time]).any())


def _runs(codes: Codes) -> int:
    return int(np.sum(codes[1:] != codes[:-1])) + 1


def _constant_within(frame: pd.DataFrame, codes: Codes, without: list[str]) -> bool:
    """Return whether a column of several values never changes within a unit: somebody's sex does not."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    for name in frame.columns:
        if name in without or not 1 < frame[name].nunique() <= FEWEST_UNITS:
            continue
        values = distinct(frame[name])[order]
        if not bool((same & (values[1:] != values[:-1])).any()):
            return True
    return False


def _anew(frame: pd.DataFrame, name: str, codes: Codes, when: str) -> bool:
    """Return whether numbers are given anew at every time: nobody who came back would change sex and age so."""
    return not _constant_within(frame, codes, [name, when])


def _alike(frame: pd.DataFrame, name: str, codes: Codes) -> int:
    """Return in how many columns the rows of a unit are alike, those not counted that rise or fall with its number.

    What rises with a number is computed from it, as a group is from an age.
    """
    counts = np.bincount(codes)
    if not pd.api.types.is_numeric_dtype(frame[name]) or int((counts > 1).sum()) < FEWEST_UNITS:
        return 0
    order = np.argsort(frame[name].to_numpy(np.float64), kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    found = 0
    for other in frame.columns:
        values = distinct(frame[other])[order]
        changes = values[1:] != values[:-1]
        if other == name or (same & changes).any() or frame[other].nunique() < 2:
            continue
        found += not _follows(frame[other].iloc[order], values)
    return found


def _follows(series: pd.Series, codes: Codes) -> bool:
    """Return whether values only rise or only fall; texts, whether hardly one comes back."""
    if not pd.api.types.is_numeric_dtype(series):
        return _runs(codes) <= BACK_AND_FORTH * series.nunique()
    steps = np.diff(series.dropna().to_numpy(np.float64))
    return bool((steps >= 0).all() or (steps <= 0).all())
