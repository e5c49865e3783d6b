"""A run over shards: read → look → fit → draw → judge → mix → publish, each step a pass, each finished part kept.

A run that was killed goes on with ``--resume``: parts that are finished, and are as their checksums say, are not made
again. Nothing is public before everything is, and the folder with the shards is gone when the run ends.
"""

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from synthdp import release
from synthdp.config import Config
from synthdp.errors import GateRefused
from synthdp.files import CONFIDENTIAL
from synthdp.progress import Timer
from synthdp.release.manifest import Manifest, Status
from synthdp.release.metrics import Metrics
from synthdp.release.shelf import lines
from synthdp.stages.alignment import held_out
from synthdp.stages.draws import count_of
from synthdp.stages.planning import notes_of, raise_if
from synthdp.stages.sharded import judging
from synthdp.stages.sharded.assessing import assess_shards
from synthdp.stages.sharded.finding import File
from synthdp.stages.sharded.telling import write_pages
from synthdp.stages.streaming import drawing, mixing, publishing, reading, refusing, scanning
from synthdp.stages.streaming.drawing import Stored, Written
from synthdp.stages.streaming.engines import Opened, opened
from synthdp.stages.streaming.preparing import Ready, every_of, imputing, prepared, work_folder
from synthdp.stages.streaming.reading import frame_of
from synthdp.synthesis.nesting import draws_of, withdrawn
from synthdp.synthesis.sampler import masks_of

ROWS = "rows.parquet"
JUDGED = "judged"
NO_REGISTER = (
    "streaming: releases made shard by shard are not recorded yet, so that later ones are not judged together with "
    "them; add --study, or set release.recorded_in: none."
)


def run(
    config: Config,
    *,
    out: Path,
    timer: Timer,
    jobs: int = 1,
    study: bool = False,
    resume: bool = False,
    accepted: Mapping[str, str] | None = None,
) -> tuple[Metrics, Path]:
    """Make the copies of a file shard by shard, and publish them; return the numbers, and where the report is."""
    raise_if([*refusing.refused(config), *judging.refused(config)])
    if not study:
        raise_if(_unrecorded(config))
    report = out / CONFIDENTIAL / "report.html"
    with release.prepare_out(out, resume=resume):
        left = release.read_manifest(out) if resume else None
        if left is not None:
            raise_if(release.check_resumable(out, left, study=study))
        manifest = release.start_manifest(
            out,
            config=config.model_dump(mode="json", exclude={"seed"}),
            inputs={"data": reading.checksum(config.data.path)},
            study=study,
            resume=resume,
            seed=config.seed,
        )
        if manifest.finished and not (manifest.status == "refused" and accepted):
            return Metrics.read(out / CONFIDENTIAL / "metrics.json"), report
        folder = work_folder(out)
        with opened(config, folder, jobs=jobs) as place:
            metrics, report, sums = _made(config, out, place, timer, manifest, study=study, accepted=accepted or {})
        status: Status = "study" if study else "published" if sums else "refused"
        release.finish_manifest(out, status=status, timings=timer.seconds, public=sums, signed=metrics.signed())
        shutil.rmtree(folder, ignore_errors=True)
    return metrics, report


def _made(
    config: Config,
    out: Path,
    place: Opened,
    timer: Timer,
    manifest: Manifest,
    *,
    study: bool,
    accepted: Mapping[str, str],
) -> tuple[Metrics, Path, dict[str, str] | None]:
    """Make, judge and measure the copies, and publish them if they pass; return the checksums of what is public."""
    engine = place.engine
    draws = count_of(config, reading.sized(config.data.path)[0]) if config.limits.judged() else 0
    ready = prepared(config, out, engine, timer, jobs=place.jobs, memory=place.memory, draws=draws)
    method, job = imputing(config), ready.job
    with timer.stage("draw"):
        stored, written = drawing.store(job, engine, method.copies, timer.advance)
    file = File(config, stored, ready.redrawn, engine, job.folder / JUDGED, job.streams(), timer.advance)
    with timer.stage("judge"):  # by other draws: the copies are not looked at before the verdict stands
        holdout = held_out(config, ready.plan.released)
        found = judging.judge(file, accepted=accepted, study=study, holdout=holdout)
    with timer.stage("evaluate"):
        comparison, measured = assess_shards(file, found, place.jobs, holdout)
    metrics = Metrics()
    metrics.measured(measured)
    masks = masks_of(ready.plan, ready.facts.links).values()
    terms = draws_of(method, method.mask_drawn), withdrawn(ready.plan, method, method.mask_drawn)
    metrics.claimed(masking=[row for mask in masks for row in mask.statements(*terms)])
    metrics.decided({**found.section(), "advice": {}, "attempt": None, "attempts": list(lines(None))})
    metrics.timed(timer.seconds)
    told = notes_of(config, ready.plan)
    pages = partial(write_pages, out, config, found, comparison, metrics, manifest, notes=told, study=study)
    with timer.stage("report"):
        report = pages()
    if study or not found.judged.verdict.passed:
        return metrics, report, None
    with timer.stage("release"):
        try:
            return metrics, report, _published(config, out, place, timer, ready, stored, written, manifest)
        except GateRefused as error:
            metrics.leaked(str(error).splitlines(), {})
            return metrics, pages(), None


def _unrecorded(config: Config) -> list[str]:
    """Return why files could not be published even if they passed."""
    return [NO_REGISTER] if config.release.recorded_in != "none" else []


def _published(
    config: Config,
    out: Path,
    place: Opened,
    timer: Timer,
    ready: Ready,
    stored: Stored,
    written: Written,
    manifest: Manifest,
) -> dict[str, str]:
    """Put the rows of every copy in a random order, and publish them; return the checksums of the public files."""
    method, job, schema = config.synthesis, ready.job, ready.facts.schema
    format = config.release.format_of(config.data.path)
    kinds = written.kinds
    like = frame_of(job, 0)
    unfit = [
        f"streaming: the values of {name!r} do not fit the column's kind; set role: drop, or {refusing.INSTEAD}."
        for name in schema.names()
        if name not in kinds and not pd.api.types.is_string_dtype(like[name].dtype)
    ]
    raise_if(unfit)
    files = mixing.mix(
        stored,
        place.engine,
        kinds,
        format=format,
        escape=config.release.escape_formulas and format != "parquet",
        shuffle=method.shuffle,
        every=every_of(job),
        together=place.jobs,
        advance=timer.advance,
    )
    contents = publishing.contents_of(config, schema, method.design(ready.plan), like, written.levels, job.records)
    names = release.file_names(1, method.copies, format)
    mixing.write_origins(job, [Path(name).stem for name in names], out / CONFIDENTIAL / ROWS)
    inspect = scanning.inspection(config, ready.plan.released, manifest, job, names, kinds)
    placed = dict(zip(names, files, strict=True))
    return publishing.publish(out, placed, contents, records=job.records, inspect=inspect)
