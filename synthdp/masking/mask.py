"""What every mask can do, and the mask of one column over all records.

Risk groups may carry masks of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from synthdp.masking.evidence import Evidence, GaussianEvidence, LevelEvidence, about_levels, about_numbers
from synthdp.privacy import events
from synthdp.privacy.events import MaskEvent
from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column


@dataclass(frozen=True, repr=False)
class Target:
    """The column a mask is applied to, seen on its working scale.

    Parameters
    ----------
    column
        What the column is.
    link
        The working scale of a numeric column; None for levels.
    neighbours
        How many records share each record's key values, itself included.
    """

    column: Column
    link: Link | None
    neighbours: Codes


class Mask(Protocol):
    """W given X, with the strength of every record fixed: a known conditional distribution p(w | x, λ).

    ``x`` is the working value of a numeric column, or the position in the levels of a categorical one.
    """

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw W ~ p(w | x, λ)."""
        ...

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        """Return log p(w | x, λ)."""
        ...

    def evidence(self, w: Floats) -> Evidence:
        """Return what W says about X: the log likelihood as a function of x, up to a constant."""
        ...


@runtime_checkable
class AdditiveMask(Protocol):
    """A mask W = shift(x) + noise_sd · u with u standard normal, whose noise can be orthogonalised in sample."""

    def shift(self, x: Floats) -> Floats:
        """Return the expectation of W."""
        ...

    def noise_sd(self, n: int) -> Floats:
        """Return the sd of W for each of n records."""
        ...


class MaskSettings(Protocol):
    """A mask as the user writes it; bound to a column it becomes a Mask."""

    @property
    def method(self) -> str:
        """How the config calls it."""
        ...

    def bind(self, target: Target) -> Mask:
        """Return the mask with every record's strength fixed."""
        ...

    def event(self, target: Target) -> MaskEvent:
        """Return what one draw of this mask is, formally."""
        ...

    def describe(self) -> str:
        """Return the mask in plain words."""
        ...

    def suits(self, column: Column) -> str | None:
        """Return why this mask does not fit the column, or None if it does."""
        ...

    def depends_on_neighbours(self) -> bool:
        """Return whether the strength differs with the number of neighbours."""
        ...

    def wider(self, factor: float, levels: int) -> Self:
        """Return the mask of a column with so many levels that lets less through by about a factor."""
        ...


def two_digits(value: float) -> float:
    """Return a strength as a person would write it."""
    return float(f"{value:.2g}")


MaskDraw = Literal["per_copy", "once", "once_orthogonal"]
Residuals = Callable[[Floats], Floats]
Labels = npt.NDArray[np.object_]


@dataclass(frozen=True, repr=False)
class Part:
    """The records of one risk group and the mask they get (None: no W at all)."""

    group: str
    rows: Codes
    settings: MaskSettings | None
    mask: Mask | None


@dataclass(frozen=True, repr=False)
class ColumnMask:
    """One column's masks, a part per risk group.

    W is turned into evidence at once and never stored: it is as confidential as X.
    """

    target: Target
    parts: tuple[Part, ...]

    @classmethod
    def plan(
        cls,
        target: Target,
        default: MaskSettings | None,
        by_group: Mapping[str, MaskSettings],
        labels: Labels,
    ) -> Self:
        """Return the masks bound to the records of their groups."""
        if not by_group:
            groups = {"all": np.arange(len(labels))}
        else:
            groups = {str(label): np.flatnonzero(labels == label) for label in dict.fromkeys(labels)}
        parts = []
        for group, rows in groups.items():
            settings = by_group.get(group, default)
            here = Target(target.column, target.link, target.neighbours[rows])
            parts.append(Part(group, rows, settings, settings.bind(here) if settings is not None else None))
        return cls(target, tuple(parts))

    def draw(self, x: Floats, *, rng: np.random.Generator, residuals: Residuals | None = None) -> Evidence:
        """Draw W for every record and return what it says about X; arguments as in :meth:`noisy`."""
        return self.about(self.noisy(x, rng=rng, residuals=residuals))

    def noisy(self, x: Floats, *, rng: np.random.Generator, residuals: Residuals | None = None) -> Floats:
        """Draw W for every record.

        Parameters
        ----------
        x
            Working values or positions in the levels; missing is NaN.
        residuals
            When given, the noise of additive masks is replaced by its residuals (orthogonal to 1, Z and X in this
            sample), so that W's error is the same in no released mean or slope.
        """
        w = np.full(len(x), np.nan)
        noise = self._orthogonal_noise(len(x), residuals, rng=rng) if residuals is not None else None
        for part in self.parts:
            if part.mask is None:
                continue
            here = x[part.rows]
            if noise is not None and isinstance(part.mask, AdditiveMask):
                w[part.rows] = part.mask.shift(here) + noise[part.rows]
            else:
                w[part.rows] = _draw_known(part.mask, here, rng=rng)
        return w

    def of(self, rows: slice) -> Self:
        """Return the mask of a block of records."""
        parts = []
        for part in self.parts:
            first, last = np.searchsorted(part.rows, [rows.start, rows.stop])
            here = part.rows[first:last]
            if len(here):
                target = replace(self.target, neighbours=self.target.neighbours[here])
                mask = part.settings.bind(target) if part.settings is not None else None
                parts.append(replace(part, rows=here - rows.start, mask=mask))
        return replace(self, target=replace(self.target, neighbours=self.target.neighbours[rows]), parts=tuple(parts))

    def grouped(self) -> bool:
        """Return whether risk groups have masks of their own."""
        return len(self.parts) > 1

    def graded(self) -> bool:
        """Return whether any record's strength depends on its number of neighbours."""
        return any(part.settings is not None and part.settings.depends_on_neighbours() for part in self.parts)

    def fewest(self) -> int:
        """Return the number of neighbours below which graded strength does not change."""
        return min((int(getattr(part.settings, "fewest", 1)) for part in self.parts if part.settings), default=1)

    def statements(self, draws: int, withdrawn: str | None) -> list[dict[str, object]]:
        """Return what may be said formally about each group's mask, after ``draws`` draws of W."""
        rows: list[dict[str, object]] = []
        for part, event in zip(self.parts, self.events(draws, withdrawn), strict=True):
            rows.append(
                {
                    "column": self.target.column.name,
                    "group": part.group,
                    "mask": part.settings.describe() if part.settings is not None else "none",
                    "mu": event.mu if isinstance(event, events.Gaussian) else None,
                    "statement": event.statement(),
                }
            )
        return rows

    def events(self, draws: int, withdrawn: str | None) -> list[events.MaskEvent]:
        """Return what each group's mask is, formally, after ``draws`` draws of W; without a bound where withdrawn."""
        found: list[events.MaskEvent] = []
        for part in self.parts:
            event: events.MaskEvent = events.NonPrivate("no mask was drawn, so W says nothing; the model saw the data")
            if part.settings is not None:
                event = part.settings.event(self.target).copies(draws)
                if withdrawn is not None and not isinstance(event, events.NonPrivate):
                    event = events.NonPrivate(withdrawn)
            found.append(event)
        return found

    def _orthogonal_noise(self, n: int, residuals: Residuals, *, rng: np.random.Generator) -> Floats:
        noise = np.zeros(n)
        for part in self.parts:
            if isinstance(part.mask, AdditiveMask):
                noise[part.rows] = part.mask.noise_sd(len(part.rows)) * rng.standard_normal(len(part.rows))
        return residuals(noise)

    def about(self, w: Floats) -> Evidence:
        """Return what W says about X."""
        levels = len(self.target.column.levels)
        if self.target.column.kind.categorical:
            weights = np.zeros((len(w), levels))
            for part in self.parts:
                if part.mask is not None:
                    weights[part.rows] = about_levels(part.mask.evidence(w[part.rows])).log_weights
            return LevelEvidence(weights)
        linear, precision = np.zeros(len(w)), np.zeros(len(w))
        for part in self.parts:
            if part.mask is not None:
                piece = about_numbers(part.mask.evidence(w[part.rows]))
                linear[part.rows], precision[part.rows] = piece.linear, piece.precision
        return GaussianEvidence(linear, precision)


def residual_maker(design: Floats) -> Residuals:
    """Return the map from noise to its residuals on a design, rescaled to keep its expected variance.

    Cost O(n·d²) once and O(n·d) per call; collinear columns are harmless.
    """
    n = len(design)
    left, singular, _ = np.linalg.svd(design, full_matrices=False)
    basis = left[:, singular > singular.max(initial=0.0) * max(design.shape) * np.finfo(float).eps]
    rescale = np.sqrt(n / max(n - basis.shape[1], 1))

    def residuals(noise: Floats) -> Floats:
        return np.asarray((noise - basis @ (basis.T @ noise)) * rescale)

    return residuals


def _draw_known(mask: Mask, x: Floats, *, rng: np.random.Generator) -> Floats:
    """Draw W, leaving it missing where x is missing."""
    known = np.isfinite(x)
    w = mask.draw(np.where(known, x, 0.0), rng=rng)
    return np.where(known, w, np.nan)
