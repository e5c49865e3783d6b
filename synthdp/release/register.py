"""The release register: what was released from the same data before, so that releases are judged together.

Each release draws its own W. Whoever averages two releases of the same data averages two masks, so the second one must
be judged on the copies of both. The register keeps the replaced columns of every release in record order, which ties
rows to records, and keyed numbers of every cell to know the file again: it is as confidential as the data, and lives
beside them.

A run holds the data from looking to recording, so that runs at the same time are judged as if one after another::

    with Register(folder).session(table.frame, waiting=terminal.say) as held:
        held.attempt(run, verdict="interrupted", config=sha256)     # a killed run leaves a trace
        earlier = held.earlier(data, run=run)
        ...                                                         # judge
        held.record(data, copies, run=run)
        held.attempt(run, verdict="passed", config=sha256)
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from synthdp.release.fingerprints import Fingerprint, decoded, fingerprint
from synthdp.release.held import Earlier, Held
from synthdp.release.overlaps import pair_columns
from synthdp.release.recognising import Match, recognise
from synthdp.release.shelf import INDEX, KEY, LOCK, Shelf, Waiting, damaged, now
from synthdp.table.microdata import Microdata

NAME = "synthdp-register"

__all__ = ["INDEX", "NAME", "Earlier", "Held", "Register"]


class Register:
    """The folder in which releases and attempts are recorded; made when it is first held."""

    def __init__(self, folder: Path) -> None:
        self._shelf = Shelf(folder)

    @contextmanager
    def session(self, frame: pd.DataFrame, *, waiting: Waiting | None = None) -> Iterator["Held"]:
        """Hold the data from looking to recording.

        Parameters
        ----------
        frame
            The table as it was read, before anything was coarsened.
        waiting
            Called once with a sentence when another run on the same data is waited for.

        Notes
        -----
        Runs on other data are not held up. A run first writes down which data it works on, under a lock of a moment,
        and then locks these data and all that it recognised as the same. Of two runs on the same data the later one
        finds the earlier one's entry, so they share a lock. What was recorded while it waited is looked at again.
        Cost: O(n log n) per column and entry with columns in common.
        """
        shelf = self._shelf
        shelf.make()
        with shelf.held():
            key = shelf.key()
        seen, mark = fingerprint(frame, key), hashlib.sha256(key).hexdigest()[:16]
        known: dict[str, Match | None] = {}
        _compare(shelf, seen, mark, known)
        with shelf.held(waiting=waiting):
            own = _enter(shelf, seen, mark)
            _compare(shelf, seen, mark, known)
        with shelf.held({_lock(own), *(_lock(name) for name, match in known.items() if match)}, waiting):
            _compare(shelf, seen, mark, known)
            yield Held(shelf, own, {name: match for name, match in known.items() if match}, len(frame))

    def earlier(self, data: Microdata, copies: Sequence[pd.DataFrame]) -> tuple[Earlier, ...]:
        """Return what was released from these records before, other than exactly these copies, holding nothing."""
        if self._shelf.read(INDEX) is None:
            return ()
        with self.session(data.frame) as held:
            return held.earlier(data, copies)

    def record(self, data: Microdata, copies: Sequence[pd.DataFrame]) -> None:
        """Write down a release; the same copies are written down once."""
        with self.session(data.frame) as held:
            held.record(data, copies)


def _compare(shelf: Shelf, seen: Fingerprint, mark: str, known: dict[str, Match | None]) -> None:
    """Compare today's file with every data entry that it has not been compared with yet."""
    columns = seen.summary()
    for entry in shelf.index()["data"]:
        try:
            name, file = str(entry["id"]), str(entry["file"])
            if name in known:
                continue
            if entry["key"] != mark:  # numbers under another key are equal to none
                raise damaged(shelf.folder / KEY)
            known[name] = None
            if entry["digest"] != seen.digest and not pair_columns(columns, entry["columns"]):
                continue
        except (ValueError, KeyError, TypeError):
            raise damaged(shelf.folder / INDEX) from None
        data = shelf.read(file)
        try:
            known[name] = recognise(seen, decoded(entry["columns"], data or b""))
        except (OSError, ValueError, KeyError):
            raise damaged(shelf.folder / file) from None


def _enter(shelf: Shelf, seen: Fingerprint, mark: str) -> str:
    """Return the entry of today's data, written down if it is new; the caller holds the register."""
    index = shelf.index()
    for entry in index["data"]:
        if entry.get("digest") == seen.digest:
            return str(entry["id"])
    name = f"data_{len(index['data']) + 1:03d}"
    file = f"{name}_{seen.digest[:12]}.parquet"
    shelf.write(file, seen.encoded())
    entry = {
        "id": name,
        "when": now(),
        "file": file,
        "records": seen.records,
        "digest": seen.digest,
        "key": mark,
        "columns": seen.summary(),
    }
    shelf.record(index | {"data": [*index["data"], entry]})
    return name


def _lock(name: str) -> str:
    return f"{LOCK}_{name}"
