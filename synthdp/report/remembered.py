"""What a model remembers of single people: records reproduced because they were fitted, and the membership game."""

from collections.abc import Mapping
from typing import Any

from synthdp.report.content import Block, Table, entries, find, reason
from synthdp.report.words import counted, is_number, number, percent

DASH = "–"
GAMES: Mapping[str, str] = {
    "given_kept": "are the replaced values the person's own?",
    "membership": "is the person in the file?",
}


def memorised(found: Mapping[str, Any]) -> Block | None:
    """Return how many more unique records appear in the copies when they were fitted than when they were not."""
    section = found.get("memorised")
    if not isinstance(section, Mapping):
        return None
    words = (
        "The method was fitted to one half of the file, then to the other, and every record that is unique on the "
        "replaced columns was looked for in the copies of both. A person found because such people are common is "
        "found either way; one who is found only when fitted was memorised. A record's own row is left out."
    )
    near = section.get("near")
    within = find(near, "within")
    lines = (
        ("Reproduced exactly", section),
        (f"Nearer than {percent(within)} of the way to the next person" if is_number(within) else "Nearly so", near),
    )
    rows = tuple(
        (
            name,
            percent(find(line, "fitted")),
            percent(find(line, "held_out")),
            _ranged(line, "difference", "low", "high", percent),
        )
        for name, line in lines
        if is_number(find(line, "difference"))
    )
    head = ("Unique records", "In the half that was fitted", "In the half that was not", "Difference (95% interval)")
    said = []
    if is_number(section.get("judged")):
        said.append(f"The gate compares {percent(section['judged'])} with its limit: the cautious end of both lines.")
    if is_number(section.get("splits")):
        unique = counted(int(section.get("unique") or 0), "unique record")
        pairs = counted(int(section["splits"]), "pair")
        said.append(f"Over {pairs} of halves; {unique} of {number(section.get('records'))}.")
    tables = (Table("Memorising", head, rows, "lrrr"),) if rows else ()
    return Block("Memorising", words, tuple(said), tables, reason(section))


def shadow(found: Mapping[str, Any]) -> Block | None:
    """Return what an intruder finds out who fits the method with and without a person."""
    section = found.get("membership_shadow")
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
            _ranged(line, "auc", "low", "high", number),
        )
        for line in entries(section.get("scores"))
    )
    said = []
    if is_number(section.get("auc")):
        asked = GAMES.get(str(section.get("game")))
        said.append(
            f"AUC {_ranged(section, 'auc', 'low', 'high', number)}, advantage "
            f"{_ranged(section, 'advantage', 'advantage_low', 'advantage_high', percent)}"
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


def _ranged(line: Any, key: str, low: str, high: str, say: Any) -> str:
    value = find(line, key)
    if not is_number(value):
        return DASH
    ends = [find(line, end) for end in (low, high)]
    return f"{say(value)} ({say(ends[0])} to {say(ends[1])})" if all(map(is_number, ends)) else str(say(value))
