r"""Stochastic gradient descent with adaptive Laplace noise, of which the last iterate may be released; and its bound.

    θ_t = θ_{t−1} − η_{t−1}(g_t + γ_t Z_t),   t = 1, …, N,   g_t the gradient of one record, by lot.

If the ℓ1 distance of any two gradients is at most D (2C when they are clipped to C), iterates of neighbouring files
whose lots and earlier noise are the same are at most D·Σ_{j<t} η_j apart, so

    γ_t = (1/β_t)(Σ_{j≤t−2} η_j/η_{t−1} + 1)·D/ε

makes the iterate t, alone, εβ_t-DP. All of that comes from its own noise: it is output perturbation of the last iterate
by its worst case. Nothing is proven of the path, and neither lots nor composition make it cheaper. The noise before
the last step buys nothing; it is there because the source has it.

For a convex L-smooth loss and η_t < 1/(4L) the weighted average θ̄ = Σ η_j θ_j/S_1 of the path, which is not released,
has E[Ψ(θ̄) − Ψ*] ≤ ‖θ_0 − θ*‖²/S_1 + 2σ*² S_2/S_1 + 2p S_3/S_1 (S_1 = Σ η_j, S_2 = Σ η_j², S_3 = Σ η_j² γ_{j+1}²): with
η_t ∝ (1 + t)^−ρ and β_t = t^κ it vanishes if 2κ + ρ > 2, when the last iterate costs εN^κ.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), Theorems 7.6.1 and 7.7.1. (7.10) prints γ_t beside η_t where the proof has
η_{t−1}; the rate of S_2/S_1 holds for ρ < 1/2 only; for a constant rate κ > 3/2 is printed where its own formula gives
κ > 1.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.guarantees import epsilon_of, not_negative, positive, whole
from synthdp.table.microdata import Floats


def rates(steps: int, first: float, power: float) -> Floats:
    """Return η_t = first·(1 + t)^−power for t = 0, …, N − 1."""
    if not 0 <= not_negative(power, "power") < 1:
        raise InputError(f"power: must be at least 0 and below 1, found {power:g}.")
    return np.asarray(positive(first, "rate") * (1.0 + np.arange(whole(steps, "steps", 1))) ** -power)


def noise_factors(eta: Floats, *, kappa: float = 0.0) -> Floats:
    """Return γ_t ε/D for t = 1, …, N with β_t = t^κ.

    Examples
    --------
    >>> noise_factors(np.ones(3)).tolist()
    [1.0, 2.0, 3.0]
    """
    times = np.arange(1, len(eta) + 1)
    return np.asarray(np.cumsum(eta) / eta * times ** -not_negative(kappa, "kappa"))


def convergence_bound(
    eta: Floats, gammas: Floats, *, distance: float, gradient_variance: float, coordinates: int
) -> float:
    """Return the bound on E[Ψ(θ̄) − Ψ*].

    Parameters
    ----------
    eta, gammas
        η_0, …, η_{N−1} and γ_1, …, γ_N.
    distance
        ‖θ_0 − θ*‖.
    gradient_variance
        σ*² = Σ ‖∇ψ_i(θ*)‖²/n.
    coordinates
        p.
    """
    total = math.fsum(eta)
    return float(
        (distance**2 + 2 * gradient_variance * math.fsum(eta**2) + 2 * coordinates * math.fsum((eta * gammas) ** 2))
        / total
    )


class Path(NamedTuple):
    """The last iterate before its noise, and the weighted average of the path."""

    last: Floats
    average: Floats


def descend(
    gradient: Callable[[Floats, int], Floats],
    start: Floats,
    eta: Floats,
    gammas: Floats,
    *,
    records: int,
    rng: np.random.Generator,
) -> Path:
    """Return where the descent ends, the last step without its noise, which the release adds.

    ``gradient`` takes θ and the number of a record.
    """
    theta, weighted = start.astype(np.float64), np.zeros(len(start))
    lots = rng.integers(0, records, len(eta))
    noise = rng.laplace(size=(len(eta), len(start)))
    last = len(eta) - 1
    for t, (rate, gamma, lot, unit) in enumerate(zip(eta, gammas, lots, noise, strict=True)):
        weighted += rate * theta
        theta = theta - rate * gradient(theta, int(lot)) - (rate * gamma * unit if t < last else 0.0)
    return Path(theta, weighted / math.fsum(eta))


def last_scale(eta: Floats, *, diameter: float, epsilon: float) -> float:
    """Return the scale of the noise on the last iterate, D·Σ η_j/ε."""
    return diameter * math.fsum(eta) / epsilon_of(epsilon)
