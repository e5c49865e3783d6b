"""Draws whose totals are those of the file: what analysts estimate is kept, whatever law a column was given.

A record's draw is one of several paths, chosen by weight. A law of the replaced columns given the kept ones can be good
and still bend what an analyst asks: with y kept and x drawn given y, a slope of y on x that differs between groups, or
that is straight only on x's own scale. So the weights are tilted,

    P(path k of record i)  ∝  weight_ik · exp(λ't(x_ik, z_i))

with λ such that the expected totals Σ t are those of the file (see ``totals`` for what is totalled). It is the
likelihood of an exponential family, the original against the paths of its record, and convex in λ. Estimates that are
functions of such totals (means, variances, tables, regressions with and without products) are then those of the file
but for the draw, and the draw itself is balanced: it leaves a total off by a few records' worth.

λ is estimated, not drawn: combining rules for partially synthetic copies hold all the same (Reiter and Kinney 2012).
Which totals: those that are farthest off, in their standard errors, a few at a time; three for every forty records at
most, and 180.

References
----------
Reiter, Kinney (2012), Journal of Official Statistics 28(4), 583-590. Efron, Tibshirani (1996), Annals of Statistics
24(6), 2431-2461 (tilts by exponential families). Alweiss, Liu, Sawhney (2021), STOC, 14-20 (the walk).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from synthdp.arrays import Codes, Floats, compiled
from synthdp.imputation.auto.totals import Total, Totals

ROUNDS, STEPS = 2, 20
# a gain of the log likelihood per total that ends the search
ENOUGH = 0.003
# a total for so many records, at most so many in a round, and how far off in standard errors is near enough
RECORDS_A_TOTAL, MOST_A_ROUND, NEAR = 20, 60, 0.1
# the prior sd of λ, per sd of a total
PRIOR_SD = 10.0
# records that the curvature is taken from, at most, and that the walk takes at a time
CURVED, STRIDE = 4_000, 4_096
# records by which totals are chosen in files of more than twice as many
SPACED = 8_000
# what is added to the variances of totals in units of their sd, where all records tell, and where some do
ALL, SOME = 1e-4, 0.05
# how little the walk heeds what is off, per total
SLACK = 4.0


Tilt = tuple[list[Total], Floats]


def matched(
    totals: Totals,
    rows: Codes,
    values: Mapping[str, Floats],
    log_weight: Floats,
    before: Tilt | None = None,
    *,
    rng: np.random.Generator,
) -> tuple[Codes, Tilt]:
    """Return which path each record takes, and the totals with their λ.

    Cost O(n · (paths · features + t²)) for each of some tens of steps, with t totals, and O(n · features · kept²) to
    choose them.

    Parameters
    ----------
    rows
        The records, as places in the file.
    values
        The paths of every replaced column, records by paths.
    before
        What was found for another part of the file: its totals are matched here too.
    """
    allowed = np.isfinite(log_weight).any(axis=1, keepdims=True)
    problem = Problem(totals.kept[rows], totals.records(rows), totals.paths(values), np.where(allowed, log_weight, 0.0))
    if before is None or not before[0]:
        chosen, tilt = _chosen(totals, rows, problem)
    else:
        chosen, tilt = before[0], problem.solve(*before)
    return problem.walk(chosen, problem.shares(chosen, tilt), rng=rng), (chosen, tilt)


def _chosen(totals: Totals, rows: Codes, problem: "Problem") -> Tilt:
    """Return the totals that are matched, and λ; in large files both are first found by evenly spaced records."""
    size = int(np.clip(len(rows) // (RECORDS_A_TOTAL * ROUNDS), 1, MOST_A_ROUND))
    large = len(rows) > 2 * SPACED
    part = np.arange(0, len(rows), len(rows) // SPACED) if large else np.arange(len(rows))
    some = problem.of(part) if large else problem
    chosen: list[Total] = []
    tilt = np.empty(0)
    # the last round is for bins, so that they take no place of what analysts estimate
    for turn in range(ROUNDS + 1):
        shares = some.shares(chosen, tilt)
        means = some.means(shares)
        reach = np.sqrt(some.variances(shares, means))
        left, bins = some.seen - means, turn == ROUNDS
        new = totals.farthest(rows[part], left, reach, taken=chosen, most=size, near=NEAR, bins=bins)
        if new:
            chosen += new
            tilt = some.solve(chosen, np.concatenate([tilt, np.zeros(len(new))]))
    return chosen, problem.solve(chosen, tilt) if large and chosen else tilt


@dataclass(frozen=True, repr=False)
class Problem:
    """The records whose paths are weighed.

    Parameters
    ----------
    kept
        The kept columns: n × p.
    seen, drawn
        The features of the records, n × q, and of their paths: q × n × paths.
    base
        The paths' log weights: n × paths.
    """

    kept: Floats
    seen: Floats
    drawn: Floats
    base: Floats

    def of(self, rows: Codes) -> "Problem":
        """Return the same for some of the records."""
        return Problem(self.kept[rows], self.seen[rows], self.drawn[:, rows], self.base[rows])

    def products(self, chosen: list[Total], rows: Codes | slice = slice(None)) -> Floats:
        """Return what each total multiplies its feature by: one column each."""
        kept = self.kept[rows]
        return kept[:, [total[1] for total in chosen]] * kept[:, [total[2] for total in chosen]]

    def shares(self, chosen: list[Total], tilt: Floats) -> Floats:
        """Return the probability of every path."""
        return self._weighed(chosen, tilt, self.products(chosen))[0]

    def means(self, shares: Floats) -> Floats:
        """Return what is expected of every feature: n × q."""
        found: Floats = np.einsum("qnk,nk->qn", self.drawn, shares).T
        return found

    def solve(self, chosen: list[Total], start: Floats) -> Floats:
        """Return λ by Newton's method.

        In large files the variances of the totals, which are the curvature, are those of all records, their
        correlations those of some: in a direction that none of these tell of a step would be too long.
        """
        of, products = [total[0] for total in chosen], self.products(chosen)
        terms = self.seen[:, of] * products
        aim = terms.sum(axis=0)
        precision = (terms**2).mean(axis=0) / PRIOR_SD**2
        tilt, damping, gain = start, ALL if len(self.seen) <= CURVED else SOME, 0.0
        shares, norm = self._weighed(chosen, tilt, products)
        value = float(aim @ tilt - norm - 0.5 * precision @ tilt**2)
        for i in range(STEPS):
            means = self.means(shares)
            slope = aim - np.einsum("it,it->t", means[:, of], products) - precision * tilt
            # the curvature costs most, and hardly changes where a step gained little, or in a large file
            if i < 2 or (gain > len(chosen) / 10 and len(shares) <= CURVED):
                spread = np.sqrt(np.einsum("it,it->t", self.variances(shares, means)[:, of], products**2) + precision)
                # of a level that none of these records has there is nothing to match, and its λ stays
                spread[spread == 0] = 1.0
                root = cho_factor(self._correlation(chosen, shares) + damping * np.eye(len(chosen)))
            step = cho_solve(root, slope / spread) / spread
            length = 1.0
            while length > 0.01:
                further = tilt + length * step
                new, norm = self._weighed(chosen, further, products)
                gain = float(aim @ further - norm - 0.5 * precision @ further**2) - value
                if gain > 0:
                    tilt, shares, value = further, new, value + gain
                    break
                length /= 2
            if gain < ENOUGH * len(chosen):
                break
        return tilt

    def walk(self, chosen: list[Total], shares: Floats, *, rng: np.random.Generator) -> Codes:
        """Choose one path per record, each with its share, so that totals come near to what is expected of them.

        Records choose one after the other, in random order. What the totals are off so far, d, moves the shares of the
        next record's paths against it, p_k (1 - d'u_k / c), where u is how far a path is from its record's mean, in
        units of what is usual and c at least as large as any |d'u_k|. d is 0 in expectation, so every path keeps its
        share; but it does not grow with n.
        """
        root, scale = self._usual(chosen, shares)
        root = root.astype(np.float32)
        off, found = np.zeros(len(chosen)), np.empty(len(shares), dtype=np.int64)
        order = rng.permutation(len(shares))
        for start in range(0, len(order), STRIDE):
            rows = order[start : start + STRIDE]
            # what is off is a matter of a few records, not of digits
            apart = (self._apart(chosen, shares, rows) / scale[:, None, None]).astype(np.float32)
            even = solve_triangular(root, apart.reshape(len(chosen), shares[rows].size), lower=True).reshape(
                apart.shape
            )
            steps = np.ascontiguousarray(even.transpose(1, 2, 0))
            found[rows] = _walk(shares[rows], steps, off, rng.random(len(rows)), SLACK * max(len(chosen), 1))
        return found

    def _weighed(self, chosen: list[Total], tilt: Floats, products: Floats) -> tuple[Floats, float]:
        """Return the shares, and the sum of the logs of what they were divided by."""
        weights = self.base.copy()
        for feature, places in _by_feature(chosen):
            weights += self.drawn[feature] * (products[:, places] @ tilt[places])[:, None]
        top = weights.max(axis=1, keepdims=True)
        np.exp(weights - top, out=weights)
        total = weights.sum(axis=1, keepdims=True)
        return weights / total, float(top.sum() + np.log(total).sum())

    def variances(self, shares: Floats, means: Floats) -> Floats:
        """Return the variance of every feature over a record's paths: n × q."""
        squares = np.einsum("qnk,qnk,nk->qn", self.drawn, self.drawn, shares).T
        found: Floats = np.maximum(squares - means**2, 0.0)
        return found

    def _covariance(self, chosen: list[Total], shares: Floats) -> Floats:
        """Return the covariance of the terms of one record, from evenly spaced ones where there are many."""
        rows = np.arange(0, len(shares), -(-len(shares) // CURVED))
        terms = self._apart(chosen, shares, rows)
        terms *= np.sqrt(shares[rows])
        terms = terms.reshape(len(chosen), shares[rows].size)
        found: Floats = terms @ terms.T / len(rows)
        return found

    def _correlation(self, chosen: list[Total], shares: Floats) -> Floats:
        found = self._covariance(chosen, shares)
        scale = np.sqrt(np.maximum(np.diag(found), 1e-300))
        correlation: Floats = found / np.outer(scale, scale)
        return correlation

    def _usual(self, chosen: list[Total], shares: Floats) -> tuple[Floats, Floats]:
        """Return the root of the correlations of one record's terms, and their sds."""
        found = self._covariance(chosen, shares)
        scale = np.sqrt(np.diag(found))
        # a total that moves in none of the records looked at may still do so in others
        scale[scale == 0] = 1.0
        return np.linalg.cholesky(found / np.outer(scale, scale) + 1e-3 * np.eye(len(scale))), scale

    def _apart(self, chosen: list[Total], shares: Floats, rows: Codes) -> Floats:
        """Return how far every path's terms are from their record's mean: totals × records × paths."""
        part, products = shares[rows], self.products(chosen, rows)
        found = np.empty((len(chosen), *part.shape))
        for feature, places in _by_feature(chosen):
            paths = self.drawn[feature][rows]
            centred = paths - np.einsum("nk,nk->n", paths, part)[:, None]
            for place in places:
                np.multiply(products[:, place, None], centred, out=found[place])
        return found


def _by_feature(chosen: list[Total]) -> Iterator[tuple[int, Codes]]:
    of = np.asarray([total[0] for total in chosen], dtype=np.int64)
    return ((int(feature), np.flatnonzero(of == feature)) for feature in np.unique(of))


@compiled
def _walk(shares: Floats, steps: Floats, off: Floats, chance: Floats, slack: float) -> Codes:
    """Return the path of each record in turn; ``off`` is carried on in place."""
    n, paths, totals = steps.shape
    found, turn = np.zeros(n, dtype=np.int64), np.zeros(paths)
    for i in range(n):
        most = slack
        for k in range(paths):
            turn[k] = 0.0
            for j in range(totals):
                turn[k] += off[j] * steps[i, k, j]
            most = max(most, abs(turn[k]))
        # rounding may leave more than all shares took: the last path that has one is then taken, not one that has none
        left, taken = chance[i], 0
        for k in range(paths):
            share = shares[i, k] * (1.0 - turn[k] / most)
            if share > 0:
                taken = k
                left -= share
                if left < 0:
                    break
        found[i] = taken
        for j in range(totals):
            off[j] += steps[i, taken, j]
    return found
