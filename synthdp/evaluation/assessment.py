"""All measures of one comparison, gathered as the sections of metrics.json."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate.tally import Identified
from synthdp.evaluation.measure import Measure
from synthdp.evaluation.risk.attacks import attack
from synthdp.evaluation.risk.knowledge import Intruder
from synthdp.evaluation.utility.analysis_spread import spread_of
from synthdp.evaluation.utility.overlap import evaluate_analyses
from synthdp.evaluation.utility.panel import evaluate_panel
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.evaluation.utility.usefulness import DEFAULT, UtilitySettings, evaluate_utility
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE
from synthdp.seeding import Streams


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
