"""Classes of columns that init met in files nobody had tuned it on, each on a small made-up frame."""

import numpy as np
import pandas as pd
import pytest

from synthdp.config.proposal import propose
from synthdp.stages.planning import cautions_on
from synthdp.table import telling
from synthdp.table.guess import families, identifiers, kinds, missing, names
from synthdp.table.microdata import resolve
from synthdp.table.schema import Kind, Role, Variable

N = 300


@pytest.fixture
def rng():
    return np.random.default_rng(20261118)


def guessed(frame, name):
    return next(guess for guess in propose(frame, method="auto").columns if guess.name == name)


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("xage", "age"),
        ("educb", "education"),
        ("educdec", "education"),
        ("denomina", "origin"),
        ("nev_mar", "marital"),
        ("collgrad", "education"),
        ("ind_code", "occupation"),
        ("JobSatisfaction", None),
        ("grace", None),
        ("employ", None),
        ("grade", None),
    ],
)
def test_letters_cuts_and_codes_around_known_words(name, topic):
    assert names.topic(name) == topic


def test_years_of_marriage_are_no_codes():
    assert not names.is_unordered("yrsmarr")
    assert names.is_unordered("marr")
    assert names.is_unordered("schoolidk")


def test_names_of_people_are_dropped_however_often_they_recur(rng):
    frame = pd.DataFrame({"last_name": rng.choice(list("abcdefgh"), N), "clinic_name": rng.choice(list("abcdefgh"), N)})
    assert identifiers.why(frame["last_name"], "last_name") == "the name says that people's names are in it"
    assert identifiers.why(frame["clinic_name"], "clinic_name") is None


def test_moments_that_occur_once_are_identifiers():
    times = pd.Series(pd.date_range("2021-07-01", periods=N, freq="h").strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert identifiers.why(times, "started") == "times to the minute, 100% of them distinct"


def test_scores_are_told_from_codes_by_their_neighbours(rng):
    score = pd.Series(np.round(rng.normal(0, 2.5, 4000)) * 7 + 503)
    codes = pd.Series(rng.permutation(np.arange(100, 1000, 7))[rng.geometric(0.1, 4000).clip(1, 100) - 1])
    assert kinds.nature(score, "m").kind is Kind.CONTINUOUS
    assert kinds.nature(codes, "m").kind is Kind.NOMINAL


def test_numbers_from_one_up_without_a_shape_are_labels(rng):
    shares = rng.dirichlet(np.full(30, 4.0))
    assert kinds.nature(pd.Series(rng.choice(np.arange(1, 31), 1500, p=shares)), "v").kind is Kind.NOMINAL
    assert kinds.nature(pd.Series(rng.binomial(40, 0.5, 1500) + 1), "v").kind is not Kind.NOMINAL


def test_the_sum_of_three_columns_and_a_centred_one_are_recomputed(rng):
    frame = pd.DataFrame({f"q{i}": rng.integers(0, 11, N) for i in (1, 2, 3)})
    frame["trust"] = frame[["q1", "q2", "q3"]].sum(axis=1)
    frame["age"], frame["iq"] = rng.integers(18, 80, N), np.round(rng.normal(100, 15, N))
    frame["iq.cen"] = frame["iq"] - 1234.5678 / 12.3
    found = {guess.name: guess for guess in propose(frame, method="auto").columns}
    assert found["trust"].derived == "q1 + q2 + q3"
    assert found["iq"].role is Role.KEEP
    assert found["iq.cen"].role is Role.DERIVED


def test_a_sum_of_columns_that_lie_apart_is_found(rng):
    frame = pd.DataFrame(
        {name: np.round(rng.gamma(1, 100, N), 2) for name in ("drug", "other", "visit", "more", "stay")}
    )
    frame["spent"] = frame["drug"] + frame["visit"] + frame["stay"]
    assert guessed(frame, "spent").derived == "drug + visit + stay"


def test_items_of_a_battery_are_no_keys(rng):
    items = ("natcity", "nateduc", "natrace", "natdrug", "natroad")
    frame = pd.DataFrame({name: rng.integers(-1, 2, N) for name in items} | {"race": rng.integers(1, 4, N)})
    assert families.battery(frame) == frozenset(items)
    found = {guess.name: guess for guess in propose(frame, method="auto").columns}
    assert (found["natrace"].role, found["natrace"].kind) == (Role.KEEP, Kind.ORDINAL)
    assert found["race"].role is Role.REPLACE


def test_siblings_lend_their_topic(rng):
    frame = pd.DataFrame({name: rng.integers(20, 60, N) for name in ("age", "dage", "q")} | {"q2": rng.random(N)})
    frame["ed"], frame["ded"] = rng.integers(1, 6, N), rng.integers(1, 6, N)
    assert guessed(frame, "ded").role is Role.REPLACE


def test_the_weight_of_all_stages_is_the_one_to_use(rng):
    frame = pd.DataFrame({"weightsFirm": rng.uniform(1, 9, N), "age": rng.integers(18, 80, N)})
    frame["weights"] = frame["weightsFirm"] * rng.uniform(1, 3, N)
    assert propose(frame, method="auto").design["weights"] == "weights"


def test_pupils_are_clustered_in_their_school(rng):
    school = np.sort(rng.integers(1, 41, N))
    frame = pd.DataFrame({"schoolNR": school, "mixed": (school % 3 == 0) * 1, "age": rng.integers(9, 13, N)})
    assert propose(frame, method="auto").design["cluster"] == "schoolNR"


def test_grade_is_schooling_when_it_goes_that_far(rng):
    assert guessed(pd.DataFrame({"grade": rng.integers(0, 19, N), "age": rng.integers(18, 80, N)}), "grade").key
    tumour = pd.DataFrame({"grade": rng.integers(1, 4, N), "age": rng.integers(18, 80, N)})
    assert guessed(tumour, "grade").role is Role.KEEP


def states(rng, *, wrong=0.02):
    """Return people of 25 states whose two rates together tell the state, but for a few slips."""
    state = rng.integers(0, 25, 1500)
    slip = np.where(rng.random(1500) < wrong, rng.integers(0, 25, 1500), state)
    return pd.DataFrame({"state": state, "rate": slip % 5, "most": slip // 5, "x": rng.integers(0, 5, 1500)})


def test_told_equals_its_brute_force_twin(rng):
    cells, values = rng.integers(0, 12, 80), rng.integers(0, 3, 80)
    told = 0
    for i in range(80):
        others = [values[j] for j in range(80) if j != i and cells[j] == cells[i]]
        told += sum(one == values[i] for one in others) > len(others) / 2
    share, common = telling._told(cells, values)
    assert share == told / 80
    assert common == max(np.bincount(values)) / 80


def test_two_kept_columns_that_tell_a_replaced_one_are_replaced_too(rng):
    found = {guess.name: guess for guess in propose(states(rng), method="auto").columns}
    for name in ("rate", "most"):
        guess = found[name]
        assert guess.role is Role.REPLACE
        assert "it tells state for 9" in " ".join(guess.evidence)
    assert found["x"].role is Role.KEEP


def test_check_says_which_columns_tell_a_replaced_one(rng):
    declared = {
        "state": Variable(kind=Kind.NOMINAL, role=Role.REPLACE),
        **{name: Variable(kind=Kind.ORDINAL, role=Role.KEEP) for name in ("rate", "most", "x")},
    }
    said = cautions_on(resolve(states(rng), declared))
    assert any(line.startswith("variables.rate: kept, but together with most it tells state for 9") for line in said)
    assert not any("variables.x" in line for line in said)


def test_what_chance_tells_is_not_said(rng):
    frame = pd.DataFrame({"a": rng.integers(0, 9, N), "b": rng.integers(0, 9, N), "sex": rng.random(N) < 0.03})
    assert telling.find(resolve(frame, {}), kept=["a", "b"], replaced=["sex"]) == ()
    assert telling.find(resolve(frame[:20], {}), kept=["a", "b"], replaced=["sex"]) == ()


def test_where_many_columns_tell_one_a_person_is_asked(rng):
    school = rng.integers(0, 40, 1500)
    levels = {name: rng.integers(0, 30, 40)[school] for name in "abcdefg"}
    slips = {name: np.where(rng.random(1500) < 0.01, 30, values) for name, values in levels.items()}
    town = rng.integers(0, 8, 40)[school]
    guess = guessed(pd.DataFrame(slips | {"town": town}), "town")
    assert any("kept columns tell it, alone or in twos" in sentence for sentence in guess.decide)


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("maried", "marital"),
        ("husEmpl", "occupation"),
        ("selfemp", "occupation"),
        ("emp_title", "occupation"),
        ("inc_chg", None),
        ("verified_income", None),
        ("debt_to_income", None),
        ("income_total", "income"),
        ("time_to_work", None),
        ("edu_exp", None),
        ("child_expenses", None),
        ("children", "household"),
        ("work_empl", None),
    ],
)
def test_changes_ratios_and_spending_are_not_what_they_are_of(name, topic):
    assert names.topic(name) == topic


def test_texts_say_what_a_column_is_about_where_its_name_does_not(rng):
    status = rng.choice(["Married", "Divorced", "Never married", "In a relationship"], N)
    frame = pd.DataFrame({"rel_status": status, "v3": rng.choice(["Asian", "Hispanic", "Other"], N)})
    frame["colour"] = rng.choice(["white", "black", "red"], N)
    frame["ideal_partner"] = rng.choice(["Married", "Divorced"], N)
    found = {guess.name: guess.key for guess in propose(frame, method="auto").columns}
    assert found == {"rel_status": True, "v3": True, "colour": False, "ideal_partner": False}
    assert "its values say marital" in " ".join(guessed(frame, "rel_status").evidence)


def test_few_numbers_that_fall_from_zero_and_leave_gaps_are_counts():
    liens = pd.Series([0] * 900 + [1] * 60 + [2] * 20 + [3] * 10 + [4] * 5 + [11, 52])
    assert kinds.nature(liens, "liens").kind in (Kind.COUNT, Kind.SEMICONTINUOUS)
    graded = pd.Series([0] * 900 + [1] * 60 + [2] * 20 + [3] * 10 + [4] * 5)
    assert kinds.nature(graded, "liens").kind is Kind.ORDINAL
    missing = pd.Series([0] * 900 + [1] * 60 + [2] * 20 + [3] * 10 + [99] * 5)
    assert kinds.nature(missing, "liens").kind is Kind.ORDINAL


def test_a_level_that_has_all_missing_values_and_no_other_is_a_skip_however_rare(rng):
    tenure = rng.integers(0, 73, 2000)
    tenure[tenure == 0] = 1
    tenure[:7] = 0
    frame = pd.DataFrame({"tenure": tenure, "total": np.where(tenure == 0, np.nan, rng.gamma(2.0, 500.0, 2000))})
    assert missing.find_skips(frame, ["tenure"])["total"].applies_when() == "tenure != 0"
    # asked too, though tenure is a number of many values
    assert propose(frame, method="auto").skips["total"].because == "tenure"
    frame.loc[7, "total"] = np.nan
    assert missing.find_skips(frame, ["tenure"]) == {}
