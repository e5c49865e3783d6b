"""Pooling is estimating on every copy, then combining; messages say which copy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.errors import InputError, Unfinished
from synthdp.inference import pooling
from synthdp.inference.analyses import Analysis, Estimates
from synthdp.inference.combining import combine
from synthdp.inference.models import generalised
from synthdp.inference.pooling import pool
from synthdp.inference.variances import Sample, linearised
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable


def copies(m: int = 3, n: int = 60) -> list[pd.DataFrame]:
    rng = np.random.default_rng(5)
    return [
        pd.DataFrame({"y": rng.normal(size=n), "x": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})
        for _ in range(m)
    ]


OLS = Analysis(name="trend", model="ols", formula="y ~ x + g")


def test_pool_is_estimate_then_combine() -> None:
    files = copies()
    pooled, expected = pool(files, OLS), combine([OLS.estimate(file) for file in files])
    pd.testing.assert_frame_equal(pooled.table(), expected.table())
    assert str(pooled).splitlines()[0] == "trend: ols y ~ x + g, n = 60"


def test_rule_of_the_analysis_wins_over_the_default() -> None:
    files = copies()
    assert pool(files, OLS).rule == "reiter2003"
    assert pool(files, OLS, default_rule="rubin1987").rule == "rubin1987"
    assert pool(files, OLS.model_copy(update={"rule": "mean_se"}), default_rule="rubin1987").rule == "mean_se"


def test_level_and_schema_reach_the_estimates() -> None:
    files = copies()
    schema = resolve(files[0], {"g": Variable(levels=("b", "a"))}).schema
    narrow, wide = pool(files, OLS, schema=schema, level=0.5), pool(files, OLS, schema=schema, level=0.99)
    assert narrow.names == ("Intercept", "g[T.a]", "x")
    assert (narrow.high - narrow.low < wide.high - wide.low).all()


def test_messages_say_which_copy() -> None:
    files = copies()
    with pytest.raises(InputError, match=r"^copy 2: analyses.trend: no column named 'x'.$"):
        pool([files[0], files[1].drop(columns="x")], OLS)
    with pytest.raises(InputError, match=r"^analyses.trend: copy 3: the term 'g\[T.b\]' of copy 1 is not there"):
        pool([*files[:2], files[2].assign(g="a")], OLS)
    with pytest.raises(InputError, match=r"^analyses.trend: rule: reiter2003 needs at least 2 copies, found 1"):
        pool(files[:1], OLS)
    with pytest.raises(InputError, match=r"^analyses.trend: needs at least one copy, found none.$"):
        pool([], OLS)


def test_an_unfinished_fit_stays_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalised, "NEWTON_STEPS", 1)
    logit = Analysis(name="sign", model="logit", formula="I(y > 0) ~ x + g")
    with pytest.raises(Unfinished, match=r"^copy 1: analyses.sign: the logit fit did not converge"):
        pool(copies(), logit)


def test_few_clusters_widen_the_interval() -> None:
    files = [file.assign(c=np.arange(60) // 10) for file in copies()]
    clustered = Analysis(name="mean", model="mean", formula="y", cluster="c")
    plain = combine([clustered.estimate(file) for file in files])
    pooled = pool(files, clustered)
    assert pooled.se == pytest.approx(plain.se)
    share = float(plain.v_bar[0] / plain.se[0] ** 2)
    assert pooled.df[0] == pytest.approx(1 / (1 / plain.df[0] + share**2 / 5))
    low, high = stats.t.interval(0.95, pooled.df[0], plain.estimate[0], plain.se[0])
    assert (pooled.low[0], pooled.high[0]) == pytest.approx((low, high))
    assert pooled.p_value[0] == pytest.approx(2 * stats.t.sf(abs(plain.estimate[0]) / plain.se[0], pooled.df[0]))


def test_intervals_of_few_clusters_cover() -> None:
    """Four strata of two clusters: nominal 0.95 covers with the design's degrees of freedom, and not without them."""
    rng, runs, hits = np.random.default_rng(9), 4000, np.zeros(2)
    design = Sample(None, np.repeat(np.arange(4), 2), np.arange(8))
    for _ in range(runs):
        # totals of eight clusters; the copies draw them anew around what the original has
        original = rng.normal(size=8)
        found = []
        for _ in range(3):
            copy = original + rng.normal(0, 0.2, 8)
            covariance, df = linearised(copy[:, None] / 8, design, where="mean")
            found.append(Estimates(("mean",), np.array([copy.mean()]), covariance, df))
        plain = combine(found)
        right = pooling._with_design_df(plain, 4.0)
        hits += [right.low[0] <= 0 <= right.high[0], plain.low[0] <= 0 <= plain.high[0]]
    error = 4 * np.sqrt(0.95 * 0.05 / runs)
    assert abs(hits[0] / runs - 0.95) < error
    assert hits[1] / runs < 0.90
