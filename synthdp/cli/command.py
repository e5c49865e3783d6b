"""What a command of ``synthdp`` is: a function whose arguments typer reads, and the examples below its help."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

from synthdp import plugins
from synthdp.cli.terminal import guarded


@dataclass(frozen=True)
class Command:
    """One command.

    Parameters
    ----------
    function
        It ends with a sentence and an exit code, whatever happens inside; its docstring is the help.
    epilog
        Examples.
    cls
        How its arguments are parsed, where typer's own way is not enough.
    """

    function: Callable[..., None]
    epilog: str | None = None
    cls: Any = None


def command(epilog: str | None = None, cls: Any = None) -> Callable[[Callable[..., None]], Command]:
    """Return a decorator that makes a command of a function; errors of synthdp become a sentence and an exit code."""
    return lambda function: Command(guarded(function), epilog, cls)


def register(app: typer.Typer) -> typer.Typer:
    """Add every command to the app: those built in, then those of plugins; a ``typer.Typer`` is a group of commands."""
    for name, found in plugins.Registry("commands").items():
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            one = found if isinstance(found, Command) else Command(guarded(found))
            app.command(name, epilog=one.epilog, cls=one.cls)(one.function)
    return app
