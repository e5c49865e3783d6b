"""The mode of a log posterior by Newton's method with analytic derivatives."""

from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from synthdp.errors import Unfinished
from synthdp.microdata import Floats

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
    theta, (value, slope) = start, target.gradient(start)
    for _ in range(MOST_ITERATIONS):
        factor = _factor(target.curvature(theta))
        step = cho_solve((factor, True), slope)
        decrement = float(slope @ step)
        if decrement < DECREMENT:
            return theta, factor
        size = 1.0
        # a hair below counts as a rise: sums over many records are not exact to the last digit
        floor = value - 1e-13 * abs(value)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            while not (trial := target.gradient(theta + size * step))[0] >= floor and size > 1e-10:
                size /= 2
        if size <= 1e-10:
            break
        theta, (value, slope) = theta + size * step, trial
    raise Unfinished("regression: a column's model has no stable mode; exclude kept columns that nearly determine it.")


def _factor(curvature: Floats) -> Floats:
    try:
        return np.asarray(cholesky(curvature, lower=True), dtype=np.float64)
    except LinAlgError:
        values, vectors = np.linalg.eigh(curvature)
        raised = np.maximum(np.abs(values), 1e-8 * np.abs(values).max())
        return np.asarray(cholesky((vectors * raised) @ vectors.T, lower=True), dtype=np.float64)
