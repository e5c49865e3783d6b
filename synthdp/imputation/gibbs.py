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

import numpy as np
import pandas as pd

from synthdp.evidence import Evidence, GaussianEvidence
from synthdp.imputation.chaining import Node as Node
from synthdp.imputation.chaining import State, from_later
from synthdp.microdata import Floats


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
