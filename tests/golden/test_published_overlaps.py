"""The sixteen interval overlaps that the short course prints, from the intervals it prints beside them.

Risk-based DA-MI and CART against the original, eight coefficients (Jiang 2025, short course on data privacy; the table
of Jiang, Raftery, Steele, Wang 2022, JASA 117(537)).
"""

import numpy as np
import pytest

from synthdp.evaluation.utility.analyses import ci_overlap

# term: printed overlap of DA-MI and CART; intervals of the original, DA-MI, CART
TABLE = {
    "Diffuse": (0.986, 0.539, (0.071, 0.564), (0.065, 0.556), (-0.138, 0.330)),
    "Centro": (0.978, 0.845, (-0.312, 0.267), (-0.325, 0.254), (-0.198, 0.326)),
    "Duration": (0.775, 0.545, (0.061, 0.296), (-0.018, 0.257), (-0.041, 0.187)),
    "FVC": (0.996, 0.340, (-2.457, -0.138), (-2.449, -0.150), (-0.895, 1.244)),
    "DLCO": (0.983, 0.722, (-0.587, 0.870), (-0.558, 0.849), (-0.895, 0.404)),
    "TLC": (0.982, 0.787, (-0.711, 1.708), (-0.731, 1.643), (-1.107, 1.110)),
    "Vitality": (0.988, 0.605, (-1.111, 0.016), (-1.123, 0.001), (-0.646, 0.418)),
    "HAQ": (0.952, -1.026, (0.965, 1.684), (0.931, 1.649), (-0.255, 0.313)),
}
# an end point is printed to half a thousandth
HALF = 0.0005


def overlap(first: tuple[float, float], second: tuple[float, float]) -> float:
    return float(ci_overlap(*map(np.asarray, (*first, *second))))


def rounding(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return how far the overlap can be off because the end points are rounded, to first order."""
    ends = [*first, *second]
    moves = []
    for j in range(4):
        shifted = [list(ends), list(ends)]
        shifted[0][j] -= HALF
        shifted[1][j] += HALF
        moves.append(abs(overlap(*_pairs(shifted[1])) - overlap(*_pairs(shifted[0]))) / 2)
    return sum(moves)


def _pairs(ends: list[float]) -> tuple[tuple[float, float], tuple[float, float]]:
    return (ends[0], ends[1]), (ends[2], ends[3])


@pytest.mark.parametrize("term", TABLE)
def test_overlap_to_rounding(term: str) -> None:
    printed_da_mi, printed_cart, original, da_mi, cart = TABLE[term]
    for printed, interval in ((printed_da_mi, da_mi), (printed_cart, cart)):
        assert overlap(original, interval) == pytest.approx(printed, abs=HALF + rounding(original, interval))
