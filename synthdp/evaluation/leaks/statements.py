"""What a release says beside its records.

Extra columns, lists by record, codebook, derived columns, and who made it, when, where.
"""

import base64
import gzip
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.leaks.finding import Kind, Leak, rank_correlation
from synthdp.evaluation.leaks.pairing import Beside
from synthdp.table.coded import coded
from synthdp.table.expressions import evaluate
from synthdp.table.schema import Role, Schema

NEAR = timedelta(days=400)
SEARCHABLE = 2**32  # a smaller seed is a number like any other
STATISTICAL = (".dta", ".sav", ".zsav", ".por", ".xpt", ".sas7bdat")
TEXTS = ("", ".md", ".json", ".txt", ".html", ".yaml", ".yml", ".csv", ".tsv", ".log", ".xml", ".cff")
_PATH = re.compile(r"(?<![\w:/.~<*)`])(?:/(?:[\w.+-]+/)+[\w.+-]*|[A-Za-z]:\\[\w.+-]+|\\\\[\w.-]+\\[\w.-]+)")
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_EPOCH = re.compile(r"(?<![\w.])(1\d{9})(?:\d{3}|\.\d+)?(?![\w.])")
_HEADER_MOMENT = re.compile(rb"(\d\d) ([A-Za-z]{3}) (\d{4} |\d\d ?)\d\d:\d\d")
_SEED_WORD = re.compile(r"""\bseed["']?\s*[:=]\s*["']?(?:0x)?[0-9a-fA-F]+""", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"(?<![\w.])\d{20,}(?![\w.])")


class PublicFile:
    """A public file as bytes, with the part of it that people or programs wrote (not the records) as text.

    Parameters
    ----------
    path, folder
        The file, and the folder of the release it is in.
    known
        Words that may be there because the schema has them, such as a column called 2026-01-31: taken out of the text.
    """

    def __init__(self, path: Path, folder: Path, *, known: Sequence[str] = ()) -> None:
        self.name = path.relative_to(folder).as_posix()
        self.stored = path.read_bytes()
        self.data = self.stored
        if self.stored[:2] == b"\x1f\x8b":
            self.data = gzip.decompress(self.stored)
        self.records = path.name.startswith("synthetic_")
        suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
        self.suffix = suffixes[-1].lower() if suffixes else ""
        self.text = self.suffix in TEXTS
        self.prose = self._prose(known)

    def _prose(self, known: Sequence[str]) -> str:
        if not self.text:
            return ""
        data = self.data.partition(b"\n")[0] if self.records else self.data
        text = data.decode("utf-8", errors="replace")
        for word in known:
            text = text.replace(word, " ")
        return text

    def holds(self, word: str) -> bool:
        """Return whether a word stands in the file, as it is or as documents write it.

        XML has ``&amp;`` for an ampersand, JSON a backslash before a quotation mark, and YAML breaks lines.
        """
        if word.encode() in self.data:
            return True
        quoted = {word, json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1], word.replace("'", "''")}
        return any(" ".join(one.split()) in self._unwrapped for one in quoted if one.strip())

    @cached_property
    def _unwrapped(self) -> str:
        """The text of a document without entities, on one line."""
        if not self.text or self.records:
            return ""
        return " ".join(unescape(self.data.decode("utf-8", errors="replace")).split())


def seeds(file: PublicFile, seed: int | None) -> Iterator[Leak]:
    """Find the run's seed in any spelling, or what looks like one."""
    spellings: list[tuple[str, bytes]] = []
    if seed is not None and seed >= SEARCHABLE:
        size = (seed.bit_length() + 7) // 8
        raw = {seed.to_bytes(wide, order) for wide in {size, 16} if wide >= size for order in ("big", "little")}
        spellings = [("as a number", str(seed).encode()), ("in hexadecimal", f"{seed:x}".encode())]
        spellings += [("in bytes", text) for text in raw]
        spellings += [("in base 64", coded.rstrip(b"=")[:-1]) for text in raw for coded in _base64(text)]
    lowered = file.data.lower()
    for how, text in spellings:
        if text in (lowered if how == "in hexadecimal" else file.data):
            yield Leak(Kind.SEED, file.name, f"it holds the seed of the run {how}; who knows it can remove the mask.")
            return
    if _SEED_WORD.search(file.prose):
        yield Leak(Kind.SEED, file.name, "it names a seed and gives its value.")
    elif _LONG_NUMBER.search(file.prose):
        yield Leak(Kind.SEED, file.name, "it holds a number of 20 digits or more, which may be a seed.")


def times(file: PublicFile, now: datetime) -> Iterator[Leak]:
    """Find when the release was made."""
    moments = [
        ("a date with a time of day", bool(_MOMENT.search(file.prose))),
        ("a recent date", file.name != "codebook.csv" and _any_near(_DAY, file.prose, _day, now)),
        ("a recent time in seconds", _any_near(_EPOCH, file.prose, _second, now)),
    ]
    if file.suffix in STATISTICAL:
        moments.append(("when it was written, in its header", _header_near(file.data[:4096], now)))
    if file.stored is not file.data:
        moments.append(("when it was compressed, in its header", file.stored[4:8] != b"\0\0\0\0"))
    for what, found in moments:
        if found:
            yield Leak(Kind.TIME, file.name, f"it holds {what}.")


def places(file: PublicFile, folders: Sequence[str], names: Sequence[str]) -> Iterator[Leak]:
    """Find paths of the machine, and the names of its user and host."""
    paths = len(_PATH.findall(file.prose))
    if paths:
        yield Leak(Kind.PATH, file.name, f"it holds {paths} absolute paths.")
    elif any(folder.encode() in file.data for folder in folders):
        yield Leak(Kind.PATH, file.name, "it names a folder of the machine that made it.")
    known = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", file.prose, re.IGNORECASE)]
    binary = [name for name in names if len(name) > 5 and not file.prose and name.encode() in file.data]
    if known or binary:
        yield Leak(Kind.NAME, file.name, "it names the user or the computer that made it.")


def _base64(raw: bytes) -> Iterator[bytes]:
    yield base64.b64encode(raw)
    yield base64.urlsafe_b64encode(raw)


def _any_near(
    pattern: re.Pattern[str], text: str, moment: Callable[[re.Match[str]], datetime | None], now: datetime
) -> bool:
    found = (moment(match) for match in pattern.finditer(text))
    return any(when is not None and abs(when - now) < NEAR for when in found)


def _day(match: re.Match[str]) -> datetime | None:
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)
    except ValueError:
        return None


def _second(match: re.Match[str]) -> datetime | None:
    return datetime.fromtimestamp(int(match[1]), tz=UTC)


def _header_near(header: bytes, now: datetime) -> bool:
    for match in _HEADER_MOMENT.finditer(header):
        year = match[3].strip().decode()
        try:
            when = datetime.strptime(f"{match[1].decode()} {match[2].decode()} {year.zfill(4)}", "%d %b %Y")
        except ValueError:
            continue
        if when.year < 100:
            when = when.replace(year=when.year + 2000)
        if abs(when.replace(tzinfo=UTC) - now) < NEAR:
            return True
    return False


LONG_LIST = 10
LEAST_DISTINCT = 10
ALMOST_ONE = 0.9999
SHORTEST_WORD = 4


def extra_columns(pair: Beside, original: pd.DataFrame, copy: pd.DataFrame, schema: Schema) -> Iterator[Leak]:
    """Find columns that are not the schema's, and say with which replaced column one goes together."""
    rows, records = pair.links
    for name in copy.columns:
        if name in schema:
            continue
        if name in original.columns:
            yield Leak(Kind.COLUMN, pair.name, f"{name} is a column of the original that should have been dropped.")
            continue
        values = np.asarray(pd.to_numeric(copy[name], errors="coerce"), dtype=np.float64)
        strongest = 0.0
        for other in pair.original:
            for a, b in ((values[rows], pair.original[other][records]), (values, pair.copy[other])):
                present = np.isfinite(a) & np.isfinite(b)
                strongest = max(strongest, abs(rank_correlation(a[present], b[present])))
        yield Leak(
            Kind.COLUMN,
            pair.name,
            f"{name} is not a column of the schema; its correlation with replaced values reaches {strongest:.2f}.",
        )


def lists_by_record(file: PublicFile, records: Collection[int]) -> Iterator[Leak]:
    """Find lists in a JSON file with one entry for each record, such as W or the strength of each mask."""
    if file.suffix != ".json":
        return
    try:
        contents = json.loads(file.data)
    except ValueError:
        return
    for place, value in _walk(contents, ""):
        if isinstance(value, list) and len(value) in records and len(value) >= LONG_LIST:
            yield Leak(Kind.RECORD_LIST, file.name, f"{place} has {len(value)} entries, one for each record.")
    masks = contents.get("masks") if isinstance(contents, dict) else None
    told = [place for place, value in _walk(masks, "masks") if isinstance(value, int | float)]
    if told:
        yield Leak(Kind.STRENGTH, file.name, f"it reveals the strength of masks in {len(told)} places.")


def codebook(
    table: pd.DataFrame,
    name: str,
    original: pd.DataFrame | None,
    copies: Sequence[pd.DataFrame],
    schema: Schema,
    declared: Collection[str],
) -> Iterator[Leak]:
    """Find levels nobody in the copies has, and bounds that are the extremes of the data, where it may be read."""
    for row in table.to_dict("records"):
        column = str(row.get("name"))
        if column not in schema:
            yield Leak(Kind.COLUMN, name, f"{column} is not a column of the schema.")
            continue
        released = {_spelt(value) for copy in copies if column in copy for value in copy[column].dropna().unique()}
        levels = row.get("levels")
        if isinstance(levels, str) and column not in declared:
            hidden = [level for level in json.loads(levels) if _spelt(level) not in released]
            if hidden:
                yield Leak(Kind.LEVEL, name, f"{column} lists {len(hidden)} levels that no copy has.")
        if original is not None and not schema[column].kind.categorical and not schema[column].bounds_public:
            values = coded(original).numbers(schema[column])
            extremes = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else ()
            if any(pd.notna(row.get(side)) and row.get(side) in extremes for side in ("lower", "upper")):
                yield Leak(Kind.BOUNDS, name, f"the bounds of {column} are the data's own extremes.")


def hidden_levels(
    files: Sequence[PublicFile],
    original: pd.DataFrame,
    copies: Sequence[pd.DataFrame],
    schema: Schema,
    declared: Collection[str],
    said: str = "",
) -> Iterator[Leak]:
    """Find levels that only the original has anywhere else: in value labels, in a README, in a file's dictionary.

    A level that is a word of ``said``, what documents say of any data, is looked for in other files only.
    """
    for column in schema.columns:
        if not column.kind.categorical or column.name in declared:
            continue
        seen = [copy[column.name].dropna().unique() for copy in copies if column.name in copy]
        released = {_spelt(value) for values in seen for value in values}
        true = {_spelt(value) for value in original[column.name].dropna().unique()} - released
        words = [word for word in true if len(word) >= SHORTEST_WORD and not word.replace(".", "").isdigit()]
        for file in files:
            if file.name == "codebook.csv" or (file.records and file.text):  # judged, and read as a copy
                continue
            document = file.text and not file.records
            found = sum(file.holds(word) for word in words if not (document and word in said))
            if found:
                yield Leak(Kind.LEVEL, file.name, f"it names {found} levels of {column.name} that no copy has.")


def derived_columns(copy: pd.DataFrame, name: str, derived: Mapping[str, str], schema: Schema) -> Iterator[Leak]:
    """Find derived columns that do not follow from their sources in the copy: they then follow from the true ones."""
    for column, formula in derived.items():
        if column not in copy.columns:
            continue
        wanted, found = evaluate(formula, copy), copy[column]
        if pd.api.types.is_numeric_dtype(wanted) and pd.api.types.is_numeric_dtype(found):
            a, b = np.asarray(wanted, dtype=np.float64), np.asarray(found, dtype=np.float64)
            places = schema[column].decimals if column in schema else None
            slack = 0.5 * 10.0**-places if places is not None else 0.0
            wrong = ~np.isclose(a, b, rtol=1e-9, atol=slack + 1e-9, equal_nan=True)
        else:
            wrong = np.asarray([_spelt(a) != _spelt(b) for a, b in zip(wanted, found, strict=True)])
        if wrong.any():
            yield Leak(
                Kind.DERIVED,
                name,
                f"{column} does not follow from its sources in {int(wrong.sum())} of {len(copy)} rows.",
            )


def skips(copy: pd.DataFrame, name: str, conditions: Mapping[str, str], original: pd.DataFrame) -> Iterator[Leak]:
    """Find columns with a value where they do not apply, or with gaps where they do and the original has none.

    Either way the gaps are not the copy's own: they are then likely to be the original's, and tell the true values of
    the condition's columns.
    """
    for column, condition in conditions.items():
        try:
            applies = np.asarray(evaluate(condition, copy), dtype=bool)
            known = original.loc[np.asarray(evaluate(condition, original), dtype=bool), column].notna()
            present = np.asarray(copy[column].notna(), dtype=bool)
        except (
            InputError,
            KeyError,
        ):  # a file that spells its levels otherwise, or lacks a column, is judged elsewhere
            continue
        if (present & ~applies).any():
            count = int((present & ~applies).sum())
            yield Leak(Kind.SKIP, name, f"{column} has a value in {count} of {len(copy)} rows where it does not apply.")
        if known.all() and (applies & ~present).any():
            count = int((applies & ~present).sum())
            yield Leak(Kind.SKIP, name, f"{column} has gaps in {count} of {len(copy)} rows where it applies.")


def kept_functions(original: pd.DataFrame, schema: Schema, derived: Mapping[str, str]) -> Iterator[Leak]:
    """Find kept columns that rise or fall exactly with a replaced one: they undo its mask."""
    numeric = [column for column in schema.columns if not column.kind.categorical and column.name not in derived]
    values = {column.name: coded(original).numbers(column) for column in numeric}
    for kept in (column for column in numeric if column.role is Role.KEEP):
        for other in (column for column in numeric if column.role is Role.REPLACE):
            a, b = values[kept.name], values[other.name]
            present = np.isfinite(a) & np.isfinite(b)
            if len(np.unique(a[present])) < LEAST_DISTINCT:
                continue
            if abs(rank_correlation(a[present], b[present])) > ALMOST_ONE:
                yield Leak(Kind.DERIVED, "", f"{kept.name} is kept, and {other.name} can be read off it.")


def _walk(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    yield place or "the file", value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _walk(item, f"{place}.{key}" if place else str(key))


def _spelt(value: object) -> str:
    """Return a value as text, 1, 1.0 and True alike."""
    if isinstance(value, bool | int | float | np.bool_ | np.number):
        return f"{float(value):g}"
    if isinstance(value, str):
        try:
            return f"{float(value):g}" if value.strip() == value else value
        except ValueError:
            return value
    return "" if pd.isna(value) else str(value)  # type: ignore[call-overload]
