r"""Randomised response: each record's level is kept or exchanged by fixed probabilities.

A transition matrix P with rows "true level" and columns "answer" is ε-DP for one record's level with
ε = ln max_l max_{k,k'} P_kl / P_k'l, and (ε, δ)-DP with δ = max_{k,k'} Σ_l (P_kl − e^ε P_k'l)₊. The k-ary response
keeps the truth with probability e^ε/(e^ε + k − 1), with a δ it lies with (1 − δ)/(e^ε + k − 1) to each other level.

Probabilities are whole multiples of 2⁻⁶², so a draw compares whole numbers and the guarantee is that of the very
matrix that is used; rounding goes to more lies.

References
----------
Warner (1965), JASA 60. Kairouz, Bonawitz, Ramage (2016), ICML (k-ary).
Biswal (2024), section 4.5.1: for two levels (ε, δ)-DP iff P(lie) ≥ (1 − δ)/(1 + e^ε).
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.events import Approximate, Event, NonPrivate, RandomisedResponse
from synthdp.privacy.guarantees import epsilon_of, slack_of
from synthdp.privacy.mechanisms.mechanism import Integers, Mechanism, Source
from synthdp.privacy.mechanisms.sensitivity import Origin, Sensitivity
from synthdp.table.microdata import Floats

BITS = 62
UNITS = 2**BITS
Shares = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Transition(Mechanism):
    """A general transition matrix, held as whole multiples of 2⁻⁶²; each row sums to 2⁶².

    Examples
    --------
    >>> gender = Transition.of(np.array([[0.8, 0.2], [0.2, 0.8]]))
    >>> round(gender.epsilon, 4)
    1.3863
    """

    shares: Shares = field(repr=False)
    origin: Origin = "config"

    def __post_init__(self) -> None:
        wide = {len(row) for row in self.shares}
        if len(self.shares) < 2 or len(wide) != 1 or min(wide) < 2:
            raise InputError("transition: needs a matrix of at least two levels and two answers.")
        if any(min(row) < 0 or sum(row) != UNITS for row in self.shares):
            raise InputError("transition: every row must hold probabilities that sum to 1.")

    @classmethod
    def of(cls, matrix: Floats, *, origin: Origin = "config") -> Self:
        """Return the mechanism of a matrix of probabilities; what rounding leaves over goes to the row's largest."""
        given = np.asarray(matrix, dtype=np.float64)
        if given.ndim != 2 or not np.isfinite(given).all() or (given < 0).any():
            raise InputError("transition: needs a matrix of finite probabilities, none below 0.")
        if not np.allclose(given.sum(axis=1), 1.0, rtol=0, atol=1e-9):
            raise InputError("transition: every row must hold probabilities that sum to 1.")
        rows = []
        for row in given:
            units = [math.floor(float(p) * UNITS) for p in row]
            largest = max(range(len(units)), key=units.__getitem__)
            units[largest] += UNITS - sum(units)
            rows.append(tuple(units))
        return cls(tuple(rows), origin)

    @property
    def levels(self) -> int:
        """How many true levels there are."""
        return len(self.shares)

    @property
    def sensitivity(self) -> Sensitivity:
        """One record's level may be any other."""
        return Sensitivity(1.0, "discrete", "replace", self.origin)

    @property
    def matrix(self) -> Floats:
        """The probabilities, rows by true level."""
        return np.array([[unit / UNITS for unit in row] for row in self.shares])

    @property
    def epsilon(self) -> float:
        """Ln of the largest ratio in a column; infinite when an answer is impossible for some levels only."""
        worst = 0.0
        for column in zip(*self.shares, strict=True):
            if max(column) > 0:
                # whole numbers divide with one rounding, so an ε near 0 keeps its digits
                excess = (max(column) - min(column)) / min(column) if min(column) else math.inf
                worst = max(worst, math.log1p(excess))
        return worst

    def delta(self, epsilon: float) -> float:
        """Return the exact δ(ε): the largest hockey-stick divergence between two rows. Cost k³."""
        p = self.matrix
        return float(np.maximum(p[:, None, :] - math.exp(epsilon) * p[None, :, :], 0.0).sum(axis=2).max())

    def release(self, codes: Integers, *, source: Source) -> Integers:
        """Return an answer for every record's level, given as codes 0..k−1. Cost n log k."""
        given = np.asarray(codes)
        if not np.issubdtype(given.dtype, np.integer):
            raise InputError(f"randomised response: needs codes of levels, found {given.dtype}.")
        outside = int(np.count_nonzero((given < 0) | (given >= self.levels)))
        if outside:
            raise InputError(f"randomised response: {outside} codes are outside 0..{self.levels - 1}.")
        flat = given.ravel()
        drawn = source.words(flat.size) >> np.uint64(64 - BITS)
        answers = np.empty(flat.size, dtype=np.int64)
        for level, bounds in enumerate(self._cumulative):
            here = np.flatnonzero(flat == level)
            answers[here] = np.searchsorted(bounds, drawn[here], side="right")
        return answers.reshape(given.shape)

    def estimate(self, answered: Floats) -> Floats:
        """Return unbiased true frequencies from the frequencies of answers: (Pᵀ)⁻¹ applied to them."""
        if len(self.shares[0]) != self.levels:
            raise InputError("transition: true frequencies can be estimated when there are as many answers as levels.")
        return np.asarray(np.linalg.solve(self.matrix.T, np.asarray(answered, dtype=np.float64)))

    def _cost(self) -> Event:
        if math.isinf(self.epsilon):
            return NonPrivate("an answer is impossible for some levels and possible for others")
        return super()._cost()

    def _noise(self) -> str:
        return f"Randomised response on {self.levels} levels"

    @cached_property
    def _cumulative(self) -> npt.NDArray[np.uint64]:
        # the last bound is never reached by a draw, so searchsorted stays below the number of answers
        return np.array([np.cumsum(np.array(row, dtype=np.uint64)) for row in self.shares], dtype=np.uint64)


@dataclass(frozen=True)
class Kary(Transition):
    """k-ary randomised response: the truth, or each other level with the same probability.

    Examples
    --------
    >>> float(Kary.calibrated(2, epsilon=float(np.log(3))).matrix[0, 1].round(6))
    0.25
    """

    approximate: tuple[float, float] | None = None

    @classmethod
    def calibrated(cls, levels: int, *, epsilon: float, delta: float = 0.0) -> Self:
        """Return the response that is (ε, δ)-DP with the fewest lies; two levels are Warner's."""
        epsilon, delta = epsilon_of(epsilon), slack_of(delta)
        if levels < 2:
            raise InputError(f"randomised response: needs at least two levels, found {levels}.")
        exact = UNITS * (1 - delta) / (math.exp(min(epsilon, 700.0)) + levels - 1)
        lie = max(1, math.ceil(exact * (1 + 2**-50)))
        truth = UNITS - (levels - 1) * lie
        if truth < lie or (not delta and math.log1p((truth - lie) / lie) > epsilon):
            raise InputError(f"epsilon: {epsilon:g} is too small for {levels} levels; the answers would be noise.")
        rows = tuple(tuple(truth if k == true else lie for k in range(levels)) for true in range(levels))
        return cls(rows, approximate=(epsilon, delta) if delta else None)

    def _cost(self) -> Event:
        # with a δ, the pair it was calibrated for
        return Approximate(*self.approximate) if self.approximate else RandomisedResponse(self.epsilon, self.levels)


def binary(*, epsilon: float, delta: float = 0.0) -> Kary:
    """Return Warner's response on two levels: a lie with probability (1 − δ)/(1 + e^ε)."""
    return Kary.calibrated(2, epsilon=epsilon, delta=delta)
