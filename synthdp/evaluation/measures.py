"""The risks beside identity, by name: what the config may ask for and the gate may judge."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.anonymity import evaluate_anonymity
from synthdp.evaluation.attacks import Measure
from synthdp.evaluation.attribute import default_targets, evaluate_attribute
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.exposure import evaluate_exposure
from synthdp.evaluation.leaks.records import beside, verbatim_counts
from synthdp.evaluation.linkability import evaluate_inference, evaluate_linkability
from synthdp.evaluation.membership import evaluate_membership
from synthdp.evaluation.peer import evaluate_peer
from synthdp.evaluation.population import evaluate_population
from synthdp.evaluation.singling import evaluate_singling

# a clean release is refused for its verbatim rows by chance once in a hundred times; the scan for leaks, which every
# release passes too, is ten times as patient and would let three planted rows pass where a coincidence is among them
LEVEL = 0.01


def measures(targets: Sequence[str]) -> dict[str, Measure]:
    """Return every measure of risk that is no identity attack.

    Parameters
    ----------
    targets
        What an intruder wants to learn; by default the replaced columns that are no keys.
    """

    def wanted(comparison: Comparison) -> list[str]:
        return list(targets) or default_targets(comparison.schema)

    return {
        "verbatim": _reasoned(lambda comparison, rng: evaluate_verbatim(comparison, rng=rng)),
        "exposure": _reasoned(lambda comparison, rng: evaluate_exposure(comparison).section()),
        "attribute": lambda comparison, rng: _attribute(comparison, wanted(comparison), rng),
        "membership": _reasoned(
            lambda comparison, rng: evaluate_membership(comparison, holdout=_held_out(comparison), rng=rng)
        ),
        "singling": _reasoned(
            lambda comparison, rng: evaluate_singling(comparison, holdout=_held_out(comparison), rng=rng)
        ),
        "linkability": _reasoned(
            lambda comparison, rng: evaluate_linkability(comparison, holdout=comparison.holdout, rng=rng)
        ),
        "inference": _reasoned(
            lambda comparison, rng: evaluate_inference(
                comparison, targets=wanted(comparison), holdout=_held_out(comparison), rng=rng
            )
        ),
        "anonymity": _reasoned(lambda comparison, rng: evaluate_anonymity(comparison, targets=wanted(comparison))),
        "population": _reasoned(lambda comparison, rng: evaluate_population(comparison)),
        "anonymeter": _reasoned(
            lambda comparison, rng: evaluate_peer(comparison, targets=wanted(comparison), holdout=_held_out(comparison))
        ),
    }


def evaluate_verbatim(comparison: Comparison, *, rng: np.random.Generator) -> dict[str, Any]:
    """Count the rows that equal an original record in every column, kept ones too.

    Returns
    -------
    dict
        ``rows`` and ``chance`` (99% point over all copies, from stand-ins; see :mod:`synthdp.evaluation.leaks`) of
        the worst copy, its ``excess``, and the rows ``per_copy``.
    """
    passive = {column.name for column in comparison.schema.derived()}
    level = LEVEL / max(len(comparison.copies), 1)
    counts = []
    for number, copy in enumerate(comparison.copies, start=1):
        pair = beside(f"copy {number}", comparison.original, copy, comparison.schema, passive=passive)
        counts.append(verbatim_counts(pair, level=level, rng=rng))
    known = [count for count in counts if count is not None]
    if not known:
        raise InputError("verbatim: kept columns do not tell these records apart, so equal rows say nothing.")
    rows, chance = max(known, key=lambda count: count[0] - count[1])
    return {"rows": rows, "chance": chance, "excess": max(0, rows - chance), "per_copy": [rows for rows, _ in known]}


def _attribute(comparison: Comparison, targets: Sequence[str], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return a line per target; without keys or targets there is nothing to guess and nobody who guesses."""
    if not comparison.schema.keys() or not targets:
        return []
    return evaluate_attribute(comparison, targets=targets, holdout=comparison.holdout, rng=rng)


def _held_out(comparison: Comparison) -> pd.DataFrame:
    if comparison.holdout is None:
        raise InputError("needs records that the synthesis never saw: name their file in evaluation.holdout.")
    return comparison.holdout


def _reasoned(measure: Callable[[Comparison, np.random.Generator], Any]) -> Measure:
    """Return a measure that says why it cannot be taken instead of stopping the others."""

    def taken(comparison: Comparison, rng: np.random.Generator) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = measure(comparison, rng)
        except InputError as error:
            return {"reason": str(error)}
        return found

    return taken
