"""All measures of one comparison, gathered as the sections of metrics.json."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds, Verdict, judge
from synthdp.evaluation.risk.attacks import Attack, Measure, attack, records_at_risk
from synthdp.evaluation.risk.knowledge import Intruder
from synthdp.evaluation.utility.analysis_spread import spread_of
from synthdp.evaluation.utility.overlap import evaluate_analyses
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.evaluation.utility.usefulness import DEFAULT, UtilitySettings, evaluate_utility
from synthdp.inference.analyses import Analysis
from synthdp.seeding import Streams


@dataclass(frozen=True, repr=False)
class Assessment:
    """How useful and how risky the copies are, and what the gate says.

    Parameters
    ----------
    utility, risk
        Sections of metrics.json; ``risk`` also holds ``original``: the original matched against itself.
    verdict
        Of the gate.
    records_at_risk
        Record number (from 1), risk group and reason; no values.
    """

    utility: Mapping[str, Any]
    risk: Mapping[str, Any]
    verdict: Verdict
    records_at_risk: pd.DataFrame


def assess(
    comparison: Comparison,
    *,
    analyses: Sequence[Analysis],
    utility: Collection[str],
    risk: Collection[str],
    thresholds: Thresholds,
    default_rule: str,
    streams: Streams,
    propensity: Propensity | None = None,
    settings: UtilitySettings = DEFAULT,
    intruders: Mapping[str, Intruder] | None = None,
    measures: Mapping[str, Measure] | None = None,
    informed: Mapping[str, Attack] | None = None,
) -> Assessment:
    """Take every measure that was asked for; one that cannot be taken says why in its place.

    ``informed`` are the attacks of intruders who know how the copies were made.
    """
    useful: dict[str, Any] = {}
    if "pmse" in utility:
        useful |= evaluate_propensity(comparison, propensity, rng=streams.generator("evaluate", "pmse"))
    if "analyses" in utility:
        rng = streams.generator("evaluate", "analyses")
        useful["analyses"] = [_analysis(comparison, analysis, default_rule, rng) for analysis in analyses]
    useful |= evaluate_utility(comparison, utility, settings, streams=streams)
    found = attack(comparison, risk, streams=streams, intruders=intruders, measures=measures, informed=informed)
    verdict = judge(found.judged, thresholds)
    return Assessment(useful, found.sections, verdict, records_at_risk(comparison, found.findings))


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
