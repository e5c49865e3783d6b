"""The commands ``synthdp dp``: one statistic, its interval and its price, charged to a ledger if there is one.

Only typer is imported here, so that ``--help`` answers at once.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from synthdp.cli import leaking, terminal
from synthdp.cli.command import guarded
from synthdp.cli.paying import account_lines, conclude, open_ledger
from synthdp.cli.reading import read_columns
from synthdp.cli.terminal import Cap, CapDelta, LedgerFile, Log, numbers, option
from synthdp.errors import InputError

app = typer.Typer(
    name="dp",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Release one DP statistic, with its interval and price.",
    epilog="""\b
Examples:
  synthdp dp mean survey.csv --column age --bounds 18,90 --epsilon 0.5
  synthdp dp quantile survey.csv --column income --probability 0.9 --bounds 0,200000 --epsilon 1
  synthdp dp histogram survey.csv --column region --levels north,south --epsilon 0.2
  synthdp dp density survey.csv --column income --bounds 0,200000 --epsilon 1 --delta 1e-6
  synthdp dp ols survey.csv --column income --bounds 0,200000 --column age --bounds 18,90 --epsilon 1
  synthdp dp adassp survey.csv --column income --bounds 0,200000 --column age --bounds 18,90 --epsilon 1 --delta 1e-6
  synthdp dp kmeans survey.csv --column age --bounds 18,90 --column income --bounds 0,200000 --clusters 3 --epsilon 1
  synthdp dp mean survey.csv --column age --bounds 18,90 --epsilon 0.5 --ledger survey.ledger --cap 3
  synthdp dp ledger survey.csv --ledger survey.ledger            what was spent, what is left
  synthdp dp leakage monthly.csv --bounds 0,5000 --epsilon 0.5 --delta 1e-6     what a monthly mean tells""",
)

EXAMPLES = {
    "adassp": """\b
Examples:
  synthdp dp adassp survey.csv --column income --bounds 0,200000 --column age --bounds 18,90 \\
      --epsilon 1 --delta 1e-6
  synthdp dp adassp survey.csv --column income --bounds 0,200000 --column age --bounds 18,90 \\
      --epsilon 1 --delta 1e-6 --calibration joint --ledger survey.ledger --cap 3 --cap-delta 1e-5""",
    "density": """\b
Examples:
  synthdp dp density survey.csv --column income --bounds 0,200000 --epsilon 1 --delta 1e-6
  synthdp dp density survey.csv --column income --bounds 0,200000 --epsilon 1 --bandwidth 8000 --out curve.json
  synthdp dp density survey.csv --column age --bounds 18,90 --column income --bounds 0,200000 \\
      --epsilon 1 --delta 1e-6 --cells 40 --ledger survey.ledger --cap 3 --cap-delta 1e-5""",
    "kmeans": """\b
Examples:
  synthdp dp kmeans survey.csv --column age --bounds 18,90 --column income --bounds 0,200000 \\
      --clusters 3 --epsilon 1
  synthdp dp kmeans survey.csv --column age --bounds 18,90 --clusters 2 --rounds 3 --epsilon 0.5 \\
      --ledger survey.ledger --cap 3 --out centres.json""",
}

File = Annotated[Path, typer.Argument(metavar="FILE", help="The confidential file.")]
OneColumn = Annotated[str, option("NAME", "The column.")]
Columns = Annotated[list[str], option("NAME", "A column (repeat; the response comes first).")]
Bounds = Annotated[str | None, option("LOW,HIGH", "Lowest and highest possible value, known without the data.")]
AnyColumns = Annotated[list[str], option("NAME", "A column of numbers (repeat).")]
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
PositiveDelta = Annotated[float, option("D", "Above 0: the noise is Gaussian.")]
CalibrationName = Annotated[
    str,
    typer.Option(metavar="NAME", help="How noise is set: analytic, joint (less), fixed (ε < 3), original (not DP)."),
]
ClusterCount = Annotated[int, option("K", "How many clusters.")]
Rounds = Annotated[int, typer.Option(metavar="T", help="Rounds of Lloyd's algorithm, which share ε.")]
Bandwidths = Annotated[
    list[float] | None,
    option("H", "Bandwidth of each column, in its unit, chosen without the data. [default: from how many records]"),
]
KernelName = Annotated[
    str | None,
    option("NAME", "gaussian or sobolev (delta above 0), or fourier. [default: gaussian, or fourier for delta 0]"),
]
CellCount = Annotated[int | None, option("N", "Cells between the bounds of each column.")]
Decay = Annotated[float | None, option("G", "Of the sobolev kernel. [default: the one of least noise]")]
Release = Callable[..., Any]


def _shared(
    adjacency: AdjacencyName = "replace",
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    out: Out = None,
    log: Log = None,
) -> None:
    """Hold the options that every release has."""


def _with_level(level: Level = 0.95) -> None:
    """Hold the option that a release with an interval has."""


def _statistic(make: Callable[..., Release]) -> Callable[..., Release]:
    """Register a statistic with an interval, see `_released`."""
    return _released(make, inspect.signature(_with_level).parameters)


def _released(make: Callable[..., Release], more: Mapping[str, inspect.Parameter]) -> Callable[..., Release]:
    """Register a release: its own options, ``more`` of the price, those that all have, and paying.

    The function takes its own options and returns how to make the release; its first line is the help.
    """
    own, shared = inspect.signature(make), inspect.signature(_shared)

    def command(**given: Any) -> None:
        common = {name: given[name] for name in shared.parameters if name != "log"}
        price = {name: given[name] for name in more}
        conclude(partial(make(**{name: given[name] for name in own.parameters}), **price), given["file"], **common)

    first, *rest = shared.parameters.values()
    options = [*own.parameters.values(), first, *more.values(), *rest]
    options.sort(key=lambda option: option.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__name__, command.__doc__ = make.__name__, make.__doc__
    app.command(name=make.__name__, epilog=EXAMPLES.get(make.__name__))(guarded(command))
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
        given = {"names": column, **price, **common}
        twice = [name for name in column if column.count(name) > 1]
        if twice and statistic in ("adassp", "density", "kmeans"):
            raise InputError(f"--column {twice[0]}: is given twice.")
        if statistic == "cov":
            return dp.cov(values, bounds=limits, **given)
        if statistic == "density":
            return dp.density(values, bounds=limits, **given)
        if statistic == "kmeans":
            return dp.kmeans(values, bounds=limits, **given)
        (y, *x), (bounds_y, *bounds_x) = values, limits
        if statistic == "ols":
            return dp.ols(y, x, bounds_y=bounds_y, bounds_x=bounds_x, **given)
        import pandas as pd

        # beside y, so that no predictor at all is refused by the function itself
        table = pd.concat([y, *x], axis=1).iloc[:, 1:]
        return dp.adassp(table, y, bounds_y=bounds_y, bounds_x=bounds_x, **given)

    return release


@_statistic
def cov(file: File, column: Columns, epsilon: Epsilon, bounds: ManyBounds = None, delta: Delta = 0.0) -> Release:
    """Release the covariances of columns."""
    return _of_columns("cov", file, column, bounds, epsilon=epsilon, delta=delta)


@_statistic
def ols(file: File, column: Columns, epsilon: Epsilon, bounds: ManyBounds = None, delta: Delta = 0.0) -> Release:
    """Regress the first column on the others."""
    return _of_columns("ols", file, column, bounds, epsilon=epsilon, delta=delta)


@_statistic
def density(
    file: File,
    column: AnyColumns,
    epsilon: Epsilon,
    bounds: ManyBounds = None,
    delta: Delta = 0.0,
    bandwidth: Bandwidths = None,
    kernel: KernelName = None,
    cells: CellCount = None,
    decay: Decay = None,
) -> Release:
    """Release the density of one to three columns and its band."""
    more = {"bandwidth": bandwidth or None, "kernel": kernel, "grid": cells, "decay": decay}
    return _of_columns("density", file, column, bounds, epsilon=epsilon, delta=delta, **more)


def _without_interval(make: Callable[..., Release]) -> Callable[..., Release]:
    """Register a release that never has an interval, so no level is asked for; see `_released`."""
    return _released(make, {})


@_without_interval
def adassp(
    file: File,
    column: Columns,
    epsilon: Epsilon,
    delta: PositiveDelta,
    bounds: ManyBounds = None,
    calibration: CalibrationName = "analytic",
) -> Release:
    """Regress the first column on the others, to predict it."""
    return _of_columns("adassp", file, column, bounds, epsilon=epsilon, delta=delta, calibration=calibration)


@_without_interval
def kmeans(
    file: File,
    column: AnyColumns,
    clusters: ClusterCount,
    epsilon: Epsilon,
    bounds: ManyBounds = None,
    rounds: Rounds = 5,
) -> Release:
    """Release the centres and sizes of clusters."""
    return _of_columns("kmeans", file, column, bounds, k=clusters, rounds=rounds, epsilon=epsilon)


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


app.command(name="leakage", epilog=leaking.EXAMPLE)(guarded(leaking.leakage))


def pair(text: str | None) -> Any:
    """Return bounds as numbers; None and ``data`` stay as they are."""
    return text if text == "data" else terminal.numbers(text, "--bounds")
