"""Making the copies by any method.

What must hold of all of them is done here, once, and records that stand out are repaired.

A record is a true match when matching (each copy, or the copies averaged) leaves a single best candidate and it is the
right one. Such a record takes the synthetic key values, in every copy, of the record nearest to it on the original
keys; the two then tie and neither can be named alone. Repeated until no true match is left.

Repair is named and off by default: it looks at the truth to decide whom to change, so every formal statement about the
masks is void, and a count of zero true matches after it is made, not found. Expected matches say more.

References
----------
Jiang, Raftery, Steele, Wang (2022), JASA 117(537), section 5 (their "0%" risk is after this step).

A synthesizer never holds a derived column, nor the survey's cluster. Derived columns are computed afterwards from the
columns that are released, clusters are carried, and in every copy constraints are checked, and that no column has a
value where it does not apply.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.errors import Unfinished
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import violated
from synthdp.synthesis.plan import Plan, Release, Synthesizer
from synthdp.table.applies import broken as misapplied
from synthdp.table.derived import recompute
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Role, Schema
from synthdp.tagging.neighbours import average, encode_keys, match

MOST_ROUNDS = 50
CATEGORY_DISTANCE = 1e3


@dataclass(frozen=True, repr=False)
class Repaired:
    """The copies after repair.

    Parameters
    ----------
    copies
        With the keys of the touched records changed.
    touched
        How many records took a neighbour's keys.
    rounds
        How often true matches were looked for.
    left
        True matches that remain (no other record to take keys from).
    """

    copies: tuple[pd.DataFrame, ...]
    touched: int
    rounds: int
    left: int

    def __repr__(self) -> str:
        return f"Repaired({self.touched} records in {self.rounds} rounds)"


def repair(data: Microdata, copies: Sequence[pd.DataFrame]) -> Repaired:
    """Return copies without true matches.

    Cost: one matching per round and a nearest-neighbour search, O(n log n) at constant density.

    Parameters
    ----------
    data
        The original records; keys that are replaced are what repair can change.
    copies
        Aligned with the records.
    """
    keys = data.schema.keys()
    changeable = [column.name for column in keys if column.role is Role.REPLACE]
    repaired = [copy.copy() for copy in copies]
    touched = np.zeros(len(data), dtype=bool)
    givers = _Givers(data)
    matched = _true_matches(data, keys, repaired)
    rounds = 1
    while changeable and matched.any() and rounds < MOST_ROUNDS:
        takers = np.flatnonzero(matched)
        sources = givers.next(takers)
        for copy in repaired:
            for name in changeable:
                values = copy[name].to_numpy(copy=True)
                values[takers] = values[sources]
                copy[name] = pd.Series(values, index=copy.index, dtype=copy[name].dtype)
        touched[takers] = True
        matched = _true_matches(data, keys, repaired)
        rounds += 1
    return Repaired(tuple(repaired), int(touched.sum()), rounds, int(matched.sum()))


def _true_matches(data: Microdata, keys: Sequence[Column], copies: Sequence[pd.DataFrame]) -> npt.NDArray[np.bool_]:
    """Return the records that matching each copy, or their average, names alone and rightly."""
    targets, *files = encode_keys([data.frame, *copies], keys)
    each = match(targets, files)
    targets, averaged = encode_keys([data.frame, average(copies, keys)], keys)
    together = match(targets, [averaged])
    named: npt.NDArray[np.bool_] = ((each.best == 1) & each.hit) | ((together.best == 1) & together.hit)
    return named


class _Givers:
    """The nearest other record of each record on the original keys; the next nearest each time it is asked again."""

    def __init__(self, data: Microdata) -> None:
        from scipy.spatial import cKDTree

        self._points = _points(data)
        self._tree = cKDTree(self._points)
        self._asked = np.zeros(len(data), dtype=np.int64)

    def next(self, records: Codes) -> Codes:
        """Return for each record the nearest one it has not taken keys from yet."""
        self._asked[records] += 1
        found = np.empty(len(records), dtype=np.int64)
        for position, record in enumerate(records):
            wanted = int(min(self._asked[record] + 1, len(self._points)))
            _, near = self._tree.query(self._points[record], k=wanted)
            others = [int(other) for other in np.atleast_1d(near) if other != record]
            found[position] = others[min(self._asked[record], len(others)) - 1] if others else record
        return found


def _points(data: Microdata) -> Floats:
    """Return the keys as points: numbers in units of their sd, an unequal category farther than any number."""
    columns = []
    for column in data.schema.keys():
        if column.kind.categorical:
            columns.append(CATEGORY_DISTANCE * data.codes(column.name).astype(np.float64))
        else:
            values = data.numbers(column.name)
            spread = np.nanstd(values)
            columns.append(np.where(np.isfinite(values), values, 0.0) / (spread if spread > 0 else 1.0))
    return np.column_stack(columns).astype(np.float64)


def visible(data: Microdata) -> Microdata:
    """Return the records without the columns that no synthesizer may hold."""
    columns = tuple(column for column in data.schema.columns if not _aside(column))
    if len(columns) == len(data.schema.columns):
        return data
    return Microdata(data.frame[[column.name for column in columns]], Schema(columns=columns))


def make(
    method: Synthesizer, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None
) -> Release:
    """Return the copies of a plan, complete: derived columns computed, clusters carried, constraints checked.

    Raises
    ------
    Unfinished
        When a copy breaks a constraint, or has a value where the column does not apply: the method does not know how
        to keep it.
    """
    made = method.synthesize(plan, streams=streams, jobs=jobs, advance=advance)
    for number, copy in enumerate(made.copies, start=1):
        broken = int(np.count_nonzero(violated(copy, plan.constraints)))
        if broken:
            raise Unfinished(
                f"constraints: method {made.method} does not keep them ({broken} records of copy {number} break one); "
                "use da_mi, mi or sequential."
            )
        wrong = misapplied(copy, plan.data.schema)
        if wrong:
            name, count = next(iter(wrong.items()))
            raise Unfinished(
                f"variables.{name}.applies_when: method {made.method} does not keep it ({count} records of copy "
                f"{number} have a value where it does not apply); use da_mi, mi or sequential."
            )
    return complete(made, plan)


def finish(method: Synthesizer, made: Release, plan: Plan) -> tuple[Release, Repaired | None]:
    """Return the copies as they would be released, repaired where the settings ask for it (``repair: true``).

    Everything that makes copies must pass them through here, or a setting that was written down is silently ignored.

    Parameters
    ----------
    method
        The synthesis settings.
    made
        What `make` returned.

    Returns
    -------
    tuple
        The release, and what repair did; None where it was not asked for.
    """
    if not getattr(method, "repair", False):
        return made, None
    found = repair(plan.released, made.copies)
    return complete(replace(made, copies=found.copies), plan), found


def complete(made: Release, plan: Plan) -> Release:
    """Return a release with all columns of the original in their places; also after copies were changed."""
    data = plan.released
    if data is plan.data:
        return made
    return replace(made, copies=tuple(recompute(_carried(copy, data), data) for copy in made.copies))


def _carried(copy: pd.DataFrame, data: Microdata) -> pd.DataFrame:
    clusters = [c.name for c in data.schema.columns if _aside(c) and c.role is not Role.DERIVED]
    return copy.assign(**{name: data.frame[name].to_numpy() for name in clusters})


def _aside(column: Column) -> bool:
    return column.role is Role.DERIVED or column.design == "cluster"
