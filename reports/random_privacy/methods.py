"""Methods that are NOT differentially private: "random differential privacy" asks for ε on most files only.

Of n + 1 records drawn alike, the first n are released; an (α, γ)-random promise holds if DP's inequality does on all
but a share γ of such draws. Whoever is unusual may be in that share, always. Nothing here is part of the package.

References
----------
Hall (2012, PhD thesis, CMU), chapter 5; its own verdict is that the sparse histogram obviates the histograms below.
"""

from collections.abc import Callable

import numpy as np

from synthdp.arrays import Booleans, Codes, Floats

Exact = Callable[[Codes, float], Booleans]


def proportion(count: int, n: int, alpha: float, *, gamma: float, rng: np.random.Generator) -> float:
    """Return a proportion: as it is where 2(p + 1/n) ≤ γ, else with Laplace noise of scale 1/(nα). NOT DP."""
    share = count / n
    return share if 2 * (share + 1 / n) <= gamma else float(share + rng.laplace(0, 1 / (n * alpha)))


def exact_a(counts: Codes, gamma: float) -> Booleans:
    """Return which cells histogram A tells as they are: the empty ones, if cells are few enough, 2d ≤ γn."""
    return np.asarray((counts == 0) & (2 * len(counts) <= gamma * counts.sum()))


def exact_b(counts: Codes, gamma: float) -> Booleans:
    """Return which cells histogram B tells as they are: those with count + 1 ≤ γn/2k, people alone among them."""
    return np.asarray(counts + 1 <= gamma * counts.sum() / (2 * len(counts)))


def histogram_a(counts: Codes, alpha: float, *, gamma: float, rng: np.random.Generator) -> Floats:
    """Return shares of all cells by histogram A. NOT DP."""
    return _noisy(counts, exact_a(counts, gamma), alpha, rng)


def histogram_b(counts: Codes, alpha: float, *, gamma: float, rng: np.random.Generator) -> Floats:
    """Return shares of all cells by histogram B. NOT DP, and it publishes small counts as they are."""
    return _noisy(counts, exact_b(counts, gamma), alpha, rng)


def private_histogram(counts: Codes, alpha: float, *, rng: np.random.Generator) -> Floats:
    """Return shares with Laplace noise of scale 2/(nα) on every cell, which is α-DP, to compare with."""
    return _noisy(counts, np.zeros(len(counts), dtype=bool), alpha, rng)


def expected_error(noisy_cells: int, n: int, alpha: float) -> float:
    """Return the expected ℓ1 error 2r/(nα) of r cells with such noise."""
    return 2 * noisy_cells / (n * alpha)


def mismatch(n: int, ones: int) -> float:
    """Return how likely the last two of n + 1 records differ, if so many are 1: 2s(n + 1 − s)/(n(n + 1)).

    The source simplifies it further, and wrongly, to 2s/n − s/(n(n + 1)); its bound 2s/n stands.
    """
    return 2 * ones * (n + 1 - ones) / (n * (n + 1))


def broken_share(
    records: Codes, cells: int, gamma: float, exact: Exact, *, draws: int, rng: np.random.Generator
) -> float:
    """Return how often DP's inequality fails for any ε when n + 1 records are put in another order.

    It fails where a cell that tells the two files apart is released without noise on one of them.
    """
    broken = 0
    total = np.bincount(records, minlength=cells)
    for _ in range(draws):
        last, other = rng.choice(records, 2, replace=False)
        one, two = total.copy(), total.copy()
        one[other] -= 1
        two[last] -= 1
        bare = exact(one, gamma) | exact(two, gamma)
        broken += bool((bare & (one != two)).any()) or bool((exact(one, gamma) != exact(two, gamma)).any())
    return broken / draws


def _noisy(counts: Codes, bare: Booleans, alpha: float, rng: np.random.Generator) -> Floats:
    n = counts.sum()
    return np.asarray(np.where(bare, counts / n, counts / n + rng.laplace(0, 2 / (n * alpha), len(counts))))
