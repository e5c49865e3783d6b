"""The axes of the map: which measures, which way is better, who has them, and whom nobody beats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Floats
from synthdp.errors import InputError
from synthdp.evaluation.measures import RISK, UTILITY

Side = Literal["risk", "utility"]

# the first that most methods have is the axis, where nobody asks for another
RISKS = (
    "linkage.risk",
    "linkage.attack",
    "attribute.gain",
    "singling.risk",
    "membership_shadow.auc",
    "memorised.difference",
    "membership.auc",
    "linkability.risk",
    "linkability.attack",
    "inference.risk",
)
UTILITIES = ("analyses.overlap", "panel.mean", "pmse.ratio", "k_marginal.value", "tables.s_pmse", "truth.coverage")
# of these less is better; of other measures of usefulness, more
LESS = ("pmse.value", "pmse.ratio", "tables.s_pmse", "tables.worst", "truth.rmse", "truth.width", "truth.bias")
NO_AXIS = ("analyses.estimate", "analyses.original", "analyses.std_diff")


@dataclass(frozen=True)
class Axis:
    """One axis: a measure, one target of it or all, and whether less is better.

    Over ``several`` targets a risk counts at its largest, and usefulness on average.
    """

    name: str
    measure: str
    target: str | None
    less: bool
    side: Side
    several: bool = False

    @property
    def title(self) -> str:
        """What stands at the axis."""
        return self.name if self.name else f"(no measure of {self.side})"

    @property
    def words(self) -> str:
        """Which way is better, and what became of several targets."""
        over = "" if not self.several else " · worst target" if self.side == "risk" else " · mean over targets"
        return f"{self.title}{over} ({'less' if self.less else 'more'} is better)"


def side_of(measure: str) -> Side | None:
    """Return whether a measure is one of risk or of usefulness; None for the user's own, which may be either."""
    name = measure.split(".")[0]
    return "risk" if name in RISK else "utility" if name in UTILITY or name == "truth" else None


def axes_of(lines: pd.DataFrame, methods: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the measures that may be axes, best choice first: those that most methods have, then in our order."""
    known = lines[lines["value"].notna() & lines["method"].isin(list(methods))]
    having = known.groupby("measure")["method"].nunique().to_dict()
    names = [str(name) for name in dict.fromkeys(known["measure"]) if name not in NO_AXIS]

    def ordered(side: Side, first: Sequence[str]) -> list[str]:
        mine = [name for name in names if side_of(name) in (side, None)]
        place = {name: number for number, name in enumerate(first)}
        return sorted(mine, key=lambda name: (-having[name], place.get(name, len(first)), names.index(name)))

    return ordered("risk", RISKS), ordered("utility", UTILITIES)


def axis_of(lines: pd.DataFrame, asked: str | None, usable: Sequence[str], *, side: Side) -> Axis:
    """Return an axis by name, ``measure`` or ``measure: target``; by default the best choice."""
    if asked is not None and not isinstance(asked, str):
        raise InputError(f"{side}: must be the name of a measure, found {type(asked).__name__}.")
    name = next(iter(usable), "") if asked is None else asked
    measure, _, target = name.partition(": ")
    chosen = target if target else None
    here = lines[lines["measure"] == measure]
    several = chosen is None and here.loc[here["value"].notna(), "target"].nunique() > 1
    if asked is None:
        return Axis(name, measure, None, side == "risk" or measure in LESS, side, several)
    if here.empty or (chosen is not None and not (here["target"] == chosen).any()):
        raise InputError(f"{side}: the table has no measure {asked!r}; it has {', '.join(usable) or 'none'}.")
    return Axis(asked, measure, chosen, side == "risk" or measure in LESS, side, several)


def values_on(lines: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Return an axis' value per method and seed: over targets the largest risk, the mean of usefulness."""
    here = lines[(lines["measure"] == axis.measure) & lines["value"].notna()]
    if axis.target is not None:
        here = here[here["target"] == axis.target]
    # files have no seed, and a group without a key would be dropped
    grouped = here.assign(seed=here["seed"].fillna(-1)).groupby(["method", "seed"])["value"]
    return (grouped.max() if axis.side == "risk" else grouped.mean()).reset_index()


def points(lines: pd.DataFrame, methods: Sequence[str], risk: Axis, utility: Axis) -> pd.DataFrame:
    """Return per method the means over seeds, the smallest and largest value, whether it is on the front, and why not.

    A method that lacks one of the two has no place on the map, and its ``reason`` says why.
    """
    rows = []
    for method in methods:
        row: dict[str, object] = {"method": method}
        why = ""
        for axis in (risk, utility):
            found = values_on(lines[lines["method"] == method], axis)["value"].to_numpy(dtype=np.float64)
            row[axis.side] = found.mean() if len(found) else np.nan
            row[f"{axis.side}_low"] = found.min() if len(found) else np.nan
            row[f"{axis.side}_high"] = found.max() if len(found) else np.nan
            why = why or ("" if len(found) else _why(lines, method, axis))
        rows.append(row | {"reason": why})
    frame = pd.DataFrame(rows)
    front = undominated(
        frame["risk"].to_numpy(dtype=np.float64) * (1 if risk.less else -1),
        frame["utility"].to_numpy(dtype=np.float64) * (1 if utility.less else -1),
    )
    frame.insert(len(frame.columns) - 1, "front", front)
    return frame


def _why(lines: pd.DataFrame, method: str, axis: Axis) -> str:
    base = axis.measure.split(".")[0]
    mine = lines[(lines["method"] == method) & lines["measure"].str.split(".").str[0].eq(base)]
    said = [str(one) for one in mine["reason"] if one]
    return f"{axis.title}: {said[0] if said else 'not measured'}"


def rows_of(frame: pd.DataFrame) -> list[Any]:
    """Return the rows as named tuples, whose fields are the columns."""
    return list(frame.itertuples())


def undominated(first: Floats, second: Floats) -> Booleans:
    """Return which points no other one beats, of two costs: as low in both, and lower in one.

    Examples
    --------
    >>> undominated(np.array([1.0, 2.0, 2.0, np.nan]), np.array([2.0, 1.0, 3.0, 0.0])).tolist()
    [True, True, False, False]
    """
    known = np.isfinite(first) & np.isfinite(second)
    beaten = [
        bool(np.any(known & (first <= a) & (second <= b) & ((first < a) | (second < b))))
        for a, b in zip(first, second, strict=True)
    ]
    return np.asarray(known & ~np.array(beaten, dtype=np.bool_), dtype=np.bool_)
