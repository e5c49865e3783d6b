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
                if state.enumerated[j]:
                    rest = state.without(j)
                    state.put_levels(j, state.draw_levels(j, evidence[node.name], rest, rng=rng), rest)
                else:
                    self._propose(j, state, evidence[node.name], rng=rng)
                moved = float((state.values[j] != before).mean())
                trace.append((sweep, node.name, float(state.values[j].mean()), moved))
        values = {node.name: state.values[j] for j, node in enumerate(self.nodes)}
        return values, pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])

    def _propose(self, j: int, state: State, about: Evidence, *, rng: np.random.Generator) -> None:
        rest = state.without(j)
        exact = [k for k in state.after[j] if state.normal[j] and state.normal[k]]
        if exact:
            linear, precision = from_later(state, j, exact, rest)
            about = about + GaussianEvidence(linear, precision)
        proposed = self.nodes[j].regression.draw(state.eta[j].T, about, rng=rng)
        draws = rng.random(len(proposed))
        others = [k for k in state.after[j] if k not in exact]
        if others:
            log_ratio = np.zeros(len(proposed))
            for k in others:
                log_ratio += state.log_density(k, j, proposed, rest[k])
                log_ratio -= state.log_density(k, j, state.values[j], rest[k])
            proposed = np.where(np.log(draws) < log_ratio, proposed, state.values[j])
        state.put(j, proposed, rest)


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
