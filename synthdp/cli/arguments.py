"""Arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

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
