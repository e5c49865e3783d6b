"""Attribute disclosure against its definitions, record by record, and at its floor and ceiling."""

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthdp.errors import InputError
from synthdp.evaluation.combinations import classes, combine
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.attribute import default_targets, evaluate_attribute
from synthdp.evaluation.risk.attribution import (
    attribution_probability,
    disclosive,
    guess,
    targeted,
    targeted_outsider,
    warn,
)
from synthdp.evaluation.risk.regressing import attack_by_regression
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=300)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def split(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    keys, target = np.asarray(rows, dtype=np.int64).T
    return keys, target


def compare(original: pd.DataFrame, *copies: pd.DataFrame, aligned: bool = True, **variables: Variable) -> Comparison:
    data = resolve(original, variables)
    return Comparison(data.frame, copies, data.schema, aligned=aligned)


def survey(n: int, seed: int = 1) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({"region": draw.integers(0, 30, n), "sex": draw.integers(0, 2, n)}).astype(str)
    frame["vote"] = np.where(draw.random(n) < 0.6, frame["region"].astype(int) % 3, draw.integers(0, 3, n)).astype(str)
    frame["income"] = (frame["region"].astype(float) + draw.normal(0, 3, n)).round(2)
    return frame


KEYS = {"region": Variable(kind="nominal", key=True), "sex": Variable(kind="binary", key=True)}


# every measure against its definition


@given(pairs, pairs)
def test_disclosive_percentages_are_their_definitions(original, copy) -> None:
    by_key = [{k: [t for key, t in rows if key == k] for k, _ in rows} for rows in (original, copy)]
    here, there = by_key
    unique = [len(here[k]) == 1 for k, _ in original]
    inside = [k in there for k, _ in original]
    told = [k in there and len(set(there[k])) == 1 for k, _ in original]
    right = [yes and there[k][0] == t for yes, (k, t) in zip(told, original, strict=True)]
    both = [yes and len(set(here[k])) == 1 for yes, (k, _) in zip(right, original, strict=True)]
    wanted = {
        "UiO": unique,
        "UiS": [len(there[k]) == 1 for k, _ in copy],
        "UiOiS": [a and b for a, b in zip(unique, inside, strict=True)],
        "repU": [a and k in there and len(there[k]) == 1 for a, (k, _) in zip(unique, original, strict=True)],
        "Dorig": [len(set(here[k])) == 1 for k, _ in original],
        "Dsyn": [len(set(there[k])) == 1 for k, _ in copy],
        "iS": inside,
        "DiS": told,
        "DiSCO": right,
        "DiSDiO": both,
    }
    found = disclosive(*split(original), *split(copy))
    assert found.percent == pytest.approx({name: 100 * np.mean(flags) for name, flags in wanted.items()})
    assert found.disclosed.tolist() == right
    assert "records" in repr(found)


def slow_guess(target: tuple[int, int], source: list[tuple[int, int]]) -> float:
    key, truth = target
    counts = Counter(t for k, t in source if k == key) or Counter(t for _, t in source)
    best = [value for value, count in counts.items() if count == max(counts.values())]
    return (truth in best) / len(best) if best else 0.0


@given(pairs, pairs)
def test_the_modal_guess(original, copy) -> None:
    assert guess(*split(original), *split(copy)).tolist() == [slow_guess(one, copy) for one in original]
    left_out = [slow_guess(one, original[:i] + original[i + 1 :]) for i, one in enumerate(original)]
    assert guess(*split(original), *split(original), left_out=True).tolist() == pytest.approx(left_out)


@given(pairs, pairs, st.sampled_from([0.5, 0.8, 1.0]))
def test_cap_and_tcap(original, copy, tau) -> None:
    def share(target, source):
        alike = [t for k, t in source if k == target[0]]
        return np.mean([t == target[1] for t in alike]) if alike else np.nan

    wanted = [share(one, copy) for one in original]
    found = attribution_probability(*split(original), *split(copy))
    np.testing.assert_allclose(found, wanted)
    sure = [share(one, original) for one in copy if share(one, copy) >= tau - 1e-12]
    sure = [one for one in sure if not np.isnan(one)]
    value, rows = targeted(*split(original), *split(copy), tau=tau)
    assert rows == len(sure)
    assert value == (pytest.approx(np.mean(sure)) if sure else None)
    claims = []
    for i, (key, value) in enumerate(original):
        counts = Counter(t for k, t in original[:i] + original[i + 1 :] if k == key)
        if counts and max(counts.values()) >= tau * sum(counts.values()) - 1e-9:
            claims.append(slow_guess((key, value), original[:i] + original[i + 1 :]))
    value, rows = targeted_outsider(*split(original), tau=tau)
    assert rows == len(claims)
    assert value == (pytest.approx(np.mean(claims)) if claims else None)
    others = [share(one, original[:i] + original[i + 1 :]) for i, one in enumerate(original)]
    own = attribution_probability(*split(original), *split(original), own=[split(original)])
    np.testing.assert_allclose(own, others)


def test_nobody_to_guess_from() -> None:
    nobody = np.empty(0, dtype=np.int64)
    assert guess(np.array([0]), np.array([0]), nobody, nobody).tolist() == [0.0]
    assert len(guess(nobody, nobody, np.array([0]), np.array([0]))) == 0


# the coding of combinations


def test_numbers_are_told_apart_up_to_the_tolerance() -> None:
    age = Column(name="age", kind="continuous", role="keep", key=True, tolerance=0.1)
    (found,) = classes([pd.DataFrame({"age": [0.6, 0.59, 0.79, None, np.inf]})], age)
    assert found.tolist() == [1, 0, 1, 2, 3]
    (exact,) = classes([pd.DataFrame({"age": [0.6, 0.59, 0.6]})], age, exact=True)
    assert exact.tolist() == [1, 0, 1]


def test_unknown_levels_and_other_spellings() -> None:
    sex = Column(name="sex", kind="binary", role="keep", key=True, levels=(0, 1))
    first, second = classes([pd.DataFrame({"sex": [0, 1, None]}), pd.DataFrame({"sex": ["0", "1.0", "x"]})], sex)
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [0, 1, 3]
    assert [one.tolist() for one in combine([pd.DataFrame({"a": [1, 2]})], [])] == [[0, 0]]


def test_dates_that_are_none() -> None:
    born = Column(name="born", kind="date", role="keep", key=True)
    with pytest.raises(InputError, match="born: a date column needs dates, found values that are not; correct"):
        classes([pd.DataFrame({"born": [1.0, 2.0]})], born)


# floor and ceiling


def test_the_original_as_copy_is_the_ceiling() -> None:
    frame = survey(300)
    (found,) = evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote"], rng=rng())
    assert found["DiSCO"] == found["DiS"] == found["Dorig"] == found["DiSDiO"]
    assert found["iS"] == 100
    assert found["repU"] == found["UiO"]
    data = resolve(frame, KEYS)
    (cells,) = combine([frame], data.schema.keys())
    (target,) = classes([frame], data.schema["vote"])
    # who is left out of the original is disclosed unless they were alone: the gain in DiSCO is UiO
    others = [
        len(set(target[(cells == cells[i]) & (np.arange(300) != i)])) == 1
        and target[(cells == cells[i]) & (np.arange(300) != i)][0] == target[i]
        for i in range(300)
    ]
    assert found["DiSCO"] - 100 * np.mean(others) == pytest.approx(found["UiO"])
    assert found["gain"] > 0.05
    assert found["own_row"]["low"] > 0
    assert found["gain_unique"]["records"] == round(found["UiO"] * 3)
    assert found["cap"]["value"] == pytest.approx(found["cap"]["original"])


def test_a_fresh_sample_of_the_population_gains_nothing_against_a_holdout() -> None:
    # copies that owe the members nothing: members and outsiders are guessed alike
    original, copy, other = survey(2000, 1), survey(2000, 2), survey(2000, 3)
    for target in ("vote", "income"):
        (found,) = evaluate_attribute(
            compare(original, copy, aligned=False, **KEYS), targets=[target], holdout=other, rng=rng()
        )
        gains = [found["guess"]["gain"], *(one["gain"] for one in found["regression"])]
        assert len(gains) == (1 if target == "vote" else 3)
        # twice the half-width of a 95% interval is about four standard errors
        assert all(abs(gain["value"]) < gain["high"] - gain["low"] for gain in gains)
        assert found["own_row"] is None
        assert "not in the data" in found["baseline"]


def test_rows_that_are_not_the_records_own_add_nothing() -> None:
    frame = survey(1500)
    moved = frame.sample(frac=1, random_state=4).reset_index(drop=True)
    (found,) = evaluate_attribute(compare(frame, moved, **KEYS), targets=["vote"], rng=rng())
    assert abs(found["own_row"]["value"]) < 4 / 1500
    (itself,) = evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote"], rng=rng())
    assert itself["own_row"]["value"] > 10 * abs(found["own_row"]["value"])


def test_a_target_without_the_keys_is_guessed_no_better_than_blindly() -> None:
    frame = survey(4000)
    copy = frame.assign(vote=frame["vote"].sample(frac=1, random_state=1).to_numpy())
    (found,) = evaluate_attribute(compare(frame, copy, aligned=False, **KEYS), targets=["vote"], rng=rng())
    blind = found["cap"]["marginal"]
    assert found["cap"]["value"] == pytest.approx(blind, abs=4 * np.sqrt(0.25 / 4000))
    assert found["gain"] < 0


def test_the_regression_attack_at_both_ends() -> None:
    draw = np.random.default_rng(2)
    n = 1500

    def people(seed: int) -> pd.DataFrame:
        draw = np.random.default_rng(seed)
        age = draw.uniform(20, 80, n)
        return pd.DataFrame({"age": age, "height": draw.normal(0, 1, n), "income": age + draw.normal(0, 10, n)})

    variables = {"age": Variable(key=True), "height": Variable(key=True), "income": Variable(tolerance=2)}
    original, outside = people(1), people(3)
    raw = compare(original, original, original, **variables)
    keys = raw.schema.keys()
    tree, near = attack_by_regression(raw, raw.schema["income"], keys, rng=rng())
    assert near["success"]["value"] == 1.0
    assert near["gain"]["low"] > 0.7
    assert near["r2"] == pytest.approx(1)
    assert tree["r2"] > tree["r2_baseline"]
    fresh = compare(original, people(4), aligned=False, **variables)
    for found in attack_by_regression(fresh, fresh.schema["income"], keys, holdout=outside, rng=rng()):
        assert abs(found["gain"]["value"]) < found["gain"]["high"] - found["gain"]["low"]
        assert found["r2"] == pytest.approx(found["r2_baseline"], abs=0.1)
    noisy = compare(original, original.assign(income=original["income"] + draw.normal(0, 4, n)), **variables)
    (found,) = evaluate_attribute(noisy, targets=["income"], rng=rng())
    assert found["gain_by"] == "nearest"
    assert 0 < found["gain"] < near["gain"]["value"]


# warnings


def test_one_level_behind_most_disclosures() -> None:
    disclosed = np.arange(100) < 60
    target = np.where(np.arange(100) < 60, 1, 0)
    key = np.where(np.arange(100) < 60, 2, 0)
    found = warn(disclosed, target, {"region": key}, labels={"": {1: "ill"}, "region": {2: "north"}})
    assert found == [
        {"ways": 1, "level": "ill", "records": 60, "share": 1.0},
        {"ways": 2, "key": "region", "key_level": "north", "level": "ill", "records": 60, "share": 1.0},
    ]
    assert warn(np.zeros(100, dtype=bool), target, {"region": key}, labels={"": {}, "region": {}}) == []
    few = np.arange(100) < 4
    assert warn(few, target, {"region": key}, labels={"": {}, "region": {}}) == []


def test_warnings_name_levels_of_the_data() -> None:
    frame = pd.DataFrame({"region": ["north"] * 60 + ["south"] * 60, "vote": ["A"] * 60 + ["B", "C"] * 30})
    comparison = compare(frame, frame, region=Variable(key=True))
    (found,) = evaluate_attribute(comparison, targets=["vote"], rng=rng())
    assert [(one["ways"], one["level"]) for one in found["warnings"]] == [(1, "A"), (2, "A")]


# what is odd and what is wrong


def test_a_constant_target_is_known_to_everybody() -> None:
    frame = survey(200).assign(vote="A")
    (found,) = evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote"], rng=rng())
    assert found["DiSCO"] == 100
    assert found["gain"] == 0


def test_missing_keys_and_targets_are_values() -> None:
    frame = survey(200)
    frame.loc[:20, ["region", "sex", "vote"]] = None
    frame.loc[30:60, "income"] = np.nan
    found = evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote", "income"], rng=rng())
    assert all(one["iS"] == 100 for one in found)


def test_a_target_missing_everywhere_in_the_copies() -> None:
    frame = survey(100)
    (found,) = evaluate_attribute(compare(frame, frame.assign(income=np.nan), **KEYS), targets=["income"], rng=rng())
    assert found["DiSCO"] == 0
    assert found["regression"] == []


def test_copies_of_another_size_and_coding() -> None:
    frame = survey(400)
    copy = survey(150, 2).assign(sex="other")
    (found,) = evaluate_attribute(compare(frame, copy, aligned=False, **KEYS), targets=["vote"], rng=rng())
    assert found["iS"] == 0
    assert found["DiS"] == 0


def test_a_key_is_guessed_from_the_other_keys() -> None:
    frame = survey(100)
    (found,) = evaluate_attribute(compare(frame, frame, **KEYS), targets=["sex"], rng=rng())
    assert found["keys"] == ["region"]


def test_default_targets() -> None:
    data = resolve(survey(50), KEYS | {"vote": Variable(role="replace"), "income": Variable(role="replace", key=True)})
    assert default_targets(data.schema) == ["vote"]


@pytest.mark.parametrize(
    ("keys", "copies", "targets", "holdout", "words"),
    [
        ({}, 1, ["vote"], None, "attribute: needs to know what an intruder knows; set key: true"),
        (KEYS, 0, ["vote"], None, "attribute: needs at least one copy, found none"),
        (KEYS, 1, ["age"], None, "attribute: 'age' is not a column of the data; correct the name"),
        ({"sex": KEYS["sex"]}, 1, ["sex"], None, "attribute: 'sex' is the only key, so nothing is left"),
        (KEYS, 1, ["vote"], ["vote"], "attribute: the holdout has no column 'vote', which is needed; add it"),
        (KEYS, -1, ["vote"], None, "attribute: copy 1 has no column 'vote', which is needed; add it"),
    ],
)
def test_what_cannot_be_measured_is_said(keys, copies, targets, holdout, words) -> None:
    frame = survey(30)
    files = [frame] * copies if copies >= 0 else [frame.drop(columns="vote")]
    other = None if holdout is None else frame.drop(columns=holdout)
    with pytest.raises(InputError, match=words):
        evaluate_attribute(compare(frame, *files, **keys), targets=targets, holdout=other, rng=rng())


def test_aligned_copies_of_another_size_are_refused_by_name() -> None:
    frame = survey(30)
    with pytest.raises(
        InputError, match=r"attribute.own_row: aligned copies need as many rows .*\(30\), copy 2 has 29"
    ):
        evaluate_attribute(compare(frame, frame, frame[:29], **KEYS), targets=["vote"], rng=rng())


def test_a_holdout_of_one_person() -> None:
    frame = survey(30)
    with pytest.raises(InputError, match="attribute: the holdout needs at least 2 records, found 1"):
        evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote"], holdout=frame[:1], rng=rng())


@pytest.mark.slow
def test_a_hundred_thousand_records_take_seconds() -> None:
    frame = survey(100_000)
    copies = [survey(100_000, seed) for seed in (2, 3)]
    comparison = compare(frame, *copies, aligned=False, **KEYS)
    start = time.perf_counter()
    evaluate_attribute(comparison, targets=["vote"], rng=rng())
    assert time.perf_counter() - start < 20


def test_a_holdout_of_the_same_people_is_refused_and_one_of_others_is_not() -> None:
    frame = survey(300, 1)
    with pytest.raises(InputError, match=r"300 of the 300 records of evaluation\.holdout are in the data too"):
        evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote"], holdout=frame, rng=rng())
    other = survey(300, 2)
    assert evaluate_attribute(compare(frame, frame, **KEYS), targets=["vote"], holdout=other, rng=rng())
    # coarse columns, where every third outsider equals somebody
    draw = rng()
    here, there = (pd.DataFrame({"region": draw.integers(0, 300, 300), "vote": 1}) for _ in range(2))
    keys = {"region": Variable(kind="nominal", key=True), "vote": Variable(kind="count")}
    assert evaluate_attribute(compare(here, here, **keys), targets=["vote"], holdout=there, rng=rng())
