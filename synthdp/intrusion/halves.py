"""The method fitted again to some of the records: what memorising and membership are measured with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.evaluation.leaks.memorised import Refit
from synthdp.microdata import Codes, Microdata
from synthdp.seeding import Streams
from synthdp.synthesis.making import complete, make
from synthdp.synthesis.protocol import Plan, Synthesizer
from synthdp.synthesis.repair import repair

# copies cost little once a model is fitted, and what is counted is a share per copy
ENOUGH_COPIES = 5


def part_of(plan: Plan, rows: Codes) -> Plan:
    """Return the plan of some of the records.

    Levels, bounds and decimals stay those of the whole file, and so do risk groups and numbers of neighbours: every
    record is masked as it would be in the whole file, save where a mask is in units of the column's own spread.
    """
    whole = None if plan.whole is None else _some(plan.whole, rows)
    return replace(plan, data=_some(plan.data, rows), tags=plan.tags.of(rows), whole=whole)


def refitting(method: Synthesizer, plan: Plan, *, repaired: bool = False, jobs: int = 1) -> Refit:
    """Return a function that fits the method to some of the records and makes copies.

    Parameters
    ----------
    method
        As configured; where it makes fewer than 5 copies of one original, 5 are made.
    plan
        Of the whole file.
    repaired
        Whether copies are repaired, as ``synthesis.repair`` asks.

    Notes
    -----
    ``refit(rows, rng)`` returns copies whose row k was made from record rows[k], for methods whose rows belong to
    records. It raises what the method raises: half of a file may lack a level that a model needs.
    """
    method = _with_copies(method)

    def refit(rows: Codes, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
        part = part_of(plan, rows)
        made = make(method, part, streams=Streams(int(rng.integers(2**63))), jobs=jobs)
        if not repaired:
            return made.copies
        return complete(replace(made, copies=repair(part.released, made.copies).copies), part).copies

    return refit


def _some(data: Microdata, rows: Codes) -> Microdata:
    return Microdata(data.frame.iloc[rows].reset_index(drop=True), data.schema)


def _with_copies(method: Any) -> Any:
    """Return the method with enough copies; one that imputes several originals makes as many files anyway."""
    settings = getattr(method, "model_copy", None)
    if settings is None or getattr(method, "imputations", 1) > 1 or getattr(method, "copies", 1) >= ENOUGH_COPIES:
        return method
    return settings(update={"copies": ENOUGH_COPIES}) if "copies" in type(method).model_fields else method
