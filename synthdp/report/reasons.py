"""Why the gate decided as it did, and what to paste to come within the limits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import counted, is_number, listing, number
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.report.words import UNDECIDED, answers_alone, attack_phrase, share

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
        named = list(self.also[:2])
        more = len(self.also) - len(named)
        also = (
            f"; also {'' if self.useful else 'by '}{listing([*named, f'{more} more'] if more else named)}"
            if named
            else ""
        )
        return f"({'' if self.useful else 'by '}{self.by}{also})"


def checks_of(gate: Line | None) -> list[Line]:
    """Return the checks that were made."""
    return [one for one in (gate or {}).get("checks") or () if isinstance(one, Mapping)]


def is_use(check: Line) -> bool:
    """Return whether a check is about usefulness."""
    name = str(check.get("name"))
    return name in LIMITS and LIMITS[name].judges == "use"


def verdict_of(gate: Line | None) -> str:
    """Return ``passed``, ``amber``, ``refused``, or ``open`` where nothing was judged."""
    said = (gate or {}).get("verdict")
    if said in ("passed", "amber", "refused"):
        return str(said)
    passed = (gate or {}).get("passed")
    return {True: "passed", False: "refused"}.get(passed, "open") if isinstance(passed, bool) else "open"


def deciding(check: Line) -> float | None:
    """Return the figure that was held against the limit: the upper end for a risk, else the mean."""
    found = check.get("high") if is_number(check.get("high")) and not is_use(check) else check.get("value")
    return float(found) if found is not None and is_number(found) else None


def by_limit(checks: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the checks of each limit, the worst first; limits in the gate's order, undecided columns first."""
    order = [UNDECIDED, *LIMITS]
    names = sorted(
        dict.fromkeys(str(check.get("name", "")) for check in checks),
        key=lambda name: order.index(name) if name in order else len(order),
    )
    return {name: sorted((c for c in checks if str(c.get("name", "")) == name), key=_badness) for name in names}


def _badness(check: Line) -> tuple[bool, float]:
    value = deciding(check)
    if value is None:  # a figure that is missing and fails stands before those that are known
        return check.get("passed") is not False, float("-inf")
    return check.get("passed") is not False, value if str(check.get("name", "")).startswith("min_") else -value


def reasons(gate: Line | None) -> tuple[Reason, ...]:
    """Return one reason for each limit that is not kept and was not accepted, risks first.

    Metrics of earlier versions, whose checks say less, are told by their own sentences.
    """
    gate = gate or {}
    sentences = [str(one) for one in gate.get("reasons") or ()]
    failed = [c for c in checks_of(gate) if c.get("passed") is False and c.get("accepted") is None]
    grouped = {name: some for name, some in by_limit(failed).items() if name in LIMITS or name == UNDECIDED}
    if not grouped or "verdict" not in gate:
        return tuple(Reason("", sentence) for sentence in sentences)
    return tuple(_reason(gate, name, some, sentences) for name, some in grouped.items())


def closest(gate: Line | None) -> str:
    """Return the risk that comes closest to its limit, of limits that are kept and not nought."""
    risks = [c for c in checks_of(gate) if not is_use(c) and c.get("passed") is True and c.get("name") in LIMITS]
    ratios = [
        (found / float(c["limit"]), place)
        for place, c in enumerate(risks)
        if (found := deciding(c)) is not None and is_number(c.get("limit")) and c["limit"] > 0
    ]
    return f"Closest to its limit: {_lowered(tell(risks[max(ratios)[1]]))}" if ratios else ""


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def undecided_columns(gate: Line | None) -> list[tuple[str, str]]:
    """Return each column nobody has decided on, with what it gives away in one sentence."""
    found = [str(c.get("attack")) for c in checks_of(gate) if c.get("name") == UNDECIDED and c.get("accepted") is None]
    said = [text.removeprefix(_UNDECIDED) for one in (gate or {}).get("reasons") or () if (text := str(one))]
    told = []
    for name in found:
        start = f"{name}. "
        question = next((text.removeprefix(start) for text in said if text.startswith(start)), "")
        # the question goes on with what can be decided, which the report and the notes have in full
        told.append((name, question.partition(". ")[0].partition("; ")[0].rstrip(".") + "." if question else ""))
    return told


def _reason(gate: Line, name: str, failed: Sequence[Line], sentences: Sequence[str]) -> Reason:
    if name == UNDECIDED:
        columns = [str(check.get("attack")) for check in failed]
        shown = columns[:MOST_NAMED] + ([f"{len(columns) - MOST_NAMED} more"] if len(columns) > MOST_NAMED else [])
        kept = "which is kept as it is" if len(columns) == 1 else "which are kept as they are"
        return Reason(name, f"Nobody has said whether an intruder may know {listing(shown)}, {kept}.")
    worst = failed[0]
    own = _who(worst)
    others = tuple(who for who in dict.fromkeys(_who(check) for check in failed[1:]) if who != own)
    sentence = tell(worst, gate.get("not_measured"))
    if name == "max_attribute_gain" and (target := _target(sentences)):
        sentence = sentence.replace("A sensitive value", f"The value of {target}", 1)
    return Reason(name, sentence, own, others, is_use(worst), _brief(worst))


def _who(check: Line) -> str:
    attack = str(check.get("attack") or "")
    if answers_alone(attack) and not is_use(check):
        return ""
    releases = int(check.get("releases") or 0)
    if check.get("earlier"):
        return f"{attack_phrase(attack)} with nothing but the earlier release of {check['earlier']}"
    beside = f" with {counted(releases, 'earlier release')} beside" if releases else ""
    return attack_phrase(attack) + beside


def tell(check: Line, not_measured: Any = None) -> str:
    """Return a check as a sentence: what is found, how sure, and the limit."""
    words, value = LIMITS[str(check.get("name", ""))], check.get("value")
    if deciding(check) is None or value is None:
        attack = str(check.get("attack") or "")
        why = str(not_measured.get(attack, "")).rstrip(".") if isinstance(not_measured, Mapping) else ""
        return f"{words.title}: not measured{f' ({why})' if why else ''}, which counts as not passed."
    interval = span(check)
    sure = f"95% interval {interval}; " if interval != "–" else ""
    return f"{words.says.format(_value(check))} ({sure}{_limit(check)})."


def _brief(check: Line) -> str:
    """Return the sentence without interval, to stand behind a colon."""
    if not is_number(check.get("value")):
        return ""
    said = LIMITS[str(check.get("name"))].brief
    return f"{said} {_value(check)}, {_limit(check)}"


def _edge(check: Line) -> float | None:
    limit = check.get("limit")
    return float(limit) if limit is not None and is_number(limit) else None


def _value(check: Line) -> str:
    return figure(str(check.get("name")), float(check["value"]), _edge(check))


def _limit(check: Line) -> str:
    edge = _edge(check)
    wanted = figure(str(check.get("name")), edge) if edge is not None else "none"
    return f"at least {wanted} wanted" if str(check.get("name", "")).startswith("min_") else f"limit {wanted}"


def figure(name: str, value: float, limit: float | None = None) -> str:
    """Return a figure of a limit as people say it."""
    return share(value, limit=limit) if name in LIMITS and LIMITS[name].share else number(round(value, 10))


def span(check: Line) -> str:
    """Return the 95% interval of a check; a dash where there is none."""
    low, high, name = check.get("low"), check.get("high"), str(check.get("name", ""))
    if not is_number(high) or high is None:
        return "–"
    top = figure(name, float(high), _edge(check))
    if low is None or not is_number(low):
        return f"up to {top}"
    # a risk is cut at zero, save where the figure itself lies below: an interval that begins above it would be absurd
    below = is_number(check.get("value")) and float(check["value"]) < 0
    return f"{figure(name, float(low) if below else max(0.0, float(low)))} to {top}"


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
    now = {name: some[0] for name, some in by_limit(checks_of(gate)).items()}
    lines = [one for one in found.get("risk") or () if isinstance(one, Mapping) and one.get("name") in LIMITS]
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
    return f"{LIMITS[name].brief} {before}{said(line)}"


def _overlap(after: float, checks: Sequence[Line]) -> str:
    found = [
        float(c["value"]) for c in checks if is_use(c) and c.get("name") == "min_overlap" and is_number(c["value"])
    ]
    return f"Overlap of confidence intervals: {f'{share(min(found))} → ' if found else ''}{share(after)}."
