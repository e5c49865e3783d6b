"""A PyMC model of the user's own as the association model (from Python; a config cannot hold one).

    def build(data):
        with pm.Model() as model:
            slope = pm.Normal("slope", 0, 1)
            pm.Normal("income", slope * data["age"], 1, observed=data["income"])
        return model

``data`` holds every kept and replaced column as a PyTensor vector: numbers on their own scale (a missing kept number is
NaN), positions in the levels for levels (missing: -1). Each replaced column is an observed variable of its own name,
of one value per record, independent between records given the parameters; what it depends on is read off the model, and
must be ``data[...]``, not another observed variable. Candidates are drawn from the model itself and re-weighted by the
mask and by the columns that depend on them (see ``joint_draw``); levels are enumerated.

No formal statement about the masks is made: nothing keeps a model of the user's own from holding the records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from synthdp.errors import InputError
from synthdp.imputation.model import Task
from synthdp.imputation.pymc.joint_draw import Conditional, Proposal, log_evidence
from synthdp.imputation.pymc.posterior import ProgramParameters
from synthdp.imputation.pymc.program import Pymc, parents_first
from synthdp.imputation.pymc.sampling import COMPILE, Draws, fit, quiet
from synthdp.masking.evidence import Evidence, about_levels, about_numbers
from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind, Role

WHERE = "synthesis.model.build"


@dataclass(frozen=True, repr=False)
class Built:
    """The user's model, and per replaced column what it depends on, its log density and its draw.

    The columns are shared vectors, so that the chain can put its values in: one chain at a time.
    """

    model: Any
    columns: Mapping[str, Any]
    schema: Mapping[str, Column]
    parents: Mapping[str, tuple[str, ...]]
    lock: Any = field(default_factory=Lock)
    compiled: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, build: Callable[[Mapping[str, Any]], Any], data: Microdata) -> "Built":
        """Build the model and read its structure.

        Raises
        ------
        InputError
            When it cannot be built, lacks a replaced column, or its columns depend on each other in a circle.
        """
        import pymc as pm
        import pytensor
        from pytensor.graph.traversal import ancestors

        columns = {
            column.name: pytensor.shared(_as_seen(data, column), name=f"data {column.name}")
            for column in data.schema.columns
            if column.role in (Role.KEEP, Role.REPLACE)
        }
        try:
            with quiet():
                model = build(dict(columns))
        except Exception as error:  # whatever the user's code raises; its text may hold values
            raise InputError(f"{WHERE}: raised {type(error).__name__} when called with the columns.") from None
        if not isinstance(model, pm.Model):
            raise InputError(f"{WHERE}: must return a pm.Model, found {type(model).__name__}.")
        observed = {variable.name: variable for variable in model.observed_RVs}
        names = [column.name for column in data.schema.replaced()]
        problems, parents = [], {}
        for name in names:
            if name not in observed:
                problems.append(f"{WHERE}: no observed variable named {name!r}; every replaced column needs one.")
                continue
            above = set(ancestors([observed[name]])) - {observed[name]}
            wrong = [other for other in observed if observed[other] in above]
            problems += [
                f"{WHERE}: {name} depends on the variable {other!r}; write data[{other!r}]." for other in wrong
            ]
            parents[name] = tuple(other for other in names if columns[other] in above and other != name)
        if problems:
            raise InputError(*problems)
        order = parents_first({name: list(parents[name]) for name in names}, WHERE)
        schema = {name: data.schema[name] for name in order}
        return cls(model, columns, schema, {name: parents[name] for name in order})

    def put(self, values: Mapping[str, Floats], links: Mapping[str, Link], names: tuple[str, ...]) -> None:
        """Put the chain's values into some columns."""
        for name in names:
            column = self.schema[name]
            x = values[name]
            plain = column.kind.categorical or column.kind is Kind.COUNT
            self.columns[name].set_value(x.astype(np.int64) if plain else links[name].inverse(x))

    def log_density(self, name: str) -> Any:
        """Return the compiled log density of a column, of all records, as a function of the model's variables."""
        import pymc as pm

        variable = self.model[name]
        return self._once(f"log density of {name}", lambda: pm.logp(variable, self.columns[name]))

    def draw(self, name: str) -> Any:
        """Return the compiled draw of a column given its parents."""
        return self._once(f"draw of {name}", lambda: self.model[name])

    def _once(self, what: str, output: Callable[[], Any]) -> Any:
        import pymc as pm

        if what not in self.compiled:
            with quiet():
                self.compiled[what] = pm.compile(
                    self.model.free_RVs, output(), mode=COMPILE["mode"], on_unused_input="ignore"
                )
        return self.compiled[what]

    def reseed(self, *, rng: np.random.Generator) -> None:
        """Let the compiled draws begin anew from a seed."""
        from pymc.pytensorf import reseed_rngs

        for name in self.schema:
            sources = [v for v in self.draw(name).get_shared() if isinstance(v.get_value(), np.random.Generator)]
            reseed_rngs(sources, int(rng.integers(2**63)))


def _as_seen(data: Microdata, column: Column) -> Any:
    if column.kind.categorical:
        return data.codes(column.name)
    numbers = data.numbers(column.name)
    return numbers.astype(np.int64) if column.kind is Kind.COUNT and np.isfinite(numbers).all() else numbers


class OwnPymc(Pymc):
    """A PyMC model that the user builds.

    Parameters
    ----------
    build
        From the columns to a ``pm.Model``.
    """

    build: Callable[[Mapping[str, Any]], Any] = Field(exclude=True, repr=False)
    withdrawn: ClassVar[str | None] = "the association model is the user's own"

    def problems(self, data: Microdata) -> list[str]:
        """Return why this model cannot replace the columns the schema asks for."""
        if found := super().problems(data):
            return found
        if self.columns:
            return ["synthesis.model.columns: a model of your own has no formulas; leave them out."]
        try:
            Built.of(self.build, data)
        except InputError as error:
            return list(error.problems)
        return []

    def fit(self, task: Task, *, rng: np.random.Generator) -> "OwnPosterior":  # type: ignore[override]
        """Sample the model's posterior."""
        built = Built.of(self.build, task.data)
        return OwnPosterior(task, built, fit(built.model, self, len(task.data), what="the model", rng=rng))


@dataclass(frozen=True, repr=False)
class OwnPosterior:
    """Draws of the variables of the user's model."""

    task: Task
    built: Built
    draws: Draws

    def diagnostics(self) -> tuple[Mapping[str, object], ...]:
        """Return how the model was sampled and how well."""
        return (self.draws.row,)

    def draw(self, *, rng: np.random.Generator) -> "OwnParameters":
        """Draw θ."""
        picked = self.draws.pick(rng=rng)
        theta = [picked[variable.name] for variable in self.built.model.free_RVs]
        nodes = tuple(OwnNode(name, self.built, theta, self.task.links) for name in self.built.schema)
        return OwnParameters(nodes, self.task, self.built)


@dataclass(frozen=True, repr=False)
class OwnParameters(ProgramParameters):
    """One draw of θ of the user's model; chains run one at a time, as they share its columns."""

    built: Built

    def chain(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> Any:
        """Return the draw and the chain's trace."""
        with self.built.lock:
            self.built.reseed(rng=rng)
            return super().chain(evidence, rng=rng)


@dataclass(frozen=True, repr=False)
class OwnNode:
    """One replaced column of the user's model at one draw of θ."""

    name: str
    built: Built
    theta: list[Floats]
    links: Mapping[str, Link]

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns it depends on."""
        return self.built.parents[self.name]

    def log_density(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Return log p(own value | parents) of some records. O(n) whatever the rows."""
        self.built.put(values, self.links, (self.name, *self.parents))
        found = np.asarray(self.built.log_density(self.name)(*self.theta), dtype=np.float64)
        return _per_record(found, len(values[self.name]), self.name)[rows]

    def levels(self) -> Floats | None:
        """Return the positions of the levels."""
        column = self.built.schema[self.name]
        return np.arange(float(len(column.levels))) if column.kind.categorical else None

    def log_levels(self, values: Mapping[str, Floats], about: Evidence) -> Floats:
        """Return log p(level | parents) p(w | level) of all records and levels."""
        about, n = about_levels(about), len(about)
        own = [
            self.log_density({**values, self.name: np.full(n, float(level))}, np.arange(n))
            for level in range(about.log_weights.shape[1])
        ]
        return np.column_stack(own) + about.log_weights

    def proposal(self, values: Mapping[str, Floats], rows: Codes, about: Evidence) -> Proposal:
        """Return candidates from the model, weighed by the mask."""
        return FromModel(self, values, rows, about)

    def told_by(self, child: Conditional, values: Mapping[str, Floats]) -> None:
        """Return nothing: children are always weighed."""

    def simulate(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Draw the column of some records from the model alone."""
        self.built.put(values, self.links, self.parents)
        drawn = np.asarray(self.built.draw(self.name)(*self.theta), dtype=np.float64)
        drawn = _per_record(drawn, len(self.built.columns[self.name].get_value()), self.name)[rows]
        counted = self.built.schema[self.name].kind is Kind.COUNT
        return drawn if counted else self.links[self.name].forward(drawn)


@dataclass(frozen=True, repr=False)
class FromModel:
    """Candidates from the user's model."""

    node: OwnNode
    values: Mapping[str, Floats]
    rows: Codes
    about: Evidence

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record; the model's draws were seeded when the chain began."""
        return self.node.simulate(self.values, self.rows)

    def log_weight(self, x: Floats) -> Floats:
        """Return what the mask says of each candidate."""
        node = self.node
        counted = node.built.schema[node.name].kind is Kind.COUNT
        return log_evidence(about_numbers(self.about), node.links[node.name].forward(x) if counted else x)


def _per_record(found: Floats, n: int, name: str) -> Floats:
    if found.shape != (n,):
        raise InputError(f"{WHERE}: {name} must have one value per record, found the shape {found.shape}.")
    return found
