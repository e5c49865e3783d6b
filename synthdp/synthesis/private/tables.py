"""From a noisy table to records: counts made non-negative with the right total, and rows drawn from them."""

import numpy as np

from synthdp.microdata import Codes, Floats
from synthdp.privacy.mechanisms import Source


def projected(counts: Floats, total: float) -> Floats:
    """Return the non-negative counts with this total that are nearest in ℓ2: max(c − t, 0). O(p log p).

    Setting negative counts to 0 alone leaves half of the noise of every empty cell in the table: E = b/2 per cell for
    Laplace noise of scale b, which is most of a sparse table. The threshold t takes it away.

    Examples
    --------
    >>> projected(np.array([5.0, 1.0, -2.0]), 4.0)
    array([4., 0., 0.])
    """
    ordered = np.sort(counts)[::-1]
    excess = np.cumsum(ordered) - total
    ranks = np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered - excess / ranks > 0)[-1])
    return np.asarray(np.maximum(counts - excess[last] / (last + 1), 0.0), dtype=np.float64)


def thin(sd: float, n: int, cells: int, what: str) -> list[str]:
    """Return a sentence where the noise of a cell is more than a mean cell holds; from public numbers alone."""
    if sd * cells <= n:
        return []
    return [
        f"synthesis.epsilon: the noise has sd {sd:.3g} in each of {cells:,} cells {what}, of which a mean one holds "
        f"{n / cells:.3g} records: the copies are mostly noise. Raise epsilon, or use fewer bins."
    ]


def rows(weights: Floats, n: int, *, rng: np.random.Generator) -> Codes:
    """Return n positions drawn in proportion to the weights."""
    cumulative = np.cumsum(weights)
    found = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    # rounding may put a draw at the very end, behind the last cell that can occur
    return np.asarray(np.minimum(found, int(np.flatnonzero(weights)[-1])), dtype=np.int64)


def random_generator(source: Source) -> np.random.Generator:
    """Return a generator keyed with 256 bits of the source, for draws whose results are whole numbers.

    Results are integers, so the grid of floating-point numbers tells nothing; probabilities are those of double
    arithmetic, within about 10⁻¹⁵ of the law.
    """
    return np.random.default_rng([int(word) for word in source.words(4)])
