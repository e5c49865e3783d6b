"""How released values scatter around true ones, estimated from aligned files: what an intruder knows at worst."""

from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats, compiled, part
from synthdp.evaluation.risk.scoring import NEGLIGIBLE
from synthdp.table.coded import distinct

FOLDS = 5
AT_ONCE = 65_536
BINS = 1024
# bandwidths tried, in units of the Freedman-Diaconis width; zero leaves the histogram as it is
BANDWIDTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.0)
NODES = 128
# how much more log density a fitted line must give before plain differences are given up
CLEARLY = 5.0
MOST_LEVELS = 1000


@dataclass(frozen=True, repr=False)
class NumericLaw:
    """The density of a released number given the true one: y = a + b x + e, with e of any shape.

    Parameters
    ----------
    intercept, slope
        a and b: (0, 1) for plain added noise, or the least squares line when that predicts better.
    low, width
        Where the first bin of e starts, and how wide bins are.
    log_density
        log f(e), shape (FOLDS, BINS + 2): row k is estimated without the records of fold k, so that nobody's own
        error makes them easier to find. The first and last bin stand for everything outside.
    """

    intercept: float
    slope: float
    low: float
    width: float
    log_density: Floats

    def __repr__(self) -> str:
        return f"NumericLaw({self.log_density.shape[1]} bins)"

    def bins(self, e: Floats) -> Codes:
        """Return the bin of each error."""
        inside = np.clip((e - self.low) / self.width, -1.0, self.log_density.shape[1] - 2.0)
        return np.asarray(np.floor(inside), dtype=np.int64) + 1

    def residual(self, x: Floats, y: Floats) -> Floats:
        """Return e = y − a − b x."""
        return y - self.intercept - self.slope * x

    def log_marginal(self, x: Floats, y: Floats) -> Floats:
        """Return log Σ_x p(x) Π_m f(y_m | x) for each row of ``y`` (copies by rows), up to a constant.

        Quadrature over NODES values of e around the mean of the row's copies where errors are narrower than x is,
        otherwise over quantiles of x: O(NODES · M · n), never n². Rows without a value get zero.
        """
        x = x[np.isfinite(x)]
        table = self.log_density.mean(axis=0)
        reach = self.width * (len(table) - 2)
        if abs(self.slope) * (x.max() - x.min()) > reach:
            nodes = self.low + reach * (np.arange(NODES) + 0.5) / NODES
            counts, edges = np.histogram(x, bins=min(100, max(5, int(np.sqrt(len(x))))))
            prior = np.log(counts + 0.5)
        else:
            nodes = np.quantile(x, (np.arange(NODES) + 0.5) / NODES)
            edges, prior = np.empty(0), np.empty(0)
        return log_marginal(y, nodes, edges, prior, self.intercept, self.slope, self.low, self.width, table)


def numeric_law(x: Floats, y: Floats, folds: Codes) -> NumericLaw:
    """Estimate the law of a released number given the true one.

    Parameters
    ----------
    x
        True values, shape (n,); NaN where missing.
    y
        Released values, shape (M, n), row i of every copy made from record i.
    folds
        The fold of each record, 0 to FOLDS − 1.

    Notes
    -----
    Both lines (a, b) and every bandwidth are judged by the log density that other folds give to a fold's errors; a
    fitted line must be clearly better. Errors that lie on a grid (whole years) are counted on that grid.
    O(M n + BINS²).
    """
    pairs = np.isfinite(y) & np.isfinite(x)
    xs, ys = np.broadcast_to(x, y.shape)[pairs], y[pairs]
    owner = np.broadcast_to(folds, y.shape)[pairs]
    score, plain = _shape(ys - xs, owner, 0.0, 1.0)
    if len(xs) > 2 and xs.std() > 0:
        slope = float(np.cov(xs, ys)[0, 1] / xs.var(ddof=1))
        intercept = float(ys.mean() - slope * xs.mean())
        # whole years off a line fall into ever other gaps: smoothed over a year, both lines count the same thing
        coarse = plain.width if plain.log_density.shape[1] <= BINS + 3 and _on_grid(ys - xs, plain.width) else 0.0
        other, law = _shape(ys - intercept - slope * xs, owner, intercept, slope, at_least=coarse / 2)
        if other > score + CLEARLY:
            return law
    return plain


def _shape(
    e: Floats, owner: Codes, intercept: float, slope: float, *, at_least: float = 0.0
) -> tuple[float, NumericLaw]:
    """Return the held-out log density, and the law."""
    low, width, bins = _grid(e)
    blank = NumericLaw(intercept, slope, low, width, np.zeros((FOLDS, bins + 2)))
    place = blank.bins(e)
    counts = np.stack([np.bincount(place[owner == k], minlength=bins + 2) for k in range(FOLDS)]).astype(np.float64)
    others = counts.sum(axis=0) - counts
    quartiles = np.quantile(e, [0.25, 0.75]) if len(e) else np.zeros(2)
    rule = 2 * float(quartiles[1] - quartiles[0]) / max(len(e), 1) ** (1 / 3) / width
    best, table = -np.inf, np.zeros_like(others)
    for factor in BANDWIDTHS:
        tried = np.stack([_log_density(row, max(factor * rule, at_least / width), width) for row in others])
        score = float((counts * tried).sum())
        if score > best:
            best, table = score, tried
    return best, NumericLaw(intercept, slope, low, width, table)


def _grid(e: Floats) -> tuple[float, float, int]:
    if not len(e):
        return -0.5, 1.0, 1
    low, high = float(e.min()), float(e.max())
    hair = 1e-9 * max(1.0, abs(low), abs(high))
    if high - low <= hair:
        # one error for everybody: a bin of any size that comes to mind would blur what is known exactly
        return low - hair, 2 * hair + (high - low), 1
    for step in (1.0, 0.5, 0.1, 0.01):
        steps = (high - low) / step
        if steps <= BINS and _on_grid(e, step):
            return low - step / 2, step, round(steps) + 1
    tails = np.quantile(e, [0.0005, 0.9995])
    low, high = max(low, 2 * tails[0] - tails[1]), min(high, 2 * tails[1] - tails[0])
    width = max((high - low) / BINS, 1e-9 * max(1.0, abs(low), abs(high)))
    return low - width / 2, width, int((high - low) / width) + 2


def _on_grid(e: Floats, step: float) -> bool:
    # a part at a time: where errors lie on no grid the first part tells
    for start in range(0, len(e), AT_ONCE):
        steps = e[start : start + AT_ONCE] / step
        if not (np.abs(steps - np.round(steps)) <= 1e-6).all():
            return False
    return True


def _log_density(counts: Floats, bandwidth: float, width: float) -> Floats:
    """Return the log density of binned errors, smoothed inside and never zero."""
    inside, total = counts[1:-1], counts.sum()
    if bandwidth > 0.3:
        reach = min(int(np.ceil(4 * bandwidth)), len(inside))
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / bandwidth) ** 2)
        # the centre of the full convolution, also where the kernel is longer than the table
        inside = np.convolve(inside, kernel / kernel.sum())[reach : reach + len(inside)]
    share = 1 / (total + 2)
    density = (1 - share) * inside / max(total, 1.0) + share / len(inside)
    outside = (counts[[0, -1]] + 0.5) / (total + 1) / len(inside)
    return np.asarray(np.log(np.concatenate([outside[:1], density, outside[1:]]) / width), dtype=np.float64)


def transition(x: Codes, y: Codes, folds: Codes, levels: int) -> Floats:
    """Return log Pr(released level | true level) by fold, shape (FOLDS, levels, levels), each without its own fold.

    Half a record is added to every cell in proportion to how frequent the released level is.
    """
    copies = len(y)
    pair = np.broadcast_to(x, y.shape) * levels + y
    counts = np.stack(
        [np.bincount(pair[:, folds == k].ravel(), minlength=levels * levels) for k in range(FOLDS)]
    ).reshape(FOLDS, levels, levels)
    others = (counts.sum(axis=0) - counts).astype(np.float64)
    common = (np.bincount(y.ravel(), minlength=levels) + 0.5) / (y.size + 0.5 * levels)
    smooth = others + 0.5 * copies * common
    return np.asarray(np.log(smooth / smooth.sum(axis=2, keepdims=True)), dtype=np.float64)


def patterns(y: Codes) -> tuple[Codes, Codes]:
    """Return the combinations of levels that the copies of a row show, whatever the order of the copies.

    Parameters
    ----------
    y
        Levels from 0, copies by rows.

    Returns
    -------
    shown, pattern
        The levels of each combination, shape (combinations, M), and which one each row shows. O(M n).

    Examples
    --------
    >>> shown, pattern = patterns(np.array([[0, 1, 1], [1, 0, 1]]))
    >>> shown.tolist(), pattern.tolist()
    ([[0, 1], [1, 1]], [0, 0, 1])
    """
    ordered = np.sort(y, axis=0)
    code = np.zeros(y.shape[1], dtype=np.int64)
    levels = int(y.max(initial=0)) + 1
    for copy in ordered:
        if code.max(initial=0) >= 2**62 // levels:  # numbered anew before they overflow
            code = distinct(code)
        code = code * levels + copy
    pattern = distinct(code)
    first = np.empty(int(pattern.max(initial=-1)) + 1, dtype=np.int64)
    first[pattern[::-1]] = np.arange(len(pattern))[::-1]
    return np.ascontiguousarray(ordered[:, first].T), pattern


def pattern_marginal(x: Codes, shown: Codes, pattern: Codes, log_transition: Floats) -> Floats:
    """Return log Σ_x p(x) Π_m Pr(y_m | x) for each row, from :func:`patterns`: O(levels) for each combination."""
    table = log_transition.mean(axis=0)
    prior = np.log((np.bincount(x, minlength=len(table)) + 0.5) / (len(x) + 0.5 * len(table)))
    total = np.full(len(shown), -np.inf)
    for level in range(len(table)):
        total = np.logaddexp(total, prior[level] + table[level][shown].sum(axis=1))
    return np.asarray(total[pattern], dtype=np.float64)


def log_marginal(
    y: Floats,
    nodes: Floats,
    edges: Floats,
    prior: Floats,
    intercept: float,
    slope: float,
    low: float,
    width: float,
    table: Floats,
) -> Floats:
    """Return log Σ_q w_q Π_m f(y_m − a − b x_q) for each row; see :meth:`NumericLaw.log_marginal`.

    With ``edges`` the nodes are errors around the mean of a row's copies, weighted by the histogram of x; without, they
    are values of x of equal weight.
    """
    found = np.zeros(y.shape[1])
    work = np.empty(len(nodes)), np.empty(len(y))
    _log_marginal(y, nodes, edges, prior, intercept, slope, low, width, table, *work, found)
    return found


@compiled
def _log_marginal(
    y: Floats,
    nodes: Floats,
    edges: Floats,
    prior: Floats,
    intercept: float,
    slope: float,
    low: float,
    width: float,
    table: Floats,
    terms: Floats,
    known: Floats,
    found: Floats,
) -> None:
    """Write what :func:`log_marginal` returns; ``terms`` and ``known`` are overwritten."""
    copies, n = y.shape
    last = len(table) - 1.0
    for i in range(n):
        total, count = 0.0, 0
        for m in range(copies):
            if np.isfinite(y[m, i]):
                known[count] = y[m, i] - intercept
                total += y[m, i]
                count += 1
        if count == 0:
            continue
        mean, best = total / count, -np.inf
        for q in range(len(nodes)):
            at, term = nodes[q], 0.0
            if len(edges):
                at = (mean - intercept - nodes[q]) / slope
                term = prior[_bin(edges, at)]
            for m in range(count):
                inside = (known[m] - slope * at - low) / width
                term += table[int(np.floor(min(max(inside, -1.0), last - 1.0))) + 1]
            terms[q] = term
            best = max(best, term)
        rest = 0.0
        for q in range(len(nodes)):
            # what is left of smaller terms would not change a digit
            if terms[q] > best - NEGLIGIBLE:
                rest += np.exp(terms[q] - best)
        found[i] = best + np.log(rest) if rest > 0 else -np.inf


@part
def _bin(edges: Floats, at: float) -> int:
    """Return the bin of a number, the outermost for those outside; edges are evenly spaced but for rounding."""
    most = len(edges) - 2
    guess = int(min(max((at - edges[0]) / (edges[-1] - edges[0]) * (most + 1), 0.0), float(most)))
    while guess < most and edges[guess + 1] <= at:
        guess += 1
    while guess > 0 and edges[guess] > at:
        guess -= 1
    return guess
