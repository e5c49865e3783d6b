"""What the membership game with shadow fits finds, what it leaves alone, and how large a file must be to be harmless.

Every cell is one game. The games are committed, so that a run can be taken up again on another machine too.
"""

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.cells import Cell, first_of_all_first
from reports.gate.cases import cases, people
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.arrays import Booleans
from synthdp.config import parse
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.shadow import evaluate_shadow
from synthdp.evaluation.risk.shadow.game import vulnerable
from synthdp.evaluation.risk.shadow.measure import Refit
from synthdp.stages.draws import FrameShadows, PlanShadows
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Codes, Microdata, resolve
from synthdp.table.schema import Variable

METHODS = {"mi": "independent keys, mi", "da_mi": "independent keys, wide masks"}
SIZES = (300, 1_000, 3_000, 10_000)
PLANTED, NULL, HARMLESS, CENSUS = 12, 32, 20, 3
TARGETS = 30
# fewer for large files, whose fits take longer
FITS = {300: 120, 1_000: 120, 3_000: 100, 10_000: 80}


def cells(replications: int | None = None) -> list[Cell]:
    """Return every game of the study; ``replications`` caps how many there are of each kind."""
    quick = [("planted", leak, PLANTED) for leak in LEAKS] + [("null", method, NULL) for method in METHODS]
    quick += [("census", "CART, 3,000 records", CENSUS)]
    harmless = [("harmless", f"{method}, n = {n}", HARMLESS) for method in METHODS for n in SIZES]
    return first_of_all_first(quick, replications) + first_of_all_first(harmless, replications)


def play(part: str, case: str, number: int, *, data: Path) -> dict[str, Any]:
    """Return the figures of one game."""
    rng = np.random.default_rng([zlib.crc32(f"{part} {case}".encode()), number])
    began = time.process_time()
    if part == "planted":
        found = _planted(case, rng)
    elif part == "census":
        census = cases(data)["census, CART"]
        found = _game(*_mechanism(census.settings, census.file(rng)), rng, fits=120, targets=50)
    else:
        name, _, size = case.partition(", n = ")
        n = int(size) if size else SIZES[0]
        plan, refit = _mechanism(cases(data)[METHODS[name]].settings, people(rng, n))
        if part == "null":
            found = _null(plan, refit, rng)
        else:
            found = _game(plan, refit, rng, fits=FITS[n], targets=TARGETS)
    return {"seconds": round(time.process_time() - began, 1), **_figures(found)}


@dataclass(frozen=True, repr=False)
class Blind:
    """The mechanism on records of which none is a target: whoever is said to be in, nobody is.

    Parameters
    ----------
    refit
        The mechanism.
    others
        The records that are no targets.
    """

    refit: PlanShadows
    others: Codes

    def __call__(self, rows: Codes, donors: Codes, *, rng: np.random.Generator) -> tuple[pd.DataFrame, ...]:
        """Return copies of as many records, drawn from the others whatever was dealt."""
        drawn = rng.permutation(self.others)[: len(rows)]
        return self.refit(drawn, drawn, rng=rng)

    def lawful(self, rows: Codes, donors: Codes) -> Booleans:
        """Return what the mechanism says."""
        return self.refit.lawful(rows, donors)


def mirrored(frame: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Give every member away on the other side of zero: no row is near its person."""
    noise = rng.normal(0, 0.02, (2, len(frame)))
    levels = rng.choice(list("abc"), len(frame))
    return [pd.DataFrame({"x": -frame["x"] + noise[0], "y": -frame["y"] + noise[1], "g": levels})]


def one_column(frame: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Release the true values of one column in another order, and draw the others without looking."""
    n = len(frame)
    blind = {str(name): rng.normal(size=n) for name in frame if name not in ("y", "g")}
    shuffled = rng.permutation(frame["y"].to_numpy())
    return [pd.DataFrame({**blind, "y": shuffled, "g": rng.choice(list("abc"), n)})[list(frame)]]


LEAKS = {"mirrored records": mirrored, "one column verbatim, shuffled": one_column}


def _planted(leak: str, rng: np.random.Generator) -> dict[str, Any]:
    n = 240
    levels = rng.choice(list("abc"), n, p=[0.7, 0.25, 0.05])
    frame = pd.DataFrame({"x": rng.standard_t(3, n), "y": rng.normal(size=n), "g": levels})
    if leak != "mirrored records":  # one column of many: too little for a distance over all of them
        frame = frame.assign(x=rng.normal(size=n), **{f"u{k}": rng.normal(size=n) for k in range(8)})
    data = resolve(frame, {str(name): Variable(role="replace") for name in frame})
    return evaluate_shadow(_beside(data), FrameShadows(LEAKS[leak], data), rng=rng, fits=160, targets=12).section()


def _mechanism(settings: Any, frame: pd.DataFrame) -> tuple[Plan, PlanShadows]:
    config = parse({"data": {"path": "in memory"}, **settings})
    plan = plan_of(config, prepare(frame, config))
    return plan, PlanShadows(config.synthesis, plan, config.groups)


def _null(plan: Plan, refit: PlanShadows, rng: np.random.Generator) -> dict[str, Any]:
    data = plan.released
    # the same choice as the game's own: it is the first thing that its generator is used for
    seed = int(rng.integers(2**32))
    most = min(TARGETS, len(data) // 8)
    targets, _ = vulnerable(data.frame, data.schema.columns, most=most, rng=np.random.default_rng(seed))
    others = np.setdiff1d(np.arange(len(data)), targets)
    game = evaluate_shadow(
        _beside(data), Blind(refit, others), rng=np.random.default_rng(seed), fits=120, targets=TARGETS
    )
    if set(game.targets.tolist()) - set(targets.tolist()):
        raise RuntimeError("a target of the game was not left out")
    return game.section()


def _game(plan: Plan, refit: Refit, rng: np.random.Generator, *, fits: int, targets: int) -> dict[str, Any]:
    return evaluate_shadow(_beside(plan.released), refit, rng=rng, fits=fits, targets=targets).section()


def _beside(data: Microdata) -> Comparison:
    return Comparison(data.frame, (), data.schema, aligned=False)


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    judged = [line for line in found["scores"] if line["game"] == found["game"]]
    # what would be said if the choice among scores were not paid for
    naive = max(judged, key=lambda line: line["auc"] or 0.0)
    said = ("auc", "low", "high", "advantage", "advantage_low", "advantage_high", "influence")
    return {
        "score": found["score"],
        **{key: round(float(found[key]), 4) for key in said},
        "finding": found["finding"],
        "distance": {key: round(float(judged[0][key]), 4) for key in ("auc", "low", "high")},
        "naive": {"score": naive["score"], **{key: round(float(naive[key]), 4) for key in ("auc", "low", "high")}},
        "fits": found["fits"],
        "targets": found["targets"],
    }


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


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    found = results["cases"]
    head = ("", "games", "AUC (s.e.)", "± of one game", "advantage", "0.5 in the interval", "influence explains")
    columns = (
        "case",
        "games",
        "{auc:.3f} ({auc_se:.3f})",
        "half_width:.3f",
        "advantage:.3f",
        "{holds_half} of {games}",
        "influence:.3f",
    )
    # one game has no standard error
    parts = {part: [{**one, "auc_se": one["auc_se"] or 0} for one in found if one["part"] == part] for part in PARTS}
    rows = {part: table_of(of, columns, head) for part, of in parts.items()}
    leaks = ("case", "games", "auc:.3f", "{above} of {games}", "distance_auc:.3f", "{distance_above} of {games}")
    said = [one["findings"] | {"case": one["case"]} for one in found if one["part"] != "null"]
    games, held, naive = (sum(one[key] for one in parts["null"]) for key in ("games", "holds_half", "naive_above"))
    told = [
        "# The membership game with shadow fits",
        "Somebody who knows a record, the method and its settings fits the method with and without the record and "
        "learns to tell the copies apart (`membership_shadow`). Played for the most vulnerable records. The worst of "
        "several scores is chosen on the first half of the fits and judged on the second; the 95% interval takes fits "
        "as independent. Every game has a file of its own. Made by `python -m reports shadow --data DIR` (resumable; "
        "DIR holds the census extract).",
        "## Leaks that distance to the closest record misses",
        "240 records. *Mirrored*: every record stands in the copy on the other side of zero. *One column*: the true "
        "values of one number, in another order, beside ten columns that were drawn without looking at the data. "
        "Found: the interval lies above 0.5.",
        table_of(parts["planted"], leaks, ("", "games", "AUC", "found", "AUC of distance", "found by distance")),
        "## Exact null",
        "`mi` and `da_mi` with wide masks on 300 people of independent columns, the targets left out of every fit, "
        f"whatever was dealt: nobody who is said to be in is. The interval must hold 0.5 in 95% of the games; it does "
        f"in {held} of {games}. Taking the best score and its interval from the same half, without paying for the "
        f"choice, would have found something in {naive}.",
        rows["null"],
        "## Harmless files, by size",
        "The same two mechanisms, targets in and out. A model is moved by each of few records, and the most vulnerable "
        "move it most: at 300 records the game wins something, truly. *Influence explains* is the AUC that ordinary "
        "weight in means, spreads, correlations and shares alone can give in a file of this size "
        "(`evaluation/risk/shadow/influence.py`): about what somebody wins who knows the law of the parameters.",
        rows["harmless"],
        "Whether 0.5 is in the interval depends on the number of fits as well: the mean over games is not 0.5 to the "
        "last digit at any size, and enough fits would show it. What one game of this length cannot tell from 0.5 lies "
        "within its ±.",
        "## Trees on a census extract",
        "CART on samples of 3,000 records, ten demographic columns, all replaced.",
        rows["census"],
        "## What the report says",
        "`none`: the interval reaches 0.5. `influence`: it lies above 0.5, but not above what influence explains. "
        "`memorised`: above both.",
        table_of(said, ("case", "none", "influence", "memorised"), ("", "none", "influence", "memorised")),
        "The line between the last two is a yardstick, not a test: in a file of few hundred records ordinary influence "
        "can be as large as a real leak, and the two cannot be told apart by how often the game is won.",
    ]
    return "\n\n".join(told).rstrip() + "\n"


def _size(case: str) -> tuple[int, str]:
    name, _, size = case.partition(", n = ")
    return (int(size or 0), name)


STUDY = Study(
    name="shadow",
    cells=cells,
    work=play,
    results=lambda lines: {"cases": summarise(lines)},
    page=page,
    counts=lambda lines: {"games": len(lines)},
    reads_data=True,
    committed="games.jsonl",
)
