"""All measures of one comparison that were asked for, gathered as the sections of metrics.json."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.comparison import Comparison, clusters, halves, split
from synthdp.evaluation.gate.tally import Identified
from synthdp.evaluation.measure import Measure
from synthdp.evaluation.risk.attacks import attack
from synthdp.evaluation.risk.intruders import Intruder
from synthdp.evaluation.utility.analyses import ci_overlap, evaluate_analyses
from synthdp.evaluation.utility.classes import classify
from synthdp.evaluation.utility.distances import (
    evaluate_associations,
    evaluate_distributions,
    evaluate_subgroups,
    levels_of,
    risk_groups,
)
from synthdp.evaluation.utility.panel import evaluate_panel
from synthdp.evaluation.utility.prediction import evaluate_prediction
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.evaluation.utility.tables import MOST_TABLES, evaluate_tables
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE, half_width
from synthdp.inference.estimates import Estimates
from synthdp.seeding import Streams

NO_TARGET = "no target was named; list the columns to predict in evaluation.targets"


@dataclass(frozen=True)
class UtilitySettings:
    """What the measures need to know beside the files; see ``config.Evaluation``."""

    targets: tuple[str, ...] = ()
    ways: tuple[int, ...] = (1, 2)
    columns: tuple[str, ...] = ()
    most: int = MOST_TABLES
    subgroups: str | None = None


DEFAULT = UtilitySettings()


def evaluate_utility(
    comparison: Comparison, asked: Collection[str], settings: UtilitySettings, *, streams: Streams
) -> dict[str, Any]:
    """Return the sections ``tables``, ``subgroups``, ``distributions``, ``correlations`` and ``prediction``.

    ``tables`` brings ``table_summary`` and, where subgroups can be told in the copies, ``subgroups`` with it.
    """
    sections: dict[str, Any] = {}
    if not {"tables", "distributions", "correlations", "prediction"} & set(asked):
        return sections
    split = halves(comparison, rng=streams.generator("evaluate", "halves"))
    if {"tables", "correlations"} & set(asked):
        classes = classify(comparison)
        if "tables" in asked:
            sections["tables"], sections["table_summary"] = evaluate_tables(
                classes,
                split,
                ways=settings.ways,
                columns=settings.columns,
                most=settings.most,
                rng=streams.generator("evaluate", "tables"),
            )
            grouping = risk_groups(comparison)
            if settings.subgroups is not None and settings.subgroups in classes.names:
                grouping = levels_of(classes, settings.subgroups)
            if grouping is not None:
                sections["subgroups"] = evaluate_subgroups(classes, grouping, split)
        if "correlations" in asked:
            sections["correlations"] = evaluate_associations(comparison, classes, split)
    if "distributions" in asked:
        sections["distributions"] = evaluate_distributions(comparison, split)
    if "prediction" in asked:
        rng = streams.generator("evaluate", "prediction")
        found = evaluate_prediction(comparison, settings.targets, rng=rng)
        sections["prediction"] = found if settings.targets else {"reason": NO_TARGET}
    return sections


SPLITS = 4


def spread_of(
    comparison: Comparison, analysis: Analysis, *, rng: np.random.Generator, level: float = 0.95
) -> dict[str, Any]:
    """Return the mean interval overlap of each copy alone with the original, and of two halves of the original.

    Halves are as independent as two samples of one population: their intervals overlap by
    1 − E|N(0, 2)|/(2z) = 1 − 1/(z√π) = 0.71 on average at 95%, whatever the size. Copies that overlap more than that
    agree with the original better than a second survey would. Members of a cluster stay in one half.

    Cost: M + 2 · 4 fits, the latter on half the records.

    Returns
    -------
    dict
        ``per_copy``, ``low``, ``high`` of the overlap, and ``noise``, the mean over 4 splits; None where an estimate
        does not exist (a level that a half does not have).
    """
    whole = _estimate(comparison, analysis, comparison.original)
    if whole is None:
        return {"per_copy": [None] * len(comparison.copies), "low": None, "high": None, "noise": None}
    each = [_overlap(whole, _estimate(comparison, analysis, copy), level) for copy in comparison.copies]
    known = [value for value in each if value is not None]
    floors = []
    for _ in range(SPLITS):
        first = split(len(comparison.original), share=0.5, cluster=clusters(comparison), rng=rng)
        parts = [_estimate(comparison, analysis, comparison.original[side]) for side in (first, ~first)]
        floors.append(_overlap(parts[0], parts[1], level))
    found = [value for value in floors if value is not None]
    return {
        "per_copy": each,
        "low": min(known, default=None),
        "high": max(known, default=None),
        "noise": float(np.mean(found)) if found else None,
    }


def _estimate(comparison: Comparison, analysis: Analysis, frame: Any) -> Estimates | None:
    try:
        return analysis.estimate(frame, comparison.schema)
    except SynthdpError:
        return None


def _overlap(first: Estimates | None, second: Estimates | None, level: float) -> float | None:
    """Return the mean overlap of two sets of intervals, None when they have not the same terms."""
    if first is None or second is None or set(first.names) != set(second.names):
        return None
    order = [second.names.index(name) for name in first.names]
    ends = []
    for found, place in ((first, list(range(len(order)))), (second, order)):
        df = np.inf if found.df_residual is None else found.df_residual
        half = half_width(found.se, df, level)
        ends += [(found.values - half)[place], (found.values + half)[place]]
    overlaps = ci_overlap(*ends)
    defined = overlaps[np.isfinite(overlaps)]
    return float(defined.mean()) if defined.size else None


@dataclass(frozen=True, repr=False)
class Assessment:
    """How useful and how risky one set of copies is.

    Parameters
    ----------
    utility, risk
        Sections of metrics.json; ``risk`` also holds ``original``: the original matched against itself.
    findings
        Of the attacks that point at rows, by name.
    """

    utility: Mapping[str, Any]
    risk: Mapping[str, Any]
    findings: Mapping[str, Identified]


def assess(
    comparison: Comparison,
    *,
    analyses: Sequence[Analysis],
    utility: Collection[str],
    risk: Collection[str],
    streams: Streams,
    measures: Mapping[str, Measure],
    propensity: Propensity | None = None,
    settings: UtilitySettings = DEFAULT,
    intruders: Mapping[str, Intruder] | None = None,
) -> Assessment:
    """Take every measure that was asked for; one that cannot run reports its reason."""
    default_rule = comparison.rule or DEFAULT_RULE
    useful: dict[str, Any] = {}
    if "pmse" in utility:
        useful |= evaluate_propensity(comparison, propensity, rng=streams.generator("evaluate", "pmse"))
    if "analyses" in utility:
        rng = streams.generator("evaluate", "analyses")
        useful["analyses"] = [_analysis(comparison, analysis, default_rule, rng) for analysis in analyses]
    if "panel" in utility:
        useful["panel"] = _panel(comparison, default_rule)
    useful |= evaluate_utility(comparison, utility, settings, streams=streams)
    found = attack(comparison, risk, streams=streams, intruders=intruders, measures=measures)
    return Assessment(useful, found.sections, found.findings)


def _panel(comparison: Comparison, default_rule: str) -> dict[str, Any]:
    try:
        # fixed: the same regressions for every release of the same columns
        return evaluate_panel(comparison, default_rule=default_rule, rng=np.random.default_rng(0))
    except InputError as error:
        return {"reason": str(error)}


def _analysis(
    comparison: Comparison, analysis: Analysis, default_rule: str, rng: np.random.Generator
) -> dict[str, Any]:
    """Return one analysis on both sides; one that cannot be estimated says why and stops no other."""
    asked = {"model": analysis.model, "formula": analysis.formula}
    try:
        entry = evaluate_analyses(comparison, [analysis], default_rule=default_rule)[0] | asked
        return entry | {"spread": spread_of(comparison, analysis, rng=rng)}
    except SynthdpError as error:
        nothing: dict[str, Any] = {"terms": [], "mean_ci_overlap": None, "min_ci_overlap": None}
        return {"name": analysis.name, "rule": analysis.rule or default_rule, **asked, **nothing, "reason": str(error)}
