"""How risky the copies are: all intruders side by side, before and after, overall and by risk group."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import (
    DASH,
    NOT_COMPUTED,
    Block,
    Table,
    counted,
    entries,
    find,
    is_number,
    listing,
    number,
    percent,
)
from synthdp.report import names, plots
from synthdp.report.charts import Marks, dots
from synthdp.report.content import ReportContent
from synthdp.report.plots import Figure
from synthdp.report.plots import risk as risk_plot
from synthdp.report.words import GROUP_ORDER

BEFORE = "Before (original itself)"


def as_matches(section: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a section whose links are called matches, as all other attacks call them.

    An intruder by likelihood always names one record, so there are no true matches apart from expected ones.
    """
    if not is_number(section.get("expected_links")):
        return section
    matches = {
        "expected_links": "expected_match",
        "expected_links_rate": "expected_match_rate",
        "mean_posterior": "mean_individual",
        "max_posterior": "max_individual",
    }

    def renamed(line: Mapping[str, Any]) -> dict[str, Any]:
        return {matches.get(key, key): value for key, value in line.items()}

    return renamed(section) | {"per_group": [renamed(line) for line in entries(section.get("per_group"))]}


def identity_sections(risk: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """Return the identity attacks that have figures, by their title."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, section in (risk or {}).items():
        # the section "original" is the baseline, and counting it as an attack would make the release look worse
        if name.startswith("identity") and isinstance(section, Mapping):
            matches = as_matches(section)
            if is_number(matches.get("expected_match")):
                found[names.attack_title(name)] = matches
    return found


def own_intruders(content: ReportContent) -> dict[str, Mapping[str, Any]]:
    """Return the sections of the intruders that the user described."""
    found = find(content.metrics, "risk", "intruders")
    return (
        {str(name): one for name, one in found.items() if isinstance(one, Mapping)}
        if isinstance(found, Mapping)
        else {}
    )


def described(content: ReportContent, name: str) -> str:
    """Return what an intruder of the user's own knows, in words."""
    intruder = content.intruders.get(name)
    if intruder is None:
        return "An intruder described in the configuration (evaluation.intruders)."
    known = "all key columns" if intruder.keys is None else listing(list(intruder.keys))
    said = [f"Knows {known}" + (f", but {listing(list(intruder.error))} with error" if intruder.error else "")]
    if intruder.copies == "one":
        said.append("holds a single copy (the figures are means over which one it is)")
    if not intruder.member:
        said.append("does not know whether the person is in the file")
    if intruder.attack != "identity":
        said.append(f"goes about it by “{names.attack_title(intruder.attack).lower()}”")
    return "; ".join(said) + "."


def overview(content: ReportContent, shown: Mapping[str, Mapping[str, Any]]) -> Figure | None:
    """Return expected matches of every intruder, beside the original and what chance gives.

    Parameters
    ----------
    shown
        Sections by title, the original first where it is known; intruders of the user's own are added.
    """
    own = {f"“{name}”": one for name, one in own_intruders(content).items() if is_number(one.get("expected_match"))}
    rows = {**shown, **own}
    if len(rows) <= (BEFORE in rows):
        return None
    sections = list(rows.values())
    marks = [
        Marks("expected matches", [one.get("expected_match") for one in sections], plots.ORANGE, "diamond"),
        Marks("true matches", [one.get("true_match") for one in sections], plots.BLUE, "circle-open"),
        Marks("what chance may give", [chance(one) for one in sections], plots.INK, "line-ns-open"),
    ]
    before = shown.get(BEFORE, {}).get("expected_match")
    records = len(content.comparison.original)
    caption = f"Of {counted(records, 'record')}."
    caption += f" In the original itself, {number(before)} are expected to be found." if is_number(before) else ""
    return dots("Who is found by whom", list(rows), marks, axis="records", caption=caption)


def chance(section: Mapping[str, Any]) -> Any:
    """Return the 95% point of what the same attack finds on permuted rows, in records."""
    found = section.get("true_match_chance")
    return found if found is not None else section.get("expected_links_chance")


def intruders(content: ReportContent) -> Table | None:
    """Return what the user's own intruders achieve."""
    rows = tuple(
        (name, *_cells(one)) for name, one in own_intruders(content).items() if is_number(one.get("expected_match"))
    )
    head = ("Intruder", "Expected matches", "True matches", "… by chance up to", "Average chance")
    return Table("Intruders of your own", head, rows, "lrrrr") if rows else None


def _cells(section: Mapping[str, Any]) -> tuple[str, ...]:
    def said(value: Any, rate: Any) -> str:
        return f"{number(value)} ({percent(rate)})" if is_number(rate) else number(value)

    true = section.get("true_match")
    return (
        said(section.get("expected_match"), section.get("expected_match_rate")),
        said(true, section.get("true_match_rate")) if true is not None else DASH,
        number(found) if (found := chance(section)) is not None else DASH,
        percent(section.get("mean_individual")),
    )


def likelihood(content: ReportContent) -> Table | None:
    """Return what intruders find who need no tolerance."""
    measures: Sequence[tuple[str, str, Any]] = (
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
    found = {
        one.title: section
        for name, one in names.intruders().items()
        if is_number(find(section := find(content.metrics, "risk", name), "expected_links"))
    }
    rows = tuple(
        (words, *(say(one[key]) if key in one else DASH for one in found.values()))
        for words, key, say in measures
        if any(key in one for one in found.values())
    )
    return Table("Intruders who need no tolerance", ("Measure", *found), rows, "l" + "r" * len(found)) if rows else None


def together(content: ReportContent) -> Block | None:
    """Return the risk of this and all earlier releases of the same data, None where this is the first."""
    section = find(content.metrics, "risk", "releases")
    if not isinstance(section, Mapping):
        return None
    earlier = [str(when) for when in section.get("earlier") or ()]
    words = (
        f"{counted(len(earlier), 'earlier release')} of the same data ({listing([when[:10] for when in earlier])}) can "
        f"be laid beside this one: {number(section.get('copies'))} copies altogether, over which masks average out. "
        "The gate judged both this release alone and all together."
    )
    alone, both = identity_sections(find(content.metrics, "risk")), identity_sections(section)
    rows = tuple(
        (title, which, *_cells(one))
        for title, joint in both.items()
        for which, one in (("this one alone", alone.get(title)), ("all together", joint))
        if one is not None
    )
    head = ("Attack", "Releases", "Expected matches", "True matches", "… by chance up to", "Average chance")
    tables = (Table("This release and all together", head, rows, "llrrrr"),) if rows else ()
    return Block("Together with earlier releases", words, (), tables)


EVERYONE = "all records"
ABSENT_RATE = "no unique match"

MEASURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("Expected matches, in records", "expected_match", number),
    ("… as a share of all records", "expected_match_rate", percent),
    ("… if those without a candidate guess blindly", "expected_match_reference", number),
    (
        "… as a share, if the intruder holds one copy only",
        "one_copy",
        lambda one: percent(find(one, "expected_match_rate")),
    ),
    ("True matches, in records", "true_match", number),
    ("… as a share of all records", "true_match_rate", percent),
    ("… that chance alone may give (95% point)", "true_match_chance", number),
    ("Wrong among the intruder's single candidates", "false_match_rate", percent),
    ("Records for which no candidate is found", "no_candidate", number),
    ("Average chance of finding a record", "mean_individual", percent),
    ("Highest chance for any one record", "max_individual", percent),
    ("Average of 1/candidates, right or wrong", "mean_unconditional", percent),
)

GROUP_MEASURES: tuple[tuple[str, str, bool, str], ...] = (
    (
        "Expected matches",
        "expected_match",
        True,
        "Records the intruder would name correctly on average, choosing at random among equally good candidates.",
    ),
    (
        "True matches",
        "true_match",
        True,
        "Records for which a single best candidate is left and it is the right one.",
    ),
    (
        "Average chance of finding a record",
        "mean_individual",
        False,
        "Chance of picking the right record in a copy, averaged over copies and over the group's records.",
    ),
)


@dataclass(frozen=True)
class Attack:
    """One intruder in words, and why there are no figures if there are none."""

    name: str
    title: str
    words: str
    absent: str


def attacks(content: ReportContent) -> tuple[Attack, ...]:
    """Return the intruders that were tried, and those that could not be."""
    found = find(content.metrics, "risk") or {}
    known = [
        Attack(name, one.title, one.words, _reason(content, found.get(name)))
        for name, one in names.intruders().items()
        if name in found or name in ("identity", "identity_averaged")
    ]
    own = [
        Attack(name, f"“{name}”", described(content, name), _reason(content, section))
        for name, section in own_intruders(content).items()
    ]
    return (*known, *own)


def _reason(content: ReportContent, section: Any) -> str:
    if isinstance(section, Mapping) and any(is_number(value) for value in section.values()):
        return ""
    if isinstance(section, Mapping) and section.get("reason"):
        return str(section["reason"])
    if not content.comparison.aligned:
        return "the rows of the copies are not lined up with the original records (evaluation.rows)"
    return "it was not asked for (evaluation.risk)"


def sections(content: ReportContent) -> dict[str, Mapping[str, Any]]:
    """Return the identity figures by title: before, then each attack that was computed."""
    shown: dict[str, Mapping[str, Any]] = {BEFORE: content.baseline_risk} if content.baseline_risk else {}
    return shown | identity_sections(find(content.metrics, "risk"))


def overall(shown: Mapping[str, Mapping[str, Any]]) -> Table | None:
    """Return all identity measures, one column per attack."""
    rows = tuple(
        (words, *(_cell(section, key, say) for section in shown.values()))
        for words, key, say in MEASURES
        if any(key in section for section in shown.values())
    )
    table = Table("All records, before and after", ("Measure", *shown), rows, "l" + "r" * len(shown))
    return table if rows else None


def _cell(section: Mapping[str, Any], key: str, say: Callable[[Any], str]) -> str:
    if key == "false_match_rate" and key in section and section[key] is None:
        return ABSENT_RATE
    value = chance(section) if key == "true_match_chance" else section.get(key)
    # an attack that has no such figure is not one whose figure failed
    return DASH if value is None and key not in section else say(value)


def by_group(content: ReportContent, shown: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[Figure, ...], Table | None]:
    """Return the plots by risk group and the table that holds the same figures."""
    if not shown:
        return (), None
    groups = _group_names(shown.values())
    lines = {title: [_line(content, section, group) for group in groups] for title, section in shown.items()}
    figures = tuple(
        risk_plot(
            title,
            groups,
            {name: [_share(line, key, counted) for line in found] for name, found in lines.items()},
            caption,
        )
        for title, key, counted, caption in GROUP_MEASURES
    )
    rows = tuple(
        (group, name, number(line.get("records")), *_group_cells(line))
        for row, group in enumerate(groups)
        for name, line in ((name, found[row]) for name, found in lines.items())
    )
    head = ("Risk group", "Attack", "Records", "Expected matches", "True matches", "Average chance")
    return figures, Table("Risk by group, before and after", head, rows, "llrrrr")


def _group_names(found: Any) -> list[str]:
    groups = dict.fromkeys(str(line.get("group")) for section in found for line in entries(section.get("per_group")))
    ordered = [name for name in GROUP_ORDER if name in groups]
    return [*ordered, *(name for name in groups if name not in GROUP_ORDER), EVERYONE]


def _line(content: ReportContent, section: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    if group == EVERYONE:
        return {**section, "records": len(content.comparison.original)}
    lines = entries(section.get("per_group"))
    return next((line for line in lines if str(line.get("group")) == group), {})


def _share(line: Mapping[str, Any], key: str, counted: bool) -> float | None:
    value, records = line.get(key), line.get("records")
    if not is_number(value) or (counted and not records):
        return None
    return float(value) / float(records) if counted and records else float(value)  # type: ignore[arg-type]


def _group_cells(line: Mapping[str, Any]) -> tuple[str, ...]:
    cells: list[str] = []
    for _, key, people, _ in GROUP_MEASURES:
        share = _share(line, key, people)
        text = percent(share) if share is not None else DASH if key not in line else NOT_COMPUTED
        cells.append(f"{number(line.get(key))} ({text})" if people and share is not None else text)
    return tuple(cells)


def keys(content: ReportContent) -> str:
    """Return the columns the intruder is assumed to know."""
    return listing([column.name for column in content.comparison.schema.keys()])
