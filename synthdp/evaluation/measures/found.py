"""What the report shows of intruders who point at rows: side by side, before and after, overall and by risk group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import (
    DASH,
    NOT_COMPUTED,
    Bars,
    Block,
    Dots,
    Marks,
    Table,
    counted,
    entries,
    find,
    is_number,
    listing,
    number,
    percent,
)
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measures import GATE, known, measure, pointing
from synthdp.evaluation.risk.crowding import crowds
from synthdp.evaluation.risk.intruders import Intruder

Section = Mapping[str, Any]
Sections = Mapping[str, Section]

BEFORE = "Before (original itself)"
EVERYONE = "all records"
ABSENT_RATE = "no unique match"
GROUP_ORDER = ("low", "medium", "high")
ASKED_ALWAYS = ("identity", "identity_averaged")
MATCHED = "expected_match_rate"
MATCHES = {
    "expected_links": "expected_match",
    "expected_links_rate": MATCHED,
    "mean_posterior": "mean_individual",
    "max_posterior": "max_individual",
}
MEASURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("Expected matches, in records", "expected_match", number),
    ("… as a share of all records", MATCHED, percent),
    ("… if those without a candidate guess blindly", "expected_match_reference", number),
    ("… as a share, if the intruder holds one copy only", "one_copy", lambda one: percent(find(one, MATCHED))),
    ("True matches, in records", "true_match", number),
    ("… as a share of all records", "true_match_rate", percent),
    ("… that chance alone may give (95% point)", "true_match_chance", number),
    ("Wrong among the intruder's single candidates", "false_match_rate", percent),
    ("Records for which no candidate is found", "no_candidate", number),
    ("Average chance of finding a record", "mean_individual", percent),
    ("Highest chance for any one record", "max_individual", percent),
    ("Average of 1/candidates, right or wrong", "mean_unconditional", percent),
)
LIKELIHOOD_MEASURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("Expected correct links, in records", "expected_links", number),
    ("… as a share of all records", "expected_links_rate", percent),
    ("… that chance alone may give (95% point)", "expected_links_chance", number),
    ("… from the key columns that no copy changed", "expected_links_kept", number),
    ("… as the intruder would predict them", "predicted_links", number),
    ("Average probability given to the right record", "mean_posterior", percent),
    ("Highest for any one record", "max_posterior", percent),
    ("People who are extreme in truth, and looked for", "claims", number),
    ("… found if the intruder holds one copy only", "one_copy", number),
)
GROUP_MEASURES: tuple[tuple[str, str, bool, str], ...] = (
    (
        "Expected matches",
        "expected_match",
        True,
        "Records the intruder would name correctly on average, choosing at random among equally good candidates.",
    ),
    ("True matches", "true_match", True, "Records for which a single best candidate is left and it is the right one."),
    (
        "Average chance of finding a record",
        "mean_individual",
        False,
        "Chance of picking the right record in a copy, averaged over copies and over the group's records.",
    ),
)
HEAD = ("Expected matches", "True matches", "… by chance up to", "Average chance")
TIES = (
    "Expected matches need not fall steadily as masks grow: several noisy copies can break ties that one exact file "
    "leaves. The average chance does fall steadily."
)


def sections_of(risk: Section | None) -> dict[str, Section]:
    """Return the identity attacks that have figures, by their title; links are called matches, as others call them.

    An intruder by likelihood always names one record, so there are no true matches apart from expected ones.
    """
    found: dict[str, Section] = {}
    for name, section in (risk or {}).items():
        # the section "original" is the baseline, and counting it as an attack would make the release look worse
        if name.startswith("identity") and isinstance(section, Mapping):
            matches = _as_matches(section) if is_number(section.get("expected_links")) else section
            if is_number(matches.get("expected_match")):
                found[title_of(name)] = matches
    return found


def _as_matches(section: Section) -> Section:
    lines = [{MATCHES.get(key, key): line[key] for key in line} for line in entries(section.get("per_group"))]
    return {MATCHES.get(key, key): section[key] for key in section} | {"per_group": lines}


def largest(risk: Section | None, key: str) -> float | None:
    """Return the largest of a figure over all intruders who point at rows; None where nobody has it."""
    found = [one.get(key) for one in sections_of(risk).values()]
    return max((value for value in found if value is not None and is_number(value)), default=None)


def title_of(name: str) -> str:
    """Return what report and terminal call a measure; its name where there is none such."""
    return (measure(name).title if known(name) else "") or name


@dataclass(frozen=True)
class Attack:
    """One intruder in words, and why there are no figures if there are none."""

    name: str
    title: str
    words: str
    absent: str


def attacks(risk: Section | None, files: Comparison, own: Mapping[str, Intruder]) -> tuple[Attack, ...]:
    """Return the intruders that were tried, and those that could not be; ``own`` are those of the config."""
    found = risk or {}
    tried = [
        Attack(one.name, one.title, one.words, _reason(files, found.get(one.name)))
        for one in _in_order()
        if one.name in found or one.name in ASKED_ALWAYS
    ]
    added = [
        Attack(name, f"“{name}”", _described(own.get(name)), _reason(files, one)) for name, one in _own(risk).items()
    ]
    return (*tried, *added)


def pointing_blocks(risk: Section | None, files: Comparison, *, before: Section) -> tuple[Block, ...]:
    """Return all intruders side by side, by risk group, over all records, and with earlier releases if there are any.

    Parameters
    ----------
    before
        The section of the original matched against itself; empty where it is not known.
    """
    shown = ({BEFORE: before} if before else {}) | sections_of(risk)
    overall = Block("Over all records", "", tables=_figures("All records, before and after", MEASURES, shown))
    beside = Block(
        "All intruders side by side",
        "",
        tables=(*_own_table(risk), *_likelihood(risk)),
        charts=_overview(risk, shown, len(files.original)),
    )
    return beside, _by_group(shown, files), overall, *_together(risk)


def _in_order() -> tuple[Any, ...]:
    return (*pointing(), *map(measure, GATE))


def _own(risk: Section | None) -> dict[str, Section]:
    """Return the sections of the intruders that the user described."""
    found = find(risk, "intruders")
    items = found.items() if isinstance(found, Mapping) else ()
    return {str(name): one for name, one in items if isinstance(one, Mapping)}


def _described(intruder: Intruder | None) -> str:
    """Return what an intruder of the user's own knows, in words."""
    if intruder is None:
        return "An intruder described in the configuration (evaluation.intruders)."
    keys = "all key columns" if intruder.keys is None else listing(list(intruder.keys))
    said = [f"Knows {keys}" + (f", but {listing(list(intruder.error))} with error" if intruder.error else "")]
    if intruder.copies == "one":
        said.append("holds a single copy (the figures are means over which one it is)")
    if not intruder.member:
        said.append("does not know whether the person is in the file")
    if intruder.attack != "identity":
        said.append(f"goes about it by “{title_of(intruder.attack).lower()}”")
    return "; ".join(said) + "."


def _reason(files: Comparison, section: Any) -> str:
    if isinstance(section, Mapping) and any(is_number(value) for value in section.values()):
        return ""
    if find(section, "reason"):
        return str(section["reason"])
    if not files.aligned:
        return "the rows of the copies are not lined up with the original records (evaluation.rows)"
    return "it was not asked for (evaluation.risk)"


def _chance(section: Section) -> Any:
    """Return the 95% point of what the same attack finds on permuted rows, in records."""
    found = section.get("true_match_chance")
    return found if found is not None else section.get("expected_links_chance")


def _overview(risk: Section | None, shown: Sections, records: int) -> tuple[Dots, ...]:
    """Return expected matches of every intruder, beside the original and what chance gives."""
    own = {f"“{name}”": one for name, one in _own(risk).items() if is_number(one.get("expected_match"))}
    rows = {**shown, **own}
    if len(rows) <= (BEFORE in rows):
        return ()
    marks = (
        Marks("expected matches", [one.get("expected_match") for one in rows.values()], "found"),
        Marks("true matches", [one.get("true_match") for one in rows.values()], "single"),
        Marks("what chance may give", [_chance(one) for one in rows.values()], "chance"),
    )
    before = shown.get(BEFORE, {}).get("expected_match")
    caption = f"Of {counted(records, 'record')}."
    caption += f" In the original itself, {number(before)} are expected to be found." if is_number(before) else ""
    return (Dots("Who is found by whom", list(rows), marks, "records", caption),)


def _own_table(risk: Section | None) -> tuple[Table, ...]:
    rows = tuple((name, *_cells(one)) for name, one in _own(risk).items() if is_number(one.get("expected_match")))
    return (Table("Intruders of your own", ("Intruder", *HEAD), rows, "lrrrr"),) if rows else ()


def _cells(section: Section) -> tuple[str, ...]:
    def said(value: Any, rate: Any = None) -> str:
        beside = f" ({percent(rate)})" if is_number(rate) else ""
        return DASH if value is None else number(value) + beside

    return (
        said(section.get("expected_match"), section.get(MATCHED)),
        said(section.get("true_match"), section.get("true_match_rate")),
        said(_chance(section)),
        percent(section.get("mean_individual")),
    )


def _likelihood(risk: Section | None) -> tuple[Table, ...]:
    """Return what intruders find who need no tolerance."""
    named = {one.title: find(risk, one.name) for one in _in_order()}
    found = {title: section for title, section in named.items() if is_number(find(section, "expected_links"))}
    return _figures("Intruders who need no tolerance", LIKELIHOOD_MEASURES, found)


def _figures(
    caption: str, measures: tuple[tuple[str, str, Callable[[Any], str]], ...], shown: Sections
) -> tuple[Table, ...]:
    """Return figures down and intruders across; a figure that nobody has is left out."""
    rows = tuple(
        (words, *(_cell(section, key, say) for section in shown.values()))
        for words, key, say in measures
        if any(key in section for section in shown.values())
    )
    return (Table(caption, ("Measure", *shown), rows, "l" + "r" * len(shown)),) if rows else ()


def _cell(section: Section, key: str, say: Callable[[Any], str]) -> str:
    if key == "false_match_rate" and key in section and section[key] is None:
        return ABSENT_RATE
    value = _chance(section) if key == "true_match_chance" else section.get(key)
    # an attack that has no such figure is not one whose figure failed
    return DASH if value is None and key not in section else say(value)


def _together(risk: Section | None) -> tuple[Block, ...]:
    """Return the risk of this and all earlier releases of the same data; nothing where this is the first."""
    section = find(risk, "releases")
    if not isinstance(section, Mapping):
        return ()
    earlier = [str(when) for when in section.get("earlier") or ()]
    words = (
        f"{counted(len(earlier), 'earlier release')} of the same data ({listing([when[:10] for when in earlier])}) can "
        f"be laid beside this one: {number(section.get('copies'))} copies altogether, over which masks average out. "
        "The gate judged both this release alone and all together."
    )
    alone = sections_of(risk)
    rows = tuple(
        (title, which, *_cells(one))
        for title, joint in sections_of(section).items()
        for which, one in (("this one alone", alone.get(title)), ("all together", joint))
        if one is not None
    )
    tables = (Table("This release and all together", ("Attack", "Releases", *HEAD), rows, "llrrrr"),) if rows else ()
    return (Block("Together with earlier releases", words, tables=tables),)


def _by_group(shown: Sections, files: Comparison) -> Block:
    """Return the charts by risk group and the table that holds the same figures, and where the groups lie."""
    if not shown:
        return Block("By risk group", "", absent="no identity attack was computed")
    records = len(files.original)
    groups = _groups(shown)
    lines = {title: [_line(section, group, records) for group in groups] for title, section in shown.items()}
    charts = tuple(
        Bars(title, groups, {name: [_share(one, key, people) for one in found] for name, found in lines.items()}, words)
        for title, key, people, words in GROUP_MEASURES
    )
    rows = tuple(
        (group, name, number(found[row].get("records")), *_group_cells(found[row]))
        for row, group in enumerate(groups)
        for name, found in lines.items()
    )
    head = ("Risk group", "Attack", "Records", "Expected matches", "True matches", "Average chance")
    table = Table("Risk by group, before and after", head, rows, "llrrrr")
    return Block("By risk group", "", tables=(table,), notes=(TIES,), charts=(*charts, *crowds(files)))


def _groups(shown: Sections) -> list[str]:
    groups = [str(line.get("group")) for section in shown.values() for line in entries(section.get("per_group"))]
    return [*dict.fromkeys([*(name for name in GROUP_ORDER if name in groups), *groups]), EVERYONE]


def _line(section: Section, group: str, records: int) -> Section:
    if group == EVERYONE:
        return {**section, "records": records}
    return next((line for line in entries(section.get("per_group")) if str(line.get("group")) == group), {})


def _share(line: Section, key: str, people: bool) -> float | None:
    value, records = line.get(key), line.get("records")
    if value is None or not is_number(value) or (people and not records):
        return None
    return float(value) / float(records) if people and records else float(value)


def _group_cells(line: Section) -> tuple[str, ...]:
    cells: list[str] = []
    for _, key, people, _ in GROUP_MEASURES:
        share = _share(line, key, people)
        text = percent(share) if share is not None else DASH if key not in line else NOT_COMPUTED
        cells.append(f"{number(line.get(key))} ({text})" if people and share is not None else text)
    return tuple(cells)
