"""Columns as latent coordinates: which columns can be used, which has which, and what the records say of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy.special import ndtri

from synthdp.arrays import ranks
from synthdp.imputation.copula.latent import Flags, Latent, Mixture, Shape, Singles, first_shift, meaningful
from synthdp.imputation.copula.margins import (
    Family,
    LevelCurve,
    LevelMargin,
    NumberCurve,
    NumberMargin,
    ParametricMargin,
)
from synthdp.imputation.copula.rare import Pool, fewest, rarest
from synthdp.imputation.model import Task
from synthdp.table.applies import holds
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind

FEWEST_KNOWN = 10
NEARLY_ONE = 1 - 1e-6


def scores(data: Microdata, name: str) -> Floats:
    """Return the normal scores of a number or ordered levels; zero where it is missing."""
    column = data.schema[name]
    values = data.codes(name).astype(np.float64) if column.kind.categorical else data.numbers(name)
    known = (values >= 0) if column.kind.categorical else np.isfinite(values)
    found = np.zeros(len(values))
    found[known] = ndtri((ranks(values[known]) - 0.5) / max(int(known.sum()), 1))
    return found


def leave_out(data: Microdata, exclude: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield kept columns a copula cannot use, with the reason: too few values, one value only, or a copy of others.

    O(n p²) for p columns.
    """
    seen: list[Floats] = []
    for column in data.schema.kept():
        if column.name in exclude:
            continue
        why = _unusable(data, column)
        if why is None and column.kind is not Kind.NOMINAL:
            why = "it follows from other columns" if follows(data, column.name, seen) else None
        if why is not None:
            yield column.name, why


def follows(data: Microdata, name: str, seen: list[Floats]) -> bool:
    """Return whether a column's scores follow from those seen before; they are added to them if not."""
    mine = scores(data, name)
    mine = mine / np.sqrt(np.mean(mine**2))
    if seen:
        others = np.column_stack(seen)
        fitted = others @ np.linalg.lstsq(others.T @ others, others.T @ mine, rcond=None)[0]
        if np.mean(fitted**2) > NEARLY_ONE:
            return True
    seen.append(mine)
    return False


def _unusable(data: Microdata, column: Column) -> str | None:
    known = data.codes(column.name) >= 0 if column.kind.categorical else np.isfinite(data.numbers(column.name))
    if int(known.sum()) < FEWEST_KNOWN:
        return f"it has fewer than {FEWEST_KNOWN} values"
    return "all its values are the same" if data.frame[column.name].nunique() < 2 else None


Curve = NumberCurve | LevelCurve | None
MOST_UTILITIES = 24
NOMINAL_SD, LOCATION_SD = 1.5, 1.0  # of constants: of utilities, and of latents that margins put at zero


@dataclass(frozen=True, repr=False)
class Item:
    """One column and its coordinates.

    Parameters
    ----------
    column
        What it is.
    first, width
        Its coordinates: one, or a utility per level but the most frequent for a nominal column.
    margin
        Of a number or ordered levels; None for a nominal column, whose Γ has a constant instead.
    codes, order
        Of a nominal column: each record's place (-1: missing), and which level that is: the most frequent first.
    pool
        The rare levels that share the last place; see ``rare``.
    applies
        To which records the column applies; None when to all.
    mixture
        Of its latents, as a first look at the covariates has it; None when nothing moves them.
    """

    column: Column
    first: int
    width: int
    margin: NumberMargin | LevelMargin | None
    codes: Codes
    order: Codes
    pool: Pool | None = None
    applies: Flags | None = None
    mixture: Mixture | None = None

    @property
    def nominal(self) -> bool:
        """Whether the column has utilities."""
        return self.margin is None

    def missing(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return whose value is missing."""
        return (self.codes if self.margin is None else self.margin.rows) < 0

    def nearly_constant(self) -> bool:
        """Return whether hardly any record has another value than the most frequent one."""
        rows = self.codes if self.margin is None else self.margin.rows
        counts = np.bincount(rows[rows >= 0])
        return bool(counts.max() > 1 and counts.sum() - counts.max() < fewest(len(rows)))


@dataclass(frozen=True, repr=False)
class Coding:
    """All columns of the model and the covariates that move their latents.

    Parameters
    ----------
    items
        The columns.
    covariates, prior_sd
        h (n × d), a constant first, and the prior sd of Γ (d × q).
    scale
        The sd of each coordinate's latents over all records.
    left_out
        Kept columns the model does not see, and why.
    """

    items: tuple[Item, ...]
    covariates: Floats
    prior_sd: Floats
    scale: Floats
    left_out: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls, task: Task, exclude: Sequence[str], group_sd: float, families: Mapping[str, Family] = MappingProxyType({})
    ) -> "Coding":
        """Return the coding of a task's columns, some with a family instead of their own margin. O(n log n) each."""
        data = task.data
        left_out = tuple(leave_out(data, exclude))
        unseen = {name for name, _ in left_out} | set(exclude)
        items: list[Item] = []
        first = 0
        for column in data.schema.columns:
            if column.name not in unseen:
                item = _item(task, column, first, families.get(column.name))
                applies = holds(column, data.frame) if column.applies_when is not None else None
                items.append(replace(item, applies=applies))
                first += items[-1].width
        regularised = task.predictors.regularised
        moved = task.predictors.matrix[:, len(task.predictors.names) - regularised :]
        moved = moved - moved.mean(axis=0)
        nominal = np.zeros(first, dtype=np.bool_)
        for item in items:
            nominal[item.first : item.first + item.width] = item.nominal
        covariates = np.column_stack([np.ones(len(data)), moved])
        prior_sd = np.full((covariates.shape[1], first), group_sd)
        prior_sd[0] = np.where(nominal, NOMINAL_SD, LOCATION_SD)
        for item in items:
            if item.applies is not None and not item.nominal:
                # where it applies to everyone with a value, location and correlation with what decides are one and the
                # same: the margin's location counts
                prior_sd[0, item.first] = 0.0
        scale = np.ones(first)
        for k, item in enumerate(items):
            if not item.nominal and regularised:
                shift = first_shift(scores(data, item.column.name), ~item.missing(), moved)
                scale[item.first] = np.sqrt(1 + np.mean(shift**2))
                items[k] = replace(item, mixture=Mixture.of(shift))
        return cls(tuple(items), covariates, prior_sd, scale, left_out)

    def lacking(self, wanted: float) -> Floats:
        """Return how many records each coordinate lacks: of a level, or of values other than the most frequent.

        Of a utility the records say less than of any other latent: a fifth of what is wanted is lacking at least.
        """
        found = np.zeros(self.prior_sd.shape[1])
        for item in self.items:
            rows = item.codes if item.margin is None else item.margin.rows
            counts = np.bincount(rows[rows >= 0])
            # a number without ties has all its records to learn from
            telling = counts[1:] if item.nominal else counts.sum() - counts.max() if counts.max() > 1 else counts.sum()
            least = wanted / 5 if item.nominal else 0.0
            asked = max(wanted, fewest(len(rows))) if item.nearly_constant() else wanted
            found[item.first : item.first + item.width] = np.maximum(asked - telling, least)
        return found

    def shape(self) -> Shape:
        """Return which coordinate is what."""
        blocks = tuple((item.first, item.width) for item in self.items if item.nominal)
        return Shape.of(self.prior_sd.shape[1], blocks)

    def effects(self) -> tuple[Codes, Codes]:
        """Return the entries of Γ that mean something."""
        return meaningful(self.shape(), self.covariates, self.prior_sd)

    def curves(self, weights: Floats, gamma: Floats | None = None) -> list[Curve]:
        """Return every column's margin with weights of the records, read through the mixture that Γ makes of latents.

        While Γ is sampled, the mixtures of a first look stand for it: location and scale are sampled along.
        """
        found: list[Curve] = []
        for item in self.items:
            curve = None if item.margin is None else item.margin.at(weights)
            mixture = item.mixture
            if mixture is not None and gamma is not None:
                mixture = Mixture.of(self.covariates @ gamma[:, item.first])
            found.append(curve if curve is None or mixture is None else mixture.applied(curve, self.scale[item.first]))
        return found

    def filled(self, y: Floats | Singles, curves: Sequence[Curve]) -> "Coding":
        """Return the coding with margins added up over these latents (n × q) where values are missing.

        A column's margin is that of the records to which it applies. What it would be for all could only be had
        together with its correlation with the columns that decide, of which the records say nothing: they are all the
        same wherever there is a value.
        """
        items = []
        for item, curve in zip(self.items, curves, strict=True):
            if item.margin is not None and curve is not None:
                rows = item.margin.rows
                unknown = rows < 0 if item.applies is None else (rows < 0) & item.applies
                drawn = rows.copy()
                drawn[unknown] = curve.cell(y[unknown, item.first].astype(np.float64) / self.scale[item.first])
                item = replace(item, margin=replace(item.margin, filled=drawn))
            items.append(item)
        return replace(self, items=tuple(items))

    def latent(self, curves: Sequence[Curve]) -> Latent:
        """Return what the records say of their latents under these margins."""
        n, q = len(self.covariates), self.prior_sd.shape[1]
        lower, upper = np.full((n, q), -np.inf), np.full((n, q), np.inf)
        for item, curve in zip(self.items, curves, strict=True):
            if curve is not None:
                j = item.first
                low, high = curve.bounds()
                lower[:, j], upper[:, j] = low * self.scale[j], high * self.scale[j]
        codes = [item.codes for item in self.items if item.nominal]
        levels = np.column_stack(codes) if codes else np.zeros((n, 0), dtype=np.int64)
        return Latent(self.shape(), lower, upper, levels, self.covariates, self.prior_sd)


def _item(task: Task, column: Column, first: int, family: Family | None) -> Item:
    nothing = np.zeros(0, dtype=np.int64)
    if not column.kind.categorical:
        link = task.links.get(column.name)
        x = task.data.numbers(column.name) if link is None else task.working[column.name]
        limits = link.limits() if link is not None else column.bounds if family is not None else None
        limits = (-np.inf, np.inf) if limits is None else limits
        margin = NumberMargin.of(x, limits) if family is None else ParametricMargin.from_family(x, limits, family)
        return Item(column, first, 1, margin, nothing, nothing)
    codes = task.data.codes(column.name)
    if column.kind is not Kind.NOMINAL:
        return Item(column, first, 1, LevelMargin(codes, codes, len(column.levels)), nothing, nothing)
    counts = np.bincount(codes[codes >= 0], minlength=len(column.levels))
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    places = len(order) - len(rarest(counts[order])) + 1
    pool = Pool.of(codes, order[places - 1 :]) if places < len(order) else None
    place = np.full(len(column.levels) + 1, -1, dtype=np.int64)
    place[order] = np.minimum(np.arange(len(order)), places - 1)
    return Item(column, first, places - 1, None, place[codes], order[:places], pool)
