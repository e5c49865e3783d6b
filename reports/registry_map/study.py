"""The pseudo registry, M = 15, before repair: our methods and the files of R synthpop and SDV on one map.

595 complete records; age, sex, race and education are replaced. Every method makes 15 copies twenty times over, and
`synthdp.compare` measures them: overlap of both probits' intervals with the original's, and risk by intruders that mean
the same for partially and fully synthetic files. The other tools' files are made by `reports.registry_map.others`
and found under ``--files``; without them the study is of our methods alone, and says so.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import synthdp
from reports.cells import Cell, Line, apart
from reports.course import study as course
from reports.registry import study as registry
from reports.registry.study import patients
from reports.registry_map.others import COPIES, SEEDS
from reports.registry_map.page import ALIGNED, ASKED, OTHER_TOOLS, RISKS, draw, page
from reports.study import PEER_FILES, Results, Study
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Microdata
from synthdp.tagging.groups import Neighbours, tag

BOTH, AGAIN = "both ways", "as asked, again"
# enough to tell a difference of .005 (a mean of 100 has an error of .0015 at most), on seeds of no other part
FRESH = range(1001, 1101)
SETTINGS = course.SETTINGS | {"evaluation": {"utility": [], "risk": [name.split(".")[0] for name in RISKS]}}


def methods() -> dict[str, Any]:
    """Return our methods, as the course has them, but before repair."""
    found = course.methods(COPIES)
    for block in found.values():
        block.get("synthesis", block).pop("repair", None)
    return found


def files_of(tool: str, seed: int) -> dict[str, Any]:
    """Return one draw of another tool's files; whose rows are the records is found out by compare."""
    folder = Path(os.environ[PEER_FILES])
    return {title: str(folder / name / f"seed_{seed:02d}" / "*.csv") for name, title in OTHER_TOOLS[tool].items()}


def cells(count: int | None) -> Iterator[Cell]:
    """Yield every draw of ours, and of those other tools whose files are there."""
    folder = os.environ.get(PEER_FILES)
    there = [tool for tool in OTHER_TOOLS if folder and (Path(folder) / f"{tool}.txt").exists()]
    if missing := [tool for tool in OTHER_TOOLS if tool not in there]:
        print(f"{', '.join(missing)}: left out, --files holds none of theirs (see reports/registry_map/others.py).")
    for seed in range(1, min(count or SEEDS, SEEDS) + 1):
        yield from ({"tool": tool, "seed": seed} for tool in ("synthdp", *there))
    yield from ({"tool": BOTH, "seed": seed} for seed in FRESH[:count])
    yield from ({"tool": AGAIN, "seed": seed} for seed in range(min(count or SEEDS, SEEDS)))


def one_cell(tool: str, seed: int, *, data: Path) -> dict[str, Any]:
    """Return overlaps and risks of one tool's methods in one draw."""
    people = patients(data)
    if tool == BOTH:
        return {"found": both_ways(people, seed), "version": None}
    if tool == AGAIN:
        return {"found": as_asked(people, seed), "version": None}
    given = methods() if tool == "synthdp" else files_of(tool, seed)
    studied = synthdp.compare(people.frame, given, SETTINGS, seeds=[seed], analyses=course.analyses(people))
    table = studied.table()
    terms = table[(table["measure"] == "analyses.term_overlap") & ~table["target"].str.endswith(": Intercept")]
    if terms["value"].isna().any() or set(terms["method"]) != set(given):
        raise RuntimeError(f"{tool}, seed {seed}: an analysis failed: {table['reason'].max()}")
    terms = terms.assign(outcome=terms["target"].str.split(": ").str[0])
    overlaps = terms.groupby(["method", "outcome"])["value"].agg(["mean", "min"])
    risks = table[table["measure"].isin(RISKS)].set_index(["method", "measure"])["value"]
    return {
        "found": [
            {
                "method": name,
                **{outcome: float(overlaps.loc[(name, outcome), "mean"]) for outcome in ("work", "ild")},
                **{f"{outcome}_lowest": float(overlaps.loc[(name, outcome), "min"]) for outcome in ("work", "ild")},
                **{risk: None if (value := risks.get((name, risk))) is None else float(value) for risk in RISKS},
            }
            for name in given
        ],
        "version": _version(tool),
    }


def both_ways(people: Microdata, seed: int) -> list[dict[str, Any]]:
    """Return the overlaps of one draw that goes through the settings, and of one made as reports/registry makes it."""
    found = []
    for name in ASKED:
        block = methods()[name]
        settings = SETTINGS | (block if "synthesis" in block else {"synthesis": block})
        for way, copies in (
            ("settings", synthdp.synthesize(people.frame, settings, seed=seed).copies),
            ("registry", _as_registry(people, name, apart(seed, "registry", name))),
        ):
            overlaps = registry.overlaps(people, copies)
            found.append({"method": name, "way": way, "work": overlaps["work_mean"], "ild": overlaps["ild_mean"]})
    return found


def as_asked(people: Microdata, seed: int) -> list[dict[str, Any]]:
    """Return the overlaps of one of the draws that the figures asked for are means of, made anew."""
    found = []
    for name in ASKED:
        overlaps = registry.overlaps(people, _as_registry(people, name, apart(registry.SEED, "registry", seed)))
        found.append({"method": name, "way": AGAIN, "work": overlaps["work_mean"], "ild": overlaps["ild_mean"]})
    return found


def _as_registry(people: Microdata, name: str, streams: Streams) -> tuple[pd.DataFrame, ...]:
    named = dict(zip(("DA-MI", "mi", "CART", "norm+logit"), (registry.METHODS[0], *registry.METHODS[-3:]), strict=True))
    plan = Plan(people, tag(people, Neighbours()), registry.masks_of(named[name]))
    return named[name].synthesis(COPIES, registry.UNSEEN).synthesize(plan, streams=streams).copies


def _version(tool: str) -> str | None:
    return None if tool == "synthdp" else (Path(os.environ[PEER_FILES]) / f"{tool}.txt").read_text().strip()


def gathered(lines: list[Line]) -> Results:
    """Return means over draws with their standard errors; None where a method cannot be measured so."""
    rows = pd.DataFrame(
        [{"tool": line["tool"], **row} for line in lines if line["tool"] not in (BOTH, AGAIN) for row in line["found"]]
    )
    found = []
    for (tool, name), drawn in rows.groupby(["tool", "method"], sort=False):
        figures = {"tool": tool, "method": name, "draws": len(drawn)}
        for figure in ("work", "ild", "work_lowest", "ild_lowest", *RISKS):
            values = drawn[figure].dropna()
            if len(values) not in (0, len(drawn)) or (values.empty and figure not in ALIGNED):
                raise RuntimeError(f"{name}: {figure} was measured in {len(values)} of {len(drawn)} draws.")
            figures |= _mean(figure, values)
        found.append(figures)
    order = ["synthdp", *OTHER_TOOLS]
    versions = {line["tool"]: line["version"] for line in lines if line["version"]}
    return {
        "rows": sorted(found, key=lambda row: order.index(row["tool"])),
        "versions": versions,
        "ways": ways_of(lines, BOTH),
        "again": ways_of(lines, AGAIN),
    }


def ways_of(lines: list[Line], tool: str) -> list[dict[str, Any]]:
    """Return the means of each way, method by method."""
    rows = pd.DataFrame([row for line in lines if line["tool"] == tool for row in line["found"]])
    return [
        {"method": name, "way": way, "draws": len(drawn), **_mean("work", drawn["work"]), **_mean("ild", drawn["ild"])}
        for (name, way), drawn in rows.groupby(["method", "way"], sort=False)
    ]


def _mean(figure: str, values: pd.Series) -> dict[str, float | None]:
    """Return a mean and its standard error; no mean where nothing was measured."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return {
        figure: round(float(values.mean()), 5) if len(values) else None,
        f"{figure}_error": round(error, 5),
    }


STUDY = Study(
    name="registry_map",
    cells=cells,
    work=one_cell,
    results=gathered,
    page=page,
    settings={"copies": COPIES},
    counts=lambda lines: {"seeds": max(line["seed"] for line in lines if line["tool"] == "synthdp")},
    draw=draw,
    reads_data=True,
)
