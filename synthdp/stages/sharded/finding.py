"""What every intruder achieves on one draw of a file in shards, once all of its shards have been attacked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from synthdp.arrays import Codes
from synthdp.config import Config
from synthdp.engine import Engine
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import Claims, Identified
from synthdp.evaluation.measures.identity import mask_draw_of
from synthdp.evaluation.risk.extremes import evaluate_extremes
from synthdp.evaluation.sharded import likelihood, public
from synthdp.parallel import Advance, one_blas_thread
from synthdp.seeding import Streams
from synthdp.stages.sharded import informed
from synthdp.stages.sharded.attacking import AVERAGED, BAYES, IDENTITY, LIKELIHOOD, PUBLIC, Lessons, Said, attack
from synthdp.stages.sharded.sample import Sample
from synthdp.synthesis.plan import Plan, Release
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema
from synthdp.table.shards import Shards

LINKED, EXTREMES = "identity_linked", "identity_extremes"
ASKED = (IDENTITY, AVERAGED, LINKED, LIKELIHOOD, PUBLIC, EXTREMES, BAYES)
# records of the sample that tell what extremes look like
FEW = 5_000


@dataclass(frozen=True, repr=False)
class File:
    """A file in shards that is judged.

    Parameters
    ----------
    stored
        The copies that would go out; only its original is looked at before the verdict stands.
    redrawn
        Returns a draw of the mechanism, by its number.
    folder
        Where what stands between the steps is written; confidential, and gone with the run.
    """

    config: Config
    stored: Shards
    redrawn: Callable[[int], Shards]
    engine: Engine
    folder: Path
    streams: Streams
    advance: Advance | None = None

    def __repr__(self) -> str:
        return f"File({self.stored.records} records in {len(self.stored)} shards)"

    def each(self, work: Callable[[int], Any]) -> Iterator[Any]:
        """Yield what comes of every shard."""
        return self.engine.each(work, range(len(self.stored)))


def side_by_side(
    config: Config,
    plan: Plan,
    data: Microdata,
    copies: Sequence[pd.DataFrame],
    schema: Schema,
    holdout: pd.DataFrame | None = None,
) -> Comparison:
    """Lay some rows of the copies beside the records that they were made from."""
    made = Release.of(config.synthesis, plan, copies, seconds={})
    design = made.design
    return Comparison(
        data.frame,
        made.copies,
        schema,
        aligned=True,
        proper=design.proper if design is not None else None,
        nests=design.imputations if design is not None else 1,
        mask_draw=made.mask_draw if made.mask_draw != "none" else None,
        rule=made.rule,
        holdout=holdout,
        request=config.request(),
    )


def attacked(file: File, shards: Shards, name: str, wanted: Codes) -> Said:
    """Return what all shards of some copies say to every intruder; rows that are wanted are stored."""
    parts: Iterator[Said] = file.each(partial(attack, shards, file.folder, name, wanted))
    return reduce(add, parts)


def few_of(sample: Sample, rng: np.random.Generator) -> Codes:
    """Return the records whose rows tell what extremes look like: some at random, and everybody looked for."""
    drawn = sample.rows[sample.drawn]
    return np.union1d(rng.choice(drawn, min(len(drawn), FEW), replace=False), sample.rows[sample.targets])


def findings_of(
    file: File,
    sample: Sample,
    lessons: Lessons,
    plan: Plan,
    said: Said,
    stored: tuple[Codes, list[pd.DataFrame]],
    streams: Streams,
) -> dict[str, Identified]:
    """Return what every intruder achieves, target by target.

    Who must find out through kept columns which rows belong together is taken to be told: where these tell people
    apart that is no help, and where they do not it can only make this intruder better.
    """
    n, typical = sample.records, sample.typical
    found: dict[str, Identified] = {name: one.risk(n, typical) for name, one in said.matched.items()}
    found[LINKED] = found[AVERAGED]
    if LIKELIHOOD in said.weighed:
        rng = streams.generator("evaluate", LIKELIHOOD)
        found[LIKELIHOOD] = likelihood.risk(said.weighed[LIKELIHOOD], n, typical, lessons.folds, rng=rng)
    if PUBLIC in said.weighed:
        rng = streams.generator("evaluate", PUBLIC)
        found[PUBLIC] = public.risk(said.weighed[PUBLIC], n, typical, lessons.folds, rng=rng)
    if BAYES in said.weighed:
        found[BAYES] = said.weighed[BAYES].risk(n, typical, informed.ONE)
    found[EXTREMES] = _extremes(file, sample, lessons, plan, stored, streams.generator("evaluate", EXTREMES))
    return found


def _extremes(
    file: File,
    sample: Sample,
    lessons: Lessons,
    plan: Plan,
    stored: tuple[Codes, list[pd.DataFrame]],
    rng: np.random.Generator,
) -> Identified:
    """Look for the extremes among the rows that may hold them: those at the ends of what copies average to."""
    rows, (original, *copies) = stored
    data = Microdata(original, lessons.schema)
    files = side_by_side(file.config, plan, data, copies, lessons.schema)
    with one_blas_thread():
        found = evaluate_extremes(files, rng=rng, mask_draw=mask_draw_of(files) or "per_copy", permutations=2)
    place = np.searchsorted(rows, lessons.rows)
    return cast(
        Identified, _Extremes(found.individual[place], found.confidence[place], found.right[place], found.section())
    )


@dataclass(frozen=True, repr=False)
class _Extremes(Claims):
    """What an intruder achieves who looks for extremes, of the people looked for."""

    said: Mapping[str, Any]

    def section(self) -> dict[str, Any]:
        return dict(self.said)
