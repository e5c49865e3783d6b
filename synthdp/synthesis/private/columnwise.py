"""One column at a time: a noisy margin each, or noise on every value of every record, as if each person added it.

k margins, ε/k each; for δ > 0 all margins together are one vector of ℓ2 sensitivity √(2k).

References
----------
Hall (2012, PhD thesis, CMU), section 2.4 (margins of a 2^k table, scale k/α for binary columns, of which one count is
enough; a margin with all its levels has ℓ1 sensitivity 2 under ``replace``, hence 2k/ε).

k columns share the budget: ε/k each. Levels: k-ary randomised response. Numbers: noise of sensitivity the width of the
bounds, Laplace for δ = 0; for δ > 0 Gaussian, all numeric columns as one vector of unit widths (ℓ2 sensitivity √k_num).
Results are moved into the bounds and rounded, which costs nothing.

Notes
-----
One copy only: a second one would be a second noisy answer about the same person, and cost as much again. Intervals from
such a file leave out the noise, and coefficients are drawn to zero by it (errors in variables).

References
----------
Biswal (2024, PhD thesis, U. Ottawa), section 5.6; sections 2.1 and 5.6 there mix neighbours by replacement with
sensitivities by deletion. Here one record is replaced, so a value may move by the whole width.
"""

import math
import time
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from synthdp.dp.noise import projected
from synthdp.imputation.cells import write
from synthdp.parallel import Advance
from synthdp.privacy.events import Composed, Event
from synthdp.privacy.mechanisms import DiscreteLaplace, Gaussian, Kary, Laplace, Sensitivity, Source
from synthdp.privacy.mechanisms.mechanism import says_nothing
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.private.domain import Axis, Domain, rows, thin
from synthdp.synthesis.private.histograms import noise_of_counts, noisy_counts
from synthdp.synthesis.private.synthesizer import Draw, Private
from synthdp.table.microdata import Codes, Floats

MOST_LEVELS = 10**6


class DpMargins(Private):
    """Every column's own distribution with noise, no associations.

    Examples
    --------
    >>> DpMargins().method
    'dp_margins'
    """

    method: Literal["dp_margins"] = "dp_margins"
    most_cells: ClassVar[float] = math.inf

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan; the number of cells does not."""
        found = super().problems(plan)
        if not found:
            found += [
                f"synthesis.bins_by.{axis.column.name}: {axis.size:,} cells in one margin, at most {MOST_LEVELS:,}."
                for axis in self.domain(plan).axes
                if axis.size > MOST_LEVELS
            ]
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence for every column whose own distribution is lost in the noise."""
        axes = self.domain(plan).axes
        sd = noise_of_margins(self.epsilon, self.delta, len(axes)).sd
        return [line for axis in axes for line in thin(sd, len(plan.data), axis.size, f"of {axis.column.name}")]

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw, Event]:
        """Add noise to all margins. Cost O(nk + cells of the margins)."""
        n = len(plan.data)
        counts = [np.bincount(axis.encode(plan.data), minlength=axis.size) for axis in domain.axes]
        noisy, event = noisy_margins(counts, self.epsilon, self.delta, source)
        margins = [projected(margin, n) for margin in noisy]

        def draw(rng: np.random.Generator) -> Codes:
            return np.column_stack([rows(margin, n, rng=rng) for margin in margins])

        return draw, event


def noisy_margins(counts: list[Codes], epsilon: float, delta: float, source: Source) -> tuple[list[Floats], Event]:
    """Return the margins with noise, and what they cost together."""
    k = len(counts)
    noise = noise_of_margins(epsilon, delta, k)
    if isinstance(noise, DiscreteLaplace):
        paid = [noisy_counts(margin, epsilon / k, 0.0, source) for margin in counts]
        return [margin for margin, _ in paid], Composed(tuple(event for _, event in paid))
    noisy = noise.release(np.concatenate(counts).astype(np.float64), source=source)
    ends = np.cumsum([len(margin) for margin in counts])[:-1]
    return np.split(noisy, ends), noise.event()


def noise_of_margins(epsilon: float, delta: float, k: int) -> DiscreteLaplace | Gaussian:
    """Return the noise of every count of k margins."""
    if not delta:
        return noise_of_counts(epsilon / k, 0.0)
    return Gaussian.calibrated(Sensitivity(math.sqrt(2 * k), "l2", "replace"), epsilon=epsilon, delta=delta)


class LocalNoise(Private):
    """Every record's own values with noise: the guarantee needs no trusted curator, and costs accordingly.

    Examples
    --------
    >>> LocalNoise(epsilon=5.0).copies
    1
    """

    method: Literal["local_noise"] = "local_noise"
    copies: Literal[1] = 1
    most_cells: ClassVar[float] = math.inf

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        numeric = {column.name for column in plan.data.schema.columns if not column.kind.categorical}
        return found + [
            f"synthesis.missing: local_noise cannot hide which values of {name} are missing; use another method."
            for name in self.missing
            if name in numeric
        ]

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence for every column whose values say next to nothing one by one.

        Noise with the sd of a uniform guess between the bounds, 1/√12 of their width, or more answers at random than
        not: m/(e^ε + m − 1) over a half. Means of many records may still be read off.
        """
        axes = self.domain(plan).axes
        numbers = [axis for axis in axes if not axis.column.kind.categorical]
        lost = [axis for axis in numbers if says_nothing(self._noise(len(numbers), len(axes)).sd, 1.0)]
        answer = math.exp(min(self.epsilon / len(axes), 700.0))
        lost += [axis for axis in axes if axis.column.kind.categorical and axis.size > answer - 1 + axis.size / 2]
        if not lost:
            return []
        return [
            f"synthesis.epsilon: one by one, the values of {', '.join(axis.column.name for axis in lost)} are mostly "
            "noise; only means of many records say anything. Raise epsilon, or use a method with a trusted curator."
        ]

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Add the noise. Cost O(nk)."""
        started = time.perf_counter()
        source = self.noise(streams)
        axes = self.domain(plan).axes
        events: list[Event] = []
        columns: dict[str, pd.Series] = {}
        levels = [axis for axis in axes if axis.column.kind.categorical]
        for axis in levels:
            columns[axis.column.name] = self._answered(plan, axis, len(axes), source, events)
        numbers = [axis for axis in axes if not axis.column.kind.categorical]
        if numbers:
            columns |= self._moved(plan, numbers, len(axes), source, events)
        if advance is not None:
            advance(1, 1)
        return Release.of(
            self,
            plan,
            [pd.DataFrame(columns)[list(plan.data.frame.columns)]],
            privacy=self.guarantee(plan, Composed(tuple(events))),
            seconds={"draw": time.perf_counter() - started},
        )

    def _answered(self, plan: Plan, axis: Axis, k: int, source: Source, events: list[Event]) -> pd.Series:
        cells = axis.encode(plan.data)
        if axis.size > 1:  # one level says nothing, and there is no other to answer with
            mechanism = Kary.calibrated(axis.size, epsilon=self.epsilon / k)
            cells = mechanism.release(cells, source=source)
            events.append(mechanism.event())
        return axis.labels(cells, plan.data.frame[axis.column.name])

    def _moved(self, plan: Plan, axes: list[Axis], k: int, source: Source, events: list[Event]) -> dict[str, pd.Series]:
        bounds = np.array([axis.column.bounds for axis in axes], dtype=np.float64)
        low, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        values = np.column_stack([plan.data.numbers(axis.column.name) for axis in axes])
        unit = (np.clip(values, low, bounds[:, 1]) - low) / width
        mechanism = self._noise(len(axes), k)
        events.append(mechanism.event())
        noisy = low + width * mechanism.release(unit, source=source)
        return {
            axis.column.name: write(noisy[:, j], axis.column, axis.like(plan.data.frame[axis.column.name]))
            for j, axis in enumerate(axes)
        }

    def _noise(self, numbers: int, k: int) -> Laplace | Gaussian:
        """Return the noise of the numeric columns, all scaled to width 1, of k columns in all."""
        share = self.epsilon * numbers / k
        if self.delta:
            joint = Sensitivity(math.sqrt(numbers), "l2", "replace")
            return Gaussian.calibrated(joint, epsilon=share, delta=self.delta)
        return Laplace.calibrated(Sensitivity(float(numbers), "l1", "replace"), epsilon=share)
