"""CART as synthpop users know it: the settings.

References
----------
Reiter (2005), Journal of Official Statistics 21(3), 441-462. Nowok, Raab, Dibben (2016), Journal of Statistical
Software 74(11), section 2 (synthpop).
"""

from typing import Literal

import pandas as pd
from pydantic import Field

from synthdp import applicability, expressions
from synthdp.errors import InputError
from synthdp.imputation.checks import order_problems, settings_problems
from synthdp.imputation.trees.binning import Binned
from synthdp.imputation.trees.orchard import Orchard
from synthdp.imputation.trees.tree import Growth
from synthdp.microdata import Microdata
from synthdp.schema import Settings


class Cart(Settings):
    """Classification and regression trees, one per replaced column.

    Parameters
    ----------
    min_leaf
        Fewest donors of a leaf (synthpop's minbucket).
    complexity
        The smallest gain of a split as a share of the root's impurity (synthpop's cp).
    smoothing
        Whether numbers that fewer than ``min_leaf`` records share get noise inside their leaf.
    order
        The replaced columns in the order they are drawn; default: file order, a column that does not apply to everyone
        after those its condition names.
    exclude
        Kept columns the trees must not see.
    rules
        Column → condition under which it has one fixed value (or is missing) in the original, such as
        ``{"nociga": "smoke == 'NO'"}``; the copies then keep that rule.

    Examples
    --------
    >>> Cart(min_leaf=10).smoothing
    True
    """

    method: Literal["cart"] = "cart"
    min_leaf: int = Field(default=5, ge=1)
    complexity: float = Field(default=1e-8, ge=0)
    smoothing: bool = True
    order: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    rules: dict[str, str] = Field(default_factory=dict)

    def visits(self, data: Microdata) -> tuple[str, ...]:
        """Return the replaced columns in the order they are drawn."""
        return self.order or applicability.visits(data.schema.replaced())

    def problems(self, data: Microdata) -> list[str]:
        """Return why these trees cannot replace the columns the schema asks for."""
        found = settings_problems(data, self.order, self.exclude) + order_problems(data, self.order, joint=False)
        if any(".order:" in problem for problem in found):  # rules cannot be read without an order
            return found
        where = "synthesis.model"
        kept = [column.name for column in data.schema.kept()]
        visits = self.visits(data)
        for name, rule in self.rules.items():
            if name not in visits:
                found.append(f"{where}.rules.{name}: is not a replaced column.")
                continue
            allowed = {*kept, *visits[: visits.index(name)]}
            why = _rule_problem(rule, allowed, data.frame, name)
            found += [f"{where}.rules.{name}: {why}."] if why is not None else []
        return found

    def prepare(self, data: Microdata) -> Orchard:
        """Return the data made ready for growing trees."""
        kept = [column.name for column in data.schema.kept() if column.name not in self.exclude]
        visits = self.visits(data)
        return Orchard(
            data=data,
            binned=Binned.of(data, [*kept, *visits]),
            kept=tuple(kept),
            visits=visits,
            growth=Growth(self.min_leaf, self.complexity),
            rules=self.rules,
            smoothing=self.smoothing,
        )


def _rule_problem(rule: str, allowed: set[str], frame: pd.DataFrame, name: str) -> str | None:
    """Return what is wrong with a rule, or None."""
    try:
        unknown = sorted(expressions.names(rule) - allowed)
        if unknown:
            return f"may name kept columns and those drawn before, found {', '.join(unknown)}"
        holds = expressions.evaluate(rule, frame)
    except InputError as error:
        return str(error).rstrip(".")
    if not pd.api.types.is_bool_dtype(holds.dtype):
        return "must be a condition, true or false for each record"
    if not holds.any() or holds.all():
        return f"must hold for some records, not for {'all' if holds.all() else 'none'}"
    if frame.loc[~holds.to_numpy(), name].isna().all():
        return "the column must have values where the rule does not hold, found none"
    distinct = frame.loc[holds.to_numpy(), name].nunique(dropna=False)
    if distinct > 1:
        return f"the column must have one value where the rule holds, found {distinct}"
    return None
