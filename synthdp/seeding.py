"""Named streams of randomness: one per purpose, all from one secret seed.

Re-using one stream for two columns' masks correlates their errors and ruins coverage, so a stream is asked for by
name. A stream depends on the seed and its name only: adding an evaluator, a column or a copy changes no other draw.
"""

import secrets
import zlib
from collections.abc import Iterator

import numpy as np

SEED_BITS = 128
SMALLEST_SECRET_SEED = 2**64
# records that share a stream: whatever is drawn for each record is drawn block by block, from a stream per block
BLOCK = 65_536


def in_blocks(records: int) -> Iterator[tuple[int, slice]]:
    """Yield the number and the records of every block of a file.

    What is drawn for the records of a block depends on nothing but the seed, θ and these records, so that it is the
    same however many blocks are worked on at a time, and wherever.

    >>> [(number, rows.stop) for number, rows in in_blocks(BLOCK + 1)]
    [(0, 65536), (1, 65537)]
    """
    for number, start in enumerate(range(0, max(records, 1), BLOCK)):
        yield number, slice(start, min(start + BLOCK, records))


def fresh_seed() -> int:
    """Return a new secret seed of 128 bits."""
    return secrets.randbits(SEED_BITS)


class Streams:
    """The named random streams of one run.

    Parameters
    ----------
    seed
        The master seed. It is a key: whoever knows it can remove the mask. It is never shown by ``repr``.
    place
        What every name begins with; see :meth:`within`.

    Examples
    --------
    >>> streams = Streams(1)
    >>> a, b = streams.generator("mask", "age", 1), streams.generator("mask", "age", 1)
    >>> bool(a.standard_normal() == b.standard_normal())
    True
    >>> streams
    Streams(<secret>)
    """

    def __init__(self, seed: int, *, place: tuple[str | int, ...] = ()) -> None:
        self._seed = seed
        self._place = place

    def __repr__(self) -> str:
        return "Streams(<secret>)"

    def generator(self, *name: str | int) -> np.random.Generator:
        """Return the generator of the stream called ``name``, at its start."""
        key = tuple(zlib.crc32(str(part).encode()) for part in (*self._place, *name))
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))

    def block(self, number: int, *name: str | int) -> np.random.Generator:
        """Return the stream of a block of records; the first block has the stream that bears the plain name."""
        return self.generator(*name, "block", number) if number else self.generator(*name)

    def within(self, *place: str | int) -> "Streams":
        """Return streams whose names all begin with ``place``: a part of the work that is done more than once."""
        return Streams(self._seed, place=(*self._place, *place))
