"""Every model agrees with statsmodels, with a closed form, or with the definition written out record by record."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.errors import InputError, Unfinished
from synthdp.inference.analyses import Analysis, Estimates, analysis_of
from synthdp.inference.models import descriptive, fit
from synthdp.inference.models.fit import MODELS
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 500


def people(n: int = N, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    eta = 0.5 * x + 0.4 * (g == "b")
    choice = np.argmax(np.column_stack([rng.gumbel(size=n), eta + rng.gumbel(size=n), -eta + rng.gumbel(size=n)]), 1)
    return pd.DataFrame(
        {
            "x": x,
            "g": g,
            "y": 1 + eta + rng.normal(size=n),
            "v": (rng.logistic(size=n) < eta).astype(int),
            "k": rng.negative_binomial(2, 2 / (2 + np.exp(eta))),
            "p": rng.gamma(3, np.exp(0.3 * eta)),
            "o": np.digitize(eta + rng.logistic(size=n), [-1, 0.5, 2]),
            "m": np.array(["p", "q", "r"])[choice],
            "t": rng.exponential(np.exp(-eta)).round(1) + 0.1,  # with ties
            "d": rng.integers(0, 2, n),
            "w": rng.uniform(0.5, 3, n).round(2),
        }
    )


def estimate(model: str, formula: str, frame: pd.DataFrame | None = None, **settings: object) -> Estimates:
    frame = people() if frame is None else frame
    return Analysis.model_validate({"name": "a", "model": model, "formula": formula, **settings}).estimate(frame)


def check(ours: Estimates, values: object, covariance: object, rtol: float = 1e-6) -> None:
    np.testing.assert_allclose(ours.values, np.asarray(values), rtol=rtol, atol=1e-8)
    scale = np.sqrt(np.diag(np.asarray(covariance)))
    np.testing.assert_allclose(ours.covariance, np.asarray(covariance), atol=rtol * np.max(np.outer(scale, scale)))


@pytest.mark.parametrize(
    ("model", "family", "response", "links"),
    [
        ("gaussian", "Gaussian", "y", {None: None, "identity": "Identity"}),
        ("binomial", "Binomial", "v", {None: None, "cloglog": "CLogLog", "probit": "Probit", "cauchy": "Cauchy"}),
        ("binomial", "Binomial", "v", {"loglog": "LogLog", "logit": "Logit"}),
        ("poisson", "Poisson", "k", {"log": "Log", "sqrt": "Sqrt"}),
        ("gamma", "Gamma", "p", {None: None, "log": "Log", "inverse": "InversePower"}),
        ("inverse_gaussian", "InverseGaussian", "p", {"log": "Log", "inverse_squared": "InverseSquared"}),
        ("tweedie", "Tweedie", "p", {"log": "Log"}),
    ],
)
def test_generalised_linear_models(model, family, response, links) -> None:
    import statsmodels.api as sm

    for ours, theirs in links.items():
        chosen = {} if theirs is None else {"link": getattr(sm.families.links, theirs)()}
        power = {"var_power": 1.7} if model == "tweedie" else {}
        made = getattr(sm.families, family)(**chosen, **power)
        fit = sm.GLM.from_formula(f"{response} ~ x", people(), family=made).fit(tol=1e-12, maxiter=200)
        found = estimate(model, f"{response} ~ x", link=ours, power=1.7)
        check(found, fit.params, fit.cov_params())
        assert found.df_residual == (N - 2 if model == "gaussian" else None)


def test_weighted_least_squares() -> None:
    import statsmodels.formula.api as smf

    fit = smf.wls("y ~ x + g", people(), weights=people()["w"]).fit()
    found = estimate("wls", "y ~ x + g", weights="w")
    check(found, fit.params, fit.cov_params())
    assert found.df_residual == fit.df_resid


def test_multinomial_logit() -> None:
    import statsmodels.formula.api as smf

    frame = people()
    fit = smf.mnlogit("code ~ x + g", frame.assign(code=frame["m"].map({"p": 0, "q": 1, "r": 2}))).fit(disp=0)
    found = estimate("multinomial", "m ~ x + g")
    check(found, fit.params.to_numpy().T.ravel(), fit.cov_params())
    assert found.names[:2] == ("q: Intercept", "q: g[T.b]")
    assert estimate("multinomial", "o ~ x").names[0] == "1: Intercept"


@pytest.mark.parametrize("shape", ["logit", "probit"])
def test_ordered_models(shape: str) -> None:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    frame = people()
    matrix = pd.DataFrame({"b": frame["g"] == "b", "c": frame["g"] == "c", "x": frame["x"]}).astype(float)
    model = OrderedModel(frame["o"], matrix, distr=shape)
    fit = model.fit(method="bfgs", disp=0, gtol=1e-8)
    found = estimate(f"ordered_{shape}", "o ~ x + g")
    np.testing.assert_allclose(found.values[:3], fit.params.iloc[:3], rtol=1e-5)
    np.testing.assert_allclose(found.values[3:], model.transform_threshold_params(fit.params)[1:-1], rtol=1e-5)
    np.testing.assert_allclose(found.se[:3], fit.bse.iloc[:3], rtol=1e-4)  # statsmodels differentiates numerically
    assert found.names == ("g[T.b]", "g[T.c]", "x", "0|1", "1|2", "2|3")


def test_ordered_without_terms_gives_the_shares() -> None:
    found = estimate("ordered_logit", "o ~ 1")
    below = [(people()["o"] <= k).mean() for k in range(3)]
    np.testing.assert_allclose(found.values, np.log(below) - np.log1p(-np.array(below)), rtol=1e-9)


def test_negative_binomial() -> None:
    import statsmodels.formula.api as smf

    fit = smf.negativebinomial("k ~ x + g", people()).fit(disp=0, method="newton", maxiter=100)
    check(estimate("negative_binomial", "k ~ x + g"), fit.params, fit.cov_params())


def test_cox_has_statsmodels_breslow_ties() -> None:
    import statsmodels.api as sm

    frame = people()
    matrix = pd.DataFrame({"b": frame["g"] == "b", "c": frame["g"] == "c", "x": frame["x"]}).astype(float)
    fit = sm.PHReg(frame["t"], matrix, status=frame["d"], ties="breslow").fit()
    check(estimate("cox", "t ~ x + g", status="d"), fit.params, fit.cov_params())
    everyone = sm.PHReg(frame["t"], matrix, ties="breslow").fit()
    check(estimate("cox", "t ~ x + g"), everyone.params, everyone.cov_params())
    text = frame.assign(d=frame["d"].map({0: "alive", 1: "dead"}))
    check(estimate("cox", "t ~ x + g", text, status="d"), fit.params, fit.cov_params())
    flags = frame.assign(d=frame["d"] == 1)
    check(estimate("cox", "t ~ x + g", flags, status="d"), fit.params, fit.cov_params())


def settings_of(model: str) -> tuple[str, dict[str, object]]:
    formulas = {
        "mean": "y", "quantile": "y", "proportion": "g", "table": "g, v", "count": "g", "correlation": "x, y",
        "ols": "y ~ x", "wls": "y ~ x", "gaussian": "y ~ x", "logit": "v ~ x", "probit": "v ~ x", "binomial": "v ~ x",
        "poisson": "k ~ x", "negative_binomial": "k ~ x", "gamma": "p ~ x", "inverse_gaussian": "p ~ x",
        "tweedie": "p ~ x", "multinomial": "m ~ x", "ordered_logit": "o ~ x", "ordered_probit": "o ~ x",
        "cox": "t ~ x",
    }  # fmt: skip
    links = {"gamma": "log", "inverse_gaussian": "log", "tweedie": "log"}
    extra = {"link": links[model]} if model in links else {}
    return formulas[model], extra | ({"status": "d"} if model == "cox" else {})


@pytest.mark.parametrize("model", [model for model in MODELS if model != "quantile"])
def test_a_weight_of_two_is_a_record_twice(model: str) -> None:
    """The estimating equations with integer weights are those of the repeated records."""
    frame = people(200).assign(w=lambda f: 1 + f.index % 3)
    formula, settings = settings_of(model)
    twice = frame.loc[frame.index.repeat(frame["w"])].reset_index(drop=True).assign(w=1)
    weighted = estimate(model, formula, frame, weights="w", **settings)
    repeated = estimate(model, formula, twice, **settings, **({"weights": "w"} if model == "wls" else {}))
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", [model for model in MODELS if model not in ("wls", "quantile")])
def test_the_influence_is_the_change_when_a_weight_changes(model: str) -> None:
    """The brute-force twin of every influence function: raise one record's weight a little, and fit again."""
    frame = people(120)
    formula, settings = settings_of(model)
    analysis = Analysis.model_validate({"name": "a", "model": model, "formula": formula, **settings})
    problem = analysis._problem(frame, None, None)
    weights = frame["w"].to_numpy()
    fit = problem.fit(weights)
    scale = np.abs(fit.influence).max(axis=0)
    for record in (0, 17, 63):
        step = np.zeros(len(weights))
        step[record] = 1e-4
        change = (problem.fit(weights + step).values - problem.fit(weights - step).values) / 2e-4
        expected = fit.influence[record] / weights[record]
        # the expected information of a link that is not canonical differs from the observed one
        loose = 0.25 if model in ("probit", "gamma", "inverse_gaussian", "tweedie") else 1e-3
        np.testing.assert_allclose(change, expected, atol=loose * scale.max())


def test_proportions_tables_and_counts_by_hand() -> None:
    frame = pd.DataFrame({"g": list("aabb"), "h": [1, 2, 1, 1]})
    shares = estimate("proportion", "g, h", frame)
    assert dict(zip(shares.names, shares.values, strict=True)) == {"g=a": 0.5, "g=b": 0.5, "h=1": 0.75, "h=2": 0.25}
    assert shares.covariance[2, 2] == pytest.approx(0.75 * 0.25 / 3)
    assert shares.covariance[0, 1] == pytest.approx(-0.25 / 3)
    table = estimate("table", "g, h", frame)
    assert table.names == ("g=a, h=1", "g=a, h=2", "g=b, h=1", "g=b, h=2")
    assert table.values.tolist() == [0.25, 0.25, 0.5, 0.0]
    counts = estimate("count", "g, h", frame)
    assert counts.values.tolist() == [1, 1, 2, 0]
    np.testing.assert_allclose(counts.covariance, 16 * table.covariance)
    schema = resolve(frame, {"g": Variable(levels=("b", "a", "z"))}).schema
    ordered = Analysis(name="a", model="proportion", formula="g").estimate(frame, schema)
    assert dict(zip(ordered.names, ordered.values, strict=True)) == {"g=b": 0.5, "g=a": 0.5, "g=z": 0.0}


def test_quantiles_are_the_ordinary_ones() -> None:
    values = np.random.default_rng(2).normal(size=40)
    frame = pd.DataFrame({"y": values})
    assert estimate("quantile", "y", frame, probabilities=(0.5,)).values[0] == pytest.approx(np.median(values))
    thirds = estimate("quantile", "y", frame, probabilities=(0.1, 0.33, 0.9))
    expected = np.quantile(values, [0.1, 0.33, 0.9], method="averaged_inverted_cdf")
    np.testing.assert_allclose(thirds.values, expected)
    assert thirds.names == ("y 10%", "y 33%", "y 90%")


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [300, 1000])
def test_quantile_intervals_cover(n: int, weighted: bool) -> None:
    """Nominal 0.95 covers 0.934 to 0.957 here (0.910 to 0.943 at n = 100, where the density is known badly)."""
    rng, runs, levels = np.random.default_rng(8), 3000, (0.1, 0.5, 0.9)
    truth, hits = stats.expon.ppf(levels), np.zeros(3)
    for _ in range(runs):
        problem = descriptive.Quantiles(np.arange(n), ("y",), rng.exponential(size=(n, 1)), levels)
        fit = problem.fit(rng.uniform(1, 4, n) if weighted else None)
        hits += np.abs(fit.values - truth) < 1.96 * np.sqrt(np.diag(fit.covariance))
    assert ((hits / runs > 0.93) & (hits / runs < 0.97)).all()


def test_correlations_are_pearsons_and_their_variance_fishers() -> None:
    rng = np.random.default_rng(5)
    rho, n = 0.6, 20_000
    frame = pd.DataFrame(rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n), columns=["x", "y"])
    frame["z"] = rng.normal(size=n)
    found = estimate("correlation", "x, y, z", frame)
    assert found.names == ("x, y", "x, z", "y, z")
    np.testing.assert_allclose(found.values, frame.corr().to_numpy()[[0, 0, 1], [1, 2, 2]], rtol=1e-12)
    # normal data: sd of r is (1 − ρ²)/√n; the kurtosis of n records gives 4 Monte Carlo errors of about 3%
    assert found.se[0] == pytest.approx((1 - rho**2) / np.sqrt(n), rel=0.05)


FAULTS = [
    ("gamma", "y ~ x", {}, "gamma needs a response above zero, found"),
    ("inverse_gaussian", "g ~ x", {}, "inverse_gaussian needs a numeric response, found text."),
    ("tweedie", "y ~ x", {}, "tweedie needs a response of zero or more, found"),
    ("binomial", "o ~ x", {}, "binomial needs a response coded 0/1"),
    ("negative_binomial", "y ~ x", {}, "negative_binomial needs a response of counts"),
    (
        "negative_binomial",
        "v ~ x",
        {},
        "the counts vary no more than a Poisson's, so alpha is zero; use model poisson.",
    ),
    ("multinomial", "one ~ x", {}, "multinomial needs a response with at least two levels, found one."),
    ("ordered_logit", "y ~ x", {}, "ordered_logit takes at most 50 levels, the response has 500."),
    ("ordered_logit", "o ~ x + g - 1", {}, "is a combination of the others; leave one of them out."),
    ("cox", "y ~ x", {}, "cox needs times that are not negative, found"),
    ("cox", "t ~ 1", {}, "cox needs at least one term beside the intercept."),
    ("cox", "t ~ x", {"status": "zero"}, "cox needs at least one event, found none."),
    ("cox", "t ~ x", {"status": "o"}, "status must be coded 0/1, found other numbers."),
    ("cox", "t ~ x", {"status": "g"}, "status must take two values, found 3."),
    ("cox", "t ~ x", {"status": "one"}, "status must take two values, found one; code it 0/1."),
    ("cox", "t ~ one2 - 1", {}, "a term is the same for every record; leave it out."),
    ("cox", "t ~ x", {"status": "dead"}, "no column named 'dead'"),
    ("quantile", "g", {}, "a quantile needs numbers, found text in 'g'."),
    ("correlation", "x", {}, "a correlation needs at least two columns, separated by commas."),
    ("correlation", "x, one2", {}, "'one2' has the same value in every record, so it has no correlation."),
    ("table", "x, y", {}, "cells are more than the 2000 a table may have; merge levels."),
    ("proportion", "", {}, "the proportion of what? Name a column in formula."),
]


@pytest.mark.parametrize(("model", "formula", "settings", "message"), FAULTS)
def test_faults_are_one_sentence(model, formula, settings, message) -> None:
    frame = people().assign(one="A", zero=0, one2=1.0)
    with pytest.raises(InputError) as caught:
        estimate(model, formula, frame, **settings)
    assert message in str(caught.value)
    assert str(caught.value).startswith("analyses.a: ")
    assert "\n" not in str(caught.value)


def test_a_level_of_the_response_without_weight() -> None:
    frame = people().assign(w=lambda f: (f["m"] != "q").astype(float))
    with pytest.raises(InputError, match=r"^analyses.a: 1 levels of the response have no weight; merge levels\.$"):
        estimate("multinomial", "m ~ x", frame, weights="w")


def test_one_record_has_no_variance() -> None:
    for model in ("proportion", "quantile", "correlation"):
        with pytest.raises(InputError, match="needs at least 2 complete records, found 1"):
            estimate(model, "x, y", people(1))


@pytest.mark.parametrize(
    ("model", "formula"),
    [
        ("logit", "v ~ x + rare"), ("binomial", "v ~ x + rare"), ("multinomial", "m ~ x + only_q"),
        ("ordered_logit", "o ~ x + top"), ("ordered_probit", "o ~ x + top"), ("cox", "t ~ x + never"),
        ("poisson", "k ~ x + none"), ("negative_binomial", "k ~ x + none"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("weights", [None, "w"])
def test_separation_is_said_in_every_model(model, formula, weights) -> None:
    frame = people().assign(
        rare=lambda f: ((f["v"] == 1) & (f.index < 30)).astype(float),
        only_q=lambda f: ((f["m"] == "q") & (f.index < 60)).astype(float),
        top=lambda f: ((f["o"] == 3) & (f.index < 300)).astype(float),
        none=lambda f: ((f["k"] == 0) & (f.index < 60)).astype(float),
        never=lambda f: ((f["d"] == 0) & (f.index < 60)).astype(float),
    )
    settings = {"status": "d"} if model == "cox" else {}
    with pytest.raises(InputError, match=r"^analyses.a: the terms predict the response perfectly .*\(separation\)"):
        estimate(model, formula, frame, weights=weights, **settings)


@pytest.mark.parametrize("model", ["multinomial", "cox", "gamma", "binomial"])
def test_no_convergence_is_said(model, monkeypatch) -> None:
    from synthdp.inference.models import generalised

    monkeypatch.setattr(fit, "STEPS", 1)
    monkeypatch.setattr(generalised, "STEPS", 1)
    formula, settings = settings_of(model)
    with pytest.raises(Unfinished, match=rf"^analyses.a: the {model} fit did not converge; rescale or simplify"):
        estimate(model, formula, **settings)


def test_a_fit_that_goes_nowhere_is_unfinished() -> None:
    class Bumpy:
        def log_likelihood(self, theta, weights):
            return -float(np.abs(theta).sum())

        def scores(self, theta, weights):
            return np.full((1, 1), 1.0)

        def information(self, theta, weights):
            return np.eye(1)

    with pytest.raises(Unfinished, match="the bumpy fit did not converge"):
        fit.maximise(Bumpy(), np.zeros(1), np.ones(1), where="here", model="bumpy")
    Bumpy.information = lambda *_: np.full((1, 1), np.nan)
    Bumpy.log_likelihood = lambda *_: 0.0
    with pytest.raises(Unfinished, match="the bumpy fit did not converge"):
        fit.maximise(Bumpy(), np.zeros(1), np.ones(1), where="here", model="bumpy")


def test_an_impossible_link_is_unfinished() -> None:
    frame = people().assign(p=lambda f: np.exp(4 * f["x"]))
    with pytest.raises(Unfinished, match="did not converge; rescale or simplify the formula, or choose another link"):
        estimate("inverse_gaussian", "p ~ x + g", frame)


def test_levels_over_files_keep_the_order_of_numbers_and_of_the_schema() -> None:
    files = [pd.DataFrame({"k": [10, 2], "g": ["b", "a"]}), pd.DataFrame({"k": [2.0, np.nan], "g": ["c", "a"]})]
    assert descriptive.levels_of(files, ["k", "g"], None) == {"k": ["2", "10"], "g": ["a", "b", "c"]}


SETTINGS = [
    ({"model": "ols", "status": "d"}, "status belongs to model cox, not ols."),
    ({"model": "ols", "link": "log"}, "link belongs to generalised linear models (binomial, gamma, gaussian"),
    ({"model": "wls"}, "wls needs weights, and takes no other design; use ols for a weighted sample."),
    ({"model": "mean", "replicate_weights": ["r*"]}, "replicate_weights need weights (the full sample's) and"),
    (
        {"model": "mean", "replicate_weights": ["r*"], "replicate_method": "brr", "weights": "w", "strata": "s"},
        "replicate_weights carry strata and cluster already; leave these out.",
    ),
    (
        {"model": "quantile", "replicate_weights": ["r*"], "replicate_method": "jk1", "weights": "w"},
        "the jackknife does not work for quantiles; use strata and cluster, brr or bootstrap.",
    ),
    ({"model": "mean", "replicate_method": "brr"}, "replicate_method and replicate_scale need replicate_weights."),
    ({"model": "quantile", "probabilities": []}, "probabilities must hold at least one number between 0 and 1."),
    ({"model": "quantile", "probabilities": [1.5]}, "probabilities: input should be less than 1."),
    ({"model": "olss"}, "model: no model named 'olss'; did you mean 'ols'?"),
    ({"model": "ols", "wieghts": "w"}, "wieghts: no such setting; did you mean 'weights'?"),
    ({"model": "ols", "zzz": "w"}, "zzz: no such setting."),
]


@pytest.mark.parametrize(("settings", "message"), SETTINGS)
def test_settings_that_do_not_belong_together(settings, message) -> None:
    with pytest.raises(InputError) as caught:
        analysis_of({"name": "a", "formula": "y ~ x", **settings})
    assert str(caught.value).startswith(message)


def test_what_the_analysis_says_of_itself() -> None:
    one = Analysis(name="a", model="cox", formula="t ~ x", status="d", weights="w", strata="s")
    assert one.describe() == "cox t ~ x, status d, weights w, strata s"
    assert one.problems(["t", "x", "d"]) == ["analyses.a: no column named 'w'.", "analyses.a: no column named 's'."]
    rep = Analysis(name="a", model="mean", formula="x", weights="w", replicate_weights="r*", replicate_method="brr")
    assert rep.describe() == "mean x, weights w, replicates brr"
    assert rep.problems(["x", "w"]) == ["analyses.a: no column named 'r*'."]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weights", [None, "w"])
def test_every_model_can_be_compared_with_the_original(model: str, weights: str | None) -> None:
    from synthdp.evaluation.comparison import Comparison
    from synthdp.evaluation.utility.analyses import evaluate_analyses

    original = people()
    same = Comparison(
        original, (original.sample(frac=1, random_state=1),) * 2, resolve(original, {}).schema, aligned=False
    )
    formula, settings = settings_of(model)
    chosen = "w" if model == "wls" else weights
    analysis = Analysis.model_validate(
        {"name": "a", "model": model, "formula": formula, "weights": chosen, "rule": "rubin1987", **settings}
    )
    (entry,) = evaluate_analyses(same, [analysis])
    assert entry["terms"]
    np.testing.assert_allclose([term["std_diff"] for term in entry["terms"]], 0, atol=1e-6)
    # the original's interval is a t interval of its residual degrees of freedom, and artanh's is not symmetric
    assert entry["min_ci_overlap"] > (0.97 if model == "correlation" else 0.99)
