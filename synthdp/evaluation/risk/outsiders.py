"""People who are not in the data: records that no copy was made from, against which an attack is measured."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import combine
from synthdp.schema import Column

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
