"""Levels of two columns that nobody has together, though by chance many would: a draw does not have them either.

Indicators of one question (``married``, ``divorced``) are never both 1, and toddlers are not married. Trees and
regressions leave a little probability there, from leaves that hold others too. So a path with two levels that go
together in no record of the file, where independence would give five or more, is taken only where every path of a
record has such a pair. Pairs are of two replaced columns or of a replaced and a kept one; missing values go with
everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.imputation.model import Task

EXPECTED = 5.0
# cells of a table, at most
MOST_CELLS = 1_000_000


@dataclass(frozen=True, repr=False)
class Pair:
    """Two columns, and which of their levels never go together; ``kept``: the codes of the second, if it is kept."""

    first: str
    second: str
    never: Booleans
    kept: Codes | None = None


@dataclass(frozen=True, repr=False)
class Impossible:
    """The pairs that have any such levels."""

    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(cls, task: Task, names: Sequence[str], exclude: Sequence[str] = ()) -> "Impossible":
        """Look at all pairs of columns of levels. Cost O(n) for each."""
        schema, n = task.data.schema, len(task.data)
        drawn = {name: _coded(task.working[name][:n]) for name in names if schema[name].kind.categorical}
        kept = {
            column.name: task.data.codes(column.name).astype(np.int64)
            for column in schema.kept()
            if column.kind.categorical and column.name not in exclude
        }
        sizes = {name: len(schema[name].levels) for name in (*drawn, *kept)}
        found: list[Pair] = []
        for place, (first, a) in enumerate(drawn.items()):
            others = dict(list(drawn.items())[place + 1 :]) | kept
            for second, b in others.items():
                if sizes[first] * sizes[second] > MOST_CELLS:
                    continue
                never = _never(a, b, sizes[first], sizes[second])
                if never.any():
                    found.append(Pair(first, second, never, kept.get(second)))
        return cls(tuple(found))

    def without(self, rows: Codes, values: Mapping[str, Floats], log_weight: Floats) -> Floats:
        """Return the log weights of paths, records × paths, with −∞ where a record has paths that are possible."""
        if not self.pairs:
            return log_weight
        bad = np.zeros(log_weight.shape, dtype=np.bool_)
        for pair in self.pairs:
            a = _coded(values[pair.first])
            b = _coded(values[pair.second]) if pair.kept is None else pair.kept[rows][:, None]
            bad |= pair.never[a, b] & (a >= 0) & (b >= 0)
        possible = ~bad & np.isfinite(log_weight)
        return np.where(bad & possible.any(axis=1, keepdims=True), -np.inf, log_weight)


def _coded(values: Floats) -> Codes:
    return np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.int64)


def _never(a: Codes, b: Codes, first: int, second: int) -> Booleans:
    both = (a >= 0) & (b >= 0)
    seen = np.bincount(a[both] * second + b[both], minlength=first * second).reshape(first, second)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(int(both.sum()), 1)
    return np.asarray((seen == 0) & (expected >= EXPECTED), dtype=np.bool_)
