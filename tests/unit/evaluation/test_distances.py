"""Distances of distributions and associations: against scipy, against brute force, and at the known extremes."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.evaluation.comparison import Comparison, Halves, halves
from synthdp.evaluation.utility.classes import classify
from synthdp.evaluation.utility.distances import (
    cramers_v,
    evaluate_associations,
    evaluate_distributions,
    kolmogorov_smirnov,
    mutual_information,
    pearson,
    wasserstein,
)
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable


def rng(seed=1):
    return np.random.default_rng(seed)


def make(n=500, rows=None, copies=2):
    draws = rng(3)

    def draw(size):
        x = draws.normal(size=size)
        return pd.DataFrame(
            {
                "x": x,
                "y": np.where(draws.random(size) < 0.1, np.nan, x + draws.normal(size=size)),
                "g": np.where(x + draws.normal(size=size) > 0, "u", "v"),
            }
        )

    data = resolve(draw(n), {})
    return Comparison(data.frame, tuple(draw(rows or n) for _ in range(copies)), data.schema, aligned=rows is None)


@pytest.mark.parametrize("decimals", [0, 8])
def test_distances_are_those_of_scipy(decimals):
    first = np.sort(rng(1).normal(size=200).round(decimals))
    second = np.sort(rng(2).normal(0.3, 2, size=90).round(decimals))
    assert kolmogorov_smirnov(first, second) == pytest.approx(stats.ks_2samp(first, second).statistic)
    assert wasserstein(first, second) == pytest.approx(stats.wasserstein_distance(first, second))


def test_distributions():
    made = make()
    entries = evaluate_distributions(made, halves(made, rng=rng()))
    json.dumps(entries, allow_nan=False)
    assert [entry["column"] for entry in entries] == ["x", "y"]
    x, y = made.original["x"].to_numpy(), made.original["y"].to_numpy()
    wanted = [stats.wasserstein_distance(x, copy["x"]) / x.std() for copy in made.copies]
    assert entries[0]["wasserstein"]["per_copy"] == pytest.approx(wanted)
    shares = [np.isnan(copy["y"]).mean() - np.isnan(y).mean() for copy in made.copies]
    assert entries[1]["missing"]["per_copy"] == pytest.approx(shares)
    moved = Comparison(made.original, (made.original.assign(x=x + 100 * x.std()),), made.schema, aligned=True)
    (found, _) = evaluate_distributions(moved, Halves(()))
    assert (found["ks"]["value"], found["wasserstein"]["value"]) == pytest.approx((1, 100))
    assert found["ks"]["noise"] is None


def test_columns_without_a_distribution():
    frame = pd.DataFrame(
        {"k": [1.0, 1.0, 1.0, 1.0], "e": [np.nan] * 4, "d": pd.to_datetime(["2020-01-01"] * 3 + [None])}
    )
    data = resolve(frame, {"k": Variable(kind="continuous"), "e": Variable(kind="continuous")})
    constant, empty, day = evaluate_distributions(
        Comparison(data.frame, (frame,), data.schema, aligned=True), Halves((np.array([True, True, False, False]),))
    )
    assert (constant["ks"]["value"], constant["wasserstein"]["value"]) == (0, None)
    assert (empty["ks"]["value"], empty["ks"]["noise"], empty["missing"]["value"]) == (None, None, 0)
    assert (day["ks"]["value"], day["missing"]["noise"]) == (0, pytest.approx(0.5 * math.sqrt((2 / 3) / 1.5)))


@pytest.mark.parametrize("rows", [1000, 4000])
def test_the_noise_floor_of_distances(rows):
    """Scaled halves have the mean of independent samples of the files' sizes (100 repeats, 4 standard errors)."""
    draws = rng(5)
    noise, found = [], []
    for _ in range(100):
        data = resolve(pd.DataFrame({"x": draws.normal(size=1000)}), {})
        copy = pd.DataFrame({"x": draws.normal(size=rows)})
        comparison = Comparison(data.frame, (copy,), data.schema, aligned=False)
        (entry,) = evaluate_distributions(comparison, halves(comparison, rng=draws, splits=1))
        noise.append([entry[name]["noise"] for name in ("ks", "wasserstein")])
        found.append([entry[name]["value"] for name in ("ks", "wasserstein")])
    error = np.sqrt((np.var(noise, axis=0) + np.var(found, axis=0)) / 100)
    assert (np.abs(np.mean(noise, axis=0) - np.mean(found, axis=0)) < 4 * error).all()


def test_correlations_are_those_of_pandas():
    values = rng().normal(size=(80, 4)) @ rng(2).normal(size=(4, 4)) + 1e5
    values[rng(3).random(values.shape) < 0.2] = np.nan
    values[:, 3] = 7.0
    found, wanted = pearson(values), pd.DataFrame(values).corr().to_numpy()
    assert found[:3, :3] == pytest.approx(wanted[:3, :3], abs=1e-9)
    assert np.isnan(found[3]).all()


def test_cramers_v_and_mutual_information():
    table = np.array([[30, 10, 0], [5, 20, 15], [0, 0, 0]])
    n, chi = 80, stats.chi2_contingency(table[:2], correction=False).statistic
    phi = chi / n - 2 / (n - 1)
    assert cramers_v(table) == pytest.approx(math.sqrt(phi / (min(2 - 1 / (n - 1), 3 - 4 / (n - 1)) - 1)))
    brute = sum(
        table[i, j] / n * math.log(table[i, j] * n / (table[i].sum() * table[:, j].sum()))
        for i in range(2)
        for j in range(3)
        if table[i, j]
    )
    assert mutual_information(table) == pytest.approx(brute - 2 / (2 * n))
    assert cramers_v(np.diag([50, 50])) == pytest.approx(1, abs=1e-9)
    assert cramers_v(np.array([[3, 4]])) is None
    assert cramers_v(np.array([[1, 0], [0, 1]])) is None
    assert mutual_information(np.zeros((2, 2), dtype=int)) is None


def test_both_are_without_bias_when_nothing_hangs_together():
    draws, found = rng(7), []
    for _ in range(400):
        table = draws.multinomial(500, np.full(12, 1 / 12)).reshape(3, 4)
        found.append(mutual_information(table))
    assert abs(np.mean(found)) < 4 * np.std(found) / 20


def test_associations():
    made = make()
    entries = evaluate_associations(made, classify(made), halves(made, rng=rng()))
    json.dumps(entries, allow_nan=False)
    assert [entry["columns"] for entry in entries] == [["x", "y"], ["x", "g"], ["y", "g"]]
    assert set(entries[0]) == {"columns", "pearson", "cramers_v", "mutual_information"}
    assert "pearson" not in entries[1]
    first = made.original[["x", "y"]].corr().iloc[0, 1]
    assert entries[0]["pearson"]["original"] == pytest.approx(first)
    wanted = [copy[["x", "y"]].corr().iloc[0, 1] - first for copy in made.copies]
    assert entries[0]["pearson"]["per_copy"] == pytest.approx(wanted)
    assert entries[0]["pearson"]["noise"] > 0
    broken = made.copies[0].assign(y=made.copies[0]["y"].sample(frac=1, random_state=1).to_numpy())
    lost = Comparison(made.original, (broken,), made.schema, aligned=True)
    (found, *_) = evaluate_associations(lost, classify(lost), Halves(()))
    for name in ("pearson", "cramers_v", "mutual_information"):
        assert found[name]["value"] == pytest.approx(-found[name]["original"], abs=0.15)
        assert found[name]["noise"] is None


def test_associations_of_text_alone():
    frame = pd.DataFrame({"a": list("uvuv"), "b": list("xxyy")})
    data = resolve(frame, {})
    alone = Comparison(data.frame, (frame,), data.schema, aligned=True)
    (entry,) = evaluate_associations(alone, classify(alone), Halves(()))
    assert entry["cramers_v"]["value"] == 0
