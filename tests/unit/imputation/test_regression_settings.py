"""What the regression model refuses, and its linear posterior against the closed form."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats

from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.regression.association import Regression
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

SECRET = "Zebulon"
FRAME = pd.DataFrame(
    {
        "sex": ["F", "M", "F", "M"],
        "age": [31.0, 42.5, 53.0, 64.5],
        "income": [1.0, 2.0, 3.0, 5.0],
        "town": [SECRET, "b", "c", "d"],
        "z": [1.0, 2.0, 4.0, 8.0],
    }
)
REPLACE = Variable(role="replace")


def problems(model, *names, frame=FRAME, **variables):
    data = resolve(frame, dict.fromkeys(names, REPLACE) | variables)
    found = model.problems(data)
    assert SECRET not in str(found)
    return found


def test_what_can_be_replaced_has_no_problems():
    assert problems(Regression(), "sex", "age", "income") == []
    assert problems(Regression(order=("sex", "income", "age"), exclude=("z",)), "sex", "age", "income") == []
    assert problems(Regression(order=("age",)), "age") == []


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "count", "semicontinuous"])
def test_every_kind_but_dates_can_be_replaced(kind):
    name = "town" if kind in ("nominal", "ordinal") else "income"
    assert problems(Regression(), **{name: Variable(role="replace", kind=kind)}) == []


def test_dates_many_levels_and_odd_counts_are_refused():
    frame = FRAME.assign(day=pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04", "2020-01-09"]))
    assert problems(Regression(), frame=frame, day=Variable(role="replace", kind="date")) == [
        "variables.day: regression cannot replace dates; use trees, or set role: keep."
    ]
    many = pd.DataFrame({"town": [f"{SECRET} {i}" for i in range(60)]})
    assert problems(Regression(), frame=many, town=Variable(role="replace")) == [
        "variables.town: regression replaces columns of at most 50 levels, found 60; group rare levels, or use trees."
    ]
    assert problems(Regression(), age=Variable(role="replace", kind="count")) == [
        "variables.age: a count needs whole numbers from 0, found 2 others; set kind: continuous."
    ]
    large = FRAME.assign(income=[1, 2, 3, 5000])
    assert problems(Regression(), frame=large, income=Variable(role="replace", kind="count")) == [
        "variables.income: regression replaces counts up to 200; set kind: continuous with transform: log."
    ]


def test_missing_values_in_a_replaced_column():
    frame = FRAME.assign(age=[31.0, None, None, 64.5], z=[None, 1.0, 2.0, 3.0])
    (sentence,) = problems(Regression(), frame=frame, age=Variable(role="replace", kind="continuous"))
    assert sentence == (
        "variables.age: regression needs complete replaced columns, found 2 missing values; "
        "leave those records out of the file, or set role: keep."
    )


@pytest.mark.parametrize("order", [("sex",), ("sex", "age", "age"), ("sex", "age", "z"), ("age", "sex", "income")])
def test_the_order_lists_each_replaced_column_once(order):
    assert problems(Regression(order=order), "sex", "age") == [
        "synthesis.model.order: must list each replaced column once (sex, age)."
    ]


def test_only_kept_columns_are_excluded():
    assert problems(Regression(exclude=("age", "nobody")), "age") == [
        "synthesis.model.exclude: 'age' is not a kept column.",
        "synthesis.model.exclude: 'nobody' is not a kept column.",
    ]


@pytest.mark.parametrize("settings", [{"prior_sd": 0}, {"linear_prior_sd": -1}, {"link": "cloglog"}, {"ordr": ()}])
def test_settings_out_of_range(settings):
    with pytest.raises(ValidationError):
        Regression(**settings)


def design(n, rng):
    return np.column_stack([np.ones(n), rng.normal(size=(n, 2))])


def test_flat_priors_give_the_classical_posterior():
    rng = np.random.default_rng(3)
    matrix = design(40, rng)
    y = matrix @ [1.0, 2.0, -1.0] + rng.normal(size=40)
    found = LinearPosterior.fit(matrix, y, np.full(3, np.inf))
    inverse = np.linalg.inv(matrix.T @ matrix)
    beta = inverse @ matrix.T @ y
    np.testing.assert_allclose(found.mean, beta, rtol=1e-10)
    np.testing.assert_allclose(np.linalg.inv(found.factor @ found.factor.T), inverse, rtol=1e-10)
    # σ² is scaled inverse χ² with n - d degrees of freedom
    assert found.shape == pytest.approx((40 - 3) / 2, rel=1e-12)
    assert found.rate == pytest.approx(((y - matrix @ beta) ** 2).sum() / 2, rel=1e-9)


def test_the_posterior_density_is_likelihood_times_prior():
    rng = np.random.default_rng(4)
    matrix, prior_sd, (a, c) = design(12, rng), np.array([3.0, 1.0, 0.5]), (2.0, 1.5)
    y = rng.normal(size=12)
    found = LinearPosterior.fit(matrix, y, prior_sd, prior=(a, c))
    covariance = np.linalg.inv(found.factor @ found.factor.T)
    differences = []
    for _ in range(20):
        beta, variance = rng.normal(size=3), rng.uniform(0.3, 3)
        joint = (
            stats.norm.logpdf(y, matrix @ beta, np.sqrt(variance)).sum()
            + stats.norm.logpdf(beta, 0, prior_sd * np.sqrt(variance)).sum()
            + stats.invgamma.logpdf(variance, a, scale=c)
        )
        posterior = stats.multivariate_normal.logpdf(beta, found.mean, variance * covariance) + stats.invgamma.logpdf(
            variance, found.shape, scale=found.rate
        )
        differences.append(joint - posterior)
    # the log evidence, the same wherever it is evaluated
    assert np.ptp(differences) < 1e-8


def test_draws_have_the_posteriors_moments():
    rng = np.random.default_rng(5)
    matrix = design(30, rng)
    found = LinearPosterior.fit(matrix, rng.normal(size=30), np.full(3, 2.0))
    draws = [found.draw(rng=rng) for _ in range(4000)]
    beta, variance = np.array([d.beta[:, 0] for d in draws]), np.array([d.variance for d in draws])
    covariance = np.linalg.inv(found.factor @ found.factor.T)
    expected = found.rate / (found.shape - 1)
    sd = np.sqrt(expected * np.diag(covariance))
    assert (np.abs(beta.mean(axis=0) - found.mean) < 4.5 * sd / np.sqrt(4000)).all()
    spread = np.sqrt(stats.invgamma.var(found.shape, scale=found.rate))
    assert abs(variance.mean() - expected) < 4.5 * spread / np.sqrt(4000)


def test_a_perfect_fit_keeps_a_positive_variance():
    rng = np.random.default_rng(6)
    matrix = design(20, rng)
    found = LinearPosterior.fit(matrix, matrix @ [1.0, 2.0, 3.0], np.full(3, np.inf))
    draw = found.draw(rng=rng)
    assert 0 < draw.variance < 1e-6
    np.testing.assert_allclose(draw.beta[:, 0], [1.0, 2.0, 3.0], atol=1e-3)


def test_more_columns_than_records():
    rng = np.random.default_rng(7)
    matrix = np.column_stack([np.ones(5), rng.normal(size=(5, 8))])
    found = LinearPosterior.fit(matrix, rng.normal(size=5), np.r_[np.inf, np.full(8, 10.0)])
    assert np.isfinite(found.draw(rng=rng).beta).all()
