"""What all differentially private synthesizers share.

The budget, the domain, the bill, and copies drawn from what was paid.

Neighbouring files have the same number of records and differ in one (``replace``): copies are as long as the original,
so that number is public. Drawing copies from a private table is post-processing and free (Hall 2012, Proposition
1.2.5), as are clipping and rescaling it. The intervals of the combining rule count the drawing, not the privacy noise.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, FiniteFloat

from synthdp.errors import InputError
from synthdp.parallel import Advance, each
from synthdp.privacy.events import Composed, Event
from synthdp.privacy.guarantees import Adjacency, Guarantee
from synthdp.privacy.ledger import Entry, Ledger
from synthdp.privacy.mechanisms import Secure, Simulated, Source
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Method, Plan, Release, Synthesizer
from synthdp.synthesis.private.domain import MOST_CELLS, Domain, declared, domain_of, undeclared_formula
from synthdp.table.microdata import Codes

Draw = Callable[[np.random.Generator], Codes]
Bins = Annotated[int, Field(ge=1)] | Literal["dp_quantiles"]


@dataclass(frozen=True)
class Each:
    """How records of every copy are drawn, where copies have parameters of their own."""

    copies: tuple[Draw, ...]


class Private(Method):
    """The settings of every differentially private synthesizer.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole release, all columns and all copies together.
    adjacency
        ``replace`` only: copies have as many records as the original.
    source
        ``secure`` noise, or ``simulated`` from the seed, which is for studies only.
    bins, bins_by
        Into how many equally wide bins a numeric column's bounds are cut, and the exceptions by name; some methods
        also take ``dp_quantiles``.
    missing
        Columns that may be missing: each has a cell for it.
    copies
        How many files are drawn from the private table; more cost nothing.
    """

    method: str
    epsilon: FiniteFloat = Field(default=1.0, gt=0)
    delta: FiniteFloat = Field(default=0.0, ge=0, lt=1)
    adjacency: Adjacency = "replace"
    source: Literal["secure", "simulated"] = "secure"
    bins: Bins = 10
    bins_by: dict[str, int | Literal["dp_quantiles"]] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    copies: int = Field(default=5, ge=1)
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: Literal[False] = False

    pure_only: ClassVar[bool] = False
    most_cells: ClassVar[float] = MOST_CELLS
    """Of the whole domain; infinite for a method that looks at few columns at a time."""
    keeps_rules: ClassVar[bool] = False
    """Whether constraints and ``applies_when`` are kept, and bins and levels may be found out."""

    @property
    def budget(self) -> float | None:
        """The ε that is claimed for the whole release."""
        return self.epsilon

    @property
    def relation(self) -> Adjacency:
        """Which files are neighbours."""
        return self.adjacency

    @property
    def simulated(self) -> bool:
        """Whether its noise comes from the seed."""
        return self.source == "simulated"

    def domain(self, plan: Plan) -> Domain:
        """Return the declared domain; of bins that are yet to be found, as many as there may be."""
        bins = {column.name: self.bins_of(column.name) for column in plan.data.schema.columns}
        return domain_of(plan.data, bins=1, bins_by=bins, missing=self.missing)

    def bins_of(self, name: str) -> int:
        """Return into how many bins a column is cut at most."""
        asked = self.bins_by.get(name, self.bins)
        return asked if isinstance(asked, int) else 1

    @property
    def sought(self) -> frozenset[str]:
        """The columns whose levels are found out, so that they need not be declared."""
        return frozenset()

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = _setting_problems(self) + _column_problems(self, plan)
        if plan.constraints and not self.keeps_rules:
            found.append(f"constraints: method {self.method} does not keep them; use da_mi, mi or sequential.")
        if not found:
            cells = self.domain(plan).size
            if cells > self.most_cells:
                found.append(
                    f"synthesis: the declared domain has {cells:,} cells, {self.method} takes at most "
                    f"{self.most_cells:,}; use fewer bins, dp_mst, dp_sparse_histogram or dp_margins."
                )
        return found

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Pay once, then draw the copies."""
        started = time.perf_counter()
        source = self.noise(streams)
        domain, before = self.prepare(plan, source)
        draw, event = self.pay(plan, domain, source)
        event = event if before is None else Composed((before, event))
        paid = time.perf_counter()

        def copy(m: int) -> pd.DataFrame:
            rng = streams.generator("values", self.method, m)
            cells = draw.copies[m - 1](rng) if isinstance(draw, Each) else draw(rng)
            return self.settle(plan, lambda: domain.frame(cells, plan.data.frame, rng=rng))

        copies = tuple(each(copy, range(1, self.copies + 1), advance=advance))
        seconds = {"fit": paid - started, "draw": time.perf_counter() - paid}
        return Release.of(self, plan, copies, privacy=self.guarantee(plan, event), seconds=seconds)

    def noise(self, streams: Streams) -> Source:
        """Return where the noise comes from."""
        return Secure() if self.source == "secure" else Simulated(streams.generator("dp", self.method))

    def prepare(self, plan: Plan, source: Source) -> tuple[Domain, Event | None]:
        """Return the domain, and what it cost where something of it was found out."""
        return self.domain(plan), None

    def settle(self, plan: Plan, draw: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Return a copy, given how values are drawn for its cells."""
        return draw()

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw | Each, Event]:
        """Return how records are drawn from what the mechanism released, and what it cost."""
        raise NotImplementedError

    def guarantee(self, plan: Plan, event: Event) -> Guarantee:
        """Return the claim, withdrawn when something else looks at the data before the release."""
        return Guarantee(
            self.epsilon, self.delta, self.adjacency, self.source, event, plan.selection, self.shares(plan)
        )

    def shares(self, plan: Plan) -> Mapping[str, float]:
        """Return which share of the budget each step is given; nothing where there is one step, or nobody asks."""
        return {}


def _setting_problems(settings: Private) -> list[str]:
    found = []
    if settings.adjacency != "replace":
        found.append(
            "synthesis.adjacency: copies have as many records as the original, so their number is public; use replace."
        )
    if not settings.keeps_rules and "dp_quantiles" in (settings.bins, *settings.bins_by.values()):
        found.append(
            f"synthesis.bins: {settings.method} does not find bins; write a number, or use dp_mst, dp_tables or dp_aim."
        )
    if settings.pure_only and settings.delta:
        found.append(f"synthesis.delta: {settings.method} has δ = 0; leave delta out.")
    return found


def _column_problems(settings: Private, plan: Plan) -> list[str]:
    schema = plan.released.schema
    found = [
        f"variables.{column.name}: a kept column is released as it is, which is not DP; replace or drop it."
        for column in schema.kept()
    ]
    found += [
        f"synthesis.{setting}: no column named {name!r}."
        for setting, names in (("missing", settings.missing), ("bins_by", tuple(settings.bins_by)))
        for name in names
        if name not in plan.data.schema
    ]
    found += [
        f"synthesis.bins_by.{name}: must be at least 1, found {count}."
        for name, count in settings.bins_by.items()
        if isinstance(count, int) and count < 1
    ]
    found += [why for column in schema.derived() if (why := undeclared_formula(column)) is not None]
    for column in plan.data.schema.replaced():
        series = plan.data.frame[column.name]
        undeclared = None if column.name in settings.sought else declared(column, series)
        if undeclared is not None:
            found.append(undeclared)
        if column.applies_when is not None and settings.keeps_rules and column.name not in settings.missing:
            found.append(
                f"variables.{column.name}.applies_when: whoever it does not apply to needs a cell; name the column in "
                "synthesis.missing."
            )
            continue
        if column.applies_when is not None and not settings.keeps_rules:
            found.append(
                f"variables.{column.name}.applies_when: method {settings.method} does not keep it; "
                "use da_mi, mi or sequential."
            )
        absent = int(series.isna().sum())
        if absent and column.name not in settings.missing:
            found.append(
                f"variables.{column.name}: {absent} values are missing and the domain has no cell for it; "
                "name the column in synthesis.missing."
            )
    return found


class Bill:
    """The price of one run, and the ledger that is charged.

    Copies are drawn from one private table, so that their number does not matter. A study publishes nothing and owes
    nothing.

    Parameters
    ----------
    ledger
        The ledger of the data; None when there is none.
    method, plan
        What will be done. With a ledger, what has no guarantee is refused: it would void every charge in it.
    study
        Whether nothing will be published.

    Raises
    ------
    InputError
        When the method is not differentially private, or when its claim would be withdrawn.
    """

    def __init__(self, ledger: Ledger | None, method: Synthesizer, plan: Plan, *, study: bool) -> None:
        self._ledger = None if study else ledger
        self._entry: Entry | None = None
        self._price: dict[str, Any] = {}
        if self._ledger is not None:
            self._price = _price(method, plan)

    def check(self) -> None:
        """Refuse what cannot be paid, before anything is written."""
        if self._ledger is not None:
            self._ledger.check(**{key: value for key, value in self._price.items() if key != "source"})

    @property
    def number(self) -> int | None:
        """The number of the charge; None where nothing was charged."""
        return self._entry.number if self._entry is not None else None

    def pay(self, run: str, *, released: Path | None = None) -> None:
        """Charge the ledger; a run that paid before it was killed does not pay again for what it ``released``."""
        if self._ledger is not None:
            self._entry = self._ledger.charge(**self._price, run=run, released=released)

    def attach(self, file: Path) -> None:
        """Write the hash of what was published beside its charge."""
        if self._ledger is not None and self._entry is not None:
            self._entry = self._ledger.attach(self._entry, file)


def _price(method: Synthesizer, plan: Plan) -> dict[str, Any]:
    if not isinstance(method, Private):
        name = getattr(method, "method", type(method).__name__)
        raise InputError(
            f"ledger: method {name} is not differentially private, so its release has no price; leave the ledger out."
        )
    if plan.selection is not None:
        raise InputError(
            f"ledger: {method.method} cannot be charged, as {plan.selection}, which no epsilon covers. "
            "Set all limits of release to null, or leave the ledger out."
        )
    return {
        "what": f"synthetic data by {method.method}",
        "epsilon": method.epsilon,
        "delta": method.delta,
        "adjacency": method.adjacency,
        "source": method.source,
    }
