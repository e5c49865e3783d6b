"""The tables of the course on the pseudo registry: estimates with their intervals, method beside method.

Jiang (2025) prints three tables: probit for work disability and for one-year lung disease (ILD), complete cases, at
M = 3 and 20, and both with imputed data. The registry behind them is confidential; here they are made from the authors'
pseudo registry, so numbers differ, and what can be compared is how far each method is from its own original.
Synthesis, analyses and combining are `synthdp.compare`'s.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import synthdp
from reports.cells import Cell, Line
from reports.course.page import draw, page
from reports.course.printed import CONDITIONS
from reports.csrg_copula.study import COPIES as COPIES_OF_EACH
from reports.csrg_copula.study import IMPUTATIONS, benchmark, completed_originals
from reports.estimators import design, probit
from reports.registry.study import GRADED, OTHERS, REPLACED, RIDGE, UNSEEN, patients
from reports.study import Results, Study
from synthdp.evaluation.utility.analyses import ci_overlap
from synthdp.inference.estimates import Estimates
from synthdp.synthesis.design import Design
from synthdp.table.microdata import Microdata

SEEDS = 10
COPIES = (3, 20)
TERMS = (*REPLACED, *OTHERS)
FAR = 1e6
KEY = {"role": "replace", "key": True}
SETTINGS: dict[str, Any] = {
    "variables": {
        **dict.fromkeys(REPLACED[:-1], KEY),
        "Age_raw": {**KEY, "tolerance": 3, "decimals": 4},
        **{name: {"key": False} for name in (*OTHERS, "WorkDisabled", *UNSEEN)},
    },
    "evaluation": {"utility": [], "risk": ["identity", "identity_averaged"]},
}


def masks(sd: float, alpha: float, **age: Any) -> dict[str, Any]:
    """Return the masks block: the same α for every category."""
    categories = {name: {"method": "shifted_normal", "alpha": alpha} for name in REPLACED[:-1]}
    return {**categories, "Age_raw": {"method": "gaussian", "sd": sd, **age}}


AUTHORS = masks(1.0, 6.0, copies=20)
OURS = masks(GRADED["sd"], GRADED["alpha"], graded=GRADED["graded"], fewest=GRADED["fewest"])


def methods(copies: int) -> dict[str, Any]:
    """Return the methods for complete cases; no model sees the lung disease of a year later."""
    unseen = {"exclude": list(UNSEEN)}
    regression = {"method": "regression", **unseen}
    masked = {"method": "da_mi", "model": regression, "copies": copies}
    return {
        "CART": {"method": "sequential", "model": {"method": "cart", **unseen}, "copies": copies},
        "norm+logit": {"method": "sequential", "model": regression, "copies": copies},
        "mi": {"method": "mi", "model": regression, "copies": copies},
        "DA-MI": {"synthesis": {**masked, "mask_draw": "once", "repair": True}, "masks": AUTHORS},
        "DA-MI per copy": {"synthesis": {**masked, "repair": True}, "masks": OURS},
    }


def imputed_methods(data: Path, seed: int) -> dict[str, Any]:
    """Return the methods for data with gaps: the copula fills them, CART and norm+logit work on what it has filled."""
    unseen = {"exclude": list(UNSEEN)}
    copula = {"method": "copula", **unseen}
    shape = {"model": copula, "imputations": IMPUTATIONS, "copies": COPIES_OF_EACH, "missing": "impute"}
    completed = completed_originals(patients(data, complete=False), IMPUTATIONS, seed=seed)
    found: dict[str, Any] = {
        "DA-MI": {"synthesis": {"method": "da_mi", "mask_draw": "once", "repair": True, **shape}, "masks": AUTHORS},
        "DA-MI per copy": {"synthesis": {"method": "da_mi", "repair": True, **shape}, "masks": OURS},
        "mi": {"method": "mi", **shape},
    }
    nested = Design(replaced="some", proper=False, imputed=True, imputations=IMPUTATIONS, copies=COPIES_OF_EACH)
    for name in ("CART", "norm+logit"):
        settings = SETTINGS | {"synthesis": methods(COPIES_OF_EACH)[name]}
        made = [synthdp.synthesize(frame, settings, seed=10 * seed + k) for k, frame in enumerate(completed)]
        tables = [copy for release in made for copy in release]
        found[name] = {"files": tables, "rows": "aligned", "design": nested}
    return found


def analyses(people: Microdata) -> dict[str, Callable[[pd.DataFrame], Estimates]]:
    """Return both probits; age in standard deviations of the original."""
    age = people.frame["Age_raw"]

    def fit(frame: pd.DataFrame, outcome: str, free: str | None = None) -> Estimates:
        # of the original with gaps only complete records can be used; copies have no gaps in these columns
        rows = frame[[*TERMS, outcome]].notna().all(axis=1)
        rows &= True if free is None else frame[free] == 0
        seen = frame[rows].assign(Age_raw=(frame["Age_raw"] - age.mean()) / age.std())
        return probit(seen[outcome].to_numpy(np.float64), design(seen, *TERMS), ("Intercept", *TERMS), ridge=RIDGE)

    return {
        "work": partial(fit, outcome="WorkDisabled"),
        "ild": partial(fit, outcome="OneYearILD", free="BaselineILD"),
    }


def one_cell(part: str, seed: int, *, data: Path) -> list[dict[str, Any]]:
    """Return estimates and risks of every method in one draw; what is unperturbed where there is no seed."""
    people = patients(data, complete=part == "complete")
    if not seed:
        return unperturbed(part, people, data)
    given = imputed_methods(data, seed) if part == "imputed" else {}
    for copies in COPIES if part == "complete" else ():
        given |= {f"{name}, M = {copies}": block for name, block in methods(copies).items()}
    studied = synthdp.compare(people.frame, given, SETTINGS, seeds=[seed], analyses=analyses(people))
    table = studied.table()
    if bad := table.loc[table["value"].isna(), ["method", "reason"]].to_dict("records"):
        raise RuntimeError(f"{part}, seed {seed}: {bad[0]}")
    return [
        {"method": row.method, "measure": row.measure, "target": row.target, "numbers": [row.value, row.low, row.high]}
        for row in table[
            table["measure"].isin(("analyses.estimate", "identity.rate", "identity_averaged.rate"))
        ].itertuples()
    ]


def unperturbed(part: str, people: Microdata, data: Path) -> list[dict[str, Any]]:
    """Return the original's estimates: of the complete cases, or of twenty completed originals by Rubin's rule."""
    if part == "imputed":
        pooled = reference(data)
        ends = {name: (one.names, one.estimate, one.low, one.high) for name, one in pooled.items()}
    else:
        normal = 1.959963984540054
        fits = {name: fit(people.frame) for name, fit in analyses(people).items()}
        ends = {n: (f.names, f.values, f.values - normal * f.se, f.values + normal * f.se) for n, f in fits.items()}
    return [
        {
            "method": "unperturbed",
            "measure": "analyses.estimate",
            "target": f"{name}: {term}",
            "numbers": [*map(float, n)],
        }
        for name, (terms, *columns) in ends.items()
        for term, *n in zip(terms, *columns, strict=True)
    ]


@cache
def reference(data: Path) -> Any:
    """Return the analyses of completed originals."""
    return benchmark(patients(data, complete=False), seed=SEED)


def cells(count: int | None) -> Iterator[Cell]:
    """Yield what is unperturbed (seed 0) and every draw."""
    yield from (
        {"part": part, "seed": seed} for seed in range((count or SEEDS) + 1) for part in ("complete", "imputed")
    )


def gathered(lines: list[Line]) -> Results:
    """Return the tables of the first draw, and over all draws overlaps, conclusions kept and people found."""
    rows = pd.DataFrame(
        [{"part": line["part"], "seed": line["seed"], **row} for line in lines for row in line["found"]]
    )
    rows[["estimate", "low", "high"]] = np.array(rows["numbers"].tolist(), dtype=np.float64)
    rows[["outcome", "term"]] = rows["target"].str.split(": ", n=1, expand=True).reindex(columns=[0, 1]).to_numpy()
    found = rows[rows["measure"] == "analyses.estimate"]
    found = found[found["term"] != "Intercept"].drop(columns=["numbers", "target", "measure"])
    truth = found[found["seed"] == 0].drop(columns=["seed", "method"])
    both = found[found["seed"] > 0].merge(truth, on=["part", "outcome", "term"], suffixes=("", "_original"))
    # Reiter's (2004) degrees of freedom can fall to nothing where T does: an interval without end overlaps by half
    far = FAR * (both["high_original"] - both["low_original"])
    low = np.maximum(both["low"], both["low_original"] - far)
    high = np.minimum(both["high"], both["high_original"] + far)
    ends = (both["low_original"], both["high_original"], low, high)
    both["overlap"] = ci_overlap(*(np.asarray(end, dtype=np.float64) for end in ends))
    both["kept"] = conclusion(both["low"], both["high"]) == conclusion(both["low_original"], both["high_original"])
    risk = rows[rows["measure"].str.startswith("identity")].groupby(["part", "method", "measure"])["estimate"].mean()
    share = {key: float(value) for key, value in risk.items()}
    draws = both.groupby(["part", "method", "outcome", "seed"], sort=False)
    each = draws["overlap"].agg(["mean", "min"]).join(draws["kept"].mean()).reset_index()
    names = {c: g["kept"].mean() for c, g in both[both["term"] == "Age_raw"].groupby(["part", "method", "outcome"])}
    summary = []
    for (part, method, outcome), one in each.groupby(["part", "method", "outcome"], sort=False):
        summary.append(
            {
                "part": part,
                "method": method,
                "outcome": outcome,
                "overlap": round(float(one["mean"].mean()), 4),
                "error": round(float(one["mean"].std(ddof=1) / np.sqrt(len(one))) if len(one) > 1 else 0.0, 4),
                "lowest": round(float(one["min"].mean()), 4),
                "kept": round(float(one["kept"].mean()), 4),
                "age_kept": round(float(names[part, method, outcome]), 4),
                "found": round(share[part, method, "identity.rate"], 5),
                "found_averaged": round(share[part, method, "identity_averaged.rate"], 5),
            }
        )
    first = pd.concat([found[found["seed"] == 0], found[found["seed"] == 1]]).drop(columns="seed")
    return {"first": first.round(4).to_dict("records"), "summary": summary}


def conclusion(low: pd.Series, high: pd.Series) -> pd.Series:
    """Return what an analyst would conclude: −1 or 1 for an effect, 0 for none shown."""
    return (low > 0).astype(int) - (high < 0).astype(int)


SEED = 20270
STUDY = Study(
    name="course",
    cells=cells,
    work=one_cell,
    results=gathered,
    page=page,
    settings={"seed": SEED, "conditions": CONDITIONS},
    counts=lambda lines: {"seeds": max(line["seed"] for line in lines)},
    draw=draw,
    reads_data=True,
)
