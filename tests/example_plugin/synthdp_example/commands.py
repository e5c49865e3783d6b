"""``synthdp columns FILE``: the columns of a file, one a line."""

from pathlib import Path

from synthdp.cli.command import command
from synthdp.cli.terminal import show


@command(epilog="Example:  synthdp columns survey.csv")
def columns(data: Path) -> None:
    """List the columns of a file."""
    from synthdp.table.io import read  # heavy: only when the command is run

    for name in read(data).columns:
        show(str(name))
