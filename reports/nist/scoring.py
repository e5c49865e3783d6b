"""The scores of NIST's Collaborative Research Cycle on its census extract, and records that cannot be.

Columns are text as in the file; ``N`` means not applicable.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.errors import InputError
from synthdp.evaluation.utility.classes import Classes
from synthdp.evaluation.utility.k_marginal import evaluate_k_marginal
from synthdp.table.coded import joint

AREA, NOT_APPLICABLE = "PUMA", "N"
SETS: Mapping[str, tuple[str, ...]] = {
    "demographic": ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"),
    "industry": ("PUMA", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "PINCP_DECILE"),
    "all": (
        "PUMA",
        "AGEP",
        "SEX",
        "MSP",
        "HISP",
        "RAC1P",
        "NOC",
        "NPF",
        "HOUSING_TYPE",
        "OWN_RENT",
        "DENSITY",
        "INDP",
        "INDP_CAT",
        "EDU",
        "PINCP",
        "PINCP_DECILE",
        "POVPIP",
        "DVET",
        "DREM",
        "DPHY",
        "DEYE",
        "DEAR",
        "PWGTP",
        "WGTP",
    ),
}
# cut into twentieths of the original; a code of its own is no number
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "AGEP": (),
    "PINCP": (NOT_APPLICABLE,),
    "POVPIP": (NOT_APPLICABLE, "501"),
    "PWGTP": (),
    "WGTP": (),
}
# too many codes to be in a table
UNTABLED = (AREA, "INDP")
BINS = 20
DENSITY_CUTS = np.asarray([150.0, *np.logspace(1, np.log10(52864.7 + 500), 21)[8:-1]])
# what stands for "not applicable" where a tree splits columns as numbers
PLACES: Mapping[str, int] = {"PINCP": 9_999_999, "POVPIP": 999}
DEPTH = 6


def extract(data: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of the census extract as text."""
    path = data / "nist" / "national2019.csv"
    if not path.exists():
        raise InputError(f"{path}: no such file; say where the shared data are with --data.")
    return spelled(pd.read_csv(path, dtype=str, keep_default_na=False)[list(columns)])


def spelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as text, whole numbers without a point and missing values as not applicable."""

    def text(column: pd.Series) -> pd.Series:
        found = column.astype(object).where(column.notna(), NOT_APPLICABLE).astype(str)
        return found if column.name == "DENSITY" else found.str.removesuffix(".0")

    return frame.apply(text)


def scores(original: pd.DataFrame, copy: pd.DataFrame) -> dict[str, float | None]:
    """Return all scores of a copy: k-marginal, subsample equivalent, unique exact matches, pMSE, impossible records."""
    found = k_marginal(original, copy)
    alone = unique(original)
    return {
        "k_marginal": found["value"],
        "subsample": found["subsample"],
        "bootstrap": found["bootstrap"],
        "uem": 100 * float(matched(original, copy)[alone].mean()),
        "pmse": pmse(original, copy),
        "impossible": 100 * float(impossible(copy).mean()),
    }


def k_marginal(original: pd.DataFrame, copy: pd.DataFrame) -> dict[str, Any]:
    """Return the k-marginal section of a copy, each table crossed with the area where there is one."""
    names = [name for name in original.columns if name not in UNTABLED or name == AREA]
    coded = [_codes(original[name], copy[name]) for name in names]
    files = tuple(tuple(codes[side] for codes in coded) for side in (0, 1))
    sizes = tuple(1 + int(max(a.max(), b.max())) for a, b in coded)
    classes = Classes(tuple(names), sizes, tuple(() for _ in names), files)
    by = AREA if AREA in names else None
    return evaluate_k_marginal(classes, by=by, rng=np.random.default_rng(0))


def _codes(original: pd.Series, copy: pd.Series) -> tuple[Codes, Codes]:
    """Return one column of both files as codes, numbers cut into bins."""
    name = str(original.name)
    if name in NUMBERS:
        apart = NUMBERS[name]
        values = pd.to_numeric(original.where(~original.isin(apart)))
        share = values.rank(pct=True)
        bins = np.where(share < 1, np.floor(BINS * share), BINS - 1)
        tops = values.groupby(bins).max().to_numpy()
        sides = [side.where(side.isin(apart), _bin(side, tops, apart)) for side in (original, copy)]
    elif name == "DENSITY":
        sides = [_bin(side, DENSITY_CUTS, ()) for side in (original, copy)]
    else:
        sides = [original, copy]
    codes = pd.factorize(pd.concat(sides).astype(str))[0].astype(np.int64)
    return codes[: len(original)], codes[len(original) :]


def _bin(column: pd.Series, tops: Floats, apart: Sequence[str]) -> pd.Series:
    values = pd.to_numeric(column.where(~column.isin(apart))).to_numpy()
    place = np.minimum(np.searchsorted(tops, values), len(tops) - 1)
    return pd.Series([f"bin {one}" for one in place], index=column.index)


def unique(frame: pd.DataFrame) -> Booleans:
    """Return which records nobody else in the file is like."""
    return np.asarray(~frame.duplicated(keep=False).to_numpy(), dtype=np.bool_)


def matched(original: pd.DataFrame, copy: pd.DataFrame) -> Booleans:
    """Return which records stand in a copy."""
    both = pd.concat([original, copy[list(original.columns)]], ignore_index=True)
    code = joint([pd.factorize(both[name])[0].astype(np.int64) for name in both.columns])
    return np.isin(code[: len(original)], code[len(original) :])


def pmse(original: pd.DataFrame, copy: pd.DataFrame) -> float:
    """Return how well a tree of depth 6 tells the files apart: the mean of (propensity − share of synthetic)²."""
    from sklearn.tree import DecisionTreeClassifier

    both = pd.concat([original, copy[list(original.columns)]], ignore_index=True)
    columns = [_numeric(both[name]) for name in both.columns]
    label = np.arange(len(both)) >= len(original)
    x = np.column_stack(columns)
    found = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(x, label).predict_proba(x)[:, 1]
    return float(((found - label.mean()) ** 2).mean())


def _numeric(column: pd.Series) -> Floats:
    if column.name == AREA:
        return pd.factorize(column, sort=True)[0].astype(np.float64)
    filled = column.where(column != NOT_APPLICABLE, str(PLACES.get(str(column.name), -1)))
    return pd.to_numeric(filled).to_numpy(dtype=np.float64)


def _age(frame: pd.DataFrame) -> Floats:
    return pd.to_numeric(frame["AGEP"]).to_numpy(dtype=np.float64)


def _absent(frame: pd.DataFrame, name: str) -> Booleans:
    return np.asarray(frame[name] == NOT_APPLICABLE, dtype=np.bool_)


def _school(frame: pd.DataFrame) -> Floats:
    return pd.to_numeric(frame["EDU"].where(frame["EDU"] != NOT_APPLICABLE, "0")).to_numpy(dtype=np.float64)


def _quarters(frame: pd.DataFrame) -> Booleans:
    return np.asarray(frame["HOUSING_TYPE"] != "1", dtype=np.bool_)


def _asked_from(name: str, age: int) -> Callable[[pd.DataFrame], Booleans]:
    return lambda frame: _absent(frame, name) ^ (_age(frame) < age)


# what the data dictionary says cannot be: the columns it takes, and who breaks it
RULES: Mapping[str, tuple[tuple[str, ...], Callable[[pd.DataFrame], Any]]] = {
    "marital status, if and only if 15 or older": (("AGEP", "MSP"), _asked_from("MSP", 15)),
    "income decile, if and only if 15 or older": (("AGEP", "PINCP_DECILE"), _asked_from("PINCP_DECILE", 15)),
    "income, if and only if 15 or older": (("AGEP", "PINCP"), _asked_from("PINCP", 15)),
    "schooling, if and only if 3 or older": (("AGEP", "EDU"), _asked_from("EDU", 3)),
    "cognitive difficulty, if and only if 5 or older": (("AGEP", "DREM"), _asked_from("DREM", 5)),
    "walking difficulty, if and only if 5 or older": (("AGEP", "DPHY"), _asked_from("DPHY", 5)),
    "an industry under 16": (("AGEP", "INDP_CAT"), lambda f: ~_absent(f, "INDP_CAT") & (_age(f) < 16)),
    "a veteran's disability under 17": (("AGEP", "DVET"), lambda f: ~_absent(f, "DVET") & (_age(f) < 17)),
    "a degree under 17": (("AGEP", "EDU"), lambda f: (_school(f) >= 8) & (_age(f) < 17)),
    "neither owner nor tenant, if and only if in group quarters": (
        ("HOUSING_TYPE", "OWN_RENT"),
        lambda f: _quarters(f) ^ (f["OWN_RENT"] == "0"),
    ),
    "own children in group quarters": (("HOUSING_TYPE", "NOC"), lambda f: _quarters(f) & ~_absent(f, "NOC")),
    "a family in group quarters": (("HOUSING_TYPE", "NPF"), lambda f: _quarters(f) & ~_absent(f, "NPF")),
    "a housing weight, if and only if in a housing unit": (
        ("HOUSING_TYPE", "WGTP"),
        lambda f: _quarters(f) ^ (f["WGTP"] == "0"),
    ),
    "marital status without an income decile, or the reverse": (
        ("MSP", "PINCP_DECILE"),
        lambda f: _absent(f, "MSP") ^ _absent(f, "PINCP_DECILE"),
    ),
    "too young for a marital status, with an industry": (
        ("MSP", "INDP_CAT"),
        lambda f: _absent(f, "MSP") & ~_absent(f, "INDP_CAT"),
    ),
    "too young for a marital status, with a diploma": (
        ("MSP", "EDU"),
        lambda f: _absent(f, "MSP") & (_school(f) >= 5),
    ),
    "an industry code without its category, or the reverse": (
        ("INDP", "INDP_CAT"),
        lambda f: _absent(f, "INDP") ^ _absent(f, "INDP_CAT"),
    ),
}


def impossible(frame: pd.DataFrame) -> Booleans:
    """Return which records break a rule, of those whose columns are there."""
    found = np.zeros(len(frame), dtype=np.bool_)
    for columns, breaks in RULES.values():
        if set(columns) <= set(frame.columns):
            found |= np.asarray(breaks(frame), dtype=np.bool_)
    return found


def leaderboard(data: Path) -> list[dict[str, Any]]:
    """Return what other tools' files score on this extract: the best submission of each family."""
    frame = pd.read_csv(data / "nist" / "leaderboard.csv")
    frame = frame[frame["dataset"] == "national2019"]
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records"))
    return rows
