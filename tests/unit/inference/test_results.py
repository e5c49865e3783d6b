"""What pool takes from the user: functions, estimators, pairs, folders and files; bad ones in one sentence each."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import synthdp
from synthdp.errors import InputError, Unfinished
from synthdp.inference import variances
from synthdp.inference.combining import combine
from synthdp.inference.estimates import Estimates, from_pair, named
from synthdp.synthesis.design import Design


def copies(m: int = 3, n: int = 150) -> list[pd.DataFrame]:
    rng = np.random.default_rng(6)
    found = []
    for _ in range(m):
        x = rng.normal(size=n)
        found.append(
            pd.DataFrame(
                {
                    "x": x, "g": rng.choice(["a", "b"], n), "y": x + rng.normal(size=n),
                    "v": (x + rng.logistic(size=n) > 0).astype(int), "m": rng.choice(["p", "q", "r"], n),
                    "k": rng.poisson(1.5, n), "t": rng.exponential(size=n),
                }
            )
        )  # fmt: skip
    return found


def same(one, other, rtol: float = 1e-5) -> None:
    order = [one.names.index(name) for name in other.names]
    np.testing.assert_allclose(one.estimate[order], other.estimate, rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(one.se[order], other.se, rtol=rtol)


@pytest.mark.parametrize(
    ("model", "fit"),
    [
        ("ols", lambda f: smf.ols("y ~ x + g", f).fit()),
        ("logit", lambda f: smf.logit("v ~ x + g", f).fit(disp=0)),
        ("poisson", lambda f: smf.glm("k ~ x + g", f, family=sm.families.Poisson()).fit()),
    ],
)
def test_a_function_gives_what_the_model_by_name_gives(model, fit) -> None:
    response = {"ols": "y", "logit": "v", "poisson": "k"}[model]
    ours = synthdp.pool(copies(), model=model, formula=f"{response} ~ x + g")
    theirs = synthdp.pool(copies(), fit)
    same(theirs, ours)
    assert str(theirs).splitlines()[0] == "<lambda>, n = 150"
    assert str(ours).splitlines()[0] == f"{model} {response} ~ x + g, n = 150"


def test_results_of_several_shapes() -> None:
    files = copies()
    coded = [file.assign(m=file["m"].map({"p": 0, "q": 1, "r": 2})) for file in files]
    many = synthdp.pool(coded, lambda f: smf.mnlogit("m ~ x", f).fit(disp=0))
    ours = synthdp.pool(files, model="multinomial", formula="m ~ x")
    np.testing.assert_allclose(many.estimate, ours.estimate, rtol=1e-5)
    assert many.names == ("1: Intercept", "1: x", "2: Intercept", "2: x")
    hazards = synthdp.pool(files, lambda f: sm.PHReg(f["t"], f[["x", "y"]], ties="breslow").fit())
    same(hazards, synthdp.pool(files, model="cox", formula="t ~ x + y"))
    pairs = synthdp.pool(files, lambda f: (f["y"].mean(), f["y"].var() / len(f)), names=["y"])
    same(pairs, synthdp.pool(files, model="mean", formula="y"))
    objects = synthdp.pool(files, lambda f: Estimates(("y",), np.array([f["y"].mean()]), np.eye(1), None))
    assert objects.names == ("y",)


def test_pairs() -> None:
    variances = synthdp.pool([([1.0, 2.0], [0.1, 0.2]), ([1.5, 2.5], [0.1, 0.2])])
    matrices = synthdp.pool([(np.array(q), np.diag([0.1, 0.2])) for q in ([1.0, 2.0], [1.5, 2.5])])
    same(variances, matrices)
    assert variances.names == ("estimate 1", "estimate 2")
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    labelled = synthdp.pool([(series, [0.1, 0.2]), ({"a": 1.5, "b": 2.5}, {"a": 0.1, "b": 0.2})])
    assert labelled.names == ("a", "b")
    assert synthdp.pool([(1.0, 0.1), (2.0, 0.1)], names=["effect"]).names == ("effect",)
    ready = [Estimates(("a",), np.array([q]), np.eye(1), None) for q in (1.0, 2.0)]
    same(synthdp.pool(ready, rule="rubin1987"), combine(ready, "rubin1987"))


PAIRS = [
    (3.0, "must give a fitted model or an (estimate, covariance) pair."),
    (([1.0, 2.0], [0.1]), "2 estimates need 2 variances or a 2 × 2 covariance, found (1,)."),
    (([1.0, np.nan], [0.1, 0.1]), "1 of 2 estimates are not finite."),
    (([1.0, 2.0], [[0.1, np.nan], [np.nan, 0.1]]), "the covariance of the estimates is not finite"),
    (([1.0, 2.0], [0.1, -0.1]), "1 of 2 variances are negative."),
    (([1.0, 2.0], [[1.0, 0.5], [0.1, 1.0]]), "the covariance must be symmetric."),
    (([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]]), "the covariance is not one: some combination of the estimates has a"),
    (([1.0, 2.0], "wide"), "the covariance must be numbers."),
    (("much", 1.0), "the estimate must be numbers."),
    (([[1.0, 2.0]], 1.0), "the estimate must be a number or a vector, found an array of shape (1, 2)."),
]


@pytest.mark.parametrize(("pair", "message"), PAIRS)
def test_bad_pairs_name_the_copy(pair, message) -> None:
    good = ([1.0, 2.0], [0.1, 0.2])
    with pytest.raises(InputError) as caught:
        synthdp.pool([good, pair])
    assert str(caught.value).startswith("copy 2: ")
    assert message in str(caught.value)


def test_names_and_shapes_of_pairs() -> None:
    with pytest.raises(InputError, match="2 estimates need 2 names, found 1"):
        from_pair(([1.0, 2.0], [0.1, 0.2]), ["a"])
    # shares that add to one have a singular covariance, and a good interval each
    assert from_pair(([0.4, 0.6], [[0.24, -0.24], [-0.24, 0.24]])).names == ("estimate 1", "estimate 2")
    assert named(2.0)[0] == ("estimate",)


def separated(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(v=(frame["x"] > 0).astype(int))


def test_bad_copies_in_one_sentence_each() -> None:
    """Must show 7: separation, a vanished term, a singular covariance, other columns, an empty copy, one copy."""
    files = copies()
    probit = {"model": "probit", "formula": "v ~ x + g"}
    bad = [
        ([files[0], separated(files[1])], probit, "copy 2: formula: the terms predict the response perfectly"),
        ([*files[:2], files[2].assign(g="a")], probit, "formula: copy 3: the term 'g[T.b]' of copy 1 is not there"),
        ([files[0], files[1].drop(columns="g")], probit, "copy 2: formula: no column named 'g'"),
        ([files[0], files[1].head(0)], probit, "copy 2: formula: the file has no records."),
        ([files[0], files[1].assign(x2=files[1]["x"])], {"model": "ols", "formula": "y ~ x + x2"},
         "copy 1: formula: no column named 'x2'"),
        ([f.assign(x2=f["x"]) for f in files], {"model": "ols", "formula": "y ~ x + x2"},
         "copy 1: formula: the term 'x2' is a combination of the others"),
        (files[:1], probit, "formula: rule: reiter2003 needs at least 2 copies, found 1; give more copies, or ask for"),
        ([], probit, "copies: needs at least one copy, found none."),
        ([files[0], files[1].drop(columns="g")], {"model": "table", "formula": "g"}, "copy 2: formula: no column"),
    ]  # fmt: skip
    for given, asked, message in bad:
        with pytest.raises(InputError) as caught:
            synthdp.pool(given, **asked)
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)


def test_bad_fits_of_functions_in_one_sentence_each() -> None:
    files = copies()
    cases = [
        (lambda f: smf.logit("v ~ x", separated(f)).fit(disp=0), InputError, "copy 1: the terms predict"),
        (lambda f: smf.logit("v ~ x", f).fit(disp=0, maxiter=1), Unfinished, "copy 1: the fit did not converge"),
        (lambda f: smf.ols("y ~ x + x2", f.assign(x2=f["x"])).fit(), InputError, "copy 1: the covariance is singular"),
        (lambda f: smf.poisson("k ~ x", f).fit(disp=0, maxiter=1), Unfinished, "copy 1: the fit did not converge"),
        (lambda f: 1 / 0, InputError, "copy 1: the function failed on this file (ZeroDivisionError)."),
        (lambda f: "nothing", InputError, "copy 1: must give a fitted model or an (estimate, covariance) pair."),
    ]
    for fit, error, message in cases:
        with pytest.raises(error) as caught:
            synthdp.pool(files, fit)
        assert str(caught.value).startswith(message)
    with pytest.raises(InputError, match=r"^copy 2: the file has no records\.$"):
        synthdp.pool([files[0], files[1].head(0)], lambda f: smf.ols("y ~ x", f).fit())

    class PerfectSeparationError(Exception):
        pass

    def fails(_):
        raise PerfectSeparationError

    with pytest.raises(InputError, match="separation"):
        synthdp.pool(files, fails)

    class PerfectSeparationWarning(Warning):
        pass

    def warns(frame):
        warnings.warn("perfect", PerfectSeparationWarning, stacklevel=1)
        return smf.ols("y ~ x", frame).fit()

    with pytest.raises(InputError, match="separation"):
        synthdp.pool(files, warns)


def test_the_estimator_with_a_bootstrap_agrees_with_the_model() -> None:
    from sklearn.linear_model import LinearRegression

    files = copies()
    ours = synthdp.pool(files, model="ols", formula="y ~ x + g")
    boot = synthdp.pool(files, estimator=LinearRegression(), formula="y ~ x + g", bootstrap=100, seed=1)
    np.testing.assert_allclose(boot.estimate, ours.estimate, rtol=1e-9)
    # a standard deviation of 100 draws has a relative error of 7%, and three copies average it
    np.testing.assert_allclose(boot.se, ours.se, rtol=4 * 0.07 / np.sqrt(3))
    again = synthdp.pool(files, estimator=LinearRegression(), formula="y ~ x + g", bootstrap=100, seed=1)
    assert again.se.tolist() == boot.se.tolist()
    assert str(boot).startswith("LinearRegression y ~ x + g, 100 resamples, n = 150")


class Least:
    """Least squares without scikit-learn's parts: no get_params, no coef_."""

    def fit(self, x, y):
        self.slope = np.linalg.lstsq(x.to_numpy(), y, rcond=None)[0]
        return self


def test_other_estimators_and_statistics() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    files = copies(2, 80)
    few = {"bootstrap": 20, "seed": 2}
    forest = RandomForestClassifier(n_estimators=3, random_state=0)
    assert synthdp.pool(files, estimator=forest, formula="m ~ x + y", **few).names == ("x", "y")
    classes = synthdp.pool(files, estimator=LogisticRegression(), formula="m ~ x + y", **few)
    assert classes.names[:4] == ("p: Intercept", "p: x", "p: y", "q: Intercept")
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    assert synthdp.pool(files, estimator=piped, formula="v ~ x", **few).names == ("Intercept", "x")
    own = synthdp.pool(files, estimator=Least(), formula="y ~ x", statistic=lambda fit: {"slope": fit.slope[0]}, **few)
    assert own.names == ("slope",)
    share = synthdp.pool(files, statistic=lambda f: (f["y"] > 1).mean(), **few)
    assert share.estimate[0] == pytest.approx(np.mean([(f["y"] > 1).mean() for f in files]))


def test_bad_estimators_in_one_sentence_each() -> None:
    from sklearn.linear_model import LogisticRegression

    files = copies(2, 60)
    rare = [f.assign(v=(f.index == 0).astype(int)) for f in files]
    cases = [
        (files, {"estimator": Least()}, "formula: an estimator needs one, such as"),
        (files, {"estimator": Least(), "formula": "y ~ x"}, "copy 1: estimator: has neither coef_ nor feature_import"),
        (files, {"estimator": Least(), "formula": "y ~ x", "bootstrap": 5}, "copy 1: bootstrap: needs at least 20"),
        (
            rare,
            {"estimator": LogisticRegression(), "formula": "v ~ x"},
            "copy 1: bootstrap: the estimator failed on res",
        ),
        (files, {"statistic": lambda f: np.nan}, "copy 1: bootstrap: the estimator gave undefined values"),
        (
            files,
            {"statistic": lambda f: dict.fromkeys(f["t"].round(3).unique()[:3], 1.0)},
            "copy 1: bootstrap: resample",
        ),
        ([files[0].head(0)], {"statistic": len}, "copy 1: the file has no records."),
    ]
    for given, asked, message in cases:
        with pytest.raises(InputError) as caught:
            synthdp.pool(given, seed=1, **asked)
        assert str(caught.value).startswith(message), str(caught.value)


def test_ways_that_exclude_each_other() -> None:
    files = copies()
    with pytest.raises(InputError, match=r"^pool: give one of fit and model, not both\.$"):
        synthdp.pool(files, len, model="ols", formula="y ~ x")
    with pytest.raises(InputError, match="what should be estimated"):
        synthdp.pool(files)
    with pytest.raises(InputError, match="what should be estimated"):
        synthdp.pool("somewhere")
    with pytest.raises(InputError, match="weights belong to an analysis by model and formula"):
        synthdp.pool(files, len, weights="w")
    with pytest.raises(InputError, match="copy 1 must be a table or a file, found int"):
        synthdp.pool([3], len)
    with pytest.raises(InputError, match="must be a folder, files, tables or a release"):
        synthdp.pool(3, len)


def test_files_folders_and_tables_alike(tmp_path) -> None:
    files = copies()
    paths = []
    for number, frame in enumerate(files):
        paths.append(tmp_path / f"{number}.csv")
        frame.to_csv(paths[-1], index=False)
    by_table, by_file = (synthdp.pool(given, model="mean", formula="y") for given in (files, paths))
    same(by_file, by_table)
    assert synthdp.pool(paths[0], model="mean", formula="y", rule="mean_se").copies == 1
    assert synthdp.pool(files[0], model="mean", formula="y", rule="mean_se").copies == 1
    with pytest.raises(InputError, match="no such folder"):
        synthdp.pool(tmp_path / "nowhere", model="mean", formula="y")


def test_a_release_in_memory_brings_its_rule() -> None:
    from synthdp.synthesis.plan import Release

    design = Design(replaced="all", proper=False, copies=3)
    made = Release(copies=tuple(copies()), method="sequential", mask_draw="none", rule="raab2016", design=design)
    assert synthdp.pool(made, model="mean", formula="y").rule == "raab2016"
    with pytest.raises(InputError, match=r"^rule: rubin1987 is for imputed missing data"):
        synthdp.pool(made, model="mean", formula="y", rule="rubin1987")


def test_a_bar_appears_only_on_a_terminal_and_after_two_seconds(monkeypatch) -> None:
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(variances, "PATIENCE", -1.0)
    quiet, shown = io.StringIO(), Terminal()
    for stream in (quiet, shown):
        monkeypatch.setattr("sys.stderr", stream)
        with variances.waiting("bootstrap") as advance:
            advance(1, 2)
    assert quiet.getvalue() == ""
    assert "bootstrap" in shown.getvalue()


def test_correlations_are_pooled_by_fishers_z() -> None:
    files = copies()
    pooled = synthdp.pool(files, model="correlation", formula="x, y")
    r = np.array([f["x"].corr(f["y"]) for f in files])
    assert np.arctanh(pooled.estimate[0]) == pytest.approx(np.arctanh(r).mean())
    assert pooled.low[0] < pooled.estimate[0] < pooled.high[0] < 1
    assert pooled.high[0] - pooled.estimate[0] < pooled.estimate[0] - pooled.low[0]  # skewed towards zero
    perfect = [f.assign(z=2 * f["x"]) for f in files]
    assert synthdp.pool(perfect, model="correlation", formula="x, z").estimate[0] == pytest.approx(1)


def test_a_cell_that_one_copy_lacks_is_a_zero_there() -> None:
    files = copies()
    files[1] = files[1].assign(g="a")
    pooled = synthdp.pool(files, model="proportion", formula="g")
    assert pooled.names == ("g=a", "g=b")
    assert pooled.estimate[1] == pytest.approx(np.mean([(f["g"] == "b").mean() for f in files]))
    counts = synthdp.pool(files, model="count", formula="g")
    np.testing.assert_allclose(counts.estimate, 150 * pooled.estimate)


def test_records_of_copies_differ() -> None:
    files = copies(2)
    files[0] = files[0].head(100)
    assert str(synthdp.pool(files, model="mean", formula="y")).startswith("mean y, n = 100 to 150")
