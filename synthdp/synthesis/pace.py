"""How long a chain of θ under constraints must run, and how far the copies' draws of θ lie apart.

References
----------
Sokal (1997), Monte Carlo methods in statistical mechanics, in Functional Integration, 131-192, section 3 (windows).
Kendall (1954), Biometrika 41, 403-404 (the bias of a serial correlation).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthdp.microdata import Floats
from synthdp.synthesis.trying import Tried

# turns after which the chain is looked at, and how many times its memory it must have run
LENGTHS = (80, 160, 320)
SETTLED = 8
FEWEST_APART = 10
WINDOW = 5
SMALLEST = 1e-12


@dataclass(frozen=True)
class Pace:
    """How long a shared chain was, how long each copy's own is, and whether it had forgotten its start."""

    turns: int = 0
    apart: int = FEWEST_APART
    settled: bool = True

    def rows(self) -> tuple[dict[str, object], ...]:
        """Return what the release says of the chain."""
        said: dict[str, object] = {"column": "the parameters under constraints", "turns": self.turns}
        if not self.settled:
            said["approximation"] = (
                f"after {self.turns} turns their chain still depended on its start, because the constraints "
                "exclude too much to identify the distribution"
            )
        return (said,)


def settle(rejected: Tried, turn: Callable[[Tried], tuple[Tried, Floats]]) -> tuple[Tried, Pace]:
    """Run a chain until it has forgotten its start, or to the last of ``LENGTHS``; return its state.

    Parameters
    ----------
    turn
        Gives the next state, and numbers that tell where the chain is.
    """
    trace, length, turns = list[Floats](), np.inf, 0
    for turns in LENGTHS:
        while len(trace) < turns:
            rejected, seen = turn(rejected)
            trace.append(seen)
        # from the very start, which is off where it matters: a chain that still comes from there has a long memory
        length = memory(np.asarray(trace))
        if turns >= SETTLED * length:
            break
    settled = turns >= SETTLED * length
    apart = int(np.ceil(np.clip(length, FEWEST_APART, LENGTHS[-1] / SETTLED)))
    return rejected, Pace(turns, apart, settled)


def memory(trace: Floats) -> float:
    """Return the longest integrated autocorrelation time of the columns of a trace; about 1 for independent rows.

    The larger of two estimates: 1 + 2 Σ ρ_k up to the first lag of ``WINDOW`` times the sum so far (Sokal 1997), and
    (1 + ρ₁)/(1 − ρ₁), the time of a series whose correlations decay by ρ₁. A short trace cannot show the first, and ρ₁
    is raised by (1 + 3ρ₁)/rows, which is what it is too small by (Kendall 1954, Biometrika 41, 403-404).

    Examples
    --------
    >>> memory(np.random.default_rng(1).normal(size=(4000, 1))) < 1.3
    True
    """
    rows, longest = len(trace), 1.0
    for series in (trace - trace.mean(axis=0)).T:
        total = float(series @ series)
        if total < SMALLEST * rows:
            continue
        found = 1.0
        for lag in range(1, rows):
            found += 2 * float(series[lag:] @ series[:-lag]) / total
            if lag >= WINDOW * found:
                break
        first = float(series[1:] @ series[:-1]) / total
        first = min(first + (1 + 3 * first) / rows, 1 - 1 / rows)
        longest = max(longest, found, (1 + first) / (1 - first))
    return longest
