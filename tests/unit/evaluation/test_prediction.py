"""Train on synthetic, test on real: the known extremes, and what alignment changes."""

import json

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.prediction import evaluate_prediction
from synthdp.table.microdata import resolve
from synthdp.table.schema import Schema

N = 300


def draw(seed, n=N):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "g": rng.choice(list("abc"), n), "z": rng.normal(size=n)})
    frame["y"] = 2 * x + rng.normal(size=n)
    frame["vote"] = np.where(x + 0.5 * rng.normal(size=n) > 0, "YES", "NO")
    frame["party"] = np.where(x > 0.5, "l", np.where(x > -0.5, "m", "r"))
    frame.loc[::17, "z"] = np.nan
    frame.loc[::29, "y"] = np.nan
    return frame


def compare(*copies, aligned=True, original=None):
    data = resolve(draw(1) if original is None else original, {})
    return Comparison(data.frame, copies, data.schema, aligned=aligned)


def predict(comparison, *targets):
    return evaluate_prediction(comparison, targets, rng=np.random.default_rng(1))


def test_scores_by_kind():
    entries = predict(compare(draw(2), draw(3)), "vote", "party", "y")
    json.dumps(entries, allow_nan=False)
    assert [(entry["target"], entry["model"]) for entry in entries] == [
        (target, model) for target in ("vote", "party", "y") for model in ("boosting", "linear")
    ]
    measures = [set(entry["scores"]) for entry in entries]
    assert measures == [{"auc", "log_loss"}] * 2 + [{"accuracy", "log_loss"}] * 2 + [{"r2"}] * 2
    for entry in entries:
        for score in entry["scores"].values():
            assert len(score["per_copy"]) == 2
            assert score["low"] <= score["value"] <= score["high"]
            assert score["noise"] > 0
    # y is 2x plus noise of variance 1: a right line explains 4/5
    line = entries[5]["scores"]["r2"]
    assert line["original"] == pytest.approx(0.8, abs=0.08)
    assert line["value"] == pytest.approx(line["original"], abs=0.03)


def test_the_original_as_its_own_copy_scores_as_the_original():
    original = draw(1)
    for entry in predict(compare(original), "vote"):
        assert entry["crossfitted"]
        for score in entry["scores"].values():
            assert score["value"] == score["original"]


def test_a_copy_without_the_association_does_not_predict():
    broken = draw(1).assign(vote=draw(1)["vote"].sample(frac=1, random_state=3).to_numpy(), y=np.nan)
    _, linear = predict(compare(broken.drop(columns="y").assign(y=draw(1)["y"])), "vote")
    assert linear["scores"]["auc"]["original"] > 0.9
    assert linear["scores"]["auc"]["value"] < 0.7


def test_rows_of_the_test_fold_are_not_trained_on():
    # labels without any pattern, so a model can only remember: a leak shows as a score beyond chance
    rng = np.random.default_rng(5)
    original = pd.DataFrame({"x": rng.normal(size=N), "vote": rng.choice(["NO", "YES"], N)})
    aligned, *_ = predict(compare(original, original=original), "vote")
    plain, *_ = predict(compare(original, original=original, aligned=False), "vote")
    assert abs(aligned["scores"]["auc"]["value"] - 0.5) < 0.1
    assert plain["scores"]["auc"]["value"] > 0.6
    assert not plain["crossfitted"]
    assert "took part in the synthesis" in plain["statement"]


def test_other_row_counts_are_plain():
    for rows in (60, 900):
        _, linear = predict(compare(draw(2, rows), aligned=False), "vote")
        assert linear["scores"]["auc"]["value"] > 0.85


def test_what_cannot_be_learnt_says_why():
    constant = draw(2).assign(vote="YES")
    for entry in predict(compare(constant), "vote"):
        assert entry["scores"] == {}
        assert entry["reason"] == "the target takes a single value, or is missing, in a part used"
    flat = draw(1).assign(y=[1.0] * N)
    assert predict(compare(flat, original=flat), "y")[0]["scores"] == {}
    one = draw(1).assign(vote=["YES"] * (N - 1) + ["NO"])
    assert predict(compare(one, original=one), "vote")[0]["scores"] == {}


def test_a_level_that_a_copy_lacks_costs_but_is_finite():
    lacking = draw(2).assign(party=lambda frame: frame["party"].replace("r", "m"))
    _, linear = predict(compare(lacking), "party")
    assert linear["scores"]["log_loss"]["value"] > linear["scores"]["log_loss"]["original"] + 1


def test_clusters_are_on_one_side_and_no_predictor():
    # the household decides the vote: who sees one member knows the others
    rng = np.random.default_rng(6)
    house = np.repeat(np.arange(N // 3), 3)
    frame = pd.DataFrame({"house": house, "x": house * 1.0, "vote": np.repeat(rng.choice(["NO", "YES"], N // 3), 3)})
    data = resolve(frame, {})
    columns = tuple(
        c.model_copy(update={"design": "cluster" if c.name == "house" else None}) for c in data.schema.columns
    )
    known = Comparison(data.frame, (frame,), Schema(columns=columns), aligned=True)
    blind, *_ = predict(known, "vote")
    leaky, *_ = predict(Comparison(data.frame, (frame,), data.schema, aligned=True), "vote")
    # 100 households decide alone: the AUC of guessing has a standard error of 0.06
    assert abs(blind["scores"]["auc"]["original"] - 0.5) < 0.24
    assert leaky["scores"]["auc"]["original"] > blind["scores"]["auc"]["original"] + 0.12
