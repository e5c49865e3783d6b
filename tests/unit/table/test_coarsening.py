"""Columns made coarser before anything else happens, design columns carried, and all that is wrong said at once."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from synthdp import api, release
from synthdp.config import load, parse
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import OFF
from synthdp.pipeline import check, plan_of, run
from synthdp.stages import planning
from synthdp.stages.intake import prepare
from synthdp.table import io
from synthdp.table.coarsening import coarsen, period_start
from synthdp.table.foreign import File, harmonise
from synthdp.table.microdata import numbers, resolve
from synthdp.table.schema import Kind, Variable
from synthdp.tagging.neighbours import average


def frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(3, 1, n).round(2),
            "job": (["clerk"] * 30 + ["nurse"] * 24 + ["pilot"] * 2 + ["judge"] * 1 + ["baker"] * 3)[:n],
            "code": ([1] * 30 + [2] * 25 + [3] * 5)[:n],
            "household": np.repeat(np.arange(n // 2), 2),
            "weight": rng.uniform(1, 3, n),
        }
    )


def coarse(name: str, values: list, **settings) -> list:
    return coarsen(pd.DataFrame({name: values}), {name: Variable(**settings)})[0][name].tolist()


def problems(table: pd.DataFrame, variables: dict, **data) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        prepare(table, parse({"data": {"path": "x.csv", **data}, "variables": variables}))
    return caught.value.problems


def test_numbers_are_cut_off_and_rounded():
    assert coarse("x", [1, 5, 99], topcode=10) == [1, 5, 10]
    assert coarse("x", [1, 5, 99], bottomcode=3) == [3, 5, 99]
    assert coarse("x", [0.12, 0.36, 0.35], round=0.1) == [0.1, 0.4, 0.4]
    assert coarse("x", [12, 18, 25], round=10) == [10, 20, 30]
    assert coarse("x", [3, 14, 96], bottomcode=5, topcode=95, round=10) == [10, 10, 95]
    assert coarse("x", [1, 2, 3], topcode=2.5) == [1.0, 2.0, 2.5]
    np.testing.assert_array_equal(coarse("x", [1.0, None, 9.0], topcode=5), [1.0, np.nan, 5.0])


def test_whole_numbers_stay_whole():
    made = coarsen(pd.DataFrame({"x": [1, 7]}), {"x": Variable(round=5)})[0]
    assert made["x"].dtype == np.int64


def test_values_are_recoded():
    assert coarse("x", ["a", "b", "c"], recode={"b": "a", "c": "d"}) == ["a", "a", "d"]
    assert coarse("x", [1, 2, 3], recode={3: 2}) == [1, 2, 2]
    assert coarse("x", ["1", "2"], recode={2: 1}) == ["1", "1"]
    assert coarse("x", [1, 2, 9], recode={9: "many"}) == ["1", "2", "many"]
    # old values are read before any is changed: a swap is a swap
    assert coarse("x", ["a", "b"], recode={"a": "b", "b": "a"}) == ["b", "a"]
    assert coarse("x", [True, False], recode={True: "yes", False: "no"}) == ["yes", "no"]
    np.testing.assert_array_equal(coarse("x", [1.0, None, 3.0], recode={3: 2}), [1.0, np.nan, 2.0])


def test_rare_levels_are_grouped():
    found = coarsen(frame(), {"job": Variable(rare=5)})[0]["job"]
    assert found.value_counts().to_dict() == {"clerk": 30, "nurse": 24, "other": 6}


def test_a_group_that_is_rare_itself_takes_in_the_next_level():
    assert coarse("x", ["a"] * 9 + ["b"] * 5 + ["c"], rare=3) == ["a"] * 9 + ["other"] * 6


def test_a_level_called_other_joins_the_group():
    assert coarse("x", ["a"] * 9 + ["other"] * 2 + ["c"] * 2, rare=4) == ["a"] * 9 + ["other"] * 4


def test_nothing_rare_changes_nothing():
    assert coarse("x", ["a", "a", "b", "b"], rare=2) == ["a", "a", "b", "b"]


def test_declared_levels_follow_the_grouping():
    variable = Variable(kind="ordinal", levels=("clerk", "pilot", "judge", "baker", "nurse", "king"), rare=5)
    data = prepare(frame(), parse({"data": {"path": "x.csv"}, "variables": {"job": variable.model_dump()}}))
    assert data.schema["job"].levels == ("clerk", "nurse", "other")
    assert data.schema["job"].kind is Kind.ORDINAL


def test_numeric_codes_of_a_nominal_column_become_text():
    found = coarsen(frame(), {"code": Variable(kind="nominal", rare=6)})[0]["code"]
    assert found.value_counts().to_dict() == {"1": 30, "other": 30}


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"job": {"topcode": 3}}, "variables.job.topcode: needs numbers, found values that are not; use recode."),
        (
            {"job": {"recode": {"king": "x", "clerk": "y"}}},
            "variables.job.recode: 1 of its 2 values do not occur in the data; correct or remove them.",
        ),
        (
            {"code": {"recode": {"word": 1}}},
            "variables.code.recode: 1 of its 1 values do not occur in the data; correct or remove them.",
        ),
        ({"code": {"rare": 5}}, "variables.code.rare: is for nominal and ordinal columns; say kind: nominal."),
        (
            {"job": {"rare": 50}},
            "variables.job.rare: would leave a single level; choose a smaller number, or drop the column.",
        ),
        ({"nobody": {"topcode": 3}}, "variables.nobody: no such column in the data."),
        (
            {"code": {"round": "month"}},
            "variables.code.round: month needs dates, found numbers; round to a number, or say in data.dates how the "
            "dates are written.",
        ),
        (
            {"job": {"round": "year"}},
            "variables.job.round: year needs dates, found values that are not; say in data.dates how they are written.",
        ),
    ],
)
def test_what_cannot_be_made_coarser(variables, sentence):
    assert problems(frame(), variables) == (sentence,)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"topcode": 1, "bottomcode": 1}, "bottomcode must be below topcode"),
        ({"kind": "nominal", "topcode": 1}, "topcode is for numeric columns, this one is nominal; use recode"),
        ({"kind": "date", "round": 1}, "this one is date; round dates to month, quarter or year"),
        ({"kind": "date", "topcode": 1}, "topcode is for numeric columns, this one is date"),
        ({"kind": "count", "round": "month"}, "round: month is for dates, this column has numbers; round to a number"),
        ({"kind": "nominal", "round": "month"}, "round is for numeric columns, this one is nominal"),
        ({"round": "year", "topcode": 9}, "topcode and bottomcode are for numeric columns, and round: month"),
        ({"round": "week"}, "must be a number greater than 0, or month, quarter or year for dates"),
        ({"round": True}, "must be a number greater than 0, or month, quarter or year for dates"),
        ({"kind": "binary", "rare": 3}, "rare is for nominal and ordinal columns, this one is binary"),
        ({"round": 0}, "greater than 0"),
        ({"rare": 1}, "greater than or equal to 2"),
    ],
)
def test_settings_that_contradict_each_other(settings, sentence):
    with pytest.raises(ValidationError, match=sentence):
        Variable(**settings)


SETTINGS = {
    "variables": {
        "age": {"kind": "continuous", "role": "replace", "key": True, "bounds": [18, 90]},
        "income": {"topcode": 50, "round": 5},
        "job": {"rare": 5},
    },
    "synthesis": {"method": "mi", "copies": 2},
}


def test_a_release_holds_the_coarser_columns_only(tmp_path):
    io.write(frame(), tmp_path / "x.csv", format="csv")
    settings = SETTINGS | {"data": {"path": str(tmp_path / "x.csv")}, "seed": 2**90}
    settings |= {"release": OFF.model_dump()}
    outcome = run(parse(settings), out=tmp_path / "out")
    assert outcome.public is not None
    copy = io.read(outcome.public / "synthetic_01.csv")
    assert copy["income"].max() <= 50
    assert (copy["income"] % 5 == 0).all()
    assert set(copy["job"]) == {"clerk", "nurse", "other"}
    assert "pilot" not in (outcome.public / "codebook.csv").read_text()
    note = "Coarsened before anything else: income (topcode, round), job (rare)."
    assert note in outcome.report.read_text()


def test_design_columns_are_carried_and_the_cluster_is_no_predictor():
    settings = SETTINGS | {"data": {"path": "x.csv", "weights": "weight", "cluster": "household", "strata": "code"}}
    config = parse(settings)
    data = prepare(frame(), config)
    assert [data.schema[name].design for name in ("weight", "household", "code")] == ["weights", "cluster", "strata"]
    plan = plan_of(config, data)
    assert "household" not in plan.data.schema
    assert {"weight", "code"} <= set(plan.data.schema.names())
    for copy in api.synthesize(frame(), settings, seed=1).copies:
        assert list(copy.columns) == list(frame().columns)
        for name in ("weight", "household", "code"):
            assert copy[name].equals(frame()[name])
    assert planning.cautions_on(data)[-1] == (
        "Columns of the survey's design are released as they are: code (strata), household (cluster), weight "
        "(weights). An analysis takes account of them in its standard errors where it names them (weights, strata, "
        "cluster)."
    )


def test_design_columns_must_exist_and_be_kept():
    variables = {"code": {"role": "replace"}, "household": {"role": "drop"}}
    assert problems(frame(), variables, weights="w8", strata="code", cluster="household") == (
        "data.weights: no column 'w8' in the data.",
        "data.strata: 'code' must be kept, found role: replace; leave out its role.",
        "data.cluster: 'household' must be kept, found role: drop; leave out its role.",
    )


def test_check_says_everything_at_once_and_warns(tmp_path):
    io.write(frame(), tmp_path / "x.csv", format="csv")
    (tmp_path / "bad.yaml").write_text(
        "data: {path: x.csv, weights: w8, missing_codes: {nobody: [1]}}\n"
        "variables: {age: {role: replace, bounds: [30, 40]}, job: {topcode: 3}, sex: {}}\n"
        "analyses: [{name: a, model: ols, formula: 'age ~ wage'}]\n"
    )
    with pytest.raises(InputError) as caught:
        check(load(tmp_path / "bad.yaml"))
    found = caught.value.problems
    for start in ("data.missing_codes.nobody", "data.weights", "variables.job.topcode", "variables.sex", "analyses"):
        assert any(problem.startswith(start) for problem in found), start
    (tmp_path / "good.yaml").write_text(
        "data: {path: x.csv, weights: weight}\n"
        "variables: {age: {role: replace, key: true}, income: {topcode: 50}}\n"
        "synthesis: {method: mi}\n"
    )
    messages = " ".join(check(load(tmp_path / "good.yaml")).messages)
    assert "Coarsened before anything else: income (topcode)." in messages
    assert "takes account of them in its standard errors" in messages


DAYS = pd.Series(pd.to_datetime(["2020-02-29", "2020-12-31", None, "1959-11-11", "1970-01-01"]))


@pytest.mark.parametrize(
    ("period", "starts"),
    [
        ("month", ["2020-02-01", "2020-12-01", None, "1959-11-01", "1970-01-01"]),
        ("quarter", ["2020-01-01", "2020-10-01", None, "1959-10-01", "1970-01-01"]),
        ("year", ["2020-01-01", "2020-01-01", None, "1959-01-01", "1970-01-01"]),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Warsaw"])
def test_dates_go_to_the_first_day(period, starts, zone):
    dates = DAYS.dt.tz_localize(zone)
    made, settled = coarsen(pd.DataFrame({"x": dates}), {"x": Variable(round=period)})
    expected = pd.Series(pd.to_datetime(starts)).dt.tz_localize(zone).astype(dates.dtype)
    pd.testing.assert_series_equal(made["x"], expected, check_names=False)
    assert settled["x"].kind is Kind.DATE
    text = coarsen(pd.DataFrame({"x": DAYS.dt.strftime("%Y-%m-%d")}), {"x": Variable(round=period)})[0]["x"]
    assert [None if pd.isna(value) else value for value in text] == starts
    # pandas says the same
    whole = DAYS.dt.to_period({"month": "M", "quarter": "Q", "year": "Y"}[period]).dt.start_time
    assert (expected.dt.tz_localize(None) == whole).tolist() == DAYS.notna().tolist()


def test_the_nearest_first_day():
    days = np.array([0.0, 15.0, 16.0, 31.0 + 13, 31.0 + 15, np.nan])
    np.testing.assert_array_equal(period_start(days, "month", nearest=True), [0, 0, 31, 31, 59, np.nan])


@pytest.mark.parametrize(
    ("given", "wrong"), [({"round": 5}, "round: month, quarter"), ({"topcode": 5}, "leave it out")]
)
def test_numbers_do_not_make_dates_coarser(given, wrong):
    with pytest.raises(InputError, match=wrong):
        coarsen(DAYS.to_frame("x"), {"x": Variable(**given)})


@pytest.mark.parametrize("format", io.FORMATS)
def test_a_coarser_date_is_a_date_in_every_format(format, tmp_path):
    data = prepare(
        DAYS.to_frame("x").assign(y=[1, 2, 3, 4, 5]),
        parse({"data": {"path": "x.csv"}, "variables": {"x": {"round": "month"}, "y": {"role": "replace"}}}),
    )
    column = data.schema["x"]
    assert (column.kind, column.period, column.coarsened) == (Kind.DATE, "month", ("round: month",))
    io.write(data.frame, tmp_path / f"x.{format}", format=format)
    found = numbers(io.read(tmp_path / f"x.{format}")["x"], column)
    np.testing.assert_array_equal(found, data.numbers("x"))


def visits(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    day = pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    age = rng.integers(18, 90, n)
    return pd.DataFrame({"age": age, "seen": day, "year": day.year, "left": day + pd.to_timedelta(age, unit="D")})


def test_replaced_and_kept_dates_are_first_days_in_the_copies():
    variables = {
        "age": {"role": "replace", "key": True},
        "seen": {"role": "replace", "round": "month"},
        "left": {"round": "quarter"},
        "year": {"role": "drop"},
    }
    settings = {"variables": variables, "synthesis": {"method": "sequential", "model": {"method": "cart"}, "copies": 2}}
    made = api.synthesize(visits(), settings, seed=1)
    for copy in made.copies:
        assert copy["seen"].dtype == visits()["seen"].dtype
        assert (copy["seen"].dt.day == 1).all()
        assert set(copy["left"].dt.month) <= {1, 4, 7, 10}
        assert (copy["left"].dt.day == 1).all()
    assert not made.copies[0]["seen"].equals(visits()["seen"].dt.to_period("M").dt.start_time)


def test_dates_of_other_files_are_made_as_coarse():
    data, variables = visits(), {"seen": Variable(role="replace", round="year"), "age": Variable(key=True)}
    coarse = resolve(*coarsen(data, variables))
    (found,), findings = harmonise([File("their.csv", data)], coarse, variables)
    assert found["seen"].equals(coarse.frame["seen"])
    assert findings.cautions == ("their.csv: seen was made coarser as the original was (round).",)


def test_a_formula_reads_the_date_before_it_is_made_coarser():
    variables = {"seen": {"round": "month"}, "age": {"role": "replace"}, "left": {"role": "drop"}}
    variables |= {"year": {"role": "drop"}, "late": {"derived": "where(seen >= '2019-01-15', 1, 0)"}}
    table = visits().assign(late=lambda frame: (frame["seen"] >= "2019-01-15").astype(int))
    data = prepare(table, parse({"data": {"path": "x.csv"}, "variables": variables}))
    # true of the days, and recomputed from what is released
    assert (data.frame["late"] == (data.frame["seen"] >= "2019-01-15")).all()
    assert not data.frame["late"].equals(table["late"])


def test_the_codebook_says_how_a_column_was_made_coarser():
    data = resolve(*coarsen(visits(), {"seen": Variable(round="month"), "age": Variable(topcode=80, round=5)}))
    told = release.codebook(data.schema, [data.frame]).set_index("name")["coarsened"]
    assert told["seen"] == "round: month"
    assert told["age"] == "topcode, round"
    assert told.isna().sum() == 2


def test_a_key_is_true_false_or_undecided():
    given = {"a": Variable(key=True), "b": Variable(key=False), "c": Variable(), "d": Variable(role="replace")}
    schema = resolve(pd.DataFrame({name: range(20) for name in given}), given).schema
    undecided = (False, False)
    found = [(column.key, column.key_decided) for column in schema.columns]
    assert found == [(True, True), (False, True), undecided, undecided]


def test_dates_beyond_nanoseconds_are_dates():
    """9999-12-31 stands for "still open" in many registers."""
    frame = pd.DataFrame({"d": ["2020-05-17", "9999-12-31", "0900-02-03", None]})
    made, variables = coarsen(frame, {"d": Variable(round="quarter")})
    assert made["d"].tolist()[:3] == ["2020-04-01", "9999-10-01", "0900-01-01"]
    assert made["d"].isna().tolist() == [False, False, False, True]
    data = resolve(made, variables)
    assert data.numbers("d")[1] == (np.datetime64("9999-10-01") - np.datetime64("1970-01-01")).astype(int)


def test_dates_without_an_end_are_rounded_and_averaged_too() -> None:
    """Registers write 9999-12-31 for what has not ended; counted in nanoseconds it lies out of reach."""
    frame = pd.DataFrame({"until": ["9999-12-31", "2020-05-17", None, "1600-02-29"]})
    made, variables = coarsen(frame, {"until": Variable(round="year")})
    assert made["until"].fillna("").tolist() == ["9999-01-01", "2020-01-01", "", "1600-01-01"]
    data = resolve(made, variables)
    found = average([data.frame, data.frame], data.schema.columns)["until"]
    assert found.dt.year.fillna(0).tolist() == [9999, 2020, 0, 1600]
