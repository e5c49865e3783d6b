r"""How many records are expected near a point after k-noise: exact, no simulation.

With Y = X + U(−a, a), a record at distance d from x is within r of x with probability

    P(|Y − x| ≤ r) = min(1, r/a, (a + r − d)/(2a)), and 0 from d = a + r on.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), Theorem 3.5.1: with r = 2a the expected number is more than half of the records
that were within 2a before. (The last line there has = k/2 for ≥ k/2, and the code of the experiment counts with r = a.)
"""

import numpy as np

from synthdp.microdata import Floats


def expected_group_size(values: Floats, at: Floats, *, half: float, radius: float) -> Floats:
    """Return the expected number of noisy values within a radius of every point. Cost O(n log n).

    Parameters
    ----------
    values
        The numbers before masking.
    at
        The points around which records are counted.
    half
        a, half the width of the noise.
    radius
        r, how far around a point.

    Examples
    --------
    >>> expected_group_size(np.array([0.0, 3.0]), np.array([0.0]), half=1.0, radius=2.0)
    array([1.])
    """
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    inner, outer = abs(radius - half), radius + half
    edges = (-outer, -inner, inner, outer)
    far_left, left, right, far_right = (np.searchsorted(ordered, at + edge) for edge in edges)
    flat = (right - left) * min(1.0, radius / half)
    # on the flanks the probability falls in a straight line, so counts and sums of the values are enough
    below = (left - far_left) * (outer - at) + (sums[left] - sums[far_left])
    above = (far_right - right) * (outer + at) - (sums[far_right] - sums[right])
    return np.asarray(flat + (below + above) / (2 * half), dtype=np.float64)
