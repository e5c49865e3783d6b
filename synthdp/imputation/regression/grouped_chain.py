"""The chain of ``gibbs`` where masks differ by a rule on the values themselves (see ``grouped``).

The target is p(x | z, θ) Π_j p(w_j | x_j, λ_{j,h(x)}). Two moves take turns:

*The whole record.* A group g is named at random and the record drawn forward, each column given Z, the columns before
it and its W under the masks of g. The draw is taken only if it lies in g, and with the probability min(1, v'/v), where
v = Π_j ∫ p(x_j | z, x_<j, θ) p(w_j | x_j, λ_{j,g}) dx_j is target over proposal. Without this move a record could not
change its group where several columns are masked by it: each alone would have to fit the masks of both.

*One column given the others.* If the rule does not name it, the group stays and the draw is that of ``gibbs``. Levels
are enumerated, each with the group it would bring. A number is proposed under the masks of a group g that is chosen by
its weight, taken only if it brings g, and accepted by what regressions that are not Gaussian in it say.

The chain starts from forward draws, one under the masks of each group, of which one that lies in its own group is taken
by its weight v: a state that depends on W and Z only.

Cost per sweep: that of ``gibbs`` and of a forward draw, times the groups for the numbers that the rule names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.imputation.families.family import Enumerated, blocks
from synthdp.imputation.families.normal import NormalDraw, log_norm
from synthdp.imputation.regression.gibbs import GibbsParameters, State
from synthdp.imputation.regression.grouped import Grouped
from synthdp.masking.evidence import about_numbers, draw_levels
from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats

# a jump costs as much as a sweep
JUMP_EVERY = 2
MOST_STARTS = 100


@dataclass(frozen=True, repr=False)
class GroupedChain:
    """The chain that draws X given θ and W.

    Parameters
    ----------
    scales
        The working scale of columns whose counts the chain holds.
    """

    gibbs: GibbsParameters
    about: Grouped
    scales: Mapping[str, Link]

    def run(self, *, rng: np.random.Generator) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Return the chain's last state and, per sweep and column, the mean and the share that moved."""
        nodes = self.gibbs.nodes
        state = self.start(rng=rng)
        groups = self.groups(state)
        trace = []
        for sweep in range(self.gibbs.sweeps):
            before = list(state.values)
            if sweep % JUMP_EVERY == 0:
                groups = self._jump(state, groups, rng=rng)
            for j, node in enumerate(nodes):
                if node.name in self.about.names:
                    groups = self._deciding(j, state, groups, rng=rng)
                else:
                    self.gibbs.move(j, state, self.about.under(node.name, groups), rng=rng)
                moved = float((state.values[j] != before[j]).mean())
                trace.append((sweep, node.name, float(state.values[j].mean()), moved))
        values = {node.name: state.values[j] for j, node in enumerate(nodes)}
        return values, pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])

    def start(self, *, rng: np.random.Generator) -> State:
        """Return a state drawn forward, again for records that W says cannot lie where they do."""
        state, fits = self._candidate(rng=rng)
        for _ in range(MOST_STARTS):
            rows = np.flatnonzero(~fits)
            if not len(rows):
                break
            part = replace(self, gibbs=replace(self.gibbs, design=self.gibbs.design[rows]), about=self.about[rows])
            new, fits[rows] = part._candidate(rng=rng)
            for j, x in enumerate(new.values):
                values = state.values[j].copy()
                values[rows] = x
                state.set(j, values)
        return state

    def _candidate(self, *, rng: np.random.Generator) -> tuple[State, Booleans]:
        """Return one of a forward draw under the masks of each group, and whether it is possible at all given W."""
        n, count = len(self.about), len(self.about.parts)
        states, weights = list[State](), np.empty((n, count))
        for g in range(count):
            state, weights[:, g] = self._forward(np.full(n, g), rng=rng)
            weights[self.groups(state) != g, g] = -np.inf
            states.append(state)
        chosen = draw_levels(_usable(weights), rng=rng)
        for j in range(len(self.gibbs.nodes)):
            states[0].set(j, np.stack([state.values[j] for state in states])[chosen, np.arange(n)])
        return states[0], np.isfinite(self.about.constants[np.arange(n), self.groups(states[0])])

    def groups(self, state: State, j: int | None = None, x: Floats | None = None) -> Codes:
        """Return the group of every record in a state, or with other values of one column."""
        values = {node.name: state.values[k] for k, node in enumerate(self.gibbs.nodes)}
        if j is not None and x is not None:
            values[self.gibbs.nodes[j].name] = x
        return self.about.groups({name: self._working(name, drawn) for name, drawn in values.items()})

    def _working(self, name: str, x: Floats) -> Floats:
        return self.scales[name].forward(x) if name in self.scales else x

    def _forward(self, groups: Codes, *, rng: np.random.Generator) -> tuple[State, Floats]:
        """Draw every record under the masks of a group; return target over proposal, in logs."""
        state = State(self.gibbs.design, self.gibbs.nodes)
        weight = self.about.constants[np.arange(len(groups)), groups].copy()
        for j, node in enumerate(self.gibbs.nodes):
            eta, about = state.eta[j].T, self.about.under(node.name, groups)
            weight += node.regression.log_norm(eta, about)
            state.set(j, node.regression.draw(eta, about, rng=rng))
        return state, weight

    def _weight(self, state: State, groups: Codes) -> Floats:
        """Return what ``_forward`` returns, of records as they are."""
        weight = self.about.constants[np.arange(len(groups)), groups].copy()
        for j, node in enumerate(self.gibbs.nodes):
            weight += node.regression.log_norm(state.eta[j].T, self.about.under(node.name, groups))
        return weight

    def _jump(self, state: State, groups: Codes, *, rng: np.random.Generator) -> Codes:
        """Move whole records; return their groups."""
        wanted = rng.integers(len(self.about.parts), size=len(groups))
        new, weight = self._forward(wanted, rng=rng)
        with np.errstate(invalid="ignore"):
            likely = np.log(rng.random(len(groups))) < weight - self._weight(state, groups)
        taken = likely & (self.groups(new) == wanted)
        for j in range(len(self.gibbs.nodes)):
            state.set(j, np.where(taken, new.values[j], state.values[j]))
        return np.where(taken, wanted, groups)

    def _deciding(self, j: int, state: State, groups: Codes, *, rng: np.random.Generator) -> Codes:
        """Move a column that the rule names; return the groups."""
        name, regression = self.gibbs.nodes[j].name, self.gibbs.nodes[j].regression
        others = self.about.constants.copy()
        for k, node in enumerate(self.gibbs.nodes):
            if k != j:
                others += self.about.of_column(node.name, self._working(node.name, state.values[k]))
        if isinstance(regression, Enumerated):
            return self._level(j, regression, state, others, rng=rng)
        rest = state.without(j)
        eta, later = state.eta[j].T, self.gibbs.later(j, state, rest)
        pieces = [about_numbers(part[name]) for part in self.about.parts]
        if isinstance(regression, NormalDraw) and later is not None:
            # the regression and what later ones say are one normal, whatever the group
            variance = regression.variance / (1 + later.precision * regression.variance)
            mean = (eta[:, 0] / regression.variance + later.linear) * variance
            weights = np.column_stack([log_norm(mean, variance, piece) for piece in pieces])
        else:
            weights = np.column_stack([regression.log_norm(eta, piece) for piece in pieces])
        wanted = draw_levels(_usable(others + weights), rng=rng)
        about = about_numbers(self.about.under(name, wanted))
        proposed = regression.draw(eta, about if later is None else about + later, rng=rng)
        taken = self.groups(state, j, proposed) == wanted
        log_ratio = self.gibbs.log_ratio(j, proposed, state, rest)
        if log_ratio is not None:
            taken &= np.log(rng.random(len(proposed))) < log_ratio
        state.put(j, np.where(taken, proposed, state.values[j]), rest)
        return np.where(taken, wanted, groups)

    def _level(
        self, j: int, regression: Enumerated, state: State, others: Floats, *, rng: np.random.Generator
    ) -> Codes:
        """Draw a column of levels or counts, each level with the group it brings."""
        name, n, values = self.gibbs.nodes[j].name, len(others), regression.level_values()
        log_weights = state.level_weights(j, state.without(j), slice(None)).T
        masks = np.stack([regression.level_weights(part[name]) for part in self.about.parts])
        groups = self._brought(j, state, values)
        rows, levels = np.arange(n)[:, None], np.arange(len(values))
        log_weights += others[rows, groups] + masks[groups, rows, levels]
        chosen = draw_levels(_usable(log_weights), rng=rng)
        state.set(j, values[chosen])
        return np.asarray(groups[rows[:, 0], chosen])

    def _brought(self, j: int, state: State, levels: Floats) -> Codes:
        """Return the group that each level of a column would bring, n × levels."""
        found = np.empty((len(self.about), len(levels)), dtype=np.int64)
        for rows in blocks(len(self.about), len(levels)):
            records = np.repeat(np.arange(len(self.about))[rows], len(levels))
            values = {
                node.name: self._working(node.name, state.values[k][records]) for k, node in enumerate(self.gibbs.nodes)
            }
            name = self.gibbs.nodes[j].name
            values[name] = self._working(name, np.tile(levels, len(records) // len(levels)))
            found[rows] = self.about.decide(self.about.records[records], values).reshape(-1, len(levels))
        return found


def _usable(log_weights: Floats) -> Floats:
    """Return log weights of which some is possible: where W rules out all, all are."""
    none = ~np.isfinite(log_weights).any(axis=1, keepdims=True)
    return np.where(none, 0.0, log_weights)
