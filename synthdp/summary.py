"""The few numbers a person wants to see first."""

from collections.abc import Iterator, Mapping
from typing import Any

SETTLED = 4.0
_ATTACKS = {
    "original": "found in the original file",
    "identity": "found in the copies",
    "identity_averaged": "found in the copies averaged",
}


def rows(metrics: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return label and value of each line of the summary table."""
    return (*_utility(metrics["utility"]), *_risk(metrics["risk"]), *_gate(metrics["gate"]))


def _utility(utility: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for analysis in utility.get("analyses") or ():
        label = f"{analysis['name']}: confidence intervals agree"
        if analysis["mean_ci_overlap"] is None:
            yield label, analysis.get("reason", "not computed")
        else:
            yield label, f"{analysis['mean_ci_overlap']:.0%} on average, {analysis['min_ci_overlap']:.0%} at worst"
    pmse = (utility.get("pmse") or {}).get("logit")
    if pmse:
        yield "telling copies from the original (pMSE)", f"{pmse['value']:.4f} (0 cannot, 0.25 always)"


def _risk(risk: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, label in _ATTACKS.items():
        section = risk.get(name)
        if section and "expected_match" in section:
            chance = section.get("true_match_chance")
            beside = f" (chance gives up to {chance:.0f})" if name != "original" and chance is not None else ""
            yield (
                f"people {label}",
                f"{section['expected_match']:.1f} expected, {section['true_match']} as the only best match{beside}",
            )


def _gate(gate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "release gate", "passed" if gate["passed"] else "REFUSED"
    for reason in gate["reasons"]:
        yield "", str(reason)


def notes_on(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Return what whoever signs should know of the numbers, in sentences."""
    repair = metrics["risk"].get("repair")
    if repair:
        for name, label in _ATTACKS.items():
            before = repair["before"].get(name)
            if name != "original" and before and "expected_match" in before:
                yield (
                    f"Repair changed {repair['records']} records; before it, people {label}: "
                    f"{before['expected_match']:.1f} expected, {before['true_match']} as the only best match. No true "
                    "match after repair is made so, not found so."
                )
    chain = metrics.get("chain", ())
    moving = [row["column"] for row in chain if row.get("drift", 0.0) > SETTLED]
    if moving:
        yield f"The chain had not settled for {', '.join(moving)}: raise synthesis.sweeps."
    for row in chain:
        if "left_out" in row:
            yield f"The model does not see {row['column']}: {row['left_out']}."
        if "approximation" in row:
            yield f"The posterior of {row['column']} is an approximation: {row['approximation']}."
