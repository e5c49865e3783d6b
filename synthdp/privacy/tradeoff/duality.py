"""From the trade-off function to all pairs (ε, δ) and back, and the curve that an event promises.

References
----------
Dong, Roth, Su (2022): Propositions 2.5 and 2.12 (duality), Theorem 2.14 (groups).
"""

import math
from functools import reduce

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.accounting.closed_forms import epsilon_of_rho
from synthdp.privacy.guarantees import share, whole
from synthdp.privacy.tradeoff.composing import compose
from synthdp.privacy.tradeoff.curves import (
    Gaussian,
    Laplace,
    Tradeoff,
    approximate,
    discrete_gaussian,
    discrete_laplace,
    dp_tv,
    pure,
    randomised_response,
)
from synthdp.privacy.tradeoff.pairs import Pair, from_knots, maximum
from synthdp.table.microdata import Floats

# an ε beyond this is no promise: e^700 is the end of double precision
LARGEST_EPSILON = 700.0
NO_DELTA = 1e-12


def epsilon(curve: Tradeoff, delta: float) -> float:
    """Return the least ε ≥ 0 for which the curve is (ε, δ)-DP, rounded up; infinite if there is none.

    Bisection of δ(ε), which falls: the upper end is returned, so the promise is kept.
    """
    share(delta, "delta")
    if float(curve.delta(0.0)) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while float(curve.delta(high)) > delta:
        low, high = high, 2 * high
        if high > LARGEST_EPSILON:
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(curve.delta(middle)) > delta else (low, middle)
    return high


def from_deltas(epsilons: npt.ArrayLike, deltas: npt.ArrayLike) -> Pair:
    """Return the curve of a mechanism that is (ε, δ)-DP for every pair in two lists: the intersection of them all.

    With all (ε, δ(ε)) of a symmetric curve it gives that curve back; with some of them a lower bound that touches it.
    """
    eps, dlt = np.atleast_1d(np.asarray(epsilons, dtype=float)), np.atleast_1d(np.asarray(deltas, dtype=float))
    if eps.shape != dlt.shape or not len(eps):
        raise InputError(f"epsilons and deltas: must be of one length, found {eps.size} and {dlt.size}.")
    return reduce(maximum, (approximate(float(e), float(d)) for e, d in zip(eps, dlt, strict=True)))


def group(curve: Tradeoff, size: int, *, corners: int = 4001) -> Pair:
    """Return a lower bound on the curve for groups of people: 1 − (1 − f) applied ``size`` times to α.

    Notes
    -----
    Exact for a Pair. A smooth curve is replaced by tangents first, hence a lower bound, within 1e-6 at the default.
    Of (ε, δ) it gives (kε, δ') with δ' ≤ k e^((k−1)ε) δ; Najib (2025) prints k e^(k−1) δ, without the ε.
    """
    pair = curve if isinstance(curve, Pair) else tangents(curve, corners)
    alpha, beta = pair.knots
    rising = np.concatenate([[True], np.diff(beta) < 0])
    corner, found = alpha, [alpha]
    for _ in range(whole(size, "size", 1) - 1):
        # a corner of the nested map is a point that an inner step sends to a corner of the outer one
        reached = corner[corner >= 1 - beta[0]]
        corner = np.interp(reached, 1 - beta[rising], alpha[rising])
        found.append(corner)
    places = np.unique(np.concatenate(found))
    value = places
    for _ in range(size):
        value = 1 - pair(value)
    return from_knots(places, 1 - value)


def regret(curve: Tradeoff, epsilons: npt.ArrayLike, alphas: int = 20_001) -> Floats:
    """Return δ(ε) from f alone, as 1 − min over a grid of α of (e^ε α + f(α)): never above the true δ."""
    alpha = np.concatenate([[0.0], np.geomspace(1e-12, 0.01, alphas // 2), np.linspace(0.01, 1, alphas // 2)])
    beta = curve(alpha)
    return np.asarray([max(1 - float((np.exp(e) * alpha + beta).min()), 0.0) for e in np.atleast_1d(epsilons)])


def tangents(curve: Tradeoff, corners: int) -> Pair:
    """Return the envelope of so many tangents of a symmetric curve: a lower bound with finitely many corners."""
    reach = 0.01
    while float(curve.delta(reach)) > NO_DELTA and reach < LARGEST_EPSILON / 2:
        reach *= 1.25
    eps = np.linspace(0, reach, corners // 2 + 1)
    slopes = np.exp(np.concatenate([eps[::-1], -eps[1:]]))
    kept = 1 - curve.delta(eps)
    heights = np.concatenate([kept[::-1], np.exp(-eps[1:]) * kept[1:]])
    crossing = np.diff(heights) / np.diff(slopes)
    alpha = np.unique(np.clip(np.concatenate([[0.0], crossing, [1.0]]), 0.0, 1.0))
    beta = np.asarray([(heights - slopes * a).max() for a in alpha])
    return from_knots(alpha, np.maximum(beta, 0.0))


# δ at which a zCDP guarantee is read: between them the curve is the envelope, a lower bound
DELTAS = np.geomspace(1e-12, 0.9, 60)


def promised(event: events.Event) -> Tradeoff:
    """Return the curve of an event.

    For vectors with ℓ1 (Laplace) or ℓ2 (Gaussian) sensitivity the worst pair moves along one axis, so the curve of one
    number holds for all.

    Examples
    --------
    >>> promised(events.Gaussian(0.5))
    Gaussian(mu=0.5)
    """
    match event:
        case events.Gaussian(mu):
            return Gaussian(mu)
        case events.Laplace(epsilon):
            return Laplace(epsilon)
        case events.DiscreteLaplace(scale, sensitivity):
            return discrete_laplace(scale, sensitivity)
        case events.DiscreteGaussian(sd, sensitivity):
            return discrete_gaussian(sd, sensitivity)
        case events.Pure(epsilon):
            return pure(epsilon)
        case events.TotalVariation(epsilon, delta, eta):
            return dp_tv(epsilon, delta, eta)
        case events.Approximate(epsilon, delta):
            return approximate(epsilon, delta)
        case events.RandomisedResponse(epsilon, levels):
            return randomised_response(epsilon, levels)
        case events.ZeroConcentrated(rho, xi):
            return from_deltas([epsilon_of_rho(rho, float(d), xi=xi, method="tight") for d in DELTAS], DELTAS)
        case events.Composed(parts):
            return compose(*(promised(part) for part in parts)).curve
        case events.Repeated(part, times):
            return compose(promised(part), times=times).curve
        case events.Parallel(parts, touched) if touched >= 1 and len(set(parts)) == 1:
            return compose(promised(parts[0]), times=touched).curve
    raise InputError(f"event: {type(event).__name__} promises no trade-off function that is known here.")
