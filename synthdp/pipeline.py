"""The story on one page: read → tag → judge draws → draw copies → assess → decide → release → report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from synthdp import release
from synthdp.config import Config
from synthdp.errors import GateRefused, InputError
from synthdp.evaluation.blocks import counted
from synthdp.privacy.ledger import Ledger
from synthdp.progress import Progress, Silent, Timer
from synthdp.release.metrics import Metrics
from synthdp.report import page
from synthdp.report.summary import notes_on
from synthdp.report.summary import rows as summary_rows
from synthdp.seeding import SMALLEST_SECRET_SEED, Streams
from synthdp.stages.advising import advise_on
from synthdp.stages.alignment import align, held_out
from synthdp.stages.assessing import assess_comparison, assess_release
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge, judge_copies
from synthdp.stages.intake import Source, prepare, read
from synthdp.stages.planning import analysis_problems, notes_of, open_questions, plan_of, raise_if
from synthdp.stages.promised import compared
from synthdp.stages.publishing import inspection, publish, report_content, row_orders, write_report
from synthdp.stages.streaming.engines import Choice, choose
from synthdp.stages.tracing import shared_with
from synthdp.stages.trail import begin
from synthdp.table.schema import Role
from synthdp.tagging.groups import tag

# seconds of judging after which the verdict is told at once
SOON = 10.0


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run came to: the numbers, where the report and the public files are, and the rows to print."""

    metrics: Metrics
    report: Path
    public: Path | None
    passed: bool
    summary: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, metrics: Metrics, report: Path, public: Path | None = None) -> Self:
        """Return what the numbers say, in rows too."""
        summary = (*summary_rows(metrics), *(("caution", sentence) for sentence in metrics.cautions))
        return cls(metrics, report, public if public is not None and public.is_dir() else None, metrics.passed, summary)


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
    if choose(config).streaming:
        from synthdp.stages.streaming import refusing

        raise_if(refusing.refused(config))
        return CheckResult((f"{config.data.path}: the table stays on disk; run looks at its records first.",))
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
        f"{len(data)} records; {counted(len(schema.replaced()), 'column')} replaced, {len(schema.kept())} kept, "
        f"{derived}{counted(len(schema.keys()), 'key')}."
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
    source: Source | None = None,
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
    source
        Records that are in memory already; by default the config's file is read.
    """
    raise_if([] if study else _guessable(config))
    accepted, timer = accepted or {}, Timer(progress or Silent())
    choice = choose(config) if source is None else Choice(streaming=False)
    if choice.sentence:
        timer.tell(choice.sentence)
    if choice.streaming:
        return _in_shards(config, out=out, study=study, jobs=jobs, resume=resume, accepted=accepted, timer=timer)
    with timer.stage("read"):
        source = source or Source.of(config)
    with timer.stage("tag"):
        plan = plan_of(config, source.data)
    audit = begin(
        config, source, plan, out=out, study=study, resume=resume, accepted=accepted, ledger=ledger, waiting=timer.wait
    )
    with audit as trail:
        if trail.ended is not None:
            return Outcome.of(trail.ended, out / "confidential" / "report.html", out / "public")
        draws = Draws(config, plan, Streams(trail.manifest.seed), jobs, timer.advance)
        with timer.stage("synthesise"):
            copies = draws.fresh()
        timer.split("synthesise", copies.drawn.seconds)
        holdout = held_out(config, plan.released)
        with timer.stage("judge"):  # by other draws: the copies are not looked at before the verdict stands
            judged = judge(draws, earlier=trail.earlier, holdout=holdout, accepted=accepted, study=study)
        taken = timer.seconds["judge"]
        if taken > SOON and judged.verdict.checks:  # whoever waits for it should not wait for advice and report too
            timer.tell(f"verdict on the draws: {judged.verdict.judgement}; advice and measures for the report follow")
        with timer.stage("advise"):
            # where what is kept settled the verdict, the copies that were made tell how long a draw takes
            pace = taken / judged.draws if judged.draws else timer.seconds["synthesise"]
            advice = advise_on(draws, judged, accepted=accepted, study=study, pace=pace)
        with timer.stage("evaluate"):
            comparison, metrics = assess_release(draws, copies, earlier=trail.earlier, holdout=holdout)
        promise, promised = compared(config, judged.verdict, drawn=judged.draws > 0)
        metrics.decided({**judged.section(), "advice": advice, **trail.attempted(judged.verdict), **promise})
        metrics.timed(timer.seconds)
        metrics.chained(copies.made.chain)
        told = (
            *promised,
            *(() if holdout is None else shared_with(plan.released, holdout)),
            *notes_of(config, plan),
            *judged.notes,
            *notes_on(metrics),
            *trail.cautions,
            *map(str, trail.earlier),
        )
        content = report_content(
            config,
            comparison,
            metrics,
            made=copies.made,
            notes=told,
            versions=trail.manifest.contents["versions"],
            labels={} if source.table is None else source.table.labels.variables,
        )
        orders = row_orders(config, copies.made, draws.streams)
        with timer.stage("report"):
            report = write_report(config, judged, content, orders, trail)
        sums = None
        if judged.verdict.passed and not study:
            scan = trail.recording(inspection(config, source.data, trail.manifest), plan, copies.made)
            with timer.stage("release"):
                try:
                    sums = publish(config, source.data, copies.made, orders, out, source.table, inspect=scan)
                except GateRefused as error:
                    metrics.leaked(str(error).splitlines(), trail.leaked())
                    write_report(config, judged, content, orders, trail)
        trail.finish(metrics, timer.seconds, sums)
    return Outcome.of(metrics, report, out / "public")


def _in_shards(
    config: Config, *, out: Path, study: bool, jobs: int, resume: bool, accepted: Mapping[str, str], timer: Timer
) -> Outcome:
    """Run without the table in memory; what that takes is loaded when it is asked for."""
    from synthdp.stages.streaming import running

    metrics, report = running.run(
        config, out=out, timer=timer, jobs=jobs, study=study, resume=resume, accepted=accepted
    )
    return Outcome.of(metrics, report, out / "public")


def evaluate(config: Config, *, synthetic: Sequence[Path], out: Path, progress: Progress | None = None) -> Outcome:
    """Judge files made by any tool against the original; writes metrics.json and report.html into ``out``."""
    timer = Timer(progress or Silent())
    with timer.stage("read"):
        table = read(config)
        data = prepare(table.frame, config, unread=table.unread)
        comparison = align(config, data, synthetic, groups=tag(data, config.groups).labels, labels=table.labels)
    raise_if(analysis_problems(config, data.schema.names()))
    metrics = Metrics()
    with release.prepare_out(out, resume=False):
        with timer.stage("evaluate"):
            found = assess_comparison(config, comparison)
            judged = judge_copies(config, comparison, found)
        metrics.measured(found)
        metrics.claimed()
        metrics.decided(judged.section())
        metrics.timed(timer.seconds)
        metrics.cautioned(comparison.cautions)
        content = report_content(config, comparison, metrics, notes=comparison.cautions)
        with timer.stage("report"):
            metrics.write(out / "metrics.json")
            release.write_atomic(out / "report.html", page.render(content).encode())
    return Outcome.of(metrics, out / "report.html")


def _guessable(config: Config) -> list[str]:
    """Return why whoever holds the public files could guess the noise in them."""
    if config.seed is not None and config.seed < SMALLEST_SECRET_SEED:
        return [
            "seed: must be at least 2^64, because whoever guesses it can remove the mask; "
            "leave it out for a secret one, or add --study, which publishes nothing."
        ]
    if config.synthesis.simulated:
        return [
            "synthesis.source: simulated noise comes from a seed and may leak through floating point; use secure, or "
            "add --study, which publishes nothing."
        ]
    return []
