"""Singling out: whether a copy lets somebody make a sentence that is true of exactly one person in the data."""

from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import require_columns
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.outsiders import NO_HOLDOUT, require_outsiders
from synthdp.evaluation.risk.predicates import Predicate, Table, blind, isolating, multivariate, tabulate, univariate
from synthdp.evaluation.risk.rates import Estimate, residual, wilson

ATTACKS = 500
COLUMNS = 3


def evaluate_singling(
    comparison: Comparison,
    *,
    holdout: pd.DataFrame | None = None,
    attacks: int = ATTACKS,
    size: int = COLUMNS,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Make predicates that isolate rows of the copies and see whether they isolate persons.

    The intruder holds the copies and nothing else. ``univariate``: they take values of one column that occur once, the
    only missing value, the extremes. ``multivariate``: they take a row and some of its values. A predicate true of
    exactly one original record singles that person out. Rare values isolate somebody in any file of that size, so
    the same predicates are tried on people who are not in the data.

    Returns
    -------
    dict
        For each kind: ``attacks`` (predicates found, which may be fewer than asked for; rates are per predicate
        found), ``attack`` (success in the original), ``baseline`` (blind predicates), and with a holdout ``matched``
        (success at the size of the smaller of both files), ``control`` (the same in the holdout) and ``risk``,
        (matched − control)/(1 − control). ``better_than_blind`` says whether the attack is one at all.

    Raises
    ------
    InputError
        If there is no copy, or a file lacks a column.

    Notes
    -----
    O(attacks · n · columns), at most 20 times that while predicates are drawn. A file's size matters: fewer records
    are easier to be alone in. Success at the smaller size m is the exact expectation over random subsets of m records
    (hypergeometric), not a fitted curve as in the reference.

    References
    ----------
    Giomi, Boenisch, Wehmeyer and Tasnádi (2023), A unified framework for quantifying privacy risk in synthetic data,
    PoPETs 2023(2), 312-328; Cohen and Nissim (2020), PNAS 117(15), 8344-8352.
    """
    if not comparison.copies:
        raise InputError("singling: needs at least one copy, found none.")
    columns = [column for column in comparison.schema.columns if column.design != "cluster"]
    require_columns(comparison.copies, columns, "singling")
    outside = None if holdout is None else require_outsiders(holdout, columns, "singling")
    frames = [comparison.original, *comparison.copies, *([] if outside is None else [outside])]
    tables = tabulate(frames, columns)
    original, copies = tables[0], tables[1 : 1 + len(comparison.copies)]
    control = None if outside is None else tables[-1]
    share = -(-attacks // len(copies))
    single = [predicate for copy in copies for predicate in _some(univariate(copy), share, rng)]
    several = [predicate for copy in copies for predicate in multivariate(copy, attacks=share, size=size, rng=rng)]
    found: dict[str, Any] = {
        "univariate": _judge(single[:attacks], blind(copies[0], attacks=attacks, size=1, rng=rng), original, control),
        "multivariate": _judge(
            several[:attacks], blind(copies[0], attacks=attacks, size=size, rng=rng), original, control
        ),
    }
    return found if control is not None else found | {"reason": f"risk {NO_HOLDOUT}."}


def _judge(
    predicates: list[Predicate], blindly: list[Predicate], original: Table, control: Table | None
) -> dict[str, Any]:
    attack, baseline = _success(predicates, original), _success(blindly, original)
    section: dict[str, Any] = {"attacks": len(predicates), "attack": attack, "baseline": baseline}
    section["better_than_blind"] = attack["value"] is not None and attack["value"] > baseline["value"]
    if control is not None:
        size = min(len(original), len(control))
        section["matched"] = _success(predicates, original, size)
        section["control"] = _success(predicates, control, size)
        section["risk"] = residual(section["matched"], section["control"])
    return section


def _success(predicates: list[Predicate], table: Table, size: int | None = None) -> Estimate:
    counts = np.array([table.count(predicate) for predicate in predicates], dtype=np.int64)
    return wilson(float(isolating(counts, len(table), size or len(table)).sum()), len(predicates))


def _some(predicates: list[Predicate], most: int, rng: np.random.Generator) -> list[Predicate]:
    if len(predicates) <= most:
        return predicates
    return [predicates[place] for place in np.sort(rng.choice(len(predicates), most, replace=False))]
