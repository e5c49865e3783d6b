"""k, l and t of files that can be counted by hand, and population uniqueness by simulation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk import uniqueness
from synthdp.evaluation.risk.uniqueness import (
    describe,
    evaluate_anonymity,
    evaluate_population,
    inverse_size,
    population_risk,
)
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Schema, Variable

NOMINAL = Column(name="ill", kind="nominal", role="replace", key=False)
ORDINAL = Column(name="grade", kind="ordinal", role="replace", key=False)


def compare(frame: pd.DataFrame, *copies: pd.DataFrame, weights: str | None = None, **variables) -> Comparison:
    data = resolve(frame, variables)
    columns = [
        column.model_copy(update={"design": "weights"}) if column.name == weights else column
        for column in data.schema.columns
    ]
    return Comparison(data.frame, copies, Schema(columns=tuple(columns)), aligned=False)


def test_three_and_three_but_one_together() -> None:
    # a published example of two columns that are 3-anonymous each and 1-anonymous jointly
    frame = pd.DataFrame(
        {"age": ["31-45", "31-45", "18-30", "18-30", "31-45", "18-30"], "amount": ["51", "51", "0", "51", "0", "0"]}
    )
    for keys, k in ((("age",), 3), (("amount",), 3), (("age", "amount"), 1)):
        comparison = compare(frame, frame[:2], **{name: Variable(key=True) for name in keys})
        found = evaluate_anonymity(comparison)
        assert found["original"]["k"] == k
        assert found["copies"][0]["k"] == 2
    assert found["original"]["below"] == [
        {"k": 2, "rate": pytest.approx(1 / 3)},
        {"k": 3, "rate": 1.0},
        {"k": 5, "rate": 1.0},
    ]


def slow_earth_movers(p: np.ndarray, q: np.ndarray, ordered: bool) -> float:
    if not ordered:
        return float(np.abs(p - q).sum() / 2)
    places = np.arange(len(p)) / max(1, len(p) - 1)
    return float(stats.wasserstein_distance(places, places, p, q))


rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=300)


@given(rows, st.sampled_from([3, 10**6]))
def test_measures_are_their_definitions(drawn, chunk) -> None:
    cells, values = np.asarray(drawn, dtype=np.int64).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uniqueness, "CHUNK", chunk)
        found = describe(cells, {NOMINAL: values, ORDINAL: values})
    sizes = [int((cells == cell).sum()) for cell in np.unique(cells)]
    assert found["k"] == min(sizes)
    assert found["classes"] == len(sizes)
    levels = np.unique(values)
    overall = np.array([(values == level).mean() for level in levels])
    inside = [np.array([(values[cells == cell] == level).mean() for level in levels]) for cell in np.unique(cells)]
    for line, ordered in zip(found["targets"], (False, True), strict=True):
        assert line["l_distinct"] == min(int((p > 0).sum()) for p in inside)
        assert line["l_entropy"] == pytest.approx(min(np.exp(stats.entropy(p)) for p in inside))
        assert line["t"] == pytest.approx(max(slow_earth_movers(p, overall, ordered) for p in inside), abs=1e-12)


def test_odd_files() -> None:
    frame = pd.DataFrame({"age": [30.0, None, None, 70.0], "ill": ["no"] * 4})
    comparison = compare(frame, frame[:0], age=Variable(key=True, tolerance=1))
    found = evaluate_anonymity(comparison, targets=["ill"])
    assert found["original"]["k"] == 1
    assert found["original"]["targets"] == [{"target": "ill", "l_distinct": 1, "l_entropy": 1.0, "t": 0.0}]
    assert found["copies"][0]["k"] is None
    constant = describe(np.array([0, 0, 1]), {ORDINAL: np.zeros(3, dtype=np.int64)})
    assert constant["targets"][0]["t"] == 0


@pytest.mark.parametrize(
    ("keys", "targets", "copy", "words"),
    [
        ({}, [], None, "anonymity: needs to know what an intruder knows; set key: true"),
        ({"age": Variable(key=True)}, ["vote"], None, "anonymity: 'vote' is not a column of the data; correct the"),
        ({"age": Variable(key=True)}, ["ill"], "ill", "anonymity: copy 1 has no column 'ill', which is needed"),
    ],
)
def test_what_cannot_be_measured(keys, targets, copy, words) -> None:
    frame = pd.DataFrame({"age": [30.0, 31.0], "ill": ["no", "yes"]})
    copies = [] if copy is None else [frame.drop(columns=copy)]
    with pytest.raises(InputError, match=words):
        evaluate_anonymity(compare(frame, *copies, **keys), targets=targets)


# the population


@pytest.mark.parametrize(("sample", "share"), [(1, 0.1), (1, 0.9), (2, 0.3), (5, 0.05), (40, 0.2), (3, 1.0)])
def test_the_mean_inverse_size_is_the_sum_over_the_distribution(sample, share) -> None:
    others = np.arange(200_000)
    wanted = float((stats.nbinom.pmf(others, sample, share) / (others + sample)).sum())
    assert inverse_size(np.array([sample]), np.array([share]))[0] == pytest.approx(wanted, rel=1e-6)


def sampled(sizes: np.ndarray, rate: float, draw: np.random.Generator) -> tuple[float, int, float, float]:
    """Return estimated and true sample-and-population uniques, and estimated and true links of one sample."""
    taken = draw.binomial(sizes, rate)
    seen = taken > 0
    cells = np.repeat(np.arange(int(seen.sum())), taken[seen])
    found = population_risk(cells, np.full(len(cells), 1 / rate))
    links = float((taken[seen] / sizes[seen]).sum())
    return found["population_unique"], int(((taken == 1) & (sizes == 1)).sum()), found["expected_links"], links


def test_population_uniques_in_the_populations_the_model_is_for() -> None:
    # class sizes with Pr(F) ∝ x^F / F, x near 1
    draw = np.random.default_rng(3)
    runs = np.array([sampled(stats.logser.rvs(0.9999, size=4000, random_state=draw), 0.2, draw) for _ in range(100)])
    for estimate, truth in ((0, 1), (2, 3)):
        gap = runs[:, estimate] - runs[:, truth]
        assert abs(gap.mean()) < 4 * gap.std(ddof=1) / 10
    assert runs[:, 1].mean() > 50


def test_equal_classes_are_overstated() -> None:
    draw = np.random.default_rng(4)
    estimate, truth, *_ = np.mean([sampled(np.full(5000, 10), 0.05, draw) for _ in range(20)], axis=0)
    assert truth == 0
    assert estimate > 50


def test_a_census_has_only_its_own_uniques() -> None:
    found = population_risk(np.array([0, 1, 1, 2]), np.ones(4))
    assert found["population_unique"] == found["sample_unique"] == 2
    assert found["expected_links"] == pytest.approx(3)
    assert found["max_individual"] == 1


def test_weights_are_read_from_the_data() -> None:
    frame = pd.DataFrame({"age": list("abbc"), "w": [4.0, 2.0, 3.0, 10.0]})
    found = evaluate_population(compare(frame, weights="w", age=Variable(key=True)))
    assert found["population_unique"] == pytest.approx(1 / 4 + 1 / 10)


@pytest.mark.parametrize(
    ("weights", "key", "values", "words"),
    [
        ("w", False, [1.0, 2.0], "population: needs to know what an intruder knows"),
        (None, True, [1.0, 2.0], "population: needs the survey's weights; set data.weights"),
        ("w", True, [2.0, 0.3], "at least 1; found 1 others, first at row 2; scale them to the population"),
        ("w", True, [np.nan, 3.0], "found 1 others, first at row 1"),
    ],
)
def test_no_population_without_weights(weights, key, values, words) -> None:
    frame = pd.DataFrame({"age": ["a", "b"], "w": values})
    with pytest.raises(InputError, match=words):
        evaluate_population(compare(frame, weights=weights, age=Variable(key=key)))
