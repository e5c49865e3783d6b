"""What a command of ``synthdp`` is: a function whose arguments typer reads, and the examples below its help.

It ends with a sentence and an exit code, never with a traceback.
"""

import errno
import functools
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

import typer

from synthdp import __version__, plugins
from synthdp.cli.terminal import log, say
from synthdp.errors import InputError, SynthdpError, Unfinished

P = ParamSpec("P")
BUG, INTERRUPTED = 1, 130


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


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Return a command that ends with a sentence and an exit code, whatever happens inside."""

    @functools.wraps(command)
    def ending(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _terminable(), _logging(kwargs.get("log")), _quiet_warnings():
                try:
                    command(*args, **kwargs)
                except typer.Exit:
                    raise
                except BrokenPipeError:  # the reader of our output has seen enough
                    _discard_output()
                except BaseException as error:
                    _end(error)
        except SynthdpError as error:  # from opening the log
            _end(error)

    return ending


def _end(error: BaseException) -> NoReturn:
    """Say what went wrong and leave."""
    if isinstance(error, SynthdpError):
        log.error("%s: %s", type(error).__name__, error)
        sentence, code = str(error), error.exit_code
    else:
        _log_frames(error)
        sentence, code = _told(error)
    say(sentence)
    raise typer.Exit(code) from None


def is_interruption(error: BaseException) -> bool:
    """Return whether somebody stopped us; a compiled loop hands on Ctrl-C as the cause of one or more SystemErrors."""
    seen: BaseException | None = error
    while isinstance(seen, SystemError):
        seen = seen.__cause__ or seen.__context__
    return isinstance(seen, KeyboardInterrupt)


def _told(error: BaseException) -> tuple[str, int]:
    """Return a sentence and an exit code; an unforeseen error shows its place, as its message may quote the data."""
    if is_interruption(error):
        return "interrupted.", INTERRUPTED
    match error:
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            _discard_output()  # what is left of it would be tried again, and fail again, when Python ends
            return "the output cannot be written: the disk is full.", Unfinished.exit_code
        case OSError():
            named = f"{error.filename}: " if isinstance(error.filename, str) else ""
            why = os.strerror(error.errno) if error.errno is not None else type(error).__name__
            return f"{named}the system could not do this ({why}); try again.", Unfinished.exit_code
        case MemoryError():
            cure = "use fewer --jobs, fewer copies, or a larger machine"
            return f"not enough memory for this job; {cure}.", Unfinished.exit_code
    return f"a bug in synthdp: {type(error).__name__} in {_place(error)}. Please report it.", BUG


def _discard_output() -> None:
    with suppress(OSError):  # a test's output has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _frames(error: BaseException) -> Iterator[tuple[str, int, str]]:
    step = error.__traceback__
    while step is not None:
        yield str(step.tb_frame.f_globals.get("__name__", "?")), step.tb_lineno, step.tb_frame.f_code.co_name
        step = step.tb_next


def _place(error: BaseException) -> str:
    """Return the innermost line of our own code the error passed through."""
    return [f"{module}:{line}" for module, line, _ in _frames(error) if module.split(".")[0] == "synthdp"][-1]


def _log_frames(error: BaseException) -> None:
    seen: BaseException | None = error
    while seen is not None:
        log.error("%s, from", type(seen).__name__)
        for module, line, function in _frames(seen):
            log.error("  %s:%d %s", module, line, function)
        seen = seen.__cause__ or seen.__context__


@contextmanager
def _terminable() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C: things are put in order before we leave."""

    def stop(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _LogFile(logging.FileHandler):
    """A log that nobody misses when its disk is full: the work goes on, and no traceback is shown."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Leave the line out."""


@contextmanager
def _logging(path: object) -> Iterator[None]:
    if not isinstance(path, Path):
        yield
        return
    try:
        if path.is_fifo():  # opening it would wait for a reader
            raise OSError
        handler = _LogFile(path, encoding="utf-8")
    except OSError:
        raise InputError(f"--log {path}: the file cannot be written.") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        log.info("synthdp %s", __version__)
        yield
    finally:
        log.removeHandler(handler)
        with suppress(OSError):
            handler.close()


@contextmanager
def _quiet_warnings() -> Iterator[None]:
    """Keep the warnings of libraries, which may quote the data, off the screen; the log says where they came from."""

    def show(_message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
        log.warning("%s at %s:%d", category.__name__, Path(filename).name, lineno)

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield
