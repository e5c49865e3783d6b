"""Variances under a sampling design: linearisation over strata and clusters, or replicate weights.

An estimate is, to first order, a total of what each record contributes (its *influence*), so one formula for the
variance of a total serves every model. Strata and clusters that lost their records to missing values still count: an
incomplete record is in the sample and contributes zero (domain estimation).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.inference.formulas import Positions
from synthdp.inference.models.settings import ReplicateMethod
from synthdp.microdata import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """How the records of one table were sampled.

    Parameters
    ----------
    weights
        One per record; None when all count alike.
    strata, clusters
        Number of each record's stratum and of its cluster, clusters numbered within the whole table.
    """

    weights: Floats | None
    strata: Positions
    clusters: Positions


def sample(frame: pd.DataFrame, *, weights: str | None, strata: str | None, cluster: str | None, where: str) -> Sample:
    """Read the design columns of a table; the same cluster number in two strata means two clusters.

    Raises
    ------
    InputError
        When a weight is missing, negative or not a number, or a stratum or cluster is missing.
    """
    each = None if weights is None else weight_column(frame, weights, where)
    stratum = _groups(frame, strata, "strata", where)
    if cluster is None:
        return Sample(each, stratum, np.arange(len(frame)))
    inner = _groups(frame, cluster, "cluster", where)
    clusters = np.unique(np.column_stack([stratum, inner]), axis=0, return_inverse=True)[1]
    return Sample(each, stratum, clusters.reshape(-1))


def weight_column(frame: pd.DataFrame, name: str, where: str) -> Floats:
    """Return a column of weights; zero is allowed (a record that a replicate leaves out)."""
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise InputError(f"{where}: the weights in {name!r} must be numbers.")
    found = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    bad = int((~np.isfinite(found) | (found < 0)).sum())
    if bad:
        raise InputError(f"{where}: the weights in {name!r} must be zero or more, found {bad} that are missing or not.")
    if not found.any():
        raise InputError(f"{where}: the weights in {name!r} are all zero.")
    return found


def linearised(influence: Floats, design: Sample, *, where: str) -> tuple[Floats, float]:
    """Return the covariance of the total of the influences, and its degrees of freedom.

    V = Σ_h n_h/(n_h − 1) Σ_j (z_hj − z̄_h)(z_hj − z̄_h)', z_hj the total of cluster j in stratum h, n_h its clusters;
    ν = clusters − strata. Clusters count as drawn with replacement: there is no finite population correction.

    References
    ----------
    Binder (1983), International Statistical Review 51, 279–292; Wolter (2007), Introduction to Variance Estimation,
    chapter 6.
    """
    totals = np.zeros((int(design.clusters.max()) + 1, influence.shape[1]))
    np.add.at(totals, design.clusters, influence)
    home = np.empty(len(totals), dtype=np.int64)
    home[design.clusters] = design.strata
    sizes = np.bincount(home)
    if lonely := int((sizes == 1).sum()):
        units = f"{lonely} strata have" if lonely > 1 else "1 stratum has"
        raise InputError(f"{where}: {units} a single cluster or record, so no variance can be computed; merge strata.")
    means = np.zeros((len(sizes), influence.shape[1]))
    np.add.at(means, home, totals)
    spread = totals - (means / sizes[:, None])[home]
    covariance = spread.T @ (spread * (sizes / (sizes - 1))[home][:, None])
    return covariance, float(len(totals) - len(sizes))


def simple(influence: Floats) -> Floats:
    """Return the covariance of a total in a simple random sample: n/(n − 1) Σ (z_i − z̄)(z_i − z̄)'."""
    n = len(influence)
    spread = influence - influence.mean(axis=0)
    return np.asarray(n / (n - 1) * spread.T @ spread)


def replicated(
    full: Floats,
    replicates: Sequence[Floats],
    method: ReplicateMethod,
    scale: float | Sequence[float] | None,
    *,
    where: str,
) -> tuple[Floats, float]:
    """Return the covariance from estimates with replicate weights, and its degrees of freedom R − 1.

    V = Σ_r c_r (θ_r − θ)(θ_r − θ)', around the estimate with the full weights. c_r is 1/R for ``brr`` and
    ``bootstrap``, (R − 1)/R for ``jk1``; ``jkn`` needs (n_h − 1)/n_h of the stratum that replicate r takes a cluster
    from. ``scale`` gives c (one, or one per replicate): 1/(R (1 − ρ)²) for Fay's method, for example.

    References
    ----------
    Wolter (2007), Introduction to Variance Estimation, chapters 3 and 4.
    """
    count = len(replicates)
    if count < 2:
        raise InputError(f"{where}: replicate weights need at least 2 columns, found {count}.")
    if scale is None:
        if method == "jkn":
            raise InputError(f"{where}: jkn needs replicate_scale, (n_h - 1)/n_h of the stratum of each replicate.")
        scale = (count - 1) / count if method == "jk1" else 1 / count
    scales = np.asarray(scale, dtype=np.float64)
    scales = np.full(count, scales.item()) if scales.size == 1 else scales
    if scales.shape != (count,) or not (np.isfinite(scales).all() and (scales > 0).all()):
        raise InputError(f"{where}: replicate_scale must be one positive number, or {count}, one per replicate.")
    spread = np.stack(list(replicates)) - full
    return np.asarray(spread.T @ (spread * scales[:, None]), dtype=np.float64), float(count - 1)


def _groups(frame: pd.DataFrame, name: str | None, role: str, where: str) -> Positions:
    if name is None:
        return np.zeros(len(frame), dtype=np.int64)
    codes = pd.factorize(frame[name])[0]
    if missing := int((codes < 0).sum()):
        raise InputError(f"{where}: {role} must be known for every record, found {missing} missing in {name!r}.")
    return np.asarray(codes, dtype=np.int64)
