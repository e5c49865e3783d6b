"""How many records two files share, beyond what two samples of one population share by chance.

Records are counted in cells: all records that agree on some columns. If the files were independent samples of sizes
n_A and n_B, c_A and c_B would be independent Poisson counts in every cell. With r = n_B / n_A,

    e = c_A c_B − ½ [ r c_A (c_A − 1) + c_B (c_B − 1) / r ]

has mean λ_A λ_B − ½ (r λ_A² + λ_B² / r) ≤ 0, and 0 when both come from one population; every record that stands in both
files adds 1. So the sum over cells estimates the number of shared records, whether the columns make everybody unique
(then it counts the matches, less the twins) or make cells of hundreds (then it sees that the tables agree better than
two samples can), and files of two different populations never look more alike than they are. Given m = c_A + c_B, c_A
is binomial under independence and

    Var(e | m) = m (m − 1) / 2

for every ratio of the sizes. Large cells are noisy, so cells are weighted by 1 / max(m, 2); without overlap the mean
stays 0, with one the share comes out a little low (0.45 for 0.5) where cells hold a few records.

Notes
-----
Assumes that records are drawn independently. Numbers that were assigned by the design (running numbers, quotas) agree
between files without a person in common; `recognising` therefore asks that no single column carries the agreement.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from synthdp.release.hashing import Words

SIGNIFICANT = 5.0
"""Standard errors from zero: beyond what the best of some dozens of sets of columns reaches by chance."""
UNLIKELY = np.log(1e-6)
MOST_BUCKETS = 2**18
"""Cells are put together at random into buckets, which the estimate allows: any cells will do. With two million records
in as many buckets the standard error is still 0.003."""


@dataclass(frozen=True)
class Overlap:
    """The estimated part of the smaller file's records that also stand in the other one.

    Parameters
    ----------
    share, error
        The estimate, and its standard error if there were none.
    log_chance
        Of equal tables, when the tables are equal; otherwise 0.
    """

    share: float
    error: float
    log_chance: float

    @property
    def significant(self) -> bool:
        """Whether chance is no explanation."""
        return self.share >= SIGNIFICANT * self.error or self.log_chance < UNLIKELY

    @property
    def at_least(self) -> float:
        """A cautious value of the share, to choose between sets of columns."""
        return self.share if self.log_chance < UNLIKELY else self.share - 2 * self.error


def overlap(a: Words, b: Words) -> Overlap:
    """Return the overlap of two files, given one number per record that is equal for records of one cell.

    Cost O(n), without sorting.
    """
    ratio = len(b) / len(a)
    buckets = buckets_for(max(len(a), len(b)))
    count_a, count_b = counted(a, buckets), counted(b, buckets)
    used = np.flatnonzero(count_a + count_b)
    held_a, held_b = count_a[used].astype(np.float64), count_b[used].astype(np.float64)
    both = held_a + held_b
    weight = 1 / np.maximum(both, 2)
    found = held_a * held_b - (ratio * held_a * (held_a - 1) + held_b * (held_b - 1) / ratio) / 2
    whole = float(weight @ (held_a if ratio >= 1 else held_b))
    error = np.sqrt(weight**2 @ (both * (both - 1) / 2)) / whole
    same = ratio == 1 and bool((held_a == held_b).all())
    return Overlap(float(weight @ found) / whole, float(error), _log_chance(both) if same else 0.0)


def buckets_for(records: int) -> int:
    """Return a power of two, large enough that few of so many different values fall together."""
    return int(min(MOST_BUCKETS, 2 ** (16 * records).bit_length()))


def counted(words: Words, buckets: int) -> npt.NDArray[np.int64]:
    """Return how many records fall into each bucket."""
    return np.bincount((words % np.uint64(buckets)).astype(np.int64), minlength=buckets)


def _log_chance(both: npt.NDArray[np.float64]) -> float:
    """Return the log probability that every cell is split evenly; the total of the last one is given."""
    chances = gammaln(both + 1) - 2 * gammaln(both / 2 + 1) - both * np.log(2)
    return float(chances.sum() - chances.min())
