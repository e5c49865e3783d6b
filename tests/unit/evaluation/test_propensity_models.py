"""Trees against a plain twin, closed nulls against refitted ones, what sections say of designs and subgroups."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity, nulls
from synthdp.evaluation.utility.propensity.cart import COMPLEXITY, MAX_DEPTH, MIN_LEAF, MIN_SPLIT, Cart
from synthdp.evaluation.utility.propensity.classifiers import Boosting, Logit
from synthdp.evaluation.utility.propensity.nulls import Scores
from synthdp.evaluation.utility.propensity.stacking import (
    MOST_BINS,
    Encoded,
    Stack,
    binned,
    kept_columns,
    widths,
)
from synthdp.table.microdata import resolve
from synthdp.table.schema import Schema, Variable


def people(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(50 + shift, 10, n).round()
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "income": rng.lognormal(8 + 0.01 * age, 1, n),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.choice(["N", "E", "S", "W", None], n),
            "grade": rng.choice(["low", "mid", "high"], n),
        }
    )


def schema_of(frame: pd.DataFrame) -> Schema:
    ordered = Variable(kind="ordinal", levels=("low", "mid", "high"))
    return resolve(frame, {"grade": ordered} if "grade" in frame else {}).schema


def stack_of(original: pd.DataFrame, synthetic: pd.DataFrame, *, paired: bool = False) -> Stack:
    schema = schema_of(original)
    return Stack(Encoded.of(original, schema), Encoded.of(synthetic, schema), paired)


def judge(original: pd.DataFrame, *copies: pd.DataFrame, aligned: bool = False, **settings: Any) -> dict[str, Any]:
    comparison = Comparison(original, copies, schema_of(original), aligned=aligned)
    found = evaluate_propensity(comparison, Propensity(**settings), rng=np.random.default_rng(1))
    json.dumps(found, allow_nan=False)
    return found


# the tree


class PlainTree:
    """rpart's recursion, written for reading: grow to the left, judge, grow to the right, judge again."""

    def __init__(self, codes: np.ndarray, ordered: tuple[bool, ...], label: np.ndarray) -> None:
        self.codes, self.ordered, self.label = codes, ordered, label
        self.price = COMPLEXITY * min(label.sum(), len(label) - label.sum())
        self.scores = np.empty(len(label))
        everybody = np.arange(len(label))
        self.settle(everybody, np.inf, 0)

    def wrong(self, rows: np.ndarray) -> float:
        return float(min(self.label[rows].sum(), len(rows) - self.label[rows].sum()))

    def settle(self, rows: np.ndarray, allowed: float, depth: int) -> tuple[float, int, float]:
        """Set the scores of a subtree; return its risk, its splits and what it is worth."""
        self.scores[rows] = self.label[rows].mean()
        wrong = self.wrong(rows)
        most = min(wrong, allowed)
        sides = None
        if len(rows) >= MIN_SPLIT and most > self.price and depth < MAX_DEPTH:
            sides = self.split(rows)
        if sides is None:
            return wrong, 0, self.price
        left, right = sides
        left_risk, left_splits, left_worth = self.settle(left, most - self.price, depth + 1)
        hope = max((wrong - left_risk) / (left_splits + 1), wrong - self.wrong(left))
        right_risk, right_splits, right_worth = self.settle(right, min(hope, allowed) - self.price, depth + 1)
        parts = [(left_worth, left_risk, left_splits, self.wrong(left))]
        parts.insert(0 if right_worth <= left_worth else 1, (right_worth, right_risk, right_splits, self.wrong(right)))
        for i, (worth, _, _, alone) in enumerate(parts):
            if (wrong - parts[0][1] - parts[1][1]) / (parts[0][2] + parts[1][2] + 1) <= worth:
                break
            parts[i] = (worth, alone, 0, alone)
        value = (wrong - parts[0][1] - parts[1][1]) / (parts[0][2] + parts[1][2] + 1)
        if value <= self.price:
            self.scores[rows] = self.label[rows].mean()
            return wrong, 0, self.price
        return parts[0][1] + parts[1][1], parts[0][2] + parts[1][2] + 1, value

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        best, found = 0.0, None
        n, s = len(rows), int(self.label[rows].sum())
        for codes, ordered in zip(self.codes, self.ordered, strict=True):
            here = codes[rows].astype(int)
            bins = np.unique(here)
            if not ordered:
                bins = np.asarray(sorted(bins, key=lambda b: self.label[rows[here == b]].mean()))
            for cut in range(1, len(bins)):
                left = np.isin(here, bins[:cut])
                size, inside = int(left.sum()), int(self.label[rows[left]].sum())
                if min(size, n - size) >= MIN_LEAF:
                    gain = float(inside * n - s * size) ** 2 / (float(size) * float(n - size))
                    if gain > best:
                        best, found = gain, (rows[left], rows[~left])
        return found


@pytest.mark.parametrize("seed", range(6))
def test_the_compiled_tree_equals_the_plain_one(seed: int) -> None:
    original, synthetic = people(120, seed), people(90 + 10 * seed, 100 + seed, shift=seed)
    model = Cart.of(stack_of(original, synthetic))
    label = model.stack.label
    twin = PlainTree(model.codes, model.stack.ordered, label.astype(int))
    np.testing.assert_array_equal(model.scores(label), twin.scores)
    assert len(np.unique(twin.scores)) > 3


def test_a_tree_of_few_records_is_one_leaf() -> None:
    frame = people(7, 1)
    model = Cart.of(stack_of(frame, frame))
    np.testing.assert_array_equal(model.scores(model.stack.label), 0.5)


def test_bins_of_many_values_hold_about_equally_many() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=5000), rng.normal(size=4000)
    first[:10] = np.nan
    bins = np.concatenate(binned([Encoded((one,), (True,)) for one in (first, second)]), axis=1)
    assert widths(bins).tolist() == [MOST_BINS]
    counts = np.bincount(bins[0])
    assert counts[0] == 10
    assert counts[1:].min() >= 8
    assert counts[1:].max() <= 10
    together = np.concatenate([first, second])
    order = np.argsort(together[10:])
    assert (np.diff(bins[0][10:][order].astype(int)) >= 0).all()


def test_levels_beyond_the_most_share_a_bin() -> None:
    levels = np.repeat(np.arange(1500), np.where(np.arange(1500) < 900, 2, 1))
    bins = binned([Encoded((levels,), (False,))] * 2)[0][0]
    assert bins.max() == MOST_BINS - 1
    assert (bins[levels < 900] < MOST_BINS - 1).all()
    assert len(np.unique(bins[levels < 900])) == 900


def test_missing_values_give_a_copy_away_to_the_tree() -> None:
    frame = people(2000, 3)
    found = judge(frame, frame.assign(age=frame["age"].fillna(50)), models=["cart"])["pmse"]["cart"]
    # records with a gap are surely original
    assert found["value"] > frame["age"].isna().sum() * 0.25 / 4000


# regressions


def test_interactions_match_statsmodels() -> None:
    original, synthetic = (people(400, seed)[["income", "sex", "grade"]] for seed in (1, 2))
    model = Logit(stack_of(original, synthetic), interactions=True)
    stacked = pd.concat([original, synthetic]).assign(y=model.stack.label, income=lambda f: f["income"] / 1e4)
    fitted = smf.logit("y ~ income + sex + grade + income:sex + income:grade + sex:grade", stacked).fit(disp=0)
    np.testing.assert_allclose(model.scores(model.stack.label), fitted.predict(), atol=1e-6)
    assert model.slopes == len(fitted.params) - 1


def test_too_many_products_are_refused_with_the_number() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{j}": rng.choice(list("abcdefgh"), 200) for j in range(5)})
    found = judge(frame, frame, models=["logit_interactions", "cart"])
    reason = found["pmse"]["logit_interactions"]["reason"]
    # five columns of seven effects, and ten pairs of them
    assert reason.startswith("525 terms with all products of two columns, more than 400; leave it out of")
    assert found["specks"] == found["pmse"]["cart"]["specks"]


def test_the_formula_is_the_plug_in_one_and_its_double() -> None:
    model = Logit(stack_of(people(300, 1), people(200, 2)))
    plug_in, proper = model.formula(proper=False), model.formula(proper=True)
    scores = Scores.of(model.stack, model.scores(model.stack.label), model.slopes)
    assert plug_in is not None
    assert proper is not None
    assert plug_in.ratio(scores.pmse) == pytest.approx(scores.ratio)
    assert proper.expected == pytest.approx(plug_in.expected / (1 - 0.4))
    assert plug_in.sd == pytest.approx(plug_in.expected * np.sqrt(2 / model.slopes))
    assert plug_in.per_record is not None
    assert plug_in.per_record.mean() == pytest.approx(plug_in.expected)


def partial_copy(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a copy of which age and region are drawn anew, independently of everything."""
    rng = np.random.default_rng(seed)
    return frame.assign(**{name: rng.choice(frame[name], len(frame)) for name in ("age", "region")})


@pytest.mark.parametrize(("swap", "kind"), [(True, "within_record"), (False, "permutation")])
def test_closed_nulls_equal_refitted_ones(swap: bool, kind: str) -> None:
    frame = people(400, 5)
    model = Logit(stack_of(frame, partial_copy(frame, 6), paired=True))
    closed = model.within_record(proper=True) if swap else model.formula(proper=True)
    times = 300
    brute = nulls.relabelled(model, kind=kind, proper=True, times=times, rng=np.random.default_rng(7))
    assert closed is not None
    assert brute is not None
    # the closed form is linear: its error is of the order of slopes/records, here 3%
    error = 4 * brute.sd / np.sqrt(times) + 0.03 * brute.expected
    assert closed.expected == pytest.approx(brute.expected, abs=error)
    assert closed.sd == pytest.approx(brute.sd, rel=4 / np.sqrt(2 * times) + 0.1)
    groups = np.tile(pd.factorize(frame["sex"])[0], 2)
    for group in (0, 1):
        at = closed.per_record[groups == group].mean(), brute.per_record[groups == group].mean()
        assert at[0] == pytest.approx(at[1], rel=0.25)


# designs


@pytest.mark.parametrize(
    ("wanted", "design", "kind"),
    [
        ("auto", {"paired": True, "partial": True}, "within_record"),
        ("auto", {"paired": True, "proper": True}, "within_record"),
        ("auto", {"paired": True}, "formula"),
        ("auto", {"logit": False}, "permutation"),
        ("auto", {"partial": True}, "pairs"),
        ("auto", {"partial": True, "copies": 1}, "no null fits"),
        ("within_record", {}, "needs aligned rows"),
        ("pairs", {"copies": 1}, "needs two copies"),
        ("formula", {"logit": False}, "only a logistic regression has a formula"),
        ("permutation", {}, "permutation"),
    ],
)
def test_the_null_follows_the_design(wanted: str, design: dict[str, Any], kind: str) -> None:
    known = {"logit": True, "paired": False, "partial": False, "proper": False, "copies": 5} | design
    found, reason = nulls.choose(wanted, **known)
    assert found == kind if found else kind in reason


def test_kept_columns_are_found_whether_rows_are_aligned_or_not() -> None:
    frame = people(300, 8).assign(one=1)
    schema = schema_of(frame)
    copies = [partial_copy(frame, seed).assign(age=frame["age"] + 1) for seed in (1, 2)]
    shuffled = [copy.sample(frac=1, random_state=3) for copy in copies]
    encoded = Encoded.of(frame, schema)
    names = ["income", "sex", "grade"]
    for made, aligned, expected in ((copies, True, names), (shuffled, True, []), (shuffled, False, names)):
        found = kept_columns(encoded, tuple(Encoded.of(copy, schema) for copy in made), aligned=aligned)
        assert sorted(schema.names()[number] for number in found) == sorted(expected)


def test_sections_say_which_null_was_taken_and_why_there_is_none() -> None:
    frame = people(200, 9)
    copies = [partial_copy(frame, seed) for seed in (1, 2, 3)]
    aligned = judge(frame, *copies, aligned=True, permutations=5)["pmse"]
    assert {found["null_kind"] for found in aligned.values()} == {"within_record"}
    assert {found["design"] for found in aligned.values()} == {"partial, plug-in"}
    proper = judge(frame, *copies, aligned=True, permutations=5, proper=True)["pmse"]
    for name in ("logit", "cart"):
        assert proper[name]["ratio"] == pytest.approx(aligned[name]["ratio"] / 2)
    pairs = judge(frame, *copies)["pmse"]["cart"]
    assert pairs["null_kind"] == "pairs"
    assert pairs["ratio"] == pytest.approx(pairs["value"] / pairs["null"])
    alone = judge(frame, copies[0])["pmse"]["logit"]
    assert (alone["ratio"], alone["null_kind"]) == (None, None)
    assert "no null fits" in alone["reason"]


def test_every_measure_has_its_spread_and_its_noise_floor() -> None:
    frame = people(300, 10)
    found = judge(frame, people(300, 11), people(280, 12), permutations=5)["pmse"]
    for section in found.values():
        for part in (section, section["specks"], section["po50"]):
            assert part["low"] == min(part["per_copy"])
            assert part["high"] == max(part["per_copy"])
            assert part["noise_floor"] > 0
        assert section["standardised"] is not None
        counts = section["histogram"]
        assert [sum(copy) for copy in counts["original"]] == [300, 300]
        assert [sum(copy) for copy in counts["synthetic"]] == [300, 280]
        assert len(counts["edges"]) == len(counts["original"][0]) + 1
    # two halves are half as large: about twice the pMSE of two samples of this size
    ratio = found["logit"]["noise_floor"] / (2 * found["logit"]["null"])
    assert 0.5 < ratio / 2 < 2
    assert judge(frame[:3], frame[:3])["pmse"]["cart"]["noise_floor"] is None


def test_one_more_model_changes_no_other() -> None:
    frame, copy = people(150, 13), people(150, 14)
    alone = judge(frame, copy, models=["cart"], permutations=3)["pmse"]["cart"]
    assert judge(frame, copy, models=["logit", "cart"], permutations=3)["pmse"]["cart"] == alone


# subgroups


def test_the_worst_served_subgroup_comes_first() -> None:
    frame = people(2000, 15)
    copy = people(2000, 16)
    at = copy["region"] == "S"
    copy.loc[at, "income"] *= 3
    found = judge(frame, copy, permutations=5)["pmse"]["cart"]["per_group"]
    assert (found[0]["by"], found[0]["level"]) == ("region", "S")
    assert found[0]["ratio"] > 2
    regions = [entry for entry in found if entry["by"] == "region"]
    assert sum(entry["original"] for entry in regions) == frame["region"].notna().sum()
    assert sum(entry["share"] for entry in found if entry["by"] == "sex") == pytest.approx(1)


def test_risk_groups_need_aligned_rows() -> None:
    frame = people(300, 17)
    groups = pd.Series(np.repeat(["low", "high"], [285, 15]))
    for aligned in (True, False):
        comparison = Comparison(frame, (people(300, 18),), schema_of(frame), aligned=aligned, groups=groups)
        found = evaluate_propensity(comparison, rng=np.random.default_rng(1))["pmse"]["logit"]["per_group"]
        # fifteen records are too few to say anything of
        listed = [entry["level"] for entry in found if entry["by"] == "risk group"]
        assert listed == (["low"] if aligned else [])


# boosting


def test_boosting_tells_worlds_apart_and_does_not_read_twins() -> None:
    frame = people(400, 19)
    apart = judge(frame, frame.assign(income=-1.0), models=["boosting"], permutations=2)["pmse"]["boosting"]
    assert apart["value"] > 0.2
    assert apart["po50"]["value"] == pytest.approx(50, abs=1)
    # a kept column would lead from the fitted row of a record to its other row, and to a PO50 far below zero
    twins = frame.sample(frac=1, random_state=1)
    model = Boosting.of(stack_of(twins, twins, paired=True), np.random.default_rng(1))
    np.testing.assert_array_equal(model.folds[:400], model.folds[400:])
    scores = Scores.of(model.stack, model.scores(model.stack.label))
    assert scores.pmse == pytest.approx(0, abs=1e-6)
