"""Which rows of different copies belong together, for somebody who has only them: by kept columns, then by fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from synthdp.evaluation.risk.channel import Channel
from synthdp.microdata import Codes, Floats
from synthdp.neighbours import encode_keys
from synthdp.schema import Column

# rows that share their kept values are told apart by trying all permutations, 24 at most
LARGEST_CELL = 4
# a link is used when it is more likely right than wrong
SURE = 0.5


@dataclass(frozen=True, repr=False)
class Cells:
    """Rows by their kept values: ``label`` says which rows agree on all of them, ``size`` how many do."""

    label: Codes
    size: Codes

    def __repr__(self) -> str:
        return f"Cells({len(self.label)} rows)"

    def of_size(self, size: int) -> Codes:
        """Return the rows of cells of one size, shape (cells, size)."""
        mine = np.flatnonzero(self.size == size)
        return np.asarray(mine[np.argsort(self.label[mine], kind="stable")]).reshape(-1, size)


def cells_of(frame: pd.DataFrame, kept: Sequence[Column]) -> Cells:
    """Sort rows by their kept values; missing agrees with missing. O(n log n)."""
    exact = [column.model_copy(update={"tolerance": 0.0}) for column in kept]
    (keys,) = encode_keys([frame], exact)
    table = pd.DataFrame(np.column_stack([keys.cells, keys.numbers]))
    label = np.asarray(table.groupby(list(table.columns), sort=False).ngroup(), dtype=np.int64)
    return Cells(label, np.bincount(label)[label])


def pair_cells(first: Floats, other: Floats, channel: Channel, *, rng: np.random.Generator) -> tuple[Codes, Floats]:
    """Return for each row of cells the likeliest partner in the other copy, and how likely it is.

    Parameters
    ----------
    first, other
        Residuals of the rows of cells in two copies, shape (cells, size, columns), in an order that says nothing.

    Notes
    -----
    In the channel's basis two residuals of one record have covariance b, those of two records none, so a pair (e, f)
    speaks for itself with Σ [e f b − ½ b² (e² + f²)] / (1 − b²). All permutations within a cell are weighed; the
    probability of a pair is the sum over those that contain it. O(cells · size! · size).
    """
    b = np.clip(1.0 - channel.apart, 0.0, 1.0 - 1e-12)
    e, f = first @ channel.inverse.T, other @ channel.inverse.T
    scale = 1.0 - b**2
    own = -0.5 * (b**2 / scale * e**2).sum(axis=2)[:, :, None] - 0.5 * (b**2 / scale * f**2).sum(axis=2)[:, None, :]
    pairs = own + np.einsum("gij,gkj,j->gik", e, f, b / scale)
    size = pairs.shape[1]
    orders = np.asarray(list(permutations(range(size))), dtype=np.int64)
    weight = pairs[:, np.arange(size), orders].sum(axis=2)
    weight = np.exp(weight - np.logaddexp.reduce(weight, axis=1, keepdims=True))
    marginal = np.zeros(pairs.shape)
    for number, order in enumerate(orders):
        marginal[:, np.arange(size), order] += weight[:, [number]]
    # a hair of chance decides among equals, which the order of rows must not
    chosen = np.argmax(marginal + 1e-9 * rng.random(marginal.shape), axis=2)
    return chosen, np.take_along_axis(marginal, chosen[:, :, None], axis=2)[:, :, 0]
