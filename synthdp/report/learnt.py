"""One plain sentence on what somebody who knows a few things of a person could learn from the copies."""

from collections.abc import Collection, Mapping
from typing import Any

from synthdp.report.content import ReportContent, find
from synthdp.report.intrusion import identity_sections
from synthdp.report.names import OWN, UNDECIDED
from synthdp.report.reasons import Line, by_limit, checks_of, deciding
from synthdp.report.words import counted, is_number, listing, share

MOST_KEYS = 6


def learnt(content: ReportContent, *, told: Collection[str] = ()) -> str:
    """Return what an intruder who knows the keys finds: of the person easiest to find, on average, and when surest.

    Parameters
    ----------
    told
        Limits that are spoken of elsewhere: how often the surest claims are right is not said twice.

    Notes
    -----
    Own intruders of the user know other things and are left out. Without checks that say it, the figures of the copies
    themselves stand in.
    """
    gate = find(content.metrics, "gate") or {}
    open_ = [str(check.get("attack")) for check in checks_of(gate) if check.get("name") == UNDECIDED]
    judged = [str(name) for name in gate.get("keys") or ()]
    keys = judged or [column.name for column in content.comparison.schema.keys() if column.name not in open_] + open_
    if not keys:
        return "No column is marked as known to an intruder (key: true), so nobody was looked for."
    shown = keys if len(keys) <= MOST_KEYS else [*keys[: MOST_KEYS - 1], f"{len(keys) - MOST_KEYS + 1} more columns"]
    who = f"Somebody who knows {listing(shown)} about a person in the file finds that person's row"
    worst = _worst(gate)
    most, average = _most(worst, content.metrics), _average(worst, content.metrics)
    if most is None and average is None:
        return ""
    text = who
    if most is not None:
        text += f" with a probability of at most {share(most)} (the person easiest to find)"
        text += f", {share(average)} on average." if average is not None else "."
    elif average is not None:
        text += f" with a probability of {share(average)} on average."
    claims = _high(worst.get("max_claims_right"))
    if claims is not None and "max_claims_right" not in told:
        text += f" Of the claims they are surest of, at most {share(claims)} are right."
    releases = max((int(one.get("releases") or 0) for one in worst.values()), default=0)
    return text + (f" This counts {counted(releases, 'earlier release')} of the same data." if releases else "")


def _worst(gate: Line) -> dict[str, Line]:
    """Return of each limit the worst check of an intruder who knows the keys."""
    checks = [check for check in checks_of(gate) if not str(check.get("attack") or "").startswith(OWN)]
    found = {name: [one for one in some if deciding(one) is not None] for name, some in by_limit(checks).items()}
    return {name: max(some, key=lambda one: deciding(one) or 0.0) for name, some in found.items() if some}


def _high(check: Line | None) -> float | None:
    found = deciding(check) if check is not None else None
    return None if found is None else min(1.0, max(0.0, found))


def _most(worst: Mapping[str, Line], metrics: Mapping[str, Any]) -> float | None:
    if "max_individual" in worst:
        return _high(worst["max_individual"])
    return _measured(metrics, "max_individual")


def _average(worst: Mapping[str, Line], metrics: Mapping[str, Any]) -> float | None:
    if "max_mean_individual" in worst:
        return float(worst["max_mean_individual"]["value"])
    rate = worst.get("max_expected_match_rate")
    if rate is not None and "chance" in rate:
        # the limit is on what goes beyond chance; what happens to people is both
        chance = rate.get("chance")
        return max(0.0, float(rate["value"]) + (float(chance) if chance is not None and is_number(chance) else 0.0))
    return _measured(metrics, "mean_individual")


def _measured(metrics: Mapping[str, Any], key: str) -> float | None:
    found = [one.get(key) for one in identity_sections(find(metrics, "risk")).values()]
    return max((float(value) for value in found if value is not None and is_number(value)), default=None)
