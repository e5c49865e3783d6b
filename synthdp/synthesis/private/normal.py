r"""Numbers from a normal distribution, of which noisy sums and products are known: copies that know of the noise.

Columns are scaled to [−1, 1] by their declared bounds, and with x = (1, x₁, …, x_p) one matrix is released,

    S = Σ_i x_i x_iᵀ + E,    E symmetric, N(0, σ²) on the diagonal and N(0, σ²/2) beside it.

The Frobenius norm of x xᵀ − z zᵀ is √(‖x‖⁴ + ‖z‖⁴ − 2(xᵀz)²) ≤ √2 (1 + p), which is what a replaced record moves S
by, and E is Gaussian noise in that norm. The corner n is public. Means and covariances, and so every linear regression
among the columns, are functions of S.

``noise_aware``: records are N(m, V). The sums t of all x_j and x_j x_k have mean n·E t and covariance n·Cov t, closed
forms in m and V (Isserlis), so that

    y | m, V ≈ N(n·E t, n·Cov t + noise),      m_j uniform within the bounds, sd uniform up to half their width,
                                               correlations uniform (Lewandowski et al., η = 1).

The posterior is drawn by random-walk Metropolis in (m, log sd, partial correlations), which holds V positive definite
whatever the noise; its step has the shape of the curvature at the mode. ``plug_in``: the mean and covariance nearest to
S, with negative eigenvalues moved to a little above 0.

Values are moved into the bounds and rounded, so bounds a normal distribution would leave often bias copies: give wide
ones, or use a method of bins. What is not normal about the columns (heaps, skewness, curved relations) is lost; the
intervals of slopes are those of normal errors.

References
----------
Bernstein, Sheldon (2019), "Differentially private Bayesian linear regression", NeurIPS (noisy sufficient statistics,
their normal approximation, Isserlis' moments); there by Gibbs sampling, the sums drawn too. Dwork, Talwar, Thakurta,
Zhang (2014), STOC (noise on the second-moment matrix). Lewandowski, Kurowicka, Joe (2009), Journal of Multivariate
Analysis 100(9) (correlations from partial ones). Roberts, Rosenthal (2001), Statistical Science 16(4) (the step).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.linalg.lapack import dpotrf, dtrtrs

from synthdp.imputation.cells import write
from synthdp.parallel import Advance, each
from synthdp.privacy.mechanisms import Gaussian, Sensitivity, Source
from synthdp.privacy.mechanisms.mechanism import says_nothing
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.private.domain import random_generator
from synthdp.synthesis.private.measured import Inference, Tabulated
from synthdp.table.microdata import Floats
from synthdp.table.schema import Kind

MOST_COLUMNS = 8
WARM_UP = 1000
PER_DIMENSION = 15
"""Steps of the chain between two copies, for each parameter."""
LEAST_SD = 1e-4
"""Of half a column's width, to which a covariance that is not positive definite is moved."""
STEEPEST = 9.0
"""atanh of the largest correlation, 1 − 3·10⁻⁸: beyond it a covariance is singular in double precision."""
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


class DpNormal(Tabulated):
    """Numbers drawn from a normal distribution whose mean and covariance were measured with noise.

    Examples
    --------
    >>> DpNormal(delta=1e-6).copies
    20
    """

    method: Literal["dp_normal"] = "dp_normal"
    inference: Inference = "noise_aware"
    most_columns: ClassVar[int] = MOST_COLUMNS

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        columns = plan.data.schema.columns
        if len(columns) > self.most_columns:
            found.append(
                f"synthesis: dp_normal takes at most {self.most_columns} columns, found {len(columns)}; drop some, or "
                "use dp_aim."
            )
        found += [
            f"variables.{column.name}: dp_normal takes numbers without a heap at 0, not {column.kind}; use dp_tables."
            for column in columns
            if column.kind.categorical or column.kind is Kind.SEMICONTINUOUS
        ]
        found += [
            f"synthesis.missing: a normal distribution has no place for missing values of {name}; use dp_tables."
            for name in self.missing
        ]
        if not self.delta and not self.noise_aware:
            found.append("synthesis.delta: dp_normal adds Gaussian noise, which needs one above 0, such as 1e-6.")
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence when a covariance may be nothing but noise, from public numbers alone."""
        sd = self.noise_of(len(plan.data.schema.columns)).sd / math.sqrt(2) / max(len(plan.data), 1)
        if not says_nothing(sd, 2.0):
            return []
        return [
            f"synthesis.epsilon: the noise of a covariance is {sd:.3g} where columns have width 2: the copies are "
            "mostly noise. Raise epsilon, or use fewer columns."
        ]

    def noise_of(self, columns: int) -> Gaussian:
        """Return the noise of the matrix of sums and products."""
        moved = Sensitivity(math.sqrt(2) * (1 + columns), "l2", "replace")
        return Gaussian.calibrated(moved, epsilon=self.epsilon, delta=self.delta)

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Pay once, then draw the copies."""
        started = time.perf_counter()
        source, axes, n = self.noise(streams), self.domain(plan).axes, len(plan.data)
        bounds = np.array([axis.column.bounds for axis in axes], dtype=np.float64)
        middle, half = bounds.mean(axis=1), np.maximum(np.diff(bounds, axis=1)[:, 0] / 2, 1e-300)
        values = np.column_stack([plan.data.numbers(axis.column.name) for axis in axes])
        mechanism = self.noise_of(len(axes))
        sums = Sums.released(np.clip((values - middle) / half, -1, 1), mechanism, source)
        rng = random_generator(source)
        laws = drawn(sums, self.copies, rng=rng) if self.noise_aware else [sums.nearest()] * self.copies
        paid = time.perf_counter()

        def copy(m: int) -> pd.DataFrame:
            rng = streams.generator("values", self.method, m)
            mean, root = laws[m - 1]
            found = middle + half * (mean + rng.standard_normal((n, len(axes))) @ root.T)
            columns = {
                axis.column.name: write(found[:, j], axis.column, axis.like(plan.data.frame[axis.column.name]))
                for j, axis in enumerate(axes)
            }
            return pd.DataFrame(columns)[list(plan.data.frame.columns)]

        copies = tuple(each(copy, range(1, self.copies + 1), advance=advance))
        seconds = {"fit": paid - started, "draw": time.perf_counter() - paid}
        return Release.of(self, plan, copies, privacy=self.guarantee(plan, mechanism.event()), seconds=seconds)


Law = tuple[Floats, Floats]
"""A mean, and the Cholesky factor of a covariance."""


@dataclass(frozen=True)
class Sums:
    """Noisy sums of columns and of their products, as the upper triangle of x xᵀ with x = (1, columns).

    Parameters
    ----------
    values, noise
        The sums without the corner, and the variance of the noise of each.
    total, columns
        How many records and columns there are.
    """

    values: Floats
    noise: Floats
    total: int
    columns: int

    @classmethod
    def released(cls, scaled: Floats, mechanism: Gaussian, source: Source) -> "Sums":
        """Return the sums of columns within [−1, 1], with noise."""
        n, p = scaled.shape
        a, b = places_of(p)
        x = np.column_stack([np.ones(n), scaled])
        weight = np.where(a == b, 1.0, math.sqrt(2))
        noisy = mechanism.release(weight * (x.T @ x)[a, b], source=source)
        return cls(noisy / weight, (mechanism.sd / weight) ** 2, n, p)

    def nearest(self) -> Law:
        """Return the mean and the covariance that the sums say, moved to a positive definite one."""
        a, b = places_of(self.columns)
        whole = np.zeros((self.columns + 1,) * 2)
        whole[a, b] = whole[b, a] = self.values / self.total
        mean = np.clip(whole[0, 1:], -1, 1)
        held, turned = np.linalg.eigh(whole[1:, 1:] - np.outer(mean, mean))
        return mean, np.linalg.cholesky((turned * np.maximum(held, LEAST_SD**2)) @ turned.T)

    def log_likelihood(self, law: Law) -> float:
        """Return the log density of the sums, by the normal approximation."""
        mean, covariance = moments(*law)
        gap = self.values - self.total * mean
        spread = self.total * covariance
        spread[np.diag_indices_from(spread)] += self.noise
        root, failed = dpotrf(spread, lower=True)
        if failed:
            return -math.inf
        weighed, _ = dtrtrs(root, gap, lower=True)
        return -0.5 * float(weighed @ weighed) - float(np.log(root.diagonal()).sum())


@cache
def places_of(columns: int) -> Places:
    """Return the places of the upper triangle of x xᵀ without its corner."""
    a, b = np.triu_indices(columns + 1)
    return a[1:], b[1:]


def moments(mean: Floats, root: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of one record's products x_a x_b (Isserlis)."""
    a, b = places_of(len(mean))
    m = np.append(1.0, mean)
    v = np.zeros((len(m),) * 2)
    v[1:, 1:] = root @ root.T
    second = v + np.outer(m, m)
    # E x_a x_b x_c x_d − E x_a x_b E x_c x_d
    means = m[a] * m[b]
    crossed = second[a[:, None], b]
    covariance = second[a[:, None], a] * second[b[:, None], b] + crossed * crossed.T - 2 * np.outer(means, means)
    return second[a, b], covariance


def law_of(z: Floats, columns: int) -> tuple[Law, float]:
    """Return the law at (m, log sd, atanh partial correlations), and the log prior density there."""
    mean, log_sd = z[:columns], z[columns : 2 * columns]
    if (np.abs(mean) > 1).any() or (log_sd > 0).any() or (np.abs(z[2 * columns :]) > STEEPEST).any():
        return (mean, np.eye(columns)), -math.inf
    root, left, prior, at = np.zeros((columns, columns)), np.ones(columns), float(log_sd.sum()), 2 * columns
    for j in range(columns):
        for i in range(j + 1, columns):
            partial = math.tanh(z[at])
            at += 1
            root[i, j] = partial * math.sqrt(left[i])
            left[i] *= 1 - partial**2
            prior += (1 + (columns - 2 - j) / 2) * math.log1p(-(partial**2))
        root[j, j] = math.sqrt(max(left[j], 1e-300))
    return (mean, np.exp(log_sd)[:, None] * root), prior


def place_of(law: Law) -> Floats:
    """Return the parameters of a law: `law_of` backwards."""
    mean, root = law
    p, sd = len(mean), np.sqrt((root**2).sum(axis=1))
    unit, left, partials = root / sd[:, None], np.ones(len(mean)), []
    for j in range(p):
        for i in range(j + 1, p):
            partial = float(np.clip(unit[i, j] / math.sqrt(max(left[i], 1e-12)), -0.99, 0.99))
            left[i] *= 1 - partial**2
            partials.append(math.atanh(partial))
    return np.concatenate([np.clip(mean, -0.99, 0.99), np.minimum(np.log(sd), -1e-3), partials])


def drawn(sums: Sums, count: int, *, rng: np.random.Generator) -> list[Law]:
    """Return laws from the posterior; the first are the same for a larger count."""
    from scipy.optimize import minimize

    def energy(z: Floats) -> float:
        law, prior = law_of(z, sums.columns)
        return 1e12 if prior == -math.inf else -prior - sums.log_likelihood(law)

    start = place_of(sums.nearest())
    found = minimize(energy, start, method="Nelder-Mead" if len(start) < 3 else "Powell", options={"maxiter": 20})
    z, d = np.asarray(found.x), len(start)
    root = _shape(energy, z) * 2.38 / math.sqrt(d)
    value, laws, length, accepted = energy(z), [], 1.0, 0
    for turn in range(1, WARM_UP + count * PER_DIMENSION * d + 1):
        offered = z + length * root @ rng.standard_normal(d)
        new = energy(offered)
        if math.log(rng.random()) < value - new:
            z, value, accepted = offered, new, accepted + 1
        if turn <= WARM_UP and turn % 100 == 0:
            # towards the share of accepted steps at which a random walk is quickest
            length, accepted = length * math.exp((accepted / 100 - 0.25) * 2), 0
        elif turn > WARM_UP and (turn - WARM_UP) % (PER_DIMENSION * d) == 0:
            laws.append(law_of(z, sums.columns)[0])
    return laws


def _shape(energy: Callable[[Floats], float], z: Floats) -> Floats:
    """Return a factor of the inverse curvature, by differences; directions that are not curved get a step of 1."""
    d, h = len(z), 1e-3
    steps = np.eye(d) * h
    curved = np.zeros((d, d))
    for i in range(d):
        for j in range(i, d):
            both = energy(z + steps[i] + steps[j]) - energy(z + steps[i] - steps[j])
            both += energy(z - steps[i] - steps[j]) - energy(z - steps[i] + steps[j])
            curved[i, j] = curved[j, i] = both / (4 * h**2)
    held, turned = np.linalg.eigh(np.where(np.isfinite(curved), np.clip(curved, -1e12, 1e12), 0.0))
    return np.asarray(turned / np.sqrt(np.maximum(held, 1.0)))
