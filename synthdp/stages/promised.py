"""What ``tune`` promised of these settings, and what a run of them got."""

from typing import Any

from synthdp.config import Config
from synthdp.evaluation.gate import LIMITS, Verdict

# a bound on fresh draws differs from the one before by chance: beyond this share of the limit it is said
NOTABLE = 0.1
# and overlap by so much
NOTABLE_OVERLAP = 0.03


def selection_of(config: Config) -> str | None:
    """Return why no formal bound on a mask stands where its strength was chosen by looking at the data."""
    return None if config.tuned is None else "tune looked at the data to choose how strong it is"


def compared(config: Config, verdict: Verdict) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what ``gate`` says of the promise, and sentences for whoever signs; nothing where nothing was promised.

    Parameters
    ----------
    verdict
        Of the run, on draws of its own.
    """
    promise = config.tuned
    if promise is None:
        return {}, ()
    figures: list[dict[str, Any]] = []
    worse: list[str] = []
    for name, expected in promise.risks.items():
        mine = [one for one in verdict.checks if one.name == name and one.deciding is not None and not one.releases]
        if not mine:
            continue
        got = max(mine, key=lambda one: one.deciding or 0.0)
        figures.append({"name": name, "promised": expected, "found": got.deciding, "limit": got.limit})
        if (got.deciding or 0.0) > max(expected + NOTABLE * got.limit, expected):
            words = LIMITS[name].brief if name in LIMITS else name
            worse.append(f"{words} {got.deciding:.3g} instead of {expected:.3g}")
    panel = [one.value for one in verdict.checks if (one.name, one.attack) == ("min_overlap", "panel")]
    if promise.overlap is not None and panel and panel[0] is not None:
        figures.append({"name": "overlap", "promised": promise.overlap, "found": panel[0], "limit": None})
        if panel[0] < promise.overlap - NOTABLE_OVERLAP:
            worse.append(f"overlap of intervals {panel[0]:.3g} instead of {promise.overlap:.3g}")
    kept = verdict.passed
    section = {
        "trials": promise.trials,
        "bits": promise.bits,
        "confirmed": promise.confirmed,
        "holds": promise.holds,
        "kept": kept,
        "figures": figures,
    }
    return {"tuned": section}, (_cost(config), _told(kept, worse))


def attempts_line(config: Config) -> str | None:
    """Return the trials as one line among the attempts; None where nothing was tuned."""
    promise = config.tuned
    if promise is None:
        return None
    return (
        f"{promise.trials} trials of other settings by tune, all thrown away; the answer confirmed on "
        f"{promise.confirmed} fresh draws."
    )


def _cost(config: Config) -> str:
    promise = config.tuned
    assert promise is not None
    return (
        f"The settings were chosen by tune, which looked at the data in {promise.trials} trials and confirmed its "
        f"answer on {promise.confirmed} fresh draws. The choice itself can tell at most {promise.bits:g} bits of the "
        "data; formal bounds on the mask channel are withdrawn."
    )


def _told(kept: bool, worse: list[str]) -> str:
    if not kept:
        return "What tune promised was not kept: the gate refused on fresh draws. Tune again, with holds nearer to 1."
    if worse:
        return f"Every limit holds, as tune promised; beyond its figures are {', '.join(worse)}."
    return (
        "What tune promised was kept: every limit holds on fresh draws, and no figure is clearly worse than expected."
    )
