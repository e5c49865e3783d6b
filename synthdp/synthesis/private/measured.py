r"""Copies from noisy tables: a workload measured at once, and what all methods of noisy tables share.

``dp_tables`` adds Gaussian noise to every table of a workload, which is fixed before the data are seen, in one release:
K tables move by √(2K) in ℓ2 when a record is replaced. Copies are drawn from the log-linear model of these tables.

``plug_in``: from the model nearest to the noisy tables (`fitting`), as other tools do. Copies say nothing of the noise,
and their intervals are too short wherever it is not small.

``noise_aware``: from a model with parameters of its own for each copy, drawn from the posterior given noisy tables and
known noise (`posterior`). Intervals by the rule ``noise_aware`` cover, for what the tables hold: means and shares of
their columns, linear regressions (which are functions of pairs), and logistic ones without interactions (all pairs
without higher ones is a model of which they are part).

References
----------
McKenna, Miklau, Sheldon (2021), Journal of Privacy and Confidentiality 11(3) (select, measure, generate). Räisä, Jälkö,
Kaski, Honkela (2023), AISTATS (noise-aware copies).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthdp.privacy.events import Event
from synthdp.privacy.mechanisms import Gaussian, Sensitivity, Source
from synthdp.synthesis.design import Design
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.domain import Domain, random_generator, thin
from synthdp.synthesis.private.fitting import Noisy, nearest
from synthdp.synthesis.private.junction import Columns, blocks_of, cells_of, table_of
from synthdp.synthesis.private.posterior import ByBlocks, draws, posterior_of
from synthdp.synthesis.private.prepared import Prepared
from synthdp.synthesis.private.scores import MARGINS, Release, impossible
from synthdp.synthesis.private.synthesizer import Draw, Each, Private
from synthdp.synthesis.private.zeros import Ruled, declarations, ruled_out
from synthdp.table import expressions
from synthdp.table.microdata import Codes, Floats

Inference = Literal["plug_in", "noise_aware"]
Workload = Literal["pairs", "triples", "analyses"] | tuple[tuple[str, ...], ...]
COPIES = 20
"""So many copies the rule needs to be within a hundredth of its coverage; they cost no budget."""
SPARSE = 0.15
"""Noise, as a share of what a mean cell holds, above which intervals were seen to miss (reports/noise_aware)."""
MOST_MEASURED = 4000
"""Cells of all tables together, of which the posterior inverts a matrix."""


class Tabulated(Private):
    """The settings of every method that measures tables and may draw copies that know of the noise.

    Parameters
    ----------
    inference
        ``plug_in`` or ``noise_aware``.
    """

    inference: Inference = "plug_in"
    most_cells: ClassVar[float] = math.inf

    @model_validator(mode="before")
    @classmethod
    def _enough_copies(cls, given: Any) -> Any:
        """Make more copies where their number is what intervals depend on, unless somebody said how many."""
        default = cls.model_fields["inference"].default
        if isinstance(given, dict) and given.get("inference", default) == "noise_aware" and "copies" not in given:
            return {**given, "copies": COPIES}
        return given

    @property
    def noise_aware(self) -> bool:
        """Whether copies know of the noise."""
        return self.inference == "noise_aware"

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        if not self.noise_aware:
            return super().design(plan)
        return Design(replaced="all", proper=True, copies=self.copies, noise_aware=True)

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if self.noise_aware and not self.delta:
            found.append("synthesis.delta: noise_aware knows of Gaussian noise only, which needs one above 0, as 1e-6.")
        if self.noise_aware and self.copies < 2:
            found.append("synthesis.copies: noise_aware intervals come from how copies differ; make at least 2.")
        return found

    def drawn(self, noisy: Noisy, *, turns: int, rng: np.random.Generator) -> Draw | Each:
        """Return how records are drawn from noisy tables."""
        if not self.noise_aware:
            fit = nearest(noisy, turns=turns)
            return lambda rng: fit.model.draw(fit.beliefs, noisy.total, rng=rng)
        blocks = ByBlocks(noisy)

        def at(theta: Floats) -> Draw:
            return lambda rng: blocks.model.draw(blocks.model.beliefs(blocks.tables(theta)), noisy.total, rng=rng)

        thetas, _ = draws(posterior_of(noisy, rng=rng), self.copies, rng=rng)
        return Each(tuple(at(theta) for theta in thetas))


class Workloads(Tabulated, Prepared):
    """The settings of methods with a workload.

    Parameters
    ----------
    workload
        ``pairs`` or ``triples`` of all columns, ``analyses`` (all pairs of columns within an analysis of the config),
        or lists of columns. Chosen without looking at the data.
    by
        A column with which every table of the workload is crossed: whatever is asked is asked by it.
    model_cells
        How many cells the model may hold: those of the blocks in which tables hang together.
    """

    workload: Workload = "pairs"
    by: str | None = None
    model_cells: int = Field(default=200_000, ge=2)
    gaussian: ClassVar[bool] = True
    """Whether its noise needs a δ."""

    def wanted(self, plan: Plan, domain: Domain) -> tuple[Columns, ...]:
        """Return the tables of the workload, as places of columns in rising order."""
        place = {axis.column.name: at for at, axis in enumerate(domain.axes)}
        crossed = () if self.by is None else (place[self.by],)
        tables = [{*(place[name] for name in names), *crossed} for names in self._named(plan, place)]
        found = dict.fromkeys(tuple(sorted(table)) for table in tables)
        # by itself it is no table, but part of all others
        return tuple(table for table in found if table != crossed or len(found) == 1)

    def shares(self, plan: Plan) -> Mapping[str, float]:
        """Return what finding bins and levels is given, where anything is found."""
        return {"preprocessing": self.preparing, "tables": 1 - self.preparing} if self.finds else {}

    def asked_for(self, plan: Plan, domain: Domain) -> dict[Columns, float]:
        """Return how much every table that is part of the workload counts: Σ_s |r ∩ s| over the tables s asked for."""
        wanted = self.wanted(plan, domain)
        parts = {part for table in wanted for size in range(1, len(table) + 1) for part in combinations(table, size)}
        return {part: float(sum(len(set(part) & set(one)) for one in wanted)) for part in sorted(parts)}

    def ruled(self, plan: Plan, domain: Domain) -> Ruled:
        """Return the cells that were declared to hold nobody."""
        return ruled_out(plan, domain, self.zeros)

    def drawn(self, noisy: Noisy, *, turns: int, rng: np.random.Generator) -> Draw | Each:
        """Return how records are drawn from noisy tables."""
        if self.noise_aware:
            return super().drawn(noisy, turns=turns, rng=rng)
        return self.deal(nearest(noisy, turns=turns), noisy.total)

    def _named(self, plan: Plan, place: dict[str, int]) -> Iterator[tuple[str, ...]]:
        if not isinstance(self.workload, str):
            yield from (tuple(dict.fromkeys(names)) for names in self.workload)
            return
        sets = [tuple(place)] if self.workload != "analyses" else [_behind(plan, names) for names in plan.analyses]
        order = 3 if self.workload == "triples" else 2
        for names in sets:
            yield from combinations([name for name in names if name in place], min(order, len(names)))

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if self.by is not None and self.by not in plan.data.schema:
            found.append(f"synthesis.by: no column named {self.by!r}.")
        if self.noise_aware and self.dealing == "systematic":
            found.append("synthesis.dealing: noise_aware intervals count independent draws; leave dealing out.")
        if not found and self.noise_aware and declarations(plan, self.zeros):
            found.append("synthesis.inference: noise_aware keeps no zeros, constraints or applies_when; use plug_in.")
        if self.workload == "analyses" and not plan.analyses:
            found.append("synthesis.workload: analyses, but the config has none; name columns, or use pairs.")
        if not isinstance(self.workload, str):
            names = {name for table in self.workload for name in table}
            found += [
                f"synthesis.workload: no column named {name!r}."
                for name in sorted(names)
                if name not in plan.data.schema
            ]
            if not all(self.workload) or not self.workload:
                found.append("synthesis.workload: every table needs a column at least.")
        if not self.delta and not self.noise_aware and self.gaussian:
            found.append(f"synthesis.delta: {self.method} adds Gaussian noise, which needs one above 0, such as 1e-6.")
        return found


def _behind(plan: Plan, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that synthesizers see behind those of an analysis."""
    found: dict[str, None] = {}
    for name in names:
        column = plan.released.schema[name]
        found |= dict.fromkeys((name,) if column.derived is None else expressions.names(column.derived))
    return tuple(found)


class DpTables(Workloads):
    """Every table of a workload with noise, at once, and copies whose intervals know of it.

    Parameters
    ----------
    associations
        ``tables``: pairs (or more columns) by their noisy tables. ``scores``: pairs by sums of products of scores
        (`scores`), for columns of many cells, most of which are empty together.
    others
        With ``scores``: how much pairs outside the workload count, between 0 (not measured) and 1.

    Examples
    --------
    >>> DpTables(delta=1e-6).copies
    20
    """

    method: Literal["dp_tables"] = "dp_tables"
    inference: Inference = "noise_aware"
    associations: Literal["tables", "scores"] = "tables"
    others: float = Field(default=0.0, ge=0, le=1)

    @property
    def scored(self) -> bool:
        """Whether pairs are known by products of scores."""
        return self.associations == "scores"

    def tables(self, plan: Plan, domain: Domain) -> tuple[Columns, ...]:
        """Return what is measured: the workload, less what is part of another table, and columns that are in none."""
        wanted = self.wanted(plan, domain)
        kept = [one for one in wanted if not any(set(one) < set(other) for other in wanted)]
        seen = {v for table in kept for v in table}
        return (*kept, *((v,) for v in range(len(domain.axes)) if v not in seen))

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if self.others and not self.scored:
            found.append(
                "synthesis.others: weighs pairs outside the workload, which associations: tables does not measure."
            )
        even = self.dealing == "systematic"
        if self.scored and (self.finds or even or self.by is not None or declarations(plan, self.zeros)):
            found.append(
                "synthesis.associations: scores know no by, dealing, zeros, constraints or applies_when, nor bins and "
                "levels that are found; leave these out, or use tables."
            )
        if found:
            return found
        domain = self.domain(plan)
        if self.scored:
            return impossible(domain.axes, self.wanted(plan, domain), self.weights(plan, domain), self.model_cells)
        sizes, tables = [axis.size for axis in domain.axes], self.tables(plan, domain)
        held = cells_of(sizes, blocks_of(sizes, (*tables, *self.ruled(plan, domain))))
        if held > self.model_cells:
            found.append(
                f"synthesis.workload: its tables hang together in a model of {held:,} cells, and model_cells is "
                f"{self.model_cells:,}; use fewer bins, a smaller workload, or dp_aim, which chooses tables."
            )
        measured = cells_of(sizes, tables)
        if self.noise_aware and measured > MOST_MEASURED:
            found.append(
                f"synthesis.workload: its tables have {measured:,} cells, noise_aware takes at most "
                f"{MOST_MEASURED:,}; use fewer bins, a smaller workload, or inference plug_in."
            )
        return found

    def weights(self, plan: Plan, domain: Domain) -> dict[Columns, float]:
        """Return the pairs whose products are measured, and how much each counts."""
        wanted = [table for table in self.wanted(plan, domain) if len(table) == 2]
        rest: Iterable[Columns] = combinations(range(len(domain.axes)), 2) if self.others else ()
        return dict.fromkeys(rest, self.others) | dict.fromkeys(wanted, 1.0)

    def release(self, plan: Plan, domain: Domain) -> Release:
        """Return what is measured where pairs are known by scores."""
        weights = self.weights(plan, domain)
        return Release.of(domain.axes, weights, self.model_cells, epsilon=self.epsilon, delta=self.delta)

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence when the noise leaves nothing of the data."""
        domain = self.domain(plan)
        if self.scored:
            return self.release(plan, domain).notes(len(plan.data))
        tables, sizes = self.tables(plan, domain), [axis.size for axis in domain.axes]
        fewest = min(cells_of(sizes, [table]) for table in tables)
        sd, n = self.noise_of(len(tables)).sd, len(plan.data)
        found = super().notes(plan) + thin(sd, n, fewest, "of the smallest table")
        widest = max(tables, key=lambda table: cells_of(sizes, [table]))
        cells = cells_of(sizes, [widest])
        if found or not self.noise_aware or sd * cells <= SPARSE * n:
            return found
        names = " and ".join(domain.axes[v].column.name for v in widest)
        return [
            f"synthesis.epsilon: the noise has sd {sd:.3g} in each cell of {names}, of which a mean one holds "
            f"{n / cells:.3g} records. Cells that nobody is in take records from the others then, and intervals may "
            "miss, above all for columns that hang together closely. Use associations: scores, raise epsilon, or use "
            "fewer tables or bins."
        ]

    def shares(self, plan: Plan) -> Mapping[str, float]:
        """Return what each step is given, where there is more than one."""
        if self.scored:
            return {"margins": MARGINS, "products": 1 - MARGINS}
        return super().shares(plan)

    def noise_of(self, tables: int) -> Gaussian:
        """Return the noise of every count of so many tables."""
        moved = Sensitivity(math.sqrt(2 * tables), "l2", "replace")
        if self.finds:
            return Gaussian.concentrated(moved, rho=self.rho)
        return Gaussian.calibrated(moved, epsilon=self.epsilon, delta=self.delta)

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw | Each, Event]:
        """Measure all tables in one release. Cost O(n · tables), and that of the posterior."""
        cells = domain.encode(plan.data)
        if self.scored:
            release = self.release(plan, domain)
            measured = release.measured(cells, source)
            rng = random_generator(source)
            return measured.drawn(self.copies, noise_aware=self.noise_aware, rng=rng), release.event()
        sizes, tables = tuple(axis.size for axis in domain.axes), self.tables(plan, domain)
        noise = self.noise_of(len(tables))
        noisy = replace(looked(cells, tables, sizes, noise, source), ruled_out=self.ruled(plan, domain))
        return self.drawn(noisy, turns=1000, rng=random_generator(source)), noise.event()


def looked(cells: Codes, tables: Sequence[Columns], sizes: tuple[int, ...], noise: Gaussian, source: Source) -> Noisy:
    """Return tables with noise, all in one batch."""
    counts = [table_of(cells, table, sizes) for table in tables]
    flat = noise.release(np.concatenate([one.ravel() for one in counts]).astype(np.float64), source=source)
    pieces = np.split(flat, np.cumsum([one.size for one in counts])[:-1])
    shaped = zip(tables, pieces, counts, strict=True)
    return Noisy(sizes, {t: (piece.reshape(one.shape), noise.sd**2) for t, piece, one in shaped}, len(cells))
