"""The commands ``synthdp dp``: one statistic, its interval and its price, charged to a ledger if there is one.

Only typer is imported here, so that ``--help`` answers at once.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthdp.cli import terminal
from synthdp.cli.arguments import Log
from synthdp.cli.guard import guarded
from synthdp.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from synthdp.dp import Released, ReleasedTable
    from synthdp.privacy.ledger import Account, Entry, Ledger

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
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="Charge this budget ledger.", show_default=False)
]
Cap = Annotated[
    float | None, typer.Option(metavar="E", help="Start the ledger, with this much ε in all.", show_default=False)
]
CapDelta = Annotated[float, typer.Option(metavar="D", help="And this much δ.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the release as JSON, too.", show_default=False)]


class _Payment:
    """The ledger of these data, and the charge that was made."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger
        self.entry: Entry | None = None

    def charge(self, what: str, **price: Any) -> "Entry":
        self.entry = self._ledger.charge(what, **price)
        return self.entry

    def attach(self, file: Path) -> None:
        if self.entry is not None:
            self._ledger.attach(self.entry, file)


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

            values = _column(file, column)
            return getattr(dp, statistic)(values, bounds=_pair(bounds), epsilon=epsilon, delta=delta, **common)

        _conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)

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

        return dp.count(_column(file, column), equals=equals, epsilon=epsilon, **common)

    _conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)


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

        values = _column(file, column)
        return dp.quantile(values, probability, bounds=_pair(bounds), epsilon=epsilon, **common)

    _conclude(release, file, *rest)


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

        cells = None if edges is None else _numbers(edges, "--edges")
        names = None if levels is None else [part.strip() for part in levels.split(",")]
        return dp.histogram(_column(file, column), edges=cells, levels=names, epsilon=epsilon, **common)

    _conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)


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

            frame = _read(file)
            values = [_found(frame, file, name) for name in column]
            limits = [_pair(text) for text in bounds or ()]
            if len(limits) != len(column):
                raise InputError(f"--bounds: give one LOW,HIGH for each of {len(column)} columns, found {len(limits)}.")
            price = {"epsilon": epsilon, "delta": delta, "names": column, **common}
            if statistic == "cov":
                return dp.cov(values, bounds=limits, **price)
            return dp.ols(values[0], values[1:], bounds_y=limits[0], bounds_x=limits[1:], **price)

        _conclude(release, file, adjacency, level, ledger, cap, cap_delta, out)

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
    book = _open(file, ledger, cap, cap_delta, adjacency)
    for line in _account(book.account()):
        terminal.show(line)


def _account(account: "Account") -> list[str]:
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


def _conclude(
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
    if out is not None and out.suffix.lower() != ".json":
        raise InputError(f"--out {out}: must be a .json file.")
    if ledger is None and cap is not None:
        raise InputError("--cap: belongs to a ledger; add --ledger FILE.")
    payment = None if ledger is None else _Payment(_open(file, ledger, cap, cap_delta, adjacency))
    result = release(adjacency=adjacency, level=level, ledger=payment)
    terminal.show(repr(result))
    for line in result.confidential:
        terminal.say(f"confidential, not covered by ε: {line}.")
    if payment is None and result.epsilon is not None:
        terminal.say("not charged to any ledger; --ledger FILE keeps count of what was spent.")
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
    try:
        out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError:
        raise InputError(f"--out {out}: the file cannot be written.") from None


def _open(file: Path, path: Path, cap: float | None, cap_delta: float, adjacency: str) -> "Ledger":
    from synthdp.privacy.ledger import Ledger, fingerprint
    from synthdp.privacy.parameters import adjacency_of

    try:
        book = Ledger(path, fingerprint(file))
    except OSError:
        raise InputError(f"{file}: the file cannot be read.") from None
    if cap is not None:
        book.create(epsilon=cap, delta=cap_delta, adjacency=adjacency_of(adjacency))
    book.account()
    return book


def _read(file: Path) -> "pd.DataFrame":
    from synthdp import io

    return io.read(file)


def _column(file: Path, name: str) -> "pd.Series":
    return _found(_read(file), file, name)


def _found(frame: "pd.DataFrame", file: Path, name: str) -> "pd.Series":
    if name not in frame.columns:
        import difflib

        near = difflib.get_close_matches(name, [str(column) for column in frame.columns], 1)
        raise InputError(
            f"--column {name}: {file.name} has no such column{f'; did you mean {near[0]}?' if near else '.'}"
        )
    return frame[name]


def _pair(text: str | None) -> Any:
    if text is None or text == "data":
        return text
    return _numbers(text, "--bounds")


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option}: must be numbers separated by commas.") from None
