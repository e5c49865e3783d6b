"""What is found out about columns by passes over shards is what is found out in memory."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from synthdp import seeding
from synthdp.engine import Local
from synthdp.errors import InputError
from synthdp.imputation import predictors
from synthdp.imputation.regression.association import Regression
from synthdp.stages.streaming import fitting, looking, reading
from synthdp.stages.streaming.job import Job
from synthdp.table import io
from synthdp.table.facts import LevelFacts, Marked, NumberFacts
from synthdp.table.links import Link
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable

BLOCK, RECORDS = 64, 300


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(seeding, "BLOCK", BLOCK)


def arrow(n: int = RECORDS) -> pa.Table:
    rng = np.random.default_rng(5)
    late = np.arange(n) > n // 2
    days = [date(2020, 1, 1 + int(k)) for k in rng.integers(0, 28, n)]
    return pa.table(
        {
            "whole": pa.array(rng.integers(0, 50, n)),
            # the first shards have no gap, and must still be of the type that gaps call for
            "gaps": pa.array(np.where(late, rng.integers(0, 9, n), 3), mask=late & (rng.random(n) < 0.3)),
            "small": pa.array(rng.integers(0, 9, n).astype(np.int8), mask=late & (rng.random(n) < 0.3)),
            "truth": pa.array(rng.random(n) < 0.5, mask=late & (rng.random(n) < 0.3)),
            "price": pa.array([Decimal(int(k)) / 100 for k in rng.integers(0, 999, n)], pa.decimal128(9, 2)),
            "word": pa.array(rng.choice(["b", "a", None], n).tolist(), pa.string()),
            "coded": pa.array(np.where(late, "z", "y").tolist()).dictionary_encode(),
            "day": pa.array(days, pa.date32()),
            "few": pa.array(np.where(late, 2, 1)),
            "texted": pa.array([str(k) for k in rng.integers(0, 9, n)]),
            "empty": pa.array([None] * n, pa.float64()),
            "x": pa.array(rng.normal(3, 2, n).round(1)),
            "skewed": pa.array(np.exp(rng.normal(3, 1, n)).round()),
        }
    )


VARIABLES = {
    "x": Variable(role="replace", key=True),
    "skewed": Variable(role="replace", bounds=(0, 10_000), transform="log", key=True),
    "few": Variable(role="replace"),
    "gaps": Variable(key=True),
    "whole": Variable(kind="ordinal"),
    "texted": Variable(kind="continuous"),
}


def looked(tmp_path, table, variables, each=1, jobs=1):
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(table, path, row_group_size=70)
    job = Job(tmp_path / "confidential" / "work", len(table), BLOCK, each)
    reading.read(path, job, [])
    return job, looking.look(job, Local(jobs), variables), io.read(path)


@pytest.mark.parametrize("each", [1, 2, 10])
def test_the_schema_is_that_of_the_table_in_memory(tmp_path, each):
    job, facts, frame = looked(tmp_path, arrow(), VARIABLES, each)
    data = resolve(frame, VARIABLES)
    assert facts.schema == data.schema
    assert facts.links == {name: Link.of(data, name) for name in ("x", "skewed")}
    assert facts.missing == {name: int(frame[name].isna().sum()) for name in frame.columns}
    shards = pd.concat([reading.frame_of(job, shard) for shard in range(len(job))], ignore_index=True)
    pd.testing.assert_frame_equal(shards, frame)


def test_the_design_is_that_of_the_table_in_memory(tmp_path):
    job, facts, frame = looked(tmp_path, arrow(), VARIABLES)
    fitting.prepare(job, Local(), fitting.Layout.of(facts, Regression()))
    design = np.concatenate([fitting.arrays_of(job, shard)[0] for shard in range(len(job))])
    wanted = predictors.build(resolve(frame, VARIABLES))
    np.testing.assert_array_equal(design, wanted.matrix)
    layout: fitting.Layout = job.kept(fitting.LAYOUT)
    assert layout.predictors().names == wanted.names


WRONG = {
    "outside": {"x": Variable(role="replace", bounds=(0, 4))},
    "levels": {"word": Variable(levels=("a", "c"))},
    "constant": {"constant": Variable(role="replace")},
    "constant levels": {"constant": Variable(role="replace", kind="nominal")},
    "missing": {"empty": Variable(role="replace")},
    "text": {"word": Variable(kind="continuous")},
    "infinite": {"wild": Variable()},
    "large": {"vast": Variable()},
    "bounds": {"skewed": Variable(role="replace", transform="log")},
    "binary": {"whole": Variable(kind="binary")},
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_as_in_memory(tmp_path, case):
    table = arrow().append_column("constant", pa.array([1] * RECORDS))
    if case == "infinite":
        table = table.append_column("wild", pa.array([1.0, 2.0] * 140 + [np.inf] * 20))
    if case == "large":
        table = table.append_column("vast", pa.array([1.0, 2.0] * 140 + [1e300] * 20))
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(table, path)
    with pytest.raises(InputError) as in_memory:
        resolve(io.read(path), WRONG[case])
    with pytest.raises(InputError) as by_shards:
        looked(tmp_path, table, WRONG[case])
    assert str(by_shards.value) == str(in_memory.value)


def test_a_column_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"variables\.lost: no such column in the data"):
        looked(tmp_path, arrow(), {"lost": Variable()})


def test_too_many_levels_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(looking, "MOST_LEVELS", 20)
    with pytest.raises(InputError, match=r"streaming: column 'whole' has more than 20 levels"):
        looked(tmp_path, arrow(), VARIABLES)


def test_facts_add_up():
    column = Column(name="x", kind="nominal", role="keep", key=False, levels=("a", "b"))
    series = pd.Series(["a", None, "c", "b", "a"])
    parts = LevelFacts.of(series[:2], column, 0) + LevelFacts.of(series[2:], column, 2)
    whole = LevelFacts.of(series, column)
    assert parts.outside == whole.outside == Marked(1, 3)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    values, present = np.array([1.25, np.nan, 7.0, 3.5]), np.array([True, False, True, True])
    both = NumberFacts.of(values[:2], present[:2], (0, 5), 0) + NumberFacts.of(values[2:], present[2:], (0, 5), 2)
    assert (both.low, both.high, both.decimals, both.outside) == (1.25, 7.0, 2, Marked(1, 3))
