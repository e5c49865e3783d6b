"""Attribute risk: what somebody who knows a person's keys learns of that person's other values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.budget import go_on
from synthdp.errors import InputError
from synthdp.evaluation.combinations import alone, classes, combine, require_copies, require_keys, require_targets
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.attribution import (
    PERCENT,
    attribution_probability,
    disclosive,
    guess,
    targeted,
    targeted_outsider,
    warn,
)
from synthdp.evaluation.risk.rates import Estimate, mean_difference, rate, refuse_members, require_outsiders
from synthdp.evaluation.risk.regressing import attack_by_regression
from synthdp.table.coded import coded
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column, Schema

TAU = 1.0
BASELINES = {
    True: "the same intruder with the same copies, against people who are not in the data",
    False: "the same intruder with the original without the person: what it would say of them had they not taken part",
}


def default_targets(schema: Schema) -> list[str]:
    """Return the columns an intruder may want to learn when none are named: replaced ones that are no keys."""
    return [column.name for column in schema.replaced() if not column.key]


def wanted(comparison: Comparison) -> list[str]:
    """Return what an intruder wants to learn: the targets asked for, or the default ones."""
    return list(comparison.request.targets) or default_targets(comparison.schema)


def evaluate_attribute(
    comparison: Comparison,
    *,
    targets: Sequence[str],
    holdout: pd.DataFrame | None = None,
    tau: float = TAU,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Measure for every target what the copies tell somebody who knows a person's keys.

    Percentages (``iS``, ``DiS``, ``DiSCO``, …; means over copies, ``per_copy`` has each) are defined in
    :class:`~synthdp.evaluation.risk.attribution.Disclosive`; all else are rates between 0 and 1. Copies need not be
    aligned.

    ``gain`` is success against members minus success against somebody who is not in the data. The intruder stacks all
    copies and guesses the value that is most common among the rows with the person's keys
    (:func:`~synthdp.evaluation.risk.attribution.guess`); a numeric target is also predicted by regression
    (:func:`~synthdp.evaluation.risk.regressing.attack_by_regression`). ``gain`` is the largest over these attacks,
    ``gain_low`` and ``gain_high`` its 95% interval, ``gain_by`` which attack it is.

    *Somebody who is not in the data*: with a holdout, its records, attacked with the same copies. Without one, the
    original with the record left out takes the place of the copies: what the original's statistics say of a stranger
    with these keys. That file has no synthesis error, so this baseline is rather too high and ``gain`` may be below 0.
    ``gain_unique`` is the gain among records unique on the keys, whom that baseline can only guess by the overall mode:
    it is rather too large, as a model tells something of them without having seen them. ``own_row``, for aligned
    copies only, is by how much the person's own rows raise the correct attribution probability: mean CAP minus mean
    CAP without these rows; neither a good model nor synthesis error blurs it.

    Ceiling: with the original as copy, ``DiSCO`` is ``Dorig`` and DiSCO's own gain over the left-out original is
    exactly UiO. Baseline: copies made without looking at the target have gains of about 0 against a holdout.

    Parameters
    ----------
    comparison
        Copies of any length with all keys and targets.
    targets
        Columns to be learnt; a column that is a key is guessed from the other keys.
    holdout
        People of the same population from whom no copy was made.
    tau
        How sure a row of a copy must be to count for TCAP.
    rng
        For trees, folds and ties.

    Raises
    ------
    InputError
        If there are no keys, no copies, no such target, a file lacks a column, or the holdout holds the same people.

    Notes
    -----
    O(n log n) for each copy and target. Missing values are values of their own, in keys and targets.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> frame = pd.DataFrame({"region": list("NNSS"), "vote": list("ABAA")})
    >>> data = resolve(frame, {"region": Variable(key=True)})
    >>> comparison = Comparison(data.frame, (frame,), data.schema, aligned=True)
    >>> (found,) = evaluate_attribute(comparison, targets=["vote"], rng=np.random.default_rng(1))
    >>> found["iS"], found["DiS"], found["DiSCO"]
    (100.0, 50.0, 50.0)
    """
    keys = require_keys(comparison.schema, "attribute")
    wanted = require_targets(targets, comparison.schema.columns, "attribute")
    require_copies(comparison.copies, [*keys, *wanted], "attribute")
    outside = None if holdout is None else require_outsiders(holdout, [*keys, *wanted], "attribute")
    if outside is not None:
        refuse_members(comparison.original, outside, comparison.schema.columns, "attribute")
    return [_evaluate(comparison, target, outside, tau=tau, rng=rng) for target in wanted]


def _evaluate(
    comparison: Comparison, target: Column, holdout: pd.DataFrame | None, *, tau: float, rng: np.random.Generator
) -> dict[str, Any]:
    go_on()
    keys = [key for key in comparison.schema.keys() if key.name != target.name]
    if not keys:
        raise InputError(
            f"attribute: {target.name!r} is the only key, so nothing is left to guess it from; mark others."
        )
    frames = [comparison.original, *comparison.copies, *([] if holdout is None else [holdout])]
    cells = combine(frames, keys)
    values = classes(frames, target)
    m = len(comparison.copies)
    per_copy = [disclosive(cells[0], values[0], cells[j], values[j]) for j in range(1, m + 1)]
    percent = {name: float(np.mean([one.percent[name] for one in per_copy])) for name in PERCENT}
    stacked = np.concatenate(cells[1 : m + 1]), np.concatenate(values[1 : m + 1])
    attacks = _guessing(cells, values, stacked, outside=holdout is not None)
    regressions = []
    if not target.kind.categorical:
        regressions = attack_by_regression(comparison, target, keys, holdout=holdout, rng=rng)
    gains = [("guess", attacks["guess"]["gain"]), *((one["way"], one["gain"]) for one in regressions)]
    by, gain = max(gains, key=lambda one: -np.inf if one[1]["value"] is None else one[1]["value"])
    worst = int(np.argmax([one.percent["DiSCO"] for one in per_copy]))
    return {
        "target": target.name,
        "keys": [key.name for key in keys],
        **percent,
        "gain": gain["value"],
        "gain_low": gain["low"],
        "gain_high": gain["high"],
        "gain_by": by,
        "baseline": BASELINES[holdout is not None],
        **attacks,
        "regression": regressions,
        "cap": _cap(cells, values, stacked, outside=holdout is not None),
        "tcap": _tcap(cells, values, m, tau),
        "own_row": _own_row(cells, values, m) if comparison.aligned else None,
        "warnings": _warnings(comparison, target, keys, per_copy[worst].disclosed, values[0]),
        "per_copy": [one.percent for one in per_copy],
    }


def _guessing(
    cells: list[Codes], values: list[Codes], stacked: tuple[Codes, Codes], *, outside: bool
) -> dict[str, Any]:
    """Return the modal guess for members and for outsiders, over everybody and over the unique."""
    members = guess(cells[0], values[0], *stacked)
    unique = alone(cells[0])
    left_out = guess(cells[0], values[0], cells[0], values[0], left_out=True)
    others = guess(cells[-1], values[-1], *stacked) if outside else left_out
    gain = mean_difference(members, others) if outside else mean_difference(members - others, None)
    return {
        "guess": {"success": rate(members), "baseline": rate(others), "gain": gain},
        "gain_unique": mean_difference((members - left_out)[unique], None) | {"records": int(unique.sum())},
    }


def _cap(
    cells: list[Codes], values: list[Codes], stacked: tuple[Codes, Codes], *, outside: bool
) -> dict[str, float | None]:
    """Return the mean CAP, no match counting 0: of members, of outsiders, of the original, and of a blind guess."""
    members = attribution_probability(cells[0], values[0], *stacked)
    itself = (cells[0], values[0])
    if outside:
        others = attribution_probability(cells[-1], values[-1], *stacked)
    else:
        others = attribution_probability(*itself, *itself, own=[itself])
    blind = np.zeros_like(cells[0])
    marginal = attribution_probability(blind, values[0], np.zeros_like(stacked[0]), stacked[1])
    return {
        "value": _mean(members),
        "baseline": _mean(others),
        "original": _mean(attribution_probability(*itself, *itself)),
        "marginal": _mean(marginal),
    }


def _tcap(cells: list[Codes], values: list[Codes], m: int, tau: float) -> dict[str, Any]:
    found = [targeted(cells[0], values[0], cells[j], values[j], tau=tau) for j in range(1, m + 1)]
    shares = [share for share, _ in found if share is not None]
    baseline, _ = targeted_outsider(cells[0], values[0], tau=tau)
    return {
        "tau": tau,
        "value": float(np.mean(shares)) if shares else None,
        "baseline": baseline,
        "per_copy": [share for share, _ in found],
        "rows": [count for _, count in found],
    }


def _own_row(cells: list[Codes], values: list[Codes], m: int) -> Estimate:
    for number in range(1, m + 1):
        if len(cells[number]) != len(cells[0]):
            raise InputError(
                f"attribute.own_row: aligned copies need as many rows as the original ({len(cells[0])}), copy {number} "
                f"has {len(cells[number])}; set evaluation.rows: none."
            )
    stacked = np.concatenate(cells[1 : m + 1]), np.concatenate(values[1 : m + 1])
    own = [(cells[j], values[j]) for j in range(1, m + 1)]
    whole = np.nan_to_num(attribution_probability(cells[0], values[0], *stacked))
    without = np.nan_to_num(attribution_probability(cells[0], values[0], *stacked, own=own))
    return mean_difference(whole - without, None)


def _warnings(
    comparison: Comparison, target: Column, keys: Sequence[Column], disclosed: Any, values: Codes
) -> list[dict[str, Any]]:
    found = {key.name: classes([comparison.original], key)[0] for key in keys}
    labels = {key.name: _labels(comparison, key, found[key.name]) for key in keys}
    return warn(disclosed, values, found, labels=labels | {"": _labels(comparison, target, values)})


def _labels(comparison: Comparison, column: Column, found: Codes) -> dict[int, str]:
    """Return the names of classes that are levels; numbers and missing values have none."""
    if not column.kind.categorical:
        return {}
    series = comparison.original[column.name]
    known = coded(comparison.original).present(column.name)
    first = np.unique(found[known], return_index=True)
    return {int(code): str(series[known].iloc[place]) for code, place in zip(*first, strict=True)}


def _mean(probability: Floats) -> float | None:
    return float(np.nan_to_num(probability).mean()) if len(probability) else None
