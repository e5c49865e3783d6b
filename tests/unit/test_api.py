"""The verbs in Python say what the command line says."""

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp.errors import InputError

SETTINGS = {
    "variables": {"age": {"role": "replace", "key": True, "tolerance": 2}, "sex": {"role": "replace", "key": True}},
    "masks": {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}},
    "synthesis": {"copies": 3},
    "analyses": [{"name": "trend", "model": "ols", "formula": "y ~ age + C(sex)"}],
}


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, n)
    return pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "y": 0.1 * age + rng.normal(size=n)})


def test_the_verbs_work_together():
    frame = people()
    release = synthdp.synthesize(frame, SETTINGS, seed=1)
    assert [list(copy.columns) for copy in release.copies] == [["age", "sex", "y"]] * 3
    pooled = synthdp.pool(release.copies, model="ols", formula="y ~ age + C(sex)")
    found = synthdp.evaluate(frame, release.copies, SETTINGS)
    terms = found["utility"]["analyses"][0]["terms"]
    assert terms[1]["synthetic"]["estimate"] == pytest.approx(pooled.estimate[pooled.names.index(terms[1]["term"])])
    assert {"identity", "identity_averaged", "original"} <= set(found["risk"])
    assert found["risk"]["identity"]["per_group"]
    assert isinstance(found["gate"]["passed"], bool)


def test_a_seed_repeats_and_no_seed_does_not():
    frame = people()
    one, two = (synthdp.synthesize(frame, SETTINGS, seed=5).copies[0] for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert not synthdp.synthesize(frame, SETTINGS).copies[0]["age"].equals(one["age"])


def test_copies_that_do_not_fit_are_named():
    frame = people()
    with pytest.raises(InputError, match="copy 2: lacks the columns sex"):
        synthdp.evaluate(frame, [frame, frame.drop(columns="sex")], SETTINGS)
    with pytest.raises(InputError, match=r"copy 1: evaluation.rows is aligned, so 200 rows are required, found 10"):
        synthdp.evaluate(frame, [frame.head(10)], SETTINGS)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'tune'"):
        _ = synthdp.tune
