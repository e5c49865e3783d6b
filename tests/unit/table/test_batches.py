"""A file read in batches is the file: same values, same types, whatever comes late; and only what is needed is read."""

import csv
import gzip
import io as texts_io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthdp import pipeline
from synthdp.config import guessing, parse
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.gate.limits import OFF
from synthdp.table import io
from synthdp.table.io import columnar, delimited, gathering, memory, statistical

ROOT = Path(__file__).parents[3]
SEED = 2**90 + 17
NO_LIMITS = OFF.model_dump()
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


@pytest.fixture
def small_batches(monkeypatch):
    """Make every reader take many batches of a small file."""
    monkeypatch.setattr(delimited, "BLOCK", 256)
    monkeypatch.setattr(delimited, "BLOCKS", 2)
    monkeypatch.setattr(columnar, "BATCH", 7)
    monkeypatch.setattr(statistical, "CELLS", 40)


@pytest.fixture
def tight(monkeypatch):
    """Let no plain table fit, and everything else."""
    monkeypatch.setattr(gathering.memory, "fits", lambda _needed: False)
    monkeypatch.setattr(gathering.memory, "require", lambda *_args, **_settings: None)


# the twin: all texts of a column at once


def whole(data, separator, decimal):
    """Return a text file read in one piece."""
    names = next(csv.reader(texts_io.StringIO(data), delimiter=separator))
    table = pyarrow.csv.read_csv(
        pa.BufferReader(data.encode()),
        read_options=pyarrow.csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=io.MISSING_TEXTS, strings_can_be_null=True
        ),
    )
    return pa.table([whole_type(column, decimal) for column in table.columns], names=names).to_pandas()


def whole_type(column, decimal):
    """Return a column of texts as the narrowest type that keeps all its values."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.float64())
    text = pc.utf8_trim_whitespace(column)
    if decimal == ",":
        if pc.any(pc.match_substring(text, ".")).as_py():
            return column
        text = pc.replace_substring(text, ",", ".")
    for kind, spoilt in ((pa.int64(), r"^[+-]?0[0-9xX]"), (pa.float64(), r"^[+-]?(0[0-9]|[0-9]{19,}$)")):
        try:
            values = text.cast(kind)
        except pa.ArrowInvalid:
            continue
        if pc.any(pc.match_substring_regex(text, spoilt)).as_py():
            return column
        if kind == pa.int64() and column.null_count:
            exact = not pc.any(pc.greater(pc.abs(values), 2**53)).as_py()
            return values.cast(pa.float64()) if exact else column
        return values
    found = pc.unique(text.drop_null()).to_pylist()
    return pa.array([TRUTH.get(v) for v in text.to_pylist()], pa.bool_()) if set(found) <= set(TRUTH) else column


INTEGERS = st.integers(-(10**6), 10**6).map(str) | st.integers(-(2**63) + 1, 2**63 - 1).map(str)
NUMBERS = st.floats(allow_nan=False).map(repr) | st.sampled_from(["1.50", "+3", " 2 ", "1e5", "-0", "1,5", "12,25"])
CODES = st.sampled_from(["007", "0x10", "-01", "1234567890123456789", "12345678901234567890", "0", "00"])
TRUTHS = st.sampled_from([*TRUTH, " True"])
WORDS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ['say "no"', "a,b", "a;b", "two\nlines", "Ünïcode 😀", "1.2.2020", "None", " x "]
)
MISSING = st.sampled_from(["", "NA", "null", "nan"])
SORTS = [INTEGERS, st.integers(0, 9).map(str), NUMBERS, CODES, TRUTHS, WORDS, MISSING]


@st.composite
def columns(draw):
    """Return 60 texts: mostly of one sort, with others among them, first or last."""
    main, other = draw(st.sampled_from(SORTS)), draw(st.sampled_from(SORTS))
    values = draw(st.lists(main, min_size=60, max_size=60))
    for place in draw(st.sets(st.sampled_from([0, 1, 30, 58, 59]), max_size=2)):
        values[place] = draw(other)
    return values


@settings(max_examples=150, deadline=None)
@given(table=st.lists(columns(), min_size=1, max_size=4), separator=st.sampled_from(",;\t"), comma=st.booleans())
def test_a_text_file_in_batches_is_the_whole_file(tmp_path_factory, table, separator, comma):
    decimal = "," if comma else "."
    text = texts_io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([f"c{i}" for i in range(len(table))])
    writer.writerows(zip(*table, strict=True))
    path = tmp_path_factory.mktemp("batches") / "t.csv.gz"
    path.write_bytes(gzip.compress(text.getvalue().encode(), 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK", 512)
        patch.setattr(delimited, "BLOCKS", 1)
        found = io.read(path, io.Dialect(separator=separator, decimal=decimal))
    pd.testing.assert_frame_equal(found, whole(text.getvalue(), separator, decimal), check_exact=True)


def late(tmp_path, first, last, name="t.csv"):
    path = tmp_path / name
    path.write_text("x,y\n" + "".join(f"{first},a\n" for _ in range(200)) + f"{last},b\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("first", "last", "dtype", "kept"),
    [
        ("+1", "x", "str", "+1"),
        ("1.50", "x", "str", "1.50"),
        ("1", "1.5", "float64", 1.0),
        ("1", "", "float64", 1.0),
        ("9007199254740993", "NA", "str", "9007199254740993"),
        ("1234567890123456789", "0.5", "str", "1234567890123456789"),
        ("1", "0x10", "str", "1"),
        ("TRUE", "maybe", "str", "TRUE"),
        ("TRUE", "1", "str", "TRUE"),
        ("", "1", "float64", None),
        ("", "x", "str", None),
        (" 1", "007", "str", " 1"),
    ],
)
def test_the_last_record_may_change_the_type_of_all(tmp_path, small_batches, first, last, dtype, kept):
    found = io.read(late(tmp_path, first, last))["x"]
    assert found.dtype == dtype
    assert len(found) == 201
    assert pd.isna(found[0]) if kept is None else found[0] == kept


def test_a_decimal_comma_is_noticed_in_any_batch(tmp_path, small_batches):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "1;a\n" * 200 + "1,5;b\n")
    with pytest.raises(InputError, match="column 'x' looks like numbers with a decimal comma"):
        io.read(path, io.Dialect(separator=";"))
    path.write_text("x;y\n" + "1,5;a\n" * 200 + "north;b\n")
    assert io.read(path, io.Dialect(separator=";"))["x"].tolist()[::200] == ["1,5", "north"]


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (b"1\n", "1 rows do not have 2 values as the header does; first at line 402."),
        (b'1,"a\n', "a quotation mark is never closed"),
        (b"1,\xff\n", "line 402 is not UTF-8"),
        (b"1,\x00\n", "this is not a CSV file"),
        (b'1,"' + b"x" * 600 + b'"\n', "cannot be read as CSV"),
    ],
)
def test_what_is_wrong_at_the_end_is_found_there(tmp_path, small_batches, tail, words):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n" + b"1,a\n" * 400 + tail)
    with pytest.raises(InputError, match=words):
        io.read(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'a,"b\n' + b"1,2\n" * 50_000, "a quotation mark is never closed"),
        (b'a,"b\n' + b"1,2\n" * 50_000 + b'"', "cannot be read as CSV"),
        ("a,ü".encode()[:-1], "line 1 is not UTF-8"),
        (b"a,a\n1,\xff\n", "line 2 is not UTF-8"),
        (b"a,b", "column names but no records"),
    ],
)
def test_headers_without_end(tmp_path, data, words):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(InputError, match=words):
        io.read(tmp_path / "t.csv")


# columns that are not read


def spoken(tmp_path, name):
    """Write 100 records of four columns in the format of the name."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "id": np.arange(100),
            "word": rng.choice(["ja", "nein", None], 100),
            "x": np.where(np.arange(100) > 90, 0.5, rng.integers(0, 9, 100)),
            "k": rng.integers(0, 3, 100),
        }
    )
    path = tmp_path / name
    data = io.encode(frame, format=io.format_like(path))
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


NAMES = ["t.csv", "t.tsv.gz", "t.parquet", "t.feather", "t.dta", "t.sav", "t.xpt"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_in_batches_without_some_columns(tmp_path, monkeypatch, small_batches, name):
    path = spoken(tmp_path, name)
    found = io.read_table(path, drop=["id", "k", "not there"])
    assert found.unread == ("id", "k")
    monkeypatch.undo()
    pd.testing.assert_frame_equal(found.frame, io.read(path)[["word", "x"]], check_exact=True)
    assert list(io.read(path, drop=["id", "word", "x", "k"]).columns) == ["id"]


def test_a_dropped_column_may_hold_anything(tmp_path):
    table = pa.table({"a": [1, 2], "b": [[1], [2]]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert list(io.read(tmp_path / "t.parquet", drop=["b"]).columns) == ["a"]


def test_a_dot_in_a_name_is_no_record(tmp_path):
    pyarrow.parquet.write_table(pa.table({"a": [1], "a.b": [2]}), tmp_path / "t.parquet")
    assert io.read(tmp_path / "t.parquet").to_dict("list") == {"a": [1], "a.b": [2]}


@pytest.mark.filterwarnings("ignore:Feather V1")
@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_of_feather(tmp_path, version):
    pyarrow.feather.write_feather(pa.table({"a": [1, 2], "b": ["x", None]}), tmp_path / "t.feather", version=version)
    assert io.read(tmp_path / "t.feather", drop=["a"])["b"].isna().tolist() == [False, True]


def test_dropped_columns_are_never_read_and_still_checked_by_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,day,age,sex\n" + "".join(f"n{i},never,{20 + i % 40},{i % 2}\n" for i in range(60)))
    settings = {"name": {"role": "drop"}, "day": {"role": "drop"}, "age": {"role": "replace"}}
    data = {"path": str(path), "dates": {"day": "%Y-%m-%d"}, "missing_codes": {"day": [9]}}
    table = pipeline.read(parse({"data": data, "variables": settings}))
    assert (list(table.frame.columns), table.unread) == (["age", "sex"], ("name", "day"))
    masks = {"age": {"method": "gaussian", "sd": 0.5}}
    message = pipeline.check(parse({"data": data, "variables": settings, "masks": masks})).messages[0]
    assert "1 column replaced, 1 kept" in message
    with pytest.raises(InputError, match=r"variables\.nme: no such column"):
        pipeline.check(parse({"data": data, "variables": settings | {"nme": {"role": "drop"}}}))
    with pytest.raises(InputError, match=r"data\.weights: 'day' must be kept, found role: drop"):
        pipeline.check(parse({"data": data | {"weights": "day"}, "variables": settings}))


def test_letters_of_later_batches_are_missing_codes_too(tmp_path, small_batches):
    values = [float(i) for i in range(30)] + ["a"] + [1.0] * 30 + ["b"]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": np.arange(62.0)})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), missing_user_values={"x": ["a", "b"]})
    table = io.read_table(tmp_path / "t.dta")
    assert table.labels.missing == {"x": (("a", "a"), ("b", "b"))}
    assert table.codes["x"].dropna().to_dict() == {30: "a", 61: "b"}
    assert table.frame.dtypes.astype(str).to_dict() == {"x": "float64", "y": "int64"}


# too large, or only just not


@pytest.mark.parametrize("name", NAMES)
def test_text_that_fits_only_as_codes_is_categorical(tmp_path, small_batches, name, request):
    path = spoken(tmp_path, name)
    plain = io.read(path)
    request.getfixturevalue("tight")
    narrow = io.read(path)
    assert narrow["word"].dtype == "category"
    assert narrow["word"].cat.categories.tolist() == ["ja", "nein"]
    pd.testing.assert_frame_equal(narrow.astype(plain.dtypes.to_dict()), plain, check_exact=True)


def test_text_that_hardly_repeats_stays_text(tmp_path, tight):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"name {i},x\n" for i in range(300)))
    assert io.read(path).dtypes.astype(str).to_dict() == {"a": "str", "b": "category"}


@pytest.mark.parametrize("levels", [100, 200, 40_000])
def test_codes_of_any_width(tmp_path, tight, levels):
    words = [f"a longer word {i % levels}" for i in range(2 * levels)]
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"w": [None, *words]}), path)
    found = io.read(path)["w"]
    assert found.dtype == "category"
    assert found.isna().tolist()[0]
    assert found.tolist()[1:] == words


def test_a_table_that_does_not_fit_is_refused_early_and_names_its_largest_columns(tmp_path, monkeypatch, small_batches):
    path = tmp_path / "t.csv"
    path.write_text("id,notes,x\n" + "".join(f"{i},a long note number {i} that nobody needs,1\n" for i in range(5000)))
    monkeypatch.setattr(memory, "available", lambda: 60_000)
    pattern = (
        r"too large for the memory of this machine \(about [0-9.]+ [kM]B needed, [0-9.]+ [kM]B free\); "
        r"set role: drop for columns that are not needed \(the largest: 'notes', "
    )
    with pytest.raises(memory.TooLarge, match=pattern) as caught:
        io.read(path)
    assert caught.value.exit_code == 2
    monkeypatch.setattr(memory, "available", lambda: 200_000)
    assert io.read(path, drop=["notes"]).shape == (5000, 2)


def survey(tmp_path):
    """Write a file with a name to drop, and a config that replaces text and numbers of it."""
    rng = np.random.default_rng(8)
    count = 120
    frame = pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(count)],
            "town": rng.choice(["Genf", "Zürich", "Ems"], count),
            "vote": rng.choice(["yes", "no", "maybe"], count),
            "age": rng.integers(18, 90, count),
            "party": rng.choice(["b", "a", None], count),
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    return {
        "data": {"path": str(tmp_path / "data.csv")},
        "variables": {
            "name": {"role": "drop"},
            "vote": {"role": "replace", "key": True},
            "age": {"role": "replace", "key": True, "bounds": [18, 90]},
            "town": {"key": True},
        },
        "analyses": [{"name": "by town", "model": "ols", "formula": "age ~ C(town) + vote"}],
        "masks": {"age": {"method": "gaussian", "sd": 0.5}},
        "synthesis": {"copies": 2},
        "release": NO_LIMITS,
        "seed": SEED,
    }


def test_a_run_is_the_same_whether_text_is_plain_or_codes(tmp_path, request):
    settings = survey(tmp_path)
    pipeline.run(parse(settings), out=tmp_path / "plain")
    request.getfixturevalue("tight")
    assert pipeline.read(parse(settings)).frame["town"].dtype == "category"
    pipeline.run(parse(settings), out=tmp_path / "tight")
    for file in sorted((tmp_path / "plain" / "public").iterdir()):
        assert file.read_bytes() == (tmp_path / "tight" / "public" / file.name).read_bytes(), file.name
    found = [json.loads((tmp_path / n / "confidential" / "metrics.json").read_text()) for n in ("plain", "tight")]
    assert all(metrics.pop("timings") for metrics in found)
    assert found[0] == found[1]


LIMITED = """
import resource, sys
from synthdp.table.io import delimited
delimited.BLOCK = 2**16
from pathlib import Path
import synthdp.cli
from synthdp import config, pipeline
pipeline.check(config.load(Path(sys.argv[2])))
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[3]) * 2**20,) * 2)
sys.argv = ["synthdp", "check", sys.argv[1], "--quiet"]
synthdp.cli.main()
"""


def check_within(config, warm, megabytes):
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(config), str(warm), str(megabytes)],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
        # an allocator that takes addresses as it needs them
        env={"OMP_NUM_THREADS": "1", "PATH": "", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"},
    )  # fmt: skip


@pytest.mark.slow
def test_a_limit_of_address_space_is_honoured(tmp_path):
    text = "".join(f"{i},{'x' * 120} {i},{i % 50},{i // 50 % 2}\n" for i in range(400_000))
    (tmp_path / "t.csv").write_text("id,note,age,sex\n" + text)
    (tmp_path / "small.csv").write_text("id,note,age,sex\n" + "".join(text.splitlines(keepends=True)[:99]))
    size = (tmp_path / "t.csv").stat().st_size // 2**20
    assert size > 50
    small = tmp_path / "small.yaml"
    small.write_text("data: {path: small.csv}\nvariables: {age: {role: replace}}\nsynthesis: {method: mi}\n")
    config = tmp_path / "c.yaml"
    config.write_text("data: {path: t.csv}\nvariables: {age: {role: replace}}\nsynthesis: {method: mi}\n")
    found = check_within(config, small, size - 10)
    assert found.returncode == 2, found.stderr
    assert re.search(r"the table is too large .* \(about \d+\.\d MB needed, \d+\.\d MB free\)", found.stderr)
    assert "(the largest: 'note', 'id', 'age')" in found.stderr
    config.write_text(
        "data: {path: t.csv}\nvariables: {age: {role: replace}, note: {role: drop}, id: {role: drop}}\n"
        "synthesis: {method: mi}\n"
    )
    found = check_within(config, small, size - 10)
    assert found.returncode == 0, found.stderr


def test_init_says_that_a_file_is_too_large_at_once(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,x\n" * 500)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    asked = []
    monkeypatch.setattr(guessing, "_likely", asked.append)
    with pytest.raises(io.TooLarge, match="too large for the memory"):
        guessing.read(path)
    assert not asked


def test_a_disk_that_fails_in_the_middle_of_a_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,x\n" * 500)

    real = path.open("rb")

    class File(texts_io.BytesIO):
        def fileno(self):
            return real.fileno()

        def read(self, _size):
            if self.tell():
                raise OSError(5, "Zebulon")
            return super().read(8)

    monkeypatch.setattr("synthdp.table.io.streams.open_file", lambda _: File(b"a,b\n1,x\n"))
    with pytest.raises(Unfinished, match=r"cannot be read") as caught:
        io.read(path)
    assert "Zebulon" not in str(caught.value)
