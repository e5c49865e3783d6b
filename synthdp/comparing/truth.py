"""Where the truth is known: bias, root mean squared error, coverage and width of intervals, term by term."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from synthdp import datasets
from synthdp.errors import InputError
from synthdp.evaluation.risk.rates import wilson

ORIGINAL = "(original)"
"""The method that the original's own estimates are listed under: what no synthesis can beat."""
DESIGNS: Mapping[Any, tuple[str, Callable[[], Mapping[str, Mapping[str, float]]]]] = {
    datasets.right_model: ("right_model", datasets.right_model_truth),
    datasets.wrong_model: ("wrong_model", datasets.wrong_model_truth),
}


def known_design(simulator: Any) -> tuple[list[dict[str, str]], Mapping[str, Mapping[str, float]]] | None:
    """Return analyses and truth of a design of ``synthdp.datasets``, also where its n is fixed; None for others.

    The outcome of ``unseen_outcome`` must not be shown to a synthesis, so that design is not compared of itself.
    """
    inner = getattr(simulator, "func", simulator)
    if inner not in DESIGNS:
        return None
    name, truth = DESIGNS[inner]
    analyses = [
        {"name": title, "model": model, "formula": formula}
        for title, (model, formula) in datasets.ANALYSES[name].items()
    ]
    return analyses, truth()


def by_target(truth: Mapping[str, Any], analyses: list[str]) -> dict[str, float]:
    """Return the truth by target, ``analysis: term``.

    Parameters
    ----------
    truth
        Term → value by analysis; with one analysis, term → value will do.
    analyses
        The names of the analyses.

    Examples
    --------
    >>> by_target({"x": 0.5}, ["ols"])
    {'ols: x': 0.5}
    """
    if not isinstance(truth, Mapping) or not truth:
        raise InputError("truth: must be a mapping from terms to values, or from analyses to such mappings.")
    nested = {name: one for name, one in truth.items() if isinstance(one, Mapping)}
    if not nested:
        if len(analyses) != 1:
            raise InputError(
                f"truth: there are {len(analyses)} analyses, so a mapping from analyses to terms is required: "
                "{analysis: {term: value}}."
            )
        nested = {analyses[0]: truth}
    unknown = [name for name in nested if name not in analyses]
    if unknown or (len(nested) != len(truth) and nested.get(analyses[0]) is not truth):
        wrong = ", ".join(map(str, unknown)) or "terms and analyses side by side"
        raise InputError(f"truth: must name analyses ({', '.join(analyses) or 'there are none'}), found {wrong}.")
    found = {f"{name}: {term}": value for name, terms in nested.items() for term, value in terms.items()}
    strange = next((target for target, value in found.items() if not _number(value)), None)
    if strange is not None:
        raise InputError(f"truth: must be numbers, found {type(found[strange]).__name__} for {strange}.")
    return {target: float(value) for target, value in found.items()}


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def unknown_terms(table: pd.DataFrame, truth: Mapping[str, float]) -> list[str]:
    """Return a caution for every term that the truth names and no analysis has."""
    estimated = set(table.loc[table["measure"] == "analyses.estimate", "target"])
    return [f"truth: no analysis estimated {target}; look at how terms are spelt." for target in truth
            if estimated and target not in estimated]  # fmt: skip


def truth_lines(table: pd.DataFrame, truth: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return lines of bias, RMSE, coverage and width over all seeds, of every method and of the original itself.

    For a term of true value θ with estimates q_s and intervals (l_s, u_s) of S seeds:

    * ``truth.bias`` = Σ (q_s − θ)/S, with the interval ± 1.96 sd/√S;
    * ``truth.rmse`` = √(Σ (q_s − θ)²/S);
    * ``truth.coverage`` = the share of intervals that hold θ, with Wilson's interval;
    * ``truth.width`` = Σ (u_s − l_s)/S.

    A term that the truth names and no seed estimated has lines without values, and the reason.
    """
    found: list[dict[str, Any]] = []
    methods = list(dict.fromkeys(table["method"]))
    own = table[table["measure"] == "analyses.estimate"]
    first = table[(table["measure"] == "analyses.original") & (table["method"] == _fullest(table, methods))]
    for method, lines in [(ORIGINAL, first), *((name, own[own["method"] == name]) for name in methods)]:
        for target, value in truth.items():
            found += _of_term(method, target, value, lines[lines["target"] == target])
    return found


def _fullest(table: pd.DataFrame, methods: list[str]) -> str:
    """Return the method with most seeds whose original was analysed: it is the same original for all."""
    counts = table[table["measure"] == "analyses.original"].groupby("method")["seed"].nunique()
    return max(methods, key=lambda name: int(counts.get(name, 0)))


def _of_term(method: str, target: str, truth: float, lines: pd.DataFrame) -> list[dict[str, Any]]:
    known = lines.dropna(subset=["value", "low", "high"])
    names = ("bias", "rmse", "coverage", "width")
    if known.empty:
        why = "no seed gave an estimate of this term"
        return [{"method": method, "measure": f"truth.{name}", "target": target, "reason": why} for name in names]
    error = known["value"].to_numpy(dtype=np.float64) - truth
    low, high = known["low"].to_numpy(dtype=np.float64), known["high"].to_numpy(dtype=np.float64)
    bias = float(error.mean())
    half = 1.96 * float(error.std(ddof=1)) / np.sqrt(len(error)) if len(error) > 1 else np.nan
    covered = wilson(float(((low <= truth) & (truth <= high)).sum()), len(error))
    values: dict[str, dict[str, Any]] = {
        "bias": {"value": bias, "low": bias - half, "high": bias + half},
        "rmse": {"value": float(np.sqrt((error**2).mean()))},
        "coverage": dict(covered),
        "width": {"value": float((high - low).mean())},
    }
    return [{"method": method, "measure": f"truth.{name}", "target": target, **values[name]} for name in names]
