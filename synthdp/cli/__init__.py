"""The command line: ``synthdp --help``."""

import sys
from functools import cache
from typing import Any, NoReturn

import typer

from synthdp.cli.command import register
from synthdp.cli.commands import app as empty
from synthdp.cli.terminal import any_encoding, say
from synthdp.errors import SynthdpError
from synthdp.parallel import one_thread

__all__ = ["main"]


@cache
def application() -> typer.Typer:
    """Return the app with all commands, those of plugins too."""
    return register(empty)


def __getattr__(name: str) -> Any:
    if name == "app":
        return application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    any_encoding()
    one_thread()
    try:
        app = application()
    except SynthdpError as error:  # a plugin whose command cannot be loaded
        say(str(error))
        sys.exit(error.exit_code)
    app(prog_name="synthdp")
    sys.exit(0)
