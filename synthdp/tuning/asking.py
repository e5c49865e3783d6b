"""What may be asked of a search: how long it may take, which limits it is held to, and what it cannot do."""

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import LIMITS, own_limits

TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|h)", re.ASCII)
COUNT = re.compile(r"0*[1-9]\d{0,8}", re.ASCII)
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
# a search stops at whichever of the two comes first where nobody says how long it may take
USUAL_SECONDS, USUAL_TRIALS = 1200.0, 36


@dataclass(frozen=True)
class Budget:
    """How long a search may take, in seconds of its trials or in their number.

    Seconds are those that trials took when they were made, so that a search that was interrupted has what was left.

    Examples
    --------
    >>> Budget.of("20m").seconds, Budget.of("40").trials
    (1200.0, 40)
    """

    seconds: float | None = None
    trials: int | None = None

    @classmethod
    def of(cls, text: str | None) -> "Budget":
        """Return the budget that a text names."""
        if text is None:
            return cls(USUAL_SECONDS, USUAL_TRIALS)
        found = TIME.fullmatch(text.strip())
        if found is not None and float(found[1]) > 0:
            return cls(seconds=float(found[1]) * SECONDS[found[2]])
        if COUNT.fullmatch(text.strip()):
            return cls(trials=int(text))
        raise InputError(f"--budget {text}: must be a time such as 90s, 20m or 1h, or a number of trials such as 40.")

    def left(self, seconds: float, trials: int, share: float) -> bool:
        """Return whether less than a share is spent."""
        return (self.seconds is None or seconds < share * self.seconds) and (
            self.trials is None or trials < share * self.trials
        )


def limited(config: Config, texts: Sequence[str]) -> Config:
    """Return a config with limits on risks as texts of the form NAME=VALUE have them."""
    problems: list[str] = []
    built_in: dict[str, float] = {}
    outside: dict[str, float] = {}
    risks = [name for name in LIMITS if LIMITS[name].judges == "risk"]
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            problems.append(f"--max-risk {text}: must have the form NAME=VALUE, such as max_individual=0.2.")
            continue
        if name not in risks:
            near = difflib.get_close_matches(name, risks, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(risks)}."
            problems.append(f"--max-risk {name}: no limit on a risk has this name; {hint}")
            continue
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < math.inf:
            problems.append(f"--max-risk {name}: must be a number of 0 or more.")
            continue
        if LIMITS[name].share and number > 1:
            problems.append(f"--max-risk {name}: is a share, so at most 1; for 20% write {name}=0.2.")
            continue
        (outside if name in own_limits() else built_in)[name] = number
    if problems:
        raise InputError(*problems)
    release = config.release.model_copy(
        update={**built_in, **({"limits": {**config.release.limits, **outside}} if outside else {})}
    )
    return config.model_copy(update={"release": release})


def check_askable(config: Config) -> None:
    """Refuse what cannot be tuned, in one sentence."""
    synthesis = config.synthesis
    if synthesis.private:
        raise InputError(
            f"tune: looks at the data again and again, which the guarantee of {synthesis.method} does not cover; "
            "choose its settings without the data."
        )
    if synthesis.mask_drawn is None:
        raise InputError(
            f"tune: varies masks, and method {synthesis.method} has none; use method: da_mi, or lay methods beside "
            "each other with compare."
        )
    if not any(LIMITS[name].judges == "risk" and config.limits.limit(name) is not None for name in LIMITS):
        raise InputError("tune: no risk has a limit, so the best mask is none; set limits in release:, or --max-risk.")
    if config.tuning.goal == "analyses" and not config.analyses:
        raise InputError("tuning.goal: analyses needs analyses in the config; add some, or use goal: panel.")
