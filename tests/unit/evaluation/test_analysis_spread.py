"""What single copies and two halves of the original give: the floor under every interval overlap."""

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measures.repeated import spread
from synthdp.evaluation.utility.analyses import SPLITS, spread_of
from synthdp.inference.analyses import Analysis
from synthdp.table.microdata import resolve

OLS = Analysis(name="a", model="ols", formula="y ~ x")


def comparison(seed: int, n: int = 400, **more) -> Comparison:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=n)})
    data = resolve(frame, {})
    other = frame.assign(y=frame["x"] + rng.normal(size=n))
    return Comparison(data.frame, (data.frame, other), data.schema, aligned=True, **more)


def test_the_original_overlaps_itself_and_halves_overlap_as_two_surveys_do():
    found = [spread_of(comparison(seed), OLS, rng=np.random.default_rng(seed)) for seed in range(40)]
    assert all(one["per_copy"][0] == pytest.approx(1.0) for one in found)
    assert all(one["low"] <= one["high"] == pytest.approx(1.0) for one in found)
    # 1 - 1/(z sqrt(pi)); two terms and four splits of one data set hang together, so 40 data sets give the error
    noise = np.array([one["noise"] for one in found])
    expected = 1 - 1 / (1.959964 * np.sqrt(np.pi))
    assert abs(noise.mean() - expected) < 4 * noise.std(ddof=1) / np.sqrt(len(noise))


def test_what_cannot_be_estimated_is_none():
    absent = Analysis(name="a", model="logit", formula="y ~ x")
    found = spread_of(comparison(1), absent, rng=np.random.default_rng(1))
    assert found == {"per_copy": [None, None], "low": None, "high": None, "noise": None}
    assert spread(found) == ""


def test_a_level_that_a_half_lacks_leaves_that_split_out():
    files = comparison(2, n=60)
    frame = files.original.assign(g=["a"] * 59 + ["b"])
    data = resolve(frame, {})
    lone = Comparison(data.frame, (data.frame,), data.schema, aligned=True)
    found = spread_of(lone, Analysis(name="a", model="ols", formula="y ~ C(g)"), rng=np.random.default_rng(1))
    assert found["noise"] is None
    assert found["per_copy"] == [pytest.approx(1.0)]


def test_words():
    assert spread({"low": 0.5, "high": 0.9, "noise": 0.7, "per_copy": []}) == (
        "Single copies overlap by 0.5 to 0.9. Two random halves of the original overlap by 0.7: what a second "
        "survey would give."
    )
    assert SPLITS == 4
