"""What a run will need: told from the config and the file's metadata, and as it was measured."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from synthdp import pipeline
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.stages import cost
from synthdp.stages.cost import Work
from synthdp.stages.expecting import MEMORY_ERROR, TIME_ERROR, expected
from synthdp.stages.streaming import engines
from synthdp.table.io import memory

MEASURED = Path(__file__).parents[3] / "reports" / "cost" / "results.json"
WORK = Work(records=1_000_000, columns=20, replaced=6, copies=5, draws=12, model="regression")
ONE = {"x": {"role": "replace", "key": True}, "z": {"key": False}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.parquet"
    pd.DataFrame({"x": range(1000), "z": range(1000), "gone": range(1000)}).to_parquet(path)
    return path


def config(path, **further):
    variables = {**ONE, "gone": {"role": "drop"}}
    return parse({"data": {"path": str(path)}, "variables": variables, "synthesis": {"copies": 3}, **further})


def test_what_there_is_to_do_is_told_without_reading(file, monkeypatch):
    monkeypatch.setattr("synthdp.table.io.read_table", None)
    assert cost.work_of(config(file)) == Work(1000, 2, 1, 3, 20, "regression")
    settings = config(
        file, release={"draws": 40}, synthesis={"copies": 2, "imputations": 2, "model": {"method": "cart"}}
    )
    assert cost.work_of(settings) == Work(1000, 2, 1, 4, 40, "cart")
    private = config(file, synthesis={"method": "dp_histogram", "epsilon": 1.0})
    assert cost.work_of(private) == Work(1000, 2, 1, 5, 0, "dp_histogram", known=False)
    with pytest.raises(InputError, match="absent"):
        cost.work_of(config(file.with_name("absent.parquet")))


def test_a_folder_is_as_large_as_its_files(file, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.parquet").write_bytes(file.read_bytes())
    assert cost.work_of(config(folder)).records == 2000
    (tmp_path / "empty").mkdir()
    assert cost.work_of(config(tmp_path / "empty")) is None


@pytest.mark.parametrize("name", ["records", "columns", "replaced", "copies", "draws"])
def test_more_work_needs_more(name):
    more = replace(WORK, **{name: 2 * getattr(WORK, name)})
    for need in (cost.in_memory, cost.streamed):
        less, greater = need(WORK), need(more)
        assert greater.seconds >= less.seconds
        assert greater.disk >= less.disk
    assert cost.in_memory(more).memory >= cost.in_memory(WORK).memory


def test_streaming_needs_no_more_memory_for_more_records():
    large = replace(WORK, records=10**8)
    assert cost.streamed(large).memory == pytest.approx(cost.streamed(replace(WORK, records=10**7)).memory)
    assert cost.streamed(large).memory < 4e9
    assert cost.streamed(replace(large, draws=0), memory=1e9).memory <= 1e9
    assert cost.in_memory(large).memory > 1e11


def test_a_cluster_is_faster_but_not_by_more_than_its_workers():
    alone = cost.streamed(WORK).seconds
    times = [cost.streamed(WORK, workers).seconds for workers in (2, 8, 32)]
    assert times == sorted(times, reverse=True)
    assert all(alone / time < workers for workers, time in zip((2, 8, 32), times, strict=True))


def test_the_estimates_are_within_the_factors_that_are_told():
    measured = json.loads(MEASURED.read_text())
    in_memory = {name: row for name, row in measured.items() if not name.startswith("streamed")}
    assert len(in_memory) >= 6
    for name, row in in_memory.items():
        work = Work(row["records"], row["columns"], row["replaced"], row["copies"], row["draws"], row["model"])
        need = cost.in_memory(work)
        assert 1 / MEMORY_ERROR < need.memory / (row["peak_gb"] * 1e9) < MEMORY_ERROR, name
        assert 1 / TIME_ERROR < need.seconds / row["seconds"] < TIME_ERROR, name


# docs/large.md: records, copies, draws; processor seconds and peak memory, one process
STREAMED = [
    (100_000, 3, 12, 58, None),
    (1_000_000, 3, 12, 284, 2.0e9),
    (1_000_000, 5, 0, 32, 1.4e9),
    (10_000_000, 5, 0, 300, 1.6e9),
]


@pytest.mark.parametrize(("records", "copies", "draws", "seconds", "peak"), STREAMED)
def test_so_are_those_of_streamed_runs(records, copies, draws, seconds, peak):
    need = cost.streamed(Work(records, 20, 6, copies, draws, "regression"))
    assert 1 / TIME_ERROR < need.seconds / seconds < TIME_ERROR
    assert peak is None or 1 / MEMORY_ERROR < need.memory / peak < MEMORY_ERROR


def there(monkeypatch, size):
    monkeypatch.setattr(memory, "available", lambda: size)


def test_the_engine_is_chosen_by_what_fits(file, monkeypatch):
    there(monkeypatch, 8e9)
    assert engines.choose(config(file)) == engines.Choice(streaming=False)
    there(monkeypatch, None)
    assert engines.choose(config(file)) == engines.Choice(streaming=False)
    there(monkeypatch, 1e8)
    choice = engines.choose(config(file))
    assert choice.streaming
    assert choice.sentence == (
        "About 380 MB would be needed with the table in memory, and 90 MB are there: the table stays on disk and is "
        "worked on shard by shard."
    )
    choice = engines.choose(config(file, synthesis={"model": {"method": "cart"}}))
    assert not choice.streaming
    assert "it cannot stay on disk: model cart needs the table in memory" in choice.sentence
    assert engines.choose(config(file, engine={"memory": "9 GB"})) == engines.Choice(streaming=False)
    assert engines.choose(config(file, engine={"streaming": False})) == engines.Choice(streaming=False)
    assert engines.choose(config(file, engine={"streaming": True})) == engines.Choice(streaming=True)
    assert engines.choose(config(file, engine={"method": "dask"})) == engines.Choice(streaming=True)
    assert not engines.choose(config(file.with_name("absent.parquet"))).streaming
    assert engines.choose(config(file.parent)) == engines.Choice(streaming=True)
    with pytest.raises(InputError, match=r"a folder of files is read shard by shard only; leave out engine\.streaming"):
        engines.choose(config(file.parent, engine={"streaming": False}))


def test_a_run_says_what_it_has_chosen(file, tmp_path, monkeypatch):
    told = []

    class Listener(pipeline.Silent):
        def tell(self, sentence):
            told.append(sentence)

    there(monkeypatch, 1e8)
    settings = config(file, engine={"memory": "90 MB"})
    with pytest.raises(InputError, match="streaming"):  # what is published shard by shard asks for more
        pipeline.run(settings, out=tmp_path / "out", progress=Listener())
    assert told == [engines.choose(settings).sentence]
    assert pipeline.check(settings).messages == (f"{file}: the table stays on disk; run looks at its records first.",)


def test_what_will_be_needed_is_said_in_sentences(file, monkeypatch):
    there(monkeypatch, 8e9)
    size, memory_, streaming, cluster, choice, error, doubt = expected(config(file))
    assert size == "1,000 records (counted) x 2 columns, 1 replaced; 3 copies, a verdict from 20 draws."
    assert memory_.startswith("In memory: 380 MB of memory, 10 MB of disk, ")
    assert streaming.startswith("Streaming: ")
    assert cluster.startswith("On a cluster, for example 8 workers: ")
    assert " of memory each, " in cluster
    assert choice == "run would keep the table in memory: 7.2 GB of memory are there."
    assert error.startswith("Estimates: memory within a factor of 1.5, time of one idle processor ")
    assert doubt.endswith("the verdict takes 3 times as many, and the run up to 3 times as long.")


@pytest.mark.parametrize(
    ("further", "words"),
    [
        (
            {"engine": {"workers": 4}},
            ["with 4 workers", "run would stream, on the cluster that the config names (proc"],
        ),
        ({"engine": {"address": "tcp://h:1"}}, ["if it has 8 workers", "the config names (tcp://h:1)."]),
        ({"engine": {"streaming": True}}, ["run would stream: as the config says."]),
        ({"engine": {"streaming": False}}, ["run would keep the table in memory: as the config says."]),
        ({"engine": {"memory": "1 MB"}}, ["run would stream: About 380 MB would be needed"]),
        (
            {"synthesis": {"method": "dp_histogram", "epsilon": 1.0}},
            [
                "no verdict",
                "How long dp_histogram takes was not measured",
                "on a cluster: not with this config; method",
            ],
        ),
    ],
)
def test_every_way_has_its_words(file, monkeypatch, further, words):
    there(monkeypatch, None)
    told = "\n".join(expected(config(file, **further)))
    assert all(word in told for word in words), told
    assert "how much memory is there is not known" in "\n".join(expected(config(file)))
    assert "a folder of files is streamed" in "\n".join(expected(config(file.parent)))


def test_a_format_that_does_not_tell_says_so(tmp_path):
    import pyreadstat

    path = tmp_path / "data.xpt"
    pyreadstat.write_xport(pd.DataFrame({"x": [1.0, 2.0]}), path)
    assert expected(config(path)) == (f"{path}: how large the table is, this format tells only when it is read.",)
