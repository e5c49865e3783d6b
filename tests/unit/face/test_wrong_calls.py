"""Wrong calls, as somebody in a notebook makes them: each is one sentence that names the argument and the cure."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp.errors import InputError, Unfinished
from synthdp.privacy.tradeoff.figures import regions

SETTINGS = {
    "variables": {"age": {"role": "replace", "key": True, "tolerance": 2}},
    "masks": {"age": {"method": "gaussian", "sd": 1.0}},
    "synthesis": {"copies": 2, "sweeps": 2},
    "evaluation": {"utility": [], "risk": ["identity"]},
}
FRAME = pd.DataFrame(
    {"age": np.arange(20, 60), "sex": ["f", "m"] * 20, "y": np.random.default_rng(1).normal(size=40).round(3)}
)
OTHERS = FRAME.assign(age=FRAME["age"] + 1)
FORMULA = {"model": "ols", "formula": "y ~ age"}


def evaluate(copies=OTHERS, frame=FRAME, settings=SETTINGS, **more):
    return synthdp.evaluate(frame, copies, settings, **more)


def settled(**blocks):
    return SETTINGS | blocks


CALLS = {
    "a number for a file": (lambda: synthdp.read(7), r"path: must be the name of a file, found int\."),
    "no file of that name": (lambda: synthdp.read("nowhere.csv"), r"nowhere\.csv: no such file"),
    "an ending nobody knows": (lambda: synthdp.read("x.doc"), r"x\.doc: .*\.csv or \.parquet"),
    "an empty name": (
        lambda: synthdp.read(""),
        r"path: must be the name of a file, found an empty or impossible one\.",
    ),
    "a dict for a frame": (
        lambda: synthdp.synthesize({"age": [1, 2]}, SETTINGS),
        r"frame: must be a pandas DataFrame or the name of a file, found dict\.",
    ),
    "a column for a frame": (lambda: synthdp.synthesize(FRAME["age"], SETTINGS), r"found Series; use \.to_frame\(\)\."),
    "no records": (
        lambda: synthdp.synthesize(FRAME.head(0), SETTINGS),
        r"frame: needs records and columns, found 0 by 3\.",
    ),
    "numbered columns": (
        lambda: synthdp.synthesize(pd.DataFrame(np.ones((12, 2))), SETTINGS),
        r"frame: columns must be named by text, found int; use frame\.columns = frame\.columns\.map\(str\)\.",
    ),
    "names on two levels": (
        lambda: synthdp.synthesize(pd.concat({"a": FRAME}, axis=1), SETTINGS),
        r"frame: columns must have one name each, found 2 levels of names\.",
    ),
    "a column twice": (
        lambda: synthdp.synthesize(pd.concat([FRAME, FRAME[["age"]]], axis=1), SETTINGS),
        r"age.*(twice|more than once)",
    ),
    "lists in cells": (
        lambda: synthdp.synthesize(FRAME.assign(more=[[1]] * 40), SETTINGS),
        r"frame: column 'more' holds lists or other containers; give each cell one value\.",
    ),
    "complex numbers": (
        lambda: synthdp.synthesize(FRAME.assign(more=1j), SETTINGS),
        r"frame: column 'more' holds complex numbers; give the two parts as columns\.",
    ),
    "no settings": (
        lambda: synthdp.synthesize(FRAME, None),
        r"settings: must be a mapping with blocks of a config, or a YAML file, found None\.",
    ),
    "settings with numbers for names": (
        lambda: synthdp.synthesize(FRAME, {1: {}}),
        r"settings: blocks are named by text, found int\.",
    ),
    "settings that are nowhere": (lambda: synthdp.synthesize(FRAME, "nowhere.yaml"), r"nowhere\.yaml: no such"),
    "settings for methods": (
        lambda: synthdp.compare(FRAME, SETTINGS),
        r"methods: these are blocks of settings; give them as settings, after the methods\.",
    ),
    "a generator for a source": (
        lambda: synthdp.dp.mean(FRAME["age"], bounds=(0, 100), epsilon=1, source=np.random.default_rng(1)),
        r"source: must be one of noise, such as synthdp\.privacy\.Simulated\(rng\), found Generator\.",
    ),
    "text for ε": (
        lambda: synthdp.dp.mean(FRAME["age"], bounds=(0, 100), epsilon="1"),
        r"epsilon: must be a number above 0, found '1'\.",
    ),
    "text for the ε of a curve": (
        lambda: synthdp.privacy.tradeoff.pure("1"),
        r"epsilon: must be a number, found str\.",
    ),
    "a curve for a region": (
        lambda: regions([synthdp.privacy.tradeoff.pure(1.0)]),
        r"shown: must be regions, such as Region\('ε = 1', curve\), found Pair\.",
    ),
    "a misspelt block": (
        lambda: synthdp.synthesize(FRAME, settled(mask={})),
        r"mask: unknown key; did you mean 'masks'\?",
    ),
    "a column that is not there": (
        lambda: synthdp.synthesize(FRAME, settled(variables={"agee": {"role": "replace"}})),
        r"agee: .*no such column",
    ),
    "data that is no block": (
        lambda: synthdp.synthesize(FRAME, settled(data=3)),
        r"data: must be a block of settings\.",
    ),
    "a negative seed": (
        lambda: synthdp.synthesize(FRAME, SETTINGS, seed=-1),
        r"seed: must be a whole number of 0 or more, found a negative number\.",
    ),
    "a seed of text": (
        lambda: synthdp.synthesize(FRAME, SETTINGS, seed="one"),
        r"seed: must be a whole .*, found str\.",
    ),
    "no jobs": (lambda: synthdp.synthesize(FRAME, SETTINGS, jobs=0), r"jobs: must be a whole number from 1 to 1,024\."),
    "no copies": (lambda: evaluate([]), r"copies: needs at least one copy, found none\."),
    "copies that are none": (lambda: evaluate(None), r"copies: must be a release, tables or files, found None\."),
    "a number among the copies": (
        lambda: evaluate([OTHERS, 3]),
        r"copy 2: must be a pandas DataFrame or the name of a file, found int\.",
    ),
    "tables and files": (
        lambda: evaluate([OTHERS, "x.csv"]),
        r"copies: must be all tables or all files, found both; read the files first\.",
    ),
    "a copy without a column": (lambda: evaluate(OTHERS.drop(columns="sex")), r"copy 1: lacks the columns sex"),
    "a rule nobody knows": (
        lambda: evaluate(rule="reiter2033"),
        r"rule: no combining rule named 'reiter2033'; did you mean 'reiter2003'\?",
    ),
    "a rule to pool by that nobody knows": (
        lambda: synthdp.pool([OTHERS] * 2, **FORMULA, rule="reiter2033"),
        r"rule: no combining rule named 'reiter2033'; did you mean 'reiter2003'\?$",
    ),
    "a rule that is a number": (lambda: evaluate(rule=2003), r"rule: must be text, found int\."),
    "a rule that does not fit": (
        lambda: evaluate([OTHERS] * 3, rule="rubin1987", design={"replaced": "some", "proper": True}),
        r"rule: rubin1987 is for imputed missing data",
    ),
    "aligned as text": (lambda: evaluate(aligned="yes"), r"aligned: must be True or False, found str\."),
    "a design by name": (
        lambda: evaluate(design="full"),
        r"design: must be a Design or a mapping such as .*, found str\.",
    ),
    "a design misspelt": (lambda: evaluate(design={"replace": "all"}), r"design: unknown key 'replace'; choose from"),
    "half a design": (lambda: evaluate(design={"replaced": "all"}), r"design: proper must be told, such as"),
    "a design of another word": (
        lambda: evaluate(design={"replaced": "full", "proper": True}),
        r"design\.replaced: must be none, some or all\.",
    ),
    "a design that is not true or false": (
        lambda: evaluate(design={"replaced": "all", "proper": "no"}),
        r"design\.proper: must be True or False, found str\.",
    ),
    "a design without imputations": (
        lambda: evaluate(design={"replaced": "all", "proper": True, "imputations": 0}),
        r"design: imputations and mask_draws must be whole numbers of 1 or more\.",
    ),
    "a design of other files": (
        lambda: evaluate(design={"replaced": "all", "proper": True, "copies": 5}),
        r"design: is that of 5 copies, found 1\.",
    ),
    "a holdout that is a number": (lambda: evaluate(holdout=3), r"holdout: must be a pandas DataFrame .*, found int\."),
    "a holdout without a column": (lambda: evaluate(holdout=FRAME[["age"]]), r"holdout: lacks the columns sex, y"),
    "a release in a list": (
        lambda: evaluate([synthdp.synthesize(FRAME, SETTINGS, seed=1)]),
        r"copies: one release at a time; a list holds tables or files\.",
    ),
    "nothing to estimate": (lambda: synthdp.pool(OTHERS), r"pool: what should be estimated\?"),
    "a model without a formula": (
        lambda: synthdp.pool([OTHERS, OTHERS], model="ols"),
        r"formula: a model needs one, such as 'y ~ age \+ C\(sex\)'\.",
    ),
    "a formula that is a list": (lambda: synthdp.pool(OTHERS, model="ols", formula=["y"]), r"formula: must be text"),
    "a model nobody knows": (lambda: synthdp.pool([OTHERS] * 2, model="oll", formula="y ~ age"), r"model: .*'?ols"),
    "a column the copies lack": (lambda: synthdp.pool([OTHERS] * 2, model="ols", formula="y ~ agee"), r"agee"),
    "fit that is none": (lambda: synthdp.pool([OTHERS] * 2, "ols"), r"fit: must be a function, found str\."),
    "an estimator that is none": (
        lambda: synthdp.pool([OTHERS] * 2, estimator=3, formula="y ~ age"),
        r"estimator: must have a method fit, found int\.",
    ),
    "a level in words": (
        lambda: synthdp.pool([OTHERS] * 2, **FORMULA, level="95%"),
        r"level: must be a number between 0",
    ),
    "a level in percent": (
        lambda: synthdp.pool([OTHERS] * 2, **FORMULA, level=95),
        r"^level: must lie between 0 and 1",
    ),
    "resamples in words": (
        lambda: synthdp.pool([OTHERS] * 2, statistic=len, bootstrap="many"),
        r"bootstrap: must be a whole number of resamples, found str\.",
    ),
    "no resamples": (lambda: synthdp.pool([OTHERS] * 2, statistic=len, bootstrap=0), r"bootstrap: needs at least 20"),
    "an empty copy": (
        lambda: synthdp.pool([OTHERS, OTHERS.head(0)], **FORMULA),
        r"copy 2: formula: the file has no records\.",
    ),
    "a separator for a dialect": (
        lambda: synthdp.read("x.csv", ";"),
        r"dialect: must be a synthdp\.table\.io\.Dialect, such as Dialect\(separator=';'\), found str\.",
    ),
    "one column to drop as text": (
        lambda: synthdp.read("x.csv", drop="age"),
        r"drop: must be a list of columns, found text; write \['age'\]\.",
    ),
    "a seed for a generator": (
        lambda: synthdp.privacy.Simulated(3),
        r"rng: must be a generator, such as numpy\.random\.default_rng\(1\), found int\.",
    ),
    "a list of analyses": (
        lambda: synthdp.compare(FRAME, ["mi"], SETTINGS, analyses=[len]),
        r"analyses: must be a mapping from names to functions of a table, such as \{'work': fit\}, found list\.",
    ),
    "a measure of one table": (
        lambda: synthdp.compare(FRAME, ["mi"], SETTINGS, measures={"gap": lambda frame: 1.0}),
        r"measures\.gap: must take two arguments, the original and the list of copies\.",
    ),
    "a number of measures": (
        lambda: synthdp.compare(FRAME, ["mi"], SETTINGS, measures=3),
        r"measures: must be names or functions, in a list or by name, found int\.",
    ),
    "jobs of a comparison below 1": (
        lambda: synthdp.compare(FRAME, ["mi"], SETTINGS, jobs=-1),
        r"jobs: must be a whole number from 1 to 1,024\.",
    ),
    "half a job": (lambda: synthdp.compare(FRAME, ["mi"], SETTINGS, jobs=1.5), r"jobs: must be a whole number from 1"),
    "a size for a table": (
        lambda: synthdp.compare(FRAME, ["mi"], SETTINGS, n=10),
        r"n: is for simulators; a table has as many records as it has\.",
    ),
    "a size in words": (
        lambda: synthdp.compare(synthdp.datasets.right_model, ["mi"], SETTINGS, n="many"),
        r"n: must be a whole number of records, at least 1\.",
    ),
    "a column for a copy": (
        lambda: synthdp.synthesize(FRAME, SETTINGS, seed=1)["age"],
        r"release\[…\]: must be the number of a copy, from 0 to 1, found str; a column is release\[0\]\[…\]\.",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_is_one_sentence(call):
    make, words = CALLS[call]
    with pytest.raises(InputError) as caught:
        make()
    said = str(caught.value)
    assert re.search(words, said), said
    assert "\n" not in said
    assert said[-1] in ".?"
    # what a notebook shows instead of a traceback
    assert caught.value._render_traceback_() == [f"InputError: {said}"]


def test_a_function_that_returns_no_records_says_so():
    with pytest.raises(Unfinished, match=r"copy 1: has no records\.$") as caught:
        synthdp.compare(FRAME, {"mine": lambda frame: frame.head(0)}, SETTINGS, seeds=1)
    assert caught.value._render_traceback_() == [f"Unfinished: {caught.value}"]


def test_there_are_at_least_twenty():
    assert len(CALLS) >= 20


def test_a_copy_that_is_not_there_ends_loops_as_lists_do():
    release = synthdp.synthesize(FRAME, SETTINGS, seed=1)
    with pytest.raises(IndexError, match=r"release\[2\]: there are 2 copies, numbered from 0\."):
        release[2]


def test_a_seed_that_is_ignored_is_said_loudly():
    frame = FRAME[["sex"]]
    private = {
        "variables": {"sex": {"role": "replace", "kind": "binary", "levels": ["f", "m"]}},
        "synthesis": {"method": "dp_histogram", "epsilon": 1.0},
    }
    with pytest.warns(UserWarning, match=r"seed: does not repeat dp_histogram.*\"source\": \"simulated\"") as caught:
        synthdp.synthesize(frame, private, seed=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        synthdp.synthesize(frame, private)
        private["synthesis"] |= {"source": "simulated"}
        one, two = (synthdp.synthesize(frame, private, seed=1)[0] for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
