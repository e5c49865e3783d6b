"""All measures of one comparison, gathered as the sections of metrics.json."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds, Verdict, judge
from synthdp.evaluation.identity import IdentityRisk, evaluate_identity, evaluate_original
from synthdp.evaluation.overlap import evaluate_analyses
from synthdp.evaluation.propensity import Propensity, evaluate_propensity
from synthdp.evaluation.usefulness import DEFAULT, UtilitySettings, evaluate_utility
from synthdp.inference.analyses import Analysis
from synthdp.seeding import Streams

NOTABLE_RISK = 0.2


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
) -> Assessment:
    """Take every measure that was asked for; one that cannot be taken says why in its place."""
    useful: dict[str, Any] = {}
    if "pmse" in utility:
        useful |= evaluate_propensity(comparison, propensity, rng=streams.generator("evaluate", "pmse"))
    if "analyses" in utility:
        useful["analyses"] = [_analysis(comparison, analysis, default_rule) for analysis in analyses]
    useful |= evaluate_utility(comparison, utility, settings, streams=streams)
    risky: dict[str, Any] = {}
    attacks: dict[str, IdentityRisk] = {}
    has_keys = bool(comparison.schema.keys())
    for name in risk:
        if not comparison.aligned:
            risky[name] = {"reason": "rows of these files cannot be traced to records (evaluation.rows: none)"}
        elif not has_keys:
            risky[name] = {"reason": "no column is declared as key: true, so there is no intruder to model"}
        else:
            attacks[name] = evaluate_identity(
                comparison, averaged=name == "identity_averaged", rng=streams.generator("evaluate", name)
            )
            risky[name] = attacks[name].section()
    if attacks:
        risky["original"] = evaluate_original(comparison, rng=streams.generator("evaluate", "original")).section()
    judged = {name: attack.section() for name, attack in attacks.items()}
    return Assessment(useful, risky, judge(judged, thresholds), _records_at_risk(comparison, attacks))


def _analysis(comparison: Comparison, analysis: Analysis, default_rule: str) -> dict[str, Any]:
    """Return one analysis on both sides; one that cannot be estimated says why and stops no other."""
    asked = {"model": analysis.model, "formula": analysis.formula}
    try:
        return evaluate_analyses(comparison, [analysis], default_rule=default_rule)[0] | asked
    except SynthdpError as error:
        nothing: dict[str, Any] = {"terms": [], "mean_ci_overlap": None, "min_ci_overlap": None}
        return {"name": analysis.name, "rule": analysis.rule or default_rule, **asked, **nothing, "reason": str(error)}


def _records_at_risk(comparison: Comparison, attacks: Mapping[str, IdentityRisk]) -> pd.DataFrame:
    """Return the records an attack finds or comes close to finding, the most exposed first."""
    tables = []
    for name, attack in attacks.items():
        shown = np.flatnonzero(attack.true_match_mask | (attack.individual >= NOTABLE_RISK))
        reasons = np.where(attack.true_match_mask[shown], "the intruder's only best match is right", "few candidates")
        groups = comparison.groups.iloc[shown].astype(str).to_numpy() if comparison.groups is not None else ""
        tables.append(
            pd.DataFrame(
                {
                    "record": shown + 1,
                    "attack": name,
                    "group": groups,
                    "risk": attack.individual[shown],
                    "reason": reasons,
                }
            )
        )
    if not tables:
        return pd.DataFrame(columns=["record", "attack", "group", "risk", "reason"])
    return pd.concat(tables).sort_values("risk", ascending=False, kind="stable", ignore_index=True)
