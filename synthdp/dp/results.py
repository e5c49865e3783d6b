"""What a release says: the estimate, its interval, and the price that was paid for it."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget
from synthdp.privacy import events
from synthdp.privacy.mechanisms.mechanism import says_nothing
from synthdp.table.microdata import Floats


class Priced:
    """What a release cost."""

    budget: Budget
    reason: str | None

    @property
    def epsilon(self) -> float | None:
        """The ε that was spent; None where nothing formal can be claimed."""
        return None if self.reason else self.budget.epsilon

    @property
    def delta(self) -> float | None:
        """The δ that was spent; None where nothing formal can be claimed."""
        return None if self.reason else self.budget.delta

    @property
    def adjacency(self) -> str:
        """Which data sets are neighbours."""
        return self.budget.adjacency

    @property
    def level(self) -> float:
        """The coverage of the interval."""
        return self.budget.level

    @property
    def event(self) -> events.NonPrivate | None:
        """`NonPrivate` with its reason, where nothing formal can be claimed."""
        return events.NonPrivate(self.reason) if self.reason else None

    def guarantee(self) -> str:
        """Return the price as a phrase."""
        if self.reason:
            return f"NonPrivate: {self.reason}"
        spent = f"ε = {self.budget.epsilon:g}" + (f", δ = {self.budget.delta:g}" if self.budget.delta else "")
        return f"{spent}, adjacency {self.adjacency}"


@dataclass(frozen=True, repr=False)
class _Result(Priced):
    statistic: str
    budget: Budget
    notes: tuple[str, ...]
    reason: str | None = None
    confidential: tuple[str, ...] = field(default=(), kw_only=True)

    def _tail(self) -> list[str]:
        return [f"  {self.guarantee()}", *(f"  note: {note}" for note in self.notes)]


@dataclass(frozen=True, repr=False)
class Released(_Result):
    """One released number.

    Attributes
    ----------
    estimate, low, high
        The released value and its interval, which includes the privacy noise; None where there is no interval.
    epsilon, delta, adjacency, level
        The price, and the coverage of the interval; ε and δ are None where nothing formal can be claimed (`event`).
    notes
        What a reader should know; everything in ``repr`` may be published.
    confidential
        What the curator should know and must not publish, such as how many values were clipped.
    """

    estimate: float = field(default=np.nan, kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        head = f"{self.statistic}: {self.estimate:.6g}, "
        if self.low is None or self.high is None:
            head += "no interval"
        else:
            head += f"{self.level:.0%} interval {self.low:.6g} to {self.high:.6g}"
        return "\n".join([head, *self._tail()])

    def table(self) -> pd.DataFrame:
        """Return the result as a table of one row."""
        low, high = (np.nan if limit is None else limit for limit in (self.low, self.high))
        row = {"estimate": self.estimate, "low": low, "high": high}
        return pd.DataFrame(row, index=pd.Index([self.statistic], name="term"))


@dataclass(frozen=True, repr=False)
class ReleasedTable(_Result):
    """Several numbers released together, one for each name; otherwise as `Released`."""

    names: tuple[str, ...] = field(default=(), kw_only=True)
    estimate: Floats = field(default_factory=lambda: np.empty(0), kw_only=True)
    low: Floats = field(default_factory=lambda: np.empty(0), kw_only=True)
    high: Floats = field(default_factory=lambda: np.empty(0), kw_only=True)

    def __repr__(self) -> str:
        head = f"{self.statistic}, {self.level:.0%} intervals"
        body = self.table().to_string(float_format=lambda number: f"{number:.6g}", index_names=False)
        return "\n".join([head, *(f"  {line}" for line in body.splitlines()), *self._tail()])

    def table(self) -> pd.DataFrame:
        """Return names, estimates and limits as a table."""
        columns = {"estimate": self.estimate, "low": self.low, "high": self.high}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="term"))

    def __getitem__(self, name: str) -> tuple[float, float, float]:
        """Return estimate, lower and upper limit of one name."""
        k = self.names.index(name)
        return float(self.estimate[k]), float(self.low[k]), float(self.high[k])


def below_noise(noise_sd: float, released: float, what: str) -> tuple[str, ...]:
    """Return a note where the noise is as large as what was released; for answers that have no public range."""
    if noise_sd < abs(released):
        return ()
    return (f"the noise has sd {noise_sd:.3g}, more than {what}: this result is mostly noise; raise ε",)


def mostly_noise(noise_sd: float, width: float, what: str) -> tuple[str, ...]:
    """Return a note where the noise is as wide as everything the answer could be."""
    if not says_nothing(noise_sd, width):
        return ()
    return (f"the noise has sd {noise_sd:.3g} on {what} of width {width:.3g}: this result is mostly noise; raise ε",)
