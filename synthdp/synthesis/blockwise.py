"""Drawing records block by block: what one record is drawn as does not depend on how many are drawn at a time.

Records are cut into blocks (``seeding.in_blocks``), and what is drawn for each record, W and X, comes from a stream per
block; the first block's bears the plain name, so a file of one block is drawn as if there were none. Given θ the
records are independent, so the law is the same. W is cut for every model, unless its noise is made orthogonal in the
whole sample. X is cut where a model says that it can be (``Association.by_block``: regressions). Trees, ``auto``, the
copula and pymc draw all records of a file as one block.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.imputation.model import Chained, Movable, Parameters, Task
from synthdp.imputation.regression.grouped import Groupable, Grouped
from synthdp.masking.evidence import Evidence
from synthdp.masking.mask import ColumnMask, Residuals
from synthdp.seeding import Streams, in_blocks
from synthdp.table.microdata import Codes, Floats

# what W says about the replaced columns
About = Mapping[str, Evidence] | Grouped
Stream = Callable[[int], np.random.Generator]
WHOLE = ((0, slice(None)),)


def blocks_of(task: Task, *, by_block: bool) -> Sequence[tuple[int, slice]]:
    """Return the blocks that the records of a task are drawn in."""
    blocks = tuple(in_blocks(len(task.data)))
    return blocks if by_block and len(blocks) > 1 else WHOLE


def noisy(mask: ColumnMask, x: Floats, stream: Stream, residuals: Residuals | None = None) -> Floats:
    """Draw W of a column for every record.

    Parameters
    ----------
    stream
        Of a block, given its number.
    residuals
        See :meth:`ColumnMask.noisy`; they are those of all records together, which are then one block.
    """
    blocks = tuple(in_blocks(len(x)))
    if residuals is not None or len(blocks) == 1:
        return mask.noisy(x, rng=stream(0), residuals=residuals)
    return np.concatenate([mask.of(rows).noisy(x[rows], rng=stream(number)) for number, rows in blocks])


def known_of(
    task: Task, parameters: Parameters, streams: Streams, copy: int | str, *, by_block: bool
) -> Mapping[str, Floats]:
    """Return the original's replaced columns, drawn where they do not apply."""
    parts = [
        (parameters if rows == slice(None) else _movable(parameters).of(rows)).complete(
            task if rows == slice(None) else task.of(rows), rng=streams.block(number, "latent", copy)
        )
        for number, rows in blocks_of(task, by_block=by_block)
    ]
    return _together(parts)


@dataclass(frozen=True, repr=False)
class Piece:
    """A block of records, what is known of it, and the stream it is drawn from."""

    rows: slice
    parameters: Parameters
    about: About
    rng: np.random.Generator

    def draw(self) -> tuple[dict[str, Floats], pd.DataFrame | None]:
        """Draw the block."""
        return drawn(self.parameters, self.about, rng=self.rng)


def pieces(
    task: Task, parameters: Parameters, about: About, streams: Streams, copy: int, *, by_block: bool
) -> list[Piece]:
    """Return the blocks of a copy, ready to be drawn."""
    found = []
    for number, rows in blocks_of(task, by_block=by_block):
        rng = streams.block(number, "values", copy)
        if rows == slice(None):
            found.append(Piece(rows, parameters, about, rng))
        else:
            found.append(Piece(rows, _movable(parameters).of(rows), some(about, rows), rng))
    return found


def draw_all(parts: Sequence[Piece]) -> tuple[Mapping[str, Floats], pd.DataFrame | None]:
    """Return the replaced columns of all blocks, and the trace of their chains where there are any."""
    found = [piece.draw() for piece in parts]
    traces = [trace for _, trace in found if trace is not None]
    return _together([values for values, _ in found]), _mean(traces, [len(next(iter(v.values()))) for v, _ in found])


def drawn(
    parameters: Parameters, about: About, *, rng: np.random.Generator
) -> tuple[dict[str, Floats], pd.DataFrame | None]:
    """Draw the replaced columns; return the chain's trace where there is one."""
    if isinstance(about, Grouped):
        if not isinstance(parameters, Groupable):
            raise TypeError(f"{type(parameters).__name__} cannot draw under masks that differ by a rule on the values")
        return parameters.draw_grouped(about, rng=rng)
    if isinstance(parameters, Chained):
        return parameters.chain(about, rng=rng)
    return parameters.draw(about, rng=rng), None


def some(about: About, rows: Codes | slice) -> About:
    """Return what W says about some of the records."""
    if isinstance(about, Grouped):
        return about[rows]
    return {name: evidence[rows] for name, evidence in about.items()}


def _movable(parameters: Parameters) -> Movable:
    if not isinstance(parameters, Movable):
        raise TypeError(f"{type(parameters).__name__} cannot be drawn block by block")
    return parameters


def _together(parts: Sequence[Mapping[str, Floats]]) -> Mapping[str, Floats]:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _mean(traces: Sequence[pd.DataFrame], sizes: Sequence[int]) -> pd.DataFrame | None:
    """Return the trace of all records: its numbers are means over records, so those of blocks are weighed."""
    if len(traces) < 2:
        return traces[0] if traces else None
    share = np.asarray(sizes) / sum(sizes)
    means = {name: sum(w * trace[name] for w, trace in zip(share, traces, strict=True)) for name in ("mean", "moved")}
    return traces[0].assign(**means)
