"""Questions that were not asked: columns that are missing wherever another column has a certain answer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

FEWEST_RECORDS = 20
MOST_LEVELS = 20
MOST_EXCEPTIONS = 0.005
LEAST_EXPLAINED = 0.5
MOST_MISSING_ELSEWHERE = 0.5
GLANCE = 5_000

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Skip:
    """``column`` is missing wherever ``because`` is one of ``levels``.

    Parameters
    ----------
    records
        How many records have one of the levels.
    exceptions
        How many of them have a value all the same: 0 when the rule holds exactly.
    explained
        The share of the column's missing values the rule accounts for.
    unanswered
        Whether the column has values where ``because`` is missing.
    """

    column: str
    because: str
    levels: tuple[str | int | float | bool, ...]
    records: int
    exceptions: int
    explained: float
    unanswered: bool = False

    def condition(self) -> str:
        """Return when the column is missing, in the language of :mod:`synthdp.expressions`."""
        shown = [_literal(level) for level in self.levels]
        return f"{self._named()} == {shown[0]}" if len(shown) == 1 else f"{self._named()} in [{', '.join(shown)}]"

    def applies_when(self) -> str:
        """Return when the column applies, in the same language."""
        shown = [_literal(level) for level in self.levels]
        name = self._named()
        asked = f"{name} != {shown[0]}" if len(shown) == 1 else f"{name} not in [{', '.join(shown)}]"
        return f"{asked} or isnull({name})" if self.unanswered else asked

    def _named(self) -> str:
        return self.because if self.because.isidentifier() else f"`{self.because}`"


def find(frame: pd.DataFrame, askable: Sequence[str]) -> dict[str, Skip]:
    """Return for each column the rule that explains most of its missing values.

    Parameters
    ----------
    frame
        The table with its missing codes already missing.
    askable
        Columns whose answers may decide whether another question is asked.

    Notes
    -----
    Cost O(n · levels · columns): a look at a few thousand records rules most pairs out. Only levels of at least
    20 records are named.
    """
    missing = frame.isna()
    gappy = [name for name in frame.columns if 0 < int(missing[name].sum()) < len(frame)]
    best: dict[str, Skip] = {}
    if not gappy:
        return best
    absent = missing[gappy].to_numpy()
    glance = slice(None, None, max(1, len(frame) // GLANCE))
    for because in askable:
        codes, levels = pd.factorize(frame[because])
        if not 2 <= len(levels) <= MOST_LEVELS:
            continue
        likely = _ruled(codes[glance], absent[glance], len(levels)).any(axis=0)
        for position in np.flatnonzero(likely):
            column = gappy[position]
            if column == because:
                continue
            found = _rule(column, because, codes, levels, absent[:, position])
            if found is not None and (column not in best or _better(found, best[column])):
                best[column] = found
    return best


def _ruled(codes: npt.NDArray[np.int64], absent: Flags, levels: int) -> Flags:
    """Return for each level and column whether the column is missing in nearly all its records."""
    one_hot = codes[:, None] == np.arange(levels)
    sizes = one_hot.sum(axis=0)
    blank = one_hot.T.astype(np.float64) @ absent.astype(np.float64)
    return np.asarray((sizes[:, None] > 0) & (blank >= (1 - 2 * MOST_EXCEPTIONS) * sizes[:, None] - 1))


def _rule(column: str, because: str, codes: npt.NDArray[np.int64], levels: pd.Index, absent: Flags) -> Skip | None:
    answered = codes >= 0
    sizes = np.bincount(codes[answered], minlength=len(levels))
    blank = np.bincount(codes[answered & absent], minlength=len(levels))
    chosen = (sizes >= FEWEST_RECORDS) & (sizes - blank <= MOST_EXCEPTIONS * sizes)
    others = int(sizes[~chosen].sum())
    if not chosen.any() or others < FEWEST_RECORDS:
        return None
    explained = float(blank[chosen].sum() / absent.sum())
    if explained < LEAST_EXPLAINED or blank[~chosen].sum() > MOST_MISSING_ELSEWHERE * others:
        return None
    return Skip(
        column=column,
        because=because,
        levels=tuple(_plain(levels[int(i)]) for i in np.flatnonzero(chosen)),
        records=int(sizes[chosen].sum()),
        exceptions=int((sizes - blank)[chosen].sum()),
        explained=explained,
        unanswered=bool((~answered & ~absent).any()),
    )


def _better(new: Skip, old: Skip) -> bool:
    return (new.explained - 10 * new.exceptions / new.records) > (old.explained - 10 * old.exceptions / old.records)


def _plain(value: object) -> str | int | float | bool:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    return plain if isinstance(plain, str | int | float | bool) else str(plain)


def _literal(level: str | int | float | bool) -> str:
    if not isinstance(level, str):
        return repr(level)
    return f"'{level}'" if "'" not in level else f'"{level}"'
