"""Columns that name a person by themselves: by what they are called, or by what their values look like."""

import numpy as np
import pandas as pd

from synthdp.arrays import Floats
from synthdp.table.guess import names, vocabulary

FEWEST_RECORDS = 20
UNIQUE = 0.95
NEARLY_UNIQUE = 0.5
MOST = 0.8
LONGEST_RUN = 3
ACCOUNT_DIGITS = 8
MANY_RECORDS = 200
FEW_NAMES = 5
MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"

EMAIL = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
PHONE = r"^\+?[\d\s()./-]{7,}$"


def why(series: pd.Series, name: str, label: str = "") -> str | None:
    """Return why a column looks like a direct identifier, or None; ``series`` holds text or numbers, no codes."""
    present = series.dropna()
    if len(present) == 0:
        return None
    distinct = present.nunique() / len(present)
    named = names.is_identifier(name, label)
    if named and distinct >= NEARLY_UNIQUE and _discrete(present):
        return f"the name says so, and {distinct:.0%} of its values are distinct"
    if names.is_number_of_person(name) and present.nunique() > FEWEST_RECORDS and _discrete(present):
        return f"the name says that it numbers people, {present.nunique()} of them"
    if names.means(name, vocabulary.PERSONS) and len(present) >= FEWEST_RECORDS and distinct >= UNIQUE:
        return f"the name says so, and {distinct:.0%} of its values are distinct" if _discrete(present) else None
    if pd.api.types.is_bool_dtype(present) or pd.api.types.is_datetime64_any_dtype(present):
        return None
    if names.is_person_name(name) and present.nunique() > FEW_NAMES:
        return "the name says that people's names are in it"
    if pd.api.types.is_numeric_dtype(present):
        return _number_why(present.to_numpy(np.float64))
    return _text_why(present.astype(str), distinct)


def lonely_share(series: pd.Series) -> float:
    """Return the share of records with a value that no other record has."""
    counts = series.value_counts()
    return float((counts == 1).sum() / max(int(counts.sum()), 1))


def _discrete(present: pd.Series) -> bool:
    """Return whether the values are texts or whole numbers; a measurement is no identifier whatever its name."""
    if not pd.api.types.is_numeric_dtype(present):
        return not pd.api.types.is_datetime64_any_dtype(present)
    values = present.to_numpy(np.float64)
    return bool(np.all(values == np.round(values)))


def _number_why(values: Floats) -> str | None:
    n = len(values)
    if n < FEWEST_RECORDS or np.any(values != np.round(values)) or len(np.unique(values)) < n:
        return None
    if values.max() - values.min() < LONGEST_RUN * n:
        return "whole numbers, each once, with few gaps: a running number"
    if np.all(np.diff(values) > 0):
        return "whole numbers that rise from row to row: a running number"
    if n >= MANY_RECORDS and values.min() >= 10.0 ** (ACCOUNT_DIGITS - 1):
        return f"whole numbers of {ACCOUNT_DIGITS} digits or more, each once"
    return None


def _text_why(present: pd.Series, distinct: float) -> str | None:
    n = len(present)
    if present.str.match(EMAIL).mean() >= MOST:
        return "e-mail addresses"
    if distinct >= UNIQUE and n >= FEWEST_RECORDS and present.str.match(MOMENT).all():
        return f"times to the minute, {distinct:.0%} of them distinct"
    digits = present.str.count(r"\d")
    dates = present.str.match(r"^\d{4}-\d{2}-\d{2}").mean() >= MOST
    dialled = present.str.match(PHONE) & (digits >= 7) & ~present.str.match(r"^[+-]?\d*\.\d*$")
    if distinct >= NEARLY_UNIQUE and not dates and dialled.mean() >= MOST:
        return "looks like telephone numbers"
    if n < FEWEST_RECORDS or dates or pd.to_numeric(present, errors="coerce").notna().mean() >= MOST:
        return None
    if distinct >= UNIQUE:
        return f"texts, {distinct:.0%} of them distinct"
    lonely = lonely_share(present)
    if lonely >= NEARLY_UNIQUE:
        return f"texts that {lonely:.0%} of the records share with nobody"
    return None
