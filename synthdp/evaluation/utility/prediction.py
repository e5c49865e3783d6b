"""Does a model learnt from the copies predict real records? Train on synthetic, test on real.

A model is trained on a copy and scored on original records held out, beside the same model trained on the original.
The copies were made from the whole original, so a held-out record is not unknown to them: only where row i of a copy
is record i can the rows made from held-out records be left out of the training as well.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.budget import go_on
from synthdp.evaluation.comparison import Comparison, clusters, folds, split, summarise
from synthdp.table.coded import coded
from synthdp.table.schema import Column

FOLDS = 3
MOST_LEVELS = 50
FEWEST = 2
CROSSFITTED = (
    "Rows made from the records of the test fold were left out of the training; the synthesis itself has still seen "
    "these records, so scores may be slightly flattering."
)
PLAIN = (
    "Rows of these files cannot be traced to records, so a copy is used whole, at the size of the original's training "
    "part: the records tested on took part in the synthesis, and a copy that repeats them scores too well."
)
MODELS = ("boosting", "linear")


def evaluate_prediction(
    comparison: Comparison, targets: Sequence[str], *, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return the ``prediction`` entries of metrics.json: one per target and model.

    The original is cut into three folds (records of one cluster in one fold). For each fold a model is trained on a
    copy and on the original without that fold, and scored on the fold. Scores are averaged over folds: AUC and log loss
    for two classes, accuracy and log loss for more, R² for numbers (out of fold: it can be negative).

    Parameters
    ----------
    comparison
        The original and its copies; aligned copies are used without the rows made from the test fold.
    targets
        Columns to predict from all others.
    rng
        Deals the folds, and draws rows of copies that are larger than the training part.

    Returns
    -------
    list of dict
        ``target``, ``model`` (``boosting``: histogram gradient boosting; ``linear``: logistic regression or ridge),
        ``crossfitted`` with its ``statement``, and ``scores``: by measure the ``original`` (trained on real records),
        and ``value`` with its spread (trained on copies). ``noise`` is the mean absolute difference between models
        trained on two halves of the original's training part, times √½, because halves are half as large.

    Notes
    -----
    Cost: targets × models × folds × (M + 3) fits.
    """
    fold = folds(len(comparison.original), parts=FOLDS, cluster=clusters(comparison), rng=rng)
    return [_entry(comparison, target, model, fold, rng) for target in targets for model in MODELS]


def _entry(comparison: Comparison, target: str, model: str, fold: Codes, rng: np.random.Generator) -> dict[str, Any]:
    column = comparison.schema[target]
    entry: dict[str, Any] = {
        "target": target,
        "model": model,
        "crossfitted": comparison.aligned,
        "statement": CROSSFITTED if comparison.aligned else PLAIN,
    }
    features = [one for one in comparison.schema.columns if one.name != target and one.design is None]
    frames = (comparison.original, *comparison.copies)
    answers = [coded(frame).values(column) for frame in frames]
    inputs = _inputs(comparison, features, one_hot=model == "linear")
    cluster = clusters(comparison)
    scores: list[dict[str, list[float]]] = []
    floors: list[dict[str, float]] = []
    for part in np.unique(fold):
        test, train = fold == part, fold != part
        real = _known(answers[0])
        halves = split(len(fold), share=0.5, cluster=cluster, rng=rng)
        seats = [(0, real & train), (0, real & train & halves), (0, real & train & ~halves)]
        for number in range(1, len(frames)):
            rows = train.copy() if comparison.aligned else _drawn(len(frames[number]), int(train.sum()), rng)
            seats.append((number, rows & _known(answers[number])))
        tested = real & test
        found = [
            _score(column, model, (inputs[file][rows], answers[file][rows]), (inputs[0][tested], answers[0][tested]))
            for file, rows in seats
        ]
        first, second = found[1:3]
        learnt = [one for one in (found[0], *found[3:]) if one is not None]
        if len(learnt) < len(frames):
            return entry | {"scores": {}, "reason": "the target takes a single value, or is missing, in a part used"}
        scores.append({name: [one[name] for one in learnt] for name in learnt[0]})
        if first is not None and second is not None:
            floors.append({name: math.sqrt(0.5) * abs(first[name] - second[name]) for name in first})
    entry["scores"] = {}
    for name in scores[0]:
        original, *per_copy = np.mean([one[name] for one in scores], axis=0).tolist()
        noise = [floor[name] for floor in floors]
        entry["scores"][name] = {"original": original} | summarise(per_copy, noise)
    return entry


def _known(answers: Floats) -> Booleans:
    return ~np.isnan(answers)


def _drawn(n: int, wanted: int, rng: np.random.Generator) -> Booleans:
    rows = np.zeros(n, dtype=np.bool_)
    rows[rng.permutation(n)[:wanted]] = True
    return rows


def _inputs(comparison: Comparison, features: Sequence[Column], *, one_hot: bool) -> list[Floats]:
    """Return the predictors of every file as numbers; levels one column each, or ordered by frequency for trees."""
    frames = (comparison.original, *comparison.copies)
    blocks: list[list[Floats]] = [[np.empty((len(frame), 0))] for frame in frames]
    for column in features:
        if column.kind.categorical:
            found = [coded(frame).codes(column) for frame in frames]
            common = np.argsort(-np.bincount(found[0] + 1, minlength=len(column.levels) + 1), kind="stable")
            rank = np.argsort(common, kind="stable")
            made = [np.minimum(rank[one + 1], MOST_LEVELS) for one in found]
            levels = range(1, min(len(common), MOST_LEVELS + 1))
            for block, one in zip(blocks, made, strict=True):
                block.append(_dummies(one, levels) if one_hot else one[:, None].astype(np.float64))
        else:
            values = [coded(frame).numbers(column) for frame in frames]
            centre, scale = _scale(values[0])
            for block, one in zip(blocks, values, strict=True):
                block.append(_filled((one - centre) / scale) if one_hot else one[:, None])
    return [np.concatenate(block, axis=1) for block in blocks]


def _dummies(rank: npt.NDArray[np.int64], levels: range) -> Floats:
    return np.asarray(rank[:, None] == np.asarray(levels), dtype=np.float64)


def _scale(values: Floats) -> tuple[float, float]:
    present = values[~np.isnan(values)]
    if not len(present):
        return 0.0, 1.0
    return float(present.mean()), float(present.std()) or 1.0


def _filled(values: Floats) -> Floats:
    gaps = np.isnan(values)
    return np.column_stack([np.where(gaps, 0.0, values), gaps])


def _score(
    column: Column, model: str, train: tuple[Floats, Floats], test: tuple[Floats, Floats]
) -> dict[str, float] | None:
    """Return the scores of a model trained on one file and tested on another; None where there is nothing to learn."""
    go_on()
    x, y = train
    if min(len(y), len(test[1])) < FEWEST or len(np.unique(y)) < FEWEST:
        return None
    if column.kind.categorical:
        return _classification(len(column.levels), _classifier(model).fit(x, y), test)
    if np.ptp(test[1]) == 0:
        return None
    residual = test[1] - _regressor(model).fit(x, y).predict(test[0])
    return {"r2": float(1 - (residual**2).sum() / ((test[1] - test[1].mean()) ** 2).sum())}


def _classification(levels: int, fitted: Any, test: tuple[Floats, Floats]) -> dict[str, float] | None:
    from sklearn.metrics import roc_auc_score

    known = np.asarray(fitted.classes_, dtype=np.int64)
    # a level the training part lacks keeps a little probability, so that the log loss stays finite
    chances = np.full((len(test[1]), levels), 1e-6)
    chances[:, known] = np.maximum(fitted.predict_proba(test[0]), 1e-6)
    chances /= chances.sum(axis=1, keepdims=True)
    truth = test[1].astype(np.int64)
    loss = {"log_loss": float(-np.log(chances[np.arange(len(truth)), truth]).mean())}
    if levels > 2:
        return {"accuracy": float((chances.argmax(axis=1) == truth).mean())} | loss
    if len(np.unique(truth)) < FEWEST:
        return None
    return {"auc": float(roc_auc_score(truth, chances[:, 1]))} | loss


def _classifier(model: str) -> Any:
    if model == "linear":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=500)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=50, early_stopping=False, random_state=0)


def _regressor(model: str) -> Any:
    if model == "linear":
        from sklearn.linear_model import Ridge

        return Ridge(alpha=1e-6)
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=50, early_stopping=False, random_state=0)
