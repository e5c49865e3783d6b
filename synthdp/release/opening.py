"""Copies from wherever the user has them (a release, its folder, files, tables), with what is known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp import io
from synthdp.designs import Design
from synthdp.errors import InputError, SynthdpError
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE, Pooled
from synthdp.inference.designs import unfit
from synthdp.inference.pooling import pool
from synthdp.release.reading import read_public
from synthdp.schema import Schema


@dataclass(frozen=True, repr=False)
class Opened:
    """Copies, and what a combining rule needs to know of them.

    Parameters
    ----------
    copies
        The tables, all copies of the first nest first.
    schema
        What the columns are; None when nobody said.
    rule
        The combining rule that the design calls for.
    design
        How the copies came about; None when nobody said.
    """

    copies: tuple[pd.DataFrame, ...]
    schema: Schema | None = None
    rule: str = DEFAULT_RULE
    design: Design | None = None

    @property
    def layout(self) -> dict[str, Any]:
        """The arguments ``nests`` and ``ratio`` of :func:`synthdp.inference.combining.combine`."""
        if self.design is None:
            return {}
        return {"nests": self.design.nests if self.design.nests > 1 else None, "ratio": self.design.ratio}

    def check(self, rule: str | None) -> None:
        """Raise when the user's rule does not fit the design."""
        if rule is not None and self.design is not None and (why := unfit(rule, self.design)):
            raise InputError(f"rule: {why}")


def open_copies(source: Any) -> Opened:
    """Return the copies in a folder (``public/`` or its parent), a list of files or tables, or a release in memory.

    Raises
    ------
    InputError
        When there is nothing of the kind, or a file cannot be read.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if path.is_file():
            return Opened((io.read(path),))
        found = read_public(path)
        contents: Mapping[str, Any] = found.contents
        return Opened(found.copies, found.schema, str(contents["rule"]), Design.of(contents))
    if isinstance(source, pd.DataFrame):
        return Opened((source,))
    if hasattr(source, "copies") and hasattr(source, "rule"):
        return Opened(tuple(source.copies), None, source.rule, getattr(source, "design", None))
    if not isinstance(source, Sequence):
        raise InputError("copies: must be a folder, files, tables or a release.")
    return Opened(tuple(_table(one, number) for number, one in enumerate(source, start=1)))


def _table(one: Any, number: int) -> pd.DataFrame:
    if isinstance(one, pd.DataFrame):
        return one
    if isinstance(one, str | Path):
        return io.read(Path(one))
    raise InputError(f"copies: copy {number} must be a table or a file, found {type(one).__name__}.")


def pool_opened(opened: Opened, analysis: Analysis, *, level: float, called: str) -> Pooled:
    """Return an analysis of opened copies, combined by its own rule or the one the design calls for.

    Parameters
    ----------
    opened, analysis, level
        The copies, what is estimated, and the coverage of the intervals.
    called
        What messages call the analysis; in a config it has a place and a name, elsewhere an argument.
    """
    opened.check(analysis.rule)
    try:
        return pool(
            opened.copies, analysis, schema=opened.schema, default_rule=opened.rule, level=level, **opened.layout
        )
    except InputError as error:
        raise InputError(*(problem.replace(analysis.where, called) for problem in error.problems)) from None
    except SynthdpError as error:
        raise type(error)(str(error).replace(analysis.where, called)) from None
