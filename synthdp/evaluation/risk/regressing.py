"""The regression attack: learn a number from the keys in the copies, predict it for people whose keys are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.evaluation.combinations import classes
from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.risk.nearest import Records, encode_records, nearest
from synthdp.evaluation.risk.rates import mean_difference, rate
from synthdp.table.coded import coded
from synthdp.table.schema import Column

MOST_TRAINING = 50_000
MOST_TARGETS = 5_000
MOST_PAIRS = 10**9
FOLDS = 5
SMALLEST_LEAF = 10


def attack_by_regression(
    comparison: Comparison,
    target: Column,
    keys: Sequence[Column],
    *,
    holdout: pd.DataFrame | None = None,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Predict a numeric target in two ways, for members and for people who are not in the data.

    The intruder holds the keys of a person and all copies. ``tree``: they grow a regression tree on the stacked copies
    (leaves of 10 rows or more: what the copies say of people in general). ``nearest``: they take the target of the row
    with the nearest keys (see :class:`~synthdp.evaluation.risk.nearest.Records`), averaged over the copies (what
    the copies say of one person). Success is a prediction within the column's tolerance of the truth.

    Parameters
    ----------
    holdout
        People not in the data: the same predictions for them are the baseline. Without it the baseline is what the
        original itself tells of somebody who is not in it: the tree grown on four fifths of the original predicts the
        last fifth, the nearest *other* record of the original predicts each record.

    Returns
    -------
    list
        For each way its name, ``success``, ``baseline``, ``gain`` (the difference, with its interval), ``r2`` and
        ``r2_baseline``, and how many targets they rest on. Empty where the target is missing in all copies, or for all
        members, or for everybody in the holdout.

    Notes
    -----
    Without a holdout the baseline reads a file without synthesis error, so it is rather too high than too low and the
    gain rather too low; a small gain is then weaker evidence than with a holdout. Trees: O(n p log n) on at most
    50,000 rows; nearest: at most 5,000 targets and 10⁹ pairs, sampled beyond.
    """
    frames = [comparison.original, *comparison.copies, *([] if holdout is None else [holdout])]
    truth = [coded(frame).numbers(target) for frame in frames]
    features = _features(frames, keys)
    copies = range(1, 1 + len(comparison.copies))
    outside = None if holdout is None else len(frames) - 1
    x = np.concatenate([features[number] for number in copies])
    y = np.concatenate([truth[number] for number in copies])
    known = np.flatnonzero(np.isfinite(truth[0]))
    there = known if outside is None else np.flatnonzero(np.isfinite(truth[outside]))
    if not np.isfinite(y).any() or not len(known) or not len(there):
        return []
    tree = _grow(x, y, rng)
    members = tree.predict(features[0][known])
    if outside is None:
        others, theirs = _cross_fitted(features[0][known], truth[0][known], rng), truth[0][known]
    else:
        others, theirs = tree.predict(features[outside][there]), truth[outside][there]
    found = [_summary("tree", target, members, truth[0][known], others, theirs, paired=outside is None)]

    records = encode_records(frames, keys)
    rows = sum(len(frame) for frame in comparison.copies)
    chosen = _some(known, rows, rng)
    by_copy = [(records[number], truth[number]) for number in copies]
    members = _by_nearest(records[0].take(chosen), by_copy, rng)
    if outside is None:
        others = _by_nearest(records[0].take(chosen), [(records[0], truth[0])], rng, skip=chosen)
        theirs = truth[0][chosen]
    else:
        there = _some(there, rows, rng)
        others, theirs = _by_nearest(records[outside].take(there), by_copy, rng), truth[outside][there]
    found.append(_summary("nearest", target, members, truth[0][chosen], others, theirs, paired=outside is None))
    return found


def _features(frames: Sequence[pd.DataFrame], keys: Sequence[Column]) -> list[Floats]:
    """Return the keys as numbers; a tree may split levels by their order, missing numbers it sends either way."""
    parts = []
    for key in keys:
        if key.kind.categorical:
            parts.append([one.astype(np.float64) for one in classes(frames, key)])
        else:
            parts.append([coded(frame).finite(key) for frame in frames])
    return [np.column_stack([part[number] for part in parts]) for number in range(len(frames))]


def _grow(x: Floats, y: Floats, rng: np.random.Generator) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    rows = np.flatnonzero(np.isfinite(y))
    if len(rows) > MOST_TRAINING:
        rows = rng.choice(rows, MOST_TRAINING, replace=False)
    model = DecisionTreeRegressor(min_samples_leaf=SMALLEST_LEAF, random_state=int(rng.integers(2**31)))
    return model.fit(x[rows], y[rows])


def _cross_fitted(x: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    fold = rng.permutation(len(y)) % FOLDS
    predicted = np.full(len(y), np.nan)
    for one in range(FOLDS):
        inside = fold == one
        if inside.any() and not inside.all():
            predicted[inside] = _grow(x[~inside], y[~inside], rng).predict(x[inside])
    return predicted


def _by_nearest(
    targets: Records, copies: Sequence[tuple[Records, Floats]], rng: np.random.Generator, *, skip: Codes | None = None
) -> Floats:
    guesses = []
    for rows, values in copies:
        usable = np.flatnonzero(np.isfinite(values))
        if not len(usable):
            continue
        place = None if skip is None else np.searchsorted(usable, skip)
        found = nearest(targets, rows.take(usable), skip=place, rng=rng)[0][:, 0]
        guesses.append(np.where(found >= 0, values[usable][found], np.nan))
    return np.asarray(np.mean(guesses, axis=0), dtype=np.float64)


def _some(rows: Codes, against: int, rng: np.random.Generator) -> Codes:
    most = max(1, min(MOST_TARGETS, MOST_PAIRS // max(1, against)))
    return some(rows, most, rng=rng)


def _summary(
    way: str, target: Column, guesses: Floats, truth: Floats, others: Floats, theirs: Floats, *, paired: bool
) -> dict[str, Any]:
    hit, chance = (_close(a, b, target.tolerance) for a, b in ((guesses, truth), (others, theirs)))
    gain = mean_difference(hit - chance, None) if paired else mean_difference(hit, chance)
    return {
        "way": way,
        "targets": len(truth),
        "success": rate(hit),
        "baseline": rate(chance),
        "gain": gain,
        "r2": _r2(guesses, truth),
        "r2_baseline": _r2(others, theirs),
    }


def _close(guesses: Floats, truth: Floats, tolerance: float) -> Floats:
    # a hair more than the tolerance, as means over copies are rounded
    return np.asarray(np.abs(guesses - truth) <= tolerance * (1 + 1e-9) + 1e-12, dtype=np.float64)


def _r2(guesses: Floats, truth: Floats) -> float | None:
    usable = np.isfinite(guesses)
    total = float(((truth[usable] - truth.mean()) ** 2).sum()) if usable.any() else 0.0
    return 1 - float(((truth[usable] - guesses[usable]) ** 2).sum()) / total if total > 0 else None
