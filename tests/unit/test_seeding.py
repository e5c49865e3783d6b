"""One stream per purpose, all from one seed that nobody sees."""

import functools
import itertools
import operator

import numpy as np
import pytest

from synthdp.seeding import SMALLEST_SECRET_SEED, Streams, fresh_seed

SEED = 0x5EC12E7_0000_0000_0000_0000_0000_0001
NAMES = [("mask", "age", 1), ("mask", "age", 2), ("mask", "sex", 1), ("mask", "all copies"), ("fit",), ("values", 1),
         ("parameters", 1), ("shuffle", 1), ("evaluate", "identity"), ("evaluate",), ("mask", "größe", 1)]  # fmt: skip


def draws(name, seed=SEED, size=2000):
    return Streams(seed).generator(*name).standard_normal(size)


def test_a_stream_is_its_seed_and_its_name():
    for name in NAMES:
        assert (draws(name) == draws(name)).all()
    # asking for other streams in between changes nothing, and a stream is always at its start
    streams = Streams(SEED)
    first = streams.generator("fit").standard_normal(5)
    streams.generator("mask", "age", 1).standard_normal(100)
    assert (streams.generator("fit").standard_normal(5) == first).all()


def test_other_names_and_other_seeds_give_other_streams():
    for a, b in itertools.combinations(NAMES, 2):
        assert abs(np.corrcoef(draws(a), draws(b))[0, 1]) < 4.5 / np.sqrt(2000)
    assert abs(np.corrcoef(draws(("fit",)), draws(("fit",), seed=SEED + 1))[0, 1]) < 4.5 / np.sqrt(2000)


def test_the_streams_never_change():
    # a release is repeated from its manifest years later: these numbers are part of the format
    found = Streams(SEED).generator("mask", "age", 1).integers(2**62, size=3)
    assert found.tolist() == [384628538785828546, 961152407117466682, 3637655099352460437]


def test_a_fresh_seed_has_128_bits_and_is_new():
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**128 for seed in seeds)
    # a bit that never or always occurs in 100 draws has probability 2^-99
    assert functools.reduce(operator.or_, seeds) == 2**128 - 1
    assert SMALLEST_SECRET_SEED == 2**64


def test_the_seed_is_not_shown():
    streams = Streams(SEED)
    for text in (repr(streams), str(streams), f"{streams}"):
        assert text == "Streams(<secret>)"


def test_a_negative_seed_is_a_bug():
    with pytest.raises(ValueError, match="non-negative"):
        Streams(-1).generator("fit")
