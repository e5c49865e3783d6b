"""What a release may cost: ε, δ, adjacency and the level of its interval, checked before any value is looked at."""

import math
from dataclasses import dataclass, replace

from synthdp.errors import InputError
from synthdp.privacy.parameters import ADJACENCIES, Adjacency


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
            problems.append(f"epsilon: must be a number above 0, found {self.epsilon}.")
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

    def needs_pure(self, statistic: str) -> None:
        """Refuse a δ where the mechanism has no use for it."""
        if not self.pure:
            raise InputError(f"delta: {statistic} is released with δ = 0; leave delta out.")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
