"""The compiled loops of the copula's sampler; their numpy twins are in the tests.

All in one file: numba's cache does not notice a change in a function that another file's function calls.

References
----------
Wichura (1988), Applied Statistics 37(3), 477-484, algorithm AS 241 (the normal quantile). Neal (2003), Annals of
Statistics 31(3), 705-767 (slice sampling by stepping out and shrinking).
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from synthdp.microdata import Codes, Floats

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Flags = npt.NDArray[np.bool_]
ROOT_HALF = math.sqrt(0.5)
SMALLEST = 1e-14  # of a slice
FARTHEST = 37.0  # beyond it the normal tail is zero in floating point


def _compiled(function: Kernel) -> Kernel:
    return cast(Kernel, njit(cache=True, nogil=True)(function))


@_compiled
def quantile(p: float) -> float:
    """Return the standard normal quantile, to about 16 digits (AS 241, PPND16)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        a = (
            (2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853
        ) * r + 45921.953931549871457
        a = (((a * r + 13731.693765509461125) * r + 1971.5909503065514427) * r + 133.14166789178437745) * r
        b = ((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r + 21213.794301586595867
        b = (((b * r + 5394.1960214247511077) * r + 687.1870074920579083) * r + 42.313330701600911252) * r
        return q * (a + 3.387132872796366608) / (b + 1.0)
    tail = p if q < 0 else 1.0 - p
    if tail <= 0.0:
        return -np.inf if q < 0 else np.inf
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        r -= 1.6
        a = ((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
        a = (((a + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
        a = (a + 4.6303378461565452959) * r + 1.42343711074968357734
        b = ((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
        b = (((b + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
        b = (b + 2.05319162663775882187) * r + 1.0
    else:
        r -= 5.0
        a = ((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r
        a = (((a + 0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r
        a = (a + 5.4637849111641143699) * r + 6.6579046435011037772
        b = ((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r
        b = (((b + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
        b = (b + 0.59983220655588793769) * r + 1.0
    return -a / b if q < 0 else a / b


@_compiled
def truncated(low: float, high: float, u: float) -> float:
    """Return the quantile u of a standard normal between ``low`` and ``high``, exact in either tail."""
    if low == -np.inf and high == np.inf:
        return quantile(u)
    flipped = low > 0.0
    if flipped:  # the lower tail keeps its digits, the upper one does not
        low, high, u = -high, -low, 1.0 - u
    if high < -FARTHEST:
        # the tail is exponential with rate |high| as far as doubles can tell
        x = high + math.log(u) / -high
    else:
        below, above = 0.5 * math.erfc(-low * ROOT_HALF), 0.5 * math.erfc(-high * ROOT_HALF)
        x = quantile(below + u * (above - below))
    x = min(max(x, low), high)
    return -x if flipped else x


@_compiled
def sweep_rows(
    y: Floats,
    mean: Floats,
    lower: Floats,
    upper: Floats,
    owner: Codes,
    first: Codes,
    size: Codes,
    codes: Codes,
    weights: Floats,
    sd: Floats,
    uniforms: Floats,
) -> None:
    """Draw every unknown latent of every record given the others, in place. O(n q²).

    Parameters
    ----------
    y, mean, lower, upper, uniforms
        n × q: latents, their expectations, the interval each lies in (a point when it is known) and what is drawn with.
    owner
        Of each coordinate the nominal column it is a utility of, or -1.
    first, size
        Of each nominal column its first coordinate and how many it has (a level less than the column).
    codes
        n × nominal columns: the level of each record, -1 when missing; level 0 has the utility 0.
    weights, sd
        Of each coordinate's conditional on the others: coefficients on their residuals, and its sd.
    """
    n, q = y.shape
    e = np.empty(q)
    for i in range(n):
        for k in range(q):
            e[k] = y[i, k] - mean[i, k]
        for j in range(q):
            b = owner[j]
            if b < 0:
                low, high = lower[i, j], upper[i, j]
                if low == high:
                    continue
            else:
                low, high = -np.inf, np.inf
                code = codes[i, b]
                if code == j - first[b] + 1:
                    low = 0.0
                    for k in range(first[b], first[b] + size[b]):
                        if k != j and y[i, k] > low:
                            low = y[i, k]
                elif code == 0:
                    high = 0.0
                elif code > 0:
                    high = y[i, first[b] + code - 1]
            center = mean[i, j]
            for k in range(q):
                center += weights[j, k] * e[k]
            s = sd[j]
            y[i, j] = center + s * truncated((low - center) / s, (high - center) / s, uniforms[i, j])
            e[j] = y[i, j] - mean[i, j]


@_compiled
def _change(
    t: float, a: float, b: float, c: float, qs: Floats, n: float, nu: float, p: Floats, j: int, k: int
) -> float:
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


@_compiled
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
    old_j, old_k = np.empty(q), np.empty(q)
    for j in range(q):
        for k in range(j + 1, q):
            if fixed[j, k]:
                continue
            a, b, c = p[j, j], p[j, k], p[k, k]
            qs[:] = 0.0
            for u in range(q):
                sj, sk = 0.0, 0.0
                for v in range(q):
                    sj += s[u, v] * p[v, j]
                    sk += s[u, v] * p[v, k]
                qs[0] += p[u, j] * sj
                qs[1] += p[u, j] * sk
                qs[2] += p[u, k] * sk
            root = math.sqrt(a * c)
            least, most = -1.0 / (root + b), 1.0 / (root - b)
            level = math.log(1.0 - rng.random())
            width = 3.0 / math.sqrt((n + nu) * (a * c + b * b))
            low = -width * rng.random()
            high = low + width
            while low > least and _change(low, a, b, c, qs, n, nu, p, j, k) > level:
                low -= width
            while high < most and _change(high, a, b, c, qs, n, nu, p, j, k) > level:
                high += width
            low, high = max(low, least), min(high, most)
            t = low + (high - low) * rng.random()
            while _change(t, a, b, c, qs, n, nu, p, j, k) <= level:
                if high - low < SMALLEST:  # rounding left nothing above the level but where it is
                    t = 0.0
                    break
                if t < 0.0:
                    low = t
                else:
                    high = t
                t = low + (high - low) * rng.random()
            g = (1.0 + t * b) ** 2 - t * t * a * c
            jj, jk, kk = -t * t * c / g, t * (1.0 + t * b) / g, -t * t * a / g
            for u in range(q):
                old_j[u], old_k[u] = p[u, j], p[u, k]
            for u in range(q):
                for v in range(q):
                    p[u, v] -= (
                        jj * old_j[u] * old_j[v]
                        + jk * (old_j[u] * old_k[v] + old_k[u] * old_j[v])
                        + kk * old_k[u] * old_k[v]
                    )
            r[j, k] += t
            r[k, j] = r[j, k]
