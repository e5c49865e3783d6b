"""Reiter's and Rubin's rules as R's mice has them, to ten digits (``mice/make.R`` makes the files)."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.inference.analyses import Analysis, Estimates
from synthdp.inference.combining import combine

FOLDER = Path(__file__).parent / "mice"
CLOSE = 1e-10
TERMS = {"(Intercept)": "Intercept"}


def test_random_inputs() -> None:
    inputs = pd.read_csv(FOLDER / "inputs.csv")
    expected = pd.read_csv(FOLDER / "scalar.csv").rename(columns={"lambda": "lambda_"})
    assert len(expected) == 120
    for row in expected.itertuples():
        drawn = inputs[inputs["case"] == row.case]
        copies = [
            Estimates(("q",), np.array([q]), np.array([[u]]), None) for q, u in zip(drawn["q"], drawn["u"], strict=True)
        ]
        found = combine(copies, str(row.rule)).table().iloc[0]
        ours = [found["estimate"], found["v_bar"], found["b"], found["se"] ** 2, found["df"]]
        assert ours == pytest.approx([row.estimate, row.ubar, row.b, row.t, row.df], rel=CLOSE)
        if row.rule == "rubin1987":
            assert found["fraction"] == pytest.approx(row.lambda_, rel=CLOSE)


@pytest.fixture(scope="module")
def estimates() -> list[Estimates]:
    copies = pd.read_csv(FOLDER / "copies.csv")
    analysis = Analysis(name="bmi", model="ols", formula="bmi ~ age + hyp + chl")
    return [analysis.estimate(copy) for _, copy in copies.groupby("copy")]


@pytest.mark.parametrize("rule", ["rubin1987", "reiter2003"])
def test_regression(estimates: list[Estimates], rule: str) -> None:
    expected = pd.read_csv(FOLDER / "regression.csv").query("rule == @rule").set_index("term").rename(TERMS)
    found = combine(estimates, rule).table().set_index("term").rename(columns={"p_value": "p"})
    for name in ("estimate", "se", "df", "low", "high", "p"):
        np.testing.assert_allclose(found.loc[expected.index, name], expected[name], rtol=1e-9, err_msg=name)


def test_several_terms_at_once(estimates: list[Estimates]) -> None:
    expected = pd.read_csv(FOLDER / "wald.csv")
    assert len(expected) == 2
    for row in expected.itertuples():
        found = combine(estimates, "rubin1987").wald(str(row.terms).split("+"))
        ours = [found.statistic, found.df1, found.df2, found.p_value]
        assert ours == pytest.approx([row.statistic, row.df1, row.df2, row.p], rel=1e-9)
