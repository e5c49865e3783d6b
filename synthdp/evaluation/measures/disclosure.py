"""What is learnt of a person without pointing at a row: a value, membership, a rule that singles out, a link."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from synthdp.evaluation.blocks import (
    DASH,
    NOT_COMPUTED,
    Block,
    Curves,
    Table,
    counted,
    entries,
    find,
    is_number,
    number,
    percent,
    ranged,
    reason,
)
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import Figures, Finding, Need, Plain
from synthdp.evaluation.risk.attribute import evaluate_attribute, wanted
from synthdp.evaluation.risk.linkability import evaluate_inference, evaluate_linkability, evaluate_membership
from synthdp.evaluation.risk.singling import evaluate_singling
from synthdp.evaluation.risk.traced import evaluate_linkage

OUTSIDERS = frozenset({Need.HOLDOUT})
SCORED: Mapping[str, str] = {
    "distance": "nearest synthetic row is close",
    "relative": "closer to the copies than to other people",
}
SHORT: Mapping[str, str] = {"distance": "close to a row", "relative": "closer than to other people"}
KNOWN: Mapping[str, str] = {"all": "all columns", "replaced": "replaced columns only"}
GAMES: Mapping[str, str] = {
    "given_kept": "are the replaced values the person's own?",
    "membership": "is the person in the file?",
}

RATES = "Singling out, linking, inference"
RATES_WORDS = (
    "Three more things an intruder may try with the copies: find a statement that is true of one person only, join "
    "two lists about the same people through the copies, take a value from the nearest row. The risk is what "
    "members lose beyond people who are not in the data: (success − success there) ÷ (1 − success there)."
)


def _attribute(files: Comparison, rng: np.random.Generator) -> Figures:
    names = wanted(files)
    if not files.schema.keys() or not names:
        return Figures([])
    return Figures(evaluate_attribute(files, targets=names, holdout=files.holdout, rng=rng))


def _shadow(files: Comparison, rng: np.random.Generator) -> Finding:
    from synthdp.evaluation.risk.shadow import evaluate_shadow

    making = files.making
    if making is None:
        return Figures({})
    return evaluate_shadow(
        files, making.shadows, rng=rng, jobs=making.jobs, advance=making.advance, **files.request.shadow
    )


def _attribute_block(section: Any) -> Block:
    """Return what is learnt about each sensitive column."""
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


def _gain(line: Mapping[str, Any]) -> float:
    return float(line["gain"]) if is_number(line.get("gain")) else float("nan")


def _membership_block(section: Any) -> Block | None:
    """Return who is recognised as a member."""
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
            ranged(line.get("auc"), number),
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
            f"{ranged(closer, percent)} of synthetic rows lie closer to people in the data than to as many others; "
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
    charts = (Curves(named),) if named else ()
    return Block("Knowing who is in the file", words, tuple(said), tables, reason(section), charts=charts)


def _recognised(line: Mapping[str, Any], place: int) -> str:
    shares: Sequence[Any] = line.get("tpr") or ()
    found = shares[place] if place < len(shares) else None
    value = (
        next((found[key] for key in ("value", "tpr") if is_number(found.get(key))), None)
        if isinstance(found, Mapping)
        else found
    )
    return percent(value)


def _shadow_block(section: Any) -> Block | None:
    """Return what an intruder finds out who fits the method with and without a person."""
    if not isinstance(section, Mapping):
        return None
    words = (
        "An intruder who knows a whole record, the method and its settings fits the method again and again, with and "
        "without that person, and learns what the copies look like either way. AUC 0.5 is a coin toss, 1 certainty; "
        "the advantage is true less false alarms. The people played for are those easiest to recognise. The worst of "
        "several scores counts: it is chosen on one half of the fits and judged on the other, so its interval is "
        "honest; in the table each interval stands for itself, and one in twenty misses by chance."
    )
    rows = tuple(
        (
            GAMES.get(str(line.get("game")), str(line.get("game") or DASH)),
            str(line.get("score") or DASH),
            ranged(line, number, key="auc"),
        )
        for line in entries(section.get("scores"))
    )
    said = []
    if is_number(section.get("auc")):
        asked = GAMES.get(str(section.get("game")))
        said.append(
            f"AUC {ranged(section, number, key='auc')}, advantage "
            f"{ranged(section, percent, key='advantage', low='advantage_low', high='advantage_high')}"
            + (f", asked: {asked}" if asked else ".")
        )
        said += _meaning(section)
    if section.get("game") == "given_kept":
        said.append(
            "Kept columns appear in the copies unchanged, and reveal whether a rare person's row is there whatever the "
            "method does (the lower half of the table; what they give away is counted under the kept columns). What "
            "is judged is what the replaced values add."
        )
    if is_number(section.get("targets")) and is_number(section.get("fits")):
        people, fits = int(section["targets"]), int(section["fits"])
        said.append(f"Played for {number(people)} {'person' if people == 1 else 'people'} over {counted(fits, 'fit')}.")
    tables = (Table("All scores", ("Asked", "Score", "AUC (95% interval)"), rows, "llr"),) if rows else ()
    return Block("The membership game with shadow fits", words, tuple(said), tables, reason(section))


def _meaning(section: Mapping[str, Any]) -> list[str]:
    """Return what the interval means: nothing, one record's influence on the parameters, or memory of single people."""
    low, influence = section.get("low"), section.get("influence")
    if low is None or not is_number(low):
        return []
    if low <= 0.5:
        return ["The interval reaches 0.5: no sign that the copies reveal who was in the data."]
    if not is_number(influence):
        return ["The interval lies above 0.5: the copies reveal who was in the data."]
    weight = (
        "one person's ordinary influence on means, spreads, correlations and shares in a file of this size "
        f"(AUC up to {number(influence)})"
    )
    if section.get("finding") == "influence":
        return [
            f"The interval lies above 0.5, but not above what {weight} explains: influence on the parameters, no sign "
            "of memorised people. It is real all the same, and shrinks as the file grows."
        ]
    return [f"The interval lies above 0.5 and above what {weight} explains: the method memorised single people."]


def _rates_block(lines: Sequence[tuple[str, Mapping[str, Any]]], reasons: Sequence[str]) -> Block:
    """Return attacks that end in a rate; three measures share the block."""
    head = ("Attack", "Success", "Guessing blindly", "On people not in the data", "Risk")
    rows = tuple(
        (name, *(ranged(line.get(key), percent) for key in ("attack", "baseline", "control", "risk")))
        for name, line in lines
    )
    said = tuple(dict.fromkeys(why for why in reasons if why))
    if not rows:
        return Block(RATES, RATES_WORDS, absent="; ".join(said))
    return Block(
        RATES, RATES_WORDS, tuple(f"Not computed: {why}." for why in said), (Table(RATES, head, rows, "lrrrr"),)
    )


def _singling_block(section: Any) -> Block:
    words = {"univariate": "Singling out by one value", "multivariate": "Singling out by several values"}
    lines = [
        (said, find(section, key)) for key, said in words.items() if is_number(find(section, key, "attack", "value"))
    ]
    return _rates_block(lines, [reason(section)])


def _linkability_block(section: Any) -> Block:
    made = is_number(find(section, "attack", "value"))
    return _rates_block([("Linking two lists about the same people", section)] if made else [], [reason(section)])


def _linkage_block(section: Any) -> Block:
    made = is_number(find(section, "attack", "value"))
    return _rates_block([("Linking by likelihood, rows traced", section)] if made else [], [reason(section)])


def _inference_block(section: Any) -> Block:
    lines = [(f"Taking {line.get('target')} from the nearest row", line) for line in entries(section)]
    return _rates_block(lines, [reason(section), *(reason(line) for _, line in lines)])


ATTRIBUTE = Plain(
    "attribute",
    "What can somebody who knows a person's keys learn about that person's other values?",
    _attribute,
    limits=("max_attribute_gain",),
    title="Learning a sensitive value",
    insists=True,
    reads=lambda lines: {str(line["target"]): _gain(line) for line in lines},
    tells=_attribute_block,
)
MEMBERSHIP = Plain(
    "membership",
    "Can somebody who knows a whole record tell from the closest row that the person is in the data?",
    lambda files, rng: Figures(evaluate_membership(files, holdout=files.holdout, rng=rng)),
    OUTSIDERS,
    title="Knowing who is in the file",
    tells=_membership_block,
)
SHADOW = Plain(
    "membership_shadow",
    "Can somebody who refits the method with and without a person tell whether that person was in the data?",
    _shadow,
    frozenset({Need.PLAN}),
    title="Shadow fits with and without a person",
    tells=_shadow_block,
)
SINGLING = Plain(
    "singling",
    "Can a person be singled out by a rule learnt from the copies?",
    lambda files, rng: Figures(evaluate_singling(files, holdout=files.holdout, rng=rng)),
    OUTSIDERS,
    title="Singling out",
    tells=_singling_block,
)
LINKABILITY = Plain(
    "linkability",
    "Can two halves of a person's record be joined with the help of the copies?",
    lambda files, rng: Figures(evaluate_linkability(files, holdout=files.holdout, rng=rng)),
    title="Linking",
    tells=_linkability_block,
)
LINKAGE = Plain(
    "linkage",
    "Can a person be linked to a row by the keys, in files of any kind, where the other columns tell whose row it is?",
    lambda files, rng: Figures(evaluate_linkage(files, holdout=files.holdout, rng=rng)),
    frozenset({Need.KEYS}),
    title="Linking by likelihood",
    tells=_linkage_block,
)
INFERENCE = Plain(
    "inference",
    "Are values of members guessed better than those of outsiders?",
    lambda files, rng: Figures(evaluate_inference(files, targets=wanted(files), holdout=files.holdout, rng=rng)),
    OUTSIDERS,
    title="Inference",
    tells=_inference_block,
)
