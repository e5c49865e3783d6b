"""The files and mechanisms of the gate's study: harmless ones, planted leaks, and masks of growing strength."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.datasets import anes96
from synthdp.datasets.bundled import registry
from synthdp.seeding import Streams
from synthdp.stages.draws import Mechanism
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan, Release

Frame = pd.DataFrame
N = 300
CENSUS = "nist/national2019.csv"
DEMOGRAPHIC = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
OPINIONS = ("vote", "TVnews", "selfLR", "ClinLR", "DoleLR", "PID")


@dataclass(frozen=True)
class Case:
    """One design of the study.

    Parameters
    ----------
    file
        Makes the file of a replication; every replication has its own unless the design is a real file.
    settings
        The config without ``data``.
    leaks
        Whether the mechanism gives people away: it must be refused, otherwise it must pass.
    mechanism
        Makes a mechanism of the settings' own one, where the leak is planted; None for the method itself.
    """

    name: str
    file: Callable[[np.random.Generator], Frame]
    settings: Mapping[str, Any]
    leaks: bool
    mechanism: Callable[[Any, np.random.Generator], Mechanism] | None = None


def number(key: bool = True, **more: Any) -> dict[str, Any]:
    """Return the settings of a number that is replaced."""
    return {"kind": "continuous", "role": "replace", "key": key, "bounds_from": "data", **more}


def gaussian(sd: float, *names: str) -> dict[str, Any]:
    """Return Gaussian masks of one strength."""
    return {name: {"method": "gaussian", "sd": sd} for name in names}


def people(rng: np.random.Generator, n: int = N) -> Frame:
    """Return people whose columns have nothing to do with each other."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["F", "M"], n),
            "income": np.round(rng.lognormal(10, 0.6, n)),
            "opinion": rng.integers(1, 8, n),
        }
    )


PEOPLE = {
    "age": number(tolerance=2),
    "sex": {"kind": "binary", "role": "replace", "key": True},
    # a bound of its own: from the data, log(1 + x - lowest) would make the poorest person an outlier
    "income": {"kind": "continuous", "role": "replace", "key": True, "bounds": [0, 10_000_000], "transform": "log"},
    "opinion": {"kind": "ordinal", "key": False},
}
SEX = {"sex": {"method": "transition", "keep": 0.6}}


def fine(rng: np.random.Generator) -> Frame:
    """Return four measurements to many digits, of which one is kept."""
    z = rng.normal(size=N)
    x = 0.3 * z[:, None] + rng.normal(size=(N, 3))
    return pd.DataFrame({"z": z, "a": x[:, 0], "b": x[:, 1], "c": np.exp(x[:, 2])})


def counts(rng: np.random.Generator) -> Frame:
    """Return skewed counts and levels with gaps in what is kept."""
    kept = np.where(rng.random(N) < 0.1, np.nan, rng.integers(1, 6, N))
    rate = np.exp(0.2 * np.nan_to_num(kept, nan=3.0))
    visits = rng.negative_binomial(2, 2 / (2 + rate))
    region = rng.choice(list("NSEW"), N, p=(0.4, 0.3, 0.2, 0.1))
    return pd.DataFrame({"health": kept, "visits": visits, "region": region, "weight": rng.normal(75, 12, N).round(1)})


def voters(_: np.random.Generator) -> Frame:
    """Return the demo's voters."""
    return anes96().drop(columns="logpopul")


def voters_settings(sd: float) -> dict[str, Any]:
    """Return the voters' config with one mask strength for all."""
    names = ("age", "educ", "income", "popul")
    variables: dict[str, Any] = {
        "age": number(tolerance=3, decimals=0),
        "educ": number(tolerance=0.5, decimals=0),
        "income": number(tolerance=1, decimals=0),
        "popul": number(key=False, transform="log", decimals=0),
        **{name: {"key": False} for name in OPINIONS},
    }
    return {"variables": variables, "masks": gaussian(sd, *names)}


def patients(rng: np.random.Generator) -> Frame:
    """Return a simulated registry."""
    return registry(n=N, rng=rng)


def patients_settings(sd: float) -> dict[str, Any]:
    """Return the registry's config with one mask strength; what the clinic measured is nobody's to know."""
    variables: dict[str, Any] = {
        **{name: {"key": False} for name in registry(20, rng=np.random.default_rng(0)).columns},
        "age": number(tolerance=2),
        "disease_duration": number(tolerance=1),
        "sex": {"kind": "binary", "role": "replace", "key": True},
    }
    masks = {**gaussian(sd, "age", "disease_duration"), "sex": {"method": "shifted_normal", "alpha": 1 / sd}}
    return {"variables": variables, "masks": masks, "release": {"max_attribute_gain": None}}


def outliers(rng: np.random.Generator) -> Frame:
    """Return 1,000 people of whom three are very rich."""
    frame = people(rng, 1000).astype({"income": float})
    frame.loc[rng.choice(1000, 3, replace=False), "income"] = [2e6, 4e6, 8e6]
    return frame


def pareto(rng: np.random.Generator) -> Frame:
    """Return people with incomes whose variance does not exist."""
    return people(rng).assign(income=np.round(20_000 * (1 + rng.pareto(1.1, N))))


def lonely(rng: np.random.Generator) -> Frame:
    """Return people of whom ten are alone with a kept key."""
    towns = np.asarray([f"T{k:02}" for k in range(10)])
    town = np.concatenate([rng.choice(["A", "B", "C"], N - 10), towns])
    return people(rng).assign(town=rng.permutation(town))


def correlated(keys: int) -> Callable[[np.random.Generator], Frame]:
    """Return a maker of files with so many keys that have one thing in common."""

    def file(rng: np.random.Generator) -> Frame:
        common = rng.normal(size=(N, 1))
        x = 0.8 * common + 0.6 * rng.normal(size=(N, keys))
        z = common[:, 0] + 0.5 * rng.normal(size=N)
        return pd.DataFrame({"z": z, **{f"x{k}": x[:, k] for k in range(keys)}})

    return file


def census(data: Path, records: int = 3000) -> Callable[[np.random.Generator], Frame]:
    """Return a maker of samples of the census extract."""

    def file(rng: np.random.Generator) -> Frame:
        whole = pd.read_csv(data / CENSUS, usecols=list(DEMOGRAPHIC), dtype=str)
        some = whole.iloc[np.sort(rng.choice(len(whole), records, replace=False))].reset_index(drop=True)
        return some.assign(AGEP=some["AGEP"].astype(int))

    return file


def with_noise(draw: Callable[[np.random.Generator, int], Any]) -> Callable[[Any, np.random.Generator], Mechanism]:
    """Return a mechanism that adds noise, in sds, to the true numbers, and releases levels as they are."""

    def plant(config: Any, _: np.random.Generator) -> Mechanism:
        def mechanism(plan: Plan, streams: Streams) -> Release:
            made = make(config.synthesis, plan, streams=streams)
            copies = []
            for place, copy in enumerate(made.copies):
                rng = streams.generator("planted", place)
                frame = copy.copy()
                for column in plan.data.schema.replaced():
                    true = plan.data.frame[column.name]
                    if column.kind.categorical:
                        frame[column.name] = true
                    else:
                        noise = draw(rng, len(true)) * float(true.std())
                        frame[column.name] = (
                            (true + noise).clip(*(column.bounds or (None, None))).round(column.decimals or 0)
                        )
                copies.append(frame)
            return replace(made, copies=tuple(copies))

        return mechanism

    return plant


def shell(rng: np.random.Generator, n: int) -> Any:
    """Return noise that is never small: just outside what a matching intruder looks at, and known to be so."""
    return rng.choice([-1.0, 1.0], n) * rng.uniform(0.12, 0.16, n)


def verbatim(config: Any, rng: np.random.Generator) -> Mechanism:
    """Return a mechanism that copies three records over, the same in every draw and copy."""
    chosen: dict[int, Any] = {}

    def mechanism(plan: Plan, streams: Streams) -> Release:
        made = make(config.synthesis, plan, streams=streams)
        n = len(plan.data)
        rows = chosen.setdefault(n, rng.choice(n, 3, replace=False))
        names = [column.name for column in plan.data.schema.replaced()]
        copies = []
        for copy in made.copies:
            frame = copy.copy()
            for name in names:
                frame[name] = frame[name].where(~frame.index.isin(rows), plan.data.frame[name])
            copies.append(frame)
        return replace(made, copies=tuple(copies))

    return mechanism


def coarse(rng: np.random.Generator) -> Frame:
    """Return people with an age in tens of years and two answers, and one measurement that is kept."""
    return pd.DataFrame(
        {
            "age": rng.integers(2, 9, N) * 10,
            "smoker": rng.choice(["no", "yes"], N),
            "owner": rng.choice(["no", "yes"], N),
            "score": rng.normal(size=N).round(2),
        }
    )


COARSE = {
    "age": number(decimals=0),
    "smoker": {"kind": "binary", "role": "replace", "key": True},
    "owner": {"kind": "binary", "role": "replace", "key": True},
    "score": {"key": False},
}


def cases(data: Path) -> dict[str, Case]:
    """Return every case by name; ``data`` is the folder of the shared data sets."""
    wide = {**gaussian(3.0, "age", "income"), **SEX}
    people_wide = {"variables": PEOPLE, "masks": wide}
    fine_columns = {
        **{name: number() for name in "ab"},
        "c": number(bounds_from=None, bounds=[0, 1000], transform="log"),
        "z": {"key": False},
    }
    count_columns = {
        "visits": {"kind": "count", "role": "replace", "key": True, "topcode": 5},
        "region": {"kind": "nominal", "role": "replace", "key": True},
        "weight": number(decimals=1),
        "health": {"kind": "ordinal", "key": False},
    }
    count_masks = {**gaussian(3.0, "visits", "weight"), "region": {"method": "transition", "keep": 0.4}}
    found = [
        Case("independent keys, mi", people, {"variables": PEOPLE, "synthesis": {"method": "mi"}}, False),
        Case("independent keys, wide masks", people, people_wide, False),
        Case("voters, sd 3", voters, voters_settings(3.0), False),
        Case("registry, sd 5", patients, patients_settings(5.0), False),
        Case("fine measurements", fine, {"variables": fine_columns, "masks": gaussian(3.0, *"abc")}, False),
        Case("counts, levels and gaps", counts, {"variables": count_columns, "masks": count_masks}, False),
        Case("three outliers, sd 2", outliers, _outliers(2.0), True),
        Case("Pareto incomes, sd 2", pareto, _outliers(2.0), True),
        Case("alone with a kept key", lonely, _lonely(), True),
        Case("1% noise", people, people_wide, True, with_noise(lambda rng, n: 0.01 * rng.normal(size=n))),
        Case("shell noise", people, people_wide, True, with_noise(shell)),
        Case("verbatim, fine", fine, {"variables": fine_columns, "masks": gaussian(3.0, *"abc")}, True, verbatim),
        Case("verbatim, coarse", coarse, _coarse(), True, verbatim),
        Case("donors under mi", people, _donors(), True),
        Case("6 correlated keys", correlated(6), _correlated(6), True),
        Case("8 correlated keys", correlated(8), _correlated(8), True),
        Case("census, CART", census(data), _census(), True),
    ]
    return {case.name: case for case in found}


def _outliers(sd: float) -> dict[str, Any]:
    return {"variables": PEOPLE | {"income": number()}, "masks": {**gaussian(sd, "age", "income"), **SEX}}


def _lonely() -> dict[str, Any]:
    return {
        "variables": PEOPLE | {"town": {"kind": "nominal", "key": True}},
        "masks": {**gaussian(3.0, "age", "income"), **SEX},
    }


def _coarse() -> dict[str, Any]:
    levels = {name: {"method": "transition", "keep": 0.6} for name in ("smoker", "owner")}
    return {"variables": COARSE, "masks": {**gaussian(3.0, "age"), **levels}}


def _donors() -> dict[str, Any]:
    return {"variables": PEOPLE, "synthesis": {"method": "mi", "model": {"method": "cart", "smoothing": False}}}


def _correlated(keys: int) -> dict[str, Any]:
    names = [f"x{k}" for k in range(keys)]
    return {
        "variables": {**{name: number() for name in names}, "z": {"key": False}},
        "masks": gaussian(0.8, *names),
    }


def _census() -> dict[str, Any]:
    variables: dict[str, Any] = {
        name: {"kind": "nominal", "role": "replace", "key": True} for name in DEMOGRAPHIC if name != "AGEP"
    }
    variables["AGEP"] = {"kind": "count", "role": "replace", "key": True}
    return {"variables": variables, "synthesis": {"method": "sequential", "model": {"method": "cart"}}}
