"""Records of one or two numeric columns drawn from a private density: a smooth histogram.

The density of `synthdp.dp.density` at the centres of the domain's bins, moved to the nearest law, as some of it may be
negative; values are drawn evenly within a bin among those with the declared decimals. That is post-processing. Noise is
not added to every cell, as in a histogram, but to a smooth function, so that narrow bins cost nothing; what is narrower
than the bandwidth is lost, and a little of every bound is smeared over it.

References
----------
Hall (2012, PhD thesis, CMU), section 3.3.1 and Proposition 1.2.5.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, FiniteFloat

from synthdp.dp.declarations import Budget
from synthdp.dp.density import density, expected_noise, from_size, least_bandwidth
from synthdp.dp.kernels import Kernel
from synthdp.dp.noise import nearest_law
from synthdp.privacy.events import Approximate, Event, Pure
from synthdp.privacy.mechanisms import Source
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.domain import Domain, rows
from synthdp.synthesis.private.synthesizer import Draw, Private
from synthdp.table.schema import Kind

MOST_COLUMNS = 2


class DpKde(Private):
    """Copies drawn from a private kernel density of one or two numeric columns.

    Parameters
    ----------
    kernel
        ``gaussian`` or ``sobolev`` noise (δ > 0) or ``fourier``; the first where δ > 0 and the last where δ = 0.
    bandwidth
        By column, in its own unit, chosen without looking at the data; from the number of records for the others.

    Examples
    --------
    >>> DpKde().bins
    100
    """

    method: Literal["dp_kde"] = "dp_kde"
    bins: int = Field(default=100, ge=2)
    kernel: Kernel | None = None
    bandwidth: dict[str, Annotated[FiniteFloat, Field(gt=0)]] = Field(default_factory=dict)
    most_cells: ClassVar[float] = 10**6

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        columns = plan.data.schema.columns
        if len(columns) > MOST_COLUMNS:
            found.append(
                f"synthesis: dp_kde takes one or two columns, found {len(columns)}; drop the others, or use dp_mst."
            )
        found += [
            f"variables.{column.name}: dp_kde takes numbers without a heap at 0, not {column.kind}; use dp_histogram."
            for column in columns
            if column.kind.categorical or column.kind is Kind.SEMICONTINUOUS
        ]
        found += [
            f"synthesis.missing: a density has no place for missing values of {name}; use dp_histogram."
            for name in self.missing
        ]
        found += [
            f"synthesis.bandwidth: no column named {name!r}." for name in self.bandwidth if name not in plan.data.schema
        ]
        if self.kernel in ("gaussian", "sobolev") and not self.delta:
            found.append(f"synthesis.delta: kernel {self.kernel} needs one above 0, such as 1e-6; fourier takes 0.")
        return found or self._too_narrow(plan)

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence when the noise leaves nothing of the data; from public numbers alone."""
        noise = expected_noise(
            len(plan.data), self._widths(plan), Budget(self.epsilon, self.delta), self._bandwidths(plan), self.kernel
        )
        if noise <= 1:
            return []
        return [
            f"synthesis.epsilon: the noise of the density has sd {noise:.3g} where an even one is 1: the copies are "
            "mostly noise. Raise epsilon, or the bandwidth."
        ]

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw, Event]:
        """Release the density. Cost O(n + cells)."""
        n = len(plan.data)
        # the part of the bounds that a bin's values stand for
        held = [
            wide * np.diff(-(-np.arange(axis.plain + 1) * axis.steps // axis.plain)) / axis.steps
            for axis, wide in zip(domain.axes, self._widths(plan), strict=True)
        ]
        found = density(
            [plan.data.numbers(axis.column.name) for axis in domain.axes],
            bounds=[axis.column.bounds for axis in domain.axes],
            bandwidth=self._bandwidths(plan),
            kernel=self.kernel,
            grid=[axis.centres() for axis in domain.axes],
            epsilon=self.epsilon,
            delta=self.delta,
            source=source,
        )
        weights = found.estimate.copy()
        for axis, part in enumerate(held):
            weights *= part.reshape([-1 if k == axis else 1 for k in range(weights.ndim)])
        # setting negative weights to 0 alone would leave half of the noise wherever nobody is
        flat = nearest_law(weights).ravel()
        event: Event = Approximate(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)
        return (lambda rng: domain.unflat(rows(flat, n, rng=rng))), event

    def _widths(self, plan: Plan) -> list[float]:
        bounds = [column.bounds or (0.0, 1.0) for column in plan.data.schema.columns]
        return [high - low for low, high in bounds]

    def _bandwidths(self, plan: Plan) -> list[float]:
        names = [column.name for column in plan.data.schema.columns]
        share = from_size(len(plan.data), len(names))
        return [self.bandwidth.get(name, share * wide) for name, wide in zip(names, self._widths(plan), strict=True)]

    def _too_narrow(self, plan: Plan) -> list[str]:
        least = least_bandwidth(len(plan.data.schema.columns))
        return [
            f"synthesis.bandwidth.{column.name}: must be at least {least * width:.3g} for these bounds, found {h:g}."
            for column, width, h in zip(
                plan.data.schema.columns, self._widths(plan), self._bandwidths(plan), strict=True
            )
            if h < least * width
        ]
