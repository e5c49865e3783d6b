"""Standard errors by resampling records within a copy, for estimators that do not come with one."""

import copy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.inference.estimates import Estimates
from synthdp.inference.formulas import build
from synthdp.inference.results import named
from synthdp.microdata import Floats
from synthdp.schema import Schema

Advance = Callable[[int, int], None]
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
