"""The story on one page: read → tag → judge draws of the mechanism → draw the copies → assess → release → report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from synthdp import release
from synthdp.config import Config
from synthdp.errors import GateRefused, InputError
from synthdp.evaluation.assessment import Assessment
from synthdp.evaluation.leaks import inspector
from synthdp.privacy.ledger import Ledger
from synthdp.progress import Progress, Silent, Timer
from synthdp.release.confidential import Status, json_text
from synthdp.release.public import SUMS
from synthdp.report import page
from synthdp.report.summary import notes_on
from synthdp.report.summary import rows as summary_rows
from synthdp.seeding import SMALLEST_SECRET_SEED, Streams
from synthdp.stages.assessing import assess_comparison, further_sections, making_of
from synthdp.stages.draws import beside
from synthdp.stages.gating import Judged, advise_on, judge, judge_copies, leaked
from synthdp.stages.intake import align, held_out, prepare, read
from synthdp.stages.planning import analysis_problems, notes_of, open_questions, plan_of, raise_if
from synthdp.stages.publishing import (
    Attempts,
    format_of,
    holding,
    publish,
    register_of,
    report_content,
    row_orders,
    section,
)
from synthdp.synthesis.making import finish, make
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.private.synthesizer import Bill, Private
from synthdp.table import io
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Role
from synthdp.tagging.groups import tag


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
    """What a person should know before a run, and what they are asked to decide."""

    messages: tuple[str, ...]


def check(config: Config) -> CheckResult:
    """Validate a config against its data; change nothing.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    table = read(config)
    try:
        data = prepare(table.frame, config, unread=table.unread)
    except InputError as error:
        # formulas can be checked without the records, so that everything wrong is said at once
        dropped = {name for name, variable in config.variables.items() if variable.role is Role.DROP}
        names = [str(name) for name in table.frame.columns if name not in dropped]
        raise InputError(*error.problems, *analysis_problems(config, names)) from None
    plan = plan_of(config, data)
    schema = data.schema
    derived = f"{len(schema.derived())} derived, " if schema.derived() else ""
    found = [
        f"{len(data)} records; {len(schema.replaced())} columns replaced, {len(schema.kept())} kept, "
        f"{derived}{len(schema.keys())} keys."
    ]
    groups = plan.tags.labels.value_counts(sort=False)
    found.append("Risk groups: " + ", ".join(f"{name} {count}" for name, count in groups.items()) + ".")
    return CheckResult((*found, *notes_of(config, plan), *open_questions(config, plan).sentences))


def run(
    config: Config,
    *,
    out: Path,
    study: bool = False,
    jobs: int = 1,
    resume: bool = False,
    accepted: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    ledger: Ledger | None = None,
    waiting: Callable[[str], None] | None = None,
) -> Outcome:
    """Judge what the config would publish, and publish a fresh draw of it if the gate lets it pass.

    Parameters
    ----------
    out
        The folder of the run; refused when it is not empty, unless ``resume``.
    study
        Allows a small seed, and publishes nothing.
    accepted
        Risks above their limits that the signatory accepts, by name, with the reason.
    ledger
        The budget ledger of the data, which a differentially private method is charged to before any noise is drawn.
    waiting
        Called with a sentence when another run on the same data has to end first.
    """
    if config.seed is not None and config.seed < SMALLEST_SECRET_SEED and not study:
        raise InputError(
            "seed: must be at least 2^64, because whoever guesses it can remove the mask; "
            "leave it out for a secret one, or add --study, which publishes nothing."
        )
    if getattr(config.synthesis, "source", "secure") == "simulated" and not study:
        raise InputError(
            "synthesis.source: simulated noise comes from a seed and may leak through floating point; use secure, or "
            "add --study, which publishes nothing."
        )
    timer = Timer(progress or Silent())
    with timer.stage("read"):
        table = read(config)
        data = prepare(table.frame, config, unread=table.unread)
    inputs = {"data": io.digest(config.data.path)}
    return execute(
        config,
        data,
        inputs,
        out=out,
        study=study,
        jobs=jobs,
        resume=resume,
        timer=timer,
        table=table,
        accepted=accepted or {},
        ledger=ledger,
        waiting=waiting,
    )


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
    accepted: Mapping[str, str] = MappingProxyType({}),
    ledger: Ledger | None = None,
    waiting: Callable[[str], None] | None = None,
) -> Outcome:
    """Run the pipeline on checked records; ``table`` brings the labels of the file they come from."""
    with timer.stage("tag"):
        plan = plan_of(config, data)
    bill = Bill(ledger, config.synthesis, plan, study=study)
    if not resume:
        bill.check()
    with release.prepare_out(out, resume=resume):
        left = release.read_manifest(out) if resume else None
        if left is not None:  # before it is written anew, for its owner only
            raise_if(release.check_resumable(out, left, study=study))
        settings = config.model_dump(mode="json", exclude={"seed"})
        manifest = release.start_manifest(
            out, config=settings, inputs=inputs, study=study, resume=resume, seed=config.seed
        )
        if manifest.finished and not (manifest.status == "refused" and accepted):
            return _finished(out)
        register, caution = register_of(config, out)
        with holding(register, table.frame if table is not None else data.frame, waiting) as held:
            if isinstance(config.synthesis, Private) and (out / "public").is_dir():
                return _published(out, bill, manifest.run, section(held))
            tried = Attempts(held, manifest.run, str(manifest.contents["config_sha256"]))
            earlier = held.earlier(plan.released, run=manifest.run) if held is not None else ()
            bill.pay(manifest.run)
            streams = Streams(manifest.seed)
            with timer.stage("synthesise"):
                drawn = make(config.synthesis, plan, streams=streams, jobs=jobs, advance=timer.advance)
                made, mended = finish(config.synthesis, drawn, plan)
            timer.seconds |= {f"synthesise.{part}": seconds for part, seconds in drawn.seconds.items()}
            holdout = held_out(config, plan.released)
            with timer.stage("judge"):
                # by other draws: the copies above are not looked at before the verdict stands
                judged = judge(
                    config,
                    plan,
                    streams=streams,
                    earlier=earlier,
                    holdout=holdout,
                    accepted=accepted,
                    study=study,
                    jobs=jobs,
                    advance=timer.advance,
                )
            with timer.stage("advise"):
                advice = advise_on(config, plan, judged, streams=streams, accepted=accepted, study=study, jobs=jobs)
            with timer.stage("evaluate"):
                comparison = replace(beside(plan, made), holdout=holdout)
                making = making_of(config, plan, jobs, timer.advance)
                found = assess_comparison(config, comparison, making)
                further = further_sections(config, comparison, beside(plan, drawn), made, mended, earlier)
            metrics = _metrics(found, judged, made, timer, _noisy(config, plan)) | {"chain": list(made.chain)}
            metrics["risk"] |= further
            metrics["gate"] |= {"advice": advice} | tried.end("study" if study else judged.verdict)
            notes = (*notes_of(config, plan), *judged.notes, *notes_on(metrics), *caution, *map(str, earlier))
            content = report_content(config, comparison, metrics, made, notes, manifest.contents["versions"])
            orders = row_orders(config, made, streams)
            names = release.file_names(comparison.nests, len(made.copies) // comparison.nests, format_of(config))

            def write() -> Path:
                return release.write_confidential(
                    out,
                    metrics=metrics,
                    report=page.render(replace(content, metrics=metrics)),
                    records_at_risk=judged.records_at_risk(comparison),
                    rows=dict(zip(names, orders, strict=True)),
                )

            with timer.stage("report"):
                report = write()
            sums = None
            if judged.verdict.passed and not study:
                with timer.stage("release"):
                    inspect = inspector(
                        data.frame,
                        data.schema,
                        manifest=manifest.contents,
                        shuffled=config.synthesis.shuffle,
                        # the claim of a private method would not cover a look at the records
                        records=not isinstance(config.synthesis, Private),
                        rng=streams.generator("scan"),
                    )

                    def recorded(folder: Path) -> Sequence[str]:
                        leaks = inspect(folder)
                        # before the files appear: a run killed in between has recorded one too many, which is safe
                        if not leaks and held is not None:
                            held.record(plan.released, made.copies, run=manifest.run)
                        return leaks

                    try:
                        sums = publish(config, data, made, orders, out, table, inspect=recorded)
                    except GateRefused as error:
                        metrics["gate"] |= leaked(metrics["gate"], str(error).splitlines())
                        metrics["gate"] |= tried.leak()
                        report = write()
            status: Status = "study" if study else "published" if sums else "refused"
            _finish(out, status, metrics, bill, timer.seconds, sums, tried.section())
    return _outcome(out, metrics, report)


def evaluate(config: Config, *, synthetic: Sequence[Path], out: Path, progress: Progress | None = None) -> Outcome:
    """Judge files made by any tool against the original; writes metrics.json and report.html into ``out``."""
    timer = Timer(progress or Silent())
    with timer.stage("read"):
        table = read(config)
        data = prepare(table.frame, config, unread=table.unread)
        comparison = align(config, data, synthetic, groups=tag(data, config.groups).labels, labels=table.labels)
    raise_if(analysis_problems(config, data.schema.names()))
    with release.prepare_out(out, resume=False):
        with timer.stage("evaluate"):
            found = assess_comparison(config, comparison)
            judged = judge_copies(config, comparison, found)
        metrics = _metrics(found, judged, None, timer) | {"cautions": list(comparison.cautions)}
        content = report_content(config, comparison, metrics, None, comparison.cautions, {})
        with timer.stage("report"):
            release.write_atomic(out / "metrics.json", json_text(metrics).encode())
            release.write_atomic(out / "report.html", page.render(content).encode())
    summary = (*summary_rows(metrics), *(("caution", sentence) for sentence in comparison.cautions))
    return Outcome(metrics, out / "report.html", None, judged.verdict.passed, summary)


def _noisy(config: Config, plan: Plan) -> list[str]:
    """Return what is known, without the data, of how much of a differentially private release is noise."""
    return config.synthesis.notes(plan) if isinstance(config.synthesis, Private) else []


def _metrics(
    found: Assessment, judged: Judged, made: Release | None, timer: Timer, noisy: Sequence[str] = ()
) -> dict[str, Any]:
    claimed = made.privacy.section() if made is not None and made.privacy is not None else {"epsilon": None}
    return {
        "version": 1,
        "utility": found.utility,
        "risk": dict(found.risk),
        "privacy": {
            **claimed,
            "masking": list(made.masking) if made is not None else [],
            **({"cautions": list(noisy)} if noisy else {}),
        },
        "gate": judged.section(),
        "timings": dict(timer.seconds),
    }


def _finish(
    out: Path,
    status: Status,
    metrics: Mapping[str, Any],
    bill: Bill,
    timings: Mapping[str, float],
    sums: Mapping[str, str] | None,
    attempts: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    if sums:
        bill.attach(out / "public" / SUMS)
    signed = {
        "accepted": metrics["gate"]["accepted"],
        "earlier_releases": metrics["risk"].get("releases", {}).get("earlier", []),
        "privacy": {key: value for key, value in metrics["privacy"].items() if key != "masking"},
        "charge": bill.number,
        **attempts,
    }
    release.finish_manifest(out, status=status, timings=timings, public=sums, signed=signed)


def _published(out: Path, bill: Bill, run: str, attempts: Mapping[str, Any]) -> Outcome:
    """End a run that was killed once its files were public: other noise now would be a second release."""
    if release.verify(out):
        raise InputError(
            f"{out}: the public files of the interrupted run were changed, and making them again would be another "
            "release; choose another --out."
        )
    found = _finished(out)
    bill.pay(run, released=out / "public" / SUMS)
    sums = {path.name: io.digest(path) for path in sorted((out / "public").iterdir()) if path.name != SUMS}
    _finish(out, "published", found.metrics, bill, found.metrics["timings"], sums, attempts)
    return found


def _finished(out: Path) -> Outcome:
    path = out / "confidential" / "metrics.json"
    try:
        metrics = json.loads(io.streams.read_text(path))
        metrics["gate"]["passed"], metrics["privacy"], metrics["timings"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        raise InputError(f"{path}: the file is damaged; restore it, or start again with another --out.") from None
    return _outcome(out, metrics, out / "confidential" / "report.html")


def _outcome(out: Path, metrics: Mapping[str, Any], report: Path) -> Outcome:
    public = out / "public" if (out / "public").is_dir() else None
    cautions = [("caution", str(sentence)) for sentence in metrics["privacy"].get("cautions", ())]
    return Outcome(metrics, report, public, bool(metrics["gate"]["passed"]), (*summary_rows(metrics), *cautions))
