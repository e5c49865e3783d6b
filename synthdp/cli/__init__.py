"""The command line: ``synthdp --help``."""

import sys
from typing import NoReturn

from synthdp.cli.commands import app

__all__ = ["app", "main"]


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    app(prog_name="synthdp")
    sys.exit(0)
