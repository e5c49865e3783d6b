"""The risks beside identity, by name: what the config may ask for and the gate may judge."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.evaluation.risk.anonymity import evaluate_anonymity
from synthdp.evaluation.risk.attacks import Measure
from synthdp.evaluation.risk.attribute import default_targets, evaluate_attribute
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.evaluation.risk.linkability import evaluate_inference, evaluate_linkability
from synthdp.evaluation.risk.membership import evaluate_membership
from synthdp.evaluation.risk.peer import evaluate_peer
from synthdp.evaluation.risk.population import evaluate_population
from synthdp.evaluation.risk.singling import evaluate_singling


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
