"""What a release as a whole promises, and the numbers of a guarantee, checked where they enter.

ε, δ, ρ, μ and the adjacency.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.events import Event

Adjacency = Literal["replace", "add_remove"]
"""``replace``: same size, one record exchanged (n is public); ``add_remove``: one record more or less."""

ADJACENCIES: tuple[Adjacency, ...] = ("replace", "add_remove")


def number(value: object, where: str) -> None:
    """Refuse what is no number, before a library does."""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise InputError(f"{where}: must be a number, found {type(value).__name__}.")


def floats(values: npt.ArrayLike, where: str) -> npt.NDArray[np.float64]:
    """Return numbers as an array, or say that they are none: text, objects, rows of unequal length."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: must be numbers.") from None


def positive(value: float, where: str) -> float:
    """Return the value as a float if it is a finite number above 0."""
    number(value, where)
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"{where}: must be a finite number above 0, found {value:g}.")
    return float(value)


def not_negative(value: float, name: str) -> float:
    """Return the value if it is a finite number of at least zero."""
    number(value, name)
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{name}: must be a finite number of at least 0, found {value:g}.")
    return float(value)


def share(value: float, name: str, low: float = 0.0, high: float = 1.0) -> float:
    """Return the value if it lies between two bounds, both included."""
    number(value, name)
    if not low <= value <= high:
        raise InputError(f"{name}: must lie in [{low:g}, {high:g}], found {value:g}.")
    return float(value)


def whole(value: int, name: str, least: int) -> int:
    """Return the value if it is a whole number of at least ``least``."""
    number(value, name)
    if not (math.isfinite(value) and value == int(value) and value >= least):
        raise InputError(f"{name}: must be a whole number of at least {least}, found {value:g}.")
    return int(value)


def epsilon_of(value: float, where: str = "epsilon") -> float:
    """Return ε if it is a finite number above 0."""
    return positive(value, where)


def delta_of(value: float, where: str = "delta") -> float:
    """Return δ if it lies strictly between 0 and 1."""
    number(value, where)
    if not 0 < value < 1:
        raise InputError(f"{where}: must lie strictly between 0 and 1, found {value:g}.")
    return float(value)


def slack_of(value: float, where: str = "delta") -> float:
    """Return δ if it lies in [0, 1): pure guarantees have δ = 0."""
    number(value, where)
    if not 0 <= value < 1:
        raise InputError(f"{where}: must be 0 or more and below 1, found {value:g}.")
    return float(value)


def adjacency_of(value: str, where: str = "adjacency") -> Adjacency:
    """Return the adjacency if it is one of the two that are known."""
    for known in ADJACENCIES:
        if value == known:
            return known
    raise InputError(f"{where}: must be replace or add_remove, found {value}.")


NOT_PRIVATE = "This release is not differentially private; no epsilon is claimed."
UNIT = "one record"
NEIGHBOURS: Mapping[Adjacency, str] = {
    "replace": "neighbours have the same number of records and differ in one",
    "add_remove": "neighbours differ by one record more or less",
}
DECLARED = "levels, bounds, decimals and bins were declared from what is known without the data"
FOUND = DECLARED + ", but for those that the share `preprocessing` was spent on"
ASSUMED = (
    "the settings of the method were not chosen by looking at the data",
    "a person has one record: for k records of one person ε is k times as large, and a δ grows by more than k times",
)


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of the mechanism that made the copies; copies drawn from its output cost nothing more.

    Parameters
    ----------
    epsilon, delta, adjacency
        The claim.
    source
        ``secure`` or ``simulated`` noise.
    event
        What was done, for the accountants: its cost is at most the claim.
    withdrawn
        Why the claim does not hold for the release (something looked at the data and chose); None when it does.
    shares
        Which share of the budget each step of the method was given, where it says so.

    Examples
    --------
    >>> from synthdp.privacy.events import Pure
    >>> Guarantee(1.0, 0.0, "replace", "secure", Pure(1.0)).section()["epsilon"]
    1.0
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    source: str
    event: Event
    withdrawn: str | None = None
    shares: Mapping[str, float] = field(default_factory=dict)

    def section(self) -> dict[str, Any]:
        """Return what metrics.json and release.json say under ``privacy``; ε is None when the claim is withdrawn."""
        if self.withdrawn is not None:
            claim = dict.fromkeys(("epsilon", "delta", "adjacency", "unit"))
            return {**claim, "source": self.source, "statement": self.statement(), "assumed": []}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "unit": UNIT,
            "source": self.source,
            "statement": self.statement(),
            "assumed": self.assumed(),
            **({"shares": dict(self.shares)} if self.shares else {}),
        }

    def assumed(self) -> list[str]:
        """Return what must be true for the claim to hold, in phrases."""
        public = ["the number of records is public"] if self.adjacency == "replace" else []
        return [*public, FOUND if self.shares.get("preprocessing") else DECLARED, *ASSUMED]

    def statement(self) -> str:
        """Return the claim as a sentence for a privacy officer."""
        if self.withdrawn is not None:
            return (
                f"No epsilon is claimed for the release, although its copies come from a differentially private "
                f"mechanism: {self.withdrawn}."
            )
        slack = f", δ = {self.delta:g}" if self.delta else ""
        said = f"The release is differentially private: ε = {self.epsilon:g}{slack}, adjacency {self.adjacency}"
        if self.source == "simulated":
            return said + "; its noise is simulated from a seed, so it must not be published."
        return said + f" ({NEIGHBOURS[self.adjacency]})."


def section_of(guarantee: Guarantee | None) -> dict[str, Any]:
    """Return the section ``privacy`` of a release; without a guarantee it says so, and ε is null."""
    return guarantee.section() if guarantee is not None else {"epsilon": None, "statement": NOT_PRIVATE}
