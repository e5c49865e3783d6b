"""Nearest rows against a plain search, and the membership test at its floor and ceiling."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk import linkability
from synthdp.evaluation.risk.linkability import evaluate_membership
from synthdp.evaluation.risk.nearest import encode_records, nearest, stack
from synthdp.evaluation.risk.rates import auc, mean_difference, residual, roc, tpr_at, wilson
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

VARIABLES = {
    "sex": Variable(kind="binary", levels=("F", "M")),
    "job": Variable(kind="nominal", levels=("a", "b", "c"), role="replace"),
    "age": Variable(kind="continuous", role="replace"),
    "pay": Variable(kind="continuous", role="replace"),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def people(n: int, seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    age = draw.normal(50, 15, n)
    return pd.DataFrame(
        {
            "sex": draw.choice(["F", "M"], n),
            "job": draw.choice(list("abc"), n),
            "age": age,
            "pay": age + draw.normal(0, 9, n),
        }
    )


def compare(original: pd.DataFrame, *copies: pd.DataFrame) -> Comparison:
    data = resolve(original, VARIABLES)
    return Comparison(data.frame, copies, data.schema, aligned=False)


# distances


def slow_distances(a: pd.DataFrame, b: pd.DataFrame, spans: dict[str, float]) -> np.ndarray:
    total = np.zeros((len(a), len(b)))
    for name in a.columns:
        absent = a[name].isna().to_numpy()[:, None], b[name].isna().to_numpy()[None, :]
        x, y = a[name].to_numpy()[:, None], b[name].to_numpy()[None, :]
        part = np.minimum(1, np.abs(x - y) / spans[name]) if name in spans else (x != y).astype(float)
        part = np.where(absent[0] & absent[1], 0.0, np.where(absent[0] | absent[1], 1.0, part))
        total += part.astype(float)
    return total / len(a.columns)


numbers = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-5, 5))
levels = st.one_of(st.none(), st.sampled_from("FM"))
record = st.tuples(levels, st.sampled_from("abc"), numbers, numbers)


@settings(max_examples=60)
@given(st.lists(record, min_size=2, max_size=40), st.lists(record, min_size=1, max_size=60), st.integers(1, 4))
def test_nearest_rows_are_those_of_a_plain_search(first, second, k) -> None:
    a, b = (
        pd.DataFrame(rows, columns=list(VARIABLES)).astype({"age": float, "pay": float}) for rows in (first, second)
    )
    schema = resolve(people(50, 1), VARIABLES).schema
    coded = encode_records([a, b], schema.columns)
    spans = {}
    for name in ("age", "pay"):
        known = a[name].dropna()
        low, high = np.quantile(known, [0.01, 0.99]) if len(known) else (0.0, 1.0)
        spans[name] = (high - low) or (known.max() - known.min()) or 1.0
    wanted = slow_distances(a, b, spans)
    found, distance = nearest(*coded, k=k, rng=rng())
    best = np.sort(wanted, axis=1)[:, :k]
    np.testing.assert_allclose(distance[:, : best.shape[1]], best, atol=1e-12)
    assert np.isinf(distance[:, best.shape[1] :]).all()
    for i, row in enumerate(found):
        used = row[row >= 0]
        assert len(set(used)) == len(used) == best.shape[1]
        np.testing.assert_allclose(wanted[i, used], best[i], atol=1e-12)
    itself = slow_distances(a, a, spans) + np.where(np.eye(len(a)) > 0, np.inf, 0.0)
    left_out = nearest(coded[0], coded[0], skip=np.arange(len(a)), rng=rng())[1][:, 0]
    np.testing.assert_allclose(left_out, itself.min(axis=1), atol=1e-12)


def test_odd_files_and_ties() -> None:
    schema = resolve(people(50, 1), VARIABLES).schema
    one, none = encode_records([people(3, 1), people(0, 1)], schema.columns)
    found, distance = nearest(one, none, rng=rng())
    assert (found == -1).all()
    assert np.isinf(distance).all()
    assert nearest(none, one, rng=rng())[0].shape == (0, 1)
    assert repr(one) == "Records(3 records, 4 columns)"
    assert len(stack([one, one])) == 6
    same = pd.DataFrame({"sex": ["F"] * 50})
    (coded,) = encode_records([same], [schema["sex"]])
    chosen = nearest(coded, coded, rng=rng())[0][:, 0]
    other = nearest(coded, coded, rng=np.random.default_rng(9))[0][:, 0]
    assert (chosen != other).any()


# rates


def test_the_auc_is_that_of_scikit_learn() -> None:
    draw = np.random.default_rng(1)
    ours, theirs = draw.integers(0, 9, 200) + 1.0, draw.integers(0, 9, 150) + 0.0
    truth = np.repeat([1, 0], [200, 150])
    assert auc(ours, theirs)["value"] == pytest.approx(roc_auc_score(truth, np.concatenate([ours, theirs])))
    curve = np.array(roc(ours, theirs))
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    assert np.trapezoid(curve[:, 1], curve[:, 0]) == pytest.approx(auc(ours, theirs)["value"])
    assert len(roc(draw.random(5000), draw.random(5000))) <= 103


def test_intervals_cover() -> None:
    draw = np.random.default_rng(2)
    truth = 0.7602499389065233  # Φ(1/√2)
    covered = [
        found["low"] <= truth <= found["high"]
        for found in (auc(draw.normal(1, 1, 80), draw.normal(0, 1, 60)) for _ in range(1000))
    ]
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 1000)


@pytest.mark.parametrize(("hits", "total"), [(0, 20), (3, 20), (20, 20), (117, 4000)])
def test_the_score_interval_is_that_of_statsmodels(hits, total) -> None:
    from statsmodels.stats.proportion import proportion_confint

    found = wilson(hits, total)
    low, high = proportion_confint(hits, total, method="wilson")
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-12)


def test_recognised_at_a_false_positive_rate() -> None:
    others = np.arange(100.0)
    found = tpr_at(0.05, np.array([94.0, 94.5, 99.0, 100.0]), others)
    assert found["fpr_realised"] == 0.05
    assert found["value"] == 0.75
    few = tpr_at(0.01, np.array([1.0, 11.0]), np.arange(10.0))
    assert few["fpr_realised"] == 0
    assert few["value"] == 0.5


def test_what_cannot_be_estimated_has_no_value() -> None:
    nothing = {"value": None, "low": None, "high": None}
    assert wilson(0, 0) == nothing
    assert mean_difference(np.empty(0), None) == nothing
    assert residual(wilson(5, 10), wilson(10, 10)) == nothing
    assert residual(wilson(5, 10), nothing) == nothing
    half = residual(wilson(75, 100), wilson(50, 100))
    assert half["value"] == 0.5
    assert half["low"] < 0.5 < half["high"]
    assert residual(wilson(25, 100), wilson(50, 100))["value"] == -0.5


# membership


def by(section, columns: str, score: str):
    return next(one for one in section["attacks"] if one["columns"] == columns and one["score"] == score)


def test_raw_copies_give_everybody_away() -> None:
    original = people(600, 1)
    found = evaluate_membership(compare(original, original), holdout=people(600, 2), rng=rng())
    for columns in ("all", "replaced"):
        one = by(found, columns, "distance")
        assert one["auc"]["value"] == 1.0
        assert [line["value"] for line in one["tpr"]] == [1.0, 1.0]
        assert one["median_distance"]["members"] == 0
    assert found["closer_to_members"]["value"] == 1.0
    assert found["sampled"] is False


def test_a_fresh_sample_gives_nobody_away() -> None:
    found = evaluate_membership(compare(people(900, 1), people(900, 3)), holdout=people(900, 2), rng=rng())
    for one in found["attacks"]:
        # twice the half-width of a 95% interval is about four standard errors
        assert abs(one["auc"]["value"] - 0.5) < one["auc"]["high"] - one["auc"]["low"]
    assert abs(found["closer_to_members"]["value"] - 0.5) < 4 * np.sqrt(0.25 / 900)


def test_noise_hides_and_the_relative_score_is_not_fooled() -> None:
    original, outside = people(800, 1), people(800, 2)
    draw = np.random.default_rng(4)
    values = []
    for sd in (0.2, 1.0, 5.0, 50.0):
        copy = original.assign(
            age=original["age"] + draw.normal(0, sd, 800), pay=original["pay"] + draw.normal(0, sd, 800)
        )
        found = evaluate_membership(compare(original, copy), holdout=outside, rng=rng())
        values.append([by(found, "all", score)["auc"]["value"] for score in ("distance", "relative")])
    assert (np.diff(np.array(values), axis=0) < 0).all()
    assert min(values[0]) > 0.9


def test_a_sample_of_targets_is_said(monkeypatch) -> None:
    monkeypatch.setattr(linkability, "FEWEST_TARGETS", 20)
    monkeypatch.setattr(linkability, "MOST_DISTANCES", 50 * 300)
    found = evaluate_membership(compare(people(300, 1), people(300, 3)), holdout=people(300, 2), rng=rng())
    assert found["sampled"] is True
    assert found["members"] == 50


def test_sizes_may_differ_and_values_may_be_missing() -> None:
    original, copy, outside = people(200, 1), people(90, 3), people(51, 2)
    for frame in (original, copy, outside):
        frame.loc[:10, ["age", "sex"]] = None
        frame["pay"] = np.nan if frame is copy else frame["pay"]
    found = evaluate_membership(compare(original, copy), holdout=outside, rng=rng())
    assert found["reference"] == 25
    assert all(0 <= one["auc"]["value"] <= 1 for one in found["attacks"])


@pytest.mark.parametrize(
    ("copies", "holdout", "words"),
    [
        (1, None, "membership: needs records of people who were not used to make the copies; set evaluation.holdout"),
        (0, people(9, 2), "membership: needs at least one copy, found none"),
        (1, people(9, 2).drop(columns="age"), "membership: the holdout has no column 'age'"),
        (-1, people(9, 2), "membership: copy 1 has no column 'age'"),
    ],
)
def test_what_cannot_be_tested_is_said(copies, holdout, words) -> None:
    frame = people(30, 1)
    files = [frame] * copies if copies >= 0 else [frame.drop(columns="age")]
    with pytest.raises(InputError, match=words):
        evaluate_membership(compare(frame, *files), holdout=holdout, rng=rng())


@pytest.mark.slow
def test_a_hundred_thousand_records_take_seconds() -> None:
    comparison = compare(people(100_000, 1), people(100_000, 3))
    outside = people(20_000, 2)
    start = time.perf_counter()
    evaluate_membership(comparison, holdout=outside, rng=rng())
    assert time.perf_counter() - start < 30
