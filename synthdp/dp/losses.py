"""What private learning minimises: the gradient of each record's loss, on rows scaled from declared bounds.

``mean``: ‖x − θ‖², ``ridge``: (y − x'θ)²/2 + λ‖θ‖²/2, ``logistic``: log(1 + e^{−yx'θ}) + λ‖θ‖²/2 for y of −1 or 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import expit

from synthdp.errors import InputError
from synthdp.privacy.guarantees import not_negative
from synthdp.table.microdata import Floats

Name = Literal["mean", "ridge", "logistic"]
Gradient = Callable[[Floats, Floats, Floats], Floats]
"""θ, rows and responses to the gradients of the rows, one below the other."""


@dataclass(frozen=True)
class Loss:
    """A loss: gradients of records without the penalty, the penalty λ, and how fast a gradient can change (L)."""

    gradients: Gradient
    penalty: float
    smoothness: float

    def full(self, theta: Floats, rows: Floats, y: Floats) -> Floats:
        """Return the gradients of the rows with the penalty's."""
        return np.asarray(self.gradients(theta, rows, y) + self.penalty * theta)


def loss_of(name: Name, *, penalty: float, norm: float) -> Loss:
    """Return a loss for rows whose norm is at most ``norm``.

    Examples
    --------
    >>> loss_of("logistic", penalty=0.5, norm=2.0).smoothness
    1.5
    """
    if name not in get_args(Name):
        raise InputError(f"loss: must be mean, ridge or logistic, found {name!r}.")
    not_negative(penalty, "penalty")
    if name == "mean":
        if penalty:
            raise InputError(f"penalty: belongs to ridge and logistic, found {penalty:g}.")
        return Loss(_mean, 0.0, 2.0)
    if name == "ridge":
        return Loss(_ridge, penalty, norm**2 + penalty)
    return Loss(_logistic, penalty, norm**2 / 4 + penalty)


def clipped(gradients: Floats, most: float, order: Literal[1, 2]) -> Floats:
    """Return the gradients, those longer than ``most`` shortened to it."""
    norms = np.linalg.norm(gradients, ord=order, axis=1)
    return np.asarray(gradients * np.minimum(1.0, most / np.maximum(norms, 1e-300))[:, None])


def _mean(theta: Floats, rows: Floats, y: Floats) -> Floats:
    return np.asarray(2 * (theta - rows))


def _ridge(theta: Floats, rows: Floats, y: Floats) -> Floats:
    return np.asarray((rows @ theta - y)[:, None] * rows)


def _logistic(theta: Floats, rows: Floats, y: Floats) -> Floats:
    return np.asarray((-y * expit(-y * (rows @ theta)))[:, None] * rows)
