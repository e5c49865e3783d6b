"""The compiled chain of a block of records: a start, the sweeps, and what has no evidence last.

Records are independent given θ: all sweeps of a tile of them are run before the next tile's, so their latents stay in
the processor's nearest cache and nothing of size n × q is kept.

Start. Latents are drawn forward, each given those before it, with kept columns first. Where W says little that is
nearly the joint draw already; an unrelated start needs more sweeps (see ``drawing``). Nothing of a replaced column's
true value is in it: its own information is W.
"""

import numpy as np

from synthdp.imputation.copula.blocks import F, Words
from synthdp.imputation.copula.kept import expect, expect_few, move_choice, move_interval, unknown
from synthdp.imputation.copula.knots import heights
from synthdp.imputation.copula.levels import ROOM, move_levels, move_utility
from synthdp.imputation.copula.loops import compiled, cumulative, quantile
from synthdp.imputation.copula.steps import (
    CHOICE,
    FARTHEST_START,
    INTERVAL,
    LEVELS,
    NUMBER,
    UTILITY,
    Block,
    Layout,
    choose,
    move_number,
    uniform,
)
from synthdp.microdata import Floats

TILE = 64
FEW = 4  # where less than a quarter of a tile is unknown, the others' expectations are not worked out


@compiled
def level_of(chances: Floats, at: int, levels: int, v: float) -> int:
    """Return the level at quantile v of its weights."""
    rest = v * chances[at : at + levels].sum()
    for k in range(levels - 1):
        rest -= chances[at + k]
        if rest < 0.0:
            return k
    return levels - 1


@compiled
def begin(
    start: int, m: int, y: Floats, t: Floats, e: Floats, block: Block, layout: Layout, rng: np.random.Generator
) -> None:
    """Set known latents, numbers near W and utilities that choose a level.

    ``e`` are the residuals that expectations of others are made from: zero of what is to be drawn before it counts.
    """
    e[:] = 0.0
    u = np.empty(m)
    for j in range(layout.active):
        kind, at, first, size = layout.kind[j], layout.column[j], layout.first[j], layout.size[j]
        if kind == NUMBER:
            heights(block.w[start : start + m, at], layout.to_u, at, u)
        for r in range(m):
            i = start + r
            y[j, r] = block.mean[i, j]
            if kind == INTERVAL:
                if block.lower[i, j] == block.upper[i, j]:
                    y[j, r] = block.lower[i, j]
            elif kind == NUMBER:
                if block.precision[i, at] > 0.0:
                    z = min(max(quantile(u[r]), -FARTHEST_START), FARTHEST_START)
                    y[j, r] = layout.scale[j] * z
                u[r] = cumulative(y[j, r] / layout.scale[j])
                continue
            elif kind != LEVELS:
                if j == first:  # kept until the column's other utilities are set
                    t[first + size - 1, r] = (
                        block.codes[i, at] if kind == CHOICE else level_of(block.chances[i], at, size + 1, uniform(rng))
                    )
                level = t[first + size - 1, r]
                # half a standard deviation above or below: anything that chooses the level would do
                y[j, r] = 0.0 if level < 0 else 0.5 if level == j - first + 1 else -0.5
            e[j, r] = y[j, r] - block.mean[i, j]
        if kind == NUMBER:
            heights(u, layout.to_x, at, t[j, :m])


@compiled
def run_rows(
    found: Floats,
    sums: Floats,
    moved: Floats,
    sweeps: int,
    block: Block,
    layout: Layout,
    state: Words,
    rng: np.random.Generator,
) -> None:
    """Draw the latents of every record. O(rows · q² · sweeps).

    Parameters
    ----------
    found
        rows × q: the latents at the end, written here; at a masked column's last coordinate its value or level.
    sums, moved
        sweeps × masked columns: sums of latents and how many values changed; added to.
    state
        4 × ``TILE`` random words: the generators of all uniforms but those of masked numbers and of what is drawn last.
    """
    n, q = found.shape
    # tuples passed on in the inner loop would count references
    active, kinds, columns, firsts, sizes, tallies, scales, to_u, to_x, cuts, weights, sds = layout
    mean, lower, upper, codes, w, precision, chances = block
    y, e, t = np.zeros((q, TILE)), np.zeros((q, TILE)), np.zeros((q, TILE))
    center, before, room = np.empty(TILE), np.empty(TILE), np.empty((5, TILE))
    singles, rows_open, count = np.zeros((ROOM + len(cuts), TILE), F), np.zeros(TILE, np.int64), 0
    for start in range(0, n, TILE):
        m = min(TILE, n - start)
        rows = slice(start, start + m)
        begin(start, m, y, t, e, block, layout, rng)
        for sweep in range(-1, sweeps):
            given = 0 if sweep < 0 else 1
            for j in range(active):
                kind, at, first, size, tally, sd = kinds[j], columns[j], firsts[j], sizes[j], tallies[j], sds[given, j]
                if kind == INTERVAL:
                    count = unknown(lower[rows, j], upper[rows, j], rows_open)
                    if count == 0:
                        continue
                if kind == INTERVAL and FEW * count < m:
                    expect_few(count, rows_open, e, weights[given, :active, j], mean[rows, j], center)
                else:
                    expect(e, weights[given, :active, j], mean[rows, j], center)
                if tally >= 0:
                    before[:] = t[j]
                if kind == INTERVAL:
                    move_interval(count, rows_open, y[j], center, sd, lower[rows, j], upper[rows, j], singles, state)
                elif kind == CHOICE:
                    move_choice(j, y, center, sd, codes[rows, at], first, size, singles, state)
                elif kind == NUMBER:
                    slices = w[rows, at], precision[rows, at]
                    move_number(j, y, t, center, sd, *slices, scales[j], to_u, to_x, at, room, rng)
                elif kind == LEVELS:
                    weighed = chances[rows, at : at + size - 1]
                    move_levels(y[j], t[j], center, sd, weighed, cuts[first : first + size], singles, state)
                else:
                    weighed = chances[rows, at : at + size + 1]
                    move_utility(j - first, y[first : first + size], center, sd, weighed, singles, state)
                    if tally >= 0:
                        choose(j, y, t, first, size)
                for r in range(m):
                    e[j, r] = y[j, r] - mean[start + r, j]
                if tally >= 0 and sweep >= 0:
                    shown = first if kind == UTILITY else j
                    for r in range(m):
                        sums[sweep, tally] += y[shown, r]
                        moved[sweep, tally] += t[j, r] != before[r]
        for j in range(active, q):
            for r in range(m):
                e[j, r] = sds[0, j] * quantile(uniform(rng))
                for k in range(j):
                    e[j, r] += weights[0, k, j] * e[k, r]
                y[j, r] = mean[start + r, j] + e[j, r]
        for j in range(q):
            for r in range(m):
                found[start + r, j] = t[j, r] if tallies[j] >= 0 else y[j, r]
