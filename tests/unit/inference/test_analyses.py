"""Analyses agree with statsmodels' own formula interface, and every mistake is one sentence without data in it."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synthdp.errors import InputError, Unfinished
from synthdp.inference.analyses import Analysis, columns_used
from synthdp.inference.models import generalised
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 400


def people(n: int = N, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n).round(1)
    sex = rng.choice(["F", "M"], n)
    educ = rng.integers(1, 5, n)
    eta = 0.04 * (age - 50) + 0.5 * (sex == "M") - 0.2 * educ
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "educ": educ,
            "income": 2000 + 3e4 * eta + rng.normal(0, 3e4, n),
            "vote": (rng.logistic(size=n) < eta).astype(int),
            "visits": rng.poisson(np.exp(0.3 * eta)),
        }
    )


def analysis(model: str, formula: str) -> Analysis:
    return Analysis.model_validate({"name": "a", "model": model, "formula": formula})


def estimates(model: str, formula: str, frame: pd.DataFrame, schema=None) -> dict[str, float]:
    found = analysis(model, formula).estimate(frame, schema)
    return dict(zip(found.names, found.values.tolist(), strict=True))


RESPONSES = [("ols", "income"), ("logit", "vote"), ("probit", "vote"), ("poisson", "visits")]


@pytest.mark.parametrize(("model", "response"), RESPONSES)
@pytest.mark.parametrize("terms", ["age + C(sex)", "1", "age*sex + np.log(age)", "bs(age, df=4) + C(educ, Sum) - 1"])
def test_agrees_with_statsmodels(model: str, response: str, terms: str) -> None:
    import statsmodels.formula.api as smf

    frame = people()
    frame.loc[::7, "age"] = np.nan
    formula = f"{response} ~ {terms}"
    # patsy's splines do not take gaps: the reference sees complete records
    complete = frame.dropna() if "age" in terms else frame
    fit = getattr(smf, model)(formula, complete).fit(**({} if model == "ols" else {"disp": 0}))
    ours = analysis(model, formula).estimate(frame)
    # two Newton runs on differently scaled columns agree to the stopping rule
    np.testing.assert_allclose(ours.values, fit.params, rtol=1e-5, atol=1e-8 * np.abs(fit.params).max())
    np.testing.assert_allclose(ours.se, fit.bse, rtol=1e-5)
    np.testing.assert_allclose(ours.covariance, fit.cov_params(), rtol=1e-4, atol=1e-5 * (fit.bse**2).max())
    assert ours.names == tuple(fit.params.index)
    assert ours.df_residual == (fit.df_resid if model == "ols" else None)


def test_least_squares_by_hand() -> None:
    frame = pd.DataFrame({"y": [1.0, 3.0, 2.0, 5.0], "x": [0.0, 1.0, 2.0, 3.0]})
    found = analysis("ols", "y ~ x").estimate(frame)
    design = np.column_stack([np.ones(4), frame["x"]])
    beta = np.linalg.solve(design.T @ design, design.T @ frame["y"])
    residual = frame["y"] - design @ beta
    np.testing.assert_allclose(found.values, beta, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, residual @ residual / 2 * np.linalg.inv(design.T @ design), rtol=1e-12)


def test_mean_is_the_mean_of_complete_records() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 6.0, 9.0], "b": [0, 1, 1, None], "c": ["x"] * 4})
    found = analysis("mean", "a, b").estimate(frame)
    assert found.names == ("a", "b")
    np.testing.assert_allclose(found.values, [3.0, 2 / 3])
    np.testing.assert_allclose(np.diag(found.covariance), [7 / 3, (1 / 3) / 3])
    np.testing.assert_allclose(found.covariance[0, 1], ((-2) * (-2 / 3) + (-1) * (1 / 3) + 3 * (1 / 3)) / 2 / 3)
    assert found.df_residual == 2


def test_mean_of_one_column_equals_intercept_only_regression() -> None:
    mean, ols = analysis("mean", "income").estimate(people()), analysis("ols", "income ~ 1").estimate(people())
    np.testing.assert_allclose(mean.values, ols.values)
    np.testing.assert_allclose(mean.covariance, ols.covariance)
    assert mean.df_residual == ols.df_residual


@pytest.mark.parametrize("model", ["logit", "probit"])
def test_response_with_two_values_models_the_second(model: str) -> None:
    frame = people()
    numeric = estimates(model, "vote ~ age", frame)
    for coded in [
        frame["vote"].map({0: "NO", 1: "YES"}),
        frame["vote"].astype(bool),
        frame["vote"].astype("boolean"),
        pd.Categorical(frame["vote"].map({0: "z", 1: "a"}), categories=["z", "a"]),
    ]:
        assert estimates(model, "vote ~ age", frame.assign(vote=coded)) == pytest.approx(numeric)
    assert estimates(model, "I(vote == 1) ~ age", frame) == pytest.approx(numeric)


def test_schema_orders_the_response_and_the_reference_level() -> None:
    frame = people().assign(vote=lambda f: f["vote"].map({0: "NO", 1: "YES"}))
    schema = resolve(frame, {"vote": Variable(levels=("YES", "NO")), "sex": Variable(levels=("M", "F"))}).schema
    by_sort, by_schema = estimates("logit", "vote ~ sex", frame), estimates("logit", "vote ~ sex", frame, schema)
    assert list(by_sort) == ["Intercept", "sex[T.M]"]
    assert list(by_schema) == ["Intercept", "sex[T.F]"]
    assert by_schema["sex[T.F]"] == pytest.approx(by_sort["sex[T.M]"])  # both the level and the response turn round


def test_value_outside_the_schema_is_a_level_and_not_a_gap() -> None:
    frame = people()
    schema = resolve(frame, {}).schema
    frame.loc[:40, "sex"] = "X"
    assert list(estimates("ols", "income ~ sex", frame, schema)) == ["Intercept", "sex[T.M]", "sex[T.X]"]


def test_term_names_do_not_depend_on_missing_values() -> None:
    whole = people()
    gaps = whole.assign(educ=whole["educ"].where(whole.index > 20))
    nullable = whole.assign(educ=whole["educ"].astype("Int64"), sex=whole["sex"].astype("string"))
    names = list(estimates("ols", "income ~ C(educ) + sex", whole))
    assert names == ["Intercept", "C(educ)[T.2]", "C(educ)[T.3]", "C(educ)[T.4]", "sex[T.M]"]
    assert list(estimates("ols", "income ~ C(educ) + sex", gaps)) == names
    assert list(estimates("ols", "income ~ C(educ) + sex", nullable)) == names


def test_level_seen_only_in_incomplete_records_is_no_term() -> None:
    frame = people()
    frame.loc[0, ["sex", "age"]] = ["X", np.nan]
    frame["sex"] = frame["sex"].astype(pd.CategoricalDtype(["M", "F", "X", "never"]))
    assert list(estimates("ols", "income ~ sex + age", frame)) == ["Intercept", "sex[T.F]", "age"]


def test_dates_are_days() -> None:
    frame = people().assign(seen=lambda f: pd.Timestamp("2020-01-01") + pd.to_timedelta(f["age"].round(), unit="D"))
    by_date, by_day = estimates("ols", "income ~ seen", frame), estimates("ols", "income ~ np.round(age)", frame)
    assert by_date["seen"] == pytest.approx(by_day["np.round(age)"], rel=1e-6)


def test_columns_that_need_quoting() -> None:
    frame = people().rename(columns={"age": "age in years", "sex": "größe"})
    formula = 'income ~ Q("age in years") + größe'
    assert columns_used(formula) == ("income", "age in years", "größe")
    assert list(estimates("ols", formula, frame)) == ["Intercept", "größe[T.M]", 'Q("age in years")']


@pytest.mark.parametrize("model", ["ols", "logit", "poisson"])
def test_wild_scales_converge(model: str) -> None:
    frame = people().assign(rich=lambda f: f["age"] * 1e9, poor=lambda f: f["educ"] * 1e-9)
    response = dict(RESPONSES)[model]
    wild, tame = (estimates(model, f"{response} ~ {terms}", frame) for terms in ("rich + poor", "age + educ"))
    assert wild["rich"] * 1e9 == pytest.approx(tame["age"], rel=1e-5)
    assert wild["poor"] * 1e-9 == pytest.approx(tame["educ"], rel=1e-5)


@pytest.mark.parametrize(("model", "response"), RESPONSES)
def test_nearly_collinear_terms_converge(model: str, response: str) -> None:
    frame = people().assign(year=lambda f: 1960 + f["age"], visits=lambda f: 10_000 * f["visits"])
    near = estimates(model, f"{response} ~ year + I(year**2) + I(year**3)", frame)
    apart = estimates(model, f"{response} ~ age + I(age**2) + I(age**3)", frame)
    # the cubic's condition number of about 1e10 leaves six digits of sixteen
    assert near["I(year ** 3)"] == pytest.approx(apart["I(age ** 3)"], rel=1e-4)


def test_columns_used() -> None:
    assert columns_used("y ~ a:b + C(c, Treatment(reference='x')) + np.where(d > 1, e, 0) + a") == tuple("yabcde")
    assert analysis("mean", "a, b ,a,").columns() == ("a", "b")


def test_problems_before_a_run() -> None:
    assert analysis("ols", "income ~ age").problems(people().columns) == []
    assert analysis("ols", "income ~").problems(people().columns) == [
        "analyses.a: does not parse, found 'income ~'; write it like 'y ~ age + C(sex)'."
    ]
    assert analysis("mean", "agee, visits, zzz").problems(people().columns) == [
        "analyses.a: no column named 'agee'; did you mean 'age'?",
        "analyses.a: no column named 'zzz'.",
    ]
    assert analysis("mean", " , ").problems(["age"]) == ["analyses.a: the mean of what? Name a column in formula."]
    assert analysis("ols", "y ~ FVC").problems(["y", "FVC %"]) == [
        "analyses.a: no column named 'FVC'; did you mean Q(\"FVC %\")?"
    ]


FAULTS = [
    ("ols", "income ~ age +", "does not parse, found 'income ~ age +'; write it like"),
    ("ols", "income ~ age sex", "does not parse, found 'income ~ age sex'; write it like"),
    ("ols", "income ~ (age", "does not parse"),
    ("ols", "income ~ 'age", "does not parse"),
    ("ols", "~ age", "needs one response to the left of ~, found '~ age'."),
    ("ols", "income + vote ~ age", "needs one response to the left of ~"),
    ("ols", "income ~ 0", "needs at least one term to the right of ~"),
    ("ols", "income ~ agee", "no column named 'agee'; did you mean 'age'?"),
    ("ols", "income ~ frame", "no column named 'frame'."),
    ("ols", "income ~ age + log10(age)", "'log10' is not a function that formulas know; write np.log10."),
    ("ols", "income ~ __import__('os')", "'__import__' is not a function that formulas know."),
    ("ols", "income ~ np.fromfile('x')", "'np.fromfile' is not a function that formulas know; use one that computes"),
    ("ols", "income ~ np.lib.npyio.load('x')", "'.load' is not allowed in a formula; only functions of numpy are"),
    ("ols", "income ~ age.to_csv('x')", "'.to_csv' is not allowed in a formula; only functions of numpy are (np.log)."),
    ("ols", "income ~ I((lambda: age)())", "Lambda is not allowed in a formula; compute a column first."),
    ("ols", "income ~ I([a for a in age])", "ListComp is not allowed in a formula; compute a column first."),
    ("ols", "income ~ I(age[0])", "Subscript is not allowed in a formula; compute a column first."),
    ("ols", "income ~ I((age if age else log)(age))", "only a function with a name can be called in a formula."),
    ("ols", "income ~ np(age)", "'np' is not a function that formulas know."),
    ("ols", "income ~ age + I(2*age)", "is a combination of the others; leave one of them out."),
    ("ols", "income ~ age + I(0*age)", "the term 'I(0 * age)' is zero in every record; leave it out."),
    ("ols", "income ~ np.log(sex)", "cannot be computed on these columns (PatsyError); check their types."),
    ("ols", "income ~ np.log(age - 50)", "gives infinite or undefined values in"),
    ("ols", "np.log(vote) ~ age", "gives infinite or undefined values in"),
    ("ols", "sex ~ age", "ols needs a numeric response, found text."),
    ("ols", "income ~ empty", "no record has a value in every column it uses."),
    ("logit", "educ ~ age", "logit needs a response coded 0/1, found other numbers."),
    ("probit", "C(educ) ~ age", "probit needs a response with two values, found 4."),
    ("logit", "one ~ age", "logit needs a response that takes both values, found one."),
    ("probit", "I(0*age) ~ age", "probit needs a response that takes both values, found one."),
    ("poisson", "sex ~ age", "poisson needs a response of counts, found text or negative numbers."),
    ("poisson", "I(age - 50) ~ sex", "poisson needs a response of counts, found text or negative numbers."),
    ("poisson", "I(0*age) ~ sex", "poisson needs a response with at least one count above zero."),
    ("mean", "sex", "a mean needs numbers, found text in 'sex'."),
    ("mean", "agee", "no column named 'agee'; did you mean 'age'?"),
]


@pytest.mark.parametrize(("model", "formula", "message"), FAULTS)
def test_faults_are_one_sentence(model: str, formula: str, message: str) -> None:
    frame = people().assign(empty=np.nan, one="YES")
    with pytest.raises(InputError) as caught:
        analysis(model, formula).estimate(frame)
    assert str(caught.value).startswith("analyses.a: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_too_few_records() -> None:
    frame = people(3)
    with pytest.raises(InputError, match="4 terms need at least as many complete records, found 3"):
        analysis("ols", "income ~ age + np.sin(age) + np.cos(age)").estimate(frame)
    with pytest.raises(InputError, match="3 terms leave no degree of freedom in 3 complete records"):
        analysis("ols", "income ~ age + np.sin(age)").estimate(frame)
    with pytest.raises(InputError, match="needs at least 2 complete records, found 1"):
        analysis("mean", "income").estimate(frame.head(1))


@pytest.mark.parametrize("model", ["logit", "probit"])
@pytest.mark.parametrize("separator", ["perfect", "rare", "one", "two"])
def test_separation_is_said(model: str, separator: str) -> None:
    frame = people(20_000)
    always = frame.index[frame["vote"] == 1]
    never = frame.index[frame["vote"] == 0]
    frame["perfect"] = frame["vote"] * 3.0 + np.random.default_rng(1).uniform(size=len(frame))
    frame["rare"] = frame.index.isin(always[:3]).astype(float)
    frame["one"] = frame.index.isin(always[:1]).astype(float)
    frame["two"] = np.select([frame.index.isin(always[:5]), frame.index.isin(never[:9])], ["u", "v"], "w")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"predict the response perfectly for some records \(separation\)"):
            analysis(model, f"vote ~ age + {separator}").estimate(frame)


def test_group_without_counts_is_separation() -> None:
    frame = people().assign(rare=lambda f: (f["visits"] == 0) & (f["age"] > 50))
    with pytest.raises(InputError, match="separation"):
        analysis("poisson", "visits ~ age + rare").estimate(frame)


def test_rare_outcome_is_not_separation() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=200_000), "y": 0})
    frame.loc[:5, "y"] = 1
    assert np.isfinite(analysis("logit", "y ~ x").estimate(frame).se).all()


def test_no_convergence_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(generalised, "NEWTON_STEPS", 1)
    with pytest.raises(Unfinished, match=r"^analyses.a: the logit fit did not converge; rescale or simplify"):
        analysis("logit", "vote ~ age + sex").estimate(people())
    assert capsys.readouterr() == ("", "")


def test_singular_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(np.linalg, "solve", fail)
    with pytest.raises(Unfinished, match="the poisson fit did not converge"):
        analysis("poisson", "visits ~ age").estimate(people())


def test_unknown_rule_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValidationError, match="no combining rule named 'reiter2030'; did you mean 'reiter2003'"):
        Analysis(name="a", model="ols", formula="y ~ x", rule="reiter2030")
    with pytest.raises(ValidationError, match="choose from reiter2003, rubin1987, raghunathan2003"):
        Analysis(name="a", model="ols", formula="y ~ x", rule="?")
    assert Analysis(name="a", model="ols", formula="y ~ x", rule="mean_se").rule == "mean_se"


@given(st.text(alphabet="yab ~+-*:()[]'\"0.1CQ,|^/\n\\#@=ü", max_size=25))
def test_any_formula_parses_or_is_refused(formula: str) -> None:
    with contextlib.suppress(InputError):
        assert all(isinstance(name, str) for name in columns_used(formula))


def test_dates_of_any_sort_are_days():
    frame = people(60)
    plain = pd.Series(pd.date_range("2020-01-01", periods=60))
    of = {name: frame.assign(day=day) for name, day in {"plain": plain, "zone": plain.dt.tz_localize("UTC")}.items()}
    written = frame.assign(day=plain.dt.strftime("%Y-%m-%d"))
    schema = resolve(written, {"day": Variable(kind="date")}).schema
    found = [estimates("ols", "age ~ day", one) for one in of.values()]
    assert found[0] == found[1] == estimates("ols", "age ~ day", written, schema)
