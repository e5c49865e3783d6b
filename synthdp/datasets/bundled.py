"""Two data sets to try things on.

Real voters of 1996, and a simulated stand-in for a registry of people with scleroderma.

Nobody in it exists and no number in it was estimated from patients: ranges and directions are the ones a clinician
would find plausible, every coefficient is our own choice. What matters is that it is hard in the ways the real file
is: few men, skewed durations, bounded scores, values missing for a reason, and associations between the columns one
would replace and the columns one would keep that bend and interact.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, ndtr, ndtri

from synthdp.table.microdata import Floats


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


Events = npt.NDArray[np.bool_]

AGE_MEAN, AGE_SD, AGE_RANGE = 55.0, 12.0, (18.0, 90.0)
WOMEN, WHITE = 0.86, 0.88
YOUNGEST_ONSET = 12.0

LUNG_CORRELATION = np.array([[1.0, 0.66, 0.80], [0.66, 1.0, 0.64], [0.80, 0.64, 1.0]])  # FVC, DLCO, TLC given the rest
LUNG_SD = np.array([16.0, 18.0, 15.0])
LUNG_RANGE = (15.0, 150.0)

HAQ_STEP, HAQ_MOST = 0.125, 3.0
VITALITY_STEP, VITALITY_MOST = 5.0, 100.0


def registry(n: int, *, rng: np.random.Generator, complete: bool = False) -> pd.DataFrame:
    """Draw a registry of ``n`` simulated patients.

    Parameters
    ----------
    n
        Number of patients.
    rng
        Source of randomness.
    complete
        Leave nothing missing. The values that are present are the same either way.

    Returns
    -------
    pandas.DataFrame
        ======================  =====================================================================
        age                     years, about N(55, 12²) within 18 to 90, one decimal
        sex                     F (86 %) or M
        race                    white (88 %) or other
        education               school (high school or less) or college; falls with age, less so in men
        disease_duration        years since onset, skewed, at most age - 12, one decimal
        work_disability         1 if unable to work (about 0.3); most likely in mid-life
        diffuse                 1 for diffuse rather than limited disease (about 1/3)
        centro_positive         1 if anticentromere positive (about 1/3), rarely together with diffuse
        fvc, dlco, tlc          lung function, % of predicted, correlated 0.6 to 0.8
        vitality                SF-36 vitality, 0 (worst) to 100, in steps of 5
        haq                     disability index, 0 (none) to 3, in steps of 0.125
        one_year_ild            1 if lung disease is found within a year (about 1/4)
        ======================  =====================================================================

    Notes
    -----
    Nonlinear on purpose: FVC, vitality and both outcomes are quadratic in age, DLCO goes with the root of duration,
    and FVC falls with age twice as fast in men. A linear association model of age or sex given the
    rest is therefore wrong.

    Missing at random given columns that are never missing: a visit to the lung laboratory (fvc, dlco, tlc together,
    some single values beside), a questionnaire (vitality, haq), and the visit after a year (one_year_ild); 5 to 15 %
    of each column.

    Examples
    --------
    >>> patients = registry(1000, rng=np.random.default_rng(1))
    >>> patients.shape
    (1000, 14)
    >>> int(registry(1000, rng=np.random.default_rng(1), complete=True).isna().sum().sum())
    0
    """
    frame = _people(n, rng)
    _disease(frame, rng)
    _lungs(frame, rng)
    _daily_life(frame, rng)
    frame = frame[[*ORDER]]
    return frame if complete else _lose(frame, rng)


ORDER = (
    "age", "sex", "race", "education", "disease_duration", "work_disability", "diffuse", "centro_positive",
    "fvc", "dlco", "tlc", "vitality", "haq", "one_year_ild",
)  # fmt: skip


def _people(n: int, rng: np.random.Generator) -> pd.DataFrame:
    low, high = ((bound - AGE_MEAN) / AGE_SD for bound in AGE_RANGE)
    age = np.round(AGE_MEAN + AGE_SD * ndtri(rng.uniform(ndtr(low), ndtr(high), n)), 1)
    woman, white = rng.random(n) < WOMEN, rng.random(n) < WHITE
    years = age - AGE_MEAN
    college = _happens(0.05 - 0.030 * years + ~woman * (0.20 + 0.020 * years) + 0.10 * white, rng)
    share = rng.beta(1.2, 4.2, n)  # of the life after the youngest onset: keeps duration below age and skewed
    return pd.DataFrame(
        {
            "age": age,
            "sex": np.where(woman, "F", "M"),
            "race": np.where(white, "white", "other"),
            "education": np.where(college, "college", "school"),
            "disease_duration": np.floor(10 * share * (age - YOUNGEST_ONSET)) / 10,
        }
    )


def _disease(frame: pd.DataFrame, rng: np.random.Generator) -> None:
    years, man = _years(frame), _man(frame)
    duration = _column(frame, "disease_duration")
    centro = _happens(-0.45 + 0.015 * years - 0.35 * man + 0.015 * duration, rng)
    diffuse = _happens(0.05 - 1.20 * centro + 0.25 * man - 0.010 * duration, rng)
    frame["centro_positive"], frame["diffuse"] = centro.astype(np.int64), diffuse.astype(np.int64)


def _lungs(frame: pd.DataFrame, rng: np.random.Generator) -> None:
    years, man = _years(frame), _man(frame)
    duration = _column(frame, "disease_duration")
    diffuse, centro = _column(frame, "diffuse"), _column(frame, "centro_positive")
    mean = np.column_stack(
        [
            97 - 7 * diffuse + 4 * centro - 0.20 * years * (1 + man) - 0.030 * years**2,
            78 - 5 * diffuse + 1 * centro - 0.25 * years - 3.0 * np.sqrt(duration) + 4 * man,
            97 - 5 * diffuse + 4 * centro - 0.10 * years - 0.020 * years**2,
        ]
    )
    noise = rng.standard_normal(mean.shape) @ np.linalg.cholesky(LUNG_CORRELATION).T
    lungs = np.clip(np.round(mean + LUNG_SD * noise), *LUNG_RANGE)
    for position, name in enumerate(("fvc", "dlco", "tlc")):
        frame[name] = lungs[:, position]


def _daily_life(frame: pd.DataFrame, rng: np.random.Generator) -> None:
    years, man = _years(frame), _man(frame)
    duration, diffuse = _column(frame, "disease_duration"), _column(frame, "diffuse")
    fvc, dlco = _column(frame, "fvc") - 90, _column(frame, "dlco") - 70
    burden = -1.65 + 0.55 * diffuse + 0.03 * duration + 0.015 * years - 0.012 * dlco - 0.008 * fvc
    haq = _in_steps(HAQ_MOST * expit(burden + 0.9 * rng.standard_normal(len(frame))), HAQ_STEP, HAQ_MOST)
    feeling = 55 - 11 * (haq - 0.8) + 4 * man - 0.020 * years**2 + 17 * rng.standard_normal(len(frame))
    vitality = _in_steps(feeling, VITALITY_STEP, VITALITY_MOST)
    college = _is(frame, "education", "college")
    disabled = -0.65 + 0.65 * haq - 0.012 * (vitality - 50) - 0.35 * college + 0.25 * diffuse
    ild = -1.00 + 0.35 * diffuse - 0.35 * _column(frame, "centro_positive") - 0.014 * fvc - 0.012 * dlco + 0.30 * man
    frame["haq"], frame["vitality"] = haq, vitality
    frame["work_disability"] = _happens(disabled - 0.0025 * (years + 3) ** 2, rng).astype(np.int64)
    frame["one_year_ild"] = _happens(ild + 0.0016 * years**2, rng).astype(np.int64)


def _lose(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    years, duration = _years(frame), _column(frame, "disease_duration")
    school = _is(frame, "education", "school")
    no_laboratory = _happens(-1.75 + 0.010 * years + 0.015 * duration, rng)
    no_questionnaire = _happens(-1.60 + 0.35 * school + 0.008 * years, rng)
    no_second_visit = _happens(-1.35 + 0.012 * years + 0.25 * _column(frame, "diffuse"), rng)
    alone = {name: rng.random(len(frame)) < share for name, share in (("fvc", 0.02), ("dlco", 0.06), ("tlc", 0.04))}
    lost = {name: no_laboratory | single for name, single in alone.items()}
    lost |= {"vitality": no_questionnaire, "haq": no_questionnaire & (rng.random(len(frame)) < 0.8)}
    lost["one_year_ild"] = no_second_visit
    return frame.assign(**{name: frame[name].astype("float64").mask(gone) for name, gone in lost.items()})


def _happens(index: Floats, rng: np.random.Generator) -> Events:
    """Draw events with probability Φ(index)."""
    return np.asarray(rng.random(len(index)) < ndtr(index))


def _in_steps(values: Floats, step: float, most: float) -> Floats:
    return np.asarray(np.clip(np.round(values / step) * step, 0.0, most))


def _years(frame: pd.DataFrame) -> Floats:
    return _column(frame, "age") - AGE_MEAN


def _man(frame: pd.DataFrame) -> Floats:
    return _is(frame, "sex", "M")


def _is(frame: pd.DataFrame, name: str, level: str) -> Floats:
    return np.asarray(frame[name] == level, dtype=np.float64)


def _column(frame: pd.DataFrame, name: str) -> Floats:
    return frame[name].to_numpy(np.float64)


EDWARDS = (16, 11, 7, 4, 4, 4, 4, 3, 3, 2, *[1] * 12)


def edwards() -> npt.NDArray[np.int64]:
    """Return the counts of the barley mildew table of Edwards: 70 records in 64 cells of six binary columns.

    The 22 occupied cells come first, from the fullest; which cell has which count is not kept. It is a table on which
    sparse histograms are compared.

    References
    ----------
    Edwards (2000), "Introduction to graphical modelling", Springer. Hall (2012, PhD thesis, CMU), Figure 2.3, uses it
    after Charest (2012) and prints n = 70, p = 64 and q = 22 only, with which these counts agree.

    Examples
    --------
    >>> counts = edwards()
    >>> len(counts), int(counts.sum()), int((counts > 0).sum())
    (64, 70, 22)
    """
    return np.array([*EDWARDS, *[0] * (64 - len(EDWARDS))], dtype=np.int64)
