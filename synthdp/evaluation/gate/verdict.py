"""The verdict: every check with its figure, interval and limit, and what follows from all of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.tally import Bound

Judgement = Literal["passed", "amber", "refused"]
UNDECIDED = "undecided"
EARLIER = "earlier_release"


@dataclass(frozen=True)
class Check:
    """One figure against its limit.

    Parameters
    ----------
    name, attack
        The limit, and the intruder, target or analysis whose figure it is.
    value, low, high
        The mean over draws and its 95% interval; None when not measured, or when there was one draw.
    chance
        What copies that know nothing of the record give; already taken off where the limit is on an excess.
    releases
        How many earlier releases of the same data stood beside every draw.
    earlier
        The day of the earlier release whose figure it is, attacked by itself; empty for what this release is part of.
    accepted
        Why the signatory accepts the risk although it is above the limit.
    """

    name: str
    attack: str
    value: float | None
    limit: float
    passed: bool
    sentence: str = ""
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    releases: int = 0
    earlier: str = ""
    accepted: str | None = None

    @property
    def useful(self) -> bool:
        """Whether the check is about usefulness, which never refuses."""
        return self.name in LIMITS and LIMITS[self.name].judges == "use"

    @property
    def deciding(self) -> float | None:
        """The figure that was held against the limit: the bad end of the interval for a risk, else the mean."""
        return self.value if self.useful or self.high is None else self.high


def check(name: str, attack: str, found: Bound | None, limit: float, *, what: str = "") -> Check:
    """Hold a figure against its limit; one that could not be measured does not pass.

    Parameters
    ----------
    what
        Of what, to stand behind the limit's words in a sentence.
    """
    value, low, high, chance = (None,) * 4 if found is None else (found.value, found.low, found.high, found.chance)
    made = Check(name, attack, _finite(value), limit, False, "", _finite(low), _finite(high), _finite(chance))
    least = name.startswith("min_")
    deciding = made.deciding
    passed = deciding is not None and (deciding >= limit if least else deciding <= limit)
    return replace(made, passed=passed, sentence="" if passed else _sentence(made, what, least=least))


def undecided(column: str, sentence: str) -> Check:
    """Return the check of a kept column of which nobody has said whether an intruder may know it."""
    return Check(UNDECIDED, column, None, 0.0, False, f"{UNDECIDED}: {column}. {sentence}")


@dataclass(frozen=True)
class Verdict:
    """Whether the release may leave the house, and if not, why.

    Examples
    --------
    >>> found = check("max_individual", "identity", Bound(0.2, 0.1, 0.4), 0.33)
    >>> Verdict((found,)).judgement
    'refused'
    >>> Verdict((check("min_overlap", "panel", Bound(0.4, 0.3, 0.5), 0.6),)).judgement
    'amber'
    """

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every risk is within its limit or accepted by name: the files may go out."""
        return all(check.passed or check.accepted is not None for check in self.checks if not check.useful)

    @property
    def judgement(self) -> Judgement:
        """``refused`` for a risk above its limit, ``amber`` for files of little use, else ``passed``."""
        if not self.passed:
            return "refused"
        return "passed" if all(check.passed for check in self.checks if check.useful) else "amber"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is beyond its limit and was not accepted: risks first, the worst of each limit first."""
        open_ = [check for check in self.checks if not check.passed and check.accepted is None]
        return tuple(dict.fromkeys(one.sentence for one in sorted(open_, key=_rank)))

    def section(self) -> dict[str, Any]:
        """Return the verdict's part of the ``gate`` section of metrics.json."""
        return {
            "verdict": self.judgement,
            "passed": self.passed,
            "reasons": list(self.reasons),
            "accepted": [
                {"name": f"{check.attack}.{check.name}", "risk": check.sentence, "reason": check.accepted}
                for check in self.checks
                if check.accepted is not None
            ],
            "checks": [_line(one) for one in self.checks],
        }

    def beside(self, together: "Verdict", releases: int) -> "Verdict":
        """Return the verdict on this release alone and together with earlier ones of the same data."""
        words = "1 earlier release" if releases == 1 else f"{releases} earlier releases"
        return self._with(together, f"together with {words} of the same data, ", releases=releases)

    def after(self, before: "Verdict", when: str) -> "Verdict":
        """Return the verdict with what an earlier release gives away by itself.

        That is public and no refusal undoes it; but a release that goes beside it must not be signed as if it were
        not there, so the signatory accepts it by name.
        """
        return self._with(before, f"already the earlier release of {when} alone, ", releases=1, earlier=when)

    def _with(self, other: "Verdict", words: str, **about: Any) -> "Verdict":
        """Return the verdict with the risks of another, whose sentences begin with these words."""
        risks = (check for check in other.checks if not check.useful)
        more = (replace(check, sentence=check.sentence and words + check.sentence, **about) for check in risks)
        return Verdict((*self.checks, *more))

    def accepting(self, accepted: Mapping[str, str]) -> "Verdict":
        """Return the verdict when some risks are accepted by name.

        Parameters
        ----------
        accepted
            The reason by name: an attack (``identity_averaged``), a limit (``max_individual``), one limit of one
            attack (``identity_averaged.max_individual``), or what earlier releases give away by themselves
            (``earlier_release``, ``earlier_release.max_individual``).

        Raises
        ------
        InputError
            When a name stands for no check that was made: a misspelt override must not pass for one.
        """
        known = {name for check in self.checks for name in _names(check)}
        unknown = [name for name in accepted if name not in known]
        if unknown:
            raise InputError(
                *(f"--accept-risk: no check named {name!r}; there are {', '.join(sorted(known))}." for name in unknown)
            )
        return Verdict(tuple(_accept(check, accepted) for check in self.checks))


def accepted_risks(texts: Sequence[str]) -> dict[str, str]:
    """Return the reasons by name from texts of the form "name: reason".

    Examples
    --------
    >>> accepted_risks(["max_individual: one record, consented in writing"])
    {'max_individual': 'one record, consented in writing'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, colon, reason = (part.strip() for part in text.partition(":"))
        if not (name and colon and reason):
            raise InputError('--accept-risk: must have the form "name: reason", with a reason that can be signed.')
        found[name] = reason
    return found


def _accept(check: Check, accepted: Mapping[str, str]) -> Check:
    reasons = [accepted[name] for name in _names(check) if name in accepted]
    return replace(check, accepted=reasons[0]) if reasons and not check.passed and not check.useful else check


def _names(check: Check) -> tuple[str, ...]:
    """Return what an override may call a check, the most exact name first."""
    already = (f"{EARLIER}.{check.name}", EARLIER) if check.earlier else ()
    return f"{check.attack}.{check.name}", f"{check.name}.{check.attack}", *already, check.attack, check.name


def _line(check: Check) -> dict[str, Any]:
    """Return a check as metrics.json has it; the day of an earlier release only where it is judged by itself."""
    return {key: value for key, value in asdict(check).items() if key != "sentence" and (key != "earlier" or value)}


def _rank(check: Check) -> tuple[bool, bool, int, float]:
    """Return where a reason stands: undecided columns, then risks by limit, the largest excess first, then use."""
    order = list(LIMITS)
    place = order.index(check.name) if check.name in order else -1
    value = check.deciding
    return check.useful, bool(check.releases), place, -math.inf if value is None else -value


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _sentence(made: Check, what: str, *, least: bool) -> str:
    words = f"{made.attack}: {LIMITS[made.name].words}{what}"
    value = made.deciding
    if value is None:
        return f"{words} was not measured, so it cannot be held against the limit {made.limit:g}."
    shown = _beyond(value, made.limit, least=least)
    if made.high is not None and not made.useful:
        return f"{words} {made.value:.3g}, at most {shown} with 95% confidence: above the limit {made.limit:g}."
    return f"{words} {shown} is {'below' if least else 'above'} the limit {made.limit:g}."


def _beyond(value: float, limit: float, *, least: bool) -> str:
    """Return a figure with as many digits as it takes not to read "0.05 is above the limit 0.05"."""
    for digits in range(3, 18):
        shown = f"{value:.{digits}g}"
        if float(shown) < limit if least else float(shown) > limit:
            break
    return shown
