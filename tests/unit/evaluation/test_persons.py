"""Persons with several rows: found by one of them, or by all of them together."""

import json
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import assigned, evaluate_bayes, evaluate_persons
from synthdp.evaluation.risk.persons import any_row, persons_of, repeated_id, tied
from synthdp.evaluation.risk.public import evaluate_public, learn_public
from synthdp.table.microdata import Codes, Floats, resolve
from synthdp.table.schema import Schema, Variable


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


@dataclass
class Found:
    individual: Floats
    confidence: Floats
    right: Floats


@dataclass
class Channel:
    """A number released with normal noise."""

    x: Floats
    y: Floats
    sd: float

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        return np.asarray(-0.5 * ((self.x[targets][:, None] - self.y[rows]) / self.sd) ** 2)


def clustered(frame: pd.DataFrame, copies: list[pd.DataFrame], **variables: Variable) -> Comparison:
    data = resolve(frame, variables)
    columns = [
        column.model_copy(update={"design": "cluster"} if column.name == "home" else {})
        for column in data.schema.columns
    ]
    return Comparison(data.frame, tuple(copies), Schema(columns=tuple(columns)), aligned=True)


def households(count: int, size: int, sd: float, seed: int, copies: int = 1) -> Comparison:
    draw = rng(seed)
    n = count * size
    frame = pd.DataFrame({"home": np.repeat(np.arange(count), size), "x": draw.normal(size=n)})
    made = [frame.assign(x=frame["x"] + sd * draw.normal(size=n)) for _ in range(copies)]
    return clustered(frame, made, home=Variable(), x=Variable(role="replace", key=True))


def channel_of(comparison: Comparison, sd: float) -> Channel:
    return Channel(comparison.original["x"].to_numpy(), comparison.copies[0]["x"].to_numpy(), sd)


def test_at_least_one_row_by_hand() -> None:
    person = np.array([0, 0, 1, 2, 2])
    single = Found(
        np.array([0.5, 0.2, 1.0, np.nan, np.nan]),
        np.array([0.5, 0.5, np.nan, np.nan, np.nan]),
        np.array([1.0, 0.0, 0.5, 0.0, 0.0]),
    )
    found = any_row(single, person)
    np.testing.assert_allclose(found.individual, [0.6, 0.6, 1.0, np.nan, np.nan])
    np.testing.assert_allclose(found.confidence, [0.75, 0.75, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(found.right, [1.0, 1.0, 0.5, 0.0, 0.0])
    assert found.persons == 3
    # two persons of three were attacked, 1.5 of them found
    assert found.expected_links == pytest.approx(2.25)
    section = found.section()
    assert section["sampled"]["persons"] == 2
    assert section["expected_links_chance"] is None
    json.dumps(section, allow_nan=False)
    assert repr(found) == "PersonsRisk(3 persons)"
    assert found.true_match_mask.tolist() == [True, True, False, False, False]


def test_whose_each_record_is() -> None:
    frame = pd.DataFrame({"home": ["a", "b", "a", None, None], "id": [7, 7, 8, 9, 10], "x": np.arange(5.0)})
    comparison = clustered(frame, [frame], x=Variable(role="replace", key=True))
    assert persons_of(comparison) is not None
    assert np.asarray(persons_of(comparison)).tolist() == [0, 1, 0, 2, 3]
    assert np.asarray(persons_of(comparison, "id")).tolist() == [0, 0, 1, 2, 3]
    assert persons_of(comparison, "x") is None  # nobody has two rows
    plain = resolve(frame, {})
    assert persons_of(Comparison(plain.frame, (), plain.schema, aligned=True)) is None
    with pytest.raises(InputError, match=r"^persons: there is no column 'name' that could tie records together"):
        persons_of(comparison, "name")


def test_assignments_are_all_counted() -> None:
    for size in (1, 2, 3, 4):
        pairs = rng(size).normal(size=(5, size, size))
        for person in range(5):
            total = sum(
                np.exp(sum(pairs[person, i, order[i]] for i in range(size))) for order in permutations(range(size))
            )
            assert assigned(pairs)[person] == pytest.approx(np.log(total))
    pairs = rng(5).normal(size=(2, 6, 6))
    np.testing.assert_allclose(assigned(pairs), np.log(np.exp(pairs).sum(axis=2)).sum(axis=1))


def test_against_the_definition_with_sizes_and_kept_keys() -> None:
    draw = rng(8)
    sizes = [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]
    home = np.repeat(np.arange(10), sizes)
    n = len(home)
    frame = pd.DataFrame({"home": home, "sex": draw.choice(["F", "M"], n), "x": draw.normal(size=n)})
    copy = frame.assign(x=frame["x"] + 0.7 * draw.normal(size=n))
    comparison = clustered(frame, [copy], sex=Variable(key=True), x=Variable(role="replace", key=True))
    channel = channel_of(comparison, 0.7)
    person = persons_of(comparison)
    assert person is not None
    found = evaluate_persons(comparison, channel, person, rng=rng())
    for target in range(10):
        mine = np.flatnonzero(home == target)
        worth = {}
        for other in range(10):
            theirs = np.flatnonzero(home == other)
            if len(theirs) != len(mine):
                continue
            worth[other] = 0.0
            for order in permutations(theirs):
                if all(frame["sex"][i] == frame["sex"][r] for i, r in zip(mine, order, strict=True)):
                    worth[other] += np.exp(sum(channel(mine[[k]], np.array([r]))[0, 0] for k, r in enumerate(order)))
        best = max(worth.values())
        assert found.right[mine[0]] == (worth[target] == best)
        # whatever the temperature, the order of persons is that of the evidence
        assert (found.individual[mine[0]] == found.confidence[mine[0]]) == (worth[target] == best)
    assert np.all(found.individual <= found.confidence + 1e-12)


def test_three_rows_together_find_a_household_that_none_finds_alone() -> None:
    comparison = households(150, 3, 0.1, seed=1)
    channel = channel_of(comparison, 0.1)
    person = persons_of(comparison)
    assert person is not None
    single = evaluate_bayes(comparison, channel, rng=rng())
    together = evaluate_persons(comparison, channel, person, rng=rng())
    assert np.median(single.individual) < 0.05
    assert single.expected_links_rate < 0.1
    assert any_row(single, person).expected_links_rate < 0.25
    assert together.expected_links_rate > 0.5
    assert together.expected_links > 10 * (together.expected_links_chance or 0) / 2
    # one value for all rows of a household
    by_home = pd.DataFrame({"home": person, "p": together.individual}).groupby("home")["p"].nunique()
    assert by_home.max() == 1


def test_claims_on_persons_are_calibrated_and_strangers_leave_chance() -> None:
    links, claims, chance, runs = 0.0, 0.0, 0.0, 12
    for seed in range(runs):
        comparison = households(60, 2, 0.5, seed=seed)
        person = persons_of(comparison)
        assert person is not None
        found = evaluate_persons(comparison, channel_of(comparison, 0.5), person, rng=rng(seed), permutations=1)
        links, claims = links + found.expected_links, claims + found.predicted_links
        strangers = replace(comparison, copies=households(60, 2, 0.5, seed=500 + seed).copies)
        lost = evaluate_persons(strangers, channel_of(strangers, 0.5), person, rng=rng(seed), permutations=1)
        chance += lost.expected_links
    assert abs(links - claims) < 4 * np.sqrt(claims)
    assert abs(chance - runs) < 4 * np.sqrt(runs)


def test_the_public_intruder_adds_up_rows_too() -> None:
    draw = rng(4)
    count, size = 120, 3
    n = count * size
    frame = pd.DataFrame(
        {"home": np.repeat(np.arange(count), size), "x": draw.normal(size=n), "y": draw.normal(size=n)}
    )
    copies = [
        frame.assign(x=frame["x"] + 0.3 * draw.normal(size=n), y=frame["y"] + 0.3 * draw.normal(size=n))
        for _ in range(3)
    ]
    keys = {name: Variable(role="replace", key=True) for name in "xy"}
    comparison = clustered(frame, copies, home=Variable(), **keys)
    person = persons_of(comparison)
    assert person is not None
    told = learn_public(comparison, mask_draw="noise", rng=rng())
    together = evaluate_persons(comparison, told, person, rng=rng())
    single = evaluate_public(comparison, mask_draw="noise", rng=rng())
    assert together.expected_links_rate > 0.8
    assert together.expected_links_rate > 1.5 * single.expected_links_rate


def test_large_files_are_sampled_and_rows_must_be_known() -> None:
    comparison = households(200, 2, 0.2, seed=2)
    person = persons_of(comparison)
    assert person is not None
    channel = channel_of(comparison, 0.2)
    whole = evaluate_persons(comparison, channel, person, rng=rng())
    part = evaluate_persons(comparison, channel, person, rng=rng(), most_pairs=1)
    assert whole.sampled is None
    assert part.sampled is not None
    assert part.sampled["persons"] == 100
    low, high = (part.sampled["expected_links"][end] for end in ("low", "high"))
    assert 2 * low - high < whole.expected_links < 2 * high - low
    assert np.isnan(part.individual).sum() == 200
    with pytest.raises(InputError, match=r"^persons: needs to know which row of a copy belongs to which record"):
        evaluate_persons(replace(comparison, aligned=False), channel, person, rng=rng())


def test_rows_are_tied_by_a_kept_id_that_nobody_declared():
    rng = np.random.default_rng(3)
    who, wave = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    frame = pd.DataFrame({"x": rng.normal(size=200), "age": rng.integers(18, 60, 200)})
    cases = {
        "by name": (frame.assign(hhid=who), "hhid"),
        "by waves": (frame.assign(unit=who, wave=wave), "unit"),
        "ages are no persons": (frame.assign(wave=wave), None),
        "amounts are no persons": (frame.assign(paid=rng.integers(0, 40, 200)), None),
        "few areas": (frame.assign(area_id=rng.integers(0, 8, 200)), None),
    }
    for words, (table, expected) in cases.items():
        data = resolve(table, {"x": Variable(role="replace")})
        assert repeated_id(data.frame, data.schema) == expected, words
        assert any(column.design == "cluster" for column in tied(data.schema, expected).columns) == bool(expected)
    declared = resolve(cases["by name"][0], {"x": Variable(role="replace")}).schema
    assert repeated_id(cases["by name"][0], tied(declared, "age")) is None
