"""Real people whose answers are public: respondents of the 1996 American National Election Study."""

import pandas as pd


def anes96() -> pd.DataFrame:
    """Return 944 respondents of the 1996 American National Election Study.

    The file comes with statsmodels and is in the public domain; ``data/README.md`` holds its codebook. Four out of
    five respondents are unique on age, education and income alone, which makes it a fair test for a method that
    promises to hide them.

    Returns
    -------
    pandas.DataFrame
        ``popul`` (population of the place, in thousands), ``TVnews``, ``selfLR``, ``ClinLR``, ``DoleLR``, ``PID``,
        ``age``, ``educ``, ``income`` and ``vote`` (1 for Dole, 0 for Clinton) as whole numbers, and ``logpopul``,
        which is log(popul + 0.1).

    References
    ----------
    The American National Election Studies, 1996 Time Series Study, as packaged in ``statsmodels.datasets.anes96``.

    Examples
    --------
    >>> voters = anes96()
    >>> voters.shape
    (944, 11)
    >>> unique = ~voters.duplicated(["age", "educ", "income"], keep=False)
    >>> round(float(unique.mean()), 2)
    0.78
    """
    # statsmodels takes most of a second to import, and the simulators beside this function do not need it
    from statsmodels.datasets import anes96 as source

    frame = pd.DataFrame(source.load_pandas().data)
    whole = [name for name in frame.columns if name != "logpopul"]
    return frame.astype(dict.fromkeys(whole, "int64"))
