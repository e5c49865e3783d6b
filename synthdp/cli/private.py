"""The commands ``synthdp dp``: one statistic, its interval and its price, charged to a ledger if there is one.

Only typer is imported here, so that ``--help`` answers at once.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from synthdp.cli import terminal
from synthdp.cli.arguments import Cap, CapDelta, LedgerFile, Log
from synthdp.cli.guard import guarded
from synthdp.cli.paying import account_lines, column_of, conclude, numbers, open_ledger, pair, read_column, read_table
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
Epsilon = Annotated[float, typer.Option(metavar="E", help="What the release may cost.", show_default=False)]
Delta = Annotated[float, typer.Option(metavar="D", help="0 for Laplace noise, above it for Gaussian noise.")]
AdjacencyName = Annotated[
    str, typer.Option(metavar="NAME", help="replace (the number of records is public) or add_remove.")
]
Level = Annotated[float, typer.Option(metavar="SHARE", help="Coverage of the interval.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the release as JSON, too.", show_default=False)]


def _single(statistic: str, doc: str) -> None:
    """Register a statistic of one bounded column that takes a δ."""

    def command(
        file: File,
        column: OneColumn,
        epsilon: Epsilon,
        bounds: Bounds = None,
        delta: Delta = 0.0,
        adjacency: AdjacencyName = "replace",
        level: Level = 0.95,
        ledger: LedgerFile = None,
        cap: Cap = None,
        cap_delta: CapDelta = 0.0,
        out: Out = None,
        log: Log = None,
    ) -> None:
        def release(**common: Any) -> Any:
            from synthdp import dp

            values = read_column(file, column)
            return getattr(dp, statistic)(values, bounds=pair(bounds), epsilon=epsilon, delta=delta, **common)

        conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)

    command.__name__, command.__doc__ = statistic, doc
    app.command(name=statistic)(guarded(command))


_single("mean", "Release a mean with its interval.")
_single("sum", "Release the sum of a column.")
_single("variance", "Release a variance with its interval.")


@app.command()
@guarded
def count(
    file: File,
    column: OneColumn,
    epsilon: Epsilon,
    equals: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="Count this value. [default: every value that is there]", show_default=False
        ),
    ] = None,
    adjacency: AdjacencyName = "replace",
    level: Level = 0.95,
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    out: Out = None,
    log: Log = None,
) -> None:
    """Release how many records have a value."""

    def release(**common: Any) -> Any:
        from synthdp import dp

        return dp.count(read_column(file, column), equals=equals, epsilon=epsilon, **common)

    conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)


@app.command()
@guarded
def median(
    file: File,
    column: OneColumn,
    epsilon: Epsilon,
    bounds: Bounds = None,
    adjacency: AdjacencyName = "replace",
    level: Level = 0.95,
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    out: Out = None,
    log: Log = None,
) -> None:
    """Release a median: the quantile at 1/2."""
    _quantile(file, column, 0.5, bounds, epsilon, adjacency, level, ledger, cap, cap_delta, out)


@app.command()
@guarded
def quantile(
    file: File,
    column: OneColumn,
    probability: Annotated[float, typer.Option(metavar="P", help="Which quantile.", show_default=False)],
    epsilon: Epsilon,
    bounds: Bounds = None,
    adjacency: AdjacencyName = "replace",
    level: Level = 0.95,
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    out: Out = None,
    log: Log = None,
) -> None:
    """Release a quantile with its interval."""
    _quantile(file, column, probability, bounds, epsilon, adjacency, level, ledger, cap, cap_delta, out)


def _quantile(file: Path, column: str, probability: float, bounds: str | None, epsilon: float, *rest: Any) -> None:
    def release(**common: Any) -> Any:
        from synthdp import dp

        values = read_column(file, column)
        return dp.quantile(values, probability, bounds=pair(bounds), epsilon=epsilon, **common)

    conclude(release, file, *rest)


@app.command()
@guarded
def histogram(
    file: File,
    column: OneColumn,
    epsilon: Epsilon,
    edges: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Edges of the bins: 0,10,20.", show_default=False)
    ] = None,
    levels: Annotated[
        str | None, typer.Option(metavar="LEVELS", help="Or the levels: north,south.", show_default=False)
    ] = None,
    adjacency: AdjacencyName = "replace",
    level: Level = 0.95,
    ledger: LedgerFile = None,
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    out: Out = None,
    log: Log = None,
) -> None:
    """Release the counts of fixed cells."""

    def release(**common: Any) -> Any:
        from synthdp import dp

        cells = None if edges is None else numbers(edges, "--edges")
        names = None if levels is None else [part.strip() for part in levels.split(",")]
        return dp.histogram(read_column(file, column), edges=cells, levels=names, epsilon=epsilon, **common)

    conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)


def _several(statistic: str, doc: str) -> None:
    """Register a statistic of several bounded columns."""

    def command(
        file: File,
        column: Columns,
        epsilon: Epsilon,
        bounds: ManyBounds = None,
        delta: Delta = 0.0,
        adjacency: AdjacencyName = "replace",
        level: Level = 0.95,
        ledger: LedgerFile = None,
        cap: Cap = None,
        cap_delta: CapDelta = 0.0,
        out: Out = None,
        log: Log = None,
    ) -> None:
        def release(**common: Any) -> Any:
            from synthdp import dp

            frame = read_table(file)
            values = [column_of(frame, file, name) for name in column]
            limits = [pair(text) for text in bounds or ()]
            if len(limits) != len(column):
                raise InputError(f"--bounds: give one LOW,HIGH for each of {len(column)} columns, found {len(limits)}.")
            price = {"epsilon": epsilon, "delta": delta, "names": column, **common}
            if statistic == "cov":
                return dp.cov(values, bounds=limits, **price)
            return dp.ols(values[0], values[1:], bounds_y=limits[0], bounds_x=limits[1:], **price)

        conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)

    command.__name__, command.__doc__ = statistic, doc
    app.command(name=statistic)(guarded(command))


_several("cov", "Release the covariances of columns.")
_several("ols", "Regress the first column on the others.")


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
