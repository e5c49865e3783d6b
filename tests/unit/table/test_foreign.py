"""Files of other tools beside the original: each way they may be written is handled, or refused with one sentence."""

import numpy as np
import pandas as pd
import pytest

from synthdp import pipeline
from synthdp.config import load
from synthdp.errors import InputError
from synthdp.table import io
from synthdp.table.foreign import File, Findings, harmonise
from synthdp.table.io.labels import Labels
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

SECRET = "Zebulon"
N = 40


def original():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, N),
            "sex": np.tile(["F", "M"], N // 2),
            "edu": np.tile(["low", "mid", "high", "mid"], N // 4),
            "ill": np.tile([True, False, False, False], N // 4),
            "code": np.tile([1, 2, 3, 2], N // 4),
        }
    )


DECLARED = {
    "sex": Variable(levels=("F", "M")),
    "edu": Variable(levels=("low", "mid", "high")),
    "code": Variable(kind="nominal"),
}


def lay(*copies, variables=None, labels=None, own=None, frame=None):
    variables = DECLARED if variables is None else variables
    data = resolve(original() if frame is None else frame, variables)
    files = [File(f"file {i}", copy, own or Labels()) for i, copy in enumerate(copies, start=1)]
    made, found = harmonise(files, data, variables, labels or Labels())
    for sentence in (*found.problems, *found.cautions):
        assert SECRET not in sentence
    return made, found


def same(frame):
    """Check that a table is the original, values and types."""
    pd.testing.assert_frame_equal(frame, original())


def test_the_original_itself():
    (made,), found = lay(original())
    same(made)
    assert (found.problems, found.cautions) == ([], ())


def test_other_order_and_other_columns():
    (first, second), found = lay(
        original()[["ill", "age", "code", "sex", "edu"]], original().assign(**{SECRET[:3]: 1, "w": 2})
    )
    same(first)
    same(second)
    assert found.cautions == ("file 2: columns that the original is not judged by were left out: Zeb, w.",)
    (_, _), found = lay(*[original().assign(**{f"m{i}": 1 for i in range(7)})] * 2)
    (sentence,) = found.cautions
    assert sentence == (
        "file 1 and 1 more: columns that the original is not judged by were left out: m0, m1, m2, m3, m4 and 2 more."
    )


def test_columns_that_are_not_there():
    _, found = lay(original().drop(columns=["age", "edu"]), original().rename(columns={"sex": "Sex"}))
    assert found.problems == [
        "file 1: lacks the columns age, edu; add them, or give them role: drop in the config.",
        "file 2: lacks the columns sex; there are columns that differ in upper and lower case: rename them.",
    ]
    twice = pd.concat([original(), original()[["age"]]], axis=1)
    assert lay(twice)[1].problems == ["file 1: the column name 'age' occurs more than once; rename one."]


@pytest.mark.parametrize(
    "spelt",
    [
        {"ill": lambda c: c.astype(int)},
        {"ill": lambda c: c.astype(float)},
        {"ill": lambda c: c.map({True: "TRUE", False: "FALSE"})},
        {"ill": lambda c: c.map({True: "1", False: "0"})},
        {"code": lambda c: c.astype(float)},
        {"code": lambda c: c.map("{:.1f}".format)},
        {"code": lambda c: c.astype(str)},
        {"age": lambda c: c.astype(float).astype(object)},
        {"sex": lambda c: c.astype("category")},
        {"sex": lambda c: " " + c.str.lower()},
        {"edu": lambda c: c.str.upper()},
    ],
)
def test_the_same_values_spelt_otherwise(spelt):
    (made,), found = lay(original().assign(**{name: change(original()[name]) for name, change in spelt.items()}))
    pd.testing.assert_frame_equal(made, original(), check_dtype="age" not in spelt)
    assert pd.api.types.is_numeric_dtype(made["age"])
    assert (found.problems, found.cautions) == ([], ())


def test_numbers_as_text():
    (made,), found = lay(original().assign(age=original()["age"].astype(str)))
    assert made["age"].tolist() == original()["age"].tolist()
    _, found = lay(original().assign(age=SECRET))
    assert found.problems == ["file 1: age is continuous and needs numbers, found values that are not."]


@pytest.mark.parametrize("first", [0, 1])
def test_codes_in_the_order_of_the_levels(first):
    codes = original()["edu"].map({"low": first, "mid": first + 1, "high": first + 2})
    (made, _), found = lay(original().assign(edu=codes), original())
    same(made)
    assert found.cautions == ("file 1: edu holds codes; they were read as the levels in the order of the config.",)
    # a gap makes them floats, and stays a gap
    (gappy, _), _ = lay(original().assign(edu=codes.where(np.arange(N) > 0).astype(float)), original())
    assert gappy["edu"].isna().tolist() == [True] + [False] * (N - 1)
    assert gappy["edu"][1:].tolist() == original()["edu"][1:].tolist()


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        ([1, 2, 3], False),
        ([1, 2, 2], True),
        ([2, 3, 4], True),
        ([0, 1, 3], True),
        ([1, 2, 2.5], True),
        ([-1, 0, 1], True),
    ],
)
def test_codes_that_may_mean_anything_are_refused(values, declared):
    codes = original()["edu"].map(dict(zip(["low", "mid", "high"], values, strict=True)))
    variables = DECLARED if declared else {"code": DECLARED["code"]}
    _, found = lay(original().assign(edu=codes), variables=variables)
    assert found.problems == [
        "file 1: edu holds codes, and none is a level of the original; list variables.edu.levels in the order of the "
        "codes (from 0 or from 1, the last one occurring), or write the levels."
    ]


def test_levels_that_are_none():
    _, found = lay(original().assign(sex=SECRET))
    assert found.problems == [
        "file 1: no value of sex is a level of the original; write them as the original does, or recode."
    ]
    (made,), found = lay(original().assign(sex=original()["sex"].where(np.arange(N) > 2, SECRET)))
    assert found.problems == []
    assert found.cautions == ("file 1: sex: 3 values outside the levels count as a level of their own.",)
    assert made["sex"].tolist() == [SECRET] * 3 + original()["sex"].tolist()[3:]
    (empty,), found = lay(original().assign(sex=np.nan))
    assert empty["sex"].isna().all()
    assert (found.problems, found.cautions) == ([], ())


def test_labels_of_the_original():
    text = original()["code"].map({1: "one", 2: "Two", 3: "three"})
    labels = Labels(values={"code": {1: "one", 2: "two", 3: "three", 9: "unused"}})
    (made,), found = lay(original().assign(code=text), labels=labels)
    same(made)
    assert found.problems == []


def test_labels_of_the_file():
    codes = original()["edu"].map({"low": 7, "mid": 8, "high": 9})
    (made,), found = lay(
        original().assign(edu=codes), own=Labels(values={"edu": {7.0: "low", 8.0: "mid", 9.0: "high"}})
    )
    same(made)
    assert (found.problems, found.cautions) == ([], ())


def test_a_name_for_two_levels_is_none():
    labels = Labels(values={"code": {1: "some", 2: "some", 3: "three"}})
    text = original()["code"].map({1: "some", 2: "some", 3: "three"})
    _, found = lay(original().assign(code=text), labels=labels)
    assert found.cautions == (f"file 1: code: {3 * N // 4} values outside the levels count as a level of their own.",)


def test_coarsening_is_done_where_it_was_not():
    variables = DECLARED | {"age": Variable(topcode=60, bottomcode=30, round=5)}
    coarse = original().assign(age=lambda f: (f["age"] / 5 + 0.5).astype(int).mul(5).clip(30, 60))
    (raw, done), found = lay(original(), coarse, variables=variables, frame=coarse)
    assert raw["age"].tolist() == done["age"].tolist() == coarse["age"].tolist()
    assert found.cautions == ("file 1: age was made coarser as the original was (bottomcode, topcode, round).",)


def test_recoding_is_done_where_it_was_not():
    recoded = original().assign(
        edu=original()["edu"].replace("mid", "low"), age=original()["age"].where(lambda a: a != 50, 51)
    )
    variables = {"code": DECLARED["code"], "edu": Variable(recode={"mid": "low"}), "age": Variable(recode={50: 51})}
    before = original().assign(age=[50] * 5 + original()["age"].tolist()[5:])
    (raw, done), found = lay(before, recoded, variables=variables, frame=recoded)
    assert raw["edu"].tolist() == done["edu"].tolist() == recoded["edu"].tolist()
    assert raw["age"].tolist()[:5] == [51] * 5
    assert found.cautions == ("file 1: age was made coarser as the original was (recode).",)
    # values that are both old and new cannot be told apart from those already recoded
    swapped = variables | {"age": Variable(recode={50: 51, 51: 50})}
    (raw,), _ = lay(before, variables=swapped, frame=recoded)
    assert raw["age"].tolist() == before["age"].tolist()


def test_rare_levels_join_the_others():
    frame = original().assign(edu=np.where(original()["edu"] == "high", "other", original()["edu"]))
    variables = {"code": DECLARED["code"], "edu": Variable(rare=15)}
    (made,), found = lay(original(), variables=variables, frame=frame)
    assert made["edu"].tolist() == frame["edu"].tolist()
    assert found.cautions == (
        "file 1: edu: 10 values outside the levels count as 'other', as the rare levels of the original do.",
    )


def test_derived_columns_are_computed_where_they_are_not_there():
    frame = original().assign(twice=lambda f: 2 * f["age"])
    variables = DECLARED | {"twice": Variable(derived="2 * age")}
    copy = frame.assign(age=frame["age"] + 1)
    (made, given), found = lay(copy.drop(columns="twice"), copy, variables=variables, frame=frame)
    assert made["twice"].tolist() == (2 * copy["age"]).tolist()
    assert given["twice"].tolist() == copy["twice"].tolist()
    assert list(made) == list(frame)
    assert found.cautions == ("file 1: derived columns that are not there were computed: twice.",)


def test_nothing_shows_values():
    assert repr(File("a.csv", original())) == f"File(a.csv, {N} rows)"
    assert Findings().cautions == ()


# through the command's own function, from files


def write(folder, copies, *, config, frame=None, suffix="csv", labels=None):
    io.write(original() if frame is None else frame, folder / "original.csv", format="csv")
    (folder / "config.yaml").write_text("data: {path: original.csv}\n" + config)
    paths = []
    for number, copy in enumerate(copies, start=1):
        paths.append(folder / f"copy_{number}.{suffix}")
        io.write(copy, paths[-1], format=suffix, **({"labels": labels} if labels else {}))
    return load(folder / "config.yaml"), paths


ALL = """
variables:
  age: {key: true}
  edu: {kind: ordinal, levels: [low, mid, high]}
  code: {kind: nominal}
evaluation:
  rows: none
  utility: [pmse, analyses, tables, distributions, correlations, prediction]
  targets: [ill]
  subgroups: sex
  table_ways: [1, 2, 3]
  risk: [identity]
analyses: [{name: age, model: ols, formula: age ~ sex + ill}]
"""


def test_the_command_judges_another_tools_file(tmp_path):
    copy = original().sample(frac=1, random_state=1)[["edu", "ill", "sex", "age", "code"]]
    copy = pd.concat([copy, copy[:7]]).assign(
        edu=lambda f: f["edu"].map({"low": 1, "mid": 2, "high": 3}), ill=lambda f: f["ill"].astype(int), extra=SECRET
    )
    config, paths = write(tmp_path, [copy], config=ALL)
    outcome = pipeline.evaluate(config, synthetic=paths, out=tmp_path / "out")
    utility = outcome.metrics["utility"]
    assert {"tables", "table_summary", "subgroups", "distributions", "correlations", "prediction"} <= set(utility)
    assert len(utility["tables"]) == 5 + 10 + 10
    assert {entry["group"] for entry in utility["subgroups"]} == {"F", "M"}
    assert utility["prediction"][0]["target"] == "ill"
    assert "reason" not in utility["analyses"][0]
    assert outcome.metrics["risk"]["identity"]["reason"].startswith("rows of these files cannot be traced")
    cautions = outcome.metrics["cautions"]
    assert [sentence.split(": ", 1)[1] for sentence in cautions] == [
        "columns that the original is not judged by were left out: extra.",
        "edu holds codes; they were read as the levels in the order of the config.",
    ]
    assert [value for label, value in outcome.summary if label == "caution"] == cautions
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert SECRET not in page


def test_a_stata_file_with_labels_beside_a_text_file(tmp_path):
    codes = original()["sex"].map({"F": 5, "M": 6})
    labels = Labels(values={"sex": {5: "F", 6: "M"}}, family="stata")
    config, paths = write(
        tmp_path,
        [original().assign(sex=codes)],
        config="variables: {code: {kind: nominal}}\n",
        suffix="dta",
        labels=labels,
    )
    outcome = pipeline.evaluate(config, synthetic=paths, out=tmp_path / "out")
    assert outcome.metrics["cautions"] == []
    assert all(entry["pmse"] == 0 for entry in outcome.metrics["utility"]["tables"])


def test_prediction_without_a_target_says_so(tmp_path):
    config, paths = write(tmp_path, [original()], config="evaluation: {utility: [prediction], risk: [identity]}\n")
    outcome = pipeline.evaluate(config, synthetic=paths, out=tmp_path / "out")
    assert outcome.metrics["utility"] == {
        "prediction": {"reason": "no target was named; list the columns to predict in evaluation.targets"}
    }


def test_columns_of_the_evaluation_must_exist(tmp_path):
    settings = "evaluation: {targets: [nobody], table_columns: [age, no], subgroups: none}\n"
    config, paths = write(tmp_path, [original()], config=settings)
    with pytest.raises(InputError) as caught:
        pipeline.evaluate(config, synthetic=paths, out=tmp_path / "out")
    assert caught.value.problems == (
        "evaluation.targets: no column named 'nobody'.",
        "evaluation.table_columns: no column named 'no'.",
        "evaluation.subgroups: no column named 'none'.",
    )
