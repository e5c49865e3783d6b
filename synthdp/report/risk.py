"""How risky the copies are: what each intruder finds, before and after, overall and by risk group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from synthdp.report.content import ReportContent, Table, entries, find
from synthdp.report.intrusion import BEFORE, chance, described, identity_sections, own_intruders
from synthdp.report.names import ATTACKS
from synthdp.report.plots import Figure
from synthdp.report.plots import risk as risk_plot
from synthdp.report.words import GROUP_ORDER, NOT_COMPUTED, is_number, listing, number, percent

DASH = "–"
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
    names = [name for name in ATTACKS if name in found or name in ("identity", "identity_averaged")]
    known = [Attack(name, *ATTACKS[name], _reason(content, found.get(name))) for name in names]
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
    names = dict.fromkeys(str(line.get("group")) for section in found for line in entries(section.get("per_group")))
    ordered = [name for name in GROUP_ORDER if name in names]
    return [*ordered, *(name for name in names if name not in GROUP_ORDER), EVERYONE]


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
    for _, key, counted, _ in GROUP_MEASURES:
        share = _share(line, key, counted)
        text = percent(share) if share is not None else DASH if key not in line else NOT_COMPUTED
        cells.append(f"{number(line.get(key))} ({text})" if counted and share is not None else text)
    return tuple(cells)


def keys(content: ReportContent) -> str:
    """Return the columns the intruder is assumed to know."""
    return listing([column.name for column in content.comparison.schema.keys()])
