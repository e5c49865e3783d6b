"""The study of what tune promises: its judgements are those of the gate, its interval covers, its page says it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.tune_holds import judging
from reports.tune_holds.files import FAMILIES, KEY, N, file_of
from reports.tune_holds.judging import COUNT, Recording, assembled, judgements
from reports.tune_holds.study import STUDY, cells
from reports.tune_holds.summing import over_files, summary
from reports.tune_holds.working import Desk, grid
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate.inquiry import MEANS
from synthdp.seeding import Streams
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge
from synthdp.stages.judging import over_draws
from synthdp.stages.planning import plan_of

RESULTS = Path(__file__).parents[2] / "reports" / "tune_holds" / "results.json"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_file_has_a_law_of_its_own_and_three_replaced_keys(family: str) -> None:
    (first, said), (second, _) = (file_of(family, number, seed=1) for number in (0, 1))
    assert len(first) == len(second) == N
    assert not first.equals(second)
    assert first.equals(file_of(family, 0, seed=1)[0])
    assert sum(KEY.items() <= one.items() for one in said.values()) == 3
    assert not first.isna().any(axis=None)


def test_cells_take_turns_between_families_and_oracles_come_last() -> None:
    asked = cells()
    assert len(asked) == 141
    assert [one["family"] for one in asked[:3]] == list(FAMILIES)
    assert {one["part"] for one in asked[120:]} == {"oracle"}


@pytest.mark.slow
def test_a_judgement_from_the_pool_is_the_one_the_gate_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty draws of one seed, asked as the gate asks and put together from what was remembered."""
    desk = Desk.of("people", 1, seed=1)
    config = desk.space.config_of(desk.space.shape(), 8)
    plan = plan_of(config, desk.data)
    draws = Draws(config, plan, Streams(5))
    theirs = judge(draws, count=COUNT, looks=1)
    recording = Recording(config.limits, config.request())
    blank = Comparison(plan.released.frame, (), plan.released.schema, aligned=True)
    over_draws(recording, draws, blank=blank, earlier=(), count=COUNT, looks=1)
    mine = assembled(recording, 0, Streams(6))
    gate = {(one.name, one.attack): one for one in theirs.verdict.checks if one.name not in (*MEANS, "max_memorised")}
    ours = {(one.name, one.attack): one for one in mine.checks if one.name not in MEANS}
    if mine.draws == COUNT:
        assert {key: one.deciding for key, one in ours.items()} == {
            key: one.deciding for key, one in gate.items() if key in ours
        }
        assert {name for name, _ in gate} - {name for name, _ in ours} <= {"max_exposed"}
    # a pool of two dozen draws, one set of halves: as many judgements, each with what rests on no draws
    monkeypatch.setattr(judging, "HALVED", 1)
    found = judgements(config, plan, Streams(7), pool=20)
    assert len(found) == 20
    assert all({"max_memorised", "max_exposed", "max_individual"} <= {c.name for c in one.checks} for one in found)


def test_the_grid_of_the_oracle_holds_what_tune_begins_with() -> None:
    space = Desk.of("clinic", 0, seed=1).space
    found = grid(space)
    assert set(space.starts()) <= set(found)
    assert len(found) == len(set(found)) >= 7


def test_the_interval_over_files_covers_where_files_differ() -> None:
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        chances = rng.beta(19, 1, 60)
        held = rng.binomial(20, chances)
        low, high = over_files(list(held), [20] * 60)
        assert low is not None
        assert high is not None
        covered.append(low <= 0.95 <= high)
    assert 0.93 < np.mean(covered) < 0.98
    assert over_files([20], [20]) == (None, None)


def test_what_the_cells_come_to() -> None:
    said = {"family": "people", "number": 0}
    tune = {**said, "part": "tune", "shape": {}, "rung": 4, "use": 0.8, "binding": "max_individual", "draws": 9}
    fresh = {"part": "fresh", "held": [True, False], "beyond": {"max_individual by identity": 1}, "ratios": [0.9, 1.1]}
    oracle = {"part": "oracle", "tuned_use": 0.78, "oracle_use": 0.8, "oracle_rung": 3}
    found = summary([{**tune, "seconds": 1.0}, {**said, **fresh, "seconds": 1.0}, {**said, **oracle, "seconds": 1.0}])
    assert (found["all"]["held"], found["all"]["judged"], found["all"]["below"]) == (1, 2, 1)
    assert found["files"][0]["gap"] == 0.025
    assert found["oracle"]["weaker"] == 1
    assert "1 of 2" in STUDY.page(found, {**STUDY.settings, "cells": 3, "asked": 141})


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    if not RESULTS.exists():
        pytest.skip("reports/tune_holds/results.json is not there yet: run python -m reports tune_holds")
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    return found
