"""What a search says of its answer, or of having none: cautions, reasons, why masks are not weaker, shapes in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.config import Config, parse
from synthdp.evaluation.gate import Check
from synthdp.release.register import NAME, Register
from synthdp.stages.intake import prepare
from synthdp.stages.trail import released_before
from synthdp.tuning.blame import reasons
from synthdp.tuning.cautions import cautions
from synthdp.tuning.confirming import Confirmed
from synthdp.tuning.page import render
from synthdp.tuning.result import Tuned
from synthdp.tuning.space import Shape, Space, space_of, told
from synthdp.tuning.trials import VERBATIM, Trial
from synthdp.tuning.writing import settings_text


def people(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.integers(18, 90, n).astype(float), "sex": rng.choice(["f", "m"], n)})


def settings(path: str = "in memory") -> Config:
    keys = {name: {"role": "replace", "key": True} for name in ("age", "sex")}
    masks = {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}}
    return parse({"data": {"path": path}, "variables": keys, "masks": masks, "tuning": {"vary": ["masks"]}})


@pytest.fixture(scope="module")
def space() -> Space:
    return space_of(settings(), prepare(people(), settings()))


def check(high: float = 0.2) -> Check:
    return Check("max_individual", "identity_likelihood", 0.1, 0.33, high <= 0.33, low=0.0, high=high)


def trial(*checks: Check, rung: int = 0, panel: float = 0.8) -> Trial:
    passed = all(one.passed for one in checks)
    return Trial("confirm", Shape((0, 0)), rung, passed, panel, 0.01, {"panel": panel}, checks, 20, 1.0)


def said(space: Space, found: Trial, **more: object) -> str:
    return " ".join(cautions(space, Confirmed(found, ()), **{"trials": 9, "records": 60, **more}))


def test_copies_of_little_use_are_announced(space: Space) -> None:
    assert "Of little use" not in said(space, trial(check()))
    assert "overlap by 41%, less than min_overlap (60%)" in said(space, trial(check(), panel=0.41))


def test_releases_that_are_recorded_already_are_announced(space: Space) -> None:
    assert "recorded" not in said(space, trial(check()))
    assert "1 release is recorded already (last on 2026-01-02)" in said(space, trial(check()), earlier=["2026-01-02"])
    two = said(space, trial(check()), earlier=["2026-01-02", "2025-01-02"])
    assert "2 releases are recorded already (last on 2026-01-02)" in two


def test_shapes_that_were_compared_on_a_part_are_said_to_be(space: Space) -> None:
    assert "compared on 3,000 of 9,000 records" in said(space, trial(check()), records=9000, compared=3000)
    assert cautions(space, Confirmed(None), trials=1, records=60) == ()


def test_earlier_releases_are_looked_up_without_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNTHDP_REGISTER", raising=False)
    config, frame = settings(str(tmp_path / "people.csv")), people()
    assert released_before(config, frame) == ()
    assert list(tmp_path.iterdir()) == []
    data = prepare(frame, config)
    with Register(tmp_path / NAME).session(frame) as held:
        held.record(data, [frame.assign(age=frame["age"].sample(frac=1, random_state=1).to_numpy())], run="a")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / NAME).iterdir()}
    assert len(released_before(config, frame)) == 1
    assert released_before(config, people(50).assign(age=1.5)) == ()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / NAME).iterdir()} == before
    none = config.model_copy(update={"release": config.release.model_copy(update={"recorded_in": "none"})})
    assert released_before(none, frame) == ()


def test_columns_that_nobody_decided_on_are_named_where_nothing_holds() -> None:
    questions = [f"c{i}, which is kept, makes 60 records unique. May an intruder know c{i}?" for i in range(5)]
    found = reasons([trial(check(0.9))], "Masks are not to blame.", questions)
    assert found[2].startswith("Counted as known until somebody decides: c0, which is kept")
    assert found[-2] == "2 more columns counted as known; synthdp check names them."
    assert found[-1] == "Masks are not to blame."


def test_why_masks_are_not_weaker(space: Space, tmp_path: Path) -> None:
    def text(weaker: Trial) -> str:
        found = Tuned(space, (weaker,), trial(check(), rung=2))
        return settings_text(found, tmp_path, Path("in memory"))

    assert "Closest to its limit is max_individual (the person easiest to find 20.00% of 33.00%" in text(
        trial(check(0.5), rung=1)
    ).replace("\n# ", " ")
    copied = trial(check(), Check(VERBATIM, "scan", 2.0, 0.0, False), rung=1)
    assert "weaker masks leave rows or values as they are" in text(copied).replace("\n# ", " ")


def test_a_shape_in_words(space: Space) -> None:
    even = replace(space.shape(), relative=(-2, 0), groups=0)
    assert told(space, even).startswith("age ×0.5, ")
    assert "risky groups ×1.4" in told(space, replace(even, groups=1))


def test_pictures_of_one_point_are_not_drawn(space: Space) -> None:
    one = replace(trial(check()), stage="lambda", shape=replace(space.shape(), copies=3))
    lone = render(Tuned(space, (one, trial(check())), trial(check())))
    assert "Error and risk against the strength" not in lone
    assert "Not drawn, for the budget was spent: error and risk against" in lone
    both = render(Tuned(space, (one, replace(one, rung=4), trial(check())), trial(check())))
    assert "Error and risk against the strength" in both
    assert "Not drawn, for the budget was spent: which column pays." in both
