"""How large a table is, told without reading it."""

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from synthdp.errors import InputError
from synthdp.table.io.labels import Dialect
from synthdp.table.io.sizing import SAMPLE, SAMPLES, size_of

PLAIN = Dialect()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    numbers = {f"x{j}": np.round(rng.normal(size=150_000), 4) for j in range(6)}
    return pd.DataFrame(numbers | {"word": rng.choice(["a", "a longer one"], 150_000)})


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.dta", "t.sav"])
def test_metadata_are_exact(name, frame, tmp_path):
    path, few = tmp_path / name, frame.head(1_000)
    writers = {"parquet": few.to_parquet, "feather": few.to_feather}
    if name == "t.dta":
        few.to_stata(path, write_index=False)
    elif name == "t.sav":
        pyreadstat.write_sav(few, path)
    else:
        writers[name[2:]](path)
    found = size_of(path, PLAIN, drop=["x0", "absent"])
    assert (found.records, found.exact, found.stored) == (1_000, True, path.stat().st_size)
    assert found.columns == ("x1", "x2", "x3", "x4", "x5", "word")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_text_is_told_from_samples_within_two_per_cent(name, frame, tmp_path):
    path = tmp_path / name
    frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    assert frame.shape[0] * 40 > SAMPLE * SAMPLES  # a larger file than its samples
    found = size_of(path, PLAIN)
    assert found.records == pytest.approx(len(frame), rel=0.02)
    assert found.columns == tuple(frame.columns)
    assert not found.exact


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_short_text_is_counted(name, frame, tmp_path):
    path = tmp_path / name
    frame.head(70).to_csv(path, index=True, sep=";")
    found = size_of(path, Dialect(separator=";", row_names=True), drop=["word"])
    assert (found.records, found.columns) == (70, tuple(frame.columns[:-1]))


def test_lines_of_uneven_length_are_sampled_over_the_whole_file(tmp_path):
    path = tmp_path / "t.csv"
    rows = np.arange(400_000)
    path.write_text("a,b\n" + "\n".join(f"{row},{'x' * (1 + row // 20_000)}" for row in rows) + "\n")
    assert size_of(path, PLAIN).records == pytest.approx(len(rows), rel=0.03)


def test_what_a_format_does_not_tell_is_not_guessed(frame, tmp_path):
    pyreadstat.write_xport(frame.head(10), tmp_path / "t.xpt")
    (tmp_path / "t.other").write_text("x")
    assert size_of(tmp_path / "t.xpt", PLAIN) is None
    assert size_of(tmp_path / "t.other", PLAIN) is None


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.dta", "t.csv.gz"])
def test_a_file_that_is_none_is_named(name, tmp_path):
    (tmp_path / name).write_text("neither\n")
    with pytest.raises(InputError, match=r"t\.\S+: cannot be read as a \.\S+ file; the name must end in"):
        size_of(tmp_path / name, PLAIN)
    with pytest.raises(InputError, match="absent"):
        size_of(tmp_path / f"absent{name}", PLAIN)
