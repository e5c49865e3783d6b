"""One column given the kept columns and the columns before it: a regression, and a tree of what it leaves.

A number, on the scale of its scores:

    s = x'β + σ(x) e,    log σ² = x'γ,    e ~ the mixture of the tree's leaf:  Σ_g b_g N(m_g, h_g²)

Groups g of at least five neighbouring residuals of a leaf have their own mean and spread; masses are drawn by the
Bayesian bootstrap, β from its posterior given σ; γ is the regression of log squared residuals, drawn towards zero by as
much of it as chance explains. Levels, with p(l | x) by a multinomial logit:

    P(l | x, leaf)  ∝  p(l | x) · (O_l + κ π_l) / (E_l + κ π_l)

O and E are how many records of the leaf have the level and how many the logit expects; π = E / ΣE. Where a level was
expected but nobody has it, it is impossible there. Without a regression β = 0, and a leaf's shares are its own. The
tree grows only splits that chance would not give, so where the regression is right it is a single leaf.

References
----------
Rubin (1981), Annals of Statistics 9(1), 130-134 (the Bayesian bootstrap).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from synthdp.arrays import Codes, Floats
from synthdp.imputation.families.family import LOCATION_SD, proper
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.families.sampling import find_mode
from synthdp.imputation.families.unordered import MultinomialTarget
from synthdp.imputation.trees import donors
from synthdp.imputation.trees.donors import About, Donors
from synthdp.imputation.trees.tree import Tree
from synthdp.masking.evidence import draw_levels, log_sum

GROUP = 5
MOST_GROUPS = 40
PRIOR_RECORDS = 1.0
EXPECTED = 3.0
# squared residuals below this share of their mean count as this much
SMALL = 1e-3


@dataclass(frozen=True, repr=False)
class Sorted:
    """The records of a tree's leaves, sorted by what is left of them, and where groups of neighbours begin."""

    rows: Codes
    starts: Codes
    offsets: Codes

    @classmethod
    def of(cls, tree: Tree, residual: Floats) -> "Sorted":
        """Group the records of each leaf. Cost O(n log n)."""
        size = np.diff(tree.offsets)
        leaf = np.repeat(np.arange(tree.leaves), size)
        order = np.lexsort((residual[tree.rows], leaf))
        starts: list[Codes] = []
        offsets = [0]
        for begin, count in zip(tree.offsets[:-1], size, strict=True):
            groups = int(np.clip(count // GROUP, 1, MOST_GROUPS))
            starts.append(begin + np.linspace(0, count, groups + 1).astype(np.int64)[:-1])
            offsets.append(offsets[-1] + groups)
        return cls(tree.rows[order], np.concatenate(starts), np.asarray(offsets, dtype=np.int64))

    def donors(self, residual: Floats, weights: Floats) -> Donors:
        """Return each leaf's mixture: means, spreads and masses of its groups. Cost O(n)."""
        r, w = residual[self.rows], weights[self.rows]
        mass = np.add.reduceat(w, self.starts)
        mean = np.add.reduceat(w * r, self.starts) / mass
        spread = np.add.reduceat(w * r**2, self.starts) / mass - mean**2
        per_leaf = np.add.reduceat(mass, self.offsets[:-1])
        share = mass / np.repeat(per_leaf, np.diff(self.offsets))
        return Donors(self.offsets, mean, np.sqrt(np.maximum(spread, 0.0)), np.log(share))


@dataclass(frozen=True, repr=False)
class Linear:
    """One draw of a number's distribution.

    Parameters
    ----------
    base
        x'β of the kept columns, and x'γ/2, by record.
    slopes
        β and γ/2 of every column drawn before, by name.
    low, high
        By leaf: the range of what is left; nothing is drawn beyond.
    """

    tree: Tree
    donors: Donors
    base: Floats
    slopes: Mapping[str, Floats]
    low: Floats
    high: Floats

    def draw(
        self, leaves: Codes, shift: Floats, center: Floats, precision: Floats, *, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw a value for each path, and return the log of how well its leaf explains W.

        Parameters
        ----------
        shift
            x'β and x'γ/2 of each path.
        center, precision
            What W says of each path's record.
        """
        mean, sd = shift[:, 0], np.exp(shift[:, 1])
        about = About((center - mean) / sd, precision * sd**2, np.empty((len(leaves), 0)))
        noise = rng.standard_normal((len(leaves), 1))
        most = int(np.diff(self.donors.offsets).max())
        e, norm = donors.draw(leaves[:, None], self.donors, about, rng.random((len(leaves), 1)), noise, most)
        return mean + sd * np.clip(e[:, 0], self.low[leaves], self.high[leaves]), norm[:, 0]


@dataclass(frozen=True, repr=False)
class Levels:
    """One draw of the distribution of a column of levels.

    Parameters
    ----------
    base, slopes
        As of a number, one column for each level but the first; None without a regression.
    correction
        By leaf and level: the log of what the leaf multiplies the regression by.
    donors
        The levels of each leaf with their shares, where there is no regression.
    """

    tree: Tree
    base: Floats | None
    slopes: Mapping[str, Floats]
    correction: Floats
    donors: Donors | None

    def draw(
        self, leaves: Codes, shift: Floats, heard: Floats, record: Codes, *, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw a level for each path; ``heard`` is what W says of each level, by record, ``record`` whose path it is."""
        if self.donors is not None:
            quiet = np.zeros(len(heard))
            about = About(quiet, quiet, np.ascontiguousarray(heard))
            most = int(np.diff(self.donors.offsets).max())
            together = leaves.reshape(len(heard), -1)
            silent = np.zeros(together.shape)
            x, norm = donors.draw(together, self.donors, about, rng.random(together.shape), silent, most)
            return x.ravel(), norm.ravel()
        log_p = log_shares(shift) + self.correction[leaves]
        log_p -= log_sum(log_p)[:, None]
        weighed = log_p + heard[record]
        norm = log_sum(weighed)
        return draw_levels(np.where(np.isfinite(norm)[:, None], weighed, log_p), rng=rng).astype(np.float64), norm


def log_shares(eta: Floats) -> Floats:
    """Return log P(level) from the linear predictors of all levels but the first."""
    full = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    return np.asarray(full - log_sum(full)[:, None])


@dataclass(frozen=True, repr=False)
class NumberFit:
    """What is learnt of a number once; masses and coefficients are drawn for every copy."""

    tree: Tree
    sorted: Sorted
    line: "Line | None"
    design: Floats
    y: Floats
    rows: Codes

    def draw(self, n: int, *, rng: np.random.Generator) -> tuple[Donors, Floats, Floats, Floats]:
        """Draw the leaf's mixtures, β and γ/2 side by side; return them with the range of each leaf."""
        weights = rng.standard_exponential(n)
        beta = np.empty((0, 2))
        residual = self.y
        if self.line is not None:
            beta = np.column_stack([self.line.posterior.draw(rng=rng).beta, self.line.half])
            residual = (self.y - self.design @ beta[:, 0]) * np.exp(-self.design @ beta[:, 1])
        everyone = np.zeros(n)
        everyone[self.rows] = residual
        held = everyone[self.sorted.rows]
        begin = self.tree.offsets[:-1]
        low, high = np.minimum.reduceat(held, begin), np.maximum.reduceat(held, begin)
        return self.sorted.donors(everyone, weights), beta, low, high


@dataclass(frozen=True, repr=False)
class Line:
    """A linear regression whose spread is log-linear: the posterior of β given σ, and γ/2."""

    posterior: LinearPosterior
    half: Floats

    @classmethod
    def fit(cls, design: Floats, y: Floats, prior_sd: Floats) -> "Line":
        """Fit the mean, the spread of what is left, and the mean again. Cost O(n·d²)."""
        plain = LinearPosterior.fit(design, y, prior_sd)
        half = _spread(design, y - design @ plain.mean, prior_sd)
        sd = np.exp(design @ half)
        return cls(LinearPosterior.fit(design / sd[:, None], y / sd, prior_sd), half)

    def left(self, design: Floats, y: Floats) -> Floats:
        """Return what the regression leaves, in units of its spread."""
        return np.asarray((y - design @ self.posterior.mean) * np.exp(-design @ self.half))


def _spread(design: Floats, left: Floats, prior_sd: Floats) -> Floats:
    """Return γ/2, without its constant: what is left is standardised by its leaf."""
    n, d = design.shape
    squares = np.log(left**2 + SMALL * max(float((left**2).mean()), 1e-300))
    fit = LinearPosterior.fit(design, squares, prior_sd)
    fitted = design @ fit.mean
    explained, rest = float(fitted.var()), float((squares - fitted).var())
    # the share of the explained variance that chance does not give
    true = max(0.0, 1.0 - rest * (d - 1) / max(n - d, 1) / explained) if explained > 0 else 0.0
    gamma = fit.mean * true
    gamma[0] -= float((design @ gamma).mean())
    return np.asarray(gamma / 2)


def fit_number(tree: Tree, line: Line | None, design: Floats, y: Floats, rows: Codes, n: int) -> NumberFit:
    """Return what a number's distribution is drawn from; without a line the tree alone."""
    residual = np.zeros(n)
    residual[rows] = y if line is None else line.left(design, y)
    return NumberFit(tree, Sorted.of(tree, residual), line, design, y, rows)


@dataclass(frozen=True, repr=False)
class Logit:
    """The posterior of a multinomial logit, normal about its mode."""

    mode: Floats
    factor: Floats
    levels: int

    @classmethod
    def fit(cls, design: Floats, y: Floats, levels: int, prior_sd: Floats) -> "Logit":
        """Find the mode and the curvature there. Cost O(n·(L·d)²) per iteration."""
        codes = y.astype(np.int64)
        chosen = np.stack([design[codes == level].sum(axis=0) for level in range(1, levels)])
        target = MultinomialTarget(design, chosen, proper(prior_sd, LOCATION_SD))
        counts = np.bincount(codes, minlength=levels) + 0.5
        start = np.zeros_like(chosen)
        start[:, 0] = np.log(counts[1:] / counts[0])
        return cls(*find_mode(target, start.ravel()), levels)

    def beta(self, theta: Floats) -> Floats:
        """Return coefficients, d × (levels − 1)."""
        return np.ascontiguousarray(theta.reshape(self.levels - 1, -1).T)

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw the coefficients."""
        noise = solve_triangular(self.factor, rng.standard_normal(len(self.mode)), lower=True, trans=1)
        return self.beta(self.mode + noise)


def corrections(leaf: Codes, leaves: int, y: Codes, log_p: Floats, weights: Floats) -> Floats:
    """Return by leaf and level the log of what the regression is multiplied by. Cost O(n · levels)."""
    levels = log_p.shape[1]
    seen = np.bincount(leaf * levels + y, weights=weights, minlength=leaves * levels).reshape(leaves, levels)
    expected = np.stack([np.bincount(leaf, weights * np.exp(p), minlength=leaves) for p in log_p.T], axis=1)
    share = PRIOR_RECORDS * expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(seen + share) - np.log(expected + share)
    found[(seen == 0) & (expected > EXPECTED)] = -np.inf
    return np.nan_to_num(found, nan=0.0, neginf=-np.inf)


def level_donors(tree: Tree, y: Codes, weights: Floats, levels: int) -> Donors:
    """Return the levels of each leaf with their shares."""
    leaf = np.repeat(np.arange(tree.leaves), np.diff(tree.offsets))
    code = leaf * levels + y[tree.rows]
    cells, place = np.unique(code, return_inverse=True)
    mass = np.bincount(place, weights=weights[tree.rows])
    where = cells // levels
    total = np.bincount(where, weights=mass, minlength=tree.leaves)
    offsets = np.searchsorted(where, np.arange(tree.leaves + 1)).astype(np.int64)
    return Donors(offsets, (cells % levels).astype(np.float64), np.zeros(len(cells)), np.log(mass / total[where]))
