"""CART as an association model: trees whose leaf donors are re-weighted by the mask.

A tree per replaced column, grown on the original given the kept columns and the replaced columns before it; the joint
p(X | Z, θ) is the sequence of these trees, and X is drawn jointly given Z and W (see ``particles``). With W silent this
is CART as in sequential synthesis; with W of full information it gives X back.

θ is the set of donors with their masses, drawn by the Bayesian bootstrap: b ~ Dirichlet(1, …, 1) over the records, once
for all columns of a copy, and the trees are grown with these weights.

What θ remembers. A record is a donor of the leaf it falls into, with the same standing as every other donor of that
leaf: without mask information its own value is drawn with probability about 1/(leaf size). W points near the true
value, and the closer the mask, the fewer donors besides the record's own remain likely, so a released value may be
nearer to the truth than W alone allows. The draw itself never looks at the truth, but θ holds it: nothing formal is
claimed about the masks of such a release.

References
----------
Reiter (2005), Journal of Official Statistics 21(3), 441-462 (CART synthesis). Rubin (1981), Annals of Statistics 9(1),
130-134 (the Bayesian bootstrap). The re-weighting by a mask is ours.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from synthdp.imputation.model import (
    Completes,
    Posterior,
    Task,
    gap_problems,
    nested,
    order_problems,
    rows_of,
    settings_problems,
)
from synthdp.imputation.trees.binning import Binned, Binning
from synthdp.imputation.trees.cart import TreeSettings
from synthdp.imputation.trees.donors import Smoother, gather
from synthdp.imputation.trees.particles import Branch, TreeParameters
from synthdp.imputation.trees.tree import Growth, Tree
from synthdp.table.applies import visits as in_order
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.schema import Kind

# paths of a record, and how often new ones are proposed: more would take for ever and tell no more
MOST_PATHS = 10_000


class MaskedCart(TreeSettings):
    """Classification and regression trees, drawn jointly given the masks.

    Parameters
    ----------
    order
        The replaced columns in the order they are drawn; default: file order, those that do not apply to everyone last.
    min_leaf
        Fewest donors of a leaf.
    complexity
        The smallest gain of a split as a share of the root's impurity.
    exclude
        Kept columns the trees must not see.
    particles
        How many paths a record's draw is chosen from.
    sweeps
        How often new paths are proposed beside the chosen one; trees read this in place of ``synthesis.sweeps``.
    smoothing
        Whether numbers that fewer than ``min_leaf`` records share get Gaussian noise inside their leaf.
    proper
        Whether every copy has trees of its own, grown on a Bayesian bootstrap of the records.

    Examples
    --------
    >>> MaskedCart(min_leaf=10).particles
    32
    """

    method: Literal["cart"] = "cart"
    min_leaf: int = Field(default=5, ge=1)
    particles: int = Field(default=32, ge=2, le=MOST_PATHS)
    sweeps: int = Field(default=3, ge=0, le=MOST_PATHS)
    proper: bool = True
    completes: ClassVar[Completes | None] = "chained"
    withdrawn: ClassVar[str | None] = "the association model holds the records themselves as donors"

    @property
    def draws_parameters(self) -> bool:
        """Whether every copy has trees of its own."""
        return self.proper

    def of_one(self, exclude: tuple[str, ...]) -> Self:
        """Return the same trees for a single column; imputations without trees of their own would be too much alike."""
        return super().of_one(exclude).model_copy(update={"proper": True})

    @property
    def splines(self) -> int:
        """Trees bend by themselves: no splines."""
        return 0

    def problems(self, data: Microdata) -> list[str]:
        """Return why these trees cannot replace the columns the schema asks for."""
        found = [
            f"variables.{column.name}: trees given a mask cannot replace dates; use method: sequential, or set "
            "role: keep."
            for column in data.schema.replaced()
            if column.kind is Kind.DATE
        ]
        found += gap_problems(data, "trees given a mask need") + order_problems(data, self.order, joint=True)
        return found + settings_problems(data, self.order, self.exclude)

    def fit(self, task: Task, *, rng: np.random.Generator) -> "TreePosterior":
        """Bin the columns once. Trees are grown per copy, or here when every copy has the same."""
        schema = task.data.schema
        kept = [column.name for column in schema.kept() if column.name not in self.exclude]
        visits = self.order or in_order(sorted(schema.replaced(), key=lambda column: column.applies_when is not None))
        posterior = TreePosterior(task, binned_of(task, kept, visits), visits, self, None)
        if self.proper:
            return posterior
        return TreePosterior(task, posterior.binned, visits, self, posterior.grow(np.ones(len(task.data))))


@dataclass(frozen=True, repr=False)
class TreePosterior(Posterior):
    """The records, binned, and what a bootstrap of them would give.

    Parameters
    ----------
    binned
        Kept columns, the mask's strength where it differs between records, then replaced columns by working value.
    fixed
        The one θ of trees that are not proper.
    """

    task: Task
    binned: Binned
    visits: tuple[str, ...]
    settings: MaskedCart
    fixed: TreeParameters | None

    def __repr__(self) -> str:
        return f"TreePosterior({self.binned})"

    def draw(self, *, rng: np.random.Generator) -> TreeParameters:
        """Draw θ: bootstrap the records, once for all columns, and grow their trees."""
        return self.fixed or self.grow(rng.standard_exponential(len(self.task.data)))

    def grow(self, weights: Floats) -> TreeParameters:
        """Return the trees grown with these weights of the records."""
        seen = self.binned.names[: -len(self.visits)]
        branches = tuple(self._branch(name, (*seen, *self.visits[:j]), weights) for j, name in enumerate(self.visits))
        # what is drawn must not be looked at before it is drawn
        codes = self.binned.codes.copy()
        codes[len(seen) :] = 0
        return TreeParameters(codes, branches, self.settings.particles, self.settings.sweeps)

    def _branch(self, name: str, predictors: tuple[str, ...], weights: Floats) -> Branch:
        column, values = self.task.data.schema[name], self.task.working[name]
        growth = Growth(self.settings.min_leaf, self.settings.complexity)
        tree = Tree.grow(
            self.binned,
            [other for other in predictors if nested(self.task, name, other)],
            values,
            classes=len(column.levels),
            rows=rows_of(self.task, name),
            weights=weights,
            growth=growth,
        )
        limits, smoother = None, None
        if not column.kind.categorical:
            low, high = self.task.links[name].limits()
            # without bounds the data's own range: a kernel around a zero must not go below it
            limits = (low, high) if column.bounds is not None else (float(np.nanmin(values)), float(np.nanmax(values)))
            smoother = Smoother.of(tree, values, limits, growth.min_leaf) if self.settings.smoothing else None
        return Branch(
            name=name,
            tree=tree,
            donors=gather(tree, values, weights, smoother),
            binning=self.binned.binnings[name],
            row=self.binned.names.index(name),
            limits=limits,
        )


def binned_of(task: Task, kept: list[str], visits: tuple[str, ...]) -> Binned:
    """Return the bins of everything a tree may split on."""
    schema, seen = task.data.schema, task.predictors
    columns = {name: task.data.values(name) for name in kept}
    binnings = {name: Binning.of(schema[name], values) for name, values in columns.items()}
    # where masks differ between records because of X, the trees must see by what
    for j in range(len(seen.names) - seen.regularised, len(seen.names)):
        columns[f"the mask's {seen.names[j]}"] = seen.matrix[:, j]
        binnings[f"the mask's {seen.names[j]}"] = Binning.of_numbers(seen.matrix[:, j])
    for name in visits:
        columns[name] = task.working[name]
        binnings[name] = Binning.of(schema[name], task.working[name])
    return Binned.make(binnings, columns, len(task.data))
