"""The story on one page: read → tag → mask → fit → draw → evaluate → gate → release → report."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from synthdp import io, release
from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.assessment import Assessment, assess
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.attacks import INFORMED, Attack
from synthdp.evaluation.risk.measures import measures
from synthdp.gating import decide, register_of
from synthdp.intake import align, held_out, prepare, read
from synthdp.intrusion.posterior import informed_intruder
from synthdp.microdata import Microdata
from synthdp.planning import analysis_problems, notes_of, plan_of, raise_if
from synthdp.privacy.ledger import Ledger
from synthdp.progress import Progress, Silent, Timer
from synthdp.publishing import format_of, publish, report_content, row_orders
from synthdp.release.confidential import Status, json_text
from synthdp.release.public import SUMS
from synthdp.report import page
from synthdp.schema import Role
from synthdp.seeding import SMALLEST_SECRET_SEED, Streams
from synthdp.summary import notes_on
from synthdp.summary import rows as summary_rows
from synthdp.synthesis.making import complete, make
from synthdp.synthesis.private.paying import Bill
from synthdp.synthesis.private.settings import Private
from synthdp.synthesis.protocol import Plan, Release
from synthdp.synthesis.repair import repair
from synthdp.tagging.groups import tag

RULE = "reiter2003"


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
    return CheckResult((*found, *notes_of(config, plan)))


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
) -> Outcome:
    """Make a release: judge it, and publish it if the gate lets it pass.

    Parameters
    ----------
    out
        The folder of the run; refused when it is not empty, unless ``resume``.
    study
        Allows a small seed, and publishes nothing.
    accepted
        Risks above their limits that whoever signs takes, by name, with the reason.
    ledger
        The budget ledger of the data, which a differentially private method is charged to before any noise is drawn.
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
) -> Outcome:
    """Run the pipeline on checked records; ``table`` brings the labels of the file they come from."""
    with timer.stage("tag"):
        plan = plan_of(config, data)
    bill = Bill(ledger, config.synthesis, plan, study=study)
    if not resume:
        bill.check()
    with release.prepare_out(out, resume=resume):
        settings = config.model_dump(mode="json", exclude={"seed"})
        manifest = release.start_manifest(
            out, config=settings, inputs=inputs, study=study, resume=resume, seed=config.seed
        )
        if manifest.finished and not (manifest.status == "refused" and accepted):
            return _finished(out)
        if isinstance(config.synthesis, Private) and (out / "public").is_dir():
            return _published(out, bill, manifest.run)
        bill.pay(manifest.run)
        streams = Streams(manifest.seed)
        with timer.stage("synthesise"):
            made = make(config.synthesis, plan, streams=streams, jobs=jobs, advance=timer.advance)
        timer.seconds |= {f"synthesise.{part}": seconds for part, seconds in made.seconds.items()}
        repaired = None
        if config.synthesis.repair:
            with timer.stage("repair"):
                made, repaired = _repair(config, plan, made, streams)
        with timer.stage("evaluate"):
            comparison = replace(_beside(plan, made), holdout=held_out(config, plan.released))
            informed = _informed(config, plan, jobs)
            found = assess_comparison(config, comparison, made.rule, streams, informed)
            register, caution = register_of(config, out)
            decision = decide(
                config,
                comparison,
                found,
                register=register,
                data=plan.released,
                accepted=accepted,
                assess=lambda settings, beside: assess_comparison(settings, beside, made.rule, streams, informed),
            )
        metrics = _metrics(found, made, timer, _noisy(config, plan))
        metrics |= {"chain": list(made.chain), "gate": decision.section()}
        if decision.together is not None:
            metrics["risk"] = {**metrics["risk"], "releases": decision.together}
        metrics["risk"] = {**metrics["risk"], **({"repair": repaired} if repaired is not None else {})}
        notes = (*notes_of(config, plan), *notes_on(metrics), *caution)
        content = report_content(config, comparison, metrics, made, notes, manifest.contents["versions"])
        orders = row_orders(config, made, streams)
        names = release.file_names(comparison.nests, len(made.copies) // comparison.nests, format_of(config))
        with timer.stage("report"):
            report = release.write_confidential(
                out,
                metrics=metrics,
                report=page.render(content),
                records_at_risk=found.records_at_risk,
                rows=dict(zip(names, orders, strict=True)),
            )
        sums = None
        if decision.verdict.passed and not study:
            with timer.stage("release"):
                if register is not None:
                    register.record(plan.released, made.copies)
                sums = publish(config, data, made, orders, out, table)
        status: Status = "study" if study else "published" if sums else "refused"
        _finish(out, status, metrics, bill, timer.seconds, sums)
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
            # permutations that give the chance level need no secrecy, and the same files should give the same numbers
            found = assess_comparison(config, comparison, RULE, Streams(0))
        metrics = _metrics(found, None, timer) | {"cautions": list(comparison.cautions)}
        content = report_content(config, comparison, metrics, None, comparison.cautions, {})
        with timer.stage("report"):
            release.write_atomic(out / "metrics.json", json_text(metrics).encode())
            release.write_atomic(out / "report.html", page.render(content).encode())
    summary = (*summary_rows(metrics), *(("caution", sentence) for sentence in comparison.cautions))
    return Outcome(metrics, out / "report.html", None, found.verdict.passed, summary)


def assess_comparison(
    config: Config,
    comparison: Comparison,
    rule: str,
    streams: Streams,
    informed: Mapping[str, Attack] | None = None,
) -> Assessment:
    """Take the measures the config asks for; ``informed`` intruders are those who know how the copies were made."""
    return assess(
        comparison,
        analyses=config.analyses,
        utility=config.evaluation.utility,
        risk=config.evaluation.risk,
        thresholds=config.release,
        default_rule=rule,
        streams=streams,
        settings=config.evaluation.utility_settings(),
        intruders=config.evaluation.intruders,
        propensity=config.evaluation.propensity,
        measures=measures(config.evaluation.targets),
        informed=informed,
    )


def _informed(config: Config, plan: Plan, jobs: int) -> dict[str, Attack]:
    """Return the intruders who can make the copies again."""

    def remake(streams: Streams) -> Sequence[pd.DataFrame]:
        copies = make(config.synthesis, plan, streams=streams, jobs=jobs).copies
        return repair(plan.released, copies).copies if config.synthesis.repair else copies

    return {name: informed_intruder(plan, remake) for name in INFORMED}


def _beside(plan: Plan, made: Release) -> Comparison:
    data = plan.released
    design = made.design
    return Comparison(
        data.frame,
        made.copies,
        data.schema,
        aligned=True,
        groups=plan.tags.labels,
        proper=design.proper if design is not None else None,
        nests=design.imputations if design is not None else 1,
    )


def _repair(config: Config, plan: Plan, made: Release, streams: Streams) -> tuple[Release, dict[str, Any]]:
    """Return the release after repair, and what the risk was before it."""
    attacks = tuple(name for name in config.evaluation.risk if name not in INFORMED)
    judged = config.evaluation.model_copy(update={"utility": (), "risk": attacks})
    blind = config.model_copy(update={"evaluation": judged})
    before = assess_comparison(blind, _beside(plan, made), made.rule, streams).risk
    found = repair(plan.released, made.copies)
    touched = {"records": found.touched, "left": found.left, "before": before}
    return complete(replace(made, copies=found.copies), plan), touched


def _noisy(config: Config, plan: Plan) -> list[str]:
    """Return what is known, without the data, of how much of a differentially private release is noise."""
    return config.synthesis.notes(plan) if isinstance(config.synthesis, Private) else []


def _metrics(found: Assessment, made: Release | None, timer: Timer, noisy: Sequence[str] = ()) -> dict[str, Any]:
    claimed = made.privacy.section() if made is not None and made.privacy is not None else {"epsilon": None}
    return {
        "version": 1,
        "utility": found.utility,
        "risk": found.risk,
        "privacy": {
            **claimed,
            "masking": list(made.masking) if made is not None else [],
            **({"cautions": list(noisy)} if noisy else {}),
        },
        "gate": found.verdict.section(),
        "timings": dict(timer.seconds),
    }


def _finish(
    out: Path,
    status: Status,
    metrics: Mapping[str, Any],
    bill: Bill,
    timings: Mapping[str, float],
    sums: Mapping[str, str] | None,
) -> None:
    if sums:
        bill.attach(out / "public" / SUMS)
    signed = {
        "accepted": metrics["gate"]["accepted"],
        "earlier_releases": metrics["risk"].get("releases", {}).get("earlier", []),
        "privacy": {key: value for key, value in metrics["privacy"].items() if key != "masking"},
        "charge": bill.number,
    }
    release.finish_manifest(out, status=status, timings=timings, public=sums, signed=signed)


def _published(out: Path, bill: Bill, run: str) -> Outcome:
    """End a run that was killed once its files were public: other noise now would be a second release."""
    if release.verify(out):
        raise InputError(
            f"{out}: the public files of the interrupted run were changed, and making them again would be another "
            "release; choose another --out."
        )
    found = _finished(out)
    bill.pay(run, released=out / "public" / SUMS)
    sums = {path.name: io.digest(path) for path in sorted((out / "public").iterdir()) if path.name != SUMS}
    _finish(out, "published", found.metrics, bill, found.metrics["timings"], sums)
    return found


def _finished(out: Path) -> Outcome:
    metrics = json.loads((out / "confidential" / "metrics.json").read_text(encoding="utf-8"))
    return _outcome(out, metrics, out / "confidential" / "report.html")


def _outcome(out: Path, metrics: Mapping[str, Any], report: Path) -> Outcome:
    public = out / "public" if (out / "public").is_dir() else None
    cautions = [("caution", str(sentence)) for sentence in metrics["privacy"].get("cautions", ())]
    return Outcome(metrics, report, public, bool(metrics["gate"]["passed"]), (*summary_rows(metrics), *cautions))
