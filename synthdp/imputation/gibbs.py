"""The joint draw by Gibbs sampling, for replaced columns that cannot be enumerated and integrated exactly.

The conditional of column j includes every regression it enters:

    p(x_j | rest)  ∝  p(x_j | z, x_<j) · p(w_j | x_j) · Π_{k>j} p(x_k | z, x_<k)

Levels and counts are enumerated. A number is proposed from its own regression, its mask and the normal regressions
after it (all Gaussian in x_j) and accepted by the ratio of the other regressions it enters (Metropolis within Gibbs;
the proposal does not depend on the current value). The chain starts forward, each column given Z, its W and the columns
before it: a state that depends on W and Z only, never on the truth.

Cost per sweep O(n · Σ_j L_j · (columns after j)), L_j the number of levels (1 for numbers).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from synthdp.evidence import Evidence, GaussianEvidence, draw_levels
from synthdp.imputation.encoding import Encoding
from synthdp.imputation.families.protocol import FamilyDraw, LevelDraw, NormalLike
from synthdp.microdata import Floats


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
        state = State(self)
        for j, node in enumerate(self.nodes):
            state.set(j, node.regression.draw(state.eta(j), evidence[node.name], rng=rng))
        trace = []
        for sweep in range(self.sweeps):
            for j, node in enumerate(self.nodes):
                before = state.values[j]
                state.set(j, self.conditional(j, state, evidence[node.name], rng=rng))
                moved = float((state.values[j] != before).mean())
                trace.append((sweep, node.name, float(state.values[j].mean()), moved))
        values = {node.name: state.values[j] for j, node in enumerate(self.nodes)}
        return values, pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])

    def conditional(self, j: int, state: "State", about: Evidence, *, rng: np.random.Generator) -> Floats:
        """Draw column j given all others and what W says about it."""
        regression = self.nodes[j].regression
        if isinstance(regression, LevelDraw):
            log_weights = self.level_weights(j, state) + regression.level_weights(about)
            return regression.level_values()[draw_levels(log_weights, rng=rng)]
        later = self.later(j, state)
        proposed = regression.draw(state.eta(j), about if later is None else about + later, rng=rng)
        accepted = np.log(rng.random(len(proposed))) < self.log_ratio(j, proposed, state)
        return np.where(accepted, proposed, state.values[j])

    def level_weights(self, j: int, state: "State") -> Floats:
        """Return what all regressions say about each level of column j, n × levels; nothing of W."""
        regression = self.nodes[j].regression
        if not isinstance(regression, LevelDraw):
            raise TypeError("only levels can be enumerated")
        log_weights = regression.log_levels(state.eta(j))
        after = self._after(j, state)
        rest = {k: state.eta(k, without=j) for k in after}
        for level, value in enumerate(regression.level_values()):
            column = self.nodes[j].encoding.columns(np.full(1, value))
            for k in after:
                eta = rest[k] + column @ state.slope(k, j)
                log_weights[:, level] += self.nodes[k].regression.log_density(state.values[k], eta)
        return log_weights

    def later(self, j: int, state: "State") -> GaussianEvidence | None:
        """Return what later regressions that are Gaussian in number j say about it; None where there is none."""
        found = None
        for k in self._after(j, state):
            if _gaussian_in(self.nodes[j], self.nodes[k]):
                rest, slope = state.eta(k, without=j), state.slope(k, j)
                about = _from_later(self.nodes[k].regression, state.values[k], rest, slope)
                found = about if found is None else found + about
        return found

    def log_ratio(self, j: int, proposed: Floats, state: "State") -> Floats:
        """Return how much more all other later regressions expect the proposed numbers than the current ones."""
        log_ratio = np.zeros(len(proposed))
        for k in self._after(j, state):
            if not _gaussian_in(self.nodes[j], self.nodes[k]):
                rest = state.eta(k, without=j)
                log_ratio += self._log_density(k, j, proposed, state, rest)
                log_ratio -= self._log_density(k, j, state.values[j], state, rest)
        return log_ratio

    def _after(self, j: int, state: "State") -> list[int]:
        return [k for k in range(j + 1, len(self.nodes)) if np.any(state.slope(k, j))]

    def _log_density(self, k: int, j: int, x: Floats, state: "State", rest: Floats) -> Floats:
        eta = rest + self.nodes[j].encoding.columns(x) @ state.slope(k, j)
        return self.nodes[k].regression.log_density(state.values[k], eta)


class State:
    """The chain's current values, with every regression's linear predictor at hand."""

    def __init__(self, parameters: GibbsParameters) -> None:
        self._nodes = parameters.nodes
        d = parameters.design.shape[1]
        self._base = [parameters.design @ node.regression.beta[:d] for node in self._nodes]
        self._slopes: list[list[Floats]] = []
        for j, node in enumerate(self._nodes):
            edges = np.cumsum([d, *(earlier.encoding.width for earlier in self._nodes[:j])])
            self._slopes.append([node.regression.beta[a:b] for a, b in pairwise(edges)])
        self.values: list[Floats] = []
        self._columns: list[Floats] = []

    def set(self, j: int, x: Floats) -> None:
        """Put new values into column j."""
        if j == len(self.values):
            self.values.append(x)
            self._columns.append(self._nodes[j].encoding.columns(x))
        else:
            self.values[j] = x
            self._columns[j] = self._nodes[j].encoding.columns(x)

    def slope(self, k: int, j: int) -> Floats:
        """Return the coefficients of column j in the regression of the later column k."""
        return self._slopes[k][j]

    def eta(self, k: int, *, without: int | None = None) -> Floats:
        """Return the linear predictors of column k at the current values, one earlier column left out if asked."""
        total = self._base[k].copy()
        for j in range(k):
            if j != without:
                total += self._columns[j] @ self._slopes[k][j]
        return total


def _gaussian_in(earlier: Node, later: Node) -> bool:
    """Return whether the later regression is Gaussian as a function of the earlier column's value."""
    return isinstance(later.regression, NormalLike) and isinstance(earlier.regression, NormalLike)


def _from_later(regression: FamilyDraw, x: Floats, rest: Floats, slope: Floats) -> GaussianEvidence:
    """Return what a later normal column x = rest + slope·y + e says about y."""
    if not isinstance(regression, NormalLike):
        raise TypeError("only a normal regression is Gaussian in its predictors")
    b, variance = float(slope[0, 0]), regression.variance
    n = len(x)
    return GaussianEvidence(b * (x - rest[:, 0]) / variance, np.full(n, b * b / variance))


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
