"""Both error rates of the gate: harmless files that it refuses, planted leaks that it lets pass, verdicts that turn.

Every cell is one verdict. The verdicts are committed, so that a run can be taken up again on another machine too.
"""

import time
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.cells import Cell, Line, first_of_all_first
from reports.gate.cases import Case, cases, patients_settings, voters_settings
from reports.markdown import table
from reports.study import Results, Study
from synthdp.config import parse
from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.risk.rates import wilson
from synthdp.seeding import Streams
from synthdp.stages.draws import Draws
from synthdp.stages.gating import Judged, judge
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of

HARMLESS, PLANTED, FEW = 50, 30, 10
SEEDS = 20
# each file is one, judged with other seeds; none of their bounds is within 0.1 of a limit, but for the last
STABLE = ("independent keys, mi", "voters, sd 3", "three outliers, sd 2", "1% noise")
NEAR = "voters, sd 0.85"
STRENGTHS = (0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
GROWING = ("voters", "registry", "people", "measurements")


def cells(replications: int | None = None) -> list[Cell]:
    """Return every verdict of the study; ``replications`` caps how many there are of each kind."""
    wanted = [
        ("cases", name, FEW if name.startswith("census") else PLANTED if case.leaks else HARMLESS)
        for name, case in cases(Path()).items()
    ]
    wanted += [("seeds", name, SEEDS) for name in (*STABLE, NEAR)]
    wanted += [("strength", f"{name}, sd {sd:g}", 1) for name in GROWING for sd in STRENGTHS]
    return first_of_all_first(wanted, replications)


def verdict_of(part: str, case: str, number: int, *, data: Path) -> dict[str, Any]:
    """Return one verdict with its figures."""
    judged = case_of(case, data)
    # with other seeds the file stays the same
    replication = 0 if part in ("seeds", "strength") else number
    rng = np.random.default_rng([zlib.crc32(case.partition(", sd ")[0].encode()), replication])
    config = parse({"data": {"path": "in memory"}, **judged.settings})
    plan = plan_of(config, prepare(judged.file(rng), config))
    mechanism = judged.mechanism(config, rng) if judged.mechanism is not None else None
    began = time.process_time()
    seed = zlib.crc32(f"{part} {case} {number}".encode())
    found = judge(Draws(config, plan, Streams(seed), mechanism=mechanism))
    return {"leaks": judged.leaks, "seconds": round(time.process_time() - began, 2), **_figures(found)}


def case_of(case: str, data: Path) -> Case:
    """Return the file and mechanism of a case, also of one whose masks have any strength."""
    every = cases(data)
    name, _, sd = case.partition(", sd ")
    if case in every:
        return every[case]
    if name == "voters":
        return Case(case, every["voters, sd 3"].file, voters_settings(float(sd)), False)
    if name == "registry":
        return Case(case, every["registry, sd 5"].file, patients_settings(float(sd)), False)
    like = every["independent keys, wide masks" if name == "people" else "fine measurements"]
    masks = {
        column: mask | ({"sd": float(sd)} if "sd" in mask else {"keep": 0.5 + 0.4 / (1 + float(sd) ** 2)})
        for column, mask in like.settings["masks"].items()
    }
    return Case(case, like.file, {**like.settings, "masks": masks}, False)


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


def summary(lines: Sequence[Line]) -> Results:
    """Return everything the page shows."""
    ordered = sorted(lines, key=lambda line: (line["part"], line["case"], line["number"]))
    parts = {part: [line for line in ordered if line["part"] == part] for part in ("cases", "seeds", "strength")}
    return {
        "limits": Thresholds().model_dump(),
        "cases": [_case(name, found) for name, found in _by_case(parts["cases"]).items()],
        "seeds": [_case(name, found) for name, found in _by_case(parts["seeds"]).items()],
        "strength": [_strength(name, found) for name, found in _by_case(parts["strength"]).items()],
        "links": _links(ordered),
        "seconds": {"mean": round(float(np.mean([line["seconds"] for line in ordered])), 2), "verdicts": len(ordered)},
    }


def _by_case(lines: Sequence[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line["case"], []).append(line)
    return found


def _case(name: str, lines: Sequence[Line]) -> dict[str, Any]:
    refused = sum(line["verdict"] == "refused" for line in lines)
    rate = wilson(float(refused), len(lines))
    by = Counter(limit for line in lines for limit in line["refused_by"])
    bounds = [line["worst"].get("max_individual", {}).get("high") for line in lines]
    known = [bound for bound in bounds if bound is not None]
    return {
        "case": name,
        "leaks": lines[0]["leaks"],
        "verdicts": len(lines),
        "refused": refused,
        "low": round(rate["low"] or 0.0, 3),
        "high": round(rate["high"] or 0.0, 3),
        "amber": sum(line["verdict"] == "amber" for line in lines),
        "refused_by": dict(by.most_common()),
        "individual": [round(float(np.min(known)), 3), round(float(np.max(known)), 3)] if known else None,
    }


def _strength(name: str, lines: Sequence[Line]) -> dict[str, Any]:
    file, _, sd = name.partition(", sd ")
    worst = [line["worst"]["max_individual"] for line in lines]
    return {
        "file": file,
        "sd": float(sd),
        "value": round(float(np.mean([one["value"] for one in worst])), 4),
        "high": round(float(np.mean([one["high"] for one in worst])), 4),
        "overlap": round(float(np.mean([line["worst"]["min_overlap"]["value"] for line in lines])), 3),
        "attack": Counter(one["attack"] for one in worst).most_common(1)[0][0],
    }


def _links(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return predicted and real links of every intruder, over everything that masks protect."""
    found: dict[str, dict[str, float]] = {}
    for line in lines:
        if line["leaks"] and line["case"] not in ("6 correlated keys", "8 correlated keys"):
            continue  # planted mechanisms are not what an intruder expects
        for name, one in line["links"].items():
            held = found.setdefault(name, {"predicted": 0.0, "right": 0.0, "claims": 0})
            for key in held:
                held[key] += one[key]
    return [{"intruder": name, **{key: round(value, 1) for key, value in one.items()}} for name, one in found.items()]


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    harmless = [one for one in results["cases"] if not one["leaks"]]
    planted = [one for one in results["cases"] if one["leaks"]]
    head = ("design", "verdicts", "refused", "95% interval", "by", "largest individual bound")
    return "\n\n".join(
        [
            "# The gate: both of its error rates",
            "A verdict is a claim, so it has an error rate in both directions. Every line below counts verdicts of "
            "`synthdp.stages.gating.judge`, the function behind `synthdp run`, each over 20 draws of the mechanism "
            "(40 or 60 where only the end of an interval is over a limit), with the default limits. Made by "
            "`python -m reports gate --data DIR` (resumable; DIR holds the census "
            f"extract). {results['seconds']['verdicts']} verdicts, {results['seconds']['mean']:g} s of one core each. "
            "Asked for are 50 of each harmless design, 30 of each planted one (10 of the census) and 20 seeds; while a "
            "line has fewer, the study is not finished, and its interval says how little that proves.",
            f"## Harmless files: {_total(harmless)} refused",
            table(head, [_row(one) for one in harmless]),
            f"## Planted leaks: {_total(planted)} refused",
            table(head, [_row(one) for one in planted]),
            "## The same file, other seeds",
            "The first four are not within 0.1 of a limit; the last one is chosen near it, to show how often it turns.",
            table(head, [_row(one) for one in results["seeds"]]),
            "## Risk against mask strength",
            "![largest individual risk against mask strength](strength.svg)",
            table(
                ("file", "sd", "largest individual risk", "its bound", "worst intruder", "overlap"),
                [
                    (one["file"], f"{one['sd']:g}", one["value"], one["high"], one["attack"], one["overlap"])
                    for one in results["strength"]
                ],
            ),
            "## Does an intruder get what they expect?",
            "Predicted links (the sum of the probabilities the intruder gives to the rows they point at) against real "
            "ones, over all mechanisms that are not planted. Matching intruders spread their probability evenly over "
            "candidates, whether or not the target is among them, so theirs is no forecast.",
            table(
                ("intruder", "claims", "predicted right", "right"),
                [(one["intruder"], f"{one['claims']:.0f}", one["predicted"], one["right"]) for one in results["links"]],
            ),
            Path(__file__).with_name("defaults.md").read_text(encoding="utf-8").strip(),
        ]
    )


def _total(lines: Sequence[Line]) -> str:
    refused, verdicts = sum(one["refused"] for one in lines), sum(one["verdicts"] for one in lines)
    return f"{refused} of {verdicts} ({refused / max(1, verdicts):.1%})"


def _row(one: Line) -> tuple[str, ...]:
    bounds = "–" if one["individual"] is None else f"{one['individual'][0]:g} to {one['individual'][1]:g}"
    by = ", ".join(f"{name} {count}" for name, count in list(one["refused_by"].items())[:3]) or "–"
    amber = f" ({one['amber']} amber)" if one["amber"] else ""
    return (
        one["case"],
        str(one["verdicts"]),
        f"{one['refused']}{amber}",
        f"{one['low']:.1%} to {one['high']:.1%}",
        by,
        bounds,
    )


STUDY = Study(
    name="gate",
    cells=cells,
    work=verdict_of,
    results=summary,
    page=page,
    counts=lambda lines: {"verdicts": len(lines)},
    draw=lambda results, out: figures.strength(results["strength"], out / "strength.svg"),
    reads_data=True,
    committed="verdicts.jsonl",
)
