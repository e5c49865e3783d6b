"""A surrogate of the 659 ages of Biswal's (2024) masking experiment: the file is not public, its counts are printed."""

import numpy as np
import pandas as pd

AGE_EDGES = tuple(range(19, 80, 5))
AGE_COUNTS = (32, 100, 121, 81, 62, 79, 84, 57, 31, 9, 2, 1)


def ages(*, rng: np.random.Generator) -> pd.DataFrame:
    """Draw 659 ages evenly within the twelve published bins of five years from 19 to 79, as many in each as published.

    Parameters
    ----------
    rng
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One column, ``age`` in years, in the order of the bins.

    References
    ----------
    Biswal (2024), PhD thesis, U. Ottawa, section 3.6 and its code A.0.5; counts of the figure "k-PRAM" (3.2).

    Examples
    --------
    >>> people = ages(rng=np.random.default_rng(1))
    >>> np.histogram(people["age"], AGE_EDGES)[0].tolist()
    [32, 100, 121, 81, 62, 79, 84, 57, 31, 9, 2, 1]
    """
    bins = zip(AGE_EDGES[:-1], AGE_EDGES[1:], AGE_COUNTS, strict=True)
    return pd.DataFrame({"age": np.concatenate([rng.uniform(low, high, count) for low, high, count in bins])})
