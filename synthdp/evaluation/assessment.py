"""All measures of one comparison that were asked for, gathered as the sections of metrics.json."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from synthdp.arrays import Floats
from synthdp.budget import OverBudget, within
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import MISSING, Identified, Measure, Need, identifies, lacking
from synthdp.evaluation.measures import measure
from synthdp.evaluation.risk.identity import evaluate_original
from synthdp.evaluation.risk.intruders import evaluate_intruder
from synthdp.parallel import one_blas_thread
from synthdp.seeding import Streams
from synthdp.table.coded import still

NOTABLE_RISK = 0.2


@dataclass(repr=False)
class Assessment:
    """How useful and how risky one set of copies is.

    Parameters
    ----------
    utility, risk
        Sections of metrics.json by name; a measure that could not be taken has its ``reason``. ``risk`` also holds
        ``original``: the original matched against itself, and ``intruders``: the user's own.
    findings
        Of the attacks that point at rows, by name; those of the user's own intruders as ``identity as 'name'``.
    """

    utility: dict[str, Any] = field(default_factory=dict)
    risk: dict[str, Any] = field(default_factory=dict)
    findings: dict[str, Identified] = field(default_factory=dict)


def assess(
    comparison: Comparison,
    *,
    utility: Collection[str] = (),
    risk: Collection[str] = (),
    streams: Streams,
    own: Mapping[str, Measure] | None = None,
) -> Assessment:
    """Take every measure that was asked for; one that cannot run, or is out of time, reports its reason.

    Parameters
    ----------
    comparison
        The files, with what the config asks of the measures, and how the copies were made where that is known.
    own
        Measures that are in no table, by name.

    Raises
    ------
    InputError
        If a measure that insists on its input cannot be taken.
    """
    files = replace(comparison, request=replace(comparison.request, streams=streams))
    with one_blas_thread(), still((files.original, *files.copies)):
        return _assess(files, utility, risk, streams, own)


def _assess(
    files: Comparison,
    utility: Collection[str],
    risk: Collection[str],
    streams: Streams,
    own: Mapping[str, Measure] | None,
) -> Assessment:
    found = Assessment()
    for names, sections in ((utility, found.utility), (risk, found.risk)):
        for name in names:
            one = own[name] if own is not None and name in own else measure(name)
            if (why := lacking(one, files)) is not None:
                sections[name] = {"reason": why}
            else:
                _take(found, sections, one, files, streams.generator("evaluate", name))
    if files.aligned and any(name in found.findings for name in risk):
        original = evaluate_original(files, rng=streams.generator("evaluate", "original"))
        found.risk["original"] = original.section()
    if files.request.intruders:
        found.risk["intruders"] = _ask(found, files, streams)
    return found


def _take(
    found: Assessment, sections: dict[str, Any], one: Measure, files: Comparison, rng: np.random.Generator
) -> None:
    try:
        with within(files.request.budget):
            made = one.take(files, rng=rng)
    except OverBudget:
        sections[one.name] = skipped(one.name, files.request.budget)
        return
    except InputError as error:
        # files of another tool may lack what this measure needs, and the others are still worth taking
        if one.insists:
            raise
        sections[one.name] = {"reason": str(error)}
        return
    sections[one.name] = made.section()
    sections |= getattr(made, "beside", {})
    if identifies(one):
        found.findings[one.name] = cast(Identified, made)


def _ask(found: Assessment, files: Comparison, streams: Streams) -> dict[str, Any]:
    """Return what the user's own intruders achieve; the gate judges them like other attacks."""
    intruders = files.request.intruders
    if not files.aligned:
        return {name: {"reason": MISSING[Need.ROWS]} for name in intruders}
    sections: dict[str, Any] = {}
    for name, intruder in intruders.items():
        rng = streams.generator("evaluate", "intruders", name)
        try:
            with within(files.request.budget):
                made = evaluate_intruder(files, intruder, name=name, rng=rng)
        except OverBudget:
            sections[name] = skipped(name, files.request.budget)
            continue
        found.findings[f"identity as {name!r}"] = made
        sections[name] = made.section()
    return sections


def skipped(name: str, budget: float | None) -> dict[str, Any]:
    """Return what stands in the place of a measure that was left when its time was used up."""
    return {
        "reason": f"{name}: skipped after {budget:g} seconds (evaluation.budget); raise it, or set it to null.",
        "skipped": True,
    }


def skipped_of(sections: Mapping[str, Any]) -> list[str]:
    """Return the measures among some sections of metrics.json that were skipped."""
    return [name for name, section in sections.items() if isinstance(section, Mapping) and section.get("skipped")]


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
