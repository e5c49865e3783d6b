"""What public files show by themselves: what kept columns predict, and what linked rows of copies have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.channel import (
    LARGEST_CELL,
    Cells,
    Channel,
    MaskDraw,
    cells_of,
    channel_of,
    even_channels,
    pair_cells,
)
from synthdp.evaluation.risk.public_columns import Coding, Kept, Place, code_columns, code_kept
from synthdp.table import expressions
from synthdp.table.coded import coded
from synthdp.table.schema import Column, Role

# rows that moments are estimated from
MOST_ROWS = 20_000
# linked cells that it takes to see what copies have in common: some, and some for each column
FEWEST_CELLS = 50
CELLS_EACH = 3
# where rows must be linked by fit: how often, how sure, and what is at least taken to be apart, times √cells
REFINED = 3
SURER = 0.9
ROUGH = 2.0
# what a row that cannot be linked may tell: the shares of variance tried
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.99, 0.999)


@dataclass(frozen=True, repr=False)
class Public:
    """What the copies show, before any assumption on masks: all that does not depend on the channel."""

    comparison: Comparison
    coding: Coding
    kept: Kept
    slopes: Floats
    cells: Cells
    channels: tuple[Channel, ...]
    keys: tuple[Place, ...]

    def __repr__(self) -> str:
        return f"Public({len(self.cells.label)} rows)"

    def residuals(self, copy: int, rows: Codes) -> Floats:
        """Return rows of a copy less what their kept columns predict; zero where a number is missing."""
        file = coded(self.comparison.copies[copy]).take(rows)
        return np.nan_to_num(self.coding.matrix(file) - self.kept.matrix(file) @ self.slopes)


def study(comparison: Comparison, *, mask_draw: MaskDraw | None, rng: np.random.Generator) -> Public:
    """Estimate from aligned copies what an intruder needs who would have to link them.

    Parameters
    ----------
    mask_draw
        How copies were masked, as their ``release.json`` says; None where nobody says, and every story is a candidate.

    Notes
    -----
    No true value of a replaced column is used; that rows are aligned only spares the sorting. Where several rows share
    their kept values, the intruder's guess is made from an order that says nothing. Cost: sorting, and moments of at
    most 20,000 rows.
    """
    kept, replaced, gaps = sort_columns(comparison)
    cells = cells_of(comparison.copies[0], kept)
    fit = regress_on_kept(comparison, kept, replaced, gaps, rng=rng)
    channels = _channels(fit, cells, mask_draw, rng)
    keys = _keys(fit.coding, comparison)
    return Public(comparison, fit.coding, fit.kept, fit.slopes, cells, tuple(channels), keys)


@dataclass(frozen=True, repr=False)
class Regressed:
    """Replaced columns regressed on kept ones: slopes, and the residuals of some rows, (copies, rows, width).

    ``slopes`` are those of the copies' mean, residuals those of each copy by itself: copies were drawn with parameters
    of their own, and what is left of one fit to all of them would look like something that rows have in common, by
    about (predictors)/(rows). ``freedom`` is the share of the rows that the predictors leave.
    """

    coding: Coding
    kept: Kept
    slopes: Floats
    residuals: Floats
    rows: Codes
    freedom: float

    def __repr__(self) -> str:
        return f"Regressed({len(self.rows)} rows)"

    @property
    def total(self) -> Floats:
        """The covariance of residuals."""
        copies, rows, _ = self.residuals.shape
        return np.asarray(_squares(self.residuals) / (copies * rows * self.freedom))

    def within(self, rows: Codes | None = None) -> Floats:
        """Return the covariance of what linked rows do not have in common, from some of the rows."""
        mine = self.residuals if rows is None else self.residuals[:, rows]
        apart = mine - mine.mean(axis=0)
        return np.asarray(_squares(apart) / ((len(mine) - 1) * mine.shape[1] * self.freedom))


def _squares(vectors: Floats) -> Floats:
    """Return the sum of squares and products of vectors along the last axis."""
    flat = np.ascontiguousarray(vectors).reshape(int(np.prod(vectors.shape[:-1])), vectors.shape[-1])
    return np.asarray(flat.T @ flat)


def regress_on_kept(
    comparison: Comparison,
    kept: Sequence[Column],
    replaced: Sequence[Column],
    gaps: Sequence[str],
    *,
    most_rows: int = MOST_ROWS,
    rng: np.random.Generator,
) -> Regressed:
    """Regress replaced columns on the kept ones, copy by copy, from at most ``most_rows`` rows."""
    copies = [coded(copy) for copy in comparison.copies]
    first = copies[0]
    coding, predictors = code_columns(copies, replaced, gaps), code_kept(first, kept)
    rows = np.arange(len(first))
    if len(rows) > most_rows:
        rows = np.sort(rng.choice(len(rows), most_rows, replace=False))
    known = predictors.matrix(first.take(rows))
    shown = [coding.matrix(copy.take(rows)) for copy in copies]
    # all copies at once, side by side
    m, n, width = len(shown), len(rows), shown[0].shape[1]
    flat = np.hstack(shown)
    present = np.isfinite(flat)
    whole = bool(present.all())
    if not whole:
        known_sum, count = np.where(present, flat, 0.0).sum(axis=0), present.sum(axis=0)
        mean = known_sum.reshape(m, width).sum(axis=0) / np.maximum(count.reshape(m, width).sum(axis=0), 1)
        flat = np.where(present, flat, np.tile(mean, m))
    slopes, _, rank, _ = np.linalg.lstsq(known, flat)
    flat -= known @ slopes
    if not whole:
        flat[~present] = 0.0
    residuals = np.ascontiguousarray(flat.reshape(n, m, width).transpose(1, 0, 2))
    mean_slopes = slopes.reshape(known.shape[1], m, width).mean(axis=1)
    freedom = max(1.0, n - float(rank)) / n
    return Regressed(coding, predictors, mean_slopes, residuals, rows, freedom)


def _channels(fit: Regressed, cells: Cells, mask_draw: MaskDraw | None, rng: np.random.Generator) -> list[Channel]:
    """Return the channels that the copies leave possible: one where rows can be linked and masks are known."""
    residuals, rows, total = fit.residuals, fit.rows, fit.total
    copies, _, width = residuals.shape
    stories: list[MaskDraw] = ["per_copy", "once", "noise"] if mask_draw is None else [mask_draw]
    pairs = copies * (copies - 1) // 2
    enough = max(FEWEST_CELLS, CELLS_EACH * width)
    alone = np.flatnonzero(cells.size[rows] == 1)
    if copies > 1 and len(alone) >= enough:
        within = fit.within(alone)
        return [channel_of(total, within, pairs=pairs * len(alone), mask_draw=story) for story in stories]
    place = np.full(len(cells.label), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    found = [place[cells.of_size(size)] for size in range(1, LARGEST_CELL + 1)] if copies > 1 else []
    small = [residuals[:, members[(members >= 0).all(axis=1)]] for members in found]
    count = sum(part.shape[1] for part in small)
    if count < enough:
        return even_channels(total, SHARES)
    within = _apart(small, total, pairs, fit.freedom, rng)
    return [channel_of(total, within, pairs=pairs * count, mask_draw=story) for story in stories]


def _apart(small: Sequence[Floats], total: Floats, pairs: int, freedom: float, rng: np.random.Generator) -> Floats:
    """Return what rows of one record do not have in common, from cells of a few rows each, (copies, cells, size, q).

    Sums over a cell need no linking, as strangers add nothing to their covariance; but what is left after subtracting
    it is rough where little is. So rows are linked with that, and differences of the links that are sure are taken.
    """
    count = sum(part.shape[1] for part in small)
    common = np.zeros_like(total)
    for part in small:
        sums = part.sum(axis=2) / np.sqrt(part.shape[2])
        everything = sums.sum(axis=0)
        common += everything.T @ everything - np.einsum("mgi,mgj->ij", sums, sums)
    apart = total - common / (2 * pairs * count * freedom)
    for _ in range(REFINED):
        channel = channel_of(total, apart, pairs=pairs * count)
        # no surer than sums of so many cells allow
        channel = replace(channel, apart=np.maximum(channel.apart, ROUGH / np.sqrt(count)))
        squares, linked, rows = np.zeros_like(total), 0, 0
        for part in small:
            for other in part[1:]:
                chosen, sure = pair_cells(part[0], other, channel, rng=rng)
                gap = (part[0] - np.take_along_axis(other, chosen[:, :, None], axis=1))[sure > SURER]
                squares += gap.T @ gap
                linked, rows = linked + len(gap), rows + sure.size
        if linked < rows / 2:
            return np.asarray(channel.root * channel.apart @ channel.root.T)
        apart = squares / (2 * linked * freedom)
    return np.asarray(apart)


def sort_columns(comparison: Comparison) -> tuple[list[Column], list[Column], list[str]]:
    """Return what is kept, what is not, and which numbers have gaps that moved; a kept column that differs is not."""
    names = {column.name for column in comparison.schema.keys()}
    kept, replaced, gaps = [], [], []
    files = [coded(frame) for frame in (comparison.original, *comparison.copies)]
    for column in comparison.schema.columns:
        follows = column.role is Role.DERIVED and expressions.names(str(column.derived)) <= names
        if column.role is Role.DERIVED and (follows or not column.key):
            continue
        values = [file.values(column) for file in files]
        if column.role is not Role.REPLACE and all(np.array_equal(values[0], v, equal_nan=True) for v in values[1:]):
            kept.append(column)
            continue
        replaced.append(column)
        absent = [~np.isfinite(v) for v in values]
        if not column.kind.categorical and any(np.any(absent[0] != other) for other in absent[1:]):
            gaps.append(column.name)
    return kept, replaced, gaps


def _keys(coding: Coding, comparison: Comparison) -> tuple[Place, ...]:
    """Return the places of keys, categorical ones first."""
    names = {column.name for column in comparison.schema.keys()}
    mine = [place for place in coding.places if place.column.name in names]
    return tuple(sorted(mine, key=lambda place: not place.levels))
