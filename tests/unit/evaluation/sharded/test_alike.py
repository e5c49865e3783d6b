"""Who is alike, counted over shards and by hand."""

from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.combinations import alone, combine
from synthdp.evaluation.sharded import alike
from synthdp.table.coded import coded
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable


def table(n: int = 4000) -> pd.DataFrame:
    draw = np.random.default_rng(2)
    age = draw.normal(50, 20, n).round()
    age[::97] = np.nan
    return pd.DataFrame({"age": age, "town": draw.choice(list("ABCDE"), n), "pay": draw.integers(0, 40, n)})


def counted(frame: pd.DataFrame, folder: Path, shards: int, parts: int, most: int = 100) -> alike.Alike:
    data = resolve(frame, {})
    edges = np.linspace(0, len(frame), shards + 1).astype(int)
    for shard in range(shards):
        piece = coded(data.frame.iloc[edges[shard] : edges[shard + 1]].reset_index(drop=True))
        alike.note(alike.hashed(piece, data.schema.columns), folder, "all", shard)
    found = [alike.put_together(folder, "all", shards, parts, most, part) for part in range(parts)]
    return reduce(lambda one, other: one.merged(other, most), found)


@pytest.mark.parametrize(("shards", "parts"), [(1, 1), (16, 1), (3, 7)])
def test_who_is_alone_is_who_is_alone_in_memory(shards: int, parts: int, tmp_path: Path) -> None:
    frame = table()
    data = resolve(frame, {})
    (codes,) = combine([data.frame], data.schema.columns, exact=True)
    found = counted(frame, tmp_path, shards, parts)
    assert found.alone == int(alone(codes).sum()) > 100
    once = counted(frame, tmp_path, 1, 1)
    np.testing.assert_array_equal(found.rarest, once.rarest)
    np.testing.assert_array_equal(found.holders, once.holders)
    rare, holders = found.among(alike.hashed(coded(data.frame), data.schema.columns))
    assert np.all(alone(codes)[rare])
    assert np.all(holders[rare] == 1)


def test_numbers_of_one_class_are_alike() -> None:
    data = resolve(pd.DataFrame({"age": [0.1, 1.9, 2.1, np.nan]}), {"age": Variable(key=True)})
    found = alike.hashed(coded(data.frame), data.schema.columns, {"age": 2.0})
    assert found[0] == found[1]
    assert len(set(found.tolist())) == 3


def test_equal_columns_do_not_cancel() -> None:
    data = resolve(pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": [1.5, 2.5, 3.5]}), {})
    assert len(set(alike.hashed(coded(data.frame), data.schema.columns).tolist())) == 3


def test_nobody_is_among_nothing(tmp_path: Path) -> None:
    rare, _ = alike.NOBODY.among(np.arange(3, dtype=np.uint64))
    assert not rare.any()
    assert alike.parts_of(0) == 1
    assert alike.parts_of(alike.AT_ONCE + 1) == 2
