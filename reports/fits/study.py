"""Whether a verdict on draws of one fit holds on another: draws that share a fit beside draws with a fit each.

The model `auto` chooses trees or regressions by how well halves of the records predict each other, so that two fits to
a small file may differ. Files like electric.sav (240 men, four replaced keys, kept measurements that go with them),
electric.sav itself where ``--data`` has it, under masks about as strong as the limit asks for, are judged with other
seeds; and harmless files, of which none should be refused.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.cells import Cell, Line, apart
from reports.gate.cases import fine, people
from reports.gate.cases import number as of_number
from reports.markdown import table
from reports.study import Results, Study
from synthdp.config import Config, parse
from synthdp.evaluation.gate import Check
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.risk.rates import wilson
from synthdp.seeding import Streams
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.table import io
from synthdp.tuning.confirming import beyond_checks
from synthdp.tuning.trials import ratio_of

SEED = 20287
KINDS = ("one fit", "a fit each")
SEEDS, HARMLESS, FILES = 8, 20, 2
RATE = "max_expected_match_rate"
HOLDS = 0.95
REAL = "electric.sav"
# masks about as strong as the limit asks for
STRENGTHS = {"men": (1.7, 2.2), REAL: (3.0, 4.5)}
HARMLESS_FILES = ("people", "measurements")


@dataclass(frozen=True, repr=False)
class OneFit(Draws):
    """Draws cut from one long release, as many as there is room for."""

    def together(self, count: int) -> int:
        """Return how many draws share a fit: all."""
        return count


def men(rng: np.random.Generator) -> pd.DataFrame:
    """Return 240 men: four keys, and measurements that go with them."""
    n = 240
    common = rng.normal(size=n)
    weight = 168 + 26 * (0.5 * common + np.sqrt(0.75) * rng.normal(size=n))
    pressure = 83 + 11 * (0.4 * (weight - 168) / 26 + np.sqrt(0.84) * rng.normal(size=n))
    return pd.DataFrame(
        {
            "age": rng.integers(40, 56, n),
            "schooling": np.clip(np.round(11.5 + 3.6 * rng.normal(size=n)), 4, 20),
            "height": np.round(69 + 2.6 * rng.normal(size=n) + 0.8 * common),
            "weight": np.clip(np.round(weight), 110, 230),
            "pressure": np.round(pressure),
            "cholesterol": np.round(262 + 52 * (0.2 * common + np.sqrt(0.96) * rng.normal(size=n))),
            "smoked": np.where(rng.random(n) < 0.35, 0, rng.integers(5, 40, n)),
            "alive": np.where(rng.random(n) < 0.7, "yes", "no"),
        }
    )


MEN = {
    **{name: of_number(tolerance=0.5, decimals=0) for name in ("age", "schooling")},
    "height": of_number(tolerance=0.3, decimals=0),
    "weight": of_number(tolerance=2, decimals=0),
    **{name: {"key": False} for name in ("pressure", "cholesterol", "smoked", "alive")},
}
ELECTRIC = {
    "CASEID": {"role": "drop"},
    "DAYOFWK": {"role": "drop"},
    **{name: of_number(tolerance=0.5, decimals=0) for name in ("AGE", "EDUYR")},
    "HT58": of_number(),
    "WT58": of_number(topcode=210),
    "VITAL10": {"kind": "binary", "role": "keep", "key": True, "levels": [0, 1]},
    **{name: {"key": False} for name in ("FIRSTCHD", "DBP58", "CHOL58", "CGT58", "FAMHXCVR", "CHD")},
}
HARMLESS_VARIABLES = {
    "people": {
        "age": of_number(tolerance=2),
        "income": {"kind": "continuous", "role": "replace", "key": True, "bounds": [0, 10_000_000], "transform": "log"},
        "sex": {"kind": "binary", "role": "replace", "key": True},
        "opinion": {"kind": "ordinal", "key": False},
    },
    "measurements": {**{name: of_number() for name in "abc"}, "z": {"key": False}},
}


def asked_of(file: str, strength: float, number_: int, *, data: Path) -> tuple[Config, io.Table]:
    """Return a config and its file."""
    rng = Streams(SEED).generator("file", file, number_)
    table_ = io.Table({"people": people, "measurements": fine}[file](rng)) if file in HARMLESS_FILES else None
    variables: dict[str, Any] = HARMLESS_VARIABLES.get(file, ELECTRIC if file == REAL else MEN)
    if table_ is None:
        table_ = io.Table(io.read(data / REAL) if file == REAL else men(rng))
    masks = {
        name: {"method": "shifted_normal", "alpha": 0.3} if name == "sex" else {"method": "gaussian", "sd": strength}
        for name, block in variables.items()
        if block.get("role") == "replace"
    }
    off = {name: None for name in LIMITS if name not in (RATE, "max_individual", "max_claims_right")}
    settings = {
        "data": {"path": "in memory"},
        "variables": variables,
        "masks": masks,
        "synthesis": {"copies": 5, "model": {"method": "auto"}},
        "release": {} if file in HARMLESS_FILES else off,
    }
    return parse(settings), table_


def verdict_of(file: str, strength: float, number: int, seed: int, kind: str, *, data: Path) -> dict[str, Any]:
    """Return one verdict and its figures."""
    config, file_ = asked_of(file, strength, number, data=data)
    plan = plan_of(config, prepare(file_.frame, config, unread=file_.unread))
    streams = apart(SEED, "verdict", file, str(strength), number, seed)
    began = time.process_time()
    found = judge((OneFit if kind == KINDS[0] else Draws)(config, plan, streams), study=True)
    risks = [one for one in found.verdict.checks if not one.useful]
    worst: Check = max((one for one in risks if one.name == RATE), key=ratio_of)
    return {
        "passed": all(one.passed for one in risks),
        "confirmed": not beyond_checks(risks, found.draws, HOLDS, final=60),
        "rate": {one.attack: [one.value, one.low, one.high] for one in risks if one.name == RATE},
        "worst": worst.attack,
        "by": sorted({one.name for one in risks if not one.passed}),
        "draws": found.draws,
        "seconds": round(time.process_time() - began, 2),
    }


def cells(count: int | None) -> Iterator[Cell]:
    """Yield verdicts: of files like electric.sav, of itself, and of harmless ones; kinds take turns."""
    near = [("men", place) for place in range(FILES)] + [(REAL, 0)]
    for seed in range(min(count or SEEDS, SEEDS)):
        for file, place in near:
            for strength in STRENGTHS[file]:
                one = {"file": file, "strength": strength, "number": place, "seed": seed}
                yield from (one | {"kind": kind} for kind in KINDS)
    for place in range(min(count or HARMLESS, HARMLESS)):
        for file in HARMLESS_FILES:
            yield from ({"file": file, "strength": 3.0, "number": place, "seed": 0, "kind": kind} for kind in KINDS)


def summary(lines: list[Line]) -> Results:
    """Return by file and kind how verdicts agree, what intervals cover, and how many harmless files are refused."""
    near: list[Results] = []
    for file, strength, place in sorted(
        {(one["file"], one["strength"], one["number"]) for one in lines if one["file"] not in HARMLESS_FILES}
    ):
        of = [one for one in lines if (one["file"], one["strength"], one["number"]) == (file, strength, place)]
        # each with a fit of its own: the mean of all of them is the figure that intervals are about
        apart_ = [one for one in of if one["kind"] == KINDS[1]]
        if len(apart_) < 2:
            continue
        attack = max(apart_[0]["rate"], key=lambda name: np.mean([one["rate"][name][0] for one in apart_]))
        true = float(np.mean([one["rate"][attack][0] for one in apart_]))
        for kind in KINDS:
            mine = [one for one in of if one["kind"] == kind]
            inside = [one["rate"][attack][1] <= true <= one["rate"][attack][2] for one in mine]
            widths = [one["rate"][attack][2] - one["rate"][attack][1] for one in mine]
            pairs = [(a, b) for a, b in permutations(mine, 2) if a["confirmed"]]
            near.append(
                {
                    "file": file if file == REAL else f"{file} {place + 1}",
                    "strength": strength,
                    "kind": kind,
                    "verdicts": len(mine),
                    "passed": sum(one["passed"] for one in mine),
                    "confirmed": sum(one["confirmed"] for one in mine),
                    "pairs": len(pairs),
                    "refused_after": sum(not b["passed"] for _, b in pairs),
                    "rate": true,
                    "spread": float(np.std([one["rate"][attack][0] for one in mine], ddof=1)),
                    "half": float(np.mean(widths) / 2),
                    "covered": int(sum(inside)),
                    "seconds": float(np.mean([one["seconds"] for one in mine])),
                }
            )
    harmless = []
    for file in HARMLESS_FILES:
        for kind in KINDS:
            mine = [one for one in lines if one["file"] == file and one["kind"] == kind]
            if mine:
                rate = wilson(sum(not one["passed"] for one in mine), len(mine))
                by = sorted({name for one in mine for name in one["by"]})
                harmless.append(
                    {
                        "file": file,
                        "kind": kind,
                        "verdicts": len(mine),
                        "refused": sum(not one["passed"] for one in mine),
                        "low": rate["low"],
                        "high": rate["high"],
                        "by": by,
                        "seconds": float(np.mean([one["seconds"] for one in mine])),
                    }
                )
    return {"near": near, "harmless": harmless}


def page(results: Results, settings: Results) -> str:
    """Return README.md."""
    near, rows = results["near"], []
    for one in near:
        turned = "–" if not one["pairs"] else f"{one['refused_after']} of {one['pairs']}"
        row = [one["file"], f"{one['strength']:g}", one["kind"], f"{one['passed']} of {one['verdicts']}"]
        row += [str(one["confirmed"]), turned, f"{one['rate']:.2%}", f"{one['spread']:.2%}", f"{one['half']:.2%}"]
        rows.append([*row, f"{one['covered']} of {one['verdicts']}", f"{one['seconds']:.1f}"])
    said = []
    for kind in KINDS:
        mine = [one for one in near if one["kind"] == kind]
        total, covered = sum(one["verdicts"] for one in mine), sum(one["covered"] for one in mine)
        pairs, after = sum(one["pairs"] for one in mine), sum(one["refused_after"] for one in mine)
        later = f"; of {pairs} pairs of an answer that is confirmed and another verdict {after} refuse it" * bool(pairs)
        said.append(f"{kind}: 95% intervals hold the mean over all fits in {covered} of {total} verdicts{later}")
    dearer = [
        np.mean([one["seconds"] for one in results["harmless"] if one["kind"] == kind]) for kind in reversed(KINDS)
    ]
    head = ("file", "sd", "draws share", "pass", "confirmed", "then refused", "found", "spread", "half interval")
    harmless = [
        [
            one["file"],
            one["kind"],
            str(one["verdicts"]),
            f"{one['refused']} ({one['refused'] / one['verdicts']:.1%})",
            f"{one['low']:.1%} to {one['high']:.1%}",
            ", ".join(one["by"]) or "–",
            f"{one['seconds']:.1f}",
        ]
        for one in results["harmless"]
    ]
    return "\n\n".join(
        (
            "# Draws of one fit, and draws with a fit each",
            "The model `auto` chooses trees or regressions by how well halves of the records, drawn at random, predict "
            "each other. In a small file two fits choose differently, and draws that share a fit are more alike than "
            "draws of two runs: an answer that `tune` confirmed on sixty draws was refused by `run` on another fit "
            "([tune_files](../tune_files/README.md), electric.sav). So each draw of the gate has a fit of its own up "
            "to 4,000 records; of more, n/2,000 draws share one. Both ways are judged here, with the same seeds. "
            f"Regenerate: `python -m reports fits --data FOLDER` (resumable; FOLDER holds {REAL}). "
            f"{settings['cells']} verdicts.",
            "**" + ". ".join(one[0].upper() + one[1:] for one in said) + ".**",
            "## Near the limit",
            table((*head, "covered", "seconds"), rows),
            "*Found*: people found beyond blind guessing by the strongest intruder, mean over all verdicts with a fit "
            "each (limit 3%). *Spread*: sd of that figure between verdicts; *half interval*: what the gate reports as "
            "its uncertainty, which should be about twice the spread (a third less where sixty draws decided). "
            "*Confirmed*: `tune` would have "
            f"promised that it holds in {HOLDS:.0%} of judgements; *then refused*: of all pairs of such a verdict and "
            "one with another seed, how often the other refuses. Rows of one file are not independent.",
            "## Harmless files",
            table(("file", "draws share", "verdicts", "refused", "95% interval", "by", "seconds"), harmless),
            "Columns that have nothing to do with each other (people) and measurements to many digits, of 300 records, "
            "under noise of three sds, every limit as it is by default, the model `auto` (reports/gate counts refusals "
            "with the default model).",
            "## What it costs",
            f"A verdict on a harmless file took {dearer[0]:.1f} processor seconds with a fit each and {dearer[1]:.1f} "
            "with one for all; a fit to 240 records with four replaced columns takes 0.02 to 0.03 seconds, a draw with "
            "its attacks 0.05 to 0.1.",
        )
    )


STUDY = Study(
    name="fits",
    cells=cells,
    work=partial(verdict_of),
    results=summary,
    page=page,
    settings={"seed": SEED},
    counts=lambda lines: {"cells": len(lines)},
    reads_data=True,
    committed="found.jsonl",
)
