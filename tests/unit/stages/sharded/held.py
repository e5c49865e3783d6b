"""A file in memory that is handed out in shards."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema


@dataclass(frozen=True)
class Held:
    """A file in memory, cut into so many shards."""

    data: Microdata
    made: tuple[pd.DataFrame, ...] = ()
    count: int = 3

    @property
    def schema(self) -> Schema:
        return self.data.schema

    @property
    def records(self) -> int:
        return len(self.data)

    @property
    def copies(self) -> int:
        return len(self.made)

    def __len__(self) -> int:
        return self.count

    def rows(self, shard: int) -> slice:
        edges = np.linspace(0, len(self.data), self.count + 1).astype(int).tolist()
        return slice(edges[shard], edges[shard + 1])

    def original(self, shard: int) -> Microdata:
        return Microdata(self.data.frame.iloc[self.rows(shard)].reset_index(drop=True), self.data.schema)

    def copy(self, shard: int, copy: int) -> pd.DataFrame:
        return self.made[copy - 1].iloc[self.rows(shard)].reset_index(drop=True)
