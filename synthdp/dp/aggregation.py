"""Sample and aggregate: any statistic of blocks of records, averaged with noise.

A record is in one block, so it moves one block's answer, by at most the width of the bounds, and the mean of m answers
by 1/m of that. Whatever the statistic does inside its block is of no concern to the guarantee: it need not be smooth,
bounded or even deterministic. Answers outside the bounds are moved into them, missing ones and failures count as their
middle.

Under ``replace`` the records are dealt out by lot into blocks whose sizes differ by at most one; under ``add_remove``
each record draws its block by itself, so that one more record changes no other's block.

References
----------
Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", STOC. Nissim, Raskhodnikova,
Smith (2007), STOC (sample and aggregate). Biswal (2024), Algorithm 5.4.6, forgets that the answers must be clipped, and
leaves out the records that do not fill a block.
"""

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Bounded, Limits, bounded
from synthdp.dp.moments import mean_of_known_size
from synthdp.dp.noise import Noise, bootstrap_generator
from synthdp.dp.request import NoisePrice, Released, Request, mostly_noise, priced
from synthdp.errors import InputError
from synthdp.privacy.guarantees import whole
from synthdp.privacy.mechanisms.sensitivity import Bounds
from synthdp.table.microdata import Codes, Floats

Estimator = Callable[[Any], float]


@priced(NoisePrice)
def aggregate(
    records: Any,
    estimator: Estimator,
    *,
    blocks: int,
    bounds: Limits,
    interval: bool = False,
    **price: Unpack[NoisePrice],
) -> Released:
    """Release the mean of a statistic over blocks of records.

    Parameters
    ----------
    records
        A DataFrame, Series or array; a block is some of its rows.
    estimator
        Takes a block, returns a number. It may be anything, but it must not look at records outside its block.
    blocks
        m, how many blocks: more mean less noise (width/(mε)) and more bias, as each block is smaller.
    bounds
        Lowest and highest answer, known without the data.
    epsilon, delta
        The price; δ = 0 asks for Laplace noise.
    interval
        Also release an interval for the mean of the statistic over blocks of this size, for a fifth of the price. It
        says nothing of the bias of small blocks.

    Notes
    -----
    The noisy mean is not moved into the bounds, which would bias it.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> heights = np.random.default_rng(1).normal(170, 10, 4000)
    >>> found = aggregate(heights, np.median, blocks=80, bounds=(100, 220), epsilon=1,
    ...     source=Simulated(np.random.default_rng(2)))
    >>> bool(abs(found.estimate - 170) < 8), found.epsilon
    (True, 1)
    """
    request = Request(**price)
    if not hasattr(records, "__len__") or isinstance(records, str | dict | set | frozenset):
        raise InputError(f"records: must be a table, a column or a list of records, found {type(records).__name__}.")
    if not callable(estimator):
        raise InputError("estimator: must be a function of a block of records.")
    if isinstance(bounds, str):
        raise InputError('bounds: must be declared; the answers of blocks cannot give them, found "data".')
    # only the bounds are read off it: answers there are not yet
    within = bounded(np.zeros(2), bounds, request.budget, name="answers")
    limits = Bounds(within.low, within.high)
    size, count = len(records), whole(blocks, "blocks", 2)
    budget = request.budget
    # under add_remove the number of records is confidential: blocks without any count as the middle
    if budget.replacing and count > size:
        raise InputError(f"blocks: must be at most the number of records, found {count} blocks of {size} records.")
    # a frame may have a column called name, whose values are no name
    source = request.source(f"mean of {count} blocks", records if isinstance(records, pd.Series) else None)
    places = _dealt(size, count, replacing=budget.replacing, rng=bootstrap_generator(source))
    answers, failed = _answers(records, estimator, places, count, limits)
    request.confidential = failed
    column = Bounded(answers, limits.low, limits.high, None, failed)
    low: float | None = None
    high: float | None = None
    sampling_sd: float | None = None
    if interval:
        estimate, low, high, noise_sd, sampling_sd = mean_of_known_size(column, budget, None, source)
    else:
        noise = Noise.of(budget, limits.width / count)
        estimate, noise_sd = float(noise.add(np.array([answers.mean()]), source)[0]), noise.sd
    each = f" of about {size // count} records" if budget.replacing else ""
    notes = [
        f"the mean of the statistic over {count} blocks{each}, which is biased where the statistic is on so few",
        *(["the interval is for that mean"] if interval else ["no interval was paid for"]),
        *mostly_noise(noise_sd, limits.width, "bounds"),
    ]
    parts = {"noise_sd": noise_sd, "sampling_sd": sampling_sd}
    return request.number(f"mean of {count} blocks", notes, estimate, low, high, **parts)


def _dealt(size: int, blocks: int, *, replacing: bool, rng: np.random.Generator) -> Codes:
    """Return the block of each record."""
    if replacing:
        return np.asarray(rng.permutation(np.arange(size) % blocks), dtype=np.int64)
    return rng.integers(0, blocks, size)


def _answers(
    records: Any, estimator: Estimator, places: Codes, blocks: int, bounds: Bounds
) -> tuple[Floats, tuple[str, ...]]:
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(blocks + 1))
    rows = records.iloc if hasattr(records, "iloc") else np.asarray(records)
    found = np.full(blocks, np.nan)
    for block in range(blocks):
        taken = order[ends[block] : ends[block + 1]]
        try:
            # an empty block, and one on which the statistic fails, are answers like any other
            found[block] = float(estimator(rows[taken])) if len(taken) else np.nan
        except Exception:
            continue
    missing = int(np.isnan(found).sum())
    outside = int(((found < bounds.low) | (found > bounds.high)).sum())
    said = []
    if missing:
        said.append(f"estimator: gave no number on {missing} of {blocks} blocks, which counted as the middle")
    if outside:
        said.append(f"estimator: {outside} of {blocks} answers were outside the bounds and were moved to them")
    found = np.where(np.isnan(found), (bounds.low + bounds.high) / 2, found)
    return np.clip(found, bounds.low, bounds.high), tuple(said)
