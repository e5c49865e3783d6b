"""The files of the register, and what stands in them.

Read without following links, written whole, held by locks; the first version's entries too. Every run on the same data
counts as an attempt, whatever came of it: who tries often enough finds a lucky draw.
"""

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.errors import InputError
from synthdp.files import hold, open_owned, write_atomic
from synthdp.release.metrics import json_text
from synthdp.table.microdata import Microdata

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def first_places(entry: Mapping[str, Any], data: Microdata) -> Callable[[pd.DataFrame], Places] | None:
    """Return how the rows of a recorded table lie beside today's records, or None when these are other data.

    The same number of records, and the same values in all columns that the release kept, in whatever order. Among
    records that agree on all of those the order of the file decides. Cost O(n log n).
    """
    if entry["records"] != len(data) or not set(entry["columns"]) <= set(data.frame.columns):
        return None
    now = row_hashes(data.frame, entry["columns"])
    if hashlib.sha256(np.sort(now).tobytes()).hexdigest() != entry["data"]:
        return None

    def places(table: pd.DataFrame) -> Places:
        before = table["row"].to_numpy(np.uint64)[: len(data)]
        place = np.empty(len(data), dtype=np.int64)
        # equal records pair up in the order in which they stand
        place[np.argsort(now, kind="stable")] = np.argsort(before, kind="stable")
        return place

    return places


def row_hashes(frame: pd.DataFrame, columns: Sequence[str]) -> Hashes:
    """Return a number per record that depends on the values and not on how they are stored."""
    plain = {name: _plain(frame[name]) for name in columns}
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(plain), index=False), dtype=np.uint64)


def _plain(series: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.astype("float64").reset_index(drop=True)
    return series.astype("str").reset_index(drop=True)


INDEX = "register.json"
KEY = "key"
LOCK = ".lock"
VERSION = 2
READABLE = (1, 2)
PATIENCE = 1.0
"""Seconds of waiting after which a person is told why."""
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.EEXIST, errno.ENOTDIR)

Waiting = Callable[[str], None]


class Shelf:
    """The folder in which the register lies.

    What a person can mend (a link, no permission, a damaged file) is an `InputError`; what the machine does (EIO, a
    full disk) stays the OSError that it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Make the folder, for its owner only, or say that nothing can be recorded there."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            raise InputError(
                f"release.recorded_in: {self.folder} cannot be made; name a folder where releases may be recorded."
            ) from None

    @contextmanager
    def held(self, names: Iterable[str] = (LOCK,), waiting: Waiting | None = None) -> Iterator[None]:
        """Hold locks, one after the other in the order of their names; wait for whoever holds them.

        The kernel releases them when the process ends, however it ends. Always the same order, so that two runs never
        wait for each other.
        """
        with ExitStack() as stack:
            for name in sorted(names):
                try:
                    lock = hold(self.folder / name, patience=PATIENCE, busy=partial(_say, waiting))
                except OSError as error:
                    raise self._explained(error, name) from None
                stack.callback(os.close, lock)
            yield

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file; None when there is none."""
        try:
            with open(open_owned(self.folder / name, os.O_RDONLY), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._explained(error, name) from None

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole, for its owner only."""
        try:
            write_atomic(self.folder / name, data)
        except OSError as error:
            raise self._explained(error, name) from None

    def key(self) -> bytes:
        """Return the secret of this register, drawn when it is first asked for; the caller holds the register."""
        found = self.read(KEY)
        if found is None and not self.index()["data"]:
            found = secrets.token_bytes(32)
            self.write(KEY, found)
        if found is None or len(found) != 32:
            raise damaged(self.folder / KEY)
        return found

    def index(self) -> dict[str, Any]:
        """Return what is recorded: releases, the data they were made from, attempts."""
        path = self.folder / INDEX
        text = self.read(INDEX)
        if text is None:
            return {"version": VERSION, "data": [], "releases": [], "attempts": []}
        try:
            contents = json.loads(text)
            if contents["version"] not in READABLE:
                raise InputError(f"{path}: version must be {VERSION}; a newer synthdp may read it.")
            if contents["version"] == 1:  # it knew releases only
                contents |= {"data": [], "attempts": []}
            found = {name: contents[name] for name in ("data", "releases", "attempts")}
            if not all(
                isinstance(part, list) and all(isinstance(one, dict) for one in part) for part in found.values()
            ):
                raise TypeError
            return {"version": VERSION, **found}
        except (ValueError, KeyError, TypeError, RecursionError):
            raise damaged(path) from None

    def record(self, index: dict[str, Any]) -> None:
        """Write the index; the caller holds the register."""
        self.write(INDEX, json_text(index).encode())

    def _explained(self, error: OSError, name: str) -> Exception:
        if error.errno == errno.ELOOP:
            return InputError(
                f"{self.folder / name}: is a link, which the register does not follow; put the file there."
            )
        if isinstance(error, IsADirectoryError) or error.errno == errno.EINVAL:
            return InputError(f"{self.folder / name}: must be a file; restore the register from a backup.")
        if isinstance(error, NotADirectoryError):
            return InputError(f"release.recorded_in: {self.folder} must be a folder, found a file; name another one.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return InputError(
                f"release.recorded_in: {self.folder} cannot be read and written ({os.strerror(error.errno)}), so "
                "releases of the same data cannot be judged together; name another folder, or none."
            )
        return error


def _say(waiting: Waiting | None) -> None:
    if waiting is not None:
        waiting("waiting for another run on the same data, which is judged first.")


def now() -> str:
    """Return the present moment in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def damaged(path: Path) -> InputError:
    """Return the error for a part of the register that is not what was written."""
    return InputError(
        f"{path}: the register of releases cannot be read, so earlier releases cannot be judged along; "
        "restore it from a backup, or name another one by release.recorded_in."
    )


Verdict = Literal["passed", "amber", "refused", "study", "interrupted"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
MOST_SHOWN = 5
UNRECORDED = "No register is kept (release.recorded_in: none): how often these data were tried before is not known."


@dataclass(frozen=True)
class Attempt:
    """One run: when, what the gate said, and the names of the limits that it said it of; no value of the data.

    Parameters
    ----------
    run
        The id of the run.
    when
        When it was last recorded, in UTC.
    verdict
        ``interrupted`` until the gate has spoken.
    reasons
        Names of the limits that were passed (``max_individual``).
    accepted
        Names of the risks that were accepted on signing.
    config
        SHA-256 of the settings, which tells whether the same config was tried again.
    """

    run: str
    when: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    config: str = ""

    def __str__(self) -> str:
        why = f" ({', '.join(self.reasons)})" if self.reasons else ""
        taken = f", accepting {', '.join(self.accepted)}" if self.accepted else ""
        return f"{self.verdict} {self.when[:10]}{why}{taken}"


def attempt_of(entry: Mapping[str, Any]) -> Attempt:
    """Return the attempt that an index or a manifest describes.

    Raises
    ------
    ValueError, KeyError, TypeError
        When it describes none.
    """
    if entry["verdict"] not in VERDICTS:
        raise ValueError("no such verdict")
    return Attempt(
        run=str(entry["run"]),
        when=str(entry["when"]),
        verdict=entry["verdict"],
        reasons=tuple(str(name) for name in entry.get("reasons", ())),
        accepted=tuple(str(name) for name in entry.get("accepted", ())),
        config=str(entry.get("config", "")),
    )


def section(attempts: Sequence[Attempt] | None) -> dict[str, Any]:
    """Return what the manifest says of the attempts; this run's is the last. None: no register is kept."""
    told = None if attempts is None else [asdict(attempt) for attempt in attempts]
    return {"attempt": None if told is None else len(told), "attempts": told}


def lines(attempts: Sequence[Attempt] | None) -> list[str]:
    """Return the attempts on the same data in sentences; this run's is the last. None: no register is kept.

    Examples
    --------
    >>> before = Attempt("a", "2026-11-17T09:00:00+00:00", "refused", ("max_individual",))
    >>> lines([before, Attempt("b", "2026-11-18T09:00:00+00:00", "passed")])
    ['Attempt 2 on these data; 1 earlier: refused 2026-11-17 (max_individual).']
    """
    if attempts is None:
        return [UNRECORDED]
    if len(attempts) < 2:
        return ["Attempt 1 on these data; none earlier."] if attempts else []
    earlier = attempts[:-1]
    shown = ", ".join(str(attempt) for attempt in earlier[-MOST_SHOWN:])
    hidden = len(earlier) - MOST_SHOWN
    more = f"{hidden} older ones, then " if hidden > 0 else ""
    found = [f"Attempt {len(attempts)} on these data; {len(earlier)} earlier: {more}{shown}."]
    again = sum(attempt.config == attempts[-1].config for attempt in earlier) if attempts[-1].config else 0
    if again:
        found.append(f"{again} of them with exactly these settings, which gives the same verdict and gains nothing.")
    return found
