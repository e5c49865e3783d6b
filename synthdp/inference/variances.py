"""How sure an estimate on one file is.

Linearisation over strata and clusters, replicate weights, and resampling of records.

An estimate is, to first order, a total of what each record contributes (its *influence*), so one formula for the
variance of a total serves every model. Strata and clusters that lost their records to missing values still count: an
incomplete record is in the sample and contributes zero (domain estimation).
"""

import copy
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Floats
from synthdp.errors import InputError
from synthdp.inference.estimates import Estimates, named
from synthdp.inference.formulas import Positions, build
from synthdp.inference.models.fit import ReplicateMethod
from synthdp.parallel import Advance
from synthdp.table.coded import distinct
from synthdp.table.schema import Schema


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """How the records of one table were sampled.

    Parameters
    ----------
    weights
        One per record; None when all count alike.
    strata, clusters
        Number of each record's stratum and of its cluster, clusters numbered within the whole table.
    """

    weights: Floats | None
    strata: Positions
    clusters: Positions


def sample(frame: pd.DataFrame, *, weights: str | None, strata: str | None, cluster: str | None, where: str) -> Sample:
    """Read the design columns of a table; the same cluster number in two strata means two clusters.

    Raises
    ------
    InputError
        When a weight is missing, negative or not a number, or a stratum or cluster is missing.
    """
    each = None if weights is None else weight_column(frame, weights, where)
    stratum = _groups(frame, strata, "strata", where)
    if cluster is None:
        return Sample(each, stratum, np.arange(len(frame)))
    inner = _groups(frame, cluster, "cluster", where)
    clusters = np.unique(np.column_stack([stratum, inner]), axis=0, return_inverse=True)[1]
    return Sample(each, stratum, clusters.reshape(-1))


def weight_column(frame: pd.DataFrame, name: str, where: str) -> Floats:
    """Return a column of weights; zero is allowed (a record that a replicate leaves out)."""
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise InputError(f"{where}: the weights in {name!r} must be numbers.")
    found = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    bad = int((~np.isfinite(found) | (found < 0)).sum())
    if bad:
        raise InputError(f"{where}: the weights in {name!r} must be zero or more, found {bad} that are missing or not.")
    if not found.any():
        raise InputError(f"{where}: the weights in {name!r} are all zero.")
    return found


def linearised(influence: Floats, design: Sample, *, where: str) -> tuple[Floats, float]:
    """Return the covariance of the total of the influences, and its degrees of freedom.

    V = Σ_h n_h/(n_h − 1) Σ_j (z_hj − z̄_h)(z_hj − z̄_h)', z_hj the total of cluster j in stratum h, n_h its clusters;
    ν = clusters − strata. Clusters count as drawn with replacement: there is no finite population correction.

    References
    ----------
    Binder (1983), International Statistical Review 51, 279–292; Wolter (2007), Introduction to Variance Estimation,
    chapter 6.
    """
    totals = np.zeros((int(design.clusters.max()) + 1, influence.shape[1]))
    np.add.at(totals, design.clusters, influence)
    home = np.empty(len(totals), dtype=np.int64)
    home[design.clusters] = design.strata
    sizes = np.bincount(home)
    if lonely := int((sizes == 1).sum()):
        units = f"{lonely} strata have" if lonely > 1 else "1 stratum has"
        raise InputError(f"{where}: {units} a single cluster or record, so no variance can be computed; merge strata.")
    means = np.zeros((len(sizes), influence.shape[1]))
    np.add.at(means, home, totals)
    spread = totals - (means / sizes[:, None])[home]
    covariance = spread.T @ (spread * (sizes / (sizes - 1))[home][:, None])
    return covariance, float(len(totals) - len(sizes))


def simple(influence: Floats) -> Floats:
    """Return the covariance of a total in a simple random sample: n/(n − 1) Σ (z_i − z̄)(z_i − z̄)'."""
    n = len(influence)
    spread = influence - influence.mean(axis=0)
    return np.asarray(n / (n - 1) * spread.T @ spread)


def replicated(
    full: Floats,
    replicates: Sequence[Floats],
    method: ReplicateMethod,
    scale: float | Sequence[float] | None,
    *,
    where: str,
) -> tuple[Floats, float]:
    """Return the covariance from estimates with replicate weights, and its degrees of freedom R − 1.

    V = Σ_r c_r (θ_r − θ)(θ_r − θ)', around the estimate with the full weights. c_r is 1/R for ``brr`` and
    ``bootstrap``, (R − 1)/R for ``jk1``; ``jkn`` needs (n_h − 1)/n_h of the stratum that replicate r takes a cluster
    from. ``scale`` gives c (one, or one per replicate): 1/(R (1 − ρ)²) for Fay's method, for example.

    References
    ----------
    Wolter (2007), Introduction to Variance Estimation, chapters 3 and 4.
    """
    count = len(replicates)
    if count < 2:
        raise InputError(f"{where}: replicate weights need at least 2 columns, found {count}.")
    if scale is None:
        if method == "jkn":
            raise InputError(f"{where}: jkn needs replicate_scale, (n_h - 1)/n_h of the stratum of each replicate.")
        scale = (count - 1) / count if method == "jk1" else 1 / count
    scales = np.asarray(scale, dtype=np.float64)
    scales = np.full(count, scales.item()) if scales.size == 1 else scales
    if scales.shape != (count,) or not (np.isfinite(scales).all() and (scales > 0).all()):
        raise InputError(f"{where}: replicate_scale must be one positive number, or {count}, one per replicate.")
    spread = np.stack(list(replicates)) - full
    return np.asarray(spread.T @ (spread * scales[:, None]), dtype=np.float64), float(count - 1)


def _groups(frame: pd.DataFrame, name: str | None, role: str, where: str) -> Positions:
    if name is None:
        return np.zeros(len(frame), dtype=np.int64)
    codes = distinct(frame[name], missing="none")
    if missing := int((codes < 0).sum()):
        raise InputError(f"{where}: {role} must be known for every record, found {missing} missing in {name!r}.")
    return codes


Statistic = Callable[[Any], Any]
FEWEST = 20
PATIENCE = 2.0


def bootstrap_statistic(
    frame: pd.DataFrame, statistic: Statistic, *, draws: int, rng: np.random.Generator, advance: Advance | None = None
) -> Estimates:
    """Return a statistic of a frame with its bootstrap covariance.

    Parameters
    ----------
    frame
        One copy.
    statistic
        From a frame to a number, a vector, a Series or a mapping.
    draws
        B; the covariance is that of the statistic over B resamples of n records, O(B) evaluations.
    """
    if frame.empty:
        raise InputError("the file has no records.")
    return _bootstrap(lambda rows: statistic(frame.iloc[rows]), len(frame), draws, rng, advance)


def bootstrap_estimator(
    frame: pd.DataFrame,
    estimator: Any,
    formula: str,
    *,
    draws: int,
    rng: np.random.Generator,
    statistic: Statistic | None = None,
    schema: Schema | None = None,
    advance: Advance | None = None,
) -> Estimates:
    """Return what a scikit-learn-like estimator finds, with its bootstrap covariance.

    Parameters
    ----------
    frame
        One copy.
    estimator
        Has ``fit(X, y)``; it is copied before every fit.
    formula
        Gives y, and X with a column for every term but the intercept.
    draws
        B, resamples of the n records: O(B) fits.
    statistic
        From the fitted estimator to the numbers of interest; by default ``intercept_`` and ``coef_``, or
        ``feature_importances_``.

    Notes
    -----
    The bootstrap gives the variance of the estimator as it is. A penalised estimator is biased, and no interval knows
    of that.
    """
    design = build(formula, frame, schema)
    chosen = [name != "Intercept" for name in design.names]
    terms = [name for name in design.names if name != "Intercept"]
    x = pd.DataFrame(design.matrix[:, chosen], columns=terms)
    if design.levels:
        y: Any = np.array(design.levels)[design.response.argmax(axis=1)]
    else:
        y = design.response[:, 0]

    def compute(rows: Any) -> Any:
        fresh = _fresh(estimator).fit(x.iloc[rows], y[rows])
        return statistic(fresh) if statistic is not None else _found(fresh, terms)

    return _bootstrap(compute, len(x), draws, rng, advance)


@contextmanager
def waiting(what: str) -> Iterator[Advance]:
    """Give a listener that shows a bar on a terminal, once two seconds have passed."""
    started, shown = time.monotonic(), None
    task: Any = None

    def advance(done: int, total: int) -> None:
        nonlocal shown, task
        if shown is None and sys.stderr.isatty() and time.monotonic() - started > PATIENCE:
            from rich.console import Console
            from rich.progress import Progress

            shown = Progress(console=Console(stderr=True), transient=True)
            shown.start()
            task = shown.add_task(what, total=total)
        if shown is not None:
            shown.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        if shown is not None:
            shown.stop()


def _bootstrap(
    compute: Callable[[Any], Any], n: int, draws: int, rng: np.random.Generator, advance: Advance | None
) -> Estimates:
    if draws < FEWEST:
        raise InputError(f"bootstrap: needs at least {FEWEST} resamples, found {draws}.")
    names, values = _numbers(compute, np.arange(n), "on this file")
    found = np.empty((draws, len(values)))
    for k in range(draws):
        rows = rng.integers(n, size=n)
        again, found[k] = _numbers(compute, rows, f"on resample {k + 1} of {draws}", like=values)
        if again != names:
            raise InputError(f"bootstrap: resample {k + 1} of {draws} gave other terms than the file itself.")
        if advance is not None:
            advance(k + 1, draws)
    return Estimates(names, values, np.atleast_2d(np.cov(found, rowvar=False)), None, n)


def _numbers(
    compute: Callable[[Any], Any], rows: Any, place: str, like: Floats | None = None
) -> tuple[tuple[str, ...], Floats]:
    try:
        result = compute(rows)
    except InputError:
        raise
    except Exception as error:  # the user's code: its message may quote the data
        kind = type(error).__name__
        raise InputError(f"bootstrap: the estimator failed {place} ({kind}); is a level rare?") from None
    names, values = named(result)
    if not np.isfinite(values).all() or (like is not None and values.shape != like.shape):
        raise InputError(f"bootstrap: the estimator gave undefined values or another number of terms {place}.")
    return names, values


def _fresh(estimator: Any) -> Any:
    if hasattr(estimator, "get_params"):
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)


def _found(fitted: Any, terms: list[str]) -> dict[str, float]:
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    if hasattr(last, "coef_"):
        slopes = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))
        labels = terms if slopes.shape[1] == len(terms) else [f"coefficient {k + 1}" for k in range(slopes.shape[1])]
        classes = [f"{level}: " for level in getattr(last, "classes_", range(len(slopes)))]
        starts = np.atleast_1d(np.asarray(getattr(last, "intercept_", []), dtype=np.float64))
        found: dict[str, float] = {}
        for k, row in enumerate(slopes):
            before = classes[k] if len(slopes) > 1 else ""
            if k < len(starts):
                found[f"{before}Intercept"] = float(starts[k])
            found |= {f"{before}{label}": float(value) for label, value in zip(labels, row, strict=True)}
        return found
    if hasattr(last, "feature_importances_"):
        return dict(zip(terms, map(float, last.feature_importances_), strict=False))
    raise InputError("estimator: has neither coef_ nor feature_importances_ once fitted; give statistic=.")
