"""Levels that nobody has together are not drawn together: beside loops, and on a file of indicators."""

import numpy as np
import pandas as pd

import synthdp
from synthdp.imputation.auto.impossible import EXPECTED, Impossible, Pair, _never

N = 600


def test_which_levels_never_go_together_by_loops():
    rng = np.random.default_rng(1)
    a, b = rng.integers(-1, 4, 300), rng.choice(5, 300, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    b[(a == 2) & (b == 1)] = 0
    found = _never(a, b, 4, 5)
    known = a >= 0
    for i in range(4):
        for j in range(5):
            together = (a[known] == i) & (b[known] == j)
            expected = (a[known] == i).sum() * (b[known] == j).sum() / known.sum()
            assert found[i, j] == (not together.any() and expected >= EXPECTED)
    assert found[2, 1]


def test_impossible_paths_have_no_weight_unless_a_record_has_no_other():
    never = np.array([[False, False], [False, True]])
    replaced, kept = Pair("a", "b", never), Pair("a", "z", never, kept=np.array([0, 1, 1]))
    values = {
        "a": np.array([[1.0, 0.0], [1.0, 1.0], [1.0, np.nan]]),
        "b": np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]),
    }
    weights = np.log([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]])
    found = Impossible((replaced, kept)).without(np.arange(3), values, weights)
    expected = weights.copy()
    expected[0, 0] = -np.inf  # a = b = 1
    expected[2, 0] = -np.inf  # a = 1 beside z = 1; every path of the second record has that, so it keeps its weights
    np.testing.assert_array_equal(found, expected)
    assert Impossible().without(np.arange(3), values, weights) is weights


def test_indicators_of_one_question_are_not_both_drawn():
    rng = np.random.default_rng(2)
    status = rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
    names = ("single", "married", "divorced", "widowed")
    frame = pd.DataFrame({name: (status == k).astype(int) for k, name in enumerate(names)})
    frame["z"] = status + rng.normal(size=N)
    settings = {
        "variables": {name: {"role": "replace", "key": True, "kind": "binary"} for name in names},
        "masks": {name: {"method": "shifted_normal", "alpha": 1.0} for name in names},
        "synthesis": {"model": {"method": "auto"}, "copies": 4},
    }
    copies = synthdp.synthesize(frame, settings, seed=3).copies
    twice = np.mean([(copy[list(names)].sum(axis=1) > 1).mean() for copy in copies])
    assert twice <= 0.002
