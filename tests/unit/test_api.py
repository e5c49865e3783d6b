"""The verbs in Python say what the command line says."""

import json

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp import pipeline
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.evaluation.gate import Thresholds
from synthdp.release.metrics import json_text

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


def test_tab_completion_shows_what_can_be_used():
    assert {"read", "synthesize", "pool", "evaluate", "datasets", "dp", "privacy"} <= set(dir(synthdp))
    assert all(hasattr(synthdp, name) for name in dir(synthdp))
    assert {"Ledger", "Simulated", "accounting", "events", "mechanisms", "tradeoff"} <= set(dir(synthdp.privacy))
    assert all(hasattr(synthdp.privacy, name) for name in dir(synthdp.privacy))
    assert synthdp.privacy.accounting.accountants.cost(synthdp.privacy.events.Pure(1.0)).epsilon == 1.0
    with pytest.raises(AttributeError, match="no attribute 'budget'"):
        synthdp.privacy.budget  # noqa: B018


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'tuning_'"):
        _ = synthdp.tuning_


# whatever the design: gaps, dates, whole numbers, levels that look like numbers, two stages, one mask for all copies
SEED = 2**90 + 1
DESIGNS = {
    "completed originals": {"method": "da_mi", "copies": 2, "imputations": 2, "missing": "impute", "sweeps": 5},
    "one mask": {"method": "da_mi", "copies": 3, "mask_draw": "once", "sweeps": 5},
    "repaired": {"method": "da_mi", "copies": 2, "sweeps": 5, "repair": True},
    "trees": {"method": "sequential", "model": {"method": "cart"}, "copies": 2},
}


def survey(n: int = 160) -> pd.DataFrame:
    draw = np.random.default_rng(2)
    frame = people(n).assign(
        code=draw.choice(["01", "02", "10"], n),
        born=pd.Timestamp("1950-01-01") + pd.to_timedelta(draw.integers(0, 9000, n), unit="D"),
        kids=draw.poisson(1.5, n).astype(float),
    )
    frame["y"] = frame["y"].round(3)
    frame.loc[draw.choice(n, 10, replace=False), "kids"] = np.nan
    return frame


@pytest.mark.parametrize("design", DESIGNS)
def test_run_and_both_ways_to_evaluate_give_the_same_numbers(tmp_path, design):
    frame = survey()
    frame.to_csv(tmp_path / "data.csv", index=False)
    # a regression replaces columns with gaps in completed originals only
    kids = {"kind": "count", "role": "keep" if design in ("one mask", "repaired") else "replace"}
    settings = SETTINGS | {
        "data": {"path": str(tmp_path / "data.csv"), "dates": {"born": "%Y-%m-%d"}},
        "variables": SETTINGS["variables"] | {"kids": kids, "code": {"kind": "nominal"}},
        "synthesis": DESIGNS[design],
        "release": dict.fromkeys(Thresholds.model_fields),
    }
    if design == "trees":
        settings |= {"masks": {}}
    made = pipeline.run(parse(settings | {"seed": SEED}), out=tmp_path / "run")
    rows = {"evaluation": {"rows": str(tmp_path / "run" / "confidential" / "rows.parquet")}}
    read = pipeline.evaluate(parse(settings | rows), synthetic=[tmp_path / "run"], out=tmp_path / "files")
    in_memory = synthdp.evaluate(frame, synthdp.synthesize(frame, settings, seed=SEED), settings)

    def exactly(metrics, part):
        # what only the run knows: how risky the copies were before repair
        return json.loads(json_text({key: value for key, value in metrics[part].items() if key != "repair"}))

    for part in ("utility", "risk"):
        assert exactly(read.metrics, part) == exactly(made.metrics, part)
        assert exactly(in_memory, part) == exactly(made.metrics, part)
