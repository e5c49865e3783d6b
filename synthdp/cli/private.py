"""The commands ``synthdp dp``: one statistic, its interval and its price, charged to a ledger if there is one.

Only typer is imported here, so that ``--help`` answers at once.
"""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthdp.cli import terminal
from synthdp.cli.command import guarded
from synthdp.cli.terminal import Cap, CapDelta, LedgerFile, Log, numbers, option
from synthdp.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from synthdp.dp import Released, ReleasedTable
    from synthdp.privacy.ledger import Account, Entry, Ledger

UNCHARGED = "not charged to any ledger; --ledger FILE keeps track of what was spent."
app = typer.Typer(
    name="dp",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Release one DP statistic, with its interval and its price.",
    epilog="""\b
Examples:
  synthdp dp mean survey.csv --column age --bounds 18,90 --epsilon 0.5
  synthdp dp quantile survey.csv --column income --probability 0.9 --bounds 0,200000 --epsilon 1
  synthdp dp histogram survey.csv --column region --levels north,south --epsilon 0.2
  synthdp dp ols survey.csv --column income --bounds 0,200000 --column age --bounds 18,90 --epsilon 1
  synthdp dp mean survey.csv --column age --bounds 18,90 --epsilon 0.5 --ledger survey.ledger --cap 3
  synthdp dp ledger survey.csv --ledger survey.ledger            what was spent, what is left""",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The confidential file.")]
OneColumn = Annotated[str, option("NAME", "The column.")]
Columns = Annotated[list[str], option("NAME", "A column (repeat; the response comes first).")]
Bounds = Annotated[str | None, option("LOW,HIGH", "Lowest and highest possible value, known without the data.")]
ManyBounds = Annotated[list[str] | None, option("LOW,HIGH", "Bounds of each column, in the same order.")]
Epsilon = Annotated[float, option("E", "Privacy budget of the release.")]
Delta = Annotated[float, typer.Option(metavar="D", help="0 for Laplace noise, above 0 for Gaussian noise.")]
AdjacencyName = Annotated[
    str, typer.Option(metavar="NAME", help="replace (the number of records is public) or add_remove.")
]
Level = Annotated[float, typer.Option(metavar="SHARE", help="Coverage of the interval.")]
Out = Annotated[Path | None, option("FILE", "Also write the release as JSON.")]
Equals = Annotated[str | None, option("VALUE", "Count this value. [default: every value present]")]
Probability = Annotated[float, option("P", "Which quantile.")]
Edges = Annotated[str | None, option("NUMBERS", "Edges of the bins: 0,10,20.")]
Levels = Annotated[str | None, option("LEVELS", "Or the levels: north,south.")]
Release = Callable[..., Any]


def _shared(
    adjacency: AdjacencyName = "replace",
    level: Level = 0.95,
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    out: Out = None,
    log: Log = None,
) -> None:
    """Hold the options that every statistic has."""


def _statistic(make: Callable[..., Release]) -> Callable[..., Release]:
    """Register a statistic: its own options, those that all have, and paying.

    The function takes its own options and returns how to make the release; its first line is the help.
    """
    own, shared = inspect.signature(make), inspect.signature(_shared)

    def command(**given: Any) -> None:
        common = {name: given[name] for name in shared.parameters if name != "log"}
        conclude(make(**{name: given[name] for name in own.parameters}), given["file"], **common)

    options = [*own.parameters.values(), *shared.parameters.values()]
    options.sort(key=lambda option: option.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__name__, command.__doc__ = make.__name__, make.__doc__
    app.command(name=make.__name__)(guarded(command))
    return make


def _of_column(statistic: str, file: Path, column: str, *given: Any, **options: Any) -> Release:
    """Return how a statistic of one column is released."""

    def release(**common: Any) -> Any:
        from synthdp import dp

        return getattr(dp, statistic)(*read_columns(file, [column]), *given, **options, **common)

    return release


@_statistic
def mean(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None, delta: Delta = 0.0) -> Release:
    """Release a mean with its interval."""
    return _of_column("mean", file, column, epsilon=epsilon, bounds=pair(bounds), delta=delta)


@_statistic
def sum(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None, delta: Delta = 0.0) -> Release:
    """Release the sum of a column."""
    return _of_column("sum", file, column, epsilon=epsilon, bounds=pair(bounds), delta=delta)


@_statistic
def variance(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None, delta: Delta = 0.0) -> Release:
    """Release a variance with its interval."""
    return _of_column("variance", file, column, epsilon=epsilon, bounds=pair(bounds), delta=delta)


@_statistic
def count(file: File, column: OneColumn, epsilon: Epsilon, equals: Equals = None) -> Release:
    """Release how many records have a value."""
    return _of_column("count", file, column, epsilon=epsilon, equals=equals)


@_statistic
def median(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None) -> Release:
    """Release a median: the quantile at 1/2."""
    return _of_column("quantile", file, column, 0.5, epsilon=epsilon, bounds=pair(bounds))


@_statistic
def quantile(
    file: File, column: OneColumn, probability: Probability, epsilon: Epsilon, bounds: Bounds = None
) -> Release:
    """Release a quantile with its interval."""
    return _of_column("quantile", file, column, probability, epsilon=epsilon, bounds=pair(bounds))


@_statistic
def histogram(file: File, column: OneColumn, epsilon: Epsilon, edges: Edges = None, levels: Levels = None) -> Release:
    """Release the counts of fixed cells."""
    names = None if levels is None else [part.strip() for part in levels.split(",")]
    return _of_column("histogram", file, column, epsilon=epsilon, edges=numbers(edges, "--edges"), levels=names)


def _of_columns(statistic: str, file: Path, column: list[str], bounds: list[str] | None, **price: Any) -> Release:
    """Return how a statistic of several columns is released."""

    def release(**common: Any) -> Any:
        from synthdp import dp

        values = read_columns(file, column)
        limits = [pair(text) for text in bounds or ()]
        if len(limits) != len(column):
            raise InputError(f"--bounds: give one LOW,HIGH for each of {len(column)} columns, found {len(limits)}.")
        if statistic == "cov":
            return dp.cov(values, bounds=limits, names=column, **price, **common)
        (y, *x), (bounds_y, *bounds_x) = values, limits
        return dp.ols(y, x, bounds_y=bounds_y, bounds_x=bounds_x, names=column, **price, **common)

    return release


@_statistic
def cov(file: File, column: Columns, epsilon: Epsilon, bounds: ManyBounds = None, delta: Delta = 0.0) -> Release:
    """Release the covariances of columns."""
    return _of_columns("cov", file, column, bounds, epsilon=epsilon, delta=delta)


@_statistic
def ols(file: File, column: Columns, epsilon: Epsilon, bounds: ManyBounds = None, delta: Delta = 0.0) -> Release:
    """Regress the first column on the others."""
    return _of_columns("ols", file, column, bounds, epsilon=epsilon, delta=delta)


@app.command(name="ledger")
@guarded
def show_ledger(
    file: File,
    ledger: Annotated[Path, option("FILE", "The ledger of these data.")],
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    adjacency: AdjacencyName = "replace",
    log: Log = None,
) -> None:
    """Show what was spent and what is left."""
    book = open_ledger(file, ledger, cap, cap_delta, adjacency)
    for line in account_lines(book.account()):
        terminal.show(line)


class Payment:
    """The ledger of these data, and the charge that was made."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger
        self.entry: Entry | None = None

    def charge(self, what: str, **price: Any) -> "Entry":
        """Charge the ledger, and remember the charge."""
        self.entry = self._ledger.charge(what, **price)
        return self.entry

    def attach(self, file: Path) -> None:
        """Write the hash of the released file beside its charge."""
        if self.entry is not None:
            self._ledger.attach(self.entry, file)


def account_lines(account: "Account") -> list[str]:
    """Return the charges, what was spent and what is left."""
    (epsilon, delta), (left, left_delta) = account.spent(), account.left()
    lines = [
        f"{entry.number:>4}  {entry.when}  ε {entry.epsilon:g}, δ {entry.delta:g}  {entry.what}"
        f"{'' if entry.source == 'secure' else f' ({entry.source})'}"
        for entry in account.entries
    ]
    return [
        *lines,
        f"spent: ε {epsilon:g}, δ {delta:g} of ε {account.epsilon:g}, δ {account.delta:g} ({account.adjacency})",
        f"left:  ε {left:g}, δ {left_delta:g}",
    ]


def conclude(
    release: Callable[..., "Released | ReleasedTable"],
    file: Path,
    adjacency: str,
    level: float,
    ledger: Path | None,
    cap: float | None,
    cap_delta: float,
    out: Path | None,
) -> None:
    """Make the release, show it, and say to the curator alone what it must not say."""
    terminal.check_ending(out, ".json")
    book = ledger_of(file, ledger, cap, cap_delta, adjacency)
    payment = None if book is None else Payment(book)
    result = release(adjacency=adjacency, level=level, ledger=payment)
    terminal.show(repr(result))
    for line in result.confidential:
        terminal.say(f"confidential, not covered by ε: {line}.")
    if payment is None and result.epsilon is not None:
        terminal.say(UNCHARGED)
    if out is not None:
        _write(result, out)
        if payment is not None:
            payment.attach(out)


def _write(result: "Released | ReleasedTable", out: Path) -> None:
    import json

    content = {
        "statistic": result.statistic,
        "terms": result.table().reset_index().to_dict(orient="records"),
        "level": result.level,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "adjacency": result.adjacency,
        "guarantee": result.guarantee(),
        "notes": list(result.notes),
    }
    terminal.write(out, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode())


def ledger_of(file: Path, ledger: Path | None, cap: float | None, cap_delta: float, adjacency: str) -> "Ledger | None":
    """Return the ledger that was asked for, if one was."""
    if ledger is not None:
        return open_ledger(file, ledger, cap, cap_delta, adjacency)
    if cap is not None:
        raise InputError("--cap: belongs to a ledger; add --ledger FILE.")
    return None


def open_ledger(file: Path, path: Path, cap: float | None, cap_delta: float, adjacency: str) -> "Ledger":
    """Return the ledger of a file, started where a cap is given."""
    from synthdp.privacy.guarantees import adjacency_of
    from synthdp.privacy.ledger import Ledger, fingerprint

    try:
        book = Ledger(path, fingerprint(file))
    except OSError:
        raise InputError(f"{file}: the file cannot be read.") from None
    if cap is not None:
        book.create(epsilon=cap, delta=cap_delta, adjacency=adjacency_of(adjacency))
    book.account()
    return book


def read_columns(file: Path, names: Sequence[str]) -> "list[pd.Series]":
    """Return columns of the confidential table, or say that one is not there, and which is spelt nearly so."""
    from synthdp.table import io

    frame = io.read(file)
    for name in names:
        if name not in frame.columns:
            import difflib

            near = difflib.get_close_matches(name, [str(column) for column in frame.columns], 1)
            raise InputError(
                f"--column {name}: {file.name} has no such column{f'; did you mean {near[0]}?' if near else '.'}"
            )
    return [frame[name] for name in names]


def pair(text: str | None) -> Any:
    """Return bounds as numbers; None and ``data`` stay as they are."""
    return text if text == "data" else terminal.numbers(text, "--bounds")
