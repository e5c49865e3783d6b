"""How much of the game one record wins by its weight among few: a yardstick for what memory must exceed.

A model that is fitted to h records is moved by each of them. By how much the fitted means, spreads, correlations and
shares move, in standard errors, is the length of the record's score; for normal columns with Mahalanobis distance m
that are regressed on kept columns, in which the record has n times its leverage l (1 where nothing is kept),

    |s|²  =  l m² + (m⁴ − 2m² + p)/2  + l Σ_levels (1/share − 1),        d² = |s|² / (h · noise)

and whoever sees the parameters through the noise of the copies wins with probability Φ(d/√2). Ordinary influence only:
m² is cut off where a normal population of this size would hardly ever reach, no level counts as rarer than ten people
have it, and no leverage as more than one of ten people's, as what an outlier or a rare level gives away is that
person's and not the size of the file's.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from scipy import special

from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Role, Schema

Finding = Literal["none", "influence", "memorised"]

# how often a normal population may hold a record beyond the cut
BEYOND = 0.05
FEWEST_PEOPLE = 10
RIDGE = 1e-6
MOST_LEVELS = 50


def ordinary_influence(
    frame: pd.DataFrame, columns: Sequence[Column], targets: Codes, *, rows: int, copies: int, known: bool
) -> Floats:
    """Return for every target the AUC that its ordinary influence on the parameters explains.

    Parameters
    ----------
    columns
        All that are released; the replaced ones differ when the target is in.
    rows
        How many records a fit has.
    copies
        How many copies an intruder sees of a fit.
    known
        Whether the intruder knows who else is in. Otherwise the others vary: half of the records drawn without
        replacement have half the variance of independent ones. A draw of the parameters and one of the records, for
        each copy, come on top: noise = ½ + 2/copies in units of 1/rows.

    Notes
    -----
    Who knows the parameters' law exactly, and looks at nothing else, wins this much; the game has to learn it from its
    fits and so stays below, while interactions that a method models beyond pairs of numbers come on top.
    """
    length = np.zeros(len(targets))
    data = Microdata(frame[[column.name for column in columns]], Schema(columns=tuple(columns)))
    leverage = _leverage(_design(data), targets)
    moving = [column for column in columns if column.role is not Role.KEEP]
    working = [_standard(data, column) for column in moving if not column.kind.categorical]
    varying = [values for values in working if values is not None]
    if varying:
        from scipy.stats import chi2

        z = np.column_stack(varying)
        p = z.shape[1]
        correlation = np.atleast_2d(np.corrcoef(z, rowvar=False)) + RIDGE * np.eye(p)
        aimed = z[targets]
        m2 = np.einsum("ij,ij->i", aimed, np.linalg.solve(correlation, aimed.T).T)
        m2 = np.minimum(m2, chi2.ppf(1 - BEYOND / len(frame), p))
        length += leverage * m2 + (m2**2 - 2 * m2 + p) / 2
    for column in moving:
        if column.kind.categorical:
            codes = data.codes(column.name)
            _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
            length += leverage * (len(frame) / np.maximum(counts[place[targets]], FEWEST_PEOPLE) - 1)
    noise = (0.0 if known else 0.5) + 2 / copies
    return np.asarray(special.ndtr(np.sqrt(np.maximum(length, 0.0) / rows / noise / 2)))


def finding(low: float | None, influence: float) -> Finding | None:
    """Return what an interval that begins at ``low`` means: nothing, influence on the parameters, or memory.

    >>> [finding(low, 0.55) for low in (0.49, 0.52, 0.7)]
    ['none', 'influence', 'memorised']
    """
    if low is None:
        return None
    if low <= 0.5:
        return "none"
    return "influence" if low <= influence else "memorised"


def _design(data: Microdata) -> Floats:
    """Return what regressions see of the kept columns: a constant, numbers, an indicator per level but the largest."""
    found: list[Floats] = [np.ones(len(data))]
    for column in data.schema.kept():
        if column.kind.categorical:
            codes = data.codes(column.name)
            levels, counts = np.unique(codes, return_counts=True)
            by_size = levels[np.argsort(-counts, kind="stable")]
            found += [(codes == level).astype(np.float64) for level in by_size[1 : MOST_LEVELS + 1]]
        elif (values := _standard(data, column)) is not None:
            found.append(values)
    return np.column_stack(found)


def _leverage(design: Floats, targets: Codes) -> Floats:
    """Return n times the leverage of each target: the mean over all records is the number of columns."""
    n = len(design)
    inverse = np.linalg.pinv(design.T @ design / n, hermitian=True)
    found = np.einsum("ij,jk,ik->i", design[targets], inverse, design[targets])
    return np.asarray(np.clip(found, 1.0, max(1.0, n / FEWEST_PEOPLE)))


def _standard(data: Microdata, column: Column) -> Floats | None:
    """Return a column on its working scale, standardised, gaps at its mean; nothing where it does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        values = Link.of(data, column.name).forward(data.numbers(column.name))
    known = np.isfinite(values)
    if known.sum() < 2 or not float(values[known].std()) > 0:
        return None
    return np.where(known, (values - values[known].mean()) / values[known].std(), 0.0)
