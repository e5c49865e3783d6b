"""What users of the files can rely on, in sentences, with the figures behind them."""

from collections.abc import Iterator

from synthdp.evaluation.blocks import entries, find, is_number
from synthdp.report.dossier.facts import Facts, shortened
from synthdp.report.words import share

MOST_ANALYSES = 3
# what an overlap of confidence intervals means for a reader of results; the first that is reached counts
READINGS = (
    (0.9, "users would read nearly the same results"),
    (0.75, "users would read the same results, less exactly"),
    (0.6, "users would see the broad picture; details differ"),
    (float("-inf"), "users could be misled: results differ from those of the confidential file"),
)


def reliable(facts: Facts) -> tuple[str, ...]:
    """Return what users can rely on and what not."""
    found = [*_overlaps(facts)]
    if not found:
        found = ["**How useful the files are was not judged**: a person must answer what they are good for."]
    return (*found, *_planned(facts), *_limits(facts))


def reading(overlap: float) -> str:
    """Return what an overlap of confidence intervals means for a reader of results.

    Examples
    --------
    >>> reading(0.95)
    'users would read nearly the same results'
    """
    return next(words for least, words in READINGS if overlap >= least)


def _overlaps(facts: Facts) -> Iterator[str]:
    for check in facts.checks:
        if check.name != "min_overlap" or check.value is None:
            continue
        what = "analyses that nobody planned, drawn at random" if check.attack == "panel" else "the planned analyses"
        wanted = f"; at least {share(check.limit)} wanted" if check.limit is not None else ""
        yield (
            f"For {what}, confidence intervals overlap those of the confidential file by **{share(check.value)}** on "
            f"average (100% is the same{wanted}): {reading(check.value)}."
        )


def _planned(facts: Facts) -> Iterator[str]:
    found = [one for one in entries(find(facts.content.metrics, "utility", "analyses")) if "name" in one]
    told = [one for one in found if is_number(one.get("mean_ci_overlap"))]
    if told:
        shown = [
            f"{shortened(str(one['name']))} {_overlap(float(one['mean_ci_overlap']))}" for one in told[:MOST_ANALYSES]
        ]
        more = f", and {len(told) - MOST_ANALYSES} more in the report" if len(told) > MOST_ANALYSES else ""
        yield f"Overlap one by one, in the copies themselves: {', '.join(shown)}{more}."
    missing = len(found) - len(told)
    if missing:
        many = "1 planned analysis" if missing == 1 else f"{missing} planned analyses"
        yield f"{many} could not be compared; the report says why."


def _overlap(value: float) -> str:
    """Return an overlap; one below nought is that of intervals with a gap between them."""
    return share(value) if value >= 0 else "none, the intervals lie apart"


def _limits(facts: Facts) -> Iterator[str]:
    if facts.epsilon is not None or facts.content.method.startswith(("dp_", "local_noise")):
        yield "Intervals from the copies do not count the privacy noise: they are too short."
    if facts.replaced:
        yield (
            "They cannot rely on a single row, nor on relations that the model did not contain, which come out weaker "
            "than they are."
        )
