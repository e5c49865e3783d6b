"""The compiled loop over records of the copula's sampler; its numpy twin is in the tests."""

import numpy as np

from synthdp.imputation.copula.latent import KNOWN, SOME_OPEN, TWO_SIDED, Levels, Singles
from synthdp.imputation.copula.normals import INFINITE, ONE, F, Words, draw_inside, uniforms, vectorised
from synthdp.table.microdata import Codes, Floats

BLOCK = 512  # records at once: what is worked on stays in the nearest cache


@vectorised
def center_of(j: int, weights: Singles, e: Singles, out: Singles) -> None:
    """Write Σ_k weights[j, k] · e[k] to ``out``."""
    q = e.shape[0]
    out[:] = F(0)
    k = 0
    while k + 4 <= q:  # four at a time: fewer trips to memory
        a, b, c, d = weights[j, k], weights[j, k + 1], weights[j, k + 2], weights[j, k + 3]
        for i in range(out.shape[0]):
            out[i] += (a * e[k, i] + b * e[k + 1, i]) + (c * e[k + 2, i] + d * e[k + 3, i])
        k += 4
    while k < q:
        for i in range(out.shape[0]):
            out[i] += weights[j, k] * e[k, i]
        k += 1


@vectorised
def limits_of(
    low: Singles, high: Singles, mean: Singles, center: Singles, scale: float, a: Singles, b: Singles
) -> None:
    """Write the limits of standard normals: what lies between low and high, moved and scaled."""
    for i in range(low.shape[0]):
        away = mean[i] + center[i]
        a[i] = (low[i] - away) * scale
        b[i] = (high[i] - away) * scale


@vectorised
def raise_to(top: Singles, e: Singles, mean: Singles) -> None:
    """Raise ``top`` to latents where these are larger."""
    for i in range(e.shape[0]):
        top[i] = max(top[i], e[i] + mean[i])


@vectorised
def limits_of_utility(
    codes: Levels, mine: int, top: Singles, mean: Singles, center: Singles, scale: float, a: Singles, b: Singles
) -> None:
    """Write the limits of a utility: above the largest of the others where it is chosen, below it where another is."""
    for i in range(codes.shape[0]):
        t = (top[i] - mean[i] - center[i]) * scale
        a[i] = t if codes[i] == mine else -INFINITE
        b[i] = t if (codes[i] != mine) & (codes[i] >= 0) else INFINITE


@vectorised
def standardise(e: Singles, center: Singles, scale: float, x: Singles) -> None:
    """Write (e − center) · scale."""
    for i in range(e.shape[0]):
        x[i] = (e[i] - center[i]) * scale


@vectorised
def put_back(x: Singles, center: Singles, mean: Singles, sd: float, e: Singles, y: Singles) -> None:
    """Write residuals and latents of the drawn standard normals."""
    for i in range(e.shape[0]):
        t = center[i] + sd * x[i]
        e[i] = t
        y[i] = t + mean[i]


@vectorised
def residuals(y: Singles, h: Singles, effects: Singles, mean: Singles, e: Singles) -> None:
    """Write the expectations and what the latents are more than these."""
    mean[:] = F(0)
    for effect in range(h.shape[0]):
        g = effects[effect]
        if g != F(0):
            for i in range(y.shape[0]):
                mean[i] += g * h[effect, i]
    for i in range(y.shape[0]):
        e[i] = y[i] - mean[i]


@vectorised
def sweep_rows(
    y: Singles,
    covariates: Singles,
    gamma: Singles,
    lower: Singles,
    upper: Singles,
    owner: Codes,
    first: Codes,
    size: Codes,
    codes: Levels,
    kind: Codes,
    open_from: Codes,
    open_rows: Codes,
    weights: Singles,
    sd: Singles,
    reach: Floats,
    state: Words,
    cross: Floats,
    moved: Floats,
) -> None:
    """Draw every unknown latent of every record given the others, in place, and add up the residuals' products.

    O(n q²): per record and unknown latent a product of length q, two or three probabilities and a quantile.

    Parameters
    ----------
    y, lower, upper
        q × n: latents and the interval each lies in (a point when it is known).
    covariates, gamma
        h (d × n) and Γ (d × q): the latents' expectations.
    owner
        Of each coordinate the nominal column it is a utility of, or -1.
    first, size
        Of each nominal column its first coordinate and how many it has (a level less than the column).
    codes
        nominal columns × n: the level of each record, -1 when missing; level 0 has the utility 0.
    kind
        Of each coordinate: all known, some not, none known and each with at most one limit, or with two.
    open_from, open_rows
        Of each coordinate where its list begins, and the lists: rows not known, where some are.
    weights, sd
        Of each coordinate's conditional on the others: coefficients on their residuals, and its sd.
    reach
        Of each coordinate how far overrelaxed; see ``draw_inside``.
    state
        The generators of uniforms.
    cross, moved
        q × q and d × q: E'E and H'E of the residuals E afterwards.
    """
    q, n = y.shape
    effects = covariates.shape[0]
    e, mean, h = np.zeros((q, BLOCK), F), np.zeros((q, BLOCK), F), np.zeros((effects, BLOCK), F)
    a, b, x = np.zeros(BLOCK, F), np.zeros(BLOCK, F), np.zeros(BLOCK, F)
    u, center, top = np.zeros(BLOCK, F), np.zeros(BLOCK, F), np.zeros(BLOCK, F)
    work, rows, at = np.zeros((5, BLOCK), F), np.zeros(BLOCK, np.int64), open_from[:-1].copy()
    cross[:], moved[:] = 0.0, 0.0
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        if m < BLOCK:
            e[:], h[:] = F(0), F(0)
        h[:, :m] = covariates[:, start : start + m]
        for k in range(q):
            residuals(y[k, start : start + m], h, gamma[:, k], mean[k], e[k])
        for j in range(q):
            if kind[j] == KNOWN:
                continue
            s, scale = sd[j], ONE / sd[j]
            low, high, latent = lower[j, start : start + m], upper[j, start : start + m], y[j, start : start + m]
            if kind[j] == SOME_OPEN:
                count = 0
                while at[j] < open_from[j + 1] and open_rows[at[j]] < start + m:
                    rows[count] = open_rows[at[j]] - start
                    count += 1
                    at[j] += 1
                if count == 0:
                    continue
                center_of(j, weights, e, center)
                for c in range(count):
                    i = rows[c]
                    away = mean[j, i] + center[i]
                    a[c], b[c] = (low[i] - away) * scale, (high[i] - away) * scale
                    x[c] = (e[j, i] - center[i]) * scale
                uniforms(state, u[:count])
                draw_inside(count, a, b, x, u, reach[j], True, work)
                for c in range(count):
                    i = rows[c]
                    e[j, i] = center[i] + s * x[c]
                    latent[i] = e[j, i] + mean[j, i]
                continue
            center_of(j, weights, e, center)
            if owner[j] < 0:
                limits_of(low, high, mean[j], center, scale, a, b)
            else:
                block = owner[j]
                top[:] = F(0)
                for k in range(first[block], first[block] + size[block]):
                    if k != j:
                        raise_to(top, e[k, :m], mean[k])
                mine = j - first[block] + 1
                limits_of_utility(codes[block, start : start + m], mine, top, mean[j], center, scale, a, b)
            standardise(e[j, :m], center, scale, x)
            uniforms(state, u[:m])
            draw_inside(m, a, b, x, u, reach[j], kind[j] == TWO_SIDED, work)
            put_back(x, center, mean[j], s, e[j, :m], latent)
        cross += np.dot(e, e.T)
        if effects > 0:
            moved += np.dot(h, e.T)
