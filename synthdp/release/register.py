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
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.errors import InputError
from synthdp.release.fingerprints import Fingerprint, decoded, fingerprint
from synthdp.release.overlaps import pair_columns
from synthdp.release.recognising import Match, recognise
from synthdp.release.shelf import (
    INDEX,
    KEY,
    LOCK,
    Attempt,
    Shelf,
    Verdict,
    Waiting,
    attempt_of,
    damaged,
    first_places,
    now,
    row_hashes,
)
from synthdp.table import io
from synthdp.table.microdata import Microdata

NAME = "synthdp-register"


@dataclass(frozen=True, repr=False)
class Earlier:
    """One earlier release of the same data.

    Parameters
    ----------
    when
        It was recorded.
    copies
        Its copies: row i stands for the i-th of the records that ``covers`` names. When not ``aligned``, the rows stand
        as they were recorded, and nobody can say for which of today's records.
    covers
        Which of today's records the earlier release held.
    aligned
        Whether rows could be laid beside records.
    certain
        Whether it surely was made from these data; otherwise it is judged along as a precaution.
    share
        Part of the smaller file's records that both hold.
    columns
        Of today's columns, those that the earlier release gave out; None where it was recorded without their names, and
        every one is taken to have been. Copies have today's values in the others, which say nothing.
    """

    when: str
    copies: tuple[pd.DataFrame, ...]
    covers: npt.NDArray[np.bool_]
    aligned: bool = True
    certain: bool = True
    share: float = 1.0
    columns: frozenset[str] | None = None

    def __str__(self) -> str:
        doubt = "" if self.certain else "; judged together as a precaution"
        doubt = doubt if self.aligned else ", but what both hold does not tell which row is which record"
        return f"This file shares about {self.share:.0%} of its records with the release of {self.when[:10]}{doubt}."


class Held:
    """The register while one run works on its data.

    Parameters
    ----------
    shelf, own
        Where it lies, and the entry of today's data.
    matches
        The entries that hold the same records, today's among them.
    records
        Rows of today's file.
    """

    def __init__(self, shelf: Shelf, own: str, matches: dict[str, Match], records: int) -> None:
        self._shelf, self._own, self._matches, self._records = shelf, own, matches, records

    def earlier(
        self, data: Microdata, copies: Sequence[pd.DataFrame] = (), *, run: str | None = None
    ) -> tuple[Earlier, ...]:
        """Return what was released from these records before, other than by this run or exactly these copies.

        Parameters
        ----------
        data
            Today's records with every released column, in the order of the table the session was given.
        """
        self._check(data)
        own = _content(data, copies)
        found = []
        for entry in self._shelf.index()["releases"]:
            if (copies and entry.get("content") == own) or (run is not None and entry.get("run") == run):
                continue
            try:
                match = self._match(entry, data)
                if match is not None:
                    found.append(self._laid_beside(entry, data, match))
            except (KeyError, TypeError):
                raise damaged(self._shelf.folder / INDEX) from None
        return tuple(found)

    def record(self, data: Microdata, copies: Sequence[pd.DataFrame], *, run: str | None = None) -> None:
        """Write down a release; the same copies are written down once.

        Called before the public files appear: a run killed in between has recorded a release too many, which errs on
        the safe side, and recording it again when it goes on changes nothing.
        """
        self._check(data)
        content = _content(data, copies)
        with self._shelf.held():
            index = self._shelf.index()
            entries = index["releases"]
            if any(entry.get("content") == content for entry in entries):
                return
            table = pd.concat([_changed(data, copy) for copy in copies], ignore_index=True)
            file = f"release_{len(entries) + 1:03d}_{content[:12]}.parquet"
            self._shelf.write(file, io.encode(table, format="parquet"))
            entry = {
                "when": now(),
                "file": file,
                "of": self._own,
                "run": run,
                "records": len(copies[0]),
                "copies": len(copies),
                "columns": list(data.schema.names()),
                "content": content,
            }
            self._shelf.record(index | {"releases": [*entries, entry]})

    def attempt(
        self,
        run: str,
        *,
        verdict: Verdict,
        config: str = "",
        reasons: Sequence[str] = (),
        accepted: Sequence[str] = (),
    ) -> Attempt:
        """Write down an attempt; a run that was interrupted has its own one completed.

        Of one run only refusals stay beside each other: whatever else was written down of it did not come to its end
        (it was killed, or the scan for leaks stopped files that the gate had let pass).

        Parameters
        ----------
        run, config
            The id of the run, and the SHA-256 of its settings.
        reasons, accepted
            Names of limits and of accepted risks, never their values.
        """
        made = Attempt(run, now(), verdict, tuple(reasons), tuple(accepted), config)
        with self._shelf.held():
            index = self._shelf.index()
            others = [one for one in index["attempts"] if one.get("run") != run or one.get("verdict") == "refused"]
            self._shelf.record(index | {"attempts": [*others, asdict(made) | {"of": self._own}]})
        return made

    def attempts(self) -> tuple[Attempt, ...]:
        """Return all attempts on the same data, in the order in which they were recorded."""
        try:
            entries = [entry for entry in self._shelf.index()["attempts"] if entry["of"] in self._matches]
            return tuple(attempt_of(entry) for entry in entries)
        except (ValueError, KeyError, TypeError):
            raise damaged(self._shelf.folder / INDEX) from None

    def _check(self, data: Microdata) -> None:
        if len(data) != self._records:
            raise ValueError("a session is held for the table that the records come from")

    def _match(self, entry: dict[str, Any], data: Microdata) -> Match | None:
        if "of" in entry:
            return self._matches.get(entry["of"])
        place = first_places(entry, data)  # written by the first version, which knew kept columns only
        return None if place is None else Match(1.0, True, place(self._copies_of(entry)), True)

    def _laid_beside(self, entry: dict[str, Any], data: Microdata, match: Match) -> Earlier:
        table = self._copies_of(entry).drop(columns="row", errors="ignore")
        rows, covers = entry["records"], match.place >= 0
        place = match.place[covers]
        # a method that draws whole files may have drawn more or fewer rows than there are records
        aligned = match.aligned and (not len(place) or int(place.max()) < rows)
        covers = covers if aligned else np.zeros(len(data), dtype=np.bool_)
        frame = data.frame.loc[covers].reset_index(drop=True)
        copies = []
        for k in range(entry["copies"]):
            drawn = table.iloc[k * rows : (k + 1) * rows].reset_index(drop=True)
            if aligned:
                drawn = drawn.iloc[place].reset_index(drop=True)
                shared = [name for name in drawn.columns if name in frame.columns]
                drawn = frame.assign(**{name: drawn[name] for name in shared})
            copies.append(drawn)
        given = entry.get("columns")
        columns = None if given is None else frozenset(given) & frozenset(frame.columns)
        return Earlier(str(entry["when"]), tuple(copies), covers, aligned, match.certain, match.share, columns)

    def _copies_of(self, entry: dict[str, Any]) -> pd.DataFrame:
        data = self._shelf.read(entry["file"])
        try:
            table = pd.read_parquet(BytesIO(data or b""))
            if len(table) == entry["records"] * entry["copies"]:
                return table
        except (OSError, ValueError):
            pass
        raise InputError(
            f"{self._shelf.folder / entry['file']}: an earlier release of these data is recorded, but this file cannot "
            "be read; restore it from a backup."
        )


def _changed(data: Microdata, copy: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a copy that are not those of the original, in types that a Parquet file holds."""
    kept = {column.name for column in data.schema.kept()}
    frame = copy[[name for name in data.schema.names() if name not in kept]]
    return frame.astype({name: str for name in frame.columns if frame[name].dtype == object})


def _content(data: Microdata, copies: Sequence[pd.DataFrame]) -> str:
    """Return what identifies the copies themselves."""
    rows = b"".join(row_hashes(copy, data.schema.names()).tobytes() for copy in copies)
    return hashlib.sha256(rows).hexdigest()


class Register:
    """The folder in which releases and attempts are recorded; made when it is first held."""

    def __init__(self, folder: Path) -> None:
        self._shelf = Shelf(folder)

    def released(self, frame: pd.DataFrame) -> tuple[str, ...]:
        """Return the days on which releases of the same data were recorded; reads only, and waits for nobody."""
        index = self._shelf.index()
        if not (index["data"] and index["releases"]):
            return ()
        key = self._shelf.key()
        known: dict[str, Match | None] = {}
        _compare(self._shelf, fingerprint(frame, key), hashlib.sha256(key).hexdigest()[:16], known)
        return tuple(str(entry.get("when"))[:10] for entry in index["releases"] if known.get(str(entry.get("of"))))

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
        with shelf.held({f"{LOCK}_{name}" for name in (own, *(name for name in known if known[name]))}, waiting):
            _compare(shelf, seen, mark, known)
            yield Held(shelf, own, {name: match for name, match in known.items() if match}, len(frame))


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
