"""Simulation-based calibration of the copula's sampler: data from its own prior, ranks of the truth among the draws.

Five columns of different kinds (six latent coordinates), a risk group as covariate, a fifth of the cells missing at
random given the first column. Margins and thresholds are known, so the sampler claims to be exact: then the truth is
as likely to be the smallest as the largest of itself and the draws, for every correlation, every entry of Γ and every
imputed cell (Cook, Gelman and Rubin 2006; Talts et al. 2018, arXiv:1804.06788).

The same data are fitted with the usual shortcut for R (draw an inverse Wishart matrix, rescale it; the correlation of
the two utilities is free then) for comparison.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from synthdp.imputation.copula import correlation
from synthdp.imputation.copula.chain import Sampler
from synthdp.imputation.copula.latent import Latent, Shape
from synthdp.microdata import Codes, Floats
from synthdp.seeding import Streams
from synthdp.studies.runner import replicate, save, table

SEED = 20260714
N = 60
DRAWS, EVERY, BURN = 19, 60, 200
LEAST_P = 0.001
SHAPE = Shape.of(6, ((4, 2),))
COLUMNS = ("continuous", "semicontinuous", "binary", "ordinal", "nominal 1", "nominal 2")
CUTS = {1: (-0.3,), 2: (0.3,), 3: (-0.8, 0.1, 0.9)}
# rows: the nominal column's constant, the risk group
PRIOR_SD = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 1.0], [0.7, 0.7, 0.7, 0.7, 0.7, 0.7]])
Truth = tuple[Floats, Floats, Floats]


def draw_data(*, n: int, rng: np.random.Generator) -> tuple[Latent, Truth]:
    """Draw R, Γ and latents from the prior, and what is seen of them."""
    r = correlation.draw_prior(SHAPE, rng=rng)
    gamma = PRIOR_SD * rng.standard_normal(PRIOR_SD.shape)
    group = (np.arange(n) % 3 == 0).astype(np.float64)
    covariates = np.column_stack([np.ones(n), group - group.mean()])
    y = covariates @ gamma + rng.standard_normal((n, SHAPE.width)) @ np.linalg.cholesky(r).T
    lower, upper = y.copy(), y.copy()
    for j, cuts in CUTS.items():
        edges = np.array([-np.inf, *cuts, np.inf])
        place = np.searchsorted(edges, y[:, j]) - 1
        known = (y[:, j] > cuts[0]) if j == 1 else np.zeros(n, dtype=np.bool_)
        lower[:, j] = np.where(known, y[:, j], edges[place])
        upper[:, j] = np.where(known, y[:, j], edges[place + 1])
    utilities = np.column_stack([np.zeros(n), y[:, 4:6]])
    codes: Codes = utilities.argmax(axis=1)[:, None].astype(np.int64)
    # at random given the first column, which is never missing
    missing = rng.random((n, 4)) < np.where(y[:, :1] > 0, 0.4, 0.1)
    lower[:, 1:4][missing[:, :3]], upper[:, 1:4][missing[:, :3]] = -np.inf, np.inf
    codes[missing[:, 3]] = -1
    return Latent(SHAPE, lower, upper, codes, covariates, PRIOR_SD), (r, gamma, y)


def watched_cells(latent: Latent) -> tuple[Codes, Codes]:
    """Return one missing cell of each column (of a nominal one: its first utility), the first record's."""
    rows = [int(np.argmax(np.isinf(latent.lower[:, j]) & np.isinf(latent.upper[:, j]))) for j in (1, 2, 3)]
    rows.append(int(np.argmax(latent.codes[:, 0] < 0)))
    return np.asarray(rows), np.array([1, 2, 3, 4])


class Rescaling(Sampler):
    """The shortcut: R from an inverse Wishart draw, rescaled."""

    def sweep(self) -> None:
        """Update as the exact sampler does, then replace R."""
        super().sweep()
        residual = self.state.y - self._latent.covariates @ self.state.gamma
        q = SHAPE.width
        scale = np.eye(q) + residual.T @ residual
        sigma = stats.invwishart.rvs(correlation.degrees(q) + len(residual), scale, random_state=self._rng)
        sd = np.sqrt(np.diag(sigma))
        self.state.r = sigma / np.outer(sd, sd)

    def collapse(self) -> None:
        """Leave out what would mend it."""


def names() -> list[str]:
    """Return what is ranked, in order."""
    pairs = [f"r: {COLUMNS[j]}, {COLUMNS[k]}" for j, k in zip(*free_pairs(), strict=True)]
    effects = [f"Γ: {('constant', 'group')[h]}, {COLUMNS[j]}" for h, j in zip(*np.nonzero(PRIOR_SD), strict=True)]
    return pairs + effects + [f"missing cell: {COLUMNS[j]}" for j in (1, 2, 3, 4)]


def free_pairs() -> tuple[Codes, Codes]:
    """Return the free correlations above the diagonal."""
    j, k = np.nonzero(np.triu(~SHAPE.fixed()))
    return j, k


def one_replication(r: int, *, seed: int, n: int = N, make: Callable[..., Sampler] = Sampler) -> list[int]:
    """Return the rank of every true value among its draws."""
    streams = Streams(seed)
    latent, (true_r, true_gamma, y) = draw_data(n=n, rng=streams.generator("data", r))
    cells = watched_cells(latent)
    sampler = make(latent, rng=streams.generator("chain", r))
    sampler.run(1, every=BURN)
    trace = sampler.run(DRAWS, every=EVERY, watched=cells)
    j, k = free_pairs()
    entries = np.nonzero(PRIOR_SD)
    drawn = np.concatenate([trace.r[:, j, k], trace.gamma[:, entries[0], entries[1]], trace.cells], axis=1)
    true = np.concatenate([true_r[j, k], true_gamma[entries], y[cells]])
    return [int(rank) for rank in (drawn < true).sum(axis=0)]


def uniformity(ranks: Floats) -> list[dict[str, Any]]:
    """Return χ² and its p value of each quantity's ranks, and the share in the outermost tenth on either side."""
    found = []
    for name, column in zip(names(), ranks.T, strict=True):
        counts = np.bincount(column.astype(np.int64), minlength=DRAWS + 1)
        test = stats.chisquare(counts)
        outer = float(np.isin(column, (0, DRAWS)).mean())
        found.append(
            {"name": name, "chi2": round(float(test.statistic), 2), "p": float(f"{test.pvalue:.4g}"), "outer": outer}
        )
    return found


def run(*, out: Path, jobs: int = 2, replications: int = 500) -> None:
    """Run the study and write its results."""
    began = time.perf_counter()
    exact = np.asarray(replicate(partial(one_replication, seed=SEED), replications, jobs=jobs, label="exact"))
    short = np.asarray(
        replicate(
            partial(one_replication, seed=SEED, make=Rescaling), max(replications // 2, 1), jobs=jobs, label="rescaled"
        )
    )
    rows, naive = uniformity(exact), uniformity(short)
    worst = min(row["p"] for row in rows)
    failing = [row["name"] for row in naive if row["p"] < LEAST_P]
    settings = {"seed": SEED, "n": N, "replications": replications, "draws": DRAWS, "every": EVERY, "burn": BURN}
    lines = [
        (row["name"], row["chi2"], row["p"], row["outer"], other["p"]) for row, other in zip(rows, naive, strict=True)
    ]
    page = f"""# Calibration of the copula's sampler

{replications} data sets of {N} records from the sampler's own prior: {", ".join(COLUMNS[:4])} and a
nominal column of three levels; a risk group as covariate; a fifth of the cells missing at random. Ranks of the truth
among {DRAWS} draws, {EVERY} sweeps apart: uniform when the sampler is exact (χ² with {DRAWS} degrees of freedom; outer:
share of ranks 0 and {DRAWS}, {2 / (DRAWS + 1):g} expected).

Smallest p of {len(rows)}: {worst:g} (required: above {LEAST_P:g} each). The last column is the usual shortcut, an
inverse Wishart draw rescaled, on {len(short)} of the data sets: {len(failing)} quantities fail.

The shortcut also frees the correlation of the nominal column's two utilities, and the quantities that fail involve that
column: at this number of data sets the comparison does not tell rescaling from that difference of models.

An earlier run without the collapsed step (500 data sets of 80 records, draws 60 sweeps apart) did not pass: four
correlations with the nominal column had p below 0.001, the smallest 1.7e-05. In most data sets looked at, draws of such
correlations were independent after 60 to 2,000 sweeps only, so ranks piled up at both ends. The step was added and
the data sets were made smaller (60 records); what each of the two contributed was not separated. The sampler with both
passed; it has been made faster since (overrelaxed steps, single precision), and this run is of the faster one.

{table(("quantity", "χ²", "p", "outer", "p of the shortcut"), lines)}

Made by `python -m synthdp.studies copula_sbc`.
"""
    results = {"exact": rows, "rescaled": naive, "smallest_p": worst, "failing_when_rescaled": failing}
    save(out, study="copula_sbc", settings=settings, results=results, page=page, began=began)
