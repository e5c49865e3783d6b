"""Ordered probit and logit regression.

    P(y ≤ k) = F(κ_{k+1} - η),   κ₁ < … < κ_{L-1},   η = x'β without a constant,   F = Φ or logistic

One cutpoint is a location, the others follow at distances exp(s): θ = (β, location, s). The log likelihood is concave
in (β, κ); in s it need not be, but s is unconstrained and a level that nobody has only loses its information about
its own distance, which the prior supplies.

References
----------
McCullagh (1980), Journal of the Royal Statistical Society B 42(2), equation 3.1.
Pratt (1981), Journal of the American Statistical Association 76(373) (concavity).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from synthdp.imputation.families.family import LOCATION_SD, Enumerated, blocks
from synthdp.imputation.families.links import LATENT_SD, LinkName, density_ratio, log_density_slope, log_interval
from synthdp.imputation.families.sampling import Sampled, sampler
from synthdp.table.microdata import Codes, Floats


@dataclass(frozen=True)
class Ordered:
    """Ordered regression of a column with L levels.

    Parameters
    ----------
    location_sd
        The middle cutpoint is N(0, location_sd²) a priori.
    spacing_mean, spacing_sd
        Log distances between neighbouring cutpoints are N(spacing_mean, spacing_sd²) a priori. Default mean: the
        levels share four sds of the latent noise evenly; the default sd lets a distance be 19 times wider or narrower.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(90), rng.normal(size=90)])
    >>> y = np.digitize(design[:, 1] + rng.normal(size=90), [-0.5, 0.5]).astype(float)
    >>> drawn = Ordered(levels=3).fit(design, y, np.array([np.inf, 2.5]), rng=rng).draw(rng=rng)
    >>> drawn.beta.shape, drawn.cutpoints.shape
    ((2, 1), (2,))
    """

    levels: int
    link: LinkName = "probit"
    location_sd: float = LOCATION_SD
    spacing_mean: float | None = None
    spacing_sd: float = 1.5

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> "Sampled[OrderedDraw]":
        """Return the posterior. Cost O(n·d²) per Newton iteration; the constant's prior sd is not used."""
        codes = y.astype(np.int64)
        noise = LATENT_SD[self.link]
        share = (np.cumsum(np.bincount(codes, minlength=self.levels))[:-1] + 0.5) / (len(y) + 1)
        start = ndtri(share) * noise
        target = OrderedTarget(
            design[:, 1:],
            codes,
            prior_sd[1:],
            self,
            # the best known cutpoint carries the location: beside an empty level it would trade off with distances
            anchor=int(np.argmin(np.abs(share - 0.5))),
            spacing_mean=np.log(4 * noise / self.levels) if self.spacing_mean is None else self.spacing_mean,
        )
        spacing = np.log(np.maximum(np.diff(start), 0.02 * noise))
        theta = np.concatenate([np.zeros(design.shape[1] - 1), start[target.anchor : target.anchor + 1], spacing])
        return Sampled(sampler(target, theta, rng=rng), target.drawn)


@dataclass(frozen=True, repr=False)
class OrderedDraw(Enumerated):
    """One draw of the coefficients and the cutpoints; the constant's coefficient is zero, the cutpoints carry it."""

    beta: Floats
    cutpoints: Floats
    link: LinkName

    def log_levels(self, eta: Floats) -> Floats:
        """Return log P(level | η), n × L."""
        bounds = np.concatenate([[-np.inf], self.cutpoints, [np.inf]]) - eta[:, :1]
        return log_interval(bounds[:, :-1], bounds[:, 1:], self.link)

    def level_values(self) -> Floats:
        """Return the positions of the levels."""
        return np.arange(len(self.cutpoints) + 1.0)


@dataclass(frozen=True, repr=False)
class OrderedTarget:
    """The log posterior of θ = (slopes, location, log distances).

    Parameters
    ----------
    x
        The design without its constant.
    anchor
        Which cutpoint the location is. A change of anchor shifts the location by a function of the distances, which
        has unit Jacobian, so it changes the shape a sampler sees and not the posterior.
    """

    x: Floats
    codes: Codes
    prior_sd: Floats
    family: Ordered
    anchor: int
    spacing_mean: float

    def drawn(self, theta: Floats) -> OrderedDraw:
        """Return θ as what draws the column."""
        slopes, cutpoints = self.split(theta)
        return OrderedDraw(np.concatenate([[0.0], slopes])[:, None], cutpoints, self.family.link)

    def split(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return slopes and cutpoints."""
        return theta[: self.x.shape[1]], self._cutpoints(theta[None, :])[0]

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log posterior up to a constant, and its gradient. Cost O(n·d)."""
        slopes, cutpoints = self.split(theta)
        lower, upper = self._bounds(cutpoints, self.x @ slopes)
        log_p = log_interval(lower, upper, self.family.link)
        below, above = density_ratio(lower, log_p, self.family.link), density_ratio(upper, log_p, self.family.link)
        on_slopes = self.x.T @ (below - above) - slopes / self.prior_sd**2
        on_cutpoints = self._cutpoint_slope(cutpoints, below, above)
        jacobian = self._jacobian(theta)
        on_spacing = jacobian.T @ on_cutpoints
        on_spacing[1:] -= (theta[len(slopes) + 1 :] - self.spacing_mean) / self.family.spacing_sd**2
        return float(log_p.sum()) + self._log_prior(theta[None, :])[0], np.concatenate([on_slopes, on_spacing])

    def curvature(self, theta: Floats) -> Floats:
        """Return minus the second derivatives. Cost O(n·d²)."""
        from scipy import sparse

        slopes, cutpoints = self.split(theta)
        link, levels = self.family.link, self.family.levels
        lower, upper = self._bounds(cutpoints, self.x @ slopes)
        log_p = log_interval(lower, upper, link)
        below, above = density_ratio(lower, log_p, link), density_ratio(upper, log_p, link)
        # second derivatives of log(F(u) - F(l)) in u, in l, and in both
        uu = above * log_density_slope(upper, link) - above**2
        ll = -below * log_density_slope(lower, link) - below**2
        ul = above * below
        onehot = sparse.csr_array((np.ones(len(lower)), self.codes, np.arange(len(lower) + 1)), (len(lower), levels))
        by_level = onehot.T @ np.column_stack([uu, ll, ul])
        inner = np.diag(by_level[:-1, 0] + by_level[1:, 1])
        inner += np.diag(by_level[1:-1, 2], 1) + np.diag(by_level[1:-1, 2], -1)
        middle = (levels - 1) // 2
        inner[middle, middle] -= self.family.location_sd**-2.0
        from_above = np.asarray(onehot.T @ (self.x * (uu + ul)[:, None]))
        from_below = np.asarray(onehot.T @ (self.x * (ll + ul)[:, None]))
        cross = -(from_above[:-1] + from_below[1:])
        jacobian = self._jacobian(theta)
        spaced = jacobian.T @ inner @ jacobian
        bend = jacobian.T @ self._cutpoint_slope(cutpoints, below, above)
        d = len(slopes)
        result = np.empty((d + levels - 1, d + levels - 1))
        result[:d, :d] = np.diag(self.prior_sd**-2.0) - (self.x * (uu + 2 * ul + ll)[:, None]).T @ self.x
        result[d:, :d] = -jacobian.T @ cross
        result[:d, d:] = result[d:, :d].T
        result[d:, d:] = -spaced
        # d²κ/ds² = dκ/ds because distances are exp(s)
        extra = self.family.spacing_sd**-2.0 - bend[1:]
        result[np.arange(d + 1, len(result)), np.arange(d + 1, len(result))] += extra
        return result

    def relative(self, thetas: Floats, reference: Floats) -> Floats:
        """Return the log posterior of each row minus that of the reference. Cost O(n·d) per row."""
        rows = np.vstack([reference, thetas])
        slopes = rows[:, : self.x.shape[1]].T
        ends = np.full(len(rows), np.inf)
        bounds = np.vstack([-ends, self._cutpoints(rows).T, ends])
        total = self._log_prior(rows)
        for some in blocks(len(self.x), len(rows)):
            eta = self.x[some] @ slopes
            codes = self.codes[some]
            log_p = log_interval(bounds[codes] - eta, bounds[codes + 1] - eta, self.family.link)
            total += (log_p - log_p[:, :1]).sum(axis=0)
        return np.asarray(total[1:] - total[0])

    def _cutpoints(self, thetas: Floats) -> Floats:
        """Return the cutpoints of each row of parameters."""
        d = self.x.shape[1]
        steps = np.zeros((len(thetas), self.family.levels - 1))
        np.cumsum(np.exp(thetas[:, d + 1 :]), axis=1, out=steps[:, 1:])
        return np.asarray(thetas[:, d : d + 1] + steps - steps[:, self.anchor : self.anchor + 1])

    def _log_prior(self, thetas: Floats) -> Floats:
        d = self.x.shape[1]
        location = self._cutpoints(thetas)[:, (self.family.levels - 1) // 2]
        total = ((thetas[:, :d] / self.prior_sd) ** 2).sum(axis=1) + (location / self.family.location_sd) ** 2
        total += (((thetas[:, d + 1 :] - self.spacing_mean) / self.family.spacing_sd) ** 2).sum(axis=1)
        return np.asarray(-0.5 * total)

    def _bounds(self, cutpoints: Floats, eta: Floats) -> tuple[Floats, Floats]:
        bounds = np.concatenate([[-np.inf], cutpoints, [np.inf]])
        return bounds[self.codes] - eta, bounds[self.codes + 1] - eta

    def _cutpoint_slope(self, cutpoints: Floats, below: Floats, above: Floats) -> Floats:
        levels, middle = self.family.levels, (self.family.levels - 1) // 2
        slope = np.bincount(self.codes, above, levels)[:-1] - np.bincount(self.codes, below, levels)[1:]
        slope[middle] -= cutpoints[middle] / self.family.location_sd**2
        return np.asarray(slope, dtype=np.float64)

    def _jacobian(self, theta: Floats) -> Floats:
        """Return the derivatives of the cutpoints in (location, log distances)."""
        distances = np.exp(theta[self.x.shape[1] + 1 :])
        cutpoint, step = np.arange(len(distances) + 1)[:, None], np.arange(len(distances))
        sign = (step < cutpoint).astype(np.float64) - (step < self.anchor)
        return np.column_stack([np.ones(len(cutpoint)), sign * distances])
