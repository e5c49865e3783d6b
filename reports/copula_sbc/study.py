"""Simulation-based calibration of the copula's sampler: data from its own prior, ranks of the truth among the draws.

Five columns of different kinds (six latent coordinates), a risk group as covariate, a fifth of the cells missing at
random given the first column. Intervals of the latents are known, so the sampler claims to be exact: then the truth is
as likely to be the smallest as the largest of itself and the draws, for every correlation, every effect, a scale and
every imputed cell (Cook, Gelman and Rubin 2006; Talts et al. 2018, arXiv:1804.06788). Effects and cells are in units of
their coordinate's sd, as they are used.
"""

from typing import Any

import numpy as np
from scipy import stats

from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.imputation.copula.chain import Covariance, Sampler, State, correlations
from synthdp.imputation.copula.latent import Latent, Shape
from synthdp.seeding import Streams
from synthdp.table.microdata import Codes, Floats

SEED = 20260714
N = 60
DRAWS, EVERY, BURN = 19, 60, 200
LEAST_P = 0.001
SHAPE = Shape.of(6, ((4, 2),))
COLUMNS = ("continuous", "semicontinuous", "binary", "ordinal", "nominal 1", "nominal 2")
CUTS = {1: (-0.3,), 2: (0.3,), 3: (-0.8, 0.1, 0.9)}
# rows: constants, the risk group
PRIOR_SD = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0.7, 0.7, 0.7, 0.7, 0.7, 0.7]])


def draw_data(*, n: int, rng: np.random.Generator) -> tuple[Latent, State]:
    """Draw Σ, Γ and latents from the prior, and what is seen of them."""
    sigma = Covariance(SHAPE).draw_prior(rng=rng)
    gamma = PRIOR_SD * rng.standard_normal(PRIOR_SD.shape)
    group = (np.arange(n) % 3 == 0).astype(np.float64)
    covariates = np.column_stack([np.ones(n), group - group.mean()])
    y = covariates @ gamma + rng.standard_normal((n, SHAPE.width)) @ np.linalg.cholesky(sigma).T
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
    return Latent(SHAPE, lower, upper, codes, covariates, PRIOR_SD), State(y.astype(np.float32), gamma, sigma)


def watched_cells(latent: Latent) -> tuple[Codes, Codes]:
    """Return one missing cell of each column (of a nominal one: its first utility), the first record's."""
    rows = [int(np.argmax(np.isinf(latent.lower[:, j]) & np.isinf(latent.upper[:, j]))) for j in (1, 2, 3)]
    rows.append(int(np.argmax(latent.codes[:, 0] < 0)))
    return np.asarray(rows), np.array([1, 2, 3, 4])


def names() -> list[str]:
    """Return what is ranked, in order."""
    pairs = [f"r: {COLUMNS[j]}, {COLUMNS[k]}" for j, k in zip(*free_pairs(), strict=True)]
    constants = [f"Γ: constant, {COLUMNS[j]}" for j in (4, 5)]
    groups = [f"Γ: group, {name}" for name in COLUMNS]
    return [*pairs, *constants, *groups, *(f"missing cell: {COLUMNS[j]}" for j in (1, 2, 3, 4)), "scale: continuous"]


def free_pairs() -> tuple[Codes, Codes]:
    """Return the free correlations above the diagonal."""
    j, k = np.nonzero(np.triu(~SHAPE.fixed()))
    return j, k


def quantities(state: State, latent: Latent, cells: tuple[Codes, Codes]) -> Floats:
    """Return what is ranked of a state, in order."""
    r, sd = correlations(state.sigma)
    residual = (state.y - latent.covariates @ state.gamma) / sd
    return np.concatenate([r[free_pairs()], (state.gamma / sd)[latent.effects()], residual[cells], sd[:1]])


def one_replication(r: int, *, seed: int, n: int = N) -> list[int]:
    """Return the rank of every true value among its draws."""
    streams = Streams(seed)
    latent, truth = draw_data(n=n, rng=streams.generator("data", r))
    cells = watched_cells(latent)
    sampler = Sampler(latent, rng=streams.generator("chain", r))
    sampler.run(1, every=BURN)
    drawn = []
    for _ in range(DRAWS):
        sampler.run(1, every=EVERY)
        drawn.append(quantities(sampler.state, latent, cells))
    return [int(rank) for rank in (np.asarray(drawn) < quantities(truth, latent, cells)).sum(axis=0)]


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


def summarise(ranks: Floats) -> Results:
    """Return the test of every quantity's ranks, and the smallest p."""
    rows = uniformity(ranks)
    return {"exact": rows, "smallest_p": min(row["p"] for row in rows)}


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    return f"""# Calibration of the copula's sampler

{settings["replications"]} data sets of {N} records from the sampler's own prior: {", ".join(COLUMNS[:4])} and a
nominal column of three levels; a risk group as covariate; a fifth of the cells missing at random. Ranks of the truth
among {DRAWS} draws, {EVERY} sweeps apart: uniform when the sampler is exact (χ² with {DRAWS} degrees of freedom; outer:
share of ranks 0 and {DRAWS}, {2 / (DRAWS + 1):g} expected).

Smallest p of {len(results["exact"])}: {results["smallest_p"]:g} (required: above {LEAST_P:g} each).

{table_of(results["exact"], ("name", "chi2", "p", "outer"), ("quantity", "χ²", "p", "outer"))}

Made by `python -m reports copula_sbc`.
"""


STUDY = replicated(
    "copula_sbc", 500, one_replication, summarise, page, seed=SEED, n=N, draws=DRAWS, every=EVERY, burn=BURN
)
