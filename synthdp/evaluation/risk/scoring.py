"""The compiled loops of the attacks that score rows; plain twins are in the tests."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from synthdp.arrays import compiled, part
from synthdp.table.microdata import Codes, Floats
from synthdp.tagging.compiled import window

# log likelihoods are sums over copies and keys; equal ones may differ in the last digits
TIE = 1e-9
# exp(−40) of a probability is nothing
NEGLIGIBLE = 40.0
# rows scored in one go: their scores stay in the nearest cache while keys and copies are added up
BLOCK = 2048


class Scored(NamedTuple):
    """What an attack that scores rows says of each target.

    Parameters
    ----------
    share
        How likely its own row is to be picked.
    winner
        The row picked, a place among the sorted rows; -1 without candidates.
    mine, top
        Log posteriors of the own row and of the row picked, shape (targets, temperatures).
    """

    share: Floats
    winner: Codes
    mine: Floats
    top: Floats

    @classmethod
    def of(cls, count: int, steps: int) -> Self:
        """Return room for some targets and temperatures."""
        nothing = np.full((2, count, steps), -np.inf)
        return cls(np.zeros(count), np.full(count, -1, dtype=np.int64), *nothing)


def _longest(targets: Codes, start: Codes, stop: Codes) -> int:
    return int((stop[targets] - start[targets]).max(initial=0))


@part
def decide(
    scores: Floats,
    size: int,
    first: int,
    own: int,
    pick: float,
    temperatures: Floats,
    powers: Floats,
    totals: Floats,
    mine: Floats,
    top: Floats,
) -> tuple[float, int]:
    """Return how likely a target's own row is to be picked, and the row picked; write tempered log posteriors.

    Parameters
    ----------
    scores, size, first
        Of the candidates, which are the ``size`` rows from ``first``.
    own, pick
        The place of the own row, and a uniform number that decides among ties.
    temperatures, powers, totals, mine, top
        Posteriors are ∝ exp(t · score): those of the own row and of the row picked are written to the last two, the
        two before are overwritten.
    """
    steps = len(temperatures)
    largest = -np.inf
    for k in range(size):
        largest = max(largest, scores[k])
    ties = 0
    for k in range(size):
        if scores[k] >= largest - TIE:
            ties += 1
    chosen, winner = min(int(pick * ties), ties - 1), -1
    for k in range(size):
        if scores[k] >= largest - TIE:
            if chosen == 0:
                winner = first + k
            chosen -= 1
    coldest = temperatures[0]
    for t in range(steps):
        coldest = min(coldest, temperatures[t])
        totals[t] = 0.0
    for k in range(size):
        gap = scores[k] - largest
        if coldest * gap <= -NEGLIGIBLE:
            continue
        for t in range(steps):
            # where the grid doubles every second step, a square does for an exponential
            if t >= 2 and temperatures[t] == 2.0 * temperatures[t - 2]:
                powers[t] = powers[t - 2] * powers[t - 2]
            else:
                powers[t] = np.exp(temperatures[t] * gap)
            totals[t] += powers[t]
    inside = first <= own < first + size
    for t in range(steps):
        top[t] = -np.log(totals[t])
        if inside:
            mine[t] = temperatures[t] * (scores[own - first] - largest) - np.log(totals[t])
    share = 1.0 / ties if inside and scores[own - first] >= largest - TIE else 0.0
    return share, winner


def score_rows(
    targets: Codes,
    folds: Codes,
    start: Codes,
    stop: Codes,
    own: Codes,
    pick: Floats,
    centre: Floats,
    value: Floats,
    bins: Codes,
    density: Floats,
    level: Codes,
    pattern: Codes,
    shown: Codes,
    kinds: Codes,
    transition: Floats,
    marginal: Floats,
    temperatures: Floats,
) -> Scored:
    """Return for each target how likely its own row is to be picked, the row picked, and tempered log posteriors.

    Rows are sorted so that the candidates of target i are start[i] to stop[i]. The score of row r is
    Σ_keys Σ_copies log f(released | true) − marginal[r].

    Parameters
    ----------
    targets, folds, start, stop, own
        Which records are attacked, and of every record: its fold, its candidates and the place of its own row.
    pick
        A uniform number per target, which decides among ties.
    centre, value, bins, density
        Of numeric keys in bins: where each true value puts the first bin, shape (n, q), NaN where missing; released
        values, shape (q, M, rows); how many bins inside each table has; log densities, shape (q, folds, bins).
    level, pattern, shown, kinds, transition
        Of categorical keys: levels, shape (n, p); which of ``kinds[key]`` combinations of levels the copies of a row
        show, shape (p, rows), and the levels of each combination, shape (p, combinations, M); log transition, shape
        (p, folds, levels, levels).
    temperatures
        Posteriors are ∝ exp(t · score); shape (folds, T).

    Notes
    -----
    q·M + p lookups for each pair of a target and a candidate; the copies' levels are added up once for each
    combination that occurs.
    """
    made = Scored.of(len(targets), temperatures.shape[1])
    _score_rows(
        *(targets, folds, start, stop, own, pick, centre, value, bins, density, level, pattern, shown, kinds),
        *(transition, marginal, temperatures, np.empty(_longest(targets, start, stop)), np.empty(shown.shape[1])),
        *(np.empty((2, temperatures.shape[1])), *made),
    )
    return made


@part
def _write_scores(
    i: int,
    fold: int,
    first: int,
    size: int,
    centre: Floats,
    value: Floats,
    bins: Codes,
    density: Floats,
    level: Codes,
    pattern: Codes,
    shown: Codes,
    kinds: Codes,
    transition: Floats,
    marginal: Floats,
    scores: Floats,
    said: Floats,
) -> None:
    """Write the scores of the ``size`` rows from ``first`` for target i; ``said`` is overwritten."""
    q, p = centre.shape[1], level.shape[1]
    copies, of_levels = value.shape[1], shown.shape[2]
    for k in range(size):
        scores[k] = -marginal[first + k]
    for key in range(p):
        law, rows = transition[key, fold, level[i, key]], pattern[key, first : first + size]
        if kinds[key] <= size:
            for kind in range(kinds[key]):
                total = 0.0
                for m in range(of_levels):
                    total += law[shown[key, kind, m]]
                said[kind] = total
            for k in range(size):
                scores[k] += said[rows[k]]
        else:
            for k in range(size):
                for m in range(of_levels):
                    scores[k] += law[shown[key, rows[k], m]]
    for begin in range(0, size, BLOCK):
        end = min(begin + BLOCK, size)
        for key in range(q):
            origin, last, table = centre[i, key], float(bins[key]), density[key, fold]
            if np.isnan(origin):
                continue
            for m in range(copies):
                released = value[key, m, first + begin : first + end]
                part = scores[begin:end]
                for k in range(end - begin):
                    step = released[k] - origin
                    if not np.isnan(step):
                        part[k] += table[int(np.floor(min(max(step, -1.0), last))) + 1]


@compiled
def _score_rows(
    targets: Codes,
    folds: Codes,
    start: Codes,
    stop: Codes,
    own: Codes,
    pick: Floats,
    centre: Floats,
    value: Floats,
    bins: Codes,
    density: Floats,
    level: Codes,
    pattern: Codes,
    shown: Codes,
    kinds: Codes,
    transition: Floats,
    marginal: Floats,
    temperatures: Floats,
    scores: Floats,
    said: Floats,
    work: Floats,
    share: Floats,
    winner: Codes,
    mine: Floats,
    top: Floats,
) -> None:
    """Write what :func:`score_rows` returns; ``scores``, ``said`` and ``work`` are overwritten."""
    for place in range(len(targets)):
        i = targets[place]
        fold, first, size = folds[i], start[i], stop[i] - start[i]
        if size == 0:
            continue
        _write_scores(
            i,
            fold,
            first,
            size,
            centre,
            value,
            bins,
            density,
            level,
            pattern,
            shown,
            kinds,
            transition,
            marginal,
            scores,
            said,
        )
        share[place], winner[place] = decide(
            scores, size, first, own[i], pick[place], temperatures[fold], work[0], work[1], mine[place], top[place]
        )


class Summed(NamedTuple):
    """What candidates weigh for each target, so that parts of a file can be added up.

    Parameters
    ----------
    total
        log Σ exp(t · score), shape (targets, temperatures).
    largest, ties
        The largest score, and how many rows have it.
    mine
        The score of the own row; −inf where it is no candidate.
    """

    total: Floats
    largest: Floats
    ties: Codes
    mine: Floats

    @classmethod
    def of(cls, count: int, steps: int) -> Self:
        """Return room for some targets and temperatures."""
        nothing = np.full((2, count), -np.inf)
        return cls(np.full((count, steps), -np.inf), nothing[0], np.zeros(count, dtype=np.int64), nothing[1])


def sum_rows(
    folds: Codes,
    start: Codes,
    stop: Codes,
    own: Codes,
    centre: Floats,
    value: Floats,
    bins: Codes,
    density: Floats,
    level: Codes,
    pattern: Codes,
    shown: Codes,
    kinds: Codes,
    transition: Floats,
    marginal: Floats,
    temperatures: Floats,
) -> Summed:
    """Return what the candidates weigh for each target; arguments as :func:`score_rows`, all records being targets.

    ``own`` is −1 where the own row is not among the rows.
    """
    everyone = np.arange(len(start))
    made = Summed.of(len(start), len(temperatures))
    _sum_rows(
        *(folds, start, stop, own, centre, value, bins, density, level, pattern, shown, kinds, transition, marginal),
        *(temperatures, np.empty(_longest(everyone, start, stop)), np.empty(shown.shape[1])),
        *(np.empty((2, len(temperatures))), made.total, made.largest),
        made.ties,
        made.mine,
    )
    return made


@compiled
def _sum_rows(
    folds: Codes,
    start: Codes,
    stop: Codes,
    own: Codes,
    centre: Floats,
    value: Floats,
    bins: Codes,
    density: Floats,
    level: Codes,
    pattern: Codes,
    shown: Codes,
    kinds: Codes,
    transition: Floats,
    marginal: Floats,
    temperatures: Floats,
    scores: Floats,
    said: Floats,
    work: Floats,
    total: Floats,
    largest: Floats,
    ties: Codes,
    mine: Floats,
) -> None:
    """Write what :func:`sum_rows` returns; ``scores``, ``said`` and ``work`` are overwritten."""
    for i in range(len(start)):
        fold, first, size = folds[i], start[i], stop[i] - start[i]
        if size == 0:
            continue
        _write_scores(
            i,
            fold,
            first,
            size,
            centre,
            value,
            bins,
            density,
            level,
            pattern,
            shown,
            kinds,
            transition,
            marginal,
            scores,
            said,
        )
        largest[i], ties[i] = add_up(scores, size, temperatures, work[0], work[1], total[i])
        if first <= own[i] < first + size:
            mine[i] = scores[own[i] - first]


@part
def add_up(
    scores: Floats, size: int, temperatures: Floats, powers: Floats, totals: Floats, total: Floats
) -> tuple[float, int]:
    """Return the largest of some scores and how many have it; write log Σ exp(t · score) to ``total``."""
    largest = -np.inf
    for k in range(size):
        largest = max(largest, scores[k])
    ties, coldest = 0, temperatures[0]
    for t in range(len(temperatures)):
        coldest = min(coldest, temperatures[t])
        totals[t] = 0.0
    for k in range(size):
        gap = scores[k] - largest
        if gap >= -TIE:
            ties += 1
        if coldest * gap <= -NEGLIGIBLE:
            continue
        for t in range(len(temperatures)):
            # where the grid doubles every second step, a square does for an exponential
            if t >= 2 and temperatures[t] == 2.0 * temperatures[t - 2]:
                powers[t] = powers[t - 2] * powers[t - 2]
            else:
                powers[t] = np.exp(temperatures[t] * gap)
            totals[t] += powers[t]
    for t in range(len(temperatures)):
        total[t] = np.log(totals[t]) + temperatures[t] * largest
    return largest, ties


def windows(cells: Codes, lead: Floats, target_cells: Codes, values: Floats, tolerance: float) -> tuple[Codes, Codes]:
    """Return where in sorted rows each target's cell and value ± tolerance begins and ends."""
    start, stop = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.int64)
    _windows(cells, lead, target_cells, values, tolerance, start, stop)
    return start, stop


@compiled
def _windows(
    cells: Codes, lead: Floats, target_cells: Codes, values: Floats, tolerance: float, start: Codes, stop: Codes
) -> None:
    """Write what :func:`windows` returns."""
    for i in range(len(values)):
        start[i], stop[i] = window(cells, lead, target_cells[i], values[i], tolerance)


# probabilities multiplied before a logarithm is taken: floors to this power are far from the smallest number
FACTORS = 16


def score_chain(
    targets: Codes,
    folds: Codes,
    start: Codes,
    stop: Codes,
    own: Codes,
    pick: Floats,
    kind: Codes,
    offset: Floats,
    here: Floats,
    there: Floats,
    share_here: Floats,
    share_there: npt.NDArray[np.float32],
    column: Codes,
    floor: float,
    temperatures: Floats,
) -> Scored:
    """Return for each target how likely its own row is to be picked, the row picked, and tempered log posteriors.

    Rows are sorted so that the candidates of target i are start[i] to stop[i]. The score of row r of kind k is

        offset[k] − ½ Σ_j (here[k, i, j] − there[r, j])² + Σ_c log P(share_here[k, i, c] + share_there[r, column[i, c]])

    with P(s) = floor + (1 − floor) · min(max(s, 0), 1). A number that is NaN for the target and a column of −1 say
    nothing. All terms but the first are at most zero, so a row is given up once it cannot count any more.

    Parameters
    ----------
    temperatures
        Posteriors are ∝ exp(t · score); shape (folds, T).
    """
    made = Scored.of(len(targets), temperatures.shape[1])
    _score_chain(
        *(targets, folds, start, stop, own, pick, kind, offset, here, there, share_here, share_there, column, floor),
        *(temperatures, np.empty(_longest(targets, start, stop)), np.empty((2, temperatures.shape[1])), *made),
    )
    return made


@part
def _write_chain(
    i: int,
    first: int,
    size: int,
    coldest: float,
    kind: Codes,
    offset: Floats,
    here: Floats,
    there: Floats,
    share_here: Floats,
    share_there: npt.NDArray[np.float32],
    column: Codes,
    floor: float,
    scores: Floats,
) -> None:
    """Write the scores of the ``size`` rows from ``first`` for target i, as :func:`score_chain` has them."""
    q, c = there.shape[1], column.shape[1]
    cut = NEGLIGIBLE / coldest
    largest = -np.inf
    for k in range(size):
        row = first + k
        of = kind[row]
        score = offset[of]
        least = largest - cut
        for key in range(q):
            gap = here[of, i, key] - there[row, key]
            if not np.isnan(gap):
                score -= 0.5 * gap * gap
                if score < least:
                    break
        if score >= least:
            product = 1.0
            for key in range(c):
                if column[i, key] >= 0:
                    chance = share_here[of, i, key] + share_there[row, column[i, key]]
                    product *= floor + (1.0 - floor) * min(max(chance, 0.0), 1.0)
                    if key % FACTORS == FACTORS - 1:
                        score += np.log(product)
                        product = 1.0
            score += np.log(product)
        scores[k] = score
        largest = max(largest, score)


@compiled
def _score_chain(
    targets: Codes,
    folds: Codes,
    start: Codes,
    stop: Codes,
    own: Codes,
    pick: Floats,
    kind: Codes,
    offset: Floats,
    here: Floats,
    there: Floats,
    share_here: Floats,
    share_there: npt.NDArray[np.float32],
    column: Codes,
    floor: float,
    temperatures: Floats,
    scores: Floats,
    work: Floats,
    share: Floats,
    winner: Codes,
    mine: Floats,
    top: Floats,
) -> None:
    """Write what :func:`score_chain` returns; ``scores`` and ``work`` are overwritten."""
    for place in range(len(targets)):
        i = targets[place]
        fold, size = folds[i], stop[i] - start[i]
        if size == 0:
            continue
        coldest = temperatures[fold, 0]
        for t in range(1, temperatures.shape[1]):
            coldest = min(coldest, temperatures[fold, t])
        _write_chain(
            i, start[i], size, coldest, kind, offset, here, there, share_here, share_there, column, floor, scores
        )
        share[place], winner[place] = decide(
            scores, size, start[i], own[i], pick[place], temperatures[fold], work[0], work[1], mine[place], top[place]
        )


def sum_chain(
    start: Codes,
    stop: Codes,
    own: Codes,
    here: Floats,
    there: Floats,
    share_here: Floats,
    share_there: npt.NDArray[np.float32],
    column: Codes,
    floor: float,
    temperatures: Floats,
) -> Summed:
    """Return what candidates weigh for each target; arguments as :func:`score_chain`, for rows of one kind.

    ``own`` is −1 where the own row is not among the rows.
    """
    made = Summed.of(len(start), len(temperatures))
    _sum_chain(
        *(start, stop, own, np.zeros(len(there), dtype=np.int64), np.zeros(1), here[None], there, share_here[None]),
        *(share_there, column, floor, temperatures, np.empty(_longest(np.arange(len(start)), start, stop))),
        *(np.empty((2, len(temperatures))), *made),
    )
    return made


@compiled
def _sum_chain(
    start: Codes,
    stop: Codes,
    own: Codes,
    kind: Codes,
    offset: Floats,
    here: Floats,
    there: Floats,
    share_here: Floats,
    share_there: npt.NDArray[np.float32],
    column: Codes,
    floor: float,
    temperatures: Floats,
    scores: Floats,
    work: Floats,
    total: Floats,
    largest: Floats,
    ties: Codes,
    mine: Floats,
) -> None:
    """Write what :func:`sum_chain` returns; ``scores`` and ``work`` are overwritten."""
    coldest = temperatures[0]
    for t in range(1, len(temperatures)):
        coldest = min(coldest, temperatures[t])
    for i in range(len(start)):
        first, size = start[i], stop[i] - start[i]
        if size == 0:
            continue
        _write_chain(i, first, size, coldest, kind, offset, here, there, share_here, share_there, column, floor, scores)
        largest[i], ties[i] = add_up(scores, size, temperatures, work[0], work[1], total[i])
        if first <= own[i] < first + size:
            mine[i] = scores[own[i] - first]
