"""Who is alone on which columns, live: chosen columns together, and each one left out or added."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from synthdp.arrays import Codes
from synthdp.errors import InputError
from synthdp.evaluation.blocks import Table, percent
from synthdp.evaluation.combinations import classes
from synthdp.evaluation.risk.exposure import unique_records
from synthdp.explore.elements import plain
from synthdp.table.microdata import Microdata

# beyond so many columns everybody is alone, and each count costs a pass over the file
MOST = 12


@dataclass(repr=False)
class Counter:
    """Counts the records that no other one equals on some columns of a file; columns are coded once.

    Notes
    -----
    O(n log n) for a set of columns; of more than 50,000 records a sample of whole cells is counted, with a standard
    error of about 3% (:func:`synthdp.evaluation.risk.exposure.smallest_sets`).
    """

    data: Microdata
    _coded: dict[str, Codes] = field(default_factory=dict)

    def names(self) -> tuple[str, ...]:
        """Return the columns that can be chosen."""
        return self.data.schema.names()

    def usual(self) -> tuple[str, ...]:
        """Return the columns that an intruder may know, the first ones: what is shown before anybody chooses."""
        return tuple(column.name for column in self.data.schema.keys())[:MOST]

    def unique(self, names: Sequence[str]) -> tuple[int, bool]:
        """Return how many records are alone on columns together, and whether every record was counted."""
        if not names:
            return 0, True
        return unique_records([self._codes(name) for name in names])

    def _codes(self, name: str) -> Codes:
        if name not in self._coded:
            self._coded[name] = classes([self.data.frame], self.data.schema[name], exact=True)[0]
        return self._coded[name]

    def table(self, chosen: Sequence[str]) -> tuple[str, Table]:
        """Return in a sentence how many are alone on the chosen columns, and a table of what each column does to that.

        Raises
        ------
        InputError
            When too many columns are chosen.
        """
        if len(chosen) > MOST:
            raise InputError(f"Choose at most {MOST} columns: with more nearly everybody is alone.")
        n = len(self.data)
        together, exact = self.unique(chosen)
        about = "" if exact else "about "
        said = (
            f"{about}{together:,} of {n:,} records ({percent(together / n)}) are alone on "
            f"{', '.join(plain(name) for name in chosen)} together."
            if chosen
            else "Choose columns that somebody outside may know of a person."
        )
        rows = []
        for name in chosen:
            alone = self.unique([name])[0]
            without = self.unique([other for other in chosen if other != name])[0]
            column = self.data.schema[name]
            rows.append((plain(name), str(column.role), f"{alone:,}", f"{without:,}", f"{together - without:,}"))
        rows.sort(key=lambda row: -int(row[4].replace(",", "")))
        head = ("Column", "Role", "Alone on it", "Alone without it", "It adds")
        return said[0].upper() + said[1:], Table(
            "What each column does, the one that adds most first", head, tuple(rows), "llrrr"
        )
