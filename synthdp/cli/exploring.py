"""The command that opens the workbench in the browser, on this machine only.

Only typer is imported here, so that ``--help`` answers at once; the workbench needs the extra ``explore``.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from synthdp.cli import terminal
from synthdp.cli.command import command
from synthdp.cli.terminal import Log, Quiet
from synthdp.errors import InputError

NEEDED = "explore: needs the library dash: pip install 'synthdp[explore]'."


@command(
    epilog="""\b
Examples:
  synthdp explore survey.csv                  look at a file, choose what happens to its columns, write a config
  synthdp explore config.yaml                 move masks, see risk against usefulness, judge, run
  synthdp explore results                     a finished run, compare or tune: from the verdict to its evidence
  synthdp explore --export regions.html       the privacy regions as one offline page

\b
It answers on this machine only (127.0.0.1), to the one browser that opens the address it prints."""
)
def explore(
    given: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG | DIR | DATA]", help="What to open.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port on this machine; 0: a free one.")] = 0,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the privacy regions as one offline HTML page.", show_default=False),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Open the workbench in the browser: steer by eye."""
    if export is not None:
        exported(export, given, quiet=quiet)
        return
    if find_spec("dash") is None:
        raise InputError(NEEDED)
    from synthdp.explore.serving import serve

    # the address is the only way in, so that it is shown even to who wants quiet
    serve(given, port=port, browser=not no_browser, say=terminal.show)


def exported(out: Path, given: Path | None, *, quiet: bool) -> None:
    """Write the page of privacy regions, with the masks of a config among them."""
    from synthdp.config import load
    from synthdp.explore.regions import page

    terminal.check_ending(out, ".html", "--export")
    if out.exists():
        raise InputError(f"--export {out}: exists already and is not overwritten; choose another name.")
    terminal.write(out, page(None if given is None else load(given)).encode(), "--export")
    if not quiet:
        terminal.show(f"{out}: written; open it in a browser.")
