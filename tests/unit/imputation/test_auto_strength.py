"""Columns with few records to a level: how strongly they go with others is a total, and is kept."""

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp.imputation.auto.strength import Strength, equals, strengths

N = 600
LETTERS = np.array(list("abcdefghijkl"))


def people(seed=1):
    rng = np.random.default_rng(seed)
    a = rng.integers(12, size=N)
    # one in eight goes with the same level
    b = np.where(rng.random(N) < 0.12, a, rng.integers(12, size=N))
    return pd.DataFrame({"a": LETTERS[a], "b": LETTERS[b], "z": 0.3 * a + rng.normal(size=N)})


def positions(frame):
    return {name: np.searchsorted(LETTERS, frame[name]).astype(float) for name in "ab"}


def kept_of(frame):
    return np.column_stack([np.ones(N), (frame["z"] - frame["z"].mean()) / frame["z"].std(ddof=0)])


def test_strengths_are_those_of_the_tables():
    frame = people()
    values, kept = positions(frame), kept_of(frame)
    together, first, _ = strengths(values, {"a": 12, "b": 12}, kept)
    table = pd.crosstab(frame["a"], frame["b"]).to_numpy()
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
    np.testing.assert_allclose(together.table, np.log((table + 0.5) / (alone + 0.5)))
    each = frame.assign(z=kept[:, 1]).groupby("a")["z"].agg(["sum", "size"])
    mean = (each["sum"] / (each["size"] + 1)).to_numpy()
    np.testing.assert_allclose(first.table, mean - mean[values["a"].astype(int)].mean())
    assert first.kept == 1
    assert first.at({"a": np.array([[0.0, np.nan]])}).tolist() == [[first.table[0], 0.0]]
    sizes = equals(np.column_stack([one.at(values) for one in (together, first)]), (together, first), kept)
    for size, one in zip(sizes, (together, first), strict=True):
        terms = np.abs(one.at(values) * kept[:, one.kept])
        assert size[0, one.kept] == pytest.approx(terms.sum() ** 2 / (terms**2).sum())
        assert size[0, 1 - one.kept] == 0


@pytest.mark.parametrize(("levels", "found"), [(12, 3), (8, 3), (7, 0)])
def test_only_many_levels_of_few_records_have_them(levels, found):
    values = {name: np.arange(N) % levels + 0.0 for name in "ab"}
    assert len(strengths(values, dict.fromkeys("ab", levels), np.ones((N, 2)))) == found
    many = {name: np.arange(100 * N) % levels + 0.0 for name in "ab"}
    assert not strengths(many, dict.fromkeys("ab", levels), np.ones((100 * N, 2)))


def test_nobody_with_a_value_has_no_strength():
    gone = {"a": np.full(N, np.nan), "b": np.zeros(N)}
    assert all(np.isfinite(one.table).all() for one in strengths(gone, {"a": 12, "b": 12}, np.ones((N, 2))))
    assert isinstance(strengths(gone, {"a": 12, "b": 12}, np.ones((N, 2)))[0], Strength)


def test_copies_keep_how_often_two_columns_agree():
    share = []
    for seed in range(3):
        frame = people(seed)
        settings = {
            "variables": {name: {"role": "replace", "key": True, "kind": "nominal"} for name in "ab"},
            "masks": {name: {"method": "transition", "keep": 0.3} for name in "ab"},
            "synthesis": {"copies": 3, "model": {"method": "auto"}},
        }
        copies = synthdp.synthesize(frame, settings, seed=seed).copies
        share.append([(one["a"] == one["b"]).mean() for one in (frame, *copies)])
    original, found = np.mean(share, axis=0)[0], np.mean(np.array(share)[:, 1:])
    # a twelfth of it is chance; without strengths four fifths of the rest were lost
    assert found - 1 / 12 > 0.8 * (original - 1 / 12)
