"""Anonymeter's own numbers beside ours where it is installed; it is no dependency, as it needs numpy below 1.27."""

import importlib
import warnings
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import pandas as pd

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.rates import require_outsiders

NOT_INSTALLED = "anonymeter is not installed; our own attacks are singling, linkability and inference."


def evaluate_peer(
    comparison: Comparison, *, targets: Sequence[str], holdout: pd.DataFrame | None, attacks: int = 500
) -> dict[str, Any]:
    """Run anonymeter's singling-out, linkability and inference attacks on the first copy.

    Returns
    -------
    dict
        Its version and for each attack ``attack``, ``baseline``, ``control`` and ``risk``, or the ``reason`` why one
        could not be run; only a ``reason`` when anonymeter is not installed.

    Notes
    -----
    Its generators are its own and unseeded, so its numbers differ from run to run; nothing of ours rests on them. Its
    nearest neighbours are found by comparing every pair.
    """
    try:
        evaluators = importlib.import_module("anonymeter.evaluators")
    except ImportError:
        return {"reason": NOT_INSTALLED}
    columns = [column for column in comparison.schema.columns if column.design != "cluster"]
    names = [column.name for column in columns]
    outside = require_outsiders(holdout, columns, "anonymeter")[names]
    keys = [column.name for column in columns if column.key]
    files = {"ori": comparison.original[names], "syn": comparison.copies[0][names], "control": outside}
    size = min(attacks, *(len(frame) for frame in files.values()))
    others = [name for name in names if name not in keys]

    def single(mode: str) -> Callable[[], Any]:
        return lambda: evaluators.SinglingOutEvaluator(**files, n_attacks=size, n_cols=3).evaluate(mode=mode)

    found: dict[str, Any] = {"version": metadata.version("anonymeter")}
    found["univariate"] = _run(single("univariate"))
    found["multivariate"] = _run(single("multivariate"))
    found["linkability"] = _run(
        lambda: evaluators.LinkabilityEvaluator(**files, n_attacks=size, aux_cols=(keys, others)).evaluate(n_jobs=1)
    )
    for target in targets:
        known = [name for name in keys if name != target]
        found[f"inference of {target}"] = _run(
            lambda known=known, target=target: evaluators.InferenceEvaluator(  # type: ignore[misc]
                **files, n_attacks=size, aux_cols=known, secret=target
            ).evaluate(n_jobs=1)
        )
    return found


def _run(attack: Callable[[], Any]) -> dict[str, Any]:
    """Return the rates of one attack; whatever another package raises is its name only, as texts may hold values."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = attack()
            results, risk = done.results(), done.risk()
    except Exception as error:  # a peer may fail in any way and must stop nothing of ours
        return {"reason": f"anonymeter failed with {type(error).__name__}"}
    rates = {name: getattr(results, f"{name}_rate") for name in ("attack", "baseline", "control")}
    section = {
        name: {
            "value": float(rate.value),
            "low": float(rate.value - rate.error),
            "high": float(rate.value + rate.error),
        }
        for name, rate in rates.items()
    }
    return section | {"risk": {"value": float(risk.value), "low": float(risk.ci[0]), "high": float(risk.ci[1])}}
