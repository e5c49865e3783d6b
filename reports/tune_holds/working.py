"""What the cells of the study find: a tuned file, one judgement of it on fresh draws, an oracle's answer.

A *fresh draw* is one judgement by the gate of the tuned mechanism, as ``synthdp run`` makes it, on draws that the
search has not seen (``judging``).
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from reports.cells import Line, apart
from reports.tune_holds.files import file_of
from reports.tune_holds.judging import judgements
from synthdp.config import Config, parse
from synthdp.errors import GateRefused
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.table import io
from synthdp.table.microdata import Microdata
from synthdp.tuning.confirming import beyond, level_for
from synthdp.tuning.goals import Goal, Watched
from synthdp.tuning.journal import Journal
from synthdp.tuning.rays import HIGHEST, LOWEST, Seen, find_border
from synthdp.tuning.space import Shape, Space, space_of
from synthdp.tuning.strengths import usual_masks
from synthdp.tuning.study import tune
from synthdp.tuning.trials import DEAR, Laboratory, Trial, ratio_of

BUDGET, HOLDS = "20", 0.95
# draws of the oracle: at a grid point, at the borders that count, and of usefulness
COARSE, FINE, USES = 12, 100, 30
FINAL = 60
LINES = "found.jsonl"
Found = dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """A file with its config and all candidates."""

    config: Config
    table: io.Table
    data: Microdata
    space: Space

    @classmethod
    def of(cls, family: str, number: int, *, seed: int) -> "Desk":
        """Return the desk of one file: masks are varied, three copies, `auto`, limits as they are by default."""
        frame, variables = file_of(family, number, seed=seed)
        config = parse(
            {
                "data": {"path": "in memory"},
                "variables": variables,
                "synthesis": {"copies": 3, "model": {"method": "auto"}},
                "tuning": {"vary": ["masks"], "holds": HOLDS},
                "seed": int(Streams(seed).generator("tune", family, number).integers(2**62)),
            }
        )
        table = io.Table(frame)
        data = prepare(frame, config)
        config = config.model_copy(update={"masks": usual_masks(data)})
        return cls(config, table, data, space_of(config, data))

    def settled(self, answer: Found) -> Config:
        """Return the config of an answer."""
        return self.space.config_of(_shape(answer), answer["rung"])


def _shape(answer: Found) -> Shape:
    return Shape(**{**answer["shape"], "relative": tuple(answer["shape"]["relative"])})


def tuned(family: str, number: int, *, seed: int) -> Found:
    """Tune a file; ``shape`` is None where nothing holds."""
    desk, began = Desk.of(family, number, seed=seed), time.process_time()
    try:
        found = tune(desk.config, table=desk.table, budget=BUDGET)
    except GateRefused as refused:
        return {"shape": None, "why": str(refused).splitlines()[:2], "seconds": _seconds(began)}
    chosen = found.chosen
    return {
        "shape": asdict(chosen.shape),
        "rung": chosen.rung,
        "use": round(chosen.use, 4),
        "binding": found.binding(),
        "ratio": round(chosen.ratio, 3),
        "trials": len(found.trials),
        "draws": sum(one.draws for one in found.trials),
        "confirmations": sum(one.stage == "confirm" for one in found.trials),
        "seconds": _seconds(began),
    }


def judged(desk: Desk, answer: Found, *, seed: int, family: str, number: int) -> Found:
    """Return the judgements of an answer on fresh draws."""
    config, began = desk.settled(answer), time.process_time()
    found = judgements(config, plan_of(config, desk.data), apart(seed, "fresh", family, number))
    nearest = [max(one.checks, key=ratio_of) for one in found]
    beyond_it = Counter(f"{c.name} by {c.attack}" for one in found for c in one.checks if not c.passed)
    return {
        "held": [one.passed for one in found],
        "beyond": dict(beyond_it.most_common()),
        "nearest": dict(Counter(one.name for one in nearest).most_common()),
        "ratios": [round(min(ratio_of(one), 9.0), 3) for one in nearest],
        "draws": [one.draws for one in found],
        "overlap": round(float(np.mean([one.overlap for one in found])), 4),
        "seconds": _seconds(began),
    }


def oracle(desk: Desk, answer: Found, *, seed: int, family: str, number: int) -> Found:
    """Return how useful the best of a fine grid is, beside the tuned answer under the same noise.

    For every shape the weakest strength on the ladder that holds is found from a few draws; from the most useful of
    those on, many draws decide, and masks are made stronger, or weaker, until the border is certain.
    """
    began = time.process_time()
    plan = plan_of(desk.config, desk.data)
    lab = Laboratory(
        space=desk.space,
        frame=desk.table.frame,
        unread=(),
        data=desk.data,
        goal=Goal(desk.config.tuning.goal, plan.released),
        streams=apart(seed, "oracle", family, number),
        journal=Journal(),
    )
    level = level_for(COARSE, HOLDS, final=FINAL)
    borders: list[tuple[float, Shape, int]] = []
    for shape in grid(desk.space):

        def look(rung: int, shape: Shape = shape) -> Seen:
            trial = lab.try_out("coarse", shape, rung, draws=COARSE, off=DEAR, level=level)
            return Seen(trial.passed, trial.use)

        border = find_border(look, guess=answer["rung"], lowest=LOWEST, highest=HIGHEST, stride=2)
        if border.rung is not None:
            borders.append((use_of(desk, lab, shape, border.rung), shape, border.rung))
    tuned_use = use_of(desk, lab, _shape(answer), answer["rung"])
    best: tuple[float, Shape, int] | None = None
    for use, shape, rung in sorted(borders, key=lambda one: -one[0]):
        if best is not None and use <= best[0]:
            break
        certain = _certain(lab, shape, rung)
        if certain is not None:
            held = (use if certain == rung else use_of(desk, lab, shape, certain), shape, certain)
            best = held if best is None or held[0] > best[0] else best
    return {
        "tuned_use": round(tuned_use, 4),
        "oracle_use": None if best is None else round(best[0], 4),
        "oracle_shape": None if best is None else asdict(best[1]),
        "oracle_rung": None if best is None else best[2],
        "points": sum(one.stage == "coarse" for one in lab.trials),
        "draws": sum(one.draws for one in lab.trials),
        "seconds": _seconds(began),
    }


def grid(space: Space) -> list[Shape]:
    """Return the discrete shapes: those that tune begins with, and every column an octave weaker and stronger."""
    even = space.shape()
    found = list(space.starts())
    for place in range(len(even.relative)):
        for step in (-2, 2):
            relative = tuple(step if at == place else 0 for at in range(len(even.relative)))
            found.append(replace(even, relative=relative))
    return list(dict.fromkeys(found))


def _certain(lab: Laboratory, shape: Shape, rung: int) -> int | None:
    """Return the weakest strength, from about a rung, that holds on many draws."""

    def look(at: int) -> Seen:
        trial: Trial = lab.try_out("fine", shape, at, draws=FINE)
        return Seen(trial.passed and not beyond(trial, HOLDS, final=FINAL), trial.use)

    return find_border(look, guess=rung, stride=1).rung


def use_of(desk: Desk, lab: Laboratory, shape: Shape, rung: int) -> float:
    """Return usefulness over draws that all candidates share, nothing attacked."""
    config = desk.space.config_of(shape, rung)
    plan = plan_of(config, desk.data)
    watched = Watched(config, plan, lab.streams.within("use"), goal=lab.goal, most=USES)
    for _ in watched.repeat(USES):
        pass
    return watched.use()[0]


def one_cell(part: str, family: str, number: int, *, seed: int, folder: Path) -> Found:
    """Return what a cell finds; judgements and oracles need the answer of the file's own cell."""
    if part == "tune":
        return tuned(family, number, seed=seed)
    answer = answer_of(family, number, seed=seed, folder=folder)
    if answer["shape"] is None:
        return {"held": None} if part == "fresh" else {"oracle_use": None}
    desk = _desk(family, number, seed)
    if part == "fresh":
        return judged(desk, answer, seed=seed, family=family, number=number)
    return oracle(desk, answer, seed=seed, family=family, number=number)


@cache
def _desk(family: str, number: int, seed: int) -> Desk:
    return Desk.of(family, number, seed=seed)


@cache
def _tuned_again(family: str, number: int, seed: int) -> Found:
    return tuned(family, number, seed=seed)


def answer_of(family: str, number: int, *, seed: int, folder: Path) -> Found:
    """Return a file's answer from the finished lines; where another process has it still, it is found again."""
    for line in finished(folder):
        if (line.get("part"), line.get("family"), line.get("number")) == ("tune", family, number):
            return line
    return _tuned_again(family, number, seed)


def finished(folder: Path) -> Iterator[Line]:
    """Yield the lines of a folder that are whole."""
    if not (folder / LINES).exists():
        return
    whole, _, _ = (folder / LINES).read_bytes().rpartition(b"\n")
    yield from (json.loads(line) for line in whole.splitlines())


def _seconds(began: float) -> float:
    return round(time.process_time() - began, 1)
