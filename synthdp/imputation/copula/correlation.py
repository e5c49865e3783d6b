"""The prior of the correlation matrix, and its exact draw given residuals.

    p(R) ∝ |R|^{−(ν + q + 1)/2} · Π_j (R⁻¹)_jj^{−ν/2},   ν = q + 1

This is the distribution of the correlations of an inverse Wishart (ν, I) matrix; with ν = q + 1 every single
correlation is uniform on (−1, 1) (Barnard, McCulloch and Meng 2000, eq. 8). As the margins are known, so are the
variances of the latents: they are one. R therefore has no conjugate draw. Drawing an inverse Wishart matrix and
rescaling it draws from another distribution (it learns the variances anew from the residuals), with or without
expanding the parameters: that trick needs latents that may be rescaled with R, which a known or an interval-bound
latent may not. Here every correlation is drawn given the others by a slice step on its exact density, from E'E alone.

References
----------
Barnard, McCulloch and Meng (2000), Statistica Sinica 10(4), 1281-1311. Talhouk, Doucet and Murphy (2012), Journal of
Computational and Graphical Statistics 21(3), 739-757 (parameter expansion where latents are free in scale).
"""

import numpy as np

from synthdp.imputation.copula.latent import Flags, Shape
from synthdp.microdata import Floats


def degrees(width: int) -> float:
    """Return ν at which every correlation is uniform."""
    return width + 1.0


def log_density(r: Floats, cross: Floats, n: float) -> float:
    """Return log p(R | E) up to a constant, E'E = ``cross`` of n residuals; the prior's with n = 0."""
    q = len(r)
    nu = degrees(q)
    sign, log_det = np.linalg.slogdet(r)
    if sign <= 0:
        return -np.inf
    p = np.linalg.inv(r)
    return float(-0.5 * (n + nu + q + 1) * log_det - 0.5 * np.sum(p * cross) - 0.5 * nu * np.sum(np.log(np.diag(p))))


def step(
    r: Floats,
    inverse: Floats,
    cross: Floats,
    n: float,
    fixed: Flags,
    *,
    rng: np.random.Generator,
    alpha: float = 0.0,
    passes: int = 1,
) -> Floats:
    """Return R after steps of each free correlation given the others. O(q⁴) per pass, whatever n.

    Leaves p(R | E) as it is, E'E = ``cross`` of n residuals. Slice steps with ``alpha`` zero, overrelaxed ones where it
    is negative.
    """
    from synthdp.imputation.copula.slices import overrelax_correlations, sweep_correlations

    new, p, s, nu = r.copy(), inverse.copy(), np.ascontiguousarray(cross), degrees(len(r))
    for _ in range(passes):
        if alpha < 0:
            overrelax_correlations(new, p, s, float(n), nu, fixed, alpha, rng)
        else:
            sweep_correlations(new, p, s, float(n), nu, fixed, rng)
    return new


def draw_prior(shape: Shape, *, rng: np.random.Generator) -> Floats:
    """Draw R from its prior, given the correlations that are fixed; of at most one nominal column.

    Notes
    -----
    Given the fixed block R_b, the variances of an inverse Wishart's block are inverse gamma and independent; the rest
    given the block is matrix normal and inverse Wishart (Mardia, Kent and Bibby 1979, section 3.4).
    """
    from scipy.stats import invwishart

    q = shape.width
    nu = degrees(q)
    if len(shape.first) > 1:
        raise ValueError("the prior is drawn for at most one nominal column")
    block = np.arange(shape.first[0], shape.first[0] + shape.size[0]) if len(shape.first) else np.arange(0)
    rest = np.setdiff1d(np.arange(q), block)
    sigma = np.zeros((q, q))
    inner = np.zeros((0, 0))
    if len(block):
        known = shape.start()[np.ix_(block, block)]
        rates = np.diag(np.linalg.inv(known)) / 2
        sd = 1 / np.sqrt(rng.gamma((nu - len(rest)) / 2, 1 / rates))
        inner = known * np.outer(sd, sd)
        sigma[np.ix_(block, block)] = inner
    if len(rest):
        outer = np.atleast_2d(invwishart.rvs(nu, np.eye(len(rest)), random_state=rng))
        slopes = rng.standard_normal((len(block), len(rest))) @ np.linalg.cholesky(outer).T
        sigma[np.ix_(block, rest)] = inner @ slopes
        sigma[np.ix_(rest, block)] = (inner @ slopes).T
        sigma[np.ix_(rest, rest)] = outer + slopes.T @ inner @ slopes
    sd = np.sqrt(np.diag(sigma))
    return np.asarray(sigma / np.outer(sd, sd))
