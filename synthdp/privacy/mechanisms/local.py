"""Local sensitivity: how far one record could move the statistic of these very records.

It depends on the records, so noise scaled by it has no guarantee: two neighbours whose medians are both 0 can have the
local sensitivities 0 and Λ, and then the noise itself tells them apart (Biswal 2024, Counterexample 5.2.1). It is what
smooth sensitivity (``smooth``) starts from, and what the studies of the source used.

``replace``: one record takes any value inside the bounds. ``leave_one_out``: one record is dropped and the statistic
computed from the others, as in the R code of the source (Appendix A.0.1); no bounds are needed.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), section 2.1 and Appendix A.0.1. Its loops never drop the first and the last
record. Its local sensitivity of a variance, max (x² − 2xμ)/n, lacks a square of the mean: for 50 values from
U[0, 10] it gives 0.024 where leaving one out gives 0.335.
"""

from typing import Literal, get_args

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats
from synthdp.privacy.mechanisms.sensitivity import Bounds, required
from synthdp.table.microdata import Floats

Neighbours = Literal["replace", "leave_one_out"]


def mean(values: Floats, bounds: Bounds | None = None, *, neighbours: Neighbours = "replace") -> float:
    """Return the local sensitivity of the mean.

    ``replace``: max_j max(x_j − low, high − x_j)/n; ``leave_one_out``: max_j |x_j − mean|/(n − 1).

    Examples
    --------
    >>> mean(np.array([0.0, 1.0, 2.0]), Bounds(0, 4))
    1.3333333333333333
    """
    x = _sorted(values, bounds, neighbours, "mean")
    if neighbours == "leave_one_out":
        return float(np.abs(x - x.mean()).max()) / (len(x) - 1)
    low, high = _ends(bounds, "mean")
    return float(max(x[-1] - low, high - x[0])) / len(x)


def median(values: Floats, bounds: Bounds | None = None, *, neighbours: Neighbours = "replace") -> float:
    """Return the local sensitivity of the median, which for an even n is the mean of the two values in the middle.

    For an odd n, ``replace`` gives the larger gap beside the median and ``leave_one_out`` half of it: the source's
    formula is the first, its code the second.
    """
    x = _sorted(values, bounds, neighbours, "median")
    n = len(x)
    if neighbours == "leave_one_out":
        dropped = (np.median(np.delete(x, j)) for j in sorted({0, (n - 1) // 2, n // 2, n - 1}))
        return float(max(abs(value - np.median(x)) for value in dropped))
    padded = np.concatenate([[_ends(bounds, "median")[0]], x, [_ends(bounds, "median")[1]]])
    below, above = (n + 1) // 2, n // 2 + 1
    left, right = padded[below - 1], padded[above + 1]
    if below == above:
        return float(max(right - padded[below], padded[below] - left))
    # the value that leaves a side is replaced by one beyond the other: the middle pair moves one place
    return float(max(right - padded[below], padded[above] - left)) / 2


def variance(values: Floats, bounds: Bounds | None = None, *, neighbours: Neighbours = "replace") -> float:
    """Return the local sensitivity of the sample variance (divisor n − 1).

    With d = x_j − mean, leaving x_j out changes it by n·d²/((n−1)(n−2)) − s²/(n−2). Moving x_j to the value at distance
    d' from the mean changes it by (d'² − d² − (d' − d)²/n)/(n − 1), which is convex in d', so an end of the bounds is
    farthest up, and farthest down lies the mean of the other records, or the bound next to it.
    """
    x = _sorted(values, bounds, neighbours, "variance")
    n = len(x)
    d = x - x.mean()
    if neighbours == "leave_one_out":
        if n < 3:
            raise InputError(f"variance: at least 3 records needed to leave one out, found {n}.")
        return float(np.abs(n * d**2 / ((n - 1) * (n - 2)) - x.var(ddof=1) / (n - 2)).max())
    low, high = (end - x.mean() for end in _ends(bounds, "variance"))
    others = np.clip(-d / (n - 1), low, high)
    moved = [np.abs(to**2 - d**2 - (to - d) ** 2 / n).max() for to in (low, high, others)]
    return float(max(moved)) / (n - 1)


def _sorted(values: Floats, bounds: Bounds | None, neighbours: Neighbours, where: str) -> Floats:
    if neighbours not in get_args(Neighbours):
        raise InputError(f"neighbours: must be replace or leave_one_out, found {neighbours!r}.")
    x = np.sort(floats(values, where))
    if missing := int(np.isnan(x).sum()):
        raise InputError(f"values: {missing} are missing; drop or fill them before the release.")
    if bounds is not None or neighbours == "replace":
        x = required(bounds, where).clip(x).values
    if len(x) < 2:
        raise InputError(f"{where}: at least 2 records needed, found {len(x)}.")
    return x


def _ends(bounds: Bounds | None, where: str) -> tuple[float, float]:
    given = required(bounds, where)
    return given.low, given.high
