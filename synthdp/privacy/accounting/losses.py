"""The privacy loss distribution of an event, in dp-accounting's form; a tree of events is flattened first.

Events with few outcomes are put on the grid by splitting each outcome between its two neighbours so that both
probabilities keep their sums ("connect the dots"): pessimistic, and wrong only to second order of the grid.

References
----------
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), "Connect the dots: tighter discrete approximations of privacy loss
distributions", PoPETs 2022(4).
"""

import math
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations
from typing import Any

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.accounting.closed_forms import widest_variation

Leaf = (
    events.Laplace
    | events.DiscreteLaplace
    | events.Gaussian
    | events.DiscreteGaussian
    | events.Pure
    | events.Approximate
    | events.TotalVariation
    | events.RandomisedResponse
    | events.ZeroConcentrated
)
Bag = dict[Leaf, int]
MOST_BAGS = 256


def bags(event: events.Event) -> list[Bag] | None:
    """Return what can happen to one record, as bags of single events; None when something was not private.

    Only parallel events give more than one bag; what holds for every bag holds for the release.
    """
    found = _bags(event)
    if found is None:
        return None
    distinct = {frozenset(bag.items()): bag for bag in found}
    return [dict(bag) for bag in distinct.values()]


def _bags(event: events.Event) -> "list[Counter[Leaf]] | None":
    if isinstance(event, events.NonPrivate):
        return None
    if isinstance(event, events.Composed):
        joined: list[Counter[Leaf]] = [Counter()]
        for part in event.events:
            inner = _bags(part)
            if inner is None:
                return None
            joined = _limited([one + other for one in joined for other in inner])
        return joined
    if isinstance(event, events.Repeated):
        if event.times < 0:
            raise InputError(f"repeated event: times must not be below 0, found {event.times}.")
        inner = _bags(event.event)
        return None if inner is None else [Counter({k: v * event.times for k, v in bag.items()}) for bag in inner]
    if isinstance(event, events.Parallel):
        return _parallel(event)
    _checked(event)
    return [Counter({event: 1})]


def _parallel(event: events.Parallel) -> "list[Counter[Leaf]] | None":
    if event.touched not in (1, 2):
        raise InputError(f"parallel composition: one step changes 1 or 2 parts, found {event.touched}.")
    # equal parts are one case, or two of the same
    times = Counter(event.events)
    parts = [part for part, count in times.items() for _ in range(min(count, event.touched))]
    found: list[Counter[Leaf]] = []
    for chosen in combinations(parts, min(event.touched, len(parts))):
        inner = _bags(events.Composed(chosen))
        if inner is None:
            return None
        found = _limited(found + inner)
    return found or [Counter()]


def _limited(found: "list[Counter[Leaf]]") -> "list[Counter[Leaf]]":
    distinct = list({frozenset(bag.items()): bag for bag in found}.values())
    if len(distinct) > MOST_BAGS:
        raise InputError(
            f"parallel composition: more than {MOST_BAGS} different combinations; give the parts equal budgets."
        )
    return distinct


def _checked(leaf: Leaf) -> None:
    """Refuse an event whose numbers prove nothing."""
    numbers = [value for value in vars(leaf).values() if isinstance(value, int | float)]
    if any(not math.isfinite(value) or value < 0 for value in numbers) or not any(value > 0 for value in numbers):
        raise InputError(f"{type(leaf).__name__}: numbers of an event must be finite and not below 0.")


COARSEST, FINEST = 2.0**-6, 2.0**-22
GRID_PER_SPREAD = 2.0**-12


@cache
def library() -> Any:
    """Load dp-accounting's distributions on first use."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def grid_for(bag: dict[Leaf, int]) -> float:
    """Return a power of 2 near 2⁻¹² of the composed loss's spread: then errors in ε are near 10⁻⁶ of it."""
    spread = math.sqrt(math.fsum(times * _size(leaf) ** 2 for leaf, times in bag.items()))
    return min(COARSEST, max(FINEST, 2.0 ** math.floor(math.log2(spread * GRID_PER_SPREAD))))


def loss_distribution(leaf: Leaf, times: int, grid: float) -> Any | None:
    """Return the distribution of ``times`` equal events, or None when only a bound on its Rényi divergence is known."""
    known = library()
    if isinstance(leaf, events.Gaussian):
        # k Gaussians are one: no convolution, no error
        return known.from_gaussian_mechanism(1 / (leaf.mu * math.sqrt(times)), value_discretization_interval=grid)
    if isinstance(leaf, events.ZeroConcentrated):
        return None
    single: Any
    if isinstance(leaf, events.Laplace):
        single = known.from_laplace_mechanism(1 / leaf.epsilon, value_discretization_interval=grid)
    elif isinstance(leaf, events.DiscreteLaplace):
        single = known.from_discrete_laplace_mechanism(
            1 / leaf.scale, leaf.sensitivity, value_discretization_interval=grid, use_connect_dots=True
        )
    elif isinstance(leaf, events.DiscreteGaussian):
        single = known.from_discrete_gaussian_mechanism(
            leaf.sd, leaf.sensitivity, value_discretization_interval=grid, use_connect_dots=True
        )
    elif isinstance(leaf, events.RandomisedResponse):
        eta = math.expm1(leaf.epsilon) / (math.expm1(leaf.epsilon) + leaf.levels)
        single = _atoms(leaf.epsilon, 0.0, eta, grid)
    elif isinstance(leaf, events.TotalVariation):
        single = _atoms(leaf.epsilon, leaf.delta, leaf.eta, grid)
    else:
        delta = leaf.delta if isinstance(leaf, events.Approximate) else 0.0
        single = _atoms(leaf.epsilon, delta, widest_variation(leaf.epsilon, delta), grid)
    return single.self_compose(times) if times > 1 else single


def _atoms(epsilon: float, delta: float, eta: float, grid: float) -> Any:
    """Return the dominating pair of the DP-TV region: outcomes of loss ∞, ε, 0 and −ε."""
    telling = (eta - delta) / math.tanh(epsilon / 2)
    up = telling / (1 + math.exp(-epsilon))
    masses: dict[int, float] = defaultdict(float)
    for loss, mass in ((epsilon, up), (0.0, max(0.0, 1 - delta - telling)), (-epsilon, telling - up)):
        below, above = math.floor(loss / grid), math.ceil(loss / grid)
        if below == above:
            masses[below] += mass
            continue
        # keep Σp and Σp·e^−loss
        high = mass * math.expm1(below * grid - loss) / math.expm1((below - above) * grid)
        masses[above] += high
        masses[below] += mass - high
    rounded = {place: mass for place, mass in masses.items() if mass > 0}
    return library().PrivacyLossDistribution.create_from_rounded_probability(rounded, delta, grid)


def _size(leaf: Leaf) -> float:
    if isinstance(leaf, events.Gaussian):
        return leaf.mu
    if isinstance(leaf, events.DiscreteGaussian | events.ZeroConcentrated):
        return math.sqrt(2 * leaf.rho)
    return leaf.epsilon
