r"""What of a domain is not declared but paid for: bins that hold equal shares, and the levels of a column.

Bins. Of a number's declared bounds, B − 1 quantiles are chosen by the exponential mechanism of `synthdp.dp.quantiles`,
each for ρ = ε²/8. The score moves by at most 1 when a record is replaced, also by one in which the number is missing,
or is the 0 that has a cell of its own: quantiles are those of the others. Equal answers leave fewer bins.

Levels. Every level that somebody has gets a noisy count, and is found when that passes a threshold τ: with δ above 0
levels that nobody has never pass, so that nobody need list them. One record moves the counts by √2 in ℓ2, noise is
N(0, 1/ρ), and τ is such that a level with one record passes with at most δ (Korolova and others 2009; why that is
enough: ``histograms``). Of those found, as many as were asked for are taken, the largest noisy counts first. Whoever
has another level counts as missing from then on. At ε = 1 and δ = 10⁻⁶ a level needs about 200 records to be found
with a tenth of the budget and three columns to look at; Laplace noise of the same ρ would ask for 800.

Finding levels is ρ-zCDP but for δ (Bun and Steinke 2016), so that everything adds up in ρ: half of δ goes to
levels where any are sought, ρ is that of (ε, what is left of δ), and ``preprocessing`` is the share of ρ that the steps
here get, evenly by column.

References
----------
Smith (2011), STOC (quantiles). Korolova, Kenthapadi, Mishra, Ntoulas (2009), WWW (stability). Bun, Steinke (2016), TCC,
section 8 (approximate zCDP). Cesar, Rogers (2021), ALT (the exponential mechanism is ε²/8-zCDP).
"""

import math
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from synthdp.dp.declarations import Bounded, Budget
from synthdp.dp.quantiles import choose
from synthdp.privacy.events import Approximate, Composed, Event, Repeated, ZeroConcentrated
from synthdp.privacy.mechanisms import Gaussian, Sensitivity, Source
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.domain import Axis, Domain
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Kind

ROUNDED = 1e-6
"""Of a step: so far candidates may lie below the value they stand for."""


@dataclass(frozen=True)
class Preprocessing:
    """What is found out about the domain, and for how much.

    Parameters
    ----------
    quantiles
        Numeric columns that are cut at their quantiles, into as many bins as the domain has for them.
    levels
        Columns whose levels are sought, and how many are taken at most.
    rho, delta
        For all of it; δ is divided among the columns whose levels are sought.
    """

    quantiles: Set[str]
    levels: Mapping[str, int]
    rho: float
    delta: float

    def found(self, domain: Domain, data: Microdata, source: Source) -> tuple[Domain, Event]:
        """Return the domain with what was found, and what it cost. Cost O(n log n) for each column."""
        axes, each = [], self.rho / max(len(self.quantiles) + len(self.levels), 1)
        done: list[Event] = []
        for axis in domain.axes:
            name = axis.column.name
            if name in self.levels:
                delta = self.delta / len(self.levels)
                axes.append(with_levels(axis, data, self.levels[name], each, delta, source))
                # zCDP but for δ, and so δ's add (`threshold`)
                done += [ZeroConcentrated(each), Approximate(0.0, delta)]
            elif name in self.quantiles and axis.plain > 1:
                asked = axis.plain - 1
                axes.append(with_quantiles(axis, data, math.sqrt(8 * each / asked), source))
                done.append(Repeated(ZeroConcentrated(each / asked), asked))
            else:
                axes.append(axis)
        return Domain(tuple(axes)), Composed(tuple(done))


def level_problems(plan: Plan, wanted: Mapping[str, int], missing: Collection[str]) -> list[str]:
    """Return why levels cannot be found out."""
    found = []
    for name in wanted:
        if name not in plan.data.schema:
            found.append(f"synthesis.find_levels: no column named {name!r}.")
            continue
        column = plan.data.schema[name]
        if column.levels_public:
            found.append(f"synthesis.find_levels: the levels of {name} are declared; leave it out.")
            continue
        if column.kind is not Kind.NOMINAL or not column.kind_public:
            found.append(f"variables.{name}.kind: write nominal where levels are to be found; else it is guessed.")
        elif not all(isinstance(level, str) for level in column.levels):
            found.append(f"synthesis.find_levels: {name} is no text; declare its levels.")
        if name not in missing:
            found.append(
                f"synthesis.missing: must name {name}, as whoever has a level that is not found counts as missing."
            )
    return found


def with_most(axis: Axis, most: int) -> Axis:
    """Return a column whose levels are yet to be found, with as many as there may be."""
    column = axis.column.model_copy(update={"levels": tuple(f"level {at}" for at in range(1, most + 1))})
    return replace(axis, column=column, plain=most, foreign=True)


def with_quantiles(axis: Axis, data: Microdata, epsilon: float, source: Source) -> Axis:
    """Return a numeric column cut at its quantiles, each chosen for ε."""
    values = data.numbers(axis.column.name)
    values = values[~np.isnan(values)]
    if axis.spike:
        values = values[values != 0]
    low, high = axis.ends()
    column = Bounded(np.clip(values, low, high), low, high, None, ())
    step, starts = (high - low) / (axis.steps - 1), {0}
    for j in range(1, axis.plain):
        at = choose(column, j / axis.plain, Budget(epsilon), source)
        # a bin ends with the quantile itself, as the records up to it are what is counted
        starts.add(math.floor((at - low) / step + ROUNDED) + 1)
    inside = tuple(sorted(starts - {axis.steps}))
    return replace(axis, plain=len(inside), starts=inside)


def with_levels(axis: Axis, data: Microdata, most: int, rho: float, delta: float, source: Source) -> Axis:
    """Return a column with those of its levels that a threshold lets pass; whoever has another counts as missing."""
    column = data.schema[axis.column.name]
    counts = np.bincount(data.coded.codes(column, missing=len(column.levels)), minlength=len(column.levels) + 1)[:-1]
    held = np.flatnonzero(counts)
    mechanism = Gaussian.concentrated(Sensitivity(math.sqrt(2), "l2", "replace"), rho=rho)
    noisy = mechanism.release(counts[held].astype(np.float64), source=source)
    passed = np.flatnonzero(noisy >= threshold(mechanism.sd, delta))
    kept = held[passed[np.argsort(-noisy[passed], kind="stable")[:most]]]
    # text, in an order of its own
    levels = tuple(sorted(str(column.levels[at]) for at in kept))
    return replace(axis, column=column.model_copy(update={"levels": levels}), plain=len(levels), foreign=True)


def threshold(sd: float, delta: float) -> float:
    """Return the least noisy count at which a level is found: one record alone passes with at most δ.

    2 + σ Φ⁻¹(1 − δ): noise on a grid of steps up to 1 has P(Z ≥ k) ≤ P(N(0, σ²) ≥ k − 1).

    References
    ----------
    Canonne, Kamath, Steinke (2020), NeurIPS, Proposition 25.

    Examples
    --------
    >>> round(threshold(10.0, 1e-6), 2)
    49.53
    """
    return 2 - sd * float(ndtri(delta))
