"""Columns that do not apply to everyone (``applies_when``) in a joint draw.

    D = D* where C(x) is true, missing elsewhere;      p(x, D* | z) = p(x | z) · p(D* | z, x)

D* is what the column would be if it applied, for every record; C is a function of the other columns, so the records to
which it does not apply are missing at random and teach nothing of p(D* | z, x): that regression (or tree) is fitted to
the records with a value. Conditional columns come last, so D* enters no other column's distribution, and X and D* are
drawn jointly by the same samplers as everything else; afterwards D* is blanked where C is false of the drawn X.

W of such a column is made of D*, which is drawn from p(D* | z, x, θ) where it does not apply in the original: whether
there is a W then tells nothing, and p(x, D* | z, w, θ) is the conditional of the model as it stands. Were W left out
there, its absence would either tell C of the true X, or, when ignored, bias the columns C depends on; were D drawn
forward given X̃ and its own W, its association with X̃ would be attenuated, as W goes with the true X. Measured with
income masked by 0.3 sd, age and work by nothing (n = 1,500, M = 20): of a slope on age of 0.786 a forward draw left
0.129, this one 0.781; of 0.481 working, W left out made 0.520, this one 0.477 (its Monte Carlo error is 0.004).

Simplifications. Where a predictor is constant among the records to which a column applies, its effect is unknown and
taken to be zero: it matters for values that are never released only. Of two conditional columns the later one depends
on the earlier only if the earlier applies wherever the later does; otherwise they are independent given the rest.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from synthdp.evidence import Evidence, GaussianEvidence, LevelEvidence
from synthdp.imputation.protocol import Task
from synthdp.microdata import Codes, Floats
from synthdp.schema import Column

# prior sd of an effect that is taken to be zero, and the precision of a value that is known, on the working scale
ZERO_SD = 1e-6
KNOWN_PRECISION = 1e8


def nested(task: Task, name: str, earlier: str) -> bool:
    """Return whether an earlier column applies wherever a column does."""
    if earlier not in task.applies:
        return True
    return name in task.applies and bool(task.applies[earlier][task.applies[name]].all())


def rows_of(task: Task, name: str) -> Codes:
    """Return the records a column's distribution is learnt from."""
    return np.flatnonzero(task.applies[name]) if name in task.applies else np.arange(len(task.predictors.matrix))


def learnt(
    task: Task, name: str, prior_sd: float, before: Sequence[tuple[str, Floats]]
) -> tuple[Floats, Codes | slice, Floats]:
    """Return the design of a column's regression, the records it is fitted to, and the prior sd of each coefficient.

    Parameters
    ----------
    prior_sd
        Of the coefficients in general.
    before
        The replaced columns before it, with the columns of the design that each one is.
    """
    blocks = [(block if nested(task, name, earlier) else np.zeros_like(block)) for earlier, block in before]
    design = np.column_stack([task.predictors.matrix, *blocks])
    extra = design.shape[1] - task.predictors.matrix.shape[1]
    prior = np.concatenate([task.predictors.prior_sd(prior_sd), np.full(extra, prior_sd)])
    if name not in task.applies:
        return design, slice(None), prior
    rows = rows_of(task, name)
    design = design[rows]
    constant = np.ptp(design, axis=0) == 0
    constant[0] = False
    return design, rows, np.where(constant, ZERO_SD, prior)


def certain(working: Mapping[str, Floats], columns: Sequence[Column]) -> dict[str, Evidence]:
    """Return evidence that leaves no doubt about what is known and says nothing about what is missing."""
    found: dict[str, Evidence] = {}
    for column in columns:
        x = working[column.name]
        known = np.isfinite(x)
        if column.kind.categorical:
            other = x[:, None] != np.arange(len(column.levels))
            found[column.name] = LevelEvidence(np.where(known[:, None] & other, -np.inf, 0.0))
        else:
            found[column.name] = GaussianEvidence.at(np.where(known, x, 0.0), np.where(known, KNOWN_PRECISION, 0.0))
    return found


def filled(working: Mapping[str, Floats], drawn: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the working values with draws where they are missing."""
    return {name: np.where(np.isfinite(x), x, drawn[name]) for name, x in working.items()}
