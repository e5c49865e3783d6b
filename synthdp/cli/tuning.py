"""The command that looks for the most useful settings within every limit.

Only typer is imported here, so that ``--help`` answers at once.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthdp.cli import terminal
from synthdp.cli.command import INTERRUPTED, command, is_interruption
from synthdp.cli.commands import ConfigFile, Jobs, Out, Seed, Set
from synthdp.cli.terminal import Log, Quiet, option
from synthdp.errors import InputError

if TYPE_CHECKING:
    from synthdp.tuning.result import Tuned


@command(
    epilog="""\b
Examples:
  synthdp tune config.yaml --out tuned                         then: synthdp run tuned/tuned.yaml
  synthdp tune config.yaml --budget 20m                        or a number of trials: --budget 40
  synthdp tune config.yaml --max-risk max_individual=0.2       stricter than the config
  synthdp tune config.yaml --out tuned --resume                after an interruption

\b
In the config, what may be varied and what is aimed at:
  tuning: {vary: [masks, model, copies, mask_draw, coarsening], goal: panel, confirm: 20, holds: 0.95}""",
)
def tune(
    config: ConfigFile,
    max_risk: Annotated[
        list[str] | None, option("NAME=VALUE", "A limit of the gate, in place of the config's (repeatable).")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long it may take: 90s, 20m, 1h, or a number of trials.")
    ] = None,
    out: Out = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the search in --out.")] = False,
    seed: Seed = None,
    set_: Set = None,
    jobs: Jobs = 1,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Find the most useful settings within every limit.

    The limits are those of the gate; nothing is published.
    """
    if resume and out is None:
        raise InputError("--resume: name the search to go on with, with --out DIR.")
    from synthdp.config import load
    from synthdp.tuning.asking import limited
    from synthdp.tuning.study import tune as search

    overrides = [*(set_ or ()), *([] if seed is None else [f"seed={seed}"])]
    settings = limited(load(config, overrides), max_risk or ())
    folder = out if out is not None else Path("synthdp-out") / time.strftime("%Y%m%d-%H%M%S")
    try:
        with terminal.progress(quiet=quiet) as progress:
            found = search(settings, budget=budget, out=folder, resume=resume, jobs=jobs, progress=progress)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        terminal.say(f"interrupted. To continue, repeat the command with --out {folder} --resume")
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        _show(found, folder)


def _show(found: "Tuned", folder: Path) -> None:
    from synthdp.tuning.space import told

    chosen = found.chosen
    terminal.show(terminal.wrapped(f"usefulness {chosen.use:.3f}: {told(found.space, chosen.shape)}"))
    for name, one in chosen.worst().items():
        if one.deciding is not None:
            terminal.show(f"  {name:<24} {one.deciding:>9.4g}  limit {one.limit:g}  ({one.attack})")
    for name, mask in found.settings.masks.items():
        terminal.show(f"  {name}: {mask.describe()}")
    for sentence in found.cautions:
        terminal.show(terminal.wrapped(sentence))
    terminal.show(f"settings: {folder / 'tuned.yaml'} (synthdp run {folder / 'tuned.yaml'})")
    terminal.show(f"report: {folder / 'report.html'}")
