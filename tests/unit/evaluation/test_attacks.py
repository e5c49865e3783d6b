"""The attacks against brute-force twins, at their baselines and ceilings, and on files they must refuse."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gaussian_channel import GaussianChannel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shared_data import SHARED

from synthdp.errors import InputError
from synthdp.evaluation.assessment import NOTABLE_RISK, assess, records_at_risk
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.measure import Figures, Need, Plain
from synthdp.evaluation.measures import in_turn
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.risk.identity import attack_by_matching, chance_hits, evaluate_identity
from synthdp.evaluation.risk.intruders import Intruder, evaluate_intruder
from synthdp.evaluation.risk.likelihood import LikelihoodRisk, evaluate_likelihood, summarise
from synthdp.evaluation.risk.linking import evaluate_linked
from synthdp.evaluation.risk.scatter import numeric_law, transition
from synthdp.evaluation.risk.scoring import score_rows
from synthdp.evaluation.risk.traces import trace
from synthdp.seeding import Streams
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Schema, Variable

CSRG = SHARED / "pseudo_csrg.csv"
AGE = {"kind": "continuous", "role": "replace", "key": True}
IDENTITY = {one.name: one for one in in_turn() if Need.PLAN not in one.needs}
VARIABLES = {
    "age": Variable(**AGE, tolerance=3),
    "sex": Variable(kind="binary", role="replace", key=True),
    "site": Variable(kind="nominal", key=True),
    "income": Variable(kind="continuous"),
}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def people(n: int = 400, seed: int = 5) -> Microdata:
    draw = rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.normal(55, 12, n),
            "sex": draw.choice(["F", "M"], n, p=[0.7, 0.3]),
            "site": draw.choice(list("abcd"), n),
            "income": draw.normal(0, 1, n),
        }
    )
    return resolve(frame, VARIABLES)


def noisy(data: Microdata, sd: float, copies: int, seed: int = 7) -> Comparison:
    draw = rng(seed)
    made = tuple(data.frame.assign(age=data.frame["age"] + draw.normal(0, sd, len(data.frame))) for _ in range(copies))
    return Comparison(data.frame, made, data.schema, aligned=True)


def shell(data: Microdata, copies: int) -> Comparison:
    draw = rng(9)
    n = len(data.frame)
    made = tuple(
        data.frame.assign(age=data.frame["age"] + draw.choice([-1, 1], n) * draw.uniform(3.1, 4, n))
        for _ in range(copies)
    )
    return Comparison(data.frame, made, data.schema, aligned=True)


# brute-force twins


def plainly(held: Any, temperatures: np.ndarray) -> tuple[list[float], np.ndarray]:
    """The likelihood attack word by word: every row, one by one."""
    shares, mine = [], []
    n = len(held.order)
    for i in range(n):
        scores = np.full(n, -np.inf)
        for row in range(held.start[i], held.stop[i]):
            score = -held.marginal[row]
            for key in range(held.centre.shape[1]):
                for m in range(held.value.shape[1]):
                    step = held.value[key, m, row] - held.centre[i, key]
                    if np.isfinite(step):
                        inside = int(np.clip(np.floor(step), -1, held.bins[key])) + 1
                        score += held.density[key, held.folds[i], inside]
            for key in range(held.level.shape[1]):
                for level in held.shown[key, held.pattern[key, row]]:
                    table = held.transition[key, held.folds[i]]
                    score += table[held.level[i, key], level]
            scores[row] = score
        best = np.flatnonzero(scores >= scores.max() - 1e-9)
        shares.append(1 / len(best) if held.own[i] in best else 0.0)
        t = temperatures[held.folds[i], 0]
        mine.append(t * scores[held.own[i]] - np.logaddexp.reduce(t * scores))
    return shares, np.asarray(mine)


@st.composite
def files(draw: st.DrawFn) -> Comparison:
    n, copies = draw(st.integers(3, 60)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 10**6))
    make = rng(seed)
    gaps = draw(st.booleans())
    step = draw(st.sampled_from([0.0, 0.5, 1.0]))

    def frame(base: pd.DataFrame | None) -> pd.DataFrame:
        age = make.normal(50, 10, n) if base is None else base["age"].to_numpy() + make.normal(0, 3, n)
        age = np.round(age / step) * step if step else age
        if gaps:
            age = np.where(make.random(n) < 0.1, np.nan, age)
        sex = make.choice(["F", "M"], n) if base is None else base["sex"].to_numpy()
        sex = np.where(make.random(n) < 0.2, make.choice(["F", "M"], n), sex)
        site = make.choice(list("ab"), n) if base is None else base["site"].to_numpy()
        return pd.DataFrame({"age": age, "sex": sex, "site": site})

    original = frame(None)
    original.loc[0, ["age", "sex"]] = [50.0, "F"]
    original.loc[1, ["age", "sex"]] = [60.0, "M"]
    chosen = draw(st.lists(st.sampled_from(["age", "sex", "site"]), min_size=1, unique=True))
    variables = {
        "age": Variable(
            kind="continuous", role="replace", key="age" in chosen, tolerance=draw(st.sampled_from([0, 3]))
        ),
        "sex": Variable(kind="nominal", role="replace", key="sex" in chosen, levels=("F", "M")),
        "site": Variable(kind="nominal", key="site" in chosen, levels=("a", "b")),
    }
    data = resolve(original, variables)
    return Comparison(data.frame, tuple(frame(original) for _ in range(copies)), data.schema, aligned=True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_the_likelihood_attack_follows_its_definition(comparison: Comparison) -> None:
    held = trace(comparison, rng=rng())
    n = len(held.order)
    warm = np.full((5, 1), 0.5)
    share, winner, mine, top = score_rows(
        *(np.arange(n), held.folds, held.start, held.stop, held.own, rng().random(n), held.centre, held.value),
        *(held.bins, held.density, held.level, held.pattern, held.shown, held.kinds, held.transition),
        *(held.marginal, warm),
    )
    expected, log_posterior = plainly(held, warm)
    np.testing.assert_allclose(share, expected, atol=1e-12)
    inside = (held.start <= held.own) & (held.own < held.stop)
    np.testing.assert_allclose(mine[inside, 0], log_posterior[inside], atol=1e-8)
    assert np.all(top[:, 0] >= mine[:, 0] - 1e-9)
    assert np.all((winner >= held.start) & (winner < held.stop) | (held.start == held.stop))


def match_plainly(comparison: Comparison, copies: list[pd.DataFrame]) -> dict[str, float]:
    """Expected and true matches and mean individual risk by the definition, in plain Python."""
    keys = comparison.schema.keys()
    n = len(comparison.original)

    def alike(a: Any, b: Any, column: Any) -> bool:
        if pd.isna(a) or pd.isna(b):
            return bool(pd.isna(a) and pd.isna(b))
        return a == b if column.kind.categorical else abs(a - b) <= column.tolerance

    expected = true = individual = 0.0
    for i in range(n):
        probability = np.zeros(n)
        for copy in copies:
            inside = [
                r
                for r in range(n)
                if all(alike(comparison.original[k.name].iloc[i], copy[k.name].iloc[r], k) for k in keys)
            ]
            probability[inside] += 1 / len(inside) / len(copies) if inside else 0
        individual += probability[i] / n
        if probability.max() > 0:
            best = np.flatnonzero(probability >= probability.max() - 1e-12)
            expected += (i in best) / len(best)
            true += len(best) == 1 and best[0] == i
    return {"expected_match": expected, "true_match": true, "mean_individual": individual}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_matching_follows_its_definition(comparison: Comparison) -> None:
    found = evaluate_identity(comparison, averaged=False, rng=rng(), permutations=2).section()
    expected = match_plainly(comparison, list(comparison.copies))
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    intruder = evaluate_intruder(comparison, Intruder(), name="all", rng=rng(), permutations=2).section()
    assert {name: intruder[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    alone = evaluate_intruder(comparison, Intruder(copies="one"), name="one", rng=rng(), permutations=2).section()
    singly = [match_plainly(comparison, [copy]) for copy in comparison.copies]
    for name in expected:
        assert alone[name] == pytest.approx(np.mean([one[name] for one in singly]), abs=1e-12)


# baselines and ceilings


def permuted(comparison: Comparison, seed: int) -> Comparison:
    order = rng(seed).permutation(len(comparison.original))
    copies = tuple(copy.iloc[order].reset_index(drop=True) for copy in comparison.copies)
    return replace(comparison, copies=copies)


@pytest.mark.parametrize("name", [name for name in IDENTITY if name != "identity_linked"])
def test_a_permuted_file_is_at_the_baseline(name: str) -> None:
    # one blind guess per target is right once per file in the mean; 40 files give 40 ± 4 sqrt(40)
    total = 0.0
    for seed in range(40):
        blind = permuted(noisy(people(200, seed), 2.0, 3, 100 + seed), seed)
        section = IDENTITY[name].take(blind, rng=rng(seed)).section()
        total += section["expected_match" if "expected_match" in section else "expected_links"]
    assert total < 40 + 4 * np.sqrt(40)


def test_a_raw_file_is_at_the_ceiling() -> None:
    # matching: the original against itself; likelihood: one link for each distinct combination of keys
    data = people()
    rounded = data.frame.assign(age=data.frame["age"].round())
    raw = Comparison(rounded, (rounded, rounded), data.schema, aligned=True)
    itself = evaluate_identity(replace(raw, copies=(rounded,)), averaged=False, rng=rng())
    for name in ("identity", "identity_averaged", "identity_linked"):
        assert IDENTITY[name].take(raw, rng=rng()).section()["expected_match"] == pytest.approx(itself.expected_match)
    distinct = len(rounded[["age", "sex", "site"]].drop_duplicates())
    found = evaluate_likelihood(raw, rng=rng())
    assert found.expected_links == pytest.approx(distinct)
    assert found.expected_links_kept == pytest.approx(distinct)


def test_risk_falls_as_the_mask_grows() -> None:
    data = people(600)
    sds = (0.2, 1.0, 3.0, 10.0, 40.0)
    individual = [evaluate_identity(noisy(data, sd, 5), averaged=False, rng=rng()).mean_individual for sd in sds]
    links = [evaluate_likelihood(noisy(data, sd, 5), rng=rng()) for sd in sds]
    assert all(np.diff(individual) < 0)
    assert all(np.diff([found.expected_links for found in links]) < 0)
    assert all(np.diff([found.mean_posterior for found in links]) < 0)


@pytest.mark.skipif(not CSRG.is_file(), reason="the shared data are not on this machine")
def test_all_copies_are_stronger_than_one_alone() -> None:
    frame = pd.read_csv(CSRG).iloc[:, 1:]
    names = ["Age_raw", "Gender", "NewWhite", "MoreThanHighSchool"]
    variables = {name: Variable(kind="nominal", key=True) for name in names[1:]}
    variables["Age_raw"] = Variable(kind="continuous", role="replace", key=True, tolerance=3)
    data = resolve(frame[names], variables)
    sd, draw = 5.0, rng(1)
    copies = tuple(data.frame.assign(Age_raw=data.frame["Age_raw"] + draw.normal(0, sd, len(frame))) for _ in range(20))
    every = Comparison(data.frame, copies, data.schema, aligned=True)
    alone = [evaluate_likelihood(replace(every, copies=(copy,)), rng=rng()).expected_links for copy in copies[:5]]
    together = evaluate_likelihood(every, rng=rng()).expected_links
    assert together > 1.5 * max(alone)
    averaged = evaluate_identity(every, averaged=True, rng=rng()).expected_match
    one = evaluate_intruder(every, Intruder(copies="one"), name="one", rng=rng(), permutations=2).section()
    assert averaged > 1.2 * one["expected_match"]


def test_shell_noise_is_flagged_although_matching_says_nothing() -> None:
    comparison = shell(people(700), 1)
    matching = evaluate_identity(comparison, averaged=False, rng=rng())
    assert (matching.expected_match, matching.max_individual) == (0.0, 0.0)
    found = evaluate_likelihood(comparison, rng=rng())
    plain = evaluate_likelihood(noisy(people(700), 3.56, 1), rng=rng())  # the same mean square
    assert found.expected_links_rate > 0.25
    assert found.expected_links > 2 * plain.expected_links


def test_shrunk_values_are_undone() -> None:
    data = people()
    shrunk = data.frame.assign(age=55 + 0.3 * (data.frame["age"] - 55) + rng(1).normal(0, 0.2, len(data.frame)))
    comparison = Comparison(data.frame, (shrunk,), data.schema, aligned=True)
    assert evaluate_likelihood(comparison, rng=rng()).expected_links_rate > 0.2


def test_predictions_hold_what_they_promise() -> None:
    # 20 files: in each fifth of the predictions the successes differ by chance only
    predicted, success = [], []
    for seed in range(20):
        found = evaluate_likelihood(noisy(people(300, seed), 4.0, 3, 100 + seed), rng=rng(seed))
        predicted.append(found.confidence)
        success.append(found.right)
        spread = np.sqrt(np.nansum(found.confidence * (1 - found.confidence)))
        assert found.predicted_links == pytest.approx(found.expected_links, abs=4 * spread)
    claims, hits = np.concatenate(predicted), np.concatenate(success)
    edges = np.quantile(claims, np.linspace(0, 1, 6)[1:-1])
    for fifth in range(5):
        here = np.searchsorted(edges, claims, side="right") == fifth
        error = np.sqrt(max(claims[here].mean() * (1 - claims[here].mean()), 0.01) / max(here.sum(), 1))
        assert abs(claims[here].mean() - hits[here].mean()) < 4 * error


# linking


def test_linked_is_averaged_where_kept_columns_are_unique_whatever_the_order() -> None:
    comparison = noisy(people(), 4.0, 5)
    averaged = evaluate_identity(comparison, averaged=True, rng=rng()).section()
    linked = evaluate_linked(comparison, rng=rng()).section()
    assert linked.pop("true_match_chance") == pytest.approx(averaged.pop("true_match_chance"), abs=3)
    assert linked == averaged
    shuffled = replace(
        comparison,
        aligned=False,
        copies=tuple(
            copy.sample(frac=1, random_state=k).reset_index(drop=True) for k, copy in enumerate(comparison.copies)
        ),
    )
    found = evaluate_linked(shuffled, rng=rng()).section()
    found.pop("true_match_chance")
    assert found == averaged


def test_linked_is_weaker_where_kept_columns_are_not_unique() -> None:
    comparison = noisy(people(600), 6.0, 8)
    coarse = [frame.drop(columns="income") for frame in (comparison.original, *comparison.copies)]
    schema = Schema(columns=tuple(column for column in comparison.schema.columns if column.name != "income"))
    files_ = Comparison(coarse[0], tuple(coarse[1:]), schema, aligned=True)
    averaged = evaluate_identity(files_, averaged=True, rng=rng())
    assert evaluate_linked(files_, rng=rng()).mean_individual < 0.6 * averaged.mean_individual


def test_linked_refuses_files_that_keep_nothing_of_the_original() -> None:
    comparison = noisy(people(30), 1.0, 2)
    moved = replace(comparison, copies=(comparison.copies[0], comparison.copies[1].assign(income=1.0)))
    with pytest.raises(InputError, match=r"^identity_linked: the kept columns of copy 2 are not those of the original"):
        evaluate_linked(moved, rng=rng())
    lacking = replace(comparison, copies=(comparison.copies[0].drop(columns="income"),))
    with pytest.raises(InputError, match=r"^identity_linked: copy 1 has no column 'income', which is kept\.$"):
        evaluate_linked(lacking, rng=rng())


# intruders of the user's own


def test_an_intruder_with_fewer_keys_or_with_error_finds_less() -> None:
    comparison = noisy(people(600), 1.0, 3)

    def risk(**known: Any) -> float:
        found = evaluate_intruder(comparison, Intruder(**known), name="x", rng=rng(), permutations=2)
        return float(found.section()["mean_individual"])

    everything = risk()
    assert risk(keys=("age", "sex")) < everything
    assert risk(error={"age": 5.0}) < everything
    assert risk(error={"sex": 0.3}) == pytest.approx(0.7 * everything, rel=0.15)
    assert risk(tolerance={"age": 6.0}) < everything


def test_an_intruder_who_is_not_sure_of_the_target() -> None:
    # each record stands for 10 people: exact keys of f records leave 1/(10 f)
    frame = people(100).frame.assign(w=10.0)
    data = resolve(frame, VARIABLES | {"w": Variable(kind="continuous")})
    columns = tuple(
        column.model_copy(update={"design": "weights"} if column.name == "w" else {}) for column in data.schema.columns
    )
    comparison = Comparison(data.frame, (data.frame,), Schema(columns=columns), aligned=True)
    sure = evaluate_intruder(comparison, Intruder(), name="x", rng=rng()).section()
    unsure = evaluate_intruder(comparison, Intruder(member=False), name="x", rng=rng()).section()
    by_size = evaluate_intruder(comparison, Intruder(member=False, population=1000), name="x", rng=rng()).section()
    for name in ("expected_match", "true_match", "mean_individual", "max_individual", "mean_unconditional"):
        assert unsure[name] == pytest.approx(sure[name] / 10)
        assert by_size[name] == pytest.approx(sure[name] / 10)


@pytest.mark.parametrize("name", ["identity_averaged", "identity_linked"])
def test_an_intruder_may_average(name: Any) -> None:
    comparison = noisy(people(100), 2.0, 3)
    expected = IDENTITY[name].take(comparison, rng=rng()).section()
    found = evaluate_intruder(comparison, Intruder(attack=name), name="x", rng=rng()).section()
    assert found["expected_match"] == pytest.approx(expected["expected_match"])


def test_dates_and_levels_are_misremembered() -> None:
    frame = pd.DataFrame({"birth": pd.date_range("1950-01-01", periods=60, freq="90D"), "sex": ["F", "M", None] * 20})
    data = resolve(
        frame,
        {"birth": Variable(kind="date", key=True, tolerance=1), "sex": Variable(kind="binary", key=True)},
    )
    comparison = Comparison(data.frame, (data.frame,), data.schema, aligned=True)
    exact = evaluate_intruder(comparison, Intruder(), name="x", rng=rng()).section()
    wrong = evaluate_intruder(comparison, Intruder(error={"birth": 400.0}), name="x", rng=rng()).section()
    flipped = evaluate_intruder(comparison, Intruder(error={"sex": 1.0}), name="x", rng=rng()).section()
    assert exact["expected_match"] == 60.0
    assert wrong["expected_match"] < 5
    assert flipped["expected_match"] == 20.0  # nobody misremembers what is missing


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({"keys": ("income",)}, "evaluation.intruders.x.keys: 'income' is not among the keys"),
        ({"keys": ("sex",), "error": {"age": 1.0}}, "evaluation.intruders.x.error: 'age' is not among the keys"),
        ({"error": {"age": -1.0}}, "evaluation.intruders.x.error.age: must be a standard deviation, found -1."),
        ({"error": {"sex": 1.5}}, "evaluation.intruders.x.error.sex: must be a probability, found 1.5."),
        ({"tolerance": {"age": -1.0}}, "evaluation.intruders.x.tolerance.age: must not be negative."),
        ({"tolerance": {"sex": 1.0}}, "evaluation.intruders.x.tolerance.sex: is for numeric keys"),
        ({"member": False}, "evaluation.intruders.x: member: false needs the size of the population"),
        ({"member": False, "population": 3}, "evaluation.intruders.x.population: must be at least the number of rec"),
    ],
)
def test_intruders_who_make_no_sense(known: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        evaluate_intruder(noisy(people(20), 1.0, 1), Intruder(**known), name="x", rng=rng())
    assert str(caught.value).startswith(sentence)


def test_weights_must_be_numbers_of_people() -> None:
    data = people(20)
    columns = tuple(
        column.model_copy(update={"design": "weights"} if column.name == "income" else {})
        for column in data.schema.columns
    )
    comparison = Comparison(data.frame, (data.frame,), Schema(columns=columns), aligned=True)
    with pytest.raises(InputError, match=r"^evaluation\.intruders\.x: weights must be numbers of people, at least 1;"):
        evaluate_intruder(comparison, Intruder(member=False), name="x", rng=rng())


# the Bayes intruder


def test_the_bayes_intruder_is_at_least_as_good_as_the_one_who_estimates() -> None:
    data = people(400)
    only = {"age": Variable(**AGE, tolerance=3)}
    ages = resolve(data.frame[["age"]], only)
    draw = rng(2)
    y = ages.frame["age"].to_numpy() + draw.normal(0, 1.0, (3, 400))
    comparison = Comparison(ages.frame, tuple(pd.DataFrame({"age": row}) for row in y), ages.schema, aligned=True)
    exact = evaluate_bayes(comparison, GaussianChannel(ages.frame["age"].to_numpy(), y, sd=1.0), rng=rng())
    estimated = evaluate_likelihood(comparison, rng=rng())
    assert exact.expected_links > 0.9 * estimated.expected_links
    spread = np.sqrt(np.sum(exact.confidence * (1 - exact.confidence)))
    assert exact.predicted_links == pytest.approx(exact.expected_links, abs=4 * spread)
    sampled = evaluate_bayes(
        comparison, GaussianChannel(ages.frame["age"].to_numpy(), y, sd=1.0), rng=rng(), most_pairs=1
    )
    assert sampled.sampled is not None
    assert sampled.sampled["targets"] == 200  # never fewer targets than give an interval
    assert repr(GaussianChannel(y[0], y, sd=1.0)) == "GaussianChannel(400 records, 3 copies)"


# laws


def test_laws_are_found() -> None:
    draw, n = rng(4), 5000
    x, folds = draw.normal(50, 10, n), np.arange(n) % 5
    law = numeric_law(x, (x + draw.normal(0, 2, n))[None], folds)
    assert (law.intercept, law.slope) == (0.0, 1.0)
    at = law.low + law.width * (np.arange(law.log_density.shape[1] - 2) + 0.5)
    inside = np.abs(at) < 3
    truth = -0.5 * (at / 2) ** 2 - np.log(2 * np.sqrt(2 * np.pi))
    assert np.abs(law.log_density[0][1:-1][inside] - truth[inside]).mean() < 0.1
    shrunk = numeric_law(x, (30 + 0.4 * x + draw.normal(0, 1, n))[None], folds)
    assert shrunk.slope == pytest.approx(0.4, abs=0.01)
    assert repr(law).startswith("NumericLaw(")


def test_whole_years_stay_whole() -> None:
    x = np.arange(100.0)
    law = numeric_law(x, (x + rng().integers(-2, 3, 100))[None], np.arange(100) % 5)
    assert law.width == 1.0
    assert law.log_density.shape == (5, 7)


def test_transitions_are_probabilities_without_their_own_fold() -> None:
    x = np.array([0, 0, 1, 1, 0])
    table = transition(x, x[None], np.arange(5), 2)
    np.testing.assert_allclose(np.exp(table).sum(axis=2), 1.0)
    assert table[0, 0, 0] < table[2, 0, 0]  # one zero fewer behind it


# sampling


def test_large_files_are_sampled_with_an_interval() -> None:
    comparison = noisy(people(4000), 2.0, 2)
    full = attack_by_matching(comparison, comparison.copies, rng=rng(), permutations=5)
    part = attack_by_matching(comparison, comparison.copies, rng=rng(), permutations=5, most_pairs=10**5)
    assert full.sampled is None
    assert part.sampled is not None
    assert part.sampled["targets"] < 4000
    interval = part.section()["sampled"]["expected_match"]
    width = interval["high"] - interval["low"]
    assert interval["low"] - width < full.expected_match < interval["high"] + width
    assert np.isnan(part.individual).sum() == 4000 - part.sampled["targets"]
    everyone = evaluate_likelihood(comparison, rng=rng())
    some = evaluate_likelihood(comparison, rng=rng(), most_work=1e5)
    assert some.sampled is not None
    low, high = some.sampled["expected_links"]["low"], some.sampled["expected_links"]["high"]
    assert 2 * low - high < everyone.expected_links < 2 * high - low
    json.dumps(some.section(), allow_nan=False)


def test_chance_in_large_files_is_that_of_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    winner, rows = rng(1).permutation(3000), np.arange(3000)
    winner[:1500] = -1
    permuted_ = chance_hits(winner, rows, 3000, 2000, rng=rng())
    monkeypatch.setattr("synthdp.evaluation.risk.identity.MOST_PERMUTED", 10)
    drawn = chance_hits(winner, rows, 3000, 2000, rng=rng(), weight=np.full(3000, 2.0))
    assert np.mean(permuted_) == pytest.approx(0.5, abs=4 * np.sqrt(0.5 / 2000))
    assert np.mean(drawn) == pytest.approx(1.0, abs=4 * np.sqrt(2.0 / 2000))
    assert np.quantile(drawn, 0.95) == 2 * np.quantile(permuted_, 0.95)


# bad input


def test_measures_that_need_rows_refuse_by_name_and_the_others_work() -> None:
    comparison = noisy(people(50), 1.0, 2)
    nothing = tuple(column.model_copy(update={"key": False}) for column in comparison.schema.columns)
    keyless = replace(comparison, schema=Schema(columns=nothing))
    first, second = comparison.copies
    lacking = replace(comparison, copies=(first, second.drop(columns="age")))
    for name in IDENTITY:
        with pytest.raises(InputError, match=f"^{name}: needs to know what an intruder knows"):
            IDENTITY[name].take(keyless, rng=rng())
        with pytest.raises(InputError, match=f"^{name}: copy 2 has no column 'age', which is a key"):
            IDENTITY[name].take(lacking, rng=rng())
    other = Plain("other", "How many rows?", lambda files_, generator: Figures({"rows": len(files_.copies[0])}))
    longer = replace(comparison, aligned=False, copies=(pd.concat([comparison.copies[0]] * 2, ignore_index=True),))
    asked = replace(longer, request=Request(intruders={"x": Intruder()}))
    found = assess(asked, risk=[*IDENTITY, "other"], streams=Streams(1), own={"other": other})
    assert found.risk["other"] == {"rows": 100}
    assert found.risk["identity_linked"]["reason"].startswith("identity_linked: the kept columns of copy 1")
    assert found.risk["intruders"]["x"]["reason"].startswith("rows of these files cannot be traced")
    for name in set(IDENTITY) - {"identity_linked"}:
        assert found.risk[name] == {"reason": "rows of these files cannot be traced to records (evaluation.rows: none)"}
    assert found.findings == {}


def test_rows_that_cannot_be_traced_are_linked() -> None:
    comparison = replace(noisy(people(50), 1.0, 2), aligned=False)
    found = assess(comparison, risk=["identity_linked"], streams=Streams(1))
    assert found.risk["identity_linked"]["expected_match"] > 0
    assert "original" not in found.risk


def test_other_codings_strangers_and_gaps() -> None:
    original = pd.DataFrame({"age": [30.0, 40.0, np.nan, np.nan] * 10, "sex": [1.0, 0.0, np.nan, np.nan] * 10})
    variables = {
        "age": Variable(**AGE, tolerance=0),
        "sex": Variable(kind="binary", role="replace", key=True, levels=(0, 1)),
    }
    data = resolve(original, variables)
    text = original.assign(sex=original["sex"].map({1.0: "1", 0.0: "0"}))
    strange = original.assign(sex="unknown")
    for copy in (text, strange):
        for averaged in (False, True):
            files_ = Comparison(data.frame, (copy, copy), data.schema, aligned=True)
            found = evaluate_identity(files_, averaged=averaged, rng=rng())
            # people without any key are one more group; averaging takes a stranger's level for missing
            assert found.expected_match == pytest.approx(3.0 if copy is text else 1.0 if averaged else 0.0)
        assert evaluate_likelihood(files_, rng=rng()).expected_links <= 3.0 + 1e-9


@pytest.mark.parametrize("tolerance", [0.0, 1e300])
def test_tolerance_zero_or_beyond_everything(tolerance: float) -> None:
    frame = people(60).frame
    variables = VARIABLES | {"age": Variable(**AGE, tolerance=tolerance)}
    data = resolve(frame, variables)
    comparison = noisy(data, 0.5, 2)
    found = evaluate_identity(comparison, averaged=False, rng=rng())
    expected = 0.0 if tolerance == 0 else len(frame[["sex", "site"]].drop_duplicates())
    assert found.expected_match == pytest.approx(expected)
    assert evaluate_likelihood(comparison, rng=rng()).expected_links > 10  # which no tolerance can hide


def test_records_at_risk_name_no_values() -> None:
    comparison = noisy(people(50), 0.1, 1)
    comparison = replace(comparison, groups=pd.Series(pd.Categorical(["low", "high"] * 25)))
    found = assess(comparison, risk=list(IDENTITY), streams=Streams(1))
    individual = {name: finding.individual for name, finding in found.findings.items()}
    table = records_at_risk(comparison, individual)
    assert list(table.columns) == ["record", "attack", "group", "risk", "reason"]
    assert set(table["attack"]) == {name for name, risk in individual.items() if np.nanmax(risk) >= NOTABLE_RISK}
    assert set(individual) == set(IDENTITY)
    for name, lines in table.groupby("attack"):
        np.testing.assert_array_equal(lines["risk"], individual[name][lines["record"] - 1])
    likelihood = found.findings["identity_likelihood"]
    assert isinstance(likelihood, LikelihoodRisk)
    assert repr(likelihood) == "LikelihoodRisk(50 targets)"
    nobody, half = np.zeros(50), np.append(np.full(49, 0.5), 0.0)
    silent = summarise(np.ones(50, dtype=np.int64), None, np.arange(50), nobody, nobody, half, [0.0])
    assert np.isnan(silent.confidence).tolist() == [False] * 49 + [True]
    lines = likelihood.section()["per_group"]
    assert sum(line["expected_links"] for line in lines) == pytest.approx(likelihood.expected_links)
    assert repr(trace(comparison, rng=rng())) == "Traces(50 records)"
    assert records_at_risk(comparison, {}).empty


def test_keys_of_very_many_levels() -> None:
    n = 2500
    frame = pd.DataFrame({"code": np.arange(n).astype(str)})
    data = resolve(frame, {"code": Variable(kind="nominal", role="replace", key=True)})
    moved = frame.assign(code=np.where(np.arange(n) < 100, "7", frame["code"]))
    comparison = Comparison(data.frame, (moved,), data.schema, aligned=True)
    assert evaluate_likelihood(comparison, rng=rng()).expected_links >= 1
