"""The page of the gate's study: error rates in both directions, stability, monotone risk, calibration, and defaults."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.risk.rates import wilson
from synthdp.studies import figures
from synthdp.studies.runner import table

Line = Mapping[str, Any]

ARGUED = (Path(__file__).parent / "gate_defaults.md").name


def write(out: Path, lines: Sequence[Line]) -> None:
    """Write results.json, the figure and README.md."""
    results = summary(lines)
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    figures.strength(results["strength"], out / "strength.svg")
    (out / "README.md").write_text(page(results).rstrip() + "\n", encoding="utf-8")


def summary(lines: Sequence[Line]) -> dict[str, Any]:
    """Return everything the page shows."""
    ordered = sorted(lines, key=lambda line: (line["part"], line["case"], line["number"]))
    parts = {part: [line for line in ordered if line["part"] == part] for part in ("cases", "seeds", "strength")}
    return {
        "study": "gate",
        "command": "python -m synthdp.studies gate --data DIR",
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


def page(results: Mapping[str, Any]) -> str:
    """Return the page."""
    harmless = [one for one in results["cases"] if not one["leaks"]]
    planted = [one for one in results["cases"] if one["leaks"]]
    head = ("design", "verdicts", "refused", "95% interval", "by", "largest individual bound")
    return "\n\n".join(
        [
            "# The gate: both of its error rates",
            "A verdict is a claim, so it has an error rate in both directions. Every line below counts verdicts of "
            "`synthdp.gating.judge`, the function behind `synthdp run`, each over 20 draws of the mechanism "
            "(40 or 60 where only the end of an interval is over a limit), with the default limits. Made by "
            "`python -m synthdp.studies gate --data DIR` (resumable; DIR holds the census "
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
            (Path(__file__).parent / ARGUED).read_text(encoding="utf-8").strip(),
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
