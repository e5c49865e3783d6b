"""From counts of successes to rates with intervals.

Also the people outside the data against whom an attack is measured.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import combine
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column

LEVEL = 0.95
POINTS = 101
Estimate = dict[str, Any]


Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
NOTHING: Estimate = {"value": None, "low": None, "high": None}


def wilson(successes: float, total: float) -> Estimate:
    """Return the rate of successes with its score interval (Wilson 1927, JASA 22, 209-212).

    ``successes`` may be fractional: a guess among c tied candidates counts 1/c.

    Examples
    --------
    >>> {name: round(value, 4) for name, value in wilson(0, 20).items()}
    {'value': 0.0, 'low': 0.0, 'high': 0.1611}
    """
    if total <= 0:
        return dict(NOTHING)
    z2 = Z**2
    rate = successes / total
    centre = (successes + z2 / 2) / (total + z2)
    half = np.sqrt(z2 * (total * rate * (1 - rate) + z2 / 4)) / (total + z2)
    return {"value": rate, "low": max(0.0, float(centre - half)), "high": min(1.0, float(centre + half))}


def mean_difference(members: Floats, others: Floats | None) -> Estimate:
    """Return the mean of ``members`` minus that of ``others`` with a normal interval for independent samples.

    Without others, ``members`` are differences already (paired).
    """
    groups = [one for one in (members, others) if one is not None]
    if any(len(one) == 0 for one in groups):
        return dict(NOTHING)
    value = float(members.mean()) - (0.0 if others is None else float(others.mean()))
    half = Z * float(np.sqrt(sum(one.var(ddof=1) / len(one) for one in groups if len(one) > 1)))
    return {"value": value, "low": value - half, "high": value + half}


def rate(success: Floats) -> Estimate:
    """Return the mean of successes, each between 0 and 1, with its score interval."""
    return wilson(float(success.sum()), len(success))


def interval(values: Floats, n: int, *, scale: float = 1.0, ddof: int = 1) -> dict[str, float]:
    """Return the interval of the mean over all n records, of which a simple random sample was attacked."""
    error = Z * float(values.std(ddof=ddof)) * np.sqrt((1 - len(values) / n) / len(values))
    mean = float(values.mean())
    return {"low": max(0.0, mean - error) * scale, "high": float(mean + error) * scale}


def residual(attack: Estimate, control: Estimate) -> Estimate:
    """Return the share of what outsiders are safe from that members lose: (a − c)/(1 − c).

    Negative where outsiders fare worse; None where every outsider is found. The interval propagates the half-widths of
    both (delta method), as Giomi et al. (2023), PoPETs 2023(2), 312-328, do.
    """
    if attack["value"] is None or control["value"] is None or control["value"] >= 1:
        return dict(NOTHING)
    a, c = attack["value"], control["value"]
    half_a, half_c = ((one["high"] - one["low"]) / 2 for one in (attack, control))
    value = (a - c) / (1 - c)
    half = float(np.hypot(half_a / (1 - c), half_c * (1 - a) / (1 - c) ** 2))
    return {"value": value, "low": value - half, "high": min(1.0, value + half)}


def auc(members: Floats, others: Floats) -> Estimate:
    """Return Pr(score of a member > score of an outsider), ties half, with the interval of DeLong et al. (1988).

    Notes
    -----
    By ranks: O((m + n) log(m + n)). DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, 837-845.

    Examples
    --------
    >>> auc(np.array([3.0, 2.0]), np.array([1.0, 2.0]))["value"]
    0.875
    """
    above = below(others, members)
    beneath = below(members, others)
    value = float(above.mean())
    # 1 - share of members below: the placement of each outsider
    variances = [one.var(ddof=1) / len(one) if len(one) > 1 else 0.0 for one in (above, 1 - beneath)]
    half = Z * float(np.sqrt(sum(variances)))
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def tpr_at(fpr: float, members: Floats, others: Floats) -> Estimate:
    """Return the share of members above the threshold that at most a share ``fpr`` of outsiders exceeds.

    The threshold is a score of an outsider, so with fewer than 1/fpr outsiders it is their largest; the interval
    (Wilson) takes the threshold as given. ``fpr`` in the result is what was realised.
    """
    ordered = np.sort(others)[::-1]
    threshold = ordered[min(int(np.floor(fpr * len(others) + 1e-9)), len(others) - 1)]
    found = wilson(int(np.sum(members > threshold)), len(members))
    return {"fpr": fpr, "fpr_realised": float(np.mean(others > threshold)), **found}


def roc(members: Floats, others: Floats) -> list[list[float]]:
    """Return the curve as pairs of false and true positive rate, about a hundred, from (0, 0) to (1, 1)."""
    cuts = np.unique(np.concatenate([members, others]))
    if len(cuts) > POINTS:
        cuts = np.unique(np.quantile(cuts, np.linspace(0, 1, POINTS)))
    ordered, other = np.sort(members), np.sort(others)
    true = 1 - np.searchsorted(ordered, cuts, side="left") / len(ordered)
    false = 1 - np.searchsorted(other, cuts, side="left") / len(other)
    curve = sorted({(0.0, 0.0), (1.0, 1.0), *zip(false.tolist(), true.tolist(), strict=True)})
    return [list(point) for point in curve]


def below(reference: Floats, scores: Floats) -> Floats:
    """Return for each score the share of the reference below it, ties half."""
    ordered = np.sort(reference)
    low = np.searchsorted(ordered, scores, side="left")
    high = np.searchsorted(ordered, scores, side="right")
    return np.asarray((low + high) / (2 * len(ordered)), dtype=np.float64)


NO_HOLDOUT = (
    "needs records of people who were not used to make the copies; set evaluation.holdout to a file of them, drawn "
    "from the same population"
)

# so many more of the holdout than of the data themselves may equal a record of the data, and two standard errors
MOST_MEMBERS = 0.2


def require_outsiders(holdout: pd.DataFrame | None, columns: Sequence[Column], measure: str) -> pd.DataFrame:
    """Return the holdout's columns, or raise InputError when there is none or it lacks what the measure needs."""
    if holdout is None:
        raise InputError(f"{measure}: {NO_HOLDOUT}.")
    absent = [column.name for column in columns if column.name not in holdout.columns]
    if absent:
        raise InputError(f"{measure}: the holdout has no column {absent[0]!r}, which is needed; add it.")
    if len(holdout) < 2:
        raise InputError(f"{measure}: the holdout needs at least 2 records, found {len(holdout)}.")
    return holdout.reset_index(drop=True)


def refuse_members(original: pd.DataFrame, holdout: pd.DataFrame, columns: Sequence[Column], measure: str) -> None:
    """Raise InputError when people of the holdout are in the data: against themselves nobody has anything to lose.

    An outsider equals a record of the data about as often as a member equals another one.
    """
    shared = [column for column in columns if column.name in holdout.columns]
    here, there = combine([original, holdout], shared, exact=True)
    counts = np.bincount(here, minlength=int(there.max(initial=0)) + 1)
    members, twins = int(np.sum(counts[there] > 0)), float(np.mean(counts[here] > 1))
    if members / len(holdout) > twins + MOST_MEMBERS + 1 / np.sqrt(len(holdout)):
        raise InputError(
            f"{measure}: {members} of the {len(holdout)} records of evaluation.holdout are in the data too; name a "
            "file of other people."
        )
