"""Charge a ledger at the last moment before noise is drawn: bad input costs nothing, and nothing is released unpaid."""

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from synthdp.dp.budgets import Budget
from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.mechanisms import Adjacency, Secure, Source
from synthdp.privacy.mechanisms.protocol import Choice, Integers


class Chargeable(Protocol):
    """Where a release is paid: `synthdp.privacy.ledger.Ledger`, or something around it."""

    def charge(self, what: str, *, epsilon: float, delta: float, adjacency: Adjacency, source: str) -> Any:
        """Record a release, or refuse it."""
        ...


class Charged:
    """A source that pays before its first draw.

    The whole price of a release is charged at once, however many draws it needs.
    """

    def __init__(self, source: Source, ledger: Chargeable, budget: Budget, what: str) -> None:
        self._source, self._ledger, self._budget, self._what = source, ledger, budget, what
        self._paid = False

    def __repr__(self) -> str:
        return f"Charged({self._source!r})"

    @property
    def name(self) -> Literal["secure", "simulated"]:
        """Which source is behind it."""
        return self._source.name

    def laplace(self, centre: Floats, *, scale: float, sensitivity: float) -> Floats:
        """Return centre + Laplace(scale)."""
        return self._pay().laplace(centre, scale=scale, sensitivity=sensitivity)

    def gaussian(self, centre: Floats, *, sd: float, sensitivity: float) -> Floats:
        """Return centre + N(0, sd²)."""
        return self._pay().gaussian(centre, sd=sd, sensitivity=sensitivity)

    def discrete_laplace(self, centre: Integers, *, scale: float) -> Integers:
        """Return centre plus discrete Laplace noise."""
        return self._pay().discrete_laplace(centre, scale=scale)

    def discrete_gaussian(self, centre: Integers, *, sd: float) -> Integers:
        """Return centre plus discrete Gaussian noise."""
        return self._pay().discrete_gaussian(centre, sd=sd)

    def largest(self, scores: Floats, *, scale: float, noise: Choice) -> int:
        """Return where score + noise is largest."""
        return self._pay().largest(scores, scale=scale, noise=noise)

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """Return random bits, which say nothing about the data and cost nothing."""
        return self._source.words(size)

    def generator(self, where: str) -> np.random.Generator:
        """Return the generator of a simulated source."""
        return self._pay().generator(where)

    def _pay(self) -> Source:
        if not self._paid:
            self._ledger.charge(
                self._what,
                epsilon=self._budget.epsilon,
                delta=self._budget.delta,
                adjacency=self._budget.adjacency,
                source=self.name,
            )
            self._paid = True
        return self._source


def source_for(
    source: Source | None, ledger: Chargeable | None, budget: Budget, what: str, reason: str | None = None
) -> Source:
    """Return the source of a release, safe unless another was given; it pays where there is a ledger."""
    chosen = source or Secure()
    if ledger is None:
        return chosen
    if reason:
        raise InputError(f"{what}: cannot be charged to a ledger: {reason}. Declare the bounds.")
    return Charged(chosen, ledger, budget, what)
