"""Rows copied over: planted ones are refused where they can be told from coincidences, clean files pass."""

from collections.abc import Iterable
from math import comb

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.draws import VerbatimOverDraws, individually
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

BINARIES = ("b0", "b1", "b2")
REPLACED = ["age", *BINARIES]
VARIABLES = {
    "age": Variable(kind="continuous", role="replace", key=True, tolerance=3),
    **{name: Variable(kind="binary", role="replace", key=True) for name in BINARIES},
}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def release(n: int, copies: int, *, decimals: int = 1, seed: int = 1, aligned: bool = True) -> Comparison:
    """An age and three binaries, masked and drawn anew given the mask: noise as wide as the age's own spread."""
    draw = rng(seed)
    age = draw.normal(50, 15, n).round(decimals)
    original = pd.DataFrame({"z": draw.normal(size=n), "age": age, **{b: draw.integers(0, 2, n) for b in BINARIES}})

    def copy() -> pd.DataFrame:
        seen = age + draw.normal(0, 15, n)
        drawn = 50 + 0.5 * (seen - 50) + draw.normal(0, 15 * np.sqrt(0.5), n)
        flips = {b: np.where(draw.random(n) < 0.45, draw.integers(0, 2, n), original[b]) for b in BINARIES}
        return original.assign(age=drawn.round(decimals), **flips)

    data = resolve(original, VARIABLES)
    return Comparison(data.frame, tuple(copy() for _ in range(copies)), data.schema, aligned=aligned)


def planted(comparison: Comparison, rows: list[int], *, into: Iterable[int], at: list[int] | None = None) -> Comparison:
    """Records copied over into some copies, kept columns too, at their own places or at others."""
    copies = [copy.copy() for copy in comparison.copies]
    for number in into:
        places = rows if at is None else at
        copies[number].loc[places, copies[number].columns] = comparison.original.loc[rows].to_numpy()
        copies[number] = copies[number].astype(comparison.copies[number].dtypes)
    return Comparison(comparison.original, tuple(copies), comparison.schema, aligned=comparison.aligned)


@pytest.mark.parametrize("n", [500, 5000])
def test_three_rows_in_every_copy_are_refused_among_coarse_columns(n: int) -> None:
    for seed in range(3):
        clean = release(n, 3, seed=seed)
        found = evaluate_verbatim(clean, rng=rng())
        assert found["excess"] == 0
        assert n == 500 or min(found["per_copy"]) > 3  # coincidences abound
        found = evaluate_verbatim(planted(clean, [7, n // 2, n - 9], into=range(3)), rng=rng())
        assert found["in_all"]["rows"] >= 3
        assert found["excess"] > 0


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("at", [None, [0, 1, 2]])
@pytest.mark.parametrize("copies", [1, 20])
def test_three_rows_in_one_copy_are_refused_among_fine_columns(
    at: list[int] | None, copies: int, aligned: bool
) -> None:
    clean = release(500, copies, decimals=6, aligned=aligned)
    assert evaluate_verbatim(clean, rng=rng())["excess"] == 0
    found = evaluate_verbatim(planted(clean, [7, 250, 400], into=[0], at=at), rng=rng())
    assert (found["rows"], found["per_copy"][0]) == (3, 3)
    assert found["excess"] > 0


def test_a_record_that_shares_its_kept_values_is_looked_for_in_its_own_row() -> None:
    clean = release(300, 1, decimals=6)
    alike = Comparison(clean.original.assign(z=0.0), (clean.copies[0].assign(z=0.0),), clean.schema, aligned=True)
    assert evaluate_verbatim(alike, rng=rng())["rows"] == 0
    assert evaluate_verbatim(planted(alike, [7, 99, 250], into=[0]), rng=rng())["excess"] > 0


def test_a_clean_release_is_refused_as_rarely_as_promised() -> None:
    refused = [evaluate_verbatim(release(300, 3, seed=seed), rng=rng(seed))["excess"] > 0 for seed in range(60)]
    assert np.mean(refused) <= 0.015 + 4 * np.sqrt(0.015 / 60)


def test_what_cannot_be_judged_is_said() -> None:
    clean = release(40, 1, aligned=False)
    alike = Comparison(clean.original.assign(z=0.0), (clean.copies[0].assign(z=0.0),), clean.schema, aligned=False)
    for comparison, words in (
        (alike, "verbatim: kept columns do not tell these records apart"),
        (Comparison(clean.original, (), clean.schema, aligned=True), "verbatim: needs at least one copy, found none"),
        (release(9, 1), "verbatim: needs a replaced column and 10 records"),
    ):
        with pytest.raises(InputError, match=words):
            evaluate_verbatim(comparison, rng=rng())


# values that one record has


def test_values_are_counted_as_a_plain_loop_does() -> None:
    comparison = planted(release(60, 2, decimals=0, seed=5), [3, 17, 40], into=[1])
    (line,) = evaluate_verbatim(comparison, rng=rng())["values"]
    ages = comparison.original["age"].tolist()
    alone = [i for i in range(60) if ages.count(ages[i]) == 1]
    copies = [copy["age"].tolist() for copy in comparison.copies]
    order = sorted(range(60), key=lambda i: ages[i])
    own, others, there, beside = 0, 0, 0, 0
    for i in alone:
        place = order.index(i)
        start = min(max(place - 5, 0), 60 - 11)
        own += any(copy[i] == ages[i] for copy in copies)
        others += sum(any(copy[j] == ages[i] for copy in copies) for j in order[start : start + 11] if j != i)
        there += any(ages[i] in copy for copy in copies)
        beside += sum(any(ages[i] + k in copy for copy in copies) for k in (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5))
    assert (line["column"], line["unique"]) == ("age", len(alone))
    assert (line["own_row"], line["anywhere"]) == (own, there)
    assert line["own_row"] >= sum(i in alone for i in (3, 17, 40))
    assert line["own_row_chance"] >= others * 2 / 10 - 4 * np.sqrt(others)
    assert line["chance"] >= beside * 2 / 10 - 4 * np.sqrt(beside)


def only_ages(comparison: Comparison, rows: list[int]) -> Comparison:
    """Some ages left with their owners, everything else of the copies as it was."""
    ages = comparison.original["age"].to_numpy()
    copies = []
    for copy in comparison.copies:
        values = copy["age"].to_numpy().copy()
        values[rows] = ages[rows]
        copies.append(copy.assign(age=values))
    return Comparison(comparison.original, tuple(copies), comparison.schema, aligned=comparison.aligned)


@pytest.mark.parametrize("aligned", [True, False])
def test_ages_left_with_their_owners_are_refused(aligned: bool) -> None:
    clean = release(400, 1, decimals=6, aligned=aligned)
    found = evaluate_verbatim(only_ages(clean, list(range(0, 50, 5))), rng=rng())
    assert found["rows"] < 10
    assert found["values"][0]["own_row"] == 10
    assert found["excess"] == 10 - found["values"][0]["own_row_chance"] > 0


def test_ages_of_others_are_refused_and_bounds_are_nobodys() -> None:
    clean = release(400, 1, decimals=6)
    ages = clean.original["age"].to_numpy()
    donated = Comparison(
        clean.original, (clean.copies[0].assign(age=rng().choice(ages, 400)),), clean.schema, aligned=True
    )
    found = evaluate_verbatim(donated, rng=rng())
    assert found["values"][0]["anywhere"] > 200
    assert found["excess"] > 200
    low, high = float(ages.min()), float(ages.max())
    data = resolve(clean.original, VARIABLES | {"age": Variable(kind="continuous", role="replace", bounds=(low, high))})
    clipped = clean.copies[0].assign(age=np.where(np.arange(400) % 2, low, high))
    assert evaluate_verbatim(Comparison(data.frame, (clipped,), data.schema, aligned=True), rng=rng())["excess"] == 0


# over several draws


def judged(draws: Iterable[Comparison]) -> VerbatimOverDraws:
    found, draw = VerbatimOverDraws(), rng()
    for one in draws:
        found.add(one, rng=draw)
    return found


def redrawn(n: int, copies: int, times: int, *, decimals: int, seed: int) -> list[Comparison]:
    """Several draws of the copies of one original."""
    first = release(n, times * copies, decimals=decimals, seed=seed)
    parts = [first.copies[k * copies : (k + 1) * copies] for k in range(times)]
    return [Comparison(first.original, part, first.schema, aligned=True) for part in parts]


@pytest.mark.parametrize("decimals", [0, 6])
def test_three_rows_in_one_copy_of_every_draw_are_found_among_fine_and_coarse_columns(decimals: int) -> None:
    for seed in range(3):
        clean = redrawn(1000, 2, 12, decimals=decimals, seed=seed)
        found = judged(clean).section()
        assert found["excess"] == 0
        assert decimals or found["rows"] > 12  # coincidences abound
        found = judged(planted(one, [7, 500, 990], into=[0]) for one in clean).section()
        assert found["records"] >= (3 if decimals else 2)
        assert found["excess"] >= found["records"]
        assert (found["draws"], len(found["per_copy"])) == (12, 2)


def test_one_value_on_its_owners_row_in_every_draw_is_found() -> None:
    clean = redrawn(500, 2, 12, decimals=1, seed=2)
    ages = clean[0].original["age"]
    person = int(ages[~ages.duplicated(keep=False)].idxmax())
    found = judged(only_ages(one, [person]) for one in clean).section()
    assert found["values"][0]["owners"] == 1
    assert found["excess"] == 1


def test_one_draw_after_another_gives_the_sum() -> None:
    clean = redrawn(300, 2, 3, decimals=0, seed=3)
    found = judged(clean).section()
    alone = [judged([one]).section() for one in clean]
    assert found["rows"] == sum(one["rows"] for one in alone)
    assert found["values"][0]["anywhere"] == sum(one["values"][0]["anywhere"] for one in alone)
    assert found["per_copy"] == np.mean([one["per_copy"] for one in alone], axis=0).tolist()


@pytest.mark.parametrize(("own", "others"), [(0, 0), (3, 0), (5, 9), (12, 1)])
def test_a_record_is_judged_by_the_binomial_tail(own: int, others: int) -> None:
    rate, total = 2 / 12, own + others
    tail = sum(comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(own, total + 1))
    alone = individually(np.array([own]), np.array([others]), times=10, level=0.01)
    assert alone == (tail <= 0.01)
    among = np.zeros(100, dtype=np.int64)
    among[0], rest = own, among.copy()
    rest[0] = others
    assert individually(among, rest, times=10, level=0.01) == (tail <= 0.0001)
    assert individually(among[:0], rest[:0], times=10, level=0.01) == 0


def test_draws_that_cannot_be_judged_are_said() -> None:
    with pytest.raises(InputError, match="verbatim: needs at least one draw of the copies, found none"):
        VerbatimOverDraws().section()
    found = judged([release(40, 1)])
    assert repr(found) == "VerbatimOverDraws(1 draws)"
    with pytest.raises(InputError, match="verbatim: all draws must be of one original"):
        found.add(release(41, 1), rng=rng())
    with pytest.raises(InputError, match="verbatim: needs a replaced column and 10 records"):
        judged([release(9, 1)])
