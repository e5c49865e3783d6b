"""Private regression on six UCI sets: AdaSSP beside its published errors, then what preprocessing does to it."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.adassp.page import draw, page
from reports.adassp.sets import DELTA, HELD_OUT, SETS, THINNED, load, normalised, split, varying
from reports.adassp.thesis import beside, draw_thesis, instability, unstable, when_prepared
from reports.cells import Cell, Line
from reports.study import Results, Study
from synthdp import dp
from synthdp.dp.gram_noise import Calibration
from synthdp.dp.preparing import Preparation, Strategy, Tails
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

EPSILONS = (0.1, 0.3, 1.0, 2.0, 2.99)
CALIBRATIONS: tuple[Calibration, ...] = ("original", "fixed", "analytic", "joint")
BOUNDS_SHARE = 0.2
WIDE = 10.0


class Way(NamedTuple):
    """One way of preparing the records, by statistics of the training part."""

    strategy: Strategy
    intercept: bool = False
    clip: float | None = None
    tails: Tails = "upper"
    clip_test: bool = False


WAYS = {
    "max norm": Way("max_norm"),
    "row norm": Way("row_norm"),
    "row norm, y too": Way("row_norm_y"),
    "max norm, intercept": Way("max_norm", intercept=True),
    "clip 1.0": Way("max_norm", clip=1.0),
    "clip 1.3": Way("max_norm", clip=1.3),
    "clip 1.6": Way("max_norm", clip=1.6),
    "clip 2.5": Way("max_norm", clip=2.5),
    "clip 1.6, both tails": Way("max_norm", clip=1.6, tails="both"),
    "clip 1.6, test too": Way("max_norm", clip=1.6, clip_test=True),
}
BOUGHT = "bounds bought with ε/5"


def as_published(r: int, *, name: str, data: Path, seed: int) -> dict[str, float]:
    """Return held-out errors of every method at every ε on one split, rows prepared as published.

    All calibrations get the same normal draws, so that they differ by the size of the noise alone.
    """
    streams = Streams(seed)
    x, y = normalised(*load(data, name))
    train, test = split(len(y), streams.generator("split", name, r))
    errors = {"trivial": float(np.mean(y[test] ** 2))}
    gram = x[train].T @ x[train]
    ridge = np.linalg.solve(gram + np.eye(len(gram)), x[train].T @ y[train])
    errors["non_private"] = float(np.mean((y[test] - x[test] @ ridge) ** 2))
    for epsilon in EPSILONS:
        for calibration in CALIBRATIONS:
            for method in (dp.adassp, dp.ssp):
                label = f"{'AdaSSP' if method is dp.adassp else 'SSP'} {calibration} {epsilon:g}"
                if method is dp.ssp and (calibration not in ("original", "analytic") or epsilon > 2):
                    continue
                fit = method(
                    x[train],
                    y[train],
                    x_norm=1.0,
                    y_bound=1.0,
                    epsilon=epsilon,
                    delta=DELTA,
                    calibration=calibration,
                    source=Simulated(streams.generator("noise", name, r, str(epsilon))),
                )
                errors[label] = float(np.mean((y[test] - x[test] @ fit.theta) ** 2))
    return errors


def by_preparation(r: int, *, name: str, data: Path, seed: int) -> dict[str, float]:
    """Return held-out errors over those of θ = 0, for every way of preparing, with analytic AdaSSP."""
    streams = Streams(seed)
    x, y = load(data, name)
    train, test = split(len(y), streams.generator("split", name, r))
    x = varying(x, train)
    trivial = float(np.mean(y[test] ** 2))
    errors = {}
    for label, way in WAYS.items():
        ready = dp.prepare(
            x[train], y[train], strategy=way.strategy, intercept=way.intercept, clip=way.clip, tails=way.tails
        )
        for epsilon in EPSILONS:
            source = Simulated(streams.generator("noise", name, r, str(epsilon)))
            predicted = _predict(ready, x, y, train, test, epsilon, source, clip_test=way.clip_test)
            errors[f"{label} {epsilon:g}"] = float(np.mean((y[test] - predicted) ** 2)) / trivial
        rows, response = ready.rows(x[train]), ready.response(x[train], y[train])
        plain: Floats = np.linalg.solve(rows.T @ rows + np.eye(rows.shape[1]), rows.T @ response).astype(np.float64)
        errors[f"{label} plain"] = (
            float(np.mean((y[test] - ready.predict(plain, x[test], clip=way.clip_test)) ** 2)) / trivial
        )
    for epsilon in EPSILONS:
        source = Simulated(streams.generator("noise", name, r, str(epsilon)))
        columns = [x[train][:, j] for j in range(x.shape[1])] + [y[train]]
        # the sets come without a codebook: wide bounds of ten sds stand in for what one would declare
        wide = [(float(c.mean() - WIDE * c.std()), float(c.mean() + WIDE * c.std())) for c in columns]
        *limits, response_limits = dp.paid_bounds(columns, within=wide, epsilon=BOUNDS_SHARE * epsilon, source=source)
        ready = dp.declared(limits, response_limits, intercept=True)
        predicted = _predict(ready, x, y, train, test, (1 - BOUNDS_SHARE) * epsilon, source, clip_test=True)
        errors[f"{BOUGHT} {epsilon:g}"] = float(np.mean((y[test] - predicted) ** 2)) / trivial
    return errors


def _predict(
    ready: Preparation,
    x: Floats,
    y: Floats,
    train: Any,
    test: Any,
    epsilon: float,
    source: Simulated,
    *,
    clip_test: bool,
) -> Floats:
    fit = dp.adassp(
        ready.rows(x[train]),
        ready.response(x[train], y[train]),
        x_norm=ready.x_norm,
        y_bound=1.0,
        epsilon=epsilon,
        delta=DELTA,
        source=source,
    )
    return ready.predict(fit.theta, x[test], clip=clip_test)


def summarise(errors: list[float]) -> dict[str, float]:
    """Return mean and standard error over splits."""
    return {"mean": float(np.mean(errors)), "error": float(np.std(errors, ddof=1) / np.sqrt(len(errors)))}


def each(found: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean and standard error of every error."""
    return {key: summarise([row[key] for row in found]) for key in found[0]}


WORK = {
    "as_published": as_published,
    "instability": instability,
    "when_prepared": when_prepared,
    "by_preparation": by_preparation,
}
PARTS = [(part, name) for part in WORK for name in SETS] + [("by_preparation", THINNED)]
SUMMARIES = {"instability": unstable, "when_prepared": beside}


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the published errors, and every split of every set."""
    yield {"part": "published"}
    yield from ({"part": part, "name": name, "r": r} for part, name in PARTS for r in range(count or 20))


def one_cell(part: str, name: str = "", r: int = 0, *, data: Path, seed: int) -> dict[str, Any]:
    """Return the published errors, or those of one split."""
    if part != "published":
        return {"found": WORK[part](r, name=name, data=data, seed=seed)}
    published = json.loads((data / "published" / "adassp_wang2018.json").read_text(encoding="utf-8"))
    return {"found": {name: dict(zip(published["columns"], published[name], strict=True)) for name in SETS}}


def gathered(lines: list[Line]) -> Results:
    """Return mean errors by part and set, beside the published ones."""
    results: Results = {part: {} for part in WORK}
    for part, name in PARTS:
        found = [line["found"] for line in lines if (line["part"], line.get("name")) == (part, name)]
        results[part][name] = SUMMARIES[part](found) if part in SUMMARIES else each(found)
    return results | {"published": lines[0]["found"]}


def pictures(results: Results, out: Path) -> None:
    """Draw every figure."""
    draw(results, SETS, EPSILONS, out)
    draw_thesis(results, out)


SEED = 20268
STUDY = Study(
    name="adassp",
    cells=cells,
    work=partial(one_cell, seed=SEED),
    results=gathered,
    page=partial(page, sets=SETS),
    settings={"delta": DELTA, "held_out": HELD_OUT, "seed": SEED, "noise": "simulated"},
    counts=lambda lines: {"replications": (len(lines) - 1) // len(PARTS)},
    draw=pictures,
    reads_data=True,
)
