"""Whom the tuned settings are compared with: the best hand setting that passes, synthpop's trees at the same risk."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reports.tune_files.files import FIRST_LEAVES

ENOUGH = 1e-9
Found = Mapping[str, Any]


@dataclass(frozen=True)
class Trees:
    """What synthpop's trees come to at a risk.

    Parameters
    ----------
    leaves
        The leaf size, or the two between which the risk lies.
    where
        ``at`` the risk or between two leaf sizes; ``below`` it where every setting is; ``above`` it where every setting
        is: then this is the one that comes closest, and nothing of theirs is at that risk.
    """

    panel: float
    regression: float | None
    risk: float
    leaves: tuple[int, ...]
    where: str


def binding(found: Found) -> str | None:
    """Return the limit that a measured candidate comes closest to."""
    known = {name: one for name, one in found["risks"].items() if one["deciding"] is not None and one["limit"]}
    return max(known, key=lambda name: known[name]["deciding"] / known[name]["limit"], default=None)


def best_by_hand(tried: Sequence[Found]) -> Found | None:
    """Return the hand setting with the largest panel overlap among those that the gate lets through."""
    return max((one for one in tried if one["passed"]), key=lambda one: one["panel"], default=None)


def deciding(found: Found, name: str) -> float | None:
    """Return the upper end of a risk's interval; None where it was not measured."""
    risk: float | None = found.get("risks", {}).get(name, {}).get("deciding")
    return risk


def at_our_risk(tried: Sequence[Found], ours: Found, name: str | None) -> Trees | None:
    """Return what the trees come to at our risk, of which the upper end of the interval counts: it is what decides.

    ``ours`` is measured on as many draws as the trees; ``name`` is the limit that binds on all draws of the gate.

    Between two leaf sizes of which one lies above and one below, both overlaps are interpolated. A setting that is at
    our risk or below it counts as well: of all these the one with the largest panel overlap is taken. Where every
    setting is above, the one with the least risk is returned, and said to be above.
    """
    made = sorted((one for one in tried if name and deciding(one, name) is not None), key=lambda one: int(one["leaf"]))
    if name is None or not made:
        return None
    mine = ours["risks"][name]["deciding"] + ENOUGH
    risk = [float(one["risks"][name]["deciding"]) for one in made]
    every = [_of(one, its, "below" if max(risk) <= mine else "at") for one, its in zip(made, risk, strict=True)]
    held = [one for one in every if one.risk <= mine]
    if not held:
        nearest = min(every, key=lambda one: one.risk)
        return Trees(nearest.panel, nearest.regression, nearest.risk, nearest.leaves, "above")
    return max((*held, *_between(every, mine)), key=lambda one: one.panel)


def _of(one: Found, risk: float, where: str) -> Trees:
    return Trees(one["panel"], one["regression"], risk, (one["leaf"],), where)


def _between(every: Sequence[Trees], mine: float) -> Iterator[Trees]:
    """Yield what lies at our risk on the straight lines between neighbouring leaf sizes either side of it."""
    for one, other in pairwise(every):
        if (one.risk <= mine) == (other.risk <= mine):
            continue
        share = (mine - one.risk) / (other.risk - one.risk)
        panel = one.panel + share * (other.panel - one.panel)
        regression = None
        if one.regression is not None and other.regression is not None:
            regression = one.regression + share * (other.regression - one.regression)
        yield Trees(panel, regression, mine, (*one.leaves, *other.leaves), "at")


def as_before(tried: Sequence[Found], ours: Found) -> Found | None:
    """Return what was compared before the rule was changed: of three leaf sizes the nearest from above by mean risk.

    Where all lie below it is the riskiest.
    """
    name = binding(ours)
    made = [one for one in tried if name and one["leaf"] in FIRST_LEAVES and deciding(one, name) is not None]
    if name is None or not made:
        return None
    mine = ours["risks"][name]["value"]
    above = [one for one in made if one["risks"][name]["value"] >= mine - ENOUGH]
    if above:
        return min(above, key=lambda one: float(one["risks"][name]["value"]))
    return max(made, key=lambda one: float(one["risks"][name]["value"]))
