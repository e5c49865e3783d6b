"""Audits of every mechanism, with simulated and with secure noise, beside mechanisms that are wrong on purpose.

The mistakes are those of real code: sensitivity of the wrong adjacency, a factor that was forgotten, bounds read off
the data, noise drawn once for several answers, a normaliser that depends on the data, published sparse vectors that
do not keep their claim.

References
----------
Lyu, Su, Li (2017), "Understanding the sparse vector technique for differential privacy", VLDB 10(6), Algorithms 3–6.
Tang et al. (2017), arXiv:1709.02753 (budget renewed). Casacuberta et al. (2022), CCS (sensitivities in libraries).
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from reports.cells import Cell
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.dp.audited import algorithms, clustered, functions
from synthdp.dp.descent import noise_factors, rates
from synthdp.dp.kernels import fourier_basis, gaussian_sensitivity
from synthdp.dp.subsampling import multiplier_of
from synthdp.privacy.accounting.closed_forms import analytic_ratio
from synthdp.privacy.audit.cases import Case, judge, shipped
from synthdp.privacy.audit.runs import Sampler
from synthdp.privacy.mechanisms import Bounds, Secure, local
from synthdp.privacy.tradeoff.curves import (
    Gaussian,
    Laplace,
    approximate,
    classical_gaussian,
    pure,
    randomised_response,
)
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

EPSILON = 1.0
DELTA = 1e-3


def planted() -> tuple[Case, ...]:
    """Return the broken mechanisms, each on neighbours that show it, with the promise it makes."""
    others = np.linspace(0.2, 0.8, 19)
    outlier, inlier = np.append(others, 50.0), np.append(others, 0.5)
    table, moved = np.asarray([3.0, 5.0]), np.asarray([4.0, 4.0])
    flat, tilted = np.zeros(12), np.where(np.arange(12) == 0, 1.0, -1.0)
    silent, loud = np.zeros(8), np.where(np.arange(8) < 6, -1.0, 1.0)
    classical = classical_gaussian(EPSILON, DELTA)
    rootless, variance = _normal(math.sqrt(math.log(1.25 / DELTA)) / EPSILON), _normal(math.sqrt(2.0))
    # the proof of the classical sd needs ε < 1; here its exact δ is 0.59, not 0.4
    large_epsilon = _normal(math.sqrt(2 * math.log(1.25 / 0.4)) / 6.0)
    # σ = √2Δ/ε as for Laplace noise: the source claims δ = 0.002 where it is 0.0396
    mixed = _normal(math.sqrt(2) / EPSILON)
    return (
        Case("sensitivity 1 for a table under replacement", _cells, table, moved, Laplace(EPSILON)),
        Case("sensitivity of deletion for a mean under replacement", _mean, 0.0, 1.0, Laplace(EPSILON)),
        Case("factor 2 forgotten in the exponential mechanism", _exponential, flat, tilted, pure(EPSILON)),
        Case("factor 2 forgotten in report-noisy-max", _noisy_max, flat, tilted, pure(EPSILON)),
        Case("bounds from the data", _data_bounds, inlier, outlier, pure(EPSILON)),
        Case("clipped after the sum, not before", _clipped_late, inlier, outlier, pure(EPSILON)),
        Case("root of 2 forgotten in the classical Gaussian", rootless, 0.0, 1.0, classical, DELTA, cost=0.1),
        Case("variance taken for the standard deviation", variance, 0.0, 1.0, Gaussian(0.5), DELTA, cost=0.1),
        Case("classical Gaussian at ε = 6", large_epsilon, 0.0, 1.0, approximate(6.0, 0.4), 0.4, cost=0.1),
        Case("one noise for all cells", _shared, table, moved, Laplace(EPSILON)),
        Case("budget spent once per cell, not shared", _cells, np.zeros(4), np.ones(4), pure(EPSILON)),
        Case("binary probability for 5 levels", _response, 0, 3, randomised_response(EPSILON, 5)),
        Case("number of records released as it is", _size, np.zeros(20), np.zeros(21), pure(EPSILON)),
        Case("sparse vector without noise on the answers", _sparse(0.0, 1), silent, loud, pure(EPSILON)),
        Case("sparse vector whose noise does not grow with c", _sparse(2.0, 4), silent, loud, pure(EPSILON)),
        Case("rounded to the data's own grid", _grid, 0.0, 0.5, Laplace(EPSILON)),
        Case("noise by local sensitivity", _local, _middle(0), _middle(1), approximate(EPSILON, DELTA), DELTA),
        Case("mixed noise as claimed in its source", mixed, 0.0, 1.0, approximate(EPSILON, 0.002), 0.002, cost=0.1),
        Case("aggregate whose answers are not clipped", _unclipped, inlier, 40 * outlier, pure(EPSILON)),
        Case("descent with the noise of its last step alone", _last_step, 1.0, -1.0, pure(EPSILON)),
        Case("descent whose whole path is released", _path, 1.0, -1.0, pure(EPSILON)),
        Case(
            "DP-SGD, noise for deletion, not replacement", _sampled, -1.0, 1.0, approximate(EPSILON, DELTA), DELTA, 0.1
        ),
        Case(
            "density whose bandwidth is read off the data",
            _own_bandwidth,
            inlier,
            outlier,
            approximate(1.0, DELTA),
            DELTA,
        ),
        Case(
            "density with a Δ of one kernel, not of two",
            _one_kernel,
            0.0,
            1.0,
            approximate(1.0, DELTA),
            DELTA,
            cost=0.1,
        ),
        Case("Fourier coefficients by the inverse of the scale, as printed", _inverse, 0.0, 0.5, pure(EPSILON)),
    )


def _middle(shift: int) -> Floats:
    # Counterexample 5.2.1 of Biswal (2024): both medians are 0, the local sensitivities 1 and 0
    return np.repeat([0.0, 1.0], [6 + shift, 5 - shift])


def _local(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return np.median(data) + local.median(data, Bounds(0, 1)) / EPSILON * rng.laplace(size=runs)


def _unclipped(data: Any, runs: int, rng: np.random.Generator) -> Any:
    blocks = np.asarray(data, dtype=float).reshape(-1, 2).mean(axis=1)
    return blocks.mean() + rng.laplace(0, 1 / (len(blocks) * EPSILON), runs)


ETA = rates(10, 0.125, 0.5)
# all records but one are at θ, so that their gradients are 0; this one, at 1 or −1, is taken at every step


def _last_step(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return -data * ETA.sum() + rng.laplace(0, 2 * ETA[-1] / EPSILON, runs)


def _path(data: Any, runs: int, rng: np.random.Generator) -> Any:
    gammas = 2 * noise_factors(ETA) / EPSILON
    return -np.cumsum(ETA * (data + gammas * rng.laplace(size=(runs, len(ETA)))), axis=1)


def _sampled(data: Any, runs: int, rng: np.random.Generator) -> Any:
    sd = multiplier_of(EPSILON, DELTA, rate=0.9, steps=1, adjacency="add_remove")
    return data * (rng.random(runs) < 0.9) + rng.normal(0, sd, runs)


def _rows(data: Any, runs: int) -> Floats:
    return np.repeat(np.asarray(data, dtype=float)[None, :], runs, axis=0)


def _cells(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return _rows(data, runs) + rng.laplace(0, 1 / EPSILON, (runs, len(data)))


def _mean(data: Any, runs: int, rng: np.random.Generator) -> Any:
    # 10 records in [-1, 1]: leaving one out moves the mean by 1/10, replacing it by 2/10
    return 0.2 * data + rng.laplace(0, 0.1 / EPSILON, runs)


def _exponential(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return np.argmax(_rows(data, runs) + rng.gumbel(0, 1 / EPSILON, (runs, len(data))), axis=1)


def _noisy_max(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return np.argmax(_cells(data, runs, rng), axis=1)


def _data_bounds(data: Any, runs: int, rng: np.random.Generator) -> Any:
    width = data.max() - data.min()
    return data.mean() + rng.laplace(0, width / (len(data) * EPSILON), runs)


def _clipped_late(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return np.clip(data.mean() + rng.laplace(0, 1 / (len(data) * EPSILON), runs), 0, 1)


def _normal(sd: float) -> Sampler:
    return lambda data, runs, rng: data + rng.normal(0, sd, runs)


def _shared(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return _rows(data, runs) + rng.laplace(0, 2 / EPSILON, (runs, 1))


def _response(data: Any, runs: int, rng: np.random.Generator) -> Any:
    keep = rng.random(runs) < math.exp(EPSILON) / (1 + math.exp(EPSILON))
    return np.where(keep, data, (data + rng.integers(1, 5, runs)) % 5)


def _size(data: Any, runs: int, rng: np.random.Generator) -> Any:
    return np.column_stack([np.full(runs, len(data)), data.sum() + rng.laplace(0, 1 / EPSILON, runs)])


def _sparse(width: float, cutoff: int) -> Sampler:
    def sample(data: Any, runs: int, rng: np.random.Generator) -> Any:
        limit = rng.laplace(0, 2 / EPSILON, (runs, 1))
        above = _rows(data, runs) + rng.laplace(0, max(width, 1e-9) / EPSILON, (runs, len(data))) >= limit
        asked = np.cumsum(above, axis=1) - above < cutoff
        return np.where(asked, above, -1.0)

    return sample


def _grid(data: Any, runs: int, rng: np.random.Generator) -> Any:
    # noise in whole steps of 1/4 on a value that is not on that grid: the remainder gives it away
    return data + 0.3 * (data > 0) + np.round(4 * rng.laplace(0, 0.8 / EPSILON, runs)) / 4


def _own_bandwidth(data: Any, runs: int, rng: np.random.Generator) -> Any:
    # one record far away widens the bandwidth of all others; the noise is that of a bandwidth fixed beforehand
    h = 1.06 * data.std() * len(data) ** -0.2
    peak = float(np.exp(-((0.5 - data) ** 2) / (2 * h**2)).mean()) / (math.sqrt(2 * math.pi) * h)
    return peak + gaussian_sensitivity(len(data), [h]) * analytic_ratio(1.0, DELTA) * rng.standard_normal(runs)


def _one_kernel(data: Any, runs: int, rng: np.random.Generator) -> Any:
    # the two values move in opposite directions, so that their distance moves by √2 times what either does
    values = np.asarray([1 - data, data])
    return values + analytic_ratio(1.0, DELTA) * rng.standard_normal((runs, 2))


def _inverse(data: Any, runs: int, rng: np.random.Generator) -> Any:
    # n α/(2m + 1) is the rate of Laplace noise, not its scale; one frequency of 10 records, all but one at 0
    basis = fourier_basis(np.asarray([data]), 1)[0, 1:] / 10
    return basis + rng.laplace(0, 3 / (10 * EPSILON), (runs, 2)) / 3


def misused() -> tuple[Case, ...]:
    """Return an algorithm that is wrong on purpose: k-means whose noise is for deletion, on files that replace."""
    sides = np.repeat([-0.5, 0.5], 30)
    noise_of_deletion = clustered(None, rounds=1, adjacency="add_remove")
    left, right = np.append(sides, -1.0), np.append(sides, 1.0)
    return (Case("k-means, sensitivity of deletion under replacement", noise_of_deletion, left, right, pure(EPSILON)),)


SECURE_SHARE = 10
PLANTED_SHARE = 10
FUNCTIONS_SHARE = 5


TABLES = {
    "simulated": shipped,
    "secure": lambda: shipped(Secure()),
    "planted": lambda: planted(),
    "algorithms": algorithms,
    "functions": functions,
    "misused": misused,
}


def audit(part: str, runs: int, *, seed: int) -> list[dict[str, Any]]:
    """Audit the mechanisms of one table on two data sets each, so many times."""
    cases = TABLES[part]()
    return [
        {
            "mechanism": verdict.name,
            "promised": round(verdict.promised, 3),
            "at_least": round(verdict.found.epsilon, 3),
            "delta": verdict.found.delta,
            "runs": 2 * verdict.found.runs,
            "p_adjusted": float(f"{verdict.adjusted:.2g}"),
            "refuted": verdict.broken,
        }
        for verdict in judge(cases, runs=runs, rng=Streams(seed).generator(part))
    ]


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    refuted = {name: sum(row["refuted"] for row in rows) for name, rows in results.items()}
    return f"""# Audits: do the mechanisms keep their promises?

Each mechanism is run many times on two neighbouring data sets that are hard for it. Half of the runs teach a score
that tells the two apart; on the other half its errors are counted. *promised* is the ε of the mechanism at the δ
beside it, *at_least* what ε must be at least to explain the errors, *p_adjusted* how surprising the errors are under
the promised trade-off function, after correction for the number of mechanisms; a promise is refuted at 0.001 over
the whole table. *at_least* below *promised* proves nothing: the auditor may have looked in the wrong place.
Regenerate: `python -m reports audits`.

## Simulated noise: {refuted["simulated"]} of {len(results["simulated"])} refuted

{table_of(results["simulated"])}

## Secure noise: {refuted["secure"]} of {len(results["secure"])} refuted

{table_of(results["secure"])}

## Algorithms: {refuted["algorithms"]} of {len(results["algorithms"])} refuted

Most release several times, and the auditor sees the outcome only: sizes and centres of the last round, θ and the ridge,
or coefficients. What is spent inside stays there in part, so *at_least* is below what is promised, and far below it
where there are three rounds, for AdaSSP, the smooth median, and what is learnt in steps: their audits would find a
gross mistake only. So they would where *at_least* is 0.

{table_of(results["algorithms"])}

The same k-means with noise for deletion where records are replaced, {refuted["misused"]} of {len(results["misused"])}
refuted:

{table_of(results["misused"])}

## Private functions: {refuted["functions"]} of {len(results["functions"])} refuted

Densities, functions and the support vector machine, asked at the points where one record tells most; one call each, so
few runs: this audit would find a gross mistake only. Laws of the noise and sensitivities have tests of their own.

{table_of(results["functions"])}

## Wrong on purpose: {refuted["planted"]} of {len(results["planted"])} refuted, all should be

{table_of(results["planted"])}
"""


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the tables; secure noise, which is slow, and planted mistakes, which are easy, get fewer runs."""
    runs = count or 200_000
    yield {"part": "simulated", "runs": runs}
    yield {"part": "secure", "runs": runs // SECURE_SHARE}
    yield {"part": "planted", "runs": runs // PLANTED_SHARE}
    yield {"part": "algorithms", "runs": runs}
    yield {"part": "functions", "runs": runs // FUNCTIONS_SHARE}
    yield {"part": "misused", "runs": runs // PLANTED_SHARE}


SEED = 20258
STUDY = Study(
    name="audits",
    cells=cells,
    work=partial(audit, seed=SEED),
    results=lambda lines: {line["part"]: line["found"] for line in lines},
    page=page,
    settings={"seed": SEED, "level": 0.001},
    counts=lambda lines: {"replications": lines[0]["runs"]},
)
