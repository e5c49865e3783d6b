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

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes
from synthdp.imputation.trees.orchard import Orchard
from synthdp.table import expressions
from synthdp.table.coded import joint
from synthdp.table.microdata import Microdata

LEAVES = (5, 10, 20, 50, 100, 200, 500)
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


def choose(data: Microdata, prepare: Callable[[int, Microdata], Orchard], *, rng: np.random.Generator) -> int:
    """Return the fewest donors of a leaf.

    Cost: for each leaf that is tried, from two copies of a file of 27,253 records to twelve halves of a small one.

    Parameters
    ----------
    prepare
        Gives what grows trees with leaves of so many records on some of the records.
    """
    if len(data) > MOST_RECORDS:
        data = _part(data, np.sort(rng.choice(len(data), MOST_RECORDS, replace=False)))
    n = len(data)
    tried = [leaf for leaf in LEAVES if leaf <= max(LARGEST * n, LEAVES[0])]
    if n < FEWEST_RECORDS:
        return LEAVES[0]
    halves = [rng.permutation(n) < n // 2 for _ in range(int(np.clip(ENOUGH // n, 1, MOST_HALVINGS)))]
    for leaf in tried[:-1]:
        orchards = [(half, prepare(leaf, _part(data, np.flatnonzero(half)))) for half in halves]
        found = [_memorised(data, half, orchard, rng) for half, orchard in orchards if _full(orchard)]
        if not found or np.mean(found) <= MEMORISED:
            return leaf
    return tried[-1]


def _full(orchard: Orchard) -> bool:
    """Return whether the records of a half show a value of every column, and every rule."""
    frame = orchard.data.frame
    shown = frame[list(orchard.visits)].notna()
    ruled = {name: expressions.evaluate(rule, frame).to_numpy(dtype=bool) for name, rule in orchard.rules.items()}
    for name, holds in ruled.items():
        shown[name] &= ~holds
    return bool(shown.any().all()) and all(holds.any() for holds in ruled.values())


def _memorised(data: Microdata, half: Booleans, orchard: Orchard, rng: np.random.Generator) -> float:
    """Return the share of lone records that stand in a copy of their half, less that of the other half's."""
    copy = orchard.start()
    for name in orchard.visits:
        orchard.fit(name, rng=None).draw(copy, rng=rng)
    names = list(orchard.visits)
    both = pd.concat([data.frame[names], copy.frame[names]], ignore_index=True)
    code = joint([pd.factorize(both[name])[0].astype(np.int64) for name in names])
    own, drawn = code[: len(data)], code[len(data) :]
    alone = np.bincount(own, minlength=int(code.max()) + 1)[own] == 1
    found = alone & np.isin(own, drawn)
    shares = [found[side].sum() / max(int(alone[side].sum()), FEWEST_ALONE) for side in (half, ~half)]
    return float(shares[0] - shares[1])


def _part(data: Microdata, rows: Codes) -> Microdata:
    return Microdata(data.frame.iloc[rows].reset_index(drop=True), data.schema)
