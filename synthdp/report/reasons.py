"""Why the gate decided as it did, and what to paste to come within the limits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import DASH, counted, entries, find, is_number, listing, number
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.verdict import UNDECIDED, Check
from synthdp.report.words import answers_alone, attack_phrase, lowered, share

MOST_NAMED = 4
_TARGET = re.compile(r"attribute gain for (.+?) (?:[-\d.e]+[, ]|was not)")
_UNDECIDED = f"{UNDECIDED}: "

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Reason:
    """One limit that is not kept.

    Parameters
    ----------
    name
        The limit; ``undecided`` for columns on which nobody has decided; empty where only a sentence is known.
    sentence
        The worst figure with its interval and limit.
    by
        The intruder, or the analyses, that give it.
    also
        Others who pass over the same limit.
    useful
        Whether it is about usefulness, which does not refuse.
    brief
        The sentence without its interval, to stand behind a colon.
    """

    name: str
    sentence: str
    by: str = ""
    also: tuple[str, ...] = ()
    useful: bool = False
    brief: str = ""

    @property
    def beside(self) -> str:
        """Who found it, and who else, in brackets; of the others at most two by name."""
        if not self.by:
            return ""
        by, more = "" if self.useful else "by ", len(self.also) - 2
        named = [*self.also[:2], *([f"{more} more"] if more > 0 else [])]
        return f"({by}{self.by}{f'; also {by}{listing(named)}' if named else ''})"


def checks_of(gate: Line | None) -> list[Check]:
    """Return the checks that were made."""
    return [_check(one) for one in entries((gate or {}).get("checks"))]


def _check(one: Line) -> Check:
    """Return a check as metrics.json tells it; any figure may be missing, and even whether it passed."""
    figures = ("value", "limit", "low", "high", "chance")
    told: dict[str, Any] = {key: float(one[key]) if is_number(one.get(key)) else None for key in figures}
    told |= {"releases": int(one.get("releases") or 0), "earlier": str(one.get("earlier") or "")}
    told |= {"passed": one.get("passed"), "accepted": one.get("accepted")}
    return Check(name=str(one.get("name", "")), attack=str(one.get("attack") or ""), **told)


def verdict_of(gate: Line | None) -> str:
    """Return ``passed``, ``amber``, ``refused``, or ``open`` where nothing was judged."""
    said, passed = find(gate, "verdict"), find(gate, "passed")
    if said in ("passed", "amber", "refused", "open"):
        return str(said)
    return {True: "passed", False: "refused"}.get(passed, "open") if isinstance(passed, bool) else "open"


def by_limit(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Return the checks of each limit, the worst first; limits in the gate's order, undecided columns first."""
    order = [UNDECIDED, *LIMITS]
    names = dict.fromkeys(check.name for check in checks)
    ordered = sorted(names, key=lambda name: order.index(name) if name in order else len(order))
    return {name: sorted((check for check in checks if check.name == name), key=_badness) for name in ordered}


def _badness(check: Check) -> tuple[bool, float]:
    value, least = check.deciding, check.name.startswith("min_")
    # a figure that is missing and fails stands before those that are known
    return check.passed is not False, float("-inf") if value is None else value if least else -value


def reasons(gate: Line | None) -> tuple[Reason, ...]:
    """Return one reason for each limit that is not kept and was not accepted, risks first.

    Metrics of earlier versions, whose checks say less, are told by their own sentences.
    """
    gate = gate or {}
    sentences = [str(one) for one in gate.get("reasons") or ()]
    failed = [check for check in checks_of(gate) if check.passed is False and check.accepted is None]
    grouped = {name: some for name, some in by_limit(failed).items() if name in LIMITS or name == UNDECIDED}
    if not grouped or "verdict" not in gate:
        return tuple(Reason("", sentence) for sentence in sentences)
    return tuple(_reason(gate, name, some, sentences) for name, some in grouped.items())


def closest(gate: Line | None) -> str:
    """Return the risk that comes closest to its limit, of limits that are kept and not nought."""
    kept = [one for one in checks_of(gate) if one.passed is True and one.name in LIMITS and not one.useful]
    near = [(one.deciding / one.limit, tell(one)) for one in kept if one.deciding is not None and one.limit]
    return f"Closest to its limit: {lowered(max(reversed(near), key=lambda one: one[0])[1])}" if near else ""


def undecided_columns(gate: Line | None) -> list[tuple[str, str]]:
    """Return each column nobody has decided on, with what it gives away in one sentence."""
    found = [check.attack for check in checks_of(gate) if check.name == UNDECIDED and check.accepted is None]
    said = [str(one).removeprefix(_UNDECIDED) for one in (gate or {}).get("reasons") or ()]
    told = []
    for name in found:
        start = f"{name}. "
        question = next((text.removeprefix(start) for text in said if text.startswith(start)), "")
        # the question goes on with what can be decided, which the report and the notes have in full
        told.append((name, question.partition(". ")[0].partition("; ")[0].rstrip(".") + "." if question else ""))
    return told


def _reason(gate: Line, name: str, failed: Sequence[Check], sentences: Sequence[str]) -> Reason:
    if name == UNDECIDED:
        columns = [check.attack for check in failed]
        shown = columns[:MOST_NAMED] + ([f"{len(columns) - MOST_NAMED} more"] if len(columns) > MOST_NAMED else [])
        kept = "which is kept as it is" if len(columns) == 1 else "which are kept as they are"
        return Reason(name, f"Nobody has said whether an intruder may know {listing(shown)}, {kept}.")
    worst = failed[0]
    own = _who(worst)
    others = tuple(who for who in dict.fromkeys(_who(check) for check in failed[1:]) if who != own)
    sentence, brief = tell(worst, gate.get("not_measured")), ""
    if worst.value is not None:
        brief = f"{LIMITS[name].brief} {figure(name, worst.value, worst.limit)}, {_limit(worst)}"
    if name == "max_attribute_gain" and (target := _target(sentences)):
        sentence = sentence.replace("A sensitive value", f"The value of {target}", 1)
    return Reason(name, sentence, own, others, worst.useful, brief)


def _who(check: Check) -> str:
    if answers_alone(check.attack) and not check.useful:
        return ""
    if check.earlier:
        return f"{attack_phrase(check.attack)} with nothing but the earlier release of {check.earlier}"
    beside = f" with {counted(check.releases, 'earlier release')} beside" if check.releases else ""
    return attack_phrase(check.attack) + beside


def tell(check: Check, not_measured: Any = None) -> str:
    """Return a check as a sentence: what is found, how sure, and the limit."""
    words = LIMITS[check.name]
    if check.value is None:
        why = str(find(not_measured, check.attack) or "").rstrip(".")
        return f"{words.title}: not measured{f' ({why})' if why else ''}, which counts as not passed."
    sure = f"95% interval {span(check)}; " if check.high is not None else ""
    return f"{words.says.format(figure(check.name, check.value, check.limit))} ({sure}{_limit(check)})."


def _limit(check: Check) -> str:
    wanted = "none" if check.limit is None else figure(check.name, check.limit)
    return f"at least {wanted} wanted" if check.name.startswith("min_") else f"limit {wanted}"


def figure(name: str, value: float, limit: float | None = None) -> str:
    """Return a figure of a limit as people say it."""
    return share(value, limit=limit) if name in LIMITS and LIMITS[name].share else number(round(value, 10))


def span(check: Check) -> str:
    """Return the 95% interval of a check; a dash where there is none."""
    if check.high is None:
        return DASH
    top = figure(check.name, check.high, check.limit)
    if check.low is None:
        return f"up to {top}"
    # a risk is cut at zero, save where the figure itself lies below: an interval that begins above it would be absurd
    low = check.low if check.value is not None and check.value < 0 else max(0.0, check.low)
    return f"{figure(check.name, low)} to {top}"


def _target(sentences: Sequence[str]) -> str:
    found = (_TARGET.search(sentence) for sentence in sentences)
    return next((match[1].strip("'\"") for match in found if match), "")


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
    checks = checks_of(gate)
    now = {name: some[0] for name, some in by_limit(checks).items()}
    lines = [check for one in entries(found.get("risk")) if (check := _check(one)).name in LIMITS]
    over = [one for one in lines if one.name in now and now[one.name].passed is False]
    said = [_risk(one, now.get(one.name)) for one in over or lines[:2]]
    tried = f"Tried on draws of its own ({counted(int(trials), 'trial')})" if is_number(trials) and trials else "Tried"
    judged = EXPECTED.get(str(found.get("verdict")), str(found.get("verdict")))
    risk = f"; upper ends of the intervals: {'; '.join(said)}" if said else ""
    after = found.get("overlap")
    before = [check.value for check in checks if check.name == "min_overlap" and check.value is not None]
    change = (
        f"{f'{share(min(before))} → ' if before else ''}{share(float(after))}"
        if after is not None and is_number(after)
        else ""
    )
    return f"{tried}, {judged}{risk}.{f' Overlap of confidence intervals: {change}.' if change else ''}"


def _risk(after: Check, now: Check | None) -> str:
    said = [
        "not measured" if one.deciding is None else figure(one.name, one.deciding)
        for one in (now, after)
        if one is not None
    ]
    return f"{LIMITS[after.name].brief} {' → '.join(said)}"
