"""The joint draw of X given W, Z and one draw of θ: Gibbs over columns.

    p(x_j | rest)  ∝  p(x_j | parents) · p(w_j | x_j) · Π_{k: j a parent of k} p(x_k | parents)

Levels and counts are enumerated. A normal number takes in its mask and the normal columns it enters as it is, all
Gaussian in x_j. What remains of its children, and every other family, is met by candidates: one of K is chosen with
probability proportional to its weight, target over proposal q. The current value is one of them, which makes the choice
a step that leaves the target as it is, exactly and for any K (iterated sampling importance resampling); fresh
candidates alone would be biased by 1/K. They come from the model, the mask, and a normal compromise of both, in equal
parts, so that weights stay even when the mask says nothing and when it says everything.

The chain starts forward, each column given Z, its W and its parents: a state that depends on W and Z only. How many
candidates a record gets is settled in the first sweep, by the effective number of its fresh ones, and does not change
afterwards: a number that followed the weights of the same step would bias the draw.

Cost per sweep O(n · Σ_j K_j · (children of j) · d), K_j levels or candidates.

References
----------
Andrieu, Lee, Vihola (2018), Bernoulli 24(2), 842-872 (i-SIR leaves its target invariant). Owen, Zhou (2000), Journal
of the American Statistical Association 95(449) (the mixture's density in the weights).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from synthdp.errors import Unfinished
from synthdp.imputation.families.family import FamilyDraw
from synthdp.masking.evidence import Evidence, GaussianEvidence, about_numbers, draw_levels
from synthdp.table.microdata import Codes, Floats


class Proposal(Protocol):
    """Where the candidates of some records come from."""

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record."""
        ...

    def log_weight(self, x: Floats) -> Floats:
        """Return log p(x | parents) p(w | x) / q(x) of each record, up to a constant."""
        ...


class Simulated(Protocol):
    """A family that can be drawn from and weighed, but not given evidence."""

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log p(y | η) of each record."""
        ...

    def simulate(self, eta: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw y from the model alone."""
        ...

    def around(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return center and sd of a normal density like it."""
        ...


@dataclass(frozen=True, repr=False)
class Exact:
    """Candidates from p(x | parents) p(w | x) itself, where the family knows how: they weigh the same."""

    family: FamilyDraw
    eta: Floats
    about: Evidence

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record."""
        return self.family.draw(self.eta, self.about, rng=rng)

    def log_weight(self, x: Floats) -> Floats:
        """Return zeros."""
        return np.zeros(len(x))


class Mixture:
    """Candidates from the model, the mask, and a compromise of both, where the mask says something."""

    def __init__(self, family: Simulated, eta: Floats, about: Evidence) -> None:
        self._family, self._eta, self._about = family, eta, about_numbers(about)
        k = self._about.precision
        self._informed = k > 0
        mask_sd = 1 / np.sqrt(np.where(self._informed, k, 1.0))
        center, sd = family.around(eta)
        left = 1 / (1 + k * sd**2)
        middle = center + (1 - left) * (self._about.mean() - center)
        self._normals = ((self._about.mean(), mask_sd), (middle, sd * np.sqrt(left)))

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record."""
        x = self._family.simulate(self._eta, rng=rng)
        source = rng.integers(len(self._normals) + 1, size=len(x))
        noise = rng.standard_normal(len(x))
        for number, (center, sd) in enumerate(self._normals, start=1):
            x = np.where(self._informed & (source == number), center + sd * noise, x)
        return x

    def log_weight(self, x: Floats) -> Floats:
        """Return log p p(w | x) / q; the mixture's own density is q, wherever a candidate came from."""
        own = self._family.log_density(x, self._eta)
        parts = [own, *(_log_normal(x, center, sd) for center, sd in self._normals)]
        mixed = np.where(self._informed, logsumexp(parts, axis=0), own)
        # beyond the support of the model the target is zero, whatever the mask proposes
        weight = np.where(np.isfinite(own), own - np.where(np.isfinite(own), mixed, 0.0), -np.inf)
        return np.asarray(weight + log_evidence(self._about, x))


def _log_normal(x: Floats, center: Floats, sd: Floats) -> Floats:
    return np.asarray(-0.5 * ((x - center) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))


def log_evidence(about: GaussianEvidence, x: Floats) -> Floats:
    """Return what Gaussian evidence says of each record's value, up to a constant."""
    return np.asarray(-0.5 * about.precision * (x - about.mean()) ** 2)


def effective(log_weights: Floats) -> Floats:
    """Return the effective number of the candidates of each row: (Σ w)² / Σ w²; zero where all are impossible.

    Examples
    --------
    >>> effective(np.log(np.array([[1.0, 1.0, 1e-300], [1.0, 1e-300, 1e-300]]))).round(3).tolist()
    [2.0, 1.0]
    """
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - np.where(np.isfinite(top), top, 0.0))
    squares = (weights**2).sum(axis=1)
    return np.asarray(np.divide(weights.sum(axis=1) ** 2, squares, out=np.zeros(len(squares)), where=squares > 0))


def choose(values: Floats, log_weights: Floats, *, rng: np.random.Generator) -> Floats:
    """Return one of each row's values, by weight; its first where all are impossible."""
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - np.where(np.isfinite(top), top, 0.0))
    cumulative = weights.cumsum(axis=1)
    threshold = rng.random(len(values)) * cumulative[:, -1]
    at = np.where(cumulative[:, -1] > 0, (threshold[:, None] >= cumulative[:, :-1]).sum(axis=1), 0)
    return np.asarray(values[np.arange(len(values)), at])


CANDIDATES = 8
MOST_CANDIDATES = 512
LEAST_EFFECTIVE = 2.0
MOST_POOR = 0.01


class Conditional(Protocol):
    """One replaced column given its parents, at one draw of θ."""

    @property
    def name(self) -> str:
        """The column."""
        ...

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns it depends on."""
        ...

    def log_density(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Return log p(own value | parents) of some records at the chain's values."""
        ...

    def levels(self) -> Floats | None:
        """Return the values to enumerate, or None where there are too many."""
        ...

    def log_levels(self, values: Mapping[str, Floats], about: Evidence) -> Floats:
        """Return log p(level | parents) p(w | level) of all records and levels."""
        ...

    def proposal(self, values: Mapping[str, Floats], rows: Codes, about: Evidence) -> Proposal:
        """Return where candidates of some records come from."""
        ...

    def told_by(self, child: "Conditional", values: Mapping[str, Floats]) -> Evidence | None:
        """Return what a child says about this column in closed form, or None where it must be weighed."""
        ...


@dataclass(frozen=True, repr=False)
class Chain:
    """All replaced columns at one draw of θ, in an order in which parents come first."""

    columns: Sequence[Conditional]
    sweeps: int

    def run(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Return the last state and, per sweep and column, the mean and the share that moved.

        Raises
        ------
        Unfinished
            When even ``MOST_CANDIDATES`` leave more than ``MOST_POOR`` of the records with nearly one candidate.
        """
        values: dict[str, Floats] = {}
        for column in self.columns:
            values[column.name] = self._start(column, values, evidence[column.name], rng=rng)
        counts: dict[str, Codes] = {}
        trace = []
        for sweep in range(self.sweeps):
            for column in self.columns:
                before = values[column.name]
                values[column.name] = self._step(column, values, evidence[column.name], counts, rng=rng)
                moved = float((values[column.name] != before).mean())
                trace.append((sweep, column.name, float(values[column.name].mean()), moved))
        return values, pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])

    def _start(
        self, column: Conditional, values: Mapping[str, Floats], about: Evidence, *, rng: np.random.Generator
    ) -> Floats:
        levels = column.levels()
        if levels is not None:
            return levels[draw_levels(column.log_levels(values, about), rng=rng)]
        proposal = column.proposal(values, np.arange(len(about)), about)
        if isinstance(proposal, Exact):
            return proposal.draw(rng=rng)
        drawn = np.column_stack([proposal.draw(rng=rng) for _ in range(CANDIDATES)])
        weights = np.column_stack([proposal.log_weight(x) for x in drawn.T])
        return choose(drawn, weights, rng=rng)

    def _step(
        self,
        column: Conditional,
        values: dict[str, Floats],
        about: Evidence,
        counts: dict[str, Codes],
        *,
        rng: np.random.Generator,
    ) -> Floats:
        children = [child for child in self.columns if column.name in child.parents]
        levels = column.levels()
        every = np.arange(len(about))
        if levels is not None:
            log_weights = column.log_levels(values, about)
            for place, level in enumerate(levels):
                there = values | {column.name: np.full(len(about), level)}
                for child in children:
                    log_weights[:, place] += _settled(child.log_density(there, every))
            return levels[draw_levels(log_weights, rng=rng)]
        weighed = []
        for child in children:
            told = column.told_by(child, values)
            if told is None:
                weighed.append(child)
            else:
                about = about + told
        proposal = column.proposal(values, every, about)
        if not weighed and isinstance(proposal, Exact):
            return proposal.draw(rng=rng)
        target = _Target(column, weighed, values, about)
        if column.name not in counts:
            counts[column.name] = target.candidates_needed(rng=rng)
        return target.step(counts[column.name], rng=rng)


@dataclass(frozen=True, repr=False)
class _Target:
    """What one number's candidates are weighed by."""

    column: Conditional
    children: Sequence[Conditional]
    values: Mapping[str, Floats]
    about: Evidence

    def step(self, counts: Codes, *, rng: np.random.Generator) -> Floats:
        """Choose among the current value and fresh candidates, as many as each record needs."""
        new = self.values[self.column.name].copy()
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            drawn, weights = self.weighed(rows, int(count), rng=rng, current=True)
            new[rows] = choose(drawn, weights, rng=rng)
        return new

    def candidates_needed(self, *, rng: np.random.Generator) -> Codes:
        """Return how many fresh candidates each record gets: doubled until enough of them count."""
        counts = np.full(len(self.about), CANDIDATES, dtype=np.int64)
        rows = np.arange(len(counts))
        while True:
            _, weights = self.weighed(rows, int(counts[rows[0]]), rng=rng, current=False)
            rows = rows[effective(weights) < LEAST_EFFECTIVE]
            if len(rows) == 0:
                return counts
            if counts[rows[0]] >= MOST_CANDIDATES:
                share = len(rows) / len(counts)
                if share <= MOST_POOR:
                    return counts
                raise Unfinished(
                    f"synthesis.model: {MOST_CANDIDATES} candidates for {self.column.name} are too few in "
                    f"{share:.1%} of the records: its model, its mask and the columns that depend on it say different "
                    "things; let it come after those columns, leave it out of their formulas, or use a wider mask."
                )
            counts[rows] *= 2

    def weighed(self, rows: Codes, count: int, *, rng: np.random.Generator, current: bool) -> tuple[Floats, Floats]:
        """Return candidates of some records and their log weights, the current value first if asked."""
        name = self.column.name
        proposal = self.column.proposal(self.values, rows, self.about[rows])
        drawn = [self.values[name][rows]] if current else []
        drawn += [proposal.draw(rng=rng) for _ in range(count)]
        weights = []
        for x in drawn:
            weight = proposal.log_weight(x)
            if self.children:
                there = self.values[name].copy()
                there[rows] = x
                state = {**self.values, name: there}
                for child in self.children:
                    weight = weight + child.log_density(state, rows)
            weights.append(_settled(weight))
        return np.column_stack(drawn), np.column_stack(weights)


def _settled(log_weights: Floats) -> Floats:
    """Return log weights with what cannot be computed as impossible."""
    return np.where(np.isnan(log_weights), -np.inf, log_weights)
