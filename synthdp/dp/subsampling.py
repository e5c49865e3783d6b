"""The accounting of noisy gradient descent on samples: a Poisson-sampled Gaussian, composed, by loss distributions.

Every step takes each record with probability q and adds N(0, (σC)²) to the sum of gradients clipped to C in ℓ2. Under
add_remove one record moves that sum by C, under replace by 2C, and dp-accounting's pairs of mixtures hold both.

References
----------
Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang (2016), "Deep learning with differential privacy", CCS.
Koskela, Jälkö, Honkela (2020), AISTATS, and Doroshenko et al. (2022), PoPETs (loss distributions).
"""

import math
from functools import lru_cache
from typing import Any

from synthdp.errors import InputError
from synthdp.privacy.guarantees import Adjacency, adjacency_of, delta_of, epsilon_of, positive, whole

INTERVAL, FINEST = 1e-3, 1e-5
"""The grid of losses is a five-hundredth of a small ε: the distribution errs to more ε, by parts in a thousand."""
WIDEST = 1e4


@lru_cache(maxsize=256)
def epsilon_of_steps(
    multiplier: float, rate: float, steps: int, delta: float, adjacency: Adjacency, interval: float = INTERVAL
) -> float:
    """Return ε at δ of so many steps with noise σ = ``multiplier`` and sampling probability ``rate``."""
    import dp_accounting
    from dp_accounting import pld

    adjacency_of(adjacency)
    if not 0 < rate <= 1:
        raise InputError(f"rate: must be above 0 and at most 1, found {rate:g}.")
    relations = dp_accounting.NeighboringRelation
    relation = relations.REPLACE_ONE if adjacency == "replace" else relations.ADD_OR_REMOVE_ONE
    accountant: Any = pld.PLDAccountant(relation, value_discretization_interval=interval)
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(positive(multiplier, "multiplier")))
    accountant.compose(step, whole(steps, "steps", 1))
    return float(accountant.get_epsilon(delta_of(delta)))


def multiplier_of(epsilon: float, delta: float, *, rate: float, steps: int, adjacency: Adjacency) -> float:
    """Return the least σ, to one part in 1000 and rounded up, of which so many steps keep (ε, δ)."""
    target = epsilon_of(epsilon)
    interval = min(INTERVAL, max(target / 500, FINEST))

    def kept(sigma: float) -> bool:
        return epsilon_of_steps(sigma, rate, steps, delta, adjacency, interval) <= target

    # for a small ε about so much is needed, and distributions of wide noise are quick
    high = max(1.0, rate * math.sqrt(steps) / target)
    while high > WIDEST or not kept(high):
        if high > WIDEST:
            raise InputError("steps: no noise keeps this budget; take fewer steps, a smaller rate, or raise epsilon.")
        high *= 2
    low = high / 2
    while low > 0.05 and kept(low):
        low, high = low / 2, low
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high
