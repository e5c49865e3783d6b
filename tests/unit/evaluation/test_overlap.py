"""Interval overlap against published rows, and the analyses section of metrics.json."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.analyses import ci_overlap, evaluate_analyses, std_diff
from synthdp.inference.analyses import Analysis
from synthdp.inference.pooling import pool
from synthdp.table.microdata import resolve

# Jiang (2025), risk-based DA-MI against CART: original, DA-MI and CART intervals, then the two printed overlaps
PUBLISHED = {
    "Diffuse": ((0.071, 0.564), (0.065, 0.556), (-0.138, 0.330), 0.986, 0.539),
    "Centro": ((-0.312, 0.267), (-0.325, 0.254), (-0.198, 0.326), 0.978, 0.845),
    "Duration": ((0.061, 0.296), (-0.018, 0.257), (-0.041, 0.187), 0.775, 0.545),
    "FVC": ((-2.457, -0.138), (-2.449, -0.150), (-0.895, 1.244), 0.996, 0.340),
    "DLCO": ((-0.587, 0.870), (-0.558, 0.849), (-0.895, 0.404), 0.983, 0.722),
    "TLC": ((-0.711, 1.708), (-0.731, 1.643), (-1.107, 1.110), 0.982, 0.787),
    "Vitality": ((-1.111, 0.016), (-1.123, 0.001), (-0.646, 0.418), 0.988, 0.605),
    "HAQ": ((0.965, 1.684), (0.931, 1.649), (-0.255, 0.313), 0.952, -1.026),
}


def overlap(first: tuple[float, float], second: tuple[float, float]) -> float:
    return float(ci_overlap(*(np.array([end]) for end in (*first, *second)))[0])


@pytest.mark.parametrize("term", PUBLISHED)
@pytest.mark.parametrize("method", [1, 2])
def test_published_overlaps(term: str, method: int) -> None:
    original, synthetic, printed = PUBLISHED[term][0], PUBLISHED[term][method], PUBLISHED[term][method + 2]
    found = overlap(original, synthetic)
    # ends printed to ±0.0005 move the common length and each length by up to 0.001
    shortest = min(original[1] - original[0], synthetic[1] - synthetic[0])
    rounding = 0.001 * (1 + abs(found)) / (shortest - 0.001) + 0.0005
    assert abs(found - printed) <= rounding


ENDS = st.tuples(st.floats(-5, 5), st.floats(0.01, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ENDS, ENDS, st.floats(0.1, 10), st.floats(-3, 3))
def test_overlap_algebra(first: tuple[float, float], second: tuple[float, float], scale: float, shift: float) -> None:
    found = overlap(first, second)
    assert found <= 1 + 1e-12
    assert overlap(second, first) == pytest.approx(found, rel=1e-9, abs=1e-9)
    moved = [(scale * low + shift, scale * high + shift) for low, high in (first, second)]
    assert overlap(*moved) == pytest.approx(found, rel=1e-6, abs=1e-6)
    assert overlap(first, first) == 1
    disjoint = first[1] < second[0] or second[1] < first[0]
    assert (found < 0) == disjoint or found == pytest.approx(0, abs=1e-9)


@given(ENDS, ENDS)
def test_overlap_of_meeting_intervals_by_counting(first: tuple[float, float], second: tuple[float, float]) -> None:
    grid = np.linspace(-5, 10, 60_001)
    inside = [(grid >= low) & (grid <= high) for low, high in (first, second)]
    both = np.sum(inside[0] & inside[1])
    if both > 0:
        step = grid[1] - grid[0]
        shares = [both * step / (high - low) for low, high in (first, second)]
        # a count of grid points is off by one step at most, and no interval is shorter than 0.01
        assert overlap(first, second) == pytest.approx(sum(shares) / 2, abs=1.01 * step / 0.01)


def test_intervals_without_length() -> None:
    assert overlap((2.0, 2.0), (2.0, 2.0)) == 1
    assert math.isnan(overlap((2.0, 2.0), (1.0, 3.0)))
    assert math.isnan(overlap((2.0, 2.0), (3.0, 3.0)))
    assert overlap((0.0, 0.0), (0.0, 0.0)) == 1


def test_std_diff_has_a_sign() -> None:
    original, synthetic, se = np.array([1.0, 2, 3, 3]), np.array([2.0, 1, 3, 4]), np.array([0.5, 2, 0, 0])
    np.testing.assert_array_equal(std_diff(original, synthetic, se), [2.0, -0.5, 0.0, np.nan])


def make(n: int = 200, m: int = 3) -> Comparison:
    rng = np.random.default_rng(3)
    z = rng.normal(size=n)
    group = rng.choice(["u", "v"], n)
    files = [
        pd.DataFrame({"y": 1 + 2 * z + rng.normal(size=n), "z": z, "g": group, "k": 1.0, "d": z > rng.normal(size=n)})
        for _ in range(m + 1)
    ]
    return Comparison(files[0], tuple(files[1:]), resolve(files[0], {}).schema, aligned=True)


OLS = Analysis(name="trend", model="ols", formula="y ~ z + g")
PROBIT = Analysis(name="sign", model="probit", formula="d ~ z")


def test_section_has_the_fixed_structure() -> None:
    section = evaluate_analyses(make(), [OLS, PROBIT])
    json.dumps(section, allow_nan=False)
    assert [entry["name"] for entry in section] == ["trend", "sign"]
    for entry in section:
        assert list(entry) == ["name", "rule", "terms", "mean_ci_overlap", "min_ci_overlap", "lack_of_fit"]
        for term in entry["terms"]:
            assert list(term)[:5] == ["term", "original", "synthetic", "ci_overlap", "std_diff"]
            assert list(term)[5:] == ["sign_agrees", "significance_agrees"]
            assert list(term["original"]) == list(term["synthetic"]) == ["estimate", "se", "low", "high"]
        overlaps = [term["ci_overlap"] for term in entry["terms"]]
        assert entry["mean_ci_overlap"] == pytest.approx(np.mean(overlaps))
        assert entry["min_ci_overlap"] == min(overlaps)


def test_section_holds_what_its_parts_say() -> None:
    comparison = make()
    (entry,) = evaluate_analyses(comparison, [OLS], level=0.9)
    pooled, original = pool(comparison.copies, OLS, level=0.9), OLS.estimate(comparison.original)
    for j, term in enumerate(entry["terms"]):
        low, high = stats.t.interval(0.9, 197, original.values[j], original.se[j])
        assert term["term"] == pooled.names[j]
        assert (term["original"]["low"], term["original"]["high"]) == pytest.approx((low, high))
        assert (term["synthetic"]["estimate"], term["synthetic"]["se"]) == (pooled.estimate[j], pooled.se[j])
        assert term["ci_overlap"] == pytest.approx(overlap((low, high), (pooled.low[j], pooled.high[j])))
        assert term["std_diff"] == pytest.approx((pooled.estimate[j] - original.values[j]) / original.se[j])


def test_interval_of_a_likelihood_fit_is_normal() -> None:
    (entry,) = evaluate_analyses(make(), [PROBIT])
    term = entry["terms"][1]["original"]
    assert term["high"] - term["estimate"] == pytest.approx(stats.norm.ppf(0.975) * term["se"])


def test_the_original_against_itself_agrees_entirely() -> None:
    made = make()
    itself = Comparison(made.original, (made.original,) * 2, made.schema, aligned=True)
    mean = Analysis(name="level", model="mean", formula="y, k", rule="mean_se")
    for entry in evaluate_analyses(itself, [PROBIT, mean]):
        for term in entry["terms"]:
            # the original's mean has a t interval, mean_se a normal one: a little shorter
            assert term["ci_overlap"] == pytest.approx(1, abs=0.01)
            assert term["std_diff"] == pytest.approx(0, abs=1e-9)


def test_undefined_measures_are_null() -> None:
    made = make()
    moved = Comparison(made.original, tuple(copy.assign(k=2.0) for copy in made.copies), made.schema, aligned=True)
    (entry,) = evaluate_analyses(moved, [Analysis(name="level", model="mean", formula="k")])
    assert entry["terms"][0]["ci_overlap"] is None
    assert entry["terms"][0]["std_diff"] is None
    assert (entry["mean_ci_overlap"], entry["min_ci_overlap"]) == (None, None)


def test_default_rules() -> None:
    one, three = make(m=1), make(m=3)
    assert evaluate_analyses(three, [OLS])[0]["rule"] == "reiter2003"
    assert evaluate_analyses(three, [OLS], default_rule="rubin1987")[0]["rule"] == "rubin1987"
    assert evaluate_analyses(one, [OLS])[0]["rule"] == "mean_se"
    with pytest.raises(InputError, match=r"^analyses.trend: rule: reiter2003 needs at least 2 copies, found 1"):
        evaluate_analyses(one, [OLS.model_copy(update={"rule": "reiter2003"})])


def test_messages_say_which_file() -> None:
    made = make()
    flat = tuple(copy.assign(g="u") for copy in made.copies)
    with pytest.raises(
        InputError, match=r"analyses.trend: the term 'g\[T.v\]' of the original is not in the copies; a level has"
    ):
        evaluate_analyses(Comparison(made.original, flat, made.schema, aligned=True), [OLS])
    with pytest.raises(InputError, match=r"analyses.trend: the term 'g\[T.v\]' of the copies is not in the original"):
        evaluate_analyses(Comparison(flat[0], made.copies, made.schema, aligned=True), [OLS])
    with pytest.raises(InputError, match=r"^original: analyses.trend: no column named 'z'."):
        evaluate_analyses(Comparison(made.original[["y", "g"]], made.copies, made.schema, aligned=True), [OLS])


def test_sign_and_significance() -> None:
    made = make()
    (entry,) = evaluate_analyses(made, [OLS])
    # the slope of z is 2 with a small error in every file
    assert (entry["terms"][2]["sign_agrees"], entry["terms"][2]["significance_agrees"]) == (True, True)
    turned = Comparison(made.original, tuple(c.assign(y=-c["y"]) for c in made.copies), made.schema, aligned=True)
    (entry,) = evaluate_analyses(turned, [OLS])
    assert (entry["terms"][2]["sign_agrees"], entry["terms"][2]["significance_agrees"]) == (False, True)
    assert entry["lack_of_fit"]["p_value"] < 1e-6
    noisy = tuple(c.assign(y=np.random.default_rng(1).normal(size=len(c)) * 100) for c in made.copies)
    (entry,) = evaluate_analyses(Comparison(made.original, noisy, made.schema, aligned=True), [OLS])
    assert entry["terms"][2]["significance_agrees"] is False


def test_mean_se_overlaps_as_synthpop_does() -> None:
    (entry,) = evaluate_analyses(make(), [OLS.model_copy(update={"rule": "mean_se"})])
    for term in entry["terms"]:
        assert term["ci_overlap"] == pytest.approx(1 - abs(term["std_diff"]) / (2 * stats.norm.ppf(0.975)))
