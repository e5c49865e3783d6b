"""The command that explores in the browser: so far it writes the page of privacy regions.

Only typer is imported here, so that ``--help`` answers at once.
"""

from pathlib import Path
from typing import Annotated

import typer

from synthdp.cli import terminal
from synthdp.cli.command import command
from synthdp.cli.terminal import Log, Quiet
from synthdp.errors import InputError


@command(
    epilog="""\b
Examples:
  synthdp explore --export regions.html               the privacy regions as one offline page, to open in any browser
  synthdp explore config.yaml --export regions.html   with the config's masks among them"""
)
def explore(
    given: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG]", help="A config, whose masks with a bound are offered.", show_default=False),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the privacy regions as one offline HTML page.", show_default=False),
    ] = None,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Explore privacy regions, and what privacy costs, in the browser."""
    if export is None:
        raise InputError("explore: name the page to write, with --export FILE.")
    from synthdp.config import load
    from synthdp.explore.regions import page

    terminal.check_ending(export, ".html", "--export")
    if export.exists():
        raise InputError(f"--export {export}: exists already and is not overwritten; choose another name.")
    terminal.write(export, page(None if given is None else load(given)).encode(), "--export")
    if not quiet:
        terminal.show(f"{export}: written; open it in a browser.")
