"""The command that lays methods and other tools' files beside each other.

Only typer is imported here, so that ``--help`` answers at once.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from synthdp.cli import terminal
from synthdp.cli.command import INTERRUPTED, command, is_interruption
from synthdp.cli.commands import ConfigFile, Jobs, Out, Set
from synthdp.cli.terminal import Log, Quiet, option
from synthdp.errors import InputError

if TYPE_CHECKING:
    from synthdp.comparing.mapping import MethodMap


class _ManyFiles(TyperCommand):
    """A command whose ``--files`` takes several: --files a='x/*.csv' b='y/*.csv'."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        inside = False
        for arg in args:
            if inside and "=" in arg and not arg.startswith("-") and spread[-1] != "--files":
                spread.append("--files")
            elif arg.startswith("-"):
                inside = arg == "--files"
            spread.append(arg)
        return super().parse_args(ctx, spread)


@command(
    cls=_ManyFiles,
    epilog="""\b
Examples:
  synthdp compare config.yaml --seeds 5 --jobs 2 --out study       the methods: block of the config
  synthdp compare config.yaml --files synthpop='syn/*.csv' sdv='sdv/*.csv'
  synthdp compare config.yaml --out study --resume                 after an interruption, or for more seeds
  synthdp compare config.yaml --set evaluation.holdout=held_out.csv

\b
In the config, a method is a synthesis block, or whole blocks that replace the config's own:
  methods:
    cart:  {method: sequential, model: {method: cart}}
    wide:  {masks: {age: {method: gaussian, sd: 2}}}""",
)
def compare(
    config: ConfigFile,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="How often each method is drawn.")] = 5,
    files: Annotated[
        list[str] | None, option("NAME=GLOB [NAME=GLOB ...]", "Files of another tool, under a name of your choice.")
    ] = None,
    out: Out = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the study in --out.")] = False,
    set_: Set = None,
    jobs: Jobs = 1,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Lay methods, settings and other tools' files on one map.

    The map shows risk against usefulness; nothing is published.
    """
    if resume and out is None:
        raise InputError("--resume: name the study to go on with, with --out DIR.")
    from synthdp.comparing.study import compare as study
    from synthdp.config import load

    settings = load(config, set_ or ())
    given = _named(files or [])
    folder = out if out is not None else Path("synthdp-out") / time.strftime("%Y%m%d-%H%M%S")
    try:
        with terminal.progress(quiet=quiet) as progress:
            found = study(
                None, None, settings, seeds=seeds, files=given, jobs=jobs, out=folder, resume=resume, progress=progress
            )
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        terminal.say(f"interrupted. To continue, repeat the command with --out {folder} --resume")
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        _show(found, folder)


def _named(files: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in files:
        name, equals, pattern = text.partition("=")
        if not equals or not name or not pattern:
            raise InputError(f"--files {text}: must have the form NAME=GLOB.")
        found.setdefault(name, []).append(pattern)
    return found


def _show(found: "MethodMap", folder: Path) -> None:
    from synthdp.comparing.axes import rows_of

    risk, utility = found.axes()
    places = found.points()
    width = max(6, *(len(name) for name in found.methods))
    terminal.show(f"{'method':<{width}}  {risk.title:>22}  {utility.title:>22}  front")
    for row in rows_of(places):
        cells = [f"{value:>22.4g}" if value == value else f"{'-':>22}" for value in (row.risk, row.utility)]
        terminal.show(f"{row.method:<{width}}  {cells[0]}  {cells[1]}  {'yes' if row.front else ''}".rstrip())
    for row in rows_of(places):
        if row.reason:
            terminal.show(terminal.wrapped(f"{row.method}: not on the map: {row.reason}"))
    for sentence in found.cautions:
        terminal.show(terminal.wrapped(f"caution: {sentence}"))
    terminal.show(f"table: {folder / 'comparison.csv'}")
    terminal.show(f"report: {folder / 'report.html'}")
