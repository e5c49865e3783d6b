"""Tables of counts: every measure against its definition, cell by cell, and the noise floor against simulation."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from synthdp.evaluation.comparison import Comparison, Halves, Sizes, halves, summarise
from synthdp.evaluation.utility.classes import MOST_LEVELS, breaks, classify
from synthdp.evaluation.utility.distances import evaluate_subgroups, levels_of, risk_groups
from synthdp.evaluation.utility.tables import (
    MEASURES,
    compare,
    count,
    count_halves,
    evaluate_tables,
    measure,
    scaling,
)
from synthdp.table.microdata import resolve
from synthdp.table.schema import Kind, Variable


def make(n: int = 400, copies: int = 2, seed: int = 1, variables: dict | None = None, **more) -> Comparison:
    rng = np.random.default_rng(seed)

    def draw(size: int) -> pd.DataFrame:
        x = rng.normal(size=size)
        frame = pd.DataFrame({"x": x, "g": rng.choice(list("abc"), size, p=[0.5, 0.3, 0.2])})
        frame["y"] = np.where(rng.random(size) < 0.1, np.nan, x + rng.normal(size=size))
        return frame

    data = resolve(draw(n), variables or {})
    return Comparison(data.frame, tuple(draw(n) for _ in range(copies)), data.schema, aligned=True, **more)


def by_hand(d: list[int], s: list[int]) -> dict[str, float]:
    """Return the measures by loops over cells, from the definitions."""
    n1, n2 = sum(d), sum(s)
    n, c = n1 + n2, n2 / (n1 + n2)
    cells = [(a, b) for a, b in zip(d, s, strict=True) if a + b]
    # a saturated model predicts the share of synthetic records of each cell for each of its records
    scores = [b / (a + b) for a, b in cells for _ in range(a + b)]
    pmse = sum((score - c) ** 2 for score in scores) / n
    df = len(cells) - 1
    p, q = [a / n1 for a, _ in cells], [b / n2 for _, b in cells]
    return {
        "df": df,
        "pmse": pmse,
        "s_pmse": pmse / (df * c * (1 - c) ** 2 / n),
        "voas_williamson": pmse / (c * (1 - c) ** 2 / n),
        "freeman_tukey": 4 * sum((math.sqrt(b) - math.sqrt(a * n2 / n1)) ** 2 for a, b in cells),
        "jensen_shannon": jensenshannon(p, q, base=2) ** 2,
        "hellinger": math.sqrt(1 - sum(math.sqrt(a * b) for a, b in zip(p, q, strict=True))),
        "total_variation": sum(max(0, a - b) for a, b in zip(p, q, strict=True)),
    }


@pytest.mark.parametrize(
    ("d", "s"), [([30, 10], [20, 20]), ([5, 0, 3, 2], [4, 1, 0, 15]), ([7, 0, 0, 3], [0, 0, 9, 4])]
)
def test_measures_by_hand(d, s):
    assert measure(np.array(d), np.array(s)) == pytest.approx(by_hand(d, s), rel=1e-12)


def test_equal_totals_give_the_textbook_forms():
    d, s = np.array([12, 8, 20]), np.array([10, 15, 15])
    found = measure(d, s)
    assert found["voas_williamson"] == pytest.approx((2 * (s - d) ** 2 / (s + d)).sum())
    # and the pMSE is Pearson's statistic of the 2 × K table over 4 N
    pearson = stats.chi2_contingency(np.stack([d, s]), correction=False).statistic
    assert found["pmse"] == pytest.approx(pearson / (4 * 80))


def test_known_extremes():
    d = np.array([10, 20, 30])
    assert measure(d, d) == {"df": 2} | dict.fromkeys(MEASURES, 0.0)
    apart = measure(np.array([10, 0]), np.array([0, 10]))
    assert (apart["pmse"], apart["total_variation"], apart["hellinger"], apart["jensen_shannon"]) == (0.25, 1, 1, 1)
    alone = measure(np.array([10]), np.array([20]))
    assert (alone["df"], alone["s_pmse"], alone["pmse"]) == (0, None, 0)
    assert set(measure(np.array([0, 0]), np.array([2, 3])).values()) == {None}


@pytest.mark.parametrize("way", [1, 2, 3])
def test_counts_are_those_of_a_loop(way):
    rng = np.random.default_rng(2)
    sizes = (3, 4, 2)[:way]
    columns = [rng.integers(0, size, 50) for size in sizes]
    found = count(columns, sizes).reshape(sizes)
    for cell in itertools.product(*(range(size) for size in sizes)):
        wanted = sum(all(column[i] == at for column, at in zip(columns, cell, strict=True)) for i in range(50))
        assert found[cell] == wanted


def test_counts_of_halves_in_one_pass():
    rng = np.random.default_rng(3)
    columns, masks = [rng.integers(0, 3, 60), rng.integers(0, 2, 60)], tuple(rng.random(60) < 0.5 for _ in range(3))
    whole, first = count_halves(columns, (3, 2), Halves(masks))
    assert whole.tolist() == count(columns, (3, 2)).tolist()
    for mask, half in zip(masks, first, strict=True):
        assert half.tolist() == count([column[mask] for column in columns], (3, 2)).tolist()
    assert repr(Halves(masks)) == "Halves(3 splits)"


@pytest.mark.parametrize("sizes", [(4000, 4000), (4000, 1000), (4000, 10000)])
def test_the_noise_floor_is_what_independent_samples_give(sizes):
    """Halves, scaled, have the mean of two samples of the files' sizes (200 repeats, 4 standard errors)."""
    rng = np.random.default_rng(4)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    factors = scaling(Sizes(2000, 2000), Sizes(*sizes))
    halved = [measure(rng.multinomial(2000, shares), rng.multinomial(2000, shares)) for _ in range(200)]
    files = [measure(rng.multinomial(sizes[0], shares), rng.multinomial(sizes[1], shares)) for _ in range(200)]
    for name in MEASURES:
        one = np.array([found[name] for found in halved]) * factors[name]
        other = np.array([found[name] for found in files])
        error = math.sqrt(one.var() / 200 + other.var() / 200)
        assert abs(one.mean() - other.mean()) < 4 * error, name


def test_plug_in_copies_have_ratio_one_and_independent_ones_two():
    rng = np.random.default_rng(5)
    shares, plug_in, independent = np.full(5, 0.2), [], []
    for _ in range(400):
        d = rng.multinomial(2000, shares)
        plug_in.append(measure(d, rng.multinomial(2000, d / 2000))["s_pmse"])
        independent.append(measure(d, rng.multinomial(2000, shares))["s_pmse"])
    for found, wanted in ((plug_in, 1), (independent, 2)):
        assert abs(np.mean(found) - wanted) < 4 * np.std(found) / 20


def test_classes_as_synthpop_cuts_them():
    values = np.random.default_rng(6).normal(size=101)
    assert breaks(values, classes=5).tolist() == pytest.approx(np.percentile(values, [20, 40, 60, 80]).tolist())
    assert breaks(np.array([1.0, 2.0, 2.0, 3.0, np.nan]), classes=5).tolist() == [2, 3]
    assert breaks(np.array([np.nan]), classes=5).tolist() == []
    # nine in ten are zero: they are a class, and the rest is cut
    spike = np.concatenate([np.zeros(900), np.arange(1, 101)])
    for kind in (Kind.CONTINUOUS, Kind.SEMICONTINUOUS):
        cuts = breaks(spike, classes=5, kind=kind)
        assert (
            np.bincount(np.searchsorted(cuts, spike, side="right")).tolist()[1:]
            == [900, 20, 20, 20, 20, 20][: len(cuts)]
        )
    # closed on the left: a value at a cut is in the class above
    original = pd.DataFrame({"x": np.arange(10.0)})
    data = resolve(original, {})
    found = classify(Comparison(data.frame, (original,), data.schema, aligned=True))
    assert (
        found.files[0][0].tolist()
        == np.searchsorted(breaks(np.tile(np.arange(10.0), 2), classes=5), range(10), "right").tolist()
    )


def test_classes_of_levels():
    original = pd.DataFrame({"g": ["a", "b", None, "a"], "house": [1, 1, 2, 2]})
    data = resolve(original, {"house": Variable(kind="nominal")})
    columns = tuple(
        c.model_copy(update={"design": "cluster" if c.name == "house" else None}) for c in data.schema.columns
    )
    schema = data.schema.model_copy(update={"columns": columns})
    copy = original.assign(g=["a", "z", None, "b"])
    found = classify(Comparison(data.frame, (copy,), schema, aligned=True))
    assert (found.names, found.labels) == (("g",), (("a", "b", "other values", "missing"),))
    assert [file[0].tolist() for file in found.files] == [[0, 1, 3, 0], [0, 2, 3, 1]]
    assert repr(found) == "Classes(1 columns, 1 copies)"


def test_many_levels_are_merged():
    original = pd.DataFrame({"g": [f"level {i}" for i in range(300)] + ["level 7"] * 10})
    data = resolve(original, {})
    found = classify(Comparison(data.frame, (original,), data.schema, aligned=True))
    assert found.sizes == (MOST_LEVELS + 1,)
    assert found.labels[0][-1] == "rarer levels"
    assert np.bincount(found.files[0][0]).max() == 310 - 10 - MOST_LEVELS


def tables(comparison, **settings):
    rng = np.random.default_rng(7)
    return evaluate_tables(classify(comparison), halves(comparison, rng=rng), rng=rng, **settings)


def test_entries_and_summary():
    entries, summary = tables(make())
    json.dumps([entries, summary], allow_nan=False)
    assert [entry["columns"] for entry in entries] == [["x"], ["g"], ["y"], ["x", "g"], ["x", "y"], ["g", "y"]]
    for entry in entries:
        for name in MEASURES:
            assert entry["low"][name] <= entry[name] <= entry["high"][name]
            assert entry["noise"][name] > 0
        assert entry["s_pmse"] == pytest.approx(np.mean(entry["per_copy"]["s_pmse"]))
    assert entries[1]["df"] == 2
    assert entries[2]["df"] == 5  # five classes and the missing
    matrix = summary["matrix"]["s_pmse"]
    assert (matrix[0][0], matrix[0][2], matrix[2][0]) == (entries[0]["s_pmse"], entries[4]["s_pmse"], matrix[0][2])
    assert summary["ways"]["2"]["tables"] == 3
    assert summary["worst"][0]["s_pmse"] == max(entry["s_pmse"] for entry in entries)
    assert summary["notes"] == []


def test_the_original_against_itself_and_row_order():
    made = make()
    itself = Comparison(made.original, (made.original,), made.schema, aligned=True)
    assert all(entry["pmse"] == entry["total_variation"] == 0 for entry in tables(itself)[0])
    shuffled = Comparison(
        made.original, tuple(copy.sample(frac=1, random_state=1) for copy in made.copies), made.schema, True
    )
    assert tables(shuffled)[0] == tables(made)[0]


def test_three_ways_of_chosen_columns_and_a_sample():
    entries, _ = tables(make(), ways=(3,), columns=("x", "g", "y"))
    assert [entry["columns"] for entry in entries] == [["x", "g", "y"]]
    entries, summary = tables(make(), ways=(2,), most=2)
    assert len(entries) == 2
    assert len({tuple(entry["columns"]) for entry in entries}) == 2
    assert summary["notes"] == ["2 of the 3 tables of 2 columns were drawn at random (most_tables)."]


def test_large_tables_are_counted_over_what_occurs(monkeypatch):
    dense = tables(make(), ways=(1, 2, 3))[0]
    monkeypatch.setattr("synthdp.evaluation.utility.tables.DENSE", 0)
    sparse = tables(make(), ways=(1, 2, 3))[0]
    for one, other in zip(dense, sparse, strict=True):
        assert one["columns"] == other["columns"]
        assert one["s_pmse"] == pytest.approx(other["s_pmse"], rel=1e-12)
        assert one["noise"]["s_pmse"] == pytest.approx(other["noise"]["s_pmse"], rel=1e-12)


def test_a_file_too_small_for_halves():
    data = resolve(pd.DataFrame({"x": [1.0]}), {})
    one = Comparison(data.frame, (data.frame,), data.schema, aligned=True)
    (entry,), _ = tables(one)
    assert entry["noise"] == dict.fromkeys(MEASURES)
    assert summarise([None, 2.0], []) == {"value": 2, "low": 2, "high": 2, "per_copy": [None, 2], "noise": None}


def test_a_copy_without_records_of_a_subgroup():
    found = compare(np.array([3, 4]), [np.array([0, 0])], [np.array([1, 2])])
    assert (found["s_pmse"], found["df"], found["noise"]["s_pmse"]) == (None, None, None)


# subgroups


def test_risk_groups_worst_first():
    made = make()
    groups = pd.Series(np.where(np.arange(400) < 100, "high", "low"))
    bad = made.copies[0].assign(g=np.where(np.arange(400) < 100, "a", made.original["g"]))
    comparison = Comparison(made.original, (bad,), made.schema, aligned=True, groups=groups)
    grouping = risk_groups(comparison)
    assert repr(grouping) == "Grouping(2 subgroups by risk group)"
    classes = classify(comparison)
    split = halves(comparison, rng=np.random.default_rng(1))
    first, second = evaluate_subgroups(classes, grouping, split)
    assert (first["by"], first["group"], first["records"], second["group"]) == ("risk group", "high", 100, "low")
    assert first["columns"][0]["column"] == "g"
    # what a table of these records alone says
    inside = measure(
        made.original["g"][:100].value_counts().reindex(list("abc")),
        bad["g"][:100].value_counts().reindex(list("abc"), fill_value=0),
    )
    assert first["columns"][0]["s_pmse"] == pytest.approx(inside["s_pmse"])
    means = [np.mean([column["per_copy"]["s_pmse"][0] for column in entry["columns"]]) for entry in (first, second)]
    assert [first["value"], second["value"]] == pytest.approx(means)
    assert 0 < second["noise"] < 10


def test_subgroups_that_cannot_be_told():
    made = make()
    groups = pd.Series(["low"] * 400)
    assert risk_groups(made) is None
    assert risk_groups(Comparison(made.original, made.copies, made.schema, aligned=True, groups=groups)) is None
    assert risk_groups(Comparison(made.original, made.copies, made.schema, aligned=False, groups=groups)) is None


def test_levels_of_a_column():
    made = make()
    gone = Comparison(made.original, (made.copies[0].query("g != 'c'"),), made.schema, aligned=False)
    classes = classify(gone)
    found = evaluate_subgroups(classes, levels_of(classes, "g"), halves(gone, rng=np.random.default_rng(1)))
    assert {entry["group"] for entry in found} == {"a", "b", "c"}
    assert all([column["column"] for column in entry["columns"]] in (["x", "y"], ["y", "x"]) for entry in found)
    assert next(entry for entry in found if entry["group"] == "c")["value"] is None


def test_heaps_at_a_cut_are_on_one_side_of_it_whatever_the_decimals():
    heaped = np.repeat(np.log([50, 100, 200, 300, 400, 500, 800]), 40)
    frame = pd.DataFrame({"x": heaped})
    data = resolve(frame, {"x": Variable(role="replace", kind=Kind.CONTINUOUS, decimals=3)})
    comparison = Comparison(data.frame, (frame.round(3),), data.schema, aligned=True)
    original, copy = classify(comparison).files
    assert np.array_equal(original[0], copy[0])
