"""Rows that nothing ties to records are not taken for aligned."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from synthdp.stages.tracing import agreement, matches, ranks, shared_with, traced
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

RNG = np.random.default_rng(3)


def test_matches_are_scored_by_all_orders():
    first, second = np.array([0, 0, 1, 2, 1, 0]), np.array([0, 1, 1, 2, 0, 2])
    counts = np.array([np.sum(first == second[list(order)]) for order in permutations(range(6))])
    expected = (np.sum(first == second) - counts.mean()) / counts.std()
    assert matches(first, second) == pytest.approx(expected)


def test_ranks_are_scored_by_all_orders():
    first, second = np.array([1.0, 2.0, 2.0, 5.0, 9.0]), np.array([3.0, 1.0, 4.0, 4.0, 8.0])
    one, other = (pd.Series(values).rank().to_numpy() for values in (first, second))
    sums = np.array([one @ other[list(order)] for order in permutations(range(5))])
    assert ranks(first, second) == pytest.approx((one @ other - sums.mean()) / sums.std())


def test_what_cannot_vary_says_nothing():
    assert ranks(np.ones(9), np.arange(9.0)) == ranks(np.ones(2), np.ones(2)) == 0.0
    assert matches(np.zeros(9, dtype=int), np.zeros(9, dtype=int)) == matches(np.arange(600), np.arange(600)) == 0.0


def people(n=300):
    return pd.DataFrame({"age": RNG.normal(50, 15, n), "sex": RNG.choice(["f", "m"], n), "code": RNG.integers(0, 3, n)})


def records(frame, *replaced):
    return resolve(frame, {name: Variable(role="replace") for name in replaced})


def test_kept_and_masked_columns_leave_a_trace_and_strangers_do_not():
    frame = people()
    data = records(frame, "age", "sex", "code")
    masked = frame.assign(age=frame["age"] + RNG.normal(0, 30, 300), sex="f", code=1)
    assert traced(data, [masked])
    assert not traced(data, [people() for _ in range(5)])
    shuffled = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    assert not traced(records(frame, "age"), [shuffled])
    assert traced(records(frame, "age"), [shuffled, frame])
    assert not traced(data, [frame.head(100)])


def test_missing_values_do_not_hide_a_trace():
    frame = people()
    gaps = frame.assign(age=frame["age"].mask(RNG.random(300) < 0.5))
    column = records(frame, "age").schema["age"]
    assert agreement(frame["age"], gaps["age"], column) > 4


def test_a_handful_of_records_is_not_doubted():
    frame = people(17)
    assert traced(records(frame, "age", "sex", "code"), [people(17)])


def test_a_holdout_of_the_files_own_records_is_told():
    data = records(people(), "age")
    (said,) = shared_with(data, data.frame.head(60))
    assert said.startswith("holdout: 60 of its 60 records are records of the original, too")
    mixed = pd.concat([people(100), data.frame.head(40)])
    assert shared_with(data, mixed)[0].startswith("holdout: 40 of its 140 records")


def test_strangers_who_are_alike_by_chance_are_no_members():
    def coarse(n, seed):
        rng = np.random.default_rng(seed)
        return pd.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n)})

    said = [shared_with(records(coarse(100, k), "age"), coarse(80, 1000 + k)) for k in range(50)]
    assert not any(said)
    assert all(shared_with(records(coarse(100, k), "age"), coarse(100, k)) for k in range(50))
