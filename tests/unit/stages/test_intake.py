"""From files to checked records: missing codes, and synthetic files laid beside the original."""

import json

import numpy as np
import pandas as pd
import pytest

from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.stages import alignment, intake
from synthdp.table import io
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

SECRET = "Zebulon"
ORIGINAL = pd.DataFrame({"age": [31, 42, 53, 64], "town": ["a", "b", "b", SECRET], "id": [1, 2, 3, 4]})


@pytest.fixture
def folder(tmp_path):
    io.write(ORIGINAL, tmp_path / "original.csv", format="csv")
    return tmp_path


def settings(folder, **blocks):
    variables = {"age": {"key": True, "tolerance": 1}, "id": {"role": "drop"}}
    return parse({"data": {"path": folder / "original.csv"}, "variables": variables} | blocks)


def lay(folder, *copies, rows=None, names=None, **blocks):
    """Write copies and lay them beside the original."""
    evaluation = {} if rows is None else {"rows": str(rows)}
    config = settings(folder, evaluation=evaluation, **blocks)
    names = names or [f"copy_{number}.csv" for number in range(1, len(copies) + 1)]
    for name, copy in zip(names, copies, strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        io.write(copy, folder / name, format="csv")
    return alignment.align(config, intake.Source.of(config).data, [folder / name for name in names], groups=None)


def refusal(*args, **kwargs):
    with pytest.raises(InputError) as caught:
        lay(*args, **kwargs)
    assert SECRET not in str(caught.value)
    return caught.value.problems


def test_a_file_becomes_checked_records(folder):
    data = intake.Source.of(settings(folder)).data
    assert data.schema.names() == ("age", "town")
    assert repr(data) == "Microdata(4 records x 2 columns)"


@pytest.mark.parametrize("code", [-8, "-8"])
@pytest.mark.parametrize(
    "values",
    [
        pd.Series([31, -8, 53, 64]),
        pd.Series([31.5, -8, 53, 64]),
        pd.Series(["31", "-8", "x", "64"]),
        pd.Series([31, -8, "x", 64], dtype=object),
        pd.Series([31, -8, 53, 64], dtype="Int64"),
    ],
)
def test_missing_codes_are_missing_however_they_are_written(values, code):
    config = parse({"data": {"path": "a.csv", "missing_codes": {"x": [code, "no such code", 99]}}})
    found = intake.prepare(pd.DataFrame({"x": values, "y": [-8, 1, 2, 3]}), config).frame
    assert found["x"].isna().tolist() == [False, True, False, False]
    assert found["x"].drop(1).tolist() == values.drop(1).tolist()
    assert not found["y"].isna().any()


def test_a_code_for_a_column_that_is_not_there():
    config = parse({"data": {"path": "a.csv", "missing_codes": {"nobody": [-8], "x": [1], "none": [2]}}})
    with pytest.raises(InputError) as caught:
        intake.prepare(pd.DataFrame({"x": [1, 2, 3]}), config)
    assert caught.value.problems == (
        "data.missing_codes.nobody: no such column in the data.",
        "data.missing_codes.none: no such column in the data.",
    )


def test_the_share_of_records_that_are_unique_on_the_kept_columns():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "sex": ["F", "F", "M", "M"], "town": ["a", "a", "a", None]})
    replaced = {"x": Variable(role="replace")}
    assert intake.unique_share(resolve(frame, replaced)) == 0.5
    assert intake.unique_share(resolve(frame, {})) == 1.0
    everything = {"sex": Variable(role="replace"), "town": Variable(role="drop")}
    assert intake.unique_share(resolve(frame, replaced | everything)) == 0.0


COPY = ORIGINAL.assign(age=[30, 40, 50, 60])


def test_copies_are_laid_beside_the_original(folder):
    found = lay(folder, COPY, COPY[["town", "age"]].assign(more=1))
    assert found.aligned
    assert [list(copy.columns) for copy in found.copies] == [["age", "town"]] * 2
    assert found.copies[1]["age"].tolist() == [30, 40, 50, 60]
    assert repr(found) == "Comparison(4 records, 2 copies)"


def test_copies_lose_their_missing_codes_too(folder):
    config = {"data": {"path": folder / "original.csv", "missing_codes": {"age": [30], "town": ["b"]}}}
    found = lay(folder, COPY, **config)
    assert found.copies[0]["age"].isna().tolist() == [True, False, False, False]
    assert (
        found.copies[0]["town"].isna().tolist() == found.original["town"].isna().tolist() == [False, True, True, False]
    )


def test_other_numbers_of_rows_need_no_alignment(folder):
    more = pd.concat([COPY, COPY])
    assert refusal(folder, COPY, more) == (
        f"{folder / 'copy_2.csv'}: evaluation.rows is aligned, so 4 rows are required, found 8; "
        "set evaluation.rows: none (aligned=False) for files whose rows are not the records.",
    )
    found = lay(folder, more, rows="none")
    assert not found.aligned
    assert len(found.copies[0]) == 8


def test_columns_that_are_not_there(folder):
    assert refusal(folder, COPY.drop(columns=["age"]), COPY[["id"]]) == (
        f"{folder / 'copy_1.csv'}: lacks the columns age; add them, or give them role: drop in the config.",
        f"{folder / 'copy_2.csv'}: lacks the columns age, town; add them, or give them role: drop in the config.",
    )


@pytest.mark.filterwarnings("ignore:Could not infer format")
def test_values_of_another_kind(tmp_path):
    days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-02-01", "2020-03-01"])
    original = pd.DataFrame({"age": [31.0, 42.0, 53.0, 64.0], "day": days})
    io.write(original, tmp_path / "original.parquet", format="parquet")
    io.write(original.assign(age=days, day=[SECRET] * 4), tmp_path / "copy.parquet", format="parquet")
    config = parse({"data": {"path": tmp_path / "original.parquet"}})
    with pytest.raises(InputError) as caught:
        alignment.align(config, intake.Source.of(config).data, [tmp_path / "copy.parquet"], groups=None)
    where = tmp_path / "copy.parquet"
    assert caught.value.problems == (
        f"{where}: age is continuous and needs numbers, found values that are not.",
        f"{where}: day is date and needs dates, found values that are not.",
    )


def test_the_folder_of_a_release_is_not_aligned(folder):
    (folder / "out" / "public").mkdir(parents=True)
    described = folder / "out" / "public" / "release.json"
    described.touch()
    names = ["out/public/synthetic_01.csv", "out/public/synthetic_02.csv"]
    with pytest.raises(InputError, match=r"release\.json: not readable as JSON\."):
        lay(folder, COPY, COPY, names=names)
    described.write_text(json.dumps({"files": ["synthetic_01.csv", "synthetic_02.csv"], "copies": 2}))
    assert not lay(folder, COPY, COPY, names=names).aligned
    assert lay(folder, COPY, COPY, names=names, rows="aligned").aligned
    config = settings(folder)
    for given in ("out", "out/public"):
        found = alignment.align(config, intake.Source.of(config).data, [folder / given], groups=None)
        assert len(found.copies) == 2
        assert not found.aligned


def test_a_folder_without_a_release(folder):
    config = settings(folder)
    with pytest.raises(InputError) as caught:
        alignment.align(config, intake.Source.of(config).data, [folder], groups=None)
    assert str(caught.value) == f"{folder}: a file or the folder of a release is required, found neither."


def test_the_row_order_of_a_run_undoes_the_shuffle(folder):
    orders = [np.array([2, 0, 3, 1]), np.array([3, 1, 0, 2])]
    rows = pd.DataFrame({f"synthetic_0{number}": order for number, order in enumerate(orders, start=1)})
    io.write(rows, folder / "rows.parquet", format="parquet")
    shuffled = [COPY.iloc[order] for order in orders]
    found = lay(folder, *shuffled, names=["synthetic_01.csv", "synthetic_02.csv"], rows=folder / "rows.parquet")
    assert found.aligned
    for copy in found.copies:
        pd.testing.assert_frame_equal(copy, COPY[["age", "town"]])


@pytest.mark.parametrize("order", [None, [0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4], [0, 1, 2, None]])
def test_a_row_order_that_does_not_fit(folder, order):
    rows = pd.DataFrame({"other" if order is None else "copy_1": order or [0, 1, 2, 3]})
    io.write(rows, folder / "rows.csv", format="csv")
    assert refusal(folder, COPY, rows=folder / "rows.csv") == (
        "evaluation.rows: rows.csv holds no row order for copy_1.csv.",
    )


def test_a_row_order_that_is_not_there(folder):
    (sentence,) = refusal(folder, COPY, rows=folder / "rows.csv")
    assert sentence == f"{folder / 'rows.csv'}: no such file."
