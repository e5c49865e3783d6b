"""The compiled loop of the likelihood attack; a plain twin is in the tests."""

import numpy as np

from synthdp.microdata import Codes, Floats
from synthdp.neighbours.loops import _compiled, _window

# log likelihoods are sums over copies and keys; equal ones may differ in the last digits
TIE = 1e-9


@_compiled
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
    released: Codes,
    transition: Floats,
    marginal: Floats,
    temperatures: Floats,
) -> tuple[Floats, Codes, Floats, Floats]:
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
        values, shape (rows, q, M); how many bins inside each table has; log densities, shape (q, folds, bins).
    level, released, transition
        Of categorical keys: levels, shape (n, p); released levels, shape (rows, p, M); log transition, shape
        (p, folds, levels, levels).
    temperatures
        Posteriors are ∝ exp(t · score); shape (folds, T).

    Returns
    -------
    share, winner, own posterior, posterior of the picked row
        The last two are logarithms of shape (targets, T).
    """
    q, p = centre.shape[1], level.shape[1]
    copies = value.shape[2] if q > 0 else released.shape[2]
    count, steps = len(targets), temperatures.shape[1]
    share, winner = np.zeros(count), np.full(count, -1, dtype=np.int64)
    mine, top = np.full((count, steps), -np.inf), np.full((count, steps), -np.inf)
    longest = 0
    for i in targets:
        longest = max(longest, stop[i] - start[i])
    scores = np.empty(longest)
    for place in range(count):
        i = targets[place]
        fold, size = folds[i], stop[i] - start[i]
        if size == 0:
            continue
        largest = -np.inf
        for k in range(size):
            row = start[i] + k
            score = -marginal[row]
            for key in range(q):
                origin = centre[i, key]
                if np.isnan(origin):
                    continue
                for m in range(copies):
                    step = value[row, key, m] - origin
                    if not np.isnan(step):
                        bin_ = int(np.floor(min(max(step, -1.0), float(bins[key])))) + 1
                        score += density[key, fold, bin_]
            for key in range(p):
                for m in range(copies):
                    score += transition[key, fold, level[i, key], released[row, key, m]]
            scores[k] = score
            largest = max(largest, score)
        ties = 0
        for k in range(size):
            if scores[k] >= largest - TIE:
                ties += 1
        chosen = min(int(pick[place] * ties), ties - 1)
        for k in range(size):
            if scores[k] >= largest - TIE:
                if chosen == 0:
                    winner[place] = start[i] + k
                chosen -= 1
        inside = start[i] <= own[i] < stop[i]
        if inside and scores[own[i] - start[i]] >= largest - TIE:
            share[place] = 1.0 / ties
        for t in range(steps):
            total = 0.0
            for k in range(size):
                total += np.exp(temperatures[fold, t] * (scores[k] - largest))
            top[place, t] = -np.log(total)
            if inside:
                mine[place, t] = temperatures[fold, t] * (scores[own[i] - start[i]] - largest) - np.log(total)
    return share, winner, mine, top


@_compiled
def windows(cells: Codes, lead: Floats, target_cells: Codes, values: Floats, tolerance: float) -> tuple[Codes, Codes]:
    """Return where in sorted rows each target's cell and value ± tolerance begins and ends."""
    start, stop = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.int64)
    for i in range(len(values)):
        start[i], stop[i] = _window(cells, lead, target_cells[i], values[i], tolerance)
    return start, stop
