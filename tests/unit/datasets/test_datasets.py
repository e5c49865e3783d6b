from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from synthdp.config import load
from synthdp.datasets import (
    ANALYSES,
    anes96,
    known_truth,
    registry,
    right_model,
    right_model_truth,
    unseen_outcome,
    unseen_outcome_truth,
    wrong_model,
    wrong_model_truth,
)
from synthdp.pipeline import check
from synthdp.stages.intake import prepare
from synthdp.table.schema import Kind

DATA = Path(__file__).parents[3] / "data"
SMALL_SEED = 1996


@pytest.fixture(scope="module")
def patients():
    return registry(50_000, rng=np.random.default_rng(20))


def estimate(design, name, frame):
    model, formula = ANALYSES[design][name]
    return getattr(smf, model)(formula, frame).fit(disp=False) if model != "ols" else smf.ols(formula, frame).fit()


# real voters


def test_voters_are_whole_numbers_but_for_the_logarithm():
    frame = anes96()
    assert frame.shape == (944, 11)
    assert set(frame.dtypes.drop("logpopul").astype(str)) == {"int64"}
    np.testing.assert_allclose(frame["logpopul"], np.log(frame["popul"] + 0.1), atol=1e-6)
    assert frame["vote"].isin([0, 1]).all()


def test_the_codebook_names_every_column():
    text = (DATA / "README.md").read_text(encoding="utf-8")
    small = pd.read_csv(DATA / "registry_small.csv")
    for name in [*anes96().columns, *small.columns]:
        assert f"`{name}`" in text


# the registry


def test_registry_looks_like_its_description(patients):
    assert (patients["sex"] == "F").mean() == pytest.approx(0.86, abs=4 * np.sqrt(0.86 * 0.14 / 50_000))
    assert (patients["race"] == "white").mean() == pytest.approx(0.88, abs=4 * np.sqrt(0.88 * 0.12 / 50_000))
    # the bounds 18 and 90 take a little off the standard deviation of 12
    assert patients["age"].mean() == pytest.approx(55, abs=0.1 + 4 * 12 / np.sqrt(50_000))
    assert 11.7 < patients["age"].std() < 12
    for name in ("diffuse", "centro_positive"):
        assert 0.30 < patients[name].mean() < 0.40
    assert 0.25 < patients["work_disability"].mean() < 0.35
    assert 0.20 < patients["one_year_ild"].mean() < 0.30
    assert patients.loc[patients["diffuse"] == 1, "centro_positive"].mean() < 0.15
    assert patients["disease_duration"].skew() > 1


def test_registry_values_stay_in_range(patients):
    ranges = {
        "age": (18, 90),
        "fvc": (15, 150),
        "dlco": (15, 150),
        "tlc": (15, 150),
        "vitality": (0, 100),
        "haq": (0, 3),
    }
    for name, (low, high) in ranges.items():
        assert patients[name].dropna().between(low, high).all(), name
    assert (patients["disease_duration"] <= patients["age"] - 12).all()
    assert (patients["haq"].dropna() % 0.125 == 0).all()
    assert (patients["vitality"].dropna() % 5 == 0).all()


def test_lung_function_goes_together(patients):
    correlations = patients[["fvc", "dlco", "tlc"]].corr().to_numpy()[np.triu_indices(3, 1)]
    assert ((correlations > 0.55) & (correlations < 0.85)).all()


def test_registry_bends_where_it_says(patients):
    for outcome in ("fvc", "tlc", "vitality", "work_disability", "one_year_ild"):
        fit = smf.ols(f"{outcome} ~ age + I((age - 55)**2) + C(sex)", patients).fit()
        assert abs(fit.tvalues["I((age - 55) ** 2)"]) > 6, outcome
    interactions = {"fvc": "age:C(sex)[T.M]", "college": "age:C(sex)[T.M]"}
    college = patients.assign(college=(patients["education"] == "college").astype(int))
    for outcome, term in interactions.items():
        assert abs(smf.ols(f"{outcome} ~ age * C(sex)", college).fit().tvalues[term]) > 6, outcome


def test_registry_loses_values_at_random_given_what_is_seen(patients):
    lost = patients.isna().mean()
    incomplete = ["fvc", "dlco", "tlc", "vitality", "haq", "one_year_ild"]
    assert lost[incomplete].between(0.05, 0.15).all()
    assert (lost.drop(incomplete) == 0).all()
    complete = registry(50_000, rng=np.random.default_rng(20), complete=True)
    seen = patients[incomplete].notna()
    pd.testing.assert_frame_equal(
        patients[incomplete].where(seen), complete[incomplete].astype(float).where(seen), check_exact=True
    )
    # given what decides about the visit, a lost value is no different from a seen one; without it, it is
    visits = complete.assign(ild=complete["one_year_ild"], gone=(~seen["one_year_ild"]).astype(float))
    assert abs(smf.ols("ild ~ gone + age + I(age**2) + diffuse", visits).fit().tvalues["gone"]) < 4
    assert smf.ols("ild ~ gone", visits).fit().tvalues["gone"] > 4


def test_the_small_file_is_made_by_the_command_in_its_readme():
    made = registry(300, rng=np.random.default_rng(SMALL_SEED), complete=True)
    pd.testing.assert_frame_equal(pd.read_csv(DATA / "registry_small.csv"), made, check_exact=True)
    text = (DATA / "README.md").read_text(encoding="utf-8")
    assert f"registry(300, rng=np.random.default_rng({SMALL_SEED}), complete=True)" in text


def test_the_example_config_fits_its_file():
    config = load(DATA / "registry_small.yaml")
    data = prepare(pd.read_csv(config.data.path), config)
    replaced = data.schema.replaced()
    assert [column.name for column in replaced] == ["age", "sex", "education"] == list(config.masks)
    assert {column.kind for column in replaced} <= {Kind.CONTINUOUS, Kind.BINARY}
    assert check(config).messages[0].startswith("300 records; 3 columns replaced, 11 kept")


# designs


@pytest.mark.parametrize("draw", [registry, right_model, unseen_outcome, wrong_model])
def test_the_same_generator_state_gives_the_same_records(draw):
    first, second, other = (draw(50, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, second)
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("design", "draw", "truth"),
    [
        ("right_model", right_model, right_model_truth),
        ("unseen_outcome", unseen_outcome, unseen_outcome_truth),
        ("wrong_model", wrong_model, wrong_model_truth),
    ],
)
def test_analyses_of_a_large_draw_find_the_truth(design, draw, truth):
    frame = draw(200_000, rng=np.random.default_rng(7))
    for name, terms in truth().items():
        fit = estimate(design, name, frame)
        assert set(fit.params.index) == set(terms)
        for term, value in terms.items():
            assert fit.params[term] == pytest.approx(value, abs=4 * fit.bse[term]), (name, term)


def test_quadrature_has_converged(monkeypatch):
    coarse = right_model_truth()
    monkeypatch.setattr(known_truth, "QUADRATURE_NODES", 36)
    fine = right_model_truth()
    for name, terms in coarse.items():
        for term, value in terms.items():
            assert value == pytest.approx(fine[name][term], abs=1e-11)


def test_ordinary_standard_errors_are_right_for_the_right_model():
    # sandwich against model-based variance in the population: coverage on the original data is nominal
    population = known_truth._population(24)
    for names, outcome, logistic in ((("x", "b1", "b2", "z"), "y", False), (("x", "z"), "b1", True)):
        design = population.design(*names)
        matrix = np.column_stack(list(design.values()))
        solve = population.logistic if logistic else population.least_squares
        linear = matrix @ np.asarray(solve(design, outcome))
        mean = 1 / (1 + np.exp(-linear)) if logistic else linear
        residual = population.columns[outcome] - mean
        curvature = mean * (1 - mean) if logistic else np.ones_like(mean)
        scale = 1.0 if logistic else float(population.weights @ residual**2)
        bread = np.linalg.inv((matrix.T * (population.weights * curvature)) @ matrix)
        sandwich = bread @ ((matrix.T * (population.weights * residual**2)) @ matrix) @ bread
        ratio = np.sqrt(np.diag(sandwich) / (scale * np.diag(bread)))
        assert np.abs(ratio - 1).max() < 0.004


def test_right_model_never_separates_at_the_size_of_the_study():
    for seed in range(50):
        frame = right_model(500, rng=np.random.default_rng(seed))
        assert pd.crosstab(frame["b1"], frame["b2"]).to_numpy().min() > 20


def test_wrong_model_is_wrong_for_a_line_and_right_for_a_parabola():
    frame = wrong_model(20_000, rng=np.random.default_rng(3))
    fit = smf.ols("x1 ~ z + I(z**2)", frame).fit()
    assert fit.params["I(z ** 2)"] == pytest.approx(1, abs=4 * fit.bse["I(z ** 2)"])
    # given z, x1 varies by the normal error and by a uniform on (-1, 1), whose variance is 1/3
    assert fit.mse_resid == pytest.approx(4 / 3, abs=4 * (4 / 3) * np.sqrt(2 / 20_000))
    assert smf.ols("x1 ~ z", frame).fit().rsquared < 0.01
