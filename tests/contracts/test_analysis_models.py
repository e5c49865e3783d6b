"""Every model of an analysis keeps the contract of analyses."""

import numpy as np
import pandas as pd
import pytest

from synthdp.inference.analyses import Analysis
from synthdp.inference.models.fit import MODELS
from synthdp.testing import ANALYSIS

FORMULAS = {
    "mean": "y", "quantile": "y", "proportion": "g", "table": "g, v", "count": "g", "correlation": "x, y",
    "ols": "y ~ x", "wls": "y ~ x", "gaussian": "y ~ x", "logit": "v ~ x", "probit": "v ~ x", "binomial": "v ~ x",
    "poisson": "k ~ x", "negative_binomial": "k ~ x", "gamma": "p ~ x", "inverse_gaussian": "p ~ x",
    "tweedie": "p ~ x", "multinomial": "m ~ x", "ordered_logit": "o ~ x", "ordered_probit": "o ~ x", "cox": "t ~ x",
}  # fmt: skip
MORE = {
    **{model: {"link": "log"} for model in ("gamma", "inverse_gaussian", "tweedie")},
    "cox": {"status": "d"},
    "wls": {"weights": "one"},
}
# quantiles of repeated records may lie between two equal ones
UNWEIGHTED = ("quantile",)


def respondents(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "y": 1 + x + rng.normal(size=n),
            "v": (x + rng.normal(size=n) > 0).astype(int),
            "k": rng.poisson(np.exp(0.5 + 0.3 * x + 0.8 * rng.normal(size=n))),
            "p": rng.gamma(2, np.exp(0.2 * x) / 2) + 0.1,
            "g": rng.choice(["a", "b", "c"], n),
            "m": np.array(["r", "s", "t"])[np.clip(np.round(x + rng.normal(size=n)), -1, 1).astype(int) + 1],
            "o": np.clip(np.round(x + rng.normal(size=n)), -1, 1).astype(int) + 1,
            "t": rng.exponential(np.exp(-0.4 * x)),
            "d": (rng.random(n) < 0.8).astype(int),
            "one": 1.0,
        }
    )


def test_every_model_is_covered():
    assert set(FORMULAS) == set(MODELS)


@pytest.mark.parametrize("model", FORMULAS)
@pytest.mark.parametrize("check", ANALYSIS)
def test_analysis(check, model):
    if model in UNWEIGHTED and check.__name__ == "weight_of_two_is_a_record_twice":
        pytest.skip("weights that fall on a quantile")
    check(Analysis(name="a", model=model, formula=FORMULAS[model], **MORE.get(model, {})), respondents())
