"""Survey designs against R's survey package 4.1 (values and script in ``survey/``)."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.inference.analyses import Analysis, Estimates

HERE = Path(__file__).parent / "survey"
SAMPLE = pd.read_csv(HERE / "sample.csv")
EXPECTED = pd.read_csv(HERE / "expected.csv", skipinitialspace=True)
DESIGN = {"weights": "w", "strata": "stratum", "cluster": "psu"}


def reference(case: str) -> tuple[np.ndarray, np.ndarray]:
    rows = EXPECTED[EXPECTED["case"] == case]
    return rows["estimate"].to_numpy(float), rows["se"].to_numpy(float)


def found(model: str, formula: str, **settings: object) -> Estimates:
    return Analysis.model_validate({"name": "a", "model": model, "formula": formula, **settings}).estimate(SAMPLE)


def order(estimates: Estimates) -> list[int]:
    """Patsy puts factors before numbers, R keeps the order of the formula."""
    names = list(estimates.names)
    wanted = ["Intercept", "x", "region[T.b]", "region[T.c]"]
    return [names.index(name) for name in wanted if name in names] + [
        k for k, name in enumerate(names) if name not in wanted
    ]


CASES = [
    ("mean", "mean", "y, x", {}),
    ("proportion", "proportion", "region", {}),
    ("count", "count", "region", {}),
    ("ols", "ols", "y ~ x + region", {}),
    ("logit", "logit", "v ~ x + region", {}),
    ("probit", "probit", "v ~ x + region", {}),
    ("poisson", "poisson", "k ~ x + region", {}),
    ("gamma", "gamma", "p ~ x + region", {"link": "log"}),
    ("cox", "cox", "t ~ x + region", {"status": "d"}),
    ("ordered_logit", "ordered_logit", "o ~ x + region", {}),
]


@pytest.mark.parametrize(("case", "model", "formula", "settings"), CASES)
def test_linearised(case: str, model: str, formula: str, settings: dict[str, str]) -> None:
    ours = found(model, formula, **DESIGN, **settings)
    estimate, se = reference(case)
    place = order(ours) if "~" in formula else list(range(len(ours.names)))
    np.testing.assert_allclose(ours.values[place], estimate, rtol=1e-6)
    np.testing.assert_allclose(ours.se[place], se, rtol=1e-6)
    assert ours.df_residual == 16 - 8


def test_weights_alone_and_the_median() -> None:
    ours = found("mean", "x", weights="w")
    np.testing.assert_allclose((ours.values, ours.se), reference("mean without strata"), rtol=1e-10)
    assert ours.df_residual == len(SAMPLE) - 1
    assert found("quantile", "x", probabilities=(0.5,), weights="w").values[0] == reference("quantile")[0][0]


@pytest.mark.parametrize("method", ["jkn", "brr", "jk1", "bootstrap"])
@pytest.mark.parametrize(("model", "formula"), [("mean", "x"), ("logit", "v ~ x + region")])
def test_replicate_weights(method: str, model: str, formula: str) -> None:
    scale = reference(f"{method} scale")[0]
    needed = {"jkn": tuple(scale), "bootstrap": tuple(scale)}
    ours = found(
        model, formula, weights="w", replicate_weights=(f"{method}_*",), replicate_method=method,
        replicate_scale=needed.get(method),
    )  # fmt: skip
    estimate, se = reference(f"{method} {model}")
    place = order(ours) if "~" in formula else [0]
    np.testing.assert_allclose(ours.values[place], estimate, rtol=1e-6)
    np.testing.assert_allclose(ours.se[place], se, rtol=1e-6)
    assert ours.df_residual == len(scale) - 1
