"""The body of trigonometric moments, with which Hall (2012, section 4.4.2) shapes noise; nothing is released with it.

K_m is the hull of the points (cos 2πx, sin 2πx, …, cos 2πmx, sin 2πmx). Its gauge is −λ_min of the Hermitian Toeplitz
matrix with 0 on the diagonal and c_k + i s_k on the k-th one above. The body is not symmetric for m ≥ 2, so the gauge
of a difference of two records is not 2 but up to m + 1: noise calibrated with 2/n keeps (m + 1)/2 times the ε that it
claims.

References
----------
Hall (2012, PhD thesis, CMU), Propositions 4.4.1 and 4.4.2; the printed inertia is right up to m = 2 and where k is read
as the frequency, the one below follows from its (4.16) and (4.18). The printed volume lacks a factor √(πm).
"""

import math

import numpy as np

from synthdp.table.microdata import Floats


def moments(x: Floats, m: int) -> Floats:
    """Return cosines and sines c_1, s_1, c_2, s_2, … of every point, a row each."""
    angles = 2 * math.pi * np.outer(x, np.arange(1, m + 1))
    return np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(x), 2 * m)


def gauges(y: Floats) -> Floats:
    """Return the gauge of every row."""
    m = y.shape[1] // 2
    values = y[:, ::2] + 1j * y[:, 1::2]
    matrix = np.zeros((len(y), m + 1, m + 1), dtype=complex)
    for k in range(1, m + 1):
        rows = np.arange(m + 1 - k)
        matrix[:, rows, rows + k] = values[:, [k - 1]]
        matrix[:, rows + k, rows] = values[:, [k - 1]].conj()
    return np.asarray(-np.linalg.eigvalsh(matrix)[:, 0])


def inertia(m: int) -> Floats:
    """Return E w² of the cosine (and the sine) of frequency 1..m, for w uniform in the body."""
    found = []
    for k in range(1, m + 1):
        near = sum((2 * j + k) ** 2 / (j * (j + k)) for j in range(1, m - k + 1))
        far = sum((k - 2 * j) ** 2 / (j * (k - j)) for j in range(1, (k + 1) // 2))
        found.append((3 * m - near / 2 + far / 2) / ((2 * m + 1) * (2 * m + 2)))
    return np.array(found)


def volume(m: int) -> float:
    """Return 2^m π^m m!/(2m)!."""
    return (2 * math.pi) ** m * math.factorial(m) / math.factorial(2 * m)


def simplex_inertia(d: int) -> Floats:
    """Return E w wᵀ for w uniform in the simplex of d coordinates."""
    return (np.eye(d) + 1) / ((d + 1) * (d + 2))
