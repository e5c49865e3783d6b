"""The page: what became of ten files, and what others would have made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports.study import Results

ENOUGH = 1e-9


def page(results: Results, settings: Results) -> str:
    """Return README.md."""
    return "\n".join(str(one) for one in results["files"])


def binding(found: Mapping[str, Any]) -> str | None:
    """Return the limit that a measured candidate comes closest to."""
    known = {name: one for name, one in found["risks"].items() if one["deciding"] is not None and one["limit"]}
    return max(known, key=lambda name: known[name]["deciding"] / known[name]["limit"], default=None)


def best_by_hand(tried: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the hand setting with the largest panel overlap among those that the gate lets through."""
    return max((one for one in tried if one["passed"]), key=lambda one: one["panel"], default=None)


def at_our_risk(tried: Sequence[Mapping[str, Any]], ours: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the trees whose binding risk is nearest to ours from above; the riskiest where all lie below."""
    name = binding(ours)
    made = [one for one in tried if "risks" in one and one["risks"].get(name, {}).get("value") is not None]
    if name is None or not made:
        return None
    mine = ours["risks"][name]["value"]
    above = [one for one in made if one["risks"][name]["value"] >= mine - ENOUGH]
    if above:
        return min(above, key=lambda one: one["risks"][name]["value"])
    return max(made, key=lambda one: one["risks"][name]["value"])
