"""Correlations from moments: what is used where records are many and chains would be too long.

    f: a number's latent, the score of an ordered level, the indicators of a nominal column's levels but the first
    S(R) = covariances of f under the model,   S = those of the records,   R̂: S(R̂) = S

Two columns' covariances depend on their own correlations only, of which there are as many: two-way tables of the model
are those of the records. S(R) is simulated, and R moves by Stein's identity, S ≈ G R G' with G = E[∂f/∂y], whose error
only makes steps too long or too short (stochastic approximation; Robbins and Monro 1951, Annals of Mathematical
Statistics 22(3), 400-407), averaged over the last rounds (Polyak and Juditsky 1992, SIAM Journal on Control and
Optimization 30(4), 838-855). Missing cells are drawn given the rest of their record in every round.

Draws are R̂ + G⁻¹(S_w − S)G⁻ᵀ with S_w of records with exponential weights: with many records the posterior is normal
and this is its spread, to first order (Newton and Raftery 1994, JRSS B 56(1), 3-48). Between strongly related latents
S moves more than G says, so steps and draws are shortened, by up to √(1 − r²).

What records say of a correlation is worth I = n a_j a_k of them, a the share of a latent's information that its column
shows; the prior is worth three (uniform on (−1, 1): variance ⅓), so correlations between rare levels are drawn to zero
by 3/(I + 3). Utilities of one column have correlations of ½ with each other, in all columns.

O((n + simulated) q²) per round.
"""

from collections.abc import Callable

import numpy as np

from synthdp.imputation.copula.chain import Sampler, State
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.features import Features, Response
from synthdp.imputation.copula.latent import Flags, Latent, Shape
from synthdp.parallel import each
from synthdp.table.microdata import Floats

APPROACHING, AVERAGED = 15, 40  # rounds
STEP = 0.6
FEWEST_SIMULATED, PART = 20_000, 20_000
BETWEEN = 2  # sweeps over the records with missing cells, each round
DRAWS = 60
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
    root, q = np.linalg.cholesky(r).T, len(r)

    def part(own: np.random.Generator) -> tuple[Floats, Floats]:
        found = features(own.standard_normal((PART, q), dtype=np.float32) @ root + mean)
        return found.sum(axis=0), found.T @ found

    parts = list(each(part, rng.spawn(max(n // PART, 1)), jobs=jobs))
    total = len(parts) * PART
    means, s = (np.asarray(sum(found)) / total for found in zip(*parts, strict=True))
    s = s - np.outer(means, means)
    sd = np.where(features.shape.owner() < 0, np.sqrt(np.diag(s)), 1.0)
    return np.asarray(s / np.outer(sd, sd))


class Records:
    """The features of the records, those of missing cells drawn anew where parameters move.

    Parameters
    ----------
    coding, latent
        The columns, and what the records say of their latents.
    rng
        For missing cells.
    """

    def __init__(self, coding: Coding, latent: Latent, *, rng: np.random.Generator) -> None:
        self.features = Features.of(latent)
        missing = np.zeros((len(latent), latent.shape.width), dtype=np.bool_)
        for item in coding.items:
            missing[:, item.first : item.first + item.width] = item.missing()[:, None]
        y = latent.start(rng=rng)
        self.found = self.features(y)
        self._rows = np.flatnonzero(missing.any(axis=1))
        self._missing: Flags = missing[self._rows]
        self.known = 1 - _share(missing)
        if len(self._rows):
            some = Latent(
                latent.shape,
                latent.lower[self._rows],
                latent.upper[self._rows],
                latent.codes[self._rows],
                latent.covariates[self._rows],
                latent.prior_sd,
            )
            start = State(y[self._rows].astype(np.float32), np.zeros(latent.prior_sd.shape), latent.shape.start())
            self._sampler = Sampler(some, rng=rng, start=start)

    def fill(self, r: Floats, mean: Floats, sweeps: int = BETWEEN) -> None:
        """Draw the missing cells given the rest of their records."""
        if len(self._rows):
            gamma = np.zeros(self._sampler.state.gamma.shape)
            gamma[0] = mean
            self._sampler.refresh(gamma, r, sweeps)
            drawn = self.features(self._sampler.state.y.astype(np.float64))
            self.found[self._rows] = np.where(self._missing, drawn, self.found[self._rows])


def _share(missing: Flags) -> Floats:
    """Return of each pair of coordinates the share of records that lack either."""
    known = (~missing).astype(np.float32)
    return np.asarray(1 - known.T @ known / len(known), dtype=np.float64)


def draws_of(
    coding: Coding, latent: Latent, *, rng: np.random.Generator, jobs: int = 1, told: Told | None = None
) -> tuple[Floats, Floats]:
    """Return draws of R (draws × q × q) and of the latents' means (draws × q)."""
    records = Records(coding, latent, rng=rng)
    features, n = records.features, len(latent)
    r = np.asarray(latent.shape.start())
    records.fill(r, np.zeros(len(r)), 10)
    response = Response.of(features, records.found)
    worth = n * np.outer(response.shown, response.shown) * records.known
    trust = worth / (worth + PRIOR)
    kept: list[Floats] = []
    size, rounds = max(n, FEWEST_SIMULATED), APPROACHING + AVERAGED
    for number in range(rounds):
        records.fill(r, response.mean)
        response = Response.of(features, records.found)
        s = features.covariances(records.found)[1]
        lacking = response.correlations(s - simulated(features, r, response.mean, size, rng=rng, jobs=jobs))
        step = STEP * min(1.0, (APPROACHING / (number + 1)) ** 0.6)
        by = trust * lacking * response.shortened(r) - (1 - trust) * r
        r = possible(r + step * by, latent.shape)
        if number >= APPROACHING:
            kept.append(r)
        if told is not None:
            told(number + 1, rounds + DRAWS)
    r = possible(np.mean(kept, axis=0), latent.shape)
    return _spread(records, r, trust, rng=rng, jobs=jobs, told=told)


def _spread(
    records: Records, r: Floats, trust: Floats, *, rng: np.random.Generator, jobs: int, told: Told | None
) -> tuple[Floats, Floats]:
    """Return draws around R̂, from records with random weights."""
    features = records.features
    response = Response.of(features, records.found)
    center, s = features.covariances(records.found)
    nominal = features.shape.owner() >= 0
    shorter = trust * response.shortened(r) / np.sqrt(records.known)

    def one(own: np.random.Generator) -> tuple[Floats, Floats]:
        mean, moved = features.covariances(records.found, own.standard_exponential(len(records.found)))
        by = response.correlations(moved - s)
        found = possible(r + shorter * by, features.shape)
        return found, response.mean + np.where(nominal, response.inverse @ (mean - center), 0.0)

    drawn = list(each(one, rng.spawn(DRAWS), jobs=jobs))
    if told is not None:
        told(1, 1)
    return np.asarray([found for found, _ in drawn]), np.asarray([mean for _, mean in drawn])


def free_entries(coding: Coding, r: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Return draws of R and of the means as a chain has them: of free entries only."""
    one, other = np.nonzero(np.triu(~coding.shape().fixed()))
    h, j = coding.effects()
    return r[:, one, other], np.where(h == 0, means[:, j], 0.0)
