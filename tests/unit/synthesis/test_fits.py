"""Fits that are held: the same only where the same was asked for, with the same randomness."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.auto.model import Auto
from synthdp.imputation.regression.association import Regression
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.fits import Fits
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag


def plan_of(*, sd: float = 1.0, seed: int = 1, n: int = 120) -> Plan:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    frame = pd.DataFrame({"x": z + rng.normal(size=n), "b": rng.choice(["f", "m"], n), "z": z})
    key = {"role": "replace", "key": True}
    data = resolve(frame, {"x": Variable(**key), "b": Variable(**key)})
    return Plan(data, tag(data, Neighbours()), {"x": Gaussian(sd=sd)})


def task_of(plan: Plan):
    return prepare(plan, Auto(), 5)[0]


def test_masks_of_another_strength_have_the_same_fit():
    fits, task = Fits(), task_of(plan_of())
    first = fits.of(Auto(), task, rng=np.random.default_rng(3))
    assert fits.of(Auto(), task_of(plan_of(sd=4.0)), rng=np.random.default_rng(3)) is first
    assert fits.made == 1


@pytest.mark.parametrize(
    ("model", "task", "seed"),
    [
        (Auto(min_leaf=20), task_of(plan_of()), 3),
        (Regression(), task_of(plan_of()), 3),
        (Auto(), task_of(plan_of(seed=2)), 3),
        (Auto(), replace(task_of(plan_of()), sweeps=6), 3),
        (Auto(), task_of(plan_of()), 4),
    ],
    ids=["settings", "model", "records", "sweeps", "randomness"],
)
def test_whatever_a_fit_depends_on_makes_another(model, task, seed):
    fits = Fits()
    first = fits.of(Auto(), task_of(plan_of()), rng=np.random.default_rng(3))
    assert fits.of(model, task, rng=np.random.default_rng(seed)) is not first
    assert fits.made == 2


def test_a_value_of_a_kept_column_makes_another_fit():
    one = plan_of()
    changed = one.data.frame.assign(z=one.data.frame["z"].where(np.arange(120) != 7, 0.5))
    other = replace(one, data=resolve(changed, {name: Variable(role="replace", key=True) for name in ("x", "b")}))
    fits = Fits()
    assert fits.of(Auto(), task_of(one), rng=np.random.default_rng(3)) is not fits.of(
        Auto(), task_of(other), rng=np.random.default_rng(3)
    )


def test_the_oldest_go_where_there_are_too_many_records():
    fits, task = Fits(most=250), task_of(plan_of())
    first = fits.of(Auto(), task, rng=np.random.default_rng(1))
    second = fits.of(Auto(), task, rng=np.random.default_rng(2))
    assert fits.of(Auto(), task, rng=np.random.default_rng(1)) is first
    fits.of(Auto(), task, rng=np.random.default_rng(3))
    assert repr(fits) == "Fits(2 held)"
    assert fits.of(Auto(), task, rng=np.random.default_rng(1)) is first
    assert fits.of(Auto(), task, rng=np.random.default_rng(2)) is not second


def test_copies_are_the_same_with_and_without():
    method, plan, fits = DaMi(copies=2, model=Auto()), plan_of(), Fits()
    alone = method.synthesize(plan, streams=Streams(5))
    for strength in (2.0, 1.0):
        held = method.synthesize(replace(plan_of(sd=strength), fits=fits), streams=Streams(5))
    assert fits.made == 1
    for one, other in zip(alone.copies, held.copies, strict=True):
        pd.testing.assert_frame_equal(one, other)
