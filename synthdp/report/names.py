"""What the page and the terminal call intruders and limits that the config and metrics name in one word."""

from collections.abc import Mapping
from dataclasses import dataclass

from synthdp.evaluation.gate.limits import LIMITS, own_limits
from synthdp.evaluation.measure import Measure, identifies
from synthdp.evaluation.measures import GATE, known, measure, pointing

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


class _Checks(dict[str, CheckWords]):
    """The words of our limits; one from outside is called what its measure is called."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in own_limits()

    def __missing__(self, name: str) -> CheckWords:
        title = own_limits()[name].words
        return CheckWords(title, title, f"{title}: {{}}", share=False)


_WORDS: Mapping[str, CheckWords] = {
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


CHECKS: Mapping[str, CheckWords] = _Checks(_WORDS)


def intruders() -> dict[str, Measure]:
    """Return the intruders who point at rows, in the order of the page."""
    return {one.name: one for one in (*pointing(), *map(measure, GATE))}


def answers_alone(name: str) -> bool:
    """Return whether a measure is no intruder among others, but the only one who answers its limit."""
    return known(name) and not identifies(measure(name))


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
    return (measure(name).title if known(name) else "") or name


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
