"""DP synthesizers beside methods that are not private: what ε costs in usefulness and what it buys in risk.

Two files, three ε, five runs each. A run draws its own records and its own holdout, makes five copies (local
noise: one) and is judged by the pipeline's own measures. Runs are kept one by one, so a study that was stopped goes on.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.dp_baselines.cases import COPIES, DELTA, EPSILONS, FILES, HELD_OUT, METHODS, RECORDS, File, masks
from reports.dp_baselines.page import draw, page
from reports.runner import save, shared_data
from synthdp.config import parse
from synthdp.errors import SynthdpError
from synthdp.evaluation.assessment import Assessment
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.utility.analyses import evaluate_analyses
from synthdp.inference.analyses import Analysis
from synthdp.privacy.mechanisms import Exponential, Simulated
from synthdp.seeding import Streams
from synthdp.stages.assessing import assess_comparison
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.making import make
from synthdp.synthesis.private.domain import domain_of
from synthdp.synthesis.private.tree import score_sensitivity, scores, spanning_tree

RUNS = 5
KEPT = "cells.jsonl"
MEASURES = ("pmse_logit", "pmse_cart", "overlap", "total_variation", "links", "links_chance", "gain")
OPEN = dict.fromkeys(Thresholds.model_fields)  # a gate that looks at the data withdraws ε


class Cell(NamedTuple):
    """One run of one method on one file."""

    run: int
    file: str
    method: str
    epsilon: float | None


def cells(runs: int) -> Iterator[Cell]:
    """Yield every cell, whole runs first, so that a stopped study has all methods."""
    for run in range(runs):
        for file in FILES:
            for method in METHODS:
                for epsilon in EPSILONS if method.private else (None,):
                    yield Cell(run, file.name, method.name, epsilon)


def one_cell(cell: Cell, *, data: Path, seed: int) -> dict[str, Any]:
    """Make the copies of one cell and return its measures."""
    warnings.filterwarnings("ignore")
    file = next(file for file in FILES if file.name == cell.file)
    method = next(method for method in METHODS if method.name == cell.method)
    streams = Streams(seed)
    records, holdout = file.split(data, rng=streams.generator("records", cell.file, cell.run))
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": file.variables,
            "masks": masks(file) if method.settings["method"] == "da_mi" else {},
            "synthesis": method.synthesis(file, cell.epsilon),
            "analyses": list(file.analyses),
            "evaluation": {
                "utility": ["pmse", "tables"],
                "risk": ["identity_likelihood", "attribute"],
                "targets": [file.target],
                "table_ways": [2],
            },
            "release": OPEN,
        }
    )
    plan = plan_of(config, prepare(records, config))
    began = time.process_time()
    secret = int(streams.generator("copies", cell.file, cell.method, cell.run).integers(2**62))
    made = make(config.synthesis, plan, streams=Streams(secret))
    took = time.process_time() - began
    design = made.design
    beside = Comparison(
        plan.released.frame,
        made.copies,
        plan.released.schema,
        aligned=True,
        groups=plan.tags.labels,
        proper=design.proper if design is not None else None,
        holdout=holdout,
        rule=made.rule,
    )
    found = assess_comparison(config, beside)
    claimed = made.privacy.section()["epsilon"] if made.privacy is not None and method.private else None
    # asked for one by one, as the pipeline would also take how far analyses of halves of the file are apart
    overlaps = [overlap(beside, analysis, made.rule) for analysis in config.analyses]
    return {**cell._asdict(), "claimed": claimed, "seconds": round(took, 2), **measured(found, overlaps)}


def overlap(beside: Comparison, analysis: Analysis, rule: str) -> float | None:
    """Return the mean interval overlap of one analysis; None when it cannot be estimated on the copies."""
    try:
        return float(evaluate_analyses(beside, [analysis], default_rule=rule)[0]["mean_ci_overlap"])
    except SynthdpError:
        return None


def measured(found: Assessment, overlaps: list[float | None]) -> dict[str, Any]:
    """Return the study's measures of one cell; ``overlap`` is None when an analysis could not be estimated."""
    known = [value for value in overlaps if value is not None]
    tables = [table["total_variation"] for table in found.utility["tables"]]
    links = found.risk["identity_likelihood"]
    (attribute,) = found.risk["attribute"]
    return {
        "pmse_logit": found.utility["pmse"]["logit"]["ratio"],
        "pmse_cart": found.utility["pmse"]["cart"]["ratio"],
        "overlaps": overlaps,
        "overlap": float(np.mean(known)) if len(known) == len(overlaps) else None,
        "total_variation": float(np.mean(tables)),
        "links": links["expected_links"],
        "links_chance": links["expected_links_chance"],
        "gain": attribute["gain"],
    }


def tree_of(file: File, *, data: Path, seed: int) -> list[list[str]]:
    """Return the pairs of the spanning tree of the first run's records, without noise: a diagnosis, not private."""
    records, _ = file.split(data, rng=Streams(seed).generator("records", file.name, 0))
    config = parse({"data": {"path": "in memory"}, "variables": file.variables})
    domain = domain_of(prepare(records, config), bins=1, bins_by=file.fine, missing=())
    found = domain.encode(prepare(records, config))
    margins = [np.bincount(found[:, v], minlength=axis.size).astype(float) for v, axis in enumerate(domain.axes)]
    sure = Exponential.calibrated(score_sensitivity("replace"), epsilon=1e6)
    edges = spanning_tree(scores(found, margins, sd=0.0), len(margins), sure, Simulated(np.random.default_rng(seed)))
    return [[domain.axes[v].column.name for v in edge] for edge in edges]


def summary(done: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean, lowest and highest of every measure over the runs, one line per file, method and ε."""
    lines = []
    for cell in dict.fromkeys((row["file"], row["method"], row["epsilon"]) for row in done):
        rows = [row for row in done if (row["file"], row["method"], row["epsilon"]) == cell]
        line: dict[str, Any] = dict(zip(("file", "method", "epsilon"), cell, strict=True)) | {"runs": len(rows)}
        for name in (*MEASURES, "seconds"):
            values = [row[name] for row in rows if row[name] is not None]
            line[name] = (
                {"mean": round(float(np.mean(values)), 5), "low": round(min(values), 5), "high": round(max(values), 5)}
                if values
                else None
            )
        line["not_estimable"] = sum(row["overlap"] is None for row in rows)
        lines.append(line)
    return lines


def run(
    *, out: Path, replications: int = RUNS, jobs: int = 2, seed: int = 2021, data: Path | None = None
) -> dict[str, Any]:
    """Run the study and write its results, going on after the cells that are kept in ``out``."""
    began = time.perf_counter()
    data = shared_data(data)
    out.mkdir(parents=True, exist_ok=True)
    (out / ".gitignore").write_text(f"{KEPT}\n", encoding="utf-8")
    wanted = list(cells(replications))
    done = _kept(out / KEPT, seed)
    todo = [cell for cell in wanted if cell not in done]
    for row in _made(todo, partial(one_cell, data=data, seed=seed), jobs):
        done[Cell(*(row[name] for name in Cell._fields))] = row
        with (out / KEPT).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row | {"seed": seed}) + "\n")
    rows = [done[cell] for cell in wanted]
    results: dict[str, Any] = {
        "lines": summary(rows),
        "trees": {file.name: tree_of(file, data=data, seed=seed) for file in FILES},
        "cells": [{k: _rounded(v) for k, v in row.items()} for row in rows],
    }
    settings = {
        "records": RECORDS,
        "held_out": HELD_OUT,
        "runs": replications,
        "copies": COPIES,
        "delta": DELTA,
        "epsilons": list(EPSILONS),
        "seed": seed,
        "cells_of_earlier_goes": len(wanted) - len(todo),  # the seconds of the last go do not count these
    }
    draw(results["lines"], out)
    save(out, study="dp_baselines", settings=settings, results=results, page=page(results, settings), began=began)
    return results


def _made(todo: list[Cell], work: Callable[[Cell], dict[str, Any]], jobs: int) -> Iterator[dict[str, Any]]:
    """Yield cells as they are finished."""
    if jobs == 1:
        yield from map(work, todo)
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        for waiting in as_completed([pool.submit(work, cell) for cell in todo]):
            yield waiting.result()


def _kept(path: Path, seed: int) -> dict[Cell, dict[str, Any]]:
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    mine = [{k: v for k, v in row.items() if k != "seed"} for row in rows if row["seed"] == seed]
    return {Cell(*(row[name] for name in Cell._fields)): row for row in mine}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 5) if isinstance(value, float) else value
