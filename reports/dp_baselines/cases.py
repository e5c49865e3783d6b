"""The files, analyses and methods that the study of DP baselines compares.

``fair``: 7 columns of the survey in Redbook 1974 that comes with statsmodels, all with few levels. ``adult``: 8 columns
of UCI Adult (integer codes) from the shared data, three of them numbers. Levels and bounds are those of the codebooks.
Every column is replaced, as DP needs it, by the other methods too. Some records are held out: nobody synthesises them,
and what an intruder learns of them is the baseline of the attribute gain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.study import shared_file

EPSILONS = (0.1, 1.0, 5.0)
DELTA = 1e-6
COPIES = 5
RECORDS = {"fair": 5000, "adult": 10_000}
HELD_OUT = {"fair": 1366, "adult": 10_000}


@dataclass(frozen=True)
class File:
    """One data set: how it is read, what is declared of it, and what analysts and intruders do with it.

    ``coarse`` are the bins of methods that hold the whole table, ``fine`` those of the others; both without a look at
    the data.
    """

    name: str
    read: Callable[[Path], pd.DataFrame]
    variables: dict[str, dict[str, Any]]
    analyses: tuple[dict[str, str], ...]
    target: str
    coarse: dict[str, int]
    fine: dict[str, int]

    def split(self, data: Path, *, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the records that are synthesised and those held out: a random choice."""
        frame = self.read(data)
        order = rng.permutation(len(frame))
        used, out = RECORDS[self.name], HELD_OUT[self.name]
        chosen = frame.iloc[order[: used + out]].reset_index(drop=True)
        return chosen.iloc[:used], chosen.iloc[used:].reset_index(drop=True)


@dataclass(frozen=True)
class Method:
    """One line of the comparison; ``private`` ones are run at every ε."""

    name: str
    settings: dict[str, Any]
    private: bool = True
    bins: str = "coarse"

    def synthesis(self, file: File, epsilon: float | None) -> dict[str, Any]:
        """Return the synthesis block of the config."""
        if not self.private:
            tree = {"bins_by": file.fine} if self.settings["method"] == "dp_mst" else {}
            return {"copies": COPIES, **tree, **self.settings}
        bins = {"bins_by": file.coarse if self.bins == "coarse" else file.fine}
        several = {} if self.settings["method"] == "local_noise" else {"copies": COPIES}
        return {"epsilon": epsilon, "source": "simulated", **bins, **several, **self.settings}


def _fair(_: Path) -> pd.DataFrame:
    from statsmodels.datasets import fair

    frame: pd.DataFrame = fair.load_pandas().data
    frame["affair"] = (frame["affairs"] > 0).astype(int)
    return frame[list(FAIR)]


def _adult(data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_file(data, "adult.csv"))[list(ADULT_NAMES)].rename(columns=ADULT_NAMES)


def _levels(*values: float, key: bool = False, kind: str = "ordinal") -> dict[str, Any]:
    return {"role": "replace", "key": key, "kind": kind, "levels": list(values)}


def _codes(size: int, *, key: bool = False) -> dict[str, Any]:
    return _levels(*range(size), key=key, kind="nominal" if size > 2 else "binary")


def _number(low: int, high: int, *, key: bool = False, tolerance: float = 0.5) -> dict[str, Any]:
    told = {"tolerance": tolerance} if key else {}
    return {"role": "replace", "key": key, "kind": "continuous", "bounds": [low, high], "decimals": 0, **told}


FAIR = {
    "rate_marriage": _levels(1.0, 2.0, 3.0, 4.0, 5.0),
    "age": _levels(17.5, 22.0, 27.0, 32.0, 37.0, 42.0, key=True),
    "yrs_married": _levels(0.5, 2.5, 6.0, 9.0, 13.0, 16.5, 23.0, key=True),
    "children": _levels(0.0, 1.0, 2.0, 3.0, 4.0, 5.5, key=True),
    "religious": _levels(1.0, 2.0, 3.0, 4.0),
    "educ": _levels(9.0, 12.0, 14.0, 16.0, 17.0, 20.0, key=True),
    "affair": _codes(2),
}
ADULT_NAMES = {
    "age": "age",
    "education-num": "educ",
    "marital-status": "marital",
    "relationship": "relationship",
    "race": "race",
    "sex": "sex",
    "hours-per-week": "hours",
    "income>50K": "rich",
}
ADULT = {
    "age": _number(0, 84, key=True, tolerance=1.0),
    "educ": _number(0, 15),
    "marital": _codes(7, key=True),
    "relationship": _codes(6),
    "race": _codes(5, key=True),
    "sex": _codes(2, key=True),
    "hours": _number(0, 98),
    "rich": _codes(2),
}
FILES = (
    File(
        "fair",
        _fair,
        FAIR,
        (
            {
                "name": "affair",
                "model": "logit",
                "formula": "affair ~ rate_marriage + age + yrs_married + children + religious + educ",
            },
            {
                "name": "marriage",
                "model": "ols",
                "formula": "rate_marriage ~ age + yrs_married + children + religious + educ",
            },
        ),
        "affair",
        {},
        {},
    ),
    File(
        "adult",
        _adult,
        ADULT,
        (
            {"name": "rich", "model": "logit", "formula": "rich ~ age + educ + hours + C(sex) + C(race)"},
            {"name": "hours", "model": "ols", "formula": "hours ~ age + educ + C(sex) + C(rich) + C(relationship)"},
        ),
        "rich",
        {"age": 6, "educ": 6, "hours": 3},
        {"age": 85, "educ": 16, "hours": 99},
    ),
)
TREE = "tree without noise"
"""MST with so much budget that nothing but the tree itself is lost: a diagnosis, no method."""
METHODS = (
    Method("dp_histogram", {"method": "dp_histogram"}),
    Method("dp_sparse_histogram", {"method": "dp_sparse_histogram"}),
    Method("dp_exponential", {"method": "dp_exponential"}),
    Method("dp_margins", {"method": "dp_margins"}, bins="fine"),
    Method("local_noise", {"method": "local_noise"}, bins="fine"),
    Method("dp_mst", {"method": "dp_mst", "delta": DELTA}, bins="fine"),
    Method("dp_mst, δ = 0", {"method": "dp_mst"}, bins="fine"),
    Method(TREE, {"method": "dp_mst", "delta": DELTA, "epsilon": 1e4, "source": "simulated"}, private=False),
    Method("DA-MI", {"method": "da_mi"}, private=False),
    Method("MI", {"method": "mi"}, private=False),
    Method("CART", {"method": "sequential", "model": {"method": "cart"}}, private=False),
)
MASK_SD = 0.7
MASK_KEEP = 0.7


def masks(file: File) -> dict[str, Any]:
    """Return the masks of DA-MI: medium ones on every column."""
    return {
        name: {"method": "gaussian", "sd": MASK_SD}
        if declared["kind"] == "continuous"
        else {"method": "transition", "keep": MASK_KEEP}
        for name, declared in file.variables.items()
    }
