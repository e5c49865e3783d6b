"""The type of a released column follows from what was declared: neighbouring files give byte-equal schemas."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from synthdp import release
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.seeding import Streams
from synthdp.stages.intake import Source
from synthdp.stages.planning import plan_of
from synthdp.stages.publishing import publish, row_orders
from synthdp.synthesis.making import make
from synthdp.table import io
from synthdp.table.microdata import codes, resolve
from synthdp.table.schema import Column, Schema, Variable

RECORDS = 60
COLUMNS = {
    "age": {"kind": "continuous", "role": "replace", "bounds": [0, 120], "decimals": 0},
    "height": {"kind": "continuous", "role": "replace", "bounds": [100, 230], "decimals": 1},
    "visits": {"kind": "count", "role": "replace", "bounds": [0, 9]},
    "region": {"role": "replace", "kind": "nominal", "levels": ["N", "S", "south, and farther on"]},
    "educ": {"kind": "ordinal", "role": "replace", "levels": [1, 2, 3]},
    "insured": {"role": "replace", "levels": [True, False]},
    "born": {"kind": "date", "role": "replace", "bounds": [-3650, 20000], "decimals": 0},
    "older": {"derived": "age > 40", "levels": [0, 1]},
    "twice": {"derived": "2 * age", "decimals": 0, "kind": "continuous"},
}
PRIVATE = {
    "dp_margins": {"bins": 4, "copies": 2},
    "dp_mst": {"bins": 3, "copies": 1},
    "dp_sparse_histogram": {"bins": 2, "epsilon": 5.0, "copies": 1},
    "local_noise": {"epsilon": 20.0},
}
# what one person's record may do to the file
CHANGES = ("none", "cell", "height_cell", "text_cell", "value", "long_level", "first_value", "record")


def original(change):
    """Return the file of neighbours; the last record is the one that differs."""
    rng = np.random.default_rng(5)
    age = rng.integers(20, 60, RECORDS)
    frame = pd.DataFrame(
        {
            "age": age.astype(str),
            "height": [f"{value:.1f}" for value in rng.normal(170, 9, RECORDS)],
            "visits": rng.integers(0, 5, RECORDS).astype(str),
            "region": rng.choice(["N", "S"], RECORDS),
            "educ": rng.choice(["1", "2", "3"], RECORDS),
            "insured": rng.choice(["True", "False"], RECORDS),
            "born": (pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 9000, RECORDS), "D")).strftime(
                "%d.%m.%Y"
            ),
            "older": (age > 40).astype(int).astype(str),
            "twice": (2 * age).astype(str),
        }
    )
    last = RECORDS - 1
    if change == "cell":
        frame.loc[last, ["age", "older", "twice"]] = ["", "0", ""]
    elif change == "height_cell":
        frame.loc[last, "height"] = ""
    elif change == "text_cell":
        frame.loc[last, ["visits", "region", "educ", "insured"]] = ""
    elif change == "value":
        frame.loc[last, ["age", "older", "twice", "visits"]] = ["120", "1", "240", "9"]
    elif change == "long_level":
        frame.loc[last, "region"] = "south, and farther on"
    elif change == "first_value":
        frame.loc[0, ["born", "educ"]] = ["01.02.1999", "01"]
    elif change == "record":
        frame.loc[last] = ["0", "100.0", "0", "S", "3", "False", "31.12.2019", "0", "0"]
    return frame


def settings(method, change, folder):
    """Return a config of a differentially private method, or of da_mi, on one of the neighbours."""
    original(change).to_csv(folder / "original.csv", index=False)
    gaps = [] if method == "local_noise" else ["age", "height", "visits", "region", "educ", "insured"]
    raw = {
        "data": {"path": str(folder / "original.csv"), "dates": {"born": "%d.%m.%Y"}},
        "variables": COLUMNS,
        "synthesis": {"method": method, "missing": gaps, **PRIVATE.get(method, {})},
    }
    if method == "da_mi":
        kept = {"height": {**COLUMNS["height"], "role": "keep"}, "visits": {"kind": "count"}}
        raw["variables"] = {**COLUMNS, **kept, "born": {"role": "keep", "decimals": 0}}
        raw["masks"] = {"age": {"method": "gaussian", "sd": 0.5}}
        raw["synthesis"] = {"method": "da_mi", "copies": 2, "model": {"method": "copula"}, "sweeps": 2}
    return parse(raw)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return what a method makes of a neighbour, each made once."""
    found = {}

    def copies(method, change):
        if (method, change) not in found:
            config = settings(method, change, tmp_path_factory.mktemp("data"))
            data = Source.of(config).data
            plan = plan_of(config, data)
            # other noise for every file: the schema may not follow from what was drawn either
            streams = Streams(2**70 + CHANGES.index(change))
            found[method, change] = config, data, make(config.synthesis, plan, streams=streams), streams
        return found[method, change]

    return copies


def published(made, method, change, format, out):
    config, data, copies, streams = made(method, change)
    config = config.model_copy(update={"release": config.release.model_copy(update={"format": format})})
    out.mkdir()
    publish(config, data, copies, row_orders(config, copies, streams), out, None)
    return out / "public"


def schema_of(path):
    """Return everything a file says about its columns: the bytes before the records where there are such."""
    raw, format = path.read_bytes(), path.suffix[1:]
    if format == "parquet":
        file = pyarrow.parquet.ParquetFile(path)
        told = str(file.schema).partition("\n")[2]  # the first line is where it is in memory
        return file.schema_arrow.serialize().to_pybytes(), told, str(file.metadata.metadata)
    if format == "feather":
        return pa.ipc.open_file(path).schema.serialize().to_pybytes()
    if format == "dta":
        return raw[: raw.index(b"<data>")]
    if format == "sav":
        return raw[: raw.index(b"\xe7\x03\x00\x00\x00\x00\x00\x00")]
    if format == "xpt":
        return raw[: raw.index(b"OBS     HEADER RECORD")]
    mark = "\t" if format == "tsv" else ","
    header, *lines = raw.decode().splitlines()
    cells = [re.findall(rf'(?:^|{mark})("(?:[^"]|"")*"|[^{mark}]*)', line) for line in lines]
    return header, tuple(form_of(column) for column in zip(*cells, strict=True))


def form_of(cells):
    """Return how a column of a text file is written: whole numbers, numbers, quoted text, plain text, dates."""
    forms = {
        "whole": r"-?\d+",
        "number": r"-?\d+(\.\d+)?",
        "date": r"\d{4}-\d\d-\d\d",
        "truth": 'True|False|"True"|"False"',
        "quoted": '".*"',
        "plain": '[^"]*',
    }
    return next(name for name, form in forms.items() if all(re.fullmatch(form, c) for c in cells if c))


def fits(method, change):
    return method != "local_noise" or "cell" not in change


@pytest.mark.parametrize("format", io.FORMATS)
@pytest.mark.parametrize("method", [*PRIVATE, "da_mi"])
def test_neighbouring_files_give_equal_schemas(made, method, format, tmp_path):
    seen = {}
    for change in filter(lambda change: fits(method, change), CHANGES):
        folder = published(made, method, change, format, tmp_path / change)
        files = sorted(folder.glob("synthetic_*"))
        seen[change] = [schema_of(path) for path in files]
        if format not in ("csv", "tsv"):
            assert len(set(seen[change])) == 1  # and every copy the same
    # a text file has no types: how its numbers look comes from the released values, which are noisy already
    schemas = {copies[0][0] if format in ("csv", "tsv") else copies[0] for copies in seen.values()}
    assert len(schemas) == 1


@pytest.mark.parametrize("method", [*PRIVATE, "da_mi"])
def test_neighbouring_files_give_equal_descriptions(made, method, tmp_path):
    told = {}
    for change in filter(lambda change: fits(method, change), CHANGES):
        folder = published(made, method, change, "csv", tmp_path / change)
        told[change] = [(folder / name).read_bytes() for name in ("codebook.csv", "release.json", "README.md")]
    if method == "da_mi":
        # a gap of a replaced column is imputed first, which changes the combining rule; one of a kept column does not
        assert told["height_cell"] == told["none"] == told["value"]
        assert len({files[0] for change, files in told.items() if change != "long_level"}) == 1
    else:
        assert all(files == told["none"] for files in told.values())


def test_the_types_are_those_of_the_declaration(made, tmp_path):
    folder = published(made, "dp_margins", "cell", "parquet", tmp_path / "out")
    schema = pyarrow.parquet.read_schema(folder / "synthetic_01.parquet")
    assert schema.metadata is None
    assert {field.name: str(field.type) for field in schema} == {
        "age": "int64",
        "height": "double",
        "visits": "int64",
        "region": "large_string",
        "educ": "int64",
        "insured": "bool",
        "born": "timestamp[us]",
        "older": "int64",
        "twice": "int64",
    }


def column(**given):
    return Column(**{"name": "x", "kind": "continuous", "role": "replace", "key": False, "decimals": 0, **given})


def stored_schema(series, format, tmp_path, **given):
    copies = [series.rename("x").to_frame()]
    found = io.storage(Schema(columns=(column(**given),)), copies)
    path = tmp_path / f"one.{format}"
    io_bytes = io.encode(copies[0], format=format, stored=found)
    path.write_bytes(io_bytes)
    return schema_of(path)


@pytest.mark.parametrize("format", io.FORMATS)
@pytest.mark.parametrize(
    ("one", "other", "given"),
    [
        ([1, 2, 300], [1.0, None, 3.0], {}),
        ([1, 2, 3], [1, 2, 2**31 + 5], {}),
        ([1, 2, 3], [1, 2, 3], {"bounds": (0, 9), "bounds_public": True}),
        ([1.5, 2.0, 2.0], [1.0, 2.0, None], {"decimals": 1}),
        ([1.25, 2.0, 2.0], [1.0, 2.0, None], {"decimals": None}),
        (["a", "b", "a"], ["a", None, "ccccccccc"], {"kind": "nominal", "levels": ("a", "b", "ccccccccc"),
                                                     "levels_public": True, "decimals": None}),
        ([1, 2, 1], [1.0, None, 2.0], {"kind": "binary", "levels": (1, 2), "decimals": None}),
        ([1, 2, 1], [1.0, None, 2.0], {"kind": "binary", "levels": (1.0, 2.0), "decimals": None}),
        ([1, 2, 1], [1.0, None, 2.0], {"kind": "binary", "levels": ("1", "2"), "decimals": None}),
        ([1, 2, 1], ["1", None, "x"], {"kind": "nominal", "levels": ("1", "2", "x"), "levels_public": True,
                                       "decimals": None}),
        ([True, False, True], [True, None, False], {"kind": "binary", "levels": (False, True), "decimals": None}),
        (["2020-01-31", "1999-12-31", "2000-01-01"], ["2020-01-31", None, "1850-01-01"], {"kind": "date"}),
    ],
)  # fmt: skip
def test_one_cell_does_not_change_the_type(one, other, given, format, tmp_path):
    first, second = pd.Series(one), pd.Series(other)
    if given.get("kind") == "date":
        first, second = pd.to_datetime(first), pd.to_datetime(second).astype("datetime64[ns]")
    expected = stored_schema(first, format, tmp_path, **given)
    if format in ("csv", "tsv") and (given.get("levels_public") or given.get("decimals", 0) != 0):  # no types there
        assert expected[0] == stored_schema(second, format, tmp_path, **given)[0]
    else:
        assert expected == stored_schema(second, format, tmp_path, **given)


@pytest.mark.parametrize("format", io.FORMATS)
def test_values_come_back_as_they_were(format, tmp_path):
    frame = pd.DataFrame(
        {
            "n": [1.0, None, 2.0**40],
            "p": [1.5, 2.0, None],
            "t": ["a", None, "é" * 5],
            "b": pd.Series([True, None, False], dtype=object),
            "d": pd.to_datetime(["2020-01-31", None, "1850-01-01"]),
        }
    )
    given = {
        "n": {},
        "p": {"decimals": 1},
        "t": {"kind": "nominal", "levels": ("a", "é" * 5, "long" * 20), "levels_public": True},
        "b": {"kind": "binary", "levels": (False, True)},
        "d": {"kind": "date"},
    }
    schema = Schema(columns=tuple(column(**{"name": name, **facts}) for name, facts in given.items()))
    stored = io.storage(schema, [frame])
    assert set(stored) == set(given)
    path = tmp_path / f"x.{format}"
    io.write(frame, path, format=format, stored=stored)
    found = io.read(path)
    pd.testing.assert_frame_equal(found[["n", "p"]].astype(float), frame[["n", "p"]])
    assert found["t"].astype(object).where(found["t"].notna(), None).tolist() == ["a", None, "é" * 5]
    truth = found["b"].map(lambda value: None if pd.isna(value) else bool(value)).astype(object)
    assert truth.where(truth.notna(), None).tolist() == [True, None, False]
    assert pd.to_datetime(found["d"]).tolist()[::2] == frame["d"].tolist()[::2]


def test_what_does_not_fit_the_schema_decides_itself():
    kept = column(role="keep")
    codes_of_survey = pd.Series(["007", "1"])
    assert io.storage(Schema(columns=(kept,)), [codes_of_survey.rename("x").to_frame()]) == {}
    halves = pd.DataFrame({"x": [1.0, 2.5]})
    assert io.storage(Schema(columns=(kept,)), [halves]) == {}
    huge = pd.DataFrame({"x": [1e300, 1.0]})
    assert io.storage(Schema(columns=(kept,)), [huge]) == {}
    hours = pd.DataFrame({"x": pd.to_datetime(["2020-01-31 12:00", "2020-02-01 00:00"])})
    assert io.storage(Schema(columns=(column(role="keep", kind="date"),)), [hours])["x"].sort == "moment"
    assert io.storage(Schema(columns=(column(kind="nominal", decimals=None),)), [halves]) == {}
    with pytest.raises(ValueError, match="not those that its type was chosen for"):
        io.Stored(kept, "whole", pa.int64()).array(halves["x"])


def test_levels_beyond_whole_numbers_are_text():
    levels = column(kind="nominal", role="keep", levels=(1, 2**70), decimals=None)
    frame = pd.DataFrame({"x": [1.0, float(2**70)]})
    assert io.storage(Schema(columns=(levels,)), [frame])["x"].array(frame["x"]).to_pylist() == ["1", str(2**70)]


def test_codes_that_are_no_level_stay(tmp_path):
    """The missing codes of a survey stand between the levels of a kept column in SPSS files."""
    one = column(kind="ordinal", role="keep", levels=(1, 2), decimals=None)
    frame = pd.DataFrame({"x": [1.0, -8.0, 2.0, None]})
    stored = io.storage(Schema(columns=(one,)), [frame])
    assert stored["x"].array(frame["x"]).to_pylist() == [1, -8, 2, None]
    words = column(kind="nominal", role="keep", levels=("a", "b"), decimals=None)
    text = pd.DataFrame({"x": ["a", "z", None]})
    assert io.storage(Schema(columns=(words,)), [text])["x"].array(text["x"]).to_pylist() == ["a", "z", None]


def test_a_long_level_that_nobody_declared_and_no_copy_holds_is_not_told(tmp_path):
    given = {"kind": "nominal", "decimals": None}
    short = stored_schema(pd.Series(["a", "b"]), "sav", tmp_path, levels=("a", "b"), **given)
    longer = stored_schema(pd.Series(["a", "b"]), "sav", tmp_path, levels=("a", "b", "c" * 30), **given)
    assert short == longer


def test_a_missing_cell_does_not_change_the_levels_of_the_codebook():
    without = resolve(pd.DataFrame({"x": [1, 2, 3, 1]}), {"x": Variable(kind="ordinal")})
    gap = resolve(pd.DataFrame({"x": [1, 2, 3, None]}), {"x": Variable(kind="ordinal")})
    texts = [release.codebook(data.schema, [data.frame])["levels"][0] for data in (without, gap)]
    assert texts == ["[1, 2, 3]"] * 2


def test_a_missing_cell_does_not_put_numbers_outside_levels_that_are_text():
    levels = column(kind="nominal", levels=("1", "2", "x"), decimals=None)
    assert codes(pd.Series([1, 2]), levels).tolist() == [0, 1]
    assert codes(pd.Series([1, 2, None]), levels).tolist() == [0, 1, -1]


def test_dp_needs_the_types_of_derived_columns_and_the_form_of_dates(tmp_path):
    config = settings("dp_margins", "none", tmp_path)
    variables = {**config.variables, "twice": Variable(derived="2 * age"), "older": Variable(derived="age > 40")}
    dates = config.data.model_copy(update={"dates": {}})
    config = config.model_copy(update={"variables": variables, "data": dates})
    with pytest.raises(InputError) as caught:
        plan_of(config, Source.of(config).data)
    told = str(caught.value)
    assert told.count("needs the levels of a derived column declared") == 2
    assert "variables.born: a DP method must know how dates are written; name the column in data.dates" in told


def test_text_dates_of_dp_are_written_in_one_form(tmp_path):
    frame = original("none").assign(born=lambda f: pd.to_datetime(f["born"], format="%d.%m.%Y").dt.strftime("%Y-%m-%d"))
    config = settings("dp_margins", "none", tmp_path)
    frame.to_csv(config.data.path, index=False)
    config = config.model_copy(update={"data": config.data.model_copy(update={"dates": {}})})
    made = make(config.synthesis, plan_of(config, Source.of(config).data), streams=Streams(3))
    assert made.copies[0]["born"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()


def test_the_number_of_records_is_said_to_be_public(made, tmp_path):
    folder = published(made, "dp_margins", "none", "csv", tmp_path / "out")
    told = json.loads((folder / "release.json").read_text())
    assert told["records"] == RECORDS
    config = settings("dp_margins", "none", tmp_path)
    private = config.synthesis.model_copy(update={"adjacency": "add_remove"})
    data = Source.of(config).data
    with pytest.raises(InputError, match=r"synthesis\.adjacency: copies have as many records as the original"):
        plan_of(config.model_copy(update={"synthesis": private}), data)
