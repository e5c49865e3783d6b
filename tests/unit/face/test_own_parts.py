"""Masks, models and synthesizers of classes that are registered nowhere, given as objects where a config has names."""

import warnings
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import synthdp
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.imputation.model import Association
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.forward import NormLogit
from synthdp.masking.categorical import ShiftedNormal, ShiftedNormalMask
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.law import LevelMask
from synthdp.synthesis.plan import Method, Release
from synthdp.testing import BINARY, MASK, NUMBER
from synthdp.testing.masks import target

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {"age": RNG.normal(50, 10, 60).round(1), "sex": RNG.choice(["f", "m"], 60), "y": RNG.normal(size=60)}
)
VARIABLES = {name: {"role": "replace", "key": True} for name in ("age", "sex")}
MASKS = {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.5}}


class Shifted(LevelMask):
    """The shifted normal again, by its law alone."""

    method: Literal["shifted"] = "shifted"
    alpha: float

    def draw(self, x, levels, *, rng):
        return self.alpha * x + rng.standard_normal(len(x))

    def log_likelihood(self, w, x, levels):
        return -0.5 * (w - self.alpha * x) ** 2 - 0.5 * np.log(2 * np.pi)


class Borrowed(Association):
    """A regression under a name that nobody knows."""

    method: Literal["borrowed"] = "borrowed"

    def fit(self, task, *, rng):
        return Regression().fit(task, rng=rng)


class Same(Method):
    """Hands out the original, so that anybody can see what came through."""

    method: Literal["same"] = "same"
    copies: int = 2
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: bool = False

    def synthesize(self, plan, *, streams, jobs=1, advance=None):
        return Release.of(self, plan, [plan.data.frame.copy() for _ in range(self.copies)], seconds={})


def made(**blocks):
    settings = {"variables": VARIABLES, "masks": MASKS, "synthesis": {"copies": 2, "sweeps": 3}} | blocks
    return synthdp.synthesize(FRAME, settings, seed=3)


@pytest.mark.parametrize("check", MASK)
def test_a_mask_made_of_its_law_keeps_the_contract(check):
    check(Shifted(alpha=1.2), BINARY)


def test_what_w_says_follows_from_the_law():
    w = np.array([-1.0, 0.3, 2.0, np.nan])
    found = Shifted(alpha=1.2).bind(target(BINARY, 4)).evidence(w).log_weights
    twin = ShiftedNormalMask(1.2, 2).evidence(w).log_weights
    np.testing.assert_allclose(np.diff(found, axis=1), np.diff(twin, axis=1), atol=1e-12)
    np.testing.assert_array_equal(found[3], 0)


def test_a_mask_of_ones_own_gives_the_copies_of_its_twin():
    own = made(masks=MASKS | {"sex": Shifted(alpha=1.5)})
    for mine, ours in zip(own, made(masks=MASKS | {"sex": ShiftedNormal(alpha=1.5)}), strict=True):
        assert_frame_equal(mine, ours)


def test_nothing_is_claimed_of_it_and_it_is_described():
    mask = Shifted(alpha=1.5)
    assert mask.event(target(BINARY)).statement() == "Nothing formal is claimed: nothing was shown of the mask shifted."
    assert mask.describe() == "shifted, alpha 1.5"
    assert mask.suits(NUMBER) == "shifted masks columns with levels, this one is continuous"
    assert mask.wider(2.0, 2) is mask


def test_a_law_that_is_not_written_is_not_made_up():
    bound = LevelMask().bind(target(BINARY, 2))
    for call in (lambda: bound.draw(np.zeros(2), rng=RNG), lambda: bound.evidence(np.zeros(2))):
        with pytest.raises(NotImplementedError):
            call()


def test_a_model_of_ones_own_gives_the_copies_of_its_twin():
    own = made(synthesis={"model": Borrowed(), "copies": 2, "sweeps": 3})
    for mine, ours in zip(own, made(), strict=True):
        assert_frame_equal(mine, ours)


def test_a_model_that_says_nothing_of_gaps_refuses_them():
    with pytest.raises(
        InputError, match=r"variables\.age: model borrowed needs complete replaced columns, found 1 miss"
    ):
        synthdp.synthesize(
            FRAME.assign(age=FRAME["age"].where(FRAME.index > 0)),
            {"variables": VARIABLES, "masks": MASKS, "synthesis": {"model": Borrowed()}},
        )
    dates = FRAME.assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(FRAME.index, unit="D"))
    day = {"day": {"kind": "date", "role": "replace"}}
    with pytest.raises(InputError, match=r"variables\.day: model borrowed cannot replace it; set role: keep\."):
        synthdp.synthesize(dates, {"variables": VARIABLES | day, "masks": MASKS, "synthesis": {"model": Borrowed()}})


def test_a_synthesizer_of_ones_own():
    assert_frame_equal(made(masks={}, synthesis=Same())[1], FRAME, check_dtype=False)


def test_settings_with_objects_are_written_as_words():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = parse({"data": {"path": "x.csv"}, "masks": {"sex": Shifted(alpha=1.5), "age": Gaussian(sd=2)}})
        words = config.model_dump(mode="json")["masks"]
    assert words["sex"] == {"method": "shifted", "alpha": 1.5}
    assert words["age"]["method"] == "gaussian"


def test_a_study_goes_on_only_while_a_part_does_what_it_did(tmp_path):
    def study(shift):
        class Moved(Shifted):
            method: Literal["moved"] = "moved"

            def draw(self, x, levels, *, rng):
                return self.alpha * x + shift + rng.standard_normal(len(x))

        methods = {"own": {"synthesis": {"method": "da_mi"}, "masks": MASKS | {"sex": Moved(alpha=1.5)}}}
        settings = {
            "variables": VARIABLES,
            "synthesis": {"copies": 2, "sweeps": 2},
            "evaluation": {"utility": [], "risk": []},
        }
        synthdp.compare(FRAME, methods, settings, seeds=1, measures=[lambda frame, copies: 1.0], out=tmp_path)
        return len(list((tmp_path / "cells").iterdir()))

    assert [study(0.0), study(0.0), study(5.0)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (
            {"masks": {"age": Regression()}},
            "masks.age: an object of class Regression does not belong here: it lacks bind",
        ),
        ({"masks": {"age": Shifted(alpha=1)}}, "masks.age: shifted masks columns with levels, this one is continuous"),
        (
            {"synthesis": Gaussian(sd=1)},
            "synthesis: an object of class Gaussian does not belong here: it lacks problems",
        ),
        ({"synthesis": {"model": NormLogit()}}, "synthesis.model: an object of class NormLogit does not belong here."),
        (
            {"synthesis": {"method": "sequential", "model": Borrowed()}},
            "synthesis.model: an object of class Borrowed does not belong here: it lacks prepare",
        ),
    ],
)
def test_an_object_in_the_wrong_place_is_told_what_it_lacks(blocks, said):
    with pytest.raises(InputError) as caught:
        made(**blocks)
    assert str(caught.value).startswith(said)
