"""The joint draw of the replaced columns given Z, W and one draw of the parameters: progressive Gibbs on the latents.

Records are independent given θ: all sweeps of a tile of them are run before the next tile's, so their latents stay in
the processor's nearest cache and nothing of size n × q is kept.

Start. Latents are drawn forward, each given those before it, with kept columns first. Where W says little that is
nearly the joint draw already; an unrelated start needs more sweeps (see ``drawing``). Nothing of a replaced column's
true value is in it: its own information is W.

A latent given the others of its record is normal, N(c, v). What W says of the column multiplies it:

* a number: exp(−τ(t − w)²/2) with t = F⁻¹(Φ(y/s)) the working value. With e ~ Exp(1) the level of a slice is
  exp(−τ(t − w)²/2 − e), so that |t − w|² < (t_now − w)² + 2e/τ; as F is monotone that is an interval of y, and y is
  drawn from N(c, v) inside it: exact, nothing is tuned, heaps and point masses included (Damien, Wakefield and Walker
  1999, JRSS B 61(2), 331-344).
* ordered levels: enumerated, the normal's probability of each interval times the weight of its level; then y inside.
* a nominal column: one utility at a time. Above the largest of the others its own level is chosen, below it theirs: a
  step, and N(c, v) times a step is a mixture of two truncated normals.

Latents of kept columns that are not known exactly, and missing cells, are updated along. A column of which W says
nothing in any record (no mask) is integrated out and drawn last: no sweeps are needed for it. The chain starts from W,
Z and the parameters, never from the true X.

The loops are compiled (``records``, ``kept``, ``levels``, ``steps``) and run over blocks of records, each with streams
of its own: a copy takes the memory of its columns and of one block. O(n q²) per sweep.

How many sweeps: correlations among six replaced columns in draws after s sweeps, as shares of those after 150 (20,000
records; correlations .3 and .9, noise of .3 and 2 sd; 20 columns with 5 kept numbers, or 8 with none). The start alone:
.79 to .97; two sweeps: .97 to .99; from five on within Monte Carlo error (.02 at .3, .004 at .9) but for the hardest
case (.9, 2 sd, no kept number): .982 after 5, .987 after 8, .992 after 12, .994 after 20. Unrelated latents as a start
gave .07 to .65, after two sweeps .79 to .99, and in the hardest case .981 after 20.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import compiled
from synthdp.imputation.copula.arranging import Arrangement
from synthdp.imputation.copula.coding import Coding, Curve
from synthdp.imputation.copula.moves import (
    ROOM,
    expect,
    expect_few,
    move_choice,
    move_interval,
    move_levels,
    move_utility,
    unknown,
)
from synthdp.imputation.copula.normals import F, Words, cumulative, quantile
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
    heights,
    move_number,
    uniform,
)
from synthdp.imputation.model import Task, certain, filled
from synthdp.masking.evidence import Evidence
from synthdp.parallel import each
from synthdp.table.microdata import Floats

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


BLOCK, THREADS = 2048, 2


@dataclass(frozen=True, repr=False)
class CopulaParameters:
    """One draw of R, Γ and the weights of the margins.

    Parameters
    ----------
    coding
        The columns.
    r, gamma
        The correlation matrix (q × q) and the covariates' effects (d × q).
    weights
        Of the records, from the Bayesian bootstrap.
    sweeps
        How long the chain runs.
    jobs
        How many threads may work at it; two are enough.
    """

    coding: Coding
    r: Floats
    gamma: Floats
    weights: Floats
    sweeps: int
    jobs: int = 1

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ), and the missing values of kept ones."""
        return self.chain(evidence, rng=rng)[0]

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, drawn where they are missing given all that is known."""
        return filled(task.working, self.draw(certain(task.working, task.data.schema.replaced()), rng=rng))

    def chain(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Run the chain; return its last state and, per sweep and masked column, the mean and who moved."""
        return Walk(self, self.coding.curves(self.weights, self.gamma), evidence).run(rng=rng)


class Walk:
    """The chain of all records.

    Parameters
    ----------
    parameters
        θ.
    curves
        The margins that go with its weights.
    evidence
        What W says of each replaced column.
    """

    def __init__(self, parameters: CopulaParameters, curves: Sequence[Curve], evidence: Mapping[str, Evidence]) -> None:
        self._sweeps, self._jobs = parameters.sweeps, min(parameters.jobs, THREADS)
        self._all = Arrangement.of(
            parameters.coding, parameters.r, parameters.gamma, curves, evidence, parameters.weights
        )

    def run(self, *, rng: np.random.Generator) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Draw all records; return the replaced columns and the kept ones with missing values, and the trace."""
        drawn, masked, layout = self._all.drawn(), self._all.masked(), self._all.layout
        n = len(self._all.coding.covariates)
        values = {spot.name: np.empty(n) for spot in drawn}

        def draw(part: tuple[int, np.random.Generator]) -> tuple[Floats, Floats]:
            start, own = part
            rows = slice(start, min(start + BLOCK, n))
            found = np.empty((rows.stop - start, len(self._all.order)))
            sums, moved = (np.zeros((self._sweeps, len(masked))) for _ in range(2))
            words = own.integers(2**32, size=(4, TILE), dtype=np.uint32)
            run_rows(found, sums, moved, self._sweeps, self._all.block(rows), layout, words, own)
            for spot in drawn:
                values[spot.name][rows] = self._all.values(spot, rows, found, rng=own)
            return sums, moved

        starts = range(0, n, BLOCK)
        # two threads if there may be so many: the last of an odd number of copies would leave one idle
        told = list(each(draw, list(zip(starts, rng.spawn(len(starts)), strict=True)), jobs=self._jobs))
        sums, moved = (sum(parts) for parts in zip(*told, strict=True))
        trace = [
            (sweep, spot.name, sums[sweep, k] / n, moved[sweep, k] / n)
            for sweep in range(self._sweeps)
            for k, spot in enumerate(masked)
        ]
        return values, pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])
