"""Every measure by name, and where it is defined: the config's words, the gate and the report's order come from here.

A measure is imported when it is asked for. One more is a module that defines it and a line here.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import cast

from synthdp.evaluation.measure import Measure, Need, identifies

_IDENTITY = "synthdp.evaluation.measures.identity"
_KEPT = "synthdp.evaluation.measures.standing_out"
_TOLD = "synthdp.evaluation.measures.disclosure"
_USE = "synthdp.evaluation.measures.usefulness"

UTILITY: dict[str, str] = {
    "pmse": f"{_USE}:PMSE",
    "panel": f"{_USE}:PANEL",
    "analyses": f"{_USE}:ANALYSES",
    "tables": f"{_USE}:TABLES",
    "distributions": f"{_USE}:DISTRIBUTIONS",
    "correlations": f"{_USE}:CORRELATIONS",
    "prediction": f"{_USE}:PREDICTION",
}
RISK: dict[str, str] = {
    "identity": f"{_IDENTITY}:EACH_COPY",
    "identity_averaged": f"{_IDENTITY}:AVERAGED",
    "identity_linked": f"{_IDENTITY}:LINKED",
    "identity_likelihood": f"{_IDENTITY}:LIKELIHOOD",
    "identity_public": f"{_IDENTITY}:PUBLIC",
    "identity_extremes": f"{_IDENTITY}:EXTREMES",
    "identity_bayes": f"{_IDENTITY}:BAYES",
    "verbatim": f"{_KEPT}:VERBATIM",
    "memorised": f"{_KEPT}:MEMORISED",
    "exposure": f"{_KEPT}:EXPOSURE",
    "attribute": f"{_TOLD}:ATTRIBUTE",
    "membership": f"{_TOLD}:MEMBERSHIP",
    "membership_shadow": f"{_TOLD}:SHADOW",
    "singling": f"{_TOLD}:SINGLING",
    "linkability": f"{_TOLD}:LINKABILITY",
    "inference": f"{_TOLD}:INFERENCE",
    "anonymity": f"{_KEPT}:ANONYMITY",
    "population": f"{_KEPT}:POPULATION",
}
# asked by the gate alone, where a person has several rows
GATE: dict[str, str] = {"identity_persons": f"{_IDENTITY}:PERSONS"}
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
    module, _, place = {**UTILITY, **RISK, **GATE}[name].partition(":")
    return cast(Measure, getattr(import_module(module), place))


def pointing() -> tuple[Measure, ...]:
    """Return the measures of risk that point at rows, in the order of the table."""
    return tuple(found for found in map(measure, RISK) if identifies(found))


def in_turn() -> tuple[Measure, ...]:
    """Return the same as the gate asks them: without a tolerance first, those who know how copies are made last."""
    return tuple(sorted(pointing(), key=lambda one: (Need.PLAN in one.needs, "max_excess_true_match" in one.limits)))


def reading(limit: str) -> Iterator[Measure]:
    """Yield the measures that a limit of the gate reads."""
    return (found for found in map(measure, (*UTILITY, *RISK)) if limit in found.limits)
