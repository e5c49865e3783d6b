r"""Log-linear synthesis: the table of all columns that has the original's margins and is otherwise as even as can be.

    log p(x, z)  =  Σ_margins θ_margin(cells of the margin),      fitted by iterative proportional fitting

By default the margins are all pairs of columns. Copies then have the original's two-way tables up to the chance of the
draw, and nothing that takes three columns to see: so they repeat fewer records than trees do. A pair of cells that
nobody in the file has is in no copy, unless a ``prior`` is asked for. Where columns are kept, the others are drawn
given them, by the model whose margins each hold a replaced column.

A domain of up to 400,000 cells is listed and fitted exactly; of a larger one a sample of cells is (see ``support``).
Nothing formal is claimed: there is no ε.

References
----------
Nowok, Raab, Dibben (2016), Journal of Statistical Software 74(11) (synthpop, whose method is called ipf as well, with a
prior of one record). Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3) (intervals where no column
is kept), Reiter (2003), Survey Methodology 29(2) (where some are).
"""

import itertools
from typing import Literal

import numpy as np
from pydantic import Field, FiniteFloat

from synthdp.arrays import Codes, Floats
from synthdp.errors import Unfinished
from synthdp.synthesis.loglinear.axes import Records, possible
from synthdp.synthesis.loglinear.raking import Margin, Raked, rake
from synthdp.synthesis.loglinear.support import Support, every_cell, listed, rows_needed, sampled
from synthdp.synthesis.loglinear.tabulated import Cells, Draw, Fit, Tabulated
from synthdp.synthesis.plan import Plan

GROUP = "\N{GREEK SMALL LETTER GAMMA}"
MOST_MARGIN = 20_000_000
MOST_ROWS = 8_000_000
BYTES = 8


class Ipf(Tabulated):
    """Copies from a log-linear model of all columns.

    Parameters
    ----------
    margins
        ``all_pairs``, or a list of lists of columns. A replaced column that is in none is drawn by itself.
    by
        A column with which every margin is crossed: all its levels have tables of their own.
    iterations, tolerance
        When fitting stops: after going through the margins so many times, or when no margin's shares differ by more
        than this in sum from the original's.
    candidates
        How many cells are drawn to be fitted on, where there are too many to list.
    dealing
        ``independent``: every record is drawn for itself. ``systematic``: at even steps through the fitted table, so
        that tables of the copies vary less; for files of which no column is kept. Intervals then cover more often than
        stated.

    Notes
    -----
    ``proper`` draws a Bayesian bootstrap of the records (Rubin 1981) for every copy and fits to it.

    Cost: O(rows) for each margin and iteration, where rows is the number of cells listed or drawn; 27,253 records of
    ten columns take three seconds.

    Examples
    --------
    >>> Ipf(margins=[["age", "sex"], ["sex", "work"]]).copies
    5
    """

    method: Literal["ipf"] = "ipf"
    margins: Literal["all_pairs"] | tuple[tuple[str, ...], ...] = "all_pairs"
    by: str | None = None
    iterations: int = Field(default=60, ge=1)
    tolerance: FiniteFloat = Field(default=0.002, gt=0)
    candidates: int = Field(default=1_000_000, ge=1000)
    dealing: Literal["independent", "systematic"] = "independent"

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        names = {column.name for column in plan.data.schema.columns} - set(self.exclude)
        for margin in () if self.margins == "all_pairs" else self.margins:
            unknown = [name for name in margin if name not in names]
            if unknown:
                found.append(f"synthesis.margins: {unknown[0]!r} is not a kept or replaced column that is looked at.")
            elif not margin or len(set(margin)) < len(margin):
                found.append("synthesis.margins: each must name one column or more, and none twice.")
        if self.by is not None and self.by not in names:
            found.append(f"synthesis.by: {self.by!r} is not a kept or replaced column that is looked at.")
        if self.dealing == "systematic" and plan.data.schema.kept():
            found.append("synthesis.dealing: systematic is for files of which no column is kept; use independent.")
        return found or self._too_large(self.records(plan))

    def _too_large(self, records: Records) -> list[str]:
        for margin in self.tables(records):
            if margin.cells > MOST_MARGIN:
                return [
                    f"synthesis.margins: the table of {' × '.join(margin.names)} has {margin.cells:,} cells "
                    f"({margin.cells * BYTES / 2**30:.1f} GB), at most {MOST_MARGIN:,} are fitted; use fewer bins, "
                    "group rare levels (variables.*.rare), or leave it out of margins."
                ]
        rows = rows_needed(records, self.candidates)
        if not listed(records) and rows > MOST_ROWS:
            memory = rows * BYTES * (len(records.axes) + 4) / 2**30
            return [
                f"synthesis: the kept columns make {records.groups:,} combinations, for which {rows:,} cells would be "
                f"drawn ({memory:.1f} GB), at most {MOST_ROWS:,} are; lower synthesis.candidates, name kept columns in "
                "synthesis.exclude, or use sequential."
            ]
        return []

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of this method, in sentences."""
        if self.dealing == "independent":
            return []
        return [
            "Records were dealt at even steps, so copies differ less than the rule assumes: intervals are too wide."
        ]

    def tables(self, records: Records) -> list[Margin]:
        """Return the margins, each of which holds a column that is drawn."""
        names, drawn = (*records.kept, *records.drawn), set(records.drawn)
        asked = itertools.combinations(names, 2) if self.margins == "all_pairs" else self.margins
        crossed = [tuple(dict.fromkeys((*margin, self.by) if self.by else margin)) for margin in asked]
        wanted = [margin for margin in dict.fromkeys(crossed) if drawn & set(margin)]
        inside = {name for margin in wanted for name in margin}
        wanted += [(name,) for name in records.drawn if name not in inside]
        # a table within another one says nothing new
        wanted = [one for one in wanted if not any(set(one) < set(other) for other in wanted)]
        return [Margin(one, tuple(records.axes[name].size for name in one)) for one in wanted]

    def prepare(self, records: Records, plan: Plan, *, rng: np.random.Generator) -> tuple[Fit, list[dict[str, object]]]:
        """Choose the cells, and return how they are weighed and drawn."""
        margins = self.tables(records)
        support = every_cell(records) if listed(records) else sampled(records, margins, self.candidates, rng=rng)
        allowed = possible(records, dict(support.cells), self.zeros, plan.constraints)
        support = support.of(allowed)
        _all_groups(support.group, records)
        told: list[dict[str, object]] = []

        def fit(weights: Floats | None, rng: np.random.Generator) -> Draw:
            raked = self._raked(records, support, margins, weights)
            if not told:
                told.append(self._told(raked))
            mass = _nobody_left(raked.weights, support, records)
            systematic = self.dealing == "systematic"

            def draw(rng: np.random.Generator) -> Cells:
                rows = support.draw(mass, records.group, rng=rng, systematic=systematic)
                return {name: support.cells[name][rows] for name in records.drawn}

            return draw

        return fit, told

    def _raked(self, records: Records, support: Support, margins: list[Margin], weights: Floats | None) -> Raked:
        own, n = records.cells(), len(records.group)
        wanted = []
        for margin in margins:
            shares = margin.shares(own, weights)
            if self.prior:
                reached = np.bincount(margin.places(support.cells), minlength=margin.cells) > 0
                shares = (n * shares + self.prior * reached / reached.sum()) / (n + self.prior)
            wanted.append((margin, shares))
        cells = dict(support.cells)
        if records.groups > 1:  # given the kept columns: who has which of them is not modelled
            held = np.bincount(records.group, weights=weights) / (n if weights is None else weights.sum())
            cells[GROUP] = support.group
            wanted.append((Margin((GROUP,), (records.groups,)), held))
        return rake(cells, support.base, wanted, iterations=self.iterations, tolerance=self.tolerance)

    def _told(self, raked: Raked) -> dict[str, object]:
        said: dict[str, object] = {"column": "the fitted table", "turns": raked.iterations}
        if raked.error > self.tolerance:
            said["approximation"] = (
                f"after {raked.iterations} turns the shares of a margin still differed by {raked.error:.2g} in sum; "
                "more synthesis.iterations or synthesis.candidates bring it closer"
            )
        return said


def _all_groups(group: Codes, records: Records) -> None:
    absent = np.bincount(group, minlength=records.groups) == 0
    if absent.any():
        count = int(absent[records.group].sum())
        raise Unfinished(
            f"synthesis: for {count} records no cell that the constraints allow was drawn given their kept columns; "
            "raise synthesis.candidates, or name kept columns in synthesis.exclude."
        )


def _nobody_left(weights: Floats, support: Support, records: Records) -> Floats:
    """Return weights under which every group can be drawn: by what was drawn at first where nothing else is left."""
    held = np.bincount(support.group, weights=weights, minlength=records.groups)
    return np.where(held[support.group] > 0, weights, support.base * weights.sum() / support.base.sum())
