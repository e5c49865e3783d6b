"""A PyMC model of the user's own, built on columns that the chain can change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from synthdp.errors import InputError
from synthdp.imputation.programs.draws import COMPILE, quiet
from synthdp.imputation.programs.settings import parents_first
from synthdp.links import Link
from synthdp.microdata import Floats, Microdata
from synthdp.schema import Column, Kind, Role

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
