"""The compiled steps of a joint draw for kept columns, whose latents only inform those of the replaced ones.

All records of a tile are drawn at once, in single precision (see ``blocks``): six to eight times as fast as one by one.
What is released of a kept column is its own value, or one imputed where it is missing, so single precision is enough.

numba's cache does not notice a change in a function that another file's function calls: see ``blocks``.
"""

import numpy as np

from synthdp.imputation.copula.blocks import INFINITE, F, Words, draw_inside, uniforms, vectorised
from synthdp.imputation.copula.latent import Singles
from synthdp.microdata import Codes, Floats

FRESH = 1.0  # not overrelaxed: a joint draw must forget where it started


@vectorised
def unknown(lower: Floats, upper: Floats, rows: Codes) -> int:
    """List the records whose latents are not known; return how many there are."""
    count = 0
    for r in range(lower.shape[0]):
        rows[count] = r
        count += lower[r] < upper[r]
    return count


@vectorised
def expect(e: Floats, weights: Floats, mean: Floats, center: Floats) -> None:
    """Write the expectations of a tile's latents given the residuals of the others."""
    center[: mean.shape[0]] = mean
    for k in range(weights.shape[0]):
        weight = weights[k]
        for r in range(center.shape[0]):
            center[r] += weight * e[k, r]


@vectorised
def expect_few(count: int, rows: Codes, e: Floats, weights: Floats, mean: Floats, center: Floats) -> None:
    """Write the expectations of some of a tile's latents."""
    for c in range(count):
        i = rows[c]
        total = mean[i]
        for k in range(weights.shape[0]):
            total += weights[k] * e[k, i]
        center[i] = total


@vectorised
def move_interval(
    count: int,
    rows: Codes,
    y: Floats,
    center: Floats,
    sd: float,
    lower: Floats,
    upper: Floats,
    room: Singles,
    state: Words,
) -> None:
    """Draw the latents that are not known inside their intervals."""
    a, b, x, u = room[0], room[1], room[2], room[3]
    scale, two_sided = 1.0 / sd, False
    for c in range(count):
        i = rows[c]
        two_sided |= (lower[i] > -np.inf) & (upper[i] < np.inf)
        a[c], b[c] = F((lower[i] - center[i]) * scale), F((upper[i] - center[i]) * scale)
    uniforms(state, u[:count])
    draw_inside(count, a, b, x, u, FRESH, two_sided, room[4:])
    for c in range(count):
        i = rows[c]
        y[i] = center[i] + sd * x[c]


@vectorised
def move_choice(
    j: int,
    y: Floats,
    center: Floats,
    sd: float,
    codes: Codes,
    first: int,
    size: int,
    room: Singles,
    state: Words,
) -> None:
    """Draw utility j of a column: its level's is the largest; that of level 0 is zero."""
    a, b, x, u = room[0], room[1], room[2], room[3]
    m, mine, scale = codes.shape[0], j - first + 1, 1.0 / sd
    a[:m] = F(0)
    for k in range(first, first + size):
        if k != j:
            for r in range(m):
                a[r] = max(a[r], F(y[k, r]))
    for r in range(m):
        # where another is chosen it is the largest already
        t = F((a[r] - center[r]) * scale)
        a[r] = t if codes[r] == mine else -INFINITE
        b[r] = t if (codes[r] != mine) & (codes[r] >= 0) else INFINITE
    uniforms(state, u[:m])
    draw_inside(m, a, b, x, u, FRESH, False, room[4:])
    for r in range(m):
        y[j, r] = center[r] + sd * x[r]
