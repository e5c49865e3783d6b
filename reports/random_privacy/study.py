"""Random privacy, which is NOT differential privacy: Hall's (2012) chapter 5 and its Figure 5.1."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.cells import Cell
from reports.markdown import table_of
from reports.random_privacy.methods import (
    broken_share,
    exact_a,
    exact_b,
    expected_error,
    histogram_a,
    histogram_b,
    private_histogram,
)
from reports.study import Results, Study
from synthdp.seeding import Streams
from synthdp.table.microdata import Codes, Floats

N, CELLS, OCCUPIED, GAMMA = 40_000, 200, 30, 0.05
ALPHAS = (0.1, 0.5, 1.0)
RUNS, ORDERS = 2000, 20_000
NOT_DP = "NOT DP"
METHODS = {"A": (histogram_a, exact_a), "B": (histogram_b, exact_b)}


def table() -> Codes:
    """Return counts of a sparse histogram: 30 of 200 cells, the rarest of one record."""
    weights = np.exp(-np.arange(OCCUPIED) / 3.5)
    counts = np.maximum(np.floor(N * weights / weights.sum()).astype(np.int64), 1)
    counts[0] += N - counts.sum()
    return np.concatenate([counts, np.zeros(CELLS - OCCUPIED, dtype=np.int64)])


def released(method: str, alpha: float, runs: int, *, seed: int) -> dict[str, Any]:
    """Return the errors of one histogram, and how often DP fails for any ε when records change places."""
    counts, rng = table(), Streams(seed).generator(method, str(alpha))
    errors = np.array([np.abs(_drawn(method, counts, alpha, rng) - counts / N).sum() for _ in range(runs)])
    bare = METHODS[method][1](counts, GAMMA) if method in METHODS else np.zeros(CELLS, dtype=bool)
    found = {
        "claim": NOT_DP if method in METHODS else "DP",
        "error": float(errors.mean()),
        "se": float(errors.std() / np.sqrt(runs)),
        "expected": expected_error(int((~bare).sum()), N, alpha),
        "quantiles": np.quantile(errors, (0.01, 0.5, 0.99)).tolist(),
        "told_as_it_is": int((bare & (counts > 0)).sum()),
        "broken": 0.0,
    }
    if method in METHODS:
        records = np.repeat(np.arange(CELLS), counts + np.eye(1, CELLS, OCCUPIED, dtype=np.int64)[0])
        found["broken"] = broken_share(records, CELLS, GAMMA, METHODS[method][1], draws=ORDERS, rng=rng)
    return found


def _drawn(method: str, counts: Codes, alpha: float, rng: np.random.Generator) -> Floats:
    if method in METHODS:
        return METHODS[method][0](counts, alpha, gamma=GAMMA, rng=rng)
    return private_histogram(counts, alpha, rng=rng)


def cells(count: int | None) -> list[Cell]:
    """Return every histogram and α."""
    return [{"method": m, "alpha": a, "runs": count or RUNS} for a in ALPHAS for m in ("every cell", *METHODS)]


def draw(results: Results, out: Path) -> None:
    """Draw the table beside records drawn from its releases, and the errors; the title of each says what is not DP."""
    axes, figure = figures.panels(1, 3, (12, 4))
    counts, alpha = table(), ALPHAS[0]
    shown = 80
    for ax, (method, title) in zip(axes, (("every cell", "DP"), ("A", "A, NOT DP")), strict=False):
        rng = np.random.default_rng(1)
        shares = np.maximum(_drawn(method, counts, alpha, rng), 0)
        drawn = rng.multinomial(N, shares / shares.sum())
        ax.bar(np.arange(shown), drawn[:shown], color=figures.COLOURS[0 if method == "every cell" else 3], alpha=0.6)
        ax.step(np.arange(shown), counts[:shown], where="mid", color="black", linewidth=0.9)
        ax.set_yscale("symlog", linthresh=10)
        ax.set(xlabel=f"cell (the first {shown} of {CELLS})", ylabel="records")
        ax.set_title(f"{title}, α = {alpha:g}: drawn, true (line)", fontsize=9, loc="left")
    for k, method in enumerate(("every cell", *METHODS)):
        rows = [row for row in results["rows"] if row["method"] == method]
        quantiles = np.array([row["quantiles"] for row in rows])
        at = np.arange(len(rows)) + (k - 1) * 0.15
        label = method if method == "every cell" else f"{method}, NOT DP"
        spread = np.abs(quantiles[:, [0, 2]].T - quantiles[:, 1])
        axes[2].errorbar(
            at,
            quantiles[:, 1],
            spread,
            fmt=figures.MARKERS[k],
            color=figures.COLOURS[(0, 3, 4)[k]],
            label=label,
            capsize=4,
        )
    axes[2].set_xticks(range(len(ALPHAS)), [f"{a:g}" for a in ALPHAS])
    axes[2].set_yscale("log")
    axes[2].set(xlabel="α", ylabel="ℓ1 error of shares: median, 1% to 99%")
    axes[2].legend(fontsize=8)
    figures.save(figure, out / "random_privacy.svg")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    shown = ("method", "claim", "alpha", "error:.5f", "expected:.5f", "broken:.4f", "told_as_it_is")
    return f"""# Random privacy, which is NOT differential privacy

Hall (2012, chapter 5) asks DP's inequality of most files only: of n + 1 records drawn alike, it may fail for a share γ
of their orders. Whoever is unusual is in that share every time. **Nothing on this page is differentially private but
the rows that say so, no method of it is part of the package, and no ε is claimed for it.** The author's own verdict is
that the sparse histogram ([reports/sparse_tables](../sparse_tables/README.md)) obviates it. Regenerate:
`python -m reports random_privacy`.

![random privacy, NOT DP](random_privacy.svg)

n = {N:,}, {CELLS} cells of which {OCCUPIED} are occupied, γ = {GAMMA:g} (his Figure 5.1, for which no numbers are
printed). *every cell*: Laplace noise of scale 2/(nα) on every cell; *A*: none on empty ones (NOT DP); *B*: none on
rare ones (NOT DP). *error* is the mean ℓ1 error of shares over {settings["runs"]:,} draws, *expected* 2r/(nα) for r
noisy cells, *broken* how often DP fails for any ε when {ORDERS:,} times two of the n + 1 records are left out in turn
(one of them alone in its cell), *told_as_it_is* the occupied cells that are published as they are: rare people,
exactly.

{table_of(results["rows"], shown)}
"""


SEED = 51
STUDY = Study(
    name="random_privacy",
    cells=cells,
    work=partial(released, seed=SEED),
    results=lambda lines: {"rows": [dict(line) for line in lines]},
    page=page,
    settings={"seed": SEED, "n": N, "cells": CELLS, "gamma": GAMMA},
    counts=lambda lines: {"runs": lines[0]["runs"]},
    draw=draw,
)
