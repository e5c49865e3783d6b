"""The bits: for every block of records, whether its own estimate agrees with each statement.

A block tells nothing but one bit per question. What cannot be computed there (too few records, a level that nobody in
the block has, separation) is a no, whatever the reason, and no error, warning or note says that it happened.
"""

import math
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthdp.inference.analyses import Analysis
from synthdp.inference.estimates import Estimates
from synthdp.table.microdata import Codes
from synthdp.verification.request import Overlap, Question, Request, Sign, Within


def dealt(size: int, blocks: int, *, replacing: bool, rng: np.random.Generator) -> Codes:
    """Return the block of each record, by lot.

    Where neighbours replace a record its place stays, and blocks differ by one record at most; where they add or remove
    one, every record draws its block by itself, so that one more record changes no other's.
    """
    if replacing:
        return np.asarray(rng.permutation(np.arange(size) % blocks), dtype=np.int64)
    return rng.integers(0, blocks, size)


def agreements(request: Request, frame: pd.DataFrame, terms: Sequence[str], places: Codes) -> Codes:
    """Return how many blocks belong to each count. Cost: one fit for each block."""
    return np.asarray(bits_of_blocks([request], frame, terms, places)[0])


def bits_of_blocks(requests: Sequence[Request], frame: pd.DataFrame, terms: Sequence[str], places: Codes) -> Codes:
    """Return the counts of several requests about the same model and the same blocks, a row for each."""
    blocks = requests[0].blocks
    analysis = Analysis(name="request", model=requests[0].model, formula=requests[0].formula)
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(blocks + 1))
    counts = sum(len(question.counted()) for question in requests[0].questions)
    found = np.zeros((len(requests), counts), dtype=np.int64)
    for block in range(blocks):
        rows = np.sort(order[ends[block] : ends[block + 1]])
        estimates = _estimates(analysis, frame.iloc[rows], terms)
        if estimates is not None:
            for k, request in enumerate(requests):
                found[k] += [bit for question in request.questions for bit in bits(question, estimates, blocks)]
    return found


def bits(question: Question, estimates: Estimates, blocks: int) -> tuple[bool, ...]:
    """Return for each count of a question whether a block belongs to it."""
    value = float(estimates.values[estimates.names.index(question.term)])
    match question:
        case Within(estimate=centre, margin=margin, method="sides"):
            return value > centre - margin, value < centre + margin
        case Within(estimate=centre, margin=margin, method=method):
            return (abs(value - centre) <= margin * (math.sqrt(blocks) if method == "inflated" else 1.0),)
        case Sign(sign=sign):
            return (value > 0 if sign == "positive" else value < 0,)
        case Overlap(low=low, high=high):
            return (value > (low + high) / 2,)


def _estimates(analysis: Analysis, frame: pd.DataFrame, terms: Sequence[str]) -> Estimates | None:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = analysis.estimate(frame.reset_index(drop=True))
    except Exception:  # whatever went wrong depends on records, and must not be told
        return None
    # with a level missing, coefficients would be contrasts to another level
    same = tuple(found.names) == tuple(terms) and len(found.values) == len(terms)
    return found if same and bool(np.isfinite(found.values).all()) else None
