"""Both error rates of the gate: harmless files that it refuses, planted leaks that it lets pass, verdicts that turn.

Every replication is one verdict, kept in ``verdicts.jsonl`` as soon as it is there, so that a run can be stopped and
taken up again, on another machine too.
"""

import json
import os
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from synthdp.config import parse
from synthdp.gating import Judged, judge
from synthdp.intake import prepare
from synthdp.planning import plan_of
from synthdp.seeding import Streams
from synthdp.studies import gate_page
from synthdp.studies.gate_cases import Case, cases, patients_settings, voters_settings
from synthdp.studies.runner import shared_data

KEPT = "verdicts.jsonl"
HARMLESS, PLANTED, FEW = 50, 30, 10
SEEDS = 20
# each file is one, judged with other seeds; none of their bounds is within 0.1 of a limit, but for the last
STABLE = ("independent keys, mi", "voters, sd 3", "three outliers, sd 2", "1% noise")
NEAR = "voters, sd 0.85"
STRENGTHS = (0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
GROWING = ("voters", "registry", "people", "measurements")


class Cell(NamedTuple):
    """One verdict: a part of the study, a case, and a replication of it."""

    part: str
    case: str
    number: int


def cells(replications: int | None = None) -> Iterator[Cell]:
    """Yield every verdict of the study; ``replications`` caps how many there are of each kind."""

    def most(count: int) -> range:
        return range(min(count, replications or count))

    every = cases(Path())
    for name, case in every.items():
        count = FEW if name.startswith("census") else PLANTED if case.leaks else HARMLESS
        yield from (Cell("cases", name, number) for number in most(count))
    for name in (*STABLE, NEAR):
        yield from (Cell("seeds", name, number) for number in most(SEEDS))
    for name in GROWING:
        yield from (Cell("strength", f"{name}, sd {sd:g}", number) for sd in STRENGTHS for number in most(1))


def verdict_of(cell: Cell, data: Path) -> dict[str, Any]:
    """Return one verdict with its figures."""
    case = _case(cell, data)
    # with other seeds the file stays the same
    replication = 0 if cell.part in ("seeds", "strength") else cell.number
    rng = np.random.default_rng([zlib.crc32(cell.case.partition(", sd ")[0].encode()), replication])
    config = parse({"data": {"path": "in memory"}, **case.settings})
    plan = plan_of(config, prepare(case.file(rng), config))
    mechanism = case.mechanism(config, rng) if case.mechanism is not None else None
    began = time.process_time()
    seed = zlib.crc32(f"{cell.part} {cell.case} {cell.number}".encode())
    found = judge(config, plan, streams=Streams(seed), mechanism=mechanism)
    return {**cell._asdict(), "leaks": case.leaks, "seconds": round(time.process_time() - began, 2), **_figures(found)}


def run(*, out: Path, jobs: int, data: Path | None = None, replications: int | None = None) -> None:
    """Judge everything that is not judged yet, and write the page."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    out.mkdir(parents=True, exist_ok=True)
    kept = out / KEPT
    done = {Cell(line["part"], line["case"], line["number"]): line for line in _lines(kept)}
    folder = shared_data(data)
    wanted = [cell for cell in cells(replications) if cell not in done]
    # the first replications of everything come first, so that a stopped run still tells something of all of it
    wanted.sort(key=lambda cell: cell.number)
    with ProcessPoolExecutor(max_workers=jobs) as pool, kept.open("a", encoding="utf-8") as file:
        running = {pool.submit(verdict_of, cell, folder): cell for cell in wanted}
        for future in as_completed(running):
            line = future.result()
            done[running[future]] = line
            file.write(json.dumps(line) + "\n")
            file.flush()
    gate_page.write(out, list(done.values()))


def _case(cell: Cell, data: Path) -> Case:
    every = cases(data)
    name, _, sd = cell.case.partition(", sd ")
    if cell.case in every:
        return every[cell.case]
    if name == "voters":
        return Case(cell.case, every["voters, sd 3"].file, voters_settings(float(sd)), False)
    if name == "registry":
        return Case(cell.case, every["registry, sd 5"].file, patients_settings(float(sd)), False)
    like = every["independent keys, wide masks" if name == "people" else "fine measurements"]
    masks = {
        column: mask | ({"sd": float(sd)} if "sd" in mask else {"keep": 0.5 + 0.4 / (1 + float(sd) ** 2)})
        for column, mask in like.settings["masks"].items()
    }
    return Case(cell.case, like.file, {**like.settings, "masks": masks}, False)


def _figures(found: Judged) -> dict[str, Any]:
    checks = [check for check in found.verdict.checks if check.value is not None]
    worst: dict[str, Any] = {}
    for check in checks:
        held = worst.get(check.name)
        if held is None or (check.deciding or 0.0) > held["high"]:
            worst[check.name] = {"attack": check.attack, "value": _round(check.value), "high": _round(check.deciding)}
    links = {
        name: {"predicted": _round(tally.predicted), "right": _round(tally.successes), "claims": tally.claimed}
        for name, tally in (found.averages.tallies if found.averages is not None else {}).items()
    }
    by_attack = {check.attack: _round(check.deciding) for check in checks if check.name == "max_individual"}
    refused_by = sorted({check.name for check in found.verdict.checks if not check.passed and not check.useful})
    return {
        "verdict": found.verdict.judgement,
        "refused_by": refused_by,
        "worst": worst,
        "individual": by_attack,
        "links": links,
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text.strip()]
