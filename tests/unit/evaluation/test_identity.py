"""The matching intruder on files small enough to follow by hand, and against the definition on random ones."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import evaluate_identity, evaluate_original
from synthdp.table.microdata import resolve
from synthdp.table.schema import Schema, Variable
from synthdp.tagging.neighbours import average

KEYS = [
    "expected_match",
    "expected_match_rate",
    "expected_match_reference",
    "true_match",
    "true_match_rate",
    "true_match_chance",
    "false_match_rate",
    "no_candidate",
    "mean_individual",
    "max_individual",
    "mean_unconditional",
]
VARIABLES = {
    "age": Variable(kind="continuous", key=True, tolerance=1.5),
    "sex": Variable(kind="binary", key=True, levels=("F", "M")),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def compare(original: pd.DataFrame, *copies: pd.DataFrame, groups: pd.Series | None = None) -> Comparison:
    return Comparison(original, copies, resolve(original, VARIABLES).schema, aligned=True, groups=groups)


def people(ages: list[float], sexes: str) -> pd.DataFrame:
    return pd.DataFrame({"age": ages, "sex": list(sexes)})


def simulated(n: int, copies: int, sd: float) -> Comparison:
    draw = np.random.default_rng(11)
    original = people(draw.normal(50, 10, n).round(1).tolist(), "".join(draw.choice(["F", "M"], n)))
    made = [original.assign(age=original["age"] + draw.normal(0, sd, n)) for _ in range(copies)]
    return compare(original, *made)


def test_by_hand() -> None:
    # 0: one candidate in each copy, itself. 1: tied with 2 in both. 2: as 1. 3: unique, but wrong. 4: nobody.
    original = people([20, 40, 41, 60, 90], "FFFMF")
    copy = people([21, 40, 40.5, 75, 75], "FFFMF")
    other = people([19, 40, 40.5, 75, 60], "FFFMM")
    groups = pd.Series(pd.Categorical(["low", "low", "low", "high", "high"], ["low", "medium", "high"], ordered=True))
    found = evaluate_identity(compare(original, copy, other, groups=groups), averaged=False, rng=rng())
    assert found.individual.tolist() == [1.0, 0.5, 0.5, 0.0, 0.0]
    assert found.true_match_mask.tolist() == [True, False, False, False, False]
    # target 3 is pointed at row 4 of the second copy, a candidate in one copy of two; target 4 makes no claim
    np.testing.assert_array_equal(found.confidence, [1.0, 0.5, 0.5, 0.5, np.nan])
    assert found.right.tolist() == [1.0, 0.5, 0.5, 0.0, 0.0]
    section = found.section()
    assert section.pop("true_match_chance") in range(3)
    assert section == {
        "expected_match": 2.0,
        "expected_match_rate": 0.4,
        "expected_match_reference": 2.2,
        "true_match": 1,
        "true_match_rate": 0.2,
        "false_match_rate": 0.5,
        "no_candidate": 1,
        "mean_individual": 0.4,
        "max_individual": 1.0,
        "mean_unconditional": 0.5,
        "per_group": [
            {"group": "low", "records": 3, "expected_match": 2.0, "true_match": 1, "mean_individual": 2 / 3},
            {"group": "high", "records": 2, "expected_match": 0.0, "true_match": 0, "mean_individual": 0.0},
        ],
        "one_copy": {"expected_match": 2.0, "expected_match_rate": 0.4, "true_match": 1.0, "true_match_rate": 0.2},
    }


def test_section_has_the_documented_keys_and_is_json() -> None:
    for averaged in (False, True):
        section = evaluate_identity(simulated(40, 2, 1.0), averaged=averaged, rng=rng()).section()
        assert list(section) == [*KEYS, "per_group", *([] if averaged else ["one_copy"])]
        assert section["per_group"] == []
        json.dumps(section, allow_nan=False)


def test_false_match_rate_is_null_without_a_unique_match() -> None:
    original = people([20, 20, 20], "FFF")
    assert evaluate_identity(compare(original, original), averaged=False, rng=rng()).false_match_rate is None


def test_the_original_against_itself_and_against_strangers() -> None:
    comparison = simulated(60, 3, 1.0)
    baseline = evaluate_original(replace(comparison, copies=(), aligned=False), rng=rng())
    direct = evaluate_identity(replace(comparison, copies=(comparison.original,)), averaged=False, rng=rng())
    assert baseline.section() == direct.section()
    assert baseline.no_candidate == 0
    assert baseline.false_match_rate in (None, 0.0)
    assert baseline.mean_individual == baseline.mean_unconditional
    far = replace(comparison, copies=(comparison.original.assign(age=500.0),))
    nobody = evaluate_identity(far, averaged=False, rng=rng())
    assert (nobody.no_candidate, nobody.expected_match, nobody.max_individual) == (60, 0.0, 0.0)
    assert nobody.expected_match_reference == pytest.approx(1.0)


def test_order_of_rows_is_irrelevant() -> None:
    comparison = simulated(80, 3, 1.0)
    order = rng().permutation(80)
    moved = replace(
        comparison,
        original=comparison.original.iloc[order],
        copies=tuple(copy.iloc[order] for copy in comparison.copies),
    )
    for averaged in (False, True):
        here = evaluate_identity(comparison, averaged=averaged, rng=rng())
        there = evaluate_identity(moved, averaged=averaged, rng=rng())
        for key in set(KEYS) - {"true_match_chance"}:
            assert getattr(there, key) == pytest.approx(getattr(here, key), rel=1e-12)
        np.testing.assert_array_equal(there.true_match_mask, here.true_match_mask[order])


@pytest.mark.parametrize("averaged", [False, True])
def test_chance_is_the_same_attack_on_permuted_copies(averaged: bool) -> None:
    comparison = simulated(50, 3, 2.0)
    permutations, draw = 30, rng()
    counts = []
    for _ in range(permutations):
        order = draw.permutation(50)
        copies = tuple(copy.iloc[order].reset_index(drop=True) for copy in comparison.copies)
        permuted = replace(comparison, copies=copies)
        counts.append(evaluate_identity(permuted, averaged=averaged, rng=rng(), permutations=1).true_match)
    found = evaluate_identity(comparison, averaged=averaged, rng=rng(), permutations=permutations)
    assert max(counts) > 0
    assert found.true_match_chance == np.quantile(counts, 0.95, method="higher")


def test_averaging_undoes_noise() -> None:
    comparison = simulated(300, 15, 5.0)
    single = evaluate_identity(replace(comparison, copies=comparison.copies[:1]), averaged=False, rng=rng())
    averaged = evaluate_identity(comparison, averaged=True, rng=rng())
    assert averaged.mean_individual > single.mean_individual


def test_average() -> None:
    birth = pd.Series(pd.to_datetime(["2000-01-01", None]))
    schema = resolve(
        pd.DataFrame({"x": [1.0, 2.0], "c": ["b", "a"], "d": birth}),
        {
            "x": Variable(kind="continuous"),
            "c": Variable(kind="nominal", levels=("b", "a", "z")),
            "d": Variable(kind="date"),
        },
    ).schema
    copies = [
        pd.DataFrame({"x": [1.0, np.nan], "c": ["a", None], "d": birth}),
        pd.DataFrame({"x": [4.0, np.nan], "c": ["b", None], "d": birth + pd.Timedelta(days=2)}),
        pd.DataFrame({"x": [np.nan, np.nan], "c": [None, None], "d": birth + pd.Timedelta(days=1)}),
    ]
    found = average(copies, schema.columns)
    assert found["x"].iloc[0] == 2.5
    assert found["c"].iloc[0] == "b"  # a tie, and the schema lists b first
    assert found["d"].iloc[0] == pd.Timestamp("2000-01-02")
    assert found.iloc[1].isna().all()


def test_average_takes_the_most_frequent_level() -> None:
    schema = resolve(pd.DataFrame({"c": ["a", "b"]}), {"c": Variable(kind="nominal", levels=("a", "b", "z"))}).schema
    copies = [pd.DataFrame({"c": [level, other]}) for level, other in (("a", None), ("z", None), ("z", "b"))]
    assert average(copies, schema.columns)["c"].tolist() == ["z", "b"]


def test_kinds_of_coding_do_not_matter() -> None:
    original = pd.DataFrame({"code": [1.0, 0.0, 1.0]})
    schema = resolve(original, {"code": Variable(kind="binary", key=True, levels=(0, 1))}).schema
    copies = (pd.DataFrame({"code": [1, 0, 1]}), pd.DataFrame({"code": ["1", "0", "1"]}))
    comparison = Comparison(original, copies, schema, aligned=True)
    for averaged in (False, True):
        assert evaluate_identity(comparison, averaged=averaged, rng=rng()).expected_match == pytest.approx(2.0)


def refusal(comparison: Comparison, *, averaged: bool = False) -> str:
    with pytest.raises(InputError) as caught:
        evaluate_identity(comparison, averaged=averaged, rng=rng())
    return str(caught.value)


def test_refusals() -> None:
    good = simulated(5, 2, 1.0)
    unaligned = replace(good, aligned=False)
    assert refusal(unaligned) == (
        "identity: needs to know which row of a copy belongs to which record; "
        "set evaluation.rows to aligned or to a file with the row order."
    )
    assert refusal(unaligned, averaged=True).startswith("identity_averaged: needs to know which row")
    keyless = Schema(columns=tuple(column.model_copy(update={"key": False}) for column in good.schema.columns))
    assert refusal(replace(good, schema=keyless)) == (
        "identity: needs to know what an intruder knows; set key: true for at least one column."
    )
    assert refusal(replace(good, copies=())) == "identity: needs at least one copy, found none."
    first, second = good.copies
    assert refusal(replace(good, copies=(first, second.drop(columns="age")))) == (
        "identity: copy 2 has no column 'age', which is a key."
    )
    assert refusal(replace(good, copies=(first, second.iloc[:3]))) == (
        "identity: aligned copies need as many rows as the original (5), copy 2 has 3."
    )


def test_repr_shows_no_values() -> None:
    assert repr(evaluate_identity(simulated(5, 1, 1.0), averaged=False, rng=rng())) == "IdentityRisk(5 targets)"
