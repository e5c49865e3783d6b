"""The method fitted to files made of some records, and of parts of others, for ``membership_shadow``.

What is learnt from the records is learnt anew: risk groups, bounds that were taken from the data, the model. Levels
stay as they are in the codebook, also where no record of a fit has one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import violated
from synthdp.synthesis.making import finish, make, visible
from synthdp.synthesis.plan import Method, Plan
from synthdp.table import applies
from synthdp.table.derived import recompute
from synthdp.table.microdata import Codes, Microdata, numbers
from synthdp.table.schema import Column, Role, Schema
from synthdp.tagging.groups import Neighbours, Rules, tag

Maker = Callable[[pd.DataFrame, np.random.Generator], Sequence[pd.DataFrame]]


@dataclass(frozen=True, repr=False)
class PlanShadows:
    """Fits a synthesizer to some records of a plan: what ``evaluate_shadow`` asks for.

    Parameters
    ----------
    method
        The synthesizer, its number of copies included: ``method.model_copy(update={"copies": 1})`` is quicker, and
        finds less where every copy says something new of a record.
    plan
        What the release is made from.
    groups
        How its records were put into risk groups.
    """

    method: Method
    plan: Plan
    groups: Neighbours | Rules | None = None

    def __repr__(self) -> str:
        return f"PlanShadows({type(self.method).__name__}, {len(self.plan.data)} records)"

    def __call__(self, rows: Codes, donors: Codes, *, rng: np.random.Generator) -> tuple[pd.DataFrame, ...]:
        """Return the copies of a file made of these records."""
        whole = self._file(rows, donors)
        seen = visible(whole)
        plan = replace(self.plan, data=seen, tags=tag(whole, self.groups), whole=None if seen is whole else whole)
        made = make(self.method, plan, streams=Streams(int(rng.integers(2**63))))
        return finish(self.method, made, plan)[0].copies

    def lawful(self, rows: Codes, donors: Codes) -> Booleans:
        """Return which pairs keep the constraints, and have values only where columns apply."""
        frame = _joined(self.plan.released, rows, donors)
        found = ~np.asarray(violated(frame, self.plan.constraints), dtype=np.bool_)
        for column in self.plan.released.schema.columns:
            if column.applies_when is not None:
                # a value where it applies, and nowhere else, whoever's value it is
                whose = donors if column.role is Role.REPLACE else rows
                own = self.plan.released.frame.iloc[whose].reset_index(drop=True)
                found &= applies.holds(column, frame) == applies.holds(column, own)
        return found

    def _file(self, rows: Codes, donors: Codes) -> Microdata:
        data = self.plan.released
        frame = _joined(data, rows, donors)
        return Microdata(
            frame, Schema(columns=tuple(_learnt(column, frame[column.name]) for column in data.schema.columns))
        )


@dataclass(frozen=True, repr=False)
class FrameShadows:
    """Lets any function from a table to tables be played against.

    Parameters
    ----------
    make
        Takes a table and a generator and returns copies.
    data
        The original, with its schema.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"x": [1.0, 2.5, 4.0]}), {"x": Variable(role="replace")})
    >>> shadows = FrameShadows(lambda frame, rng: [frame], data)
    >>> shadows(np.array([2, 0]), np.array([2, 1]), rng=np.random.default_rng(1))[0]["x"].tolist()
    [4.0, 2.5]
    """

    make: Maker
    data: Microdata

    def __repr__(self) -> str:
        return f"FrameShadows({len(self.data)} records)"

    def __call__(self, rows: Codes, donors: Codes, *, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
        """Return the copies of a file made of these records."""
        return self.make(_joined(self.data, rows, donors), rng)

    def lawful(self, rows: Codes, donors: Codes) -> Booleans:
        """Return that any pair will do."""
        return np.ones(len(rows), dtype=np.bool_)


def _joined(data: Microdata, rows: Codes, donors: Codes) -> pd.DataFrame:
    """Return the records with the replaced columns of others, and what is derived from both."""
    frame = data.frame.iloc[rows].reset_index(drop=True)
    if np.array_equal(rows, donors):
        return frame
    for column in data.schema.columns:
        if column.role is Role.REPLACE:
            frame[column.name] = data.frame[column.name].iloc[donors].to_numpy()
    return recompute(frame, data) if data.schema.derived() else frame


def _learnt(column: Column, series: pd.Series) -> Column:
    """Return a column with what was taken from the data taken from these records instead."""
    if column.bounds is None or column.bounds_public:
        return column
    values = numbers(series, column)
    known = values[np.isfinite(values)]
    if not len(known) or known.min() == known.max():
        return column
    return column.model_copy(update={"bounds": (float(known.min()), float(known.max()))})
