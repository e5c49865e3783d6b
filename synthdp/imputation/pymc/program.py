"""``model: {method: pymc}``: p(X | Z, θ) as the user writes it, one family and one formula per replaced column.

    p(x | z, θ)  =  Π_j p(x_j | parents of j, θ_j)

Parents are kept columns and replaced columns before j; a formula names them, and a column without one has them all. The
posterior factorises the same way, so each column has a PyMC program of its own.

Limits. Replaced columns must be complete and apply to everyone. Missing values of kept columns are predictors as in the
other models (see ``columns``); they are not imputed.
"""

import importlib.util
from graphlib import CycleError, TopologicalSorter
from typing import Literal

import numpy as np
from pydantic import Field

from synthdp.errors import InputError
from synthdp.imputation.model import InOrder, Task, gap_problems, settings_problems
from synthdp.imputation.pymc import terms as formulas
from synthdp.imputation.pymc.columns import Columns, Formula
from synthdp.imputation.pymc.families import SUITED, FamilyName
from synthdp.imputation.pymc.posterior import ProgramPosterior, true_values
from synthdp.imputation.pymc.sampling import SamplerName
from synthdp.imputation.regression.association import size_problems
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Kind, Settings

WHERE = "synthesis.model.columns"


def column_problems(column: Column, data: Microdata, family: FamilyName) -> list[str]:
    """Return why a program of this family cannot replace a column."""
    where = f"variables.{column.name}"
    if column.kind is Kind.DATE:
        return [f"{where}: pymc cannot replace dates; use trees, or set role: keep."]
    if column.applies_when is not None:
        return [f"{where}: pymc cannot replace columns with applies_when; use model: regression."]
    suited = SUITED[column.kind]
    if family not in suited:
        return [
            f"{WHERE}.{column.name}.family: {family} does not suit a {column.kind} column; use {' or '.join(suited)}."
        ]
    if found := size_problems(column, data, "pymc", "family: log_normal"):
        return found
    if family == "log_normal":
        values = data.numbers(column.name)
        if column.transform != "none":
            return [f"{where}: transform bends the column already; use family: normal, or leave the transform out."]
        zero = column.bounds[0] if column.bounds is not None else 0.0
        if low := int(np.sum(values <= zero)):
            return [f"{where}: log_normal needs values above the lower bound (0 without one), found {low} others."]
    return []


NEEDED = ("pymc", "arviz", "formulaic")


class ColumnProgram(Settings):
    """The model of one replaced column.

    Parameters
    ----------
    family
        By default the first that suits its kind: normal, student_t, log_normal (continuous); two_part
        (semicontinuous); negative_binomial, poisson (count); bernoulli (binary); ordered, categorical (ordinal);
        categorical (nominal).
    formula
        The right side, such as ``1 + sex + bs(income, df=4)``; default: all kept columns and the replaced columns
        before it.

    Examples
    --------
    >>> ColumnProgram(family="student_t", formula="1 + sex").family
    'student_t'
    """

    family: FamilyName | None = None
    formula: str | None = None


class Pymc(InOrder):
    """A model of the user's own, column by column.

    Parameters
    ----------
    columns
        Family and formula by column; what is left out has its default.
    order
        The replaced columns, parents first; default: file order, as far as the formulas allow.
    prior_sd
        Prior sd of slopes on standardised predictors.
    sampler
        ``nuts``, ``advi`` (an approximation, for many records), or ``auto``: ADVI beyond 20,000 records.
    draws, tune, chains, target_accept
        Of NUTS.
    least_ess, most_r_hat
        When draws are good enough: the worst bulk effective sample size and R-hat.
    exclude
        Kept columns the model must not see.

    Examples
    --------
    >>> Pymc(columns={"age": {"family": "student_t"}}).columns["age"].family
    'student_t'
    """

    method: Literal["pymc"] = "pymc"
    columns: dict[str, ColumnProgram] = Field(default_factory=dict)
    prior_sd: float = Field(default=2.5, gt=0)
    sampler: SamplerName = "auto"
    draws: int = Field(default=500, ge=100)
    tune: int = Field(default=500, ge=100)
    chains: int = Field(default=2, ge=2)
    target_accept: float = Field(default=0.85, gt=0.5, lt=1)
    least_ess: float = Field(default=100.0, gt=0)
    most_r_hat: float = Field(default=1.05, gt=1)

    @property
    def splines(self) -> int:
        """Splines are written in formulas."""
        return 0

    def problems(self, data: Microdata) -> list[str]:
        """Return why these programs cannot replace the columns the schema asks for."""
        if absent := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
            return [
                f"synthesis.model: method pymc needs {', '.join(absent)}, not installed here; pip install "
                "'synthdp[pymc]'."
            ]
        found = gap_problems(data, "pymc needs") + settings_problems(data, self.order, self.exclude)
        replaced = {column.name: column for column in data.schema.replaced()}
        for name in self.columns:
            if name not in replaced:
                found.append(f"{WHERE}.{name}: not a replaced column; there are {', '.join(replaced)}.")
        for column in replaced.values():
            found += column_problems(column, data, self.family_of(column))
        if found:
            return found
        try:
            order = self.ordered(data)
        except InputError as error:
            return list(error.problems)
        return self._formula_problems(data, order)

    def family_of(self, column: Column) -> FamilyName:
        """Return the family of a column: the one named, or the default of its kind."""
        named = self.columns.get(column.name, ColumnProgram()).family
        return named or SUITED.get(column.kind, ("normal",))[0]

    def terms_of(self, name: str) -> formulas.Terms | None:
        """Return a column's formula as it was read, or None where it has none."""
        text = self.columns.get(name, ColumnProgram()).formula
        return None if text is None else formulas.read(text, where=f"{WHERE}.{name}.formula")

    def ordered(self, data: Microdata) -> tuple[str, ...]:
        """Return the replaced columns, parents first.

        Raises
        ------
        InputError
            When formulas need each other in a circle, or a column that the order puts later.
        """
        names = [column.name for column in data.schema.replaced()]
        graph: dict[str, list[str]] = {}
        for name in names:
            terms = self.terms_of(name)
            graph[name] = [other for other in (() if terms is None else terms.names()) if other in names]
        itself = [f"{WHERE}.{name}.formula: a column cannot explain itself." for name in names if name in graph[name]]
        if itself:
            raise InputError(*itself)
        if self.order is not None:
            late = [
                f"{WHERE}.{name}.formula: {other} comes later in synthesis.model.order; let it come first, or leave it "
                "out of the formula."
                for place, name in enumerate(self.order)
                for other in graph[name]
                if other in self.order[place:]
            ]
            if late:
                raise InputError(*late)
            return self.order
        return parents_first(graph, WHERE)

    def _formula_problems(self, data: Microdata, order: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        columns = Columns(data, links := {n: Link.of(data, n) for n in order if not data.schema[n].kind.categorical})
        values = true_values(data, links)
        for name in order:
            terms, where = self.terms_of(name), f"{WHERE}.{name}.formula"
            if terms is None:
                continue
            wrong = formulas.absent(terms.names(), columns.known(), where=where)
            wrong += [
                f"{where}: {other} is excluded from the model." for other in terms.names() if other in self.exclude
            ]
            if not wrong:
                try:
                    Formula.learn(columns, terms, values, np.empty((len(data), 0)), where=where)
                except InputError as error:
                    wrong += error.problems
            found += wrong
        return found

    def fit(self, task: Task, *, rng: np.random.Generator) -> ProgramPosterior:
        """Sample the posterior of every column's program, one after the other.

        Raises
        ------
        Unfinished
            When the draws of a column cannot be trusted.
        """
        order = self.ordered(task.data)
        families = {name: self.family_of(task.data.schema[name]) for name in order}
        terms = {name: self.terms_of(name) for name in order}
        return ProgramPosterior.fit(task, families, terms, self.prior_sd, self, rng=rng)


def parents_first(graph: dict[str, list[str]], where: str) -> tuple[str, ...]:
    """Return the columns with parents first, in the given order as far as that allows.

    Raises
    ------
    InputError
        When they need each other in a circle.

    Examples
    --------
    >>> parents_first({"a": ["c"], "b": [], "c": []}, "here")
    ('b', 'c', 'a')
    """
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " needs ".join(reversed(error.args[1]))
        raise InputError(f"{where}: {circle}; leave one of them out of another's formula.") from None
    places = {name: place for place, name in enumerate(graph)}
    found: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=places.__getitem__)
        found.append(ready.pop(0))
        sorter.done(found[-1])
    return tuple(found)
