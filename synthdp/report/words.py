"""Numbers as people write them, and the plain words for what config and metrics name in one word."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from synthdp.evaluation.blocks import MINUS, NOT_COMPUTED, is_number
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.verdict import UNDECIDED
from synthdp.evaluation.measure import identifies
from synthdp.evaluation.measures import known, measure
from synthdp.evaluation.measures.found import title_of

OWN, BY_PERSON = "identity as ", " by person"
_EPOCH = dt.date(1970, 1, 1)

_NOISE_LEFT_OUT = "Intervals from the copies do not account for the privacy noise: they are too short."
_NOISE_KNOWN = "Intervals account for the privacy noise where the rule is noise_aware; else they are too short."
MASKINGS = (
    "k_anonymity",
    "pram",
    "k_pram",
    "k_noise",
    "noise",
    "microaggregation",
    "rank_swap",
    "top_bottom",
    "local_suppression",
)
_MASKED = "This is not differentially private, and intervals from a masked file do not account for the masking."
METHODS: Mapping[str, str] = {
    "da_mi": (
        "Each value of a replaced column was first blurred by a known mask. A statistical model of how the columns "
        "are related was then fitted, and every new value was drawn by weighing what the model expects of the record "
        "against what its blurred values let through. Given the fitted model, what is released about a record "
        "depends on its true values through the blurred values only (and through its risk group or number of "
        "look-alikes, where masks differ by those)."
    ),
    "mi": (
        "A statistical model of how the columns are related was fitted, and every new value was drawn from what the "
        "model expects given the columns that are kept (Rubin's multiple imputation). No mask was used: a new value "
        "reflects nothing of the true value beyond what the model and the kept columns say."
    ),
    "sequential": (
        "The replaced columns were drawn one after the other, each from a model given the columns drawn before it. "
        "No mask was used."
    ),
    "ipf": (
        "A table of all columns was fitted that has the original's tables of two columns (or those that were asked "
        "for) and is otherwise as even as can be, and the replaced columns were drawn from it. No mask was used."
    ),
    "catall": (
        "The replaced columns were drawn from the table of all their combinations in the original, to which a few "
        "records spread evenly were added. No mask was used, and most combinations are those of people in the file."
    ),
    "dp_histogram": (
        "The declared domain was cut into cells, noise was added to the number of records in every cell, and all "
        f"copies were drawn from that table. {_NOISE_LEFT_OUT}"
    ),
    "dp_sparse_histogram": (
        "Noise was added to the number of records in the cells of the declared domain, only cells above a threshold "
        f"were used, and all copies were drawn from them. {_NOISE_LEFT_OUT}"
    ),
    "dp_exponential": (
        "A table with as many records as the original was drawn at random, the likelier the closer to the true one, "
        f"and all copies hold its records. {_NOISE_LEFT_OUT}"
    ),
    "dp_margins": (
        "Noise was added to the distribution of every column, and columns were drawn independently of each other: how "
        f"they are related is lost. {_NOISE_LEFT_OUT}"
    ),
    "dp_kde": (
        "A smooth density of the records was released with noise that is a function, too, and all copies were drawn "
        f"from it. What is narrower than its bandwidth is lost. {_NOISE_LEFT_OUT}"
    ),
    "dp_mst": (
        "Noise was added to the distribution of every column and to the joint distributions of the pairs that are "
        "most strongly associated, which form a tree; copies were drawn from the tree. Associations that take "
        f"three columns or more to see are lost. {_NOISE_KNOWN}"
    ),
    "dp_tables": (
        "Noise was added to tables of columns that were named beforehand, or to sums of products of scores of pairs of "
        f"columns, and copies were drawn from the log-linear model of these. {_NOISE_KNOWN}"
    ),
    "dp_aim": (
        "Tables of columns were chosen one after the other where a model of the earlier ones was furthest from the "
        "data, noise was added to each, and copies were drawn from the log-linear model of all that were chosen. "
        f"{_NOISE_KNOWN}"
    ),
    "dp_normal": (
        "Noise was added to the sums and products of the columns, and copies were drawn from a normal distribution "
        f"with that mean and covariance. {_NOISE_KNOWN}"
    ),
    "dp_da_mi": (
        "Every value of every record was masked by noise of fixed strength, and copies were drawn from what the masked "
        "records say, each with parameters of its own that nothing else went into. Intervals from the copies account "
        "for the privacy noise by Rubin's rule for missing data: here the original is what is missing."
    ),
    "local_noise": (
        f"Noise was added to every value of every record. Associations come out weaker than they are. {_NOISE_LEFT_OUT}"
    ),
    "k_anonymity": (f"Records were put into classes, each of which shows one value in all replaced columns. {_MASKED}"),
    "pram": f"Levels, and bins of numbers, were exchanged at random with fixed probabilities. {_MASKED}",
    "k_pram": (
        f"Every number was replaced by a random one of its own group, levels were exchanged at random. {_MASKED}"
    ),
    "k_noise": f"Bounded noise was added to every number, levels were exchanged at random. {_MASKED}",
    "noise": f"Noise was added to every number, levels were exchanged at random. {_MASKED}",
    "microaggregation": (
        "Records that lie close together were put into groups, each of which shows its mean numbers; levels were "
        f"exchanged at random. {_MASKED}"
    ),
    "rank_swap": (
        "Every number was exchanged with that of a record of a similar rank, levels were exchanged at random. "
        f"{_MASKED}"
    ),
    "top_bottom": (
        "The largest and smallest numbers of every column are shown as one value, levels were exchanged at random. "
        f"{_MASKED}"
    ),
    "local_suppression": (
        "Values were left out until every record agrees with several others on the columns that an intruder may know. "
        f"{_MASKED}"
    ),
    "external": "The synthetic files were made by another tool; this page judges them without knowing how.",
}

MASK_DRAWS: Mapping[str, tuple[str, str]] = {
    "per_copy": (
        "drawn anew for every copy",
        "Where the model fits, confidence intervals from the copies keep their stated coverage. The cost: every copy "
        "is another independent look at the true values, so what leaks adds up over the copies. Few copies and a wider "
        "mask keep it small.",
    ),
    "once": (
        "drawn once and shared by all copies",
        "Less leaks, because all copies rest on the same blurred values. The cost: all copies also share the same "
        "masking error, which their differences cannot show, so confidence intervals come out a little too "
        "short (in simulations, intervals meant to cover 95% covered 90% to 96% at medium masks; more copies do not "
        "help).",
    ),
    "once_orthogonal": (
        "drawn once, its noise made uncorrelated with the data",
        "All copies rest on the same blurred values, and the noise is adjusted so that it does not disturb means and "
        "linear relations; confidence intervals keep about their stated coverage. The cost: the noise now depends on "
        "the data, so no formal bound on the mask can be stated.",
    ),
}


def share(value: float, *, limit: float | None = None, digits: int = 2) -> str:
    """Return a share as people say it: two digits, more where it takes them to stand on its side of a limit.

    Examples
    --------
    >>> share(0.1234), share(0.00412), share(0.3301, limit=0.33), share(0.00001), share(0.997)
    ('12%', '0.41%', '33.01%', 'under 0.01%', 'over 99%')
    """
    if 0 < value < 1e-4 and limit is None:
        return "under 0.01%"
    if 0.99 < value < 1 and (limit is None or limit <= 0.99):
        return "over 99%"
    edge = None if limit is None else 100 * limit
    for some in range(digits, 18):
        shown = Decimal(f"{100 * value:.{some}g}")
        near = float(shown)
        if edge is None or (near > edge, near < edge) == (100 * value > edge, 100 * value < edge):
            break
    text = f"{abs(shown):f}"
    return f"{MINUS if shown < 0 else ''}{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def day(value: Any) -> str:
    """Return days since 1970 as a date."""
    return (_EPOCH + dt.timedelta(days=round(value))).isoformat() if is_number(value) else NOT_COMPUTED


def shorten(text: str, length: int) -> str:
    """Return text that fits a plot's axis; the table beside it has the whole."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def lowered(text: str) -> str:
    """Return a sentence as it goes on behind a colon."""
    return text[:1].lower() + text[1:]


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
    return title_of(name)


def attack_phrase(name: str) -> str:
    """Return the title of an attack as it stands within a sentence; names that the user gave stay as they are.

    Examples
    --------
    >>> attack_phrase("identity_public"), attack_phrase("identity as 'Bob'")
    ('public files only', '“Bob”')
    """
    title = attack_title(name)
    return title if name.startswith(OWN) or title == name else lowered(title)


def check_title(name: str) -> str:
    """Return the heading of a limit."""
    return "Decision about a kept column" if name == UNDECIDED else LIMITS[name].title if name in LIMITS else name
