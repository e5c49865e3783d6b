"""The figures of each measure that stand for it in a comparison, as lines of one tidy table.

A section of metrics.json holds everything that a report may need; a comparison needs the few figures by which methods
differ. A line's ``measure`` is the measure's name, a dot and the figure: ``panel.mean``. What could not be measured is
a line without a value that says why, never 0.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import entries, find, is_number
from synthdp.evaluation.measure import MISSING, Need

Section = Any
Sections = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """One figure: of which measure, about what, with its interval where it has one, or why there is none."""

    measure: str
    target: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def lines_of(name: str, sections: Sections) -> list[Line]:
    """Return the lines of one measure, at least one.

    Parameters
    ----------
    name
        The measure.
    sections
        All sections of usefulness or of risk.
    """
    section = sections.get(name)
    why = find(section, "reason")
    found = list(READERS.get(name, _plain)(name, section, sections))
    if any(one.value is not None or one.reason for one in found):
        return [one if one.value is not None or one.reason else _because(one, UNDEFINED) for one in found]
    return [Line(name, reason=str(why or EMPTY.get(name, "it gave no figure")))]


UNDEFINED = "the figure is not defined for these files"
EMPTY = {
    "attribute": MISSING[Need.TARGETS],
    "inference": MISSING[Need.TARGETS],
    "analyses": "no analysis is named (analyses)",
    "memorised": MISSING[Need.PLAN],
}


def _because(line: Line, why: str) -> Line:
    return Line(line.measure, line.target, reason=why)


def number_of(value: Any) -> float | None:
    """Return a finite number, or None."""
    return float(value) if is_number(value) and math.isfinite(float(value)) else None


def _ranged(measure: str, target: str, found: Any) -> Line:
    """Return the line of a figure that has value, low and high."""
    value, low, high = (number_of(find(found, key)) for key in ("value", "low", "high"))
    return Line(measure, target, value, low, high, str(find(found, "reason") or ""))


def _pmse(name: str, section: Section, _: Sections) -> Iterator[Line]:
    for model, found in (section or {}).items():
        if isinstance(found, Mapping):
            yield _ranged(f"{name}.value", str(model), found)
            yield Line(f"{name}.ratio", str(model), number_of(found.get("ratio")), reason=str(found.get("reason", "")))


def _analyses(name: str, section: Section, _: Sections) -> Iterator[Line]:
    for found in entries(section):
        title = str(found.get("name"))
        why = str(found.get("reason", ""))
        yield Line(f"{name}.overlap", title, number_of(found.get("mean_ci_overlap")), reason=why)
        yield Line(f"{name}.worst", title, number_of(found.get("min_ci_overlap")), reason=why)
        for term in entries(found.get("terms")):
            target, synthetic = f"{title}: {term.get('term')}", term.get("synthetic")
            value, low, high = (number_of(find(synthetic, key)) for key in ("estimate", "low", "high"))
            yield Line(f"{name}.estimate", target, value, low, high)
            value, low, high = (number_of(find(term, "original", key)) for key in ("estimate", "low", "high"))
            yield Line(f"{name}.original", target, value, low, high)
            yield Line(f"{name}.term_overlap", target, number_of(term.get("ci_overlap")))
            yield Line(f"{name}.std_diff", target, number_of(term.get("std_diff")))


def _tables(name: str, section: Section, sections: Sections) -> Iterator[Line]:
    for ways, found in (find(sections.get("table_summary"), "ways") or {}).items():
        yield Line(f"{name}.s_pmse", f"{ways}-way", number_of(found.get("mean_s_pmse")))
        yield Line(f"{name}.worst", f"{ways}-way", number_of(found.get("max_s_pmse")))


def _panel(name: str, section: Section, _: Sections) -> Iterator[Line]:
    yield Line(f"{name}.mean", "", number_of(find(section, "mean")))
    yield Line(f"{name}.worst", "", number_of(find(section, "worst")))


def _pointing(name: str, section: Section, _: Sections) -> Iterator[Line]:
    """Yield the share of records found, and the largest chance of one record."""
    for figure, keys in (
        ("rate", ("expected_match_rate", "expected_links_rate")),
        ("largest", ("max_individual", "max_posterior")),
    ):
        found = (number_of(find(section, key)) for key in keys)
        yield Line(f"{name}.{figure}", "", next((value for value in found if value is not None), None))


def _attribute(name: str, section: Section, _: Sections) -> Iterator[Line]:
    for found in entries(section):
        target = str(found.get("target"))
        value, low, high = (number_of(found.get(key)) for key in ("gain", "gain_low", "gain_high"))
        yield Line(f"{name}.gain", target, value, low, high, str(found.get("reason", "")))
        disco = number_of(found.get("DiSCO"))
        yield Line(f"{name}.disco", target, None if disco is None else disco / 100)


def _rates(name: str, section: Section, _: Sections) -> Iterator[Line]:
    """Yield attacks that end in a rate: what goes beyond people not in the data, and the bare success."""
    whole = section if isinstance(section, Mapping) else {}
    parts = {"": whole} if "attack" in whole else {key: one for key, one in whole.items() if find(one, "attack")}
    parts |= {str(one.get("target")): one for one in entries(section)}
    for target, found in parts.items():
        why = str(found.get("reason", "")) or ("" if find(found, "risk") else MISSING[Need.HOLDOUT])
        risk = _ranged(f"{name}.risk", target, found.get("risk"))
        yield risk if risk.value is not None else _because(risk, why or UNDEFINED)
        yield _ranged(f"{name}.attack", target, found.get("attack"))


def _membership(name: str, section: Section, _: Sections) -> Iterator[Line]:
    for found in entries(find(section, "attacks")):
        yield _ranged(f"{name}.auc", f"{found.get('columns')}, {found.get('score')}", found.get("auc"))


def _shadow(name: str, section: Section, _: Sections) -> Iterator[Line]:
    value, low, high = (number_of(find(section, key)) for key in ("auc", "low", "high"))
    yield Line(f"{name}.auc", "", value, low, high)
    keys = ("advantage", "advantage_low", "advantage_high")
    value, low, high = (number_of(find(section, key)) for key in keys)
    yield Line(f"{name}.advantage", "", value, low, high)


def _memorised(name: str, section: Section, _: Sections) -> Iterator[Line]:
    keys = ("difference", "low", "high")
    value, low, high = (_first(find(section, key)) for key in keys)
    yield Line(f"{name}.difference", "", value, low, high)
    yield Line(f"{name}.judged", "", number_of(find(section, "judged")))


def _first(value: Any) -> float | None:
    return number_of(find(value, "value")) if isinstance(value, Mapping) else number_of(value)


def _figures(*names: str) -> Callable[[str, Section, Sections], Iterator[Line]]:
    def read(name: str, section: Section, _: Sections) -> Iterator[Line]:
        for figure in names:
            yield Line(f"{name}.{figure}", "", number_of(find(section, figure)))

    return read


def _plain(name: str, section: Section, _: Sections) -> Iterator[Line]:
    """Yield a measure nobody described here: its value, or every number that stands at the top of its section."""
    if is_number(section):
        yield Line(name, "", number_of(section))
    elif find(section, "value") is not None:
        yield _ranged(f"{name}.value", "", section)
    elif isinstance(section, Mapping):
        for key, value in section.items():
            if is_number(value):
                yield Line(f"{name}.{key}", "", number_of(value))
            elif is_number(find(value, "value")):
                yield _ranged(f"{name}.{key}", "", value)


READERS: Mapping[str, Callable[[str, Section, Sections], Iterator[Line]]] = {
    "pmse": _pmse,
    "analyses": _analyses,
    "tables": _tables,
    "panel": _panel,
    "attribute": _attribute,
    "singling": _rates,
    "linkage": _rates,
    "linkability": _rates,
    "inference": _rates,
    "membership": _membership,
    "membership_shadow": _shadow,
    "memorised": _memorised,
    "verbatim": _figures("excess"),
    "exposure": _figures("alone_rate", "unique_rate"),
    **dict.fromkeys(
        (
            "identity",
            "identity_averaged",
            "identity_linked",
            "identity_likelihood",
            "identity_public",
            "identity_extremes",
            "identity_bayes",
        ),
        _pointing,
    ),
}
