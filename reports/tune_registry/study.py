"""What tune finds on the authors' pseudo registry for limits of growing severity, and on data whose model is wrong.

The registry: 595 complete records, age, sex, race and education replaced, copies repaired. The only limit is the share
of people that the strongest intruder finds; it takes the values of a ladder, and every answer is measured afterwards as
reports/registry measures, on draws that the search has not seen. The other part asks for the information in W that a
limit on the mean risk allows, on the grid of reports/tuning.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.cells import Cell, Line, apart
from reports.course.study import SETTINGS as COURSE
from reports.registry.study import OTHERS, REPLACED, UNSEEN, overlaps, patients, risks
from reports.study import Results, Study
from reports.tune_registry.page import draw, page
from reports.tuning.study import MIDDLE, TOLERANCE, N
from synthdp.config import Config, parse
from synthdp.datasets.known_truth import wrong_model
from synthdp.errors import GateRefused
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.seeding import Streams
from synthdp.stages.draws import Draws, beside
from synthdp.stages.intake import prepare
from synthdp.stages.kept_advice import given_settings
from synthdp.stages.planning import plan_of
from synthdp.synthesis.making import repair
from synthdp.table import io
from synthdp.tuning.goals import Goal
from synthdp.tuning.journal import Journal
from synthdp.tuning.space import space_of
from synthdp.tuning.study import tune
from synthdp.tuning.trials import Laboratory

# of people found beyond blind guessing, by the strongest intruder
SHARES = (0.03, 0.045, 0.02, 0.07, 0.1)
DRAWN, BUDGET = 20, "36"
GRID = (1.0, 3.0, 10.0, 30.0, 100.0)
MEAN_RISK, DATA_SETS, TRIED = 0.012, 5, 12
SEED = 20277
FREE = "FreeILD"


def only(**limits: float) -> dict[str, Any]:
    """Return the ``release`` block with these limits and no other."""
    off = {name: None for name in LIMITS if LIMITS[name].judges == "risk" or name == "min_overlap"}
    return {**off, **limits, "draws": TRIED}


def registry_config(share: float) -> Config:
    """Return the registry's config; both probits of the authors are the goal."""
    terms = " + ".join((*REPLACED, *OTHERS))
    unseen = [*UNSEEN, FREE]
    return parse(
        {
            "data": {"path": "in memory"},
            "variables": {**COURSE["variables"], FREE: {"key": False}},
            "synthesis": {"copies": 5, "repair": True, "model": {"method": "regression", "exclude": unseen}},
            "analyses": [
                {"name": "work", "model": "probit", "formula": f"WorkDisabled ~ {terms}"},
                {"name": "ild", "model": "probit", "formula": f"{FREE} ~ {terms}"},
            ],
            "tuning": {"vary": ["masks"], "goal": "analyses", "confirm": TRIED},
            "release": only(max_expected_match_rate=share),
            "seed": SEED,
        }
    )


def front(share: float, *, data: Path, seed: int) -> dict[str, Any]:
    """Tune the registry for one limit, and measure the answer before and after repair."""
    people = patients(data)
    free = people.frame["OneYearILD"].where(people.frame["BaselineILD"] == 0)
    table = io.Table(people.frame.assign(**{FREE: free}))
    config = registry_config(share)
    try:
        found = tune(config, table=table, budget=BUDGET)
    except GateRefused as refused:
        return {"found": None, "why": str(refused)}
    settings = found.settings
    plain = settings.model_copy(update={"synthesis": settings.synthesis.model_copy(update={"repair": False})})
    plan = plan_of(plain, prepare(table.frame, plain))
    rows = []
    for number, made in enumerate(Draws(plain, plan, apart(seed, "front", str(share))).repeat(DRAWN)):
        mended = repair(plan.released, made.copies)
        for repaired, copies in ((False, made.copies), (True, mended.copies)):
            rng = Streams(seed).generator("likelihood", str(share), number)
            links = evaluate_likelihood(beside(plan, replace(made, copies=copies)), rng=rng)
            row = {"repair": repaired, "repaired": mended.touched * repaired, "links": links.expected_links}
            rows.append({**row, **overlaps(people, copies), **risks(people, copies)})
    measured = pd.DataFrame(rows).groupby("repair").agg(["mean", "sem"])
    chosen = found.chosen
    return {
        "found": {
            str(bool(repaired)): {
                name: [round(float(one[(name, "mean")]), 4), round(float(one[(name, "sem")]), 4)]
                for name in measured.columns.get_level_values(0).unique()
            }
            for repaired, one in measured.iterrows()
        },
        "masks": {name: given_settings(mask) for name, mask in settings.masks.items()},
        "by_group": bool(settings.masks_by_group),
        "shape": asdict(chosen.shape),
        "rung": chosen.rung,
        "use": chosen.use,
        "worst": {one.attack: one.value for one in chosen.checks},
        "trials": len(found.trials),
    }


def wrong(number: int, *, seed: int) -> dict[str, Any]:
    """Return the mean risk at every information of the grid, by intruder, and what tune chooses."""
    frame = wrong_model(N, rng=Streams(seed).generator("data", number))
    key = {"role": "replace", "key": True}
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": {
                "x1": {**key, "tolerance": TOLERANCE, "kind": "continuous", "bounds_from": "data"},
                "x2": {**key, "kind": "binary"},
                "z": {"key": False},
                "y": {"key": False},
            },
            "masks": {"x1": {"method": "gaussian", "sd": 1.0}, "x2": {"method": "shifted_normal", "alpha": MIDDLE[1]}},
            "synthesis": {"copies": 3, "model": {"method": "regression"}},
            "release": only(max_mean_individual=MEAN_RISK),
            "tuning": {"vary": ["masks"], "confirm": TRIED},
            "seed": number,
        }
    )
    table, data = io.Table(frame), prepare(frame, config)
    whole = space_of(config, data)
    space = replace(whole, columns=tuple(one for one in whole.columns if one.name == "x1"))
    goal = Goal("panel", plan_of(config, data).released)
    lab = Laboratory(space, frame, (), data, goal, apart(seed, "wrong", number), Journal())
    grid = {}
    for information in GRID:
        # the ladder between its rungs: sd = 1/sqrt(information)
        rung: Any = 4 * np.log2(information**-0.5)
        trial = lab.try_out("grid", space.shape(), rung, draws=TRIED)
        grid[str(information)] = {one.attack: [one.value, one.high] for one in trial.checks}
    found = tune(config, table=table, budget="12")
    masks = {name: given_settings(mask) for name, mask in found.settings.masks.items()}
    return {"grid": grid, "masks": masks, "worst": {one.attack: one.high for one in found.chosen.checks}}


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the limits of the ladder and the data sets, in turns."""
    for number in range(min(count or DATA_SETS, DATA_SETS)):
        yield {"part": "front", "share": SHARES[number], "number": 0}
        yield {"part": "wrong", "share": 0.0, "number": number}


def one_cell(part: str, share: float, number: int, *, data: Path, seed: int) -> dict[str, Any]:
    """Return what one cell finds."""
    return front(share, data=data, seed=seed) if part == "front" else wrong(number, seed=seed)


def gathered(lines: list[Line]) -> Results:
    """Return what the page shows."""
    return {
        "front": sorted((line for line in lines if line["part"] == "front"), key=lambda line: -line["share"]),
        "wrong": [line for line in lines if line["part"] == "wrong"],
    }


STUDY = Study(
    name="tune_registry",
    cells=cells,
    work=partial(one_cell, seed=SEED),
    results=gathered,
    page=page,
    settings={"seed": SEED, "draws": DRAWN, "trials": int(BUDGET), "mean_risk": MEAN_RISK},
    counts=lambda lines: {"cells": len(lines), "asked": len(SHARES) + DATA_SETS},
    draw=draw,
    reads_data=True,
    committed="found.jsonl",
)
