"""Sample and aggregate: the published errors, the law of its noise, and what no estimator can spoil."""

import numpy as np
import pandas as pd
import pytest

from reports.blocks.study import PREDICTED, one_run
from synthdp import dp
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Simulated


def source(*seed):
    return Simulated(np.random.default_rng(seed))


RUNS = 200


@pytest.fixture(scope="module")
def runs():
    return [one_run(r, seed=5) for r in range(RUNS)]


@pytest.mark.parametrize(("blocks", "printed"), [(5, 765.16), (10, 201.08), (15, 91.97), (20, 46.37)])
def test_T14_mean_squared_errors_of_the_second_method_are_as_predicted(runs, blocks, printed):
    errors = np.array([found["uniform", blocks, "aggregate"] for found in runs])
    expected, spread = PREDICTED["aggregate"][blocks]
    # the prediction gives the sd for 1000 runs
    assert abs(np.mean(errors**2) - expected) < 4 * spread * np.sqrt(1000 / RUNS)
    assert abs(printed - expected) < 3 * spread


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_noise_is_that_of_the_mean_of_blocks(adjacency):
    values = np.full(100, 3.0)
    found = [
        dp.aggregate(
            values, np.mean, blocks=10, bounds=(-50, 50), epsilon=1, adjacency=adjacency, source=source(r)
        ).estimate
        for r in range(800)
    ]
    expected = np.sqrt(2) * 100 / 10
    # the fourth moment of Laplace noise is 6 sd⁴
    assert abs(np.var(found) - expected**2) < 4 * expected**2 * np.sqrt(5 / 800)


def test_one_record_moves_the_answers_by_one_block_whatever_the_estimator_does():
    rng = np.random.default_rng(2)
    before = rng.normal(size=60)
    after = before.copy()
    after[17] = 1e9
    price = {"blocks": 6, "bounds": (-1, 1), "epsilon": 1e9}
    first, second = (
        dp.aggregate(x, lambda block: float(block.max()) ** 3, **price, source=source(1)).estimate
        for x in (before, after)
    )
    assert 0 <= second - first <= 2 / 6 + 1e-6


def test_failures_and_missing_answers_count_as_the_middle_and_only_the_curator_hears():
    def picky(block):
        if block.max() > 0.98:
            raise ValueError("confidential: 0.99")
        return np.nan if block.min() < 0.01 else 9.0

    x = np.random.default_rng(1).random(200)
    found = dp.aggregate(x, picky, blocks=20, bounds=(0, 4), epsilon=1e9, source=source(1))
    said = " ".join(found.confidential)
    assert "gave no number on" in said
    assert "were outside the bounds" in said
    assert "0.99" not in repr(found) + said
    nothing = dp.aggregate(x, lambda block: np.nan, blocks=4, bounds=(0, 4), epsilon=1e9, source=source(1))
    assert nothing.estimate == pytest.approx(2.0, abs=1e-6)


def test_frames_keep_their_columns_and_gaussian_noise_its_delta():
    frame = pd.DataFrame({"x": np.arange(400.0), "y": 2 * np.arange(400.0)})
    found = dp.aggregate(
        frame,
        lambda block: np.polyfit(block["x"], block["y"], 1)[0],
        blocks=40,
        bounds=(0, 4),
        epsilon=5,
        delta=1e-6,
        source=source(3),
    )
    assert found.estimate == pytest.approx(2, abs=0.3)
    assert (found.epsilon, found.delta) == (5, 1e-6)


def test_the_interval_that_is_paid_for_covers_the_mean_over_blocks():
    hits = 0
    for r in range(150):
        x = np.random.default_rng(r).exponential(size=600)
        found = dp.aggregate(x, np.median, blocks=60, bounds=(0, 3), epsilon=2, interval=True, source=source(r, 1))
        # the median of ten exponentials is on average 0.7456 (order statistics 5 and 6)
        hits += found.low <= 0.7456 <= found.high
    assert hits / 150 > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 150)


def test_under_add_remove_nothing_says_how_many_records_there_are():
    x = np.arange(30.0)
    price = {"bounds": (0, 30), "epsilon": 1, "adjacency": "add_remove"}
    found = dp.aggregate(x, np.mean, blocks=50, **price, source=source(1))
    assert "30 records" not in repr(found)


class Book:
    def __init__(self):
        self.charges = []

    def charge(self, what, **price):
        self.charges.append((what, price["epsilon"]))


def test_the_ledger_is_charged_once():
    book = Book()
    dp.aggregate(np.arange(30.0), np.mean, blocks=5, bounds=(0, 30), epsilon=1, source=source(1), ledger=book)
    assert book.charges == [("mean of 5 blocks", 1)]


def test_the_ledger_never_reads_a_column_called_name():
    book = Book()
    frame = pd.DataFrame({"name": [f"person {k}" for k in range(30)], "x": np.arange(30.0)})
    asked = {"blocks": 5, "bounds": (0, 30), "epsilon": 1, "source": source(1), "ledger": book}
    dp.aggregate(frame, lambda block: block["x"].mean(), **asked)
    dp.aggregate(frame["x"], np.mean, **asked)
    assert [what for what, _ in book.charges] == ["mean of 5 blocks", "mean of 5 blocks of x"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"blocks": 31}, "blocks: must be at most the number of records, found 31 blocks of 30 records"),
        ({"blocks": 1}, "blocks: must be a whole number of at least 2, found 1"),
        ({"epsilon": 0}, "epsilon: must be a number above 0, found 0"),
        ({"bounds": (4, 0)}, "answers: bounds must be increasing"),
        ({"bounds": (0, 1, 2)}, "answers: bounds must be two finite numbers"),
        ({"bounds": None}, "answers: bounds are missing"),
        ({"bounds": "data"}, "bounds: must be declared"),
        ({"estimator": 3}, "estimator: must be a function"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(given, words):
    asked = {"estimator": np.mean, "blocks": 5, "bounds": (0, 30), "epsilon": 1} | given
    with pytest.raises(InputError, match=words):
        dp.aggregate(np.arange(30.0), asked.pop("estimator"), **asked)
