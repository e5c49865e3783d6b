"""What the person at the terminal sees.

Progress, results, the shared arguments, and how a command ends: a sentence and an exit code, never a traceback.
"""

import codecs
import errno
import functools
import io
import logging
import os
import shutil
import signal
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from synthdp import __version__
from synthdp.errors import InputError, SynthdpError, Unfinished

if TYPE_CHECKING:
    from rich.progress import TaskID

log = logging.getLogger("synthdp")
log.addHandler(logging.NullHandler())  # without a file, nothing is logged anywhere


SPELT = {
    "ε": "epsilon", "δ": "delta", "σ": "sigma", "μ": "mu", "ρ": "rho", "θ": "theta", "λ": "lambda", "α": "alpha",
    "–": "-", "—": "-", "−": "-", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'", "·": "*", "×": "x", "±": "+/-",
    "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "√": "sqrt ", "∞": "inf", "²": "^2", "→": "->", "✓": "ok", "✗": "x",
}  # fmt: skip


def any_encoding() -> None:
    """Let output go to terminals that lack some letters (PYTHONIOENCODING=ascii): those are spelt out, or become ?."""

    def spelt(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return "".join(SPELT.get(letter, "?") for letter in error.object[error.start : error.end]), error.end

    codecs.register_error("synthdp", spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="synthdp")


class Stages:
    """Show nothing; the log still gets every stage and its time."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run one stage of the work."""
        start = time.perf_counter()
        log.info("%s: started", name)
        self.begin(name)
        try:
            yield
        except BaseException:
            log.info("%s: left after %.2f s", name, time.perf_counter() - start)
            raise
        seconds = time.perf_counter() - start
        log.info("%s: done in %.2f s", name, seconds)
        self.end(name, seconds)

    def advance(self, done: int, total: int) -> None:
        """Say how far the current stage has come."""

    def wait(self, sentence: str) -> None:
        """Say what has to end first, also where progress is not shown."""
        say(sentence)

    def begin(self, name: str) -> None:
        """Show that a stage begins."""

    def end(self, name: str, seconds: float) -> None:
        """Show that a stage is complete."""


class Lines(Stages):
    """One line on stderr for each completed stage."""

    def end(self, name: str, seconds: float) -> None:
        """Show that a stage is complete."""
        say(f"{name}: {seconds:.1f} s")


class Bars(Stages):
    """A moving bar for each stage, inside a `rich` progress display."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._open: list[TaskID] = []

    def begin(self, name: str) -> None:
        """Show that a stage begins."""
        self._open.append(self._display.add_task(name, total=None))

    def advance(self, done: int, total: int) -> None:
        """Say how far the current stage has come."""
        if self._open:
            self._display.update(self._open[-1], completed=done, total=total)

    def end(self, name: str, seconds: float) -> None:
        """Show that a stage is complete."""
        self._display.update(self._open.pop(), completed=1, total=1)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Stages]:
    """Give the progress display that suits the place: bars on a terminal, else lines, nothing when quiet."""
    if quiet:
        yield Stages()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as display:
            yield Bars(display)


def say(text: str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def show(text: str) -> None:
    """Write a result to stdout."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def wrapped(text: str, *, indent: str = "") -> str:
    """Return a paragraph that fits the terminal (80 columns where there is none); words are not broken."""
    width = max(40, shutil.get_terminal_size((80, 24)).columns)
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent if indent.isspace() or not indent else " " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def show_summary(rows: Sequence[tuple[str, str]]) -> None:
    """Show labels and values as a table on stdout; what has no label stands below it as a list."""
    titled = [row for row in rows if row[0]]
    if not sys.stdout.isatty():
        width = max((len(label) for label, _ in titled), default=0)
        for label, value in rows:
            show(f"{label:<{width}}  {value}" if label else wrapped(value, indent="  - "))
        return
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, show_header=False)
    for label, value in titled:
        table.add_row(Text(label, style="bold"), Text(value, overflow="fold"))
    Console().print(table)
    for label, value in rows:
        if not label:
            show(wrapped(value, indent="  - "))


ReleaseFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="public/, or the folder that holds it.", show_default=False)
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Append a log to this file; it holds no data values.")]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="Charge this budget ledger.", show_default=False)
]
Cap = Annotated[
    float | None, typer.Option(metavar="E", help="Start the ledger, with this total epsilon.", show_default=False)
]
CapDelta = Annotated[float, typer.Option(metavar="D", help="Total delta of a new ledger.")]


P = ParamSpec("P")
BUG, INTERRUPTED = 1, 130


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
    """Say what went wrong and leave; an unforeseen error shows its place, as its message may quote the data."""
    if isinstance(error, SynthdpError):
        for line in str(error).splitlines():
            say(line)
        log.error("%s: %s", type(error).__name__, error)
        raise typer.Exit(error.exit_code) from None
    _log_frames(error)
    if isinstance(error, KeyboardInterrupt):
        say("interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        _discard_output()  # what is left of it would be tried again, and fail again, when Python ends
        say("the output cannot be written: the disk is full.")
        raise typer.Exit(Unfinished.exit_code) from None
    if isinstance(error, OSError):
        named = f"{error.filename}: " if isinstance(error.filename, str) else ""
        why = os.strerror(error.errno) if error.errno is not None else type(error).__name__
        say(f"{named}the system could not do this ({why}); try again.")
        raise typer.Exit(Unfinished.exit_code) from None
    if isinstance(error, MemoryError):
        say("not enough memory for this job; use fewer --jobs, fewer copies, or a larger machine.")
        raise typer.Exit(Unfinished.exit_code) from None
    say(f"a bug in synthdp: {type(error).__name__} in {_place(error)}. Please report it.")
    raise typer.Exit(BUG) from None


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
    ours = [(module, line) for module, line, _ in _frames(error) if module.split(".")[0] == "synthdp"]
    module, line = ours[-1]
    return f"{module}:{line}"


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
