"""Attacks by distance, measured against people outside the data.

Linkability, inference, and membership, which shows copying only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.budget import go_on
from synthdp.errors import InputError
from synthdp.evaluation.combinations import classes, require_copies, require_keys, require_targets
from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.risk.nearest import Records, encode_records, nearest, stack
from synthdp.evaluation.risk.rates import NO_HOLDOUT, Estimate, auc, rate, require_outsiders, residual, roc, tpr_at
from synthdp.table.coded import coded
from synthdp.table.schema import Column

ATTACKS = 2_000
MOST_PAIRS = 10**9


def evaluate_linkability(
    comparison: Comparison,
    *,
    sides: tuple[Sequence[str], Sequence[str]] | None = None,
    holdout: pd.DataFrame | None = None,
    neighbours: int = 1,
    attacks: int = ATTACKS,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Link two files about the same people through the rows of a copy.

    The intruder holds two files without common columns, such as a register of keys and a list of answers, and wants to
    know who in one is who in the other. For a person of the first they take the nearest rows of a copy on its columns,
    for an entry of the second those on its columns; a common row is a link, and it is right here because both
    descriptions are of the same person. Every copy is tried by itself; success is averaged over copies.

    Parameters
    ----------
    sides
        The columns of the two files; by default the keys, and all others.
    holdout
        People not in the data, attacked alike: ``control``; ``risk`` is (attack − control)/(1 − control).
    neighbours
        How many nearest rows are taken on either side.
    attacks
        How many targets are drawn at most; fewer where their number times the rows exceeds 10⁹.

    Notes
    -----
    ``baseline`` is the probability that two random choices of k among n rows meet, 1 − C(n−k, k)/C(n, k). Ceiling:
    the original as copy links everybody who is unique on both sides.

    References
    ----------
    Giomi et al. (2023), PoPETs 2023(2), 312-328.
    """
    schema = comparison.schema
    usable = [column for column in schema.columns if column.design != "cluster"]
    if sides is None:
        first, second = [c for c in usable if c.key], [c for c in usable if not c.key]
    else:
        first, second = (list(require_targets(side, usable, "linkability")) for side in sides)
    if not first or not second or {c.name for c in first} & {c.name for c in second}:
        raise InputError(
            "linkability: needs two sets of columns without a common one, by default the keys and the others; "
            "mark some columns, not all, as key: true."
        )
    frames, members, outsiders = _prepare(comparison, [*first, *second], holdout, attacks, "linkability", rng)
    codings = [encode_records(frames, side) for side in (first, second)]
    m = len(comparison.copies)

    def linked(file: int, rows: Codes) -> Estimate:
        hits = np.zeros(len(rows))
        for copy in range(1, m + 1):
            go_on()
            one, other = (nearest(side[file].take(rows), side[copy], k=neighbours, rng=rng)[0] for side in codings)
            hits += ((one[:, :, None] == other[:, None, :]) & (one[:, :, None] >= 0)).any(axis=(1, 2))
        return rate(hits / m)

    chance = float(np.mean([_meeting(len(copy), neighbours) for copy in comparison.copies]))
    section: dict[str, Any] = {"sides": [[c.name for c in side] for side in (first, second)], "neighbours": neighbours}
    section |= {"attacks": len(members), "attack": linked(0, members), "baseline": {"value": chance}}
    return _with_control(section, None if outsiders is None else linked(m + 1, outsiders))


def evaluate_inference(
    comparison: Comparison,
    *,
    targets: Sequence[str],
    holdout: pd.DataFrame | None = None,
    attacks: int = ATTACKS,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Guess each target of a person as the value of the row of a copy that is nearest on the keys.

    The intruder holds the keys of a person and the copies. Success is the very level, or a number within the column's
    tolerance; every copy is tried by itself and success averaged. ``baseline``: the value of a random row.
    ``control``: the same attack on people who are not in the data.

    References
    ----------
    Giomi et al. (2023), PoPETs 2023(2), 312-328.
    """
    wanted = require_targets(targets, comparison.schema.columns, "inference")
    keys = require_keys(comparison.schema, "inference")
    frames, members, outsiders = _prepare(comparison, [*keys, *wanted], holdout, attacks, "inference", rng)
    found = []
    for target in wanted:
        go_on()
        known = [key for key in keys if key.name != target.name]
        if not known:
            raise InputError(
                f"inference: {target.name!r} is the only key, nothing is left to guess it from; mark others."
            )
        records = encode_records(frames, known)
        truth = _values(frames, target)
        m = len(comparison.copies)
        hits, blind = _inferred(records, truth, target, 0, members, m, rng)
        section: dict[str, Any] = {"target": target.name, "attacks": len(members), "attack": hits, "baseline": blind}
        control = None if outsiders is None else _inferred(records, truth, target, m + 1, outsiders, m, rng)[0]
        found.append(_with_control(section, control))
    return found


def _prepare(
    comparison: Comparison,
    columns: Sequence[Column],
    holdout: pd.DataFrame | None,
    attacks: int,
    measure: str,
    rng: np.random.Generator,
) -> tuple[list[pd.DataFrame], Codes, Codes | None]:
    """Return original, copies and holdout, and whom to attack among the first and the last."""
    require_copies(comparison.copies, columns, measure)
    outside = None if holdout is None else require_outsiders(holdout, columns, measure)
    most = max(1, min(attacks, MOST_PAIRS // max(1, sum(len(copy) for copy in comparison.copies))))
    members = rng.permutation(len(comparison.original))[:most]
    if outside is None:
        return [comparison.original, *comparison.copies], members, None
    return [comparison.original, *comparison.copies, outside], members, rng.permutation(len(outside))[:most]


def _inferred(
    records: Sequence[Records],
    truth: Sequence[Floats],
    target: Column,
    file: int,
    rows: Codes,
    m: int,
    rng: np.random.Generator,
) -> tuple[Estimate, Estimate]:
    right, blindly = np.zeros(len(rows)), np.zeros(len(rows))
    for copy in range(1, m + 1):
        found = nearest(records[file].take(rows), records[copy], rng=rng)[0][:, 0]
        right += _equal(truth[copy][found], truth[file][rows], target)
        blindly += _equal(rng.choice(truth[copy], len(rows)), truth[file][rows], target)
    return rate(right / m), rate(blindly / m)


def _values(frames: Sequence[pd.DataFrame], target: Column) -> list[Floats]:
    if target.kind.categorical:
        return [one.astype(np.float64) for one in classes(frames, target)]
    return [coded(frame).numbers(target) for frame in frames]


def _equal(guess: Floats, truth: Floats, target: Column) -> Floats:
    tolerance = 0.0 if target.kind.categorical else target.tolerance * (1 + 1e-9)
    return np.asarray((np.abs(guess - truth) <= tolerance) | (np.isnan(guess) & np.isnan(truth)), dtype=np.float64)


def _meeting(n: int, k: int) -> float:
    if 2 * k > n:
        return 1.0
    j = np.arange(k)
    return 1 - float(np.prod((n - k - j) / (n - j)))


def _with_control(section: dict[str, Any], control: Estimate | None) -> dict[str, Any]:
    section["better_than_blind"] = section["attack"]["value"] > section["baseline"]["value"]
    if control is None:
        return section | {"reason": f"risk {NO_HOLDOUT}."}
    return section | {"control": control, "risk": residual(section["attack"], control)}


MOST_TARGETS, FEWEST_TARGETS = 5_000, 1_000
MOST_DISTANCES = 10**8
FALSE_POSITIVES = (0.01, 0.05)
DIGITS = 12


def evaluate_membership(
    comparison: Comparison, *, holdout: pd.DataFrame | None, rng: np.random.Generator
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
    require_copies(comparison.copies, columns, "membership")
    outside = require_outsiders(holdout, columns, "membership")
    frames = (comparison.original, *comparison.copies, outside)
    order = rng.permutation(len(outside))
    reference, tested = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    rows = sum(len(copy) for copy in comparison.copies)
    limit = min(MOST_TARGETS, max(FEWEST_TARGETS, MOST_DISTANCES // max(1, rows)))
    members, tested = some(len(comparison.original), limit, rng=rng), some(tested, limit, rng=rng)
    replaced = list(comparison.schema.replaced())
    sets = {"all": columns} | ({"replaced": replaced} if replaced and len(replaced) < len(columns) else {})
    attacks: list[dict[str, Any]] = []
    for name, chosen in sets.items():
        go_on()
        attacks += _attack(frames, chosen, name, members, tested, reference, rng)
    records = encode_records(frames, columns)
    return {
        "members": len(members),
        "outsiders": len(tested),
        "reference": len(reference),
        "sampled": len(members) < len(comparison.original) or len(tested) + len(reference) < len(outside),
        "attacks": attacks,
        "closer_to_members": _closer(records, limit, rng),
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


def _closer(records: Sequence[Records], limit: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the share of synthetic rows that are nearer to members than to equally many outsiders."""
    original, *copies, outside = records
    size = min(len(original), len(outside))
    rows = stack(copies)
    rows = rows.take(some(len(rows), limit, rng=rng))
    to_members, to_others = (
        _distance(rows, file.take(some(len(file), size, rng=rng)), rng) for file in (original, outside)
    )
    nearer = (to_members < to_others - 1e-12) + 0.5 * (np.abs(to_members - to_others) <= 1e-12)
    return rate(nearer)


def _distance(targets: Records, rows: Records, rng: np.random.Generator) -> Floats:
    # sums of rounded quotients: what is equal must be equal, as scores are compared by rank
    return np.round(nearest(targets, rows, rng=rng)[1][:, 0], DIGITS)
