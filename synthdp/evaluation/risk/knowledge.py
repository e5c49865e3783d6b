"""What an intruder knows, as the user says it in the config."""

from typing import Literal

from pydantic import Field

from synthdp.schema import Settings


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
