"""The compiled step with latents integrated out; not compiled it is its own twin in the tests.

References
----------
van Dyk and Park (2008), JASA 103(482), 790-796 (partially collapsed Gibbs samplers: what is integrated out is drawn
right after). Neal (2003), Annals of Statistics 31(3), 705-767 (slice sampling).
"""

import math

import numpy as np

from synthdp.imputation.copula.loops import Flags, Latents, bounds, compiled, cumulative, truncated
from synthdp.imputation.copula.slices import SMALLEST, change, move
from synthdp.microdata import Codes, Floats

SMALLEST_CHANCE = 1e-150  # of an interval


@compiled
def _log_intervals(low: Floats, high: Floats, center: Floats, slope: Floats, t: float, sd: float) -> float:
    """Return Σ log of the normal probability of each interval, centers moved by t times slope."""
    total, product = 0.0, 1.0
    for i in range(low.shape[0]):
        m = center[i] + t * slope[i]
        a, b = (low[i] - m) / sd, (high[i] - m) / sd
        if a > 0.0:
            a, b = -b, -a
        product *= max(cumulative(b) - cumulative(a), SMALLEST_CHANCE)
        if product < SMALLEST_CHANCE:  # one logarithm for many records
            total += math.log(product)
            product = 1.0
    return float(total + math.log(product))


@compiled
def _log_likelihood(
    t: float, low: Floats, high: Floats, center: Floats, slope: Floats, variance: Floats, known: Floats
) -> float:
    """Return the log likelihood of a coordinate whose centers move by t times slope.

    Parameters
    ----------
    low, high, center, slope
        Of the records with an interval.
    variance
        v, b, c: the variance is v − 2bt − ct².
    known
        Of the known latents: how many, and the sums of e², e·slope, slope² of their residuals e.
    """
    v = variance[0] - 2.0 * variance[1] * t - variance[2] * t * t
    if v <= 0.0:
        return -np.inf
    points = known[0] * math.log(v) + (known[1] - 2.0 * t * known[2] + t * t * known[3]) / v
    return float(_log_intervals(low, high, center, slope, t, math.sqrt(v)) - 0.5 * points)


@compiled
def collapse(
    j: int,
    y: Latents,
    mean: Floats,
    lower: Latents,
    upper: Latents,
    owner: Codes,
    first: Codes,
    size: Codes,
    codes: Codes,
    covariates: Floats,
    prior_sd: Floats,
    gamma: Floats,
    r: Floats,
    p: Floats,
    nu: float,
    fixed: Flags,
    rng: np.random.Generator,
) -> None:
    """Draw correlations and Γ of coordinate j with its own unknown latents integrated out, then these, in place.

    Given the other coordinates, y_ij ~ N(m_i + β'e_i, s²) with β = A⁻¹r_j, s² = 1 − r_j'A⁻¹r_j and A the others'
    correlations. An interval contributes its probability, a missing cell nothing, a known latent its density. Changing
    r_jk by t changes β by t times column k of A⁻¹ and s² by −2tβ_k − t²(A⁻¹)_kk. Without this step the chain moves by
    1/√n, however little the records say. O(n q²), about six probabilities per record and parameter.

    Parameters
    ----------
    y, mean, lower, upper, owner, first, size, codes
        Latents, their expectations and limits, n × q; the others as in ``rows``.
    covariates, prior_sd, gamma
        h, and prior sds and values of Γ.
    r, p, nu, fixed
        As in ``sweep_correlations``.
    """
    n, q = y.shape
    effects = covariates.shape[1]
    a_inverse = np.empty((q, q))
    for u in range(q):
        for v in range(q):
            a_inverse[u, v] = p[u, v] - p[u, j] * p[v, j] / p[j, j]
    rows = np.empty(n, dtype=np.int64)
    low, high = np.empty(n), np.empty(n)
    count, last = 0, n  # intervals from the front, known latents from the back
    for i in range(n):
        a, b = bounds(i, j, y, lower, upper, owner, first, size, codes)
        if a == b:
            last -= 1
            rows[last] = i
        elif a > -np.inf or b < np.inf:
            rows[count], low[count], high[count] = i, a, b
            count += 1
    low, high = low[:count], high[:count]
    center, slope = np.empty(count), np.empty(count)
    nothing, variance, known = np.zeros(3), np.zeros(3), np.zeros(4)
    for step in range(q + effects):
        h = step - q
        if (h < 0 and (step == j or fixed[j, step])) or (h >= 0 and prior_sd[h, j] == 0.0):
            continue
        k = step if h < 0 else j
        beta = -p[:, j] / p[j, j]
        known[:] = 0.0
        known[0] = n - last
        for at in range(n):
            if count <= at < last:
                continue
            i = rows[at]
            m, d = mean[i, j], 0.0
            for v in range(q):
                if v != j:
                    e = y[i, v] - mean[i, v]
                    m += beta[v] * e
                    d += a_inverse[v, k] * e
            if h >= 0:
                d = covariates[i, h]
            if at < count:
                center[at], slope[at] = m, d
            else:
                e = y[i, j] - m
                known[1] += e * e
                known[2] += e * d
                known[3] += d * d
        a, b, c = p[j, j], p[j, k], p[k, k]
        variance[0] = 1.0 / a
        if h < 0:
            variance[1], variance[2] = beta[k], a_inverse[k, k]
            root = math.sqrt(a * c)
            least, most = -1.0 / (root + b), 1.0 / (root - b)
            width = 3.0 / math.sqrt((n - last + 0.5 * count + nu) * (a * c + b * b))
        else:
            variance[1], variance[2] = 0.0, 0.0
            least, most = -np.inf, np.inf
            width = 3.0 / math.sqrt((n - last + 0.5 * count) * a + prior_sd[h, j] ** -2.0)
        level = _log_likelihood(0.0, low, high, center, slope, variance, known) + math.log(1.0 - rng.random())
        left = -width * rng.random()
        right = left + width
        phase, t = 0, left
        while True:
            value = -np.inf
            if least < t < most:
                if h < 0:
                    value = change(t, a, b, c, nothing, 0.0, nu, p, j, k)
                else:
                    value = -t * (2.0 * gamma[h, j] + t) / (2.0 * prior_sd[h, j] ** 2)
                if value > -np.inf:
                    value += _log_likelihood(t, low, high, center, slope, variance, known)
            if phase == 2:  # inside: shrink until above the level
                if value > level:
                    break
                if right - left < SMALLEST:
                    t = 0.0
                    break
                if t < 0.0:
                    left = t
                else:
                    right = t
                t = left + (right - left) * rng.random()
            elif value > level:  # still stepping out
                if phase == 0:
                    left -= width
                    t = left
                else:
                    right += width
                    t = right
            elif phase == 0:
                phase, t = 1, right
            else:
                phase = 2
                left, right = max(left, least), min(right, most)
                t = left + (right - left) * rng.random()
        if h < 0:
            move(r, p, j, k, t)
        else:
            gamma[h, j] += t
            for i in range(n):
                mean[i, j] += t * covariates[i, h]
    s = 1.0 / math.sqrt(p[j, j])
    for i in range(n):
        a, b = bounds(i, j, y, lower, upper, owner, first, size, codes)
        if a == b:
            continue
        m = mean[i, j]
        for v in range(q):
            if v != j:
                m -= p[v, j] / p[j, j] * (y[i, v] - mean[i, v])
        y[i, j] = m + s * truncated((a - m) / s, (b - m) / s, rng.random())
