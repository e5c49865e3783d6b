"""What every synthesizer and every association model must do.

A synthesizer keeps the schema and the kept columns, repeats itself, and adds copies at the end. A model draws all
replaced columns, repeats itself, and obeys what W says.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from synthdp.imputation.cells import flat
from synthdp.imputation.model import Association, Posterior, Task
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.evidence import Evidence
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Method, Plan
from synthdp.synthesis.sampler import prepare
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import Floats, Microdata, resolve
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


LOUD: Masks = {"age": Gaussian(sd=1e-7), "sex": ShiftedNormal(alpha=60), "smoker": Transition(keep=1 - 1e-15)}
SILENT: Masks = {"age": Gaussian(sd=1e6), "sex": ShiftedNormal(alpha=0), "smoker": Transition(keep=0.5)}
COPIES = 12


def has_nothing_against_the_survey(model: Association) -> None:
    """Check that the model takes numbers, levels and truth values without gaps."""
    assert model.problems(respondents()) == []


def draws_every_replaced_column(model: Association) -> None:
    """Check shapes, bounds and levels of a draw without evidence."""
    plan = planned()
    task, evidence = _asked(model, plan)
    rng = np.random.default_rng(1)
    drawn = model.fit(task, rng=rng).draw(rng=rng).draw(evidence, rng=rng)
    assert set(task.working) <= set(drawn)
    for name in task.working:
        column, values = plan.data.schema[name], drawn[name]
        assert values.shape == (len(plan.data),)
        assert np.isfinite(values).all()
        if column.kind.categorical:
            assert np.isin(values, np.arange(len(column.levels))).all()
        else:
            low, high = task.links[name].limits()
            assert ((values >= low - 1e-9) & (values <= high + 1e-9)).all()


def same_rng_same_draw(model: Association) -> None:
    """Check that a draw depends on the generator, and on nothing else that changes."""
    task, evidence = _asked(model, planned())
    posterior, again = (model.fit(task, rng=np.random.default_rng(3)) for _ in range(2))

    def drawn(fitted: Posterior, seed: int) -> dict[str, Floats]:
        rng = np.random.default_rng(seed)
        return fitted.draw(rng=rng).draw(evidence, rng=rng)

    first, second, other = drawn(posterior, 3), drawn(again, 3), drawn(posterior, 4)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    assert not all((first[name] == other[name]).all() for name in first)


def completes_what_is_known(model: Association) -> None:
    """Check that what is known of the original stays when what does not apply is filled in."""
    task, _ = prepare(planned(), model, 5)
    parameters = model.fit(task, rng=np.random.default_rng(1)).draw(rng=np.random.default_rng(2))
    for name, values in parameters.complete(task, rng=np.random.default_rng(3)).items():
        known = np.isfinite(task.working[name])
        np.testing.assert_array_equal(values[known], task.working[name][known])


def full_information_gives_the_original(model: Association) -> None:
    """Check the first end: a mask that tells everything."""
    plan = planned(LOUD)
    for copy in _with(DaMi, model, copies=2).synthesize(plan, streams=Streams(1)).copies:
        pd.testing.assert_frame_equal(copy, plan.data.frame)


def no_information_is_imputation(model: Association) -> None:
    """Check the other end: a mask that tells nothing gives Rubin's imputation, in mean within four standard errors."""
    masked = _with(DaMi, model, copies=COPIES).synthesize(planned(SILENT), streams=Streams(1)).copies
    rubin = _with(Mi, model, copies=COPIES).synthesize(planned(), streams=Streams(2)).copies
    for name in ("age", "smoker"):
        a, b = (np.array([copy[name].astype(float).mean() for copy in copies]) for copies in (masked, rubin))
        assert abs(a.mean() - b.mean()) < 4 * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / COPIES)


def keeps_what_is_kept(model: Any) -> None:
    """Check that a model of ``method: sequential`` changes replaced columns only, and repeats itself."""
    plan = planned()
    assert model.problems(plan.data) == []
    method = Sequential.model_construct(**{**Sequential().__dict__, "model": model, "copies": 2})
    kept = [column.name for column in plan.data.schema.kept()]
    first, second = (method.synthesize(plan, streams=Streams(7)).copies for _ in range(2))
    for a, b in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(a, b)
        pd.testing.assert_frame_equal(a[kept], plan.data.frame[kept])
        assert (a.dtypes == plan.data.frame.dtypes).all()


def _asked(model: Association, plan: Plan) -> tuple[Task, dict[str, Evidence]]:
    """Return what the model is fitted to, and evidence that says nothing."""
    task, masks = prepare(plan, model, 5)
    return task, {name: flat(mask.target.column, len(plan.data)) for name, mask in masks.items()}


def _with(method: type[DaMi] | type[Mi], model: Any, copies: int) -> DaMi | Mi:
    """Return the method with a model that need not be installed."""
    return method.model_construct(**{**method().__dict__, "model": model, "copies": copies})


MODEL = (
    has_nothing_against_the_survey,
    draws_every_replaced_column,
    same_rng_same_draw,
    completes_what_is_known,
    full_information_gives_the_original,
    no_information_is_imputation,
)
FORWARD_MODEL = (keeps_what_is_kept,)
