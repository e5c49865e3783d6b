"""What every synthesizer must do: keep the schema and the kept columns, repeat itself, and add copies at the end."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Method, Plan
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, Rules, tag

Masks = Mapping[str, MaskSettings]
CROWD = Neighbours(k=5)


def people(n: int = 400) -> pd.DataFrame:
    """Return a small survey: names with spaces and accents, missing values, texts, truth values and numbers."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "id": [f"person {i}" for i in range(n)],
            "âge <b>": rng.integers(0, 3, n),
            "sex": np.where(z + rng.normal(size=n) > 0, "männlich", "weiblich"),
            "smoker": rng.random(n) < 0.3,
            "age": np.clip(np.round(45 + 8 * z + 10 * rng.normal(size=n)), 18, 90).astype(int),
            "z": np.where(rng.random(n) < 0.1, np.nan, z),
            "region": rng.choice(np.array(["north", "south", None]), n, p=[0.6, 0.35, 0.05]),
        }
    )


def respondents() -> Microdata:
    """Return the survey with age, sex and smoker replaced; age and sex are keys."""
    return resolve(
        people(),
        {
            "id": Variable.model_validate({"role": "drop"}),
            "age": Variable.model_validate({"role": "replace", "key": True, "bounds": (18, 90), "tolerance": 2}),
            "sex": Variable.model_validate({"role": "replace", "key": True}),
            "smoker": Variable.model_validate({"role": "replace"}),
        },
    )


def planned(
    masks: Masks | None = None, by_group: Mapping[str, Masks] | None = None, groups: Neighbours | Rules = CROWD
) -> Plan:
    """Return a plan for the survey."""
    data = respondents()
    return Plan(data, tag(data, groups), masks or {}, by_group or {})


def nothing_is_wrong(method: Method, plan: Plan) -> None:
    """Check that the method accepts the plan."""
    assert method.problems(plan) == []


def schema_is_kept(method: Method, plan: Plan) -> None:
    """Check columns, types, bounds and levels of every copy."""
    release = method.synthesize(plan, streams=Streams(1))
    original = plan.data.frame
    assert len(release.copies) == method.copies
    for copy in release.copies:
        assert list(copy.columns) == list(original.columns)
        assert (copy.dtypes == original.dtypes).all()
        assert copy["age"].between(18, 90).all()
        assert set(copy["sex"]) <= set(original["sex"])


def only_replaced_columns_change(method: Method, plan: Plan) -> None:
    """Check that kept columns are identical, replaced ones are not, and copies differ."""
    copies = method.synthesize(plan, streams=Streams(1)).copies
    kept = [column.name for column in plan.data.schema.kept()]
    for copy in copies:
        pd.testing.assert_frame_equal(copy[kept], plan.data.frame[kept])
        assert (copy["age"] != plan.data.frame["age"]).mean() > 0.5
    assert not copies[0]["age"].equals(copies[1]["age"])


def same_seed_same_release(method: Method, plan: Plan) -> None:
    """Check that a release depends on the seed, and not on the number of jobs."""
    first = method.synthesize(plan, streams=Streams(7)).copies
    second = method.synthesize(plan, streams=Streams(7), jobs=2).copies
    for a, b in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(a, b)
    assert not method.synthesize(plan, streams=Streams(8)).copies[0]["age"].equals(first[0]["age"])


def first_copies_stay(method: Method, plan: Plan) -> None:
    """Check that asking for more copies adds some at the end."""
    few = method.synthesize(plan, streams=Streams(7)).copies
    many = method.model_copy(update={"copies": 4}).synthesize(plan, streams=Streams(7)).copies
    for a, b in zip(few, many[: len(few)], strict=True):
        pd.testing.assert_frame_equal(a, b)


def says_no_value(method: Method, plan: Plan) -> None:
    """Check that what is printed of a release is its size, and that statements on masks have their five parts."""
    release = method.synthesize(plan, streams=Streams(1))
    assert repr(release).startswith("Release(")
    assert "epsilon of the release" not in repr(release)
    parts: set[str] = {"column", "group", "mask", "mu", "statement"}
    assert all(set(row) == parts for row in release.masking)


def margins_are_near(method: Method, plan: Plan) -> None:
    """Check means of eight copies against the original's, within four standard errors."""
    copies = method.model_copy(update={"copies": 8}).synthesize(plan, streams=Streams(3)).copies
    for name in ("age", "smoker"):
        original: Any = plan.data.frame[name].astype(float)
        pooled = np.mean([copy[name].astype(float).mean() for copy in copies])
        assert abs(pooled - original.mean()) < 4 * np.sqrt(2) * original.std() / np.sqrt(len(original))


SYNTHESIZER = (
    nothing_is_wrong,
    schema_is_kept,
    only_replaced_columns_change,
    same_seed_same_release,
    first_copies_stay,
    says_no_value,
    margins_are_near,
)
