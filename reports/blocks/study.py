"""Two ways to release a median from blocks (Table 5.2 of Biswal 2024), and what each says of data that are not uniform.

The first cuts the range into blocks of values, the second (`synthdp.dp.aggregate`) the records into blocks of records.
"""

import math
from typing import Any

import numpy as np

from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp import dp
from synthdp.privacy.mechanisms import Laplace, Sensitivity, Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

N, HIGH, EPSILON = 1000, 100.0, 1.0
BLOCKS = (5, 10, 15, 20)
METHODS = ("ranges", "aggregate", "median")
DATA = {"uniform": HIGH / 2, "skewed": 10 * math.log(2)}
"""The populations and their medians: U[0, 100], and an exponential of mean 10 cut at 100."""
PRINTED = {
    "ranges": {5: 645.21, 10: 81.69, 15: 23.83, 20: 10.45},
    "aggregate": {5: 765.16, 10: 201.08, 15: 91.97, 20: 46.37},
}
PREDICTED = {
    "ranges": {5: (640.0, 32.6), 10: (80.0, 3.8), 15: (23.70, 1.1), 20: (10.0, 0.46)},
    "aggregate": {5: (802.5, 57.0), 10: (202.5, 14.0), 15: (91.4, 6.3), 20: (52.5, 3.5)},
}
"""Mean squared error on uniform data and its sd over 1000 runs: 8Λ²/m³, and 2(Λ/m)² plus 2.5 for sampling."""


def by_ranges(x: Floats, blocks: int, source: Simulated) -> float:
    """Return the average of noisy medians of the records in each part of the range; an empty part has its middle.

    In this study only: whatever the data are, it is about the middle of the range.
    """
    width = HIGH / blocks
    place = np.minimum((x / width).astype(int), blocks - 1)
    inside = (x[place == k] for k in range(blocks))
    medians = np.array([np.median(of) if len(of) else (k + 0.5) * width for k, of in enumerate(inside)])
    # a replaced record may leave one part and enter another
    noise = Laplace.calibrated(Sensitivity(2 * width, "l1", "replace"), epsilon=EPSILON)
    return float(noise.release(medians, source=source).mean())


def one_run(r: int, *, seed: int) -> dict[tuple[str, int, str], float]:
    """Return the errors of every method on fresh data."""
    found: dict[tuple[str, int, str], float] = {}
    for data, truth in DATA.items():
        rng = Streams(seed).generator("data", data, r)
        x = rng.uniform(0, HIGH, N) if data == "uniform" else np.minimum(rng.exponential(10, N), HIGH)
        for blocks in BLOCKS:
            source = Simulated(Streams(seed).generator("noise", data, blocks, r))
            asked: dict[str, Any] = {"bounds": (0, HIGH), "epsilon": EPSILON, "source": source}
            estimates = (
                by_ranges(x, blocks, source),
                dp.aggregate(x, np.median, blocks=blocks, **asked).estimate,
                dp.median(x, **asked).estimate,
            )
            found |= {(data, blocks, name): e - truth for name, e in zip(METHODS, estimates, strict=True)}
    return found


def one_replication(r: int, *, seed: int) -> list[float]:
    """Return the errors in a fixed order."""
    return list(one_run(r, seed=seed).values())


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return mean squared error, its error, and bias."""
    keys = [(data, blocks, name) for data in DATA for blocks in BLOCKS for name in METHODS]
    squares, runs = draws**2, len(draws)
    return [
        {
            "data": data,
            "blocks": blocks,
            "method": name,
            "mse": round(float(squares[:, k].mean()), 2),
            "error": round(float(squares[:, k].std() / math.sqrt(runs)), 2),
            "bias": round(float(draws[:, k].mean()), 2),
            "printed": PRINTED.get(name, {}).get(blocks) if data == "uniform" else None,
            "predicted": PREDICTED[name][blocks][0] if data == "uniform" and name in PREDICTED else None,
        }
        for k, (data, blocks, name) in enumerate(keys)
    ]


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = results["rows"]
    uniform = [row for row in rows if row["data"] == "uniform" and row["method"] != "median"]
    skewed = [row for row in rows if row["data"] == "skewed"]
    medians = [row["mse"] for row in rows if row["method"] == "median" and row["data"] == "uniform"]
    worst = max(abs(row["bias"]) for row in skewed if row["method"] == "ranges")
    return f"""# Medians from blocks

Table 5.2 of Biswal (2024): {N} records from U[0, {HIGH:g}], ε = {EPSILON:g}, {settings["replications"]} runs, mean
squared error about {HIGH / 2:g}. *ranges* (Block-DP I) averages noisy medians of equal parts of the range, *aggregate*
(Block-DP II, `synthdp.dp.aggregate`) of equal parts of the records. Regenerate: `python -m reports blocks`.

{table_of(uniform, ("method", "blocks", "mse:.2f", "error:.2f", "predicted", "printed"))}

**Warning.** The parts of a range have their medians near their middles whatever the records are, so the first method
answers {HIGH / 2:g} to everything: on uniform data the constant {HIGH / 2:g}, which costs nothing, has no error at
all. On skewed data (median {DATA["skewed"]:.2f}) it is off by up to {worst:.0f}. It cannot be chosen in synthdp.

{table_of(skewed, ("method", "blocks", "mse:.2f", "bias:.2f"))}

`synthdp.dp.median`, in the last rows, needs no blocks: its mean squared error on the uniform data is
{min(medians):.2f} to {max(medians):.2f}. Blocks are for statistics that have no mechanism of their own.
"""


STUDY = replicated("blocks", 1000, one_replication, summarise, page, seed=20281, n=N, high=HIGH, epsilon=EPSILON)
