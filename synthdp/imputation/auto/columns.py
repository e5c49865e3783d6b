"""How one column is learnt: by trees alone or by a regression and a tree of what it leaves, whichever predicts better.

Both are fitted to one half of the records and predict the other; the better one is then fitted to all. For numbers the
squared error of the mean counts, for levels the log score. In small files trees must be better by a hundredth, in large
ones regressions: there trees see whatever there is, keep the edges of what can be, and cost less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.imputation.auto.design import FEWEST, Encoding, Pairs, choose_products, products
from synthdp.imputation.auto.levels import Levels, Logit, corrections, level_donors, log_shares
from synthdp.imputation.auto.numbers import Line, Linear, NumberFit, fit_number
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.trees.binning import Binned
from synthdp.imputation.trees.tree import Growth, Tree
from synthdp.masking.evidence import log_sum

# prior sds of standardised coefficients that are tried: of linear regressions, in units of the residual sd, and logits
LINEAR_PRIORS, LOGIT_PRIORS = (1.0, 5.0), (0.5, 2.5)
MARGIN = 1.01
LARGE, LARGE_MARGIN = 5000, 0.9
MOST_TREES = 3
FINER = 0.1
MOST_TRIED = 8_000
# (coefficients of a logit)² times records: about twenty seconds
MOST_WORK = 1e10
MOST_REGRESSED = 12
FEWEST_RECORDS = 40
# a share of records that is rare
RARE = 0.01


@dataclass(frozen=True, repr=False)
class Choice:
    """How a column is learnt: the prior sd of its regression (None: trees alone), products, and the two scores."""

    prior_sd: float | None
    pairs: Pairs
    regression: float | None
    trees: float | None

    @property
    def method(self) -> str:
        """What was chosen, in words."""
        return "trees" if self.prior_sd is None else "regression and trees"


@dataclass(frozen=True, repr=False)
class Setting:
    """What a column is learnt from.

    Parameters
    ----------
    matrix, prior
        Predictors of the kept columns, and which of them have the general prior (1), a tighter (below 1) or none (inf).
    before
        The columns drawn before it, encoded, by name.
    values
        Its values: scores, or positions in the levels.
    rows
        The records that have one.
    levels
        How many levels; 0 for a number.
    """

    matrix: Floats
    prior: Floats
    before: Mapping[str, Floats]
    binned: Binned
    predictors: Sequence[str]
    values: Floats
    rows: Codes
    levels: int
    growth: Growth

    def design(self, rows: Codes, pairs: Pairs) -> Floats:
        """Return the predictors of some records."""
        return np.column_stack([products(self.matrix[rows], pairs), *(block[rows] for block in self.before.values())])

    def prior_sd(self, general: float, pairs: Pairs) -> Floats:
        """Return the prior sd of each coefficient."""
        extra = len(pairs) + sum(block.shape[1] for block in self.before.values())
        return np.concatenate([self.prior * general, np.full(extra, general)])

    def tree(self, response: Floats, rows: Codes, *, classes: int = 0, alone: bool = False) -> Tree:
        """Grow a tree on some records; in a large file one that stands alone may split further than chance allows."""
        growth = self.growth
        if alone and len(self.rows) >= LARGE:
            growth = replace(growth, complexity=growth.complexity * FINER)
        return Tree.grow(self.binned, self.predictors, response, classes=classes, rows=rows, growth=growth)


def choose(setting: Setting, *, rng: np.random.Generator) -> Choice:
    """Return how the column is learnt best."""
    rows = setting.rows
    if len(rows) < FEWEST_RECORDS:
        return Choice(None, (), None, None)
    tried = rng.permutation(rows)[:MOST_TRIED]
    half, other = tried[: len(tried) // 2], tried[len(tried) // 2 :]
    score = _score_number if setting.levels == 0 else _score_levels
    trees = score(setting, None, (), half, other)
    width = setting.matrix.shape[1] + sum(block.shape[1] for block in setting.before.values())
    work = (width * max(setting.levels - 1, 1)) ** 2 * len(rows)
    if work > MOST_WORK or setting.levels > MOST_REGRESSED or _rare(setting):
        return Choice(None, (), None, trees)
    pairs = choose_products(setting.matrix[rows], _left(setting), rng=rng)
    priors = LOGIT_PRIORS if setting.levels else LINEAR_PRIORS
    scores = {prior: score(setting, prior, pairs, half, other) for prior in priors}
    best = min(scores, key=lambda prior: scores[prior])
    margin = MARGIN if len(rows) < LARGE else LARGE_MARGIN
    found = best if scores[best] < margin * trees else None
    return Choice(found, pairs if found is not None else (), scores[best], trees)


def _rare(setting: Setting) -> bool:
    """Return whether all but a few records have the same level, or all but a hundredth and fewer than coefficients.

    Coefficients drawn about the mode of so few would make many of one: of a single missing value of 300 up to 40, of 11
    of 7,000 beside thirty predictors up to 100.
    """
    if setting.levels == 0:
        return False
    counts = np.bincount(setting.values[setting.rows].astype(np.int64), minlength=setting.levels)
    others = counts.sum() - counts.max()
    width = setting.matrix.shape[1] + sum(block.shape[1] for block in setting.before.values())
    return bool(others < FEWEST or others < min(width, RARE * counts.sum()))


def _left(setting: Setting) -> list[Floats]:
    """Return what linear regressions on all predictors leave of the response, or of its most frequent levels."""
    design = setting.design(setting.rows, ())
    y = setting.values[setting.rows]
    if setting.levels == 0:
        responses = [y]
    else:
        counts = np.bincount(y.astype(np.int64), minlength=setting.levels)
        frequent = np.argsort(-counts)[: 1 if setting.levels == 2 else MOST_TREES]
        responses = [(y == level).astype(np.float64) for level in frequent]
    found = []
    for response in responses:
        fit = LinearPosterior.fit(design, response, setting.prior_sd(LINEAR_PRIORS[-1], ()))
        found.append(response - design @ fit.mean)
    return found


def _score_number(setting: Setting, prior: float | None, pairs: Pairs, half: Codes, other: Codes) -> float:
    """Return the mean squared error of predictions, as a share of the variance."""
    y, predicted = setting.values, np.zeros(len(setting.values))
    if prior is not None:
        fit = LinearPosterior.fit(setting.design(half, pairs), y[half], setting.prior_sd(prior, pairs))
        for rows in (half, other):
            predicted[rows] = setting.design(rows, pairs) @ fit.mean
    left = y - predicted
    tree = setting.tree(left, half, alone=prior is None)
    means = np.add.reduceat(left[tree.rows], tree.offsets[:-1]) / np.diff(tree.offsets)
    error = left[other] - means[tree.apply(setting.binned.codes[:, other])]
    return float((error**2).mean() / max(y[other].var(), 1e-12))


def _score_levels(setting: Setting, prior: float | None, pairs: Pairs, half: Codes, other: Codes) -> float:
    """Return the mean of −log P of what is there; a level that nobody of the half has counts as one in its size."""
    y = setting.values
    learnt, asked = (np.full((len(rows), setting.levels), -np.log(setting.levels)) for rows in (half, other))
    everyone = None
    if prior is not None:
        fit = Logit.fit(setting.design(half, pairs), y[half], setting.levels, setting.prior_sd(prior, pairs))
        learnt, asked = (log_shares(setting.design(rows, pairs) @ fit.beta(fit.mode)) for rows in (half, other))
        everyone = np.zeros((len(y), setting.levels))
        everyone[half] = learnt
    tree = _level_tree(setting, half, everyone)
    leaf = tree.apply(setting.binned.codes[:, half])
    table = corrections(leaf, tree.leaves, y[half].astype(np.int64), learnt, np.ones(len(half)))
    log_p = asked + table[tree.apply(setting.binned.codes[:, other])]
    log_p -= log_sum(log_p)[:, None]
    found = log_p[np.arange(len(other)), y[other].astype(np.int64)]
    return float(-np.maximum(found, -np.log(len(half))).mean())


def _level_tree(setting: Setting, rows: Codes, log_p: Floats | None) -> Tree:
    """Grow the tree of a column of levels: on the levels, or on what a regression leaves of one of the frequent ones.

    A tree has one response; it is the level of which the tree explains most.
    """
    if log_p is None:
        return setting.tree(setting.values, rows, classes=setting.levels, alone=True)
    counts = np.bincount(setting.values[rows].astype(np.int64), minlength=setting.levels)
    best, found = -1.0, None
    for level in np.argsort(-counts, kind="stable")[: 1 if setting.levels == 2 else MOST_TREES]:
        left = (setting.values == level) - np.exp(log_p[:, level])
        tree = setting.tree(left, rows)
        means = np.add.reduceat(left[tree.rows], tree.offsets[:-1]) / np.diff(tree.offsets)
        share = float((np.diff(tree.offsets) * means**2).sum() / max((left[rows] ** 2).sum(), 1e-12))
        if share > best or found is None:
            best, found = share, tree
    if found is None:
        raise TypeError("a column of levels has at least one level")
    return found


@dataclass(frozen=True, repr=False)
class ColumnFit:
    """What is learnt of one column once."""

    name: str
    choice: Choice
    setting: Setting
    tree: Tree
    number: NumberFit | None
    logit: Logit | None
    encodings: Mapping[str, Encoding]

    @classmethod
    def of(
        cls, name: str, setting: Setting, encodings: Mapping[str, Encoding], *, rng: np.random.Generator
    ) -> "ColumnFit":
        """Choose, and fit to all records that have a value."""
        choice = choose(setting, rng=rng)
        rows, n = setting.rows, len(setting.values)
        y = setting.values[rows]
        design = setting.design(rows, choice.pairs) if choice.prior_sd is not None else None
        prior = setting.prior_sd(choice.prior_sd, choice.pairs) if choice.prior_sd is not None else None
        if setting.levels:
            logit, base = None, None
            if design is not None and prior is not None:
                logit = Logit.fit(design, y, setting.levels, prior)
                base = np.zeros((n, setting.levels))
                base[rows] = log_shares(design @ logit.beta(logit.mode))
            return cls(name, choice, setting, _level_tree(setting, rows, base), None, logit, encodings)
        line = Line.fit(design, y, prior) if design is not None and prior is not None else None
        left = np.zeros(n)
        left[rows] = y if line is None or design is None else line.left(design, y)
        tree = setting.tree(left, rows, alone=line is None)
        number = fit_number(tree, line, np.empty((0, 0)) if design is None else design, y, rows, n)
        return cls(name, choice, setting, tree, number, None, encodings)

    def draw(self, *, rng: np.random.Generator) -> Linear | Levels:
        """Draw the column's distribution: coefficients, and masses of the leaves."""
        setting, n = self.setting, len(self.setting.values)
        if self.number is not None:
            donors, beta, low, high = self.number.draw(n, rng=rng)
            base, slopes = self._split(beta) if len(beta) else (np.zeros((n, 2)), {})
            return Linear(self.tree, donors, base, slopes, self.number.edges, low, high)
        weights = rng.standard_exponential(n)
        codes = np.zeros(n, dtype=np.int64)
        codes[setting.rows] = setting.values[setting.rows].astype(np.int64)
        if self.logit is None:
            donors = level_donors(self.tree, codes, weights, setting.levels)
            return Levels(self.tree, None, {}, np.empty((0, 0)), donors)
        drawn = self.logit.draw(rng=rng)
        base, slopes = self._split(drawn)
        rows = setting.rows
        log_p = log_shares(setting.design(rows, self.choice.pairs) @ drawn)
        leaf = self.tree.apply(setting.binned.codes[:, rows])
        table = corrections(leaf, self.tree.leaves, codes[rows], log_p, weights[rows])
        return Levels(self.tree, base, slopes, table, None)

    def _split(self, beta: Floats) -> tuple[Floats, dict[str, Floats]]:
        """Return the kept columns' share of the linear predictor, and the slopes of the columns before."""
        kept = self.setting.matrix.shape[1] + len(self.choice.pairs)
        base = products(self.setting.matrix, self.choice.pairs) @ beta[:kept]
        slopes, at = {}, kept
        for name, encoding in self.encodings.items():
            slopes[name] = beta[at : at + encoding.width]
            at += encoding.width
        return base, slopes
