"""Pooling is estimating on every copy, then combining; messages say which copy."""

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError, Unfinished
from synthdp.inference.models import likelihood
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import combine
from synthdp.inference.pooling import pool
from synthdp.microdata import resolve
from synthdp.schema import Variable


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
    monkeypatch.setattr(likelihood, "NEWTON_STEPS", 1)
    logit = Analysis(name="sign", model="logit", formula="I(y > 0) ~ x + g")
    with pytest.raises(Unfinished, match=r"^copy 1: analyses.sign: the logit fit did not converge"):
        pool(copies(), logit)
