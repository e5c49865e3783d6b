"""Along one ray: all masks grow by one common factor, risk falls and usefulness falls, and the best is at the border.

The factor takes values on a ladder, r steps up being a factor of 2^(r/4). Risk is monotone in every strength, so the
weakest masks that keep every limit are found by galloping from a guess to a pair of rungs, one that passes and one that
does not, and by dividing what lies between. How far a risk is from its limit says about how many rungs to go: the first
steps and every other division follow it, the rest double and halve, so that a risk that does not fall as expected costs
a few looks and no more.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LOWEST, HIGHEST = -18, 18
# rungs after which a risk is about half as large, as it is where it falls with the square of the strength
HALVED = 2
# further than this a step does not trust that
FURTHEST = 8
# so many steps follow it; if the border is not passed by then, steps double
BELIEVED = 2
# a risk counts as at least so far from its limit, in logs of 2, and at most
NEAREST_LOG, FURTHEST_LOG = 0.02, 6.0


@dataclass(frozen=True)
class Seen:
    """What was found on one rung.

    Parameters
    ----------
    passed, use
        Whether every limit is kept, and how useful the copies are (more is better).
    ratio
        The largest risk as a multiple of its limit; None where nobody says.
    """

    passed: bool
    use: float
    ratio: float | None = None

    @property
    def far(self) -> float | None:
        """Return how many times the largest risk would have to be halved or doubled to be at its limit."""
        if self.ratio is None or math.isnan(self.ratio):
            return None
        beyond = math.log2(self.ratio) if self.ratio > 0 else -math.inf
        return min(max(-beyond if self.passed else beyond, NEAREST_LOG), FURTHEST_LOG)


@dataclass(frozen=True)
class Border:
    """The weakest masks on a ray that keep every limit.

    Parameters
    ----------
    rung
        None where even the strongest masks do not, or where the search was given up.
    beaten
        Given up: copies under masks that are too weak are already less useful than what is known to pass.
    """

    rung: int | None
    beaten: bool = False


def factor_of(rung: int) -> float:
    """Return the common factor of all masks on a rung.

    Examples
    --------
    >>> factor_of(0), factor_of(4), round(factor_of(1), 3)
    (1.0, 2.0, 1.189)
    """
    return float(2 ** (rung / 4))


def find_border(
    look: Callable[[int], Seen],
    *,
    guess: int,
    best: float = float("-inf"),
    lowest: int = LOWEST,
    highest: int = HIGHEST,
    stride: int = 4,
    margin: float = 0.0,
    more: Callable[[], bool] = lambda: True,
) -> Border:
    """Return the lowest rung that passes, as long as rungs below it fail and those above it pass.

    Parameters
    ----------
    look
        Tries a rung; each is asked for at most once.
    guess
        Where to begin.
    best, margin
        Usefulness of what is known to pass, and by how much chance may hide more than that. A rung that fails has
        weaker masks than any that passes, so that where its usefulness is below ``best - margin``, no rung that passes
        can be better: the ray is given up.
    stride
        How far the first step goes; it doubles until the border lies between two rungs.
    more
        Whether there is time for another look; without, the lowest rung that passed so far is returned.
    """
    low, high = lowest - 1, highest + 1  # the highest known to fail, the lowest known to pass
    at = min(max(guess, lowest), highest)
    passed: int | None = None
    known: dict[int, float | None] = {}
    width, divided = highest - lowest + 2, False
    while True:
        seen = look(at)
        if len(known) < BELIEVED and (far := seen.far) is not None:
            stride = min(max(round(HALVED * far), 1), FURTHEST)
        known[at] = seen.far
        if seen.passed:
            high = passed = at
        else:
            low = at
            if seen.use < best - margin:
                return Border(passed, beaten=passed is None)
        if high - low <= 1 or not more():
            return Border(passed)
        if low < lowest:
            at, stride = max(high - stride, lowest), 2 * stride
        elif passed is None:
            at, stride = min(low + stride, highest), 2 * stride
        else:
            # a division that left more than half is followed by one in the middle
            by_risk = not divided or 2 * (high - low) <= width
            width, divided = high - low, by_risk
            at = _between(low, high, known) if by_risk else (low + high) // 2


def _between(low: int, high: int, known: Mapping[int, float | None]) -> int:
    """Return the rung between two at which a risk that falls evenly, in logs, would be at its limit."""
    below, above = known.get(low), known.get(high)
    if below is None or above is None:
        return (low + high) // 2
    return min(max(round(low + (high - low) * below / (below + above)), low + 1), high - 1)
