"""A column of levels given the kept columns and the columns before it: a logit, and a tree of what it leaves.

With p(l | x) by a multinomial logit

    P(l | x, leaf)  ∝  p(l | x) · (O_l + κ π_l) / (E_l + κ π_l)

O and E are how many records of the leaf have the level and how many the logit expects; π = E / ΣE. Where a level was
expected but nobody has it, it is impossible there. Without a regression a leaf's shares are its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from synthdp.arrays import Codes, Floats, compiled
from synthdp.imputation.auto.numbers import dealt
from synthdp.imputation.families.family import LOCATION_SD, proper
from synthdp.imputation.families.sampling import find_mode
from synthdp.imputation.families.unordered import MultinomialTarget
from synthdp.imputation.trees.donors import Donors
from synthdp.imputation.trees.tree import Tree
from synthdp.masking.evidence import log_sum

PRIOR_RECORDS = 1.0
EXPECTED = 3.0
# weights below are looked at by their logs
TINY = 1e-200


@dataclass(frozen=True, repr=False)
class Told:
    """What W says of each level, records by levels: the logs, each record's largest, and the rest against it."""

    log_weights: Floats
    top: Floats
    weights: Floats

    @classmethod
    def of(cls, log_weights: Floats) -> "Told":
        """Work out what every draw asks for: once for all paths of a record."""
        held = np.ascontiguousarray(log_weights)
        top = np.full(len(held), -np.inf)
        for column in held.T:
            np.maximum(top, column, out=top)
        top[~np.isfinite(top)] = 0.0
        return cls(held, top, np.exp(held - top[:, None]))


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
        self, leaves: Codes, shift: Floats, heard: Told, record: Codes, *, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw a level for each path; ``heard`` is what W says of each level, by record, ``record`` whose it is."""
        if self.donors is not None:
            norm = dealt(leaves, rng=rng)
            x, n = np.empty(len(leaves)), len(heard.top)
            _pick(
                leaves.reshape(n, -1),
                self.donors.offsets,
                self.donors.value.astype(np.int64),
                np.exp(self.donors.log_mass),
                heard.weights,
                heard.log_weights,
                heard.top,
                np.empty(int(np.diff(self.donors.offsets).max())),
                x.reshape(n, -1),
                norm.reshape(n, -1),
            )
            return x, norm
        log_p = log_shares(shift) + self.correction[leaves]
        log_p -= log_sum(log_p)[:, None]
        weighed = log_p + heard.log_weights[record]
        norm = log_sum(weighed)
        excluded = np.isneginf(norm)
        weighed[excluded] = log_p[excluded]
        possible = weighed - np.where(excluded, 0.0, norm)[:, None]
        passed = np.exp(possible).cumsum(axis=1)
        chance = dealt(leaves, rng=rng) * passed[:, -1]
        return (chance[:, None] >= passed[:, :-1]).sum(axis=1).astype(np.float64), norm


@compiled
def _pick(
    leaves: Codes,
    offsets: Codes,
    value: Codes,
    mass: Floats,
    told: Floats,
    heard: Floats,
    top: Floats,
    room: Floats,
    x: Floats,
    norm: Floats,
) -> None:
    """Draw a level of each path's leaf given W, and the log of how well the leaf explains W.

    ``norm`` holds a uniform number for each path, and then the logs. As ``trees.donors.draw``, its twin, does it for
    levels, but without an exponential for each level of a leaf: ``told`` has those of what W says, less each record's
    largest (``top``). Only where they are all nothing are logs looked at.
    """
    n, paths = leaves.shape
    for i in range(n):
        highest, total = top[i], 0.0
        for p in range(paths):
            first, many = offsets[leaves[i, p]], offsets[leaves[i, p] + 1] - offsets[leaves[i, p]]
            if p == 0 or leaves[i, p] != leaves[i, p - 1]:
                highest, total = top[i], 0.0
                for c in range(first, first + many):
                    total += mass[c] * told[i, value[c]]
                    room[c - first] = total
                if total < TINY:
                    highest, total = -np.inf, 0.0
                    for c in range(first, first + many):
                        highest = max(highest, heard[i, value[c]])
                    for c in range(first, first + many):
                        total += mass[c] * (np.exp(heard[i, value[c]] - highest) if highest > -np.inf else 1.0)
                        room[c - first] = total
            wanted, c = norm[i, p] * total, 0
            while c < many - 1 and room[c] <= wanted:
                c += 1
            x[i, p] = value[first + c]
            norm[i, p] = highest + np.log(total)


def log_shares(eta: Floats) -> Floats:
    """Return log P(level) from the linear predictors of all levels but the first."""
    full = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    return np.asarray(full - log_sum(full)[:, None])


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
    return np.asarray(np.nan_to_num(found, nan=0.0, neginf=-np.inf))


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
