"""The commands: read arguments, call the pipeline, show what came of it.

Only typer is imported here, so that ``synthdp --help`` answers at once; every command imports what it needs.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from synthdp import __version__
from synthdp.cli import terminal
from synthdp.cli.command import INTERRUPTED, command, is_interruption
from synthdp.cli.paying import UNCHARGED, ledger_of
from synthdp.cli.terminal import Cap, CapDelta, LedgerFile, Log, Quiet, option
from synthdp.errors import GateRefused, InputError

if TYPE_CHECKING:
    from synthdp.pipeline import Outcome

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The config file (YAML).")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Where the results go: an empty or new folder. [default: synthdp-out/<time>]",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Seed, to repeat a run. Keep it secret: it can undo the masks."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: --set synthesis.copies=10 (repeatable)."),
]
Jobs = Annotated[int, typer.Option(metavar="N", min=1, help="Processes to use; the results do not depend on it.")]

app = typer.Typer(
    name="synthdp",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  synthdp demo                          the whole way on real survey data
  synthdp init survey.csv               look at the data, write a commented config
  synthdp check config.yaml             does the config fit the data?
  synthdp run config.yaml --out results
  synthdp verify results
  synthdp analyse results --model logit --formula "vote ~ age + educ"
  synthdp dp mean survey.csv --column age --bounds 18,90 --epsilon 0.5

Exit codes: 0 done, 1 a bug in synthdp, 2 wrong input, 3 the release gate refused, 4 could not finish,
130 interrupted.""",
)


class _ManyFiles(TyperCommand):
    """A command whose ``--synthetic`` takes several files: a.csv b.csv c.csv."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        inside = False
        for arg in args:
            if inside and not arg.startswith("-") and spread[-1] != "--synthetic":
                spread.append("--synthetic")
            elif arg.startswith("-"):
                inside = arg == "--synthetic"
            spread.append(arg)
        return super().parse_args(ctx, spread)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Synthetic public-use files whose statistics can be trusted, with measured disclosure risk."""
    if version:
        terminal.show(f"synthdp {__version__}")
        raise typer.Exit


@command(
    epilog="""\b
Examples:
  synthdp demo
  synthdp demo --out tour --jobs 2
  synthdp demo --quick"""
)
def demo(
    out: Out = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only the run of a ready config, small: seconds.")] = False,
    jobs: Jobs = 1,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Go the whole way on a bundled survey: init, tune, run."""
    from synthdp.cli.starting import demo as show_demo

    folder = _folder(out)
    with terminal.progress(quiet=quiet) as progress:
        outcome = show_demo(out=folder, quick=quick, jobs=jobs, progress=progress)
    _conclude(outcome, quiet=quiet)
    if not quick and not quiet:
        from synthdp.cli.touring import left

        for line in left(folder):
            terminal.show(line)


@command(
    epilog="""\b
Examples:
  synthdp init survey.csv                                 writes survey.yaml
  synthdp init survey.csv --method copula                 one joint model: replaces columns with gaps too
  synthdp init survey.csv -o config.yaml --method cart    trees: gaps, dates and thousands of levels too"""
)
def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The confidential file.")],
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The config to write. [default: DATA's name with .yaml]"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="auto, regression or copula (with masks), or cart (sequential trees)."),
    ] = None,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Write a commented config: the only command that guesses.

    It looks at the data for that.
    """
    from synthdp.cli.starting import write_config

    for line in write_config(data, out, method):
        if not quiet:
            terminal.show(line)


@command(
    epilog="""\b
Examples:
  synthdp check config.yaml
  synthdp check config.yaml --set data.path=new.csv
  synthdp check config.yaml --cost                        memory, disk and time of a run"""
)
def check(
    config: ConfigFile,
    cost: Annotated[bool, typer.Option("--cost", help="Say first what a run will need, and on which engine.")] = False,
    set_: Set = None,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Check a config against its data, and change nothing."""
    from synthdp import pipeline
    from synthdp.config import load

    settings = load(config, set_ or ())
    if cost and not quiet:  # before the records are read, which may take long
        from synthdp.stages.expecting import expected

        for line in expected(settings):
            terminal.show(line)
    result = pipeline.check(settings)
    if not quiet:
        for message in result.messages:
            terminal.show(message)


@command(
    epilog="""\b
Examples:
  synthdp run config.yaml
  synthdp run config.yaml --out results --jobs 2
  synthdp run config.yaml --out results --resume          after an interruption
  synthdp run config.yaml --study --seed 1                repeatable, publishes nothing
  synthdp run config.yaml --ledger survey.ledger --cap 3  differentially private methods pay before they draw
  synthdp run config.yaml --out results --resume --accept-risk "max_individual: record 7 agreed in writing\""""
)
def run(
    config: ConfigFile,
    out: Out = None,
    study: Annotated[bool, typer.Option("--study", help="For simulations: any seed, and no public files.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the interrupted run in --out.")] = False,
    accept_risk: Annotated[
        list[str] | None, option('"NAME: REASON"', "Publish although this risk is over its limit; goes on record.")
    ] = None,
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    seed: Seed = None,
    set_: Set = None,
    jobs: Jobs = 1,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Make synthetic copies, judge them, publish what passes."""
    if resume and out is None:
        raise InputError("--resume: name the run to continue, with --out DIR.")
    from synthdp import pipeline
    from synthdp.config import load
    from synthdp.evaluation.gate import accepted_risks

    accepted = accepted_risks(accept_risk or ())
    settings = load(config, _overrides(set_, seed))
    book = ledger_of(settings.data.path, ledger, cap, cap_delta, settings.synthesis.relation)
    folder = _folder(out)
    try:
        with terminal.progress(quiet=quiet) as progress:
            outcome = pipeline.run(
                settings,
                out=folder,
                study=study,
                jobs=jobs,
                resume=resume,
                accepted=accepted,
                progress=progress,
                ledger=book,
            )
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        terminal.say(f"interrupted. To continue, repeat the command with --out {folder} --resume")
        raise typer.Exit(INTERRUPTED) from None
    if book is None and outcome.public is not None and outcome.metrics.private:
        terminal.say(UNCHARGED)
    _conclude(outcome, quiet=quiet)


@command(
    cls=_ManyFiles,
    epilog="""\b
Examples:
  synthdp evaluate config.yaml --synthetic a.csv b.csv c.csv --out judged
  synthdp evaluate config.yaml --synthetic results/public --set evaluation.rows=none""",
)
def evaluate(
    config: ConfigFile,
    synthetic: Annotated[list[Path], option("FILE [FILE ...]", "Synthetic files, or the folder of a release.")],
    out: Out = None,
    seed: Seed = None,
    set_: Set = None,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Judge files made by any tool: how useful, how risky."""
    from synthdp import pipeline
    from synthdp.config import load

    settings = load(config, _overrides(set_, seed))
    with terminal.progress(quiet=quiet) as progress:
        outcome = pipeline.evaluate(settings, synthetic=synthetic, out=_folder(out), progress=progress)
    _show(outcome, quiet=quiet)


@command(
    epilog="""\b
Examples:
  synthdp schema > synthdp.schema.json                    for completion in an editor"""
)
def schema() -> None:
    """Show the JSON Schema of the config."""
    import json

    from synthdp.config import json_schema

    terminal.show(json.dumps(json_schema(), indent=2))


def _overrides(set_: Sequence[str] | None, seed: int | None) -> list[str]:
    return [*(set_ or ()), *([] if seed is None else [f"seed={seed}"])]


def _folder(out: Path | None) -> Path:
    return out if out is not None else Path("synthdp-out") / time.strftime("%Y%m%d-%H%M%S")


def _show(outcome: "Outcome", *, quiet: bool) -> None:
    if quiet:
        return
    from synthdp.release.metrics import DOSSIER
    from synthdp.report.summary import headline

    terminal.show(terminal.wrapped(headline(outcome.metrics.gate, published=outcome.public is not None)))
    terminal.show_summary(outcome.summary)
    terminal.show(f"report: {outcome.report}")
    if (dossier := outcome.report.with_name(DOSSIER)).is_file():
        terminal.show(f"to sign: {dossier}")
    if outcome.public is not None:
        terminal.show(f"public files: {outcome.public}")


def _conclude(outcome: "Outcome", *, quiet: bool) -> None:
    from synthdp.report.summary import advice, why

    _show(outcome, quiet=quiet)
    if outcome.passed:
        return
    shown = set() if quiet else {value for _, value in outcome.summary}
    terminal.say("the release gate refused; nothing was published.")
    for reason in why(outcome.metrics.gate):
        if reason not in shown:
            terminal.say(terminal.wrapped(reason, indent="  "))
    for line, verbatim in advice(outcome.metrics.gate):
        terminal.say(f"      {line}" if verbatim else terminal.wrapped(line, indent="  "))
    raise typer.Exit(GateRefused.exit_code)
