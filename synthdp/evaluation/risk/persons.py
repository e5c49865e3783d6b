"""The risk of persons, where several rows are one person's or household's and the file says which belong together."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, clusters
from synthdp.evaluation.measure import Claims, Identified
from synthdp.evaluation.risk.rates import interval
from synthdp.table.coded import distinct
from synthdp.table.schema import Schema

NAME = "persons"
# words of a column that says whose a row is: id, hhid, personid, idind, subject
WHOSE = re.compile(
    r"(p|u|h|hh|pers|person|case|resp|subj|subject|pat|patient|fam|ind)?ids?|id(nr|ind|hh|pers)|nr|persnr"
    r"|person|subject|patient|respondent|household"
)
FEWEST_PERSONS, MOST_ROWS = 20, 100


@dataclass(frozen=True, repr=False)
class PersonsRisk(Claims):
    """What an intruder achieves against persons who have several rows; each record has its person's value.

    Parameters
    ----------
    persons
        How many persons (or households) there are.
    expected_links, expected_links_rate
        Persons found, and the same per person.
    expected_links_chance
        The 95% point when persons are permuted; None where single rows were attacked, which have their own.
    predicted_links
        Persons that the intruder takes to have found.
    max_posterior
        The largest probability that a person is found.
    sampled
        None, or how many persons the figures rest on and a 95% interval.
    chance
        Record by record, what somebody gets who guesses blindly: of many rows one is soon found, and of few persons
        with as many rows one is soon the right one.
    person
        Whose each record is.
    """

    persons: int
    expected_links: float
    expected_links_rate: float
    expected_links_chance: float | None
    predicted_links: float
    max_posterior: float
    sampled: dict[str, Any] | None = None
    chance: Floats | None = None
    person: Codes | None = None

    def __repr__(self) -> str:
        return f"PersonsRisk({self.persons} persons)"


def persons_of(comparison: Comparison, identifier: str | None = None) -> Codes | None:
    """Return whose each record is, as codes from 0, or None where every record is a person's only one.

    Parameters
    ----------
    identifier
        A column whose repeated values tie records together; by default the survey's cluster. Who has none is alone.

    Raises
    ------
    InputError
        If there is no such column.
    """
    if identifier is None:
        label = clusters(comparison)
    elif identifier in comparison.original.columns:
        label = distinct(comparison.original[identifier], missing="none")
    else:
        raise InputError(f"{NAME}: there is no column {identifier!r} that could tie records together; name another.")
    if label is None:
        return None
    alone = label < 0
    label = np.where(alone, label.max(initial=-1) + np.cumsum(alone), label)
    person = np.asarray(np.unique(label, return_inverse=True)[1], dtype=np.int64)
    return person if person.max() + 1 < len(person) else None


def repeated_id(frame: pd.DataFrame, schema: Schema) -> str | None:
    """Return a kept column that ties rows of one person together, although nobody has said so; None where none does.

    That is one with at least 20 values, most of them several times, whose name says so, or which makes every row unique
    together with a column of hardly more values than a person has rows: the wave of a panel, the number in a household.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> panel = pd.DataFrame({"who": np.repeat(np.arange(30), 4), "wave": np.tile(np.arange(4), 30)})
    >>> repeated_id(panel, resolve(panel, {}).schema)
    'who'
    """
    kept = {column.name: column for column in schema.kept()}
    if any(column.design == "cluster" for column in schema.columns):
        return None
    counts = {}
    for name, column in kept.items():
        if column.design is None and _discrete(frame[name]):
            held = np.bincount(distinct(frame[name], missing="none") + 1)[1:]
            if len(held) >= 2 and held.max() < len(frame):
                counts[name] = held
    for name in sorted(counts, key=lambda name: not _named(name)):
        held = counts[name]
        if len(held) < FEWEST_PERSONS or held[held > 1].sum() < held.sum() / 2 or held.mean() > MOST_ROWS:
            continue
        waves = [other for other, size in counts.items() if held.max() <= len(size) <= 2 * held.max()]
        if _named(name) or any(other != name and not frame.duplicated([name, other]).any() for other in waves):
            return name
    return None


def tied(schema: Schema, name: str | None) -> Schema:
    """Return the schema in which a column says which rows are one person's."""
    columns = (
        column.model_copy(update={"design": "cluster"}) if column.name == name else column for column in schema.columns
    )
    return Schema(columns=tuple(columns))


def _discrete(series: pd.Series) -> bool:
    if not pd.api.types.is_numeric_dtype(series):
        return not pd.api.types.is_datetime64_any_dtype(series)
    known = series.dropna().to_numpy(np.float64)
    return bool(np.all(known == np.round(known)))


def _named(name: str) -> bool:
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(WHOSE.fullmatch(word) for word in words)


def any_row(finding: Identified, person: Codes) -> PersonsRisk:
    """Return the risk that at least one row of a person is found, by an intruder who looks for one at a time.

    Notes
    -----
    Rows are taken as found independently of each other, 1 − Π (1 − p): between the largest p and their sum. Rows that
    were not attacked count as not found, and persons of whom no row was attacked have no value.
    """
    count = int(person.max()) + 1
    attacked = np.bincount(person[np.isfinite(finding.individual)], minlength=count) > 0
    claimed = np.bincount(person[np.isfinite(finding.confidence)], minlength=count) > 0
    individual = np.where(attacked, _at_least_one(finding.individual, person, count), np.nan)
    right = _at_least_one(finding.right, person, count)
    confidence = np.where(claimed, _at_least_one(finding.confidence, person, count), np.nan)
    mine = right[attacked]
    scale = count / max(1, len(mine))
    return PersonsRisk(
        *(individual[person], confidence[person], right[person]),
        persons=count,
        expected_links=float(mine.sum()) * scale,
        expected_links_rate=float(mine.mean()) if len(mine) else 0.0,
        expected_links_chance=None,
        predicted_links=float(np.nansum(confidence)) * scale,
        max_posterior=float(np.nanmax(individual)) if attacked.any() else 0.0,
        sampled=interval_of_persons(mine, count),
        chance=_at_least_one(np.where(np.isfinite(finding.individual), 1 / len(person), 0.0), person, count)[person],
        person=person,
    )


def _at_least_one(values: Floats, person: Codes, count: int) -> Floats:
    with np.errstate(divide="ignore"):
        none = np.log1p(-np.clip(np.nan_to_num(values), 0.0, 1.0))
    return -np.expm1(np.bincount(person, weights=none, minlength=count))


def interval_of_persons(share: Floats, count: int) -> dict[str, Any] | None:
    """Return how many persons figures rest on and a 95% interval of those found, or None when all were attacked."""
    if len(share) in (0, count):
        return None
    return {"persons": len(share), "expected_links": interval(share, count, scale=count, ddof=0)}
