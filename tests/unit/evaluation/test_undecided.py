"""The smallest sets of kept columns, against looking at every set; what is undecided, and what a person is asked."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk import exposure
from synthdp.evaluation.risk.exposure import KeptSet, evaluate_exposure, smallest_sets, unique_records
from synthdp.evaluation.risk.undecided import coarser, proposals, questions, undecided, with_undecided_as_keys
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Schema, Variable

NAMES = list("abcde")


def brute_force(frame: pd.DataFrame, names: list[str], share: float, size: int) -> dict[tuple[str, ...], int]:
    """Every set, counted cell by cell; those of which no part is found already."""
    found: dict[tuple[str, ...], int] = {}
    for number in range(1, size + 1):
        for chosen in combinations(names, number):
            rows = [tuple(map(str, row)) for row in frame[list(chosen)].to_numpy(dtype=object)]
            unique = sum(rows.count(row) == 1 for row in rows)
            if unique > share * len(frame) and not any(set(part) < set(chosen) for part in found):
                found[chosen] = unique
    return found


rows = st.lists(
    st.tuples(
        st.sampled_from("xyz"),
        st.sampled_from([1.0, 1.5, 2.0, np.nan]),
        st.integers(0, 9),
        st.integers(0, 1),
        st.integers(0, 4),
    ),
    min_size=4,
    max_size=60,
)


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from([0.05, 0.2, 0.5]), st.integers(1, 3))
def test_the_smallest_sets_are_those_of_a_look_at_all(drawn, share, size) -> None:
    frame = pd.DataFrame(drawn, columns=NAMES)
    frame.loc[0, "b"] = 3.0
    data = resolve(frame, {"b": Variable(kind="continuous")} | {name: Variable(kind="nominal") for name in "acde"})
    found = smallest_sets(data.frame, data.schema, share=share, size=size)
    assert {one.columns: one.unique for one in found} == brute_force(frame, NAMES, share, size)
    assert all(one.exact and one.share == one.unique / len(frame) for one in found)
    order = [(len(one.columns), -one.unique) for one in found]
    assert order == sorted(order)


def people(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, n),
            "zip": rng.integers(0, 300, n),
            "sex": rng.choice(["F", "M"], n),
            "job": rng.integers(0, 40, n),
        }
    )


def test_a_part_of_the_cells_estimates_the_whole(monkeypatch) -> None:
    frame = people(40_000)
    data = resolve(frame, {name: Variable(kind="nominal") for name in ("zip", "job")})
    exact = {one.columns: one.unique for one in smallest_sets(data.frame, data.schema)}
    monkeypatch.setattr(exposure, "EXACT_RECORDS", 5_000)
    found = smallest_sets(data.frame, data.schema)
    assert {one.columns for one in found} == set(exact)
    assert exact
    for one in found:
        assert not one.exact
        # K = 8 parts, so a standard error of sqrt(8 U)
        assert abs(one.unique - exact[one.columns]) < 4 * np.sqrt(8 * exact[one.columns])


def test_who_is_unique_is_counted_by_hand() -> None:
    assert unique_records([np.array([0, 0, 1, 2]), np.array([0, 1, 0, 0])]) == (4, True)
    assert unique_records([np.array([0, 0, 1])]) == (1, True)
    assert unique_records([np.array([0])]) == (1, True)


def test_more_sets_than_are_looked_at_are_cut_from_the_end(monkeypatch) -> None:
    frame = people(2000).assign(**{f"x{i}": np.arange(2000) % 2 for i in range(8)})
    data = resolve(frame, {name: Variable(kind="nominal") for name in ("zip", "job")})
    complete = smallest_sets(data.frame, data.schema)
    monkeypatch.setattr(exposure, "MOST_SETS", 3)
    monkeypatch.setattr(exposure, "MOST_COLUMNS", 4)
    assert smallest_sets(data.frame, data.schema)[0] == complete[0] == KeptSet(("age", "zip"), *_two(complete[0]))


def _two(one: KeptSet) -> tuple[int, float]:
    return one.unique, one.share


def declared(**variables: Variable) -> Microdata:
    return resolve(people(2000), {"zip": Variable(kind="nominal"), "job": Variable(kind="nominal")} | variables)


def test_every_member_of_a_set_is_undecided_until_somebody_decides() -> None:
    found = undecided(declared())
    # two sexes tell nobody apart that age and place do not
    assert [one.name for one in found] == ["age", "zip", "job"]
    assert found[0].settles == len(found[0].sets)
    assert found[0].sets[0].unique == max(one.unique for one in found[0].sets)
    assert undecided(declared(age=Variable(key=True)))[0].name == "zip"
    # who cannot know the place and the age cannot use the sets that hold them
    assert undecided(declared(zip=Variable(kind="nominal", key=False), age=Variable(key=False))) == ()
    assert undecided(declared(**{name: Variable(role="drop") for name in ("zip", "age")})) == ()


def test_replaced_and_derived_columns_are_not_asked_about() -> None:
    found = undecided(declared(age=Variable(role="replace"), zip=Variable(role="replace", kind="nominal")))
    assert found == ()
    assert not declared(age=Variable(role="replace")).schema["age"].key


def test_design_columns_count_but_the_label_of_a_cluster_does_not() -> None:
    frame = people(400).assign(w=np.random.default_rng(2).random(400), household=np.repeat(np.arange(200), 2))
    variables = {name: Variable(role="drop") for name in ("age", "zip", "sex", "job")}
    data = resolve(frame, variables)
    parts = {"w": "weights", "household": "cluster"}
    columns = tuple(column.model_copy(update={"design": parts[column.name]}) for column in data.schema.columns)
    assert [one.name for one in undecided(Microdata(data.frame, Schema(columns=columns)))] == ["w"]
    (asked,) = questions(Microdata(data.frame, Schema(columns=columns)))
    assert "role: drop" not in asked
    assert "role: replace" not in asked
    known = tuple(column.model_copy(update={"key": True}) for column in columns)
    single = smallest_sets(frame.assign(household=np.arange(400)), Schema(columns=known))
    assert {one.columns for one in single} == {("w",), ("household",)}


def test_undecided_columns_are_judged_as_keys_and_exposed() -> None:
    data = declared(sex=Variable(key=True))
    found = undecided(data)
    schema = with_undecided_as_keys(data.schema, found)
    assert {column.name for column in schema.keys()} == {"age", "zip", "sex", "job"}
    assert not schema["age"].key_decided
    assert not data.schema["age"].key
    assert {one.name for one in undecided(Microdata(data.frame, schema))} == {one.name for one in found}
    section = evaluate_exposure(Comparison(data.frame, (), schema, aligned=True)).section()
    assert section["alone"] == 0
    assert section["alone_undecided"] == section["unique"] > 100


def test_questions_name_the_set_the_figures_and_what_to_write() -> None:
    data = declared(sex=Variable(key=False), job=Variable(kind="nominal", key=False))
    asked = questions(data)
    assert len(asked) == 2
    unique = evaluate_exposure(Comparison(data.frame, (), data.schema, aligned=True)).section()
    pair = int((~data.frame.duplicated(["age", "zip"], keep=False)).sum())
    assert asked[0].startswith(f"age and zip, both kept, make {pair:,} records ({pair / 2000:.0%}) unique. May an ")
    by_age = next(sentence for sentence in asked if "May an intruder know age?" in sentence)
    assert "variables.age.key: true (judged as known; or role: replace), key: false (nobody outside" in by_age
    assert by_age.endswith(", or role: drop.")
    less = coarser(data, "age", ("age", "zip"))
    assert less is not None
    assert f"coarser (variables.age.{less.setting} leaves {less.unique:,} unique, " in by_age
    step = float(less.setting.removeprefix("round: "))
    rounded = data.frame.assign(age=np.floor(data.frame["age"] / step + 0.5))
    assert less.unique == int((~rounded.duplicated(["age", "zip"], keep=False)).sum()) < pair
    assert unique["knowable"] == []


def test_a_question_says_which_column_is_in_other_sets_too() -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({name: rng.integers(0, 30, 300) for name in "abc"})
    by_name = {one.name: one for one in undecided(resolve(frame, {}))}
    (asked,) = [sentence for sentence in questions(resolve(frame, {})) if "May an intruder know b?" in sentence]
    assert f"unique. b is in {len(by_name['b'].sets)} such sets. May an" in asked


def test_one_column_by_itself_and_what_makes_it_coarser() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=500), "born": pd.Timestamp("1940-01-01")})
    frame["born"] += pd.to_timedelta(rng.integers(0, 9000, 500), unit="D")
    data = resolve(frame, {})
    asked = questions(data)
    assert asked[0].startswith("x, which is kept, makes 500 records (100%) unique by itself. May an intruder know x?")
    assert "variables.born.round: quarter leaves" in asked[1]


def test_a_long_list_of_questions_is_cut() -> None:
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(200, 5)), columns=NAMES)
    asked = questions(resolve(frame, {}), most=2)
    assert len(asked) == 3
    assert asked[-1] == "Then the same of c, d and e, where they are still in such a set."


def test_a_question_is_one_line_whatever_the_name() -> None:
    (asked,) = questions(resolve(pd.DataFrame({"x\ny": np.arange(200) / 7}), {}))
    assert asked.isprintable()


@pytest.mark.parametrize(
    ("values", "variable", "offered"),
    [
        (np.arange(200) % 90, Variable(), ["round: 2", "round: 5", "round: 10", "round: 20"]),
        (np.repeat([f"l{i}" for i in range(4)], [170, 15, 8, 7]), Variable(), ["rare: 10", "rare: 20"]),
        (np.repeat(["a", "b"], 100), Variable(), []),
        (np.full(200, 3.0), Variable(kind="continuous"), []),
        (pd.date_range("2000-01-01", periods=200), Variable(), ["round: month", "round: quarter", "round: year"]),
        (pd.date_range("2000-01-01", periods=200), Variable(round="quarter"), ["round: year"]),
    ],
)
def test_what_is_offered(values, variable, offered) -> None:
    data = resolve(pd.DataFrame({"x": values}), {"x": variable})
    assert [one.setting for one in proposals(data.frame["x"], data.schema["x"])][: len(offered) or 9] == offered


def test_large_amounts_are_cut_off_too() -> None:
    income = np.random.default_rng(5).lognormal(10, 1, 2000).round()
    data = resolve(pd.DataFrame({"x": income}), {})
    offered = [one.setting for one in proposals(data.frame["x"], data.schema["x"])]
    assert offered[1].startswith("topcode: ")
    assert " and round: " in offered[1]
    # one digit: the point at which is cut tells of nobody
    assert len(offered[1].split()[1].rstrip("0")) == 1
