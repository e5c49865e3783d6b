"""The method's one public benchmark: the authors' pseudo registry, every method, with and without repair.

595 patients complete on the model's columns. Age, sex, race and education are replaced. Two probit analyses: work
disability, whose columns the synthesis sees, and one-year lung disease among patients without it at baseline, which the
synthesis never sees. The file is not ours to pass on: the study reads it from the folder given as ``data``.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.utility.overlap import ci_overlap
from synthdp.inference.combining import combine
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.protocol import MaskSettings
from synthdp.masking.shifted_normal import ShiftedNormal
from synthdp.microdata import Microdata, resolve
from synthdp.neighbours import average, encode_keys, match
from synthdp.schema import Column, Role, Variable
from synthdp.seeding import Streams
from synthdp.studies.estimators import design, probit
from synthdp.studies.registry_methods import METHODS, Method
from synthdp.studies.registry_page import page
from synthdp.studies.runner import replicate, save, shared_data
from synthdp.synthesis.protocol import Plan
from synthdp.synthesis.repair import repair
from synthdp.tagging.groups import Neighbours, tag

REPLACED = ("Gender", "NewWhite", "MoreThanHighSchool", "Age_raw")
OTHERS = ("Diffuse", "CentroPositive", "DiseaseDuration", "BaseFVC", "BaseDLCO", "BaseTLC")
UNSEEN = ("BaselineILD", "OneYearILD")
TOLERANCES = (3.0, 5.0)
COPIES = (5, 15, 60)
SEEDS = 20
RIDGE = 1e-3  # 28 events: now and then a copy has none in some group


def patients(data: Path) -> Microdata:
    """Return the complete records of the pseudo registry."""
    path = data / "pseudo_csrg.csv"
    if not path.exists():
        raise InputError(f"{path}: no such file; say where the shared data are with --data.")
    frame = pd.read_csv(path, index_col=0)
    complete = frame.dropna(subset=[*REPLACED, *OTHERS, "WorkDisabled"]).reset_index(drop=True)
    key = Variable(role=Role.REPLACE, key=True)
    age = Variable(role=Role.REPLACE, key=True, tolerance=TOLERANCES[0], decimals=4)
    return resolve(complete, dict.fromkeys(REPLACED[:-1], key) | {"Age_raw": age})


def masks_of(method: Method) -> dict[str, MaskSettings]:
    """Return the masks of a method; none for methods that mask nothing."""
    if method.alpha is None or method.sd is None:
        return {}
    masks: dict[str, MaskSettings] = {name: ShiftedNormal(alpha=method.alpha) for name in REPLACED[:-1]}
    return masks | {
        "Age_raw": Gaussian(sd=method.sd, copies=method.noisy_copies, graded=method.graded, fewest=method.fewest)
    }


def overlaps(data: Microdata, copies: tuple[pd.DataFrame, ...]) -> dict[str, float]:
    """Return mean and lowest interval overlap of both analyses."""
    found: dict[str, float] = {}
    for name, outcome, rows in (
        ("work", "WorkDisabled", np.ones(len(data), dtype=bool)),
        ("ild", "OneYearILD", ((data.frame["BaselineILD"] == 0) & data.frame["OneYearILD"].notna()).to_numpy()),
    ):
        terms = ("Intercept", *REPLACED, *OTHERS)
        estimates = [
            probit(frame[outcome].to_numpy(np.float64)[rows], design(frame[rows], *terms[1:]), terms, ridge=RIDGE)
            for frame in (data.frame, *copies)
        ]
        original, pooled = combine(estimates[:1], rule="mean_se"), combine(estimates[1:], rule="reiter2003")
        shares = [
            ci_overlap(original.low[t], original.high[t], pooled.low[t], pooled.high[t]) for t in range(1, len(terms))
        ]
        found |= {f"{name}_mean": float(np.mean(shares)), f"{name}_lowest": float(np.min(shares))}
    return found


def risks(data: Microdata, copies: tuple[pd.DataFrame, ...]) -> dict[str, float]:
    """Return expected and true matches, each copy and averaged, at both tolerances."""
    found: dict[str, float] = {}
    averaged = average(copies, data.schema.keys())
    for tolerance in TOLERANCES:
        keys = [_with_tolerance(column, tolerance) for column in data.schema.keys()]
        for attack, files in (("copies", copies), ("averaged", (averaged,))):
            targets, *encoded = encode_keys([data.frame, *files], keys)
            matches = match(targets, encoded)
            expected = float(np.sum(matches.hit / np.maximum(matches.best, 1)))
            true = int(np.sum(matches.hit & (matches.best == 1)))
            found |= {f"{attack}_expected_{tolerance:g}": expected, f"{attack}_true_{tolerance:g}": true}
    return found


def one_run(r: int, *, data: Path, seed: int) -> list[dict[str, Any]]:
    """Return the measures of one method and seed, for every number of copies, before and after repair."""
    method = METHODS[r // SEEDS]
    people = patients(data)
    plan = Plan(people, tag(people, Neighbours()), masks_of(method))
    secret = int(Streams(seed).generator("registry", r % SEEDS).integers(2**63))
    made = method.synthesis(max(COPIES), UNSEEN).synthesize(plan, streams=Streams(secret)).copies
    rows: list[dict[str, Any]] = []
    for count in COPIES:
        copies = made[:count]  # the first copies are the same for a larger number of copies
        mended = repair(people, copies)
        for repaired, frames in ((False, copies), (True, mended.copies)):
            rows.append(
                {
                    "method": method.name,
                    "copies": count,
                    "repair": repaired,
                    "records_repaired": mended.touched if repaired else 0,
                    **overlaps(people, frames),
                    **risks(people, frames),
                }
            )
    return rows


def run(
    *, out: Path, replications: int = SEEDS, jobs: int = 2, seed: int = 20224, data: Path | None = None
) -> dict[str, Any]:
    """Run the study and write its results; ``replications`` is the number of seeds per method."""
    began = time.perf_counter()
    data = shared_data(data)
    chosen = [m * SEEDS + s for m in range(len(METHODS)) for s in range(min(replications, SEEDS))]
    work = partial(_nth_run, chosen=tuple(chosen), data=data, seed=seed)
    found = [row for rows in replicate(work, len(chosen), jobs=jobs, label="registry") for row in rows]
    table = (
        pd.DataFrame(found).groupby(["method", "copies", "repair"], sort=False).mean(numeric_only=True).reset_index()
    )
    people = patients(data)
    results = {
        "rows": [{key: _rounded(value) for key, value in row.items()} for row in table.to_dict("records")],
        "original": {key: round(value, 4) for key, value in risks(people, (people.frame,)).items()},
    }
    settings = {"records": len(people), "seeds": min(replications, SEEDS), "seed": seed}
    save(out, study="registry", settings=settings, results=results, page=page(results, settings), began=began)
    return results


def _nth_run(r: int, *, chosen: tuple[int, ...], data: Path, seed: int) -> list[dict[str, Any]]:
    return one_run(chosen[r], data=data, seed=seed)


def _with_tolerance(column: Column, tolerance: float) -> Column:
    return column if column.kind.categorical else column.model_copy(update={"tolerance": tolerance})


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
