"""Records are coded once: what missing and foreign values are, when a coding is kept, and when it is made anew."""

import gc
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.table import coded as module
from synthdp.table.coded import coded, dense, distinct, joint, merge, same, still
from synthdp.table.links import Link, working
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column

TEXT = Column(name="x", kind="nominal", role="keep", key=True, levels=("a", "b"))
NUMBER = Column(name="x", kind="continuous", role="keep", key=True)
DATE = Column(name="x", kind="date", role="keep", key=True)


def table(values: Any, dtype: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=dtype)})


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string[python]"])
def test_missing_and_foreign_are_what_the_caller_says(dtype: str) -> None:
    file = coded(table(["b", None, "c", "a"], dtype))
    assert file.codes(TEXT).tolist() == [1, -1, -1, 0]
    assert file.codes(TEXT, missing=2, foreign=3).tolist() == [1, 2, 3, 0]
    assert file.codes(TEXT, foreign=2).tolist() == [1, -1, 2, 0]
    assert file.codes(TEXT, missing=7).tolist() == [1, 7, -1, 0]
    assert file.present("x").tolist() == [True, False, True, True]
    np.testing.assert_array_equal(file.values(TEXT), [1, np.nan, np.nan, 0])


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "str"])
def test_whole_numbers_are_levels_in_every_type(dtype: str) -> None:
    column = TEXT.model_copy(update={"levels": (1, 2)})
    assert coded(table([2, 1, 3], dtype)).codes(column, foreign=5).tolist() == [1, 0, 5]


@pytest.mark.parametrize("levels", [1, 126, 127, 128, 32_766, 32_767, 40_000])
def test_many_levels_are_not_cut_off(levels: int) -> None:
    column = TEXT.model_copy(update={"levels": tuple(range(levels))})
    found = coded(table([levels - 1, levels, None], "Int64"))
    assert found.codes(column, missing=-3, foreign=levels).tolist() == [levels - 1, levels, -3]


def test_numbers_and_dates() -> None:
    file = coded(table([1.5, None, np.inf]))
    np.testing.assert_array_equal(file.numbers(NUMBER), [1.5, np.nan, np.inf])
    np.testing.assert_array_equal(file.finite(NUMBER), [1.5, np.nan, np.nan])
    np.testing.assert_array_equal(coded(table([3, 4])).values(NUMBER), [3.0, 4.0])
    dates = coded(table(pd.to_datetime(["1970-01-03", None])))
    np.testing.assert_array_equal(dates.numbers(DATE), [2.0, np.nan])
    with pytest.raises(TypeError, match="dates are no numbers"):
        dates.numbers(NUMBER)
    with pytest.raises(TypeError, match="numbers are no dates"):
        file.numbers(DATE)


def test_some_rows() -> None:
    rows = np.array([2, 0])
    some = coded(table(["b", None, "c"])).take(rows)
    assert (len(some), repr(some)) == (2, "Coded(2 records)")
    assert some.codes(TEXT, foreign=2).tolist() == [2, 1]
    assert some.present("x").tolist() == [True, True]
    assert some.take(np.array([1])).codes(TEXT).tolist() == [1]
    assert coded(table([1.0, 2.0, 3.0])).take(rows).numbers(NUMBER).tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [(["a", "b", None], "str"), (["a", "b", None], "object"), ([1, 2, 3], "int64"), ([1.0, None, 2.0], "float64")],
)
def test_a_column_is_coded_once_for_all_frames_that_share_it(
    values: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table(values, dtype).assign(other=[1.0, 2.0, 3.0])
    copy = frame.assign(other=[4.0, 5.0, 6.0])
    first = coded(frame).codes(TEXT)

    def refuse(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(module, "_positions", refuse)
    np.testing.assert_array_equal(coded(frame).codes(TEXT), first)
    np.testing.assert_array_equal(coded(copy).codes(TEXT), first)
    with pytest.raises(AssertionError):
        coded(frame).codes(TEXT.model_copy(update={"levels": ("b", "a")}))
    with pytest.raises(AssertionError):  # equal to 1, but another type
        coded(frame).codes(TEXT.model_copy(update={"levels": (True, False)}))


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string[python]"])
def test_a_changed_column_is_coded_anew(dtype: str) -> None:
    frame = table(["a", "b", "a"], dtype)
    before = frame.copy(deep=False)
    assert coded(frame).codes(TEXT).tolist() == coded(before).codes(TEXT).tolist() == [0, 1, 0]
    frame.loc[0, "x"] = "b"
    assert coded(frame).codes(TEXT).tolist() == [1, 1, 0]
    assert coded(before).codes(TEXT).tolist() == [0, 1, 0]
    frame["x"] = ["b", "b", "b"]
    assert coded(frame).codes(TEXT).tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float64", "int64", "Int64", "datetime64[us]", "datetime64[us, UTC]"])
def test_changed_numbers_are_read_anew(dtype: str) -> None:
    column = DATE if dtype.startswith("date") else NUMBER
    frame = table([1, 2, 3]).astype(dtype)
    before = coded(frame).numbers(column).copy()
    for value in (5, 6):  # twice: memory that was given back may be used again
        frame.iloc[0, 0] = frame.iloc[1, 0] if column is DATE else value
        assert coded(frame).numbers(column)[0] == (before[1] if column is DATE else value)


def test_what_is_shared_cannot_be_written_to_and_what_is_not_can() -> None:
    file = coded(table([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        file.numbers(NUMBER)[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        file.present("x")[0] = False
    levels = coded(table(["a", "b"])).codes(TEXT)
    levels[0] = 5
    assert coded(table(["a", "b"])).codes(TEXT).tolist() == [0, 1]


def test_nothing_outlives_its_frame() -> None:
    gc.collect()
    kept, shared = len(module._KEPT), len(module._SHARED)
    frame = table(["a", "b"])
    copy = frame.assign(y=1)
    coded(frame).codes(TEXT)
    coded(copy).codes(TEXT)
    assert (len(module._KEPT), len(module._SHARED)) == (kept + 2, shared + 1)
    del frame
    gc.collect()
    assert (len(module._KEPT), len(module._SHARED)) == (kept + 1, shared + 1)
    del copy
    gc.collect()
    assert (len(module._KEPT), len(module._SHARED)) == (kept, shared)


def test_combinations_are_numbered_as_they_occur() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    pairs = list(zip(one, other, strict=True))
    wanted = [list(dict.fromkeys(pairs)).index(pair) for pair in pairs]
    assert merge(one, other).tolist() == joint([one, other]).tolist() == wanted
    assert merge(one[:0], other[:0]).tolist() == []
    assert dense(np.array([[7, 2], [2, 5]])).tolist() == [[2, 0], [0, 1]]
    gaps = np.array([np.nan, 3.0, np.nan, 1.0])
    assert distinct(gaps).tolist() == [0, 1, 0, 2]
    assert distinct(gaps, missing="none").tolist() == [-1, 0, -1, 1]
    assert same(gaps, np.array([np.nan, 3.0, 1.0, 2.0])).tolist() == [True, True, False, False]


def test_the_working_scale() -> None:
    data = resolve(pd.DataFrame({"x": [1.0, 3.0, None], "sex": ["F", None, "M"]}), {})
    link = Link.of(data, "x")
    np.testing.assert_array_equal(working(data.coded, data.schema["x"], link), [-1.0, 1.0, np.nan])
    np.testing.assert_array_equal(working(data.coded, data.schema["sex"], None), data.values("sex"))
    np.testing.assert_array_equal(data.values("sex"), [0.0, np.nan, 1.0])


def test_frames_that_stay_as_they_are_are_not_looked_at_again():
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    column = Column(name="x", kind="continuous", role="keep", key=False)
    before = coded(frame).numbers(column)
    with still([frame]), still([frame]):
        frame["x"] = [3.0, 4.0]
        assert coded(frame).numbers(column) is before  # a promise that was broken
    assert coded(frame).numbers(column).tolist() == [3.0, 4.0]
