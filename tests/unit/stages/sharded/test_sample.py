"""Whom the judgement rests on: the random part, and who stands out, whatever the shards."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.engine import Local
from synthdp.stages.sharded import sample
from synthdp.stages.sharded.sample import ALONE, ALONE_KEPT, NEAR, Sample, sample_of, within
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from tests.unit.stages.sharded.held import Held

N = 20_000


def crowd() -> Microdata:
    draw = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "town": draw.choice(list("ABCD"), N),
            "sex": draw.choice(["F", "M"], N),
            "age": np.round(draw.normal(50, 10, N)),
            "pay": np.round(draw.normal(3000, 300, N), 2),
        }
    )
    # alone in town E; far out on pay; alone between the others
    frame.loc[777, ["town", "age", "pay"]] = ["E", 50, 3000]
    frame.loc[4242, "pay"] = 90_000.0
    frame.loc[15_000, ["age", "pay"]] = [110.0, 3000.0]
    return resolve(
        frame,
        {
            "town": Variable(key=True),
            "sex": Variable(key=False),
            "age": Variable(role="replace", key=True, tolerance=1.0),
            "pay": Variable(role="replace", key=True, tolerance=50.0),
        },
    )


def drawn(tmp_path: Path, shards: int) -> Sample:
    data = crowd()
    return sample_of(
        Held(data, count=shards),
        data.schema,
        tmp_path,
        Local(),
        rng=np.random.default_rng(1),
        size=3000,
        typical=100,
        exposed=(30, 30),
    )


@pytest.mark.parametrize("shards", [1, 16])
def test_those_who_stand_out_are_looked_for(shards: int, tmp_path: Path) -> None:
    found = drawn(tmp_path, shards)
    rows = set(found.rows[found.targets].tolist())
    assert {777, 4242, 15_000} <= rows
    assert found.typical.sum() == 100
    assert found.drawn.sum() == 3000
    assert found.alone[ALONE] == 1
    assert found.alone[ALONE_KEPT] == 1
    assert found.alone[NEAR] > 3
    data = crowd()
    pd.testing.assert_frame_equal(found.data.frame, data.frame.iloc[found.rows].reset_index(drop=True))
    assert not list(tmp_path.iterdir())
    assert "20000 records" in repr(found)
    assert found.told()["candidates"] == "all"


def test_shards_choose_the_same_people(tmp_path: Path) -> None:
    one, many = (drawn(tmp_path, shards) for shards in (1, 16))
    np.testing.assert_array_equal(one.rows, many.rows)
    np.testing.assert_array_equal(one.targets, many.targets)


def test_places_in_a_part() -> None:
    assert within(np.array([2, 5, 9]), slice(4, 9)).tolist() == [-1, 1, -1]


def test_of_classes_that_hold_the_whole_file_only_some_are_counted(monkeypatch):
    """Else everybody of a large file with few classes is a candidate, and is held in memory."""
    monkeypatch.setattr(sample, "CANDIDATES", 5)
    holders, rows = np.array([9, 1, 9, 2, 9, 9, 9, 2]), np.arange(8)
    first = sample._loneliest(holders, rows)
    assert set(first[:3]) == {1, 3, 7}
    assert len(first) == 5
    # the same however the file is cut
    parts = [some[sample._loneliest(holders[some], some)] for some in (rows[:3], rows[3:])]
    together = np.concatenate(parts)
    assert set(together[sample._loneliest(holders[together], together)]) == set(first)
