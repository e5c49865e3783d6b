"""The compiled steps of correlations given latents; not compiled they are their own twins in the tests.

References
----------
Neal (2003), Annals of Statistics 31(3), 705-767 (stepping out and shrinking). Adler (1981), Physical Review D 23(12),
2901-2904 (overrelaxation of normal conditionals).
"""

import math
from typing import cast

import numpy as np
from numba import njit

from synthdp.imputation.copula.loops import Flags, Kernel, compiled
from synthdp.microdata import Floats

SMALLEST = 1e-14  # of a slice


def fast(function: Kernel) -> Kernel:
    """Return a compiled function whose sums may be added up in another order."""
    return cast(Kernel, njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})(function))


@compiled
def change(t: float, a: float, b: float, c: float, qs: Floats, n: float, nu: float, p: Floats, j: int, k: int) -> float:
    """Return by how much the log posterior changes when r_jk changes by t; see ``sweep_correlations``."""
    q = p.shape[0]
    g = (1.0 + t * b) ** 2 - t * t * a * c
    if g <= 0.0:
        return -np.inf
    jj, jk, kk = -t * t * c / g, t * (1.0 + t * b) / g, -t * t * a / g
    fit = 0.5 * (jj * qs[0] + 2.0 * jk * qs[1] + kk * qs[2])
    ratio = 1.0
    for m in range(q):
        u, v = p[m, j], p[m, k]
        ratio *= 1.0 - (jj * u * u + 2.0 * jk * u * v + kk * v * v) / p[m, m]
    if ratio <= 0.0:
        return -np.inf
    return float(fit - 0.5 * (n + nu + q + 1.0) * math.log(g) - 0.5 * nu * math.log(ratio))


@compiled
def move(r: Floats, p: Floats, j: int, k: int, t: float) -> None:
    """Change r_jk by t and the inverse with it."""
    q = r.shape[0]
    a, b, c = p[j, j], p[j, k], p[k, k]
    g = (1.0 + t * b) ** 2 - t * t * a * c
    jj, jk, kk = -t * t * c / g, t * (1.0 + t * b) / g, -t * t * a / g
    old_j, old_k = p[:, j].copy(), p[:, k].copy()
    for u in range(q):
        for v in range(q):
            p[u, v] -= (
                jj * old_j[u] * old_j[v] + jk * (old_j[u] * old_k[v] + old_k[u] * old_j[v]) + kk * old_k[u] * old_k[v]
            )
    r[j, k] += t
    r[k, j] = r[j, k]


@fast
def project(s: Floats, u: Floats, v: Floats, out: Floats) -> None:
    """Write u'Su, u'Sv and v'Sv."""
    out[:] = 0.0
    for row in range(len(u)):
        su, sv = 0.0, 0.0
        for k in range(len(u)):
            su += s[row, k] * u[k]
            sv += s[row, k] * v[k]
        out[0] += u[row] * su
        out[1] += u[row] * sv
        out[2] += v[row] * sv


@compiled
def sweep_correlations(
    r: Floats, p: Floats, s: Floats, n: float, nu: float, fixed: Flags, rng: np.random.Generator
) -> None:
    """Draw every free correlation given the others by a slice step, in place. O(q⁴), whatever n.

        log p(R | E) = −(n + ν + q + 1)/2 · log|R| − tr(R⁻¹ E'E)/2 − ν/2 · Σ_j log (R⁻¹)_jj

    Changing r_jk by t changes R by rank two: with P = R⁻¹, a = P_jj, b = P_jk, c = P_kk, the determinant is multiplied
    by g(t) = (1 + t b)² − t² a c, which is positive exactly where R stays positive definite, and P changes by
    −[P_j P_k] M⁻¹ [P_j P_k]' with M⁻¹ = [[−t² c, t(1 + t b)], [t(1 + t b), −t² a]] / g.

    Parameters
    ----------
    r, p
        The correlation matrix and its inverse.
    s, n
        E'E of the residuals, and how many there are.
    nu
        ν of the prior: the correlations of an inverse Wishart (ν, I).
    fixed
        Which correlations stay as they are.
    """
    q = r.shape[0]
    qs = np.empty(3)
    for j in range(q):
        for k in range(j + 1, q):
            if fixed[j, k]:
                continue
            a, b, c = p[j, j], p[j, k], p[k, k]
            project(s, p[j], p[k], qs)
            root = math.sqrt(a * c)
            least, most = -1.0 / (root + b), 1.0 / (root - b)
            level = math.log(1.0 - rng.random())
            width = 3.0 / math.sqrt((n + nu) * (a * c + b * b))
            low = -width * rng.random()
            high = low + width
            while low > least and change(low, a, b, c, qs, n, nu, p, j, k) > level:
                low -= width
            while high < most and change(high, a, b, c, qs, n, nu, p, j, k) > level:
                high += width
            low, high = max(low, least), min(high, most)
            t = low + (high - low) * rng.random()
            while change(t, a, b, c, qs, n, nu, p, j, k) <= level:
                if high - low < SMALLEST:  # rounding left nothing above the level but where it is
                    t = 0.0
                    break
                if t < 0.0:
                    low = t
                else:
                    high = t
                t = low + (high - low) * rng.random()
            move(r, p, j, k, t)


@compiled
def overrelax_correlations(
    r: Floats, p: Floats, s: Floats, n: float, nu: float, fixed: Flags, alpha: float, rng: np.random.Generator
) -> int:
    """Move every free correlation to the other side of its conditional distribution, in place; return how many moved.

    Where the distribution given the others is N(m, v), m + α(r − m) + √((1 − α²) v) · z leaves it as it is. m and v are
    a Newton step's from where the chain stands, with Fisher's information (n + ν)(ac + b²); the same from where it
    would go; Metropolis and Hastings' rule makes up for the difference. O(q⁴), whatever n.

    Parameters
    ----------
    r, p, s, n, nu, fixed
        As in ``sweep_correlations``.
    alpha
        Between −1 and 0, the more negative the farther.
    """
    q = r.shape[0]
    qs = np.empty(3)
    count = n + nu + q + 1.0
    spread, moves = 1.0 - alpha * alpha, 0
    for j in range(q):
        for k in range(j + 1, q):
            if fixed[j, k]:
                continue
            a, b, c = p[j, j], p[j, k], p[k, k]
            project(s, p[j], p[k], qs)
            prior = 0.0
            for m in range(q):
                prior += p[m, j] * p[m, k] / p[m, m]
            information = (n + nu) * (a * c + b * b)
            ahead = (1.0 - alpha) * (qs[1] - count * b + nu * prior) / information
            t = ahead + math.sqrt(spread / information) * rng.standard_normal()
            root = math.sqrt(a * c)
            if t <= -1.0 / (root + b) or t >= 1.0 / (root - b):
                continue
            log = change(t, a, b, c, qs, n, nu, p, j, k)
            if log == -np.inf:
                continue
            # columns j and k of the new inverse are combinations of the old ones
            g = (1.0 + t * b) ** 2 - t * t * a * c
            jj, jk, kk = -t * t * c / g, t * (1.0 + t * b) / g, -t * t * a / g
            uj, vj, uk, vk = 1.0 - jj * a - jk * b, -jk * a - kk * b, -jj * b - jk * c, 1.0 - jk * b - kk * c
            new_a, new_b, new_c = uj * a + vj * b, uk * a + vk * b, uk * b + vk * c
            prior = 0.0
            for m in range(q):
                u, v = p[m, j], p[m, k]
                diagonal = p[m, m] - (jj * u * u + 2.0 * jk * u * v + kk * v * v)
                prior += (uj * u + vj * v) * (uk * u + vk * v) / diagonal
            between = uj * uk * qs[0] + (uj * vk + vj * uk) * qs[1] + vj * vk * qs[2]
            there = (n + nu) * (new_a * new_c + new_b * new_b)
            back = (1.0 - alpha) * (between - count * new_b + nu * prior) / there
            log += 0.5 * math.log(there / information)
            log += 0.5 * (information * (t - ahead) ** 2 - there * (t + back) ** 2) / spread
            if math.log(1.0 - rng.random()) < log:
                move(r, p, j, k, t)
                moves += 1
    return moves
