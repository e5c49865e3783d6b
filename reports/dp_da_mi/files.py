"""The files of the comparison: what is declared of them without a look at the data, and what analysts ask."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.study import shared_file

DELTA = 1e-6


@dataclass(frozen=True)
class File:
    """One data set: how it is read, how many records are taken, what is declared, what is asked."""

    read: Callable[[Path], pd.DataFrame]
    size: int
    variables: dict[str, dict[str, Any]]
    analyses: tuple[dict[str, str], ...]

    def records(self, data: Path, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return a random choice of the records."""
        frame = self.read(data)[list(self.variables)]
        return frame.iloc[rng.permutation(len(frame))[: self.size]].reset_index(drop=True)


def synthesis_of(method: str, epsilon: float) -> dict[str, Any]:
    """Return the synthesis block of a method; a masked file is drawn apart from it."""
    shared = {"epsilon": epsilon, "delta": DELTA, "source": "simulated"}
    if method == "masked file":
        return {"method": "dp_da_mi", **shared}
    several = {} if method == "local_noise" else {"copies": 5}
    return {"method": method, **shared, **several, **({"bins": 10} if method == "dp_mst" else {})}


def _fair(_: Path) -> pd.DataFrame:
    from statsmodels.datasets import fair

    frame: pd.DataFrame = fair.load_pandas().data
    return frame.assign(affair=(frame["affairs"] > 0).astype(int))


def _adult(data: Path) -> pd.DataFrame:
    names = {"education-num": "educ", "hours-per-week": "hours", "income>50K": "rich"}
    return pd.read_csv(shared_file(data, "adult.csv")).rename(columns=names)


def _simulated(_: Path) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 30_000
    sex = (rng.random(n) < 0.5).astype(int)
    x = 0.4 * sex + rng.standard_normal(n)
    y = 0.6 * x - 0.5 * sex + rng.standard_normal(n)
    return pd.DataFrame({"x": x.clip(-3, 3), "y": y.clip(-3, 3), "sex": sex}).round(2)


def _number(low: float, high: float, decimals: int = 0, *, key: bool = False) -> dict[str, Any]:
    told = {"tolerance": (high - low) / 50} if key else {}
    return {"role": "replace", "kind": "continuous", "bounds": [low, high], "decimals": decimals, "key": key, **told}


_BINARY = {"role": "replace", "kind": "binary", "levels": [0, 1]}
FILES = {
    "fair": File(
        _fair,
        5000,
        {
            "rate_marriage": _number(1, 5),
            "age": _number(17, 43, 1, key=True),
            "yrs_married": _number(0, 24, 1, key=True),
            "affair": {**_BINARY, "key": False},
        },
        (
            {"name": "marriage", "model": "ols", "formula": "rate_marriage ~ age + yrs_married"},
            {"name": "affair", "model": "logit", "formula": "affair ~ rate_marriage + age + yrs_married"},
        ),
    ),
    "adult": File(
        _adult,
        20_000,
        {
            "age": _number(0, 84, key=True),
            "hours": _number(0, 98),
            "sex": {**_BINARY, "key": True},
            "rich": {**_BINARY, "key": False},
        },
        (
            {"name": "hours", "model": "ols", "formula": "hours ~ age + sex"},
            {"name": "rich", "model": "logit", "formula": "rich ~ age + hours + sex"},
        ),
    ),
    "simulated": File(
        _simulated,
        30_000,
        {"x": _number(-3, 3, 2, key=True), "y": _number(-3, 3, 2), "sex": {**_BINARY, "key": True}},
        ({"name": "y", "model": "ols", "formula": "y ~ x + sex"},),
    ),
}
