"""Linkage by likelihood where nobody knows which row is whose: rows are traced by the columns that are no keys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.risk.identity import refuse_without_keys
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.nearest import encode_records, nearest
from synthdp.evaluation.risk.rates import NO_HOLDOUT, rate, residual
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Role

NAME = "linkage"
MOST_TARGETS, FEWEST_TARGETS = 2_000, 20


def evaluate_linkage(
    comparison: Comparison, *, holdout: pd.DataFrame | None = None, rng: np.random.Generator
) -> dict[str, Any]:
    """Link people to rows by their keys, in files of any kind: partially or fully synthetic, in any order.

    The intruder holds the true keys of a person and all copies, and points at the row that is most likely that
    person's, as in ``identity_likelihood``. A fully synthetic file has no row of that person, and nobody says which
    row of a shuffled file it is. So *the person's row* is, in every copy, the row that is nearest to the person on the
    columns that are no keys (at random among equally near ones). In a partially synthetic file whose records are
    unique on the kept columns that is the very row; in a fully synthetic one it is the row that comes closest to
    describing the person. Pointing at it is success: keys and the rest of the person's record were joined.

    People who are not in the data are linked in the same way, to the same copies, among equally many. Some are linked
    because keys and other columns go together; what members lose beyond them is the risk.

    Parameters
    ----------
    comparison
        The files; whether rows are aligned does not matter.
    holdout
        People not in the data.
    rng
        For ties, for who is attacked (at most 2,000), and for the attack itself.

    Returns
    -------
    dict
        ``attack``, ``baseline`` (one over the number of candidates) and, with a holdout, ``control`` and ``risk`` =
        (attack − control)/(1 − control), each with a 95% interval.

    Notes
    -----
    Candidates are the traced rows of those who are attacked. Rows that several people are traced to are tied: each
    gets one over their number.
    """
    refuse_without_keys(comparison, NAME)
    others = [
        column
        for column in comparison.schema.columns
        if not column.key and column.design != "cluster" and column.role is not Role.DERIVED
    ]
    if not others:
        raise InputError(f"{NAME}: every column is a key, so nothing is left by which a row could be told to be whose.")
    most = min(MOST_TARGETS, len(comparison.original), MOST_TARGETS if holdout is None else len(holdout))
    if most < FEWEST_TARGETS:
        raise InputError(f"{NAME}: needs {FEWEST_TARGETS} people on either side, found {most}.")
    members = comparison.original.iloc[some(len(comparison.original), most, rng=rng)].reset_index(drop=True)
    found: dict[str, Any] = {"attacks": most, "attack": rate(_linked(comparison, members, others, rng))}
    found["baseline"] = {"value": 1 / most}
    if holdout is None:
        return found | {"reason": f"risk {NO_HOLDOUT}."}
    outsiders = holdout.iloc[some(len(holdout), most, rng=rng)].reset_index(drop=True)
    control = rate(_linked(comparison, outsiders, others, rng))
    return found | {"control": control, "risk": residual(found["attack"], control)}


def _linked(comparison: Comparison, people: pd.DataFrame, others: list[Column], rng: np.random.Generator) -> Floats:
    """Return for each person the probability that the intruder points at the row traced to them."""
    targets, *rows = encode_records([people, *comparison.copies], others)
    traced = tuple(
        copy.iloc[nearest(targets, coded, rng=rng)[0][:, 0]].reset_index(drop=True)
        for copy, coded in zip(comparison.copies, rows, strict=True)
    )
    files = replace(comparison, original=people, copies=traced, aligned=True, groups=None, targets=None, origins=())
    right = evaluate_likelihood(files, rng=rng, permutations=1).right
    return np.asarray(right[np.isfinite(right)], dtype=np.float64)
