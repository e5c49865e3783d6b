"""What a comparison came to: one tidy table, one map of risk against usefulness, and the methods nobody beats."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from synthdp.comparing.axes import Axis, axes_of, axis_of, points
from synthdp.errors import InputError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLUMNS = ("method", "seed", "measure", "target", "value", "low", "high", "seconds", "memory", "reason")

HEADING = 56


@dataclass(frozen=True, repr=False)
class Plots:
    """The pictures of a comparison, as plotly figures."""

    of: "MethodMap"

    def map(self, risk: str | None = None, utility: str | None = None) -> "Figure":
        """Return the map: risk to the right, usefulness upwards, bars from the smallest to the largest seed.

        Parameters
        ----------
        risk, utility
            Measures of the table, such as ``linkage.attack`` and ``panel.mean``; one target of theirs with a colon,
            ``attribute.gain: income``. By default those that most methods have.
        """
        from plotly.graph_objects import Figure

        from synthdp.comparing.drawing import drawn_map

        found = drawn_map(self.of.lines, self.of.methods, *self.of.axes(risk, utility))
        # the page has its heading above the map, a figure on its own needs room for it
        room = {"height": found.height + HEADING, "margin": found.layout["margin"] | {"t": HEADING}}
        return Figure(data=found.data, layout=found.layout | room | {"title": {"text": found.title}})


@dataclass(frozen=True, repr=False)
class MethodMap:
    """Several methods on one risk–utility map.

    Parameters
    ----------
    lines
        The tidy table: one line per method, seed, measure and target, with the reason where there is no value.
    methods
        The names, in the order in which they were given.
    seeds
        The seeds of methods that draw.
    cautions
        What the command line would warn of, each sentence with the method it is about.
    records
        How many the original has.
    title
        Of the report.
    """

    lines: pd.DataFrame
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    cautions: tuple[str, ...] = ()
    records: int = 0
    title: str = field(default="Comparison of methods")

    def __repr__(self) -> str:
        return f"MethodMap({len(self.methods)} methods x {len(self.seeds)} seeds, {len(self.lines)} lines)"

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[str]:
        return iter(self.methods)

    def __getitem__(self, method: str) -> pd.DataFrame:
        if method not in self.methods:
            raise InputError(f"no method is called {method!r}; there are {', '.join(self.methods)}.")
        return self.lines[self.lines["method"] == method].reset_index(drop=True)

    @property
    def plot(self) -> Plots:
        """The pictures: ``plot.map()``."""
        return Plots(self)

    def table(self) -> pd.DataFrame:
        """Return the tidy table.

        Columns: method, seed, measure, target, value, low, high, seconds, memory, reason. Seconds and megabytes are
        those of making the copies. Files have no seed; bias, coverage and so on are over all seeds.
        """
        return self.lines.copy()

    def summary(self) -> pd.DataFrame:
        """Return the mean over seeds of every measure and target, and the smallest and largest seed's value."""
        keys = ["method", "measure", "target"]
        grouped = self.lines.groupby(keys, sort=False)
        found = grouped["value"].agg(value="mean", smallest="min", largest="max", seeds="count").reset_index()
        said = self.lines[self.lines["value"].isna()].groupby(keys, sort=False)["reason"].first().rename("reason")
        return found.merge(said.reset_index(), on=keys, how="left").fillna({"reason": ""})

    def measures(self) -> tuple[str, ...]:
        """Return the measures of the table, which may be axes of the map."""
        return tuple(dict.fromkeys(self.lines["measure"]))

    def axes(self, risk: str | None = None, utility: str | None = None) -> tuple[Axis, Axis]:
        """Return the axes of the map: as asked for, or those that most methods have."""
        risks, utilities = axes_of(self.lines, self.methods)
        return (
            axis_of(self.lines, risk, risks, side="risk"),
            axis_of(self.lines, utility, utilities, side="utility"),
        )

    def points(self, risk: str | None = None, utility: str | None = None) -> pd.DataFrame:
        """Return what the map shows: per method risk and utility, their ranges over seeds, and who is on the front."""
        return points(self.lines, self.methods, *self.axes(risk, utility))

    def front(self, risk: str | None = None, utility: str | None = None) -> tuple[str, ...]:
        """Return the methods that no other one beats in both: the Pareto front, from the least risk upwards."""
        found = self.points(risk, utility)
        return tuple(found[found["front"]].sort_values("risk")["method"])

    def _repr_html_(self) -> str:
        risk, utility = self.axes()
        shown = self.points().drop(columns="front").rename(columns={"risk": risk.title, "utility": utility.title})
        return f"<p>{self!r}</p>{shown.to_html(index=False, float_format='{:.4g}'.format, na_rep='')}"

    def section(self) -> dict[str, Any]:
        """Return comparison.json: methods, axes, points, front, means over seeds, cautions."""
        risk, utility = self.axes()
        return {
            "version": 1,
            "methods": list(self.methods),
            "seeds": len(self.seeds),
            "axes": {"risk": risk.name, "utility": utility.name},
            "points": _plain(self.points()),
            "front": list(self.front()),
            "summary": _plain(self.summary()),
            "cautions": list(self.cautions),
        }


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as JSON holds them: a number that is none is null."""
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=12))
    return rows


def table_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as the tidy table, its columns in their order."""
    frame = pd.DataFrame([{"reason": "", **row} for row in rows], columns=list(COLUMNS))
    numbers = ["value", "low", "high", "seconds", "memory"]
    frame[numbers] = frame[numbers].astype("float64")
    return frame.assign(seed=frame["seed"].astype("Int64"))
