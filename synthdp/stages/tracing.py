"""Whether anything in the files shows that row i was made from record i.

Files of other tools come in any order, or hold drawn people who are nobody's. Taken for aligned, they would seem to
give nobody away: every measure that points at rows would find strangers and say 0, where nothing was measured.

For each column: how much more row i agrees with record i than a random other row would, in standard deviations of the
same agreement under random orders. Kept columns agree everywhere, masked ones a little; drawn ones like chance.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.table.microdata import Microdata, codes, numbers
from synthdp.table.schema import Column

# under random orders one column in 30,000 seems to agree so well
CLEAR = 4.0
MOST_ROWS, MOST_COPIES, MOST_LEVELS = 20_000, 5, 500

NO_TRACE = (
    "Nothing shows that row i of these files was made from record i, so measures that need it were not taken; "
    "say so where it was (evaluation.rows: aligned, aligned=True) or was not (none, aligned=False)."
)
UNLIKELY = (
    "Nothing shows that row i of these files was made from record i, as was said: if it was not, measures that point "
    "at rows find strangers, and a small risk means nothing; set evaluation.rows: none (aligned=False)."
)


def traced(data: Microdata, copies: Sequence[pd.DataFrame]) -> bool:
    """Return whether a column of a copy agrees with the original row by row, clearly beyond chance.

    Notes
    -----
    Cost: O(n log n) for each column and copy until one agrees; of at most 20,000 rows and 5 copies.

    Two files that somebody sorted by the same column agree, too: what differs in kept columns is said elsewhere. In
    fewer than 18 records nothing could be clear, and nothing is doubted.
    """
    if len(data) - 1 <= CLEAR**2:
        return True
    released = [column for column in data.schema.columns if column.name in data.frame]
    # kept columns settle it at once
    for column in sorted(released, key=lambda one: one.role != "keep"):
        original = data.frame[column.name].head(MOST_ROWS)
        for copy in copies[:MOST_COPIES]:
            if len(copy) == len(data) and agreement(original, copy[column.name].head(MOST_ROWS), column) > CLEAR:
                return True
    return False


def agreement(original: pd.Series, copy: pd.Series, column: Column) -> float:
    """Return by how many standard deviations two columns agree better, row by row, than in random order."""
    if column.kind.categorical:
        return matches(codes(original, column), codes(copy, column))
    first, second = numbers(original, column), numbers(copy, column)
    both = np.isfinite(first) & np.isfinite(second)
    return ranks(first[both], second[both])


def shared_with(data: Microdata, holdout: pd.DataFrame) -> tuple[str, ...]:
    """Return a caution where records of a holdout stand in the original as well, clearly more than strangers would.

    Notes
    -----
    A stranger equals somebody in the file about as often as somebody in the file equals another one there. Whoever was
    in the file is found as easily as its members, so risks less than a yardstick of such people come out too small.
    """
    columns = [column for column in data.schema.columns if column.name in data.frame and column.name in holdout]
    members, others = (
        pd.util.hash_pandas_object(
            pd.DataFrame({one.name: _plain(frame[one.name], one) for one in columns}), index=False
        )
        for frame in (data.frame, holdout)
    )
    m, n = len(others), len(members)
    hits, twins = int(others.isin(members).sum()), int(members.duplicated(keep=False).sum())
    share = (hits + twins) / (m + n)
    spread = float(np.sqrt(share * (1 - share) * (1 / m + 1 / n)))
    if hits / m - twins / n <= CLEAR * spread:
        return ()
    return (
        f"holdout: {hits:,} of its {m:,} records are records of the original, too; risks that use it come out too "
        "small: give people whom the synthesis never saw.",
    )


def _plain(values: pd.Series, column: Column) -> Codes | Floats:
    # −0.0 is 0, which adding 0.0 makes it
    return codes(values, column) if column.kind.categorical else numbers(values, column) + 0.0


def ranks(first: Floats, second: Floats) -> float:
    """Return Spearman's correlation times √(n − 1), its standard score under random orders."""
    if len(first) < 3:
        return 0.0
    one, other = (pd.Series(values).rank().to_numpy() for values in (first, second))
    spread = float(np.std(one) * np.std(other))
    if spread == 0:
        return 0.0
    return float(np.mean((one - one.mean()) * (other - other.mean())) / spread * np.sqrt(len(first) - 1))


def matches(first: Codes, second: Codes) -> float:
    """Return the standard score of how many rows are equal, by its mean and variance over all orders.

    Notes
    -----
    With a_v and b_w rows of each level in the files and d_vw = 1[v = w], the sum over rows of d has mean Σ a_v b_v/n
    and variance Σ_vw a_v b_w d*_vw² / (n − 1), where d* is d less its weighted row and column means, plus its mean.

    References
    ----------
    Hoeffding (1951), Annals of Mathematical Statistics 22, Theorem 2.
    """
    n = len(first)
    _, coded = np.unique(np.concatenate([first, second]), return_inverse=True)
    levels = int(coded.max(initial=-1)) + 1
    if n < 3 or levels > MOST_LEVELS:
        return 0.0
    a, b = (np.bincount(one, minlength=levels).astype(np.float64) for one in (coded[:n], coded[n:]))
    mean = float(a @ b) / n
    centred = np.eye(levels) - (b / n)[:, None] - (a / n)[None, :] + mean / n
    variance = float(a @ centred**2 @ b) / (n - 1)
    equal = int(np.count_nonzero(coded[:n] == coded[n:]))
    return (equal - mean) / float(np.sqrt(variance)) if variance > 1e-12 else 0.0
