"""One noisy margin per column, and columns drawn independently: what DP gives when associations are not paid for.

k margins, ε/k each; for δ > 0 all margins together are one vector of ℓ2 sensitivity √(2k).

References
----------
Hall (2012, PhD thesis, CMU), section 2.4 (margins of a 2^k table, scale k/α for binary columns, of which one count is
enough; a margin with all its levels has ℓ1 sensitivity 2 under ``replace``, hence 2k/ε).
"""

import math
from typing import Literal

import numpy as np

from synthdp.microdata import Codes, Floats
from synthdp.privacy.accounting.events import Composed, Event
from synthdp.privacy.mechanisms import DiscreteLaplace, Gaussian, Sensitivity, Source
from synthdp.synthesis.private.domain import Domain
from synthdp.synthesis.private.histograms import noise_of_counts, noisy_counts
from synthdp.synthesis.private.settings import Draw, Private
from synthdp.synthesis.private.tables import projected, rows, thin
from synthdp.synthesis.protocol import Plan

MOST_LEVELS = 10**6


class DpMargins(Private):
    """Every column's own distribution with noise, no associations.

    Examples
    --------
    >>> DpMargins().method
    'dp_margins'
    """

    method: Literal["dp_margins"] = "dp_margins"

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan; the number of cells does not."""
        found = [problem for problem in super().problems(plan) if not problem.startswith("synthesis: the declared")]
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
