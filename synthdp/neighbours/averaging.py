"""Averaging aligned copies into one file: what an intruder does to wash out noise."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp.microdata import MISSING, Codes, Floats, codes, numbers
from synthdp.schema import Column, Kind


def average(copies: Sequence[pd.DataFrame], columns: Sequence[Column]) -> pd.DataFrame:
    """Average aligned copies: the mean of numbers and dates, the most frequent level of categories.

    Missing values are ignored; of equally frequent levels the first in schema order is taken.
    """
    averaged: dict[str, Any] = {}
    for column in columns:
        if column.kind.categorical:
            levels = np.stack([codes(copy[column.name], column) for copy in copies])
            # position -1 is the None at the end
            averaged[column.name] = np.asarray([*column.levels, None], dtype=object)[_mode(levels)]
            continue
        values = np.stack([numbers(copy[column.name], column) for copy in copies])
        known = np.isfinite(values)
        count = known.sum(axis=0)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
        date = column.kind is Kind.DATE
        averaged[column.name] = _moments(mean) if date else mean
    return pd.DataFrame(averaged)


def _mode(levels: Codes) -> Codes:
    votes = np.stack([(levels == level).sum(axis=0) for level in levels])
    votes[levels == MISSING] = 0
    ranked = np.where(votes == votes.max(axis=0), levels, np.iinfo(np.int64).max)
    return np.where(votes.max(axis=0) > 0, ranked.min(axis=0), MISSING)


def _moments(days: Floats) -> pd.Series:
    """Return days since 1970 as moments, to the second: nanoseconds end in 2262, before 9999-12-31."""
    found = np.full(len(days), "NaT", dtype="datetime64[s]")
    known = np.isfinite(days)
    found[known] = np.round(days[known] * 86_400).astype(np.int64).astype("datetime64[s]")
    return pd.Series(found)
