"""Whom to play for: the records that a fit is likeliest to remember, and who could stand in for them."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from synthdp.evaluation.combinations import Booleans, classes, combine
from synthdp.evaluation.risk.nearest import encode_records, nearest, span
from synthdp.microdata import Codes, Floats, numbers
from synthdp.schema import Column

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
    candidates = np.arange(n) if n <= limit else np.sort(rng.choice(n, limit, replace=False))
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
        parts = [classes([frame[column.name]], column)[0] for column in levels] + combine([frame], levels)
        found.append(np.sum([-np.log(np.bincount(part)[part] / len(frame)) for part in parts], axis=0))
    extreme = [_extremity(numbers(frame[column.name], column)) for column in columns if not column.kind.categorical]
    if extreme:
        found.append(np.max(extreme, axis=0))
    return found


def _extremity(values: Floats) -> Floats:
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values))
    centre = float(np.median(values[known]))
    return np.where(known, np.abs(values - centre) / span(values), 0.0)
