"""Tables come in as they are in the file, go out to the same bytes every time, and errors quote no value."""

import os
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthdp.errors import InputError, Unfinished
from synthdp.table import io

SECRET = "Zebulon"


def read_text(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return io.read(path)


def refused(tmp_path, content, name="data.csv"):
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, content, name)
    message = str(caught.value)
    assert SECRET not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize(
    ("texts", "dtype", "values"),
    [
        (["1", "2", "-3"], "int64", [1, 2, -3]),
        (["1", "", "3"], "float64", [1.0, np.nan, 3.0]),
        (["1.5", "NA", "1e-300"], "float64", [1.5, np.nan, 1e-300]),
        ([" 1", "2 ", "+3"], "float64", [1.0, 2.0, 3.0]),
        (["", "NA", "null"], "float64", [np.nan] * 3),
        (["True", "False", "True"], "bool", [True, False, True]),
        (["TRUE", "", "FALSE"], "object", [True, None, False]),
        (["inf", "1", "2"], "float64", [np.inf, 1.0, 2.0]),
    ],
)
def test_numbers_and_truth_values(tmp_path, texts, dtype, values):
    found = read_text(tmp_path, "x,other\n" + "".join(f"{text},a\n" for text in texts))["x"]
    assert found.dtype == dtype
    pd.testing.assert_series_equal(found, pd.Series(values, name="x", dtype=dtype))


@pytest.mark.parametrize(
    "texts",
    [
        ["01234", "99999", "00001"],  # postal codes
        ["0.5", "007", "1"],
        ["0x10", "1", "2"],
        ["12345678901234567890123", "1", "2"],  # more digits than a number keeps
        ["9007199254740993", "NA", "1"],  # an integer that a float cannot hold
        ["2020-01-01", "2021-12-31", "2020-02-02"],
        ["None", "Catholic", "Other"],
        ["True", "No", "Yes"],
        ["1_000", "1", "2"],
        ["Ünïcode 😀", "a\nb", 'say "no", twice'],
    ],
)
def test_what_a_number_would_not_keep_stays_text(tmp_path, texts):
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    found = read_text(tmp_path, "x,other\n" + "".join(f"{text},a\n" for text in quoted))["x"]
    assert [None if pd.isna(value) else value for value in found] == [None if t == "NA" else t for t in texts]


def test_the_largest_integers_are_exact(tmp_path):
    assert read_text(tmp_path, f"x,y\n{2**63 - 1},a\n1,b\n")["x"].tolist() == [2**63 - 1, 1]


def test_byte_order_mark_windows_lines_and_blank_lines(tmp_path):
    found = read_text(tmp_path, b'\xef\xbb\xbf\r\n"a b",c\r\n1,x\r\n\r\n2,y\r\n')
    assert found.to_dict("list") == {"a b": [1, 2], "c": ["x", "y"]}


def test_a_quoted_header_may_span_lines(tmp_path):
    assert list(read_text(tmp_path, '"a\nb",c\n1,2\n').columns) == ["a\nb", "c"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "the file is empty"),
        (" \n\n ", "the file is empty"),
        ("a,b\n", "column names but no records"),
        (f"a,b\n1,{SECRET}\n2\n3,4,5\n", "2 rows do not have 2 values as the header does; first at line 3."),
        (f"a,b\n1,2,{SECRET}\n3,4,5\n", "2 rows do not have 2 values"),
        (f'a,b\n1,"{SECRET}\n2,3\n', "a quotation mark is never closed"),
        (f"a,b\n1,{SECRET}\n2,\xff\n".encode("latin-1"), "line 3 is not UTF-8"),
        (b"PK\x03\x04\x00\x00binary", "this is not a CSV file"),
        ("a,b\n1,2\n".encode("utf-16"), "this is not a CSV file"),
        ("a,b,a\n1,2,3\n", "the column name 'a' occurs more than once; rename one."),
        ('"",age\n1,30\n', "column 1 has no name; name it, or remove it if it holds row numbers"),
        (f"a;b\n1;{SECRET}\n", "not separated by commas"),
        ("a\tb\n1\t2\n", "not separated by commas"),
        ("1,2.5\n3,4\n", "the first line holds numbers instead of column names"),
    ],
)
def test_csv_files_that_cannot_be_read(tmp_path, content, words):
    assert words in refused(tmp_path, content)


def test_every_wrong_name_is_listed(tmp_path):
    message = refused(tmp_path, ",a,a,b,b\n1,2,3,4,5\n")
    assert len(message.splitlines()) == 3


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.parquet.gz", "data.gz"])
def test_unknown_format(tmp_path, name):
    assert "must end in .csv or .parquet" in refused(tmp_path, "a\n1\n", name)


def test_suffix_in_capitals(tmp_path):
    assert len(read_text(tmp_path, "a,b\n1,x\n", "DATA.CSV")) == 1


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        io.read(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="this is a folder; give a file"):
        io.read(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    ("error", "words", "kind"),
    [
        (PermissionError(13, SECRET), "no permission", InputError),
        (OSError(36, SECRET), "File name too long", InputError),
        (OSError(5, SECRET), "Input/output error", Unfinished),
    ],
)
def test_files_the_system_does_not_give(tmp_path, monkeypatch, error, words, kind):
    def fail(_path, _flags):
        raise error

    monkeypatch.setattr("os.open", fail)
    with pytest.raises(kind, match=words) as caught:
        io.read(tmp_path / "x.csv")
    assert SECRET not in str(caught.value)


def test_a_parser_error_is_not_passed_on(tmp_path, monkeypatch):
    def fail(*_args, **_settings):
        raise pa.ArrowInvalid(SECRET)

    monkeypatch.setattr("pyarrow.csv.open_csv", fail)
    assert "cannot be read as CSV" in refused(tmp_path, "a,b\n1,2\n")


@pytest.mark.parametrize("cut", [b"", b"PAR1"])
def test_a_parquet_file_that_is_cut_off(tmp_path, cut):
    whole = io.encode(pd.DataFrame({"a": [SECRET]}), format="parquet")
    assert "not Parquet, or it is cut off" in refused(tmp_path, whole[: len(whole) // 2] + cut, "data.parquet")


def test_parquet_columns_become_plain_columns(tmp_path):
    table = pa.table(
        {
            "count": pa.array([1, None], pa.int32()),
            "price": pa.array([Decimal("1.25"), None]),
            "day": pa.array([date(2020, 1, 1), None]),
            "group": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = io.read(tmp_path / "t.parquet")
    assert [str(dtype)[:10] for dtype in found.dtypes] == ["float64", "float64", "datetime64", "category"]
    assert found["price"].tolist()[0] == 1.25


def test_parquet_row_labels_are_refused_when_nameless_and_forgotten_when_plain(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]})
    frame.to_parquet(tmp_path / "plain.parquet")
    assert list(io.read(tmp_path / "plain.parquet").columns) == ["a"]
    frame.set_index(pd.Index(["p", "q"])).to_parquet(tmp_path / "labelled.parquet")
    with pytest.raises(InputError, match="column 2 has no name"):
        io.read(tmp_path / "labelled.parquet")


@pytest.mark.parametrize(("values", "words"), [([[1], [2]], "lists or records"), ([b"a", b"b"], "binary data")])
def test_parquet_columns_that_are_not_single_values(tmp_path, values, words):
    pq.write_table(pa.table({"a": values}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"column 'a' must hold single values, found {words}"):
        io.read(tmp_path / "t.parquet")


def test_csv_bytes_are_exactly_these():
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "whole": [1.0, np.nan, 3.0],
            "x": [0.1, 1e20, np.nan],
            "yes": [True, False, True],
            "day": pd.to_datetime(["2020-01-01", None, "2021-12-31"]),
            "text": pd.Categorical(["b", "a", None], categories=["a", "b", "never used"]),
        },
        index=[9, 8, 7],
    )
    assert io.encode(frame, format="csv").decode() == (
        "id,whole,x,yes,day,text\n1,1,0.1,True,2020-01-01,b\n2,,1e+20,False,,a\n3,3,,True,2021-12-31,\n"
    )


def test_times_of_day_are_kept_in_csv():
    frame = pd.DataFrame({"t": pd.to_datetime(["2020-01-01 12:30:00", None])})
    assert b"12:30" in io.encode(frame, format="csv")


def test_text_is_quoted_only_where_needed():
    assert io.encode(pd.DataFrame({"a,b": ["x", "y"]}), format="csv") == b'"a,b"\nx\ny\n'
    assert io.encode(pd.DataFrame({"a": ["x,y", 'z"']}), format="csv") == b'a\n"x,y"\n"z"""\n'


def test_numbers_and_text_in_one_column_become_text():
    assert io.encode(pd.DataFrame({"a": [1, "x", None]}, dtype=object), format="csv") == b"a\n1\nx\n\n"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_equal_tables_give_equal_bytes_and_nothing_else_gets_in(format):
    plain = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    marked = pd.DataFrame(
        {"a": pd.Categorical(["x", "y"], categories=["x", "y", SECRET]), "b": [1, 2]}, index=[f"{SECRET}1", "2"]
    )
    marked.attrs["source"] = SECRET
    marked.index.name = SECRET
    assert SECRET.encode() not in io.encode(marked, format=format)
    assert io.encode(marked, format="csv") == io.encode(plain, format="csv")
    assert io.encode(plain, format=format) == io.encode(plain.copy(), format=format)


@given(
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none(), min_size=1, max_size=20),
    text=st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), min_size=1, max_size=8),
)
def test_values_survive_the_round_trip(tmp_path_factory, numbers, text):
    folder = tmp_path_factory.mktemp("trip")
    name = f"{text.strip()}_" if text.strip() else "plain"
    frame = pd.DataFrame({name: np.array(numbers, dtype=np.float64), "label": f"{text}!"})
    for format in ("csv", "parquet"):
        path = folder / f"t.{format}"
        io.write(frame, path, format=format)
        found = io.read(path)
        assert list(found.columns) == list(frame.columns)
        np.testing.assert_array_equal(found[name].to_numpy(np.float64), frame[name].to_numpy())
        assert found["label"].tolist() == frame["label"].tolist()


def test_digest_is_that_of_sha256sum(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert io.digest(tmp_path / "empty").startswith("e3b0c44298fc1c14")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_for_real(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    with pytest.raises(InputError, match="no permission to read the file"):
        io.read(path)
