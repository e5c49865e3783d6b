"""Survey designs against closed forms and against the jackknife, and every bad design in one sentence."""

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.inference.analyses import Analysis, Estimates
from synthdp.inference.variances import linearised, replicated, sample, simple


def people(seed: int = 1, strata: int = 4, clusters: int = 5, size: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = strata * clusters * size
    frame = pd.DataFrame(
        {
            "s": np.repeat(np.arange(strata), clusters * size),
            "c": np.tile(np.repeat(np.arange(clusters), size), strata),
            "w": rng.uniform(1, 5, n),
            "x": rng.normal(size=n),
        }
    )
    effect = rng.normal(size=(strata, clusters))[frame["s"], frame["c"]]
    return frame.assign(y=frame["x"] + effect + rng.normal(size=n), v=lambda f: (f["y"] > 0).astype(int))


def estimate(model: str, formula: str, frame: pd.DataFrame, **settings: object) -> Estimates:
    return Analysis.model_validate({"name": "a", "model": model, "formula": formula, **settings}).estimate(frame)


def test_equal_weights_and_no_design_are_the_simple_random_sample() -> None:
    frame = people().assign(w=2.0)
    plain, weighted = estimate("mean", "x, y", frame), estimate("mean", "x, y", frame, weights="w")
    np.testing.assert_allclose(weighted.covariance, plain.covariance)
    np.testing.assert_allclose(plain.covariance, np.cov(frame[["x", "y"]], rowvar=False) / len(frame))


def test_a_stratified_mean_by_hand() -> None:
    frame = people()
    found = estimate("mean", "y", frame, strata="s")
    by_stratum = frame.groupby("s")["y"]
    shares = by_stratum.size() / len(frame)
    assert found.se[0] ** 2 == pytest.approx(float((shares**2 * by_stratum.var() / by_stratum.size()).sum()))
    assert found.df_residual == len(frame) - 4


def test_a_cluster_mean_by_hand() -> None:
    """Clusters of equal size: the variance of the mean of their means."""
    frame = people(strata=1, clusters=12)
    means = frame.groupby("c")["y"].mean()
    found = estimate("mean", "y", frame, cluster="c")
    assert found.se[0] ** 2 == pytest.approx(means.var() / 12)
    assert found.df_residual == 11


def test_clusters_alone_are_the_cluster_robust_covariance_of_statsmodels() -> None:
    import statsmodels.formula.api as smf

    frame = people(strata=1, clusters=12)
    fit = smf.ols("y ~ x", frame).fit(cov_type="cluster", cov_kwds={"groups": frame["c"], "use_correction": False})
    found = estimate("ols", "y ~ x", frame, cluster="c")
    np.testing.assert_allclose(found.covariance, fit.cov_params() * 12 / 11, rtol=1e-9)


def test_cluster_numbers_are_nested_in_strata() -> None:
    frame = people()
    unique = frame.assign(c=frame["s"] * 100 + frame["c"])
    for data in (frame, unique):
        assert estimate("mean", "y", data, strata="s", cluster="c").df_residual == 20 - 4
    one, other = (estimate("mean", "y", data, strata="s", cluster="c") for data in (frame, unique))
    np.testing.assert_allclose(one.se, other.se)


@pytest.mark.parametrize(("model", "formula"), [("mean", "y"), ("ols", "y ~ x"), ("logit", "v ~ x"), ("cox", "t ~ x")])
def test_the_jackknife_is_the_brute_force_twin(model: str, formula: str) -> None:
    """Leave each cluster out in turn (JKn) and estimate again: equal to the linearisation up to terms of order 1/n."""
    frame = people(strata=3, clusters=30, size=4)
    frame["t"] = np.random.default_rng(2).exponential(np.exp(-0.5 * frame["x"]))
    linear = estimate(model, formula, frame, weights="w", strata="s", cluster="c")
    full = Analysis.model_validate({"name": "a", "model": model, "formula": formula, "weights": "w"})
    covariance = 0.0
    for _, dropped in frame.groupby(["s", "c"]):
        stratum = frame["s"] == dropped["s"].iloc[0]
        weights = frame["w"].where(~stratum, frame["w"] * 30 / 29)
        weights[dropped.index] = 0.0
        gap = full.estimate(frame.assign(w=weights)).values - linear.values
        covariance = covariance + 29 / 30 * np.outer(gap, gap)
    np.testing.assert_allclose(linear.se, np.sqrt(np.diag(covariance)), rtol=0.05)


def test_incomplete_records_stay_in_the_design() -> None:
    """Dropping them must equal estimating the mean of a domain: their clusters count with a total of zero."""
    frame = people()
    frame.loc[frame["c"] == 0, "y"] = np.nan
    found = estimate("mean", "y", frame, weights="w", strata="s", cluster="c")
    inside = frame["y"].notna().to_numpy()
    weight = frame["w"].to_numpy() * inside
    ratio = np.nansum(weight * frame["y"]) / weight.sum()
    z = np.where(inside, weight * (frame["y"].fillna(0) - ratio) / weight.sum(), 0.0)
    totals = frame.assign(z=z).groupby(["s", "c"])["z"].sum().unstack()
    by_hand = sum(5 / 4 * ((row - row.mean()) ** 2).sum() for _, row in totals.iterrows())
    assert found.se[0] ** 2 == pytest.approx(by_hand)
    assert found.df_residual == 16
    assert found.records == int(inside.sum())


def test_replicates_by_hand() -> None:
    full, others = np.array([1.0, 2.0]), [np.array([1.5, 2.0]), np.array([0.5, 3.0])]
    gaps = np.array([[0.5, 0.0], [-0.5, 1.0]])
    for method, factor in (("brr", 0.5), ("bootstrap", 0.5), ("jk1", 0.5)):
        covariance, df = replicated(full, others, method, None, where="a")
        np.testing.assert_allclose(covariance, factor * gaps.T @ gaps)
        assert df == 1
    scaled, _ = replicated(full, others, "jkn", (0.5, 0.25), where="a")
    np.testing.assert_allclose(scaled, gaps.T @ np.diag([0.5, 0.25]) @ gaps)
    np.testing.assert_allclose(replicated(full, others, "brr", 2.0, where="a")[0], 2 * gaps.T @ gaps)


def test_jackknife_weights_of_a_mean_give_its_closed_form() -> None:
    frame = people(strata=1, clusters=4, size=5)
    n = len(frame)
    weights = np.full((n, n), n / (n - 1)) * (1 - np.eye(n))
    replicates = pd.DataFrame(weights, columns=[f"r{k}" for k in range(n)])
    found = estimate(
        "mean", "y", pd.concat([frame.assign(w=1.0), replicates], axis=1), weights="w", replicate_weights=("r*",),
        replicate_method="jk1",
    )  # fmt: skip
    assert found.se[0] ** 2 == pytest.approx(frame["y"].var() / n)


def test_variances_of_totals() -> None:
    rng = np.random.default_rng(3)
    influence = rng.normal(size=(30, 2))
    design = sample(pd.DataFrame({"i": range(30)}), weights=None, strata=None, cluster=None, where="a")
    covariance, df = linearised(influence, design, where="a")
    np.testing.assert_allclose(covariance, simple(influence))
    np.testing.assert_allclose(covariance, 30 * np.cov(influence, rowvar=False))
    assert df == 29


FAULTS = [
    ({"weights": "text"}, "the weights in 'text' must be numbers."),
    ({"weights": "negative"}, "the weights in 'negative' must be zero or more, found 1 that are missing or not."),
    ({"weights": "gap"}, "the weights in 'gap' must be zero or more, found 2 that are missing or not."),
    ({"weights": "zero"}, "the weights in 'zero' are all zero."),
    ({"weights": "elsewhere"}, "no complete record has a weight above zero."),
    ({"strata": "gap"}, "strata must be known for every record, found 2 missing in 'gap'."),
    ({"cluster": "gap"}, "cluster must be known for every record, found 2 missing in 'gap'."),
    ({"strata": "lonely"}, "1 stratum has a single cluster or record, so no variance can be computed; merge strata."),
    ({"strata": "s", "cluster": "s"}, "4 strata have a single cluster or record"),
    ({"weights": "W"}, "no column named 'W'"),
    ({"weights": "w", "replicate_weights": ["w"], "replicate_method": "brr"}, "need at least 2 columns, found 1."),
    (
        {"weights": "w", "replicate_weights": ["w", "x1"], "replicate_method": "jkn"},
        "jkn needs replicate_scale, (n_h - 1)/n_h of the stratum of each replicate.",
    ),
    (
        {"weights": "w", "replicate_weights": ["w", "x1"], "replicate_method": "jkn", "replicate_scale": [1, 1, 1]},
        "replicate_scale must be one positive number, or 2, one per replicate.",
    ),
]


@pytest.mark.parametrize(("settings", "message"), FAULTS)
def test_bad_designs_are_one_sentence(settings, message) -> None:
    frame = people().assign(text="a", zero=0.0, x1=1.0, gap=1.0, negative=1.0, elsewhere=0.0, lonely=0)
    frame.loc[[3, 9], "gap"] = np.nan
    frame.loc[3, "negative"] = -1.0
    frame.loc[0, ["lonely", "elsewhere"]] = 1
    frame.loc[0, "y"] = np.nan
    with pytest.raises(InputError) as caught:
        estimate("mean", "y", frame, **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "analyses.a: " in str(caught.value)
