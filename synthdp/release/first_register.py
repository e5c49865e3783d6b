"""Releases that the first version of the register recorded: known again by all kept columns, or not at all."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.microdata import Microdata

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def first_places(entry: Mapping[str, Any], data: Microdata) -> Callable[[pd.DataFrame], Places] | None:
    """Return how the rows of a recorded table lie beside today's records, or None when these are other data.

    The same number of records, and the same values in all columns that the release kept, in whatever order. Among
    records that agree on all of those the order of the file decides. Cost O(n log n).
    """
    if entry["records"] != len(data) or not set(entry["columns"]) <= set(data.frame.columns):
        return None
    now = row_hashes(data.frame, entry["columns"])
    if hashlib.sha256(np.sort(now).tobytes()).hexdigest() != entry["data"]:
        return None

    def places(table: pd.DataFrame) -> Places:
        before = table["row"].to_numpy(np.uint64)[: len(data)]
        place = np.empty(len(data), dtype=np.int64)
        # equal records pair up in the order in which they stand
        place[np.argsort(now, kind="stable")] = np.argsort(before, kind="stable")
        return place

    return places


def row_hashes(frame: pd.DataFrame, columns: Sequence[str]) -> Hashes:
    """Return a number per record that depends on the values and not on how they are stored."""
    plain = {name: _plain(frame[name]) for name in columns}
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(plain), index=False), dtype=np.uint64)


def _plain(series: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.astype("float64").reset_index(drop=True)
    return series.astype("str").reset_index(drop=True)
