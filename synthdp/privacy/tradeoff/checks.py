"""Arguments of curves that make no sense, said in one sentence."""

import math

from synthdp.errors import InputError


def not_negative(value: float, name: str) -> float:
    """Return the value if it is a finite number of at least zero."""
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{name}: must be a finite number of at least 0, found {value:g}.")
    return float(value)


def share(value: float, name: str, low: float = 0.0, high: float = 1.0) -> float:
    """Return the value if it lies between two bounds, both included."""
    if not low <= value <= high:
        raise InputError(f"{name}: must lie in [{low:g}, {high:g}], found {value:g}.")
    return float(value)


def whole(value: int, name: str, least: int) -> int:
    """Return the value if it is a whole number of at least ``least``."""
    if value != int(value) or value < least:
        raise InputError(f"{name}: must be a whole number of at least {least}, found {value:g}.")
    return int(value)
