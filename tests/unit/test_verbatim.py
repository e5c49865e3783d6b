"""Rows copied over: planted ones are refused where they can be told from coincidences, clean files pass."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.microdata import resolve
from synthdp.schema import Variable

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
