"""The verdict in words for people who sign: what the gate said, why, and what their signature would mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from synthdp.evaluation.blocks import is_number, number
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.verdict import UNDECIDED, Check
from synthdp.report.decision import SIGNS
from synthdp.report.dossier.facts import LITTLE, Facts, shortened
from synthdp.report.reasons import by_limit, closest, next_step, reasons, tell
from synthdp.report.words import share

MOST_REASONS, MOST_ACCEPTED = 3, 3
# the caption of the table below names more
MOST_KEYS = 5
# those on which nobody has decided stand in the box at the top, too
MOST_WAITING = 3


@dataclass(frozen=True)
class Verdict:
    """What stands in the box at the top.

    Parameters
    ----------
    state
        ``passed``, ``amber``, ``refused`` or ``open``.
    headline
        The verdict in a line.
    meaning
        What became of the files, and what is asked of the reader.
    before_after
        What somebody who knows the keys could do before, and after; empty where that was not measured.
    reasons
        Why, a sentence each; of a file that passed, what came closest to its limit.
    accepted
        Of every limit that is not kept but was accepted: the worst figure, and the reason given; the first few.
    more
        How many others were accepted, which the evidence names.
    next_step
        What would help; empty where nothing needs help.
    look
        How the box looks: a risk that was accepted, an ε that says little, or a risk nobody judged is no plain pass.
    """

    state: str
    headline: str
    meaning: str
    before_after: str
    reasons: tuple[str, ...]
    accepted: tuple[tuple[str, str], ...]
    more: int
    next_step: str
    look: str

    @property
    def sign(self) -> str:
        """The sign of the verdict, for those who do not see its colour."""
        return SIGNS[self.look]


def verdict(facts: Facts, *, study: bool) -> Verdict:
    """Return the verdict of a run."""
    found = reasons(facts.gate)
    said = [_short(one.sentence, facts.waiting) for one in found]  # who found it is in the report
    more = len(said) - MOST_REASONS
    shown = [*said[:MOST_REASONS], *([f"And {more} more; see Evidence."] if more > 0 else [])]
    taken = accepted(facts)
    # of a refused run what was accepted matters less than what was not
    most = 1 if facts.state == "refused" else MOST_ACCEPTED
    near = closest(facts.gate) if facts.state == "passed" and not said and not taken else ""
    return Verdict(
        facts.state,
        _headline(facts, study=study),
        _meaning(facts, study=study),
        before_after(facts),
        tuple(shown or ([near] if near else [])),
        taken[:most],
        len(taken[most:]),
        _help(facts) if facts.state in ("refused", "amber") else "",
        _look(facts),
    )


def _short(sentence: str, names: Sequence[str]) -> str:
    """Return a sentence with the names of columns in it as the rest of the page has them."""
    for name in sorted(names, key=len, reverse=True):
        sentence = sentence.replace(name, shortened(name))
    return sentence


def _look(facts: Facts) -> str:
    if facts.state != "passed":
        return facts.state
    if accepted(facts):
        return "amber"
    if _judged(facts):
        return "passed"
    return "open" if facts.epsilon is None else "passed" if facts.epsilon <= math.log(LITTLE) else "amber"


def _judged(facts: Facts) -> bool:
    """Return whether any risk was held to a limit."""
    return any(not one.useful for one in facts.checks)


def accepted(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return every limit that was passed by name: its worst figure, and the reason that goes on record."""
    over = [check for check in facts.checks if check.accepted is not None]
    # of a limit the worst intruder speaks for all; every column that nobody decided on is a risk of its own
    found = [check for name, some in by_limit(over).items() for check in (some if name == UNDECIDED else some[:1])]
    found.sort(key=lambda check: check.name == UNDECIDED)  # a figure over its limit says more than that nobody decided
    return tuple((_over(check), str(check.accepted)) for check in found)


def _over(check: Check) -> str:
    if check.name == UNDECIDED:
        return f"{shortened(check.attack)} is published although nobody decided whether an intruder may know it."
    return tell(check) if check.name in LIMITS else f"{check.name}."


def _help(facts: Facts) -> str:
    """Return what would help; the lines to paste are for those who keep the settings."""
    step = next_step(facts.gate)
    if not step.change:
        return step.why
    return f"{step.why.rstrip(' :.')}. The lines for the settings, and what they would do, are in the report."


def _headline(facts: Facts, *, study: bool) -> str:
    taken = len(accepted(facts))
    if facts.state == "refused":
        return "Refused: these files may not be published" if not study else "The gate would refuse these files"
    if facts.state == "open":
        return "Not judged: nothing here says that the files may be published"
    if taken:
        which = "1 risk above its limit was" if taken == 1 else f"{number(taken)} risks above their limits were"
        little = ", and is of little use" if facts.state == "amber" else ""
        return f"May be published only because {which} accepted by name{little}"
    if not _judged(facts):
        promised = "May be published on its ε alone; no risk was held to a limit"
        return promised if facts.epsilon is not None else "Not judged: no limit on risk is set"
    if facts.state == "amber":
        return "May be published, but is of little use"
    return "May be published: every risk that was measured is within its limit"


def _meaning(facts: Facts, *, study: bool) -> str:
    if study:
        return "This was a study: nothing is published from it, whatever the verdict. There is nothing to sign."
    if facts.state == "refused":
        return (
            "No public files were written. Signing cannot release them; the settings, or the limits, must change first."
        )
    if facts.state == "open":
        return "Ask for a run that is judged before you sign."
    if facts.epsilon is None and not _judged(facts):
        return "The public files were written, but nothing judged their risk: that is left to those who sign below."
    if facts.state == "amber":
        return "The public files were written, but must not leave the house before both have signed below."
    return "The public files lie ready; they leave the house when both have signed below."


def before_after(facts: Facts) -> str:
    """Return in one sentence what somebody who knows the keys finds in the original and in the copies."""
    if not facts.key_names:
        return (
            "Nobody was looked for: no column is declared as known to an intruder (key: true). Whether people can be "
            "found in these files is for a person to answer."
        )
    check, before = facts.worst.get("max_expected_match_rate"), facts.before.get("expected_match")
    found = facts.of_copies("expected_match_rate")
    if check is not None and check.value is not None:
        found = max(0.0, check.value + (check.chance or 0.0))
    if found is None:
        return ""
    many = found * facts.records
    shown = number(round(many)) if many >= 10 else f"{many:.1f}".removesuffix(".0")
    after = f"about {shown}{{}} ({share(found)}) with the synthetic files."
    who = f"Somebody who knows a person's {facts.words(facts.key_names, MOST_KEYS)}, and that they are in the file,"
    if before is None or not is_number(before):
        return f"{who} finds {after.format(f' of {number(facts.records)} people')}"
    rate = share(float(before) / facts.records)
    was = f"{number(round(float(before)))} of {number(facts.records)} people ({rate}) in the confidential file"
    return f"{who} would find {was}, and finds {after.format('')}"


def undecided_sentence(facts: Facts) -> str:
    """Return which columns nobody has decided on; empty where there are none."""
    if not facts.waiting:
        return ""
    waiting = facts.words(facts.waiting, MOST_WAITING)
    return (
        f"Nobody has decided whether an intruder may know {waiting}; until then the figures count it as known, and "
        "nothing can be published."
    )
