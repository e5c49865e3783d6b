"""Small files for the brute-force twins: every kind of column, ties, gaps, tolerances from zero, copies of any size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from synthdp.evaluation.comparison import Comparison
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable

Z = 1.959963984540054
few_large = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


fewer = settings(few_large, max_examples=12)


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def make(n: int, draw: np.random.Generator, *, gaps: float, step: float) -> pd.DataFrame:
    """People with a number, a count, a date, two categories and a survey weight; rounded numbers tie."""
    age = draw.normal(50, 10, n)
    frame = pd.DataFrame(
        {
            "age": np.round(age / step) * step if step else age,
            "pay": np.round(age + draw.normal(0, 5, n), 1),
            "children": draw.poisson(1.2, n).astype(float),
            "birth": pd.Timestamp("1970-01-01") + pd.to_timedelta(draw.integers(0, 60, n), unit="D"),
            "sex": draw.choice(["F", "M"], n),
            "site": draw.choice(list("abc"), n, p=[0.6, 0.3, 0.1]),
        }
    )
    return frame.mask(draw.random(frame.shape) < gaps).assign(w=draw.integers(1, 20, n).astype(float))


@dataclass
class Files:
    comparison: Comparison
    holdout: pd.DataFrame


@st.composite
def mixed(draw: st.DrawFn, *, aligned: bool = False) -> Files:
    """An original of up to 300 records, one to three copies and a holdout; keys and tolerances as they come."""
    seed = rng(draw(st.integers(0, 10**6)))
    n = draw(st.sampled_from([0] * 7 + [150, 300])) or draw(st.integers(12, 40))
    gaps, step = draw(st.sampled_from([0.0, 0.1, 0.4])), draw(st.sampled_from([0.0, 1.0, 10.0]))
    original = make(n, seed, gaps=gaps, step=step)
    # two records without gaps, so that no column is constant or missing everywhere
    full = make(2, seed, gaps=0.0, step=step).assign(age=[40.0, 60.0], children=[0.0, 1.0], sex=["F", "M"], pay=[1, 99])
    original = pd.concat([full, original.iloc[2:]], ignore_index=True)
    chosen = draw(st.lists(st.sampled_from(["age", "children", "birth", "sex", "site"]), min_size=1, unique=True))
    tolerance = {
        "age": draw(st.sampled_from([0.0, 0.5, 3.0, 1e6])),
        "pay": draw(st.sampled_from([0.0, 2.5])),
        "children": draw(st.sampled_from([0.0, 1.0])),
        "birth": draw(st.sampled_from([0.0, 15.0])),
    }
    kinds = {"age": "continuous", "pay": "continuous", "children": "count", "birth": "date"}
    variables: dict[str, Any] = {
        name: Variable(kind=kinds[name], role="replace", key=name in chosen, tolerance=tolerance[name])
        for name in kinds
    }
    variables["sex"] = Variable(kind="binary", role="replace", key="sex" in chosen, levels=("F", "M"))
    variables["site"] = Variable(kind="nominal", key="site" in chosen, levels=("a", "b", "c"))
    variables["w"] = Variable(kind="continuous")
    schema = resolve(original, variables).schema
    columns = tuple(
        column.model_copy(update={"design": "weights"}) if column.name == "w" else column for column in schema.columns
    )
    copies = []
    for _ in range(draw(st.integers(1, 3))):
        size = n if aligned else draw(st.integers(3, 40))
        fresh = make(size, seed, gaps=gaps, step=step)
        if aligned and draw(st.booleans()):
            # some values stay with their records
            stay = seed.random(fresh.shape) < 0.6
            fresh = fresh.mask(stay, original)
        copies.append(fresh.assign(site=original["site"]) if aligned else fresh)
    outside = make(draw(st.integers(2, 40)), seed, gaps=gaps, step=step)
    comparison = Comparison(original, tuple(copies), schema.model_copy(update={"columns": columns}), aligned=aligned)
    return Files(comparison, outside)


def plain(series: pd.Series, column: Column) -> list[Any]:
    """A column as values that can be compared: None where missing, days for dates."""
    values = [None if pd.isna(value) else value for value in series]
    if column.kind.categorical:
        return values
    if column.name == "birth":
        return [None if v is None else (pd.Timestamp(v) - pd.Timestamp(0)) / pd.Timedelta(days=1) for v in values]
    return [None if value is None else float(value) for value in values]


def held(frame: pd.DataFrame, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    """Every record of a file as a tuple of plain values."""
    return list(zip(*(plain(frame[column.name], column) for column in columns), strict=True))


def told_apart(value: Any, column: Column) -> Any:
    """What an intruder who knows a value up to the tolerance knows: its class."""
    if value is None:
        return "missing"
    if column.kind.categorical or column.tolerance == 0:
        return value
    return math.floor(value / (2 * column.tolerance) + 1e-9)


def wilson_plainly(hits: float, total: int) -> tuple[float, float, float]:
    """The rates p that a score test at 5% does not reject, by halving."""
    share = hits / total

    def rejected(p: float) -> bool:
        return abs(share - p) > Z * math.sqrt(p * (1 - p) / total)

    ends = []
    for end in (0.0, 1.0):
        inside, outside = share, end
        if not rejected(end):
            ends.append(end)
            continue
        for _ in range(100):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
        ends.append(inside)
    return share, ends[0], ends[1]


def estimate(found: dict[str, Any]) -> tuple[float, float, float]:
    return found["value"], found["low"], found["high"]


def mean_interval(*groups: Sequence[float]) -> tuple[float, float, float]:
    """The mean of the first group minus that of the second, if there is one, with its normal interval."""
    means = [sum(group) / len(group) for group in groups]
    spread = 0.0
    for group, mean in zip(groups, means, strict=True):
        if len(group) > 1:
            spread += sum((x - mean) ** 2 for x in group) / (len(group) - 1) / len(group)
    value = means[0] - (means[1] if len(means) > 1 else 0.0)
    return value, value - Z * math.sqrt(spread), value + Z * math.sqrt(spread)


def residual_plainly(
    attack: tuple[float, float, float], control: tuple[float, float, float]
) -> tuple[float, float, float] | None:
    """(a − c)/(1 − c), its half-width by moving either rate by a little."""
    (a, *ends_a), (c, *ends_c) = attack, control
    if c >= 1:
        return None

    def lost(a: float, c: float) -> float:
        return (a - c) / (1 - c)

    h = 1e-6
    slope_a = (lost(a + h, c) - lost(a - h, c)) / (2 * h)
    slope_c = (lost(a, c + h) - lost(a, c - h)) / (2 * h)
    half = math.hypot(slope_a * (ends_a[1] - ends_a[0]) / 2, slope_c * (ends_c[1] - ends_c[0]) / 2)
    return lost(a, c), lost(a, c) - half, min(1.0, lost(a, c) + half)
