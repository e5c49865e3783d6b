"""The measures of risk by name, and every attack that was asked for, taken on one set of copies."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.evaluation.measure import MISSING, Figures, Finding, Measure, Need, Plain, lacking
from synthdp.evaluation.risk.attribute import default_targets, evaluate_attribute
from synthdp.evaluation.risk.channel import MaskDraw
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.evaluation.risk.extremes import evaluate_extremes
from synthdp.evaluation.risk.identity import evaluate_identity, evaluate_original
from synthdp.evaluation.risk.intruders import Intruder, evaluate_intruder
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.linkability import evaluate_inference, evaluate_linkability, evaluate_membership
from synthdp.evaluation.risk.linking import evaluate_linked
from synthdp.evaluation.risk.peer import evaluate_peer
from synthdp.evaluation.risk.public import evaluate_public
from synthdp.evaluation.risk.singling import evaluate_singling
from synthdp.evaluation.risk.uniqueness import evaluate_anonymity, evaluate_population
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

IDENTITY_LIMITS = ("max_expected_match_rate", "max_individual", "max_claims_right", "max_mean_individual")
MATCHING_LIMITS = (*IDENTITY_LIMITS, "max_excess_true_match")
KEYS, TRACED = frozenset({Need.KEYS}), frozenset({Need.KEYS, Need.ROWS})
OUTSIDERS = frozenset({Need.HOLDOUT})


def _identity(name: str, asks: str, attack: Callable[..., Finding], limits: Sequence[str], *, rows: bool) -> Measure:
    def take(comparison: Comparison, rng: np.random.Generator) -> Finding:
        return attack(comparison, rng=rng)

    return Plain(name, asks, take, TRACED if rows else KEYS, tuple(limits))


def mask_draw_of(files: Comparison) -> MaskDraw | None:
    """Return when W was drawn: as the release says, per copy where nothing is known of it, None for no W."""
    known = files.mask_draw if files.rule is not None or files.mask_draw is not None else "per_copy"
    return cast(MaskDraw | None, known)


# attacks that need nothing but the files; those without a tolerance first
IDENTITY: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        _identity(
            "identity_likelihood",
            "Whom can an intruder find who knows how released values scatter around true ones, key by key?",
            evaluate_likelihood,
            IDENTITY_LIMITS,
            rows=True,
        ),
        _identity(
            "identity_public",
            "Whom can an intruder find who has only the public files: regressions on kept columns, the spread between "
            "copies, and all keys jointly?",
            lambda files, rng: evaluate_public(files, rng=rng, mask_draw=mask_draw_of(files), targets=files.targets),
            IDENTITY_LIMITS,
            rows=True,
        ),
        _identity(
            "identity_extremes",
            "Does the largest value in the copies belong to the person whose true value is the largest?",
            lambda files, rng: evaluate_extremes(files, rng=rng, mask_draw=mask_draw_of(files) or "per_copy"),
            IDENTITY_LIMITS,
            rows=True,
        ),
        _identity(
            "identity",
            "Whom can an intruder find who lists the rows within a tolerance of a person's keys in every copy?",
            partial(evaluate_identity, averaged=False),
            MATCHING_LIMITS,
            rows=True,
        ),
        _identity(
            "identity_averaged",
            "Whom can an intruder find who first averages the copies, which undoes part of the noise?",
            partial(evaluate_identity, averaged=True),
            MATCHING_LIMITS,
            rows=True,
        ),
        _identity(
            "identity_linked",
            "Whom can an intruder find who must first link the rows of the copies through the kept columns?",
            evaluate_linked,
            MATCHING_LIMITS,
            rows=False,
        ),
    )
}


def risks(targets: Sequence[str]) -> dict[str, Measure]:
    """Return every measure of risk that needs nothing but files.

    Parameters
    ----------
    targets
        What an intruder wants to learn; by default the replaced columns that are no keys.
    """

    def wanted(comparison: Comparison) -> list[str]:
        return list(targets) or default_targets(comparison.schema)

    def attribute(comparison: Comparison, rng: np.random.Generator) -> Finding:
        names = wanted(comparison)
        if not comparison.schema.keys() or not names:
            return Figures([])
        return Figures(evaluate_attribute(comparison, targets=names, holdout=comparison.holdout, rng=rng))

    def figures(function: Callable[[Comparison, np.random.Generator], Any]) -> Callable[..., Finding]:
        return lambda comparison, rng: Figures(function(comparison, rng))

    others = (
        Plain(
            "verbatim",
            "Do more rows and values of the copies equal an original record than coincidence explains?",
            figures(lambda files, rng: evaluate_verbatim(files, rng=rng)),
            limits=("max_excess_verbatim",),
        ),
        Plain(
            "exposure",
            "Who is unique on values that are released unchanged?",
            lambda files, rng: evaluate_exposure(files),
            limits=("max_exposed",),
        ),
        Plain(
            "attribute",
            "What can somebody who knows a person's keys learn about that person's other values?",
            attribute,
            limits=("max_attribute_gain",),
        ),
        Plain(
            "membership",
            "Can somebody who knows a whole record tell from the closest row that the person is in the data?",
            figures(lambda files, rng: evaluate_membership(files, holdout=files.holdout, rng=rng)),
            OUTSIDERS,
        ),
        Plain(
            "singling",
            "Can a person be singled out by a rule learnt from the copies?",
            figures(lambda files, rng: evaluate_singling(files, holdout=files.holdout, rng=rng)),
            OUTSIDERS,
        ),
        Plain(
            "linkability",
            "Can two halves of a person's record be joined with the help of the copies?",
            figures(lambda files, rng: evaluate_linkability(files, holdout=files.holdout, rng=rng)),
        ),
        Plain(
            "inference",
            "Are values of members guessed better than those of outsiders?",
            figures(
                lambda files, rng: evaluate_inference(files, targets=wanted(files), holdout=files.holdout, rng=rng)
            ),
            OUTSIDERS,
        ),
        Plain(
            "anonymity",
            "How many records share their keys, and do they share their sensitive values too?",
            figures(lambda files, rng: evaluate_anonymity(files, targets=wanted(files))),
        ),
        Plain(
            "population",
            "How many sample uniques are unique in the population?",
            figures(lambda files, rng: evaluate_population(files)),
        ),
        Plain(
            "anonymeter",
            "What does the package anonymeter find?",
            figures(lambda files, rng: evaluate_peer(files, targets=wanted(files), holdout=files.holdout)),
            OUTSIDERS,
        ),
    )
    return {**IDENTITY, **{measure.name: measure for measure in others}}


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
