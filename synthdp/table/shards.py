"""A file in pieces: the original and its copies, shard by shard, where the whole would not fit into memory."""

from typing import Protocol

import pandas as pd

from synthdp.arrays import Codes
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema


class Shards(Protocol):
    """An original and its copies in shards, each a range of whole blocks of records (``seeding.BLOCK``).

    It can be pickled, and what is pickled is small: the place of a folder, and the schema. Shards are numbered from 0,
    copies from 1. A shard's frames have rows labelled from 0.
    """

    @property
    def schema(self) -> Schema:
        """The schema of the whole file: levels, bounds, tolerances."""
        ...

    @property
    def records(self) -> int:
        """How many records the whole file has."""
        ...

    @property
    def copies(self) -> int:
        """How many copies there are."""
        ...

    def __len__(self) -> int:
        """Return how many shards there are."""
        ...

    def rows(self, shard: int) -> slice:
        """Return which records of the whole file a shard holds."""
        ...

    def original(self, shard: int) -> Microdata:
        """Return the original records of a shard, with the schema of the whole file."""
        ...

    def copy(self, shard: int, copy: int) -> pd.DataFrame:
        """Return a copy of a shard, all columns: row i was made from row i of the original's."""
        ...

    def groups(self, shard: int) -> Codes | None:
        """Return the number of each record's risk group, in a shard; None where no mask depends on it."""
        ...
