"""What init makes of a survey's design, of computed columns, of labels and of names written together."""

import numpy as np
import pandas as pd
import pytest
import yaml

from synthdp.config import json_schema, parse
from synthdp.config.proposal import propose
from synthdp.config.proposal_text import to_yaml
from synthdp.config.reading import Loader
from synthdp.table.guess import design, formulas, kinds, names
from synthdp.table.io import Labels
from synthdp.table.microdata import resolve
from synthdp.table.schema import Kind, Role

RNG = np.random.default_rng(17)
N = 600


def guess_of(proposal, name):
    return next(guess for guess in proposal.columns if guess.name == name)


def people(**more):
    return pd.DataFrame({"age": RNG.integers(18, 90, N), "sex": RNG.choice(["F", "M"], N)}).assign(**more)


# names and labels


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("husage", "age"),
        ("motheduc", "education"),
        ("kidslt6", "household"),
        ("faminc", "income"),
        ("evermarr", "marital"),
        ("smcity", "place"),
        ("wage", "income"),
        ("percentage", None),
        ("stage", None),
        ("learn", None),
        ("birthcontrol", None),
        ("postage", None),
        ("prostate", None),
        ("zinc", None),
    ],
)
def test_names_written_together(name, topic):
    assert names.topic(name) == topic


@pytest.mark.parametrize(
    ("label", "topic"),
    [
        ("age of respondent", "age"),
        ("carer's level of education", "education"),
        ("=1 if religion == catholic", "origin"),
        ("=1 for kentucky", "place"),
        ("'ideal' number of children", None),
        ("does caregiving cause difficulties in your relationship with your family?", None),
        ("average price in state of residence", None),
        ("", None),
    ],
)
def test_labels(label, topic):
    assert names.topic("v7x", label) == topic


def test_a_label_makes_a_key_of_a_name_that_says_nothing():
    labels = Labels(variables={"q7": "Age of respondent"})
    proposal = propose(people(q7=RNG.integers(18, 90, N)), labels=labels)
    assert guess_of(proposal, "q7").key
    assert any("its label says age" in text for text in guess_of(proposal, "q7").evidence)


# codes


def test_codes_are_told_from_amounts():
    codes = RNG.choice(RNG.choice(np.arange(1001, 9999), 80, replace=False), N, p=RNG.dirichlet(np.full(80, 0.15)))
    assert kinds.nature(pd.Series(codes), "xyz").kind is Kind.NOMINAL
    amounts = RNG.choice(np.arange(100, 9000, 50), N, p=RNG.dirichlet(np.full(178, 0.15)))
    assert kinds.nature(pd.Series(amounts), "xyz").kind is Kind.CONTINUOUS
    years = RNG.choice(np.arange(1950, 1990), N, p=RNG.dirichlet(np.full(40, 0.3)))
    assert kinds.nature(pd.Series(years), "xyz").kind is Kind.CONTINUOUS
    assert kinds.nature(pd.Series(RNG.integers(1, 120, N)), "occ").kind is Kind.NOMINAL
    assert kinds.nature(pd.Series(RNG.integers(1, 13, N)), "birthmonth").kind is Kind.ORDINAL


# design


def test_weights_strata_and_clusters():
    frame = people(stratum=RNG.integers(1, 9, N), psu=RNG.integers(1, 3, N), pweight=RNG.gamma(4, 200, N))
    proposal = propose(frame)
    assert proposal.design == {"strata": "stratum", "cluster": "psu", "weights": "pweight"}
    config = parse(yaml.load(to_yaml(proposal, "x.csv"), Loader))
    assert (config.data.weights, config.data.strata, config.data.cluster) == ("pweight", "stratum", "psu")


@pytest.mark.parametrize(
    ("name", "values", "label", "weighs"),
    [
        ("weight", RNG.normal(75, 12, N), "", False),
        ("weight", RNG.lognormal(9, 1, N), "", True),
        ("wt", RNG.lognormal(9, 1, N), "birth weight in grams", False),
        ("q9", RNG.lognormal(0, 1, N), "final sampling weight", True),
        ("pweight", -RNG.lognormal(0, 1, N), "", False),
        ("w", np.append(RNG.lognormal(9, 1, N - 1), np.nan), "", False),
    ],
)
def test_weights_of_samples_are_no_weights_of_bodies(name, values, label, weighs):
    found = design.find(people(**{name: values}), {name: label} if label else {})
    assert (found.parts.get("weights") == name) is weighs


def test_beside_a_height_a_weight_is_a_body():
    frame = people(height=RNG.normal(170, 9, N), weight=RNG.lognormal(4, 0.6, N))
    assert design.find(frame, {}).parts == {}


def test_a_panel_is_kept_together_unless_that_tells_a_replaced_column():
    unit = np.repeat(np.arange(N // 3), 3)
    frame = pd.DataFrame({"nr": unit, "year": np.tile([1, 2, 3], N // 3), "age": RNG.integers(18, 90, N)})
    proposal = propose(frame.assign(y=RNG.normal(size=N)))
    assert proposal.design == {"cluster": "nr"}
    assert "renumber it at random or drop it" in guess_of(proposal, "nr").decide[0]
    told = propose(frame.assign(sex=np.where(unit % 2 == 0, "F", "M")))
    assert guess_of(told, "nr").role is Role.DROP
    assert "rows that share it would tell that" in guess_of(told, "nr").evidence[-1]
    assert told.design == {}


def test_units_without_a_name_show_by_their_rows():
    unit = np.repeat(RNG.permutation(N // 3), 3)
    frame = pd.DataFrame({"q": unit, "wave": np.tile([1, 2, 3], N // 3), "site": unit % 4, "y": RNG.normal(size=N)})
    assert list(design.find(frame, {}).units) == ["q"]
    assert not design.find(frame.assign(q=RNG.permutation(unit)), {}).units


def test_households():
    frame = people(hhid=np.repeat(np.arange(N // 2), 2), y=RNG.normal(size=N))
    assert design.find(frame, {}).units == {"hhid": "household"}


def test_weights_that_tell_a_replaced_column_are_kept_and_asked_about():
    region = RNG.integers(1, 6, N)
    proposal = propose(people(region=region, pweight=100.0 + 7 * region))
    guess = guess_of(proposal, "pweight")
    assert (guess.role, guess.keep_anyway) == (Role.KEEP, True)
    assert "the weights tell region" in guess.decide[-1]
    assert "keep_anyway: true" in to_yaml(proposal, "x.csv")


# computed columns


def computed(frame):
    return {name: one.text for name, one in formulas.find(resolve(frame, {})).items()}


def test_formulas():
    educ, age = RNG.integers(6, 19, N), RNG.integers(20, 66, N)
    wage, hours = RNG.lognormal(2, 0.5, N).round(2), RNG.integers(1, 61, N)
    black, kind = RNG.integers(0, 2, N), RNG.integers(1, 6, N)
    frame = pd.DataFrame({"educ": educ, "age": age, "wage": wage, "hours": hours, "black": black, "kind": kind})
    exper = np.maximum(age - educ - 6, 0)
    frame = frame.assign(
        exper=exper,
        expersq=exper**2,
        lwage=np.log(wage),
        lsingle=np.log(wage).astype(np.float32).astype(np.float64),
        blackeduc=black * educ,
        earns=wage * hours,
        other=1 - black,
        third=(kind == 3).astype(int),
        old=(age > 50).astype(int),
    )
    assert computed(frame) == {
        "exper": "max(-1 * educ + age - 6, 0)",
        "expersq": "exper ** 2",
        "lwage": "log(wage)",
        "lsingle": "lwage",
        "blackeduc": "educ * black",
        "earns": "wage * hours",
        "other": "-1 * black + 1",
        "third": "where(kind == 3, 1, 0)",
        "old": "where(age >= 51, 1, 0)",
    }
    assert formulas.find(resolve(frame, {}))["lsingle"].decimals is not None


def test_an_indicator_of_a_text():
    town = RNG.choice(["A", "B", "C's"], N)
    assert computed(pd.DataFrame({"town": town, "c": (town == "C's").astype(int)})) == {
        "c": 'where(town == "C\'s", 1, 0)'
    }


def test_a_column_named_like_a_word_of_python():
    x = RNG.normal(size=N)
    frame = people(**{"lambda": x, "square": x**2})
    proposal = propose(frame)
    assert guess_of(proposal, "square").derived == "`lambda` ** 2"
    assert "Q('lambda')" in to_yaml(proposal, "x.csv").split("# analyses:")[1]


def test_what_differs_in_one_record_has_no_formula():
    x = RNG.normal(size=N)
    assert computed(pd.DataFrame({"x": x, "y": np.append(x[:-1] ** 2, 7.0)})) == {}
    assert computed(pd.DataFrame({"x": x[:20], "y": x[:20] ** 2})) == {}


def test_computed_columns_are_recomputed_and_check_accepts_them():
    frame = people(exper=RNG.integers(0, 40, N))
    proposal = propose(frame.assign(expersq=frame["exper"] ** 2, agesq=frame["age"] ** 2))
    assert {guess.name: guess.derived for guess in proposal.having(Role.DERIVED)} == {
        "expersq": "exper ** 2",
        "agesq": "age ** 2",
    }


def test_zeros_of_an_amount_explain_gaps():
    earns = np.where(RNG.random(N) < 0.4, 0, RNG.integers(1, 900, N))
    union = np.where(earns > 0, RNG.integers(0, 2, N), np.nan)
    proposal = propose(people(points=earns, union=union))
    assert proposal.skips["union"].condition() == "points == 0"
    assert guess_of(proposal, "union").applies_when == "points != 0"


# auto


def test_auto_replaces_every_kind_of_key():
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(RNG.integers(0, 15000, N), unit="D")
    gaps = np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 4, N))
    frame = people(birth_date=born, occ=RNG.integers(100, 199, N), kids=gaps, y=RNG.normal(size=N))
    proposal = propose(frame, method="auto")
    assert {guess.name for guess in proposal.having(Role.REPLACE)} == {"age", "sex", "birth_date", "occ", "kids"}
    text = to_yaml(proposal, "x.csv")
    assert "synthesis: {method: da_mi, model: {method: auto}, copies: 5}" in text
    assert "  birth_date: {method: gaussian, sd: 1.0}" in text
    assert {guess.name for guess in propose(frame, method="regression").having(Role.REPLACE)} == {"age", "sex"}


def test_auto_replaces_what_would_give_a_replaced_number_away():
    age = RNG.integers(18, 90, N)
    frame = pd.DataFrame({"age": age, "months": 12 * age + RNG.integers(0, 12, N)})
    assert guess_of(propose(frame, method="auto"), "months").role is Role.REPLACE
    assert guess_of(propose(frame, method="regression"), "months").role is Role.DROP


# the example, and what editors read


@pytest.mark.parametrize(
    ("more", "formula"),
    [
        ({"pweight": RNG.gamma(4, 200, N), "wage": RNG.lognormal(2, 1, N)}, 'ols, formula: "wage ~ C(sex) + age"'),
        ({"voted": RNG.integers(0, 2, N)}, 'logit, formula: "voted ~ C(sex) + age"'),
        ({}, 'ols, formula: "y ~ x"'),
    ],
)
def test_the_example_explains_something(more, formula):
    assert f"model: {formula}" in to_yaml(propose(people(**more)), "x.csv")


def test_the_schema_is_named_and_describes_every_word():
    assert to_yaml(propose(people()), "x.csv").startswith("# yaml-language-server: $schema=synthdp.schema.json\n")
    schema = json_schema()
    blocks = [schema, *schema["$defs"].values()]
    assert not [
        name for block in blocks for name, about in block.get("properties", {}).items() if "description" not in about
    ]
