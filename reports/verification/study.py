"""Verification: what a data user is told, against M, ε and how far the copies are off.

A file of 5,000 records and one slope, whose synthetic estimate is 0 to 8 standard errors from the confidential one. The
records are dealt out, each block is fitted, and every question is answered from the same blocks, once without noise.

References
----------
Barrientos et al. (2018), Annals of Applied Statistics 12(2) (one count of blocks inside fixed ends, posterior of r).
Lin, Reiter (2024), arXiv:2404.02519 (ends that are widened by the root of M).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from reports.cells import Cell, Line
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.seeding import Streams
from synthdp.verification.believing import Belief, answer_of
from synthdp.verification.blocks import bits_of_blocks, dealt
from synthdp.verification.request import Request, parse_request

RECORDS = 5000
BLOCKS = (25, 50, 100)
EPSILONS = (0.5, 1.0, 2.0, None)
OFF = (0.0, 1.0, 2.0, 4.0, 8.0)
MARGINS = (2.0, 6.0)
SLOPE, NOISE = 0.5, 1.0
SE = NOISE / RECORDS**0.5
METHODS = ("sides", "sides of 6", "fixed", "inflated", "overlap")
REPLICATIONS = 40
SEED = 2018


def cells(count: int | None) -> Iterator[Cell]:
    """Yield every replication of every number of blocks."""
    for number in range(count or REPLICATIONS):
        for blocks in BLOCKS:
            yield {"number": number, "blocks": blocks}


def request_of(blocks: int, estimate: float) -> Request:
    """Return the questions about one synthetic estimate: with margins in standard errors, and by overlap."""
    within = {"ask": "within", "term": "x", "estimate": estimate}
    near, far = (within | {"margin": margin * SE} for margin in MARGINS)
    ends = {"low": estimate - 1.96 * SE, "high": estimate + 1.96 * SE}
    return parse_request(
        {
            "model": "ols",
            "formula": "y ~ x",
            "epsilon": 1.0,
            "blocks": blocks,
            "questions": [
                *(near | {"method": method} for method in ("sides", "fixed", "inflated")),
                {"ask": "overlap", "term": "x", **ends, "above": 0.5},
                far | {"method": "sides"},
            ],
        }
    )


def one_replication(*, number: int, blocks: int, seed: int) -> dict[str, Any]:
    """Return the counts of blocks, without noise, for each distance of the synthetic from the confidential estimate."""
    rng = Streams(seed).generator("file", number)
    x = rng.standard_normal(RECORDS)
    y = SLOPE * x + NOISE * rng.standard_normal(RECORDS)
    frame = pd.DataFrame({"y": y, "x": x})
    confidential = float(np.polyfit(x, y, 1)[0])
    places = dealt(RECORDS, blocks, replacing=True, rng=Streams(seed).generator("blocks", number, blocks))
    requests = [request_of(blocks, confidential + off * SE) for off in OFF]
    return {"counts": bits_of_blocks(requests, frame, ("Intercept", "x"), places)}


def gathered(lines: list[Line], *, seed: int) -> Results:
    """Return what is believed, a row for each number of blocks, ε, method and distance."""
    rows = []
    for blocks in BLOCKS:
        here = [line for line in lines if line["blocks"] == blocks]
        for epsilon in EPSILONS:
            rng = Streams(seed).generator("noise", blocks, str(epsilon))
            told = [_told(line["counts"], blocks, epsilon, rng) for line in here]
            for j, off in enumerate(OFF):
                found = {method: [each[j][method] for each in told] for method in METHODS}
                rows += [_row(blocks, epsilon, off, method, values) for method, values in found.items()]
    return {"rows": rows}


def _told(
    counts: list[list[int]], blocks: int, epsilon: float | None, rng: np.random.Generator
) -> list[dict[str, tuple[float, float]]]:
    """Return for each distance and method the mean of r and the probability, each question paying ε by itself."""
    found = []
    for above, below, fixed, inflated, middle, far_above, far_below in counts:

        def belief(count: int, share: int = 1) -> Belief:
            if epsilon is None:
                return Belief(count, blocks, 1e-3)
            scale = share / epsilon
            keep = -np.expm1(-1 / scale)
            noise = rng.geometric(keep) - rng.geometric(keep)
            return Belief(int(count + noise), blocks, scale)

        both = {"sides": (above, below), "sides of 6": (far_above, far_below)}
        one = {"fixed": belief(fixed), "inflated": belief(inflated)}
        over = belief(middle)
        told = {name: (each.mean(), each.more_than(0.5)) for name, each in one.items()}
        for name, pair in both.items():
            sides = [belief(count, 2) for count in pair]
            told[name] = (min(s.mean() for s in sides), float(np.prod([s.more_than(0.5) for s in sides])))
        told["overlap"] = (over.mean(), over.overlapping(0.5, 0.95))
        found.append(told)
    return found


def _row(blocks: int, epsilon: float | None, off: float, method: str, told: list[tuple[float, float]]) -> Results:
    answers = [answer_of(probability) for _, probability in told]
    shares = {word: round(answers.count(word) / len(answers), 3) for word in ("yes", "undecided", "no")}
    return {
        "blocks": blocks,
        "epsilon": epsilon,
        "off": off,
        "method": method,
        "r": round(float(np.mean([r for r, _ in told])), 3),
        "r_sd": round(float(np.std([r for r, _ in told])), 3),
        "probability": round(float(np.mean([p for _, p in told])), 3),
        **shares,
    }


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = results["rows"]

    def table(method: str, epsilons: tuple[float | None, ...] = EPSILONS) -> str:
        chosen = [
            row | {"ε": "no noise" if row["epsilon"] is None else f"{row['epsilon']:g}"}
            for row in rows
            if row["method"] == method and row["epsilon"] in epsilons
        ]
        columns = (
            "blocks",
            "ε",
            "off:g",
            "{r:.2f} ({r_sd:.2f})",
            "probability:.2f",
            "yes:.2f",
            "undecided:.2f",
            "no:.2f",
        )
        head = ("M", "ε", "off by (se)", "mean r (sd)", "probability", "yes", "undecided", "no")
        return table_of(chosen, columns, head)

    return f"""# Verification: what a data user is told

{RECORDS:,} records, one OLS slope, {settings["replications"] // len(BLOCKS)} files. The synthetic estimate is *off by*
0 to 8 standard errors of the whole file from the confidential one; it is asked whether the confidential one lies within
{" or ".join(f"{margin:g}" for margin in MARGINS)} standard errors, and whether two 95% intervals of equal width overlap
by more than a half (they do where it is off by less than 1.96). Each question pays ε by itself. *r* is its posterior
mean (of the smaller side for `sides`), averaged over files, with its sd over files; *probability* is what the answer
states; yes from 0.95, no up to 0.05. Regenerate: `python -m reports verification`.

## What was found

{_found(rows)}

The papers' own tables were not at hand; the two measures and their posterior are theirs, the file is ours, and what is
compared is the direction of what they report, not their figures.

## `sides` (default), a margin of 2

{table("sides")}

## `sides`, a margin of 6

{table("sides of 6")}

## `overlap`

{table("overlap")}

## `fixed`, as Barrientos et al. (2018)

{table("fixed", (1.0, None))}

## `inflated`, as Lin and Reiter (2024)

{table("inflated", (1.0, None))}
"""


def _found(rows: list[Results]) -> str:
    """Return the findings, with their figures."""

    def share(word: str, **where: Any) -> str:
        values = [row[word] for row in rows if all(row[key] == value for key, value in where.items())]
        return f"{min(values):.2f}" if min(values) == max(values) else f"{min(values):.2f} to {max(values):.2f}"

    right, twice, wrong = {"off": 0.0}, {"off": 4.0}, {"off": 8.0}
    bare = {"epsilon": None}
    fixed = share("no", method="fixed", **bare, **right)
    inflated = [share("yes", method="inflated", **bare, **off) for off in (twice, wrong)]
    sides_no = [share("no", method="sides", epsilon=epsilon, **wrong) for epsilon in (None, 1.0)]
    sides_yes, sides_lost = share("yes", method="sides", **wrong), share("no", method="sides", **right)
    near = share("yes", method="sides", **bare, **right)
    far = [share("yes", method="sides of 6", epsilon=epsilon, **right) for epsilon in (None, 2.0, 1.0)]
    over = share("no", method="overlap", epsilon=1.0, **wrong)
    return f"""* The measures of the literature concern blocks. `fixed` (Barrientos et al. 2018): r is how often an
  estimate from n/M records falls inside, so that it falls with M; without noise what is right is called wrong in
  {fixed} of the files. `inflated` (Lin and Reiter 2024): r stays near 0.95 where the estimate is right, whatever M
  is, which is why that paper widens the ends by √M; but what is off by 4 standard errors, twice the margin, is
  confirmed in {inflated[0]} of the files, and what is off by 8 in {inflated[1]}. Both are offered by name, and their
  answers say "most blocks".
* `sides` asks whether most blocks lie above the lower, and below the upper end, which is a question about the whole
  file. What is off by 8 is called wrong in {sides_no[0]} of the files without noise, in {sides_no[1]} at ε = 1; it is
  confirmed in {sides_yes} at any ε. What is right is called wrong in {sides_lost}. A margin of 2 standard errors can
  hardly be confirmed (yes in {near} without noise); one of 6 can ({far[0]} without noise, {far[1]} at ε = 2,
  {far[2]} at ε = 1).
* `overlap` turns the share of blocks above the middle into a distance. It says no to what is off by 8 standard errors
  ({over} at ε = 1), and yes to nothing here: an overlap of a half leaves too little room.
* Noise shows where M is small: its sd is 1.4/ε counts of M, and 2.8/ε for `sides`, which counts twice."""


STUDY = Study(
    name="verification",
    cells=cells,
    work=partial(one_replication, seed=SEED),
    results=partial(gathered, seed=SEED),
    page=page,
    settings={"seed": SEED, "records": RECORDS, "margins": list(MARGINS)},
)
