"""Every attack that was asked for, taken on one set of copies: sections, findings, and who is at risk."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import MISSING, Measure, Need, lacking
from synthdp.evaluation.risk.identity import evaluate_original
from synthdp.evaluation.risk.intruders import evaluate_intruder
from synthdp.evaluation.risk.knowledge import Intruder
from synthdp.evaluation.risk.registry import IDENTITY_LIMITS
from synthdp.microdata import Floats
from synthdp.seeding import Streams

NOTABLE_RISK = 0.2


@dataclass
class Attacked:
    """What all attacks came to.

    Parameters
    ----------
    sections
        By name, for metrics.json; an attack that could not be made has its ``reason``.
    findings
        The identity attacks that were made, by name; those of the user's own intruders as ``identity as 'name'``.
    """

    sections: dict[str, Any] = field(default_factory=dict)
    findings: dict[str, Any] = field(default_factory=dict)


def attack(
    comparison: Comparison,
    names: Collection[str],
    *,
    streams: Streams,
    measures: Mapping[str, Measure],
    intruders: Mapping[str, Intruder] | None = None,
) -> Attacked:
    """Make every attack that was asked for; one that cannot run reports its reason.

    Parameters
    ----------
    names
        Of ``measures``; one that is not among them knows how the copies are made, and nobody handed it in.
    intruders
        More intruders by name; their figures stand under ``intruders``, and the gate judges them like other attacks.

    Raises
    ------
    InputError
        If rows are said to be aligned and an attack still cannot be made.
    """
    found = Attacked()
    for name in names:
        measure = measures.get(name)
        if measure is None:
            found.sections[name] = {"reason": f"{name}: {MISSING[Need.PLAN]}"}
        elif (why := lacking(measure.needs, comparison)) is not None:
            found.sections[name] = {"reason": why}
        else:
            _take(found, measure, comparison, streams.generator("evaluate", name))
    if comparison.aligned and any(name in found.findings for name in names):
        original = evaluate_original(comparison, rng=streams.generator("evaluate", "original"))
        found.sections["original"] = original.section()
    if intruders:
        found.sections["intruders"] = _ask(found, comparison, intruders, streams)
    return found


def identifies(measure: Measure) -> bool:
    """Return whether a measure points at rows: its finding tells records apart."""
    return set(IDENTITY_LIMITS) <= set(measure.limits)


def _take(found: Attacked, measure: Measure, comparison: Comparison, rng: np.random.Generator) -> None:
    try:
        made = measure.take(comparison, rng=rng)
    except InputError as error:
        # files of another tool may lack what this measure needs, and the others are still worth taking
        if Need.ROWS in measure.needs or measure.name == "attribute":
            raise
        found.sections[measure.name] = {"reason": str(error)}
        return
    found.sections[measure.name] = made.section()
    if identifies(measure):
        found.findings[measure.name] = made


def _ask(
    found: Attacked, comparison: Comparison, intruders: Mapping[str, Intruder], streams: Streams
) -> dict[str, Any]:
    if not comparison.aligned:
        return {name: {"reason": MISSING[Need.ROWS]} for name in intruders}
    made = {
        name: evaluate_intruder(comparison, intruder, name=name, rng=streams.generator("evaluate", "intruders", name))
        for name, intruder in intruders.items()
    }
    found.findings |= {f"identity as {name!r}": finding for name, finding in made.items()}
    return {name: finding.section() for name, finding in made.items()}


def records_at_risk(comparison: Comparison, individual: Mapping[str, Floats]) -> pd.DataFrame:
    """Return the records an attack finds or comes close to finding, the most exposed first: no values.

    ``individual`` is the probability that an attack finds each record, by the attack's name.
    """
    tables = []
    for name, risk in individual.items():
        shown = np.flatnonzero(np.nan_to_num(risk) >= NOTABLE_RISK)
        groups = comparison.groups.iloc[shown].astype(str).to_numpy() if comparison.groups is not None else ""
        reasons = np.where(risk[shown] > 0.5, "found more often than not", "few candidates")
        tables.append(
            pd.DataFrame({"record": shown + 1, "attack": name, "group": groups, "risk": risk[shown], "reason": reasons})
        )
    if not tables:
        return pd.DataFrame(columns=["record", "attack", "group", "risk", "reason"])
    return pd.concat(tables).sort_values("risk", ascending=False, kind="stable", ignore_index=True)
