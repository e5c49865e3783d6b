"""A design with a binary, an ordinal, a nominal and a count column whose association model is exactly right."""

import numpy as np
import pandas as pd
from scipy.special import ndtr

from synthdp.microdata import Floats

CORRELATION_ZY = 0.4
BINARY = {"Intercept": -0.2, "z": 0.4, "y": 0.3}
CUTPOINTS = (-0.9, -0.2, 0.5, 1.2)
ORDINAL = {"z": 0.4, "y": 0.3, "b": 0.2}
# intercept, z, y, b, then one per level of the ordinal column above the first
NOMINAL = (
    (0.2, 0.4, 0.0, 0.2, 0.1, 0.2, 0.3, 0.4),
    (0.0, 0.0, 0.4, -0.2, 0.0, 0.1, 0.1, 0.2),
    (-0.2, -0.3, 0.3, 0.1, 0.1, 0.0, 0.2, 0.1),
)
COUNT_LINEAR = {"Intercept": 0.4, "z": 0.2, "y": 0.15, "b": 0.2}
COUNT_O = (0.05, 0.1, 0.15, 0.2)
COUNT_G = (0.1, -0.1, 0.2)
DISPERSION = 4.0
# what least squares, maximum likelihood and the mean tend to: mean over 20 files of 500,000 records, seeds 0 to 19;
# the error that is left is about 1% of a standard error at n = 500
TRUTH: dict[str, dict[str, float]] = {
    "ols": {
        "Intercept": -0.68652,
        "z": 0.2159,
        "b": 0.30372,
        "o": 0.16453,
        "c": 0.06726,
        "g[b]": -0.01281,
        "g[c]": 0.30346,
        "g[d]": 0.1919,
    },
    "logit": {"Intercept": -0.6717, "z": 0.72538, "c": 0.17631},
    "mean": {"c": 2.05113},
    "ordered": {"z": 0.49, "c": 0.0695},
    "cut": {"Intercept": -0.89741, "z": 0.81221, "c": 0.11862},
}


def mixed_kinds(n: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Draw records with a binary b, an ordinal o (5 levels), a nominal g (4 levels) and a count c.

        (z, y) ~ N(0, [[1, 0.4], [0.4, 1]])
        b | z, y             probit
        o | z, y, b          ordered probit with four cutpoints
        g | z, y, b, o       multinomial logit
        c | z, y, b, o, g    negative binomial, log link, dispersion 4

    Every coefficient is our own choice, of moderate size: with 500 records no level is empty.

    Examples
    --------
    >>> list(mixed_kinds(10, rng=np.random.default_rng(1)).columns)
    ['z', 'y', 'b', 'o', 'g', 'c']
    """
    z = rng.standard_normal(n)
    y = CORRELATION_ZY * z + np.sqrt(1 - CORRELATION_ZY**2) * rng.standard_normal(n)
    b = (rng.random(n) < ndtr(BINARY["Intercept"] + BINARY["z"] * z + BINARY["y"] * y)).astype(np.int64)
    index = ORDINAL["z"] * z + ORDINAL["y"] * y + ORDINAL["b"] * b
    o = (rng.random(n)[:, None] > ndtr(np.asarray(CUTPOINTS) - index[:, None])).sum(axis=1)
    above = (o[:, None] == np.arange(1, 5)).astype(np.float64)
    design = np.column_stack([np.ones(n), z, y, b, above])
    utility = np.column_stack([np.zeros(n), design @ np.asarray(NOMINAL).T])
    g = (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)
    mean = np.exp(
        COUNT_LINEAR["Intercept"]
        + COUNT_LINEAR["z"] * z
        + COUNT_LINEAR["y"] * y
        + COUNT_LINEAR["b"] * b
        + above @ np.asarray(COUNT_O)
        + (g[:, None] == np.arange(1, 4)) @ np.asarray(COUNT_G)
    )
    c = rng.poisson(mean * rng.gamma(DISPERSION, 1 / DISPERSION, n))
    return pd.DataFrame({"z": z, "y": y, "b": b, "o": o, "g": np.array(list("abcd"))[g], "c": c})


def mixed_kinds_design(frame: pd.DataFrame) -> Floats:
    """Return the design of the regression of y: constant, z, b, o as a score, c, g as indicators."""
    g = frame["g"].to_numpy()
    columns = [np.ones(len(frame)), *(frame[name].to_numpy(np.float64) for name in ("z", "b", "o", "c"))]
    return np.column_stack([*columns, *((g == level).astype(np.float64) for level in "bcd")])


def mixed_kinds_truth() -> dict[str, dict[str, float]]:
    """Return what the analyses of :mod:`synthdp.studies.kinds` estimate, by analysis and term."""
    return TRUTH
