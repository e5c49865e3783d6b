"""What values a column takes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.table.guess import names, scales
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Kind, Level

FEW_LEVELS = 10
CODED_LEVELS = 50
MONTHS = 12
SAME_CODE = 0.2  # most distinct codes, of the records
HOUSING_CODES = 20  # more are years: tenure is also how long somebody has had a job
CODE_DIGITS = 100  # smallest number that is read as a code by its digits alone
CODE_TOP, CODE_TOP_SHARE, CODE_ROUND, CODE_DENSITY = 10, 0.25, 0.4, 0.5
SMOOTH = 0.5  # rank correlation of the frequencies of neighbouring values
LABELS, LABEL_RECORDS, LABEL_DENSITY, LABEL_TREND = (15, 200), 20, 0.9, 0.35
CALENDAR = (1800, 2100)
MANY_YEARS = 12
COMMON = 10
POINT_MASS = 0.1
MOSTLY = 0.5
SMALL_NUMBERS = 0.3
LARGEST_COUNT = 200
COUNT_SKEW = 0.5
COUNTED = 4
MOST_COUNTED = 30
GAPS = 2
LOG_SKEW = 2.0
MOST_DECIMALS = 6
ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
OTHER_DATE = r"^\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})$"


@dataclass(frozen=True)
class Nature:
    """A kind, what speaks for it, the levels when they may be shown, and what a person should look at."""

    kind: Kind
    evidence: str
    levels: tuple[Level, ...] = ()
    doubt: str = ""


def nature(series: pd.Series, name: str, label: str = "") -> Nature:
    """Return what a column is; ``series`` has its missing codes already missing and at least one value."""
    present = series.dropna()
    if pd.api.types.is_datetime64_any_dtype(present):
        return Nature(Kind.DATE, "dates")
    distinct = present.nunique()
    if distinct == 2:
        return Nature(Kind.BINARY, "2 distinct values", _common(present))
    if pd.api.types.is_bool_dtype(present):
        return Nature(Kind.NOMINAL, "the same value everywhere")
    if pd.api.types.is_numeric_dtype(present):
        return _of_numbers(present.to_numpy(np.float64), name, label)
    return _of_text(present, distinct, name, label)


def _common(present: pd.Series) -> tuple[Level, ...]:
    """Return the levels, or nothing when one of them is rare: a rare level tells of someone."""
    counts = present.value_counts()
    if counts.min() < COMMON:
        return ()
    levels = [value.item() if isinstance(value, np.generic) else value for value in counts.index]
    plain = [int(v) if isinstance(v, float) and v.is_integer() else v for v in levels]
    return tuple(sorted(plain)) if all(isinstance(v, bool | int | float | str) for v in plain) else ()


def _years(found: Floats) -> bool:
    """Return whether the values are years, which have an order whatever the name says they are years of."""
    return len(found) >= MANY_YEARS and bool(found[0] >= CALENDAR[0] and found[-1] <= CALENDAR[1])


def _falling(found: Floats, counts: Codes) -> bool:
    """Return whether numbers start at 0 and each is rarer than the one before, as the stays in a hospital are."""
    few = len(found) >= COUNTED and found[0] == 0 and float(np.diff(found[: COUNTED + 1]).max()) == 1
    return few and bool((np.diff(counts[: COUNTED + 1]) <= 0).all())


def _sparse(found: Floats, counts: Codes) -> bool:
    """Return whether few numbers fall from 0 and leave gaps behind them (0 to 5, 11, 52): counted, not graded.

    Sevens, eights and nines alone are rather codes for missing.
    """
    code = set(str(int(found[-1]))) <= set("789")
    return _falling(found, counts) and bool(found[-1] >= GAPS * len(found)) and not code


def _of_numbers(values: Floats, name: str, label: str) -> Nature:
    found, counts = np.unique(values, return_counts=True)
    whole = bool(np.all(found == np.round(found)))
    if len(found) == 1:
        return Nature(Kind.CONTINUOUS, "the same number everywhere")
    housing = names.topic(name, label) == "housing"
    # nobody's home has the code 0 of many: those are years in a job
    most = min(SAME_CODE * len(values), np.inf if not housing else COUNTED if found[0] == 0 else HOUSING_CODES)
    if (
        whole
        and len(found) <= most
        and names.is_unordered(name, label)
        and not (_years(found) or _falling(found, counts))
    ):
        return Nature(Kind.NOMINAL, f"{len(found)} whole numbers, taken for codes without an order because of the name")
    if whole and not names.is_amount(name) and _digits_of_codes(found, counts):
        why = "of many digits, heaped on a few that are not round: taken for codes without an order"
        return Nature(
            Kind.NOMINAL, f"{len(found)} whole numbers {why}", doubt="codes, or amounts? Say kind: continuous."
        )
    if whole and not names.is_time(name) and names.topic(name, label) is None and _labels(found, counts):
        why = "from 1 up, as frequent as labels are: taken for codes without an order"
        return Nature(
            Kind.NOMINAL, f"{len(found)} whole numbers {why}", doubt="codes, or amounts? Say kind: continuous."
        )
    if whole and len(found) <= MONTHS and found[0] >= 1 and found[-1] <= MONTHS and names.is_month(name, label):
        return Nature(Kind.ORDINAL, f"{len(found)} whole numbers, taken for months because of the name")
    if len(found) <= FEW_LEVELS and len(found) < 0.5 * len(values) and not (whole and _sparse(found, counts)):
        what = "whole numbers" if whole else "numbers"
        return Nature(Kind.ORDINAL, f"{len(found)} distinct {what}, taken for an ordered scale")
    skew = float(np.mean(((values - values.mean()) / values.std()) ** 3))
    zero = float(np.mean(values == 0))
    near = float(np.sum(counts[(found == 1) | (found == 2)]) / max(np.sum(values > 0), 1))
    years = names.topic(name, label) in ("age", "birth", "education")
    small = whole and not years and 0 <= found[0] <= 1 and found[-1] <= LARGEST_COUNT
    # a count comes down to its zeros over ones and twos; where these are scarce, zero is an answer of its own
    falling = near >= (POINT_MASS if zero < MOSTLY else SMALL_NUMBERS)
    if zero >= POINT_MASS and not years and found[0] >= 0 and not (small and falling):
        return Nature(Kind.SEMICONTINUOUS, f"{zero:.0%} zeros, {len(found) - 1} other distinct numbers")
    people = whole and names.topic(name, label) == "household" and found[0] >= 0 and found[-1] <= MOST_COUNTED
    if (small and skew > COUNT_SKEW) or people:
        return Nature(Kind.COUNT, f"whole numbers from 0 up, skewed to the right (skewness {skew:.1f})")
    return Nature(Kind.CONTINUOUS, f"{len(found)} distinct numbers")


def _digits_of_codes(found: Floats, counts: Codes) -> bool:
    """Return whether numbers look like codes: many digits, wide gaps, and heaps on numbers that nobody would round to.

    Amounts are heaped on round numbers, measurements are not heaped at all, and years lie close together.
    """
    n = int(counts.sum())
    if found[0] < CODE_DIGITS or not CODE_TOP < len(found) <= SAME_CODE * n:
        return False
    calendar = CALENDAR[0] <= found[0] and found[-1] <= CALENDAR[1]
    top = np.argsort(-counts, kind="stable")[:CODE_TOP]
    heaped = counts[top].sum() >= CODE_TOP_SHARE * n and bool(np.mean(found[top] % 10 == 0) <= CODE_ROUND)
    # the scores of a test are few numbers too, but common ones lie beside common ones
    return not calendar and heaped and len(found) <= CODE_DENSITY * (found[-1] - found[0]) and not _smooth(counts)


def _smooth(counts: Codes, least: float = SMOOTH) -> bool:
    """Return whether neighbouring values are about as frequent, as amounts and scores are and labels are not."""
    ranks = pd.Series(counts).rank().to_numpy()
    if len(ranks) < CODE_TOP or np.ptp(ranks[1:]) == 0 or np.ptp(ranks[:-1]) == 0:
        return False
    return float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) >= least


def _labels(found: Floats, counts: Codes) -> bool:
    """Return whether numbers from 1 up, none left out, are labels: each about as frequent, whatever its neighbours.

    Answers pile on a few numbers or on round ones, and measurements rise and fall.
    """
    n = int(counts.sum())
    if not (found[0] == 1 and LABELS[0] <= len(found) <= LABELS[1]) or n < LABEL_RECORDS * len(found):
        return False
    dense = len(found) >= LABEL_DENSITY * (found[-1] - found[0] + 1)
    top = np.argsort(-counts, kind="stable")[:CODE_TOP]
    rounded = float(np.mean(found[top] % 5 == 0)) > CODE_ROUND
    trend = float(np.corrcoef(pd.Series(counts).rank(), found)[0, 1]) if np.ptp(counts) else 0.0
    piled = counts.max() > CODE_TOP_SHARE * n
    return dense and not (rounded or piled or abs(trend) > LABEL_TREND or _smooth(counts, LABEL_TREND))


def _of_text(present: pd.Series, distinct: int, name: str, label: str) -> Nature:
    text = present.astype(str)
    if text.str.match(ISO_DATE).all() and pd.to_datetime(text, errors="coerce", format="ISO8601").notna().all():
        return Nature(Kind.DATE, "ISO dates")
    as_numbers = pd.to_numeric(text, errors="coerce")
    if as_numbers.notna().all() and not text.str.match(r"^[+-]?0\d").any():
        return _of_numbers(as_numbers.to_numpy(np.float64), name, label)
    if distinct == 1:
        return Nature(Kind.NOMINAL, "the same text everywhere")
    doubt = ""
    if text.str.match(OTHER_DATE).mean() > 0.9:
        doubt = "looks like dates; write them as 2020-01-31 to have them treated as dates."
    elif 0.5 <= as_numbers.notna().mean() < 1:
        others = int(as_numbers.isna().sum())
        doubt = f"{others} values are no numbers, the others are; correct them, or list them in data.missing_codes."
    ordered = scales.in_order(sorted(set(text))) if distinct <= CODED_LEVELS else None
    if ordered is not None:
        rare = int((text.value_counts() < COMMON).sum())
        if not rare:
            return Nature(Kind.ORDINAL, f"{distinct} texts of an ordered scale", tuple(ordered))
        doubt = f"looks ordered, but {rare} levels have fewer than {COMMON} records; list levels in order for ordinal."
    return Nature(Kind.NOMINAL, f"{distinct} distinct texts", doubt=doubt)


def is_skewed(values: Floats) -> bool:
    """Return whether logs would describe the numbers better."""
    present = values[np.isfinite(values)]
    if len(present) < COMMON or present.std() == 0:
        return False
    return float(np.mean(((present - present.mean()) / present.std()) ** 3)) > LOG_SKEW


def decimals(values: Floats) -> tuple[int, bool]:
    """Return the digits after the point the data show, or else about a hundredth of an sd and True."""
    present = values[np.isfinite(values)]
    for places in range(MOST_DECIMALS + 1):
        if np.allclose(present, np.round(present, places), rtol=0, atol=1e-9):
            return places, False
    return int(np.clip(np.ceil(-np.log10(present.std() / 100)), 0, 15)), True


def tolerance(values: Floats, places: int) -> float:
    """Return a tenth of an sd to one digit, and at least half a step of the last decimal.

    Examples
    --------
    >>> tolerance(np.array([20.0, 40.0, 60.0]), 0)
    2.0
    """
    tenth = float(np.nanstd(values)) / 10
    rounded = float(f"{tenth:.0e}")
    return max(rounded, 0.5 * 10.0**-places)
