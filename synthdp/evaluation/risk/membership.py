"""Membership by distance: whether rows come nearer to people in the data than to others. It shows copying only."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import require_columns
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.nearest import Records, encode_records, nearest, stack
from synthdp.evaluation.risk.outsiders import require_outsiders
from synthdp.evaluation.risk.rates import auc, roc, tpr_at, wilson
from synthdp.microdata import Codes, Floats
from synthdp.schema import Column

MOST_TARGETS, FEWEST_TARGETS = 5_000, 1_000
MOST_PAIRS = 10**8
FALSE_POSITIVES = (0.01, 0.05)
DIGITS = 12


def evaluate_membership(
    comparison: Comparison, *, holdout: pd.DataFrame | None, rng: np.random.Generator, most: int = MOST_TARGETS
) -> dict[str, Any]:
    """Test membership by the distance to the closest row of any copy.

    The intruder holds a whole record, does not know whether its person was in the data, and holds all copies. They
    claim "member" when the closest row is near. ``distance``: the score is minus the distance to the closest row.
    ``relative``: the intruder also holds half of the holdout as a sample of the population and scores by how much
    nearer the copies are than it is, log(distance to it) − log(distance to the copies), which does not mistake
    ordinary people, who are near everybody, for members. Both are taken on all columns and on the replaced ones only:
    where kept columns are released as they are, members with rare kept values are recognised by those alone.

    Returns
    -------
    dict
        ``attacks``: for each set of columns and score the ``auc`` (0.5 is a coin), the share of members recognised at
        false positive rates of 1% and 5% (``tpr``), and the ``roc``. ``closer_to_members``: the share of synthetic rows
        nearer to members than to equally many outsiders, ties half, 0.5 without memory; ``median_distance``.

    Raises
    ------
    InputError
        Without a holdout: nothing can be said of members if nobody is known not to be one.

    Notes
    -----
    An AUC of 0.5 here is no evidence of safety: a method can give people away without any row coming near them, and
    distance to the closest record does not see it (Yao, Krčo, Ganev and de Montjoye 2025). This test is quick and shows
    copying only; ``membership_shadow`` (:func:`~synthdp.evaluation.risk.shadow.evaluate_shadow`) fits the method with
    and without the most vulnerable records and is what membership is to be judged by.

    Baseline: copies that owe the members nothing have an AUC of 0.5 within its interval. Ceiling: with the original as
    copy every member is at distance 0, so the AUC is 1 minus half the share of outsiders whose twin is a member.
    At most 5,000 members and as many outsiders are tested, fewer (but not under 1,000) where their number times the
    rows of all copies exceeds 10⁸; ``sampled`` says so. Cost: see :func:`~synthdp.evaluation.risk.nearest.nearest`;
    linear in n with that bound.

    References
    ----------
    Distance to the closest record against a holdout: Platzer and Reutterer (2021), Frontiers in Big Data 4, 679939.
    Rates at low false positive rates: Carlini et al. (2022), IEEE S&P, 1897-1914. Reference sample: van Breugel et al.
    (2023), AISTATS, PMLR 206, 3493-3514. What distance misses: Yao et al. (2025), "The DCR delusion: measuring the
    privacy risk of synthetic data", arXiv:2505.01524.
    """
    columns = [column for column in comparison.schema.columns if column.design != "cluster"]
    if not comparison.copies:
        raise InputError("membership: needs at least one copy, found none.")
    require_columns(comparison.copies, columns, "membership")
    outside = require_outsiders(holdout, columns, "membership")
    frames = (comparison.original, *comparison.copies, outside)
    order = rng.permutation(len(outside))
    reference, tested = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    rows = sum(len(copy) for copy in comparison.copies)
    limit = min(most, max(FEWEST_TARGETS, MOST_PAIRS // max(1, rows)))
    members = _sample(np.arange(len(comparison.original)), limit, rng)
    tested = _sample(tested, limit, rng)
    replaced = list(comparison.schema.replaced())
    sets = {"all": columns} | ({"replaced": replaced} if replaced and len(replaced) < len(columns) else {})
    attacks: list[dict[str, Any]] = []
    for name, chosen in sets.items():
        attacks += _attack(frames, chosen, name, members, tested, reference, rng)
    coded = encode_records(frames, columns)
    return {
        "members": len(members),
        "outsiders": len(tested),
        "reference": len(reference),
        "sampled": len(members) < len(comparison.original) or len(tested) + len(reference) < len(outside),
        "attacks": attacks,
        "closer_to_members": _closer(coded, limit, rng),
    }


def _attack(
    frames: Sequence[pd.DataFrame],
    columns: Sequence[Column],
    name: str,
    members: Codes,
    tested: Codes,
    reference: Codes,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    original, *copies, outside = encode_records(frames, columns)
    rows, population = stack(copies), outside.take(reference)
    groups = [original.take(members), outside.take(tested)]
    near = [_distance(group, rows, rng) for group in groups]
    known = [_distance(group, population, rng) for group in groups]
    # half a step of the smallest distance keeps exact twins finite and on top
    least = min((float(one[one > 0].min()) for one in [*near, *known] if (one > 0).any()), default=1.0) / 2
    relative = [np.round(np.log(b + least) - np.log(a + least), DIGITS) for a, b in zip(near, known, strict=True)]
    found = []
    for score, (ours, theirs) in {"distance": [-one for one in near], "relative": relative}.items():
        found.append(
            {
                "columns": name,
                "score": score,
                "auc": auc(ours, theirs),
                "tpr": [tpr_at(rate, ours, theirs) for rate in FALSE_POSITIVES],
                "median_distance": {"members": float(np.median(near[0])), "outsiders": float(np.median(near[1]))},
                "roc": roc(ours, theirs),
            }
        )
    return found


def _closer(coded: Sequence[Records], limit: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the share of synthetic rows that are nearer to members than to equally many outsiders."""
    original, *copies, outside = coded
    size = min(len(original), len(outside))
    rows = stack(copies)
    rows = rows.take(_sample(np.arange(len(rows)), limit, rng))
    to_members = _distance(rows, original.take(_sample(np.arange(len(original)), size, rng)), rng)
    to_others = _distance(rows, outside.take(_sample(np.arange(len(outside)), size, rng)), rng)
    nearer = (to_members < to_others - 1e-12) + 0.5 * (np.abs(to_members - to_others) <= 1e-12)
    return wilson(float(nearer.sum()), len(nearer))


def _distance(targets: Records, rows: Records, rng: np.random.Generator) -> Floats:
    # sums of rounded quotients: what is equal must be equal, as scores are compared by rank
    return np.round(nearest(targets, rows, rng=rng)[1][:, 0], DIGITS)


def _sample(rows: Codes, most: int, rng: np.random.Generator) -> Codes:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
