"""What a file says about who made it, when, where, and with which key."""

import base64
import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from synthdp.evaluation.leaks.finding import Kind, Leak

NEAR = timedelta(days=400)
SEARCHABLE = 2**32  # a smaller seed is a number like any other
STATISTICAL = (".dta", ".sav", ".zsav", ".por", ".xpt", ".sas7bdat")
TEXTS = ("", ".md", ".json", ".txt", ".html", ".yaml", ".yml", ".csv", ".tsv", ".log", ".xml")
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
