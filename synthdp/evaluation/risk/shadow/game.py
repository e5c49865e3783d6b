"""Who is in which shadow fit: one fit deals every target a state of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from synthdp.microdata import Codes

Others = Literal["half", "all"]
States = npt.NDArray[np.int8]

# how often a target is in, swapped, out: the judged comparison (in against swapped) gets most of the fits
WITH_KEPT = (0.4, 0.4, 0.2)
WITHOUT_KEPT = (0.5, 0.0, 0.5)


class State(IntEnum):
    """What a fit has of a target."""

    UNPLAYED = -1
    """The fit is about another target."""
    OUT = 0
    """Its row is not there."""
    SWAPPED = 1
    """Its row is there with its kept values, and somebody else's replaced values."""
    IN = 2
    """It is there as it is."""


@dataclass(frozen=True, repr=False)
class Hand:
    """What one shadow fit is made from.

    Parameters
    ----------
    rows, donors
        Record ``rows[r]`` gives the kept columns of row r, ``donors[r]`` the replaced ones; the same but for swaps.
    states
        The :class:`State` of each target.
    reference
        Records that are in no way part of the fit, equally many in every fit.
    """

    rows: Codes
    donors: Codes
    states: States
    reference: Codes

    def __repr__(self) -> str:
        return f"Hand({len(self.rows)} rows, {len(self.states)} targets)"


@dataclass(frozen=True, repr=False)
class Deck:
    """What hands are dealt from.

    Parameters
    ----------
    records
        How many there are.
    tied
        For each target the records that are in or out with it: itself, and the rest of its cluster.
    donors
        For each target the records whose replaced values it may be given, nearest on the kept columns first; None
        when nothing is kept, and there is nothing to swap.
    others
        ``half``: a fit gets half of the records, and serves all targets at once. ``all``: it gets all but a few, and
        serves one target.
    """

    records: int
    tied: Sequence[Codes]
    donors: Sequence[Codes] | None
    others: Others = "half"

    def __repr__(self) -> str:
        return f"Deck({self.records} records, {len(self.tied)} targets)"

    @property
    def size(self) -> int:
        """How many rows every fit has: always the same, or their number would tell."""
        if self.others == "half":
            return self.records // 2
        return self.records - max(len(tied) for tied in self.tied) - (self.donors is not None)

    def deal(self, number: int, *, rng: np.random.Generator) -> Hand:
        """Return what fit ``number`` is made from. Cost O(n).

        A donor is set aside for every target that is played, whatever its state: a missing neighbour would otherwise
        betray the swap.
        """
        states = self._states(number, rng)
        donor_of = self._set_aside(states, rng)
        free = np.ones(self.records, dtype=np.bool_)
        free[np.concatenate(self.tied)] = False
        free[donor_of[donor_of >= 0]] = False
        rest = rng.permutation(np.flatnonzero(free))
        present = np.unique(
            np.concatenate(
                [np.empty(0, dtype=np.int64), *(t for t, s in zip(self.tied, states, strict=True) if s != State.OUT)]
            )
        )
        missing = max(0, self.size - len(present))
        rows = np.concatenate([present, rest[:missing]])
        left = rest[missing:]
        donors = rows.copy()
        place = {int(record): at for at, record in enumerate(present)}
        for target in np.flatnonzero(states == State.SWAPPED).tolist():
            donors[place[int(self.tied[target][0])]] = donor_of[target]
        # the order of rows must not tell either
        order = rng.permutation(len(rows))
        return Hand(rows[order], donors[order], states, left[: max(0, len(rest) - self.size)])

    def _states(self, number: int, rng: np.random.Generator) -> States:
        count = len(self.tied)
        shares = WITHOUT_KEPT if self.donors is None else WITH_KEPT
        drawn = rng.choice(np.array([State.IN, State.SWAPPED, State.OUT], dtype=np.int8), count, p=shares)
        if self.others == "half":
            return np.asarray(drawn, dtype=np.int8)
        states = np.full(count, State.UNPLAYED, dtype=np.int8)
        states[number % count] = drawn[number % count]
        return states

    def _set_aside(self, states: States, rng: np.random.Generator) -> Codes:
        found = np.full(len(states), -1, dtype=np.int64)
        if self.donors is None:
            return found
        taken: set[int] = set()
        for target in rng.permutation(np.flatnonzero(states != State.UNPLAYED)).tolist():
            possible = [int(donor) for donor in self.donors[target] if int(donor) not in taken]
            if not possible:  # every donor is taken: nobody to swap with, so the target is not played
                states[target] = State.UNPLAYED
                continue
            found[target] = possible[int(rng.integers(len(possible)))]
            taken.add(int(found[target]))
        return found
