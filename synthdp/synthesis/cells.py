"""Drawn values as cells of a copy or of a completed original."""

import numpy as np
import pandas as pd

from synthdp.applicability import holds
from synthdp.evidence import Evidence, GaussianEvidence, LevelEvidence
from synthdp.imputation.writing import write
from synthdp.links import Link
from synthdp.microdata import Floats, decode
from synthdp.schema import Column


def flat(column: Column, n: int) -> Evidence:
    """Return evidence that says nothing about a column of n records."""
    return LevelEvidence.flat(n, len(column.levels)) if column.kind.categorical else GaussianEvidence.flat(n)


def released(drawn: Floats, column: Column, link: Link | None, like: pd.Series) -> pd.Series:
    """Return drawn values as they are written: levels by name, numbers rounded like the data, inside their bounds."""
    if link is None:
        return decode(drawn.astype(np.int64), column, like)
    values = link.inverse(drawn)
    if column.decimals is not None:
        values = np.round(values, column.decimals)
    if column.bounds is not None:
        values = np.clip(values, *column.bounds)
    numeric = pd.Series(values, index=like.index, name=like.name)
    whole = column.decimals == 0 and pd.api.types.is_integer_dtype(like.dtype)
    return numeric.astype(like.dtype) if whole else numeric


def completed(drawn: Floats, column: Column, frame: pd.DataFrame) -> pd.Series:
    """Return a column of a table with its missing values filled in, where it applies to the table's own records.

    Parameters
    ----------
    drawn
        Numbers on the column's own scale, or positions in its levels; one per record.
    """
    series = frame[column.name]
    new = decode(drawn.astype(np.int64), column, series) if column.kind.categorical else write(drawn, column, series)
    return series.where(series.notna() | ~holds(column, frame), new)
