"""The gate over shards: every draw is made, attacked and thrown away; the copies that go out are a fresh one.

Who matches, who weighs all rows and who looks for extremes goes through all rows of the file; looked for are a random
sample of the records and all who are most exposed. Means over records are those of the random part, with its error in
their intervals; the largest risk is that of everybody looked for. Attribute gains and usefulness are measured on the
sample as a file of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from synthdp.config import Config
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.assessment import records_at_risk
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds, Verdict
from synthdp.evaluation.gate.inquiry import MEAN_DRAWS, Averages, Drawn, Inquiry
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import Check, check
from synthdp.evaluation.leaks.memorised import evaluate_memorised
from synthdp.evaluation.measure import MATCHING_LIMITS
from synthdp.evaluation.measures import pointing
from synthdp.evaluation.measures.identity import mask_draw_of
from synthdp.evaluation.risk.exposure import knowable
from synthdp.evaluation.risk.persons import repeated_id
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.risk.undecided import replaced_as_keys, undecided_in
from synthdp.evaluation.sharded import likelihood, public
from synthdp.evaluation.sharded.kept_sets import part_of, smallest_sets
from synthdp.evaluation.sharded.verbatim import VerbatimOverShards
from synthdp.parallel import one_blas_thread
from synthdp.stages.draws import count_of, refitting
from synthdp.stages.gating import Judged
from synthdp.stages.planning import Questions, plan_of
from synthdp.stages.sharded import informed
from synthdp.stages.sharded.attacking import (
    Lessons,
    gather,
    only_lay,
    some_of,
)
from synthdp.stages.sharded.finding import ASKED, File, attacked, few_of, findings_of, side_by_side
from synthdp.stages.sharded.sample import ALONE, Sample, sample_of
from synthdp.synthesis.plan import Plan
from synthdp.table.coded import coded
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema
from synthdp.table.shards import Shards

# draws that teach intruders
TEACHING = 2
# how much farther off than any row of the sample a target's own row may lie, and still be a candidate
WIDER = 1.5
IN_MEMORY = "engine: {streaming: false}"


@dataclass(frozen=True, repr=False)
class JudgedShards:
    """The verdict on a file in shards, the sample it rests on, and what the sample taught."""

    judged: Judged
    sample: Sample
    lessons: Lessons
    plan: Plan

    def __repr__(self) -> str:
        return f"JudgedShards({self.judged.verdict.judgement}, {self.sample})"

    def section(self) -> dict[str, Any]:
        """Return the ``gate`` section of metrics.json."""
        return {**self.judged.section(), "sampled": self.sample.told()}

    def records_at_risk(self) -> pd.DataFrame:
        """Return the records that an attack finds or comes close to finding, on average over draws; no values."""
        averages = self.judged.averages
        blank = Comparison(self.sample.held, (), self.lessons.schema, aligned=True)
        found = records_at_risk(blank, averages.records() if averages is not None else {})
        found["record"] = self.sample.rows[self.sample.targets][found["record"].to_numpy(dtype=np.int64) - 1] + 1
        return found


def refused(config: Config) -> list[str]:
    """Return what of the evaluation cannot be had over shards, in sentences."""
    found = []
    if config.evaluation.intruders:
        found.append(f"evaluation.intruders: are asked of a table in memory only; leave them out, or set {IN_MEMORY}.")
    if config.data.cluster is not None:
        found.append(f"data.cluster: persons with several rows are judged in memory only; set {IN_MEMORY}.")
    return found


def judge(
    file: File,
    *,
    accepted: Mapping[str, str] | None = None,
    study: bool = False,
    holdout: pd.DataFrame | None = None,
    count: int | None = None,
) -> JudgedShards:
    """Judge what the config would publish, over draws that are not published.

    Parameters
    ----------
    accepted
        Risks that the signatory accepts, by name, with the reason.
    study
        Nothing will be published, so nobody has to decide about undecided columns: they count as keys.
    holdout
        Records that the synthesis never saw, for attribute gains.
    count
        Of draws; by default as :func:`synthdp.stages.draws.count_of` says.

    Raises
    ------
    InputError
        Where something is asked for that shards cannot answer.
    """
    config, shards = file.config, file.stored
    problems = refused(config)
    if problems:
        raise InputError(*problems)
    accepted = accepted or {}
    file.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    asked = questions(file)
    schema = asked.schema_less(accepted)
    sample = sample_of(shards, schema, file.folder, file.engine, rng=file.streams.generator("draw", "targets"))
    drawn = Microdata(sample.data.frame[sample.drawn].reset_index(drop=True), shards.schema)
    plan = plan_of(config, drawn)
    limits = config.limits
    known = [*asked.checks(study=study), *_exposed(sample, limits), *_persons(file, sample, limits)]
    settled = Verdict(tuple(known)).accepting({name: why for name, why in accepted.items() if _named(name, known)})
    notes = (_said(sample),)
    blank = Lessons(schema, sample.held, sample.rows[sample.targets], np.zeros(len(sample.targets), dtype=np.int64))
    blank.keep(file.folder)
    if not limits.judged():
        return JudgedShards(Judged(Verdict(())), sample, blank, plan)
    if not settled.passed and not study:
        return JudgedShards(Judged(settled, None, 0, notes), sample, blank, plan)
    lessons = teach(file, sample, schema, plan)
    averages = _over_draws(file, sample, lessons, plan, count or count_of(config, sample.records), holdout)
    known += [*_memorised(file, plan), *_unasked(limits)]
    verdict = Verdict((*known, *averages.checks(limits)))
    keys = tuple(column.name for column in schema.keys())
    judged = Judged(verdict.accepting(accepted), averages, averages.draws, notes, keys)
    return JudgedShards(judged, sample, lessons, plan)


def questions(file: File) -> Questions:
    """Return which kept columns somebody has to decide about; none where no limit is judged."""
    config, schema = file.config, file.stored.schema
    if not config.limits.judged():
        return Questions((), (), schema)

    def ask(sets: Sequence[tuple[int, ...]], parts: int) -> Iterator[Any]:
        return file.each(partial(_parts, file.stored, sets, parts))

    found = undecided_in(smallest_sets(schema, file.stored.records, ask), schema)
    return Questions(found, (), replaced_as_keys(schema, config.evaluation.targets))


def _parts(shards: Shards, sets: Sequence[tuple[int, ...]], parts: int, shard: int) -> Any:
    return part_of(coded(shards.original(shard).frame), knowable(shards.schema), sets, parts)


def teach(file: File, sample: Sample, schema: Schema, plan: Plan) -> Lessons:
    """Teach intruders by a few draws of the sample's rows, and write what every shard needs to know.

    They are taught on other folds of the records than they are asked about; what they learn stands for all draws.
    """
    rng = file.streams.generator("draw", "teach")
    n = len(sample.rows)
    folds = rng.permutation(n) % FOLDS
    lessons = Lessons(
        schema,
        sample.held,
        sample.rows[sample.targets],
        folds[sample.targets],
        verbatim=file.config.limits.judged("max_excess_verbatim"),
    )
    if schema.keys() and file.config.limits.judged(*MATCHING_LIMITS):
        again, groups = [], None
        for number in range(TEACHING):
            shards, name = file.redrawn(number), f"teach-{number}"
            parts = list(file.each(partial(only_lay, shards, file.folder, name, sample.rows)))
            groups = None if parts[0] is None else np.concatenate(parts)
            again.append(gather(file.folder, name, len(shards), shards.copies)[1][1:])
        taught = side_by_side(file.config, plan, sample.data, again[0], schema)
        with one_blas_thread():
            lessons = replace(
                lessons,
                laws=likelihood.learn(taught, folds, wider=WIDER),
                shown=public.learn(taught, mask_draw=mask_draw_of(taught), rng=rng, wider=WIDER),
                told=informed.learn(sample.data, again, sample.targets, rng=rng, groups=groups),
            )
    lessons.keep(file.folder)
    return lessons


def _over_draws(
    file: File, sample: Sample, lessons: Lessons, plan: Plan, count: int, holdout: pd.DataFrame | None
) -> Averages:
    config, limits = file.config, file.config.limits
    averages = Averages(sample.typical, sample.records)
    verbatim = VerbatimOverShards(sample.records)
    few = few_of(sample, file.streams.generator("draw", "few"))
    inquiry = Inquiry(limits, config.request())
    for number in range(count):
        streams = file.streams.within("draw", number)
        shards, name = file.redrawn(number), f"draw-{number}"
        wanted = sample.rows if number < MEAN_DRAWS else few
        said = attacked(file, shards, name, wanted)
        rows, frames = gather(file.folder, name, len(shards), shards.copies)
        reasons: dict[str, str] = {}
        findings = findings_of(file, sample, lessons, plan, said, (rows, frames), streams) if said.matched else {}
        figures: Mapping[str, Mapping[str, float]] = {}
        if number < MEAN_DRAWS:
            original, *copies = some_of(frames, rows, sample.rows[sample.drawn])
            files = side_by_side(config, plan, Microdata(original, lessons.schema), copies, lessons.schema, holdout)
            with one_blas_thread():
                figures = inquiry.figures(files, streams, {}, reasons)
        averages.add(Drawn(findings, figures, reasons))
        if lessons.verbatim and said.copied:
            verbatim.draw(said.copied)
        if file.advance is not None:
            file.advance(number + 1, count)
    averages.verbatim = verbatim
    if lessons.verbatim and not verbatim.draws:
        averages.reasons["verbatim"] = "verbatim: too few records to tell."
    return averages


def _exposed(sample: Sample, limits: Thresholds) -> Iterator[Check]:
    limit = limits.limit("max_exposed")
    if limit is not None:
        yield check("max_exposed", "exposure", Bound(float(sample.alone.get(ALONE, 0))), limit)


def _persons(file: File, sample: Sample, limits: Thresholds) -> Iterator[Check]:
    """Yield a check that does not pass where a column seems to tie rows of one person together."""
    first = file.stored.original(0)
    name = repeated_id(first.frame.head(65_536), first.schema)
    limit = limits.limit("max_individual")
    if name is None or limit is None:
        return
    # of a column that many rows share, like a district's number, a sample has few values
    m, n = int(sample.drawn.sum()), sample.records
    values = int(sample.data.frame[name][sample.drawn].nunique())
    if values >= n / 100 * -np.expm1(-100 * m / n) / 2:
        yield check("max_individual", "identity_persons", None, limit, what=f" (by {name}, over shards)")


def _unasked(limits: Thresholds) -> Iterator[Check]:
    """Yield checks that do not pass, of intruders from outside: they are asked of a table in memory only."""
    for one in pointing():
        if one.name in ASKED:
            continue
        for name in one.limits:
            limit = limits.limit(name)
            if limit is not None:
                yield check(name, one.name, None, limit)


def _memorised(file: File, plan: Plan) -> Iterator[Check]:
    """Fit halves of the sample, as in memory halves of a sample of a large file are fitted."""
    limit = file.config.limits.limit("max_memorised")
    if limit is None:
        return
    rng = file.streams.generator("draw", "memorised")
    blank = Comparison(plan.released.frame, (), plan.released.schema, aligned=True)
    try:
        found = evaluate_memorised(blank, refit=refitting(file.config.synthesis, plan), rng=rng, enough=limit)
    except SynthdpError:
        yield check("max_memorised", "memorised", None, limit)
        return
    bound = Bound(found["difference"], found["low"], found["judged"], found["held_out"])
    yield check("max_memorised", "memorised", bound, limit)


def _named(name: str, checks: Sequence[Check]) -> bool:
    return any(part in (one.name, one.attack) for one in checks for part in name.split("."))


def _said(sample: Sample) -> str:
    told = sample.told()
    return (
        f"Judged shard by shard: {told['targets']} records drawn at random and {told['exposed']} of the most exposed "
        f"were looked for among all {sample.records:,} rows; usefulness, attribute gains and memorising are those of "
        f"{told['records']:,} records drawn at random."
    )
