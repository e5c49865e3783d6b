"""Classical maskings: a published experiment drawn again, and what agencies use beside DA-MI and CART on two files.

The experiment is Biswal's (2024), section 3.6: ages masked by k-PRAM and k-noise in groups of five years. Its file is
not public; each replication draws a surrogate with the published counts. The map is ``synthdp.compare`` on voters
(bundled) and on Social Diagnosis 2011 (a shared file).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import synthdp
from reports.cells import Cell, Line, apart
from reports.maskings.page import page
from reports.maskings.pictures import FAMILIES, HALF, METHOD, draw
from reports.study import Results, Study, shared_file
from synthdp import datasets
from synthdp.arrays import Floats
from synthdp.datasets.smokers import AGE_EDGES
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.distances import wasserstein
from synthdp.evaluation.utility.moves import evaluate_moves
from synthdp.seeding import Streams
from synthdp.synthesis.maskings.grouped import KNoise, KPram, expected_group_size
from synthdp.synthesis.maskings.masking import Masking
from synthdp.synthesis.maskings.noise import Noise
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

SEED, REPLICATIONS, MAP_SEEDS = 27, 400, 2
PEOPLE = 2000
GROUPS: Mapping[str, Any] = {"k": 1, "edges": {"age": AGE_EDGES}}
MASKINGS: Mapping[str, Masking] = {
    "k-PRAM": KPram(**GROUPS),
    "k-PRAM, shuffled": KPram(variant="shuffle", **GROUPS),
    "k-PRAM, matrix (.8)": KPram(variant="matrix", **GROUPS),
    "k-noise": KNoise(**GROUPS),
    "k-noise, moving": KNoise(moving=True, **GROUPS),
}
# lowest and highest value, and how far off still counts as a match
VOTERS = {"age": (17, 99, 3), "educ": (1, 7, 0.5), "income": (1, 24, 1)}
FILES = ("voters", "poland")
RISKS = ("linkage.attack", "attribute.gain")
USES = ("panel.mean", "analyses.overlap")


def people(r: int) -> Microdata:
    """Return the surrogate of a replication."""
    frame = datasets.ages(rng=Streams(SEED).generator("ages", r))
    return resolve(frame, {"age": Variable(role="replace", bounds=(0, 110))})


def masked(method: Masking, data: Microdata, r: int, name: str) -> pd.DataFrame:
    """Return one masked file."""
    plan = Plan(data, tag(data, Neighbours()))
    return method.synthesize(plan, streams=apart(SEED, "maskings", name, r)).copies[0]


def one_experiment(r: int) -> dict[str, Any]:
    """Return what each masking does to one surrogate."""
    data = people(r)
    ages = data.numbers("age")
    before = np.histogram(ages, AGE_EDGES)[0]
    sd = HALF / np.sqrt(3) / ages.std(ddof=1)
    found: dict[str, Any] = {}
    kept: dict[str, Floats] = {}
    for name, method in {**MASKINGS, "noise of the same sd": Noise(sd=sd)}.items():
        copy = masked(method, data, r, name)
        kept[name] = copy["age"].to_numpy()
        moves = evaluate_moves(Comparison(data.frame, (copy,), data.schema, aligned=True))[0]
        counts = np.histogram(np.clip(kept[name], AGE_EDGES[0], AGE_EDGES[-1]), AGE_EDGES)[0]
        found[name] = {
            **{key: moves[key]["value"] for key in ("bias", "mse", "rmse")},
            "moved_counts": float(np.abs(counts - before).sum() / 2 / len(ages)),
            "wasserstein": wasserstein(np.sort(ages), np.sort(kept[name])),
            "counts": counts,
        }
    near = expected_group_size(ages, ages, half=HALF, radius=HALF)
    twice = expected_group_size(ages, ages, half=HALF, radius=2 * HALF)
    within = np.array([(np.abs(ages - age) < 2 * HALF).sum() for age in ages])
    group = {"mean": near.mean(), "least": near.min(), "theorem": (twice / within).min(), "counts": before}
    shown = {} if r else {"ages": ages, "near": near, **{name: kept[name] for name in ("k-PRAM", "k-noise")}}
    return {"found": found, "group": group, "shown": {name: values.round(3) for name, values in shown.items()}}


def voters() -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    """Return the voters of 1996, the settings of the comparison, and the masks of DA-MI."""
    frame = datasets.anes96().drop(columns=["popul", "logpopul"])
    variables: dict[str, Any] = {
        name: {"kind": "continuous", "role": "replace", "key": True, "bounds": [low, high], "tolerance": near}
        for name, (low, high, near) in VOTERS.items()
    }
    variables |= {str(name): {"key": False} for name in frame if name not in variables}
    analyses = [
        {"name": "vote", "model": "logit", "formula": "vote ~ age + educ + income + PID"},
        {"name": "party", "model": "ols", "formula": "PID ~ age + educ + income + TVnews"},
    ]
    masks = {name: {"method": "gaussian", "sd": 1.0} for name in VOTERS}
    return frame, {"variables": variables, "analyses": analyses}, masks


def poland(data: Path) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    """Return ten columns of the first people of Social Diagnosis 2011 (no income told: missing), settings and masks."""
    names = ["sex", "age", "region", "edu", "marital", "income", "smoke", "sport", "depress", "nofriend"]
    frame = pd.read_csv(shared_file(data, "sd2011.csv"))[names].replace(
        {"income": {-8: np.nan}, "nofriend": {-8: np.nan}}
    )
    frame = frame[frame["edu"].notna() & frame["marital"].notna()].iloc[:PEOPLE].reset_index(drop=True)
    variables: dict[str, Any] = {
        "age": {
            "kind": "continuous",
            "role": "replace",
            "key": True,
            "bounds": [16, 100],
            "tolerance": 2,
            "decimals": 0,
        },
        "sex": {"role": "replace", "key": True},
        "edu": {"role": "replace", "key": True},
        "marital": {"role": "replace", "key": True},
        "income": {"kind": "continuous", "role": "replace", "key": False, "bounds": [0, 20000]},
    }
    variables |= {str(name): {"key": False} for name in frame if name not in variables}
    analyses = [
        {"name": "satisfaction", "model": "ols", "formula": "depress ~ age + sex + income"},
        {"name": "smoking", "model": "logit", "formula": "smoke ~ age + sex + C(edu)"},
    ]
    masks = {
        "age": {"method": "gaussian", "sd": 1.0},
        "sex": {"method": "transition", "keep": 0.8},
        "edu": {"method": "transition", "keep": 0.7},
        "marital": {"method": "transition", "keep": 0.7},
        "income": {"method": "gaussian", "sd": 1.0},
    }
    return frame, {"variables": variables, "analyses": analyses}, masks


def contenders(masks: dict[str, Any]) -> dict[str, Any]:
    """Return every method by name: one masked file each, five copies of those whose intervals need several."""

    def da_mi(factor: float) -> dict[str, Any]:
        scaled = {name: {**mask, "sd": factor * mask["sd"]} if "sd" in mask else mask for name, mask in masks.items()}
        return {"synthesis": {"method": "da_mi", "model": {"method": "auto"}, "copies": 5}, "masks": scaled}

    return {
        "DA-MI, half": da_mi(0.5),
        "DA-MI": da_mi(1.0),
        "DA-MI, double": da_mi(2.0),
        "CART": {"method": "sequential", "model": {"method": "cart"}, "copies": 5},
        "k-anonymity 5": {"method": "k_anonymity", "k": 5},
        "PRAM .8": {"method": "pram", "keep": 0.8},
        "PRAM .5, invariant": {"method": "pram", "keep": 0.5, "invariant": True},
        "k-PRAM": {"method": "k_pram"},
        "k-noise": {"method": "k_noise"},
        "noise .25": {"method": "noise", "sd": 0.25, "keep": 0.9},
        "noise 1": {"method": "noise", "sd": 1.0},
        "microaggregation 3": {"method": "microaggregation", "k": 3},
        "microaggregation 25": {"method": "microaggregation", "k": 25},
        "rank swap 5%": {"method": "rank_swap", "reach": 0.05},
        "rank swap 30%": {"method": "rank_swap", "reach": 0.3},
        "top and bottom 5%": {"method": "top_bottom", "keep": 1.0},
        "suppression 3": {"method": "local_suppression", "k": 3},
    }


def one_map(file: str, seed: int, family: str, data: Path) -> list[dict[str, Any]]:
    """Return risks and usefulness of a family of methods on a file."""
    frame, settings, masks = voters() if file == "voters" else poland(data)
    settings["evaluation"] = {"utility": ["panel", "analyses", "moves"], "risk": ["linkage", "attribute"]}
    methods = {name: block for name, block in contenders(masks).items() if name in FAMILIES[family]}
    studied = synthdp.compare(frame, methods, settings, seeds=[seed])
    table = studied.table()
    lost = table[table["measure"].isin([*RISKS, *USES]) & table["value"].isna()]
    found = []
    for name in methods:
        mine = table[table["method"] == name]
        values = {
            measure: mine.loc[mine["measure"] == measure, "value"].agg("max" if measure in RISKS else "mean")
            for measure in (*RISKS, *USES)
        }
        reasons = lost.loc[lost["method"] == name, "reason"].dropna().unique()
        found.append(
            {
                METHOD: name,
                **{key: None if pd.isna(value) else float(value) for key, value in values.items()},
                "lost": [str(reason)[:160] for reason in reasons],
            }
        )
    return found


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the replications of the experiment, then the maps."""
    for r in range(count or REPLICATIONS):
        yield {"part": "ages", "r": r, "family": ""}
    for seed in range(1, min(count or MAP_SEEDS, MAP_SEEDS) + 1):
        yield from ({"part": file, "r": seed, "family": family} for file in FILES for family in FAMILIES)


def one_cell(part: str, r: int, family: str, *, data: Path) -> Any:
    """Return what one replication, or one draw of a family of methods on a file, comes to."""
    return {"found": one_experiment(r) if part == "ages" else one_map(part, r, family, data)}


def gathered(lines: list[Line]) -> Results:
    """Return means over replications with their standard errors, one run in full, and both maps."""
    runs = [line["found"] for line in lines if line["part"] == "ages"]
    names = list(runs[0]["found"])
    ratio = [run["found"]["k-noise"]["rmse"] / run["found"]["k-PRAM"]["rmse"] for run in runs]
    groups = {key: [run["group"][key] for run in runs] for key in ("mean", "least", "theorem")}
    original = {"original": runs[0]["group"]["counts"]}
    return {
        "table": [{METHOD: name, **_spread([run["found"][name] for run in runs])} for name in names],
        "ratio": _ranged(ratio),
        "groups": {key: _ranged(values) for key, values in groups.items()},
        "counts": original | {name: runs[0]["found"][name]["counts"] for name in names},
        "shown": runs[0]["shown"],
        "maps": {file: _mapped([line["found"] for line in lines if line["part"] == file]) for file in FILES},
    }


def _spread(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean and the sd over replications of everything but counts."""
    each = pd.DataFrame(runs).drop(columns="counts")
    found = {str(key): round(float(value), 4) for key, value in each.mean().items()}
    return found | {f"{key}_sd": round(float(value), 4) for key, value in each.std(ddof=1).items()}


def _ranged(values: list[float]) -> dict[str, float]:
    return {
        name: round(float(fold(values)), 4) for name, fold in (("mean", np.mean), ("low", np.min), ("high", np.max))
    }


def _mapped(draws: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    rows = pd.DataFrame([row for found in draws for row in found])
    result = []
    for name, mine in rows.groupby(METHOD, sort=False) if len(rows) else ():
        row: dict[str, Any] = {METHOD: name, "draws": len(mine)}
        for measure in (*RISKS, *USES):
            known = mine[measure].dropna().astype(float)
            row[measure] = round(float(known.mean()), 4) if len(known) else None
            row[f"{measure}_error"] = (
                round(float(known.std(ddof=1) / np.sqrt(len(known))), 4) if len(known) > 1 else 0.0
            )
        result.append(row | {"lost": sorted({one for lost in mine["lost"] for one in lost})})
    return result


STUDY = Study(
    name="maskings",
    cells=cells,
    work=one_cell,
    results=gathered,
    page=page,
    settings={"seed": SEED},
    counts=lambda lines: {"replications": sum(line["part"] == "ages" for line in lines)},
    draw=draw,
    reads_data=True,
)
