"""The original and its synthetic copies side by side: all that an evaluator ever sees."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.microdata import Codes
from synthdp.schema import Schema


@dataclass(frozen=True, repr=False)
class Origin:
    """One release among several that are attacked together.

    Parameters
    ----------
    copies
        How many of the copies are its own; those of a release stand together.
    covers
        Which records it holds, None for all of them. Rows of other records stand for nobody in it.
    columns
        Which columns it gave out, None for all of them. The others say nothing.
    """

    copies: int
    covers: npt.NDArray[np.bool_] | None = None
    columns: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"Origin({self.copies} copies)"


@dataclass(frozen=True, repr=False)
class Comparison:
    """An original file and files that claim to stand for it.

    Parameters
    ----------
    original
        The confidential records, dropped columns gone.
    copies
        Synthetic files with the same columns.
    schema
        What the columns are.
    aligned
        Whether row i of every copy was made from record i.
    groups
        The risk group of each original record, or None when records were not tagged.
    proper
        Whether the parameters behind the copies were drawn from their posterior, or None when it is not known.
    nests
        Of how many completed originals copies were made, those of one standing together: 1 unless values were imputed.
    holdout
        Records like the original's that the synthesis never saw, or None: the baseline of attacks on members.
    mask_draw
        When W was drawn (``per_copy``, ``once``, ``once_orthogonal``), as ``release.json`` tells; None when it is not
        known or nothing was masked.
    rule
        The combining rule that the design calls for; None when the design is not known.
    targets
        Which records the intruders look for, increasing; None for all of them, or as many as an attack has time for.
    origins
        Which releases the copies are from, in their order; empty when they are all of one.
    cautions
        What a reader of the numbers should know about how the files were read.
    """

    original: pd.DataFrame
    copies: tuple[pd.DataFrame, ...]
    schema: Schema
    aligned: bool
    groups: pd.Series | None = None
    proper: bool | None = None
    cautions: tuple[str, ...] = ()
    holdout: pd.DataFrame | None = None
    nests: int = 1
    mask_draw: str | None = None
    rule: str | None = None
    targets: Codes | None = None
    origins: tuple[Origin, ...] = ()

    def __repr__(self) -> str:
        return f"Comparison({len(self.original)} records, {len(self.copies)} copies)"
