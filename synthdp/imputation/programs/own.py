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
mask and by the columns that depend on them (see ``candidates``); levels are enumerated.

No formal statement about the masks is made: nothing keeps a model of the user's own from holding the records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from synthdp.errors import InputError
from synthdp.evidence import Evidence, about_levels
from synthdp.imputation.families.normal import gaussian
from synthdp.imputation.programs.built import WHERE, Built
from synthdp.imputation.programs.candidates import Proposal, log_evidence
from synthdp.imputation.programs.chain import Conditional
from synthdp.imputation.programs.draws import Draws
from synthdp.imputation.programs.posterior import ProgramParameters
from synthdp.imputation.programs.sampling import fit
from synthdp.imputation.programs.settings import Pymc
from synthdp.imputation.protocol import Task
from synthdp.links import Link
from synthdp.microdata import Codes, Floats, Microdata
from synthdp.schema import Kind


class OwnPymc(Pymc):
    """A PyMC model that the user builds.

    Parameters
    ----------
    build
        From the columns to a ``pm.Model``.
    """

    build: Callable[[Mapping[str, Any]], Any] = Field(exclude=True, repr=False)
    withdrawn: ClassVar[str] = "the association model is the user's own"

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
        return log_evidence(gaussian(self.about), node.links[node.name].forward(x) if counted else x)


def _per_record(found: Floats, n: int, name: str) -> Floats:
    if found.shape != (n,):
        raise InputError(f"{WHERE}: {name} must have one value per record, found the shape {found.shape}.")
    return found
