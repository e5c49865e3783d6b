"""What init guesses: kinds, missing codes, identifiers, keys, skips and derived columns, and that no value leaks."""

import numpy as np
import pandas as pd
import pytest
import yaml
from shared_data import SHARED

from synthdp.config import parse
from synthdp.config.guessing import date_form
from synthdp.config.proposal_text import propose as propose_by
from synthdp.config.proposal_text import scalar, tell, to_yaml
from synthdp.config.reading import Loader
from synthdp.table.guess import identifiers, keys, kinds, missing, names, scales
from synthdp.table.schema import Kind, Role

RNG = np.random.default_rng(20240607)
N = 400


def propose(frame, *, method="regression", **settings):
    """Return the proposal for regressions, which replace least; for ``auto`` see test_proposing_design."""
    return propose_by(frame, method=method, **settings)


def series(values):
    return pd.Series(np.asarray(values))


def guess_of(frame, name, **settings):
    return next(guess for guess in propose(frame, **settings).columns if guess.name == name)


# kinds


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Kind.BINARY, RNG.integers(0, 2, N)),
        (Kind.BINARY, np.where(RNG.random(N) < 0.5, "yes", "no")),
        (Kind.BINARY, RNG.random(N) < 0.5),
        (Kind.ORDINAL, RNG.integers(1, 6, N)),
        (Kind.ORDINAL, RNG.choice([1.5, 2.5, 4.0, 8.0], N)),
        (Kind.ORDINAL, RNG.choice(["never", "sometimes", "often", "always"], N)),
        (Kind.ORDINAL, RNG.choice(["16-24", "25-44", "45-64", "65+"], N)),
        (Kind.NOMINAL, RNG.choice(["red", "green", "blue"], N)),
        (Kind.COUNT, RNG.poisson(RNG.gamma(1, 4, N))),
        (Kind.SEMICONTINUOUS, np.where(RNG.random(N) < 0.4, 0, RNG.lognormal(8, 1, N).round())),
        (Kind.CONTINUOUS, RNG.normal(50, 10, N)),
        (Kind.CONTINUOUS, RNG.integers(150, 200, N)),
        (Kind.CONTINUOUS, np.full(N, 3.0)),
        (Kind.NOMINAL, np.full(N, "same")),
        (Kind.NOMINAL, np.full(N, True)),
        (Kind.DATE, pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")),
        (Kind.DATE, [f"20{y:02d}-0{m}-1{d}" for y, m, d in RNG.integers(1, 9, (N, 3))]),
    ],
)
def test_every_kind_is_recognised(kind, values):
    assert kinds.nature(pd.Series(values), "x").kind is kind


def test_a_name_takes_the_order_from_codes():
    codes = series(RNG.integers(1, 6, N))
    assert kinds.nature(codes, "race").kind is Kind.NOMINAL
    assert kinds.nature(codes, "satisfaction").kind is Kind.ORDINAL


def test_sizes_of_places_keep_their_order():
    people = series(RNG.choice([3750, 8750, 15000, 125000, 250000], N))
    assert kinds.nature(people, "population").kind is Kind.ORDINAL
    assert kinds.nature(people, "municipality").kind is Kind.NOMINAL


def test_a_tenure_of_many_values_is_in_years_of_a_job():
    frame = pd.DataFrame({"tenure": RNG.integers(1, 41, N), "x": RNG.normal(size=N)})
    job = guess_of(frame, "tenure")
    assert job.kind is Kind.CONTINUOUS
    assert any("its name says occupation" in said for said in job.evidence)
    home = guess_of(frame.assign(tenure=RNG.integers(1, 5, N)), "tenure")
    assert home.kind is Kind.NOMINAL
    assert any("its name says housing" in said for said in home.evidence)


def test_ages_are_no_counts():
    assert kinds.nature(series(RNG.poisson(RNG.gamma(2, 10, N))), "age").kind is Kind.CONTINUOUS


def test_rare_levels_are_not_written_and_the_person_is_told():
    answers = series(["never"] * 200 + ["often"] * 190 + ["always"] * 3)
    found = kinds.nature(answers, "x")
    assert found.kind is Kind.NOMINAL
    assert found.levels == ()
    assert "1 levels have fewer than 10 records" in found.doubt
    assert kinds.nature(series(["a"] * 300 + ["b"] * 9), "x").levels == ()


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        (["Agree", "Strongly disagree", "Disagree"], ["Strongly disagree", "Disagree", "Agree"]),
        (["60+", "under 30", "30-59"], ["under 30", "30-59", "60+"]),
        (["1,000-1,999", "2,000 and over", "below 1,000"], ["below 1,000", "1,000-1,999", "2,000 and over"]),
        (["a", "b", "c"], None),
        (["1", "2", "3"], None),
        (["yes", "no"], None),
        (["poor", "very poor", "neutral"], None),
    ],
)
def test_scales(levels, order):
    assert scales.in_order(levels) == order


@pytest.mark.parametrize(
    ("values", "places"), [([1.0, 2.0], (0, False)), ([1.25, 2.5], (2, False)), ([1 / 3, 20 / 7, 40 / 7], (2, True))]
)
def test_decimals(values, places):
    assert kinds.decimals(np.asarray(values)) == places


def test_tolerance_is_at_least_half_a_step():
    assert kinds.tolerance(np.array([1.0, 2.0, 1.0]), 0) == 0.5


# missing codes


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([-8] * 20 + list(range(100)), [-8]),
        ([-9, -8] * 10 + list(range(100)), [-9, -8]),
        ([-1] * 50 + [0] * 20 + [1, 2, 3, 4, 5] * 10, [-1]),
        ([99] * 20 + [1, 2, 3, 4, 5] * 10, [99]),
        ([98] * 9 + [99] * 20 + list(range(40)), [98, 99]),
        ([999] * 20 + list(range(18, 90)) * 3, [999]),
        ([9] * 30 + [1, 2, 3, 4, 5] * 10, [9]),
        ([9] * 30 + [0, 1] * 50, [9]),
        ([8, 9] * 15 + [1, 2, 3, 4, 5] * 20, [8, 9]),
        # no codes: tails, ages, scales around zero, slips
        ([99] * 20 + list(range(20, 98)) * 3, []),
        ([-1, 0, 1] * 40, []),
        (list(range(-9, 60)) * 4, []),
        ([999] + list(range(18, 90)) * 3, []),
        ([8] * 5 + [0] * 100 + [1, 2, 3, 4, 5] * 20, []),
        ([-1] * 5 + [0] * 30 + [1, 2, 3, 4] * 20, []),
    ],
)
def test_missing_codes(values, codes):
    found = missing.find_codes({"x": np.asarray(values, dtype=float)}).get("x", ())
    assert [code.value for code in found] == codes


def test_a_code_of_one_column_needs_less_evidence_in_another():
    clear = np.array([-8.0] * 30 + list(range(100)))
    rare = np.array([-8.0, *range(129)])
    assert "x" not in missing.find_codes({"x": rare})
    found = missing.find_codes({"clear": clear, "x": rare})
    assert [code.value for code in found["x"]] == [-8]
    assert "a code in another column" in found["x"][0].evidence


def test_the_evidence_of_a_code_holds_no_other_value():
    values = np.array([999.0] * 20 + [317.0, 411.0, 523.0] * 20)
    (code,) = missing.find_codes({"x": values})["x"]
    assert not any(text in code.evidence for text in ("317", "411", "523"))


def test_values_far_out_are_counted():
    assert missing.far_out(np.append(RNG.normal(size=500), 1e4)) == 1
    assert missing.far_out(RNG.normal(size=500)) == 0
    assert missing.far_out(np.array([1.0, 1e9])) == 0


@pytest.mark.parametrize(
    ("slips", "asked"),
    [
        (1, "1 value lies far beyond all others; is it a slip, or a code for missing?"),
        (2, "2 values lie far beyond all others; are they slips, or codes for missing?"),
    ],
)
def test_values_far_out_are_asked_about(slips, asked):
    values = np.append(RNG.normal(size=500), 1e4 + np.arange(slips))
    assert asked in guess_of(pd.DataFrame({"x": values, "y": RNG.normal(size=len(values))}), "x").decide


def test_words_between_numbers_are_codes():
    frame = pd.DataFrame({"x": [str(v) for v in range(300)] + ["refused"] * 20})
    proposal = propose(frame)
    assert proposal.words == {"x": (("refused", 20),)}
    assert guess_of(frame, "x").kind is Kind.CONTINUOUS


def test_rare_words_between_numbers_are_a_question():
    frame = pd.DataFrame({"x": [str(v % 40) for v in range(300)] + ["Zebulon"]})
    (sentence,) = guess_of(frame, "x").decide
    assert sentence.startswith("1 values are no numbers")
    assert "Zebulon" not in to_yaml(propose(frame), "x.csv")


# identifiers


@pytest.mark.parametrize(
    ("values", "name", "why"),
    [
        ([f"person {i}" for i in range(N)], "x", "distinct"),
        ([f"p{i % 50}@example.org" for i in range(N)], "x", "e-mail"),
        ([f"+44 20 7946 {i:04d}" for i in range(N)], "x", "telephone"),
        (range(1, N + 1), "x", "running number"),
        (np.arange(N) * 1000, "x", "rise from row to row"),
        (RNG.permutation(10**9 + np.arange(N) * 977_777), "x", "8 digits or more"),
        (RNG.choice(10**6, N, replace=False), "patient_id", "the name says so"),
        ([f"street {i if i < 300 else 0}" for i in range(N)], "x", "share with nobody"),
        (RNG.normal(size=N), "x", None),
        (RNG.normal(size=N), "id", None),
        (RNG.choice(["a", "b"], N), "name", None),
        ([f"20{i % 90 + 10}-01-0{i % 9 + 1}" for i in range(N)], "x", None),
        (pd.date_range("2020-01-01", periods=N), "x", None),
        ([str(v) for v in RNG.normal(size=N)], "x", None),
        (RNG.random(N) < 0.5, "x", None),
        ([None] * N, "x", None),
    ],
)
def test_identifiers(values, name, why):
    found = identifiers.why(pd.Series(values), name)
    assert (found is None) if why is None else (found is not None and why in found)


# keys


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Age_raw", "age"),
        ("Geburtsdatum", "birth"),
        ("Geschlecht", "sex"),
        ("État-civil", "marital"),
        ("sexo", "sex"),
        ("wykształcenie", "education"),
        ("NewWhite", "origin"),
        ("native-country", "origin"),
        ("zip.code", "place"),
        ("AGEP", "age"),
        ("RAC1P", "origin"),
        ("HISP", "origin"),
        ("MSP", "marital"),
        ("PUMA", "place"),
        ("DENSITY", "place"),
        ("INDP_CAT", "occupation"),
        ("EDU", "education"),
        ("PINCP_DECILE", "income"),
        ("OWN_RENT", "housing"),
        ("HOUSING_TYPE", "housing"),
        ("NOC", "household"),
        ("DVET", "veteran"),
        ("DEYE", "disability"),
        ("Behinderung", "disability"),
        ("niepełnosprawność", "disability"),
        ("burgerlijke_staat", "marital"),
        ("nivel_ingresos", "income"),
        ("type_ménage", "household"),
        ("cholesterol", None),
        ("bone_density", None),
        ("mars", None),
        ("agent", None),
    ],
)
def test_topics(name, topic):
    assert names.topic(name) == topic


def test_without_a_known_name_uniqueness_decides():
    frame = pd.DataFrame({"a": RNG.integers(0, 50, N), "b": np.repeat([0, 1], N // 2), "c": RNG.integers(0, 40, N)})
    assert {key.name for key in keys.find_keys(frame, list(frame))[:2]} == {"a", "c"}


def test_at_most_six_columns_are_replaced():
    words = ["age", "sex", "race", "region", "education", "marital", "occupation", "children"]
    frame = pd.DataFrame({word: RNG.integers(0, 5, N) for word in words})
    proposal = propose(frame)
    assert len(proposal.having(Role.REPLACE)) == 6
    assert proposal.alone == 0
    assert all("6 columns are replaced already" in guess.decide[-1] for guess in proposal.having(Role.KEEP))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(18, 90, N)), "missing values"),
        (pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 90, N), unit="D"), "cannot replace dates"),
        ([f"R{v}" for v in RNG.integers(0, 60, N)], "at most 50 levels"),
    ],
)
def test_what_regression_cannot_replace_is_kept_and_asked_about(values, why):
    frame = pd.DataFrame({"region": values, "y": RNG.normal(size=N)})
    guess = guess_of(frame, "region")
    assert guess.role is Role.KEEP
    assert guess.key
    assert why in guess.decide[-1]
    assert guess_of(frame, "region", method="cart").role is Role.REPLACE


def test_a_date_of_birth_is_never_kept():
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(RNG.integers(0, 15000, N), unit="D")
    frame = pd.DataFrame({"birth_date": born, "age": RNG.integers(18, 90, N)})
    assert guess_of(frame, "birth_date").role is Role.DROP
    assert guess_of(frame, "birth_date", method="cart").role is Role.REPLACE
    later = pd.DataFrame({"first": born, "birth_date": born - pd.Timedelta(days=400), "y": RNG.normal(size=N)})
    assert guess_of(later, "birth_date").role is Role.DROP


def test_more_are_replaced_while_somebody_is_alone_on_the_kept_keys():
    words = ["age", "sex", "race", "region", "education", "marital", "occupation", "children", "salary"]
    frame = pd.DataFrame({word: RNG.integers(0, 2 if word == "sex" else 20, N) for word in words})
    proposal = propose(frame)
    assert len(proposal.having(Role.REPLACE)) == 8
    assert proposal.alone == 0


def test_every_column_is_said_to_be_a_key_or_not_or_is_asked_about():
    n = 3000
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": RNG.integers(18, 90, n),
            "agegr": "",
            "score": RNG.normal(size=n),
            "visits": RNG.integers(0, 3, n),
        }
    )
    frame["agegr"] = np.where(frame["age"] < 40, "18-39", np.where(frame["age"] < 65, "40-64", "65+"))
    proposal = propose(frame)
    text = to_yaml(proposal, "x.csv")
    written = yaml.load(text, Loader)["variables"]
    assert {name: settings.get("key", "nothing") for name, settings in written.items()} == {
        "id": "nothing",
        "age": True,
        "agegr": False,
        "score": None,
        "visits": False,
    }
    assert proposal.asked == ("score",)
    assert f"# DECIDE: score, which is kept, makes {n:,} records (100%) unique by itself." in text
    assert "key: null" in text
    assert "visits" not in "".join(tell(proposal))
    shown = " ".join(text.replace("#", " ").split())
    assert "no key: no set of up to 3 kept columns with it makes more than 5% unique visits: {" in shown
    assert "no key of its own: its sources are judged agegr: {" in shown
    assert parse(yaml.load(text, Loader)).variables["score"].key is None


def test_a_known_name_that_follows_from_a_kept_column_is_a_key_too():
    code = np.where(RNG.random(N) < 0.3, np.nan, RNG.integers(0, 40, N))
    frame = pd.DataFrame({"INDP": code, "INDP_CAT": np.floor(code / 10), "age": RNG.integers(18, 90, N)})
    guess = guess_of(frame, "INDP_CAT")
    assert (guess.role, guess.key) == (Role.KEEP, True)
    assert "because it follows from INDP" in guess.decide[-1]


def test_kept_keys_that_leave_somebody_alone_are_told_of():
    values = {word: np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 30, N)) for word in ("age", "region")}
    frame = pd.DataFrame({**values, "sex": RNG.integers(0, 2, N)})
    proposal = propose(frame)
    alone = int((~frame.duplicated(["age", "region"], keep=False)).sum())
    assert proposal.alone == alone > 0
    assert f"  {alone} records are alone on the kept keys (age, region)" in "\n".join(tell(proposal))
    assert "unique on all kept columns together" in "\n".join(tell(proposal))


def test_many_questions_are_told_of_in_short():
    frame = pd.DataFrame(RNG.normal(size=(N, 9)), columns=list("abcdefghi")).assign(age=RNG.integers(18, 90, N))
    proposal = propose(frame)
    assert len(proposal.asked) == 9
    lines = list(tell(proposal))
    assert sum("May an intruder know" in line for line in lines) == 5
    assert "  Decide the same for f, g, h, i; the config holds the figures." in lines
    assert to_yaml(proposal, "x.csv").count("key: null") == 9


# skips and derived columns


def test_a_skip_that_holds_exactly():
    smoke = np.where(RNG.random(N) < 0.4, "YES", "NO")
    frame = pd.DataFrame({"smoke": smoke, "number": np.where(smoke == "YES", RNG.integers(1, 40, N), np.nan)})
    skip = missing.find_skips(frame, ["smoke"])["number"]
    assert skip.condition() == "smoke == 'NO'"
    assert (skip.exceptions, skip.explained) == (0, 1.0)
    text = to_yaml(propose(frame.assign(age=RNG.integers(18, 90, N), sex=RNG.choice(["F", "M"], N))), "x.csv")
    assert "# skip: missing always when smoke == 'NO'" in text
    assert yaml.load(text, Loader)["variables"]["number"]["applies_when"] == "smoke != 'NO'"


def test_a_skip_with_exceptions_is_told_with_their_number():
    asked = np.array(["NO"] * 1000 + ["YES"] * 300)
    values = np.where(asked == "YES", 5.0, np.nan)
    values[:2] = 7
    frame = pd.DataFrame({"asked": asked, "x": values, "age": 18 + np.arange(1300) % 70})
    skip = missing.find_skips(frame, ["asked"])["x"]
    assert (skip.records, skip.exceptions) == (1000, 2)
    text = to_yaml(propose(frame), "x.csv")
    assert "the values of those 2 records are taken for missing, as slips are" in text
    written = yaml.load(text, Loader)["variables"]["x"]
    assert (written["applies_when"], written["applies_exceptions"]) == ("asked != 'NO'", missing.MOST_EXCEPTIONS)
    # sex is replaced, so that a kept column cannot depend on it, and the skip stays a comment
    many = np.where(np.isfinite(values), RNG.normal(size=1300), np.nan)
    told = pd.DataFrame({"sex": np.where(asked == "NO", "M", "F"), "x": many, "age": frame["age"]})
    text = to_yaml(propose(told), "x.csv")
    assert "# once those are corrected: applies_when: \"sex != 'M'\"" in text
    assert "applies_when" not in yaml.load(text, Loader)["variables"]["x"]


def test_a_skip_says_what_it_does_where_nobody_answered():
    asked = np.array(["NO", "NEVER", "YES", None], dtype=object)[np.arange(N) % 4]
    values = np.where(np.isin(asked.astype(str), ["YES", "None"]), np.arange(N) % 7, np.nan)
    frame = pd.DataFrame({"why not": asked, "x": values, "age": 18 + np.arange(N) % 70})
    assert guess_of(frame, "x").applies_when == "`why not` not in ['NO', 'NEVER'] or isnull(`why not`)"


def test_no_condition_that_check_would_refuse_is_written():
    sex = np.where(RNG.random(N) < 0.5, "F", "M")
    births = np.where(sex == "F", RNG.integers(0, 4, N), np.nan)
    assert guess_of(pd.DataFrame({"sex": sex, "births": births}), "births").applies_when is None


def test_gaps_that_tell_a_replaced_column_are_asked_about():
    sex = np.where(RNG.random(N) < 0.5, "F", "M")
    frame = pd.DataFrame({"sex": sex, "births": np.where(sex == "F", RNG.integers(0, 4, N), np.nan)})
    assert guess_of(frame, "births").decide[-1] == "its gaps reveal sex, which is replaced; drop it, or keep sex."


def test_gaps_at_random_are_no_skip():
    frame = pd.DataFrame({"a": RNG.choice(["x", "y"], N), "b": np.where(RNG.random(N) < 0.5, np.nan, 1.0)})
    assert missing.find_skips(frame, ["a"]) == {}


def test_what_trees_replace_applies_where_exact_skips_say():
    smoke = np.where(RNG.random(N) < 0.4, "YES", "NO")
    frame = pd.DataFrame({"smoke": smoke, "income": np.where(smoke == "YES", RNG.integers(1, 4000, N), np.nan)})
    raw = yaml.load(to_yaml(propose(frame, method="cart"), "x.csv"), Loader)
    assert raw["variables"]["income"]["role"] == "replace"
    assert raw["variables"]["income"]["applies_when"] == "smoke != 'NO'"


def test_derived_columns_are_recomputed_or_dropped():
    age = RNG.integers(18, 90, N)
    height, weight = RNG.integers(150, 200, N), RNG.integers(45, 120, N)
    group = np.where(age < 30, "18-29", np.where(age < 60, "30-59", "60+"))
    income = RNG.lognormal(10, 1, N).round(2)
    frame = pd.DataFrame({"age": age, "income": income, "height": height, "weight": weight})
    frame = frame.assign(agegr=group, logs=np.log(income + 0.5), bmi=weight / (height / 100) ** 2)
    proposal = propose(frame)
    derived = {guess.name: guess.derived for guess in proposal.having(Role.DERIVED)}
    assert derived == {
        "agegr": "cut(age, [30, 60], ['18-29', '30-59', '60+'])",
        "logs": "log(income + 0.5)",
        "bmi": "1e+04 * height ** -2 * weight ** 1",
    }
    assert "a function of height and weight" in guess_of(frame, "bmi").evidence


def test_a_column_that_tells_an_earlier_key_is_dropped():
    age = RNG.integers(18, 90, N)
    frame = pd.DataFrame({"age": age, "age_exact": age + RNG.uniform(-0.4, 0.4, N), "born": 2021 - age})
    assert guess_of(frame, "age_exact").role is Role.DROP
    assert guess_of(frame, "born").derived == "-1 * age + 2021"


def test_bands_that_stand_before_their_number_are_computed_from_it():
    age = RNG.integers(18, 90, N).astype(float)
    age[:20] = np.nan
    bands = pd.cut(age, [17, 29, 59, 90], labels=["18-29", "30-59", "60+"]).astype(object)
    frame = pd.DataFrame({"agegr": bands, "y": RNG.normal(size=N), "age": age})
    assert guess_of(frame, "agegr").derived == "cut(age, [30, 60], ['18-29', '30-59', '60+'])"
    assert guess_of(frame, "age").key
    # nor is whom a number is asked of a band of it
    paid = np.where(age > 50, RNG.integers(100, 900, N), 0)
    asked = pd.DataFrame({"works": np.where(paid > 0, "yes", "no"), "y": RNG.normal(size=N), "pay": paid})
    assert guess_of(asked, "works").derived is None


def test_duplicated_records_do_not_hide_an_identifier():
    frame = pd.DataFrame({"x": RNG.permutation(N) + 1000, "y": RNG.normal(size=N)})
    assert guess_of(pd.concat([frame, frame.iloc[:40]]), "x").role is Role.DROP


def test_a_function_without_a_formula_is_dropped():
    frame = pd.DataFrame({"age": RNG.integers(18, 60, N), "y": RNG.normal(size=N)})
    frame["code"] = [f"c{(7 * a) % 13}" for a in frame["age"]]
    assert guess_of(frame, "code").role is Role.DROP


# the text


@pytest.mark.parametrize(
    "value",
    ["age", "NO", "yes", "null", "1", "a: b", "#x", "", " x", "ß ü", "x\ny", '"q"', "\\", "日本", "\u2028", "🙂"],
)
def test_scalars_read_back(value):
    assert yaml.load(f"{scalar(value)}: {{a: {scalar(value)}}}", Loader) == {value: {"a": value}}


@pytest.mark.parametrize("value", [1, -8, 2.5, True, False])
def test_numbers_and_truth_values_read_back(value):
    found = yaml.load(scalar(value), Loader)
    assert found == value
    assert type(found) is type(value)


def test_the_config_parses_whatever_the_names():
    columns = ["age", "a: b", "#", "true", "1", "x\ny", "naïve", "日本", "`", "'", '"', "{", "- x", "\u2028"]
    frame = pd.DataFrame({name: RNG.integers(0, 9, N) for name in columns})
    config = parse(yaml.load(to_yaml(propose(frame), "data: #1.csv"), Loader))
    assert list(config.variables) == columns
    assert str(config.data.path) == "data: #1.csv"


def test_no_value_of_a_person_is_shown():
    secrets = ["Zebulon", "Quixote", "Xanthippe"]
    frame = pd.DataFrame(
        {
            "name": [f"{secrets[i % 3]} {i}" for i in range(N)],
            "town": ["Here"] * 200 + ["There"] * 197 + secrets,
            "age": [*RNG.integers(18, 60, N - 1), 97.125],
            "note": [None] * (N - 1) + ["Zebulon"],
        }
    )
    proposal = propose(frame)
    shown = to_yaml(proposal, "x.csv") + "\n".join(tell(proposal)) + repr(proposal)
    assert not any(secret in shown for secret in [*secrets, "97.125", "97"])


def test_empty_constant_and_coded_columns():
    frame = pd.DataFrame({"nothing": [np.nan] * N, "one": [1] * N, "word": ["w"] * N, "age": RNG.integers(18, 80, N)})
    roles = {guess.name: guess.role for guess in propose(frame).columns}
    assert roles == {"nothing": Role.DROP, "one": Role.KEEP, "word": Role.KEEP, "age": Role.REPLACE}


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["31.12.2020", "01.02.2021"], "%d.%m.%Y"),
        (["12/31/2020", "01/02/2021"], "%m/%d/%Y"),
        (["01/02/2021", "03/04/2021"], None),
        (["a", "b"], None),
        ([1, 2], None),
    ],
)
def test_date_forms(texts, form):
    assert date_form(pd.Series(texts)) == form


def test_sd2011():
    path = SHARED / "sd2011.csv"
    if not path.exists():
        pytest.skip(f"needs {path.name}, which is not here")
    proposal = propose(pd.read_csv(path))
    assert {name: tuple(code.value for code in codes) for name, codes in proposal.codes.items()} == dict.fromkeys(
        ["unempdur", "income", "nofriend", "nociga", "wkabdur"], (-8,)
    )
    found = {guess.name: guess for guess in proposal.columns}
    assert found["agegr"].derived is not None
    assert "a function of height and weight" in found["bmi"].evidence
    by = {skip.column: skip.because for skip in proposal.skips.values()}
    assert by["nociga"] == "smoke"
    assert by["wkabintdur"] == by["emcc"] == "wkabint"
    assert by["ymarr"] == "marital"
    assert proposal.skips["wkabintdur"].exceptions == 0
    assert found["wkabintdur"].applies_when == "wkabint != 'NO' or isnull(wkabint)"
    assert found["nociga"].applies_when == "smoke != 'NO'"
    assert found["nociga"].applies_exceptions == missing.MOST_EXCEPTIONS
    assert {guess.name for guess in proposal.having(Role.REPLACE)} == {"sex", "age", "placesize", "region"}
    assert all(found[name].key for name in ("edu", "socprof", "income", "marital"))
    assert {"weight", "height"} <= set(proposal.asked)
    # a year, though its name speaks of marriage
    assert found["ymarr"].kind is Kind.CONTINUOUS


TEN = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"]


def test_the_census_extract_is_not_kept_as_it_is():
    path = SHARED / "nist" / "national2019.csv"
    if not path.exists():
        pytest.skip(f"needs {path.name}, which is not here")
    frame = pd.read_csv(path)
    ten = propose(frame[TEN])
    assert all(guess.key for guess in ten.columns)
    kept = {guess.name for guess in ten.having(Role.KEEP)}
    # those have gaps, which regression cannot replace, and a person is told so
    assert kept == {"MSP", "EDU", "PINCP_DECILE"}
    assert ten.alone > 0
    copula = propose(frame[TEN], method="copula")
    assert {guess.name for guess in copula.having(Role.KEEP)} == {"DVET"}
    assert copula.alone == 0
    every = propose(frame)
    assert set(every.asked) == {"PWGTP", "WGTP"}
    assert all(guess.key is not None for guess in every.columns if guess.name not in ("PWGTP", "WGTP", "DENSITY"))


def test_a_copula_is_helped_where_few_answer():
    rng = np.random.default_rng(8)
    n = 1000
    frame = pd.DataFrame(
        {"age": rng.integers(18, 90, n), "sex": rng.choice(["f", "m"], n), "score": rng.normal(size=n)}
    )
    plain = propose(frame, method="copula")
    assert (plain.thin, plain.crowded) == (False, ())
    assert "prior_records" not in to_yaml(plain, "a.csv")
    few = pd.Series(np.where(np.arange(n) < 150, rng.choice(["p", "q", "r"], n), None), dtype="str")
    found = propose(frame.assign(stay=few, hours=pd.Series(rng.normal(size=n)).where(few.notna())), method="copula")
    assert found.thin
    assert found.crowded == ("stay",)
    written = yaml.load(to_yaml(found, "a.csv"), Loader)["synthesis"]["model"]
    assert written == {"method": "copula", "exclude": ["stay"], "prior_records": 100}
    assert not propose(frame.assign(stay=few)).thin
    rare = pd.Series(["a"] * (n - 5) + ["b"] * 5).sample(frac=1, random_state=1).to_numpy()
    levels = np.where(np.arange(n) % 2 == 0, rare, "c")
    assert propose(frame.assign(district=levels), method="copula").thin
