"""The border of a ray, beside its brute-force twin: every rung tried one by one."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from synthdp.tuning.rays import HIGHEST, LOWEST, Border, Seen, factor_of, find_border

LADDER = range(LOWEST, HIGHEST + 1)


def made_up(border: int, asked: list[int], halved: float | None = None, most: float = math.inf):
    """Return a risk that falls along the ladder: rungs from ``border`` on pass; usefulness falls too.

    The risk is told where it halves in so many rungs; it may be capped, as that of one person is at 1.
    """

    def look(rung: int) -> Seen:
        asked.append(rung)
        ratio = None if halved is None else min(0.999 * 2 ** ((border - rung) / halved), most)
        if ratio is not None and rung < border:
            ratio = max(ratio, 1.001)
        return Seen(rung >= border, 1.0 - 0.02 * (rung - LOWEST), ratio)

    return look


def enumerated(border: int) -> int | None:
    return next((rung for rung in LADDER if rung >= border), None)


@given(st.integers(LOWEST - 3, HIGHEST + 3), st.integers(LOWEST, HIGHEST), st.integers(1, 6))
def test_the_border_is_that_of_enumeration(border: int, guess: int, stride: int) -> None:
    asked: list[int] = []
    found = find_border(made_up(border, asked), guess=guess, stride=stride)
    assert found == Border(enumerated(border))
    assert len(set(asked)) == len(asked), "no rung is tried twice"
    assert len(asked) <= 11


@given(
    st.integers(LOWEST - 3, HIGHEST + 3),
    st.integers(LOWEST, HIGHEST),
    st.integers(1, 6),
    st.floats(0.1, 40.0),
    st.floats(1.01, 1e6),
)
@settings(max_examples=500)
def test_risks_that_are_told_change_the_looks_and_not_the_border(
    border: int, guess: int, stride: int, halved: float, most: float
) -> None:
    asked: list[int] = []
    found = find_border(made_up(border, asked, halved, most), guess=guess, stride=stride)
    assert found == Border(enumerated(border))
    assert len(set(asked)) == len(asked), "no rung is tried twice"
    assert len(asked) <= 14


def test_risks_that_fall_as_expected_save_looks() -> None:
    def looks(halved: float | None) -> float:
        count = 0
        for border in range(-14, 15):
            asked: list[int] = []
            find_border(made_up(border, asked, halved), guess=0)
            count += len(asked)
        return count / 29

    assert looks(2.0) < 0.7 * looks(None)


@given(st.integers(LOWEST, HIGHEST), st.integers(LOWEST, HIGHEST), st.floats(0.3, 1.0))
@settings(max_examples=200)
def test_a_ray_is_given_up_only_where_nothing_on_it_is_better(border: int, guess: int, best: float) -> None:
    asked: list[int] = []
    look = made_up(border, asked)
    found = find_border(look, guess=guess, best=best)
    if found.beaten:
        uses = [1.0 - 0.02 * (rung - LOWEST) for rung in LADDER if rung >= border]
        assert max(uses) < best
    else:
        assert found.rung is not None
        assert found.rung == border or 1.0 - 0.02 * (found.rung - LOWEST) < best


def test_without_time_the_lowest_rung_that_passed_is_returned() -> None:
    left = iter([True, True, False])
    found = find_border(made_up(-7, []), guess=0, stride=2, more=lambda: next(left))
    assert found.rung == -6


def test_a_ladder_of_one_rung() -> None:
    assert find_border(made_up(-1, []), guess=5, lowest=0, highest=0) == Border(0)
    assert find_border(made_up(1, []), guess=5, lowest=0, highest=0) == Border(None)


def test_four_rungs_are_an_octave() -> None:
    assert factor_of(4) == 2.0
    assert factor_of(-8) == 0.25
