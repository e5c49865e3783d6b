"""Whom to play for, who could stand in for them, and who is in which shadow fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.evaluation.combinations import classes, combine
from synthdp.evaluation.comparison import some
from synthdp.evaluation.risk.nearest import encode_records, nearest, span
from synthdp.table.coded import coded
from synthdp.table.schema import Column

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


# Meeus et al. (2023) take the mean distance to 5 neighbours
NEIGHBOURS = 5
MOST_PAIRS = 10**8
FEWEST_CANDIDATES = 1_000
DONORS = 20


def vulnerable(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    *,
    most: int,
    cluster: Codes | None = None,
    rng: np.random.Generator,
) -> tuple[Codes, bool]:
    """Return the records to play for, most vulnerable first, and whether only a sample of records was looked at.

    Three criteria take turns: ``far`` (largest mean distance to the 5 nearest other records, Gower's distance),
    ``rare`` (the levels it has, and their combination, are rare: largest −Σ log share) and ``extreme`` (a number
    farthest from the median, in units of the middle 98%, which Gower's distance cuts off). No criterion finds
    everybody who is at risk. At most one record of a cluster is chosen.

    Notes
    -----
    Cost: the nearest neighbours of at most max(1,000, 10⁸/n) candidates among n records.

    References
    ----------
    Meeus, Guépin, Creţu and de Montjoye (2023), "Achilles' heels: vulnerable record identification in synthetic data
    publishing", ESORICS, arXiv:2306.10308 (mean distance to the 5 nearest neighbours).
    """
    n = len(frame)
    limit = max(FEWEST_CANDIDATES, MOST_PAIRS // max(1, n))
    candidates = some(n, limit, rng=rng)
    (records,) = encode_records([frame], columns)
    _, distance = nearest(records.take(candidates), records, k=min(NEIGHBOURS, n - 1), skip=candidates, rng=rng)
    far = np.full(n, -np.inf)
    far[candidates] = distance.mean(axis=1)
    # equal records are as vulnerable as each other, wherever they stand in the file
    shuffled = rng.permutation(n)
    orders = [shuffled[np.argsort(-one[shuffled], kind="stable")] for one in (far, *_outstanding(frame, columns))]
    chosen: list[int] = []
    met: set[int] = set()
    for turn in range(n):
        for order in orders:
            record = int(order[turn])
            unit = record if cluster is None or cluster[record] < 0 else -1 - int(cluster[record])
            if unit not in met and len(chosen) < most:
                met.add(unit)
                chosen.append(record)
        if len(chosen) >= most:
            break
    return np.asarray(chosen, dtype=np.int64), n > limit


def stand_ins(
    frame: pd.DataFrame,
    kept: Sequence[Column],
    targets: Codes,
    tied: Sequence[Codes],
    lawful: Callable[[Codes, Codes], Booleans],
    *,
    rng: np.random.Generator,
) -> list[Codes]:
    """Return for every target up to 20 records most like it on the kept columns, nearest first.

    Parameters
    ----------
    tied
        Records that are in or out with a target, the targets themselves included: none of them stands in.
    lawful
        Which records may have the kept values of the first and the replaced values of the second.
    """
    barred = np.zeros(len(frame), dtype=np.bool_)
    barred[np.concatenate(tied)] = True
    others = np.flatnonzero(~barred)
    (records,) = encode_records([frame], kept)
    # more than are wanted, as some may not be lawful
    found, _ = nearest(records.take(targets), records.take(others), k=min(5 * DONORS, len(others)), rng=rng)
    chosen = []
    for target, row in zip(targets, found, strict=True):
        near = others[row[row >= 0]]
        chosen.append(near[lawful(np.full(len(near), target), near)][:DONORS])
    return chosen


def _outstanding(frame: pd.DataFrame, columns: Sequence[Column]) -> list[Floats]:
    """Return how rare the levels of every record are, and how extreme its numbers; what there is of both."""
    levels = [column for column in columns if column.kind.categorical]
    found = []
    if levels:
        parts = [classes([frame], column)[0] for column in levels] + combine([frame], levels)
        found.append(np.sum([-np.log(np.bincount(part)[part] / len(frame)) for part in parts], axis=0))
    extreme = [_extremity(coded(frame).numbers(column)) for column in columns if not column.kind.categorical]
    if extreme:
        found.append(np.max(extreme, axis=0))
    return found


def _extremity(values: Floats) -> Floats:
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values))
    centre = float(np.median(values[known]))
    return np.where(known, np.abs(values - centre) / span(values), 0.0)
