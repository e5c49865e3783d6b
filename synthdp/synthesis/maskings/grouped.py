"""Numbers masked within groups of equal length that hold at least k: k-PRAM and k-noise.

With Y = X + U(−a, a), a record at distance d from x is within r of x with probability

    P(|Y − x| ≤ r) = min(1, r/a, (a + r − d)/(2a)), and 0 from d = a + r on.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), chapter 3. Table 3.3 there calls 3-anonymous what is so for each column alone and
has k = 1 jointly (and puts 120 into 51–100): classes here are joint. Section 3.6 claims k-PRAM groups that hold 9, 2
and 1 records; here groups are widened until each holds k, and edges that were given are refused where one holds fewer.
Theorem 3.5.1: with r = 2a the expected number is more than half of the records that were within 2a before (the last
line there has = k/2 for ≥ k/2, and the code of the experiment counts with r = a). Moving noise (A.0.5) has the
half-width c/t there, c the mean group size, so years per record; here a·(mean t)/t, capped at 2a as there.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from synthdp.imputation.cells import settled
from synthdp.synthesis.maskings.masking import Numeric, unknown_columns
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column

HARDLY = 0.01
"""From this share of values that cannot move on, it is said."""
Edges = Annotated[tuple[float, ...], Field(min_length=2)]


class Grouped(Numeric):
    """Numbers moved inside groups of at least k; levels exchanged as in ``pram``.

    Parameters
    ----------
    k
        How many records each group holds at least. A column that fewer have is one group.
    most_groups
        How many groups there are at most, where edges are found from the data.
    edges
        For a column, the edges of its groups; the last group holds its upper edge. Groups may be empty.
    """

    k: int = Field(default=5, ge=1)
    most_groups: int = Field(default=20, ge=1)
    edges: Mapping[str, Edges] = Field(default_factory=dict)

    because: ClassVar[str]

    @model_validator(mode="after")
    def _increasing(self) -> "Grouped":
        for name, edges in self.edges.items():
            if any(not low < high for low, high in pairwise(edges)):
                raise ValueError(f"edges.{name}: must be increasing; sort them and leave out repeated ones")
        return self

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        columns = [column for column in plan.data.schema.replaced() if not column.kind.categorical]
        found = super().problems(plan) + unknown_columns("edges", self.edges, columns, "numbers")
        if len(plan.data) < self.k:
            found.append(f"synthesis.k: {self.k} records are needed for one group, found {len(plan.data)}.")
        for column in columns:
            if column.name in self.edges:
                values = plan.data.numbers(column.name)
                found += self._misfits(values[np.isfinite(values)], column.name)
        return found

    def _misfits(self, values: Floats, name: str) -> list[str]:
        edges = np.asarray(self.edges[name])
        outside = int(((values < edges[0]) | (values > edges[-1])).sum())
        if outside:
            return [f"synthesis.edges.{name}: {outside} values lie outside the edges; widen the first or last group."]
        held = np.bincount(group(values, edges), minlength=len(edges) - 1)
        few = int(((held > 0) & (held < self.k)).sum())
        if few:
            return [
                f"synthesis.edges.{name}: {few} of {len(held)} groups hold fewer than k = {self.k} records; widen "
                "them, or lower synthesis.k."
            ]
        return []

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know: which columns are hardly masked."""
        found = super().notes(plan)
        for column in plan.data.schema.replaced():
            values = np.array([]) if column.kind.categorical else plan.data.numbers(column.name)
            values = values[np.isfinite(values)]
            if not len(values):
                continue
            whole = pd.api.types.is_integer_dtype(plan.data.frame[column.name].dtype)
            own, *ends = (settled(at, column, whole=whole) for at in (values, *self.ends(values, column)))
            still = np.all([at == own for at in ends], axis=0).mean()
            if still >= HARDLY:
                found.append(
                    f"{self.method}: {still:.0%} of the values of {column.name} stay as they are, as {self.because}; "
                    "lower most_groups, or give wider edges."
                )
        return found

    def ends(self, values: Floats, column: Column) -> tuple[Floats, Floats]:
        """Return the least and the largest number that each one can become."""
        raise NotImplementedError

    def edges_of(self, values: Floats, column: Column) -> Floats:
        """Return the edges that were given, or else those of as many groups as hold k."""
        given = self.edges.get(column.name)
        return group_edges(values, self.k, self.most_groups) if given is None else np.asarray(given, dtype=np.float64)


class KPram(Grouped):
    """Every number becomes another of its own group; as many groups as have k records each.

    Parameters
    ----------
    variant
        ``uniform``: a value drawn evenly from the group's span; ``shuffle``: the group's values dealt anew; ``matrix``:
        with probability ``keep`` the own value, else that of a random record of the group (an invariant matrix over
        the group's values).

    Examples
    --------
    >>> KPram(k=3, variant="shuffle", edges={"age": (20, 40, 60, 80)}).variant
    'shuffle'
    """

    method: Literal["k_pram"] = "k_pram"
    variant: Literal["uniform", "shuffle", "matrix"] = "uniform"

    because: ClassVar[str] = "nothing else lies in their groups"

    def ends(self, values: Floats, column: Column) -> tuple[Floats, Floats]:
        """Return the ends of each one's group, or of the values in it."""
        edges = self.edges_of(values, column)
        own = group(values, edges)
        if self.variant == "uniform":
            return edges[own], edges[own + 1]
        low, high = np.full(len(edges) - 1, np.inf), np.full(len(edges) - 1, -np.inf)
        np.minimum.at(low, own, values)
        np.maximum.at(high, own, values)
        return low[own], high[own]

    def move(self, values: Floats, column: Column, rng: np.random.Generator) -> Floats:
        """Return other values of the same groups; the groups' counts stay. Cost O(n log n)."""
        edges = self.edges_of(values, column)
        own = group(values, edges)
        if self.variant == "uniform":
            return rng.uniform(edges[own], edges[own + 1])
        order = np.argsort(own, kind="stable")
        if self.variant == "shuffle":
            dealt = np.empty_like(values)
            # sorted by group and, inside it, at random
            dealt[order] = values[np.lexsort((rng.random(len(values)), own))]
            return dealt
        held = np.bincount(own)
        first = np.cumsum(held) - held
        donor = order[first[own] + (rng.random(len(values)) * held[own]).astype(np.int64)]
        return np.where(rng.random(len(values)) < self.keep, values, values[donor])


class KNoise(Grouped):
    """Uniform noise of half a group's length.

    Parameters
    ----------
    moving
        Whether noise is wider where few records are near: half-width a·(mean t)/t, at most 2a, for t expected
        neighbours.

    Examples
    --------
    >>> KNoise(k=3).moving
    False
    """

    method: Literal["k_noise"] = "k_noise"
    moving: bool = False

    because: ClassVar[str] = "rounding takes the noise away"

    def ends(self, values: Floats, column: Column) -> tuple[Floats, Floats]:
        """Return each one less and plus the half-width of its noise."""
        half = self.half(values, column)
        widths = moving_widths(values, half) if self.moving and half > 0 else half
        return values - widths, values + widths

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        uneven = [
            f"synthesis.edges.{name}: groups must have one length for k_noise, found {min(lengths):g} to "
            f"{max(lengths):g}; "
            "space them evenly."
            for name, edges in self.edges.items()
            if np.ptp(lengths := np.diff(edges)) > 1e-9 * max(lengths)
        ]
        return super().problems(plan) + uneven

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know: how many records a value is expected to lie among."""
        found = super().notes(plan)
        for column in plan.data.schema.replaced():
            values = np.array([]) if column.kind.categorical else plan.data.numbers(column.name)
            values = values[np.isfinite(values)]
            if len(values) and (half := self.half(values, column)) > 0:
                expected = expected_group_size(values, values, half=half, radius=2 * half)
                found.append(
                    f"k_noise: within two half-widths (±{2 * half:.3g}) of a value of {column.name} stand "
                    f"{expected.mean():.1f} "
                    f"masked records on average and {expected.min():.1f} at the least, in expectation."
                )
        return found

    def half(self, values: Floats, column: Column) -> float:
        """Return a, half a group's length."""
        edges = self.edges_of(values, column)
        return float(edges[1] - edges[0]) / 2

    def move(self, values: Floats, column: Column, rng: np.random.Generator) -> Floats:
        """Return values with bounded noise, E(Y − X)² = a²/3 unless it moves. Cost O(n log n)."""
        half = self.half(values, column)
        if not self.moving or half == 0:
            return values + rng.uniform(-half, half, len(values))
        widths = moving_widths(values, half)
        return values + widths * rng.uniform(-1, 1, len(values))


def moving_widths(values: Floats, half: float) -> Floats:
    """Return half-widths of noise that is wider in the tails: a·(mean t)/t, at most 2a; t is within a of the value."""
    near = expected_group_size(values, values, half=half, radius=half)
    return np.asarray(np.minimum(half * near.mean() / near, 2 * half), dtype=np.float64)


def group_edges(values: Floats, k: int, most: int) -> Floats:
    """Return the edges of as many groups of equal length as hold k values each; one group if none do."""
    low, high = float(values.min()), float(values.max())
    for groups in range(most, 1, -1):
        edges = np.linspace(low, high, groups + 1)
        if np.bincount(group(values, edges), minlength=groups).min() >= k:
            return edges
    return np.array([low, high])


def group(values: Floats, edges: Floats) -> Codes:
    """Return the group of every value; the upper edge belongs to the last one."""
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def expected_group_size(values: Floats, at: Floats, *, half: float, radius: float) -> Floats:
    """Return the expected number of noisy values within a radius of every point. Cost O(n log n).

    Parameters
    ----------
    values
        The numbers before masking.
    at
        The points around which records are counted.
    half
        a, half the width of the noise.
    radius
        r, how far around a point.

    Examples
    --------
    >>> expected_group_size(np.array([0.0, 3.0]), np.array([0.0]), half=1.0, radius=2.0)
    array([1.])
    """
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    inner, outer = abs(radius - half), radius + half
    edges = (-outer, -inner, inner, outer)
    far_left, left, right, far_right = (np.searchsorted(ordered, at + edge) for edge in edges)
    flat = (right - left) * min(1.0, radius / half)
    # on the flanks the probability falls in a straight line, so counts and sums of the values are enough
    below = (left - far_left) * (outer - at) + (sums[left] - sums[far_left])
    above = (far_right - right) * (outer + at) - (sums[far_right] - sums[right])
    return np.asarray(flat + (below + above) / (2 * half), dtype=np.float64)
