"""Sets of kept columns that make many unique: over shards as in memory."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.combinations import alone, combine
from synthdp.evaluation.risk import exposure
from synthdp.evaluation.sharded import kept_sets
from synthdp.table.coded import coded
from synthdp.table.microdata import Microdata, resolve


def table(n: int) -> Microdata:
    draw = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "town": draw.integers(0, 300, n),
            "birth": draw.integers(0, 20_000, n),
            "sex": draw.choice(["F", "M"], n),
            "job": draw.integers(0, 40, n),
            "fine": draw.normal(size=n),
        }
    )
    return resolve(frame, {})


def over_shards(data: Microdata, shards: int) -> tuple[exposure.KeptSet, ...]:
    def ask(sets: Any, parts: int) -> Iterator[Any]:
        edges = np.linspace(0, len(data), shards + 1).astype(int)
        for begin, end in pairwise(edges):
            frame = data.frame.iloc[begin:end].reset_index(drop=True)
            yield kept_sets.part_of(coded(frame), exposure.knowable(data.schema), sets, parts)

    return kept_sets.smallest_sets(data.schema, len(data), ask)


@pytest.mark.parametrize("shards", [1, 5])
def test_they_are_those_of_the_table_in_memory(shards: int) -> None:
    data = table(10_000)
    assert over_shards(data, shards) == exposure.smallest_sets(data.frame, data.schema)


def test_of_a_large_file_a_part_of_the_cells_is_counted() -> None:
    data = table(100_000)
    ours = over_shards(data, 4)
    exact = {one.columns: one for one in exposure.smallest_sets(data.frame, data.schema)}
    assert [one.columns for one in ours] == list(exact)
    assert over_shards(data, 1) == ours
    for one in ours:
        (codes,) = combine([data.frame], [data.schema[name] for name in one.columns], exact=True)
        truth = int(alone(codes).sum())
        # K parts: a standard error of √(K·U)
        assert abs(one.unique - truth) <= 4 * np.sqrt(8 * truth)
        assert not one.exact
