"""The compiled kernel against plain Python that follows the definition word by word."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthdp.errors import InputError
from synthdp.table.schema import Column, Kind, Role
from synthdp.tagging.neighbours import Keys, count_neighbours, encode_keys, match

SEX = Column(name="sex", kind=Kind.BINARY, role=Role.REPLACE, key=True, levels=("F", "M"))
SITE = Column(name="site", kind=Kind.NOMINAL, role=Role.KEEP, key=True, levels=(1, 2, 3))
NUMERIC = tuple(
    Column(name=name, kind=kind, role=Role.REPLACE, key=True, tolerance=tolerance)
    for name, kind, tolerance in (
        ("age", Kind.CONTINUOUS, 1.5),
        ("children", Kind.COUNT, 0.0),
        ("income", Kind.SEMICONTINUOUS, 0.1),
    )
)


def is_neighbour(one: pd.Series, other: pd.Series, columns: list[Column]) -> bool:
    for column in columns:
        a, b = one[column.name], other[column.name]
        if pd.isna(a) or pd.isna(b):
            if pd.isna(a) != pd.isna(b):
                return False
        elif column.kind.categorical:
            if a != b:
                return False
        elif not abs(a - b) <= column.tolerance:
            return False
    return True


@dataclass
class Found:
    individual: list[float]
    unconditional: list[float]
    top: list[float]
    best: list[int]
    hit: list[bool]
    winner: list[int]


def match_plainly(original: pd.DataFrame, copies: list[pd.DataFrame], columns: list[Column]) -> Found:
    found = Found([], [], [], [], [], [])
    n = len(original)
    for i in range(n):
        probability = np.zeros(n)
        unconditional = 0.0
        for copy in copies:
            inside = [r for r in range(n) if is_neighbour(original.iloc[i], copy.iloc[r], columns)]
            probability[inside] += 1 / len(inside) / len(copies) if inside else 0
            unconditional += 1 / len(inside) / len(copies) if inside else 0
        best = np.flatnonzero(probability >= probability.max() - 1e-12) if probability.max() > 0 else np.empty(0)
        found.individual.append(probability[i])
        found.unconditional.append(unconditional)
        found.top.append(probability.max())
        found.best.append(len(best))
        found.hit.append(i in best)
        found.winner.append(int(best[0]) if len(best) == 1 else -1)
    return found


# multiples of 0.1 put differences on the tolerance itself, where rounding decides
VALUES = {
    "sex": st.sampled_from(["F", "M", None]),
    "site": st.sampled_from([1, 2, 3, None]),
    "age": st.sampled_from([None, *(20 + 0.5 * step for step in range(12))]),
    "children": st.sampled_from([0.0, 1.0, 2.0, None]),
    "income": st.sampled_from([None, *(0.1 * step for step in range(8)), 1e9]),
}


@st.composite
def files(draw: st.DrawFn) -> tuple[list[pd.DataFrame], list[Column]]:
    columns = draw(st.lists(st.sampled_from([SEX, SITE, *NUMERIC]), unique=True, max_size=4))
    n = draw(st.integers(1, 25))
    count = draw(st.integers(2, 4))

    def frame() -> pd.DataFrame:
        made = {
            column.name: draw(st.lists(VALUES[column.name], min_size=n, max_size=n)) for column in (SEX, SITE, *NUMERIC)
        }
        return pd.DataFrame(made).astype({"site": "object"} | {column.name: float for column in NUMERIC})

    return [frame() for _ in range(count)], columns


@given(files())
def test_counting_follows_the_definition(case: tuple[list[pd.DataFrame], list[Column]]) -> None:
    frames, columns = case
    targets, file = encode_keys(frames[:2], columns)
    expected = [
        sum(is_neighbour(frames[0].iloc[i], frames[1].iloc[r], columns) for r in range(len(file)))
        for i in range(len(targets))
    ]
    assert count_neighbours(targets, file).tolist() == expected


@given(files())
def test_matching_follows_the_definition(case: tuple[list[pd.DataFrame], list[Column]]) -> None:
    frames, columns = case
    targets, *copies = encode_keys(frames, columns)
    found = match(targets, copies)
    expected = match_plainly(frames[0], frames[1:], columns)
    np.testing.assert_allclose(found.individual, expected.individual, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.unconditional, expected.unconditional, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.top, expected.top, rtol=0, atol=1e-14)
    assert found.best.tolist() == expected.best
    assert found.hit.tolist() == expected.hit
    assert found.winner.tolist() == expected.winner
    alone = np.zeros(len(targets), dtype=np.int64)
    for copy in copies:
        single = match(targets, [copy])
        alone += single.hit & (single.best == 1)
    assert found.alone.tolist() == alone.tolist()
    assert found.any_candidate.tolist() == [best > 0 for best in expected.best]


@pytest.mark.parametrize("tolerances", [(), (0.3,), (0.3, 0.2), (0.0, 0.5, 0.4), (50.0, 0.0), (1e-12, 1e-12)])
def test_random_files_of_sixty_records(tolerances: tuple[float, ...]) -> None:
    rng = np.random.default_rng(len(tolerances))
    columns = [
        SITE,
        *(
            Column(name=f"x{j}", kind=Kind.CONTINUOUS, role=Role.REPLACE, key=True, tolerance=tolerance)
            for j, tolerance in enumerate(tolerances)
        ),
    ]
    original = pd.DataFrame(
        {"site": rng.integers(1, 4, 60), **{f"x{j}": rng.normal(0, 0.5, 60).round(1) for j in range(len(tolerances))}}
    )
    copies = [
        original.assign(
            **{name: original[name] + rng.normal(0, 0.1, 60).round(1) for name in original if name != "site"}
        )
        for _ in range(3)
    ]
    keys = encode_keys([original, *copies], columns)
    expected = match_plainly(original, copies, columns)
    found = match(keys[0], keys[1:])
    np.testing.assert_allclose(found.individual, expected.individual, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.top, expected.top, rtol=0, atol=1e-14)
    assert found.best.tolist() == expected.best
    assert found.winner.tolist() == expected.winner


def test_a_small_case_by_hand() -> None:
    # target 0 (age 30): copy 1 offers rows 0 and 1, copy 2 only row 0; target 2 (age 90) is found nowhere
    original, one, two = (
        pd.DataFrame({"age": ages}) for ages in ([30.0, 40.0, 90.0], [31.0, 29.0, 60.0], [30.5, 39.0, 60.0])
    )
    targets, *copies = encode_keys([original, one, two], [NUMERIC[0]])
    found = match(targets, copies)
    assert found.individual.tolist() == [0.75, 0.5, 0.0]
    assert found.unconditional.tolist() == [0.75, 0.5, 0.0]
    assert found.top.tolist() == [0.75, 0.5, 0.0]
    assert found.best.tolist() == [1, 1, 0]
    assert found.hit.tolist() == [True, True, False]
    assert found.winner.tolist() == [0, 1, -1]


def test_equal_probabilities_summed_in_another_order_are_ties() -> None:
    # row 0 gets 1/7 + 1/5 + 1/11 from three copies, row 1 gets 1/5 + 1/11 + 1/7 from three others
    assert (1 / 7 + 1 / 5) + 1 / 11 != (1 / 5 + 1 / 11) + 1 / 7
    sizes = ((0, 7), (0, 5), (0, 11), (1, 5), (1, 11), (1, 7))
    n = 2 + sum(size - 1 for _, size in sizes)
    cells = np.ones((len(sizes), n), dtype=np.int64)
    stranger = 2
    for copy, (row, size) in enumerate(sizes):
        cells[copy, [row, *range(stranger, stranger + size - 1)]] = 0
        stranger += size - 1
    targets, *copies = (Keys(cell, np.empty((n, 0)), np.empty(0)) for cell in (np.zeros(n, dtype=np.int64), *cells))
    found = match(targets, copies)
    assert found.best.tolist() == [2] * n
    assert found.hit.tolist() == [True, True] + [False] * (n - 2)


def test_codings_of_one_level_are_one_level_and_strangers_match_nobody() -> None:
    original = pd.DataFrame({"site": [1, 2, np.nan]})
    copies = [
        pd.DataFrame({"site": [1.0, 2.0, np.nan]}),
        pd.DataFrame({"site": ["1", "2", None]}),
        pd.DataFrame({"site": ["7", "north", None]}),
    ]
    targets, *files_ = encode_keys([original, *copies], [SITE])
    assert [count_neighbours(targets, file).tolist() for file in files_] == [[1, 1, 1], [1, 1, 1], [0, 0, 1]]


def test_text_and_infinity_among_numbers_match_nobody() -> None:
    original = pd.DataFrame({"age": [0.0, np.nan]})
    copy = pd.DataFrame({"age": ["old", "inf"]})
    assert count_neighbours(*encode_keys([original, copy], [NUMERIC[0]])).tolist() == [0, 0]


def test_dates_match_in_days() -> None:
    birth = Column(name="birth", kind=Kind.DATE, role=Role.REPLACE, key=True, tolerance=31)
    original = pd.DataFrame({"birth": pd.to_datetime(["1960-01-01", "1970-06-01", None])})
    copy = pd.DataFrame({"birth": ["1960-02-01", "1970-07-03", None]})
    assert count_neighbours(*encode_keys([original, copy], [birth])).tolist() == [1, 0, 1]
    with pytest.raises(InputError, match=r"^birth: a date key needs dates, found values that are not\.$"):
        encode_keys([original, pd.DataFrame({"birth": ["1960-02-01", "spring", None]})], [birth])


def test_columns_of_many_levels_do_not_overflow() -> None:
    columns = [
        Column(name=name, kind=Kind.NOMINAL, role=Role.KEEP, key=True, levels=tuple(range(10**5))) for name in "abcde"
    ]
    frame = pd.DataFrame({name: [99_999, 99_999, 0] for name in "abcde"})
    (keys,) = encode_keys([frame], columns)
    assert count_neighbours(keys, keys).tolist() == [2, 2, 1]


def test_many_records_alike_cost_no_more_than_few() -> None:
    # 200,000 targets x 100,000 candidates each would take minutes one by one
    frame = pd.DataFrame({"sex": ["F", "M"] * 100_000, "age": 30.0})
    targets, copy = encode_keys([frame, frame], [SEX, NUMERIC[0]])
    found = match(targets, [copy])
    assert np.all(found.best == 100_000)
    assert np.all(found.hit)
    assert np.all(count_neighbours(targets, copy) == 100_000)


def test_nothing_to_count() -> None:
    (nobody, somebody) = encode_keys([pd.DataFrame({"age": []}), pd.DataFrame({"age": [1.0]})], [NUMERIC[0]])
    assert count_neighbours(nobody, somebody).tolist() == []
    assert count_neighbours(somebody, nobody).tolist() == [0]


def test_matching_needs_aligned_copies() -> None:
    two, three = encode_keys([pd.DataFrame({"age": [1.0, 2.0]}), pd.DataFrame({"age": [1.0, 2.0, 3.0]})], [NUMERIC[0]])
    for targets, copies in ((two, [three]), (two, []), (Keys(two.cells[:0], two.numbers[:0], two.tolerances), [])):
        with pytest.raises(ValueError, match="each with as many rows as there are targets"):
            match(targets, copies)


def test_reprs_show_dimensions_only() -> None:
    (keys,) = encode_keys([pd.DataFrame({"age": [41.5, 42.5]})], [NUMERIC[0]])
    assert repr(keys) == "Keys(2 records, 1 numeric keys)"
    assert repr(match(keys, [keys])) == "Matches(2 targets)"
