"""What the person at the terminal sees: progress, results, and the arguments that commands share."""

import codecs
import io
import logging
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthdp.errors import InputError

if TYPE_CHECKING:
    from rich.progress import TaskID

log = logging.getLogger("synthdp")
log.addHandler(logging.NullHandler())  # without a file, nothing is logged anywhere

PATIENCE = 30.0  # seconds

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

    def tell(self, sentence: str) -> None:
        """Say what is known already while the rest goes on."""

    def begin(self, name: str) -> None:
        """Show that a stage begins."""

    def end(self, name: str, seconds: float) -> None:
        """Show that a stage is complete."""


class Lines(Stages):
    """One line on stderr for each completed stage, and one every half minute while a stage is at work."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._said = time.monotonic()

    def begin(self, name: str) -> None:
        """Remember which stage is at work."""
        self._open.append(name)
        self._said = time.monotonic()

    def advance(self, done: int, total: int) -> None:
        """Say how far the current stage has come, to whoever has heard nothing for a while."""
        if self._open and time.monotonic() - self._said >= PATIENCE:
            say(f"{self._open[-1]}: {done} of {total}")
            self._said = time.monotonic()

    def tell(self, sentence: str) -> None:
        """Say what is known already."""
        say(wrapped(sentence))

    def end(self, name: str, seconds: float) -> None:
        """Show that a stage is complete."""
        self._open.pop()
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

    def tell(self, sentence: str) -> None:
        """Say what is known already, above the bars."""
        self._display.console.print(sentence, markup=False, highlight=False)

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


def option(metavar: str, what: str) -> Any:
    """Return an option of a command that is typed as text: what stands for its value, and its help."""
    return typer.Option(metavar=metavar, help=what, show_default=False)


ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="public/, or the folder that holds it.")]
Log = Annotated[Path | None, option("FILE", "Append a log to this file; it holds no data values.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show errors only.")]
LedgerFile = Annotated[Path | None, option("FILE", "Charge this budget ledger.")]
Cap = Annotated[float | None, option("E", "Start the ledger, with this total epsilon.")]
CapDelta = Annotated[float, typer.Option(metavar="D", help="Total delta of a new ledger.")]


def numbers(text: str | None, option: str) -> list[float] | None:
    """Return the numbers that an option lists, separated by commas; None where it is not given."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"{option}: must be numbers separated by commas.") from None


def check_ending(out: Path | None, ending: str, option: str = "--out") -> None:
    """Refuse a file of ``--out``, or of another option, whose name has another ending."""
    if out is not None and out.suffix.lower() != ending:
        raise InputError(f"{option} {out}: must be a {ending} file.")


def write(out: Path, data: bytes, option: str = "--out") -> None:
    """Write the file that ``--out``, or another option, names."""
    try:
        out.write_bytes(data)
    except OSError:
        raise InputError(f"{option} {out}: the file cannot be written.") from None
