"""The prior of the latents' covariance matrix, and its exact draw given residuals.

A column's own margin tells the order of its latents, not their location and scale: both are learnt from the records
along with everything else, and only the correlations R of the covariance Σ and effects in units of the latents' sds are
used. Were both taken as known once a margin is plugged in, strong correlations would come out too sure of themselves,
by √(1 + ρ²) for two numbers, however many records there are. That location and scale are enough is a theorem: unknown
margins cost as much information on R as unknown means and variances of a multivariate normal do (Hoff, Niu and Wellner
2014, Bernoulli 20(2), 604-622; for two columns Klaassen and Wellner 1997, Bernoulli 3(1), 55-77).

N are the utilities of nominal columns, F all other coordinates. The utilities of column c have covariance g_c² times
known correlations of ½; between nominal columns correlations are free:

    Σ_NN = G R_NN G,   E_F | E_N ~ N(B'E_N, Ω)
    Ω ~ inverse Wishart(q + 1, I),   B | Ω ~ N(0, I ⊗ Ω),   g_c⁻² ~ Gamma((q + 1)/2, (q + 1)/2)
    R_NN ~ the prior of ``correlation``

Without nominal columns Σ is inverse Wishart (q + 1, I): every single correlation is uniform on (−1, 1) beforehand
(Barnard, McCulloch and Meng 2000, Statistica Sinica 10(4), 1281-1311). Given residuals Ω and B have conjugate draws.
"""

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

from synthdp.imputation.copula import correlation
from synthdp.imputation.copula.latent import Shape
from synthdp.imputation.copula.stretching import stretch
from synthdp.microdata import Floats

PASSES = 5  # of scales and correlations of several nominal columns: they cost nothing beside the records
EXTREME = 8.0  # where a quantile has no digits left


class Covariance:
    """Draws of Σ given residuals.

    Parameters
    ----------
    shape
        Which coordinate is what.
    """

    def __init__(self, shape: Shape) -> None:
        owner = shape.owner()
        self._shape, self._freedom = shape, correlation.degrees(shape.width)
        # utilities first
        self._order = np.argsort(owner < 0, kind="stable")
        self._back = np.argsort(self._order)
        self._utilities = int((owner >= 0).sum())
        inner = Shape(self._utilities, np.cumsum(shape.size) - shape.size, shape.size)
        self._columns = [
            slice(int(first), int(first + size)) for first, size in zip(inner.first, inner.size, strict=True)
        ]
        self._fixed = inner.fixed()

    def draw_prior(self, *, rng: np.random.Generator) -> Floats:
        """Draw Σ from its prior; of at most one nominal column."""
        if len(self._columns) > 1:
            raise ValueError("the prior is drawn for at most one nominal column")
        scale = np.ones(self._shape.width)
        scale[self._order[: self._utilities]] = rng.gamma(self._freedom / 2, 2 / self._freedom) ** -0.5
        sigma = self._shape.start() * (scale[:, None] * scale)
        # a step without residuals leaves the scale's prior as it is; all else is independent of where it was
        return self.step(sigma, np.zeros(sigma.shape), 0.0, rng=rng)

    def step(self, sigma: Floats, cross: Floats, n: float, *, rng: np.random.Generator, alpha: float = 0.0) -> Floats:
        """Return Σ after a step that leaves p(Σ | E) as it is, E'E = ``cross`` of n residuals. O(q³).

        Parameters
        ----------
        alpha
            Zero: independent of where Σ was, but for scales of and correlations between nominal columns. Negative:
            overrelaxed, on the other side of the distribution than before (Adler 1981, Physical Review D 23(12),
            2901-2904).
        """
        k, order = self._utilities, self._order
        sigma, cross = sigma[order][:, order], cross[order][:, order]
        inner: Floats = sigma[:k, :k]
        old_slopes: Floats = np.asarray(np.linalg.solve(inner, sigma[:k, k:]), dtype=np.float64)
        old = np.linalg.cholesky(np.linalg.inv(sigma[k:, k:] - old_slopes.T @ inner @ old_slopes))
        # given E: B around its regression, Ω from what is left
        gram = cross[:k, :k] + np.eye(k)
        fitted = np.linalg.solve(gram, cross[:k, k:])
        left = cross[k:, k:] + np.eye(len(sigma) - k) - cross[k:, :k] @ fitted
        root, gram_root = np.linalg.cholesky(np.linalg.inv(left)), np.linalg.cholesky(gram)
        # in these coordinates they are independent: normal, and chi on the diagonal of a triangle (Bartlett)
        new = root @ _triangle(np.linalg.solve(root, old), self._freedom + n, alpha, rng=rng)
        standard = alpha * gram_root.T @ (old_slopes - fitted) @ old
        standard += np.sqrt(1 - alpha**2) * rng.standard_normal(standard.shape)
        back = np.linalg.inv(new)
        slopes = fitted + np.linalg.solve(gram_root.T, standard) @ back
        found = np.empty(sigma.shape)
        found[:k, :k] = inner = self._step_of_utilities(inner, cross[:k, :k], n, alpha, rng=rng)
        found[:k, k:] = inner @ slopes
        found[k:, :k] = found[:k, k:].T
        found[k:, k:] = back.T @ back + slopes.T @ found[:k, k:]
        return np.asarray(found[self._back][:, self._back])

    def _step_of_utilities(
        self, inner: Floats, cross: Floats, n: float, alpha: float, *, rng: np.random.Generator
    ) -> Floats:
        """Return Σ_NN after scales of columns, and correlations between columns, have taken turns."""
        sd = np.sqrt(np.diag(inner))
        r = inner / (sd[:, None] * sd)
        for _ in range(1 if self._fixed.all() else PASSES):
            precision: Floats = np.asarray(np.linalg.inv(r), dtype=np.float64)
            for mine in self._columns:
                product = precision[mine] * cross[mine] / (sd[mine, None] * sd)
                square = float(product[:, mine].sum())
                # of t = g/g' the records say t^(n k) exp(−square·t²/2 − between·t) for k utilities, and the prior is
                # that of a scale
                between, now = float(product.sum()) - square, sd[mine.start]
                t = stretch(n * len(product) + self._freedom, square + self._freedom / now**2, -between, rng=rng)
                sd[mine] = now / t
            if not self._fixed.all():
                r = correlation.step(r, precision, cross / (sd[:, None] * sd), n, self._fixed, rng=rng, alpha=alpha)
        return np.asarray(r * (sd[:, None] * sd))


def _triangle(old: Floats, freedom: float, alpha: float, *, rng: np.random.Generator) -> Floats:
    """Return a triangle of normals below chis, overrelaxed from an old one."""
    q = len(old)
    found = np.tril(alpha * old + np.sqrt(1 - alpha**2) * rng.standard_normal((q, q)), -1)
    shape = (freedom - np.arange(q)) / 2
    score = rng.standard_normal(q)
    if alpha < 0:
        half = np.diag(old) ** 2 / 2
        before = np.where(half < shape, ndtri(gammainc(shape, half)), -ndtri(gammaincc(shape, half)))
        before = np.where(np.abs(before) < EXTREME, before, rng.standard_normal(q))
        score = alpha * before + np.sqrt(1 - alpha**2) * score
    half = np.where(score > 0, gammainccinv(shape, ndtr(-score)), gammaincinv(shape, ndtr(score)))
    found[np.diag_indices(q)] = np.sqrt(2 * half)
    return np.asarray(found)


def correlations(sigma: Floats) -> tuple[Floats, Floats]:
    """Return the correlations and standard deviations of a covariance matrix."""
    sd = np.sqrt(np.diag(sigma))
    return np.asarray(sigma / (sd[:, None] * sd)), np.asarray(sd)
