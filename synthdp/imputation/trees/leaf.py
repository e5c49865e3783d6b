"""How many donors a leaf must have so that copies do not hold the people whom the trees were grown on.

Trees are grown on a random half of the records and a copy is drawn. Of the records that are alone in the file on the
replaced columns, some stand in that copy: of the half that was used, and of the half that was not. The second share is
what a good model finds; by how much the first one is larger is memorising, of which the gate allows two in a hundred
(``release.max_memorised``). Leaves are taken at which it is .75 in a hundred: with leaves as large, trees of all the
records memorise more than those of half of them (by a fifth on NIST's census extract).

A record is one of its leaf's donors, so what is memorised falls as 1 / leaf (on NIST's census extract, ten demographic
columns: 6.1, 2.5, 1.4 and .6 in a hundred with leaves of 20, 50, 100 and 200). That law leads from leaves of 5 to where
so much is expected, and twice more from there, by the least squares of what was measured near it. A single copy
measures with an error of .35 in a hundred there, and a choice among few leaves would jump from one to the next.

All 24 columns of that file take leaves of 5, which memorise 0.4; so do fine numbers, which smoothing moves anyway.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes
from synthdp.imputation.trees.orchard import Orchard
from synthdp.table import expressions
from synthdp.table.coded import joint
from synthdp.table.microdata import Microdata

# no more than 200: on the census extract larger leaves memorised hardly less (.4 in a hundred with 400) and told less
SMALLEST, MOST = 5, 200
MEMORISED = 0.0075
# leaves above this share of the records leave too few of them to tell anything of the other columns
LARGEST = 0.05
# a larger file is represented by so many of its records: on fewer, trees remember no less
MOST_RECORDS = 40_000
# so many records are looked for in all, in that many halvings at most; near the leaf that is chosen twice as many
ENOUGH, MOST_HALVINGS = 80_000, 12
NEARER, ROUNDS = 2, 2
# fewer lone records than this count as so many: of three people one more or less is not a third of a risk
FEWEST_ALONE = 125
FEWEST_RECORDS = 20
SIDES = FITTED, HELD_OUT = (0, 1)
NEITHER = 2


def choose(data: Microdata, prepare: Callable[[int], Orchard], *, rng: np.random.Generator) -> int:
    """Return the fewest donors of a leaf.

    Cost: about ten copies of the file; of a small one, or where the smallest leaf will do, more and fewer.

    Parameters
    ----------
    prepare
        Gives what grows trees with leaves of so many records.
    """
    n = len(data)
    largest = int(np.clip(LARGEST * n, SMALLEST, MOST))
    halvings = int(np.clip(ENOUGH // max(n, 1), 1, MOST_HALVINGS))
    if n < FEWEST_RECORDS or largest == SMALLEST:
        return SMALLEST
    found = _measured(prepare(SMALLEST), halvings, rng)
    if found <= MEMORISED:
        return SMALLEST
    leaf, tried = _expected([(SMALLEST, found)], largest), []
    for _ in range(ROUNDS):
        tried.append((leaf, _measured(prepare(leaf), NEARER * halvings, rng)))
        leaf = _expected(tried, largest)
    return leaf


def _expected(tried: Sequence[tuple[int, float]], largest: int) -> int:
    """Return the leaf at which so little is expected to be memorised: c / leaf, c by least squares."""
    leaf, memorised = np.asarray(tried).T
    c = float((memorised / leaf).sum() / (1 / leaf**2).sum())
    return int(np.clip(np.ceil(c / MEMORISED - 1e-9), SMALLEST, largest))


def _measured(orchard: Orchard, halvings: int, rng: np.random.Generator) -> float:
    """Return what is memorised, the mean of several halvings; nothing where no half shows every column."""
    sides = [_sides(len(orchard.data), rng) for _ in range(halvings)]
    found = [_memorised(orchard, side, rng) for side in sides if _full(orchard, side == FITTED)]
    return float(np.mean(found)) if found else 0.0


def _sides(n: int, rng: np.random.Generator) -> Codes:
    """Return which half each record is in; of a large file only some are in either."""
    size = min(n, MOST_RECORDS) // 2
    place = rng.permutation(n)
    return np.where(place < size, FITTED, np.where(place < 2 * size, HELD_OUT, NEITHER))


def _full(orchard: Orchard, taught: Booleans) -> bool:
    """Return whether some of the records show a value of every column."""
    frame = orchard.data.frame
    shown = frame[list(orchard.visits)].notna()
    for name, rule in orchard.rules.items():
        shown[name] &= ~expressions.evaluate(rule, frame)
    return bool(shown.to_numpy()[taught].any(axis=0).all())


def _memorised(orchard: Orchard, side: Codes, rng: np.random.Generator) -> float:
    """Return the share of lone records that stand in a copy of the fitted half, less that of the other half's.

    The copy has a row for every record; those of either half are a copy of as many rows as were fitted.
    """
    half, copy, names = replace(orchard, taught=side == FITTED), orchard.start(), list(orchard.visits)
    for name in names:
        half.fit(name, rng=None).draw(copy, rng=rng)
    used = side != NEITHER
    both = pd.concat([orchard.data.frame.loc[used, names], copy.frame.loc[used, names]], ignore_index=True)
    code = joint([pd.factorize(both[name])[0].astype(np.int64) for name in names])
    own, drawn, side = code[: used.sum()], code[used.sum() :], side[used]
    alone = np.bincount(own, minlength=int(code.max()) + 1)[own] == 1
    shares = []
    for rows in (FITTED, HELD_OUT):
        found = alone & np.isin(own, drawn[side == rows])
        shares += [found[side == part].sum() / max(int(alone[side == part].sum()), FEWEST_ALONE) for part in SIDES]
    return float(np.mean(shares[::2]) - np.mean(shares[1::2]))
