"""Models by name: each turns a file and what is asked of it into a problem that can be fitted with any weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from synthdp import plugins
from synthdp.inference.models.descriptive import Levels
from synthdp.inference.models.fit import Link, Problem
from synthdp.table.schema import Schema


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """What is to be estimated from one file; the fields are those of :class:`~synthdp.inference.analyses.Analysis`.

    Parameters
    ----------
    columns
        Those that the analysis estimates from.
    levels
        Of the columns of a table, where they are known from elsewhere.
    where
        How messages name the analysis.
    """

    frame: pd.DataFrame
    schema: Schema | None
    formula: str
    columns: tuple[str, ...]
    where: str
    status: str | None = None
    probabilities: tuple[float, ...] = ()
    link: Link | None = None
    power: float = 1.5
    levels: Levels | None = None


@dataclass(frozen=True)
class AnalysisModel:
    """A model that an analysis may name.

    Parameters
    ----------
    name
        How ``analyses`` and ``synthdp analyse --model`` call it.
    problem
        Return the model with its data, ready to be fitted with any weights.
    listed
        Whether it takes columns separated by commas where others take a formula.
    linked
        Whether it takes a link of the user's choice.
    of_levels
        Whether its terms are levels of its columns, which must be those of all copies.
    fisher
        Whether its estimates are correlations, combined as Fisher's z.
    """

    name: str
    problem: Callable[[Asked], Problem]
    listed: bool = False
    linked: bool = False
    of_levels: bool = False
    fisher: bool = False


MODELS: Mapping[str, AnalysisModel] = plugins.Registry("analyses")
