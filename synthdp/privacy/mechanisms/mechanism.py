"""The two seams of private noise, and the two sources.

A mechanism says what is released and what it costs, a source says where its noise comes from.

Floating-point noise leaks: which numbers x + noise can take depends on x (Mironov 2012, CCS). OpenDP moves the values
to a grid 2^k, adds exact integer noise there, and rounds back. Its default grid (k = −1074) makes it work with
integers of a thousand bits; a grid of 2⁻⁶⁴ times the sensitivity and the number of values is as good and three to four
times faster. Moving to the grid can add 2^k per value to the distance of two neighbours, so the noise is widened by
one part in 2⁴⁰ and OpenDP's own privacy map is asked whether that pays for it.

References
----------
Mironov (2012), "On significance of the least significant bits for differential privacy", CCS.
Canonne, Kamath, Steinke (2020), "The discrete Gaussian for differential privacy", NeurIPS, Algorithms 1–3.
Ding, Kifer, Sayed, Steinke, Wang, Xiao, Zhang (2021), "The permute-and-flip mechanism is identical to
report-noisy-max with exponential noise".
"""

import math
import os
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError, SynthdpError
from synthdp.privacy.events import Event, Pure
from synthdp.privacy.guarantees import epsilon_of, positive
from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.table.microdata import Floats

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


class Mechanism:
    """A release with a guarantee: frozen settings, fixed before the data are seen.

    A mechanism has a ``release`` of its own, and knows the words for its noise. What a release costs, and what is
    claimed of it, is pure ε-DP unless it says otherwise.
    """

    name: ClassVar[str]

    if TYPE_CHECKING:  # fields of some mechanisms, worked out by others

        @property
        def sensitivity(self) -> Sensitivity:
            """How far one record can move the value, and under which adjacency."""

        @property
        def epsilon(self) -> float:
            """The pure guarantee, where there is one."""

        @property
        def sd(self) -> float:
            """Standard deviation of the noise."""

    def event(self) -> Event:
        """Return what a release costs, for the accountants; NonPrivate when a bound came from the data."""
        return self.sensitivity.guard(self._cost())

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        return f"{self._noise()} ({self.sensitivity}): {self._claim()}"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned(self.name, self.sd, width)

    def _cost(self) -> Event:
        return Pure(self.epsilon)

    def _claim(self) -> str:
        return f"{self.epsilon:.4g}-DP"

    def _noise(self) -> str:
        raise NotImplementedError


def least_scale(step: float, epsilon: float) -> float:
    """Return the least scale of noise with step/scale ≤ ε; rounding goes to more noise."""
    scale = step / epsilon_of(epsilon)
    while step / scale > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def says_nothing(sd: float, width: float) -> bool:
    """Return whether the noise is as wide as everything the answer could be.

    A uniform guess in an interval of this width has sd width/√12, so noise of that sd tells no more than the interval.
    """
    return sd >= width / math.sqrt(12)


def drowned(where: str, sd: float, width: float) -> str | None:
    """Return a sentence when the noise tells no more than the width of possible answers; None otherwise."""
    if not says_nothing(sd, positive(width, f"{where}: width of possible answers")):
        return None
    return (
        f"{where}: the noise (sd {sd:.3g}) is wider than the answers can differ ({width:.3g}); the output is noise. "
        "Raise epsilon, narrow the bounds or use more records."
    )


WIDENED = 1 + 2.0**-40
GRID_BITS = 64
SMALLEST_GRID = -1074


@cache
def _opendp() -> Any:
    """Load OpenDP on first use: it takes seconds."""
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    return opendp


def _finite(centre: Floats) -> Floats:
    centre = np.asarray(centre, dtype=np.float64)
    bad = int(np.count_nonzero(~np.isfinite(centre)))
    if bad:
        raise InputError(f"values: {bad} of {centre.size} are missing or infinite; a mechanism cannot release them.")
    return centre


def _whole(centre: Integers) -> Integers:
    found = np.asarray(centre)
    if not np.issubdtype(found.dtype, np.integer):
        raise InputError(f"values: whole numbers needed by a discrete mechanism, found {found.dtype}.")
    return found.astype(np.int64)


class Secure:
    """OpenDP's samplers for noise, the operating system's generator for bits. No seed, so nobody can repeat it.

    Examples
    --------
    >>> Secure()
    Secure()
    """

    name: Literal["secure"] = "secure"

    def __repr__(self) -> str:
        return "Secure()"

    def laplace(self, centre: Floats, *, scale: float, sensitivity: float) -> Floats:
        """Return centre + Laplace(scale) on a grid."""
        return self._noisy(centre, scale, sensitivity, "laplace")

    def gaussian(self, centre: Floats, *, sd: float, sensitivity: float) -> Floats:
        """Return centre + N(0, sd²) on a grid."""
        return self._noisy(centre, sd, sensitivity, "gaussian")

    def discrete_laplace(self, centre: Integers, *, scale: float) -> Integers:
        """Return centre plus exact geometric noise."""
        dp = _opendp()
        return self._integers(centre, dp.m.make_laplace, dp.l1_distance(T=int), scale)

    def discrete_gaussian(self, centre: Integers, *, sd: float) -> Integers:
        """Return centre plus exact discrete Gaussian noise."""
        dp = _opendp()
        return self._integers(centre, dp.m.make_gaussian, dp.l2_distance(T=float), sd)

    def largest(self, scores: Floats, *, scale: float, noise: Choice) -> int:
        """Return the index of the largest noisy score."""
        values = _finite(scores)
        if noise == "laplace":
            return int(np.argmax(self.laplace(values, scale=scale, sensitivity=scale)))
        dp = _opendp()
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
        measure = dp.zero_concentrated_divergence() if noise == "gumbel" else dp.max_divergence()
        return int(dp.m.make_noisy_max(*space, measure, scale=scale)(values.tolist()))

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """Return 64-bit integers of the operating system's generator."""
        return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)

    def generator(self, where: str) -> np.random.Generator:
        """Refuse: continuous noise from floating-point arithmetic leaks, and no safe sampler is known here."""
        raise InputError(
            f"{where}: has no sampler that is safe in floating point; use laplace or gaussian for a release, "
            "or the simulated source in a study."
        )

    def _integers(self, centre: Integers, make: Any, metric: Any, scale: float) -> Integers:
        dp, values = _opendp(), _whole(centre)
        measurement = make(dp.vector_domain(dp.atom_domain(T=int)), metric, scale=scale)
        return np.asarray(measurement(values.ravel().tolist()), dtype=np.int64).reshape(values.shape)

    def _noisy(self, centre: Floats, width: float, sensitivity: float, kind: Literal["laplace", "gaussian"]) -> Floats:
        """Add the noise of one OpenDP measurement to all values in one call. Cost O(values)."""
        dp, values = _opendp(), _finite(centre)
        if not values.size:
            return values
        exponent = math.floor(math.log2(min(sensitivity, width) / values.size)) - GRID_BITS
        domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=values.size)
        metric = (dp.l1_distance if kind == "laplace" else dp.l2_distance)(T=float)
        make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
        measurement = make(domain, metric, scale=width * WIDENED, k=max(exponent, SMALLEST_GRID))
        ratio = sensitivity / width
        if measurement.map(sensitivity) > (ratio if kind == "laplace" else ratio**2 / 2):
            raise SynthdpError("secure noise: OpenDP's privacy map does not confirm the noise; this is a bug.")
        return np.asarray(measurement(values.ravel().tolist()), dtype=np.float64).reshape(values.shape)


class Simulated:
    """Seeded numpy noise with the same laws: for studies and tests, never for a release."""

    name: Literal["simulated"] = "simulated"

    def __init__(self, rng: np.random.Generator) -> None:
        if not isinstance(rng, np.random.Generator):
            raise InputError(
                f"rng: must be a generator, such as numpy.random.default_rng(1), found {type(rng).__name__}."
            )
        self._rng = rng

    def __repr__(self) -> str:
        return "Simulated(<generator>)"

    def laplace(self, centre: Floats, *, scale: float, sensitivity: float) -> Floats:
        """Return centre + Laplace(scale)."""
        values = _finite(centre)
        return np.asarray(values + self._rng.laplace(0.0, scale, values.shape))

    def gaussian(self, centre: Floats, *, sd: float, sensitivity: float) -> Floats:
        """Return centre + N(0, sd²)."""
        values = _finite(centre)
        return np.asarray(values + sd * self._rng.standard_normal(values.shape))

    def discrete_laplace(self, centre: Integers, *, scale: float) -> Integers:
        """Return centre plus the difference of two geometric variables."""
        values = _whole(centre)
        end = -math.expm1(-1 / scale)
        noise = self._rng.geometric(end, values.shape) - self._rng.geometric(end, values.shape)
        return np.asarray(values + noise, dtype=np.int64)

    def discrete_gaussian(self, centre: Integers, *, sd: float) -> Integers:
        """Return centre plus discrete Gaussian noise, by rejection from discrete Laplace (Canonne et al., Alg. 3)."""
        values = _whole(centre)
        t = math.floor(sd) + 1
        noise = np.zeros(values.size, dtype=np.int64)
        todo = np.arange(values.size)
        while todo.size:
            offered = self.discrete_laplace(np.zeros(todo.size, dtype=np.int64), scale=t)
            accept = self._rng.random(todo.size) < np.exp(-((np.abs(offered) - sd**2 / t) ** 2) / (2 * sd**2))
            noise[todo[accept]] = offered[accept]
            todo = todo[~accept]
        return np.asarray(values + noise.reshape(values.shape), dtype=np.int64)

    def largest(self, scores: Floats, *, scale: float, noise: Choice) -> int:
        """Return the index of the largest noisy score."""
        values = _finite(scores)
        if noise == "exponential":
            return int(np.argmax(values + self._rng.exponential(scale, values.shape)))
        draw = self._rng.gumbel if noise == "gumbel" else self._rng.laplace
        return int(np.argmax(values + draw(0.0, scale, values.shape)))

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """Return 64-bit integers of the generator."""
        return self._rng.integers(0, 2**64, size, dtype=np.uint64)

    def generator(self, where: str) -> np.random.Generator:
        """Return the generator."""
        return self._rng
