"""Risks beside being found: what is learnt of a person, who is known to be in the file, who is singled out."""

from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.report.charts import curve
from synthdp.report.content import Block, ReportContent, Table, entries, find, reason
from synthdp.report.uniqueness import anonymity, exposure, memorised, population, shadow, verbatim
from synthdp.report.words import NOT_COMPUTED, counted, is_number, number, percent

DASH = "–"
GUESSES: Mapping[str, str] = {"guess": "commonest value among look-alikes"}
SCORED: Mapping[str, str] = {
    "distance": "nearest synthetic row is close",
    "relative": "closer to the copies than to other people",
}
SHORT: Mapping[str, str] = {"distance": "close to a row", "relative": "closer than to other people"}
KNOWN: Mapping[str, str] = {"all": "all columns", "replaced": "replaced columns only"}
RATES: Mapping[str, str] = {
    "univariate": "Singling out by one value",
    "multivariate": "Singling out by several values",
    "linkability": "Linking two lists about the same people",
}


def disclosures(content: ReportContent) -> tuple[Block, ...]:
    """Return every block that was asked for; what was not is left out."""
    found = find(content.metrics, "risk") or {}
    blocks = (
        verbatim(found),
        memorised(found),
        exposure(found),
        _attribute(found),
        _membership(found),
        shadow(found),
        _rates(found),
        anonymity(found),
        population(found),
    )
    return tuple(block for block in blocks if block is not None)


def _attribute(found: Mapping[str, Any]) -> Block | None:
    if "attribute" not in found:
        return None
    section = found["attribute"]
    lines = entries(section)
    words = (
        "An intruder who knows somebody's key columns reads off or guesses another value of that person. Finding the "
        "same keys in a copy (iS) tells something when all such rows agree (DiS), and discloses when they are right "
        "(DiSCO). The gain is how much more often a guess is right for people in the data than for people who are not."
    )
    rows = tuple(_attribute_row(line) for line in lines)
    head = (
        "Sensitive column",
        "Keys found (iS)",
        "… with one value (DiS)",
        "… the true one (DiSCO)",
        "Guessed right",
        "… for somebody not in the data",
        "Gain (95% interval)",
    )
    tables = (Table("Learning a sensitive value", head, rows, "lrrrrrr"),) if rows else ()
    said = [sentence for line in lines for sentence in _warnings(line)]
    said += [
        f"Somebody not in the data: {text}."
        for text in dict.fromkeys(str(one["baseline"]) for one in lines if one.get("baseline"))
    ]
    absent = reason(section) or "there is no key column, or nothing to be learnt (evaluation.targets)"
    return Block("Learning a sensitive value", words, tuple(said), tables, "" if tables else absent)


def _attribute_row(line: Mapping[str, Any]) -> tuple[str, ...]:
    by = str(line.get("gain_by") or "guess")
    attack = next((one for one in entries(line.get("regression")) if one.get("way") == by), line.get("guess"))
    gain = number(line.get("gain"))
    if is_number(line.get("gain_low")) and is_number(line.get("gain_high")):
        gain += f" ({number(line['gain_low'])} to {number(line['gain_high'])})"
    rates = tuple(
        percent(value) if is_number(value := find(attack, key, "value")) else DASH for key in ("success", "baseline")
    )
    shares = tuple(
        f"{text}%" if (text := number(line.get(key))) != NOT_COMPUTED else text for key in ("iS", "DiS", "DiSCO")
    )
    return str(line.get("target", "")), *shares, *rates, gain


def _warnings(line: Mapping[str, Any]) -> list[str]:
    """Return what stands behind most disclosures, where it is one level or one pair of levels."""
    target, said = str(line.get("target", "")), []
    for one in entries(line.get("warnings")):
        level = f"“{one['level']}”" if one.get("level") is not None else "one value"
        where = f"{target} = {level}"
        if one.get("ways") == 2:
            known = f"“{one['key_level']}”" if one.get("key_level") is not None else "one value"
            where = f"{one.get('key')} = {known} together with {where}"
        said.append(
            f"▲ {number(one.get('ways'))}-way warning: {percent(one.get('share'))} of what is disclosed about {target} "
            f"({counted(one.get('records') or 0, 'record')}) is {where}. That is a fact about the whole group rather "
            "than about persons; decide whether it may be known."
        )
    return said


def _membership(found: Mapping[str, Any]) -> Block | None:
    section = found.get("membership")
    if not isinstance(section, Mapping):
        return None
    words = (
        "An intruder who knows a whole record asks only whether that person was in the data. AUC 0.5 is a coin toss, 1 "
        "is certainty; the shares say how many members are recognised when 1% or 5% of the others are wrongly accused."
    )
    rows = tuple(
        (
            SCORED.get(str(line.get("score")), str(line.get("score"))),
            KNOWN.get(str(line.get("columns")), str(line.get("columns"))),
            _estimate(line.get("auc"), number),
            *(_recognised(line, place) for place in range(2)),
        )
        for line in entries(section.get("attacks"))
    )
    head = ("Claims “member” when the", "Known", "AUC (95% interval)", "Found at 1% wrongly accused", "… at 5%")
    tables = (Table("Was this person in the data?", head, rows, "llrrr"),) if rows else ()
    said = []
    closer = section.get("closer_to_members")
    if is_number(find(closer, "value")):
        said.append(
            f"{_estimate(closer, percent)} of synthetic rows lie closer to people in the data than to as many others; "
            "50% is what copies without memory give."
        )
    if section.get("sampled"):
        said.append(
            f"Tested on {number(section.get('members'))} members and {number(section.get('outsiders'))} others."
        )
    curves = {
        (str(line.get("score")), str(line.get("columns"))): line["roc"]
        for line in entries(section.get("attacks"))
        if line.get("roc")
    }
    named = {f"{SHORT.get(score, score)}, {KNOWN.get(known, known)}": found for (score, known), found in curves.items()}
    figures = (curve(named),) if named else ()
    return Block("Knowing who is in the file", words, tuple(said), tables, reason(section), figures)


def _recognised(line: Mapping[str, Any], place: int) -> str:
    shares: Sequence[Any] = line.get("tpr") or ()
    found = shares[place] if place < len(shares) else None
    value = (
        next((found[key] for key in ("value", "tpr") if is_number(found.get(key))), None)
        if isinstance(found, Mapping)
        else found
    )
    return percent(value)


def _rates(found: Mapping[str, Any]) -> Block | None:
    """Return attacks that end in a rate: singling out, linking, inference; anonymeter's beside ours."""
    asked = [found[key] for key in ("singling", "linkability", "inference", "anonymeter") if key in found]
    if not asked:
        return None
    inferred = entries(found.get("inference"))
    lines = _named(found.get("singling")) + _named(found)
    lines += [(f"Taking {line.get('target')} from the nearest row", line) for line in inferred]
    lines += [(f"anonymeter: {name}", line) for name, line in _named(found.get("anonymeter"), others=True)]
    title = "Singling out, linking, inference"
    words = (
        "Three more things an intruder may try with the copies: find a statement that is true of one person only, join "
        "two lists about the same people through the copies, take a value from the nearest row. The risk is what "
        "members lose beyond people who are not in the data: (success − success there) ÷ (1 − success there)."
    )
    rows = tuple(
        (name, *(_estimate(line.get(key), percent) for key in ("attack", "baseline", "control", "risk")))
        for name, line in lines
    )
    head = ("Attack", "Success", "Guessing blindly", "On people not in the data", "Risk")
    said = tuple(dict.fromkeys(text for one in [*asked, *inferred] if (text := reason(one))))
    if not rows:
        return Block(title, words, (), (), "; ".join(said))
    return Block(title, words, tuple(f"Not computed: {text}." for text in said), (Table(title, head, rows, "lrrrr"),))


def _named(section: Any, *, others: bool = False) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the attacks in a section that have a rate; ``others`` also under names of their own."""
    lines = section.items() if isinstance(section, Mapping) else ()
    made = {key: line for key, line in lines if is_number(find(find(line, "attack"), "value"))}
    return [(RATES.get(key, key), line) for key, line in made.items() if others or key in RATES]


def _estimate(found: Any, say: Any) -> str:
    value = find(found, "value") if isinstance(found, Mapping) else found
    if not is_number(value):
        return DASH
    low, high = find(found, "low"), find(found, "high")
    return f"{say(value)} ({say(low)} to {say(high)})" if is_number(low) and is_number(high) else str(say(value))
