"""Rows and values copied over, block by block: the twin in memory where there is one block."""

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.draws import VerbatimOverDraws
from synthdp.evaluation.sharded.verbatim import Copied, VerbatimOverShards, copied
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 400


def drawn(seed: int, planted: int) -> Comparison:
    draw = np.random.default_rng(7)
    frame = pd.DataFrame({"z": np.arange(float(N)), "x": draw.normal(size=N).round(3), "y": draw.integers(0, 9, N)})
    data = resolve(frame, {"x": Variable(role="replace"), "y": Variable(role="replace", kind="count")})
    noise = np.random.default_rng([seed, 99])
    copies = []
    for _ in range(2):
        made = frame.assign(x=noise.normal(size=N).round(3), y=noise.integers(0, 9, N))
        made.loc[: planted - 1, ["x", "y"]] = frame.loc[: planted - 1, ["x", "y"]]
        copies.append(made)
    return Comparison(data.frame, tuple(copies), data.schema, aligned=True)


def blocks(files: Comparison, size: int) -> list[Copied]:
    found = []
    for start in range(0, N, size):
        rows = slice(start, start + size)
        some = [frame.iloc[rows].reset_index(drop=True) for frame in (files.original, *files.copies)]
        part = Comparison(some[0], tuple(some[1:]), files.schema, aligned=True)
        found.append(copied(part, start, rng=np.random.default_rng(1)))
    return found


@pytest.mark.parametrize("planted", [0, 3])
def test_one_block_is_the_measure_in_memory(planted: int) -> None:
    ours, twin = VerbatimOverShards(N), VerbatimOverDraws()
    for seed in range(12):
        files = drawn(seed, planted)
        ours.draw(blocks(files, N))
        twin.add(files, rng=np.random.default_rng(1))
    mine, theirs = ours.section(), twin.section()
    for name in ("rows", "records", "per_copy", "draws"):
        assert mine[name] == theirs[name]
    for one, other in zip(mine["values"], theirs["values"], strict=True):
        for name in ("column", "unique", "own_row", "own_row_chance", "anywhere", "chance", "owners"):
            assert one[name] == other[name]
    assert mine["excess"] == theirs["excess"]
    assert (mine["excess"] > 0) == (planted > 0)


def test_planted_records_are_found_in_their_blocks() -> None:
    ours = VerbatimOverShards(N)
    for seed in range(12):
        ours.draw(blocks(drawn(seed, 3), 100))
    assert ours.section()["records"] == 3
    clean = VerbatimOverShards(N)
    for seed in range(12):
        clean.draw(blocks(drawn(seed, 0), 100))
    assert clean.section()["excess"] == 0


def test_it_says_what_is_missing() -> None:
    with pytest.raises(InputError, match="verbatim: needs at least one draw of the copies, found none"):
        VerbatimOverShards(N).section()
    with pytest.raises(InputError, match="verbatim: needs a replaced column and 10 records"):
        blocks(drawn(1, 0), 3)
