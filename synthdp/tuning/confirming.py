"""Whether an answer holds: on fresh draws, and on the next ones too.

A run of the tuned settings is judged on draws of its own, and its upper bounds fall elsewhere. From R draws a trial
knows the mean m with a standard error of e. A judgement that is in doubt rests on F draws in the end, its mean has a
standard error of f = e·√(R/F), and the upper end of its interval is about normal around m + t·f, with f around the true
value and e in m itself. It stays within the limit in a share ``holds`` of all judgements if

    m + t·f + z·√(e² + f²)  ≤  limit,      z the normal quantile of ``holds``, t Student's of the interval.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.special import ndtri, stdtr, stdtrit

from synthdp.evaluation.gate import Check
from synthdp.evaluation.gate.inquiry import MEAN_DRAWS, MEANS
from synthdp.evaluation.gate.tally import LEVEL
from synthdp.tuning.rays import HIGHEST
from synthdp.tuning.trials import Trial


def reach(check: Check, draws: int, holds: float, *, final: int | None = None) -> float | None:
    """Return what the upper end of the interval stays under in a share ``holds`` of judgements on fresh draws.

    Parameters
    ----------
    draws, final
        How many draws the figure rests on, and how many those judgements have that are in doubt: as many if nothing
        is said. A figure that is a mean over all records is taken of the first few draws only, however many there are.

    Examples
    --------
    >>> certain = Check("max_individual", "identity", 0.1, 0.33, True, low=0.1, high=0.1)
    >>> reach(certain, 20, 0.95)
    0.1
    """
    final = draws if final is None else final
    if check.name in MEANS:
        draws, final = min(draws, MEAN_DRAWS), min(final, MEAN_DRAWS)
    if check.value is None or check.high is None or draws < 2:
        return check.deciding
    error = (check.high - check.value) / _student(draws)
    later = error * math.sqrt(draws / final)
    return check.value + _student(final) * later + float(ndtri(holds)) * math.hypot(error, later)


def _student(draws: int) -> float:
    return float(stdtrit(draws - 1, (1 + LEVEL) / 2))


def level_for(draws: int, holds: float, *, final: int) -> float:
    """Return the level at which few draws' intervals end where the answer has to hold with ``final`` draws.

    With an sd of s from draw to draw the answer needs a distance of (t + z·√2)·s/√final from the limit; so many draws
    have that at the level whose quantile is √(draws/final)·(t + z·√2).

    Examples
    --------
    >>> round(level_for(60, 0.5, final=60), 3), round(level_for(6, 0.95, final=60), 2)
    (0.95, 0.77)
    """
    quantile = (_student(final) + float(ndtri(holds)) * math.sqrt(2)) * math.sqrt(draws / final)
    return float(2 * stdtr(draws - 1, quantile) - 1)


# rests on fits to halves of the file, whose number is not that of the draws: judged as the gate does, by its bound
HALVES = ("max_memorised",)


def beyond(trial: Trial, holds: float, *, final: int | None = None) -> tuple[Check, ...]:
    """Return the checks that would not hold on enough fresh draws."""
    return beyond_checks(trial.checks, trial.draws, holds, final=final)


def beyond_checks(checks: Sequence[Check], draws: int, holds: float, *, final: int | None = None) -> tuple[Check, ...]:
    """Return those of some checks that would not hold on enough fresh draws; ``draws`` is what they rest on."""
    found = []
    for one in checks:
        far = one.deciding if one.name in HALVES else reach(one, draws, holds, final=final)
        if far is None or far > one.limit:
            found.append(one)
    return tuple(found)


@dataclass(frozen=True)
class Confirmed:
    """The answer, and how often it had to be made safer before it held.

    Parameters
    ----------
    trial
        Of the answer, on fresh draws; None where nothing held.
    steps
        The limits that did not hold, for every candidate that was given up.
    """

    trial: Trial | None
    steps: tuple[tuple[str, ...], ...] = ()


def begin(refined: Sequence[Trial], rung: int, *, holds: float, final: int) -> int:
    """Return the rung from which to confirm: the first that is not known already to pass too narrowly.

    Parameters
    ----------
    refined
        Trials of the same shape with every limit judged, on draws that are not those of the confirmation.
    """
    known = {one.rung: one for one in refined}
    while rung in known and beyond(known[rung], holds, final=final):
        rung += 1
    return rung


def confirm(
    look: Callable[[int, int], Trial],
    rung: int,
    *,
    holds: float,
    final: int,
    more: Callable[[], bool],
    highest: int = HIGHEST,
) -> Confirmed:
    """Return the first candidate, from a rung upwards, that holds on fresh draws.

    Parameters
    ----------
    look
        Judges a rung on fresh draws; its second argument is how often more draws than asked for are needed: 1, or 3
        where the first ones pass and leave it open whether enough others would. The first look may itself have gone on
        to ``final`` draws; then it is not repeated.
    final
        How many draws a judgement rests on that is in doubt.
    more
        Whether there is time for another rung; the first is looked at whatever the time.
    """
    steps: list[tuple[str, ...]] = []
    while rung <= highest:
        trial = look(rung, 1)
        failed = beyond(trial, holds, final=final)
        if trial.passed and failed and trial.draws < final:
            again = look(rung, 3)
            trial, failed = again, beyond(again, holds, final=final)
        if trial.passed and not failed:
            return Confirmed(trial, tuple(steps))
        steps.append(tuple(dict.fromkeys(one.name for one in failed)))
        # far from it, single steps would take for ever
        rung += 1 if trial.ratio < 1.3 else 2 if trial.ratio < 2 else 4
        if not more() and len(steps) > 3:
            break
    return Confirmed(None, tuple(steps))
