"""What a measure hands to the report as plain data: sentences, tables and charts, with numbers as people write them."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

NOT_COMPUTED = "not computed"
DASH = "–"
# the yardstick of every distance
HALVES = "Two halves of the original"
DIGITS = 3
MINUS = "\N{MINUS SIGN}"
_LEVEL = re.compile(r"(?:C\((?P<wrapped>[^,()]+)(?:,.*)?\)|(?P<plain>\w+))\[(?:T\.)?(?P<level>.*)\]")
_INTERACTION = re.compile(r":(?![^\[(]*[\])])")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Table:
    """A table ready to be shown.

    Parameters
    ----------
    caption
        What the table holds, for readers and screen readers alike.
    head
        Column headings.
    rows
        Cells as text; the first cell of a row is its heading.
    align
        One letter per column: ``l`` for words, ``r`` for numbers.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str


@dataclass(frozen=True)
class Marks:
    """One kind of mark in rows: its values from the top down, and the range over copies where there is one."""

    name: str
    values: Sequence[Any]
    look: Literal["found", "single", "halves", "chance"]
    low: Sequence[Any] = ()
    high: Sequence[Any] = ()


@dataclass(frozen=True)
class Dots:
    """Rows of marks.

    Parameters
    ----------
    title, caption
        What is measured, and how to read it.
    rows
        Names, from top to bottom.
    marks
        What is drawn in each row, the most important first.
    axis
        Words under the axis.
    line
        Where an upright line marks what is expected.
    least
        Makes the axis logarithmic; anything smaller is drawn there.
    """

    title: str
    rows: Sequence[str]
    marks: Sequence[Marks]
    axis: str
    caption: str
    line: float | None = None
    least: float | None = None


@dataclass(frozen=True)
class Pairs:
    """S_pMSE of every two columns, of single columns on the diagonal; ``left_out`` columns found no place."""

    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    left_out: int


@dataclass(frozen=True)
class Forest:
    """Coefficients of one analysis, original against copies; each term as metrics.json has it."""

    name: str
    terms: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Outlines:
    """Histograms over each other, of the original and of each copy, as shares of records."""

    title: str
    axis: str
    edges: Sequence[float]
    original: Sequence[float]
    copies: Sequence[Sequence[float]]
    caption: str


@dataclass(frozen=True)
class Bars:
    """Shares of records by group: of each name one for every group, the first name being "before"."""

    title: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    caption: str


@dataclass(frozen=True)
class Curves:
    """Pairs of the share of outsiders wrongly accused and the share of members recognised, by the name of a test."""

    points: Mapping[str, Sequence[Sequence[float]]]


@dataclass(frozen=True)
class Crowds:
    """How many records of each group lie in each tile of a coarse grid over two keys, panel by panel.

    Parameters
    ----------
    axes
        The two keys; what values the tiles stand for is not part of it.
    groups
        The risk groups, those with the most look-alikes first.
    panels
        By the panel's name, of every group the counts of tiles, a row for each step of the second key.
    """

    title: str
    axes: tuple[str, str]
    groups: tuple[str, ...]
    panels: Mapping[str, Mapping[str, Sequence[Sequence[int]]]]
    caption: str


Chart = Dots | Pairs | Forest | Outlines | Bars | Curves | Crowds


@dataclass(frozen=True)
class Block:
    """One measure in words, sentences, tables and charts.

    Parameters
    ----------
    title, words
        The heading, and what is asked; what stands between two pairs of asterisks is emphasised.
    sentences
        What was found, before the tables.
    absent
        Why there are no figures; shown where there is neither a sentence nor a table.
    notes, missing
        Small print below the tables, and what of several measures could not be computed.
    charts
        What is drawn below the tables.
    first
        Sentences that belong before everything else that the report says of usefulness.
    """

    title: str
    words: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    absent: str = ""
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    first: tuple[str, ...] = ()


def joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks with those of one title made one, in the place of the first.

    Tables of one caption become one table. What could not be computed of some is a sentence where there are figures of
    others.
    """
    titled: dict[str, list[Block]] = {}
    for block in blocks:
        titled.setdefault(block.title, []).append(block)
    return tuple(parts[0] if len(parts) == 1 else _joined(parts) for parts in titled.values())


def _joined(parts: Sequence[Block]) -> Block:
    tables: dict[str, Table] = {}
    for table in (table for part in parts for table in part.tables):
        rows = (*tables[table.caption].rows, *table.rows) if table.caption in tables else table.rows
        tables[table.caption] = Table(table.caption, table.head, rows, table.align)
    reasons = dict.fromkeys(part.absent for part in parts if part.absent)
    said: dict[str, None] = {}
    for part in parts:
        said |= dict.fromkeys(part.sentences)
        if tables and part.absent:
            said[f"Not computed: {part.absent}."] = None
    return Block(
        parts[0].title,
        parts[0].words,
        tuple(said),
        tuple(tables.values()),
        "" if tables else "; ".join(reasons),
        tuple(note for part in parts for note in part.notes),
        tuple(why for part in parts for why in part.missing),
        tuple(chart for part in parts for chart in part.charts),
        tuple(sentence for part in parts for sentence in part.first),
    )


def find(metrics: Mapping[str, Any] | None, *path: str) -> Any:
    """Return what lies at the path, or None where any step of it is missing.

    Examples
    --------
    >>> find({"utility": {"pmse": None}}, "utility", "pmse", "logit") is None
    True
    """
    here: Any = metrics
    for step in path:
        if not isinstance(here, Mapping):
            return None
        here = here.get(step)
    return here


def entries(found: Any) -> list[Mapping[str, Any]]:
    """Return the sections in a list; none where there is no list, and without what is no section.

    Examples
    --------
    >>> entries([{"k": 1}, None]), entries({"reason": "no keys"})
    ([{'k': 1}], [])
    """
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def reason(section: Any) -> str:
    """Return why a section holds no figures, without its full stop; empty where it says nothing."""
    return str(find(section, "reason") or "").rstrip(".")


def is_number(value: Any) -> bool:
    """Return whether a metric is a finite number (True and False are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(value: Any) -> str:
    """Return three significant digits with thousands separators, or "not computed".

    A zero at the end is shown only where rounding put it there: 0.5 is exact, 0.500 was 0.49996.

    Examples
    --------
    >>> number(1234567.8), number(0.05), number(0.04999), number(None)
    ('1,234,568', '0.05', '0.0500', 'not computed')
    """
    if not is_number(value):
        return NOT_COMPUTED
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10 ** (DIGITS + 7) or size < 1e-4:
        digits, power = f"{size:.{DIGITS - 1}e}".split("e")
        text = f"{float(digits):g} × 10{str(int(power)).translate(_SUPERSCRIPT)}"
    elif size >= 10**DIGITS or isinstance(value, int):
        text = f"{size:,.0f}"
    else:
        text = f"{size:.{DIGITS}g}"
        exact = math.isclose(float(text), size, rel_tol=1e-9)
        text = text if exact else f"{size:#.{DIGITS}g}".rstrip(".")
        text = "1,000" if "e" in text else text
    return (MINUS if value < 0 else "") + text


def percent(value: Any) -> str:
    """Return a share as a percentage."""
    return f"{number(100.0 * value)}%" if is_number(value) else NOT_COMPUTED


def listing(names: list[str]) -> str:
    """Return names as they are said: a, b and c."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else "none"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the singular or the plural."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def ranged(found: Any, say: Callable[[Any], str], *, key: str = "value", low: str = "low", high: str = "high") -> str:
    """Return an estimate with its interval, as far as they are known; a dash where there is no estimate.

    Examples
    --------
    >>> ranged({"value": 0.5, "low": 0.25, "high": 0.75}, percent), ranged({}, percent)
    ('50% (25% to 75%)', '–')
    """
    value = find(found, key) if isinstance(found, Mapping) else found
    if not is_number(value):
        return DASH
    ends = [find(found, end) for end in (low, high)]
    return f"{say(value)} ({say(ends[0])} to {say(ends[1])})" if all(map(is_number, ends)) else say(value)


def interval(estimate: Any) -> str:
    """Return an estimate with its interval, as far as they are known."""
    said = ranged(estimate or {}, number, key="estimate")
    return NOT_COMPUTED if said == DASH else said


def plain_term(term: str) -> str:
    """Return a term of a model formula in plain words.

    Examples
    --------
    >>> plain_term("C(sex)[T.M]"), plain_term("age:region[T.North]"), plain_term("np.log(age)")
    ('sex = M', 'age × region = North', 'np.log(age)')
    """
    parts = [(part, _LEVEL.fullmatch(part)) for part in _INTERACTION.split(term)]
    return " × ".join(
        part if found is None else f"{found['wrapped'] or found['plain']} = {found['level']}" for part, found in parts
    )
