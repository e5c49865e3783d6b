"""What an intruder of the user's own knows and achieves.

Some of the keys, with error, perhaps not sure of the target.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.evaluation.combinations import require_weights
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import Claims
from synthdp.evaluation.risk.identity import IdentityRisk, attack_by_matching, refuse_unless_aligned
from synthdp.evaluation.risk.linking import linked_file
from synthdp.table.coded import MISSING, coded, moments
from synthdp.table.schema import Column, Kind, Schema, Settings
from synthdp.tagging.neighbours import average, count_neighbours, encode_keys, sum_neighbours


class Intruder(Settings):
    """One intruder: what they hold, and how well.

    Parameters
    ----------
    attack
        How they go about it.
    keys
        The columns they know, of those declared as keys; all of them when left out.
    error
        How wrong they are: the standard deviation of what they know of a numeric key, in its own units (days for
        dates); the probability that they hold another level of a categorical one, each other level alike.
    tolerance
        How close counts as a match, where it differs from the column's own tolerance.
    member
        Whether they know that the target is in the file. If not, the target is a person of the population who looks
        like record i, and is in the file with probability (records that match record i in the original) / (sum of
        their survey weights).
    population
        The size of the population, for ``member: false`` without survey weights: all weights are then N/n.
    copies
        ``all``, or ``one``: they hold a single copy, and risks are means over which one it is (the largest risk: the
        largest).
    draws
        How many times their error is drawn; risks are means.

    Examples
    --------
    >>> Intruder(keys=("age", "sex"), error={"age": 2.0}, member=False).copies
    'all'
    """

    attack: Literal["identity", "identity_averaged", "identity_linked"] = "identity"
    keys: tuple[str, ...] | None = Field(default=None, min_length=1)
    error: dict[str, float] = Field(default_factory=dict)
    tolerance: dict[str, float] = Field(default_factory=dict)
    member: bool = True
    population: int | None = Field(default=None, ge=1)
    copies: Literal["all", "one"] = "all"
    draws: int = Field(default=5, ge=1)


# risks that are the largest of a file, and not its mean
LARGEST = ("max_individual",)


@dataclass(frozen=True, repr=False)
class IntruderRisk(Claims):
    """What an intruder of the user's own achieves: means over what they may remember and which copies they hold."""

    figures: Mapping[str, Any]

    def section(self) -> dict[str, Any]:
        """Return the attack's section of metrics.json."""
        return dict(self.figures)


def evaluate_intruder(
    comparison: Comparison, intruder: Intruder, *, name: str, rng: np.random.Generator, permutations: int = 200
) -> IntruderRisk:
    """Return what an intruder achieves, in the words of ``identity``.

    Raises
    ------
    InputError
        If the attack cannot be made on these files, or the intruder is said to know what is no key.

    Notes
    -----
    An error applies to what the intruder holds, never to the files. A key that is missing stays missing: it matches
    only missing. With errors in several draws each figure is the mean over draws, so counts need not be whole.
    """
    where = f"evaluation.intruders.{name}"
    refuse_unless_aligned(comparison, where)
    known = replace(comparison, schema=_schema(comparison.schema, intruder, where))
    presence = None if intruder.member else _presence(known, intruder, where)
    alone = intruder.copies == "one"
    holdings = [(copy,) for copy in comparison.copies] if alone else [comparison.copies]
    found: list[IdentityRisk] = []
    for _ in range(intruder.draws if intruder.error else 1):
        held = replace(known, original=_blurred(known, intruder, rng))
        for copies in holdings:
            files = _files(replace(held, copies=tuple(copies)), intruder, comparison, rng)
            found.append(attack_by_matching(held, files, rng=rng, permutations=permutations, presence=presence))
    sure = np.stack([risk.confidence for risk in found])
    claims = np.isfinite(sure)
    return IntruderRisk(
        individual=np.mean([risk.individual for risk in found], axis=0),
        confidence=np.where(claims.any(axis=0), np.nansum(sure, axis=0) / len(found), np.nan),
        right=np.mean([risk.right for risk in found], axis=0),
        figures=_mean([risk.section() for risk in found]),
    )


def _files(
    held: Comparison, intruder: Intruder, comparison: Comparison, rng: np.random.Generator
) -> tuple[pd.DataFrame, ...]:
    """Return the files the intruder matches with."""
    if intruder.attack == "identity":
        return held.copies
    if intruder.attack == "identity_averaged":
        return (average(held.copies, held.schema.keys()),)
    # the rows are linked through what the copies share, whatever the intruder knows of the target
    return (linked_file(replace(comparison, copies=held.copies), held.schema.keys(), rng=rng),)


def _schema(schema: Schema, intruder: Intruder, where: str) -> Schema:
    """Return the schema as this intruder sees it: other columns are no keys, other tolerances count."""
    keys = {column.name: column for column in schema.keys()}
    known = tuple(keys) if intruder.keys is None else intruder.keys
    for setting, names in (("keys", known), ("error", intruder.error), ("tolerance", intruder.tolerance)):
        for column in names:
            if column not in (keys if setting == "keys" else known):
                raise InputError(
                    f"{where}.{setting}: {column!r} is not among the keys; set key: true for it, or leave it out."
                )
    for column, size in intruder.error.items():
        if size < 0 or (keys[column].kind.categorical and size > 1):
            wanted = "a probability" if keys[column].kind.categorical else "a standard deviation"
            raise InputError(f"{where}.error.{column}: must be {wanted}, found {size:g}.")
    for column, size in intruder.tolerance.items():
        if size < 0 or keys[column].kind.categorical:
            wanted = "must not be negative" if size < 0 else "is for numeric keys, this one is categorical"
            raise InputError(f"{where}.tolerance.{column}: {wanted}.")
    return Schema(
        columns=tuple(
            column.model_copy(
                update={
                    "key": column.name in known,
                    "tolerance": intruder.tolerance.get(column.name, column.tolerance),
                }
            )
            for column in schema.columns
        )
    )


def _blurred(known: Comparison, intruder: Intruder, rng: np.random.Generator) -> pd.DataFrame:
    """Return the original as the intruder remembers it."""
    changed = {
        name: _misremembered(known.original, known.schema[name], size, rng)
        for name, size in intruder.error.items()
        if size > 0
    }
    return known.original.assign(**changed)


def _misremembered(frame: pd.DataFrame, column: Column, size: float, rng: np.random.Generator) -> Any:
    if not column.kind.categorical:
        moved = coded(frame).numbers(column) + rng.normal(0.0, size, len(frame))
        return moments(moved) if column.kind is Kind.DATE else moved
    place = coded(frame).codes(column)
    levels = len(column.levels)
    wrong = (rng.random(len(place)) < size) & (place != MISSING) & (levels > 1)
    shifted = (place + rng.integers(1, max(levels, 2), len(place))) % levels
    held: Codes = np.where(wrong, shifted, place)
    levels_held = np.asarray([*column.levels, None], dtype=object)[held]
    return np.where(wrong, levels_held, frame[column.name].to_numpy(dtype=object))


def _presence(known: Comparison, intruder: Intruder, where: str) -> Floats:
    """Return the probability that somebody who looks like record i is in the file: candidates over their weights."""
    n = len(known.original)
    given = [column for column in known.schema.columns if column.design == "weights"]
    if intruder.population is not None:
        if intruder.population < n:
            raise InputError(f"{where}.population: must be at least the number of records ({n}).")
        return np.full(n, n / intruder.population)
    if not given:
        raise InputError(
            f"{where}: member: false needs the size of the population; set data.weights to the survey's weights, or "
            "population: to its size."
        )
    weights = require_weights(known.original, given[0], where)
    (keys,) = encode_keys([known.original], known.schema.keys())
    return np.asarray(np.minimum(1.0, count_neighbours(keys, keys) / sum_neighbours(keys, keys, weights)))


def _mean(sections: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of several attacks, figure by figure; a figure some attack lacks is the mean of the others."""
    if len(sections) == 1:
        return sections[0]
    mean: dict[str, Any] = {}
    for name, first in sections[0].items():
        values = [section.get(name) for section in sections]
        if name == "per_group":
            mean[name] = [_mean_line([section[name][k] for section in sections]) for k in range(len(first))]
        elif name == "sampled":
            mean[name] = {"targets": first["targets"]}
        elif name == "one_copy":
            mean[name] = {key: float(np.mean([value[key] for value in values if value])) for key in first}
        else:
            given = [float(value) for value in values if value is not None]
            mean[name] = None if not given else max(given) if name in LARGEST else float(np.mean(given))
    return mean | {"attacks": len(sections)}


def _mean_line(lines: list[Mapping[str, Any]]) -> dict[str, Any]:
    same = {name: lines[0][name] for name in ("group", "records")}
    return same | {name: float(np.mean([line[name] for line in lines])) for name in lines[0] if name not in same}
