"""The gate's advice in words: why, what to paste, and what it is expected to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.report.names import CHECKS
from synthdp.report.reasons import Line, by_limit, checks_of, deciding, figure, is_use, verdict_of
from synthdp.report.words import counted, is_number, share

EXPECTED = {"passed": "it passes", "amber": "it passes, but is of little use", "refused": "it is still refused"}
STANDING: Mapping[str, str] = {
    "passed": "Read what is below the box, then sign at the end of this page.",
    "amber": (
        "Decide whether files of so little use are worth publishing. Narrower masks, more copies, or a model that sees "
        "these relations make them more useful, as far as the risk allows."
    ),
    "refused": (
        "Change what the reasons name: wider masks, coarser or replaced kept columns, fewer copies, another model. A "
        "risk can also be accepted by name and with a reason (--accept-risk); it then goes on record."
    ),
    "open": "Run the gate before anything is published.",
}


@dataclass(frozen=True)
class NextStep:
    """What to do now.

    Parameters
    ----------
    why
        What is to blame and what to do, in sentences.
    change
        Lines of the config to paste; empty where there are none.
    expected
        What the change does to risk and usefulness, as far as it was tried.
    """

    why: str
    change: str = ""
    expected: str = ""


def next_step(gate: Line | None) -> NextStep:
    """Return what the gate advises; where it advises nothing, what a person does with such a verdict."""
    gate = gate or {}
    verdict, given = verdict_of(gate), gate.get("advice")
    if isinstance(given, Mapping) and given.get("why"):
        change = str(given.get("change") or "").rstrip("\n")
        return NextStep(str(given["why"]), change, _expected(gate, given))
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        return NextStep(" ".join(str(line) for line in given))
    if verdict == "passed" and gate.get("accepted"):
        return NextStep("Read which risks were accepted, and why, before you sign at the end of this page.")
    return NextStep(STANDING[verdict])


def _expected(gate: Line, given: Mapping[str, Any]) -> str:
    found = given.get("expected")
    trials = given.get("trials")
    if not isinstance(found, Mapping):
        if not given.get("change"):
            return ""
        return "Not tried out: the next run says what it does to risk and usefulness."
    now = {name: some[0] for name, some in by_limit(checks_of(gate)).items()}
    lines = [one for one in found.get("risk") or () if isinstance(one, Mapping) and one.get("name") in CHECKS]
    over = [one for one in lines if is_over(now.get(str(one["name"])))]
    said = [_risk(one, now.get(str(one["name"]))) for one in over or lines[:2]]
    tried = f"Tried on draws of its own ({counted(int(trials), 'trial')})" if is_number(trials) and trials else "Tried"
    judged = EXPECTED.get(str(found.get("verdict")), str(found.get("verdict")))
    risk = f"; upper ends of the intervals: {'; '.join(said)}" if said else ""
    overlap = found.get("overlap")
    use = f" {_overlap(float(overlap), checks_of(gate))}" if overlap is not None and is_number(overlap) else ""
    return f"{tried}, {judged}{risk}.{use}"


def is_over(check: Line | None) -> bool:
    """Return whether a check went over its limit."""
    return check is not None and check.get("passed") is False


def _risk(line: Mapping[str, Any], now: Line | None) -> str:
    name = str(line["name"])

    def said(one: Mapping[str, Any]) -> str:
        found = deciding(one)
        return "not measured" if found is None else figure(name, found)

    before = f"{said(now)} → " if now is not None else ""
    return f"{CHECKS[name].brief} {before}{said(line)}"


def _overlap(after: float, checks: Sequence[Line]) -> str:
    found = [
        float(c["value"]) for c in checks if is_use(c) and c.get("name") == "min_overlap" and is_number(c["value"])
    ]
    return f"Overlap of confidence intervals: {f'{share(min(found))} → ' if found else ''}{share(after)}."
