"""The numbers of a guarantee, checked where they enter: ε, δ, ρ, μ and the relation between neighbouring data sets."""

import math
from typing import Literal

from synthdp.errors import InputError

Adjacency = Literal["replace", "add_remove"]
"""``replace``: same size, one record exchanged (n is public); ``add_remove``: one record more or less."""

ADJACENCIES: tuple[Adjacency, ...] = ("replace", "add_remove")


def positive(value: float, where: str) -> float:
    """Return the value as a float if it is a finite number above 0."""
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"{where}: must be a finite number above 0, found {value:g}.")
    return float(value)


def epsilon_of(value: float, where: str = "epsilon") -> float:
    """Return ε if it is a finite number above 0."""
    return positive(value, where)


def delta_of(value: float, where: str = "delta") -> float:
    """Return δ if it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"{where}: must lie strictly between 0 and 1, found {value:g}.")
    return float(value)


def slack_of(value: float, where: str = "delta") -> float:
    """Return δ if it lies in [0, 1): pure guarantees have δ = 0."""
    if not 0 <= value < 1:
        raise InputError(f"{where}: must be 0 or more and below 1, found {value:g}.")
    return float(value)


def adjacency_of(value: str, where: str = "adjacency") -> Adjacency:
    """Return the adjacency if it is one of the two that are known."""
    for known in ADJACENCIES:
        if value == known:
            return known
    raise InputError(f"{where}: must be replace or add_remove, found {value}.")
