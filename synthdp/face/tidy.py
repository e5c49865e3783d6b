"""Sections of metrics.json as one tidy table: a row for every figure that is worth comparing.

``measure`` is the figure's path in metrics.json, ``target`` what it was taken of: columns, an analysis, a term.
Which figures there are, where their intervals and yardsticks stand and which way is better, is a table of its own here;
measures of plugins that are not in it give their ``value``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthdp.evaluation.blocks import find, is_number, reason

Better = Literal["lower", "higher", "zero", "baseline"]
COLUMNS = ("measure", "target", "value", "low", "high", "baseline", "better", "reason")


@dataclass(frozen=True)
class Figure:
    """Where one figure stands in a section, and what stands beside it; paths are dotted.

    Parameters
    ----------
    value, low, high, baseline
        Paths of the figure, its interval (or range over copies), and of what chance, the original, or two halves of it
        give; a number stands for itself.
    better
        ``lower``, ``higher``, ``zero`` (nearer to 0) or ``baseline`` (nearer to that).
    name
        Of the figure in the table, after that of its measure; its path by default, none for the measure's only one.
    """

    value: str
    better: Better
    low: str = ""
    high: str = ""
    baseline: str | float = ""
    name: str | None = None


def _spread(name: str, better: Better, baseline: str = "noise", *, called: str | None = None) -> Figure:
    """Return a figure whose range over copies and yardstick stand beside it in a block of its own."""
    inside = f"{name}." if name else ""
    called = name if called is None else called
    return Figure(f"{inside}value", better, f"{inside}low", f"{inside}high", f"{inside}{baseline}", called)


FOUND = (
    Figure("expected_match", "lower", baseline="original.expected_match"),
    Figure("expected_match_rate", "lower", baseline="original.expected_match_rate"),
    Figure("true_match", "lower", baseline="true_match_chance"),
    Figure("mean_individual", "lower", baseline="original.mean_individual"),
    Figure("max_individual", "lower", baseline="original.max_individual"),
    Figure("expected_links", "lower", baseline="expected_links_chance"),
    Figure("expected_links_rate", "lower"),
    Figure("mean_posterior", "lower"),
    Figure("max_posterior", "lower"),
)
ATTACKED = (
    Figure("attack.value", "lower", "attack.low", "attack.high", "baseline.value", "attack"),
    Figure("risk.value", "lower", "risk.low", "risk.high", name="risk"),
)
# of each measure its figures; what a measure lacks is left out of the table
FIGURES: Mapping[str, tuple[Figure, ...]] = {
    "pmse": tuple(
        figure
        for model in ("logit", "cart")
        for figure in (
            _spread(model, "lower", "noise_floor"),
            Figure(f"{model}.ratio", "lower", baseline=1.0),
        )
    ),
    "specks": (_spread("", "lower", "noise_floor"),),
    "po50": (_spread("", "lower", "noise_floor"),),
    "panel": (Figure("mean", "higher"), Figure("worst", "higher")),
    "analyses": (
        Figure("mean_ci_overlap", "higher", "spread.low", "spread.high", "spread.noise"),
        Figure("min_ci_overlap", "higher"),
    ),
    "terms": (
        Figure("ci_overlap", "higher"),
        Figure("std_diff", "zero"),
        Figure(
            "synthetic.estimate", "baseline", "synthetic.low", "synthetic.high", "original.estimate", name="estimate"
        ),
    ),
    "tables": (
        Figure("s_pmse", "lower", "low.s_pmse", "high.s_pmse", "noise.s_pmse"),
        Figure("total_variation", "lower", "low.total_variation", "high.total_variation", "noise.total_variation"),
    ),
    "subgroups": (_spread("", "lower"),),
    "k_marginal": (Figure("value", "higher", "low", "high", "bootstrap", ""),),
    "distributions": tuple(
        _spread(name, "zero" if name == "missing" else "lower") for name in ("ks", "wasserstein", "missing")
    ),
    "correlations": tuple(_spread(name, "zero") for name in ("pearson", "cramers_v", "mutual_information")),
    "prediction": tuple(
        _spread(f"scores.{name}", "lower" if name == "log_loss" else "higher", "original", called=name)
        for name in ("auc", "accuracy", "log_loss", "r2")
    ),
    "attribute": (
        Figure("gain", "lower", "gain_low", "gain_high"),
        Figure(
            "guess.success.value", "lower", "guess.success.low", "guess.success.high", "guess.baseline.value", "success"
        ),
        Figure("DiSCO", "lower"),
        Figure("own_row.value", "lower", "own_row.low", "own_row.high", name="own_row"),
    ),
    "verbatim": (Figure("rows", "lower", baseline="chance"), Figure("excess", "lower")),
    "memorised": (Figure("difference", "lower", "low", "high", "chance"),),
    "exposure": (Figure("unique_rate", "lower"), Figure("alone_rate", "lower")),
    "membership": (
        Figure(
            "closer_to_members.value",
            "lower",
            "closer_to_members.low",
            "closer_to_members.high",
            0.5,
            "closer_to_members",
        ),
    ),
    "membership_scores": (Figure("auc.value", "lower", "auc.low", "auc.high", 0.5, "auc"),),
    "membership_shadow": (Figure("auc", "lower", "low", "high", 0.5), Figure("advantage", "lower", baseline=0.0)),
    "singling": tuple(
        Figure(f"{way}.{part}.value", "lower", f"{way}.{part}.low", f"{way}.{part}.high", base, name)
        for way in ("univariate", "multivariate")
        for part, base, name in (("attack", f"{way}.baseline.value", f"{way}.attack"), ("risk", "", f"{way}.risk"))
    ),
    "linkability": ATTACKED,
    "inference": ATTACKED,
    "population": (Figure("population_unique_rate", "lower"), Figure("expected_links_rate", "lower")),
}
# made of others, or of no use in a table
LEFT_OUT = ("table_summary", "original", "repair", "releases")
PLAIN = (_spread("", "baseline", called=""),)


def table(sections: Mapping[str, Any]) -> pd.DataFrame:
    """Return the figures of ``utility`` and ``risk``; a measure that was not taken has a reason and no value.

    Examples
    --------
    >>> found = table({"utility": {"panel": {"mean": 0.9, "worst": 0.7}}, "risk": {"identity": {"reason": "no keys"}}})
    >>> found[["measure", "value", "better", "reason"]].to_dict("list")["measure"]
    ['panel.mean', 'panel.worst', 'identity']
    """
    rows = [row for about in ("utility", "risk") for row in _rows(sections.get(about) or {})]
    found = pd.DataFrame([dict(zip(COLUMNS, row, strict=True)) for row in rows], columns=list(COLUMNS))
    numbers = ["value", "low", "high", "baseline"]
    return found.assign(**{name: found[name].astype(np.float64) for name in numbers})


def _rows(sections: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    original = sections.get("original") if isinstance(sections.get("original"), Mapping) else None
    for name, section in sections.items():
        if name in LEFT_OUT:
            continue
        if name == "intruders":
            each = section.items() if isinstance(section, Mapping) else ()
            for who, one in each:
                yield from _of(f"intruders.{who}", "", one, FOUND, original)
            continue
        figures = FIGURES.get(name, FOUND if str(name).startswith("identity") else PLAIN)
        for target, one in _parts(section):
            yield from _of(str(name), target, one, figures, original)
            if name == "analyses":
                for term in one.get("terms") or ():
                    yield from _of(name, f"{target}: {term.get('term')}", term, FIGURES["terms"], None)
            if name == "membership":
                for line in one.get("attacks") or ():
                    said = f"{line.get('columns')}, {line.get('score')}"
                    yield from _of(name, said, line, FIGURES["membership_scores"], None)


def _parts(section: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what a section was taken of, with its figures: one by one where it is a list."""
    if isinstance(section, Mapping):
        yield "", section
    elif is_number(section):
        yield "", {"value": section}
    elif isinstance(section, list | tuple):
        for one in section:
            if isinstance(one, Mapping):
                yield _target(one), one


def _target(one: Mapping[str, Any]) -> str:
    if "columns" in one and "group" not in one:
        return " × ".join(map(str, one["columns"]))
    if "target" in one and "model" in one:
        return f"{one['target']}, {one['model']}"
    named = [str(one[key]) for key in ("name", "column", "target", "by", "group", "level") if one.get(key) is not None]
    return " = ".join(named)


def _of(
    name: str,
    target: str,
    section: Any,
    figures: tuple[Figure, ...],
    original: Mapping[str, Any] | None,
) -> Iterator[tuple[Any, ...]]:
    given = {**section, "original": section.get("original", original)} if isinstance(section, Mapping) else {}
    taken = False
    for figure in figures:
        value = _at(given, figure.value)
        if not is_number(value):
            continue
        taken = True
        called = figure.value if figure.name is None else figure.name
        beside = [_at(given, path) for path in (figure.low, figure.high, figure.baseline)]
        plain = [one if is_number(one) else None for one in beside]
        yield f"{name}.{called}" if called else name, target, value, *plain, figure.better, ""
    if not taken and (why := reason(given)):
        yield name, target, None, None, None, None, "", why.removeprefix(f"{name}: ")


def _at(section: Mapping[str, Any], path: str | float) -> Any:
    if isinstance(path, float):
        return path
    return find(section, *path.split(".")) if path else None
