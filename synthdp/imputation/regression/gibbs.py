"""The joint draw by Gibbs sampling.

The state of the chain, what each column says about the columns before it, and the scan.

Everything is kept with one row per linear predictor or level, so that sums over levels run along whole rows. A column
enters a later regression by adding to its linear predictors; what a level adds is the same for all records, so

    normal       Σ_k log N(y_k; rest_k + t_kl, σ_k²)  =  Σ_k (r_k t_kl − t_kl²/2)/σ_k² + const,   r_k = y_k − rest_k
    multinomial  log p(y | rest + t_l)  =  t_l,y − log Σ_m exp(rest_m) exp(t_lm) + const

are matrix products over all levels l at once, with one exponential per record and predictor.

The conditional of column j includes every regression it enters:

    p(x_j | rest)  ∝  p(x_j | z, x_<j) · p(w_j | x_j) · Π_{k>j} p(x_k | z, x_<k)

Levels and counts are enumerated. A number is proposed from its own regression, its mask and the normal regressions
after it (all Gaussian in x_j) and accepted by the ratio of the other regressions it enters (Metropolis within Gibbs;
the proposal does not depend on the current value). The chain starts forward, each column given Z, its W and the columns
before it: a state that depends on W and Z only, never on the truth.

Cost per sweep O(n · Σ_j L_j · (columns after j)), L_j the number of levels (1 for numbers).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
import pandas as pd

from synthdp.imputation.families.family import Enumerated, FamilyDraw, blocks
from synthdp.imputation.families.normal import NormalDraw
from synthdp.imputation.predictors import Encoding
from synthdp.masking.evidence import Evidence, GaussianEvidence
from synthdp.table.microdata import Codes, Floats


@dataclass(frozen=True, repr=False)
class Node:
    """One replaced column in the sequence: its drawn regression and how it enters later ones.

    Parameters
    ----------
    name
        The column.
    regression
        θ_j: coefficients on the predictors, then on the encoded columns before it.
    encoding
        How this column enters the regressions after it.
    """

    name: str
    regression: FamilyDraw
    encoding: Encoding


class State:
    """The chain's current values, with every regression's linear predictors at hand.

    Attributes
    ----------
    values
        The current value of each column.
    eta
        The linear predictors of each regression, r × n, of the columns that have begun.
    after
        For each column the later regressions it enters.
    enumerated, normal
        Whether a column is drawn by enumerating its levels, and whether its regression is normal.
    """

    def __init__(self, design: Floats, nodes: Sequence[Node]) -> None:
        d = design.shape[1]
        draws: list[FamilyDraw] = [node.regression for node in nodes]
        self._nodes = nodes
        self.eta = [np.ascontiguousarray((design @ draw.beta[:d]).T) for draw in draws]
        self.enumerated = [isinstance(draw, Enumerated) for draw in draws]
        self.normal = [isinstance(draw, NormalDraw) for draw in draws]
        self._variances = [draw.variance if isinstance(draw, NormalDraw) else np.nan for draw in draws]
        self._levels = [draw.level_values() if isinstance(draw, Enumerated) else np.empty(0) for draw in draws]
        self._slopes: list[list[Floats]] = []
        for j, draw in enumerate(draws):
            edges = np.cumsum([d, *(earlier.encoding.width for earlier in nodes[:j])])
            self._slopes.append([draw.beta[a:b] for a, b in pairwise(edges)])
        count = range(len(nodes))
        self.after = [[k for k in count[j + 1 :] if np.any(self._slopes[k][j])] for j in count]
        # what each level adds to the predictors of a later regression, r × levels
        self._added = [
            {
                k: np.ascontiguousarray((nodes[j].encoding.columns(self._levels[j]) @ self._slopes[k][j]).T)
                for k in later
            }
            if self.enumerated[j]
            else {}
            for j, later in enumerate(self.after)
        ]
        self.values: list[Floats] = []
        self._codes: list[Codes] = []

    def begin(self, j: int, x: Floats) -> None:
        """Give column j its first values."""
        self.values.append(x)
        self._codes.append(np.searchsorted(self._levels[j], x) if self.enumerated[j] else np.empty(0, dtype=np.int64))
        for k in self.after[j]:
            self.eta[k] += self._enters(k, j)

    def set(self, j: int, x: Floats) -> None:
        """Put values into a column, of numbers or of levels, its first ones too."""
        if j == len(self.values):
            self.begin(j, x)
        elif self.enumerated[j]:
            self.put_levels(j, np.searchsorted(self._levels[j], x), self.without(j))
        else:
            self.put(j, x, self.without(j))

    def gaussian_in(self, j: int) -> list[int]:
        """Return the later regressions that are Gaussian in the value of column j, a number."""
        return [k for k in self.after[j] if self.normal[j] and self.normal[k]]

    def without(self, j: int) -> dict[int, Floats]:
        """Return the linear predictors of the later regressions with column j left out."""
        return {k: self.eta[k] - self._enters(k, j) for k in self.after[j]}

    def put(self, j: int, x: Floats, rest: Mapping[int, Floats]) -> None:
        """Put new values into a column of numbers."""
        self.values[j] = x
        for k, one in rest.items():
            self.eta[k] = one + self._enters(k, j)

    def put_levels(self, j: int, chosen: Codes, rest: Mapping[int, Floats]) -> None:
        """Put new values into a column of levels."""
        self._codes[j] = chosen
        self.put(j, self._levels[j][chosen], rest)

    def draw_levels(self, j: int, about: Evidence, rest: Mapping[int, Floats], *, rng: np.random.Generator) -> Codes:
        """Draw the level of column j given all others, some records at a time: memory does not grow with levels · n."""
        draws = rng.random(len(self.values[j]))
        chosen = np.empty(len(draws), dtype=np.int64)
        for rows in blocks(len(draws), len(self._levels[j])):
            log_weights = self.level_weights(j, rest, rows)
            log_weights += cast(Enumerated, self._nodes[j].regression).level_weights(about[rows]).T
            chosen[rows] = _choose(log_weights, draws[rows])
        return chosen

    def level_weights(self, j: int, rest: Mapping[int, Floats], rows: slice) -> Floats:
        """Return what all regressions say of the levels of column j, levels × rows; nothing of W.

        Up to a constant for each record.
        """
        found = cast(Enumerated, self._nodes[j].regression).log_weights(self.eta[j][:, rows].T)
        self._add_later(found, j, {k: one[:, rows] for k, one in rest.items()}, rows)
        return found

    def _add_later(self, log_weights: Floats, j: int, rest: Mapping[int, Floats], rows: slice) -> None:
        """Add to the log weights of the levels of column j, levels × rows, what the later columns say."""
        normal = [k for k in rest if self.normal[k]]
        if normal:
            added = np.concatenate([self._added[j][k] for k in normal]).T
            variances = np.asarray([self._variances[k] for k in normal])
            log_weights += (added / variances) @ np.stack([self.values[k][rows] - rest[k][0] for k in normal])
            log_weights -= (0.5 * added**2 / variances).sum(axis=1, keepdims=True)
        for k, one in rest.items():
            if not self.normal[k]:
                self._nodes[k].regression.add_log_density(log_weights, self._added[j][k], one, self.values[k][rows])

    def log_density(self, k: int, j: int, x: Floats, rest: Floats) -> Floats:
        """Return the log density of the later column k if column j, a number, were x."""
        return self._nodes[k].regression.log_density(self.values[k], (rest + self._entering(k, j, x)).T)

    def slope(self, k: int, j: int) -> float:
        """Return the coefficient of column j in the normal regression of column k, both numbers."""
        return float(self._slopes[k][j][0, 0])

    def variance(self, k: int) -> float:
        """Return the variance of the normal regression of column k."""
        return self._variances[k]

    def _enters(self, k: int, j: int) -> Floats:
        """Return what column j now adds to the linear predictors of the later column k, r × n."""
        if self.enumerated[j]:
            return np.take(self._added[j][k], self._codes[j], axis=1)
        return self._entering(k, j, self.values[j])

    def _entering(self, k: int, j: int, x: Floats) -> Floats:
        return np.asarray(self._slopes[k][j].T @ self._nodes[j].encoding.columns(x).T)


def from_later(state: State, j: int, later: Sequence[int], rest: Mapping[int, Floats]) -> tuple[Floats, Floats]:
    """Return what later normal columns x_k = rest_k + b_k·y + e_k say about a number y: linear part and precision."""
    slopes = np.asarray([state.slope(k, j) for k in later])
    weights = slopes / np.asarray([state.variance(k) for k in later])
    left = np.stack([state.values[k] - rest[k][0] for k in later])
    return weights @ left, np.full(left.shape[1], float(weights @ slopes))


def _choose(log_weights: Floats, draws: Floats) -> Codes:
    """Return one level per record with probability proportional to exp(log_weights), which are overwritten.

    Parameters
    ----------
    draws
        Uniform numbers, one per record.
    """
    log_weights -= log_weights.max(axis=0)
    cumulative = np.exp(log_weights, out=log_weights)
    for level in range(1, len(cumulative)):
        cumulative[level] += cumulative[level - 1]
    passed: Codes = (draws * cumulative[-1] >= cumulative[:-1]).sum(axis=0, dtype=np.int64)
    return passed


@dataclass(frozen=True, repr=False)
class GibbsParameters:
    """One draw of θ for all regressions, and the chain that draws X given it."""

    design: Floats
    nodes: tuple[Node, ...]
    sweeps: int

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ)."""
        return self.chain(evidence, rng=rng)[0]

    def chain(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Run the chain; return its last state and, per sweep and column, the mean and the share that moved."""
        state = State(self.design, self.nodes)
        for j, node in enumerate(self.nodes):
            state.begin(j, node.regression.draw(state.eta[j].T, evidence[node.name], rng=rng))
        trace = []
        for sweep in range(self.sweeps):
            for j, node in enumerate(self.nodes):
                before = state.values[j]
                self.move(j, state, evidence[node.name], rng=rng)
                moved = float((state.values[j] != before).mean())
                trace.append((sweep, node.name, float(state.values[j].mean()), moved))
        values = {node.name: state.values[j] for j, node in enumerate(self.nodes)}
        return values, pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])

    def move(self, j: int, state: State, about: Evidence, *, rng: np.random.Generator) -> None:
        """Draw column j given all others and what W says about it."""
        rest = state.without(j)
        if state.enumerated[j]:
            state.put_levels(j, state.draw_levels(j, about, rest, rng=rng), rest)
            return
        later = self.later(j, state, rest)
        proposed = self.nodes[j].regression.draw(state.eta[j].T, about if later is None else about + later, rng=rng)
        draws = rng.random(len(proposed))
        log_ratio = self.log_ratio(j, proposed, state, rest)
        if log_ratio is not None:
            proposed = np.where(np.log(draws) < log_ratio, proposed, state.values[j])
        state.put(j, proposed, rest)

    def later(self, j: int, state: State, rest: Mapping[int, Floats]) -> GaussianEvidence | None:
        """Return what later regressions that are Gaussian in number j say about it; None where there is none."""
        exact = state.gaussian_in(j)
        return GaussianEvidence(*from_later(state, j, exact, rest)) if exact else None

    def log_ratio(self, j: int, proposed: Floats, state: State, rest: Mapping[int, Floats]) -> Floats | None:
        """Return how much more the other later regressions expect the proposed numbers; None where there are none."""
        exact = state.gaussian_in(j)
        others = [k for k in state.after[j] if k not in exact]
        if not others:
            return None
        log_ratio = np.zeros(len(proposed))
        for k in others:
            log_ratio += state.log_density(k, j, proposed, rest[k])
            log_ratio -= state.log_density(k, j, state.values[j], rest[k])
        return log_ratio


def drift(trace: pd.DataFrame) -> pd.DataFrame:
    """Return, per column, how far the chain's mean still moves between its second and its last quarter.

    ``drift`` is in standard deviations of the mean over sweeps: above about 3 the chain had not settled.
    """
    rows = []
    for name, part in trace.groupby("column", sort=False):
        means = part["mean"].to_numpy()
        quarter = max(len(means) // 4, 1)
        early, late = means[quarter : 2 * quarter], means[-quarter:]
        spread = np.sqrt((early.var() + late.var()) / 2 / quarter * 2)
        difference = abs(late.mean() - early.mean())
        rows.append((name, float(part["moved"].mean()), float(difference / spread) if spread > 0 else 0.0))
    return pd.DataFrame(rows, columns=["column", "moved", "drift"])
