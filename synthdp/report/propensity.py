"""Whether copies can be told from the original: the scores of every model, in a table, words and histograms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import HALVES, NOT_COMPUTED, Table, find, is_number, number, percent
from synthdp.report import plots
from synthdp.report.content import ReportContent
from synthdp.report.plots import Figure

CLASSIFIERS: Mapping[str, str] = {
    "logit": "logistic regression",
    "logit_interactions": "logistic regression with products of columns",
    "cart": "classification tree",
    "boosting": "gradient boosting",
}
NULLS: Mapping[str, str] = {
    "formula": "a formula for copies drawn whole from the right model",
    "bootstrap": "records of the original drawn with replacement in place of the copies",
    "permutation": "the labels “original” and “synthetic” exchanged at random",
    "within_record": "the labels swapped at random within each record",
    "pairs": "one copy judged against another",
}
OTHERS: Mapping[str, str] = {
    "specks": "SPECKS: largest gap between the two sets of scores, 0 (none) to 1 (complete)",
    "po50": "PO50: percentage points of records told apart beyond the 50% of a coin toss",
}
HALVES_NOTED = f"{HALVES}*"


@dataclass(frozen=True)
class Propensity:
    """The table of all models with its reading in words, the score histograms, the same question asked otherwise."""

    table: Table | None
    absent: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]
    others: Table | None


def propensity(content: ReportContent) -> Propensity:
    """Return how well original and synthetic records can be told apart."""
    section = find(content.metrics, "utility", "pmse") or {}
    models = {name: found for name, found in section.items() if is_number(find(found, "value"))}
    reason = section.get("reason") or next((found["reason"] for found in section.values() if find(found, "reason")), "")
    return Propensity(
        table=_table(models),
        absent="" if models else str(reason or "pMSE was not asked for (evaluation.utility)"),
        sentences=tuple(text for name, found in models.items() if (text := _sentence(name, found))),
        figures=tuple(_histogram(name, found) for name, found in models.items() if _bins(found)),
        others=_others(content, models),
    )


def _named(name: str) -> str:
    return CLASSIFIERS.get(name, name)


def _table(models: Mapping[str, Mapping[str, Any]]) -> Table | None:
    rows = tuple(
        (
            _named(name),
            number(found["value"]),
            spread(found),
            number(found.get("null")),
            number(found.get("ratio")),
            number(found.get("standardised")),
            number(found.get("noise_floor")),
        )
        for name, found in models.items()
    )
    head = (
        "Told apart by",
        "pMSE (mean over copies)",
        "Lowest to highest copy",
        "Expected if right",
        "Ratio to expected",
        "… in standard deviations",
        HALVES_NOTED,
    )
    return Table("Can a computer tell synthetic from original records?", head, rows, "lrrrrrr") if rows else None


def _sentence(name: str, found: Mapping[str, Any]) -> str:
    """Return the ratio in words, and where the expectation comes from."""
    ratio, kind = found.get("ratio"), str(found.get("null_kind") or "")
    start = _named(name)[0].upper() + _named(name)[1:]
    if not is_number(ratio):
        return f"{start}: no ratio, because {found['reason']}." if found.get("reason") else ""
    times = f"{number(ratio)} times as well as" if ratio > 1 else "no better than"  # type: ignore[operator]
    text = f"{start}: the copies are told apart {times} copies from the right model would be"
    z = found.get("standardised")
    if is_number(z):
        side = "above" if z >= 0 else "below"  # type: ignore[operator]
        text += f", {number(abs(z))} standard deviations {side} what is expected"  # type: ignore[arg-type]
    if kind:
        text += f". Expected value: {NULLS.get(kind, kind)}"
        text += f" ({found['design']} synthesis)" if found.get("design") else ""
    return text + "."


def _bins(found: Mapping[str, Any]) -> bool:
    shape = found.get("histogram")
    return isinstance(shape, Mapping) and all(shape.get(key) for key in ("edges", "original", "synthetic"))


def _histogram(name: str, found: Mapping[str, Any]) -> Figure:
    shape = found["histogram"]
    edges = [plots.tidy(edge) for edge in shape["edges"]]
    copies = [_shares(counts) for counts in shape["synthetic"]]
    # each copy has a model of its own, and the original's scores under it; their mean is one outline
    scores = [_shares(counts) for counts in shape["original"]]
    original = [sum(cells) / len(cells) for cells in zip(*scores, strict=True)]
    data = [
        plots.steps(edges, original) | {"fill": "tozeroy", "fillcolor": "rgba(0,114,178,0.28)", "name": "original"},
        *(
            plots.steps(edges, shares) | {"name": f"copy {k}", "line": plots.thin(len(copies))}
            for k, shares in enumerate(copies, start=1)
        ),
    ]
    title = f"Scores by {_named(name)}"
    layout = plots.layout(230, x={"title": {"text": "estimated probability of being synthetic"}, "nticks": 6})
    layout["yaxis"] |= {"ticksuffix": "%", "rangemode": "tozero", "nticks": 5}
    mean = [sum(cells) / len(cells) for cells in zip(*copies, strict=True)]
    apart = sum(abs(a - b) for a, b in zip(original, mean, strict=True)) / 2
    alt = f"{title}: the histograms of original and synthetic records differ in {percent(apart)} of their area."
    return Figure(title, data, layout, alt, "% of records; the more the outlines cover each other, the better.", 230)


def _shares(counts: Sequence[float]) -> list[float]:
    total = sum(counts) or 1
    return [count / total for count in counts]


def _others(content: ReportContent, models: Mapping[str, Mapping[str, Any]]) -> Table | None:
    """Return SPECKS and PO50 of every model, or those that stand beside pMSE."""
    rows: list[tuple[str, ...]] = []
    for key, meaning in OTHERS.items():
        found = {name: section[key] for name, section in models.items() if is_number(find(section, key, "value"))}
        beside = find(content.metrics, "utility", key)
        if not found and is_number(find(beside, "value")):
            found = {"": beside}
        rows += [
            (meaning, _named(name), number(one["value"]), spread(one), number(one.get("noise_floor")))
            for name, one in found.items()
        ]
    head = ("Measure", "Told apart by", "Mean over copies", "Lowest to highest copy", HALVES_NOTED)
    return Table("The same question, measured in other ways", head, tuple(rows), "llrrr") if rows else None


def spread(found: Mapping[str, Any]) -> str:
    """Return the smallest and largest value over copies."""
    copies = [value for value in found.get("per_copy") or () if is_number(value)]
    return f"{number(min(copies))} to {number(max(copies))}" if copies else NOT_COMPUTED
