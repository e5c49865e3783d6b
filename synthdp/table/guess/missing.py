"""Answers that are not there: numbers that mean "no answer", and questions that were not asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.table.guess import names, vocabulary
from synthdp.table.guess.shapes import quoted
from synthdp.table.microdata import Codes, Floats

LOW = frozenset(
    (*range(-9, 0), -66, -77, -88, *range(-99, -95), -666, -777, -888, *range(-999, -995), -7777, -8888)
).union(range(-9999, -9995), (-99999,))
HIGH = frozenset(
    (8, 9, 66, 77, 88, *range(96, 100), 666, 777, 888, *range(996, 1000), 7777, 8888, *range(9996, 10000))
).union((77777, 88888, *range(99996, 100000), 999999, 9999999, 99999999))
MOST_CODES = 3
SMALLEST_GAP = 0.3
FEW_RECORDS = 200
LONG_AGO, CENTURY = 50, 100


@dataclass(frozen=True)
class Code:
    """A number that seems to mean "missing", with what speaks for it in words without values."""

    value: int
    count: int
    evidence: str


def find_codes(numbers: Mapping[str, Floats]) -> dict[str, tuple[Code, ...]]:
    """Return the missing codes of each numeric column that has some.

    A code is taken on its own evidence first; then the same number in other columns needs less.
    """
    counted = {name: _counted(values) for name, values in numbers.items()}
    found = {name: _below(*pair) or (() if _years(name, *pair) else _above(*pair)) for name, pair in counted.items()}
    known = {code.value for codes in found.values() for code in codes}
    for name, (values, counts) in counted.items():
        if not found[name]:
            found[name] = _below(values, counts, known=known)
    return {name: codes for name, codes in found.items() if codes}


def _years(name: str, values: Floats, counts: Codes) -> bool:
    """Return whether a column holds years of two digits, of which 99 is one."""
    return names.means(name, vocabulary.YEARS) and len(values) > 0 and values[0] >= LONG_AGO and values[-1] < CENTURY


def far_out(values: Floats) -> int:
    """Return how many values lie far beyond all others: a slip or a rare code that would stretch the bounds."""
    present = values[np.isfinite(values)]
    if len(present) < 20:
        return 0
    low, middle, high = np.quantile(present, [0.01, 0.5, 0.99])
    width = max(high - low, 1e-12)
    return int(np.sum((present > high + 3 * width) | (present < low - 3 * width))) if middle != low else 0


def text_codes(series: pd.Series) -> tuple[tuple[str, int], ...]:
    """Return the few recurring texts of a column that otherwise holds numbers, with their counts."""
    counts = series.value_counts()
    words = [text for text in counts.index if not _is_number(text)]
    if any(letter.isdigit() for word in words for letter in str(word)):
        return ()  # 10+ and <5 are answers
    rest = int(counts.sum() - counts[words].sum())
    if not words or len(words) > MOST_CODES or rest < 0.5 * counts.sum() or counts[words].min() < 10:
        return ()
    return tuple((str(word), int(counts[word])) for word in words)


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _counted(values: Floats) -> tuple[Floats, Codes]:
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    return found, counts.astype(np.int64)


def _enough(counts: Codes, total: int) -> bool:
    """Return whether a group of codes recurs: a slip of the pen does not."""
    return int(counts.max()) >= (3 if total < FEW_RECORDS else 5) and int(counts.min()) >= 2


def _below(values: Floats, counts: Codes, known: set[int] | None = None) -> tuple[Code, ...]:
    """Return negative codes of a column that has no other negative number."""
    first = int(np.searchsorted(values, 0.0))
    if not 0 < first <= MOST_CODES or len(values) - first < 2 or any(value not in LOW for value in values[:first]):
        return ()
    gap = values[first] - values[first - 1]
    if known is not None:
        sure = set(values[:first].tolist()) <= known
    elif gap >= 2:
        sure = _enough(counts[:first], int(counts.sum()))
    else:
        # -1 beside 0 may be the next number of a scale or a tail; a pile on it is neither
        sure = first == 1 and len(values) > 4 and counts[0] >= counts[1] and _enough(counts[:1], int(counts.sum()))
    if not sure:
        return ()
    also = ", and it is a code in another column" if known is not None else ""
    return _codes(values[:first], counts[:first], f"no other value of the column is negative{also}")


def _above(values: Floats, counts: Codes) -> tuple[Code, ...]:
    """Return codes above everything else, by the largest gap."""
    best: tuple[float, int] = (0.0, 0)
    for size in range(1, min(MOST_CODES, len(values) - 2) + 1):
        if values[-size] not in HIGH:
            break
        rest, top = values[:-size], values[-size:]
        gap, width = float(top[0] - rest[-1]), float(rest[-1] - rest[0])
        # 8 after 5 may be a tail; a pile on it, two codes side by side, or a gap as wide as the scale, is none
        pair = size == 2 and counts[-size:].sum() >= SMALLEST_GAP * np.median(counts[:-size])
        tail = gap < width and counts[-size:].max() < counts[-size - 1] and not pair
        digit = top[0] < 10 and (bool(np.any(rest != np.round(rest))) or tail)
        apart = gap >= 2 and gap >= SMALLEST_GAP * width and rest[0] >= 0 and not digit
        if apart and _enough(counts[-size:], int(counts.sum())) and gap / width > best[0]:
            best = (gap / width, size)
    ratio, size = best
    if size == 0:
        return ()
    words = f"a gap of {ratio:.1f} times the range of the others lies below it; it may also be a top code"
    return _codes(values[-size:], counts[-size:], words)


def _codes(values: Floats, counts: Codes, evidence: str) -> tuple[Code, ...]:
    return tuple(Code(int(value), int(count), evidence) for value, count in zip(values, counts, strict=True))


FEWEST_RECORDS = 20
FEWEST_ALONE = 5
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
        """Return when the column is missing, in the language of :mod:`synthdp.table.expressions`."""
        shown = [_literal(level) for level in self.levels]
        return f"{self._named()} == {shown[0]}" if len(shown) == 1 else f"{self._named()} in [{', '.join(shown)}]"

    def applies_when(self) -> str:
        """Return when the column applies, in the same language."""
        shown = [_literal(level) for level in self.levels]
        name = self._named()
        asked = f"{name} != {shown[0]}" if len(shown) == 1 else f"{name} not in [{', '.join(shown)}]"
        return f"{asked} or isnull({name})" if self.unanswered else asked

    def _named(self) -> str:
        return quoted(self.because)


def find_skips(frame: pd.DataFrame, askable: Sequence[str]) -> dict[str, Skip]:
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
    20 records are named; of 5, where they have all missing values and no other.
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
        amounts = len(levels) > MOST_LEVELS and pd.api.types.is_numeric_dtype(frame[because])
        if amounts and bool((levels == 0).any()):
            # of an amount only its zeros are a reason: nothing earned, so no hours asked for
            codes = np.where(codes < 0, -1, codes != int(np.flatnonzero(levels == 0)[0]))
            levels = pd.Index([0])
        elif not 2 <= len(levels) <= MOST_LEVELS:
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
    size = max(len(levels), int(codes.max()) + 1)
    sizes = np.bincount(codes[answered], minlength=size)
    blank = np.bincount(codes[answered & absent], minlength=size)
    # a level that has all missing values and nothing else is no chance, however few they are
    alone = (blank == absent.sum()) & (blank == sizes) & (sizes >= FEWEST_ALONE)
    chosen = alone | ((sizes >= FEWEST_RECORDS) & (sizes - blank <= MOST_EXCEPTIONS * sizes))
    chosen &= np.arange(size) < len(levels)
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
