"""DA-MI with a finite ε: whether its intervals cover, what it is worth beside other methods, and its promise.

* ``coverage``: 4,000 simulated records, two numbers and a binary column; four coefficients, three combining rules, and
  the masked file analysed as it is.
* ``utility``: three files, three ε; dp_da_mi, the masked file itself (equal μ), local noise, MST.
* ``audit``: the whole pipeline on paired files, and the same with mistakes planted.
"""

import math
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.cells import Cell, Line
from reports.dp_da_mi.auditing import audited
from reports.dp_da_mi.files import DELTA, FILES, synthesis_of
from reports.dp_da_mi.page import page
from reports.study import Results, Study
from synthdp.config import parse
from synthdp.errors import SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.utility.analyses import evaluate_analyses
from synthdp.inference.combining import combine
from synthdp.inference.estimates import Estimates
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.stages.assessing import assess_comparison
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.masked import DpDaMi
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

RECORDS, COPIES = 4000, 10
COVERED = (1.0, 5.0, 20.0, 100.0)
RULES = ("rubin1987", "reiter2003", "raghunathan2003")
TERMS = {"mean x": 0.2, "share M": 0.4, "slope": 0.482 / 1.06, "slope given sex": 0.5, "sex given x": -0.4}
COLUMNS = {
    "x": Variable(role="replace", kind="continuous", bounds=(-4, 5), decimals=3),
    "y": Variable(role="replace", kind="continuous", bounds=(-5, 5), decimals=3),
    "sex": Variable(role="replace", levels=(0, 1)),
}
EPSILONS = (1.0, 5.0, 20.0)
METHODS = ("dp_da_mi", "masked file", "local_noise", "dp_mst")
REPLICATIONS, RUNS, AUDITED = 100, 1, 800
OPEN = dict.fromkeys(Thresholds.model_fields)  # a gate that looks at the data withdraws ε
SEED = 2022


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the replications, whole ones first, the audits, and the comparison."""
    for number in range(count or REPLICATIONS):
        for epsilon in COVERED:
            yield {"part": "coverage", "case": "simulated", "epsilon": epsilon, "method": None, "number": number}
    for case in ("pipeline", "mask", "planted"):
        yield {"part": "audit", "case": case, "epsilon": 1.0, "method": None, "number": AUDITED}
    for number in range(min(count or RUNS, RUNS)):
        for file in FILES:
            for epsilon in EPSILONS:
                for method in METHODS:
                    yield {"part": "utility", "case": file, "epsilon": epsilon, "method": method, "number": number}


def one_cell(
    *, part: str, case: str, epsilon: float, method: str | None, number: int, data: Path, seed: int
) -> dict[str, Any]:
    """Return what one cell finds."""
    warnings.filterwarnings("ignore")
    if part == "audit":
        return {"found": audited(case, number, seed=seed)}
    if part == "coverage":
        return {"found": replication(number, epsilon, seed=seed)}
    return {"found": compared(case, epsilon, str(method), number, data=data, seed=seed)}


def people(rng: np.random.Generator, n: int = RECORDS) -> pd.DataFrame:
    """Return records of the law whose coefficients are in ``TERMS``; bounds are reached by hardly any."""
    sex = (rng.random(n) < 0.4).astype(int)
    x = 0.5 * sex + rng.standard_normal(n)
    y = 0.5 * x - 0.4 * sex + rng.standard_normal(n)
    return pd.DataFrame({"x": x.clip(-4, 5), "y": y.clip(-5, 5), "sex": sex}).round(3)


def replication(number: int, epsilon: float, *, seed: int) -> dict[str, list[list[float]]]:
    """Return estimate, low and high of every term, for every rule, the file itself and the masked file as it is."""
    streams = Streams(seed)
    frame = people(streams.generator("people", number))
    given = resolve(frame, COLUMNS)
    plan = Plan(given, tag(given, Neighbours()))
    maker = DpDaMi(epsilon=epsilon, delta=DELTA, source="simulated", copies=COPIES)
    made = maker.synthesize(plan, streams=Streams(int(streams.generator("copies", number).integers(2**62))))
    each = [estimates(copy) for copy in made]
    channel = maker.channel(plan)
    w = channel.masked(given, source=Simulated(streams.generator("once more", number)))
    shown = pd.DataFrame({"x": -4 + 9 * w.numbers[:, 0], "y": -5 + 10 * w.numbers[:, 1], "sex": w.answers[:, 0]})
    found = {rule: _limits(combine(each, rule=rule)) for rule in RULES}
    return (
        found
        | {"file": _limits(combine([estimates(frame)], rule="mean_se"))}
        | {"masked file": _limits(combine([estimates(shown)], rule="mean_se"))}
    )


def estimates(frame: pd.DataFrame) -> Estimates:
    """Return all terms of one file with their variances; covariances between models are not needed."""
    x, y, sex = (frame[name].to_numpy(dtype=float) for name in ("x", "y", "sex"))
    n = len(frame)
    values = [x.mean(), sex.mean()]
    variances = [x.var(ddof=1) / n, sex.var(ddof=1) / n]
    for design, wanted in ((np.column_stack([np.ones(n), x]), (1,)), (np.column_stack([np.ones(n), x, sex]), (1, 2))):
        inverse = np.linalg.pinv(design.T @ design)
        beta = inverse @ design.T @ y
        left = y - design @ beta
        values += [beta[k] for k in wanted]
        variances += [left @ left / (n - design.shape[1]) * inverse[k, k] for k in wanted]
    return Estimates(tuple(TERMS), np.asarray(values), np.diag(variances), None, n)


def _limits(pooled: Any) -> list[list[float]]:
    table = np.column_stack([pooled.estimate, pooled.low, pooled.high])
    return [[float(f"{value:.5g}") for value in row] for row in table]


def compared(case: str, epsilon: float, method: str, number: int, *, data: Path, seed: int) -> dict[str, Any]:
    """Return the measures of one method on one file."""
    file = FILES[case]
    streams = Streams(seed)
    records = file.records(data, rng=streams.generator("records", case, number))
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": file.variables,
            "synthesis": synthesis_of(method, epsilon),
            "analyses": list(file.analyses),
            "evaluation": {"utility": ["tables"], "risk": ["identity_likelihood"], "table_ways": [2]},
            "release": OPEN,
        }
    )
    plan = plan_of(config, prepare(records, config))
    secret = Streams(int(streams.generator("copies", case, method, number).integers(2**62)))
    if method == "masked file":
        copies, rule = [masked_file(plan, epsilon, secret)], "mean_se"
    else:
        made = make(config.synthesis, plan, streams=secret)
        copies, rule = list(made.copies), made.rule
    beside = Comparison(
        plan.released.frame,
        tuple(copies),
        plan.released.schema,
        aligned=method in ("dp_da_mi", "masked file", "local_noise"),
        groups=plan.tags.labels,
        proper=True,
        rule=rule,
    )
    found = assess_comparison(config, beside)
    overlaps = [overlap(beside, analysis, rule) for analysis in config.analyses]
    known = [value for value in overlaps if value is not None]
    links = found.risk.get("identity_likelihood") or {}
    return {
        "overlap": round(float(np.mean(known)), 4) if len(known) == len(overlaps) else None,
        "total_variation": round(float(np.mean([t["total_variation"] for t in found.utility["tables"]])), 4),
        "links": links.get("expected_links"),
        "chance": links.get("expected_links_chance"),
    }


def masked_file(plan: Plan, epsilon: float, streams: Streams) -> pd.DataFrame:
    """Return W, moved into the bounds and rounded, as a file of its own."""
    maker = DpDaMi(epsilon=epsilon, delta=DELTA, source="simulated")
    channel = maker.channel(plan)
    w = channel.masked(plan.data, source=maker.noise(streams))
    return maker.written(plan, channel, w.answers, w.numbers)


def overlap(beside: Comparison, analysis: Any, rule: str) -> float | None:
    """Return the mean interval overlap of one analysis; None when it cannot be estimated on the copies."""
    try:
        return float(evaluate_analyses(beside, [analysis], default_rule=rule)[0]["mean_ci_overlap"])
    except SynthdpError:
        return None


def covered(lines: list[Line]) -> list[Results]:
    """Return coverage and mean width, a row for each ε, rule and term."""
    rows = []
    for epsilon in COVERED:
        here = [line["found"] for line in lines if line["epsilon"] == epsilon]
        for rule in (*RULES, "masked file", "file") if here else ():
            limits: Floats = np.asarray([found[rule] for found in here])
            for k, (term, truth) in enumerate(TERMS.items()):
                low, high = limits[:, k, 1], limits[:, k, 2]
                share = float(((low <= truth) & (truth <= high)).mean())
                rows.append(
                    {
                        "epsilon": epsilon,
                        "rule": rule,
                        "term": term,
                        "runs": len(here),
                        "coverage": round(share, 4),
                        "se": round(math.sqrt(max(share * (1 - share), 1e-9) / len(here)), 4),
                        "width": float(f"{np.median(high - low):.3g}"),
                    }
                )
    return rows


def gathered(lines: list[Line]) -> Results:
    """Return coverage, the comparison, and what the audits found."""
    utility = [{k: line[k] for k in ("case", "epsilon", "method", "number")} | line["found"]
               for line in lines if line["part"] == "utility"]  # fmt: skip
    means = []
    for cell in dict.fromkeys((row["case"], row["epsilon"], row["method"]) for row in utility):
        rows = [row for row in utility if (row["case"], row["epsilon"], row["method"]) == cell]
        line: dict[str, Any] = dict(zip(("file", "epsilon", "method"), cell, strict=True)) | {"runs": len(rows)}
        for name in ("overlap", "total_variation", "links", "chance"):
            values = [row[name] for row in rows if row[name] is not None]
            line[name] = round(float(np.mean(values)), 4) if values else None
        means.append(line)
    return {
        "coverage": covered([line for line in lines if line["part"] == "coverage"]),
        "utility": means,
        "audit": {line["case"]: line["found"] for line in lines if line["part"] == "audit"},
    }


STUDY = Study(
    name="dp_da_mi",
    cells=cells,
    work=partial(one_cell, seed=SEED),
    results=gathered,
    page=page,
    settings={"seed": SEED, "records": RECORDS, "copies": COPIES, "delta": DELTA},
    counts=lambda lines: {"replications": sum(line["part"] == "coverage" for line in lines) // len(COVERED)},
    reads_data=True,
)
