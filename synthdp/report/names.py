"""What the page and the terminal call intruders and limits that the config and metrics name in one word."""

from collections.abc import Mapping
from dataclasses import dataclass

from synthdp.evaluation.gate.limits import LIMITS

ATTACKS: Mapping[str, tuple[str, str]] = {
    "identity": (
        "Matching each copy",
        "The intruder knows that a person is in the file, and knows that person's key columns exactly. In every copy "
        "they look for records that agree (same category, numbers within the tolerance), and they trust the records "
        "that come up most often over all copies.",
    ),
    "identity_averaged": (
        "Averaging the copies first",
        "The intruder has lined the copies up record by record (the kept columns, being the same in all copies, make "
        "that possible), averages the values of each record to wash out some of the noise, and then matches as above.",
    ),
    "identity_linked": (
        "Lining up, then averaging",
        "As above, but nobody tells the intruder which rows of different copies belong together: they find out through "
        "the columns that were kept, and choose at random where several rows agree.",
    ),
    "identity_likelihood": (
        "Most likely record",
        "The intruder knows how far released values usually lie from true ones (at worst: as measured here) and points "
        "at the record whose released values are most likely for the person they look for. No tolerance enters, so no "
        "mask can be shaped to slip past it.",
    ),
    "identity_public": (
        "Public files only",
        "The intruder has nothing but the public files: they predict each key from the kept columns, learn from the "
        "spread between copies how far released values lie from true ones, and weigh all keys jointly.",
    ),
    "identity_extremes": (
        "Looking for extremes",
        "The intruder looks for the person who is known to have the largest or smallest value in truth, among the "
        "largest and smallest values of the copies.",
    ),
    "identity_bayes": (
        "Knowing mask and model",
        "The intruder knows the mask, the model and its parameters, and computes from all copies how probable each "
        "record is.",
    ),
    "identity_persons": (
        "All rows of a person",
        "The intruder knows the keys of all rows that belong to one person, and looks for them together.",
    ),
}

OTHERS: Mapping[str, str] = {
    "attribute": "Learning a sensitive value",
    "verbatim": "Rows copied over",
    "exposure": "Reading the kept columns",
    "memorised": "Fitting halves of the file",
    "panel": "Small regressions drawn at random",
    "analyses": "Your analyses",
    "pmse": "Telling copies from the original",
    "membership_shadow": "Shadow fits with and without a person",
}
OWN, BY_PERSON, UNDECIDED = "identity as ", " by person", "undecided"


@dataclass(frozen=True)
class CheckWords:
    """A limit as a heading of a table, and as a sentence about one figure.

    Parameters
    ----------
    title
        What is measured.
    brief
        The same within a sentence, before a figure.
    says
        The sentence; ``{}`` is the figure.
    share
        Whether the figure is a share, shown as a percentage.
    """

    title: str
    brief: str
    says: str
    share: bool


def _words(name: str, title: str, brief: str, says: str) -> CheckWords:
    return CheckWords(title, brief, says, LIMITS[name].share)


CHECKS: Mapping[str, CheckWords] = {
    name: _words(name, *words)
    for name, words in {
        "max_expected_match_rate": (
            "People found, beyond blind guessing, as a share of all records",
            "people found",
            "{} of all people are found, beyond what blind guessing gives",
        ),
        "max_individual": (
            "Highest chance of finding any one record",
            "the person easiest to find",
            "The person easiest to find is found with a probability of {}",
        ),
        "max_claims_right": (
            "Right among the 1% of claims the intruder is surest of",
            "surest claims right",
            "Of the claims the intruder is surest of, {} are right",
        ),
        "max_exposed": (
            "Records unique on kept columns that an intruder may know",
            "people unique on kept keys",
            "People who are unique on kept columns that an intruder may know, and so are found with certainty: {}",
        ),
        "max_attribute_gain": (
            "What an intruder learns about a sensitive value beyond guessing",
            "sensitive values learnt",
            "A sensitive value is guessed right more often, for people in the data than for others, by {}",
        ),
        "max_memorised": (
            "Unique records reproduced because they were fitted",
            "unique records memorised",
            "Of the unique records, {} stand in the copies only because the model was fitted to them",
        ),
        "max_excess_verbatim": (
            "Rows or unique values copied over beyond what chance gives",
            "rows or values copied over",
            "Rows or unique values copied over, beyond what chance gives: {}",
        ),
        "max_excess_true_match": (
            "True matches beyond what chance gives, in records",
            "true matches beyond chance",
            "Records that are the only best match, and the right one, beyond what chance gives: {}",
        ),
        "max_mean_individual": (
            "Average chance of finding a record",
            "average chance of being found",
            "On average a person is found with a probability of {}",
        ),
        "min_overlap": (
            "Overlap of confidence intervals, on average",
            "overlap of intervals",
            "Confidence intervals from the copies overlap those of the original by {} on average",
        ),
        "max_pmse_ratio": (
            "How much better copies are told from the original than perfect ones",
            "pMSE ratio",
            "The ratio of the copies' pMSE to that of perfect copies is {}",
        ),
    }.items()
}


def attack_title(name: str) -> str:
    """Return what the page calls an attack that the gate names.

    Examples
    --------
    >>> attack_title("identity as 'neighbour'"), attack_title("attribute")
    ('“neighbour”', 'Learning a sensitive value')
    >>> attack_title("identity_public by person")
    'Public files only, any row of a person'
    """
    if name.endswith(BY_PERSON):
        return f"{attack_title(name.removesuffix(BY_PERSON))}, any row of a person"
    if name.startswith(OWN):
        return f"“{name.removeprefix(OWN)[1:-1]}”"
    return ATTACKS[name][0] if name in ATTACKS else OTHERS.get(name, name)


def attack_phrase(name: str) -> str:
    """Return the title of an attack as it stands within a sentence; names that the user gave stay as they are.

    Examples
    --------
    >>> attack_phrase("identity_public"), attack_phrase("identity as 'Bob'")
    ('public files only', '“Bob”')
    """
    title = attack_title(name)
    return title if name.startswith(OWN) or title == name else title[:1].lower() + title[1:]


def check_title(name: str) -> str:
    """Return the heading of a limit."""
    return "Decision about a kept column" if name == UNDECIDED else CHECKS[name].title if name in CHECKS else name
