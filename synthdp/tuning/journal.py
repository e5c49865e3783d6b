"""Every trial is written down as soon as it is finished, so that a search that was killed goes on where it was.

The search is deterministic: the same settings, data and seed ask for the same trials in the same order. A search that
is resumed therefore begins again, and what has been tried is answered from the journal. It also holds the seed of the
trials, with which their noise could be removed: it is as confidential as the data, and only its owner may read it.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from synthdp.errors import InputError, Unfinished
from synthdp.files import open_owned
from synthdp.seeding import fresh_seed

NAME = "trials.sqlite"
TABLES = (
    "create table if not exists search (name text primary key, value text not null)",
    "create table if not exists trials (key text primary key, found text not null)",
)
FULL_OR_HELD = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM)


class Journal:
    """What was tried; in memory where ``path`` is None."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if path is not None:
            os.close(open_owned(path, os.O_RDWR | os.O_CREAT))
        self._held = sqlite3.connect(":memory:" if path is None else str(path), isolation_level=None)
        with self._reported():
            for table in TABLES:
                self._held.execute(table)

    def close(self) -> None:
        """Let go of the file."""
        self._held.close()

    def begin(self, asked: Mapping[str, Any], seed: int | None) -> int:
        """Return the seed of the search: the one given, or of the search that is resumed, or a fresh secret one.

        Parameters
        ----------
        asked
            What the answer depends on beside the seed; a journal of another question is refused.
        """
        text = json.dumps(asked, sort_keys=True, default=str)
        held = dict(self._rows("select name, value from search"))
        if not held:
            chosen = fresh_seed() if seed is None else seed
            # in one statement, so that a kill leaves both or neither
            with self._reported():
                self._held.execute("insert into search values ('asked', ?), ('seed', ?)", (text, str(chosen)))
            return chosen
        try:
            before, kept = json.loads(held["asked"]), int(held["seed"])
        except (KeyError, ValueError):
            raise self.damaged() from None
        if not isinstance(before, dict):
            raise self.damaged()
        now = json.loads(text)
        changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if seed is not None and seed != kept:
            changed.append("the seed")
        if changed:
            raise InputError(
                f"{self._name}: --resume cannot go on with this search, which had another {', '.join(changed)}; "
                "choose another --out."
            )
        return kept

    def find(self, key: Any) -> dict[str, Any] | None:
        """Return what a trial found; None if it has not been made."""
        rows = list(self._rows("select found, '' from trials where key = ?", _text(key)))
        try:
            return dict(json.loads(rows[0][0])) if rows else None
        except (TypeError, ValueError):
            raise self.damaged() from None

    def keep(self, key: Any, found: Mapping[str, Any]) -> None:
        """Write down what a trial found."""
        with self._reported():
            self._held.execute("insert or replace into trials values (?, ?)", (_text(key), json.dumps(found)))

    def _rows(self, query: str, *values: str) -> Iterator[tuple[str, str]]:
        with self._reported(), closing(self._held.execute(query, values)) as found:
            yield from found

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Say in one sentence what is wrong with the file: a system that cannot write, or what is no journal."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # the primary code is in the low byte; the rest says where it happened
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in FULL_OR_HELD:
                raise Unfinished(
                    f"{self._name}: the journal of the trials could not be written (the disk is full, or another "
                    "process holds it); go on with --resume."
                ) from None
            if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
                raise InputError(f"{self._name}: no permission to write the journal; choose another --out.") from None
            raise self.damaged() from None

    @property
    def _name(self) -> str:
        return NAME if self._path is None else str(self._path)

    def damaged(self) -> InputError:
        """Return the error for a file that is not what was written."""
        return InputError(f"{self._name}: the journal of the trials is damaged; start again with another --out.")


def _text(key: Any) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
