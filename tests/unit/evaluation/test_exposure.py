"""Uniqueness on kept columns, against counting by hand."""

from itertools import combinations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from synthdp.evaluation.assessment import records_at_risk
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk import exposure
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.table.microdata import resolve
from synthdp.table.schema import Schema, Variable

NAMES = ["a", "b", "c", "d"]


def compare(frame: pd.DataFrame, **variables: Variable) -> Comparison:
    data = resolve(frame, variables)
    return Comparison(data.frame, (), data.schema, aligned=True)


def alone(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    rows = [tuple(row) for row in frame[names].astype(str).to_numpy()]
    return np.array([rows.count(row) == 1 for row in rows])


rows = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from([1.0, 1.5, np.nan]), st.integers(0, 3), st.integers(0, 1)),
    min_size=3,
    max_size=60,
)


@settings(max_examples=25)
@given(rows)
def test_every_subset_is_counted(drawn) -> None:
    frame = pd.DataFrame(drawn, columns=NAMES)
    frame.loc[0, "b"] = 2.0
    variables = {name: Variable(kind="nominal", key=True) for name in "acd"}
    found = evaluate_exposure(compare(frame, b=Variable(kind="continuous", key=True, tolerance=5), **variables))
    assert found.unique.tolist() == alone(frame, NAMES).tolist()
    wanted = [list(names) for size in (1, 2, 3) for names in combinations(NAMES, size)]
    assert [line["columns"] for line in found.subsets] == wanted
    assert [line["unique"] for line in found.subsets] == [int(alone(frame, names).sum()) for names in wanted]
    for size, mask in enumerate(found.unique_on_some, start=1):
        some = [alone(frame, names) for names in wanted if len(names) <= size]
        assert mask.tolist() == np.any(some, axis=0).tolist()


def test_only_kept_columns_count_and_only_keys_are_knowable() -> None:
    frame = pd.DataFrame({"id": range(5), "sex": list("FFMMM"), "age": range(5), "note": list("uvwxy")})
    replaced = {"age": Variable(role="replace", key=True), "id": Variable(role="drop")}
    found = evaluate_exposure(compare(frame, sex=Variable(key=True), **replaced)).section()
    assert found["columns"] == ["sex", "note"]
    assert found["unique"] == 5
    assert found["knowable"] == ["sex"]
    assert found["subsets"] == [{"columns": ["sex"], "unique": 0, "unique_rate": 0.0}]


def test_nothing_kept_exposes_nobody() -> None:
    frame = pd.DataFrame({"age": range(5)})
    found = evaluate_exposure(compare(frame, age=Variable(role="replace", key=True)))
    assert found.section()["unique"] == 0
    assert found.subsets == ()
    assert repr(found) == "Exposure(5 records, 0 subsets)"


def test_too_many_subsets_are_cut_by_size(monkeypatch) -> None:
    monkeypatch.setattr(exposure, "MOST_SUBSETS", 10)
    frame = pd.DataFrame({name: list("FFMM") for name in NAMES})
    found = evaluate_exposure(compare(frame, **{name: Variable(key=True) for name in NAMES})).section()
    assert found["largest_subset"] == 2
    assert len(found["subsets"]) == 10


def test_a_date_and_a_missing_value() -> None:
    frame = pd.DataFrame({"born": pd.to_datetime(["2000-01-01", "2000-01-01", None, "2001-05-05"])})
    found = evaluate_exposure(compare(frame, born=Variable(key=True)))
    assert found.unique.tolist() == [False, False, True, True]


@settings(max_examples=25, deadline=None)
@given(rows)
def test_who_is_alone_on_the_kept_keys(drawn) -> None:
    frame = pd.DataFrame(drawn, columns=NAMES)
    frame.loc[0, "b"] = 2.0
    variables = {"a": Variable(kind="nominal", key=True), "b": Variable(kind="continuous", key=True)}
    variables |= {"c": Variable(kind="nominal"), "d": Variable(kind="nominal", key=False)}
    comparison = compare(frame, **variables)
    found = evaluate_exposure(comparison)
    assert found.alone.tolist() == found.alone_undecided.tolist() == alone(frame, ["a", "b"]).tolist()
    # c counts as a key, but nobody has said so
    columns = [column.model_copy(update={"key": column.name != "d"}) for column in comparison.schema.columns]
    judged = Comparison(comparison.original, (), Schema(columns=tuple(columns)), aligned=True)
    found = evaluate_exposure(judged)
    assert found.alone.tolist() == alone(frame, ["a", "b"]).tolist()
    assert found.alone_undecided.tolist() == alone(frame, ["a", "b", "c"]).tolist()
    assert found.individual.tolist() == found.alone_undecided.astype(float).tolist()
    section = found.section()
    assert section["alone"] == found.alone.sum()
    assert section["alone_rate"] == found.alone.mean()
    assert section["alone_undecided"] == found.alone_undecided.sum()


def test_who_is_alone_is_listed_among_the_records_at_risk() -> None:
    comparison = compare(pd.DataFrame({"region": list("NNNSW"), "x": range(5)}), region=Variable(key=True))
    listed = records_at_risk(comparison, {"exposure": evaluate_exposure(comparison).individual})
    assert listed["record"].tolist() == [4, 5]
    assert set(listed["risk"]) == {1.0}


def test_nobody_is_alone_where_no_key_is_kept() -> None:
    found = evaluate_exposure(compare(pd.DataFrame({"x": range(5)}), x=Variable(key=False))).section()
    assert (found["unique"], found["alone"], found["alone_undecided"]) == (5, 0, 0)
