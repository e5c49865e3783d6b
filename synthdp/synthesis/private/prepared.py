"""What methods of tables can be told beside their tables: what cannot be, what is found out, how records are dealt.

Their budget is counted in ρ: the largest whose zCDP implies (ε, δ)-DP, of which ``preprocessing`` gets a share where
something of the domain is to be found out (`preprocessing`). Where nothing is, the whole goes to the method.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, FiniteFloat

from synthdp.arrays import Booleans
from synthdp.privacy.accounting.closed_forms import rho_of_epsilon
from synthdp.privacy.events import Event
from synthdp.privacy.mechanisms import Source
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.dealing import dealt
from synthdp.synthesis.private.domain import Domain
from synthdp.synthesis.private.fitting import Fit
from synthdp.synthesis.private.preprocessing import Preprocessing, level_problems, with_most
from synthdp.synthesis.private.synthesizer import Draw, Private
from synthdp.synthesis.private.zeros import declarations, divided, rule_problems, settled, zero_problems

QUANTILES = "dp_quantiles"
SHY = 1 - 1e-12
"""Budgets are divided and added again; this keeps the sum of what rounding did below the claim."""


class Prepared(Private):
    """The settings of methods whose tables may have cells that were ruled out, and domains that were paid for.

    Parameters
    ----------
    dealing
        ``independent``: every record is drawn for itself. ``systematic``: records are dealt evenly, so that tables of
        the copies are nearer to the model's (`dealing`); intervals are then wider than they need be.
    zeros
        Conditions under which there is nobody. These, ``constraints`` and ``applies_when`` are kept (`zeros`).
    quantiles
        Into how many bins at most a number is cut whose ``bins`` are ``dp_quantiles``.
    find_levels
        Columns of text whose levels are not declared but found, and how many at most. They must be in ``missing``.
    preprocessing
        The share of the budget that bins and levels get where they are found.
    """

    dealing: Literal["independent", "systematic"] = "independent"
    zeros: tuple[str, ...] = ()
    quantiles: int = Field(default=20, ge=2)
    find_levels: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    preprocessing: FiniteFloat = Field(default=0.1, gt=0, lt=1)
    keeps_rules: ClassVar[bool] = True

    @property
    def sought(self) -> frozenset[str]:
        """The columns whose levels are found out."""
        return frozenset(self.find_levels)

    @property
    def finds(self) -> bool:
        """Whether something of the domain is found out, which has a share of the budget."""
        return bool(self.find_levels) or QUANTILES in (self.bins, *self.bins_by.values())

    @property
    def whole(self) -> float:
        """The zCDP of all steps together; of δ, half is what finding levels costs."""
        return rho_of_epsilon(self.epsilon, self.delta / 2 if self.find_levels else self.delta, method="tight") * SHY

    @property
    def rho(self) -> float:
        """The zCDP that is left to the method."""
        return self.whole * (1 - self.preparing)

    @property
    def preparing(self) -> float:
        """The share of the budget that goes into finding bins and levels."""
        return self.preprocessing if self.finds else 0.0

    def bins_of(self, name: str) -> int:
        """Return into how many bins a column is cut at most."""
        return self.quantiles if self.bins_by.get(name, self.bins) == QUANTILES else super().bins_of(name)

    def domain(self, plan: Plan) -> Domain:
        """Return the declared domain; of bins and levels that are yet to be found, as many as there may be."""
        return divided(plan, self._declared(plan), self.zeros)

    def _declared(self, plan: Plan) -> Domain:
        axes = [
            with_most(axis, self.find_levels[axis.column.name]) if axis.column.name in self.find_levels else axis
            for axis in super().domain(plan).axes
        ]
        return Domain(tuple(axes))

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if self.finds and not self.delta:
            found.append("synthesis.delta: bins and levels that are found need one above 0, such as 1e-6.")
        found += level_problems(plan, self.find_levels, self.missing)
        found = found or zero_problems(plan, self.zeros)
        return found or rule_problems(plan, self.domain(plan), self.zeros)

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of how records are drawn, in sentences."""
        if self.dealing == "independent":
            return []
        return ["Records were dealt evenly, so copies differ less than the rule assumes: intervals are too wide."]

    def prepare(self, plan: Plan, source: Source) -> tuple[Domain, Event | None]:
        """Return the domain with what was found out, and what that cost."""
        domain = self._declared(plan)
        if not self.finds:
            return divided(plan, domain, self.zeros), None
        cut = frozenset(
            axis.column.name
            for axis in domain.axes
            if not axis.column.kind.categorical and self.bins_by.get(axis.column.name, self.bins) == QUANTILES
        )
        delta = self.delta / 2 if self.find_levels else 0.0
        asked = Preprocessing(cut, self.find_levels, self.preparing * self.whole, delta)
        found, event = asked.found(domain, plan.data, source)
        return divided(plan, found, self.zeros), event

    def settle(self, plan: Plan, draw: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Return a copy whose values keep what was declared."""
        kept = declarations(plan, self.zeros)
        if not kept:
            return draw()

        def broken(frame: pd.DataFrame) -> Booleans:
            return np.asarray(np.logical_or.reduce([one.broken(frame) for one in kept]), dtype=np.bool_)

        return settled(draw, broken)

    def deal(self, fit: Fit, n: int) -> Draw:
        """Return how n records are drawn from a model."""
        if self.dealing == "systematic":
            return lambda rng: dealt(fit.model, fit.beliefs, n, rng=rng)
        return lambda rng: fit.model.draw(fit.beliefs, n, rng=rng)
