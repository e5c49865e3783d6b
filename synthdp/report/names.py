"""What the page and the terminal call intruders and limits that the config and metrics name in one word."""

from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.measure import Measure, identifies
from synthdp.evaluation.measures import GATE, known, measure, pointing

OWN, BY_PERSON, UNDECIDED = "identity as ", " by person", "undecided"


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
    return "Decision about a kept column" if name == UNDECIDED else LIMITS[name].title if name in LIMITS else name
