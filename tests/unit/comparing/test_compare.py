"""Methods of every kind on one map: settings, synthesizers, functions, files; kept cells, own measures, the truth."""

import json
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp.comparing import cells
from synthdp.comparing.axes import undominated
from synthdp.comparing.fingerprints import of_frame, of_function, of_object
from synthdp.comparing.lines import Line, lines_of
from synthdp.comparing.mapping import COLUMNS
from synthdp.comparing.methods import drawn
from synthdp.comparing.truth import by_target
from synthdp.config import parse
from synthdp.errors import InputError, Unfinished
from synthdp.synthesis.imputed import Mi

SETTINGS = {
    "variables": {"age": {"role": "replace", "key": True, "tolerance": 3}, "sex": {"key": True}},
    "masks": {"age": {"method": "gaussian", "sd": 1.0}},
    "synthesis": {"copies": 2},
    "analyses": [{"name": "pay", "model": "ols", "formula": "income ~ age"}],
    "evaluation": {"utility": ["analyses"], "risk": ["linkability"]},
}


def people(n=80, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    return pd.DataFrame(
        {"age": age, "sex": rng.choice(["F", "M"], n), "income": 1000.0 + 20 * age + rng.normal(0, 200, n).round(1)}
    )


def resampled(frame, rng):
    return [frame.sample(len(frame), replace=True, random_state=int(rng.integers(2**31))) for _ in range(2)]


def mean_gap(frame, copies):
    return {"age": np.mean([copy["age"].mean() for copy in copies]) - frame["age"].mean()}


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """Return one study of every kind of method, and its folder."""
    folder = tmp_path_factory.mktemp("study")
    frame = people()
    frame.sample(frac=1, random_state=1).to_csv(folder / "other_1.csv", index=False)
    methods = {
        "mi": {"method": "mi"},
        "wide": {"masks": {"age": {"method": "gaussian", "sd": 3.0}}},
        "object": Mi(copies=2),
        "function": resampled,
        "files": str(folder / "other_*.csv"),
    }
    out = folder / "out"
    return synthdp.compare(frame, methods, SETTINGS, seeds=2, measures=[mean_gap, "identity"], out=out), out


def test_the_table_is_tidy_and_has_every_method_seed_and_measure(studied):
    table = studied[0].table()
    assert tuple(table.columns) == COLUMNS
    assert table.groupby("method", sort=False)["seed"].nunique().to_dict() == {
        "files": 0, "mi": 2, "wide": 2, "object": 2, "function": 2,
    }  # fmt: skip
    assert {"analyses.overlap", "analyses.estimate", "linkability.attack", "mean_gap"} <= set(table["measure"])
    made = table[table["method"] != "files"]
    assert (made["seconds"] > 0).all()
    assert table[table["method"] == "files"]["seconds"].isna().all()
    # a line has a value, or the reason why it has none
    assert ((table["value"].isna()) == (table["reason"] != "")).all()


def test_what_does_not_apply_is_empty_with_its_reason_and_never_zero(studied):
    table = studied[0].table()
    for method in ("function", "files"):
        lines = table[(table["method"] == method) & table["measure"].str.startswith("identity")]
        assert lines["value"].isna().all()
        assert lines["reason"].str.contains("cannot be traced").all()
    risk = table[table["measure"] == "linkability.risk"]
    assert risk["value"].isna().all()
    assert risk["reason"].str.contains("needs records of people who were not used").all()
    assert any("nothing says which row is whose" in said for said in studied[0].cautions)


def test_the_same_settings_give_the_same_numbers_as_evaluate(studied):
    frame = people()
    config = {**SETTINGS, "synthesis": {"method": "mi", "copies": 2}}
    from synthdp.comparing.laying import Scene, beside
    from synthdp.comparing.methods import contenders
    from synthdp.seeding import Streams

    parsed = parse({"data": {"path": "x"}, **config})
    (one,) = contenders(parsed, {"mi": {"method": "mi"}})
    lay, _ = beside(one, Scene.of(parsed, frame), Streams(1).within("compare", "mi"))
    found = synthdp.evaluate(frame, lay().copies, config, aligned=True)["utility"]["analyses"][0]["mean_ci_overlap"]
    table = studied[0].table()
    mine = table[(table["method"] == "mi") & (table["seed"] == 1) & (table["measure"] == "analyses.overlap")]
    assert mine["value"].item() == pytest.approx(found)


def test_what_does_not_depend_on_the_copies_is_measured_once():
    settings = {**SETTINGS, "evaluation": {"utility": [], "risk": ["memorised", "linkability"]}}
    table = synthdp.compare(people(40), ["mi"], settings, seeds=2).table()
    assert table[table["measure"].str.startswith("memorised")]["seed"].unique().tolist() == [1]
    assert table[table["measure"] == "linkability.attack"]["seed"].tolist() == [1, 2]


def test_own_measures_are_lines(studied):
    lines = studied[0].table().query("measure == 'mean_gap'")
    assert set(lines["target"]) == {"age"}
    assert lines["value"].notna().all()
    assert lines[lines["method"] == "files"]["value"].item() == 0


def test_the_map_the_front_and_the_object(studied):
    found, out = studied
    assert len(found) == 5
    assert next(iter(found)) == "mi"
    assert "5 methods x 2 seeds" in repr(found)
    assert found["mi"]["method"].eq("mi").all()
    figure = found.plot.map("linkability.attack", "analyses.overlap: pay")
    assert {"on the front", "beaten by another"} <= {trace.name for trace in figure.data}
    assert set(found.front()) <= set(found.methods)
    assert found.front()
    assert "<table" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)).front() == found.front()
    told = json.loads((out / "comparison.json").read_text())
    assert told["front"] == list(found.front())
    assert told["axes"]["risk"] == "linkability.attack"
    assert len(pd.read_csv(out / "comparison.csv")) == len(found.table())
    page = (out / "report.html").read_text()
    assert "Not on the map" not in page.split('id="maps"')[0]
    assert "<code>synthdp explore</code> with the folder of this page" in page
    assert "(identity.rate: rows of these files cannot be traced" in page
    assert "http://" not in page.split("<script>")[0]
    with pytest.raises(InputError, match=r"risk: the table has no measure 'speed'; it has linkability"):
        found.plot.map("speed")
    with pytest.raises(InputError, match="no method is called 'x'; there are mi, wide"):
        found["x"]


def test_a_killed_study_goes_on(tmp_path, monkeypatch):
    frame, taken = people(40), []
    work = cells.Cells._taken

    def counted(self, one, seed):
        if len(taken) == 3:
            raise KeyboardInterrupt
        taken.append((one.name, seed))
        return work(self, one, seed)

    monkeypatch.setattr(cells.Cells, "_taken", counted)
    study = partial(synthdp.compare, frame, ["mi", "da_mi"], SETTINGS, seeds=2, out=tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        study()
    assert taken == [("mi", 1), ("da_mi", 1), ("mi", 2)]
    assert not (tmp_path / "out" / "comparison.csv").exists()
    names = [path.name for path in (tmp_path / "out" / "cells").iterdir()]
    assert len(names) == 3
    assert not any("mi" in name for name in names)
    (tmp_path / "out" / "cells" / names[0]).write_text("{half")  # written half by a killed process
    taken.clear()
    first = study()
    assert len(taken) == 2
    taken.clear()
    # other records, measures or settings are other cells
    synthdp.compare(frame, ["mi"], SETTINGS, seeds=1, out=tmp_path / "out")
    assert not taken
    synthdp.compare(frame.head(39), ["mi"], SETTINGS, seeds=1, out=tmp_path / "out")
    synthdp.compare(frame, ["mi"], SETTINGS, seeds=1, measures=[mean_gap], out=tmp_path / "out")
    synthdp.compare(frame, {"mi": {"method": "mi", "copies": 3}}, SETTINGS, seeds=1, out=tmp_path / "out")
    assert len(taken) == 3
    monkeypatch.undo()
    fresh = synthdp.compare(frame, ["mi", "da_mi"], SETTINGS, seeds=2)
    left, right = (one.table().drop(columns=["seconds", "memory"]) for one in (first, fresh))
    pd.testing.assert_frame_equal(left, right)


@pytest.mark.slow  # processes take seconds to start
def test_results_do_not_depend_on_the_number_of_processes():
    one, two = (
        synthdp.compare(people(40), {"mi": "mi", "function": resampled}, SETTINGS, seeds=1, jobs=jobs).table()
        for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.drop(columns=["seconds", "memory"]), two.drop(columns=["seconds", "memory"]))


def test_a_method_that_fails_does_not_stop_the_others():
    def broken(frame):
        raise ValueError(frame["income"].iloc[0])

    frame = people(40)
    found = synthdp.compare(frame, {"mi": "mi", "broken": broken}, SETTINGS, seeds=1)
    lines = found["broken"]
    assert lines["value"].isna().all()
    assert lines["reason"].str.contains("ValueError in broken").all()
    assert str(frame["income"].iloc[0]) not in " ".join(lines["reason"])
    assert any(said.startswith("broken: failed in 1 of 1 runs") for said in found.cautions)
    assert found.points().set_index("method").loc["broken", "reason"]
    with pytest.raises(Unfinished, match="no method finished; the first says: ValueError in broken"):
        synthdp.compare(frame, {"broken": broken}, SETTINGS, seeds=1)


def test_a_negative_zero_is_zero_to_the_tool_that_wrote_the_file():
    frame = people().assign(income=lambda one: one["income"].where(one.index > 2, -0.0))
    copy = frame.assign(income=frame["income"] + 0.0, age=frame["age"].sample(frac=1, random_state=1).to_numpy())
    found = synthdp.compare(frame, {"other": [copy, copy]}, SETTINGS, seeds=1)
    assert found.cautions[0] == "other: row i of each copy is taken for record i: the kept columns agree row by row."


def test_files_whose_kept_columns_agree_row_by_row_are_aligned():
    frame = people(40)
    copy = frame.assign(age=frame["age"][::-1].to_numpy())
    found = synthdp.compare(frame, {"rows": [copy]}, SETTINGS, measures=["identity"])
    assert found["rows"].query("measure == 'identity.rate'")["value"].notna().all()
    assert any("taken for record i" in said for said in found.cautions)
    told = synthdp.compare(frame, {"rows": {"files": [copy], "rows": "none"}}, SETTINGS, measures=["identity"])
    assert told["rows"].query("measure == 'identity'")["value"].isna().all()


def test_fully_synthetic_files_are_combined_as_such():
    frame = people(60)
    found = synthdp.compare(frame, {"other": [people(60, 2), people(60, 3)]}, SETTINGS)
    assert any("taken as fully synthetic, combined by raab2016" in said for said in found.cautions)


def simulated(rng):
    x = rng.standard_normal(60)
    return pd.DataFrame({"x": x, "k": rng.integers(0, 2, 60), "y": 1 + 0.5 * x + rng.standard_normal(60)})


def test_the_truth_is_known():
    settings = {
        "variables": {"x": {"role": "replace", "key": True, "tolerance": 0.1}},
        "analyses": [{"name": "ols", "model": "ols", "formula": "y ~ x"}],
    }
    found = synthdp.compare(simulated, {"mi": {"method": "mi", "copies": 2}}, settings, seeds=6, truth={"x": 0.5})
    table = found.table()
    drawn_ = table.query("measure == 'analyses.estimate' and target == 'ols: x'")
    told = table[table["measure"].str.startswith("truth") & (table["method"] == "mi")].set_index("measure")
    error = drawn_["value"] - 0.5
    assert told.loc["truth.bias", "value"] == pytest.approx(error.mean())
    assert told.loc["truth.rmse", "value"] == pytest.approx(np.sqrt((error**2).mean()))
    assert told.loc["truth.width", "value"] == pytest.approx((drawn_["high"] - drawn_["low"]).mean())
    held = ((drawn_["low"] <= 0.5) & (drawn_["high"] >= 0.5)).mean()
    assert told.loc["truth.coverage", "value"] == held
    assert told.loc["truth.coverage", "low"] <= held <= told.loc["truth.coverage", "high"]
    assert set(table["method"]) == {"mi", "(original)"}
    assert found.methods == ("mi",)
    # the original of a seed is the one that numpy gives for it
    first = drawn(simulated, 60, synthdp.seeding.Streams(1).generator("simulate"))
    slope = np.polyfit(first["x"], first["y"], 1)[0]
    line = table.query("measure == 'analyses.original' and target == 'ols: x' and seed == 1")
    assert line["value"].item() == pytest.approx(slope)


def test_a_term_that_no_analysis_has_is_said():
    studied = synthdp.compare(lambda rng: people(60), ["mi"], SETTINGS, seeds=np.arange(1, 2), truth={"agee": 1.0})
    assert studied.cautions[0] == "truth: no analysis estimated pay: agee; look at how terms are spelt."


def test_a_design_of_ours_brings_its_analyses_and_its_truth():
    settings = {"variables": {"x": {"role": "replace", "key": True, "tolerance": 0.1}}, "synthesis": {"copies": 2}}
    found = synthdp.compare(synthdp.datasets.right_model, ["mi"], settings, seeds=1, n=100)
    told = found.table().query("measure == 'truth.bias'")
    assert {"ols: x", "logit: z", "mean: Intercept"} <= set(told["target"])


def test_an_analysis_may_be_a_function():
    def slope(frame):
        import statsmodels.formula.api as smf

        return smf.ols("income ~ age", frame).fit()

    found = synthdp.compare(people(), {"mi": "mi"}, SETTINGS, seeds=1, analyses={"own": slope}).table()
    own = found[found["target"] == "own: age"].set_index("measure")
    same = found[found["target"] == "pay: age"].set_index("measure")
    assert own.loc["analyses.estimate", "value"] == pytest.approx(same.loc["analyses.estimate", "value"])
    assert own.loc["analyses.original", "value"] == pytest.approx(same.loc["analyses.original", "value"])


class Plain:
    """A synthesizer of somebody's own."""

    copies = 1

    def __init__(self, wrong=()):
        self.wrong = list(wrong)

    def problems(self, plan):
        return self.wrong

    def synthesize(self, plan, *, streams, jobs=1, advance=None):
        from synthdp.synthesis.plan import Release

        return Release((plan.data.frame.copy(),), "plain", "reiter2003", "none")


def test_a_synthesizer_may_be_any_object():
    found = synthdp.compare(people(40), {"own": Plain(), "no": Plain(["own: no."])}, SETTINGS, seeds=1)
    assert found["own"].query("measure == 'analyses.overlap'")["value"].item() == pytest.approx(1)
    assert set(found["no"]["reason"]) == {"own: no."}
    # what the settings' own method would need, such as a mask, is nothing to it
    bare = synthdp.compare(people(40), {"own": Plain()}, SETTINGS | {"masks": {}, "synthesis": {}}, seeds=1)
    assert not bare.cautions


@pytest.mark.parametrize(
    ("methods", "more", "words"),
    [
        ({}, {}, "methods: nothing to compare"),
        (3, {}, "methods: must be a mapping from names to methods"),
        ({"a": 3}, {}, r"methods\.a: must be settings, a synthesizer, a function"),
        ({"a": {"method": "cart"}}, {}, r"methods\.a\.method: must be one of"),
        ({"a": {"method": "mi", "copis": 2}}, {}, r"methods\.a\.copis: unknown key; did you mean 'copies'"),
        ({"a": {"masks": {"age": {"method": "no"}}}}, {}, r"methods\.a\.masks\.age\.method: must be one of"),
        ({"a": {"synthesis": {"method": "mi"}, "data": {}}}, {}, r"methods\.a\.data: a method may replace variables"),
        ({"a": "nothing/*.csv"}, {}, r"methods\.a: no file matches nothing/\*\.csv"),
        ({"a": ["x.csv", 3]}, {}, r"methods\.a: files must be paths or tables"),
        ({"a": {"files": "x", "kind": 1}}, {}, r"methods\.a: files take rows \(aligned or none\) and design"),
        ({"a": {"files": "x", "design": {"proper": True}}}, {}, r"methods\.a\.design: must be a synthdp\.synthesis"),
        ({"": "mi"}, {}, "methods: a name must be printable text"),
        ({"a": "mi"}, {"seeds": 0}, "seeds: must be how many"),
        ({"a": "mi"}, {"seeds": [1, 1]}, "seeds: must be how many"),
        ({"a": "mi"}, {"seeds": "many"}, "seeds: must be how many"),
        ({"a": "mi"}, {"seeds": "12"}, "seeds: must be how many"),
        ({"a": "mi"}, {"seeds": [1.7]}, "seeds: must be how many"),
        ({"a": "mi"}, {"seeds": True}, "seeds: must be how many"),
        ({"a": "mi"}, {"measures": ["speed"]}, r"measures: must be names of measures or functions .* found 'speed'"),
        ({"a": "mi"}, {"measures": [mean_gap, mean_gap]}, "measures: the name 'mean_gap' is taken"),
        ({"a": "mi"}, {"analyses": {"pay": len}}, r"analyses\.pay: the settings have an analysis of this name"),
        ({"a": "mi"}, {"analyses": {"b": 3}}, r"analyses\.b: must be a function from a table"),
        ({"a": "mi"}, {"truth": {"x": 1}}, "truth: needs a simulator"),
        ({"(original)": "mi"}, {}, r"methods: \(original\) stands for the records themselves; choose another name\."),
        ({"a": lambda: people()}, {"seeds": 1}, r"methods\.a: the function must take a table, and rng or seed"),
        ({"a": "mi"}, {"holdout": "x.csv"}, r"x\.csv: no such file"),
        ({"a": "mi"}, {"holdout": 3}, "holdout: must be a pandas DataFrame or the name of a file, found int"),
    ],
)
def test_wrong_calls_are_told_in_a_sentence(methods, more, words):
    with pytest.raises(InputError, match=words) as caught:
        synthdp.compare(people(40), methods, SETTINGS, **more)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "more", "words"),
    [
        (3, {}, "frame: must be a table or a simulator"),
        (simulated, {}, "truth: a simulator needs it"),
        (lambda rng: 3, {"truth": {"age": 1}}, "compare: the simulator must return a table, found int"),
        (lambda rng: people(), {"truth": {"age": 1}, "holdout": people()}, "holdout: a simulator draws its own"),
        (lambda rng: people(), {"truth": 1}, "truth: must be a mapping"),
        (lambda rng: people(), {"truth": pd.Series({"age": 1.0})}, "truth: must be a mapping"),
        (
            lambda: people(),
            {"truth": {"age": 1}},
            "compare: the simulator must take rng, a generator of random numbers",
        ),
        (lambda rng: people(), {"truth": {"age": "one"}}, "truth: must be numbers, found str for pay: age"),
        (lambda rng: 1 / 0, {"truth": {"age": 1}}, "the simulator failed: ZeroDivisionError in <lambda>, line"),
        (lambda rng: people(), {"truth": {"other": {"age": 1}}}, r"truth: must name analyses \(pay\), found other"),
    ],
)
def test_wrong_tables_and_truths_are_told_in_a_sentence(frame, more, words):
    with pytest.raises(InputError, match=words):
        synthdp.compare(frame, ["mi"], SETTINGS, **more)
    with pytest.raises(InputError, match="there are 2 analyses, so a mapping from analyses"):
        by_target({"x": 1.0}, ["a", "b"])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda frame, copies: "many", r"measures\.<lambda>: must return a number"),
        (lambda frame, copies: (1, 2), r"measures\.<lambda>: must return a number, or \(value, low, high\)"),
    ],
)
def test_a_measure_that_returns_something_else_says_so(function, words):
    with pytest.raises(Unfinished, match=words):
        synthdp.compare(people(40), ["mi"], SETTINGS, seeds=1, measures=[function])


def test_measures_may_return_intervals_or_nothing():
    own = {"ranged": lambda f, c: (1, 0, 2), "none": lambda f, c: None, "empty": lambda f, c: {}}
    found = synthdp.compare(people(40), ["mi"], SETTINGS, seeds=1, measures=own).table().set_index("measure")
    assert found.loc["ranged", ["value", "low", "high"]].tolist() == [1, 0, 2]
    assert found.loc["none", "reason"] == "it gave no number"
    assert found.loc["empty", "reason"] == "it gave no figure"
    table = synthdp.compare(people(40), {"a": lambda frame: 3, "mi": "mi"}, SETTINGS, seeds=1)["a"]
    assert table["reason"].str.contains(r"methods\.a: the function must return a table or a list").all()


def test_functions_and_tables_are_told_apart_by_what_they_are():
    def one(frame, k=1):
        return k

    def other(frame, k=2):
        return k

    def maker(shift):
        return lambda frame: frame + shift

    assert of_function(one) != of_function(other)
    assert of_function(one) == of_function(one)
    assert of_function(maker(1)) != of_function(maker(2))
    assert of_function(maker(1)) == of_function(maker(1))
    assert of_function(partial(one, k=3)) != of_function(partial(one, k=4))
    assert of_frame(people(5)) != of_frame(people(5, 2))
    assert of_frame(pd.DataFrame({"x": [[1], [2]]})) != of_frame(pd.DataFrame({"x": [[1], [3]]}))
    assert of_object(Plain(["a"])) != of_object(Plain(["b"]))


def test_lines_of_sections():
    assert lines_of("attribute", {"attribute": []})[0].reason.startswith("no column is to be learnt")
    assert lines_of("own", {"own": {"value": 2, "low": 1}}) == [Line("own.value", "", 2.0, 1.0, None)]
    assert lines_of("own", {"own": {"a": 2, "b": {"value": 3}}}) == [Line("own.a", "", 2.0), Line("own.b", "", 3.0)]
    assert lines_of("own", {"own": 4})[0].value == 4
    assert lines_of("panel", {"panel": {"reason": "why"}}) == [Line("panel", reason="why")]
    assert lines_of("verbatim", {"verbatim": {}})[0].reason == "it gave no figure"


def test_the_front_by_definition():
    rng = np.random.default_rng(3)
    for _ in range(20):
        x, y = rng.integers(0, 4, (2, 7)).astype(float)
        plain = [
            not any((x[j] <= x[i] and y[j] <= y[i]) and (x[j] < x[i] or y[j] < y[i]) for j in range(7))
            for i in range(7)
        ]
        assert undominated(x, y).tolist() == plain


def test_the_table_may_be_given_by_the_name_of_its_file(tmp_path):
    people().assign(name="somebody").to_csv(tmp_path / "people.csv", index=False)
    # a dropped column is never read, and nobody misses it
    dropping = SETTINGS | {"variables": {**SETTINGS["variables"], "name": {"role": "drop"}}}
    named = synthdp.compare(str(tmp_path / "people.csv"), ["mi"], dropping, seeds=1).table()
    held = synthdp.compare(people(), ["mi"], SETTINGS, seeds=1).table()
    pd.testing.assert_series_equal(named["value"], held["value"])
