"""Linkability and inference: joining two partial descriptions of a person, or completing one, through a copy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import classes, require_columns, require_targets
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.nearest import Records, encode_records, nearest
from synthdp.evaluation.risk.outsiders import NO_HOLDOUT, require_outsiders
from synthdp.evaluation.risk.rates import Estimate, residual, wilson
from synthdp.microdata import Codes, Floats, numbers
from synthdp.schema import Column

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
            one, other = (nearest(coded[file].take(rows), coded[copy], k=neighbours, rng=rng)[0] for coded in codings)
            hits += ((one[:, :, None] == other[:, None, :]) & (one[:, :, None] >= 0)).any(axis=(1, 2))
        return wilson(float(hits.sum()) / m, len(rows))

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
    keys = comparison.schema.keys()
    wanted = require_targets(targets, comparison.schema.columns, "inference")
    if not keys:
        raise InputError("inference: needs to know what an intruder knows; set key: true for at least one column.")
    frames, members, outsiders = _prepare(comparison, [*keys, *wanted], holdout, attacks, "inference", rng)
    found = []
    for target in wanted:
        known = [key for key in keys if key.name != target.name]
        if not known:
            raise InputError(
                f"inference: {target.name!r} is the only key, nothing is left to guess it from; mark others."
            )
        coded = encode_records(frames, known)
        truth = _values(frames, target)
        m = len(comparison.copies)
        hits, blind = _inferred(coded, truth, target, 0, members, m, rng)
        section: dict[str, Any] = {"target": target.name, "attacks": len(members), "attack": hits, "baseline": blind}
        control = None if outsiders is None else _inferred(coded, truth, target, m + 1, outsiders, m, rng)[0]
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
    if not comparison.copies:
        raise InputError(f"{measure}: needs at least one copy, found none.")
    require_columns(comparison.copies, columns, measure)
    outside = None if holdout is None else require_outsiders(holdout, columns, measure)
    most = max(1, min(attacks, MOST_PAIRS // max(1, sum(len(copy) for copy in comparison.copies))))
    members = rng.permutation(len(comparison.original))[:most]
    if outside is None:
        return [comparison.original, *comparison.copies], members, None
    return [comparison.original, *comparison.copies, outside], members, rng.permutation(len(outside))[:most]


def _inferred(
    coded: Sequence[Records],
    truth: Sequence[Floats],
    target: Column,
    file: int,
    rows: Codes,
    m: int,
    rng: np.random.Generator,
) -> tuple[Estimate, Estimate]:
    right, blindly = np.zeros(len(rows)), np.zeros(len(rows))
    for copy in range(1, m + 1):
        found = nearest(coded[file].take(rows), coded[copy], rng=rng)[0][:, 0]
        right += _equal(truth[copy][found], truth[file][rows], target)
        blindly += _equal(rng.choice(truth[copy], len(rows)), truth[file][rows], target)
    return wilson(float(right.sum()) / m, len(rows)), wilson(float(blindly.sum()) / m, len(rows))


def _values(frames: Sequence[pd.DataFrame], target: Column) -> list[Floats]:
    series = [frame[target.name] for frame in frames]
    if target.kind.categorical:
        return [one.astype(np.float64) for one in classes(series, target)]
    return [numbers(one, target) for one in series]


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
