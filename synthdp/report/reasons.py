"""Why the gate decided as it did: of every limit that is passed over, the worst figure, in a sentence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.gate.limits import LIMITS
from synthdp.report.names import CHECKS, UNDECIDED, attack_title
from synthdp.report.words import counted, is_number, listing, number, share

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
    also
        Other intruders who pass over the same limit.
    useful
        Whether it is about usefulness, which does not refuse.
    """

    name: str
    sentence: str
    also: tuple[str, ...] = ()
    useful: bool = False

    @property
    def beside(self) -> str:
        """The other intruders, in brackets; at most two by name."""
        named = list(self.also[:2])
        more = len(self.also) - len(named)
        return f"(also by {listing([*named, f'{more} more'] if more else named)})" if named else ""


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
    grouped = {name: some for name, some in by_limit(failed).items() if name in CHECKS or name == UNDECIDED}
    if not grouped or "verdict" not in gate:
        return tuple(Reason("", sentence) for sentence in sentences)
    return tuple(_reason(gate, name, some, sentences) for name, some in grouped.items())


def undecided_columns(gate: Line | None) -> list[tuple[str, str]]:
    """Return each column nobody has decided on, with what it gives away in one sentence."""
    found = [str(c.get("attack")) for c in checks_of(gate) if c.get("name") == UNDECIDED and c.get("accepted") is None]
    said = [text.removeprefix(_UNDECIDED) for one in (gate or {}).get("reasons") or () if (text := str(one))]
    told = []
    for name in found:
        start = f"{name}. "
        question = next((text.removeprefix(start) for text in said if text.startswith(start)), "")
        told.append((name, question.partition(". ")[0].rstrip(".") + "." if question else ""))
    return told


def _reason(gate: Line, name: str, failed: Sequence[Line], sentences: Sequence[str]) -> Reason:
    if name == UNDECIDED:
        columns = [str(check.get("attack")) for check in failed]
        shown = columns[:MOST_NAMED] + ([f"{len(columns) - MOST_NAMED} more"] if len(columns) > MOST_NAMED else [])
        what = "a kept column" if len(columns) == 1 else "kept columns"
        return Reason(name, f"Nobody has said whether an intruder may know {listing(shown)}: {what}, as in the data.")
    worst = failed[0]
    also = [title for check in failed[1:] if (title := attack_title(str(check.get("attack"))))]
    own = attack_title(str(worst.get("attack")))
    others = tuple(title for title in dict.fromkeys(also) if title != own)
    sentence = tell(worst, gate.get("not_measured"))
    if name == "max_attribute_gain" and (target := _target(sentences)):
        sentence = sentence.replace("A sensitive value", f"The value of {target}", 1)
    return Reason(name, sentence, others, is_use(worst))


def tell(check: Line, not_measured: Any = None) -> str:
    """Return a check as a sentence: what is found, how sure, the limit, and by whom."""
    name, attack = str(check.get("name", "")), str(check.get("attack") or "")
    words, limit = CHECKS[name], check.get("limit")
    by = f"{'read from' if is_use(check) else 'intruder'}: {attack_title(attack).lower()}"
    if check.get("releases"):
        by += f", with {counted(int(check['releases']), 'earlier release')} beside"
    value, decides = check.get("value"), deciding(check)
    edge = float(limit) if limit is not None and is_number(limit) else None
    if decides is None or value is None:
        why = str((not_measured or {}).get(attack, "")).rstrip(".") if isinstance(not_measured, Mapping) else ""
        return f"{words.title}: not measured{f' ({why})' if why else ''}, which counts as not passed."
    text = f"{words.says.format(figure(name, float(value), edge))}; {_limit(check, edge)}"
    return f"{text} ({by})."


def figure(name: str, value: float, limit: float | None = None) -> str:
    """Return a figure of a limit as people say it."""
    return share(value, limit=limit) if name in CHECKS and CHECKS[name].share else number(round(value, 10))


def span(check: Line) -> str:
    """Return the 95% interval of a check; a dash where there is none."""
    low, high, name = check.get("low"), check.get("high"), str(check.get("name", ""))
    if not is_number(high) or high is None:
        return "–"
    limit = check.get("limit")
    edge = float(limit) if limit is not None and is_number(limit) else None
    top = figure(name, float(high), edge)
    return f"{figure(name, max(0.0, float(low)))} to {top}" if low is not None and is_number(low) else f"up to {top}"


def _limit(check: Line, edge: float | None) -> str:
    interval = span(check)
    least = str(check.get("name", "")).startswith("min_")
    wanted = figure(str(check.get("name")), edge) if edge is not None else "none"
    sure = f"95% interval {interval}, " if interval != "–" else ""
    return f"{sure}{'at least' if least else 'limit'} {wanted}{' is wanted' if least else ''}"


def _target(sentences: Sequence[str]) -> str:
    found = (_TARGET.search(sentence) for sentence in sentences)
    return next((match[1].strip("'\"") for match in found if match), "")
