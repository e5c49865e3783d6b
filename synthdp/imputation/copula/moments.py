"""Correlations from moments: what is used where records are many and chains would be too long.

    f: a number's latent, the score of an ordered level, the indicators of a nominal column's levels but the first
    S(R) = covariances of f under the model,   S = those of the records,   R̂: S(R̂) = S

Two columns' covariances depend on their own correlations only, of which there are as many: two-way tables of the model
are those of the records. S(R) is simulated, and R moves by Stein's identity, S ≈ G R G' with G = E[∂f/∂y], whose error
only makes steps too long or too short (stochastic approximation; Robbins and Monro 1951, Annals of Mathematical
Statistics 22(3), 400-407), averaged over the last rounds (Polyak and Juditsky 1992, SIAM Journal on Control and
Optimization 30(4), 838-855). Simulated latents have exactly the covariances R, so between two numbers nothing is left
to chance. Missing cells are drawn given the rest of their record in every round, margins completed from them in turn.

Draws are R̂ + G⁻¹(S_w − S)G⁻ᵀ with S_w of records with exponential weights: with many records the posterior is normal
and this is its spread, to first order (Newton and Raftery 1994, JRSS B 56(1), 3-48). Between strongly related levels S
moves more than G says, so steps and draws are shortened (see ``bending``): by √(1 − r²) between two halves.

What records say of a correlation is worth I = n a_j a_k of them, a the share of a latent's information that its column
shows; the prior is worth three (uniform on (−1, 1): variance ⅓), so correlations between rare levels are drawn to zero
by 3/(I + 3). Utilities of one column have correlations of ½ with each other, in all columns.

O((n + simulated) q²) per round.
"""

from collections.abc import Callable

import numpy as np

from synthdp.imputation.copula.bending import Bends
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.features import PART, Features, Response
from synthdp.imputation.copula.fitting import Fit, incomplete
from synthdp.imputation.copula.gaps import Records
from synthdp.imputation.copula.latent import Shape
from synthdp.parallel import each, one_blas_thread
from synthdp.table.microdata import Floats

APPROACHING, AVERAGED = 12, 20  # rounds
MOST_APPROACHING = 60
SETTLED = (6, 4, 4)  # rounds before margins are completed anew
STEP = 0.6
DRAWS = 60
COMPLETIONS, APART = 6, 5  # of the margins, and sweeps before each
PRIOR = 3.0
SMALLEST_EIGENVALUE = 2e-3
PROJECTIONS = 20
Told = Callable[[int, int], None]


def possible(r: Floats, shape: Shape) -> Floats:
    """Return correlations near r that a positive definite matrix can have, those inside a column as they must be.

    Projections on either set in turn, as for the nearest correlation matrix (Higham 2002, IMA Journal of Numerical
    Analysis 22(3), 329-343), then the rest of the way towards unrelated columns. O(q³).
    """
    start, together = shape.start(), shape.together()
    r = np.where(together, start, (r + r.T) / 2)
    for _ in range(PROJECTIONS):
        values, vectors = np.linalg.eigh(r)
        if values[0] >= SMALLEST_EIGENVALUE:
            return np.asarray(r)
        r = np.where(together, start, (vectors * np.maximum(values, 2 * SMALLEST_EIGENVALUE)) @ vectors.T)
    least, floor = float(np.linalg.eigvalsh(r)[0]), float(np.linalg.eigvalsh(start)[0])
    share = max((SMALLEST_EIGENVALUE - least) / (floor - least), 0.0)
    return np.asarray(share * start + (1 - share) * r)


def simulated(features: Features, r: Floats, mean: Floats, n: int, *, rng: np.random.Generator, jobs: int) -> Floats:
    """Return the covariances of features under the model, from n records drawn from it. O(n q²)."""
    root, q, center = np.linalg.cholesky(r), len(r), mean.astype(np.float32)[:, None]

    def part(own: np.random.Generator) -> tuple[Floats, Floats]:
        z = own.standard_normal((q, PART), dtype=np.float32)
        z -= z.mean(axis=1, keepdims=True)
        # exactly the covariances r: what is linear in the latents is without error
        white = np.linalg.inv(np.linalg.cholesky((z @ z.T).astype(np.float64) / PART))
        return features.moments(features((root @ white).astype(np.float32) @ z + center))

    # each part has its own means, which are all the same but for chance
    drawn = list(each(part, rng.spawn(max(round(n / PART), 1)), jobs=jobs))
    means = np.asarray([mean for mean, _ in drawn])
    between = np.cov(means.T, bias=True) if len(drawn) > 1 else 0.0
    return features.standardised(np.mean([s for _, s in drawn], axis=0) + between)


class Approach:
    """Correlations on their way to those whose moments are the records'.

    Parameters
    ----------
    records
        Their features.
    r
        Where to begin.
    rng, jobs
        For simulated records, and how many threads.
    """

    def __init__(self, records: Records, r: Floats, *, rng: np.random.Generator, jobs: int) -> None:
        self.records, self.r = records, r
        self.rng, self.jobs = rng, jobs
        center, s = records.features.moments(records.found)
        self.response = Response.of(records.features.shape, center, s)
        self.bends = Bends(records.features, center)
        self.trust = trusted(self.worth())

    def worth(self) -> Floats:
        """Return how many records of two numbers each correlation has to learn from."""
        shown = self.response.shown
        return np.asarray(self.records.found.shape[1] * np.outer(shown, shown) * self.records.known)

    def step(self, size: float, simulate: int) -> None:
        """Move towards the records' moments, missing cells drawn anew first. O((n + simulated) q²)."""
        records, features = self.records, self.records.features
        records.fill(self.r, self.response.mean)
        center, s = features.moments(records.found)
        self.response = own = Response.of(features.shape, center, s, self.response.mean)
        model = simulated(features, self.r, own.mean, simulate, rng=self.rng, jobs=self.jobs)
        lacking = own.correlations(features.standardised(s) - model)
        by = self.trust * lacking * self.bends.shortened(self.r) - (1 - self.trust) * self.r
        self.r = possible(self.r + size * by, features.shape)


def trusted(worth: Floats) -> Floats:
    """Return how far correlations are believed: the rest is the prior's."""
    return np.asarray(worth / (worth + PRIOR))


def fit_moments(coding: Coding, *, rng: np.random.Generator, jobs: int = 1, told: Told | None = None) -> Fit:
    """Return draws of R and of the latents' means without any chain, and the margins completed."""
    said = told or (lambda _done, _total: None)
    with one_blas_thread():
        r, y = np.asarray(coding.shape().start()), None
        for rounds in SETTLED if incomplete(coding) else ():
            curves = coding.curves(np.ones(len(coding.covariates)))
            way = Approach(Records(coding, coding.latent(curves), rng=rng, start=y, jobs=jobs), r, rng=rng, jobs=jobs)
            for _ in range(rounds):
                way.step(STEP, PART)
            r, y = way.r, way.records.latents()
            coding = coding.filled(y, curves)
        curves = coding.curves(np.ones(len(coding.covariates)))
        way = Approach(Records(coding, coding.latent(curves), rng=rng, start=y, jobs=jobs), r, rng=rng, jobs=jobs)
        drawn = draws_of(way, said)
        codings = _completed(coding, way, *drawn) if incomplete(coding) else (coding,)
        return Fit(*free_entries(coding, *drawn), codings, 0)


def draws_of(way: Approach, told: Told) -> tuple[Floats, Floats]:
    """Return draws of R (draws × q × q) and of the latents' means (draws × q)."""
    n, known = way.records.found.shape[1], float(way.records.known.min())
    # missing cells are drawn given R, so each round closes only what is known of the gap
    approaching = min(int(np.ceil(APPROACHING / max(known, 1e-6))), MOST_APPROACHING)
    total, kept = approaching + AVERAGED + 1, []
    for number in range(approaching):
        way.step(STEP, PART)
        told(number + 1, total)
    for number in range(AVERAGED):
        way.step(STEP * (1 + number) ** -0.5, max(n, PART))
        kept.append(way.r)
        told(approaching + number + 1, total)
    way.r = possible(np.mean(kept, axis=0), way.records.features.shape)
    found = _spread(way)
    told(total, total)
    return found


def _spread(way: Approach) -> tuple[Floats, Floats]:
    """Return draws around R̂, from records with random weights."""
    records, features = way.records, way.records.features
    center, s = features.moments(records.found)
    response = Response.of(features.shape, center, s, way.response.mean)
    s = features.standardised(s)
    nominal = features.shape.owner() >= 0
    shorter = way.trust * way.bends.shortened(way.r) / np.sqrt(records.known)

    def one(own: np.random.Generator) -> tuple[Floats, Floats]:
        weights = np.asarray(own.standard_exponential(records.found.shape[1], dtype=np.float32))
        mean, moved = features.moments(records.found, weights)
        by = response.correlations(features.standardised(moved) - s)
        found = possible(way.r + shorter * by, features.shape)
        return found, response.mean + np.where(nominal, response.inverse @ (mean - center), 0.0)

    drawn = list(each(one, way.rng.spawn(DRAWS), jobs=way.jobs))
    return np.asarray([found for found, _ in drawn]), np.asarray([mean for _, mean in drawn])


def _completed(coding: Coding, way: Approach, r: Floats, means: Floats) -> tuple[Coding, ...]:
    """Return codings with margins completed anew, each under a draw of its own.

    One completion for all copies would be an error that they share and their differences do not show.
    """
    curves, found = coding.curves(np.ones(len(coding.covariates))), []
    for number in range(COMPLETIONS):
        way.records.fill(r[number], means[number], APART)
        found.append(coding.filled(way.records.latents(), curves))
    return tuple(found)


def free_entries(coding: Coding, r: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Return draws of R and of the means as a chain has them: of free entries only."""
    one, other = np.nonzero(np.triu(~coding.shape().fixed()))
    h, j = coding.effects()
    return r[:, one, other], np.where(h == 0, means[:, j], 0.0)
