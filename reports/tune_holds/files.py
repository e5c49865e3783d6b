"""Simulated files for tuning: three families of laws, every file with a law of its own within its family.

What varies from file to file: how strongly columns hang together (correlation with what people have in common from 0.1
to 0.9), how many clusters there are and how far apart, how skewed and how heaped numbers are, how many people stand
out, how rare the rarest level is. Three keys are replaced, three columns are kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

N = 300
KEY = {"role": "replace", "key": True}
NUMBER = {**KEY, "kind": "continuous", "bounds_from": "data"}
OTHER = {"key": False}


@dataclass(frozen=True)
class Law:
    """What one file's law has of its own."""

    related: float
    clusters: int
    apart: float
    outliers: int
    skewed: float
    rare: float
    heap: int

    @classmethod
    def of(cls, rng: np.random.Generator) -> "Law":
        """Draw a law."""
        return cls(
            related=float(rng.uniform(0.1, 0.9)),
            clusters=int(rng.integers(1, 4)),
            apart=float(rng.uniform(1.0, 3.0)),
            outliers=int(rng.choice([0, 0, 1, 3])),
            skewed=float(rng.uniform(0.3, 1.0)),
            rare=float(rng.uniform(0.05, 0.5)),
            heap=int(rng.choice([1, 5, 10])),
        )


def file_of(family: str, number: int, *, seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a file and what its config says of the columns."""
    rng = Streams(seed).generator("file", family, number)
    law = Law.of(rng)
    member = rng.integers(0, law.clusters, N)
    common = law.apart * (member - (law.clusters - 1) / 2) + rng.normal(size=N)
    common = (common - common.mean()) / common.std()

    def like(share: float = law.related) -> Floats:
        return np.asarray(share * common + np.sqrt(1 - share**2) * rng.normal(size=N))

    frame, variables = FAMILIES[family](law, like, rng)
    frame["score"] = like().round(2)
    frame["grade"] = np.digitize(like(), [-1.2, -0.4, 0.4, 1.2]) + 1
    frame["member"] = np.where(like() > 0.3, "yes", "no")
    return frame, variables | dict.fromkeys(("score", "grade", "member"), OTHER)


Like = Callable[..., Floats]
Made = tuple[pd.DataFrame, dict[str, Any]]


def people(law: Law, like: Like, rng: np.random.Generator) -> Made:
    """Return heaped ages, skewed incomes of which a few stand out, and sex."""
    age = np.clip(np.round((45 + 14 * like()) / law.heap) * law.heap, 18, 95)
    income = np.exp(10 + law.skewed * like())
    far = rng.choice(N, law.outliers, replace=False)
    income[far] = np.quantile(income, 0.98) * rng.uniform(2, 4, law.outliers)
    sex = np.where(like() > 0, "f", "m")
    frame = pd.DataFrame({"age": age, "income": np.round(income, -2), "sex": sex})
    return frame, {
        "age": {**NUMBER, "tolerance": 2, "decimals": 0},
        "income": {**NUMBER, "tolerance": 1000, "transform": "log", "decimals": 0},
        "sex": KEY,
    }


def clinic(law: Law, like: Like, rng: np.random.Generator) -> Made:
    """Return two measurements with clusters and outliers, one of them kept to many digits, and a nominal level."""
    weight = 75 + 12 * like()
    dose = 5 + 2 * like()
    far = rng.choice(N, law.outliers, replace=False)
    weight[far] += 12 * rng.uniform(3, 5, law.outliers)
    shares = np.array([0.5 - law.rare / 4, 0.3, 0.2 - law.rare / 4, law.rare / 2])
    unit = np.asarray(list("abcd"))[np.searchsorted(np.cumsum(shares / shares.sum())[:-1], _ranks(like()))]
    frame = pd.DataFrame({"weight": weight.round(1), "dose": dose.round(3), "unit": unit})
    return frame, {
        "weight": {**NUMBER, "tolerance": 2, "decimals": 1},
        "dose": {**NUMBER, "tolerance": 0.3, "decimals": 3},
        "unit": KEY,
    }


def survey(law: Law, like: Like, rng: np.random.Generator) -> Made:
    """Return skewed counts, a rare answer of two, and heaped hours, of which many work none."""
    visits = rng.poisson(np.exp(1 + law.skewed * like()))
    moved = np.where(_ranks(like()) < law.rare, "yes", "no")
    hours = np.clip(np.round((30 + 14 * like()) / law.heap) * law.heap, 0, 70)
    hours[like() < -0.8] = 0
    frame = pd.DataFrame({"visits": visits, "moved": moved, "hours": hours})
    return frame, {
        "visits": {**NUMBER, "tolerance": 1, "decimals": 0},
        "moved": KEY,
        "hours": {**NUMBER, "tolerance": 2, "decimals": 0},
    }


def _ranks(values: Floats) -> Floats:
    return np.asarray((np.argsort(np.argsort(values)) + 0.5) / len(values))


FAMILIES: Mapping[str, Callable[[Law, Like, np.random.Generator], Made]] = {
    "people": people,
    "clinic": clinic,
    "survey": survey,
}
