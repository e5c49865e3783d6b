"""The measures of usefulness: what an analyst would notice, and how the report tells it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from synthdp.errors import SynthdpError
from synthdp.evaluation.blocks import DASH, HALVES, Block, Table, entries, find, is_number, number, percent, reason
from synthdp.evaluation.comparison import Comparison, Halves, halves
from synthdp.evaluation.measure import Figures, Plain, Wide
from synthdp.evaluation.measures.repeated import analyses_blocks, propensity_blocks
from synthdp.evaluation.measures.served import tables_blocks
from synthdp.evaluation.utility.analyses import Fits, evaluate_analyses, spread_of
from synthdp.evaluation.utility.classes import classify
from synthdp.evaluation.utility.distances import (
    evaluate_associations,
    evaluate_distributions,
    evaluate_subgroups,
    levels_of,
    risk_groups,
)
from synthdp.evaluation.utility.k_marginal import evaluate_k_marginal
from synthdp.evaluation.utility.panel import evaluate_panel
from synthdp.evaluation.utility.prediction import evaluate_prediction
from synthdp.evaluation.utility.propensity import evaluate_propensity
from synthdp.evaluation.utility.tables import evaluate_tables
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE

NO_TARGET = "no target was named; list the columns to predict in evaluation.targets"
MOST_ROWS = 15
DISTANCES = "Distances, associations, prediction"
DISTANCES_WORDS = (
    "Kept columns are the same and left out. A distance no larger than between two halves of the original is noise."
)
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


def _halves(files: Comparison) -> Halves:
    return halves(files, rng=files.request.streams.generator("evaluate", "halves"))


def _rule(files: Comparison) -> str:
    return files.rule or DEFAULT_RULE


def _pmse(files: Comparison, rng: np.random.Generator) -> Figures:
    found = evaluate_propensity(files, files.request.propensity, rng=rng)
    return Figures(found.pop("pmse"), found)


def _ratio(section: Any) -> dict[str, float]:
    ratio = find(section, "logit", "ratio")
    return {} if ratio is None else {"": float(ratio)}


def _panel(files: Comparison, rng: np.random.Generator) -> Figures:
    # fixed: the same regressions for every release of the same columns, and in every draw of the gate
    return Figures(evaluate_panel(files, default_rule=_rule(files), rng=np.random.default_rng(0)))


def _panel_block(found: Any) -> Block | None:
    """Return how analyses fare that nobody foresaw."""
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
    return Block("Unforeseen analyses", words, said, tables, reason(found))


class _Analyses(Plain):
    """The gate asks less of every draw than the report shows of the published copies: no copy alone, no halves."""

    def judged(self, comparison: Comparison, *, rng: np.random.Generator, found: Any = None) -> dict[str, float]:
        """Return the mean overlap of all analyses."""
        known = [one for one in (_overlap(comparison, each) for each in comparison.request.analyses) if one is not None]
        return {"": float(np.mean(known))} if known else {}

    def blocks(self, section: Any) -> tuple[Block, ...]:
        """Return every analysis."""
        return analyses_blocks(section)


def _overlap(files: Comparison, analysis: Analysis) -> float | None:
    try:
        entry = evaluate_analyses(files, [analysis], default_rule=_rule(files))[0]
    except SynthdpError:
        return 0.0  # an analyst who cannot estimate it at all has nothing of it
    # a gap between intervals is no use, but not less than none
    terms = [max(0.0, float(term["ci_overlap"])) for term in entry["terms"] if term["ci_overlap"] is not None]
    return float(np.mean(terms)) if terms else None


def _analysis(files: Comparison, analysis: Analysis, rng: np.random.Generator) -> dict[str, Any]:
    """Return one analysis on both sides; one that cannot be estimated says why and stops no other."""
    asked = {"model": analysis.model, "formula": analysis.formula}
    fits = Fits(files, analysis)
    try:
        entry = evaluate_analyses(files, [analysis], default_rule=_rule(files), fits={analysis.name: fits})[0] | asked
        return entry | {"spread": spread_of(files, analysis, rng=rng, fits=fits)}
    except SynthdpError as error:
        nothing: dict[str, Any] = {"terms": [], "mean_ci_overlap": None, "min_ci_overlap": None}
        return {"name": analysis.name, "rule": analysis.rule or _rule(files), **asked, **nothing, "reason": str(error)}


def _tables(files: Comparison, rng: np.random.Generator) -> Figures:
    """Compare tables of counts and, where subgroups can be told in the copies, those of each subgroup."""
    asked, classes, split = files.request, classify(files), _halves(files)
    found, summary = evaluate_tables(classes, split, ways=asked.ways, columns=asked.columns, most=asked.most, rng=rng)
    beside: dict[str, Any] = {"table_summary": summary}
    grouping = risk_groups(files)
    if asked.subgroups is not None and asked.subgroups in classes.names:
        grouping = levels_of(classes, asked.subgroups)
    if grouping is not None:
        beside["subgroups"] = evaluate_subgroups(classes, grouping, split)
    return Figures(found, beside)


def _k_marginal(files: Comparison, rng: np.random.Generator) -> Figures:
    asked = files.request
    found = evaluate_k_marginal(classify(files), by=asked.subgroups, columns=asked.columns, most=asked.most, rng=rng)
    return Figures(found)


def _k_marginal_block(section: Any) -> Block | None:
    """Return how near all two-way tables are, in terms of a subsample of the original."""
    if not isinstance(section, Mapping):
        return None
    crossed = f", each crossed with {section['by']}" if section.get("by") else ""
    words = (
        f"All tables of two columns{crossed} are compared with the original's: 1,000 are equal shares everywhere, 0 is "
        "no cell in common. Numbers are cut into classes."
    )
    said: tuple[str, ...] = ()
    if is_number(section.get("value")):
        share = section.get("subsample")
        alike = (
            f"as a random {percent(share)} of the original would" if is_number(share) else "less than one record would"
        )
        said = (
            f"The copies score {section['value']:.1f}, {alike}; as many records drawn from the original with "
            f"replacement score {section['bootstrap']:.1f} on average.",
        )
    rows = tuple((" × ".join(map(str, one["columns"])), number(one["l1"])) for one in entries(section.get("worst")))
    head = ("Columns", "Sum of the differences of shares (0 to 2)")
    tables = (Table("The tables that differ most", head, rows, "lr"),) if rows else ()
    return Block("Two-way tables (k-marginal)", words, said, tables, reason(section), tuple(section.get("notes") or ()))


def _prediction(files: Comparison, rng: np.random.Generator) -> Figures:
    targets = files.request.targets
    return Figures(evaluate_prediction(files, targets, rng=rng) if targets else {"reason": NO_TARGET})


def _distances(caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], align: str) -> Block | None:
    tables = (Table(caption, head, tuple(rows), align),)
    return Block(DISTANCES, DISTANCES_WORDS, (), tables) if rows else None


def _distributions_block(section: Any) -> Block | None:
    changed = [entry for entry in entries(section) if any(find(entry, key, "high") for key in ("ks", "wasserstein"))]
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
    return _distances(_headed("Distributions of numbers and dates", rows, changed), head, rows, "lrrrrr")


def _associations_block(section: Any) -> Block | None:
    found: list[tuple[str, str, Mapping[str, Any]]] = []
    for entry in entries(section):
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
    return _distances(_headed("Associations between columns", rows, changed), head, rows, "llrrr")


def _prediction_block(section: Any) -> Block | None:
    models = entries(section)
    rows: list[tuple[str, ...]] = []
    for entry in models:
        target = f"{entry.get('target', '')}, {LEARNERS.get(str(entry.get('model')), str(entry.get('model', '')))}"
        if not entry.get("scores"):
            rows.append((target, str(entry.get("reason") or "no score"), DASH, DASH, DASH))
        for key, one in (entry.get("scores") or {}).items():
            rows.append(
                (target, SCORES.get(key, key), number(find(one, "original")), _ranged(one), number(find(one, "noise")))
            )
    why = reason(section)
    if not rows and not why:
        return None
    head = ("Target, model", "Score on real records held out", "Learnt from the original", "Learnt from a copy", HALVES)
    caption = "Prediction: learnt from the copies, tested on real records"
    tables = (Table(caption, head, tuple(rows), "llrrr"),) if rows else ()
    notes = tuple(dict.fromkeys(str(entry["statement"]) for entry in models if entry.get("statement")))
    missing = (f"prediction, because {why}",) if why else ()
    return Block(DISTANCES, DISTANCES_WORDS, (), tables, notes=notes if rows else (), missing=missing)


def _headed(caption: str, rows: Sequence[Any], all_: Sequence[Any]) -> str:
    return f"{caption}: the {len(rows)} that differ most, of {len(all_)}" if len(all_) > len(rows) else caption


def _ranged(found: Any) -> str:
    """Return the mean over copies with the lowest and highest copy."""
    low, high = find(found, "low"), find(found, "high")
    text = number(find(found, "value"))
    return f"{text} ({number(low)} to {number(high)})" if is_number(low) and is_number(high) and low != high else text


def _points(share: Any) -> str:
    return number(100.0 * share) if is_number(share) else number(share)


PMSE = Wide(
    "pmse",
    "Can the copies be told from the original?",
    _pmse,
    limits=("max_pmse_ratio",),
    title="Telling copies from the original",
    insists=True,
    reads=_ratio,
    shows=propensity_blocks,
)
PANEL = Plain(
    "panel",
    "How does an analysis fare that nobody foresaw?",
    _panel,
    limits=("min_overlap",),
    title="Small regressions drawn at random",
    reads=lambda section: {"": section["mean"]},
    tells=_panel_block,
)
ANALYSES = _Analyses(
    "analyses",
    "Does a data user learn the same from the copies?",
    lambda files, rng: Figures([_analysis(files, one, rng) for one in files.request.analyses]),
    limits=("min_overlap",),
    title="Your analyses",
    insists=True,
)
TABLES = Wide(
    "tables",
    "Which columns, pairs of columns and subgroups are served worst?",
    _tables,
    title="Tables",
    insists=True,
    shows=tables_blocks,
)
K_MARGINAL = Plain(
    "k_marginal",
    "How near are all two-way tables, and how large a subsample of the original would be as near?",
    _k_marginal,
    title="Two-way tables (k-marginal)",
    tells=_k_marginal_block,
)
DISTRIBUTIONS = Plain(
    "distributions",
    "Are the distributions of numbers and dates preserved?",
    lambda files, rng: Figures(evaluate_distributions(files, _halves(files))),
    title="Distributions",
    insists=True,
    tells=_distributions_block,
)
CORRELATIONS = Plain(
    "correlations",
    "Are associations preserved?",
    lambda files, rng: Figures(evaluate_associations(files, classify(files), _halves(files))),
    title="Associations",
    insists=True,
    tells=_associations_block,
)
PREDICTION = Plain(
    "prediction",
    "Do models learnt from the copies predict real records?",
    _prediction,
    title="Prediction",
    insists=True,
    tells=_prediction_block,
)
