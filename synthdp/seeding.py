"""Named streams of randomness: one per purpose, all from one secret seed.

Re-using one stream for two columns' masks correlates their errors and ruins coverage, so a stream is asked for by
name. A stream depends on the seed and its name only: adding an evaluator, a column or a copy changes no other draw.
"""

import secrets
import zlib

import numpy as np

SEED_BITS = 128
SMALLEST_SECRET_SEED = 2**64


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

    def within(self, *place: str | int) -> "Streams":
        """Return streams whose names all begin with ``place``: a part of the work that is done more than once."""
        return Streams(self._seed, place=(*self._place, *place))
