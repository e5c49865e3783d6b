"""Do the copies' coefficients differ from the original's by more than synthesis alone explains? A Wald test of all."""

from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc

from synthdp.evaluation.utility.spread import Sizes
from synthdp.inference.combining import Pooled
from synthdp.microdata import Floats

# directions of the covariance with less than this share of the largest are none
RANK = 1e-10


def lack_of_fit(
    difference: Floats, covariance: Floats, pooled: Pooled, order: list[int], *, sizes: Sizes, proper: bool | None
) -> dict[str, Any]:
    """Return the test that the mean coefficients of the copies are those of the original, all at once.

    With d the p differences, V the original's covariance, n its records, k those of a copy and M copies:

    * X = d′ (V n/(k M))⁻¹ d ~ χ²(p) for copies drawn whole from a model fitted to the original (plug-in, and where
      nothing is known); this is the lack-of-fit test that synthpop's comparison of fits prints. Where parameters were
      drawn from their posterior (``proper``) the variance is V (1 + n/k)/M. Kept columns make X smaller than χ².
    * ``from_copies`` holds for any design with M ≥ 2: the variance of synthesis is what the copies themselves show.
      With B the covariance between copies and ρ = tr(B V⁻¹)/p, F = d′V⁻¹d M/(p ρ) ~ F(p, p(M − 1)) when B is
      proportional to V.

    Parameters
    ----------
    difference, covariance
        d and V, in the order of the original's terms.
    pooled
        The combined estimates; ``order`` says where each term of the original is among them.
    sizes
        n and k.
    proper
        Whether the parameters behind the copies were drawn from their posterior; None when it is not known.

    Returns
    -------
    dict
        ``statistic``, ``df`` (the rank of V) and ``p_value``, None where V is zero; ``from_copies`` alike with two
        degrees of freedom, None for one copy or copies that do not differ.

    References
    ----------
    Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3), 67–97, for the variance of plug-in
    synthesis; Nowok, Raab, Dibben (2016), Journal of Statistical Software 74(11), for the test in synthpop. Li,
    Raghunathan, Rubin (1991), JASA 86(416), 1065–1073, for the proportionality of B.
    """
    inverse, rank = _inverse(covariance)
    if rank == 0:
        return {"statistic": None, "df": 0, "p_value": None, "from_copies": None}
    squared = max(0.0, float(difference @ inverse @ difference))
    ratio = sizes.first / sizes.second
    statistic = squared * pooled.copies / (1 + ratio if proper else ratio)
    return {
        "statistic": statistic,
        "df": rank,
        "p_value": float(chdtrc(rank, statistic)),
        "from_copies": _from_copies(squared, inverse, rank, pooled, order),
    }


def _from_copies(squared: float, inverse: Floats, rank: int, pooled: Pooled, order: list[int]) -> dict[str, Any] | None:
    if pooled.moments is None or pooled.copies < 2:
        return None
    between = pooled.moments.between[np.ix_(order, order)]
    rho = float(np.sum(between * inverse)) / rank
    if rho <= RANK:
        return None
    statistic = squared * pooled.copies / (rank * rho)
    df2 = rank * (pooled.copies - 1)
    return {"statistic": statistic, "df": [rank, df2], "p_value": float(fdtrc(rank, df2, statistic))}


def _inverse(covariance: Floats) -> tuple[Floats, int]:
    """Return the inverse on the directions in which estimates vary, and how many there are."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
    values, vectors = np.linalg.eigh(covariance * np.outer(unit, unit))
    large = values > RANK * max(1.0, float(values.max(initial=0.0)))
    kept = vectors[:, large] * unit[:, None]
    return np.asarray(kept / values[large] @ kept.T, dtype=np.float64), int(large.sum())
