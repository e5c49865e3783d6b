"""Which type a column of texts has: the narrowest that keeps all its values, found batch by batch.

A batch is turned into numbers at once, and what its texts allow is noted. What all batches allow together decides the
type, exactly as if they had been one: all whole numbers, all numbers, all truth values, or text.
"""

from dataclasses import astuple, dataclass, fields
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LARGEST_EXACT = 2**53
NINETEEN_DIGITS = 10**18
GLANCE = 64
TextType = Literal["nothing", "integer", "number", "truth", "text"]
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_COMMA_NUMBER = r"^[+-]?[0-9]+(,[0-9]+)?$"
_NO_INTEGER = r"^[+-]?0[0-9xX]"
_NO_NUMBER = r"^[+-]?(0[0-9]|[0-9]{19,}$)"


@dataclass(frozen=True)
class Allowed:
    """What the texts of a column allow.

    Parameters
    ----------
    empty
        There is no value.
    gaps
        Some values are missing.
    integers, numbers, truths
        Every value can be read as one.
    coded, long
        Some would lose digits as a whole number (leading zeros), as a number (19 digits and more too).
    inexact
        Some whole number cannot be a float.
    points
        Some value has a point although the decimal mark is a comma: a date, or thousands.
    commas, comma_numbers
        Some value has a comma; every value could be a number with a decimal comma.
    """

    empty: bool = True
    gaps: bool = False
    integers: bool = True
    numbers: bool = True
    truths: bool = True
    coded: bool = False
    long: bool = False
    inexact: bool = False
    points: bool = False
    commas: bool = False
    comma_numbers: bool = True

    def __and__(self, other: "Allowed") -> "Allowed":
        # what every value must be is true at first, and stays so while both say it; of the rest, one of them is enough
        pairs = zip(fields(self), astuple(self), astuple(other), strict=True)
        return Allowed(*((one and two) if field.default else (one or two) for field, one, two in pairs))

    def type(self) -> TextType:
        """Return the type that keeps all values."""
        if self.empty:
            return "nothing"
        if self.points:
            return "text"
        if self.integers:
            if self.coded or (self.gaps and self.inexact):
                return "text"
            return "number" if self.gaps else "integer"
        if self.numbers:
            return "text" if self.long else "number"
        return "truth" if self.truths else "text"

    def hopeless(self) -> bool:
        """Whether the column is text, whatever comes after."""
        spoilt = not self.integers and (self.long or not self.numbers) and not self.truths
        return not self.empty and (self.points or self.coded or spoilt)

    def decimal_commas(self) -> bool:
        """Whether the column looks like numbers with a decimal comma."""
        return not self.empty and self.commas and self.comma_numbers


ANYTHING = Allowed()


def typed(column: Any, decimal: str | None, known: Allowed = ANYTHING) -> tuple[Any, Allowed]:
    """Return a batch of texts as its own narrowest type, and what its texts allow.

    Parameters
    ----------
    column
        Texts in Arrow, missing ones null.
    decimal
        The decimal mark; None is a point.
    known
        What the texts before it allow, so that nothing is tried in vain.
    """
    if column.null_count == len(column):
        return pa.nulls(len(column)), Allowed(gaps=len(column) > 0)
    gaps = column.null_count > 0
    values = _cast(column, pa.int64()) if known.integers else None
    if values is None:
        return _trimmed(column, decimal, known, gaps=gaps)
    return _integers(column, column, values, gaps=gaps)


def comma_marks(column: Any) -> Allowed:
    """Return no more than what a batch of texts says about decimal commas."""
    text = pc.utf8_trim_whitespace(column)
    return Allowed(
        empty=column.null_count == len(column),
        commas=_any(pc.match_substring(text, ",")),
        comma_numbers=_all(pc.match_substring_regex(text, _COMMA_NUMBER)),
    )


def _trimmed(column: Any, decimal: str | None, known: Allowed, *, gaps: bool) -> tuple[Any, Allowed]:
    text = pc.utf8_trim_whitespace(column)
    points = decimal == "," and _any(pc.match_substring(text, "."))
    if decimal == "," and not points:
        text = pc.replace_substring(text, ",", ".")
    if not points:
        whole = _cast(text, pa.int64()) if known.integers else None
        if whole is not None:
            return _integers(column, text, whole, gaps=gaps)
        values = _cast(text, pa.float64()) if known.numbers else None
        if values is not None:
            long = _any(pc.match_substring_regex(text, _NO_NUMBER))
            found = Allowed(empty=False, gaps=gaps, integers=False, truths=False, long=long)
            found &= comma_marks(column) if known.comma_numbers else found
            return (column if long else values), found
    distinct = pc.unique(text.drop_null())
    truths = not points and all(value in _TRUTH for value in distinct.slice(0, len(_TRUTH) + 1).to_pylist())
    found = Allowed(gaps=gaps, integers=False, numbers=False, truths=truths, points=points) & comma_marks(column)
    return (_truths(text) if truths else column), found


def _integers(column: Any, text: Any, values: Any, *, gaps: bool) -> tuple[Any, Allowed]:
    """Return texts that can all be read as whole numbers, as such where that keeps them."""
    coded = not _all(pc.equal(values.cast(pa.string()), text)) and _any(pc.match_substring_regex(text, _NO_INTEGER))
    numbers, long = True, False
    if coded:  # 0x10 is no number, and 007 is none that a float keeps
        long = _any(pc.match_substring_regex(text, _NO_NUMBER))
        numbers = _cast(text, pa.float64()) is not None
    bounds = pc.min_max(values).as_py()
    largest = max(abs(bounds["min"]), abs(bounds["max"]))
    found = Allowed(
        empty=False,
        gaps=gaps,
        truths=False,
        coded=coded,
        numbers=numbers,
        long=long or largest >= NINETEEN_DIGITS,
        inexact=largest > LARGEST_EXACT,
        comma_numbers=not coded or _all(pc.match_substring_regex(text, _COMMA_NUMBER)),
    )
    return (column if coded else values), found


def _truths(text: Any) -> Any:
    encoded = text.dictionary_encode()
    truth = np.array([_TRUTH[value] for value in encoded.dictionary.to_pylist()], dtype=bool)
    return pa.array(truth).take(encoded.indices)


def _cast(text: Any, kind: Any) -> Any | None:
    """Return texts as numbers, or None when some are none."""
    try:
        # what fails, fails slowly: each value gets a sentence of its own, so a few are tried first
        text.slice(0, GLANCE).cast(kind)
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def _any(found: Any) -> bool:
    return bool(pc.any(found).as_py())


def _all(found: Any) -> bool:
    return pc.all(found).as_py() is not False
