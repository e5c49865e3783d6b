"""How much the records say of each correlation, and whether that is enough for its posterior to be normal.

    I_jk = n_jk a_j a_k

with n_jk records that have both values and a the share of a latent's information that its column shows: all of it for a
number, φ(t)²/(p(1 − p)) for a binary column of share p, next to nothing for a rare level.
"""

import numpy as np

from synthdp.imputation.copula.choices import constants, slopes
from synthdp.imputation.copula.coding import Coding, Curve, Item
from synthdp.imputation.copula.features import scores
from synthdp.imputation.copula.margins import LevelCurve, record_mass
from synthdp.table.microdata import Floats
from synthdp.table.schema import Role


def shown(item: Item, curve: Curve) -> Floats:
    """Return of each coordinate of a column the share of information that it shows. O(n)."""
    if curve is None:
        counts = np.bincount(item.codes[item.codes >= 0])
        shares = counts[1:] / counts.sum()
        slope = np.diag(slopes(constants(shares)))
        return np.asarray(np.minimum(slope**2 / (shares * (1 - shares)), 1.0))
    low, high = (curve.cuts[:-1], curve.cuts[1:]) if isinstance(curve, LevelCurve) else (curve.low, curve.high)
    mass = record_mass(curve.rows, np.ones(len(curve.rows)), len(low))
    used = mass > 0
    wide = low[used] < high[used]
    score = np.where(wide, 0.0, low[used])
    score[wide] = scores(low[used][wide], high[used][wide])
    return np.minimum([mass[used] @ score**2 / mass.sum()], 1.0)


def least_information(coding: Coding) -> float:
    """Return I of the correlation that is known worst, of those that are released. O(n p²) for p columns.

    Those between two kept columns are not, nor those inside a column.
    """
    curves = coding.curves(np.ones(len(coding.covariates)))
    known = np.column_stack([~item.missing() for item in coding.items]).astype(np.float32)
    together = known.T @ known
    least = [float(shown(item, curve).min()) for item, curve in zip(coding.items, curves, strict=True)]
    replaced = [item.column.role is Role.REPLACE for item in coding.items]
    found = [
        float(together[j, k]) * least[j] * least[k]
        for j in range(len(least))
        for k in range(j)
        if replaced[j] or replaced[k]
    ]
    return min(found, default=float("inf"))
