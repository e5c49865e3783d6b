"""One release: its price, the columns it reads, the ledger that is charged, and what it says.

Every public function takes the keywords of `Price` after its own; `priced` spells them out in the signature that
``help`` and tab completion show.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Required, TypedDict, TypeVar, cast, get_type_hints

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Bounded, Budget, Limits, bounded, name_of, together
from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.mechanisms import Adjacency, Secure, Source
from synthdp.privacy.mechanisms.mechanism import says_nothing
from synthdp.showing import html
from synthdp.table.microdata import Floats

Function = TypeVar("Function", bound=Callable[..., Any])


class Chargeable(Protocol):
    """Where a release is paid: `synthdp.privacy.ledger.Ledger`, or something around it."""

    def charge(self, what: str, *, epsilon: float, delta: float, adjacency: Adjacency, source: str) -> Any:
        """Record a release, or refuse it."""
        ...


class Charged:
    """A source that pays before its first draw.

    The whole price of a release is charged at once, however many draws it needs. Random bits say nothing about the
    data and cost nothing; whatever else a source can do is paid for.
    """

    def __init__(self, source: Source, ledger: Chargeable, budget: Budget, what: str) -> None:
        self._source, self._ledger, self._budget, self._what = source, ledger, budget, what
        self._paid = False

    def __repr__(self) -> str:
        return f"Charged({self._source!r})"

    def __getattr__(self, name: str) -> Any:
        if name not in ("name", "words") and not self._paid:
            price = {key: getattr(self._budget, key) for key in ("epsilon", "delta", "adjacency")}
            self._ledger.charge(self._what, **price, source=self._source.name)
            self._paid = True
        return getattr(self._source, name)


class Price(TypedDict, total=False):
    """What every release is asked with; the defaults are in `DEFAULTS`."""

    epsilon: Required[float]
    adjacency: Adjacency
    source: Source | None
    ledger: Chargeable | None


class IntervalPrice(Price, total=False):
    """Of a release with an interval."""

    level: float


class NoisePrice(IntervalPrice, total=False):
    """Of a release that a δ above 0 gives Gaussian noise."""

    delta: float


DEFAULTS: dict[str, Any] = {
    "epsilon": None,
    "delta": 0.0,
    "adjacency": "replace",
    "level": 0.95,
    "source": None,
    "ledger": None,
}
FIRST = ("epsilon", "delta")
MOST_ROWS = 300
"""So many rows of a table does a notebook show."""


def priced(price: type[Any], **defaults: Any) -> Callable[[Function], Function]:
    """Spell the keywords of a price out in a function's signature, and pass them with their defaults.

    Examples
    --------
    >>> @priced(NoisePrice)
    ... def half(values: list[float], *, bounds: tuple[float, float], **price: float) -> float:
    ...     return price["epsilon"] / 2
    >>> list(inspect.signature(half).parameters)
    ['values', 'bounds', 'epsilon', 'delta', 'adjacency', 'level', 'source', 'ledger']
    >>> half([1.0], bounds=(0, 1), epsilon=1)
    0.5
    """
    empty, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    chosen = DEFAULTS | defaults

    def spelt(function: Function) -> Function:
        own = inspect.signature(function)
        hints = get_type_hints(price)
        known = {name: empty if name in price.__required_keys__ else value for name, value in chosen.items()}
        shared = [inspect.Parameter(n, keyword, default=known[n], annotation=hints[n]) for n in known if n in hints]
        first = [parameter for parameter in shared if parameter.name in FIRST]
        *mine, _ = own.parameters.values()
        # bounds come before ε and δ, what a function may be told beside them after
        late = [parameter for parameter in mine if parameter.kind is keyword and parameter.default is not empty]
        early = [parameter for parameter in mine if parameter not in late]
        signature = own.replace(parameters=[*early, *first, *late, *shared[len(first) :]])

        @functools.wraps(function)
        def asked(*args: Any, **given: Any) -> Any:
            try:
                complete = signature.bind(*args, **given)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            complete.apply_defaults()
            return function(*complete.args, **complete.kwargs)

        asked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(Function, asked)

    return spelt


class Priced:
    """What a release cost."""

    budget: Budget
    reason: str | None
    notes: tuple[str, ...]
    without_interval: str | None = None
    """Why there is no interval, where a release never has one."""

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

    def table(self) -> pd.DataFrame:
        """Return what was released as a table."""
        raise NotImplementedError

    def text(self) -> str:
        """Return everything that may be published: what was released, its price, and what to know about it."""
        body = self.table().to_string(float_format=lambda number: f"{number:.6g}", index_names=False)
        absent = [f"  no interval: {self.without_interval}"] if self.without_interval else []
        price, *notes = self._tail()
        return "\n".join([self._headline(), *(f"  {line}" for line in body.splitlines()), price, *absent, *notes])

    def _tail(self) -> list[str]:
        return [f"  {self.guarantee()}", *(f"  note: {note}" for note in self.notes)]

    def _headline(self) -> str:
        return type(self).__name__

    def _repr_html_(self) -> str:
        found = self.table()
        step, rows_in_all = math.ceil(len(found) / MOST_ROWS), len(found)
        found = found.iloc[step // 2 :: max(step, 1)]
        thinned = [f"one row of {step} is shown, of {rows_in_all:,}"] if step > 1 else []
        head = [str(found.index.name or ""), *map(str, found.columns)]
        rows = [[name, *(_cell(cell) for cell in row)] for name, row in zip(found.index, found.to_numpy(), strict=True)]
        return html(self._headline(), head, rows, [*thinned, self.guarantee(), *self.notes])


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "none" if np.isnan(value) else f"{value:.6g}"
    return str(value)


@dataclass(frozen=True, repr=False)
class _Result(Priced):
    statistic: str
    budget: Budget
    notes: tuple[str, ...]
    reason: str | None = None
    confidential: tuple[str, ...] = field(default=(), kw_only=True)

    def _headline(self) -> str:
        return f"{self.statistic}, {self.level:.0%} interval"

    def _parts(self) -> list[str]:
        """Return the line that tells the two errors apart, where they are known."""
        noise, sampling = getattr(self, "noise_sd", None), getattr(self, "sampling_sd", None)
        if noise is None or sampling is None:
            return []
        return [f"  standard deviations: privacy noise {_range(noise)}, sampling {_range(sampling)}"]


def _range(numbers: Any) -> str:
    least, most = (f"{limit:.4g}" for limit in (np.min(numbers), np.max(numbers)))
    return least if least == most else f"{least} to {most}"


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
    noise_sd, sampling_sd
        The standard deviations of the privacy noise and of the estimate that it was added to, as if the records were a
        sample (0 where the records themselves are described, so that nothing is sampled); None where neither is known.
        Where the interval is normal its half width is the normal quantile times √(noise_sd² + sampling_sd²).
    confidential
        What the curator should know and must not publish, such as how many values were clipped.
    """

    estimate: float = field(default=np.nan, kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    noise_sd: float | None = field(default=None, kw_only=True)
    sampling_sd: float | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        head = f"{self.statistic}: {self.estimate:.6g}, "
        if self.low is None or self.high is None:
            head += "no interval"
        else:
            head += f"{self.level:.0%} interval {self.low:.6g} to {self.high:.6g}"
        return "\n".join([head, *self._parts(), *self._tail()])

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
    noise_sd: Floats | None = field(default=None, kw_only=True)
    sampling_sd: Floats | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        head = f"{self.statistic}, {self.level:.0%} intervals"
        body = self.table().to_string(float_format=lambda number: f"{number:.6g}", index_names=False)
        return "\n".join([head, *(f"  {line}" for line in body.splitlines()), *self._parts(), *self._tail()])

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


class Request:
    """A release that was asked for at a price, refused where a number of it makes no sense.

    ``reason`` says why nothing formal can be claimed about a release from the columns that were read, and
    ``confidential`` what the curator should know about them.
    """

    def __init__(self, **price: Any) -> None:
        self._source, self._ledger = price.pop("source", None), price.pop("ledger", None)
        self.budget = Budget(**price)
        self.reason: str | None = None
        self.confidential: tuple[str, ...] = ()
        self._replace_only = False

    def replace_only(self, sentence: str) -> None:
        """Refuse another adjacency with this sentence, and recommend none from here on."""
        if not self.budget.replacing:
            raise InputError(sentence)
        self._replace_only = True

    def column(self, values: Any, bounds: Limits | None) -> Bounded:
        """Return one column inside its bounds."""
        return self._read([bounded(values, bounds, self.budget, replace_only=self._replace_only)])[0]

    def columns(self, columns: Sequence[Any], bounds: Sequence[Limits], names: Sequence[str]) -> list[Bounded]:
        """Return several columns of the same records, each inside its bounds."""
        return self._read(together(columns, bounds, self.budget, names, replace_only=self._replace_only))

    def _read(self, columns: list[Bounded]) -> list[Bounded]:
        self.reason = next((column.reason for column in columns if column.reason), None)
        self.confidential = tuple(line for column in columns for line in column.confidential)
        return columns

    def source(self, what: str, values: Any = None, *, reason: str | None = None) -> Source:
        """Return where the noise comes from, safe unless another was given; it pays where there is a ledger.

        ``what`` is released, in words for the ledger, of the column that ``values`` names.
        """
        chosen = self._source or Secure()
        if not hasattr(chosen, "gaussian"):
            found = type(chosen).__name__
            raise InputError(f"source: must be one of noise, such as synthdp.privacy.Simulated(rng), found {found}.")
        if self._ledger is None:
            return cast(Source, chosen)
        name = name_of(values)
        what = what if name == "values" else f"{what} of {name}"
        if reason := reason or self.reason:
            raise InputError(f"{what}: cannot be charged to a ledger: {reason}. Declare the bounds.")
        return cast(Source, Charged(chosen, self._ledger, self.budget, what))

    def number(
        self,
        statistic: str,
        notes: Sequence[str],
        *found: float | None,
        noise_sd: float | None = None,
        sampling_sd: float | None = None,
    ) -> Released:
        """Return an estimate and its limits as what is released, with the price and what must be said beside it."""
        numbers = self._numbers(found) | {"noise_sd": noise_sd, "sampling_sd": sampling_sd}
        return Released(statistic, self.budget, tuple(notes), self.reason, **numbers)

    def table(
        self,
        statistic: str,
        notes: Sequence[str],
        names: Sequence[str],
        *found: Floats,
        noise_sd: Floats | None = None,
        sampling_sd: Floats | None = None,
    ) -> ReleasedTable:
        """Return estimates and their limits, one of each for every name."""
        numbers = self._numbers(found) | {"noise_sd": noise_sd, "sampling_sd": sampling_sd}
        return ReleasedTable(statistic, self.budget, tuple(notes), self.reason, names=tuple(names), **numbers)

    def _numbers(self, found: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(("estimate", "low", "high"), found, strict=True)) | {"confidential": self.confidential}
