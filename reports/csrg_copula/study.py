"""The authors' pseudo registry with its missing values: the copula, 5 completed originals × 3 copies, Reiter (2004).

698 patients; 103 lack a lung measurement, a diagnosis, their education. Age, sex, race and education are replaced. The
probit for work disability is held against the authors' own multiple imputation (published beside their programs), the
one for one-year lung disease, whose columns no model sees, against 20 completed originals of the copula, of which no
value is masked or replaced: of that analysis only complete cases are published.
"""

import json
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.cells import apart
from reports.estimators import design, probit
from reports.markdown import table, table_of
from reports.registry import study as registry
from reports.registry.study import (
    GRADED,
    OTHERS,
    PUBLISHED,
    REPLACED,
    RIDGE,
    RISKS,
    UNSEEN,
    Method,
    masks_of,
    means,
    risks,
    rounded,
)
from reports.study import Results, Study
from synthdp.evaluation.utility.analyses import ci_overlap
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.regression.association import Regression
from synthdp.inference.combining import Pooled, combine
from synthdp.inference.estimates import Estimates
from synthdp.masking.mask import MaskDraw
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.making import repair
from synthdp.synthesis.nesting import completer
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import links_of, predictors_of
from synthdp.synthesis.sampler import masks_of as planned_masks
from synthdp.table.microdata import Floats, Microdata
from synthdp.tagging.groups import Neighbours, tag

SHARES = {
    f"{name}_{part}:.3f": f"{words}: mean" if part == "mean" else part
    for name, words in (("work", "work, published MI"), ("work_ours", "work, our MI"), ("ild", "ILD, our MI"))
    for part in ("mean", "lowest")
}
COLUMNS = {"method": "setting", "repair": "repair", **SHARES, **RISKS}
COLUMNS |= {"records_repaired:.0f": "repaired", "seconds:.0f": "seconds"}


IMPUTATIONS, COPIES = 5, 3
BENCHMARK = 20
SEEDS = 5
TERMS = (*REPLACED, *OTHERS)
# name, masks, and when W is drawn
SETTINGS: tuple[tuple[Method, str, MaskDraw], ...] = (
    (Method("authors' setting: sd 1, 20 copies, α 6", sd=1.0, noisy_copies=20, alpha=6.0), "copula", "once"),
    (Method("graded 0.45·√(30/s), s ≥ 8, α 5, W per copy", **GRADED), "copula", "per_copy"),
    (Method("sd 1, α 2, W per copy", sd=1.0, alpha=2.0), "copula", "per_copy"),
    (Method("authors' setting, regressions", sd=1.0, noisy_copies=20, alpha=6.0), "regression", "once"),
)


patients = partial(registry.patients, complete=False)


def published(data: Path) -> dict[str, dict[str, float]]:
    """Return the authors' multiple imputation of the work-disability analysis: estimate and interval by term."""
    found = json.loads((data / "published" / "pseudo_csrg_results.json").read_text(encoding="utf-8"))
    named = {"Age_std": "Age_raw"}
    return {named.get(term, term): numbers for term, numbers in found["imputed_work_disability"].items()}


def estimates(frame: pd.DataFrame, original: pd.DataFrame, analysis: str) -> Estimates:
    """Return the probit of an analysis on a copy or completed original; age in standard deviations of the original."""
    rows = np.ones(len(original), dtype=bool)
    outcome = "WorkDisabled"
    if analysis == "ild":
        outcome = "OneYearILD"
        rows = ((original["BaselineILD"] == 0) & original[outcome].notna()).to_numpy()
    age = original["Age_raw"]
    seen = frame[rows].assign(Age_raw=(frame.loc[rows, "Age_raw"] - age.mean()) / age.std())
    y = original.loc[rows, outcome].to_numpy(np.float64)
    return probit(y, design(seen, *TERMS), ("Intercept", *TERMS), ridge=RIDGE)


def completed_originals(people: Microdata, count: int, *, seed: int) -> list[pd.DataFrame]:
    """Return originals whose missing values the copula has drawn; nothing is masked or replaced."""
    plan = Plan(people, tag(people, Neighbours()))
    model = Copula(exclude=UNSEEN)
    masks = planned_masks(plan, links_of(people, model))
    streams = Streams(seed)
    complete, _ = completer(
        model,
        people,
        lambda data, exclude: predictors_of(plan, masks, data, exclude, model.splines),
        (),
        rng=streams.generator("benchmark"),
    )
    return [complete(streams.within("benchmark", number), number).frame for number in range(1, count + 1)]


def benchmark(people: Microdata, *, seed: int) -> dict[str, Pooled]:
    """Return both analyses of completed originals, by Rubin's rule."""
    frames = completed_originals(people, BENCHMARK, seed=seed)
    return {
        analysis: combine([estimates(frame, people.frame, analysis) for frame in frames], rule="rubin1987")
        for analysis in ("work", "ild")
    }


@cache
def against(data: Path, seed: int) -> dict[str, Floats]:
    """Return the intervals that copies are compared with: the authors' and our own, terms × (low, high)."""
    theirs, ours = published(data), benchmark(patients(data), seed=seed)
    return {
        "work": np.array([[theirs[term]["low"], theirs[term]["high"]] for term in TERMS]),
        "work_ours": np.column_stack([ours["work"].low, ours["work"].high])[1:],
        "ild": np.column_stack([ours["ild"].low, ours["ild"].high])[1:],
    }


def overlaps(people: Microdata, copies: tuple[pd.DataFrame, ...], against: dict[str, Floats]) -> dict[str, float]:
    """Return mean and lowest overlap of both analyses with given intervals (terms × low, high)."""
    found: dict[str, float] = {}
    for analysis, ends in against.items():
        outcome = "ild" if analysis == "ild" else "work"
        parts = [estimates(frame, people.frame, outcome) for frame in copies]
        pooled = combine(parts, rule="reiter2004", nests=IMPUTATIONS)
        shares = ci_overlap(ends[:, 0], ends[:, 1], pooled.low[1:], pooled.high[1:])
        found |= {f"{analysis}_mean": float(shares.mean()), f"{analysis}_lowest": float(shares.min())}
    return found


def one_run(r: int, *, data: Path, seed: int) -> list[dict[str, Any]]:
    """Return the measures of one setting and seed, before and after repair."""
    method, engine, mask_draw = SETTINGS[r // SEEDS]
    people = patients(data)
    plan = Plan(people, tag(people, Neighbours()), masks_of(method))
    model = Copula(exclude=UNSEEN) if engine == "copula" else Regression(exclude=UNSEEN)
    settings = DaMi(model=model, imputations=IMPUTATIONS, copies=COPIES, missing="impute", mask_draw=mask_draw)
    began = time.perf_counter()
    made = settings.synthesize(plan, streams=apart(seed, "csrg", r % SEEDS)).copies
    seconds = time.perf_counter() - began
    mended = repair(people, made)
    return [
        {
            "method": method.name,
            "repair": repaired,
            "records_repaired": mended.touched if repaired else 0,
            "seconds": seconds,
            **overlaps(people, frames, against(data, seed)),
            **risks(people, frames),
        }
        for repaired, frames in ((False, made), (True, mended.copies))
    ]


def page(results: Results, settings: Results) -> str:
    """Return the page as Markdown."""
    original, same = results["original"], results["benchmarks_overlap"]
    rows = [{**row, "repair": "yes" if row["repair"] else "no"} for row in results["rows"]]
    return f"""# The authors' pseudo registry with its missing values, by the copula

{settings["records"]} records, {settings["incomplete"]} incomplete; {settings["imputations"]} completed originals
× {settings["copies"]} copies, combined by Reiter (2004); mean over {settings["seeds"]} seeds. Overlap of 95% intervals,
ten coefficients: `work` is the probit for work disability against the authors' multiple imputation (R package mi) and
against ours (20 completed originals of the copula, Rubin's rule); `ILD` the probit for one-year lung disease, whose
columns no model saw, against ours (only complete cases are published). The two imputations themselves overlap by
{same["mean"]:.3f} on average ({same["lowest"]:.3f} at worst), which is how far two imputations of one file differ.
Risk columns: expected / true matches; the original against itself {original["copies_expected_3"]:.1f} /
{original["copies_true_3"]} at tolerance 3, {original["copies_expected_5"]:.1f} / {original["copies_true_5"]} at 5.
Seconds: 5 completions, 6 fits and 15 copies, by the clock, on two cores that other work had most of.
Regenerate: `python -m reports csrg_copula --data FOLDER`.

{table_of(rows, list(COLUMNS), list(COLUMNS.values()))}

Repair looks at the truth and gives true matches at tolerance 3 a neighbour's keys: that none is left is how it was
made. In the authors' setting W is drawn once for each completed original, which is as near to their once for all
copies as completed originals allow; in ours per copy. The imputation that `ILD` is held against is by the same copula,
which the published overlaps did not have the favour of.

## Published, for comparison

From the authors' result files, on the same records.

{table(("method", "work mean", "lowest", "ILD mean", "lowest", "copies, tol 3", "averaged, tol 3"), PUBLISHED)}
"""


def one_cell(r: int | None, *, data: Path, seed: int) -> Any:
    """Return one run; what the originals come to where there is no number."""
    if r is not None:
        return one_run(r, data=data, seed=seed)
    people, intervals = patients(data), against(data, seed)
    same = ci_overlap(*intervals["work"].T, *intervals["work_ours"].T)
    return {
        "records": len(people),
        "incomplete": int(people.frame[list(TERMS)].isna().any(axis=1).sum()),
        "original": rounded(risks(people, (people.frame,))),
        "benchmarks_overlap": {"mean": round(float(same.mean()), 4), "lowest": round(float(same.min()), 4)},
    }


SEED = 20227
STUDY = Study(
    name="csrg_copula",
    cells=partial(registry.cells, methods=len(SETTINGS), seeds=SEEDS),
    work=partial(one_cell, seed=SEED),
    results=lambda lines: {
        "rows": means(lines[1:], ["method", "repair"]),
        **{name: lines[0][name] for name in ("original", "benchmarks_overlap")},
    },
    page=page,
    settings={"imputations": IMPUTATIONS, "copies": COPIES, "seed": SEED},
    counts=lambda lines: {
        **{name: lines[0][name] for name in ("records", "incomplete")},
        "seeds": (len(lines) - 1) // len(SETTINGS),
    },
    reads_data=True,
)
