"""Parquet files become shards; what is wrong with them is one sentence."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from synthdp import seeding
from synthdp.errors import InputError
from synthdp.stages.streaming import reading
from synthdp.stages.streaming.job import Job, finished, once

BLOCK = 64


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(seeding, "BLOCK", BLOCK)


def table(n: int, start: int = 0) -> pa.Table:
    return pa.table({"a": pa.array(np.arange(start, start + n)), "b": pa.array(["x"] * n)})


def job_of(tmp_path, records: int, each: int = 1) -> Job:
    return Job(tmp_path / "confidential" / "work", records, BLOCK, each)


def test_a_folder_is_one_file_in_the_order_of_its_names(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for number, start in enumerate((0, 100, 200)):
        pa.parquet.write_table(table(100, start), folder / f"part-{number}.parquet")
    records, schema = reading.sized(folder)
    assert (records, schema.names) == (300, ["a", "b"])
    job = job_of(tmp_path, records, each=2)
    reading.read(folder, job, ["b"])
    found = pd.concat([reading.frame_of(job, shard) for shard in range(len(job))])
    assert found["a"].tolist() == list(range(300))
    assert list(found.columns) == ["a"]
    assert reading.checksum(folder) != reading.checksum(folder / "part-0.parquet")


def test_a_file_of_another_schema_is_refused(tmp_path):
    pa.parquet.write_table(table(9), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": pa.array([1.5])}), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet: the columns, or their types, are not those of 1\.parquet"):
        reading.sized(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a folder must hold Parquet files"):
        reading.sized(tmp_path)


def test_what_is_no_parquet_file_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match=r"a\.parquet: the file is not Parquet, or it is cut off"):
        reading.sized(tmp_path)
    with pytest.raises(InputError, match=r"lost\.parquet: no such file"):
        reading.sized(tmp_path / "lost.parquet")


def test_a_file_that_is_cut_off_inside_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"a": pa.array(np.random.default_rng(1).random(5000))}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 20_000 + whole[20_004:])
    with pytest.raises(InputError, match=r"a\.parquet: the file is not Parquet, or it is cut off"):
        reading.read(path, job_of(tmp_path, 5000), [])


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([b"1", b"2"]), pa.nulls(2)])
def test_only_plain_columns_are_read(tmp_path, column):
    pa.parquet.write_table(pa.table({"a": column}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"streaming: column 'a' must hold plain numbers, text, truth values or dates"):
        reading.read(tmp_path / "a.parquet", job_of(tmp_path, 2), [])


@pytest.mark.parametrize("now", [150, 40])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, now):
    pa.parquet.write_table(table(now), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"the file changed while it was read; run again"):
        reading.read(tmp_path / "a.parquet", job_of(tmp_path, 100), [])


def test_a_finished_part_is_made_once(tmp_path):
    calls = []

    def make(to):
        calls.append(to)
        to.write_text("done")
        return len(calls)

    path = tmp_path / "work" / "part"
    assert once(path, make) == once(path, make) == 1
    path.write_text("changed")  # by a disk that failed, say
    assert finished(path) is None
    assert once(path, make) == 2
    path.with_name("part.done").write_bytes(b"half")
    assert finished(path) is None


def test_a_part_that_fails_leaves_nothing_behind(tmp_path):
    def make(to):
        to.write_text("half")
        raise OSError("no")

    with pytest.raises(OSError, match=r"no"):
        once(tmp_path / "work" / "part", make)
    assert list((tmp_path / "work").iterdir()) == []


def test_shards_are_whole_blocks(tmp_path):
    job = job_of(tmp_path, 500, each=3)
    assert (len(job), job.blocks) == (3, 8)
    assert [number for shard in range(3) for number, _ in job.within(shard)] == list(range(8))
    assert job.rows(2) == slice(384, 500)


def test_small_memory_and_many_jobs_make_small_shards(tmp_path):
    def each(**further):
        wanted = {"shards": None, "jobs": 1, "memory": 1e9, "columns": 20}
        return reading.shard_rows(100 * BLOCK, tmp_path, **(wanted | further)).each

    assert each() == 16
    assert each(memory=1e6) < each()
    assert each(jobs=8) == 4
    assert each(shards=10) == 10


def test_a_job_without_its_manifest_says_so(tmp_path):
    with pytest.raises(InputError, match=r"the manifest of the run is gone"):
        job_of(tmp_path, 10).streams()
