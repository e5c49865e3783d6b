"""A whole social survey by the copula: Social Diagnosis 2011, 5,000 records × 35 columns, skips and missing values.

``synthdp init --method copula`` writes the config; what it asks to decide is decided here as a person would: the two
likely keys it kept are replaced as well (eight keys), sizes of places have an order, the dates of marriage and
separation, whose gaps would tell the marital status, are replaced too, skips are declared, and the few answers that
contradict them are taken out first. Then the whole pipeline runs: read, tag, fit, draw, evaluate, gate, release and
report.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from reports.markdown import table
from reports.study import Results, Study, shared_file
from synthdp import pipeline
from synthdp.arrays import Booleans
from synthdp.cli.starting import write_config
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import OFF
from synthdp.progress import Silent
from synthdp.table import expressions, io

MASKS: dict[str, dict[str, Any]] = {
    "socprof": {"method": "transition", "keep": 0.6},
    "placesize": {"method": "shifted_normal", "alpha": 1.0},
    "income": {"method": "gaussian", "sd": 1.0},
}
# column: who is asked. Where the deciding column is missing, so is the answer
SKIPS = {
    "mmarr": "marital != 'SINGLE'",
    "ymarr": "marital != 'SINGLE'",
    "msepdiv": "marital in ['DIVORCED', 'LEGALLY SEPARATED', 'DE FACTO SEPARATED', 'WIDOWED']",
    "ysepdiv": "marital in ['DIVORCED', 'LEGALLY SEPARATED', 'DE FACTO SEPARATED', 'WIDOWED']",
    "nociga": "smoke == 'YES'",
    "wkabdur": "workab == 'YES'",
    "wkabintdur": "wkabint != 'NO'",
    "emcc": "wkabint != 'NO'",
}
# an order that init cannot know
SIZES = [
    "RURAL AREAS",
    "URBAN BELOW 20,000",
    "URBAN 20,000-100,000",
    "URBAN 100,000-200,000",
    "URBAN 200,000-500,000",
    "URBAN 500,000 AND OVER",
]
FOLLOWING = ("mmarr", "ymarr", "msepdiv", "ysepdiv")
ANALYSES = [
    {"name": "satisfaction", "model": "ols", "formula": "depress ~ age + sex + income"},
    {"name": "smoking", "model": "logit", "formula": "smoke ~ age + sex + C(edu)"},
    {"name": "sport", "model": "logit", "formula": "sport ~ age + sex + C(edu) + income"},
]


def survey(data: Path) -> tuple[pd.DataFrame, int]:
    """Return the survey without the answers of people who were not asked, and how many those were."""
    frame = pd.read_csv(shared_file(data, "sd2011.csv"))
    taken = 0
    for name, condition in SKIPS.items():
        wrong = frame[name].notna() & frame[name].ne(-8) & ~asked(frame, condition)
        taken += int(wrong.sum())
        frame[name] = frame[name].mask(wrong)
    return frame, taken


def asked(frame: pd.DataFrame, condition: str) -> Booleans:
    """Return who was asked; a missing answer to the deciding question is none."""
    known = frame[condition.split()[0]].notna().to_numpy(dtype=bool)
    return np.asarray(expressions.evaluate(condition, frame).to_numpy(dtype=bool) & known)


def settings(folder: Path) -> dict[str, Any]:
    """Return what ``init`` wrote for the survey in a folder, decided."""
    list(write_config(folder / "sd2011.csv", folder / "sd2011.yaml", "copula"))
    raw: dict[str, Any] = yaml.safe_load((folder / "sd2011.yaml").read_text(encoding="utf-8"))
    raw["data"]["path"] = str(folder / "sd2011.csv")
    variables = raw["variables"]
    variables["socprof"]["role"] = "replace"
    variables["placesize"] |= {"kind": "ordinal", "levels": SIZES}
    variables["income"] |= {"role": "replace", "bounds_from": "data"}
    for name, condition in SKIPS.items():
        variables[name]["applies_when"] = condition
        if name in FOLLOWING:
            # nobody outside knows the month; it is drawn anew because marital status is
            variables[name] |= {"role": "replace", "key": False, "bounds_from": "data", "decimals": 0}
    raw["masks"] = {name: mask for name, mask in raw["masks"].items() if name not in FOLLOWING} | MASKS
    raw["analyses"] = ANALYSES
    raw["evaluation"] = {"utility": ["analyses", "tables"], "risk": ["identity", "identity_averaged"]}
    raw["release"] = OFF.model_dump() | {"recorded_in": "none"}
    return raw


def skips_of(original: pd.DataFrame, copies: list[pd.DataFrame]) -> list[dict[str, Any]]:
    """Return, by column that is not asked of everyone, how many are asked and whether a copy answers for others."""
    rows = []
    for name, condition in SKIPS.items():
        here, answered = asked(original, condition), original[name].notna() & original[name].ne(-8)
        there = [asked(copy, condition) for copy in copies]
        rows.append(
            {
                "column": name,
                "asked": condition,
                "original": int(here.sum()),
                "copies": [int(rows.sum()) for rows in there],
                "answered_original": round(float(answered[here].mean()), 3),
                "answered_copies": round(
                    sum(float(copy.loc[rows, name].notna().mean()) for copy, rows in zip(copies, there, strict=True))
                    / len(copies),
                    3,
                ),
                "not_asked_but_answered": sum(
                    int(copy.loc[~rows, name].notna().sum()) for copy, rows in zip(copies, there, strict=True)
                ),
            }
        )
    return rows


def one_run(*, data: Path, seed: int) -> Results:
    """Run the pipeline once and return what it came to."""
    frame, taken = survey(data)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frame.to_csv(folder / "sd2011.csv", index=False)
        raw = settings(folder)
        config = parse(raw | {"seed": seed})
        outcome = pipeline.run(config, out=folder / "out", jobs=2, progress=Silent())
        if outcome.public is None:
            raise InputError("sd2011: the gate refused the release, although nothing was asked of it.")
        copies = [io.read(path) for path in sorted(outcome.public.glob("synthetic_*.csv"))]
        told = (folder / "out" / "confidential" / "report.html").read_text(encoding="utf-8")
    metrics = outcome.metrics
    utility, risk = metrics["utility"], metrics["risk"]
    results: Results = {
        "timings": {stage: round(seconds, 1) for stage, seconds in metrics["timings"].items()},
        "chain": [row for row in metrics["chain"] if "r_hat" in row or "left_out" in row],
        "skips": skips_of(frame, copies),
        "kept_columns_unchanged": _unchanged(frame, copies, config.variables),
        "analyses": [
            {name: entry[name] for name in ("name", "rule", "mean_ci_overlap", "min_ci_overlap")}
            for entry in utility["analyses"]
        ],
        "tables": utility["table_summary"],
        "tables_in_report": told.count("<table"),
        "risk": {
            name: {part: risk[name][part] for part in ("expected_match", "true_match")}
            for name in ("original", "identity", "identity_averaged")
        },
    }
    model = raw["synthesis"]["model"]
    chosen = {
        "records": len(frame),
        "answers_taken_out": taken,
        "unseen": model["exclude"],
        "prior_records": model["prior_records"],
    }
    return {"chosen": chosen, "results": results}


def _unchanged(frame: pd.DataFrame, copies: list[pd.DataFrame], variables: Any) -> bool:
    """Return whether kept columns have the same values, missing ones among them, in every copy, in whatever order."""
    kept = [name for name in frame.columns if variables[name].role == "keep" and name != "agegr"]

    def sorted_rows(table: pd.DataFrame) -> pd.DataFrame:
        text = table[kept].replace(-8, None).astype(object).map(lambda value: "" if pd.isna(value) else f"{value}")
        text = text.map(lambda value: value.removesuffix(".0"))
        return text.sort_values(kept).reset_index(drop=True)

    wanted = sorted_rows(frame)
    return all(sorted_rows(copy).equals(wanted) for copy in copies)


def page(results: Results, chosen: Results) -> str:
    """Return the page as Markdown."""
    skips = [
        (
            f"`{row['column']}`",
            f"`{row['asked']}`",
            row["original"],
            " ".join(map(str, row["copies"])),
            f"{row['answered_original']:.1%}",
            f"{row['answered_copies']:.1%}",
            row["not_asked_but_answered"],
        )
        for row in results["skips"]
    ]
    analyses = [
        (e["name"], e["rule"], _share(e["mean_ci_overlap"]), _share(e["min_ci_overlap"])) for e in results["analyses"]
    ]
    risks = [(name, f"{row['expected_match']:.1f}", row["true_match"]) for name, row in results["risk"].items()]
    chain = [row for row in results["chain"] if "r_hat" in row]
    said = ", ".join(
        f"{row['sweeps']} sweeps, R-hat {row['r_hat']}, effective sample size {row['ess']}" for row in chain
    )
    unseen = ", ".join(f"`{name}`" for name in chosen["unseen"])
    times = [(stage, seconds) for stage, seconds in results["timings"].items()]
    head = ("column", "asked", "original", "each copy", "answered, original", "copies", "not asked but answered")
    return f"""# Social Diagnosis 2011 by the copula: all 35 columns

{chosen["records"]} records with skips and missing values; {chosen["keys"]} keys are replaced and masked, and with the
marital status the four dates asked because of it: {chosen["replaced"]} columns. The config is what `synthdp init
--method copula` writes, with its questions decided (see the study's source). {chosen["answers_taken_out"]} answers of
people who were not asked were taken out of the file first. Columns the model does not see, as `init` proposes: {unseen}
(27 levels, or many levels and few answers). The prior is worth {chosen["prior_records"]} unrelated records. Regenerate:
`python -m reports sd2011 --data FOLDER`.

The chains: {said}.

## Skips

{table(head, skips)}

Kept columns are the same in every copy: {"yes" if results["kept_columns_unchanged"] else "NO"}. A replaced column is
filled in wherever it is asked in the copy; kept columns keep their gaps.

## What the report says

{results["tables_in_report"]} tables. Overlap of intervals:

{table(("analysis", "rule", "mean overlap", "lowest"), analyses)}

People found (expected, and as the only best match):

{table(("file", "expected", "true"), risks)}

## Seconds

{table(("stage", "seconds"), times)}
"""


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


SEED = 0x5EED_2011_0000_0000_0001
STUDY = Study(
    name="sd2011",
    cells=lambda _: [{}],
    work=partial(one_run, seed=SEED),
    results=lambda lines: dict(lines[0]["results"]),
    page=page,
    settings={"replaced": 12, "keys": 8, "seed": f"{SEED:#x}"},
    counts=lambda lines: dict(lines[0]["chosen"]),
    reads_data=True,
)
