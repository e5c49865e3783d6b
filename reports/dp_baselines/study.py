"""DP synthesizers beside methods that are not private: what ε costs in usefulness and what it buys in risk.

Two files, three ε, five runs each. A run draws its own records and its own holdout, makes five copies (local
noise: one) and is judged by the pipeline's own measures.
"""

import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reports.cells import Cell, Line
from reports.dp_baselines.cases import COPIES, DELTA, EPSILONS, FILES, HELD_OUT, METHODS, RECORDS, File, masks
from reports.dp_baselines.page import draw, page
from reports.study import Results, Study
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
MEASURES = ("pmse_logit", "pmse_cart", "overlap", "total_variation", "links", "links_chance", "gain")
OPEN = dict.fromkeys(Thresholds.model_fields)  # a gate that looks at the data withdraws ε


def cells(runs: int | None = None) -> Iterator[Cell]:
    """Yield the trees of both files, then every cell, whole runs first, so that a stopped study has all methods."""
    yield from ({"tree": file.name} for file in FILES)
    for run in range(runs or RUNS):
        for file in FILES:
            for method in METHODS:
                for epsilon in EPSILONS if method.private else (None,):
                    yield {"run": run, "file": file.name, "method": method.name, "epsilon": epsilon}


def one_cell(*, data: Path, seed: int, tree: str | None = None, **cell: Any) -> Any:
    """Return the tree of a file, or the measures of one run of one method on it."""
    if tree is None:
        return one_run(**cell, data=data, seed=seed)
    return tree_of(next(file for file in FILES if file.name == tree), data=data, seed=seed)


def one_run(run: int, file: str, method: str, epsilon: float | None, *, data: Path, seed: int) -> dict[str, Any]:
    """Make the copies of one method on one file and return its measures."""
    warnings.filterwarnings("ignore")
    chosen = next(each for each in FILES if each.name == file)
    maker = next(each for each in METHODS if each.name == method)
    streams = Streams(seed)
    records, holdout = chosen.split(data, rng=streams.generator("records", file, run))
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": chosen.variables,
            "masks": masks(chosen) if maker.settings["method"] == "da_mi" else {},
            "synthesis": maker.synthesis(chosen, epsilon),
            "analyses": list(chosen.analyses),
            "evaluation": {
                "utility": ["pmse", "tables"],
                "risk": ["identity_likelihood", "attribute"],
                "targets": [chosen.target],
                "table_ways": [2],
            },
            "release": OPEN,
        }
    )
    plan = plan_of(config, prepare(records, config))
    began = time.process_time()
    secret = int(streams.generator("copies", file, method, run).integers(2**62))
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
    claimed = made.privacy.section()["epsilon"] if made.privacy is not None and maker.private else None
    # asked for one by one, as the pipeline would also take how far analyses of halves of the file are apart
    overlaps = [overlap(beside, analysis, made.rule) for analysis in config.analyses]
    return {"claimed": claimed, "seconds": round(took, 2), **measured(found, overlaps)}


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


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 5) if isinstance(value, float) else value


def gathered(lines: list[Line]) -> Results:
    """Return the summary, the trees, and every cell."""
    rows = [line for line in lines if "tree" not in line]
    return {
        "lines": summary(rows),
        "trees": {line["tree"]: line["found"] for line in lines if "tree" in line},
        "cells": [{k: _rounded(v) for k, v in row.items()} for row in rows],
    }


SEED = 2021
STUDY = Study(
    name="dp_baselines",
    cells=cells,
    work=partial(one_cell, seed=SEED),
    results=gathered,
    page=page,
    settings={
        "records": RECORDS,
        "held_out": HELD_OUT,
        "copies": COPIES,
        "delta": DELTA,
        "epsilons": list(EPSILONS),
        "seed": SEED,
    },
    counts=lambda lines: {"runs": len({line["run"] for line in lines if "run" in line})},
    draw=lambda results, out: draw(results["lines"], out),
    reads_data=True,
)
