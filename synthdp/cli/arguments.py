"""Arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ReleaseFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="public/, or the folder that holds it.", show_default=False)
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Append what happened to this file; no data values.")]
