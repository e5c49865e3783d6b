"""The commands ``synthdp dp``: one statistic, its interval and its price, charged to a ledger if there is one.

Only typer is imported here, so that ``--help`` answers at once.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from synthdp.cli import terminal
from synthdp.cli.paying import account_lines, column_of, conclude, numbers, open_ledger, pair, read_column, read_table
from synthdp.cli.terminal import Cap, CapDelta, LedgerFile, Log, guarded
from synthdp.errors import InputError

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

File = Annotated[Path, typer.Argument(metavar="FILE", help="The confidential file.", show_default=False)]
OneColumn = Annotated[str, typer.Option(metavar="NAME", help="The column.", show_default=False)]
Columns = Annotated[
    list[str], typer.Option(metavar="NAME", help="A column (repeat; the response comes first).", show_default=False)
]
Bounds = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH", help="Lowest and highest possible value, known without the data.", show_default=False
    ),
]
ManyBounds = Annotated[
    list[str] | None,
    typer.Option(metavar="LOW,HIGH", help="Bounds of each column, in the same order.", show_default=False),
]
Epsilon = Annotated[float, typer.Option(metavar="E", help="Privacy budget of the release.", show_default=False)]
Delta = Annotated[float, typer.Option(metavar="D", help="0 for Laplace noise, above 0 for Gaussian noise.")]
AdjacencyName = Annotated[
    str, typer.Option(metavar="NAME", help="replace (the number of records is public) or add_remove.")
]
Level = Annotated[float, typer.Option(metavar="SHARE", help="Coverage of the interval.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the release as JSON.", show_default=False)]
Equals = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="Count this value. [default: every value present]", show_default=False),
]
Probability = Annotated[float, typer.Option(metavar="P", help="Which quantile.", show_default=False)]
Edges = Annotated[str | None, typer.Option(metavar="NUMBERS", help="Edges of the bins: 0,10,20.", show_default=False)]
Levels = Annotated[str | None, typer.Option(metavar="LEVELS", help="Or the levels: north,south.", show_default=False)]
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

        limits = {"bounds": pair(options["bounds"])} if "bounds" in options else {}
        return getattr(dp, statistic)(read_column(file, column), *given, **{**options, **limits}, **common)

    return release


@_statistic
def mean(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None, delta: Delta = 0.0) -> Release:
    """Release a mean with its interval."""
    return _of_column("mean", file, column, epsilon=epsilon, bounds=bounds, delta=delta)


@_statistic
def sum(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None, delta: Delta = 0.0) -> Release:
    """Release the sum of a column."""
    return _of_column("sum", file, column, epsilon=epsilon, bounds=bounds, delta=delta)


@_statistic
def variance(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None, delta: Delta = 0.0) -> Release:
    """Release a variance with its interval."""
    return _of_column("variance", file, column, epsilon=epsilon, bounds=bounds, delta=delta)


@_statistic
def count(file: File, column: OneColumn, epsilon: Epsilon, equals: Equals = None) -> Release:
    """Release how many records have a value."""
    return _of_column("count", file, column, epsilon=epsilon, equals=equals)


@_statistic
def median(file: File, column: OneColumn, epsilon: Epsilon, bounds: Bounds = None) -> Release:
    """Release a median: the quantile at 1/2."""
    return _of_column("quantile", file, column, 0.5, epsilon=epsilon, bounds=bounds)


@_statistic
def quantile(
    file: File, column: OneColumn, probability: Probability, epsilon: Epsilon, bounds: Bounds = None
) -> Release:
    """Release a quantile with its interval."""
    return _of_column("quantile", file, column, probability, epsilon=epsilon, bounds=bounds)


@_statistic
def histogram(file: File, column: OneColumn, epsilon: Epsilon, edges: Edges = None, levels: Levels = None) -> Release:
    """Release the counts of fixed cells."""

    def release(**common: Any) -> Any:
        cells = None if edges is None else numbers(edges, "--edges")
        names = None if levels is None else [part.strip() for part in levels.split(",")]
        return _of_column("histogram", file, column, epsilon=epsilon, edges=cells, levels=names)(**common)

    return release


def _of_columns(statistic: str, file: Path, column: list[str], bounds: list[str] | None, **price: Any) -> Release:
    """Return how a statistic of several columns is released."""

    def release(**common: Any) -> Any:
        from synthdp import dp

        frame = read_table(file)
        values = [column_of(frame, file, name) for name in column]
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
    ledger: Annotated[Path, typer.Option(metavar="FILE", help="The ledger of these data.", show_default=False)],
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    adjacency: AdjacencyName = "replace",
    log: Log = None,
) -> None:
    """Show what was spent and what is left."""
    book = open_ledger(file, ledger, cap, cap_delta, adjacency)
    for line in account_lines(book.account()):
        terminal.show(line)
