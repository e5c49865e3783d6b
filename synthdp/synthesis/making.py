"""Making the copies by any method: what must hold of all of them is done here, once.

A synthesizer never holds a derived column, nor the survey's cluster. Derived columns are computed afterwards from the
columns that are released, clusters are carried, and in every copy constraints are checked, and that no column has a
value where it does not apply.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.applicability import broken as misapplied
from synthdp.derived import recompute
from synthdp.errors import Unfinished
from synthdp.microdata import Microdata
from synthdp.schema import Column, Role, Schema
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import violated
from synthdp.synthesis.protocol import Advance, Plan, Release, Synthesizer
from synthdp.synthesis.repair import Repaired, repair


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
