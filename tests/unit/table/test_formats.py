"""Files as agencies have them: read and written back with their labels, never with a time or a rare label."""

import gzip
import json
import resource
import shutil
import subprocess
import time
from datetime import date

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from synthdp import pipeline
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import OFF
from synthdp.table import io
from synthdp.table.io import memory, text

SECRET = "Zebulon"
SEED = 2**90 + 11
ROWS = 60
NO_LIMITS = OFF.model_dump()


def survey():
    """Return 60 people: age is replaced, the rest kept; 98 and 99 say why an answer is missing."""
    rng = np.random.default_rng(4)
    days = [date(1950, 1, 1).toordinal() + int(d) for d in rng.integers(0, 20000, ROWS)]
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, ROWS),
            "geschlecht_ü": rng.integers(1, 3, ROWS),
            "trust": rng.choice([1.0, 2.0, 3.0, 98.0, 99.0], ROWS),
            "income": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(10, 2, ROWS).round(2)),
            "born": [date.fromordinal(d) for d in days],
            "town": rng.choice(["Zürich", "Genève", "Łódź 😀", ""], ROWS),
        }
    )


LABELS = {
    "column_labels": {"age": "Alter in Jahren", "trust": "Vertrauen – heute", "town": "Wohnort"},
    "variable_value_labels": {
        "geschlecht_ü": {1: "männlich", 2: "weiblich", 3: SECRET},
        "trust": {1: "low", 2: "middle", 3: "high", 98: "weiß nicht", 99: "keine Angabe"},
        "age": {999: SECRET},
    },
}


def write_sav(path, frame):
    pyreadstat.write_sav(
        frame,
        str(path),
        missing_ranges={"trust": [{"lo": 98, "hi": 99}], "age": [999]},
        variable_format={"born": "EDATE10", "trust": "F2.0"},
        variable_measure={"trust": "ordinal"},
        **LABELS,
    )


def write_dta(path, frame):
    letters = frame["trust"].astype(object).mask(frame["trust"] == 98, "a").mask(frame["trust"] == 99, "b")
    values = LABELS["variable_value_labels"]
    trust = {1: "low", 2: "middle", 3: "high", "a": "weiß nicht", "b": "keine Angabe", "c": SECRET}
    days = pd.to_datetime(frame["born"]) - pd.Timestamp("1960-01-01")
    pyreadstat.write_dta(
        frame.assign(trust=letters, born=days.dt.days.astype(float)),
        str(path),
        column_labels=LABELS["column_labels"],
        variable_value_labels=values | {"trust": trust},
        missing_user_values={"trust": ["a", "b", "c"]},
        variable_format={"born": "%tdDD.NN.CCYY", "trust": "%9.0g"},
    )


def config(path, **release):
    return parse(
        {
            "data": {"path": path},
            "variables": {"age": {"role": "replace", "key": True, "bounds": [18, 90]}},
            "masks": {"age": {"method": "gaussian", "scale": 10.0}},
            "synthesis": {"copies": 2},
            "evaluation": {"utility": [], "risk": ["identity"]},
            "release": NO_LIMITS | release,
            "seed": SEED,
        }
    )


WRITERS = {"sav": write_sav, "dta": write_dta}
READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}


@pytest.fixture(scope="module", params=["sav", "dta"])
def released(request, tmp_path_factory):
    """Return the format, the original and the folder of a run that wrote the format that came in."""
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / f"survey.{request.param}"
    WRITERS[request.param](path, survey())
    outcome = pipeline.run(config(path, format="same"), out=folder / "out")
    assert outcome.passed
    return request.param, path, folder / "out" / "public"


def sorted_rows(frame):
    # released rows are shuffled; the kept columns together are an order of their own
    names = ["income", "born", "town", "geschlecht_ü", "trust"]
    return sorted(tuple(map(str, row)) for row in frame[names].itertuples(index=False, name=None))


def test_labels_codes_dates_and_unicode_survive_a_run(released):
    format, path, public = released
    before, about = READERS[format](str(path), user_missing=True)
    after, found = READERS[format](str(public / f"synthetic_01.{format}"), user_missing=True)
    assert list(after.columns) == list(before.columns)
    assert found.column_names_to_labels == about.column_names_to_labels
    assert sorted_rows(after) == sorted_rows(before)
    assert not np.array_equal(np.sort(after["age"]), np.sort(before["age"]))
    for name in ("born", "trust", "income"):
        assert found.original_variable_types[name] == about.original_variable_types[name]
    labels = {name: dict(texts) for name, texts in found.variable_value_labels.items()}
    assert labels["geschlecht_ü"] == {1: "männlich", 2: "weiblich"}
    told = about.variable_value_labels["trust"]
    assert labels["trust"] == {code: text for code, text in told.items() if text != SECRET}
    assert "age" not in labels
    if format == "sav":
        assert found.missing_ranges == {"trust": [{"lo": 98.0, "hi": 99.0}]}
        assert found.variable_measure["trust"] == "ordinal"
        assert (after["trust"] >= 98).sum() == (before["trust"] >= 98).sum() > 0
    else:
        assert found.missing_user_values == {"trust": ["a", "b"]}


def test_no_rare_label_and_no_time_in_public_files(released):
    format, _, public = released
    for path in public.iterdir():
        assert SECRET.encode() not in path.read_bytes()
    _, found = READERS[format](str(public / f"synthetic_01.{format}"))
    assert found.creation_time.isoformat() == "1970-01-01T00:00:00"


def test_the_codebook_has_the_labels(released):
    _, _, public = released
    book = io.read(public / "codebook.csv").set_index("name")
    assert book.loc["age", "label"] == "Alter in Jahren"
    assert json.loads(book.loc["geschlecht_ü", "value_labels"]) == {"1": "männlich", "2": "weiblich"}
    assert pd.isna(book.loc["age", "value_labels"])
    assert "weiß nicht" in book.loc["trust", "value_labels"]


def test_the_same_seed_gives_the_same_bytes_at_another_time(released, tmp_path):
    format, path, public = released
    time.sleep(1.1)
    pipeline.run(config(path, format="same"), out=tmp_path / "again")
    for name in (f"synthetic_01.{format}", f"synthetic_02.{format}", "codebook.csv", "SHA256SUMS"):
        assert (tmp_path / "again" / "public" / name).read_bytes() == (public / name).read_bytes()


def test_the_model_sees_user_missing_as_missing(released):
    _, path, _ = released
    table = io.read_table(path)
    assert table.frame["trust"].max() == 3
    assert table.codes["trust"].notna().sum() == table.frame["trust"].isna().sum() > 0
    assert table.frame["born"].dtype.kind == "M"
    assert str(table.frame["age"].dtype) == "int64"
    assert "60 records" in repr(table)
    assert SECRET not in repr(table) + repr(table.labels)


R_SCRIPT = """
suppressMessages(library(haven))
path <- commandArgs(TRUE)[1]
x <- if (grepl("sav$", path)) read_sav(path, user_na = TRUE) else read_dta(path)
cat(attr(x$trust, "label"), "|", attr(x$age, "label"), "\n")
cat(names(attr(x$trust, "labels")), "\n")
cat(names(attr(x[["geschlecht_ü"]], "labels")), "\n")
cat(class(x$born), sum(is.na(x$trust)), "\n")
cat(attr(x$trust, "na_range"), na.omit(unique(sort(na_tag(x$trust)))), "\n")
cat(sort(unique(x$town)), "\n")
"""


def r_has_haven():
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(haven)"], capture_output=True, check=False).returncode == 0


def test_r_reads_labels_and_codes(released, tmp_path):
    if not r_has_haven():
        pytest.skip("R with the package haven is not installed")
    format, path, public = released
    script = tmp_path / "read.R"
    script.write_text(R_SCRIPT, encoding="utf-8")
    command = ["Rscript", "--vanilla", str(script), str(public / f"synthetic_01.{format}")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    coded = io.read_table(path).codes["trust"].notna().sum()
    assert lines[0] == "Vertrauen – heute | Alter in Jahren"
    assert lines[1] == "low middle high weiß nicht keine Angabe"
    assert lines[2] == "männlich weiblich"
    assert lines[3] == f"Date {coded}"
    assert lines[4] == ("98 99" if format == "sav" else "a b")
    assert set(lines[5].split()) == {"Zürich", "Genève", "Łódź", "😀"}


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "feather", "xpt"])
def test_other_formats_say_missing_where_they_cannot_say_why(tmp_path, format):
    write_sav(tmp_path / "s.sav", survey().rename(columns={"geschlecht_ü": "sex"}))
    pipeline.run(config(tmp_path / "s.sav", format=format), out=tmp_path / "out")
    found = io.read(tmp_path / "out" / "public" / f"synthetic_01.{format}")
    assert found["trust"].max() == 3
    assert set(found["town"].dropna()) == {"Zürich", "Genève", "Łódź 😀"}
    assert "weiß nicht" not in (tmp_path / "out" / "public" / "codebook.csv").read_text()


def test_user_missing_values_in_a_replaced_column_are_refused(tmp_path):
    frame = survey().assign(age=[999, *survey()["age"][1:]])
    write_sav(tmp_path / "s.sav", frame)
    with pytest.raises(InputError, match=r"variables\.age: .*found 1 missing"):
        pipeline.check(config(tmp_path / "s.sav"))


def test_a_declared_level_keeps_its_label_though_nobody_has_it(tmp_path):
    write_sav(tmp_path / "s.sav", survey())
    raw = config(tmp_path / "s.sav", format="sav").model_dump()
    raw["variables"]["geschlecht_ü"] = {"levels": [1, 2, 3]}
    pipeline.run(parse(raw), out=tmp_path / "out")
    _, found = pyreadstat.read_sav(str(tmp_path / "out" / "public" / "synthetic_01.sav"))
    assert found.variable_value_labels["geschlecht_ü"][3] == SECRET


def test_sas_data_files_are_read_and_come_out_as_transport_files(tmp_path):
    if not r_has_haven():
        pytest.skip("R with the package haven is not installed")
    frame = survey()[["age", "income", "born"]].assign(sex=["f", "m"] * (ROWS // 2))
    frame.to_csv(tmp_path / "s.csv", index=False)
    code = f'x <- read.csv("{tmp_path}/s.csv"); x$born <- as.Date(x$born); '
    code += f'suppressWarnings(haven::write_sas(x, "{tmp_path}/s.sas7bdat"))'
    subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)
    original = io.read(tmp_path / "s.sas7bdat")
    assert original["born"].tolist() == pd.to_datetime(frame["born"]).tolist()
    settings = config(tmp_path / "s.sas7bdat", format="same")
    assert any("SAS transport files" in message for message in pipeline.check(settings).messages)
    pipeline.run(settings, out=tmp_path / "out")
    found = io.read(tmp_path / "out" / "public" / "synthetic_01.xpt")
    assert sorted(found["born"]) == sorted(original["born"])
    assert sorted(found["sex"]) == sorted(original["sex"])


def test_compressed_spss_files_are_as_the_plain_ones_and_come_out_plain(tmp_path):
    write_sav(tmp_path / "plain.sav", survey())
    pyreadstat.write_sav(
        survey(),
        str(tmp_path / "s.zsav"),
        compress=True,
        missing_ranges={"trust": [{"lo": 98, "hi": 99}], "age": [999]},
        variable_format={"born": "EDATE10", "trust": "F2.0"},
        variable_measure={"trust": "ordinal"},
        **LABELS,
    )
    plain, found = io.read_table(tmp_path / "plain.sav"), io.read_table(tmp_path / "s.zsav")
    pd.testing.assert_frame_equal(found.frame, plain.frame, check_exact=True)
    assert found.labels == plain.labels
    assert found.codes["trust"].equals(plain.codes["trust"])
    pipeline.run(config(tmp_path / "s.zsav", format="same"), out=tmp_path / "out")
    after, about = pyreadstat.read_sav(str(tmp_path / "out" / "public" / "synthetic_01.sav"), user_missing=True)
    assert (after["trust"] >= 98).sum() == found.codes["trust"].notna().sum() > 0
    assert about.missing_ranges == {"trust": [{"lo": 98.0, "hi": 99.0}]}
    assert about.variable_value_labels["trust"] == LABELS["variable_value_labels"]["trust"]


def test_portable_spss_files_are_read_with_their_labels_and_come_out_as_sav(tmp_path):
    frame = survey().rename(columns={"geschlecht_ü": "sex"}).drop(columns="born")
    frame["town"] = frame["town"].map({"Zürich": "Zuerich", "Genève": "Geneve"}).fillna("")
    frame["trust"] = frame["trust"].where(frame["trust"] < 98)
    frame.columns = frame.columns.str.upper()  # as these files have it
    labels = {"AGE": "Age in years"}
    pyreadstat.write_por(frame, str(tmp_path / "s.por"), column_labels=labels)
    found = io.read_table(tmp_path / "s.por")
    wanted = frame.assign(AGE=frame["AGE"].astype("int64"), TOWN=frame["TOWN"].where(frame["TOWN"] != ""))
    pd.testing.assert_frame_equal(found.frame, wanted, check_dtype=False, check_exact=False, rtol=1e-12)
    assert found.labels.variables == labels
    raw = config(tmp_path / "s.por", format="same").model_dump()
    raw["variables"] = {"AGE": {"role": "replace", "key": True, "bounds": [18, 90]}, "TOWN": {"role": "drop"}}
    raw["masks"] = {"AGE": {"method": "gaussian", "scale": 10.0}}
    pipeline.run(parse(raw), out=tmp_path / "out")
    after, about = pyreadstat.read_sav(str(tmp_path / "out" / "public" / "synthetic_01.sav"))
    assert list(after.columns) == ["AGE", "SEX", "TRUST", "INCOME"]
    assert sorted(after["SEX"]) == sorted(frame["SEX"])
    assert about.column_names_to_labels["AGE"] == "Age in years"


# text files in other dialects


def written(tmp_path, text, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize(
    ("name", "separator"), [("t.tsv", "\t"), ("t.csv.gz", ","), ("t.TSV.GZ", "\t"), ("t.csv", ",")]
)
def test_tabs_and_gzip(tmp_path, name, separator):
    path = written(tmp_path, f"a{separator}b\n1{separator}x\n2{separator}y\n", name.lower())
    assert io.read(path).to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_semicolons_decimal_commas_and_dates(tmp_path):
    path = written(tmp_path, "größe;wann;code\n1,5;31.01.2020;1.234,5\n-2;;1\n", encoding="windows-1252")
    dialect = io.Dialect(encoding="windows-1252", decimal=",", separator=";", dates={"wann": "%d.%m.%Y"})
    found = io.read(path, dialect)
    assert found["größe"].tolist() == [1.5, -2.0]
    assert found["wann"].tolist()[0] == pd.Timestamp(2020, 1, 31)
    assert found["code"].tolist() == ["1.234,5", "1"]


def test_dates_that_are_numbers_and_utf16(tmp_path):
    path = written(tmp_path, "d,x\n20200131,1\n,2\n", encoding="utf-16")
    found = io.read(path, io.Dialect(encoding="utf-16", dates={"d": "%Y%m%d"}))
    assert found["d"].tolist()[0] == pd.Timestamp(2020, 1, 31)


@pytest.mark.parametrize(
    ("text", "name", "dialect", "words"),
    [
        ("a;b\n1;2\n", "t.csv", {}, "look ';' separated, so set data.separator: \";\""),
        ("a\tb\n1\t2\n", "t.csv", {}, 'so set data.separator: "\\t"'),
        ("a,b\n1,2\n", "t.tsv", {}, "not separated by tabs"),
        ("a b\n1 2\n", "t.txt", {}, "does not say how its values are separated; set data.separator"),
        (
            f"a;b\n1,5;{SECRET}\n2;x\n",
            "t.csv",
            {"separator": ";"},
            "column 'a' looks like numbers with a decimal comma",
        ),
        (f"a,b\n{SECRET},1\n", "t.csv", {"dates": {"a": "%Y"}}, "1 values do not have the form %Y; first at row 1"),
        ("a,b\n1,1\n", "t.csv", {"dates": {"a": "%Q"}}, "is not a form that strptime knows"),
        ("a,b\n1,1\n", "t.csv", {"dates": {"c": "%Y"}}, "data.dates.c: no such column"),
        ("a,b\nä,1\n", "t.csv", {"encoding": "ascii"}, "line 2 is not ascii; set data.encoding"),
        ("", "t.csv.gz", {}, "the file is empty"),
        ("", "t.sav", {}, "the file is empty"),
        (SECRET, "t.sav", {}, "not in SPSS format, or it is cut off"),
        (SECRET, "t.dta", {}, "not in Stata format, or it is cut off"),
        (SECRET, "t.sas7bdat", {}, "not in SAS format, or it is cut off"),
        (SECRET, "t.feather", {}, "not Feather, or it is cut off"),
    ],
)
def test_what_to_set_or_to_mend(tmp_path, text, name, dialect, words):
    with pytest.raises(InputError) as caught:
        io.read(written(tmp_path, text, name), io.Dialect(**dialect))
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


def test_gzip_that_is_none_or_cut_off_and_files_that_are_not_there(tmp_path):
    (tmp_path / "t.csv.gz").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not gzip, or it is cut off"):
        io.read(tmp_path / "t.csv.gz")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:-10])
    with pytest.raises(InputError, match="not gzip, or it is cut off"):
        io.read(tmp_path / "cut.csv.gz")
    for name in ("absent.sav", "absent.csv.gz"):
        with pytest.raises(InputError, match="no such file"):
            io.read(tmp_path / name)


def test_a_wrong_encoding_inside_a_file_is_named(tmp_path):
    pyreadstat.write_sav(pd.DataFrame({"town": ["Zürich"]}), str(tmp_path / "t.sav"))
    (tmp_path / "t.sav").write_bytes((tmp_path / "t.sav").read_bytes().replace("ü".encode(), b"\xfc "))
    with pytest.raises(InputError, match=r"set data\.encoding"):
        io.read(tmp_path / "t.sav")


# memory


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.sav"])
def test_a_file_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    frame = pd.DataFrame({"a": np.arange(1000), "b": np.arange(1000)})
    format = io.format_like(tmp_path / name)
    data = io.encode(frame, format=format)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    monkeypatch.setattr(memory, "available", lambda: 5000)
    with pytest.raises(InputError, match=r"too large for the memory .* kB free\); set role: drop"):
        io.read(tmp_path / name)


def test_many_short_values_need_more_than_the_file_takes(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b,c\n" + "1,2,3\n" * 1000)
    monkeypatch.setattr(memory, "available", lambda: 20_000)
    with pytest.raises(InputError, match="too large for the memory"):
        io.read(path)


def test_memory_that_runs_out_all_the_same(tmp_path, monkeypatch):
    def fail(*_args, **_settings):
        raise MemoryError(SECRET)

    monkeypatch.setattr(text, "read_delimited", fail)
    with pytest.raises(InputError, match="too large for the memory of this machine; set role: drop for columns"):
        io.read(written(tmp_path, "a,b\n1,2\n"))


def test_what_the_system_says_about_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    monkeypatch.setattr(memory, "OWN_CGROUPS", tmp_path / "own")
    assert memory.available() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 5 kB\n")
    assert memory.available() == 5120
    (tmp_path / "memory.max").write_text("4000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert memory.available() == 3000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() == 5120


@pytest.mark.parametrize(
    ("line", "folder", "limit", "used", "cached"),
    [
        ("0::/a/b", "a", "memory.max", "memory.current", "inactive_file"),
        ("4:memory:/a/b", "memory/a/b", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_limits_of_the_control_groups_around_a_process(tmp_path, monkeypatch, line, folder, limit, used, cached):
    for name in ("MEMINFO", "OWN_CGROUPS"):
        monkeypatch.setattr(memory, name, tmp_path / name)
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    (tmp_path / "OWN_CGROUPS").write_text(f"9:cpu:/x\n{line}\n")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / limit).write_text("9000\n")
    (tmp_path / folder / used).write_text("7000\n")
    assert memory.available() == 2000
    # what files left in the cache is given back when it is needed
    (tmp_path / folder / "memory.stat").write_text(f"rss 1\n{cached} 500\n")
    assert memory.available() == 2500
    (tmp_path / folder / limit).write_text(str(2**63 - 4096))
    assert memory.available() is None


def test_a_limit_of_address_space_counts_what_is_used_already(tmp_path, monkeypatch):
    for name in ("MEMINFO", "OWN_CGROUPS", "CGROUP", "STATM"):
        monkeypatch.setattr(memory, name, tmp_path / name)
    monkeypatch.setattr("resource.getrlimit", lambda _which: (10 * resource.getpagesize(), -1))
    assert memory.available() is None
    (tmp_path / "STATM").write_text("4 3 2 1 0 0 0\n")
    assert memory.available() == 6 * resource.getpagesize()
    (tmp_path / "STATM").write_text("40 3 2 1 0 0 0\n")
    assert memory.available() == 0


def test_memory_that_was_given_back_counts_as_free(monkeypatch):
    free = iter([100, 300, 300, 300])
    monkeypatch.setattr(memory, "available", lambda: next(free))
    assert memory.fits(200)
    assert memory.fits(200)


# names and values that a format cannot hold


@pytest.mark.parametrize(
    ("format", "names", "count"),
    [
        ("dta", ["a b", "1a", "x" * 33, "_n", "größe"], 4),
        ("sav", ["a b", "_a", "ä" * 33, "With", "größe.x"], 4),
        ("sav", ["Age", "age"], 1),
        ("xpt", ["größe", "x" * 33, "ok_1"], 2),
        ("csv", ["a b", "", "größe"], 0),
    ],
)
def test_names_a_format_does_not_allow(format, names, count):
    assert len(io.FORMATS[format].refuses(names)) == count


def test_a_name_that_cannot_be_written_is_said_before_the_run(tmp_path):
    path = written(tmp_path, survey().rename(columns={"trust": "trust in"}).to_csv(index=False))
    with pytest.raises(InputError, match=r"release\.format: dta does not allow the column name 'trust in'"):
        pipeline.check(config(path, format="dta"))


@pytest.mark.parametrize("format", ["sav", "dta", "xpt"])
def test_values_of_every_type_survive(tmp_path, format):
    frame = pd.DataFrame(
        {
            "yes": [True, False, True],
            "maybe": pd.Series([True, None, False], dtype=object),
            "big": [2**60 + 1, 1, 2],
            "none": [np.nan] * 3,
            "when": pd.to_datetime(["2020-01-01 10:11:12", None, "1950-06-01 00:00:00"]),
            "zone": pd.to_datetime(["2020-01-01", "2020-07-01", None]).tz_localize("Europe/Zurich"),
            "cat": pd.Categorical(["b", None, "a"], categories=["a", "b", SECRET]),
        }
    )
    io.write(frame, tmp_path / f"t.{format}", format=format)
    assert SECRET.encode() not in (tmp_path / f"t.{format}").read_bytes()
    found = io.read(tmp_path / f"t.{format}")
    assert found["yes"].tolist() == [1, 0, 1]
    assert found["maybe"].tolist()[::2] == [1, 0]
    assert found["big"].tolist()[0] == str(2**60 + 1)
    assert found["none"].isna().all()
    assert found["when"].tolist()[0] == pd.Timestamp("2020-01-01 10:11:12")
    assert found["zone"].tolist()[1] == pd.Timestamp("2020-07-01")
    assert found["cat"].tolist()[::2] == ["b", "a"]


@pytest.mark.parametrize("format", ["sav", "dta", "xpt"])
def test_infinite_numbers_are_refused(format):
    with pytest.raises(InputError, match=f"{format} cannot hold the infinite numbers of x"):
        io.encode(pd.DataFrame({"x": [1.0, np.inf]}), format=format)
