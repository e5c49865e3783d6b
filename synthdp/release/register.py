"""The release register: what was released from the same data before, so that releases are judged together.

Each release draws its own W. Whoever averages two releases of the same data averages two masks, so the second one must
be judged on the copies of both. The register keeps the replaced columns of every release in record order, which ties
rows to records: it is as confidential as the data, and lives beside them.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp import io
from synthdp.errors import InputError
from synthdp.microdata import Microdata
from synthdp.release.confidential import json_text
from synthdp.release.folder import write_atomic

NAME = "synthdp-register"
INDEX = "register.json"
VERSION = 1

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, repr=False)
class Earlier:
    """One earlier release of the same data: when, and its copies with row i standing for record i of today's file."""

    when: str
    copies: tuple[pd.DataFrame, ...]


class Register:
    """The folder in which releases are recorded.

    Parameters
    ----------
    folder
        Made when the first release is recorded.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def earlier(self, data: Microdata, copies: Sequence[pd.DataFrame]) -> tuple[Earlier, ...]:
        """Return what was released from these records before, other than exactly these copies.

        Records are recognised by the columns the earlier release kept, in whatever order the file has them now. Among
        records that agree on all of those the order of the file decides. Cost O(n log n) per entry with as many
        records.
        """
        own = _content(data, copies)
        found = []
        for entry in self._entries():
            if entry["content"] == own or entry["records"] != len(data):
                continue
            if not set(entry["columns"]) <= set(data.frame.columns):
                continue
            now = _row_hashes(data.frame, entry["columns"])
            if _multiset(now) == entry["data"]:
                found.append(Earlier(str(entry["when"]), self._aligned(entry, data, now)))
        return tuple(found)

    def record(self, data: Microdata, copies: Sequence[pd.DataFrame]) -> None:
        """Write down a release; the same copies are written down once.

        Called before the public files appear: a run killed in between has recorded a release too many, which errs on
        the safe side, and recording it again when it goes on changes nothing.
        """
        content = _content(data, copies)
        self._make()
        with self._held():
            entries = self._entries()
            if any(entry["content"] == content for entry in entries):
                return
            columns = [column.name for column in data.schema.kept()] or data.schema.names()
            hashes = _row_hashes(data.frame, columns)
            table = pd.concat([_changed(data, copy) for copy in copies], ignore_index=True)
            table.insert(0, "row", np.tile(hashes, len(copies)))
            file = f"release_{len(entries) + 1:03d}_{content[:12]}.parquet"
            write_atomic(self._folder / file, io.encode(table, format="parquet"))
            entry = {
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                "file": file,
                "records": len(data),
                "copies": len(copies),
                "columns": list(columns),
                "data": _multiset(hashes),
                "content": content,
            }
            text = json_text({"version": VERSION, "releases": [*entries, entry]})
            write_atomic(self._folder / INDEX, text.encode())

    def _make(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError, PermissionError):
            raise InputError(
                f"release.recorded_in: {self._folder} cannot be made; name a folder where releases may be recorded."
            ) from None

    def _entries(self) -> list[dict[str, Any]]:
        path = self._folder / INDEX
        try:
            contents = json.loads(path.read_text(encoding="utf-8"))
            if contents["version"] != VERSION:
                raise InputError(f"{path}: version must be {VERSION}; a newer synthdp may read it.")
            return list(contents["releases"])
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (ValueError, KeyError, TypeError, OSError):
            raise InputError(
                f"{path}: the register of releases cannot be read, so earlier releases cannot be judged along; "
                "restore it from a backup, or name another one by release.recorded_in."
            ) from None

    def _aligned(self, entry: dict[str, Any], data: Microdata, now: Hashes) -> tuple[pd.DataFrame, ...]:
        path = self._folder / entry["file"]
        try:
            table = pd.read_parquet(path)
        except (OSError, ValueError):
            raise InputError(
                f"{path}: an earlier release of these data is recorded, but this file cannot be read; restore it from "
                "a backup."
            ) from None
        n = entry["records"]
        before = table["row"].to_numpy(np.uint64)[:n]
        place = np.empty(n, dtype=np.int64)
        # equal records pair up in the order in which they stand
        place[np.argsort(now, kind="stable")] = np.argsort(before, kind="stable")
        copies = []
        for k in range(entry["copies"]):
            drawn = table.iloc[k * n : (k + 1) * n].drop(columns="row").iloc[place].reset_index(drop=True)
            frame = data.frame.reset_index(drop=True)
            shared = [name for name in drawn.columns if name in frame.columns]
            copies.append(frame.assign(**{name: drawn[name] for name in shared}))
        return tuple(copies)

    @contextmanager
    def _held(self) -> Iterator[None]:
        descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _changed(data: Microdata, copy: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a copy that are not those of the original, in types that a Parquet file holds."""
    kept = {column.name for column in data.schema.kept()}
    frame = copy[[name for name in data.schema.names() if name not in kept]]
    return frame.astype({name: str for name in frame.columns if frame[name].dtype == object})


def _content(data: Microdata, copies: Sequence[pd.DataFrame]) -> str:
    """Return what identifies the copies themselves."""
    found = hashlib.sha256()
    for copy in copies:
        found.update(_row_hashes(copy, data.schema.names()).tobytes())
    return found.hexdigest()


def _multiset(hashes: Hashes) -> str:
    return hashlib.sha256(np.sort(hashes).tobytes()).hexdigest()


def _row_hashes(frame: pd.DataFrame, columns: Sequence[str]) -> Hashes:
    """Return a number per record that depends on the values and not on how they are stored."""
    plain = {name: _plain(frame[name]) for name in columns}
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(plain), index=False), dtype=np.uint64)


def _plain(series: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.astype("float64").reset_index(drop=True)
    return series.astype("str").reset_index(drop=True)
