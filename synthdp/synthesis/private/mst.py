r"""MST: noisy margins, a tree of noisy two-way tables, and records from the tree.

1. All k margins with noise. Cells whose noisy count is below 3 sd of it are merged into one per column, so that later
   tables are not spent on cells that are hardly ever filled.
2. k − 1 pairs that hang together most, by the exponential mechanism (``tree.spanning_tree``).
3. The tables of these pairs with noise.
4. The nearest consistent tree of tables (``tree.fitted``); records are drawn from it, merged cells split as
   their noisy counts say.

A third of the budget each. With δ > 0 the budget is the largest ρ whose zCDP implies (ε, δ)-DP, and noise is Gaussian:

    σ = √(2k) / √(2ρ/3)  for k tables together (ℓ2 sensitivity √(2k) under ``replace``, √k under ``add_remove``),
    ε_round = √(8ρ/(3(k−1)))  for each of the k − 1 choices, which are ε_round²/8-zCDP.

``inference: noise_aware`` merges nothing, so that every cell's count is known with its noise, and draws copies from the
posterior given all tables (`posterior`) in place of 4. What a tree cannot hold is not in its intervals either.

With δ = 0 it is ε/3 each: integer Laplace noise of scale 2k·3/ε, and ε/(3(k−1)) per choice. Use a δ: noise of k tables
grows with √k then, and with k otherwise. Two columns leave nothing to choose, one column nothing but its margin; what a
step does not need goes to the others.

``workload`` and ``by`` say what the copies are for, and weigh the scores of pairs as `aim` weighs its candidates, by
Σ_s |r ∩ s| over the tables s asked for, divided by the largest weight so that a score moves no further than before.
Where pairs count alike the score decides, and ``corrected`` is the better one: it does not spend tables on noise. On
the census extract of reports/nist by area it seemed the worse one, 837 against 858 at ε = 10, for one edge: the noise
of 39 more cells was enough to take MSP–OWN_RENT before PUMA–OWN_RENT, which makes no odds for pairs, and there every
table that counts holds PUMA. Weights by that workload take it to 864. So the rule is to say what is asked, which
needs no look at the data; what was not asked is then worse.

Notes
-----
Our own inference, exact on trees; the mbi package is not needed, and nothing changes where it is present. Differences
from the authors' program: neighbours replace a record (theirs adds or removes one, which halves Δ and takes √2 off σ
for the same ε, but keeps n secret, which copies of length n cannot); n is used exactly; copies are independent draws,
as the combining rule needs, not counts rounded to their expectation; pairs with many cells are not preferred
(``tree.scores``); and merged cells are not split evenly, since their noisy counts are paid for. The last two take the
mean total variation of all pairs of Adult's 14 columns (n = 48,842, δ = 10⁻⁶) from 0.154 to 0.124 at ε = 0.1 and from
0.056 to 0.052 at ε = 1.

References
----------
McKenna, Miklau, Sheldon (2021), Journal of Privacy and Confidentiality 11(3) (MST, and merging).
Cesar, Rogers (2021), "Bounding, concentrating, and truncating", ALT (the exponential mechanism is ε²/8-zCDP).
Canonne, Kamath, Steinke (2020), NeurIPS, Proposition 12 (from ρ to (ε, δ)).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from synthdp.dp.noise import projected
from synthdp.privacy.accounting.closed_forms import rho_of_epsilon
from synthdp.privacy.events import Composed, Event, Repeated, ZeroConcentrated
from synthdp.privacy.guarantees import Adjacency
from synthdp.privacy.mechanisms import DiscreteLaplace, Exponential, Gaussian, Sensitivity, Source, sensitivity
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.dealing import dealt_tree
from synthdp.synthesis.private.domain import Domain, random_generator, rows
from synthdp.synthesis.private.fitting import Noisy
from synthdp.synthesis.private.measured import MOST_MEASURED, Workloads
from synthdp.synthesis.private.prepared import SHY
from synthdp.synthesis.private.synthesizer import Draw, Each
from synthdp.synthesis.private.tree import (
    Edge,
    Looks,
    Margins,
    fitted,
    pair_table,
    score_sensitivity,
    scores,
    spanning_tree,
)
from synthdp.synthesis.private.zeros import declarations
from synthdp.table.microdata import Codes, Floats

MOST_PAIR = 10**6
MERGED_BELOW = 3.0
TURNS = 1000


class DpMst(Workloads):
    """The columns' distributions and the strongest associations between pairs, as a tree, with noise.

    Parameters
    ----------
    score
        How pairs are ranked: ``corrected`` for what sampling and noise do by themselves, or ``plain`` as in the paper.
    workload, by
        What the copies are for, which weighs the scores: all pairs alike where nothing is said.

    Examples
    --------
    >>> DpMst(epsilon=1.0, delta=1e-6).method
    'dp_mst'
    """

    method: Literal["dp_mst"] = "dp_mst"
    score: Literal["corrected", "plain"] = "corrected"
    most_cells: ClassVar[float] = math.inf
    gaussian: ClassVar[bool] = False

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan; many columns do not."""
        found = super().problems(plan)
        if not found:
            axes = self.domain(plan).axes
            worst = max(combinations(axes, 2), key=lambda pair: pair[0].size * pair[1].size, default=axes[:1])
            cells = math.prod(axis.size for axis in worst)
            if cells > MOST_PAIR:
                names = " and ".join(axis.column.name for axis in worst)
                found.append(
                    f"synthesis.bins_by: the table of {names} has {cells:,} cells, dp_mst takes at most {MOST_PAIR:,} "
                    "for a pair of columns; use fewer bins, or group levels."
                )
        if not found and self.noise_aware:
            sizes = [axis.size for axis in axes]
            most = sum(sizes) + largest_tree(sizes)
            if most > MOST_MEASURED:
                found.append(
                    f"synthesis.bins: margins and a tree of pairs may have {most:,} cells, noise_aware takes at most "
                    f"{MOST_MEASURED:,}; use fewer bins, or inference plug_in."
                )
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return sentences when records are dealt, and when the noise leaves nothing of the data."""
        said, domain = super().notes(plan), self.domain(plan)
        sd = self.spent(len(domain.axes)).margins.sd
        threshold, n = MERGED_BELOW * sd, len(plan.data)
        fine = [axis.column.name for axis in domain.axes if n < threshold * axis.size]
        if n < threshold:
            return [
                *said,
                f"synthesis.epsilon: {n:,} records are fewer than 3 sd of the noise in a margin ({threshold:,.0f}); "
                "no cell can be told from noise, and the copies will say next to nothing. Raise epsilon.",
            ]
        if not fine or not self.merges(plan):
            return said
        return [
            *said,
            f"synthesis.epsilon: cells with fewer than {threshold:,.0f} records are likely to be merged; on average "
            f"those of {', '.join(fine)} have fewer. Use fewer bins, or raise epsilon.",
        ]

    def spent(self, columns: int) -> "Budget":
        """Return what each step may spend."""
        return budget(self.epsilon, self.delta, columns, self.adjacency, rho=self.rho if self.finds else None)

    def merges(self, plan: Plan) -> bool:
        """Return whether rare cells are merged: not where each has to be known, or may have been ruled out."""
        return not self.noise_aware and not declarations(plan, self.zeros)

    def shares(self, plan: Plan) -> Mapping[str, float]:
        """Return what finding bins and levels is given, where anything is found; the rest goes in even parts."""
        if not self.finds:
            return {}
        steps = ("margins", "choosing", "tables") if len(plan.data.schema.columns) > 2 else ("margins", "tables")
        return {"preprocessing": self.preparing, **dict.fromkeys(steps, (1 - self.preparing) / len(steps))}

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw | Each, Event]:
        """Measure margins, choose pairs, measure their tables, fit. Cost O(k²(n + cells of a pair) + the fit's)."""
        n, cells = len(plan.data), domain.encode(plan.data)
        sizes = [axis.size for axis in domain.axes]
        spent = self.spent(len(sizes))
        counts = [np.bincount(cells[:, v], minlength=size) for v, size in enumerate(sizes)]
        noisy = measured(counts, spent.margins, source)
        threshold = MERGED_BELOW * spent.margins.sd if self.merges(plan) else -math.inf
        merged = [Merged.below(margin, threshold) for margin in noisy]
        coarse = np.column_stack([groups.of(cells[:, v]) for v, groups in enumerate(merged)])
        margins = [groups.summed(margin) for groups, margin in zip(merged, noisy, strict=True)]
        sd = spent.tables.sd if self.score == "corrected" else None
        worth = scores(coarse, [projected(margin, n) for margin in margins], sd=sd)
        edges = spanning_tree(self.weighed(worth, plan, domain), len(sizes), spent.choice, source)
        shapes = [(merged[a].size, merged[b].size) for a, b in edges]
        pairs = [pair_table(coarse, edge, shape) for edge, shape in zip(edges, shapes, strict=True)]
        tables = measured(pairs, spent.tables, source)
        if not self.merges(plan):
            known = Noisy(tuple(sizes), {}, n, self.ruled(plan, domain))
            for v, margin in enumerate(noisy):
                known = known.joined((v,), margin, spent.margins.sd**2)
            for (a, b), table in zip(edges, tables, strict=True):
                known = known.joined((min(a, b), max(a, b)), table if a < b else table.T, spent.tables.sd**2)
            return self.drawn(known, turns=TURNS, rng=random_generator(source)), spent.event()
        model = fitted(
            Looks(
                edges,
                Margins(tuple(margins), tuple(tables)),
                tuple(1 / (spent.margins.sd**2 * groups.held()) for groups in merged),
                (1 / spent.tables.sd**2,) * len(edges),
                float(n),
            )
        )

        def draw(rng: np.random.Generator) -> Codes:
            drawn = dealt_tree(model, n, rng=rng) if self.dealing == "systematic" else model.draw(n, rng=rng)
            return np.column_stack([groups.split(drawn[:, v], rng=rng) for v, groups in enumerate(merged)])

        return draw, spent.event()

    def weighed(self, worth: Mapping[Edge, float], plan: Plan, domain: Domain) -> dict[Edge, float]:
        """Return scores times how much their pairs count in the workload, at most 1; by public numbers alone."""
        weights = self.asked_for(plan, domain)
        counted = {pair: weights.get(pair, 0.0) for pair in worth}
        heaviest = max(counted.values(), default=0.0)
        # of a workload without pairs nothing follows
        return {pair: value * (counted[pair] / heaviest if heaviest else 1.0) for pair, value in worth.items()}


def largest_tree(sizes: list[int]) -> int:
    """Return how many cells the pairs of a tree may have at most: everything hangs on the widest column.

    Examples
    --------
    >>> largest_tree([2, 5, 3])
    25
    """
    widest = max(range(len(sizes)), key=sizes.__getitem__)
    return sum(sizes[widest] * size for v, size in enumerate(sizes) if v != widest)


@dataclass(frozen=True)
class Budget:
    """What each step may spend; ``choice`` is None when there is nothing to choose."""

    margins: "Gaussian | DiscreteLaplace"
    choice: Exponential | None
    tables: "Gaussian | DiscreteLaplace"
    columns: int

    def event(self) -> Event:
        """Return what was done, for the accountants."""
        done: list[Event] = [self.margins.event()]
        if self.choice is not None:
            # as a pure event it would count for ε²/2 where ε²/8 holds
            zero = ZeroConcentrated(self.choice.rho) if isinstance(self.margins, Gaussian) else self.choice.event()
            done.append(Repeated(zero, self.columns - 1))
        if self.columns > 1:
            done.append(self.tables.event())
        return Composed(tuple(done))


def budget(epsilon: float, delta: float, columns: int, adjacency: Adjacency, *, rho: float | None = None) -> Budget:
    """Divide (ε, δ) evenly among the steps there are, or the ρ that is left of it.

    Examples
    --------
    >>> budget(3.0, 0.0, 3, "replace").choice.epsilon  # doctest: +ELLIPSIS
    0.49999...
    """
    rounds = columns - 1
    steps = 1 if columns == 1 else 2 if columns == 2 else 3
    if not delta:
        part = epsilon * SHY / steps
        per_round = part / max(rounds, 1)
    else:
        part = (rho_of_epsilon(epsilon, delta, method="tight") if rho is None else rho) * SHY / steps
        per_round = math.sqrt(8 * part / max(rounds, 1))
    choice = Exponential.calibrated(score_sensitivity(adjacency), epsilon=per_round) if steps == 3 else None

    def noise(count: int) -> "Gaussian | DiscreteLaplace":
        if not delta:
            return DiscreteLaplace.calibrated(tables_sensitivity(count, adjacency, "l1"), epsilon=part)
        return Gaussian.concentrated(tables_sensitivity(count, adjacency, "l2"), rho=part)

    return Budget(noise(columns), choice, noise(max(rounds, 1)), columns)


def tables_sensitivity(count: int, adjacency: Adjacency, norm: Literal["l1", "l2"]) -> Sensitivity:
    """Return how far one record moves ``count`` whole tables together: each by its own, in ℓ1 or ℓ2.

    ℓ1: 2·count under ``replace``, count under ``add_remove``; ℓ2: √(2·count) and √count.
    """
    one = sensitivity.table(adjacency, norm=norm).value
    return Sensitivity(one * (count if norm == "l1" else math.sqrt(count)), norm, adjacency)


def measured(counts: list[Codes], noise: "Gaussian | DiscreteLaplace", source: Source) -> list[Floats]:
    """Return tables of counts with noise, all in one batch."""
    if not counts:
        return []
    noisy = noise.release(np.concatenate([table.ravel() for table in counts]), source=source).astype(np.float64)
    pieces = np.split(noisy, np.cumsum([table.size for table in counts])[:-1])
    return [piece.reshape(table.shape) for piece, table in zip(pieces, counts, strict=True)]


@dataclass(frozen=True)
class Merged:
    """The cells of one column, those with small noisy counts (``rare``) as one: the last group.

    ``shares`` are their noisy counts, made non-negative; even when they have no positive sum.
    """

    group: Codes
    rare: Codes
    shares: Floats

    @classmethod
    def below(cls, noisy: Floats, threshold: float) -> "Merged":
        """Merge the cells whose noisy counts are below a threshold."""
        rare = noisy < threshold
        group = np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1)
        small = noisy[rare]
        total = small.sum()
        shares = projected(small, total) if total > 0 else np.ones(len(small))
        return cls(group, np.flatnonzero(rare), shares)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.group.max()) + 1

    def of(self, cells: Codes) -> Codes:
        """Return the group of each cell."""
        return np.asarray(self.group[cells], dtype=np.int64)

    def summed(self, margin: Floats) -> Floats:
        """Return the margin of the groups."""
        return np.asarray(np.bincount(self.group, weights=margin, minlength=self.size), dtype=np.float64)

    def held(self) -> Floats:
        """Return how many cells each group holds, which multiplies its noise's variance."""
        return np.bincount(self.group, minlength=self.size).astype(np.float64)

    def split(self, groups: Codes, *, rng: np.random.Generator) -> Codes:
        """Return a cell of each group, in proportion to their noisy counts where there are several."""
        first = np.zeros(self.size, dtype=np.int64)
        first[self.group] = np.arange(len(self.group))
        found = first[groups]
        if len(self.rare):
            again = groups == self.size - 1
            found[again] = self.rare[rows(self.shares, int(again.sum()), rng=rng)]
        return found
