"""Evidence that init weighs beside words: families of indicators, groups of rows, values that belie a name."""

import numpy as np
import pandas as pd
import pytest

from synthdp.config.example import example
from synthdp.config.proposal import Proposal, propose
from synthdp.table.guess import abbreviations, design, families, keys, kinds, missing, names, scales
from synthdp.table.schema import Kind, Role

N = 600
RNG = np.random.default_rng(20)


def people(**more: object) -> pd.DataFrame:
    columns = {"age": RNG.integers(18, 80, N), "sex": RNG.choice(["F", "M"], N), "score": RNG.normal(size=N)}
    return pd.DataFrame(columns | more)


def guess_of(proposal: Proposal, name: str):
    return next(guess for guess in proposal.columns if guess.name == name)


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("mrtl", "marital"), ("ethn", "origin"), ("momed", "education"), ("husEd", "education"),
        ("dykids", "household"), ("famincr", "income"), ("collegeed", "education"), ("afam", "origin"),
        ("area_code", "place"),
        ("BirthWeightGm", None), ("birth_year", "birth"), ("hours_tv_per_school_day", None), ("deduct", None),
        ("pct_black", None), ("count", None), ("mean_income", None),
    ],
)  # fmt: skip
def test_short_words_and_words_that_mean_something_else(name, topic):
    assert names.topic(name) == topic


def test_labels_with_full_stops_and_formulas():
    assert names.topic("x1", "=1 if in services indus.") == "occupation"
    assert names.topic("x2", "age - educ - 6") is None
    assert names.topic("x3", "birth weight, grams") is None


def test_no_known_word_is_short_for_two_topics():
    for word in abbreviations.SHORTENED:
        bare = word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")
        assert abbreviations.topic(bare) in (abbreviations.SHORTENED[word], None)


def test_indicators_of_which_nobody_has_two_are_about_the_same():
    which = RNG.choice(5, N)
    indicators = {name: (which == at).astype(int) for at, name in enumerate(("south", "west", "zq", "midwest"))}
    proposal = propose(people(**indicators))
    assert guess_of(proposal, "zq").role is Role.REPLACE
    # somebody may have both of these
    free = people(south=indicators["south"], west=indicators["west"], zq=RNG.integers(0, 2, N))
    assert guess_of(propose(free), "zq").role is Role.KEEP
    assert families.indicators(free, {"south": "place", "west": "place"}) == {}


@pytest.mark.parametrize("name", ["forename", "last_name", "ssn"])
def test_a_name_that_recurs_numbers_no_units(name):
    frame = people(**{name: [f"Person {i}" for i in RNG.integers(0, N // 2, N)]})
    proposal = propose(frame)
    assert proposal.design == {}
    assert guess_of(proposal, name).role is Role.DROP


def test_groups_whose_rows_lie_together_are_clusters():
    group = np.repeat(np.arange(60), 10)
    like = {f"v{at}": RNG.normal(size=60).round(2)[group] for at in range(3)}
    found = design.find(pd.DataFrame({"comm": 100 + group, **like, "y": RNG.normal(size=N)}), {})
    assert found.parts["cluster"] == "comm"
    assert "alike in 3 other columns" in found.why["comm"]
    # a file that was sorted by age has columns that follow from age, which rise with it
    aged = pd.DataFrame({"comm": 18 + group, "square": (18 + group) ** 2, "class": (18 + group) // 10})
    assert "cluster" not in design.find(aged.assign(y=RNG.normal(size=N)), {}).parts


def test_numbers_given_anew_in_every_wave_name_people_and_are_no_panel():
    wave = np.repeat([2000, 2004, 2008], 200)
    frame = people(id=np.tile(np.arange(200), 3), year=wave)
    proposal = propose(frame)
    assert (guess_of(proposal, "id").role, proposal.design) == (Role.DROP, {})


def test_values_must_fit_what_a_name_says():
    many = pd.Series(RNG.normal(size=N))
    assert not keys.believable(many, "lrelig", "origin")
    assert not keys.believable(pd.Series(np.arange(N) % 9), "sex", "sex")
    assert keys.believable(pd.Series(np.arange(N) % 2), "sex", "sex")
    proposal = propose(people(lat=45 + RNG.normal(size=N) / 10, long=-93 + RNG.normal(size=N) / 10))
    assert [guess_of(proposal, name).role for name in ("lat", "long")] == [Role.REPLACE] * 2
    assert guess_of(propose(people(long=RNG.normal(size=N))), "long").role is Role.KEEP


def test_grades_of_schools_and_of_tumours():
    assert guess_of(propose(people(grade=RNG.integers(9, 13, N))), "grade").role is Role.REPLACE
    assert guess_of(propose(people(grade=RNG.integers(1, 4, N))), "grade").role is Role.KEEP


def test_weights_at_birth_are_no_weights_of_a_sample():
    assert design.find(people(BirthWeight=RNG.gamma(1, 3000, N)), {}).parts == {}


def test_years_of_two_digits_have_no_missing_code():
    year = RNG.choice([72.0, 75.0, 99.0], N)
    assert missing.find_codes({"year": year}) == {}
    assert "visits" in missing.find_codes({"visits": np.where(year == 99, 99, RNG.integers(0, 4, N)).astype(float)})


@pytest.mark.parametrize(
    "ordered",
    [
        ["<9years", "9-11years", "12years", "16+years"],
        ["lt15k", "15t24k", "25t39k", "50k+"],
        ["<=20", "20-50", ">50"],
        ["1", "2-3", "4-6", "7+"],
        ["Below_College", "College", "Bachelor", "Master", "Doctor"],
        ["poor", "average", "excellent"],
        ["I", "II", "III"],
    ],
)
def test_more_ordered_scales(ordered):
    assert scales.in_order(sorted(ordered)) == ordered


def test_open_ends_of_a_scale_are_answers_and_no_missing_codes():
    hours = pd.Series(np.array(["<5", "5", "6", "7", "10+"])[np.arange(N) % 5])
    assert missing.text_codes(hours) == ()
    assert missing.text_codes(hours.replace({"<5": "refused", "10+": "refused"})) == (("refused", 240),)
    assert kinds.nature(hours, "sleep").levels == ("<5", "5", "6", "7", "10+")


def test_plain_numbers_are_no_ranges():
    assert scales.in_order(["1", "2", "3"]) is None


def test_stays_in_a_hospital_are_counted_and_hospitals_are_codes():
    stays = pd.Series(np.repeat([0, 1, 2, 3, 4], [400, 120, 50, 20, 10]))
    assert kinds.nature(stays, "hospital").kind is Kind.ORDINAL
    assert kinds.nature(pd.Series(RNG.integers(1, 9, N)), "hospital").kind is Kind.NOMINAL
    assert kinds.nature(pd.Series(RNG.integers(2, 14, N)), "kids").kind is Kind.COUNT


def test_one_over_a_line_is_a_formula():
    visits = RNG.integers(0, 30, N)
    proposal = propose(people(visits=visits, ratio=10 / (visits + 1)))
    assert guess_of(proposal, "ratio").derived == "1 / (0.1 * visits + 0.1)"


def test_the_example_explains_no_year_and_no_number_and_takes_two_texts():
    frame = pd.DataFrame(
        {
            "age": RNG.integers(18, 80, N),
            "year": RNG.integers(1980, 2000, N),
            "student": RNG.integers(0, 300, N),
            "lat": 45 + RNG.normal(size=N),
            "long": RNG.normal(size=N),
            "hours": RNG.choice(["<5", "5-8", "9+"], N),
            "died": RNG.choice(["no", "yes"], N),
        }
    )
    line = example(propose(frame).columns)[-1]
    assert "np.where(died == 'yes', 1, 0) ~ age" in line
    assert "model: logit" in line
