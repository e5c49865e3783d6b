"""The trade-off function that an event promises: the largest curve that is known to hold."""

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.accounting import events
from synthdp.privacy.accounting.conversions import epsilon_of_rho
from synthdp.privacy.tradeoff.composing import compose
from synthdp.privacy.tradeoff.curves import Gaussian, Laplace, Tradeoff
from synthdp.privacy.tradeoff.duality import from_deltas
from synthdp.privacy.tradeoff.families import (
    approximate,
    discrete_gaussian,
    discrete_laplace,
    dp_tv,
    pure,
    randomised_response,
)

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
        case events.Approximate(epsilon, delta):
            return approximate(epsilon, delta)
        case events.TotalVariation(epsilon, delta, eta):
            return dp_tv(epsilon, delta, eta)
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
