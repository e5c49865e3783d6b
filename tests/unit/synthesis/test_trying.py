"""Tries until the constraints hold, what is rejected on the way, and how long a chain must be."""

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import Unfinished
from synthdp.synthesis import rejection
from synthdp.synthesis.constraints import binding
from synthdp.synthesis.rejection import (
    LENGTHS,
    MOST_DRAWS,
    MOST_TRIES,
    Seldom,
    Tried,
    believed,
    breaking,
    memory,
    settle,
    tries,
)

SELDOM = (
    "; the model hardly ever draws what is asked for, and cannot be learnt under it. Loosen the constraint, give its "
    "columns bounds or a transform that suit it, or replace only one of them."
)


def dice(rng: np.random.Generator, sides: int = 6):
    """Return what draws a die for every record; the working value is minus its number."""

    def draw(rows):
        x = rng.integers(1, sides + 1, len(rows))
        return Tried(rows, {"x": -x.astype(float)}, pd.DataFrame({"x": x, "record": rows}))

    return draw


@pytest.mark.parametrize("n", [40, 3_000])
def test_the_first_that_holds_is_kept_and_those_before_it_are_rejected(n):
    found = tries(np.arange(n), dice(np.random.default_rng(1)), breaking(["x <= 2"]))
    vain, last = found.vain(), found.last()
    assert sorted(last.rows) == list(range(n))
    assert (last.frame["record"].to_numpy() == last.rows).all()
    assert (vain.frame["record"].to_numpy() == vain.rows).all()
    assert (last.frame["x"] <= 2).all()
    assert (vain.frame["x"] > 2).all()
    assert (vain.drawn["x"] == -vain.frame["x"]).all()
    # both are the die, restricted to where the constraint holds and to where it does not
    assert abs(last.frame["x"].mean() - 1.5) < 4 * 0.5 / np.sqrt(n)
    assert abs(vain.frame["x"].mean() - 4.5) < 4 * np.sqrt(1.25 / len(vain))
    # so many in vain as a geometric law of chance 1/3 has: mean 2, variance 6; P(none) = 1/3
    count = np.bincount(vain.rows, minlength=n)
    assert abs(count.mean() - 2) < 4 * np.sqrt(6 / n)
    assert abs((count == 0).mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / n)


def test_records_are_tried_in_blocks(monkeypatch):
    monkeypatch.setattr(rejection, "ROWS_AT_ONCE", 64)
    found = tries(np.arange(500), dice(np.random.default_rng(1)), breaking(["x <= 2"]))
    assert sorted(found.last().rows) == list(range(500))
    assert abs(len(found.vain()) / 500 - 2) < 4 * np.sqrt(6 / 500)


def test_too_many_in_vain_stop():
    with pytest.raises(Seldom) as caught:
        tries(np.arange(2_000), dice(np.random.default_rng(1), sides=100), breaking(["x <= 2"]), most=9)
    assert str(caught.value) == "constraints: fewer than one draw in 10 keeps them" + SELDOM
    # a record by itself may take as many as it needs, up to a point
    assert (
        len(tries(np.arange(5), dice(np.random.default_rng(1), sides=1000), breaking(["x <= 2"]), most=9).last()) == 5
    )


def test_a_record_that_cannot_keep_them_stops():
    def draw(rows):
        return Tried(rows, {}, pd.DataFrame({"x": np.where(rows == 1, 9, 0)}))

    with pytest.raises(Unfinished) as caught:
        tries(np.arange(3), draw, breaking(["x < 3"]))
    assert str(caught.value) == f"constraints: of 1 records none of {MOST_TRIES:,} draws keeps them" + SELDOM


def test_parameters_that_hardly_ever_keep_them_are_drawn_again():
    thetas = iter([3, 2, 1, 0])
    nothing = Tried(np.empty(0, dtype=int), {})

    def reject(theta):
        if theta > 1:
            raise Seldom("no")
        return nothing

    assert believed(lambda: next(thetas), reject) == (1, nothing)
    asked = []
    with pytest.raises(Seldom):
        believed(lambda: asked.append(1) or 2, reject)
    assert len(asked) == MOST_DRAWS


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_memory_is_the_integrated_autocorrelation_time(rho):
    """Of a first-order autoregression it is (1 + ρ)/(1 − ρ); its error is about τ √(2 (2·5 + 1) τ / n) (Sokal 1997)."""
    rng, n = np.random.default_rng(3), 20_000
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = rho * x[i - 1] + rng.standard_normal()
    true = (1 + rho) / (1 - rho)
    found = memory(np.column_stack([np.ones(n), x]))
    assert abs(found - true) < 4 * true * np.sqrt(22 * true / n)


def test_a_chain_runs_until_it_has_forgotten_its_start():
    rng = np.random.default_rng(1)
    state = Tried(np.empty(0, dtype=int), {})
    _, quick = settle(state, lambda s: (s, rng.standard_normal(1)))
    assert (quick.turns, quick.apart, quick.settled) == (LENGTHS[0], rejection.FEWEST_APART, True)
    assert quick.rows() == ({"column": "the parameters under constraints", "turns": LENGTHS[0]},)
    walk = np.zeros(1)

    def wander(s):
        walk[:] += rng.standard_normal()
        return s, walk.copy()

    _, slow = settle(state, wander)
    assert (slow.turns, slow.settled) == (LENGTHS[-1], False)
    assert slow.apart > quick.apart
    assert slow.rows()[0]["approximation"] == (
        f"after {LENGTHS[-1]} turns their chain still depended on its start, because the constraints exclude too much "
        "to identify the distribution"
    )


def test_constraints_that_draws_can_break():
    assert binding(["a < b", "b < 3", "c == 1"], ["b"]) == ("a < b", "b < 3")
    assert repr(Tried(np.arange(2), {})) == "Tried(2 draws)"


def test_draws_that_were_not_written_cannot_be_read():
    with pytest.raises(TypeError, match="were not written"):
        Tried(np.arange(2), {}).table()
