"""The page of the study of the membership game."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synthdp import __version__
from synthdp.studies.runner import table

PARTS = ("planted", "null", "harmless", "census")


def summarise(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line per case."""
    order = {part: place for place, part in enumerate(PARTS)}
    names = sorted({(line["part"], line["case"]) for line in lines}, key=lambda one: (order[one[0]], _size(one[1])))
    found = []
    for part, case in names:
        own = [line for line in lines if (line["part"], line["case"]) == (part, case)]

        def mean(key: str, own: Sequence[dict[str, Any]] = own) -> float:
            return round(float(np.mean([line[key] for line in own])), 4)

        found.append(
            {
                "part": part,
                "case": case,
                "games": len(own),
                "auc": mean("auc"),
                "auc_se": round(float(np.std([line["auc"] for line in own], ddof=1) / np.sqrt(len(own))), 4)
                if len(own) > 1
                else None,
                "advantage": mean("advantage"),
                "half_width": round(float(np.mean([(line["high"] - line["low"]) / 2 for line in own])), 4),
                "influence": mean("influence"),
                "holds_half": sum(line["low"] <= 0.5 <= line["high"] for line in own),
                "above": sum(line["low"] > 0.5 for line in own),
                "naive_above": sum(line["naive"]["low"] > 0.5 for line in own),
                "distance_above": sum(line["distance"]["low"] > 0.5 for line in own),
                "distance_auc": round(float(np.mean([line["distance"]["auc"] for line in own])), 4),
                "findings": {
                    name: sum(line["finding"] == name for line in own) for name in ("none", "influence", "memorised")
                },
                "seconds": round(float(np.mean([line["seconds"] for line in own])), 1),
            }
        )
    return found


def write(out: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Write results.json and the page."""
    found = summarise(lines)
    record = {"study": "shadow", "command": "python -m synthdp.studies shadow --data DIR", "version": __version__}
    (out / "results.json").write_text(json.dumps({**record, "cases": found}, indent=1) + "\n", encoding="utf-8")
    (out / "README.md").write_text(_page(found), encoding="utf-8")


def _page(found: Sequence[dict[str, Any]]) -> str:
    head = ("", "games", "AUC (s.e.)", "± of one game", "advantage", "0.5 in the interval", "influence explains")
    rows = {
        part: [
            (
                one["case"],
                one["games"],
                f"{one['auc']:.3f} ({one['auc_se'] or 0:.3f})",
                f"{one['half_width']:.3f}",
                f"{one['advantage']:.3f}",
                f"{one['holds_half']} of {one['games']}",
                f"{one['influence']:.3f}",
            )
            for one in found
            if one["part"] == part
        ]
        for part in PARTS
    }
    leaks = [
        (
            one["case"],
            one["games"],
            f"{one['auc']:.3f}",
            f"{one['above']} of {one['games']}",
            f"{one['distance_auc']:.3f}",
            f"{one['distance_above']} of {one['games']}",
        )
        for one in found
        if one["part"] == "planted"
    ]
    said = [
        (one["case"], *(one["findings"][name] for name in ("none", "influence", "memorised")))
        for one in found
        if one["part"] != "null"
    ]
    null = [one for one in found if one["part"] == "null"]
    games, held = sum(one["games"] for one in null), sum(one["holds_half"] for one in null)
    naive = sum(one["naive_above"] for one in null)
    parts = [
        "# The membership game with shadow fits",
        "Somebody who knows a record, the method and its settings fits the method with and without the record and "
        "learns to tell the copies apart (`membership_shadow`). Played for the most vulnerable records. The worst of "
        "several scores is chosen on the first half of the fits and judged on the second; the 95% interval takes fits "
        "as independent. Every game has a file of its own.",
        "## Leaks that distance to the closest record misses",
        "240 records. *Mirrored*: every record stands in the copy on the other side of zero. *One column*: the true "
        "values of one number, in another order, beside ten columns that were drawn without looking at the data. "
        "Found: the interval lies above 0.5.",
        table(("", "games", "AUC", "found", "AUC of distance", "found by distance"), leaks),
        "## Exact null",
        "`mi` and `da_mi` with wide masks on 300 people of independent columns, the targets left out of every fit, "
        f"whatever was dealt: nobody who is said to be in is. The interval must hold 0.5 in 95% of the games; it does "
        f"in {held} of {games}. Taking the best score and its interval from the same half, without paying for the "
        f"choice, would have found something in {naive}.",
        table(head, rows["null"]),
        "## Harmless files, by size",
        "The same two mechanisms, targets in and out. A model is moved by each of few records, and the most vulnerable "
        "move it most: at 300 records the game wins something, truly. *Influence explains* is the AUC that ordinary "
        "weight in means, spreads, correlations and shares alone can give in a file of this size "
        "(`evaluation/risk/shadow/influence.py`): about what somebody wins who knows the law of the parameters.",
        table(head, rows["harmless"]),
        "Whether 0.5 is in the interval depends on the number of fits as well: the mean over games is not 0.5 to the "
        "last digit at any size, and enough fits would show it. What one game of this length cannot tell from 0.5 lies "
        "within its ±.",
        "## Trees on a census extract",
        "CART on samples of 3,000 records, ten demographic columns, all replaced.",
        table(head, rows["census"]),
        "## What the report says",
        "`none`: the interval reaches 0.5. `influence`: it lies above 0.5, but not above what influence explains. "
        "`memorised`: above both.",
        table(("", "none", "influence", "memorised"), said),
        "The line between the last two is a yardstick, not a test: in a file of few hundred records ordinary influence "
        "can be as large as a real leak, and the two cannot be told apart by how often the game is won.",
    ]
    return "\n\n".join(parts).rstrip() + "\n"


def _size(case: str) -> tuple[int, str]:
    name, _, size = case.partition(", n = ")
    return (int(size or 0), name)
