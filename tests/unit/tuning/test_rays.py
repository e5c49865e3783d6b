"""The border of a ray, beside its brute-force twin: every rung tried one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from synthdp.tuning.rays import HIGHEST, LOWEST, Border, Seen, factor_of, find_border

LADDER = range(LOWEST, HIGHEST + 1)


def made_up(border: int, asked: list[int]):
    """Return a risk that falls along the ladder: rungs from ``border`` on pass; usefulness falls too."""

    def look(rung: int) -> Seen:
        asked.append(rung)
        return Seen(rung >= border, 1.0 - 0.02 * (rung - LOWEST))

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
