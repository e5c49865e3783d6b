"""Every sort of column is understood or refused in a sentence that holds no value of the data."""

import datetime
import decimal
import time

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.imputation.cells import write
from synthdp.table.microdata import Microdata, codes, decode, numbers, resolve
from synthdp.table.schema import Column, Kind, Role, Schema, Variable

SECRET = "Zebulon"
CONSTANT = "a constant column cannot be replaced; set role: keep or drop."
NO_NUMBERS = "continuous needs numbers, found values that are not."
NO_DATES = (
    "date needs dates, found values that are not; write them as 2020-01-31, or say in data.dates how they are written."
)
BEYOND = (
    "continuous needs numbers up to 1e+75, found 1 beyond; first at row 3. Where they stand for missing values, "
    "name them in data.missing_codes."
)
INFINITE = "continuous needs finite numbers, found 1 other values; first at row 2."
OUTSIDE_LEVELS = "2 values outside the levels; first at row 2. Add them to levels, or recode."
OUTSIDE_BOUNDS = "2 values outside the bounds; first at row 2. Widen the bounds, or recode."
DAYS = pd.to_datetime(["2020-01-01", "2020-01-05", "2021-07-01"])


def column(values, variable=None, **settings):
    """Resolve a table of one column."""
    frame = pd.DataFrame({"x": values if isinstance(values, pd.Series) else pd.Series(values, **settings)})
    return resolve(frame, {"x": variable} if variable is not None else {})


def refusal(values, variable=None, **settings):
    with pytest.raises(InputError) as caught:
        column(values, variable, **settings)
    assert SECRET not in str(caught.value)
    (sentence,) = caught.value.problems
    return sentence.removeprefix("variables.x: ")


@pytest.mark.parametrize(
    ("values", "dtype", "kind", "levels"),
    [
        ([True, False, True], None, Kind.BINARY, (False, True)),
        ([True, True, True], None, Kind.NOMINAL, (True,)),
        ([True, None, False], "boolean", Kind.BINARY, (False, True)),
        ([3, 1, 2], None, Kind.CONTINUOUS, ()),
        ([3, 1, 3], None, Kind.BINARY, (1, 3)),
        ([3, None, 1], "Int64", Kind.BINARY, (1, 3)),
        ([3, None, 1, 2], "Int64", Kind.CONTINUOUS, ()),
        ([0.5, 1.5, np.nan], None, Kind.BINARY, (0.5, 1.5)),
        ([0.5, 1.5, 2.5], None, Kind.CONTINUOUS, ()),
        ([7, 7, 7], None, Kind.CONTINUOUS, ()),
        (["b", "a", None], None, Kind.BINARY, ("a", "b")),
        (["b", "a", "c"], None, Kind.NOMINAL, ("a", "b", "c")),
        (["b", "b"], None, Kind.NOMINAL, ("b",)),
        (pd.Categorical(["mid", "low"], categories=["low", "mid", "high"]), None, Kind.NOMINAL, ("low", "mid", "high")),
        (pd.Categorical([2, 1, 2]), None, Kind.BINARY, (1, 2)),
        (DAYS, None, Kind.DATE, ()),
        (DAYS[:2], None, Kind.DATE, ()),
        (DAYS.tz_localize("Europe/Berlin"), None, Kind.DATE, ()),
        (
            pd.to_timedelta([2, 1, 3], unit="D"),
            None,
            Kind.NOMINAL,
            ("1 days 00:00:00", "2 days 00:00:00", "3 days 00:00:00"),
        ),
        ([1, "a", 2.5], object, Kind.NOMINAL, (1, 2.5, "a")),
        ([np.int64(4), "a", np.float64(2.5)], object, Kind.NOMINAL, (2.5, 4, "a")),
        ([decimal.Decimal("1.5"), decimal.Decimal("0.5")], object, Kind.BINARY, ("0.5", "1.5")),
        ([datetime.date(2021, 1, 1), datetime.date(2020, 1, 1)], object, Kind.BINARY, ("2020-01-01", "2021-01-01")),
        ([np.nan, np.nan], None, Kind.CONTINUOUS, ()),
        ([None, None], object, Kind.NOMINAL, ()),
        ([None, None], "str", Kind.NOMINAL, ()),
        ([None, None], "datetime64[us]", Kind.DATE, ()),
    ],
)
def test_the_kind_is_inferred(values, dtype, kind, levels):
    data = column(pd.Series(values, dtype=dtype))
    found = data.schema["x"]
    assert (found.kind, found.levels) == (kind, levels)
    assert [type(level) for level in found.levels] == [type(level) for level in levels]
    missing = data.frame["x"].isna().to_numpy()
    if kind.categorical:
        positions = data.codes("x")
        assert positions.dtype == np.int64
        assert ((positions == -1) == missing).all()
        assert [levels[i] for i in positions if i >= 0] == [
            value if value in levels else str(value) for value in data.frame["x"].dropna()
        ]
    else:
        assert data.numbers("x").dtype == np.float64
        assert (np.isnan(data.numbers("x")) == missing).all()


@pytest.mark.parametrize(
    ("values", "variable", "kind"),
    [
        ([0.5, 1.5, 0.5], Variable(bounds=(0, 2)), Kind.CONTINUOUS),
        ([0.5, 1.5, 0.5], Variable(tolerance=1), Kind.CONTINUOUS),
        ([0, 1, 0], Variable(bounds_from="data"), Kind.CONTINUOUS),
        ([0, 1, 0], Variable(decimals=0), Kind.CONTINUOUS),
        ([1, 2, 3], Variable(levels=(3, 2, 1)), Kind.NOMINAL),
        ([1, 2, 2], Variable(levels=(2, 1)), Kind.BINARY),
        (["a", "b", "b"], Variable(levels=("a", "b", "c")), Kind.NOMINAL),
        (DAYS, Variable(levels=tuple(map(str, DAYS))), Kind.NOMINAL),
        (DAYS, Variable(kind="ordinal"), Kind.ORDINAL),
        (DAYS[:2], Variable(kind="binary"), Kind.BINARY),
        (["2020-01-01", "2020-03-01"], Variable(kind="date"), Kind.DATE),
        (["1", "2", "4"], Variable(kind="count"), Kind.COUNT),
        (pd.Categorical([1, 2, 4]), Variable(kind="continuous"), Kind.CONTINUOUS),
        ([True, False], Variable(kind="continuous"), Kind.CONTINUOUS),
        ([decimal.Decimal("1.5"), decimal.Decimal("2")], Variable(kind="continuous"), Kind.CONTINUOUS),
        ([None, None], Variable(levels=("a", "b")), Kind.BINARY),
    ],
)
def test_what_is_declared_decides(values, variable, kind):
    data = column(values, variable)
    assert data.schema["x"].kind is kind
    if kind.categorical and variable.levels is not None:
        assert data.schema["x"].levels == variable.levels


def test_dates_are_days_since_1970_on_the_wall_clock():
    expected = [18262.0, 18266.0, 18809.0]
    assert column(DAYS).numbers("x").tolist() == expected
    assert column(DAYS.tz_localize("America/New_York")).numbers("x").tolist() == expected
    assert (
        column(DAYS.strftime("%Y-%m-%d").to_series(index=range(3)), Variable(kind="date")).numbers("x").tolist()
        == expected
    )
    # the moment a file was written often stands among plain dates, with a time and fractions
    mixed = pd.Series(["2020-01-01", "2020-01-05 00:00:00", "2021-07-01 00:00:00.000000"])
    assert column(mixed, Variable(kind="date")).numbers("x").tolist() == expected
    open_end = pd.Series(["2020-01-01", "9999-12-31", "1600-02-29"])
    assert column(open_end, Variable(kind="date")).numbers("x").tolist() == [18262.0, 2932896.0, -135081.0]
    gap = column([DAYS[0], None, DAYS[1]])
    assert np.isnan(gap.numbers("x")[1])
    with pytest.raises(TypeError, match="dates are no numbers"):
        numbers(pd.Series(DAYS), Column(name="x", kind="continuous", role="keep", key=False))


def test_a_few_text_dates_are_read_as_the_whole_file_writes_them():
    texts = pd.Series(["03/02/2020", "31/01/2020", None, "02/01/2020"])
    data = column(texts, Variable(kind="date"))
    assert data.schema["x"].form == "%d/%m/%Y"
    few = texts.iloc[[0, 3]]  # either could begin with the month
    assert numbers(few, data.schema["x"]).tolist() == [18295.0, 18263.0]
    # another tool may write the same column as ISO 8601 has it
    assert numbers(pd.Series(["2020-02-03"]), data.schema["x"]).tolist() == [18295.0]
    assert write(np.array([18263.0, 18295.0]), data.schema["x"], few).tolist() == ["02/01/2020", "03/02/2020"]
    assert column(pd.Series(["2020-02-03"] * 2), Variable(kind="date", role="keep")).schema["x"].form is None


def test_what_is_left_out_is_filled_in():
    frame = pd.DataFrame({"age": [20.5, 30.0, np.nan, 45.0], "fine": [0.1234567, 0.2, 0.3, 0.4]})
    data = resolve(frame, {"age": Variable(role="replace", key=True, bounds_from="data")})
    age = data.schema["age"]
    assert age.tolerance == pytest.approx(0.1 * np.std([20.5, 30.0, 45.0]), rel=1e-12)
    assert age.tolerance_default
    assert (age.decimals, age.bounds, age.bounds_public) == (1, (20.5, 45.0), False)
    assert data.schema["fine"].decimals is None
    years = resolve(pd.DataFrame({"year": [68, 69, 70, 71] * 9}), {"year": Variable(kind="continuous")}).schema["year"]
    assert years.tolerance == 0.5
    given = resolve(frame, {"age": Variable(bounds=(0, 90), tolerance=3, decimals=2)}).schema["age"]
    assert (given.tolerance, given.tolerance_default, given.decimals, given.bounds_public) == (3, False, 2, True)


def test_the_schema_is_asked_by_name_and_role():
    frame = pd.DataFrame({"id": [1, 2, 3], "größe 身長": [1.5, 1.7, 1.8], "sex": ["F", "M", "F"]}, index=[7, 8, 9])
    data = resolve(frame, {"id": Variable(role="drop"), "größe 身長": Variable(role="replace", key=True)})
    assert data.schema.names() == ("größe 身長", "sex")
    assert [c.name for c in data.schema.replaced()] == ["größe 身長"]
    assert [c.name for c in data.schema.kept()] == ["sex"]
    assert [c.name for c in data.schema.keys()] == ["größe 身長"]
    assert "sex" in data.schema
    assert "id" not in data.schema
    with pytest.raises(KeyError):
        data.schema["id"]
    assert data.frame.index.tolist() == [0, 1, 2]
    assert len(data) == 3
    assert repr(data) == "Microdata(3 records x 2 columns)"


@pytest.mark.parametrize(
    ("values", "variable", "sentence"),
    [
        (["a", SECRET, SECRET], Variable(levels=("a", "b")), OUTSIDE_LEVELS),
        ([1.0, 2.0, 3.0], Variable(kind="binary"), "a binary column needs exactly 2 levels, found 3."),
        (["a", "a"], Variable(kind="binary"), "a binary column needs exactly 2 levels, found 1."),
        (["a", "a"], Variable(role="replace"), CONSTANT),
        (["a", "a"], Variable(role="replace", levels=("a", "b")), CONSTANT),
        ([4.5, 4.5], Variable(role="replace"), CONSTANT),
        ([None, None], Variable(role="replace"), "the column is missing everywhere; set role: drop."),
        ([None, None], Variable(key=True), "the column is missing everywhere; set role: drop."),
        ([1, SECRET, 2], Variable(kind="continuous"), INFINITE),
        ([1.0, np.inf, 2.0], Variable(), INFINITE),
        (["2020-01-01", SECRET], Variable(kind="date"), NO_DATES),
        ([20200101, 20200102], Variable(kind="date"), NO_DATES),
        (["03/02/2020", "01/02/2020"], Variable(kind="date"), NO_DATES),
        (pd.period_range("2020", periods=2, freq="M"), Variable(kind="continuous"), NO_NUMBERS),
        ([1.0, 2.0, 1e300], Variable(), BEYOND),
        (DAYS, Variable(kind="continuous"), NO_NUMBERS),
        (pd.to_timedelta([1, 2], unit="D"), Variable(kind="count"), "count needs numbers, found values that are not."),
        ([20, 95, 17], Variable(bounds=(18, 90)), OUTSIDE_BOUNDS),
        ([1, 2, 9], Variable(transform="log"), "transform: log needs bounds (the lower one is its zero); add bounds."),
    ],
)
def test_what_is_wrong_with_a_column(values, variable, sentence):
    assert (
        refusal(values, variable, dtype=object if isinstance(values, list) and SECRET in values else None) == sentence
    )


def test_what_is_wrong_with_a_table():
    def sentence(frame, variables=None):
        with pytest.raises(InputError) as caught:
            resolve(frame, variables or {})
        return str(caught.value)

    assert sentence(pd.DataFrame({"a": []})) == "data: the file has no records."
    assert sentence(pd.DataFrame()) == "data: the file has no records."
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    assert sentence(twice) == "data: the column name 'a' occurs more than once; rename one."
    assert sentence(pd.DataFrame({0: [1]})) == "data: column names must be text, found 1 that are not; rename them."
    one = pd.DataFrame({"a": [1, 2, 3]})
    assert sentence(one, {"b": Variable()}) == "variables.b: no such column in the data."
    dropped = sentence(one, {"a": Variable(role="drop")})
    assert dropped == "variables: every column is dropped; keep or replace at least one."


def test_everything_wrong_is_listed_at_once():
    frame = pd.DataFrame({"a": [SECRET, "b"], "c": [1, 1]})
    with pytest.raises(InputError) as caught:
        resolve(frame, {"a": Variable(kind="continuous"), "c": Variable(role="replace")})
    assert len(caught.value.problems) == 2
    assert SECRET not in str(caught.value)


SPELLINGS = [
    pd.Series([1, 0, 1]),
    pd.Series([1.0, 0.0, np.nan]),
    pd.Series(["1", "0", "1"]),
    pd.Series(["1.0", "0.0", None]),
    pd.Series([True, False, True]),
    pd.Series([True, False, None], dtype="boolean"),
    pd.Series([1, 0, None], dtype="Int64"),
    pd.Series(pd.Categorical([1, 0, 1])),
    pd.Series(pd.Categorical(["1", "0", None])),
]


@pytest.mark.parametrize("levels", [(0, 1), (0.0, 1.0), (False, True)])
@pytest.mark.parametrize("values", SPELLINGS)
def test_a_number_is_one_level_however_it_is_spelt(levels, values):
    binary = Column(name="x", kind="binary", role="keep", key=True, levels=levels)
    assert codes(values, binary)[:2].tolist() == [1, 0]
    assert codes(values, binary)[2] == (-1 if pd.isna(values[2]) else 1)


@pytest.mark.parametrize("values", [values for values in SPELLINGS if pd.api.types.is_numeric_dtype(values)])
def test_levels_in_quotes_name_numbers(values):
    binary = Column(name="x", kind="binary", role="keep", key=True, levels=("0", "1"))
    assert codes(values, binary)[:2].tolist() == [1, 0]


def test_codes_in_text_are_not_numbers():
    text = Column(name="x", kind="nominal", role="keep", key=True, levels=("01", "1", "1.0"))
    assert codes(pd.Series(["1", "01", "1.0", "001"]), text).tolist() == [1, 0, 2, -1]
    large = (2**60, 2**60 + 1)
    numbered = Column(name="x", kind="binary", role="keep", key=True, levels=large)
    assert codes(pd.Series([large[1], large[0]]), numbered).tolist() == [1, 0]
    nothing = Column(name="x", kind="nominal", role="keep", key=True)
    assert codes(pd.Series(["a", None]), nothing).tolist() == [-1, -1]


@pytest.mark.parametrize("values", [*SPELLINGS, pd.Series(["F", "M", "F"]), pd.Series(DAYS[:2])])
def test_decoding_gives_back_the_same_values(values):
    data = column(values, Variable(kind="binary"))
    known = values.dropna()
    found = decode(data.codes("x")[: len(known)], data.schema["x"], known)
    pd.testing.assert_series_equal(found, known, check_names=False)


@pytest.mark.parametrize("levels", [("False", "True"), ("0", "1"), (0, 1), (True, False)])
def test_decoding_truth_values_however_the_levels_are_written(levels):
    values = pd.Series([True, False, True])
    data = column(values, Variable(kind="binary", levels=levels))
    assert decode(data.codes("x"), data.schema["x"], values).tolist() == [True, False, True]


@pytest.mark.parametrize("text", [True, False])
def test_a_million_levels_take_seconds(text):
    values = pd.Series(np.random.default_rng(1).permutation(10**6))
    frame = pd.DataFrame({"id": values.astype(str) + "x" if text else values})
    started = time.process_time()
    data = resolve(frame, {"id": Variable(kind="nominal")})
    assert time.process_time() - started < 5
    assert len(data.schema["id"].levels) == 10**6


def test_frozen():
    schema = Schema(columns=(Column(name="x", kind="binary", role="keep", key=False),))
    with pytest.raises(ValueError, match="frozen"):
        schema.columns = ()  # type: ignore[misc]
    data = Microdata(pd.DataFrame({"x": [1]}), schema)
    with pytest.raises(AttributeError):
        data.schema = schema  # type: ignore[misc]
    assert schema["x"].role is Role.KEEP


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float64", "object"])
def test_whole_numbers_of_any_type_are_the_same_levels(dtype):
    column = resolve(pd.DataFrame({"x": ["1", "7", "100"]}), {"x": Variable(kind="nominal")}).schema["x"]
    values = pd.Series([100, 7, 2, 1, 0], dtype=dtype)
    assert codes(values, column).tolist() == [column.levels.index("100"), column.levels.index("7"), -1, 0, -1]
    wide = resolve(pd.DataFrame({"x": [-100, 100]}), {"x": Variable(kind="nominal")}).schema["x"]
    if not dtype.startswith("u"):
        assert codes(pd.Series([100, -100], dtype=dtype), wide).tolist() == [1, 0]
