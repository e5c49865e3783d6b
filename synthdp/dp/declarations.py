"""What the user declares before any value is looked at.

ε, δ, adjacency, level, and bounds to which values are clipped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.guarantees import ADJACENCIES, Adjacency
from synthdp.table.microdata import Floats


@dataclass(frozen=True)
class Budget:
    """The price of one release.

    Parameters
    ----------
    epsilon
        ε > 0.
    delta
        δ in [0, 1); 0 asks for Laplace noise and pure ε-DP, more for Gaussian noise.
    adjacency
        ``replace``: neighbours differ in the values of one record, so the number of records is public.
        ``add_remove``: one record more or less, so the number of records is confidential, too.
    level
        Coverage of the interval.

    Examples
    --------
    >>> Budget(1.0).part(0.2)
    Budget(epsilon=0.2, delta=0.0, adjacency='replace', level=0.95)
    """

    epsilon: float
    delta: float = 0.0
    adjacency: Adjacency = "replace"
    level: float = 0.95

    def __post_init__(self) -> None:
        problems = []
        if not _number(self.epsilon) or not self.epsilon > 0 or math.isinf(self.epsilon):
            problems.append(f"epsilon: must be a number above 0, found {self.epsilon!r}.")
        if not _number(self.delta) or not 0 <= self.delta < 1:
            problems.append(f"delta: must be at least 0 and under 1, found {self.delta}; 0 asks for Laplace noise.")
        if self.adjacency not in ADJACENCIES:
            problems.append(f"adjacency: must be replace or add_remove, found {self.adjacency!r}.")
        if not _number(self.level) or not 0 < self.level < 1:
            problems.append(f"level: must be between 0 and 1, found {self.level}.")
        if problems:
            raise InputError(*problems)

    @property
    def pure(self) -> bool:
        """Whether δ is 0."""
        return self.delta == 0

    @property
    def replacing(self) -> bool:
        """Whether neighbours have the same number of records."""
        return self.adjacency == "replace"

    def part(self, share: float) -> "Budget":
        """Return the same budget with this share of ε and δ (basic composition: shares of one release add to 1)."""
        return replace(self, epsilon=self.epsilon * share, delta=self.delta * share)

    @property
    def tails(self) -> tuple[float, float]:
        """Where the interval ends in the law of an error."""
        return (1 - self.level) / 2, (1 + self.level) / 2


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


Limits = tuple[float, float] | Sequence[float] | Literal["data"]

FROM_DATA = "the bounds were taken from the data, which says where its extreme values are"


@dataclass(frozen=True, repr=False)
class Bounded:
    """A column inside its bounds.

    ``reason`` says why nothing formal can be claimed, where the bounds came from the data. ``confidential`` holds what
    the curator should know and must not publish: counts of clipped values are not covered by ε.
    """

    values: Floats
    low: float
    high: float
    reason: str | None
    confidential: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Bounded({self.low:g} to {self.high:g})"

    @property
    def width(self) -> float:
        """Upper minus lower bound."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """The middle between the bounds."""
        return (self.low + self.high) / 2

    def scaled(self) -> Floats:
        """Return the values mapped from the bounds to [-1, 1]."""
        return np.asarray((self.values - self.middle) / (self.width / 2))

    def __len__(self) -> int:
        return len(self.values)


def name_of(values: Any) -> str:
    """Return the name of a pandas column; other sequences are called ``values``."""
    name = getattr(values, "name", None)
    return "values" if name is None else str(name)


def bounded(
    values: Any, bounds: Limits | None, budget: Budget, *, name: str | None = None, replace_only: bool = False
) -> Bounded:
    """Return numbers clipped to declared bounds.

    Parameters
    ----------
    values
        Numbers; missing values are left out under ``add_remove`` and refused under ``replace``, where the number of
        records is public and so must not depend on what is missing.
    bounds
        Lowest and highest value, known without looking at the data; ``"data"`` takes them from the data and voids the
        guarantee.
    replace_only
        Whether the release is known under ``replace`` only, so that no other adjacency is recommended.
    """
    name = name or name_of(values)
    numbers = _numbers(values, name)
    missing = np.isnan(numbers)
    confidential: list[str] = []
    if missing.any():
        if budget.replacing:
            other = (
                "."
                if replace_only
                else ", or use adjacency add_remove, under which the number of records is not public."
            )
            raise InputError(
                f"{name}: {int(missing.sum())} values are missing; first at row {int(missing.argmax()) + 1}. "
                f"Fill them in{other}"
            )
        confidential.append(f"{name}: {int(missing.sum())} of {len(numbers)} values are missing and were left out")
        numbers = numbers[~missing]
    if len(numbers) < 2:
        raise InputError(f"{name}: at least 2 values are needed, found {len(numbers)}.")
    low, high, reason = _limits(numbers, bounds, name)
    outside = int(np.sum((numbers < low) | (numbers > high)))
    if outside:
        confidential.append(f"{name}: {outside} of {len(numbers)} values were outside the bounds and were clipped")
    return Bounded(np.clip(numbers, low, high), low, high, reason, tuple(confidential))


def together(
    columns: Sequence[Any],
    bounds: Sequence[Limits],
    budget: Budget,
    names: Sequence[str],
    *,
    replace_only: bool = False,
) -> list[Bounded]:
    """Return several columns of the same records, each inside its bounds; incomplete records as in `bounded`."""
    if not hasattr(bounds, "__len__"):
        raise InputError(f"bounds: must be one pair for each of {len(columns)} columns.")
    if len(bounds) != len(columns):
        raise InputError(f"bounds: must be one pair for each of {len(columns)} columns, found {len(bounds)}.")
    numbers = [_numbers(column, name) for column, name in zip(columns, names, strict=True)]
    lengths = {len(column) for column in numbers}
    if len(lengths) > 1:
        raise InputError(f"{', '.join(names)}: must have the same number of records, found {sorted(lengths)}.")
    incomplete = np.asarray(np.isnan(np.column_stack(numbers)).any(axis=1))
    lost: tuple[str, ...] = ()
    if incomplete.any() and not budget.replacing:
        numbers = [column[~incomplete] for column in numbers]
        lost = (f"{int(incomplete.sum())} of {len(incomplete)} records have a missing value and were left out",)
    found = [
        bounded(column, limits, budget, name=n, replace_only=replace_only)
        for column, limits, n in zip(numbers, bounds, names, strict=True)
    ]
    if lost:
        found[0] = replace(found[0], confidential=lost + found[0].confidential)
    return found


def _numbers(values: Any, name: str) -> Floats:
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    try:
        # complex numbers would lose a part, and dates become nanoseconds
        if (kind or np.asarray(values).dtype.kind) in "cmM":
            raise TypeError
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: must be numbers.") from None
    if numbers.ndim != 1:
        raise InputError(f"{name}: must be one column, found {numbers.ndim} dimensions.")
    return numbers


def _limits(numbers: Floats, bounds: Limits | None, name: str) -> tuple[float, float, str | None]:
    if bounds is None:
        raise InputError(
            f"{name}: bounds are missing. Give the lowest and highest value that the column can have, "
            "known without looking at the data."
        )
    if isinstance(bounds, str):
        if bounds != "data":
            raise InputError(f'{name}: bounds must be two numbers, or "data", found {bounds!r}.')
        low, high = float(numbers.min()), float(numbers.max())
        if low == high:
            raise InputError(f"{name}: all values are equal, so the data give no bounds; declare them.")
        return low, high, FROM_DATA
    pair = _pair(bounds)
    if pair is None or not np.isfinite(pair).all():
        raise InputError(f"{name}: bounds must be two finite numbers, low and high.")
    if not pair[0] < pair[1]:
        raise InputError(f"{name}: bounds must be increasing, found [{pair[0]:g}, {pair[1]:g}].")
    return pair[0], pair[1], None


def _pair(bounds: Sequence[float]) -> tuple[float, float] | None:
    try:
        low, high = bounds
        return float(low), float(high)
    except (TypeError, ValueError):
        return None
