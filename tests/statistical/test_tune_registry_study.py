"""The study of tune on the pseudo registry: what it asks for, and what its page says of what was found."""

from pathlib import Path
from typing import Any

from reports.tune_registry.page import draw, wanted
from reports.tune_registry.study import GRID, SHARES, STUDY, cells, gathered, registry_config
from synthdp.evaluation.gate.limits import LIMITS


def line(share: float, **after: float) -> dict[str, Any]:
    usual = {"work_mean": 0.98, "ild_mean": 0.96, "copies_expected_3": 6.0, "averaged_expected_3": 12.0, "links": 11.0}
    more = {"averaged_expected_5": 15.0, "repaired": 20.0}
    found = {name: [value, 0.01] for name, value in {**usual, **more, **after}.items()}
    masks = {"Age_raw": {"method": "gaussian", "sd": 0.5}}
    told = {"found": {"False": found, "True": found}, "masks": masks, "by_group": False}
    return {"part": "front", "share": share, "number": 0, **told}


def test_one_limit_is_asked_for_and_copies_are_repaired() -> None:
    config = registry_config(0.02)
    risks = [name for name in LIMITS if LIMITS[name].judges == "risk" and config.limits.limit(name) is not None]
    assert risks == ["max_expected_match_rate"]
    assert config.synthesis.repair
    assert config.tuning.goal == "analyses"
    assert len(list(cells(None))) == len(SHARES) + 5


def test_the_page_says_what_was_not_reached() -> None:
    grid = {f"{one}": {"identity": [one / 1000, one / 900], "other": [one / 500, one / 450]} for one in GRID}
    wrong = {"part": "wrong", "number": 0, "grid": grid, "masks": {"x1": {"sd": 0.3}, "x2": {"alpha": 2.0}}}
    lines = [
        line(0.02),
        line(0.05, links=20.0),
        {"part": "front", "share": 0.01, "found": None, "why": "tune: none"},
        wrong,
    ]
    results = gathered(lines)
    settings = {**STUDY.settings, "cells": 4, "asked": 10}
    page = STUDY.page(results, settings)
    assert "Reached with a limit of 0.02." in page
    assert "* 0.01: tune: none" in page
    assert "| identity | 0.00100 | 0.00300 | 0.01000 | 0.03000 | 0.10000 | 10 |" in page
    assert "| other | 0.00200 | 0.00600 | 0.02000 | 0.06000 | 0.20000 | 3 |" in page
    assert wanted(line(0.05, links=20.0)) == {
        "work": True,
        "ILD": True,
        "averaged": True,
        "copies": True,
        "links": False,
    }
    assert "links not met" in STUDY.page(gathered([line(0.05, links=20.0)]), settings)


def test_the_front_is_drawn(tmp_path: Path) -> None:
    draw(gathered([line(0.02), line(0.05)]), tmp_path)
    assert (tmp_path / "tune_registry.svg").stat().st_size > 1000
