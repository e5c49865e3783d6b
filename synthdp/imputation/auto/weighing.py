"""The paths of many records, weighed so that their expected totals are given ones, and then chosen.

λ is found by quasi-Newton steps in coordinates in which the curvature at the start is about 1 in every direction. The
choice is a balanced walk: every path keeps its probability, and what the totals are off does not grow with n.

References
----------
Nocedal, Wright (2006), Numerical Optimization, 2nd ed., section 6.1 (BFGS). Alweiss, Liu, Sawhney (2021), STOC, 14-20
(the walk).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from synthdp.arrays import Codes, Floats, compiled, summing
from synthdp.imputation.auto.totals import Total

STEPS = 30
# a gain of the log likelihood per total that ends the search
ENOUGH = 0.005
# the prior sd of λ in units of a record's paths: it only keeps λ of what few records tell from running away (with 3, a
# log-normal key's slopes were off by half a standard error)
PRIOR_SD = 40.0
# records that correlations are taken from, at most
CURVED = 8_000
# what is added to them where all records tell, and where some do
ALL, SOME = 1e-3, 0.02
# how little the walk heeds what is off, per total, and after so many records, per total, it looks again what that is
SLACK, AGAIN = 4.0, 1 / 16
# records that the loops go through at a time
AT_A_TIME = 512


@dataclass(frozen=True, repr=False)
class Weighing:
    """The records, their paths, and the totals that these should have.

    Parameters
    ----------
    products
        What each total multiplies its feature by: t × n.
    first
        Where the totals of each feature begin, and the end of the last: totals are in the order of their features.
    drawn
        The features of the paths: features × paths × n.
    base
        The paths' log weights: n × paths.
    aim
        The totals of the file.
    precision
        Of the prior of λ.
    """

    products: Floats
    first: Codes
    drawn: Floats
    base: Floats
    aim: Floats
    precision: Floats

    @classmethod
    def of(cls, kept: Floats, seen: Floats, drawn: Floats, base: Floats, chosen: tuple[Total, ...]) -> "Weighing":
        """Lay out the totals of records with these kept columns, features (n × q) and paths' features (n × paths × q).

        Of features and products seven digits are kept: what is off is a matter of a few records, not of digits.
        """
        of_each = np.asarray([total[0] for total in chosen], dtype=np.int64)
        used = np.unique(of_each)
        first = np.append(np.searchsorted(of_each, used), len(chosen)).astype(np.int64)
        products: Floats = np.empty((len(chosen), len(kept)), dtype=np.float32)
        aim = np.zeros(len(chosen))
        _multiply(kept, seen, np.asarray(chosen, dtype=np.int64).reshape(-1, 3), products, aim)
        found = cls(
            products,
            first,
            # features that are laid out one after the other, as paths are laid out by ``totals``, stay where they are
            np.ascontiguousarray((drawn if len(used) == drawn.shape[2] else drawn[:, :, used]).transpose(2, 1, 0)),
            np.ascontiguousarray(base),
            aim,
            np.zeros(len(chosen)),
        )
        # the variance of those whose paths differ at all, whom a total of few people is about
        _, variance, squares = found.spread(found.shares(np.zeros(len(chosen))))
        own = squares / np.where(variance > 0, variance, 1.0)
        return replace(found, precision=own / PRIOR_SD**2)

    def shares(self, tilt: Floats) -> Floats:
        """Return the probability of every path."""
        found = self.base.copy()
        _weigh(self.products, self.first, self.drawn, found, tilt, np.zeros(len(tilt)), self._room())
        return found

    def slope(self, tilt: Floats) -> tuple[float, Floats]:
        """Return the log likelihood of λ with its prior, and its gradient."""
        return self._at(tilt)[:2]

    def _at(self, tilt: Floats) -> tuple[float, Floats, Floats]:
        """Return the same, and the probability of every path."""
        expected, shares = np.zeros(len(tilt)), self.base.copy()
        norm = _weigh(self.products, self.first, self.drawn, shares, tilt, expected, self._room())
        value = self.aim @ tilt - norm - 0.5 * self.precision @ tilt**2
        return float(value), self.aim - expected - self.precision * tilt, shares

    def _begin(self, start: Floats) -> tuple[Floats, float, Floats, Floats]:
        """Return where the search begins, and what is known there: what few records found may be worse than nothing.

        The log likelihood is concave: where half of the start is no better than the start, nothing is no better either.
        """
        value, slope, shares = self._at(start)
        for part in (0.5, 0.0) if start.any() else ():
            other = part * start
            found = self._at(other)
            if found[0] <= value:
                break
            start, (value, slope, shares) = other, found
        return start, value, slope, shares

    def spread(self, shares: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what is expected of every total, its variance, and the sum of its records' squared variances."""
        found = np.zeros((3, len(self.aim)))
        _spread(self.products, self.first, self.drawn, shares, found, self._room())
        return found[0], found[1], found[2]

    def solve(self, start: Floats) -> Floats:
        """Return λ.

        Correlations of the totals are those of some records, their variances those of all: in a direction that none of
        these tell of a step would be too long.
        """
        if not len(start):
            return start
        start, value, slope, shares = self._begin(start)
        spread = np.sqrt(self.spread(shares)[1] + self.precision)
        # of a level that none of these records has there is nothing to match, and its λ stays
        spread[spread == 0] = 1.0
        damping = ALL if len(shares) <= CURVED else SOME
        root = np.linalg.cholesky(self.correlation(shares) + damping * np.eye(len(start)))

        def down(vector: Floats) -> Floats:
            found: Floats = solve_triangular(root, vector / spread, lower=True, check_finite=False)
            return found

        def up(vector: Floats) -> Floats:
            found: Floats = solve_triangular(root, vector, lower=True, trans="T", check_finite=False) / spread
            return found

        tilt, inverse = start, np.eye(len(start))
        slope = down(slope)
        for _ in range(STEPS):
            step = inverse @ slope
            if not slope @ step > 2 * ENOUGH * len(start):
                break
            promised, length = slope @ step, 1.0
            while length > 1e-4:
                further = tilt + up(length * step)
                new, turned = self.slope(further)
                if new - value > 0.05 * length * promised:
                    break
                # where the parabola through what is known has its top
                top = 0.5 * length**2 * promised / (length * promised - (new - value))
                length = float(np.clip(top, 0.05 * length, 0.5 * length))
            else:
                break
            turned = down(turned)
            moved, change = length * step, slope - turned
            tilt, value, slope = further, new, turned
            if (along := moved @ change) > 1e-12:
                bent = inverse @ change
                inverse += np.outer(moved, moved) * (1 + change @ bent / along) / along
                inverse -= (np.outer(bent, moved) + np.outer(moved, bent)) / along
        return tilt

    def walk(self, tilt: Floats, *, rng: np.random.Generator) -> Codes:
        """Choose one path per record, each with its share, so that totals come near to what is expected of them.

        Records choose one after the other, in random order. What the totals are off so far, d, moves the shares of the
        next record's paths against it, p_k (1 - d'Σ⁻¹u_k / c), where u is how far a path is from its record's mean, Σ
        what is usual, and c at least as large as any |d'Σ⁻¹u_k|. d is 0 in expectation and known before the record
        chooses, so every path keeps its share; but it does not grow with n.
        """
        shares = self.shares(tilt)
        scale = np.sqrt(self.spread(shares)[1] / max(len(shares), 1))
        scale[scale == 0] = 1.0
        usual = self.correlation(shares) + ALL * np.eye(len(tilt))
        inverse = np.linalg.inv(usual) / np.outer(scale, scale) if len(tilt) else usual
        found = np.zeros(len(shares), dtype=np.int64)
        # one record after the other
        _walk(
            np.ascontiguousarray(self.products.T),
            self.first,
            np.ascontiguousarray(self.drawn.transpose(2, 1, 0)),
            shares,
            rng.permutation(len(shares)),
            rng.random(len(shares)),
            inverse,
            max(int(AGAIN * len(tilt)), 1),
            SLACK * max(len(tilt), 1),
            found,
            np.zeros((2, len(tilt))),
            np.zeros((2, len(self.first) - 1)),
            np.zeros(shares.shape[1]),
        )
        return found

    def correlation(self, shares: Floats) -> Floats:
        """Return how the terms of one record's paths are correlated, from evenly spaced ones where there are many."""
        rows = slice(None, None, max(-(-len(shares) // CURVED), 1))
        part, drawn = np.ascontiguousarray(shares[rows].T, dtype=np.float32), self.drawn[:, :, rows]
        centred = drawn - np.einsum("kn,fkn->fn", part, drawn)[:, None, :]
        centred *= np.sqrt(part)
        place = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        terms = (centred[place] * self.products[:, None, rows]).reshape(len(place), part.size)
        found: Floats = (terms @ terms.T).astype(np.float64)
        scale = np.sqrt(np.diag(found))
        # a total that moves in none of the records looked at may still do so in others
        scale[scale == 0] = 1.0
        found /= np.outer(scale, scale)
        np.fill_diagonal(found, 1.0)
        return found

    def _room(self) -> Floats:
        return np.zeros((2 + self.drawn.shape[1], AT_A_TIME))


def moments(drawn: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return mean and sd of every feature over each record's paths: records × features.

    Parameters
    ----------
    drawn
        The paths' features, records × paths × features, as ``Totals.paths`` lays them out.
    shares
        The probability of every path: records × paths.
    """
    laid = np.ascontiguousarray(drawn.transpose(2, 1, 0))
    mean, sd = np.zeros((2, laid.shape[0], laid.shape[2]))
    _moments(laid, np.ascontiguousarray(shares.T), mean, sd)
    return mean.T, np.sqrt(sd).T


@summing
def _moments(drawn: Floats, shares: Floats, mean: Floats, variance: Floats) -> None:
    """Add up means and variances, the innermost loops over records."""
    features, paths, n = drawn.shape
    for f in range(features):
        for k in range(paths):
            for i in range(n):
                mean[f, i] += shares[k, i] * drawn[f, k, i]
        for k in range(paths):
            for i in range(n):
                variance[f, i] += shares[k, i] * (drawn[f, k, i] - mean[f, i]) ** 2


@compiled
def _multiply(kept: Floats, seen: Floats, chosen: Codes, products: Floats, aim: Floats) -> None:
    """Fill in what each total multiplies its feature by, and add up the totals of the records' own features."""
    for i in range(len(kept)):
        for t in range(len(chosen)):
            product = kept[i, chosen[t, 1]] * kept[i, chosen[t, 2]]
            products[t, i] = product
            aim[t] += seen[i, chosen[t, 0]] * product


@summing
def _weigh(
    products: Floats, first: Codes, drawn: Floats, shares: Floats, tilt: Floats, expected: Floats, room: Floats
) -> float:
    """Turn log weights into shares, add up expected totals, and return the sum of the logs of what was divided by.

    Some records at a time, the innermost loops over them: ``room`` has a row for a feature of each of them, and one for
    each path.
    """
    features, paths, n = drawn.shape
    pull, weight, norm = room[0], room[1:], 0.0
    for start in range(0, n, AT_A_TIME):
        many = min(AT_A_TIME, n - start)
        for k in range(paths):
            for i in range(many):
                weight[k, i] = shares[start + i, k]
        for f in range(features):
            for i in range(many):
                pull[i] = 0.0
            for t in range(first[f], first[f + 1]):
                times, of = products[t, start : start + many], tilt[t]
                for i in range(many):
                    pull[i] += of * times[i]
            for k in range(paths):
                path, mine = drawn[f, k, start : start + many], weight[k]
                for i in range(many):
                    mine[i] += pull[i] * path[i]
        for i in range(many):
            top = weight[0, i]
            for k in range(1, paths):
                top = max(top, weight[k, i])
            total = 0.0
            for k in range(paths):
                weight[k, i] = np.exp(weight[k, i] - top)
                total += weight[k, i]
            norm += top + np.log(total)
            for k in range(paths):
                weight[k, i] /= total
                shares[start + i, k] = weight[k, i]
        for f in range(features):
            for i in range(many):
                pull[i] = 0.0
            for k in range(paths):
                path, mine = drawn[f, k, start : start + many], weight[k]
                for i in range(many):
                    pull[i] += mine[i] * path[i]
            for t in range(first[f], first[f + 1]):
                times, found = products[t, start : start + many], 0.0
                for i in range(many):
                    found += pull[i] * times[i]
                expected[t] += found
    return norm


@summing
def _spread(products: Floats, first: Codes, drawn: Floats, shares: Floats, found: Floats, room: Floats) -> None:
    """Add up, total by total, what is expected, the variance, and squared variances."""
    features, paths, n = drawn.shape
    mean, square, weight = room[0], room[1], room[2:]
    for start in range(0, n, AT_A_TIME):
        many = min(AT_A_TIME, n - start)
        for k in range(paths):
            for i in range(many):
                weight[k, i] = shares[start + i, k]
        for f in range(features):
            for i in range(many):
                mean[i] = 0.0
                square[i] = 0.0
            for k in range(paths):
                path, mine = drawn[f, k, start : start + many], weight[k]
                for i in range(many):
                    mean[i] += mine[i] * path[i]
            for k in range(paths):
                path, mine = drawn[f, k, start : start + many], weight[k]
                for i in range(many):
                    square[i] += mine[i] * (path[i] - mean[i]) ** 2
            for t in range(first[f], first[f + 1]):
                times, expected, variance, squares = products[t, start : start + many], 0.0, 0.0, 0.0
                for i in range(many):
                    own = square[i] * times[i] ** 2
                    expected += mean[i] * times[i]
                    variance += own
                    squares += own * own
                found[0, t] += expected
                found[1, t] += variance
                found[2, t] += squares


@summing
def _walk(
    products: Floats,
    first: Codes,
    drawn: Floats,
    shares: Floats,
    order: Codes,
    chance: Floats,
    inverse: Floats,
    again: int,
    slack: float,
    found: Codes,
    off: Floats,
    room: Floats,
    turn: Floats,
) -> None:
    """Choose the path of each record in turn; the first row of ``off`` is what totals are off, the second Σ⁻¹ that."""
    paths, features = drawn.shape[1], drawn.shape[2]
    totals = len(inverse)
    for place in range(len(order)):
        i = order[place]
        if place % again == 0:
            for t in range(totals):
                moved = 0.0
                for s in range(totals):
                    moved += inverse[t, s] * off[0, s]
                off[1, t] = moved
        for f in range(features):
            pull = 0.0
            for t in range(first[f], first[f + 1]):
                pull += off[1, t] * products[i, t]
            room[0, f] = pull
            room[1, f] = 0.0
        for k in range(paths):
            for f in range(features):
                room[1, f] += shares[i, k] * drawn[i, k, f]
        most = slack
        for k in range(paths):
            pull = 0.0
            for f in range(features):
                pull += room[0, f] * (drawn[i, k, f] - room[1, f])
            turn[k] = pull
            most = max(most, abs(pull))
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
        for f in range(features):
            step = drawn[i, taken, f] - room[1, f]
            for t in range(first[f], first[f + 1]):
                off[0, t] += step * products[i, t]
