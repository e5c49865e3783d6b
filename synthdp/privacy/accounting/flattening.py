"""A tree of events as bags of single ones: {event: times}, one bag for each part that a neighbour could be in."""

import math
from collections import Counter
from itertools import combinations

from synthdp.errors import InputError
from synthdp.privacy.accounting import events

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
