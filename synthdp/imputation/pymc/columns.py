"""One replaced column of a program: its design matrix, and how the chain meets it at one draw of θ.

Columns stand in formulas on their own scale. A missing number of a kept column is its mean plus an indicator, a missing
level is a level, as in ``predictors``; where masks differ between records, the group or the number of neighbours always
enters, with its tighter prior. A replaced column that a formula bends (``log(age)``, ``bs(age, df=4)``) is held inside
the range of the records before it is bent: beyond it the effect stays what it is at the edge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd

from synthdp.imputation.families.family import Enumerated, FamilyDraw
from synthdp.imputation.families.normal import NormalDraw
from synthdp.imputation.predictors import Encoding
from synthdp.imputation.pymc.families import LogNormalDraw, StudentDraw
from synthdp.imputation.pymc.joint_draw import Conditional, Exact, Mixture, Proposal
from synthdp.imputation.pymc.terms import Spec, Terms
from synthdp.masking.evidence import Evidence, GaussianEvidence
from synthdp.table.links import Link
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind, Role

NO_LEVEL = "(missing)"
Values = Mapping[str, Floats]
Levels: TypeAlias = "pd.Categorical[Any]"


class Regressors(Protocol):
    """The linear predictor's columns as a function of the replaced columns before this one."""

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns it depends on."""
        ...

    def matrix(self, values: Values, rows: Codes) -> Floats:
        """Return the matrix for some records, the constant first. Values are of all records."""
        ...

    def straight_in(self, name: str) -> bool:
        """Return whether it is linear in a number's value on the scale the chain keeps it."""
        ...


@dataclass(frozen=True, repr=False)
class Everything:
    """Kept columns as every regression sees them, and the replaced columns before this one."""

    kept: Floats
    before: tuple[tuple[str, Encoding], ...]

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns before this one."""
        return tuple(name for name, _ in self.before)

    def matrix(self, values: Values, rows: Codes) -> Floats:
        """Return the matrix for some records."""
        return np.column_stack([self.kept[rows], *(code.columns(values[name][rows]) for name, code in self.before)])

    def straight_in(self, name: str) -> bool:
        """Return whether the column enters as one number."""
        return dict(self.before)[name].width == 1


class Columns:
    """The columns as formulas see them: kept ones from the file, replaced ones from the chain's state."""

    def __init__(self, data: Microdata, links: Mapping[str, Link]) -> None:
        self._data, self._links = data, links
        self._kept = {column.name: _kept(data, column) for column in data.schema.kept()}
        self.gaps = {
            column.name: (~np.isfinite(data.numbers(column.name))).astype(np.float64)
            for column in data.schema.kept()
            if not column.kind.categorical and not np.isfinite(data.numbers(column.name)).all()
        }

    def known(self) -> list[str]:
        """Return the columns a formula may name."""
        return [column.name for column in self._data.schema.columns if column.role in (Role.KEEP, Role.REPLACE)]

    def own(self, name: str, values: Floats) -> "Floats | Levels":
        """Return a replaced column's values as the file has them."""
        column = self._data.schema[name]
        if column.kind.categorical:
            return _levels(values.astype(np.int64), column)
        return values if column.kind is Kind.COUNT else self._links[name].inverse(values)

    def frame(self, names: Sequence[str], values: Values, rows: Codes, held: Mapping[str, "Range"]) -> pd.DataFrame:
        """Return some columns of some records.

        Parameters
        ----------
        held
            The ranges inside which replaced columns are held.
        """
        made: dict[str, object] = {}
        for name in names:
            if name in self._kept:
                made[name] = self._kept[name][rows]
                continue
            own = self.own(name, values[name][rows])
            made[name] = np.clip(own, *held[name]) if name in held and not isinstance(own, pd.Categorical) else own
        return pd.DataFrame(made, index=np.arange(len(rows)))


Range = tuple[float, float]


@dataclass(frozen=True, repr=False)
class Formula:
    """What a user's formula makes of the columns, standardised as the records are."""

    columns: Columns
    spec: Spec
    replaced: tuple[str, ...]
    held: Mapping[str, Range]
    center: Floats
    spread: Floats
    extra: Floats

    @classmethod
    def learn(
        cls, columns: Columns, terms: Terms, values: Values, extra: Floats, *, where: str = "formula"
    ) -> "tuple[Formula, Floats]":
        """Return the design and its matrix at the records' own values.

        Parameters
        ----------
        extra
            Columns of every record that enter beside the formula: what the masks' strength depends on.
        """
        names = terms.names()
        every = np.arange(len(extra))
        replaced = tuple(name for name in names if name in values)
        held = {}
        for name in replaced:
            own = columns.own(name, values[name])
            if not isinstance(own, pd.Categorical) and not terms.straight_in(name):
                held[name] = (float(own.min()), float(own.max()))
        spec, matrix = Spec.learn(terms, columns.frame(names, values, every, held), where=where)
        gaps = [columns.gaps[name][:, None] for name in names if name in columns.gaps]
        center, spread = matrix.mean(axis=0), matrix.std(axis=0)
        flat = spread <= 1e-12 * np.maximum(np.abs(center), 1.0)
        center, spread = np.where(flat, 0.0, center), np.where(flat, 1.0, spread)
        made = cls(columns, spec, replaced, held, center, spread, np.column_stack([*gaps, extra]))
        return made, np.column_stack([(matrix - center) / spread, made.extra])

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns the formula names."""
        return self.replaced

    def matrix(self, values: Values, rows: Codes) -> Floats:
        """Return the matrix for some records."""
        frame = self.columns.frame(self.spec.terms.names(), values, rows, self.held)
        return np.column_stack([(self.spec.matrix(frame) - self.center) / self.spread, self.extra[rows]])

    def straight_in(self, name: str) -> bool:
        """Return whether the formula has the column as it is, on a scale that is not bent by a transform."""
        link = self.columns._links.get(name)
        return link is not None and link.transform == "none" and self.spec.terms.straight_in(name)


def _kept(data: Microdata, column: Column) -> "Levels | Floats":
    if column.kind.categorical:
        return _levels(data.codes(column.name), column)
    values = data.numbers(column.name)
    present = np.isfinite(values)
    return values if present.all() else np.where(present, values, values[present].mean() if present.any() else 0.0)


def _levels(codes: Codes, column: Column) -> "Levels":
    names = [str(level) for level in column.levels]
    gaps = codes == MISSING
    if gaps.any():
        codes, names = np.where(gaps, len(names), codes), [*names, NO_LEVEL]
    return pd.Categorical.from_codes(codes, pd.Index(names))


@dataclass(frozen=True, repr=False)
class Node:
    """A family at drawn parameters, and the design its linear predictor is made of."""

    name: str
    family: FamilyDraw | StudentDraw | LogNormalDraw
    design: Regressors

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns it depends on."""
        return self.design.parents

    def eta(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Return the linear predictors of some records."""
        return np.asarray(self.design.matrix(values, rows) @ self.family.beta)

    def log_density(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Return log p(own value | parents) of some records at the chain's values."""
        return self.family.log_density(values[self.name][rows], self.eta(values, rows))

    def levels(self) -> Floats | None:
        """Return the values to enumerate, or None for numbers."""
        return self.family.level_values() if isinstance(self.family, Enumerated) else None

    def log_levels(self, values: Mapping[str, Floats], about: Evidence) -> Floats:
        """Return log p(level | parents) p(w | level) of all records and levels."""
        if not isinstance(self.family, Enumerated):
            raise TypeError("numbers cannot be enumerated")
        eta = self.eta(values, np.arange(len(about)))
        return np.asarray(self.family.log_levels(eta) + self.family.level_weights(about))

    def proposal(self, values: Mapping[str, Floats], rows: Codes, about: Evidence) -> Proposal:
        """Return where candidates of some records come from: the exact conditional where there is one."""
        eta = self.eta(values, rows)
        if isinstance(self.family, StudentDraw | LogNormalDraw):
            return Mixture(self.family, eta, about)
        return Exact(self.family, eta, about)

    def told_by(self, child: Conditional, values: Mapping[str, Floats]) -> GaussianEvidence | None:
        """Return what a normal child x = a + b·y + e says about a normal y, where it has y as it is.

        The slope b may differ between records: interactions with other columns are part of it.
        """
        if not (isinstance(child, Node) and child.design.straight_in(self.name)):
            return None
        if not (isinstance(self.family, NormalDraw) and isinstance(child.family, NormalDraw)):
            return None
        own = values[self.name]
        every = np.arange(len(own))
        at_zero = child.eta({**values, self.name: np.zeros(len(own))}, every)[:, 0]
        slope = child.eta({**values, self.name: np.ones(len(own))}, every)[:, 0] - at_zero
        variance = child.family.variance
        return GaussianEvidence(slope * (values[child.name] - at_zero) / variance, slope**2 / variance)
