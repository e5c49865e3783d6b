r"""AIM: tables chosen one after the other, where the model is furthest from the data and a table is worth its noise.

1. A noisy margin of every column in the workload.
2. Rounds. A candidate r (a table of the workload, or part of one, with which the model stays within ``model_cells``) is
   chosen by the exponential mechanism with score

       q_r = w_r (‖M_r − n p̂_r‖₁ − √(2/π)·σ·cells_r),       w_r = Σ_{s in the workload} |r ∩ s|:

   how far the model's table is from the data's, less what the noise of measuring it would put in its place: into the
   cells that were not ruled out, which is how many cells_r counts. Then it is
   measured with noise σ, and the model is fitted to all tables so far (`fitting`).
3. Where a measured table moved the model by less than noise alone would, σ is halved and the next choices get double ε:
   early rounds are cheap, later ones as precise as the data ask for. The last round takes all that is left.

Budget: the largest ρ whose zCDP implies (ε, δ)-DP. Nine tenths go to measuring, one to choosing. A round
of σ and ε costs 1/σ² + ε²/8 under ``replace`` (a table moves by √2 in ℓ2 and by 2 in ℓ1, so a score by 2 w_r); rounds
stop when the next one would cost more than is left, which a filter of zCDP allows though σ depends on earlier answers.

Notes
-----
Ours beside the authors' program: neighbours replace a record, so n is public and used; copies are independent draws
from the model, which the combining rule needs, not rounded counts (``dealing: systematic`` comes near to that); model
size is a number of cells. Our own inference, as for MST: noise-aware copies need the covariance of the model's cells,
so it is here anyway, and no extra has to be installed.

``inference: noise_aware`` is offered here too, but tables that were not chosen are taken to follow from those that
were: what such a table would have shown is not in the intervals. Use ``dp_tables`` with the tables of your analyses
where intervals must cover.

References
----------
McKenna, Mullins, Sheldon, Miklau (2022), "AIM: an adaptive and iterative mechanism for differentially private synthetic
data", PVLDB 15(11), Algorithms 2 and 3. Whitehouse, Ramdas, Rogers, Wu (2023), "Fully-adaptive composition in
differential privacy", ICML (a zCDP filter). Cesar, Rogers (2021), ALT (the exponential mechanism is ε²/8-zCDP).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from synthdp.privacy.events import Event, ZeroConcentrated
from synthdp.privacy.mechanisms import Exponential, Gaussian, Sensitivity, Source
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.domain import Domain, random_generator, thin
from synthdp.synthesis.private.fitting import Fit, Noisy, nearest
from synthdp.synthesis.private.junction import Columns, blocks_of, cells_of, table_of
from synthdp.synthesis.private.measured import MOST_MEASURED, Workloads, looked
from synthdp.synthesis.private.synthesizer import Draw, Each
from synthdp.synthesis.private.zeros import open_cells
from synthdp.table.microdata import Codes

MEASURING = 0.9
ROUNDS_PER_COLUMN = 16
TURNS, LAST_TURNS = 50, 1000
NOTHING = 1e-9
"""Of the budget: less than this is left by rounding."""
MOVED = math.sqrt(2)
"""In ℓ2, how far one replaced record moves a table."""


class DpAim(Workloads):
    """Tables of a workload, chosen by where the model is wrong, and copies from the model of those that were.

    Examples
    --------
    >>> DpAim(epsilon=1.0, delta=1e-6, workload="triples").method
    'dp_aim'
    """

    method: Literal["dp_aim"] = "dp_aim"
    model_cells: int = Field(default=200_000, ge=2)

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if not found:
            sizes = [axis.size for axis in self.domain(plan).axes]
            least = cells_of(sizes, [(v,) for v in range(len(sizes))])
            limit = min(self.model_cells, MOST_MEASURED) if self.noise_aware else self.model_cells
            if least > limit:
                found.append(
                    f"synthesis.bins: the columns alone have {least:,} cells, at most {limit:,}; use fewer bins."
                )
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return sentences when records are dealt, and when the noise leaves nothing of the data."""
        axes = self.domain(plan).axes
        sd = 1 / math.sqrt(_first(self.rho, len(axes)).measuring)
        return super().notes(plan) + thin(sd, len(plan.data), min(axis.size for axis in axes), "of the smallest margin")

    def shares(self, plan: Plan) -> Mapping[str, float]:
        """Return what finding bins and levels, margins, choices and tables are given."""
        margins = (1 - self.preparing) * MEASURING / ROUNDS_PER_COLUMN
        left = 1 - self.preparing - margins
        return {
            "preprocessing": self.preparing,
            "margins": margins,
            "choosing": (1 - MEASURING) * left,
            "tables": MEASURING * left,
        }

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw | Each, Event]:
        """Measure margins, then choose and measure in rounds. Cost O(rounds · (candidates + fit))."""
        chosen = Choosing(self, plan, domain)
        noisy, event = chosen.run(domain.encode(plan.data), source)
        return self.drawn(noisy, turns=LAST_TURNS, rng=random_generator(source)), event


@dataclass(frozen=True)
class Round:
    """What one round spends in zCDP, for a table and for its choice."""

    measuring: float
    choosing: float

    @property
    def cost(self) -> float:
        """Both together."""
        return self.measuring + self.choosing

    @property
    def noise(self) -> Gaussian:
        """The noise of the table."""
        return Gaussian.concentrated(Sensitivity(MOVED, "l2", "replace"), rho=self.measuring)

    def choice(self, heaviest: float) -> Exponential:
        """Return how a candidate is chosen, when a score moves by twice the heaviest weight."""
        epsilon = math.sqrt(8 * self.choosing)
        return Exponential.calibrated(Sensitivity(2 * heaviest, "linf", "replace"), epsilon=epsilon)


def _first(rho: float, columns: int) -> Round:
    """Return what a round spends at first."""
    share = rho / (ROUNDS_PER_COLUMN * columns)
    return Round(MEASURING * share, (1 - MEASURING) * share)


class Choosing:
    """The rounds of one run."""

    def __init__(self, settings: DpAim, plan: Plan, domain: Domain) -> None:
        self._settings, self._rho = settings, settings.rho
        self._sizes = tuple(axis.size for axis in domain.axes)
        self._weights, self._ruled = settings.asked_for(plan, domain), settings.ruled(plan, domain)
        self._open = {part: open_cells(part, self._sizes, self._ruled) for part in self._weights}

    def run(self, cells: Codes, source: Source) -> tuple[Noisy, Event]:
        """Return the noisy tables, and what they cost."""
        k, n = len(self._sizes), len(cells)
        now = _first(self._rho, k)
        margins = [(v,) for v in range(k)]
        # columns in no table of the workload get the first margin, and no other
        noisy = looked(
            cells, margins, self._sizes, Gaussian(Sensitivity(math.sqrt(2 * k), "l2", "replace"), now.noise.sd), source
        )
        noisy = replace(noisy, ruled_out=self._ruled)
        spent = Round(k * now.measuring, 0.0)
        fit = nearest(noisy, turns=TURNS)
        truth: dict[Columns, Codes] = {}
        while (left := self._rho - spent.cost) > NOTHING * self._rho:
            if left <= 2 * now.cost:
                now = Round(MEASURING * left, (1 - MEASURING) * left)
            within = spent.cost / self._rho
            offered = [part for part in self._weights if self._fits(noisy, part, within)]
            if not offered:
                break
            picked = self._chosen(offered, cells, truth, fit, now, source)
            before = n * fit.margin(picked)
            counts = now.noise.release(truth[picked].astype(np.float64), source=source)
            noisy = noisy.joined(picked, counts, now.noise.sd**2)
            fit = nearest(noisy, start=fit.by_table(), turns=TURNS)
            spent = Round(spent.measuring + now.measuring, spent.choosing + now.choosing)
            moved = float(np.abs(n * fit.margin(picked) - before).sum())
            if moved <= math.sqrt(2 / math.pi) * now.noise.sd * self._open[picked]:
                now = Round(4 * now.measuring, 4 * now.choosing)
        # the whole, also where no candidate was left: how much was spent is not public before it is said here
        return noisy, ZeroConcentrated(self._rho)

    def _fits(self, noisy: Noisy, part: Columns, within: float) -> bool:
        """Return whether the model stays small enough with a table, as far as the budget is used up."""
        if part in noisy.tables:
            return True
        tables = (*noisy.tables, *self._ruled, part)
        held = cells_of(self._sizes, blocks_of(self._sizes, tables))
        if self._settings.noise_aware and cells_of(self._sizes, (*noisy.tables, part)) > MOST_MEASURED:
            return False
        # what was ruled out is in the model from the start, whatever it takes
        least = cells_of(self._sizes, blocks_of(self._sizes, self._ruled)) if self._ruled else 0
        return held - least <= max(within, 1 / ROUNDS_PER_COLUMN) * self._settings.model_cells

    def _chosen(
        self, offered: list[Columns], cells: Codes, truth: dict[Columns, Codes], fit: Fit, now: Round, source: Source
    ) -> Columns:
        scores = np.zeros(len(offered))
        for at, part in enumerate(offered):
            if part not in truth:
                truth[part] = table_of(cells, part, self._sizes)
            far = float(np.abs(truth[part] - len(cells) * fit.margin(part)).sum())
            scores[at] = self._weights[part] * (far - math.sqrt(2 / math.pi) * now.noise.sd * self._open[part])
        heaviest = max(self._weights[part] for part in offered)
        return offered[now.choice(heaviest).release(scores, source=source)]
