"""The joint draw from a sequence of trees given W: particles that run forward, again and again.

    p(x | z, w, θ)  ∝  Π_j p(x_j | leaf_j(z, x_<j)) · exp(evidence_j(x_j))

Leaf donors are atoms, so a Gibbs chain over the columns would stick: the value of an earlier column that would send a
record to another leaf has probability zero given the later columns. Instead whole paths are proposed. A particle runs
through the columns in order, with its own earlier synthetic values, and draws x_j from its leaf's donors re-weighted by
the mask; its weight is what that draw left out,

    weight  =  Π_j Σ_d b_d exp(evidence_j(d))        (the product of the leaves' ``log_norm``)

One of P paths is chosen by weight. Then, sweep by sweep, the chosen path is kept and P - 1 new ones are proposed beside
it: iterated sampling importance resampling, for which p(x | z, w, θ) is exactly invariant whatever P is; P and the
number of sweeps decide only how near to it the draw gets from its start. The start is a draw from W and Z alone, and so
is every proposal: the records' true values are not part of this object's codes.

References
----------
Andrieu, Lee, Vihola (2018), Bernoulli 24(2), 842-872 (uniformly ergodic, because the weights are bounded). Andrieu,
Doucet, Holenstein (2010), JRSS B 72(3), 269-342 (the same with resampling between the columns: particle Gibbs).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from synthdp.imputation.model import Task
from synthdp.imputation.trees import donors
from synthdp.imputation.trees.binning import Binning, Bins
from synthdp.imputation.trees.donors import About, Donors
from synthdp.imputation.trees.tree import Tree
from synthdp.masking.evidence import Evidence, GaussianEvidence, LevelEvidence, draw_levels
from synthdp.table.microdata import Codes, Floats

# records times particles that are worked on at a time: bounds the memory
BLOCK = 2**17


@dataclass(frozen=True, repr=False)
class Branch:
    """One replaced column's tree.

    Parameters
    ----------
    donors
        The donors of its leaves.
    binning, row
        How the column's drawn values enter the trees after it, and in which row of the codes.
    limits
        Smallest and largest working value of a number; None for levels.
    """

    name: str
    tree: Tree
    donors: Donors
    binning: Binning
    row: int
    limits: tuple[float, float] | None

    def __repr__(self) -> str:
        return f"Branch({self.tree})"

    def draw(self, leaves: Codes, about: About, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw a value for every record and particle from its leaf; return them and each leaf's ``log_norm``."""
        x, norms = donors.draw(
            leaves,
            self.donors,
            about,
            rng.random(leaves.shape),
            np.zeros(leaves.shape) if self.limits is None else rng.standard_normal(leaves.shape),
            int(np.diff(self.donors.offsets).max()),
        )
        return (x if self.limits is None else np.clip(x, *self.limits)), norms


class Paths(NamedTuple):
    """A value per column (first axis) for every record, and particle if there are several; and the log weights."""

    values: Floats
    log_weight: Floats


@dataclass(frozen=True, repr=False)
class TreeParameters:
    """One draw of θ: a tree per replaced column, its donors and their masses.

    Parameters
    ----------
    codes
        Bins of what the trees may see of each record; the rows of replaced columns are blank.
    branches
        The replaced columns in the order they are drawn.
    particles, sweeps
        P, and how often P - 1 new paths are proposed after the start.
    """

    codes: Bins
    branches: tuple[Branch, ...]
    particles: int
    sweeps: int

    def __repr__(self) -> str:
        return f"TreeParameters({len(self.branches)} trees)"

    def of(self, rows: Codes | slice) -> "TreeParameters":
        """Return the same θ for some of the records."""
        return replace(self, codes=self.codes[:, rows])

    def unbounded(self, rows: Codes) -> "TreeParameters":
        """Return the same θ for some of the records, one path each (exact without evidence)."""
        return replace(self.of(rows), particles=1, sweeps=0)

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ).

        Cost O(n · P · sweeps · leaf size) per column at most. A single column is drawn exactly, without particles.
        """
        drawn = np.empty((len(self.branches), self.codes.shape[1]))
        for rows in self._blocks():
            heard = [_heard(evidence[branch.name][rows]) for branch in self.branches]
            paths = self.start(self.codes[:, rows], heard, rng=rng)
            if len(self.branches) > 1:
                for _ in range(self.sweeps):
                    paths = self.sweep(paths, self.codes[:, rows], heard, rng=rng)
            drawn[:, rows] = paths.values
        return {branch.name: drawn[j] for j, branch in enumerate(self.branches)}

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, drawn from the leaf of the true values where they do not apply."""
        here, found = self.codes.copy(), dict[str, Floats]()
        silent = About(np.zeros(here.shape[1]), np.zeros(here.shape[1]), np.empty((here.shape[1], 0)))
        for branch in self.branches:
            x = task.working[branch.name]
            if not np.isfinite(x).all():
                drawn = branch.draw(branch.tree.apply(here)[:, None], silent, rng=rng)[0][:, 0]
                x = np.where(np.isfinite(x), x, drawn)
            found[branch.name] = x
            here[branch.row] = branch.binning.bins(x)
        return found

    def start(self, codes: Bins, heard: list[About], *, rng: np.random.Generator) -> Paths:
        """Return one of P forward paths for each record, chosen by weight."""
        count = self.particles if len(self.branches) > 1 else 1
        return choose_path(self._propose(codes, heard, count, rng=rng), rng=rng)

    def sweep(self, current: Paths, codes: Bins, heard: list[About], *, rng: np.random.Generator) -> Paths:
        """Return one of the current path and P - 1 new ones for each record, chosen by weight."""
        new = self._propose(codes, heard, self.particles - 1, rng=rng)
        together = Paths(
            values=np.concatenate([current.values[:, :, None], new.values], axis=2),
            log_weight=np.concatenate([current.log_weight[:, None], new.log_weight], axis=1),
        )
        return choose_path(together, rng=rng)

    def _blocks(self) -> Iterator[slice]:
        step = max(BLOCK // self.particles, 1)
        return (slice(start, start + step) for start in range(0, self.codes.shape[1], step))

    def _propose(self, codes: Bins, heard: list[About], count: int, *, rng: np.random.Generator) -> Paths:
        n = codes.shape[1]
        shape = (n, count)
        here = np.repeat(codes, count, axis=1)
        values, log_weight = np.empty((len(self.branches), *shape)), np.zeros(shape)
        for j, branch in enumerate(self.branches):
            # a record's particles have nothing of their own before the first column
            leaves = branch.tree.apply(here) if j > 0 else branch.tree.apply(codes).repeat(count)
            values[j], norms = branch.draw(leaves.reshape(shape), heard[j], rng=rng)
            log_weight += norms
            here[branch.row] = branch.binning.bins(values[j].ravel())
        return Paths(values, log_weight)


def choose_path(paths: Paths, *, rng: np.random.Generator) -> Paths:
    """Return one path per record, with probability proportional to its weight."""
    weights = paths.log_weight
    # where W excludes every path any will do: the next sweep leaves it for the first that W allows
    usable = np.where(np.isfinite(weights).any(axis=1, keepdims=True), weights, 0.0)
    chosen, records = draw_levels(usable, rng=rng), np.arange(len(weights))
    return Paths(paths.values[:, records, chosen], weights[records, chosen])


def _heard(about: Evidence) -> About:
    if isinstance(about, LevelEvidence):
        return About(np.zeros(len(about)), np.zeros(len(about)), about.log_weights)
    if isinstance(about, GaussianEvidence):
        return About(about.mean(), np.ascontiguousarray(about.precision), np.empty((len(about), 0)))
    raise TypeError(f"trees can be told about numbers and levels, not by {type(about).__name__}")
