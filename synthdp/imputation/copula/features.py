"""What the copula's moments are made of: features of latents, and how they answer to the latents' locations.

In single precision, added up in double over parts of the records: features are right to six digits, and what records
leave open is a thousandth and more.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from synthdp.imputation.copula.choices import constants, slopes
from synthdp.imputation.copula.latent import Latent, Shape, Singles
from synthdp.table.microdata import Floats

SQRT_TAU = np.sqrt(2 * np.pi)
PART = 20_000  # records at once
SMALLEST = 1e-30  # a utility that is chosen is above zero


def scores(low: Floats, high: Floats) -> Floats:
    """Return the means of standard normals between limits."""
    density = [np.exp(-(edge**2) / 2) / SQRT_TAU for edge in (low, high)]
    # from whichever tail keeps the digits
    share = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    middle = np.where(np.isfinite(low), low, high)
    return np.asarray(np.divide(density[0] - density[1], share, out=middle.copy(), where=share > 0))


@dataclass(frozen=True, repr=False)
class Steps:
    """Of one coordinate that is not a utility: the intervals of latents that its records cannot tell apart.

    Parameters
    ----------
    lower, upper
        The intervals in order.
    score
        The mean of a standard normal in each.
    """

    lower: Singles
    upper: Singles
    score: Singles

    @classmethod
    def of(cls, lower: Floats, upper: Floats) -> "Steps":
        """Return the intervals of the records; known latents need none. O(n log n)."""
        wide = np.flatnonzero((lower < upper) & ~(np.isinf(lower) & np.isinf(upper)))
        low, first = np.unique(lower[wide], return_index=True)
        high = upper[wide][first]
        found = [part.astype(np.float32) for part in (low, high, scores(low, high))]
        return cls(*found)

    def __call__(self, y: Singles) -> Singles:
        """Return scores of latents; the latents themselves where they could be told apart."""
        if not len(self.lower):
            return y
        at = np.maximum(np.searchsorted(self.lower, y, side="right") - 1, 0)
        inside = (y >= self.lower[at]) & (y <= self.upper[at])
        return np.where(inside, self.score[at], y)


@dataclass(frozen=True, repr=False)
class Features:
    """What is compared: a feature for every latent coordinate.

    Parameters
    ----------
    shape
        Which coordinate is what.
    steps
        Of every coordinate; not read for utilities.
    """

    shape: Shape
    steps: tuple[Steps, ...]

    @classmethod
    def of(cls, latent: Latent) -> "Features":
        """Return the features of these records' latents."""
        owner, nothing = latent.shape.owner(), np.zeros(0, dtype=np.float32)
        found = [
            Steps.of(latent.lower[:, j], latent.upper[:, j]) if owner[j] < 0 else Steps(nothing, nothing, nothing)
            for j in range(latent.shape.width)
        ]
        return cls(latent.shape, tuple(found))

    def __call__(self, y: Singles) -> Singles:
        """Return the features of latents, q × n. O(n q log n)."""
        found = np.empty(y.shape, dtype=np.float32)
        for j in np.flatnonzero(self.shape.owner() < 0):
            found[j] = self.steps[j](y[j])
        for first, size in zip(self.shape.first, self.shape.size, strict=True):
            mine = y[first : first + size]
            best = np.maximum(mine.max(axis=0), np.float32(SMALLEST))
            np.equal(mine, best, out=found[first : first + size], casting="unsafe")
        return found

    def known(self, latent: Latent) -> Singles:
        """Return what the records themselves say of their features, q × n; zero where a cell is missing. O(n q)."""
        found = np.zeros(latent.lower.T.shape, dtype=np.float32)
        for j in np.flatnonzero(self.shape.owner() < 0):
            low, high = latent.lower[:, j], latent.upper[:, j]
            steps, wide = self.steps[j], np.flatnonzero(low < high)
            found[j] = np.where(low < high, 0.0, low)
            if len(steps.lower):
                some = wide[~(np.isinf(low[wide]) & np.isinf(high[wide]))]
                at = np.searchsorted(steps.lower, low[some].astype(np.float32), side="right") - 1
                found[j, some] = steps.score[np.maximum(at, 0)]
        for number, (first, size) in enumerate(zip(self.shape.first, self.shape.size, strict=True)):
            found[first : first + size] = latent.codes[:, number] == np.arange(1, size + 1)[:, None]
        return found

    def moments(self, found: Singles, weights: Singles | None = None) -> tuple[Floats, Floats]:
        """Return the means and covariances of features. O(n q²)."""
        q, n = found.shape
        total = float(n) if weights is None else float(weights.sum(dtype=np.float64))
        sums, cross = np.zeros(q), np.zeros((q, q))
        for start in range(0, n, PART):
            some = found[:, start : start + PART]
            weighed = some if weights is None else some * weights[start : start + PART]
            sums += weighed.sum(axis=1)
            cross += some @ weighed.T
        mean = sums / total
        return mean, cross / total - np.outer(mean, mean)

    def standardised(self, s: Floats) -> Floats:
        """Return covariances of features that have variance one, but for indicators."""
        sd = np.where(self.shape.owner() < 0, np.sqrt(np.diag(s)), 1.0)
        return np.asarray(s / np.outer(sd, sd))


@dataclass(frozen=True, repr=False)
class Response:
    """How features answer to the latents' locations, from shares of levels.

    Parameters
    ----------
    mean
        Of the latents: constants of the utilities that have these shares, zero elsewhere.
    inverse
        G⁻¹.
    shown
        Of each coordinate the share of information.
    """

    mean: Floats
    inverse: Floats
    shown: Floats

    @classmethod
    def of(cls, shape: Shape, center: Floats, s: Floats, start: Floats | None = None) -> "Response":
        """Return the response at independence, from the features' means and covariances.

        Parameters
        ----------
        start
            Means of the latents to begin from.
        """
        mean, g, shown = np.zeros(shape.width), np.eye(shape.width), np.ones(shape.width)
        for j in np.flatnonzero(shape.owner() < 0):
            # the sd of scores, which is their correlation with the latent
            g[j, j] = min(float(np.sqrt(s[j, j])), 1.0)
            shown[j] = g[j, j] ** 2
        for first, size in zip(shape.first, shape.size, strict=True):
            mine = slice(first, first + size)
            shares = center[mine]
            mean[mine] = constants(shares, None if start is None else start[mine])
            g[mine, mine] = slopes(mean[mine])
            shown[mine] = np.minimum(np.diag(g[mine, mine]) ** 2 / (shares * (1 - shares)), 1.0)
        return cls(mean, np.asarray(np.linalg.inv(g), dtype=np.float64), shown)

    def correlations(self, s: Floats) -> Floats:
        """Return the correlations that covariances speak of, to first order."""
        return np.asarray(self.inverse @ s @ self.inverse.T)
