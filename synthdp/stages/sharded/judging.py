"""The gate over shards: every draw is made, attacked and thrown away; the copies that go out are a fresh one.

Who matches, who weighs all rows and who looks for extremes goes through all rows of the file; looked for are a random
sample of the records and all who are most exposed. Means over records are those of the random part, with its error in
their intervals; the largest risk is that of everybody looked for. Attribute gains and usefulness are measured on the
sample as a file of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from synthdp.arrays import Codes
from synthdp.config import Config
from synthdp.engine import Engine
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.assessment import records_at_risk
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds, Verdict
from synthdp.evaluation.gate.inquiry import MEAN_DRAWS, Averages, Drawn, Inquiry
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import Check, check
from synthdp.evaluation.leaks.memorised import evaluate_memorised
from synthdp.evaluation.measure import MATCHING_LIMITS, Claims, Identified
from synthdp.evaluation.measures import pointing
from synthdp.evaluation.measures.identity import mask_draw_of
from synthdp.evaluation.risk.exposure import knowable
from synthdp.evaluation.risk.extremes import evaluate_extremes
from synthdp.evaluation.risk.persons import repeated_id
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.risk.undecided import replaced_as_keys, undecided_in
from synthdp.evaluation.sharded import likelihood, public
from synthdp.evaluation.sharded.kept_sets import part_of, smallest_sets
from synthdp.evaluation.sharded.verbatim import VerbatimOverShards
from synthdp.parallel import Advance, one_blas_thread
from synthdp.seeding import Streams
from synthdp.stages.draws import count_of, refitting
from synthdp.stages.gating import Judged
from synthdp.stages.planning import Questions, plan_of
from synthdp.stages.sharded import informed
from synthdp.stages.sharded.attacking import (
    AVERAGED,
    BAYES,
    IDENTITY,
    LIKELIHOOD,
    PUBLIC,
    Lessons,
    Said,
    attack,
    gather,
    only_lay,
    some_of,
)
from synthdp.stages.sharded.sample import ALONE, Sample, sample_of
from synthdp.synthesis.plan import Plan, Release
from synthdp.table.coded import coded
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Schema
from synthdp.table.shards import Shards

LINKED, EXTREMES = "identity_linked", "identity_extremes"
ASKED = (IDENTITY, AVERAGED, LINKED, LIKELIHOOD, PUBLIC, EXTREMES, BAYES)
# draws that teach intruders, and records of the sample that tell what extremes look like
TEACHING, FEW = 2, 5_000
# how much farther off than any row of the sample a target's own row may lie, and still be a candidate
WIDER = 1.5
IN_MEMORY = "engine: {streaming: false}"


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
