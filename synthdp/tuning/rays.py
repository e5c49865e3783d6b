"""Along one ray: all masks grow by one common factor, risk falls and usefulness falls, and the best is at the border.

The factor takes values on a ladder, r steps up being a factor of 2^(r/4). Risk is monotone in every strength, so the
weakest masks that keep every limit are found by galloping from a guess to a pair of rungs, one that passes and one that
does not, and by halving what lies between.
"""

from collections.abc import Callable
from dataclasses import dataclass

LOWEST, HIGHEST = -18, 18


@dataclass(frozen=True)
class Seen:
    """What was found on one rung: whether every limit is kept, and how useful the copies are (more is better)."""

    passed: bool
    use: float


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
    while True:
        seen = look(at)
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
            at = (low + high) // 2
