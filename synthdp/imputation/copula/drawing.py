"""The joint draw of the replaced columns given Z, W and one draw of the parameters: progressive Gibbs on the latents.

A latent given the others of its record is normal, N(c, v). What W says of the column multiplies it:

* a number: exp(−τ(t − w)²/2) with t = F⁻¹(Φ(y/s)) the working value. With e ~ Exp(1) the level of a slice is
  exp(−τ(t − w)²/2 − e), so that |t − w|² < (t_now − w)² + 2e/τ; as F is monotone that is an interval of y, and y is
  drawn from N(c, v) inside it: exact, nothing is tuned, heaps and point masses included (Damien, Wakefield and Walker
  1999, JRSS B 61(2), 331-344).
* ordered levels: enumerated, the normal's probability of each interval times the weight of its level; then y inside.
* a nominal column: one utility at a time. Above the largest of the others its own level is chosen, below it theirs: a
  step, and N(c, v) times a step is a mixture of two truncated normals.

Latents of kept columns that are not known exactly, and missing cells, are updated along. The chain starts from W, Z and
the parameters, never from the true X. O(n q) per coordinate and sweep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import log_ndtr

from synthdp.evidence import Evidence, GaussianEvidence, LevelEvidence, draw_levels
from synthdp.imputation.applying import certain, filled
from synthdp.imputation.copula.coding import Coding, Curve, Item
from synthdp.imputation.copula.latent import truncated_normal, utilities_for
from synthdp.imputation.copula.margins import LevelCurve, NumberCurve
from synthdp.imputation.protocol import Task
from synthdp.microdata import Codes, Floats
from synthdp.schema import Role

FARTHEST_START = 3.0


@dataclass(frozen=True, repr=False)
class CopulaParameters:
    """One draw of R, Γ and the weights of the margins.

    Parameters
    ----------
    coding
        The columns.
    r, gamma
        The correlation matrix (q × q) and the covariates' effects (d × q).
    weights
        Of the records, from the Bayesian bootstrap.
    sweeps
        How long the chain runs.
    """

    coding: Coding
    r: Floats
    gamma: Floats
    weights: Floats
    sweeps: int

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ), and the missing values of kept ones."""
        return self.chain(evidence, rng=rng)[0]

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, drawn where they are missing given all that is known."""
        return filled(task.working, self.draw(certain(task.working, task.data.schema.replaced()), rng=rng))

    def chain(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Run the chain; return its last state and, per sweep and replaced column, the mean and who moved."""
        walk = Walk(self, self.coding.curves(self.weights), evidence, rng=rng)
        trace = []
        for sweep in range(self.sweeps):
            for number, item in enumerate(self.coding.items):
                moved = walk.update(number)
                if item.column.role is Role.REPLACE:
                    trace.append((sweep, item.column.name, float(walk.y[item.first].mean()), moved))
        return walk.values(), pd.DataFrame(trace, columns=["sweep", "column", "mean", "moved"])


class Walk:
    """The chain's state: latents q × n, and the values or levels they give.

    Parameters
    ----------
    parameters
        θ.
    curves
        The margins that go with its weights.
    evidence
        What W says of each replaced column.
    """

    def __init__(
        self,
        parameters: CopulaParameters,
        curves: Sequence[Curve],
        evidence: Mapping[str, Evidence],
        *,
        rng: np.random.Generator,
    ) -> None:
        coding = parameters.coding
        self._items, self._curves, self._rng, self._scale = coding.items, curves, rng, coding.scale
        precision = np.linalg.inv(parameters.r)
        self._weights = -precision / np.diag(precision)[:, None]
        np.fill_diagonal(self._weights, 0.0)
        self._sd = 1 / np.sqrt(np.diag(precision))
        self._mean: Floats = np.ascontiguousarray((coding.covariates @ parameters.gamma).T)
        self._evidence: list[Evidence | None] = [
            evidence.get(item.column.name) if item.column.role is Role.REPLACE else None for item in self._items
        ]
        self.state: list[Floats] = [np.zeros(0) for _ in self._items]
        self.y = self._start(coding)

    def values(self) -> dict[str, Floats]:
        """Return the replaced columns, and the kept ones that have missing values."""
        found: dict[str, Floats] = {}
        for number, item in enumerate(self._items):
            if item.column.role is Role.REPLACE:
                found[item.column.name] = self.state[number]
            elif item.missing().any():
                found[item.column.name] = self._value(number)
        return found

    def update(self, number: int) -> float:
        """Draw one column's latents given the others; return the share of records whose value changed."""
        item, about = self._items[number], self._evidence[number]
        curve = self._curves[number]
        if about is None:
            self._update_kept(number)
            return 1.0
        before = self.state[number]
        if isinstance(curve, NumberCurve) and isinstance(about, GaussianEvidence):
            self._update_number(item, curve, before, about)
        elif isinstance(curve, LevelCurve) and isinstance(about, LevelEvidence):
            self._update_levels(item, curve, about)
        elif curve is None and isinstance(about, LevelEvidence):
            self._update_utilities(item, about)
        else:
            raise TypeError("evidence about a number and about levels cannot be taken for each other")
        self.state[number] = self._value(number)
        return float((self.state[number] != before).mean())

    def _start(self, coding: Coding) -> Floats:
        latent, rng = coding.latent(self._curves), self._rng
        y: Floats = np.ascontiguousarray(latent.start(rng=rng).T)
        for number, (item, curve) in enumerate(zip(self._items, self._curves, strict=True)):
            about = self._evidence[number]
            if about is None:
                continue
            # nothing of the true value: from W and the margin alone
            j, s = item.first, self._scale[item.first]
            if isinstance(curve, NumberCurve) and isinstance(about, GaussianEvidence):
                at = np.clip(curve.latent(about.mean()), -FARTHEST_START, FARTHEST_START)
                y[j] = s * np.where(about.precision > 0, at, rng.standard_normal(y.shape[1]))
            elif isinstance(curve, LevelCurve) and isinstance(about, LevelEvidence):
                shares = log_between(curve.cuts[None, :-1], curve.cuts[None, 1:])
                level = draw_levels(shares + about.log_weights, rng=rng)
                y[j] = s * truncated_normal(curve.cuts[level], curve.cuts[level + 1], rng=rng)
            elif curve is None and isinstance(about, LevelEvidence):
                level = draw_levels(about.log_weights[:, item.order], rng=rng)
                y[j : j + item.width] = utilities_for(level, item.width, rng=rng).T
        self.y = y
        for number, about in enumerate(self._evidence):
            if about is not None:
                self.state[number] = self._value(number)
        return y

    def _center(self, j: int, rows: Codes | slice = slice(None)) -> Floats:
        """Return the conditional expectations of coordinate j given the others."""
        return np.asarray(self._mean[j, rows] + self._weights[j] @ (self.y[:, rows] - self._mean[:, rows]))

    def _inside(self, j: int, low: Floats, high: Floats, center: Floats) -> Floats:
        sd = self._sd[j]
        drawn = truncated_normal((low - center) / sd, (high - center) / sd, rng=self._rng)
        return np.asarray(center + sd * drawn)

    def _update_kept(self, number: int) -> None:
        item, curve = self._items[number], self._curves[number]
        if curve is None:
            self._update_known_utilities(item)
            return
        j = item.first
        low, high = curve.bounds()
        rows = np.flatnonzero(low < high)
        if len(rows):
            s = self._scale[j]
            self.y[j, rows] = self._inside(j, s * low[rows], s * high[rows], self._center(j, rows))

    def _update_known_utilities(self, item: Item) -> None:
        block = self.y[item.first : item.first + item.width]
        columns = np.arange(block.shape[1])
        for k in range(item.width):
            mine = item.codes == k + 1
            others = np.maximum(np.delete(block, k, axis=0).max(axis=0, initial=0.0), 0.0)
            chosen = np.where(item.codes > 0, block[np.maximum(item.codes - 1, 0), columns], 0.0)
            low = np.where(mine, others, -np.inf)
            high = np.where(mine | (item.codes < 0), np.inf, chosen)
            block[k] = self._inside(item.first + k, low, high, self._center(item.first + k))

    def _update_number(self, item: Item, curve: NumberCurve, t: Floats, about: GaussianEvidence) -> None:
        j, s = item.first, self._scale[item.first]
        w, precision = about.mean(), about.precision
        with np.errstate(divide="ignore"):
            reach = np.sqrt((t - w) ** 2 + 2 * self._rng.standard_exponential(len(t)) / precision)
        low, high = s * curve.latent(w - reach), s * curve.latent(w + reach)
        self.y[j] = self._inside(j, np.minimum(low, self.y[j]), np.maximum(high, self.y[j]), self._center(j))

    def _update_levels(self, item: Item, curve: LevelCurve, about: LevelEvidence) -> None:
        j = item.first
        center, cuts = self._center(j), curve.cuts * self._scale[j]
        edges = (cuts[None, :] - center[:, None]) / self._sd[j]
        level = draw_levels(log_between(edges[:, :-1], edges[:, 1:]) + about.log_weights, rng=self._rng)
        self.y[j] = self._inside(j, cuts[level], cuts[level + 1], center)

    def _update_utilities(self, item: Item, about: LevelEvidence) -> None:
        block = self.y[item.first : item.first + item.width]
        log_weights = about.log_weights[:, item.order]
        rows = np.arange(block.shape[1])
        for k in range(item.width):
            rest = block.copy()
            rest[k] = -np.inf
            best = rest.argmax(axis=0)
            most = rest[best, rows]
            other = np.where(most > 0, best + 1, 0)
            edge = np.maximum(most, 0.0)
            center = self._center(item.first + k)
            step = (edge - center) / self._sd[item.first + k]
            choice = np.column_stack(
                [log_ndtr(step) + log_weights[rows, other], log_ndtr(-step) + log_weights[:, k + 1]]
            )
            above = draw_levels(choice, rng=self._rng) == 1
            low, high = np.where(above, edge, -np.inf), np.where(above, np.inf, edge)
            block[k] = self._inside(item.first + k, low, high, center)

    def _value(self, number: int) -> Floats:
        """Return the values of a column that its latents give: working values, or positions in the levels."""
        item, curve = self._items[number], self._curves[number]
        j = item.first
        if isinstance(curve, NumberCurve):
            return curve.value(self.y[j] / self._scale[j])
        if isinstance(curve, LevelCurve):
            inner = curve.cuts[1:-1] * self._scale[j]
            return np.asarray(np.searchsorted(inner, self.y[j], side="left"), dtype=np.float64)
        block = self.y[j : j + item.width]
        best = block.argmax(axis=0)
        place = np.where(block[best, np.arange(block.shape[1])] > 0, best + 1, 0)
        return np.asarray(item.order[place], dtype=np.float64)


def log_between(low: Floats, high: Floats) -> Floats:
    """Return log(Φ(high) − Φ(low)), exact in either tail; minus infinity where they are equal."""
    flipped = low > 0
    a, b = np.where(flipped, -high, low), np.where(flipped, -low, high)
    top = log_ndtr(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = top + np.log1p(-np.exp(log_ndtr(a) - top))
    return np.asarray(np.where(low < high, found, -np.inf))
