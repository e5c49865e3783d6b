"""The two seams: a mechanism says what is released and what it costs; a source says where its noise comes from."""

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from synthdp.microdata import Floats
from synthdp.privacy.accounting.events import Event
from synthdp.privacy.mechanisms.sensitivity import Sensitivity

Integers = npt.NDArray[np.int64]
Choice = Literal["gumbel", "exponential", "laplace"]


class Source(Protocol):
    """Where noise comes from. ``secure`` for whatever leaves the house, ``simulated`` for studies and tests.

    Every method takes the whole array at once and returns a new array of the same shape. The sensitivity is part of
    the call because a safe source moves the values to a grid first, and the noise pays for that move.
    """

    @property
    def name(self) -> Literal["secure", "simulated"]:
        """Which of the two; manifests and ledgers write it down."""
        ...

    def laplace(self, centre: Floats, *, scale: float, sensitivity: float) -> Floats:
        """Return centre + Laplace(scale), independently for every number."""
        ...

    def gaussian(self, centre: Floats, *, sd: float, sensitivity: float) -> Floats:
        """Return centre + N(0, sd²)."""
        ...

    def discrete_laplace(self, centre: Integers, *, scale: float) -> Integers:
        """Return centre + Z with P(Z = z) ∝ e^{−|z|/scale}."""
        ...

    def discrete_gaussian(self, centre: Integers, *, sd: float) -> Integers:
        """Return centre + Z with P(Z = z) ∝ e^{−z²/2sd²}."""
        ...

    def largest(self, scores: Floats, *, scale: float, noise: Choice) -> int:
        """Return where score + noise is largest."""
        ...

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """Return uniform integers of 64 bits."""
        ...

    def generator(self, where: str) -> np.random.Generator:
        """Return the generator, for mechanisms without a safe sampler; the secure source refuses."""
        ...


class Mechanism(Protocol):
    """A release with a guarantee: frozen settings, fixed before the data are seen."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one record can move the value, and under which adjacency."""
        ...

    def event(self) -> Event:
        """Return what a release costs, for the accountants; NonPrivate when a bound came from the data."""
        ...

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        ...
