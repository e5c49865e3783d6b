"""Drawing records until they keep the constraints, and how long a chain of θ must run where they bind.

Given θ the records are independent, so the first of a record's draws that keeps the constraints is a draw of the
restricted law: rejection sampling, exact. What was drawn in vain before it is of use too (see ``truncation``).

References
----------
Sokal (1997), Monte Carlo methods in statistical mechanics, in Functional Integration, 131-192, section 3 (windows).
Kendall (1954), Biometrika 41, 403-404 (the bias of a serial correlation).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.errors import Unfinished
from synthdp.synthesis.constraints import violated
from synthdp.table.microdata import Codes, Floats

# rows that cost next to nothing: of few records as many tries are made in one go, for it is the goes that cost
CHEAP = 2_048
FEWEST_TRIES = 2
MOST_TRIES = 20_000
# on the mean of all records, and of a thousand where there are fewer; θ that asks for more is not believed
MOST_REJECTED = 9
FEW = 1_000
MOST_DRAWS = 50
ROWS_AT_ONCE = 2**18

Theta = TypeVar("Theta")


class Seldom(Unfinished):
    """The model hardly ever draws what is asked for."""


@dataclass(frozen=True, repr=False)
class Tried:
    """Draws of the model.

    Parameters
    ----------
    rows
        Of which record each is a try.
    drawn
        The replaced columns' working values; none where the frame says all.
    frame
        The draws as they would be released; None where nobody asks.
    """

    rows: Codes
    drawn: Mapping[str, Floats]
    frame: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Tried({len(self)} draws)"

    def of(self, places: Codes) -> "Tried":
        """Return some of the draws."""
        frame = None if self.frame is None else self.frame.take(places)
        return Tried(self.rows[places], {name: values[places] for name, values in self.drawn.items()}, frame)

    def table(self) -> pd.DataFrame:
        """Return the draws as they would be released."""
        if self.frame is None:
            raise TypeError("these draws were not written")
        return self.frame

    @classmethod
    def together(cls, parts: "Sequence[Tried]") -> Self:
        """Return all draws of some parts; there is at least one."""
        if len(parts) == 1:
            return cls(parts[0].rows, parts[0].drawn, parts[0].frame)
        frames = [part.frame for part in parts if part.frame is not None]
        return cls(
            np.concatenate([part.rows for part in parts]),
            {name: np.concatenate([part.drawn[name] for part in parts]) for name in parts[0].drawn},
            pd.concat(frames, ignore_index=True) if frames else None,
        )


# some records drawn, each as often as it is named; and which of the draws break a constraint
Draw = Callable[[Codes], Tried]
Broken = Callable[[Tried], npt.NDArray[np.bool_]]


def breaking(constraints: Sequence[str]) -> Broken:
    """Return what looks at draws that are written."""
    return lambda made: violated(made.table(), constraints)


@dataclass(frozen=True, repr=False)
class Tries:
    """All tries of some records: what was drawn in vain, and what was drawn at last."""

    made: tuple[Tried, ...]
    in_vain: tuple[Codes, ...]
    at_last: tuple[Codes, ...]

    def vain(self) -> Tried:
        """Return the draws that broke a constraint, up to the first of each record that did not."""
        return Tried.together([part.of(places) for part, places in zip(self.made, self.in_vain, strict=True)])

    def last(self) -> Tried:
        """Return each record's first draw that broke none."""
        return Tried.together([part.of(places) for part, places in zip(self.made, self.at_last, strict=True)])


def tries(records: Codes, draw: Draw, broken: Broken, *, most: float = np.inf) -> Tries:
    """Draw records until the constraints hold.

    Cost: as many rows as draws are needed, and a few more, because records are tried several times in one go.

    Parameters
    ----------
    draw
        Gives independent draws of the records it is asked for.
    broken
        Says which of them break a constraint.
    most
        How many draws may be in vain, on the mean of the records.

    Raises
    ------
    Seldom
        When more are, or a record takes more than ``MOST_TRIES`` draws.
    """
    made, in_vain, at_last = list[Tried](), list[Codes](), list[Codes]()
    pending, tried, total = records, 0, 0
    while len(pending):
        if tried >= MOST_TRIES:
            raise Seldom(_seldom(f"of {len(pending)} records none of {MOST_TRIES:,} draws keeps them"))
        count = min(max(FEWEST_TRIES, CHEAP // len(pending), tried), MOST_TRIES - tried)
        left = []
        for some in _blocks(pending, count):
            rows = np.repeat(some, count)
            made.append(draw(rows))
            holds = ~broken(made[-1]).reshape(-1, count)
            # tries after the first that holds were never made
            first = np.where(holds.any(axis=1), holds.argmax(axis=1), count)
            in_vain.append(np.flatnonzero(np.arange(count) < first[:, None]))
            at_last.append(np.flatnonzero(np.arange(count) == first[:, None]))
            total += len(in_vain[-1])
            if total > most * max(len(records), FEW):
                raise Seldom(_seldom(f"fewer than one draw in {most + 1:g} keeps them"))
            left.append(some[first == count])
        pending, tried = np.concatenate(left), tried + count
    return Tries(tuple(made), tuple(in_vain), tuple(at_last))


def believed(draw: Callable[[], Theta], reject: Callable[[Theta], Tried]) -> tuple[Theta, Tried]:
    """Draw θ, and what it draws in vain; θ that hardly ever draws what is asked for is drawn again.

    This is a prior: nobody asks for one record in ten of a law. Without it a number that is no normal one cut off, but
    falls from the cut like an exponential or is level like a uniform, would send its mean and its spread to infinity.

    Raises
    ------
    Seldom
        When ``MOST_DRAWS`` in a row do.
    """
    for left in reversed(range(MOST_DRAWS)):
        theta = draw()
        try:
            return theta, reject(theta)
        except Seldom:
            if not left:
                raise
    raise AssertionError("unreachable")


def mended(
    frame: pd.DataFrame, draw: Draw, constraints: Sequence[str], *, blocks: Sequence[slice] = (slice(None),)
) -> pd.DataFrame:
    """Return a table whose records all keep the constraints: those that break one are drawn until they do not.

    Records of a block are drawn together, and never with those of another.
    """
    broken = violated(frame, constraints)
    if not broken.any():
        return frame
    rows = np.arange(len(frame))
    some = [rows[block][broken[block]] for block in blocks]
    last = Tried.together([tries(few, draw, breaking(constraints)).last() for few in some if len(few)])
    places = np.argsort(np.concatenate([np.flatnonzero(~broken), last.rows]))
    return pd.concat([frame[~broken], last.table()]).take(places).set_axis(frame.index)


def _blocks(records: Codes, tries: int) -> Iterator[Codes]:
    """Yield the records so many at a time that their tries fit into memory."""
    step = max(ROWS_AT_ONCE // tries, 1)
    return (records[start : start + step] for start in range(0, len(records), step))


def _seldom(how: str) -> str:
    return (
        f"constraints: {how}; the model hardly ever draws what is asked for, and cannot be learnt under it. Loosen the "
        "constraint, give its columns bounds or a transform that suit it, or replace only one of them."
    )


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
