"""What somebody who knows a person could learn, before and after: the heart of the first page."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from synthdp.evaluation.blocks import DASH, find, is_number, number
from synthdp.evaluation.gate.verdict import Check
from synthdp.report.dossier.facts import LITTLE, Facts
from synthdp.report.words import share

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Row:
    """One question in plain words: the answer for the original, for the copies, the limit, and how that stands.

    ``state`` is ``within``, ``over``, ``accepted`` or ``open``; the sign says it again for those who see no colour.
    """

    question: str
    before: str
    after: str
    limit: str
    state: str = "open"

    @property
    def sign(self) -> str:
        """A sign and a word for the state."""
        return {"within": "✔ within", "over": "✘ over", "accepted": "▲ over, accepted"}.get(self.state, DASH)


def rows(facts: Facts) -> tuple[Row, ...]:
    """Return the questions of the first page; none where no column is known to an intruder."""
    if not facts.key_names:
        return ()
    return (_found(facts), _easiest(facts), _surest(facts), *_learnt(facts))


def _found(facts: Facts) -> Row:
    records, before = facts.records, facts.before.get("expected_match")
    check = facts.worst.get("max_expected_match_rate")

    def people(rate: float) -> str:
        return f"{_few(rate * records)} of {number(records)} ({share(rate)})"

    if check is None or check.value is None:
        rate = facts.of_copies("expected_match_rate")
        after = f"{people(rate)} in the copies made" if rate is not None else NOT_MEASURED
    else:
        chance = check.chance or 0.0
        after = f"at most {people(min(1.0, max(0.0, _high(check) + chance)))}"
        after += f"; a blind guess finds {_few(chance * records)}" if chance else ""
    limit = "no limit set"
    if check is not None and check.limit is not None:
        limit = f"{_few(check.limit * records)} ({share(check.limit)}) beyond blind guessing"
    return Row(
        "How many people would they find?",
        f"{_few(float(before))} of {number(records)} ({share(float(before) / records)})"
        if is_number(before) and before is not None
        else NOT_MEASURED,
        after,
        limit,
        _state(check),
    )


def _easiest(facts: Facts) -> Row:
    before, certain = facts.before.get("max_individual"), facts.before.get("true_match")
    said = share(float(before)) if before is not None and is_number(before) else NOT_MEASURED
    if is_number(certain) and certain:
        said = f"certain, for {number(certain)} people"
    return Row(
        "How likely is the person easiest to find to be found?",
        said,
        _after(facts, "max_individual", lambda: facts.of_copies("max_individual")),
        _limit(facts, "max_individual"),
        _state(facts.worst.get("max_individual")),
    )


def _surest(facts: Facts) -> Row:
    certain = facts.before.get("true_match")
    return Row(
        "When they are surest of having found somebody, how often are they right?",
        "always" if is_number(certain) and certain else NOT_MEASURED,
        _after(facts, "max_claims_right", lambda: None),
        _limit(facts, "max_claims_right"),
        _state(facts.worst.get("max_claims_right")),
    )


def _learnt(facts: Facts) -> tuple[Row, ...]:
    check = facts.worst.get("max_attribute_gain")
    if check is None or check.value is None:
        return ()
    what = f" ({facts.words(facts.targets, 4)})" if facts.targets else ""
    return (
        Row(
            f"How much better do they guess what they did not know{what} because the person is in the file?",
            DASH,
            f"right at most {_points(max(0.0, _high(check)), check.limit)} more often",
            _points(check.limit) if check.limit is not None else "no limit set",
            _state(check),
        ),
    )


def _after(facts: Facts, name: str, else_: Callable[[], float | None]) -> str:
    check = facts.worst.get(name)
    if check is not None and check.value is not None:
        high = min(1.0, max(0.0, _high(check)))
        return "certain" if high == 1.0 else f"at most {share(high, limit=check.limit)}"
    found = else_() if check is None else None
    return f"{share(found)} in the copies made" if found is not None else NOT_MEASURED


def _limit(facts: Facts, name: str) -> str:
    check = facts.worst.get(name)
    return share(check.limit) if check is not None and check.limit is not None else "no limit set"


def _high(check: Check) -> float:
    return check.deciding if check.deciding is not None else math.inf


def _state(check: Check | None) -> str:
    if check is None or check.passed is None:
        return "open"
    if check.passed:
        return "within"
    return "accepted" if check.accepted is not None else "over"


def _few(people: float) -> str:
    """Return a number of people: a decimal for few, where it says something, and none for many."""
    return number(round(people)) if people >= 10 else f"{people:.1f}".removesuffix(".0")


def _points(gain: float, limit: float | None = None) -> str:
    """Return a difference of shares: 3.6 points are not 3.6 percent more."""
    return f"{share(gain, limit=limit).removesuffix('%')} percentage points"


def promise(facts: Facts) -> str:
    """Return what holds beyond the intruders that were tried: an ε where there is one, in plain words."""
    if facts.epsilon is not None:
        factor = math.exp(min(facts.epsilon, 700.0))
        adjacency = find(facts.content.metrics, "privacy", "adjacency")
        delta = find(facts.content.metrics, "privacy", "delta")
        rare = f", save in about 1 case of {number(round(1 / delta))}" if is_number(delta) and delta else ""
        shown = f"{factor:,.1f}" if factor < LITTLE else f"{number(factor)}"
        other = "not been in the file" if adjacency == "add_remove" else "been any other"
        said = (
            f"The release is differentially private with ε = {number(facts.epsilon)}. Whatever somebody knows or does: "
            f"had one record {other}, everything they see would have been as likely, up to a factor of {shown}{rare}."
        )
        return said if factor <= LITTLE else f"{said} So large a factor promises little."
    said = (
        "These are measurements, not a proof (no ε is claimed): they hold for the intruders that were tried. Somebody "
        "who knows more, or other things, may find more."
    )
    withdrawn = find(facts.content.metrics, "privacy", "statement")
    return f"{withdrawn} {said}" if withdrawn else said


def basis(facts: Facts) -> str:
    """Return how the two columns of figures were made."""
    before = "Confidential file: found within the margins above; whoever knows the values exactly finds more."
    if any(one.high is not None for one in facts.checks):
        return f"{before} Synthetic files: the worst of all intruders that were tried, upper end of the 95% interval."
    return f"{before} Synthetic files: the worst of all intruders that were tried, on the copies that were made."
