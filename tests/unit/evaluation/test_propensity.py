"""Propensity scores against statsmodels and scipy, the known extremes, and the null expectation by simulation."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize, stats

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.propensity import Scores, evaluate_propensity, propensity
from synthdp.evaluation.utility.propensity import classifiers as module
from synthdp.evaluation.utility.propensity.classifiers import MOST_LEVELS, fit_logistic
from synthdp.table.microdata import resolve
from synthdp.table.schema import Schema


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(),
            "income": rng.lognormal(8, 1, n),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.choice(["N", "E", "S", "W", None], n),
            "born": pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9999, n), unit="D"),
            "constant": 1,
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame


def schema_of(frame: pd.DataFrame) -> Schema:
    return resolve(frame, {}).schema


def test_scores_match_statsmodels() -> None:
    original, synthetic = people(300, 1), people(240, 2)
    synthetic["age"] += 3
    found = propensity(original, synthetic, schema_of(original))
    stacked = pd.concat([original, synthetic], ignore_index=True)
    design = pd.DataFrame(
        {
            "one": 1.0,
            "age": stacked["age"],
            "income": stacked["income"].fillna(0) / 1e4,
            "no_income": stacked["income"].isna(),
            "male": stacked["sex"] == "M",
            **{level: stacked["region"] == level for level in "NES"},
            "no_region": stacked["region"].isna(),
            "born": (stacked["born"] - pd.Timestamp("1970-01-01")).dt.days / 1e4,
        }
    ).astype(float)
    label = np.repeat([0.0, 1.0], [300, 240])
    expected = np.asarray(sm.Logit(label, design).fit(disp=0, tol=1e-12).predict())
    np.testing.assert_allclose(np.concatenate([found.original, found.synthetic]), expected, atol=1e-7)
    share = 240 / 540
    assert found.slopes == design.shape[1] - 1
    assert found.pmse == pytest.approx(np.mean((expected - share) ** 2), rel=1e-6)
    assert found.ratio == pytest.approx(found.pmse / ((1 - share) ** 2 * share * found.slopes / 540))
    assert found.specks == pytest.approx(stats.ks_2samp(expected[:300], expected[300:]).statistic)


def test_measures_by_hand() -> None:
    scores = Scores(original=np.array([0.2, 0.4, 0.6, 0.4]), synthetic=np.array([0.4, 0.6, 0.8, 0.8]), slopes=2)
    assert scores.pmse == pytest.approx((0.09 + 0.01 + 0.01 + 0.01 + 0.01 + 0.01 + 0.09 + 0.09) / 8)
    assert scores.ratio == pytest.approx(0.04 / (0.125 * 2 / 8))
    assert scores.po50 == pytest.approx(100 * 6 / 8 - 50)
    assert scores.specks == pytest.approx(0.5)  # at 0.4: 3 of 4 against 1 of 4


def test_po50_counts_files_of_unequal_size_alike() -> None:
    nothing = Scores(original=np.full(10, 0.9), synthetic=np.full(90, 0.9), slopes=1)
    everything = Scores(original=np.full(10, 0.1), synthetic=np.full(90, 0.99), slopes=1)
    assert (nothing.po50, everything.po50) == (0.0, 50.0)


def test_original_against_itself_and_against_another_world() -> None:
    frame = people(500, 3)
    shuffled = frame.sample(frac=1, random_state=np.random.default_rng(1))
    itself = propensity(frame, shuffled, schema_of(frame))
    assert (itself.pmse, itself.ratio, itself.specks, itself.po50) == pytest.approx((0, 0, 0, 0), abs=1e-9)
    other = propensity(frame, frame.assign(age=frame["age"] + 1000), schema_of(frame))
    assert (other.pmse, other.specks, other.po50) == pytest.approx((0.25, 1, 50), abs=1e-6)


def test_row_order_is_irrelevant() -> None:
    original, synthetic = people(200, 4), people(200, 5)
    schema = schema_of(original)
    plain = propensity(original, synthetic, schema)
    turned = propensity(original[::-1], synthetic.sample(frac=1, random_state=np.random.default_rng(2)), schema)
    for measure in ("pmse", "ratio", "specks", "po50"):
        assert getattr(turned, measure) == pytest.approx(getattr(plain, measure), rel=1e-9)


def test_value_outside_the_levels_gives_a_copy_away() -> None:
    frame = people(200, 6)
    found = propensity(frame, frame.assign(region="elsewhere"), schema_of(frame))
    assert found.pmse == pytest.approx(0.25, abs=1e-5)


def test_copy_that_loses_the_gaps_is_told_apart() -> None:
    frame = people(2000, 7)[["income"]]
    filled = frame.assign(income=frame["income"].fillna(frame["income"].mean()))
    found = propensity(frame, filled, schema_of(frame))
    # records with a gap are surely original; the rest is 2000 against about 1800, with the same mean
    gaps = int(frame["income"].isna().sum())
    rest = 2000 / (4000 - gaps)
    expected = (gaps * 0.25 + (4000 - gaps) * (rest - 0.5) ** 2) / 4000
    assert found.pmse == pytest.approx(expected, rel=1e-4)


def test_many_levels_are_grouped() -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"place": [f"p{value}" for value in rng.zipf(1.3, 3000) % 500]})
    other = frame.sample(frac=1, replace=True, random_state=rng)
    assert frame["place"].nunique() > MOST_LEVELS + 1
    assert propensity(frame, other, schema_of(frame)).slopes == MOST_LEVELS


def test_redundant_columns_count_once() -> None:
    original, synthetic = (people(300, seed).assign(twice=lambda f: 2 * f["age"]) for seed in (9, 10))
    plain = propensity(original.drop(columns="twice"), synthetic.drop(columns="twice"), schema_of(people(300, 9)))
    doubled = propensity(original, synthetic, schema_of(original))
    assert doubled.slopes == plain.slopes
    assert doubled.pmse == pytest.approx(plain.pmse, rel=1e-6)


def test_nothing_that_varies() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1], "b": [None, None, None]})
    comparison = Comparison(frame, (frame,), schema_of(frame), aligned=True)
    section = evaluate_propensity(comparison, rng=np.random.default_rng(1))
    json.dumps(section, allow_nan=False)
    for found in section["pmse"].values():
        assert (found["value"], found["ratio"], found["per_copy"], found["per_group"]) == (0.0, None, [0.0], [])


def test_section_has_the_fixed_structure() -> None:
    original = people(200, 11)
    copies = tuple(people(200, seed) for seed in (12, 13, 14))
    comparison = Comparison(original, copies, schema_of(original), aligned=False)
    section = evaluate_propensity(comparison, rng=np.random.default_rng(1))
    json.dumps(section, allow_nan=False)
    assert list(section) == ["pmse", "specks", "po50"]
    assert list(section["pmse"]) == ["logit", "cart"]
    assert section["specks"] == section["pmse"]["logit"]["specks"]
    for part in (section["pmse"]["logit"], section["specks"], section["po50"]):
        assert len(part["per_copy"]) == 3
        assert part["value"] == pytest.approx(np.mean(part["per_copy"]))
    each = [propensity(original, copy, schema_of(original)).ratio for copy in copies]
    assert section["pmse"]["logit"]["ratio"] == pytest.approx(np.mean(each))


def test_null_expectation_of_the_ratio() -> None:
    """Plug-in draws give a mean ratio of 1; independent samples from one population give 2."""
    rng = np.random.default_rng(15)
    plug_in, independent = [], []
    for _ in range(150):
        original = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
        centre, spread = original.mean().to_numpy(), np.cov(original.to_numpy(), rowvar=False)
        drawn = pd.DataFrame(rng.multivariate_normal(centre, spread, 400), columns=list("abc"))
        other = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
        plug_in.append(propensity(original, drawn, schema_of(original)).ratio)
        independent.append(propensity(original, other, schema_of(original)).ratio)
    for ratios, expected in ((plug_in, 1.0), (independent, 2.0)):
        assert np.mean(ratios) == pytest.approx(expected, abs=4 * np.std(ratios) / np.sqrt(len(ratios)))


@pytest.mark.parametrize("seed", [653, 821, 2927])
def test_overshooting_steps_are_halved(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy tails in few records: a full Newton step goes too far, and the fit must still find the top."""
    rng = np.random.default_rng(seed)
    x = rng.standard_cauchy((30, 3))
    rng.random(30)
    label = (x[:, 0] + 0.3 * x[:, 1] + rng.normal(size=30) > 0).astype(float)
    matrix = np.column_stack([np.ones(30), (x - x.mean(axis=0)) / x.std(axis=0)])
    heights: list[float] = []
    height = module._height
    monkeypatch.setattr(module, "_height", lambda *given: heights.append(height(*given)) or heights[-1])
    found = fit_logistic(matrix, label)
    assert min(np.diff(heights)) < 0

    def depth(beta: np.ndarray) -> float:
        return -height(matrix @ beta, label, beta, module.RIDGE * 30)

    searched = optimize.minimize(
        depth, np.zeros(4), method="Nelder-Mead", options={"maxiter": 50_000, "maxfev": 50_000}
    )
    assert heights[-1] == pytest.approx(max(heights), abs=1e-12)
    assert heights[-1] >= -searched.fun - 1e-9
    # at the top the score equals the ridge's pull, which is small beside one record
    np.testing.assert_allclose(matrix.T @ (label - found), 0, atol=1e-3)
