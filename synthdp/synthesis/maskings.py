r"""Classical maskings of the microdata, without a guarantee: no ε is claimed for any of them.

``k_anonymity``  the records are cut into classes of at least k at medians (Mondrian), each class shows one value
``pram``         levels exchanged by a fixed matrix: kept with probability ``keep``, else one of the others
``k_pram``       numbers replaced by a uniform value of their own group; groups of equal length, at least k in each
``k_noise``      number + U(−a, a), a half a group's length, where every window of two groups' length holds k records

Notes
-----
Local DP of a fixed matrix would be ln max ratio (keep = 0.8, two levels: ln 4), but what is released here depends on
groups, means or ranges of the data, and kept columns stay. k-noise is bounded: whoever knows x knows |Y − x| ≤ a.

With Y = X + U(−a, a), a record at distance d from x is within r of x with probability

    P(|Y − x| ≤ r) = min(1, r/a, (a + r − d)/(2a)), and 0 from d = a + r on.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), chapter 3. Table 3.3 there calls 3-anonymous what is so for each column alone and
has k = 1 jointly (and puts 120 into 51–100): classes here are joint. Section 3.6 claims k-PRAM groups that hold 9, 2
and 1 records; here groups are widened until each holds k. Theorem 3.5.1: with r = 2a the expected number is more than
half of the records that were within 2a before (the last line there has = k/2 for ≥ k/2, and the code of the experiment
counts with r = a).
Gouweleeuw, Kooiman, Willenborg, de Wolf (1998), Journal of Official Statistics 14(4) (PRAM).
LeFevre, DeWitt, Ramakrishnan (2006), ICDE (Mondrian).
"""

import time
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from synthdp.imputation.cells import write
from synthdp.parallel import Advance, each
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Method, Plan, Release
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata, decode
from synthdp.table.schema import Column

Places = npt.NDArray[np.int64]


class Masking(Method):
    """What the maskings share; missing values stay missing."""

    method: str
    copies: int = Field(default=1, ge=1)
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: bool = False

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = []
        if not plan.data.schema.replaced():
            found.append("variables: no column has role: replace; nothing would be masked.")
        if plan.constraints:
            found.append(f"constraints: method {self.method} does not keep them; use da_mi, mi or sequential.")
        return found

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Mask the replaced columns; no guarantee comes with it."""
        started = time.perf_counter()

        def copy(m: int) -> pd.DataFrame:
            return plan.data.frame.assign(**self.masked(plan.data, rng=streams.generator("values", self.method, m)))

        copies = tuple(each(copy, range(1, self.copies + 1), advance=advance))
        return Release.of(self, plan, copies, seconds={"draw": time.perf_counter() - started})

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return the replaced columns after masking."""
        raise NotImplementedError


class KAnonymity(Masking):
    """Classes of at least k records that show the same values in all replaced columns: means, and the commonest level.

    Examples
    --------
    >>> KAnonymity(k=3).k
    3
    """

    method: Literal["k_anonymity"] = "k_anonymity"
    k: int = Field(default=5, ge=2)
    copies: Literal[1] = 1

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if len(plan.data) < self.k:
            found.append(f"synthesis.k: {self.k} records are needed for one class, found {len(plan.data)}.")
        return found

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return class means and commonest levels. Cost O(n log n · columns)."""
        columns = data.schema.replaced()
        values = np.column_stack([data.values(column.name) for column in columns])
        shown = values.copy()
        for members in classes(values, self.k):
            for j, column in enumerate(columns):
                here = values[members, j]
                shown[members, j] = _commonest(here) if column.kind.categorical else _mean(here)
        return {column.name: _written(shown[:, j], column, data) for j, column in enumerate(columns)}


class Pram(Masking):
    """Levels exchanged at random, record by record.

    Examples
    --------
    >>> Pram(keep=0.8).keep
    0.8
    """

    method: Literal["pram"] = "pram"
    keep: float = Field(default=0.8, ge=0, le=1)

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        return super().problems(plan) + [
            f"variables.{column.name}: pram exchanges levels, this column is {column.kind}; use k_pram or k_noise."
            for column in plan.data.schema.replaced()
            if not column.kind.categorical
        ]

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return the levels after exchange. Cost O(n)."""
        return {column.name: _exchanged(data, column, self.keep, rng) for column in data.schema.replaced()}


class _Grouped(Masking):
    """Numbers moved inside groups of at least k; levels exchanged as in ``pram``."""

    k: int = Field(default=5, ge=2)
    most_groups: int = Field(default=20, ge=1)
    keep: float = Field(default=0.8, ge=0, le=1)

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return all replaced columns after masking. Cost O(n · most_groups)."""
        found = {}
        for column in data.schema.replaced():
            if column.kind.categorical:
                found[column.name] = _exchanged(data, column, self.keep, rng)
                continue
            values = data.numbers(column.name)
            there = np.isfinite(values)
            moved = values.copy()
            moved[there] = self.move(values[there], rng)
            found[column.name] = write(moved, column, data.frame[column.name])
        return found

    def move(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return numbers after masking."""
        raise NotImplementedError


class KPram(_Grouped):
    """Every number becomes a uniform value of its own group; as many groups as have k records each."""

    method: Literal["k_pram"] = "k_pram"

    def move(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return uniform values; the groups' counts stay."""
        edges = group_edges(values, self.k, self.most_groups)
        group = _group(values, edges)
        return rng.uniform(edges[group], edges[group + 1])


class KNoise(_Grouped):
    """Uniform noise of half a group's length."""

    method: Literal["k_noise"] = "k_noise"

    def move(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return values with bounded noise: E(Y − X)² = a²/3."""
        edges = group_edges(values, self.k, self.most_groups)
        half = (edges[1] - edges[0]) / 2
        return values + rng.uniform(-half, half, len(values))


def group_edges(values: Floats, k: int, most: int) -> Floats:
    """Return the edges of as many groups of equal length as hold k values each; one group if none do."""
    low, high = float(values.min()), float(values.max())
    for groups in range(most, 1, -1):
        edges = np.linspace(low, high, groups + 1)
        if np.bincount(_group(values, edges), minlength=groups).min() >= k:
            return edges
    return np.array([low, high])


def classes(values: Floats, k: int) -> list[Places]:
    """Return classes of at least k records, cut at the median of the column of widest range while both parts hold k."""
    spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
    filled = np.where(np.isnan(values), np.nanmin(values, axis=0) - scale, values) / scale
    waiting, found = [np.arange(len(values))], []
    while waiting:
        members = waiting.pop()
        parts = _cut(filled[members], k) if len(members) >= 2 * k else None
        if parts is None:
            found.append(members)
        else:
            waiting += [members[parts], members[~parts]]
    return found


def _cut(values: Floats, k: int) -> npt.NDArray[np.bool_] | None:
    for j in np.argsort(-np.ptp(values, axis=0), kind="stable"):
        middle = np.median(values[:, j])
        for part in (values[:, j] <= middle, values[:, j] < middle):
            if k <= int(part.sum()) <= len(values) - k:
                return part
    return None


def _group(values: Floats, edges: Floats) -> Places:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def _exchanged(data: Microdata, column: Column, keep: float, rng: np.random.Generator) -> pd.Series:
    codes, levels = data.codes(column.name), len(column.levels)
    shift = rng.integers(1, levels, len(codes)) if levels > 1 else np.zeros(len(codes), dtype=np.int64)
    other = (codes + shift) % levels
    return _levels(np.where((codes == MISSING) | (rng.random(len(codes)) < keep), codes, other), column, data)


def _levels(codes: Codes, column: Column, data: Microdata) -> pd.Series:
    return decode(codes, column, data.frame[column.name])


def _written(values: Floats, column: Column, data: Microdata) -> pd.Series:
    if not column.kind.categorical:
        return write(values, column, data.frame[column.name])
    return _levels(np.where(np.isnan(values), MISSING, values).astype(np.int64), column, data)


def _mean(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")


def _commonest(values: Floats) -> float:
    present = values[~np.isnan(values)]
    if not len(present):
        return float("nan")
    return float(np.bincount(present.astype(np.int64)).argmax())


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
