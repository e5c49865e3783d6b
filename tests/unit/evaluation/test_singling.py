"""Singling out, linkability and inference: small files by hand, random ones by definition, floor and ceiling."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.linkability import evaluate_inference, evaluate_linkability
from synthdp.evaluation.risk.singling import (
    ABSENT,
    AT_LEAST,
    AT_MOST,
    EQUAL,
    blind,
    evaluate_singling,
    isolating,
    multivariate,
    tabulate,
    univariate,
)
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

VARIABLES = {
    "sex": Variable(kind="binary", levels=("F", "M"), key=True),
    "town": Variable(kind="nominal", levels=tuple("abcdefgh"), key=True),
    "age": Variable(kind="continuous", key=True, tolerance=1),
    "pay": Variable(kind="continuous", role="replace", tolerance=1),
    "job": Variable(kind="nominal", levels=("x", "y", "z"), role="replace"),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def people(n: int, seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    age = draw.normal(50, 15, n)
    return pd.DataFrame(
        {
            "sex": draw.choice(["F", "M"], n),
            "town": draw.choice(list("abcdefgh"), n),
            "age": age,
            "pay": age + draw.normal(0, 9, n),
            "job": draw.choice(list("xyz"), n),
        }
    )


def compare(original: pd.DataFrame, *copies: pd.DataFrame, variables=VARIABLES) -> Comparison:
    data = resolve(original, variables)
    return Comparison(data.frame, copies, data.schema, aligned=False)


def columns(*names: str):
    schema = resolve(people(30, 1), VARIABLES).schema
    return [schema[name] for name in names]


# predicates


def test_predicates_on_one_column_by_hand() -> None:
    frame = pd.DataFrame({"town": ["a", "a", "b", None], "age": [1.0, 2.0, 2.0, 9.0]})
    (table,) = tabulate([frame], columns("town", "age"))
    found = univariate(table)
    assert set(found) == {
        ((0, ABSENT, 0.0),),
        ((0, EQUAL, 1.0),),
        ((1, EQUAL, 1.0),),
        ((1, EQUAL, 9.0),),
        ((1, AT_MOST, 1.0),),
        ((1, AT_LEAST, 9.0),),
    }
    assert all(table.count(predicate) == 1 for predicate in found)
    assert repr(table) == "Table(4 records x 2 columns)"


rows = st.lists(
    st.tuples(st.sampled_from([*"FM", None]), st.one_of(st.none(), st.integers(-3, 3).map(float))),
    min_size=2,
    max_size=300,
)


@settings(max_examples=40)
@given(rows)
def test_predicates_isolate_one_row_and_are_counted_rightly(drawn) -> None:
    frame = pd.DataFrame(drawn, columns=["sex", "age"]).astype({"age": float})
    (table,) = tabulate([frame], columns("sex", "age"))
    made = univariate(table) + multivariate(table, attacks=5, size=2, rng=rng())
    words = {EQUAL: np.equal, AT_MOST: np.less_equal, AT_LEAST: np.greater_equal}
    for predicate in [*made, *blind(table, attacks=5, size=2, rng=rng())]:
        true = 0
        for row in range(len(frame)):
            holds = [
                np.isnan(table.values[c][row]) if says == ABSENT else words[says](table.values[c][row], value)
                for c, says, value in predicate
            ]
            true += all(holds)
        assert table.count(predicate) == true
        assert predicate not in made or true == 1


def test_isolation_in_a_smaller_file_is_the_mean_over_subsets() -> None:
    draw = np.random.default_rng(1)
    counts = np.array([0, 1, 2, 5, 12])
    found = isolating(counts, 12, 5)
    times = 20_000
    seen = np.array([[(draw.permutation(12)[:5] < c).sum() == 1 for c in counts] for _ in range(times)]).mean(axis=0)
    assert (np.abs(found - seen) <= 4 * np.sqrt(0.25 / times)).all()
    assert isolating(counts, 12, 12).tolist() == [0, 1, 0, 0, 0]


# singling out


def test_singling_out_at_both_ends() -> None:
    original, outside = people(500, 1), people(400, 2)
    raw = evaluate_singling(compare(original, original), holdout=outside, attacks=200, rng=rng())
    fresh = evaluate_singling(compare(original, people(500, 3)), holdout=outside, attacks=200, rng=rng())
    for kind in ("univariate", "multivariate"):
        assert raw[kind]["attack"]["value"] == 1.0
        assert raw[kind]["better_than_blind"]
        assert raw[kind]["risk"]["low"] > 0.3
        # four standard errors: twice the half-width of a 95% interval
        assert abs(fresh[kind]["risk"]["value"]) < fresh[kind]["risk"]["high"] - fresh[kind]["risk"]["low"]
    assert "reason" not in raw


def test_fewer_predicates_than_asked_for_are_said() -> None:
    frame = pd.DataFrame({"sex": ["F", "M"] * 20, "job": ["x"] * 40})
    found = evaluate_singling(
        compare(frame, frame, variables={name: VARIABLES[name] for name in ("sex",)}), attacks=10, rng=rng()
    )
    assert found["multivariate"]["attacks"] == 0
    assert found["multivariate"]["attack"]["value"] is None
    assert "evaluation.holdout" in found["reason"]


# linkability and inference


def test_linkability_at_both_ends() -> None:
    original, outside = people(500, 1), people(500, 2)
    raw = evaluate_linkability(compare(original, original), holdout=outside, rng=rng())
    assert raw["sides"] == [["sex", "town", "age"], ["pay", "job"]]
    assert raw["attack"]["value"] == 1.0
    assert raw["baseline"]["value"] == pytest.approx(1 / 500)
    assert raw["risk"]["low"] > 0.9
    fresh = evaluate_linkability(compare(original, people(500, 3)), holdout=outside, rng=rng())
    assert abs(fresh["risk"]["value"]) < fresh["risk"]["high"] - fresh["risk"]["low"]


def test_more_neighbours_link_more() -> None:
    original = people(300, 1)
    noisy = original.assign(pay=original["pay"] + np.random.default_rng(1).normal(0, 3, 300))
    values = [
        evaluate_linkability(compare(original, noisy, noisy), neighbours=k, rng=rng())["attack"]["value"]
        for k in (1, 3, 10)
    ]
    assert values[0] < values[1] < values[2]
    found = evaluate_linkability(
        compare(original, noisy), sides=(["age"], ["pay"]), neighbours=200, attacks=50, rng=rng()
    )
    assert found["baseline"]["value"] == 1.0
    assert found["attacks"] == 50


def test_inference_at_both_ends() -> None:
    original, outside = people(500, 1), people(500, 2)
    raw = evaluate_inference(compare(original, original), targets=["pay", "job", "age"], holdout=outside, rng=rng())
    assert [one["attack"]["value"] for one in raw[:2]] == [1.0, 1.0]
    assert raw[0]["risk"]["low"] > 0.8
    fresh = evaluate_inference(compare(original, people(500, 3)), targets=["pay", "job"], holdout=outside, rng=rng())
    for one in fresh:
        assert abs(one["risk"]["value"]) < one["risk"]["high"] - one["risk"]["low"]
    blindly = fresh[1]["baseline"]["value"]
    assert abs(blindly - 1 / 3) < 4 * np.sqrt(2 / 9 / 500)


def test_a_wrong_coding_is_never_right() -> None:
    original = people(100, 1)
    (found,) = evaluate_inference(compare(original, original.assign(job="other")), targets=["job"], rng=rng())
    assert found["attack"]["value"] == 0
    assert "evaluation.holdout" in found["reason"]


ONLY = {"age": Variable(key=True)}


@pytest.mark.parametrize(
    ("evaluate", "variables", "copies", "options", "words"),
    [
        (evaluate_singling, VARIABLES, 0, {}, "singling: needs at least one copy, found none"),
        (evaluate_singling, VARIABLES, -1, {}, "singling: copy 1 has no column 'job'"),
        (evaluate_linkability, VARIABLES, 0, {}, "linkability: needs at least one copy, found none"),
        (evaluate_linkability, {}, 1, {}, "linkability: needs two sets of columns without a common one"),
        (evaluate_linkability, VARIABLES, 1, {"sides": (["age"], ["age"])}, "linkability: needs two sets of columns"),
        (
            evaluate_linkability,
            VARIABLES,
            1,
            {"sides": (["ag"], ["age"])},
            "linkability: 'ag' is not a column of the data; correct the name",
        ),
        (evaluate_inference, {}, 1, {"targets": ["job"]}, "inference: needs to know what an intruder knows"),
        (evaluate_inference, ONLY, 1, {"targets": ["age"]}, "inference: 'age' is the only key, nothing is left"),
        (
            evaluate_inference,
            VARIABLES,
            1,
            {"targets": ["jb"]},
            "inference: 'jb' is not a column of the data; correct the name",
        ),
    ],
)
def test_what_cannot_be_attacked_is_said(evaluate, variables, copies, options, words) -> None:
    frame = people(30, 1)
    files = [frame] * copies if copies >= 0 else [frame.drop(columns="job")]
    with pytest.raises(InputError, match=words):
        evaluate(compare(frame, *files, variables=variables), rng=rng(), **options)
