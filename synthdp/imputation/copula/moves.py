"""The compiled steps of a joint draw for kept columns and for masked columns with levels.

All records of a tile are drawn at once, in single precision (see ``blocks``): six to eight times as fast as one by one.
What is released of a kept column is its own value, or one imputed where it is missing, so single precision is enough.

numba's cache does not notice a change in a function that another file's function calls: see ``blocks``.

All records of a tile are drawn at once, in single precision (see ``blocks``): what is released is the level, whose
probabilities are right to six digits. Where single precision has none left, a record is drawn by itself. The numpy
twin is in the tests.

numba's cache does not notice a change in a function that another file's function calls: see ``blocks``.
"""

import math

import numpy as np

from synthdp.arrays import compiled
from synthdp.imputation.copula.latent import Singles
from synthdp.imputation.copula.normals import (
    INFINITE,
    ONE,
    SMALLEST,
    F,
    Words,
    cumulative,
    cumulatives,
    draw_inside,
    quantiles,
    truncated,
    uniforms,
    vectorised,
)
from synthdp.table.microdata import Codes, Floats

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


ROOM = 10  # rows of a tile to work in; ordered levels need one more for each
RARE = F(1e-25)  # less than that of all weight: too little for single precision


@compiled
def nearest(center: float, sd: float, cuts: Floats, chances: Floats) -> int:
    """Return the level that has all the weight where all that are possible lie far out."""
    most, level = -np.inf, 0
    for k in range(len(cuts) - 1):
        low, high = (cuts[k] - center) / sd, (cuts[k + 1] - center) / sd
        if chances[k] > 0.0 and high > low:
            away = max(low, -high, 0.0)
            score = math.log(chances[k]) - 0.5 * away * away
            if score > most:
                most, level = score, k
    return level


@vectorised
def move_levels(
    y: Floats, t: Floats, center: Floats, sd: float, chances: Floats, cuts: Floats, room: Singles, state: Words
) -> None:
    """Draw ordered levels, each enumerated, into t, and latents inside them into y."""
    m, levels, scale = chances.shape[0], cuts.shape[0] - 1, 1.0 / sd
    a, b, x, u = room[0, :m], room[1, :m], room[2, :m], room[3, :m]
    edge, tail, after, after_tail, scratch = room[4, :m], room[5, :m], room[6, :m], room[7, :m], room[8, :m]
    sums = room[ROOM:]
    edge[:], tail[:] = -INFINITE, F(0)
    for k in range(levels):
        cut = cuts[k + 1]
        for r in range(m):
            after[r] = F((cut - center[r]) * scale)
            x[r] = -abs(after[r])
        cumulatives(x, after_tail, scratch)
        for r in range(m):
            # from whichever tail keeps the digits
            middle = after_tail[r] - tail[r] if after[r] < F(0) else ONE - tail[r] - after_tail[r]
            share = tail[r] - after_tail[r] if edge[r] > F(0) else middle
            weight = share * F(chances[r, k]) if after[r] > edge[r] else F(0)
            sums[k, r] = max(weight, F(0)) + (sums[k - 1, r] if k > 0 else F(0))
            edge[r] = after[r]
            tail[r] = after_tail[r]
    uniforms(state, u)
    after[:] = F(0)
    for k in range(levels - 1):
        for r in range(m):
            after[r] += ONE if u[r] * sums[levels - 1, r] >= sums[k, r] else F(0)
    for r in range(m):
        level = int(after[r])
        if sums[levels - 1, r] < RARE:
            level = nearest(center[r], sd, cuts, chances[r])
        t[r] = level
        a[r], b[r] = F((cuts[level] - center[r]) * scale), F((cuts[level + 1] - center[r]) * scale)
    uniforms(state, u)
    draw_inside(m, a, b, x, u, FRESH, levels > 2, room[4:])
    for r in range(m):
        y[r] = center[r] + sd * x[r]


@compiled
def beside(step: float, theirs: float, own: float, v: float, v2: float) -> float:
    """Return a standard normal of weight ``theirs`` below a step and ``own`` above it, however far out that is."""
    tail = cumulative(-abs(step))
    under, over = (tail, 1.0 - tail) if step < 0.0 else (1.0 - tail, tail)
    below, above = under * theirs, over * own
    up = own > 0.0 and (theirs <= 0.0 or step < 0.0)
    if below + above > 0.0:
        up = v * (below + above) >= below
    return truncated(step, np.inf, 1.0 - v2) if up else truncated(-np.inf, step, v2)


@vectorised
def move_utility(j: int, y: Floats, center: Floats, sd: float, chances: Floats, room: Singles, state: Words) -> None:
    """Draw utility j of a column, y's row: below the largest of the others their level counts, above it its own."""
    m, size, scale = chances.shape[0], y.shape[0], 1.0 / sd
    most, theirs, step, tail, scratch = room[0, :m], room[1, :m], room[2, :m], room[3, :m], room[4, :m]
    v, v2, up, alone, x = room[5, :m], room[6, :m], room[7, :m], room[8, :m], room[9, :m]
    uniforms(state, v)
    uniforms(state, v2)
    most[:] = F(0)
    for r in range(m):
        theirs[r] = F(chances[r, 0])
    for k in range(size):
        if k != j:
            for r in range(m):
                larger = F(y[k, r]) > most[r]
                theirs[r] = F(chances[r, k + 1]) if larger else theirs[r]
                most[r] = F(y[k, r]) if larger else most[r]
    for r in range(m):
        step[r] = F((most[r] - center[r]) * scale)
        x[r] = -abs(step[r])
    cumulatives(x, tail, scratch)
    far = 0
    for r in range(m):
        under = tail[r] if step[r] < F(0) else ONE - tail[r]
        over = ONE - tail[r] if step[r] < F(0) else tail[r]
        below, above = under * theirs[r], over * F(chances[r, j + 1])
        total = below + above
        up[r] = ONE if v[r] * total >= below else -ONE
        tail[r] = v2[r] * (over if up[r] > F(0) else under)
        alone[r] = ONE if (total < RARE) | (tail[r] < SMALLEST) else F(0)
        far += 1 if alone[r] > F(0) else 0
    quantiles(tail, x, scratch)
    for r in range(m):
        # either side from its own tail
        y[j, r] = center[r] - sd * up[r] * min(x[r], -up[r] * step[r])
    if far > 0:
        for r in range(m):
            if alone[r] > F(0):
                x_far = beside(float(step[r]), float(theirs[r]), chances[r, j + 1], float(v[r]), float(v2[r]))
                y[j, r] = center[r] + sd * x_far
