r"""Kernels of function spaces, how far one record moves a density estimate in each, and Fourier coefficients.

Estimates are sums of normal kernels on [0, 1]^d, f(x) = (1/n) Σ_i Π_j N(x_j; x_ij, h_j²). Replacing one record moves f,
in the norm of the space, by at most:

``gaussian``   K = Π exp(−(x−y)²/2h²)     √2/(n Π √(2π) h_j), for unbounded data, too
``sobolev``    K = Π exp(−g|x−y|)         √(2 Π N_j² + 2 max_j |L_j| Π_{k≠j} N_k²)/n

where, with p = 1/2h² and b = 1/(2h√π), N² = (b/2g)(p + g²) is the squared norm of one kernel on the whole line and
L = −(b/2g)·2p·exp(−(3 + g²/p)/2) the least inner product of two. The norm on [0, 1] is at most that on the line (the
least norm of all continuations), so this is proved, and it is nearly reached: .143592 where the largest value found
on [0, 1] is .143563 (n = 100, h = .1, g = 1).

Fourier: ψ_1 = 1, ψ_2j = √2 cos 2πjx, ψ_2j+1 = √2 sin 2πjx; the mean over records of their products over columns, up to
frequency m in each. One record moves these (2m+1)^d − 1 means in ℓ1 by at most 2((2m+1)^d − 1)/n, as
√2(|cos| + |sin|) ≤ 2: 4m/n for one column. In ℓ2 by √(2(2m+1)^{d−1}(2m + 1 − min D))/n, D = 1 + 2Σ cos 2πjx being
Dirichlet's kernel; its least value on a grid of N is corrected by 1/cos(πm/N) (Ehlich and Zeller 1964), which bounds
what lies between.

References
----------
Hall (2012, PhD thesis, CMU), sections 3.3.1–3.3.2 and chapter 4. For ``sobolev`` it gives the norm (3.7) and no
sensitivity. Its λ_2j = exp(−2j²s²) lacks a π²: Lemma 4.3.1 and Figure 4.1 need exp(−2π²j²s²), with which the kernel is
the normal density wrapped around the circle, as the test sums it. Where it describes the noise by n α/(2m+1)^d, that
is the inverse of the scale, without constants.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np

from synthdp.table.microdata import Floats

Kernel = Literal["gaussian", "sobolev", "fourier"]
KERNELS = ("gaussian", "sobolev", "fourier")
GRID = 2**16


def gaussian_gram(x: Floats, y: Floats, bandwidth: float) -> Floats:
    """Return exp(−(x − y)²/2h²) for every pair of points on one axis."""
    return np.asarray(np.exp(-(np.subtract.outer(x, y) ** 2) / (2 * bandwidth**2)))


def sobolev_gram(x: Floats, y: Floats, decay: float) -> Floats:
    """Return exp(−g|x − y|) for every pair of points on one axis."""
    return np.asarray(np.exp(-decay * np.abs(np.subtract.outer(x, y))))


def gaussian_sensitivity(n: int, bandwidths: Sequence[float]) -> float:
    """Return √2/(n Π √(2π) h_j).

    Examples
    --------
    >>> round(gaussian_sensitivity(100, [0.1]), 7)
    0.056419
    """
    return math.sqrt(2) / (n * math.prod(math.sqrt(2 * math.pi) * h for h in bandwidths))


def sobolev_sensitivity(n: int, bandwidths: Sequence[float], decay: float) -> float:
    """Return the bound of the module's page for K = Π exp(−g|x − y|).

    Examples
    --------
    >>> round(sobolev_sensitivity(100, [0.1], 10), 6)
    0.066806
    """
    squares, least = [], []
    for h in bandwidths:
        p, unit = 1 / (2 * h**2), 1 / (4 * decay * h * math.sqrt(math.pi))
        squares.append(unit * (p + decay**2))
        least.append(unit * 2 * p * math.exp(-(3 + decay**2 / p) / 2))
    whole = math.prod(squares)
    opposed = max(whole / square * low for square, low in zip(squares, least, strict=True))
    return math.sqrt(2 * whole + 2 * opposed) / n


def least_decay(bandwidths: Sequence[float]) -> float:
    """Return the g under which one record moves an estimate least: public, as it depends on the bandwidths alone."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log_g: sobolev_sensitivity(1, bandwidths, math.exp(log_g)),
        bounds=(math.log(0.1), math.log(10 / min(bandwidths))),
        method="bounded",
    )
    return round(math.exp(float(found.x)), 3)


def fourier_basis(x: Floats, frequencies: int) -> Floats:
    """Return 1, √2 cos 2πx, √2 sin 2πx, √2 cos 4πx, … in columns, 2m + 1 of them."""
    angles = 2 * math.pi * np.outer(x, np.arange(1, frequencies + 1))
    found = np.ones((len(x), 2 * frequencies + 1))
    found[:, 1::2], found[:, 2::2] = math.sqrt(2) * np.cos(angles), math.sqrt(2) * np.sin(angles)
    return found


def damping(frequencies: int, bandwidth: float) -> Floats:
    """Return λ of every function of that basis: exp(−2π²j²s²), the coefficients of the wrapped normal density."""
    each = np.exp(-2 * (math.pi * bandwidth * np.arange(1, frequencies + 1)) ** 2)
    return np.concatenate([[1.0], np.repeat(each, 2)])


def wrapped_kernel(x: Floats, centre: float, bandwidth: float, frequencies: int | None = None) -> Floats:
    """Return Σ_i λ_i ψ_i(x) ψ_i(centre), a normal density wrapped around [0, 1].

    Examples
    --------
    >>> float(wrapped_kernel(np.array([1.0]), 0.2, 0.1)[0].round(7))
    0.5399097
    """
    m = math.ceil(2 / bandwidth) if frequencies is None else frequencies
    scaled = fourier_basis(np.array([centre]), m)[0] * damping(m, bandwidth)
    return np.asarray(fourier_basis(np.asarray(x, dtype=np.float64), m) @ scaled)


def fourier_l1(n: int, frequencies: int, columns: int = 1) -> float:
    """Return 2((2m+1)^d − 1)/n, which is 4m/n for one column."""
    coefficients: int = (2 * frequencies + 1) ** columns - 1
    return 2 * coefficients / n


def fourier_l2(n: int, frequencies: int, columns: int = 1) -> float:
    """Return how far one record moves the means of the basis in ℓ2.

    Examples
    --------
    >>> [round(fourier_l2(1, m), 4) for m in (1, 2, 3, 5, 10)]
    [2.8284, 3.5355, 4.1548, 5.188, 7.155]
    """
    m = frequencies
    others: int = (2 * m + 1) ** (columns - 1)
    return math.sqrt(others * _farthest(m)) / n


@cache
def _farthest(m: int) -> float:
    """Return the square of how far apart two points of the curve of cosines and sines can be, from above."""
    grid = GRID * math.ceil(m / 256)
    # Σ_j cos 2πjx on the whole grid at once: one transform of m ones
    ones = np.zeros(grid // 2 + 1)
    ones[1 : m + 1] = 0.5
    gap = 4 * m - 4 * np.fft.irfft(ones, grid) * grid
    return float(gap.max()) / math.cos(math.pi * m / grid)
