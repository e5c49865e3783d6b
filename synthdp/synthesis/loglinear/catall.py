r"""The saturated table: every combination of values in proportion to its count and a little more.

    p(cell)  =  (count + prior/cells) / (n + prior),      or drawn from Dirichlet(count + prior/cells) when proper

This is synthpop's ``catall``. With a small prior it is little else than drawing records with replacement: somebody who
is alone with their values stands in a copy with probability 1 − 1/e. It is here as the upper end of a scale, and for
tables of few cells; a prior that hides anybody must be about as large as the file. The table is never built, so any
number of cells is possible: one nobody is in has the same chance as any other.

References
----------
Nowok, Raab, Dibben (2016), Journal of Statistical Software 74(11) (synthpop's syn.catall). Blackwell, MacQueen (1973),
Annals of Statistics 1(2), 353–355 (drawing from a Dirichlet without its parameters).
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, FiniteFloat

from synthdp.arrays import Codes, Floats
from synthdp.errors import Unfinished
from synthdp.synthesis.loglinear.axes import Records, possible
from synthdp.synthesis.loglinear.support import Support
from synthdp.synthesis.loglinear.tabulated import Cells, Draw, Fit, Tabulated
from synthdp.synthesis.plan import Plan
from synthdp.table.coded import joint

MOST_ROUNDS = 1000


class Catall(Tabulated):
    """Copies from the table of all columns.

    Notes
    -----
    Where columns are kept the others are drawn among records with the same kept values: with kept values of their own,
    records come out as they are unless the prior is large. ``proper`` draws the table from its Dirichlet posterior.

    Cost O(n log n), whatever the number of cells.

    Examples
    --------
    >>> Catall().prior
    1.0
    """

    method: Literal["catall"] = "catall"
    prior: FiniteFloat = Field(default=1.0, ge=0)

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of this method, in sentences."""
        if self.prior >= len(plan.data):
            return []
        return ["Method catall repeats combinations of values as they are in the file; ipf repeats far fewer."]

    def prepare(self, records: Records, plan: Plan, *, rng: np.random.Generator) -> tuple[Fit, list[dict[str, object]]]:
        """Count the cells, and return how they are weighed and drawn."""
        code = joint([records.group, *(records.axes[name].codes for name in records.drawn)])
        _, first, counts = np.unique(code, return_index=True, return_counts=True)
        order = np.argsort(records.group[first], kind="stable")
        first, counts = first[order], counts[order]
        cells = {name: axis.codes[first] for name, axis in records.axes.items()}
        support = Support(cells, records.group[first], counts.astype(np.float64))
        # the prior of a combination of kept columns, over all cells of the drawn ones
        spread = self.prior * _reciprocal(records, records.kept)

        def fit(weights: Floats | None, rng: np.random.Generator) -> Draw:
            held, empty = _masses(support, records, spread, rng if weights is not None else None)
            share = empty / (empty + np.bincount(support.group, weights=held))

            def draw(rng: np.random.Generator) -> Cells:
                rows = support.draw(held, records.group, rng=rng)
                new = np.flatnonzero(rng.random(len(rows)) < share[records.group])
                found = {name: cells[name][rows] for name in records.drawn}
                if len(new):
                    unseen = self._unseen(records, plan, new, rng)
                    if weights is not None:
                        again = _urn(records.group[new], spread, rng)
                        unseen = {name: values[again] for name, values in unseen.items()}
                    for name, values in unseen.items():
                        found[name][new] = values
                return found

            return draw

        return fit, []

    def _unseen(self, records: Records, plan: Plan, rows: Codes, rng: np.random.Generator) -> dict[str, Codes]:
        """Return a cell for each of some records, any that is possible with the same chance."""
        found = {name: np.zeros(len(rows), dtype=np.int64) for name in records.drawn}
        left = np.arange(len(rows))
        kept = records.cells(rows)
        for _ in range(MOST_ROUNDS):
            tried = {name: rng.integers(0, records.axes[name].size, len(left)) for name in records.drawn}
            cells = {name: tried.get(name, kept[name][left]) for name in records.axes}
            fits = possible(records, cells, self.zeros, plan.constraints)
            for name, values in tried.items():
                found[name][left[fits]] = values[fits]
            left = left[~fits]
            if not len(left):
                return found
        raise Unfinished(
            f"synthesis.prior: {len(left)} records found no cell that is possible in {MOST_ROUNDS} tries; set prior: 0."
        )


def _reciprocal(records: Records, names: Sequence[str]) -> float:
    """Return one over the number of cells of some columns, which may be more than a float can hold."""
    return math.exp(-sum(math.log(records.axes[name].size) for name in names))


def _masses(
    support: Support, records: Records, spread: float, rng: np.random.Generator | None
) -> tuple[Floats, Floats]:
    """Return what the cells that somebody is in weigh, and by group all others together."""
    each = spread * _reciprocal(records, records.drawn)
    seen = np.bincount(support.group, minlength=records.groups)
    rest = np.maximum(spread - each * seen, 0.0)
    if rng is None:
        return support.base + each, rest
    return rng.standard_gamma(support.base + each), rng.standard_gamma(rest)


def _urn(group: Codes, spread: float, rng: np.random.Generator) -> Codes:
    """Return for each draw of an unseen cell which earlier one of its group it repeats, itself for a new one."""
    found = np.arange(len(group))
    before: dict[int, list[int]] = {}
    for place, own in enumerate(group.tolist()):
        drawn = before.setdefault(own, [])
        if drawn and rng.random() * (spread + len(drawn)) >= spread:
            found[place] = found[drawn[int(rng.integers(len(drawn)))]]
        drawn.append(place)
    return found
