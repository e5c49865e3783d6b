"""The measures of metrics.json and the report, taken on a release in shards.

Intruders who point at rows go through all rows, as for the verdict; every other measure is taken on the random sample,
a file of its own with the copies' rows of the same records, and says so (``sampled``).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Codes
from synthdp.evaluation.assessment import Assessment
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.sharded.matching import Matched, match_rows
from synthdp.evaluation.sharded.verbatim import VerbatimOverShards
from synthdp.parallel import one_blas_thread
from synthdp.stages.assessing import EVALUATION, assess_comparison, making_of
from synthdp.stages.sharded.attacking import gather, some_of
from synthdp.stages.sharded.finding import ASKED, File, attacked, few_of, findings_of, side_by_side
from synthdp.stages.sharded.judging import JudgedShards
from synthdp.stages.sharded.sample import ALONE, ALONE_KEPT, ALONE_UNDECIDED, Sample, within
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema
from synthdp.table.shards import Shards

EXPOSURE, VERBATIM = "exposure", "verbatim"
# what the report would count record by record, and over shards is told in sums
COUNTED = (*ASKED, EXPOSURE)
OF_ITS_OWN = "measured on these records as a file of their own"


def assess_shards(
    file: File, found: JudgedShards, jobs: int = 1, holdout: pd.DataFrame | None = None
) -> tuple[Comparison, Assessment]:
    """Measure the copies that would go out; return the sample beside its records, and what was measured.

    ``holdout`` are records that the synthesis never saw.

    Notes
    -----
    One pass over all rows for the intruders, one for the risk before synthesis; the rest is that of a file with as many
    records as the sample.
    """
    config, sample, plan = file.config, found.sample, found.plan
    schema = file.stored.schema
    asked = [name for name in ASKED if name in config.evaluation.risk]
    pointed: dict[str, Any] = {}
    wanted = np.union1d(sample.rows, few_of(sample, EVALUATION.generator("evaluate", "few")))
    said = attacked(file, file.stored, "stored", wanted)
    stored = gather(file.folder, "stored", len(file.stored), file.stored.copies)
    if said.matched:
        findings = findings_of(file, sample, found.lessons, plan, said, stored, EVALUATION)
        pointed = {name: findings[name].section() for name in asked if name in findings}
    if said.copied and VERBATIM in config.evaluation.risk:
        copied = VerbatimOverShards(sample.records)
        copied.draw(said.copied)
        pointed[VERBATIM] = copied.section()
    original, *copies = some_of(stored[1], stored[0], sample.rows[sample.drawn])
    comparison = side_by_side(config, plan, Microdata(original, schema), copies, schema, holdout)
    left = tuple(name for name in config.evaluation.risk if name not in COUNTED and name not in pointed)
    less = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"risk": left})})
    with one_blas_thread():
        made = assess_comparison(less, comparison, making_of(config, plan, jobs))
    told = {**sample.told(), "how": OF_ITS_OWN}
    risk = {name: _told(section, told) for name, section in made.risk.items()}
    if EXPOSURE in config.evaluation.risk or not config.evaluation.risk:
        risk[EXPOSURE] = exposure(sample, schema)
    risk |= pointed
    if said.matched:
        risk["original"] = _before(file, sample).risk(sample.records, sample.typical).section()
    ordered = {name: risk[name] for name in (*config.evaluation.risk, *risk) if name in risk}
    utility = {name: _told(section, told) for name, section in made.utility.items()}
    return comparison, Assessment(utility, ordered)


def exposure(sample: Sample, schema: Schema) -> dict[str, Any]:
    """Return the ``exposure`` section: who is alone on kept columns, counted over all records."""
    kept = schema.kept()
    n = sample.records
    unique, alone = sample.alone.get(ALONE_KEPT, 0), sample.alone.get(ALONE, 0)
    return {
        "columns": [column.name for column in kept],
        "unique": unique,
        "unique_rate": unique / n,
        "alone": alone,
        "alone_rate": alone / n,
        "alone_undecided": sample.alone.get(ALONE_UNDECIDED, 0),
        "knowable": [column.name for column in kept if column.key],
        "largest_subset": 0,
        "subsets": [],
        "unique_on_some": [],
    }


def _before(file: File, sample: Sample) -> Matched:
    """Return what the original itself, taken for a copy, tells somebody who matches."""
    rows = sample.rows[sample.targets]
    parts: Iterator[Matched] = file.each(partial(_itself, file.stored, sample.data.schema, sample.held, rows))
    return reduce(add, parts)


def _itself(shards: Shards, schema: Schema, held: pd.DataFrame, rows: Codes, shard: int) -> Matched:
    own = within(rows, shards.rows(shard))
    return match_rows(held, [shards.original(shard).frame], schema.keys(), own)


def _told(section: Any, told: Mapping[str, Any]) -> Any:
    """Return a section that says which records it rests on."""
    if isinstance(section, Mapping) and "reason" not in section:
        return {**section, "sampled": section.get("sampled") or dict(told)}
    if isinstance(section, Sequence) and not isinstance(section, str):
        return [_told(one, told) for one in section]
    return section
