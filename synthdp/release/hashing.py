"""Numbers that stand for values: SipHash under a key, and sums of mixed numbers for several columns at once.

References
----------
Aumasson, Bernstein (2012), "SipHash: a fast short-input PRF", INDOCRYPT, section 2 (SipHash-2-4).
Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA, figure 16 (the mixing function).
"""

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Tokens = npt.NDArray[np.uint32]


def combined(tokens: Sequence[Tokens], records: int) -> Words:
    """Return one number per record from those of several columns: equal where all of them are.

    A sum over columns, so that the one without column j is found by taking `mixed` of j away.
    """
    found = np.zeros(records, dtype=np.uint64)
    for position, column in enumerate(tokens):
        found += mixed(column, position)
    return found


def mixed(tokens: Tokens, position: int) -> Words:
    """Return what a column adds to `combined` at its position (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        word = tokens.astype(np.uint64) + np.uint64((position + 1) * 0x9E3779B97F4A7C15 % 2**64)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(word ^ (word >> np.uint64(31)), dtype=np.uint64)


def siphash(words: Words, key: bytes) -> Words:
    """Return SipHash-2-4 of every 8-byte word under a key of 16 bytes (Aumasson and Bernstein 2012, section 2)."""
    first, second = (np.uint64(part) for part in struct.unpack("<QQ", key))
    state = [
        np.full(len(words), half ^ np.uint64(constant))
        for half, constant in (
            (first, 0x736F6D6570736575),
            (second, 0x646F72616E646F6D),
            (first, 0x6C7967656E657261),
            (second, 0x7465646279746573),
        )
    ]
    for block in (words, np.uint64(8 << 56)):  # the last block holds the length
        state[3] ^= block
        _rounds(state, 2)
        state[0] ^= block
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3], dtype=np.uint64)


def _rounds(v: list[Words], times: int) -> None:
    for _ in range(times):
        v[0] += v[1]
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[0] = _rotated(v[0], 32)
        v[2] += v[3]
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] += v[3]
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] += v[1]
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[2] = _rotated(v[2], 32)


def _rotated(words: Words, bits: int) -> Words:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)), dtype=np.uint64)
