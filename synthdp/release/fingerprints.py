"""What the register remembers of a confidential file.

A keyed number (SipHash) for every cell of the table as it was read.

References
----------
Aumasson, Bernstein (2012), "SipHash: a fast short-input PRF", INDOCRYPT, section 2 (SipHash-2-4).
Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA, figure 16 (the mixing function).

Two files are compared by these numbers alone. They are taken before anything is coarsened, recoded or dropped from the
records, and they depend on the value and not on how it is stored: 1, 1.0 and "1" are one value. The key is drawn once
per register, so that the numbers of one register say nothing beside another; whoever holds both key and numbers can
try values out, which is why the register is as confidential as the data.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Words = npt.NDArray[np.uint64]
Tokens = npt.NDArray[np.uint32]


def combined(tokens: Sequence[Tokens], records: int) -> Words:
    """Return one number per record from those of several columns: equal where all of them are.

    A sum over columns, so that the one without column j is found by taking `mixed` of j away.
    """
    found = np.zeros(records, dtype=np.uint64)
    for position, column in enumerate(tokens):
        found += mixed(column, position)
    return found


def mixed(tokens: Tokens, position: int) -> Words:
    """Return what a column adds to `combined` at its position (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        word = tokens.astype(np.uint64) + np.uint64((position + 1) * 0x9E3779B97F4A7C15 % 2**64)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(word ^ (word >> np.uint64(31)), dtype=np.uint64)


def siphash(words: Words, key: bytes) -> Words:
    """Return SipHash-2-4 of every 8-byte word under a key of 16 bytes (Aumasson and Bernstein 2012, section 2)."""
    first, second = (np.uint64(part) for part in struct.unpack("<QQ", key))
    state = [
        np.full(len(words), half ^ np.uint64(constant))
        for half, constant in (
            (first, 0x736F6D6570736575),
            (second, 0x646F72616E646F6D),
            (first, 0x6C7967656E657261),
            (second, 0x7465646279746573),
        )
    ]
    for block in (words, np.uint64(8 << 56)):  # the last block holds the length
        state[3] ^= block
        _rounds(state, 2)
        state[0] ^= block
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3], dtype=np.uint64)


def _rounds(v: list[Words], times: int) -> None:
    for _ in range(times):
        v[0] += v[1]
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[0] = _rotated(v[0], 32)
        v[2] += v[3]
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] += v[3]
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] += v[1]
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[2] = _rotated(v[2], 32)


def _rotated(words: Words, bits: int) -> Words:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)), dtype=np.uint64)


SKETCH = 32
"""How many of a column's smallest distinct numbers stand in the index, to find a column that was renamed."""
PER_OCTAVE = 2
"""Bins of a number's size per doubling: wide enough to survive rounding, and independent of the data."""
DENSE = 1.5
"""Distinct whole numbers that fill at least this part (1/DENSE) of their range count records; they know nobody."""
MOSTLY = 0.9
MISSING = np.uint32(0)


@dataclass(frozen=True, repr=False)
class ColumnPrint:
    """One column: a number per record for its exact value, one for its rough size, and what it is good for.

    Parameters
    ----------
    name
        Of the column.
    exact
        Equal for equal values; 0 for missing.
    rough
        Equal for values of about the same size, so that rounding and top-coding leave most of them; None for text.
    counter
        Whether the column numbers the records: two files without a person in common agree on it.
    sketch
        The smallest distinct numbers of ``exact``; empty when there are fewer than `SKETCH`.
    """

    name: str
    exact: Tokens
    rough: Tokens | None
    counter: bool
    sketch: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Fingerprint:
    """All columns of one file. ``digest`` is equal for the same records in any order of rows and columns."""

    columns: tuple[ColumnPrint, ...]
    records: int

    def __repr__(self) -> str:
        return f"Fingerprint({self.records} records x {len(self.columns)} columns)"

    @cached_property
    def digest(self) -> str:
        """Return what identifies the whole file."""
        found = hashlib.sha256()
        ordered = sorted(self.columns, key=lambda column: column.name)
        for column in ordered:
            found.update(column.name.encode() + b"\0")
        found.update(np.sort(combined([column.exact for column in ordered], self.records)).tobytes())
        return found.hexdigest()

    def summary(self) -> list[dict[str, Any]]:
        """Return what the index says of the columns; enough to see whether their numbers need to be read at all."""
        return [
            {
                "name": column.name,
                "rough": column.rough is not None,
                "counter": column.counter,
                "sketch": list(column.sketch),
            }
            for column in self.columns
        ]

    def encoded(self) -> bytes:
        """Return the numbers as the bytes of a Parquet file."""
        arrays: dict[str, Tokens] = {}
        for number, column in enumerate(self.columns):
            arrays[f"exact_{number}"] = column.exact
            if column.rough is not None:
                arrays[f"rough_{number}"] = column.rough
        out = BytesIO()
        pd.DataFrame(arrays).to_parquet(out, index=False, compression="zstd")
        return out.getvalue()


def decoded(summary: Sequence[dict[str, Any]], data: bytes) -> Fingerprint:
    """Return the fingerprint that `Fingerprint.summary` and `Fingerprint.encoded` describe.

    Raises
    ------
    ValueError, KeyError
        When the two do not belong together.
    """
    table = pd.read_parquet(BytesIO(data))
    columns = tuple(
        ColumnPrint(
            str(column["name"]),
            table[f"exact_{number}"].to_numpy(np.uint32),
            table[f"rough_{number}"].to_numpy(np.uint32) if column["rough"] else None,
            bool(column["counter"]),
            tuple(column["sketch"]),
        )
        for number, column in enumerate(summary)
    )
    return Fingerprint(columns, len(table))


def fingerprint(frame: pd.DataFrame, key: bytes) -> Fingerprint:
    """Return the fingerprint of a table as it was read. Cost O(n) per column, O(d) keyed hashes of d distinct texts.

    Parameters
    ----------
    frame
        The confidential table.
    key
        32 secret bytes.
    """
    return Fingerprint(tuple(_column(str(name), frame[name], key) for name in frame.columns), len(frame))


def _column(name: str, series: pd.Series, key: bytes) -> ColumnPrint:
    place, distinct = pd.factorize(series)
    numbers, texts = _plain(distinct)
    words = _hashed_numbers(numbers, key)
    words[np.isnan(numbers)] = _hashed_texts(texts, key)
    exact = np.maximum((words >> np.uint64(32)).astype(np.uint32), np.uint32(1))
    whole = bool(len(numbers)) and bool(np.isfinite(numbers).all())
    rough = None
    if len(numbers) and np.isfinite(numbers).mean() >= MOSTLY:
        sized = np.where(np.isfinite(numbers), _sizes(numbers), numbers)
        roughly = (_hashed_numbers(sized, key) >> np.uint64(32)).astype(np.uint32)
        rough = np.where(np.isfinite(numbers), np.maximum(roughly, np.uint32(1)), exact)
    counter = whole and len(distinct) == int((place >= 0).sum()) > 1 and _dense(numbers)
    # a missing value has place -1, which is the end
    spread = np.append(exact, MISSING)[place]
    sketch = tuple(int(token) for token in np.unique(exact)[:SKETCH]) if len(distinct) >= SKETCH else ()
    return ColumnPrint(name, spread, None if rough is None else np.append(rough, MISSING)[place], counter, sketch)


def _plain(distinct: Any) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return the distinct values as numbers, NaN where they are none, and the texts of those that are none."""
    index = pd.Index(distinct)
    if pd.api.types.is_datetime64_any_dtype(index):
        moments = pd.DatetimeIndex(index)
        days = moments.normalize() == moments
        texts = list(moments.strftime("%Y-%m-%d" if bool(days.all()) else "%Y-%m-%dT%H:%M:%S.%f"))
        return np.full(len(texts), np.nan), texts
    if pd.api.types.is_numeric_dtype(index) and not pd.api.types.is_complex_dtype(index):
        numbers = np.asarray(index, dtype=np.float64)
        return numbers, []
    texts = [str(value).strip() for value in np.asarray(index, dtype=object)]
    numbers = np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), dtype=np.float64)
    return numbers, [text for text, number in zip(texts, numbers, strict=True) if np.isnan(number)]


def _hashed_numbers(numbers: npt.NDArray[np.float64], key: bytes) -> Words:
    return siphash((numbers + 0.0).view(np.uint64), key[:16])  # +0.0 and -0.0 are one number


def _hashed_texts(texts: Sequence[str], key: bytes) -> Words:
    found = [hashlib.blake2b(text.encode("utf-8", "replace"), key=key, digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


def _sizes(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sign and the number of half-octaves, as one number that no value of another size shares."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.sign(numbers) * (np.floor(PER_OCTAVE * np.log2(np.abs(numbers))) + 4096)
    return np.where(numbers == 0, 0.0, sizes)


def _dense(numbers: npt.NDArray[np.float64]) -> bool:
    if not bool((numbers == np.round(numbers)).all()):
        return False
    return float(numbers.max() - numbers.min() + 1) <= DENSE * len(numbers)
