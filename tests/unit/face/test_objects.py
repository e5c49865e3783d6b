"""Results show, tabulate, draw and pickle themselves, and keep the records to themselves."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp import pipeline
from synthdp.config import EvaluationSettings, parse
from synthdp.errors import InputError
from synthdp.evaluation.blocks import Dots, Marks
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.linking import evaluate_linked
from synthdp.face import tidy
from synthdp.face.drawing import figure_of
from synthdp.face.evaluation import Evaluation
from synthdp.privacy.mechanisms import Simulated
from synthdp.release.metrics import json_text
from synthdp.report.charts import draw
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

SETTINGS = {
    "variables": {"age": {"role": "replace", "key": True, "tolerance": 2}, "sex": {"role": "replace", "key": True}},
    "masks": {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}},
    "synthesis": {"copies": 3, "sweeps": 5},
    "analyses": [{"name": "trend", "model": "ols", "formula": "y ~ age + C(sex)"}],
    "evaluation": {"utility": ["pmse", "analyses", "tables"], "risk": ["identity", "attribute", "membership"]},
}
# a number in no table by chance: whoever finds it has seen a record
SECRET = 61.73519
SEED = 2**70 + 12_345


def people(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, n).round(5)
    age[7] = SECRET
    return pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "y": (0.1 * age + rng.normal(size=n)).round(3)})


FRAME = people()


@pytest.fixture(scope="module")
def release():
    return synthdp.synthesize(FRAME, SETTINGS, seed=SEED)


@pytest.fixture(scope="module")
def found(release):
    return synthdp.evaluate(FRAME, release, SETTINGS)


def test_a_release_is_a_row_of_copies(release):
    assert len(release) == 3
    assert [len(copy) for copy in release] == [120] * 3
    assert release[0] is release.copies[0]
    assert release[-1] is release.copies[2]
    assert release[:2] == release.copies[:2]
    assert release.table()["column"].tolist() == ["age", "sex", "y"]
    assert release.table()["differs"].tolist() == [True, True, False]
    assert "3 copies x 120 records" in release._repr_html_()
    assert str(SECRET) not in release._repr_html_()


def test_a_pickled_release_is_the_same_and_holds_no_key(release):
    text = pickle.dumps(release)
    again = pickle.loads(text)
    assert repr(again) == repr(release)
    assert again.rule == release.rule
    assert again.design == release.design
    for one, other in zip(again, release, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert pickle.dumps(SEED)[2:-1] not in text
    assert np.float64(SECRET).tobytes() not in text
    assert set(vars(release)) == {
        "copies", "method", "rule", "mask_draw", "masking", "seconds", "chain", "design", "privacy"
    }  # fmt: skip


def test_an_evaluation_is_a_mapping_of_sections(found):
    assert isinstance(found, Evaluation)
    assert list(found) == ["utility", "risk", "gate"]
    assert len(found) == 3
    assert found["risk"]["identity"]["expected_match"] >= 0
    assert found.get("nothing") is None
    assert found.gate is found["gate"]
    with pytest.raises(KeyError, match="no section 'privacy'; there are utility, risk and gate"):
        found["privacy"]
    assert repr(found).startswith("Evaluation(3 copies of 120 records; gate: ")


def test_an_evaluation_shows_figures_and_no_value(found):
    page = found._repr_html_()
    assert "confidence intervals agree" in page
    assert "people found in the copies" in page
    assert str(SECRET) not in page
    assert str(SECRET) not in repr(found)
    assert all(f"Caution: {one}"[:30] in page for one in found.cautions)


def test_the_table_is_tidy_and_its_numbers_are_those_of_the_sections(found):
    table = found.table()
    assert list(table.columns) == ["measure", "target", "value", "low", "high", "baseline", "better", "reason"]
    assert not table.duplicated(["measure", "target"]).any()
    at = table.set_index(["measure", "target"])["value"]
    assert at["identity.expected_match", ""] == found["risk"]["identity"]["expected_match"]
    assert at["analyses.mean_ci_overlap", "trend"] == found["utility"]["analyses"][0]["mean_ci_overlap"]
    assert at["analyses.ci_overlap", "trend: age"] == found["utility"]["analyses"][0]["terms"][2]["ci_overlap"]
    assert at["pmse.logit", ""] == found["utility"]["pmse"]["logit"]["value"]
    line = table.set_index("measure").loc["identity.expected_match"]
    assert line["baseline"] == found["risk"]["original"]["expected_match"]
    assert line["better"] == "lower"


def test_what_was_not_measured_has_a_reason_and_no_value(found):
    line = found.table().set_index("measure").loc["membership"]
    assert np.isnan(line["value"])
    assert line["reason"].startswith("needs records that the synthesis never saw")
    assert any(one.startswith("Not measured: membership: needs records") for one in found.cautions)


def test_measures_of_plugins_and_own_intruders_are_in_the_table():
    risk = {
        "nearest_row": {"value": 0.25},
        "share": 0.5,
        "intruders": {"aunt": {"expected_match": 2.0, "true_match": 1}},
    }
    table = tidy.table({"utility": {"panel": None}, "risk": risk}).set_index("measure")["value"]
    assert table.to_dict() == {
        "nearest_row": 0.25, "share": 0.5, "intruders.aunt.expected_match": 2.0, "intruders.aunt.true_match": 1.0
    }  # fmt: skip


def test_figures_are_those_of_the_report(found):
    forest = found.plot.coefficients()
    assert all(side in str(forest.data) for side in ("original", "synthetic"))
    assert found.plot.coefficients("trend").data == forest.data
    assert len(found.plot.margins("age").data) == 1 + 3  # the original, and a line for each copy
    assert found.plot.margins().layout.height > found.plot.margins("sex").layout.height
    assert found.plot.pairs().data[0].type == "heatmap"
    assert "Who is found by whom" in found.plot.risk().layout.annotations[0].text
    assert found.plot.risk().to_json()
    assert repr(found.plot) == "plot: .coefficients() .margins() .pairs() .risk()"
    with pytest.raises(InputError, match=r"plot\.margins: no column 'y' to draw; there are age and sex\."):
        found.plot.margins("y")


def test_a_pickled_evaluation_draws_and_holds_no_record(found):
    text = pickle.dumps(found)
    again = pickle.loads(text)
    assert repr(again) == repr(found)
    assert again.cautions == found.cautions
    pd.testing.assert_frame_equal(again.table(), found.table())
    for name in ("coefficients", "margins", "pairs", "risk"):
        assert getattr(again.plot, name)() == getattr(found.plot, name)()
    assert np.float64(SECRET).tobytes() not in text
    assert str(SECRET).encode() not in text
    assert not any(isinstance(part, pd.DataFrame) for part in vars(again.plot).values())


def test_what_lies_beyond_the_axis_is_explained():
    rows = ("original", "identity", "identity_averaged")
    marks = (Marks("expected matches", (900.0, 2.0, 3.0), "found"),)
    figures = draw(Dots("Who is found", rows, marks, "records", ""))
    words = figure_of(figures, "risk", "").layout.annotations[0].text
    assert "◆ expected matches" in words
    assert "▶ beyond the axis" in words


def test_linking_refuses_rows_that_are_nobodys():
    data = resolve(FRAME, {name: Variable(role="replace", key=True) for name in FRAME})
    files = Comparison(data.frame, (data.frame,), data.schema, aligned=False)
    with pytest.raises(InputError, match=r"identity_linked: rows are not aligned and no record is alone on the kept"):
        evaluate_linked(files, rng=np.random.default_rng(1))


def test_there_is_nothing_to_draw_where_nothing_was_measured():
    bare = SETTINGS | {"analyses": [], "evaluation": {"utility": [], "risk": ["identity"]}}
    found = synthdp.evaluate(FRAME, FRAME, bare, aligned=False)
    with pytest.raises(InputError, match=r"plot\.risk: there is nothing to draw: rows of these files cannot be traced"):
        found.plot.risk()
    with pytest.raises(InputError, match=r"plot\.pairs: .*: evaluation\.utility does not list tables\."):
        found.plot.pairs()


def test_files_in_any_order_are_said_to_be_so_and_score_no_zero(release):
    shuffled = [copy.sample(frac=1, random_state=k).reset_index(drop=True) for k, copy in enumerate(release)]
    found = synthdp.evaluate(FRAME, shuffled, SETTINGS)
    assert found.cautions[0].startswith("Nothing shows that row i of these files was made from record i, so measures")
    line = found.table().set_index("measure").loc["identity"]
    assert np.isnan(line["value"])
    assert "cannot be traced" in line["reason"]
    assert not found.gate["passed"]
    said = synthdp.evaluate(FRAME, shuffled, SETTINGS, aligned=True)
    assert "as was said" in said.cautions[0]
    assert "expected_match" in said["risk"]["identity"]
    assert any("y should be as in the original" in one for one in said.cautions)


def test_fully_synthetic_strangers_score_no_zero():
    drawn = [people().sample(120, replace=True, random_state=k).reset_index(drop=True) for k in (1, 2)]
    everything = {name: {"role": "replace", "key": name != "y"} for name in FRAME}
    attacks = ["identity", "identity_averaged", "identity_linked", "identity_likelihood", "identity_public",
               "identity_extremes"]  # fmt: skip
    asked = SETTINGS | {"variables": everything, "masks": {}, "evaluation": {"utility": [], "risk": attacks}}
    table = synthdp.evaluate(FRAME, drawn, asked, design={"replaced": "all", "proper": False}).table()
    not_taken = table[table["measure"].isin(attacks)]
    assert {"identity", "identity_averaged", "identity_likelihood"} <= set(not_taken["measure"])
    assert not_taken["value"].isna().all()
    assert (not_taken["reason"] != "").all()
    # whoever links rows through kept columns has none to link by
    linked = table[table["measure"].str.startswith("identity_linked")]
    assert linked["value"].isna().all()
    assert len(linked)


def test_an_analysis_that_failed_is_said_to_be_missing():
    found = synthdp.evaluate(FRAME, FRAME.assign(age=40), SETTINGS)
    assert any(one.startswith("Not measured: analyses: ") and "'age'" in one for one in found.cautions)


def test_files_that_keep_nothing_are_combined_with_a_caution():
    drawn = [people().sample(120, replace=True, random_state=k).reset_index(drop=True) for k in (1, 2)]
    every = SETTINGS | {"variables": {name: {"role": "replace", "key": name != "y"} for name in FRAME}, "masks": {}}
    bare = every | {"evaluation": {"utility": ["analyses"], "risk": ["verbatim"]}}
    (said,) = (one for one in synthdp.evaluate(FRAME, drawn, bare).cautions if "raab2016" in one)
    assert said.startswith("Every column is replaced, so these files may be fully synthetic")
    for known in ({"rule": "raab2016"}, {"design": {"replaced": "all", "proper": False}}):
        assert not any("raab2016" in one for one in synthdp.evaluate(FRAME, drawn, bare, **known).cautions)


def test_a_holdout_that_was_in_the_file_is_told():
    bare = SETTINGS | {"analyses": [], "evaluation": {"utility": [], "risk": ["membership"]}}
    release = synthdp.synthesize(FRAME, bare, seed=SEED)
    words = "holdout: 120 of its 120 records are records of the original"
    assert synthdp.evaluate(FRAME, release, bare, holdout=FRAME).cautions[0].startswith(words)
    assert synthdp.compare(FRAME, ["mi"], bare, seeds=1, holdout=FRAME).cautions[0].startswith(words)
    assert not synthdp.evaluate(FRAME, release, bare, holdout=people(240).iloc[120:]).cautions


def test_the_command_line_says_the_same(release, tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    shuffled = release[0].sample(frac=1, random_state=1)
    shuffled.to_csv(tmp_path / "copy.csv", index=False)
    bare = SETTINGS | {
        "evaluation": {"utility": [], "risk": ["identity"]},
        "data": {"path": str(tmp_path / "data.csv")},
    }
    outcome = pipeline.evaluate(parse(bare), synthetic=[tmp_path / "copy.csv"], out=tmp_path / "out")
    found = synthdp.evaluate(str(tmp_path / "data.csv"), str(tmp_path / "copy.csv"), bare)
    assert ("caution", found.cautions[0]) in outcome.summary
    assert json.loads(json_text(found["risk"])) == json.loads(json_text(outcome.metrics["risk"]))


def test_files_by_name_do_as_tables_do(found, release, tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    names = [str(tmp_path / f"copy_{k}.csv") for k in range(3)]
    for copy, name in zip(release, names, strict=True):
        copy.to_csv(name, index=False)
    (tmp_path / "config.yaml").write_text(json_text(SETTINGS | {"data": {"path": "data.csv"}}))
    config = str(tmp_path / "config.yaml")
    assert synthdp.read(str(tmp_path / "data.csv")).shape == (120, 3)
    by_name = synthdp.evaluate(str(tmp_path / "data.csv"), names, config, design=release.design)
    pd.testing.assert_frame_equal(by_name.table(), found.table())
    again = synthdp.synthesize(tmp_path / "data.csv", config, seed=SEED)
    pd.testing.assert_frame_equal(again[0], release[0])


def test_rule_design_and_holdout_are_heeded(release):
    plain = SETTINGS | {"evaluation": {"utility": ["analyses"], "risk": ["membership"]}}
    told = synthdp.evaluate(FRAME, release, plain, rule="mean_se", holdout=people(200).iloc[120:])
    assert told["utility"]["analyses"][0]["rule"] == "mean_se"
    assert "reason" not in told["risk"]["membership"]
    full = synthdp.evaluate(FRAME, release.copies, plain, design={"replaced": "all", "proper": False})
    assert full["utility"]["analyses"][0]["rule"] == "raab2016"


def test_one_table_is_a_copy(release):
    bare = SETTINGS | {"analyses": [], "evaluation": {"utility": [], "risk": ["identity"]}}
    assert repr(synthdp.evaluate(FRAME, release[0], bare)).startswith("Evaluation(1 copy of 120 records")


def test_judged_over_draws_as_a_run_does():
    limits = {"draws": 12, "max_memorised": None}
    bare = SETTINGS | {"evaluation": {"utility": [], "risk": ["identity"]}, "release": limits, "seed": SEED}
    found = synthdp.evaluate(FRAME.head(60), synthdp.synthesize(FRAME.head(60), bare), bare, judge=True)
    assert found.gate["basis"] == "draws"
    assert found.gate["draws"] >= 12


def test_pooled_estimates_show_and_draw_themselves(release):
    pooled = synthdp.pool(release, model="ols", formula="y ~ age + C(sex)")
    assert len(pooled) == 3
    assert pooled.rule == "reiter2003"
    assert "combined by reiter2003" in pooled._repr_html_()
    assert "<th>95% low</th>" in pooled._repr_html_()
    drawn = pooled.plot.coefficients()
    assert drawn.data[1].x == pytest.approx(pooled.estimate, rel=1e-5)
    assert repr(pooled.plot) == "plot: .coefficients()"
    again = pickle.loads(pickle.dumps(pooled))
    pd.testing.assert_frame_equal(again.table(), pooled.table())
    assert pooled.wald(["age"]).p_value < 0.05


def test_private_results_show_themselves():
    source = Simulated(np.random.default_rng(1))
    age = FRAME["age"]
    mean = synthdp.dp.mean(age, bounds=(0, 100), epsilon=1, source=source)
    assert "ε = 1, adjacency replace" in mean._repr_html_()
    assert mean.table().loc["mean", "low"] == mean.low
    counts = synthdp.dp.histogram(FRAME["sex"], levels=["f", "m"], epsilon=1, source=source)
    assert counts.table().index.tolist()[:2] == ["f", "m"]
    assert "<th>estimate</th>" in counts._repr_html_()
    x = np.column_stack([age / 100, np.ones(120)]) / 2
    fit = synthdp.dp.adassp(x, FRAME["y"] / 20, x_norm=1, y_bound=1, epsilon=1, delta=1e-6, source=source)
    assert fit.table()["estimate"].tolist() == fit.theta.tolist()
    assert "AdaSSP analytic, ridge" in fit._repr_html_()
    groups = synthdp.dp.kmeans([age, FRAME["y"]], 2, bounds=[(0, 100), (0, 10)], epsilon=5, source=source)
    assert list(groups.table().columns) == ["column 1", "column 2", "size"]
    assert "Clusters" in groups._repr_html_()


def test_only_what_is_public_shows():
    assert dir(synthdp) == sorted(synthdp.__all__)
    assert {"os", "sys", "importlib", "resource", "Any"}.isdisjoint(vars(synthdp))


def test_the_settings_have_their_own_name():
    assert EvaluationSettings().rows == "aligned"
    with pytest.raises(ImportError):
        from synthdp.config import Evaluation as _  # noqa: F401
