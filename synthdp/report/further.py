"""Measures of usefulness that are taken only when asked for: distances, associations, prediction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthdp.report.content import Block, ReportContent, Table, entries, find
from synthdp.report.words import is_number, number

MOST_ROWS = 15
HALVES = "Two halves of the original"
ASSOCIATIONS: Mapping[str, str] = {
    "pearson": "correlation",
    "cramers_v": "Cramér's V",
    "mutual_information": "mutual information",
}
SCORES: Mapping[str, str] = {
    "auc": "AUC (1 best, 0.5 a coin)",
    "accuracy": "share predicted right",
    "log_loss": "log loss (less is better)",
    "r2": "R² (1 best)",
}
LEARNERS: Mapping[str, str] = {"boosting": "gradient boosting", "linear": "linear model"}


@dataclass(frozen=True)
class Further:
    """Compact tables, None where not measured; ``absent`` says why prediction could not be."""

    distributions: Table | None
    associations: Table | None
    prediction: Table | None
    statements: tuple[str, ...]
    absent: str
    panel: Block | None = None


def further(content: ReportContent) -> Further:
    """Return what was measured beside analyses, scores and tables."""
    useful = find(content.metrics, "utility") or {}
    predicted = useful.get("prediction")
    models = entries(predicted)
    said = dict.fromkeys(str(entry["statement"]) for entry in models if entry.get("statement"))
    return Further(
        distributions=_distributions(entries(useful.get("distributions"))),
        associations=_associations(entries(useful.get("correlations"))),
        prediction=_prediction(models),
        statements=tuple(said),
        absent=str(find(predicted, "reason") or "").rstrip("."),
        panel=_panel(useful.get("panel")),
    )


def _panel(found: Any) -> Block | None:
    """Return how analyses fare that nobody foresaw; None where it was not asked for."""
    if not isinstance(found, Mapping):
        return None
    words = (
        "Small regressions were drawn at random from the columns, each with a replaced column in it, and run on the "
        "original and on all copies together. How far their 95% confidence intervals overlap shows how an "
        "unforeseen analysis fares: 1 is the same, 0 is none."
    )
    said = (
        (
            f"Over {number(found.get('n'))} coefficients the intervals overlap by {number(found['mean'])} on average, "
            f"{number(found.get('worst'))} at the worst.",
        )
        if is_number(found.get("mean"))
        else ()
    )
    lines = [one for one in entries(found.get("regressions")) if is_number(one.get("overlap"))]
    worst = sorted(lines, key=lambda one: float(one["overlap"]))[:MOST_ROWS]
    rows = tuple((str(one.get("formula", "")), number(one["overlap"])) for one in worst)
    caption = _headed("Regressions of the panel", rows, lines)
    tables = (Table(caption, ("Regression", "Overlap"), rows, "lr"),) if rows else ()
    return Block("Unforeseen analyses", words, said, tables, str(found.get("reason") or "").rstrip("."))


def _distributions(found: list[Mapping[str, Any]]) -> Table | None:
    changed = [entry for entry in found if any(find(entry, key, "high") for key in ("ks", "wasserstein"))]
    worst = sorted(changed, key=lambda entry: -float(find(entry, "ks", "value") or 0.0))
    rows = tuple(
        (
            str(entry.get("column", "")),
            _ranged(entry.get("ks")),
            number(find(entry, "ks", "noise")),
            _ranged(entry.get("wasserstein")),
            number(find(entry, "wasserstein", "noise")),
            _points(find(entry, "missing", "value")),
        )
        for entry in worst[:MOST_ROWS]
    )
    head = (
        "Column",
        "Kolmogorov–Smirnov distance",
        HALVES,
        "Wasserstein distance, in standard deviations",
        HALVES,
        "Missing values, percentage points more",
    )
    return Table(_headed("Distributions of numbers and dates", rows, changed), head, rows, "lrrrrr") if rows else None


def _associations(measured: list[Mapping[str, Any]]) -> Table | None:
    found: list[tuple[str, str, Mapping[str, Any]]] = []
    for entry in measured:
        for key, name in ASSOCIATIONS.items():
            one = entry.get(key)
            if isinstance(one, Mapping) and is_number(one.get("value")):
                # correlations where there are any: the three say much the same
                found.append((" × ".join(str(column) for column in entry.get("columns") or ()), name, one))
                break
    changed = [line for line in found if line[2].get("low") or line[2].get("high")]
    worst = sorted(changed, key=lambda line: -abs(line[2]["value"]))
    rows = tuple(
        (pair, name, number(find(one, "original")), _ranged(one), number(find(one, "noise")))
        for pair, name, one in worst[:MOST_ROWS]
    )
    head = ("Columns", "Measure", "Original", "Copies minus original", "Two halves differ by")
    caption = _headed("Associations between columns", rows, changed)
    return Table(caption, head, rows, "llrrr") if rows else None


def _prediction(models: list[Mapping[str, Any]]) -> Table | None:
    rows: list[tuple[str, ...]] = []
    for entry in models:
        target = f"{entry.get('target', '')}, {LEARNERS.get(str(entry.get('model')), str(entry.get('model', '')))}"
        if not entry.get("scores"):
            rows.append((target, str(entry.get("reason") or "no score"), "–", "–", "–"))
        for key, one in (entry.get("scores") or {}).items():
            rows.append(
                (target, SCORES.get(key, key), number(find(one, "original")), _ranged(one), number(find(one, "noise")))
            )
    head = ("Target, model", "Score on real records held out", "Learnt from the original", "Learnt from a copy", HALVES)
    return (
        Table("Prediction: learnt from the copies, tested on real records", head, tuple(rows), "llrrr")
        if rows
        else None
    )


def _headed(caption: str, rows: tuple[Any, ...], all_: list[Any]) -> str:
    return f"{caption}: the {len(rows)} that differ most, of {len(all_)}" if len(all_) > len(rows) else caption


def _ranged(found: Any) -> str:
    """Return the mean over copies with the lowest and highest copy."""
    low, high = find(found, "low"), find(found, "high")
    text = number(find(found, "value"))
    return f"{text} ({number(low)} to {number(high)})" if is_number(low) and is_number(high) and low != high else text


def _points(share: Any) -> str:
    return number(100.0 * share) if is_number(share) else number(share)
