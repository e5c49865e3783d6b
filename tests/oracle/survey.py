"""The made-up survey that every case of the oracle is about: the same values wherever it is made."""

from pathlib import Path

import numpy as np
import pandas as pd

SEED = 20_260_916


def survey(n: int = 160, *, seed: int = SEED) -> pd.DataFrame:
    """Return n people of all kinds of columns; questions that were not asked and answers that are missing are gaps."""
    rng = np.random.default_rng(seed)
    age = rng.integers(19, 88, n)
    sex = rng.choice(["F", "M"], n)
    region = rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    educ = np.clip(rng.integers(0, 3, n) + (age < 40) * rng.integers(0, 2, n), 0, 2)
    employed = rng.random(n) < 1 / (1 + np.exp(0.06 * (age - 60)))
    income = np.where(employed, np.round(np.exp(7 + 0.3 * educ + 0.4 * rng.standard_normal(n)), 0), 0.0)
    hours = np.where(employed, np.clip(np.round(38 + 6 * rng.standard_normal(n)), 5, 70), np.nan)
    household = np.sort(rng.integers(1, 61, n))
    score = np.round(50 + 0.2 * age + 5 * educ + 8 * rng.standard_normal(n), 1)
    smoke = rng.choice(["no", "yes"], n, p=[0.7, 0.3]).astype(object)
    weight = np.round(rng.uniform(0.5, 2.0, n), 3)
    frame = pd.DataFrame(
        {
            "name": [f"person {i:03d} of {int(x)}" for i, x in enumerate(rng.integers(0, 10**6, n))],
            "age": age,
            "sex": sex,
            "region": region,
            "educ": np.array(["low", "mid", "high"])[educ],
            "employed": np.where(employed, "YES", "NO"),
            "income": income,
            "hours": hours,
            "kids": rng.poisson(0.5 + 0.02 * age, n),
            "married": np.floor(rng.uniform(0, 1, n) * (age - 18)).astype(int),
            "seen": pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "score": np.where(rng.random(n) < 0.1, np.nan, score),
            "smoke": np.where(rng.random(n) < 0.08, None, smoke),
            "time": np.round(rng.exponential(20 + 0.1 * age, n) + 0.1, 2),
            "died": rng.integers(0, 2, n),
            "agegr": np.searchsorted([30, 45, 60], age, side="right"),
            "w": weight,
            "stratum": np.where(household % 2 == 0, "even", "odd"),
            "household": household,
        }
    )
    for number in range(1, 5):
        frame[f"rw{number}"] = np.round(weight * rng.choice([0.5, 1.5], n), 4)
    return frame


def write(folder: Path) -> None:
    """Write the files that configs and commands name into a folder, with tools other than synthdp's own."""
    people = survey()
    dated = people.assign(seen=people["seen"].dt.strftime("%Y-%m-%d"))
    dated.to_csv(folder / "survey.csv", index=False, lineterminator="\n")
    dated.head(80).to_csv(folder / "few.csv", index=False, lineterminator="\n")
    others = survey(120, seed=SEED + 1)
    others.assign(seen=others["seen"].dt.strftime("%Y-%m-%d")).to_csv(folder / "holdout.csv", index=False)
    coded = people.assign(
        seen=people["seen"].dt.strftime("%d.%m.%Y"),
        score=people["score"].fillna(-8.0),
        region=people["region"].replace({"north": "+north", "west": "Wörth"}),
    )
    coded.to_csv(folder / "survey.txt", sep=";", decimal=",", encoding="iso-8859-1", lineterminator="\n")
    people.to_parquet(folder / "survey.parquet", index=False)
    for number in (1, 2, 3):
        rng = np.random.default_rng(SEED + number)
        other = dated.drop(columns="name").copy()
        other["age"] = np.clip(other["age"] + rng.integers(-6, 7, len(other)), 19, 87)
        other["agegr"] = np.searchsorted([30, 45, 60], other["age"], side="right")
        other["sex"] = rng.permutation(other["sex"].to_numpy())
        other["income"] = np.where(
            other["income"] > 0, np.round(other["income"] * rng.uniform(0.8, 1.2, len(other))), 0
        )
        other.to_csv(folder / f"other_{number}.csv", index=False, lineterminator="\n")
        order = rng.permutation(len(other))
        other.iloc[order].to_csv(folder / f"shuffled_{number}.csv", index=False, lineterminator="\n")
        orders = {f"shuffled_{number}.csv": order}
        path = folder / "orders.csv"
        known = pd.read_csv(path) if number > 1 else pd.DataFrame(index=range(len(other)))
        known.assign(**orders).to_csv(path, index=False, lineterminator="\n")
