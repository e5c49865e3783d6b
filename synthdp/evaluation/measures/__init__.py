"""Every measure by name, ours and others': the config's words, the gate and the report's order come from here."""

from collections.abc import Iterator, Mapping

from synthdp import plugins
from synthdp.evaluation.measure import Measure, Need, identifies

UTILITY: Mapping[str, Measure] = plugins.Registry("measures", "utility")
RISK: Mapping[str, Measure] = plugins.Registry("measures", "risk")
# asked by the gate alone, where a person has several rows
GATE: Mapping[str, Measure] = plugins.Registry("measures", "gate")
# words that a config may still hold, and what took their place
REMOVED = {"anonymeter": "was removed in 0.3; use singling, linkability, inference."}


def known(name: str) -> bool:
    """Return whether there is a measure of that name."""
    return name in UTILITY or name in RISK or name in GATE


def measure(name: str) -> Measure:
    """Return a measure by its name.

    Examples
    --------
    >>> measure("panel").limits
    ('min_overlap',)
    """
    return next(side for side in (UTILITY, RISK, GATE) if name in side)[name]


def pointing() -> tuple[Measure, ...]:
    """Return the measures of risk that point at rows, in the order of the table."""
    return tuple(found for found in RISK.values() if identifies(found))


def in_turn() -> tuple[Measure, ...]:
    """Return the same as the gate asks them: without a tolerance first, those who know how copies are made last."""
    return tuple(sorted(pointing(), key=lambda one: (Need.PLAN in one.needs, "max_excess_true_match" in one.limits)))


def reading(limit: str) -> Iterator[Measure]:
    """Yield the measures that a limit of the gate reads."""
    return (found for found in (*UTILITY.values(), *RISK.values()) if limit in found.limits)
