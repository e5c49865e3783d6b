"""Every run on the same data counts as an attempt, whatever came of it: who tries often enough finds a lucky draw."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Verdict = Literal["passed", "amber", "refused", "study", "interrupted"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
MOST_SHOWN = 5
UNRECORDED = "No register is kept (release.recorded_in: none): how often these data were tried before is not known."


@dataclass(frozen=True)
class Attempt:
    """One run: when, what the gate said, and the names of the limits that it said it of; no value of the data.

    Parameters
    ----------
    run
        The id of the run.
    when
        When it was last recorded, in UTC.
    verdict
        ``interrupted`` until the gate has spoken.
    reasons
        Names of the limits that were passed (``max_individual``).
    accepted
        Names of the risks that were accepted on signing.
    config
        SHA-256 of the settings, which tells whether the same config was tried again.
    """

    run: str
    when: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    config: str = ""

    def __str__(self) -> str:
        why = f" ({', '.join(self.reasons)})" if self.reasons else ""
        taken = f", accepting {', '.join(self.accepted)}" if self.accepted else ""
        return f"{self.verdict} {self.when[:10]}{why}{taken}"


def attempt_of(entry: Mapping[str, Any]) -> Attempt:
    """Return the attempt that an index or a manifest describes.

    Raises
    ------
    ValueError, KeyError, TypeError
        When it describes none.
    """
    if entry["verdict"] not in VERDICTS:
        raise ValueError("no such verdict")
    return Attempt(
        run=str(entry["run"]),
        when=str(entry["when"]),
        verdict=entry["verdict"],
        reasons=tuple(str(name) for name in entry.get("reasons", ())),
        accepted=tuple(str(name) for name in entry.get("accepted", ())),
        config=str(entry.get("config", "")),
    )


def entry_of(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as the index and the manifest hold it."""
    return asdict(attempt) | {"reasons": list(attempt.reasons), "accepted": list(attempt.accepted)}


def section(attempts: Sequence[Attempt] | None) -> dict[str, Any]:
    """Return what the manifest says of the attempts; this run's is the last. None: no register is kept."""
    if attempts is None:
        return {"attempt": None, "attempts": None}
    return {"attempt": len(attempts), "attempts": [entry_of(attempt) for attempt in attempts]}


def lines(attempts: Sequence[Attempt] | None) -> list[str]:
    """Return the attempts on the same data in sentences; this run's is the last. None: no register is kept.

    Examples
    --------
    >>> before = Attempt("a", "2026-11-17T09:00:00+00:00", "refused", ("max_individual",))
    >>> lines([before, Attempt("b", "2026-11-18T09:00:00+00:00", "passed")])
    ['Attempt 2 on these data; 1 earlier: refused 2026-11-17 (max_individual).']
    """
    if attempts is None:
        return [UNRECORDED]
    if len(attempts) < 2:
        return ["Attempt 1 on these data; none earlier."] if attempts else []
    earlier = attempts[:-1]
    shown = ", ".join(str(attempt) for attempt in earlier[-MOST_SHOWN:])
    hidden = len(earlier) - MOST_SHOWN
    more = f"{hidden} older ones, then " if hidden > 0 else ""
    found = [f"Attempt {len(attempts)} on these data; {len(earlier)} earlier: {more}{shown}."]
    again = sum(attempt.config == attempts[-1].config for attempt in earlier) if attempts[-1].config else 0
    if again:
        found.append(f"{again} of them with exactly these settings, which gives the same verdict and gains nothing.")
    return found
