"""A file in memory that is handed out in shards."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from synthdp.config import Config
from synthdp.engine import Local
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.stages.sharded.finding import File
from synthdp.synthesis.making import finish, make
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema


@dataclass(frozen=True)
class Held:
    """A file in memory, cut into so many shards."""

    data: Microdata
    made: tuple[pd.DataFrame, ...] = ()
    count: int = 3
    labels: np.ndarray | None = None

    def groups(self, shard: int) -> np.ndarray | None:
        return None if self.labels is None else self.labels[self.rows(shard)]

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


@dataclass(frozen=True)
class Mechanism:
    """Draws of a config's mechanism, made in memory and handed out in shards."""

    config: Config
    plan: Plan
    count: int = 3
    seed: int = 3

    def __call__(self, number: int) -> Held:
        streams = Streams(self.seed).within("draw", number)
        made = finish(self.config.synthesis, make(self.config.synthesis, self.plan, streams=streams), self.plan)[0]
        return Held(self.plan.released, made.copies, self.count)


def file_of(config: Config, frame: pd.DataFrame, folder: Path, *, count: int = 3, seed: int = 3) -> File:
    """Return a file in shards whose draws are made in memory."""
    plan = plan_of(config, prepare(frame, config))
    return File(
        config, Held(plan.released, (), count), Mechanism(config, plan, count, seed), Local(), folder, Streams(seed)
    )
