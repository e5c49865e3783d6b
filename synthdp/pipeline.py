"""The story on one page: read → tag → mask → fit → draw → evaluate → gate → release → report."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp import cautions, io, relations, release
from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.assessment import Assessment, assess
from synthdp.evaluation.comparison import Comparison
from synthdp.intake import align, load, prepare, read, unique_share
from synthdp.microdata import Microdata
from synthdp.progress import Progress, Silent, Timer
from synthdp.release.confidential import Status, json_text
from synthdp.report import page
from synthdp.report.content import MaskLine, ReportContent
from synthdp.schema import Column, Level, Role
from synthdp.seeding import SMALLEST_SECRET_SEED, Streams
from synthdp.summary import notes_on
from synthdp.summary import rows as summary_rows
from synthdp.synthesis import constraints
from synthdp.synthesis.making import complete, make, visible
from synthdp.synthesis.protocol import Plan, Release
from synthdp.synthesis.repair import repair
from synthdp.tagging.groups import tag

RULE = "reiter2003"
FEWEST_RECORDS = 10


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run came to: the numbers, where the report and the public files are, and the rows to print."""

    metrics: Mapping[str, Any]
    report: Path
    public: Path | None
    passed: bool
    summary: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CheckResult:
    """What a person should know before a run."""

    messages: tuple[str, ...]


def check(config: Config) -> CheckResult:
    """Validate a config against its data; change nothing.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    frame = read(config).frame
    try:
        data = prepare(frame, config)
    except InputError as error:
        # formulas can be checked without the records, so that everything wrong is said at once
        dropped = {name for name, variable in config.variables.items() if variable.role is Role.DROP}
        names = [str(name) for name in frame.columns if name not in dropped]
        raise InputError(*error.problems, *_analysis_problems(config, names)) from None
    plan = plan_of(config, data)
    schema = data.schema
    derived = f"{len(schema.derived())} derived, " if schema.derived() else ""
    found = [
        f"{len(data)} records; {len(schema.replaced())} columns replaced, {len(schema.kept())} kept, "
        f"{derived}{len(schema.keys())} keys."
    ]
    groups = plan.tags.labels.value_counts(sort=False)
    found.append("Risk groups: " + ", ".join(f"{name} {count}" for name, count in groups.items()) + ".")
    return CheckResult((*found, *_notes(config, plan)))


def run(
    config: Config,
    *,
    out: Path,
    study: bool = False,
    jobs: int = 1,
    resume: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Make a release: judge it, and publish it if the gate lets it pass.

    Parameters
    ----------
    out
        The folder of the run; refused when it is not empty, unless ``resume``.
    study
        Allows a small seed, and publishes nothing.
    """
    if config.seed is not None and config.seed < SMALLEST_SECRET_SEED and not study:
        raise InputError(
            "seed: must be at least 2^64, because whoever guesses it can remove the mask; "
            "leave it out for a secret one, or add --study, which publishes nothing."
        )
    timer = Timer(progress or Silent())
    with timer.stage("read"):
        table = read(config)
        data = prepare(table.frame, config)
    inputs = {"data": io.digest(config.data.path)}
    return execute(config, data, inputs, out=out, study=study, jobs=jobs, resume=resume, timer=timer, table=table)


def execute(
    config: Config,
    data: Microdata,
    inputs: Mapping[str, str],
    *,
    out: Path,
    study: bool,
    jobs: int,
    resume: bool,
    timer: Timer,
    table: io.Table | None = None,
) -> Outcome:
    """Run the pipeline on checked records; ``table`` brings the labels of the file they come from."""
    with timer.stage("tag"):
        plan = plan_of(config, data)
    with release.prepare_out(out, resume=resume):
        settings = config.model_dump(mode="json", exclude={"seed"})
        manifest = release.start_manifest(
            out, config=settings, inputs=inputs, study=study, resume=resume, seed=config.seed
        )
        if manifest.finished:
            return _finished(out)
        streams = Streams(manifest.seed)
        with timer.stage("synthesise"):
            made = make(config.synthesis, plan, streams=streams, jobs=jobs, advance=timer.advance)
        timer.seconds |= {f"synthesise.{part}": seconds for part, seconds in made.seconds.items()}
        repaired = None
        if config.synthesis.repair:
            with timer.stage("repair"):
                made, repaired = _repair(config, plan, made, streams)
        with timer.stage("evaluate"):
            comparison = _beside(plan, made)
            found = assess_comparison(config, comparison, made.rule, streams)
        metrics = _metrics(found, made.masking, timer) | {"chain": list(made.chain)}
        metrics["risk"] = {**metrics["risk"], **({"repair": repaired} if repaired is not None else {})}
        notes = (*_notes(config, plan), *notes_on(metrics))
        content = _report(config, comparison, metrics, made, notes, manifest.contents["versions"])
        orders = _row_orders(config, made, streams)
        names = release.file_names(1, config.synthesis.copies, _format(config))
        with timer.stage("report"):
            report = release.write_confidential(
                out,
                metrics=metrics,
                report=page.render(content),
                records_at_risk=found.records_at_risk,
                rows=dict(zip(names, orders, strict=True)),
            )
        sums = None
        if found.verdict.passed and not study:
            with timer.stage("release"):
                sums = _publish(config, data, made, orders, out, table)
        status: Status = "study" if study else "published" if sums else "refused"
        release.finish_manifest(out, status=status, timings=timer.seconds, public=sums)
    return _outcome(out, metrics, report)


def evaluate(config: Config, *, synthetic: Sequence[Path], out: Path, progress: Progress | None = None) -> Outcome:
    """Judge files made by any tool against the original; writes metrics.json and report.html into ``out``."""
    timer = Timer(progress or Silent())
    with timer.stage("read"):
        data = load(config)
        comparison = align(config, data, synthetic, groups=tag(data, config.groups).labels)
    _raise_if(_analysis_problems(config, data.schema.names()))
    with release.prepare_out(out, resume=False):
        with timer.stage("evaluate"):
            # permutations that give the chance level need no secrecy, and the same files should give the same numbers
            found = assess_comparison(config, comparison, RULE, Streams(0))
        metrics = _metrics(found, (), timer)
        content = _report(config, comparison, metrics, None, (), {})
        with timer.stage("report"):
            release.write_atomic(out / "metrics.json", json_text(metrics).encode())
            release.write_atomic(out / "report.html", page.render(content).encode())
    summary = summary_rows(metrics)
    return Outcome(metrics, out / "report.html", None, found.verdict.passed, summary)


def plan_of(config: Config, data: Microdata) -> Plan:
    """Return what the synthesizer works on, or list everything that is wrong with it."""
    judged = any(value is not None for name, value in config.release if name != "format")
    selection = "the release gate looked at the data before this file was released" if judged else None
    if config.synthesis.repair:
        selection = "repair looked at the data to decide whose values to change"
    seen = visible(data)
    plan = Plan(
        data=seen,
        tags=tag(data, config.groups),
        masks=config.masks,
        masks_by_group=config.masks_by_group,
        selection=selection,
        constraints=config.constraints,
        whole=None if seen is data else data,
    )
    if len(data) < FEWEST_RECORDS:
        raise InputError(f"data: at least {FEWEST_RECORDS} records are required to learn from, found {len(data)}.")
    problems = config.synthesis.problems(plan)
    problems += [relation.sentence for relation in relations.find(seen) if relations.refused(relation, seen.schema)]
    problems += constraints.problems(seen, config.constraints)
    if config.constraints and config.synthesis.repair:
        problems.append("synthesis.repair: may break the constraints it does not know; leave out one of the two.")
    problems += io.name_problems(data.schema.names(), _format(config))
    _raise_if([*problems, *_analysis_problems(config, data.schema.names())])
    return plan


def _analysis_problems(config: Config, names: Sequence[str]) -> list[str]:
    return [problem for analysis in config.analyses for problem in analysis.problems(tuple(names))]


def assess_comparison(config: Config, comparison: Comparison, rule: str, streams: Streams) -> Assessment:
    """Take the measures the config asks for."""
    return assess(
        comparison,
        analyses=config.analyses,
        utility=config.evaluation.utility,
        risk=config.evaluation.risk,
        thresholds=config.release,
        default_rule=rule,
        streams=streams,
    )


def _beside(plan: Plan, made: Release) -> Comparison:
    data = plan.released
    return Comparison(data.frame, made.copies, data.schema, aligned=True, groups=plan.tags.labels)


def _repair(config: Config, plan: Plan, made: Release, streams: Streams) -> tuple[Release, dict[str, Any]]:
    """Return the release after repair, and what the risk was before it."""
    blind = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"utility": ()})})
    before = assess_comparison(blind, _beside(plan, made), made.rule, streams).risk
    found = repair(plan.released, made.copies)
    touched = {"records": found.touched, "left": found.left, "before": before}
    return complete(replace(made, copies=found.copies), plan), touched


def _metrics(found: Assessment, masking: Sequence[Mapping[str, object]], timer: Timer) -> dict[str, Any]:
    return {
        "version": 1,
        "utility": found.utility,
        "risk": found.risk,
        "privacy": {"epsilon": None, "masking": list(masking)},
        "gate": found.verdict.section(),
        "timings": dict(timer.seconds),
    }


def _notes(config: Config, plan: Plan) -> tuple[str, ...]:
    """Return what whoever signs should know, in sentences."""
    notes = []
    data = plan.released
    share = unique_share(data)
    if share > 0:
        notes.append(
            f"{share:.0%} of the records are unique on the kept columns alone: an intruder who knows those needs no "
            "mask broken. Keep only what must stay exact."
        )
    notes += cautions.of(data, plan.data)
    if config.release.format == "same" and config.data.path.suffix.lower() == ".sas7bdat":
        notes.append("SAS data files can be written by SAS only: the copies are SAS transport files (.xpt).")
    if (config.masks or config.masks_by_group) and not hasattr(config.synthesis, "mask_draw"):
        notes.append(f"The masks of the config are not used: method {config.synthesis.method} masks nothing.")
    if getattr(config.synthesis, "mask_draw", "") == "once":
        notes.append("W is drawn once for all copies: intervals come out a little too short (see reports/coverage).")
    defaults = [column.name for column in data.schema.keys() if column.tolerance_default]
    if defaults:
        notes.append(f"No tolerance was given for {', '.join(defaults)}: a tenth of a standard deviation was used.")
    fine = [c.name for c in data.schema.keys() if c.role is Role.REPLACE and _misses_averages(c)]
    if fine:
        notes.append(
            f"The tolerance of {', '.join(fine)} is finer than the values: averages of copies fall between values and "
            "match nobody, so identity_averaged looks too safe. Use at least half a step of the last decimal."
        )
    return tuple(notes)


def _misses_averages(column: Column) -> bool:
    numeric = not column.kind.categorical and column.decimals is not None
    return numeric and column.tolerance < 0.5 * 10.0 ** -(column.decimals or 0)


def _report(
    config: Config,
    comparison: Comparison,
    metrics: Mapping[str, Any],
    made: Release | None,
    notes: tuple[str, ...],
    versions: Mapping[str, str],
) -> ReportContent:
    masking = metrics["privacy"]["masking"]
    return ReportContent(
        title="Synthetic data report",
        data_name=config.data.path.name,
        comparison=comparison,
        metrics=metrics,
        baseline_risk=metrics["risk"].get("original", {}),
        masks=tuple(MaskLine(str(row["column"]), str(row["group"]), str(row["mask"])) for row in masking),
        method=made.method if made is not None else "external",
        model=config.synthesis.model.method if made is not None else "",
        copies=len(comparison.copies),
        mask_draw=made.mask_draw if made is not None else "",
        notes=notes,
        versions=versions,
        dropped=tuple(name for name, variable in config.variables.items() if variable.role is Role.DROP),
    )


def _row_orders(config: Config, made: Release, streams: Streams) -> list[Any]:
    rows = len(made.copies[0])
    if not config.synthesis.shuffle:
        return [np.arange(rows) for _ in made.copies]
    return [streams.generator("shuffle", m).permutation(rows) for m in range(1, len(made.copies) + 1)]


def _format(config: Config) -> io.Format:
    return io.format_like(config.data.path) if config.release.format == "same" else config.release.format


def _publish(
    config: Config, data: Microdata, made: Release, orders: list[Any], out: Path, table: io.Table | None
) -> dict[str, str]:
    format = _format(config)
    described = release.describe(
        data.schema,
        method=made.method,
        imputations=1,
        copies=len(made.copies),
        mask_draw=made.mask_draw if made.mask_draw != "none" else None,
        rule=made.rule,
        records=len(data),
        masks=_mask_methods(config) if made.mask_draw != "none" else {},
        format=format,
    )
    declared = {name: variable.levels for name, variable in config.variables.items() if variable.levels is not None}
    copies, labels = _labelled(data, made.copies, format, declared, table)
    return release.publish(
        out,
        copies,
        codebook=release.codebook(data.schema, made.copies, declared_levels=declared, labels=labels),
        release=described,
        readme=release.readme(described),
        format=format,
        permutations=orders,
        labels=labels,
    )


def _labelled(
    data: Microdata,
    copies: Sequence[pd.DataFrame],
    format: io.Format,
    declared: Mapping[str, Sequence[Level]],
    table: io.Table | None,
) -> tuple[Sequence[pd.DataFrame], io.Labels]:
    """Return the copies with the user-missing codes of kept columns, and the labels that may go with them."""
    if table is None:
        return copies, io.Labels()
    kept = {column.name for column in data.schema.kept()}
    coarse = {column.name for column in data.schema.columns if column.coarsened}
    # after recoding, a code no longer means what its label says
    given = replace(table.labels, values={name: v for name, v in table.labels.values.items() if name not in coarse})
    copies = io.restored(copies, table.codes, kept=kept, labels=given, format=format)
    return copies, io.published(given, copies, kept=kept, declared=declared)


def _mask_methods(config: Config) -> dict[str, str]:
    """Return the mask's method by column, also where only the risk groups have masks."""
    found: dict[str, list[str]] = {}
    for block in (config.masks, *config.masks_by_group.values()):
        for name, mask in block.items():
            found.setdefault(name, []).append(mask.method)
    return {name: ", ".join(dict.fromkeys(methods)) for name, methods in found.items()}


def _finished(out: Path) -> Outcome:
    metrics = json.loads((out / "confidential" / "metrics.json").read_text(encoding="utf-8"))
    return _outcome(out, metrics, out / "confidential" / "report.html")


def _outcome(out: Path, metrics: Mapping[str, Any], report: Path) -> Outcome:
    public = out / "public" if (out / "public").is_dir() else None
    return Outcome(metrics, report, public, bool(metrics["gate"]["passed"]), summary_rows(metrics))


def _raise_if(problems: Sequence[str]) -> None:
    if problems:
        raise InputError(*problems)
