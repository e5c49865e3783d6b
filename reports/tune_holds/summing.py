"""What all cells come to: the share of judgements that hold, with its intervals, and the distance to an oracle."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from reports.cells import Line
from reports.study import Results
from reports.tune_holds.judging import COUNT, JUDGEMENTS, POOL
from synthdp.evaluation.risk.rates import wilson


def summary(lines: Sequence[Line]) -> Results:
    """Return everything the page shows."""
    parts = {part: [line for line in lines if line["part"] == part] for part in ("tune", "fresh", "oracle")}
    files = [_file(line, parts["fresh"], parts["oracle"]) for line in parts["tune"]]
    files.sort(key=lambda one: (one["family"], one["number"]))
    families = list(dict.fromkeys(one["family"] for one in files))
    beyond: Counter[str] = Counter()
    for line in parts["fresh"]:
        beyond.update(line.get("beyond", {}))
    compared = [one for one in files if one.get("gap") is not None]
    return {
        "files": files,
        "families": [_share(name, [one for one in files if one["family"] == name]) for name in families],
        "all": _share("all", files),
        "beyond": dict(beyond.most_common()),
        "binding": dict(Counter(one["binding"] for one in files if one["binding"]).most_common()),
        "oracle": _gaps(compared),
        "cost": {
            "tune": _mean([one["seconds"] for one in parts["tune"]]),
            "draws": _mean([one["draws"] for one in parts["tune"] if one["shape"] is not None]),
            "fresh": _mean([one["seconds"] for one in parts["fresh"] if one["held"] is not None]),
            "oracle": _mean([one["seconds"] for one in parts["oracle"] if "seconds" in one]),
            "minutes": round(sum(one.get("seconds", 0.0) for one in lines) / 60, 1),
        },
    }


def _file(line: Line, fresh: Sequence[Line], oracles: Sequence[Line]) -> dict[str, Any]:
    def same(other: Line) -> bool:
        return bool((other["family"], other["number"]) == (line["family"], line["number"]))

    mine = next((one for one in fresh if same(one) and one["held"] is not None), None)
    best = next((one for one in oracles if same(one) and one.get("oracle_use") is not None), None)
    return {
        "family": line["family"],
        "number": line["number"],
        "found": line["shape"] is not None,
        "rung": line.get("rung"),
        "use": line.get("use"),
        "binding": line.get("binding"),
        "why": line.get("why"),
        "judged": len(mine["held"]) if mine else 0,
        "held": sum(mine["held"]) if mine else 0,
        "ratio": round(float(np.mean(mine["ratios"])), 3) if mine else None,
        "oracle_use": best["oracle_use"] if best else None,
        "oracle_rung": best["oracle_rung"] if best else None,
        "gap": round(1 - best["tuned_use"] / best["oracle_use"], 4) if best else None,
    }


def _share(name: str, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the share that held: Wilson's interval as if judgements were independent, and one over files."""
    judged = [one for one in files if one["judged"]]
    held, total = sum(one["held"] for one in judged), sum(one["judged"] for one in judged)
    simple = wilson(float(held), float(total))
    # so many judgements rest on as many draws as one would
    shared = JUDGEMENTS * COUNT / POOL
    low, high = over_files([one["held"] for one in judged], [one["judged"] for one in judged], least=shared)
    return {
        "name": name,
        "files": len(files),
        "nothing": sum(not one["found"] for one in files),
        "held": held,
        "judged": total,
        "share": held / total if total else None,
        "wilson": [simple["low"], simple["high"]],
        "over_files": [low, high],
        "worst": min((one["held"] / one["judged"] for one in judged), default=None),
        "below": sum(one["held"] < 0.95 * one["judged"] for one in judged),
    }


def over_files(held: Sequence[int], judged: Sequence[int], *, least: float = 1.0) -> tuple[float | None, float | None]:
    """Return the interval of a share whose units are files: Wilson's, with as many judgements as are worth one each.

    The variance of the ratio over files, against that of independent judgements, is the design effect; it is taken for
    at least ``least``: where all hold nothing is known of the variance, but judgements that share draws are worth less
    than separate ones. Student's quantile of the number of files stands for the normal one.

    Examples
    --------
    >>> over_files([20, 20, 20, 0], [20, 20, 20, 20])[0] < over_files([15, 15, 15, 15], [20, 20, 20, 20])[0]
    True
    """
    files, total = len(held), sum(judged)
    if files < 2:
        return None, None
    share = sum(held) / total
    rest = np.asarray(held) - share * np.asarray(judged)
    variance = files / (files - 1) * float((rest**2).sum()) / total**2
    alone = share * (1 - share) / total
    effect = max(least, variance / alone) if alone > 0 else least
    z2 = float(stdtrit(files - 1, 0.975)) ** 2
    worth = total / effect
    centre = (share + z2 / (2 * worth)) / (1 + z2 / worth)
    half = math.sqrt(z2 * (share * (1 - share) / worth + z2 / (4 * worth**2))) / (1 + z2 / worth)
    return max(0.0, centre - half), min(1.0, centre + half)


def _gaps(files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not files:
        return {"files": 0}
    gaps = np.asarray([one["gap"] for one in files])
    half = float(stdtrit(len(gaps) - 1, 0.975) * gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else None
    return {
        "files": len(gaps),
        "mean": float(gaps.mean()),
        "half": half,
        "largest": float(gaps.max()),
        "within": int((gaps <= 0.02).sum()),
        "weaker": sum(one["oracle_rung"] < one["rung"] for one in files),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 1) if values else None
