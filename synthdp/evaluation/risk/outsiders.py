"""People who are not in the data: records that no copy was made from, against which an attack is measured."""

from collections.abc import Sequence

import pandas as pd

from synthdp.errors import InputError
from synthdp.schema import Column

NO_HOLDOUT = (
    "needs records of people who were not used to make the copies; set evaluation.holdout to a file of them, drawn "
    "from the same population"
)


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
