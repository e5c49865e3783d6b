"""What the copula's moments are made of: features of latents, and how they answer to the latents' locations."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from synthdp.imputation.copula.choices import constants, slopes
from synthdp.imputation.copula.latent import Latent, Shape
from synthdp.table.microdata import Floats

SQRT_TAU = np.sqrt(2 * np.pi)


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

    lower: Floats
    upper: Floats
    score: Floats

    @classmethod
    def of(cls, lower: Floats, upper: Floats) -> "Steps":
        """Return the intervals of the records; known latents need none. O(n log n)."""
        wide = (lower < upper) & ~(np.isinf(lower) & np.isinf(upper))
        pairs = np.unique(np.column_stack([lower[wide], upper[wide]]), axis=0)
        low, high = pairs[:, 0], pairs[:, 1]
        density = [np.exp(-(edge**2) / 2) / SQRT_TAU for edge in (low, high)]
        # from whichever tail keeps the digits
        share = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        middle = np.where(np.isfinite(low), low, high)
        score = np.divide(density[0] - density[1], share, out=middle.copy(), where=share > 0)
        return cls(low, high, score)

    def __call__(self, y: Floats) -> Floats:
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
        owner, nothing = latent.shape.owner(), np.zeros(0)
        found = [
            Steps.of(latent.lower[:, j], latent.upper[:, j]) if owner[j] < 0 else Steps(nothing, nothing, nothing)
            for j in range(latent.shape.width)
        ]
        return cls(latent.shape, tuple(found))

    def __call__(self, y: Floats) -> Floats:
        """Return the features of latents, n × q. O(n q log n)."""
        found = np.empty(y.shape)
        for j in np.flatnonzero(self.shape.owner() < 0):
            found[:, j] = self.steps[j](y[:, j])
        for first, size in zip(self.shape.first, self.shape.size, strict=True):
            mine = y[:, first : first + size]
            best = mine.argmax(axis=1)
            chosen = np.flatnonzero(mine[np.arange(len(mine)), best] > 0)
            found[:, first : first + size] = 0.0
            found[chosen, first + best[chosen]] = 1.0
        return found

    def covariances(self, found: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the means and covariances of features; of standardised ones but for indicators. O(n q²)."""
        weights = np.ones(len(found)) if weights is None else weights
        mean = weights @ found / weights.sum()
        centred = found - mean
        s = centred.T @ (centred * weights[:, None]) / weights.sum()
        sd = np.where(self.shape.owner() < 0, np.sqrt(np.diag(s)), 1.0)
        return mean, np.asarray(s / np.outer(sd, sd))


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
    def of(cls, features: Features, found: Floats) -> "Response":
        """Return the response at independence."""
        shape = features.shape
        mean, g, shown = np.zeros(shape.width), np.eye(shape.width), np.ones(shape.width)
        for j in np.flatnonzero(shape.owner() < 0):
            # the sd of scores, which is their correlation with the latent
            g[j, j] = min(float(found[:, j].std()), 1.0)
            shown[j] = g[j, j] ** 2
        for first, size in zip(shape.first, shape.size, strict=True):
            mine = slice(first, first + size)
            shares = found[:, mine].mean(axis=0)
            mean[mine] = constants(shares)
            g[mine, mine] = slopes(mean[mine])
            shown[mine] = np.minimum(np.diag(g[mine, mine]) ** 2 / (shares * (1 - shares)), 1.0)
        return cls(mean, np.asarray(np.linalg.inv(g), dtype=np.float64), shown)

    def correlations(self, s: Floats) -> Floats:
        """Return the correlations that covariances speak of, to first order."""
        return np.asarray(self.inverse @ s @ self.inverse.T)

    def shortened(self, r: Floats) -> Floats:
        """Return by how much steps are shorter than to first order: not at all between two numbers."""
        return np.asarray(np.maximum(1 - r**2, 0.0) ** ((1 - np.outer(self.shown, self.shown)) / 2))
