"""Hamiltonian Monte Carlo on the scale of the mode's curvature, for posteriors an independent proposal cannot follow.

An independent proposal fails when many parameters are each a little skewed, as with many levels of which some are
rare: the errors multiply. In u = L'(θ - mode), L L' the curvature at the mode, the posterior is close to a standard
normal, so trajectories of about a quarter period (π/2) forget where they started.

References
----------
Neal (2011), Handbook of Markov Chain Monte Carlo, chapter 5, sections 5.3.2 (algorithm) and 5.4.2 (random lengths).
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.linalg import solve_triangular

from synthdp.imputation.families.laplace import IndependenceSampler
from synthdp.imputation.families.newton import Target, find_mode
from synthdp.microdata import Floats

TRANSITIONS = 25
PILOT_TRANSITIONS = 8
ACCEPTANCE = 0.7
MOST_INDEPENDENT_STEPS = 150


class Sampler(Protocol):
    """Draws of a vector of parameters."""

    @property
    def mode(self) -> Floats:
        """The posterior mode."""
        ...

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw the parameters."""
        ...


@dataclass(frozen=True, repr=False)
class HamiltonianSampler:
    """Each draw is the end of its own chain, started at the mode, where no force is large.

    Parameters
    ----------
    factor
        Lower Cholesky factor of the curvature at the mode.
    step
        Step size of the leapfrog integrator, in units of the approximation's sd.
    """

    target: Target
    mode: Floats
    factor: Floats
    step: float

    @classmethod
    def pilot(cls, target: Target, mode: Floats, factor: Floats, *, rng: np.random.Generator) -> Self:
        """Return the sampler with a step size that a pilot run accepts."""
        step = min(1.0, 1.6 * len(mode) ** -0.25)
        for _ in range(8):
            found = cls(target, mode, factor, step)
            _, acceptance = found._run(PILOT_TRANSITIONS, rng=rng)
            if acceptance >= ACCEPTANCE:
                break
            step /= 1.5
        return found

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw the parameters. Cost: TRANSITIONS · π/2 / step gradients."""
        return self._run(TRANSITIONS, rng=rng)[0]

    def _run(self, transitions: int, *, rng: np.random.Generator) -> tuple[Floats, float]:
        """Return the end of a chain and its mean probability of acceptance."""
        u = np.zeros(len(self.mode))
        value, slope = self._at(u)
        accepted = 0.0
        for _ in range(transitions):
            momentum = rng.standard_normal(len(u))
            length = rng.uniform(0.5, 1.5) * np.pi / 2
            threshold = np.log(rng.random())
            energy = value - 0.5 * float(momentum @ momentum)
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                place, momentum, height, gradient = self._trajectory(u, momentum, value, slope, length)
                gain = height - 0.5 * float(momentum @ momentum) - energy
            if np.isfinite(gain):
                accepted += np.exp(min(gain, 0.0))
                if threshold < gain:
                    u, value, slope = place, height, gradient
        return self._parameters(u), accepted / transitions

    def _trajectory(
        self, place: Floats, momentum: Floats, height: float, gradient: Floats, length: float
    ) -> tuple[Floats, Floats, float, Floats]:
        """Return where leapfrog steps lead; a trajectory that runs away is cut off and has no height."""
        for _ in range(max(1, round(length / self.step))):
            momentum = momentum + 0.5 * self.step * gradient
            place = place + self.step * momentum
            height, gradient = self._at(place)
            if not (np.isfinite(height) and np.isfinite(gradient).all()):
                return place, momentum, -np.inf, gradient
            momentum = momentum + 0.5 * self.step * gradient
        return place, momentum, height, gradient

    def _parameters(self, u: Floats) -> Floats:
        return np.asarray(self.mode + solve_triangular(self.factor, u, lower=True, trans=1, check_finite=False))

    def _at(self, u: Floats) -> tuple[float, Floats]:
        value, slope = self.target.gradient(self._parameters(u))
        return value, np.asarray(solve_triangular(self.factor, slope, lower=True, check_finite=False))


def sampler(target: Target, start: Floats, *, rng: np.random.Generator) -> Sampler:
    """Return draws from a posterior: independent proposals where they work, trajectories where they do not."""
    mode, factor = find_mode(target, start)
    independent = IndependenceSampler.pilot(mode, factor, lambda thetas: target.relative(thetas, mode), rng=rng)
    if independent.steps <= MOST_INDEPENDENT_STEPS:
        return independent
    return HamiltonianSampler.pilot(target, mode, factor, rng=rng)
