"""What noise-aware copies of two real files keep at ε = 1: the analyses and the tables of ``dp_baselines``.

Records, declarations and analyses are those of that study; ``dp_mst`` of the same records stands beside.
"""

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reports.cells import Line, apart
from reports.dp_baselines.cases import DELTA, FILES
from reports.dp_baselines.study import OPEN, overlap
from reports.markdown import table
from synthdp.config import parse
from synthdp.evaluation.comparison import Comparison
from synthdp.stages.assessing import assess_comparison
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.making import make

RUNS = 10
EPSILON = 1.0
SCORES = {"method": "dp_tables", "associations": "scores", "delta": DELTA}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "fair, all pairs": ("fair", SCORES),
    "adult, its analyses": ("adult", {**SCORES, "workload": "analyses"}),
    "adult, its analyses, others a fifth": ("adult", {**SCORES, "workload": "analyses", "others": 0.2}),
    "adult, all pairs": ("adult", SCORES),
    "fair, dp_mst": ("fair", {"method": "dp_mst", "delta": DELTA}),
    "adult, dp_mst": ("adult", {"method": "dp_mst", "delta": DELTA}),
}
"""The two analyses of ``fair`` use all of its columns, so all pairs are their own workload."""


def one_file(part: str, number: int, *, seed: int, data: Path) -> dict[str, Any]:
    """Return the mean overlap of each analysis, the mean total variation of all two-way tables, and seconds."""
    warnings.filterwarnings("ignore")
    name, settings = CASES[part]
    file = next(one for one in FILES if one.name == name)
    # the same records for every method
    records, holdout = file.split(data, rng=apart(seed, name, number).generator("records"))
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": file.variables,
            "synthesis": {"epsilon": EPSILON, "source": "simulated", "bins_by": file.fine, **settings},
            "analyses": list(file.analyses),
            "evaluation": {"utility": ["tables"], "risk": [], "table_ways": [2]},
            "release": OPEN,
        }
    )
    plan = plan_of(config, prepare(records, config))
    began = time.process_time()
    made = make(config.synthesis, plan, streams=apart(seed, part, number))
    took = time.process_time() - began
    beside = Comparison(
        plan.released.frame,
        made.copies,
        plan.released.schema,
        aligned=True,
        groups=plan.tags.labels,
        proper=made.design.proper if made.design is not None else None,
        holdout=holdout,
        rule=made.rule,
    )
    overlaps = [overlap(beside, analysis, made.rule) for analysis in config.analyses]
    far = np.mean([entry["total_variation"] for entry in assess_comparison(config, beside).utility["tables"]])
    return {
        "overlaps": [None if one is None else round(one, 4) for one in overlaps],
        "total_variation": round(float(far), 5),
        "seconds": round(took, 2),
    }


def summary(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the means of every case over its runs; an analysis over the runs in which it could be estimated."""
    rows = []
    for part, (name, _) in CASES.items():
        mine = [line for line in lines if line["part"] == part]
        if not mine:
            continue
        row: dict[str, Any] = {"case": part, "runs": len(mine)}
        file = next(one for one in FILES if one.name == name)
        for at, analysis in enumerate(file.analyses):
            known = [line["overlaps"][at] for line in mine if line["overlaps"][at] is not None]
            row[f"analysis {at + 1}"] = f"{analysis['name']} ({analysis['model']})"
            row[f"overlap {at + 1}"] = round(float(np.mean(known)), 3) if known else None
            row[f"range {at + 1}"] = [round(min(known), 3), round(max(known), 3)] if known else None
            row[f"estimable {at + 1}"] = len(known)
        row["total_variation"] = round(float(np.mean([line["total_variation"] for line in mine])), 4)
        row["seconds"] = round(float(np.median([line["seconds"] for line in mine])), 1)
        rows.append(row)
    return rows


def told(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table."""
    head = ["case", "runs", "logit: mean overlap", "ols: mean overlap", "two-way total variation", "processor seconds"]
    lines = [
        [
            row["case"],
            str(row["runs"]),
            *(_overlap(row, at) for at in (1, 2)),
            f"{row['total_variation']:.3f}",
            f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]
    return table(head, lines)


def _overlap(row: dict[str, Any], at: int) -> str:
    if row[f"overlap {at}"] is None:
        return "not estimable"
    low, high = row[f"range {at}"]
    missing = row["runs"] - row[f"estimable {at}"]
    said = f"{row[f'overlap {at}']:.2f} ({low:.2f} to {high:.2f})"
    return said + f", {missing} of {row['runs']} not estimable" * bool(missing)
