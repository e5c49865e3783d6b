"""The few numbers a person wants to see first."""

from collections.abc import Iterator, Mapping
from typing import Any

from synthdp.evaluation.assessment import skipped_of
from synthdp.evaluation.blocks import DASH, listing
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.verdict import UNDECIDED
from synthdp.report.decision import answers
from synthdp.report.reasons import next_step, reasons, undecided_columns, verdict_of

SETTLED = 4.0
MOST_REASONS, MOST_ASKED = 6, 3
GATE = {"passed": "passed", "amber": "passed, but of little use (amber)", "refused": "REFUSED", "open": "not judged"}
_ATTACKS = {
    "original": "found in the original file",
    "identity": "found in the copies",
    "identity_averaged": "found in the copies averaged",
}


def rows(metrics: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return label and value of each line of the summary table."""
    utility, risk = metrics["utility"], metrics["risk"]
    return (*_utility(utility), *_risk(risk), *_skipped(utility, risk), *_gate(metrics["gate"]))


def _skipped(utility: Mapping[str, Any], risk: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = [*skipped_of(utility), *skipped_of(risk), *skipped_of(risk.get("intruders") or {})]
    if names:
        yield "skipped, over evaluation.budget", ", ".join(names)


def _utility(utility: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    analyses = utility.get("analyses") or ()
    for analysis in () if isinstance(analyses, Mapping) else analyses:  # a mapping says why there are none
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
    yield "release gate", GATE[verdict_of(gate)]
    for line in why(gate):
        yield "", line
    if tuned := gate.get("tuned"):
        kept = {True: "kept", False: "NOT kept"}.get(tuned["kept"], "cannot be said")
        beside = [f" ({name} {found}, promised {before})" for name, before, found, _ in promised(tuned)[:1]]
        yield "what tune promised", "".join((kept, *beside))


def promised(tuned: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return of every figure what was promised, what was found, and the limit: the overlap, then the nearest to it."""

    def near(one: Mapping[str, Any]) -> float:
        return float("inf") if one["limit"] is None else (one["found"] or 0.0) / one["limit"] if one["limit"] else 0.0

    lines = []
    for one in sorted(tuned.get("figures") or (), key=near, reverse=True):
        limit = LIMITS.get(one["name"])
        form = ".1%" if limit is None or limit.share else ".3g"
        told = "overlap" if limit is None else limit.brief
        bound = DASH if one["limit"] is None else f"{one['limit']:{form}}"
        lines.append((told, f"{one['promised']:{form}}", f"{one['found']:{form}}", bound))
    return lines


def headline(gate: Mapping[str, Any], *, published: bool) -> str:
    """Return the line that comes first: is it safe, is it useful, and what came of it.

    Examples
    --------
    >>> headline({"passed": False}, published=False)
    'safe: no · useful: not judged · refused, nothing was published'
    """
    safe, useful = answers(gate)
    files = gate.get("basis") == "copies"
    came = {
        "refused": "refused: not to be published as they are" if files else "refused, nothing was published",
        "amber": "amber: published, but of little use" if published else "amber: may be published, but of little use",
        "passed": "passed and published" if published else "passed",
    }.get(verdict_of(gate), "not judged")
    words = [one.state if one.state in ("yes", "no") else one.word.lower() for one in (safe, useful)]
    figure = f" ({useful.note})" if useful.note else ""
    return f"safe: {words[0]} · useful: {words[1]}{figure} · {came}"


def why(gate: Mapping[str, Any]) -> list[str]:
    """Return the reasons, one for each limit and for each undecided column; the report has those beyond six."""
    lines: list[str] = []
    found = list(reasons(gate))
    for reason in found:
        if reason.name == UNDECIDED:
            columns = undecided_columns(gate)
            lines += [f"undecided: may an intruder know {name}? {told}".rstrip() for name, told in columns[:MOST_ASKED]]
            if rest := [name for name, _ in columns[MOST_ASKED:]]:
                lines.append(f"undecided, too: {listing(rest)}.")
            if len(found) > 1:  # else the few people found above and the many found below contradict each other
                lines[-1] += " Until that is decided, the gate counts them as known; the figures above do not."
        else:
            lines.append(f"{reason.sentence} {reason.beside}".rstrip())
    more = len(lines) - MOST_REASONS
    return [*lines[:MOST_REASONS], f"and {more} more in the report"] if more > 1 else lines


def advice(gate: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return what would help, line by line; True marks lines of the config, which must not be wrapped."""
    given = gate.get("advice")
    if isinstance(given, list | tuple):
        return [(f"What would help: {line}", False) for line in given]
    if not given:
        return []
    step = next_step(gate)
    lines = [(f"What would help: {step.why}", False)]
    lines += [(line, True) for line in step.change.splitlines()]
    return [*lines, (step.expected, False)] if step.expected else lines


def notes_on(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Return what the signatory should know of the numbers, in sentences."""
    repair = metrics["risk"].get("repair")
    if repair:
        for name, label in _ATTACKS.items():
            before = repair["before"].get(name)
            if name != "original" and before and "expected_match" in before:
                yield (
                    f"Repair changed {repair['records']} records; before it, people {label}: "
                    f"{before['expected_match']:.1f} expected, {before['true_match']} as the only best match. That no "
                    "true match is left after repair is by construction, not a finding."
                )
    chain = metrics.get("chain", ())
    moving = [row["column"] for row in chain if row.get("drift", 0.0) > SETTLED]
    if moving:
        yield f"The chain had not settled for {', '.join(moving)}: raise synthesis.sweeps."
    for row in chain:
        if "left_out" in row:
            yield f"The model does not see {row['column']}: {row['left_out']}."
        if "min_leaf" in row:
            yield f"Leaves have at least {row['min_leaf']} donors: the fewest with which hardly anybody is memorised."
        if "by" in row:
            yield (
                f"Values were dealt by {row['by']}, the column most like an area: two-way tables of it are nearly "
                "those of the file. synthesis.model.by: false prevents that."
            )
        if "approximation" in row:
            yield f"The posterior of {row['column']} is an approximation: {row['approximation']}."
