"""Draws of a family's parameters.

The posterior mode by Newton's method, an independent proposal around it, or Hamiltonian Monte Carlo.

The proposal is a multivariate t around the mode with the mode's curvature. Proposals do not depend on the chain, so
their log posteriors are evaluated together in one matrix product; the chain of accept/reject steps then corrects the
proposal's error, which after s steps is at most (1 - 1/w)^s in total variation, w the largest ratio of posterior to
proposal. The number of steps follows from a pilot estimate of w.

An independent proposal fails when many parameters are each a little skewed, as with many levels of which some are
rare: the errors multiply. In u = L'(θ - mode), L L' the curvature at the mode, the posterior is close to a standard
normal, so trajectories of about a quarter period (π/2) forget where they started.

References
----------
Mengersen, Tweedie (1996), Annals of Statistics 24(1), Theorem 2.1 (convergence of the independence sampler).
Neal (2011), Handbook of Markov Chain Monte Carlo, chapter 5, sections 5.3.2 (algorithm) and 5.4.2 (random lengths).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.special import gammaln

from synthdp.errors import Unfinished
from synthdp.newton import maximise
from synthdp.table.microdata import Floats

PROPOSAL_DF = 10.0
PILOT_DRAWS = 64
TOTAL_VARIATION = 1e-3
STEPS = (8, 500)


@dataclass(frozen=True, repr=False)
class IndependenceSampler:
    """Draws from a posterior given as a function; each draw is the end of its own chain.

    Parameters
    ----------
    mode
        The posterior mode, d.
    factor
        Lower Cholesky factor of the curvature at the mode.
    log_posterior
        The log posterior, up to a constant near the mode, of each row of a matrix of parameters.
    steps
        The length of the chain.

    Examples
    --------
    >>> normal = lambda rows: -0.5 * (rows**2).sum(axis=1)
    >>> rng = np.random.default_rng(1)
    >>> sampler = IndependenceSampler.pilot(np.zeros(2), np.eye(2), normal, rng=rng)
    >>> sampler.draw(rng=rng).shape
    (2,)
    """

    mode: Floats
    factor: Floats
    log_posterior: Callable[[Floats], Floats]
    steps: int = STEPS[1]

    @classmethod
    def pilot(
        cls,
        mode: Floats,
        factor: Floats,
        log_posterior: Callable[[Floats], Floats],
        *,
        rng: np.random.Generator,
    ) -> Self:
        """Return the sampler with as many steps as a pilot run calls for."""
        found = cls(mode, factor, log_posterior)
        proposals, log_proposal = found._propose(PILOT_DRAWS, rng=rng)
        log_ratio = log_posterior(proposals) - log_proposal
        worst = np.exp(log_ratio.max()) / np.exp(log_ratio).mean() if np.ptp(log_ratio) < 700 else np.inf
        # twice the pilot's worst ratio: the pilot has not seen the far tail
        steps = np.ceil(np.log(TOTAL_VARIATION) / np.log1p(-1 / (2 * worst))) if np.isfinite(worst) else STEPS[1]
        return cls(mode, factor, log_posterior, int(np.clip(steps, *STEPS)))

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw the parameters: the end of a chain of independent proposals."""
        proposals, log_proposal = self._propose(self.steps + 1, rng=rng)
        log_ratio = self.log_posterior(proposals) - log_proposal
        thresholds = np.log(rng.random(self.steps + 1))
        current = 0
        for step in range(1, self.steps + 1):
            if thresholds[step] < log_ratio[step] - log_ratio[current]:
                current = step
        return np.asarray(proposals[current])

    def _propose(self, count: int, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return draws of the t proposal and their log densities relative to the mode's."""
        d = len(self.mode)
        normal = rng.standard_normal((count, d))
        widen = np.sqrt(PROPOSAL_DF / rng.chisquare(PROPOSAL_DF, size=count))
        standard = normal * widen[:, None]
        steps = solve_triangular(self.factor, standard.T, lower=True, trans=1).T
        log_density = -0.5 * (PROPOSAL_DF + d) * np.log1p((standard**2).sum(axis=1) / PROPOSAL_DF)
        log_density += gammaln((PROPOSAL_DF + d) / 2) - gammaln(PROPOSAL_DF / 2) - 0.5 * d * np.log(PROPOSAL_DF / 2)
        return self.mode + steps, np.asarray(log_density, dtype=np.float64)


MOST_ITERATIONS = 200
DECREMENT = 1e-10


class Target(Protocol):
    """A log posterior of one vector of parameters."""

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log posterior up to a constant, and its gradient."""
        ...

    def curvature(self, theta: Floats) -> Floats:
        """Return minus the matrix of second derivatives."""
        ...

    def relative(self, thetas: Floats, reference: Floats) -> Floats:
        """Return the log posterior of each row minus that of the reference.

        Differences are summed record by record, so that no digits are lost at large n.
        """
        ...


def find_mode(target: Target, start: Floats) -> tuple[Floats, Floats]:
    """Return the mode and the lower Cholesky factor of the curvature there.

    Steps are halved until the log posterior rises; where it is not concave, the curvature's negative eigenvalues are
    turned round, so that every step goes uphill.
    """

    def newton(theta: Floats, slope: Floats) -> tuple[Floats, float, Floats]:
        factor = _factor(target.curvature(theta))
        step = cho_solve((factor, True), slope)
        return step, float(slope @ step), factor

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = maximise(target.gradient, newton, start, steps=MOST_ITERATIONS, near=DECREMENT, rounding=1e-13)
    if found.reached:
        return found.theta, found.curved
    raise Unfinished("regression: a column's model has no stable mode; exclude kept columns that nearly determine it.")


def _factor(curvature: Floats) -> Floats:
    try:
        return np.asarray(cholesky(curvature, lower=True), dtype=np.float64)
    except LinAlgError:
        values, vectors = np.linalg.eigh(curvature)
        raised = np.maximum(np.abs(values), 1e-8 * np.abs(values).max())
        return np.asarray(cholesky((vectors * raised) @ vectors.T, lower=True), dtype=np.float64)


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


Drawn = TypeVar("Drawn", covariant=True)


@dataclass(frozen=True, repr=False)
class Sampled(Generic[Drawn]):
    """The posterior of a family: draws of the vector θ, each as what draws the column.

    Parameters
    ----------
    unpack
        From θ to one draw of the family's parameters.
    """

    sampler: Sampler
    unpack: Callable[[Floats], Drawn]

    def mode(self) -> Drawn:
        """Return the parameters at the posterior mode."""
        return self.unpack(self.sampler.mode)

    def draw(self, *, rng: np.random.Generator) -> Drawn:
        """Draw the parameters."""
        return self.unpack(self.sampler.draw(rng=rng))


def sampler(target: Target, start: Floats, *, rng: np.random.Generator) -> Sampler:
    """Return draws from a posterior: independent proposals where they work, trajectories where they do not."""
    mode, factor = find_mode(target, start)
    independent = IndependenceSampler.pilot(mode, factor, lambda thetas: target.relative(thetas, mode), rng=rng)
    if independent.steps <= MOST_INDEPENDENT_STEPS:
        return independent
    return HamiltonianSampler.pilot(target, mode, factor, rng=rng)
