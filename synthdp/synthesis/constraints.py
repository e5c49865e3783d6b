"""Constraints between columns, such as yrs_married <= age - 12: true of the original, and of every copy.

A constraint is evidence too: x is drawn from p(x | z, w, θ) restricted to where it holds. The records that break it
are drawn again, from the same parameters, until they do not; given θ the records are independent, so this is rejection
sampling and exact. No true value is looked at. θ itself must be learnt from records that were restricted so, too: see
``truncation``.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp import expressions
from synthdp.errors import InputError, Unfinished
from synthdp.microdata import Microdata

MOST_ROUNDS = 100
TREES = (
    "Trees learn the law of records that keep the constraints from those records, and drawing again what breaks one "
    "moves it a little: intervals of copies by trees under constraints cover less often than stated (see "
    "reports/constraints). Model regression takes account of it."
)


def problems(data: Microdata, constraints: Sequence[str]) -> list[str]:
    """Return why constraints cannot be asked for: not in the language, or untrue of the data; no value is shown."""
    found = []
    for number, text in enumerate(constraints, start=1):
        where = f"constraints, number {number}"
        try:
            unknown = sorted(expressions.names(text) - set(data.schema.names()))
            if unknown:
                found.append(f"{where}: may name kept and replaced columns only, found {', '.join(unknown)}.")
                continue
            holds = expressions.evaluate(text, data.frame)
        except InputError as error:
            found.append(f"{where}: {error}")
            continue
        if not pd.api.types.is_bool_dtype(holds.dtype):
            found.append(f"{where}: must be a condition, true or false for each record.")
            continue
        broken = violated(data.frame, [text])
        if broken.any():
            found.append(
                f"{where}: {int(broken.sum())} records of the data break it; first at row "
                f"{int(np.flatnonzero(broken)[0]) + 1}. Correct the data, or loosen the constraint."
            )
    return found


def binding(constraints: Sequence[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the constraints that draws of some columns can break."""
    drawn = set(columns)
    return tuple(text for text in constraints if expressions.names(text) & drawn)


def violated(frame: pd.DataFrame, constraints: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which records break a constraint.

    A record with a missing value in a column that is named breaks nothing, as nothing can be said of it; a constraint
    that speaks of missing values itself (isnull) is taken as written.
    """
    broken = np.zeros(len(frame), dtype=bool)
    for text in constraints:
        wrong = ~expressions.evaluate(text, frame).to_numpy(dtype=bool)
        if "isnull" not in text:
            for name in sorted(expressions.names(text)):
                wrong &= frame[name].notna().to_numpy(dtype=bool)
        broken |= wrong
    return broken


def constrained(
    draw: Callable[[], pd.DataFrame], constraints: Sequence[str], *, copy: int, strict: bool = True
) -> pd.DataFrame:
    """Return a copy whose records all keep the constraints; only those that break one are drawn again.

    Cost: one full draw per round.

    Parameters
    ----------
    draw
        Gives all records anew, each time further along the same streams.
    copy
        The number of the copy, for the message.
    strict
        Whether records that still break a constraint after ``MOST_ROUNDS`` draws are an error.

    Raises
    ------
    Unfinished
        When records still break a constraint after ``MOST_ROUNDS`` draws and it is ``strict``.
    """
    frame = draw()
    broken = violated(frame, constraints)
    for _ in range(MOST_ROUNDS):
        if not broken.any():
            return frame
        again = draw()
        taken = broken & ~violated(again, constraints)
        frame = _with_rows(frame, again, taken)
        broken &= ~taken
    if not strict or not broken.any():
        return frame
    raise Unfinished(
        f"constraints: {int(broken.sum())} records of copy {copy} still break one after {MOST_ROUNDS} further draws; "
        "the model hardly ever draws what is asked for. Loosen the constraint, give its columns bounds or a transform "
        "that suit it, or replace only one of them."
    )


def _with_rows(frame: pd.DataFrame, other: pd.DataFrame, rows: npt.NDArray[np.bool_]) -> pd.DataFrame:
    if not rows.any():
        return frame
    columns = {str(name): frame[name].where(~rows, other[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)
