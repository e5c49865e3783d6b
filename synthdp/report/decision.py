"""What the signatory sees first.

Verdict, reasons, next step, what could be learnt of a person, and how sure all that is.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from synthdp.evaluation.blocks import DASH, NOT_COMPUTED, Table, counted, find, is_number, listing, number
from synthdp.evaluation.gate.verdict import UNDECIDED, Check
from synthdp.evaluation.measures.found import largest
from synthdp.report import ReportContent
from synthdp.report.reasons import (
    Line,
    NextStep,
    Reason,
    by_limit,
    checks_of,
    closest,
    figure,
    next_step,
    reasons,
    span,
    verdict_of,
)
from synthdp.report.words import OWN, attack_title, check_title, share

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
    open_ = [check.attack for check in checks_of(gate) if check.name == UNDECIDED]
    judged = [str(name) for name in gate.get("keys") or ()]
    keys = judged or [column.name for column in content.comparison.schema.keys() if column.name not in open_] + open_
    if not keys:
        return "No column is marked as known to an intruder (key: true), so nobody was looked for."
    shown = keys if len(keys) <= MOST_KEYS else [*keys[: MOST_KEYS - 1], f"{len(keys) - MOST_KEYS + 1} more columns"]
    who = f"Somebody who knows {listing(shown)} about a person in the file finds that person's row"
    worst = _worst(gate)
    most, average = _most(content, worst), _average(content, worst)
    if most is None and average is None:
        return ""
    chances = [f"of at most {share(most)} (the person easiest to find)"] if most is not None else []
    chances += [f"{'' if chances else 'of '}{share(average)} on average"] if average is not None else []
    text = f"{who} with a probability {', '.join(chances)}."
    if "max_claims_right" in worst and "max_claims_right" not in told:
        text += f" Of the claims they are surest of, at most {share(_high(worst['max_claims_right']))} are right."
    releases = max((one.releases for one in worst.values()), default=0)
    return text + (f" This counts {counted(releases, 'earlier release')} of the same data." if releases else "")


def _worst(gate: Line) -> dict[str, Check]:
    """Return of each limit the worst check of an intruder who knows the keys."""
    known = [one for one in checks_of(gate) if one.deciding is not None and not one.attack.startswith(OWN)]
    return {name: max(some, key=lambda one: one.deciding or 0.0) for name, some in by_limit(known).items()}


def _high(check: Check) -> float:
    return min(1.0, max(0.0, check.deciding or 0.0))


def _most(content: ReportContent, worst: Mapping[str, Check]) -> float | None:
    if "max_individual" in worst:
        return _high(worst["max_individual"])
    return largest(find(content.metrics, "risk"), "max_individual")


def _average(content: ReportContent, worst: Mapping[str, Check]) -> float | None:
    if "max_mean_individual" in worst:
        return worst["max_mean_individual"].value
    rate = worst.get("max_expected_match_rate")
    if rate is not None and rate.value is not None and find(content.metrics, "gate", "verdict") is not None:
        # the limit is on what goes beyond chance; what happens to people is both
        return max(0.0, rate.value + (rate.chance or 0.0))
    return largest(find(content.metrics, "risk"), "mean_individual")


MOST_REASONS = 3
SIGNS: Mapping[str, str] = {"passed": "✔", "amber": "▲", "refused": "✘", "open": "?"}
HEAD = ("Check", "Intruder", "Value", "95% interval", "Limit", "Result")


@dataclass(frozen=True)
class Answer:
    """Safe? Useful? ``state`` is ``yes``, ``no`` or ``open``, and the sign says it again."""

    question: str
    word: str
    note: str
    state: str

    @property
    def sign(self) -> str:
        """A sign that tells the answers apart without colour."""
        return {"yes": "✔", "no": "✘"}.get(self.state, "?")


@dataclass(frozen=True)
class Decision:
    """The gate's decision in words, with the checks behind it.

    Parameters
    ----------
    state
        ``passed``, ``amber``, ``refused`` or ``open``.
    reasons, more
        The worst of each limit that is not kept: the first few, and the others.
    facts
        How often these data were tried, over how many draws the mechanism was judged, how sure that is.
    worst, checks
        The worst check of every limit, and all of them; None where there are none (or no more).
    """

    state: str
    headline: str
    explanation: str
    answers: tuple[Answer, ...]
    learnt: str
    reasons: tuple[Reason, ...]
    more: tuple[Reason, ...]
    next_step: NextStep
    facts: tuple[str, ...]
    worst: Table | None
    checks: Table | None
    accepted: tuple[tuple[str, str], ...] = ()

    @property
    def sign(self) -> str:
        """The sign of the verdict, for those who do not see its colour."""
        return SIGNS[self.state]


def decision(content: ReportContent) -> Decision:
    """Return what the gate decided and on what grounds."""
    gate = find(content.metrics, "gate") or {}
    state, checks, found = verdict_of(gate), checks_of(gate), reasons(gate)
    accepted = tuple((str(one.get("risk")), str(one.get("reason"))) for one in gate.get("accepted") or ())
    if state == "amber":  # what makes it amber stands first
        found = tuple(sorted(found, key=lambda one: not one.useful))
    if state == "passed" and not found and (near := closest(gate)):
        found = (Reason("", near),)
    worst, every = tables(checks)
    return Decision(
        state=state,
        headline=_headline(state, found, bool(accepted), judged=bool(checks) or "checks" not in gate),
        explanation=_explanation(content, state, checks, bool(accepted)),
        answers=answers(gate) if state != "open" else (),
        learnt=learnt(content, told={one.name for one in found}) if state != "open" else "",
        reasons=found[:MOST_REASONS],
        more=found[MOST_REASONS:],
        next_step=next_step(gate),
        facts=(*_attempts(gate), *_promise(content), *(_basis(gate) if checks or "checks" not in gate else ())),
        worst=worst,
        checks=every,
        accepted=accepted,
    )


def answers(gate: Line) -> tuple[Answer, Answer]:
    """Return whether the files are safe, and whether they are useful."""
    checks = checks_of(gate)
    risks, use = [one for one in checks if not one.useful], [one for one in checks if one.useful]
    limits = len({one.name for one in risks} - {UNDECIDED})
    if verdict_of(gate) == "refused":
        over = {one.name for one in risks if one.passed is False and one.accepted is None}
        missed = len(over - {UNDECIDED})
        note = [f"{missed} of {counted(limits, 'limit')} not kept"] if missed else []
        note += ["columns undecided"] if UNDECIDED in over else []
        safe = Answer("Safe?", "No", "; ".join(note), "no")
    elif gate.get("accepted") or any(one.accepted is not None for one in risks):
        safe = Answer("Safe?", "Accepted", "above a limit, signed for", "open")
    elif not limits and isinstance(gate.get("checks"), Sequence):
        # the gate let it pass because nobody asked it anything
        safe = Answer("Safe?", "Not judged", "no limit is set", "open")
    else:
        within = "within its limit" if limits == 1 else f"within all {limits} limits"
        safe = Answer("Safe?", "Yes", within if limits else "", "yes")
    if not use:
        return safe, Answer("Useful?", "Not judged", "", "open")
    overlaps = [one.value for one in use if one.name == "min_overlap" and one.value is not None]
    overlap = f"overlap {share(min(overlaps))}" if overlaps else ""
    failed = any(one.passed is False for one in use)
    return safe, Answer("Useful?", "Little" if failed else "Yes", overlap, "no" if failed else "yes")


def _headline(state: str, found: Sequence[Reason], accepted: bool, *, judged: bool) -> str:
    if state == "amber":
        brief = next((one.brief for one in found if one.useful), "")
        said = f": {brief}" if brief else ""
        return f"May be published, but is of little use{said}"
    if state == "passed" and not judged:
        return "Passed: no limit is set, so the release gate had nothing to judge"
    if state == "passed" and accepted:
        return "Passed by override: risks above the limits were accepted by name"
    return {
        "passed": "Passed: these files may be released",
        "refused": "Refused: these files may not be released",
    }.get(state, "Not judged: the release gate was not run")


def _explanation(content: ReportContent, state: str, checks: Sequence[Check], accepted: bool) -> str:
    failed = [one for one in checks if one.passed is False and not (state == "amber" and one.useful)]
    over = sum(one.value is not None for one in failed)
    many = counted(len(checks), "check")
    if state in ("passed", "amber") and accepted:
        return f"{number(over)} of {many} went over the limit; this was accepted by name."
    if state == "passed":
        return f"All {many} stayed within the limits." if checks else ""
    if state == "amber":
        return "Every risk stayed within its limit."
    if state == "open":
        return "No verdict was computed, so nothing here says that the files may be published."
    said = f"{number(over)} of {many} went over the limit. " if over else ""
    undecided = sum(one.name == UNDECIDED for one in failed)
    unmeasured = len(failed) - over - undecided
    said += f"{counted(unmeasured, 'check')} could not be run, which counts as not passed. " if unmeasured else ""
    if content.method == "external":
        return said + "They should not be published as they are."
    return said + "Nothing may be published from this run; no public files were written."


def _attempts(gate: Line) -> tuple[str, ...]:
    told = gate.get("attempts")
    if isinstance(told, Sequence) and not isinstance(told, str) and told:
        return tuple(str(one) for one in told)
    attempt = gate.get("attempt")
    return (f"Attempt {number(attempt)} on these data.",) if is_number(attempt) else ()


def _promise(content: ReportContent) -> tuple[str, ...]:
    """Return the ε of the whole release, which is what speaks for a release that no limit judges."""
    epsilon = (find(content.metrics, "privacy") or {}).get("epsilon")
    return (f"Differentially private with ε = {number(epsilon)} (see What is promised).",) if is_number(epsilon) else ()


def _basis(gate: Line) -> tuple[str, ...]:
    draws = gate.get("draws")
    if gate.get("basis") == "draws" and draws == 0:
        return ("Nothing was drawn for the verdict: the kept columns have to be decided first.",)
    if gate.get("basis") == "draws" and is_number(draws):
        return (
            f"Judged over {counted(int(draws or 0), 'draw')} of the mechanism, none of which is published; figures are "
            "means, and the upper end of the 95% interval decides.",
        )
    if gate.get("basis") == "copies":
        return ("Judged by these files as they are: one draw, so no interval says how sure the figures are.",)
    return ()


def tables(checks: Sequence[Check]) -> tuple[Table | None, Table | None]:
    """Return the worst check of every limit, and all checks where there are more."""
    grouped = by_limit(checks)
    if not grouped:
        return None, None
    caption = "What the gate checked: for every limit, the intruder who comes closest or goes furthest beyond"
    first = Table(caption, HEAD, tuple(_row(some[0], len(some)) for some in grouped.values()), "llrrrl")
    if len(checks) == len(grouped):
        return first, None
    rows = tuple(_row(one) for some in grouped.values() for one in some)
    return first, Table("All checks by limit, the worst first", HEAD, rows, "llrrrl")


def _row(check: Check, of: int = 1) -> tuple[str, ...]:
    def said(one: float | None) -> str:
        if check.name == UNDECIDED or one is None:
            return DASH if check.name == UNDECIDED else NOT_COMPUTED
        return figure(check.name, one, check.limit)

    missed = "✘ not measured" if check.value is None else "✘ under" if check.name.startswith("min_") else "✘ over"
    missed = "✘ undecided" if check.name == UNDECIDED else missed.replace("✘", "▲") if check.useful else missed
    missed += ", accepted" if check.accepted is not None else ""
    result = "✔ within" if check.passed is True else missed if check.passed is False else NOT_COMPUTED
    named = attack_title(check.attack)
    if check.earlier:
        named += f", the earlier release of {check.earlier} alone"
    elif check.releases:
        named += f", with {counted(check.releases, 'earlier release')}"
    named += f" (worst of {of})" if of > 1 else ""
    return check_title(check.name), named, said(check.value), span(check), said(check.limit), result
