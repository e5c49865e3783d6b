"""What ``tune`` promised of these settings, and what a run of them got."""

from collections.abc import Sequence
from typing import Any

from synthdp.config import Config
from synthdp.evaluation.blocks import listing
from synthdp.evaluation.gate import LIMITS, Check, Verdict

# a bound on fresh draws differs from the one before by chance: beyond this share of the limit it is said
NOTABLE = 0.1
# and overlap by so much
NOTABLE_OVERLAP = 0.03


def selection_of(config: Config) -> str | None:
    """Return why no formal bound on a mask stands where its strength was chosen by looking at the data."""
    return None if config.tuned is None else "tune looked at the data to choose how strong it is"


def compared(config: Config, verdict: Verdict, *, drawn: bool = True) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what ``gate`` says of the promise, and sentences for whoever signs; nothing where nothing was promised.

    The promise is about one release by itself: what earlier releases add, and columns that nobody has decided on, are
    not part of it.

    Parameters
    ----------
    verdict
        Of the run, on draws of its own.
    drawn
        Whether there were any: kept columns may settle the verdict before.
    """
    promise = config.tuned
    if promise is None:
        return {}, ()
    own = [one for one in verdict.checks if not (one.useful or one.releases) and one.name in promise.risks]
    figures: list[dict[str, Any]] = []
    worse: list[str] = []
    for name, expected in promise.risks.items():
        mine = [one for one in own if one.name == name and one.deciding is not None]
        if not mine:
            continue
        got = max(mine, key=lambda one: one.deciding or 0.0)
        figures.append({"name": name, "promised": expected, "found": got.deciding, "limit": got.limit})
        if (got.deciding or 0.0) > expected + NOTABLE * got.limit:
            worse.append(_instead(name, got.deciding, expected))
    panel = [one.value for one in verdict.checks if (one.name, one.attack) == ("min_overlap", "panel")]
    if promise.overlap is not None and panel and panel[0] is not None:
        figures.append({"name": "overlap", "promised": promise.overlap, "found": panel[0], "limit": None})
        if panel[0] < promise.overlap - NOTABLE_OVERLAP:
            worse.append(f"overlap of intervals {panel[0]:.1%} instead of {promise.overlap:.1%}")
    over = list(dict.fromkeys(one.name for one in own if not one.passed))
    kept = not over if drawn else None
    section = {
        "trials": promise.trials,
        "bits": promise.bits,
        "confirmed": promise.confirmed,
        "holds": promise.holds,
        "kept": kept,
        "figures": figures,
    }
    return {"tuned": section}, (_cost(config), _told(kept, over, worse), *_besides(verdict, own))


def _instead(name: str, found: float | None, expected: float) -> str:
    limit = LIMITS.get(name)
    if limit is None:
        return f"{name} {found:.3g} instead of {expected:.3g}"
    form = ".2%" if limit.share else ".3g"
    return f"{limit.brief} {found:{form}} instead of {expected:{form}}"


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


def _told(kept: bool | None, over: Sequence[str], worse: Sequence[str]) -> str:
    if kept is None:
        return "Whether what tune promised is kept cannot be said: nothing was drawn."
    if not kept:
        beyond = listing([LIMITS[name].brief if name in LIMITS else name for name in over])
        return (
            f"What tune promised was not kept: on fresh draws {beyond} went beyond the limit. If data and settings are "
            "those that were tuned, tune again, with holds nearer to 1."
        )
    if worse:
        return f"Every limit holds, as tune promised; beyond its figures are {', '.join(worse)}."
    return (
        "What tune promised was kept: every limit holds on fresh draws, and no figure is clearly worse than expected."
    )


def _besides(verdict: Verdict, own: Sequence[Check]) -> tuple[str, ...]:
    """Say that what refuses a release is nothing that tune speaks of: other settings would not help."""
    failed = [one for one in verdict.checks if not (one.passed or one.useful or one in own) and one.accepted is None]
    if any(one.releases for one in failed):
        return (
            "What refuses this release is what earlier releases of the same data give away, together with it or "
            "alone: tune looks at one release by itself.",
        )
    return ()
