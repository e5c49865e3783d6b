"""Six keys replaced on the pseudo registry with its gaps: how much risk buys how much overlap, beside CART.

The course's harder case (Jiang 2025): age, disease duration, work disability, sex, race and education are all replaced,
masks depend on the risk group, missing values are drawn by the copula. It prints one point, without its risk. Here one
dial turns all masks, so that there is a curve: t = 1 has sd .35, .7, 1.4 and α 5, 2.5, 1.25 for low, medium and high
risk; t multiplies every sd and divides every α. All methods, measures and analyses are `synthdp.compare`'s.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import synthdp
from reports.cells import Cell, Line
from reports.course.study import TERMS, analyses, reference
from reports.csrg_copula.study import IMPUTATIONS, completed_originals
from reports.registry.study import OTHERS, UNSEEN, patients
from reports.six_keys.page import draw, page
from reports.study import Results, Study
from synthdp.evaluation.utility.analyses import ci_overlap
from synthdp.synthesis.design import Design

SEEDS = 4
# of each completed original: 15 in all as the authors make them, and enough for the mean of draws to settle
COPIES = (3, 12)
CATEGORIES = ("Gender", "NewWhite", "MoreThanHighSchool", "WorkDisabled")
NUMBERS = {"Age_raw": 3.0, "DiseaseDuration": 0.5}
"""Continuous keys, and how closely an intruder knows them, in years."""
GROUPS = {"low": (0.35, 5.0), "medium": (0.7, 2.5), "high": (1.4, 1.25)}
DIALS = (0.5, 1.0, 2.0, 4.0, 8.0)
RISKS = ("identity", "identity_averaged", "linkage")
FAR = 1e6
# so many standard errors of the original say nothing any more
ENDLESS = 20.0
KEY = {"role": "replace", "key": True}
SETTINGS: dict[str, Any] = {
    "variables": {
        **dict.fromkeys(CATEGORIES, KEY),
        **{name: {**KEY, "tolerance": width, "decimals": 3} for name, width in NUMBERS.items()},
        **{name: {"key": False} for name in (*OTHERS, *UNSEEN) if name not in NUMBERS},
    },
    "groups": {"method": "neighbours", "k": 5},
    "evaluation": {"utility": [], "risk": list(RISKS)},
}


def masks(sd: float, alpha: float) -> dict[str, Any]:
    """Return the masks of one group."""
    return {
        **{name: {"method": "shifted_normal", "alpha": alpha} for name in CATEGORIES},
        **{name: {"method": "gaussian", "sd": sd} for name in NUMBERS},
    }


def masked(dial: float, **synthesis: Any) -> dict[str, Any]:
    """Return DA-MI with the masks at a setting of the dial."""
    by_group = {group: masks(sd * dial, alpha / dial) for group, (sd, alpha) in GROUPS.items()}
    low = by_group.pop("low")
    return {"synthesis": {"method": "da_mi", **synthesis}, "masks": low, "masks_by_group": by_group}


def one_mask(dial: float, **synthesis: Any) -> dict[str, Any]:
    """Return DA-MI with the masks of medium risk for everybody."""
    sd, alpha = GROUPS["medium"]
    return {"synthesis": {"method": "da_mi", **synthesis}, "masks": masks(sd * dial, alpha / dial)}


def methods() -> dict[str, Any]:
    """Return every method that draws for itself; the models do not see the lung disease of a year later."""
    found: dict[str, Any] = {}
    for copies in COPIES:
        shape = {"imputations": IMPUTATIONS, "copies": copies, "missing": "impute"}
        copula, regression = (
            {"model": {"method": name, "exclude": list(UNSEEN)}, **shape} for name in ("copula", "regression")
        )
        settings = {f"copula, t = {t:g}": masked(t, **copula) for t in DIALS}
        settings |= {f"regressions, t = {t:g}": masked(t, **regression) for t in (1.0, 2.0, 4.0, 8.0)}
        settings |= {f"one mask, regressions, t = {t:g}": one_mask(t, **regression) for t in (1.0, 2.0, 4.0, 8.0)}
        if copies == COPIES[0]:
            settings |= {f"copula, W once, t = {t:g}": masked(t, mask_draw="once", **copula) for t in (1.0, 4.0)}
        settings |= {
            "copula, no mask": {"method": "mi", **copula},
            "regressions, no mask": {"method": "mi", **regression},
        }
        found |= {f"{name}, M = {IMPUTATIONS * copies}": block for name, block in settings.items()}
    return found


def forward(model: str, copies: int, data: Path, seed: int) -> dict[str, Any]:
    """Return sequential copies of the completed originals, which have no gaps, as tables."""
    completed = completed_originals(patients(data, complete=False), IMPUTATIONS, seed=seed)
    block = {"method": "sequential", "model": {"method": model, "exclude": list(UNSEEN)}, "copies": copies}
    settings = SETTINGS | {"synthesis": block}
    made = [synthdp.synthesize(frame, settings, seed=10 * seed + k) for k, frame in enumerate(completed)]
    nested = Design(replaced="some", proper=False, imputed=True, imputations=IMPUTATIONS, copies=copies)
    return {"files": [copy for release in made for copy in release], "rows": "aligned", "design": nested}


FORWARD = {
    f"{name}, M = {IMPUTATIONS * copies}": (model, copies)
    for copies in COPIES
    for name, model in (("CART", "cart"), ("norm+logit", "regression"))
}
NAMES = (*methods(), *FORWARD)


def one_cell(method: str, seed: int, *, data: Path) -> dict[str, Any]:
    """Return estimates and risks of one method in one draw."""
    people = patients(data, complete=False)
    given = forward(*FORWARD[method], data, seed) if method in FORWARD else methods()[method]
    work = {"work": analyses(people)["work"]}
    table = synthdp.compare(people.frame, {method: given}, SETTINGS, seeds=[seed], analyses=work).table()
    found = table[table["measure"] == "analyses.estimate"].set_index("target")
    risks = table[table["measure"].isin(("identity.rate", "identity_averaged.rate", "linkage.attack"))]
    if found.empty or risks["value"].isna().any():
        raise RuntimeError(f"{method}, seed {seed}: {table['reason'].max()}")
    return {
        "terms": {term: found.loc[f"work: {term}", ["value", "low", "high"]].tolist() for term in TERMS},
        "risks": {row.measure.split(".")[0]: row.value for row in risks.itertuples()},
    }


def original(data: Path) -> dict[str, Any]:
    """Return the completed originals' estimates, and how many people matching finds in the original itself."""
    people, pooled = patients(data, complete=False), reference(data)["work"]
    ends = zip(pooled.names, pooled.estimate, pooled.low, pooled.high, pooled.se, strict=True)
    found = synthdp.evaluate(people.frame, people.frame, SETTINGS, aligned=True)["risk"]["identity"]
    return {
        "terms": {term: [float(number) for number in numbers] for term, *numbers in ends if term in TERMS},
        "risks": {"identity": found["expected_match_rate"]},
    }


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the original (seed 0), then every draw of every method."""
    yield {"method": "original", "seed": 0}
    yield from ({"method": name, "seed": seed} for seed in range(1, (count or SEEDS) + 1) for name in NAMES)


def work(method: str, seed: int, *, data: Path) -> dict[str, Any]:
    """Return one cell."""
    return original(data) if not seed else one_cell(method, seed, data=data)


def gathered(lines: list[Line]) -> Results:
    """Return means over draws of overlaps, distances and risks, term by term and on average."""
    first = next(line for line in lines if not line["seed"])
    ends = np.array([first["terms"][term] for term in TERMS])
    rows = []
    for name in dict.fromkeys(line["method"] for line in lines if line["seed"]):
        drawn = [line for line in lines if line["method"] == name]
        made = np.array([[line["terms"][term] for term in TERMS] for line in drawn])
        # Reiter's (2004) degrees of freedom can fall to nothing where T does: an interval without end overlaps by half
        far = FAR * ends[:, 3]
        low, high = np.maximum(made[:, :, 1], ends[:, 0] - far), np.minimum(made[:, :, 2], ends[:, 0] + far)
        shares = ci_overlap(ends[:, 1], ends[:, 2], low, high)
        risks = {risk: [line["risks"][risk] for line in drawn] for risk in RISKS}
        rows.append(
            {
                "method": name,
                "overlap": round(float(shares.mean()), 4),
                "error": round(_error(shares.mean(axis=1)), 4),
                "lowest": round(float(shares.mean(axis=0).min()), 4),
                "endless": round(float((made[:, :, 2] - made[:, :, 1] > ENDLESS * ends[:, 3]).mean()), 4),
                "terms": {
                    term: {
                        "estimate": [round(float(v), 4) for v in made[:, k].mean(axis=0)],
                        "overlap": round(float(shares[:, k].mean()), 4),
                        "std_diff": round(float(np.abs(made[:, k, 0] - ends[k, 0]).mean() / ends[k, 3]), 4),
                    }
                    for k, term in enumerate(TERMS)
                },
                **{risk: round(float(np.mean(values)), 5) for risk, values in risks.items()},
                **{f"{risk}_error": round(_error(values), 5) for risk, values in risks.items()},
            }
        )
    return {"original": first["terms"], "in_original": first["risks"]["identity"], "rows": rows}


def _error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


STUDY = Study(
    name="six_keys",
    cells=cells,
    work=work,
    results=gathered,
    page=page,
    settings={"groups": {name: list(pair) for name, pair in GROUPS.items()}, "tolerances": NUMBERS},
    counts=lambda lines: {"seeds": max(line["seed"] for line in lines)},
    draw=draw,
    reads_data=True,
)
