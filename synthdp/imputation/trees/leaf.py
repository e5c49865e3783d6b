"""How many donors a leaf must have so that copies do not hold the people whom the trees were grown on.

Trees are grown on a random half of the records and a copy is drawn. Of the records that are alone in the file on the
replaced columns, some stand in that copy: of the half that was used, and of the half that was not. The second share is
what a good model finds; by how much the first one is larger is memorising, of which the gate allows two in a hundred
(``release.max_memorised``). The smallest leaf is taken at which it is one in a hundred at most.

What is judged: on NIST's census extract (27,253 records) ten demographic columns take leaves of 200, where leaves of 5
memorise 18 in a hundred, and all 24 columns take leaves of 5, which memorise 0.4; fine numbers, which smoothing moves
anyway, take leaves of 5.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes
from synthdp.imputation.trees.orchard import Orchard
from synthdp.table import expressions
from synthdp.table.coded import joint
from synthdp.table.microdata import Microdata

# no more than 200: on the census extract leaves of 400 memorised as much (0.85 against 0.88 in a hundred) and told less
LEAVES = (5, 10, 20, 50, 100, 200)
MEMORISED = 0.01
# leaves above this share of the records leave too few of them to tell anything of the other columns
LARGEST = 0.05
# a larger file is represented by so many of its records: on fewer, trees remember no less
MOST_RECORDS = 40_000
# so many records are looked for in all, in that many halvings at most
ENOUGH, MOST_HALVINGS = 60_000, 12
# fewer lone records than this count as so many: of three people one more or less is not a third of a risk
FEWEST_ALONE = 125
FEWEST_RECORDS = 20
SIDES = FITTED, HELD_OUT = (0, 1)
NEITHER = 2


def choose(data: Microdata, prepare: Callable[[int], Orchard], *, rng: np.random.Generator) -> int:
    """Return the fewest donors of a leaf.

    Cost: for each leaf that is tried, one or two copies of the file, of a small one up to twelve.

    Parameters
    ----------
    prepare
        Gives what grows trees with leaves of so many records.
    """
    n = len(data)
    if n < FEWEST_RECORDS:
        return LEAVES[0]
    tried = [leaf for leaf in LEAVES if leaf <= max(LARGEST * n, LEAVES[0])]
    sides = [_sides(n, rng) for _ in range(int(np.clip(ENOUGH // n, 1, MOST_HALVINGS)))]
    for leaf in tried[:-1]:
        orchard = prepare(leaf)
        found = [_memorised(orchard, side, rng) for side in sides if _full(orchard, side == FITTED)]
        if not found or np.mean(found) <= MEMORISED:
            return leaf
    return tried[-1]


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
