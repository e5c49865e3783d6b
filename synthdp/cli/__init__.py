"""The command line: ``synthdp --help``."""

import sys
from typing import NoReturn

from synthdp.cli.commands import app
from synthdp.cli.terminal import any_encoding

__all__ = ["app", "main"]


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    any_encoding()
    app(prog_name="synthdp")
    sys.exit(0)
