"""What trials of a stage have in common is made once, and only where it is the same."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.config import parse
from synthdp.evaluation.gate import Check
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.tuning.goals import Goal
from synthdp.tuning.journal import Journal
from synthdp.tuning.space import Shape, space_of
from synthdp.tuning.trials import Laboratory, Trial, tells_more

EVEN = Shape(relative=(0, 0))


def laboratory() -> Laboratory:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 120), "sex": rng.choice(["f", "m"], 120)})
    frame["score"] = (0.05 * frame["age"] + rng.normal(size=120)).round(1)
    key = {"role": "replace", "key": True}
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": {"age": {**key, "tolerance": 2}, "sex": key, "score": {"key": False}},
            "masks": {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}},
            "synthesis": {"copies": 2, "model": {"method": "auto"}},
        }
    )
    data = prepare(frame, config)
    return Laboratory(space_of(config, data), frame, (), data, Goal("panel", data), Streams(3), Journal(None))


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        ((EVEN, 2), (EVEN, 2), True),
        ((EVEN, 2), (EVEN, 5), True),
        ((EVEN, 3), (EVEN, 2), False),
        # a step is two rungs
        ((EVEN, 2), (replace(EVEN, relative=(-1, 0)), 4), True),
        ((EVEN, 2), (replace(EVEN, relative=(-1, 0)), 3), False),
        ((EVEN, 2), (replace(EVEN, groups=1), 2), True),
        ((replace(EVEN, groups=1), 2), (EVEN, 2), False),
        ((EVEN, 2), (replace(EVEN, copies=10), 2), True),
        ((EVEN, 2), (replace(EVEN, graded=True), 4), False),
        ((EVEN, 2), (replace(EVEN, model="copula"), 4), False),
        ((EVEN, 2), (replace(EVEN, tails=1), 4), False),
    ],
)
def test_weaker_masks_of_the_same_model_tell_more(first, second, more):
    assert tells_more(first, second) is more


def test_what_is_memorised_is_taken_from_weaker_masks_where_it_was_little():
    lab = laboratory()
    shape = lab.space.shape()
    little, much = (Check("max_memorised", "memorised", value, 0.02, value < 0.02) for value in (0.01, 0.03))
    trial = Trial("explore", shape, 0, True, 0.9, 0.01, {}, (little,), 6, 1.0)
    lab.trials.append(trial)
    assert lab.known("explore", shape, 1) == (little,)
    assert lab.known("explore", shape, -1) == ()
    assert lab.known("refine", shape, 1) == ()
    assert lab.known("confirm", shape, 1) == ()
    lab.trials[:] = [replace(trial, checks=(much,), passed=False)]
    assert lab.known("explore", shape, 1) == ()


def test_a_second_trial_fits_nothing_and_finds_what_it_finds_alone():
    lab, alone = laboratory(), laboratory()
    shape = lab.space.shape()
    first = lab.try_out("explore", shape, 0, draws=2)
    made = lab.fits_of("explore").made
    second = lab.try_out("explore", shape, 2, draws=2)
    assert lab.fits_of("explore").made == made > 2
    assert [one for one in second.checks if one.name == "max_memorised"] == [
        one for one in first.checks if one.name == "max_memorised"
    ]
    other = alone.try_out("explore", shape, 2, draws=2)
    assert second.use == other.use
    assert {one for one in second.checks if one.name != "max_memorised"} == {
        one for one in other.checks if one.name != "max_memorised"
    }


def test_a_confirmation_measures_everything_itself():
    lab = laboratory()
    shape = lab.space.shape()
    lab.try_out("refine", shape, 0, draws=2)
    made = lab.fits_of("refine").made
    found = lab.try_out("confirm", shape, 2, draws=2, place=1)
    assert [one.name for one in found.checks].count("max_memorised") == 1
    assert lab.fits_of("refine").made == made
    assert found.checks
