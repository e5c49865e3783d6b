"""The compiled loop of the intruder with the public files; its numpy twin is ``PublicPosterior.__call__``."""

import numpy as np
import numpy.typing as npt

from synthdp.microdata import Codes, Floats
from synthdp.neighbours.loops import _compiled
from synthdp.neighbours.scoring import NEGLIGIBLE, decide

# probabilities multiplied before a logarithm is taken: floors to this power are far from the smallest number
FACTORS = 16


@_compiled
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
) -> tuple[Floats, Codes, Floats, Floats]:
    """Return for each target how likely its own row is to be picked, the row picked, and tempered log posteriors.

    Rows are sorted so that the candidates of target i are start[i] to stop[i]. The score of row r of kind k is

        offset[k] − ½ Σ_j (here[k, i, j] − there[r, j])² + Σ_c log P(share_here[k, i, c] + share_there[r, column[i, c]])

    with P(s) = floor + (1 − floor) · min(max(s, 0), 1). A number that is NaN for the target and a column of −1 say
    nothing. All terms but the first are at most zero, so a row is given up once it cannot count any more.

    Parameters
    ----------
    temperatures
        Posteriors are ∝ exp(t · score); shape (folds, T).

    Returns
    -------
    share, winner, own posterior, posterior of the picked row
        The last two are logarithms of shape (targets, T); the winner is a place among the sorted rows.
    """
    q, c = there.shape[1], column.shape[1]
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
        cut = NEGLIGIBLE / temperatures[fold].min()
        largest = -np.inf
        for k in range(size):
            row = start[i] + k
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
        share[place], winner[place] = decide(
            scores, size, start[i], own[i], pick[place], temperatures[fold], mine[place], top[place]
        )
    return share, winner, mine, top
