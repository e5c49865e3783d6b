"""The mechanism drawn as often as anybody asks: the copies that go out, draws for the gate, and fits to other files.

Those are halves of the file, whose levels, bounds and risk groups stay those of the whole; and, for
``membership_shadow``, files made of some records and of parts of others, where what is learnt from the records is
learnt anew: risk groups, bounds that were taken from the data, the model. Levels stay as they are in the codebook, also
where no record of a fit has one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.config import Config
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.memorised import Refit
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import violated
from synthdp.synthesis.making import Repaired, finish, make, visible
from synthdp.synthesis.plan import Method, Plan, Release
from synthdp.table import applies
from synthdp.table.derived import recompute
from synthdp.table.microdata import Codes, Microdata, numbers
from synthdp.table.schema import Column, Role, Schema
from synthdp.tagging.groups import Neighbours, Rules, tag

Mechanism = Callable[[Plan, Streams], Release]
Maker = Callable[[pd.DataFrame, np.random.Generator], Sequence[pd.DataFrame]]

# cells held at once: draws that share a fit are made together as far as they fit into about 400 MB
MOST_CELLS = 5 * 10**7
# draws that share a fit that rests on chance: one for so many records, at least one, so that intervals over draws of a
# small file include what another fit would find. Of many records two fits find nearly the same, and fits are dear
RECORDS_A_DRAW = 2_000
# in large files the means over records are sharp enough with the fewest draws that keep chance out of the largest
FEWEST_DRAWS, LARGE = 12, 20_000
# where a mean is within its limit and its interval is not, so many times as many draws decide, unless the file has so
# many records; on the way there an interval at this level is enough
SHARPENED, EARLY_LEVEL, TOO_LARGE_TO_SHARPEN = 3, 0.99, 50_000


def count_of(config: Config, records: int) -> int:
    """Return how many draws the verdict rests on: as the config says, but the fewest in large files by default."""
    asked = "draws" in config.release.model_fields_set
    return config.release.draws if asked or records < LARGE else FEWEST_DRAWS


@dataclass(frozen=True, repr=False)
class Copies:
    """What goes out, and what it was before records that stood out were repaired (``mended``: None if none were)."""

    made: Release
    drawn: Release
    mended: Repaired | None


@dataclass(frozen=True, repr=False)
class Draws:
    """The mechanism of a config on a plan, drawn as often as anybody asks.

    Parameters
    ----------
    streams
        Of the copies that go out; names of the others begin with ``draw``, so that they share nothing with those.
    jobs
        How many threads work; what comes of it does not depend on their number.
    advance
        Told how far it is.
    mechanism
        Whatever else makes the copies of a plan; by default the config's method.
    """

    config: Config
    plan: Plan
    streams: Streams
    jobs: int = 1
    advance: Advance | None = None
    mechanism: Mechanism | None = None

    def __repr__(self) -> str:
        return f"Draws({self.config.synthesis.method}, {len(self.plan.data)} records)"

    def fresh(self) -> Copies:
        """Return the copies that go out if the gate lets them pass."""
        method = self.config.synthesis
        drawn = make(method, self.plan, streams=self.streams, jobs=self.jobs, advance=self.advance)
        made, mended = finish(method, drawn, self.plan)
        return Copies(made, drawn, mended)

    def together(self, count: int) -> int:
        """Return how many draws may be made in one go."""
        method, data = self.config.synthesis, self.plan.data
        if self.mechanism is not None or not method.independent:
            return 1
        cells = max(1, len(data) * len(data.schema.columns) * method.copies)
        most = MOST_CELLS // cells
        if method.fitted_by_chance:
            most = min(most, len(data) // RECORDS_A_DRAW)
        return max(1, min(count, most))

    def repeat(self, count: int, first: int = 0) -> Iterator[Release]:
        """Yield the copies ``count`` times, all that is done to a release included; ``first`` were drawn before.

        Where copies depend on each other only through the fit, several draws are cut from one long release: that is
        the same law, and the model is fitted once. Where they share a mask, a completed original or a noisy table,
        everything is made anew for each draw; and of a small file where the fit rests on chance, for draws that share
        it would be more alike than those of two runs are, and intervals over them too short (reports/fits).

        Notes
        -----
        Cost: ``count`` times the drawing, and ``count·M·n·p/5·10⁷`` fits, at least one; at least ``count·2,000/n``,
        and at most ``count``, of a model that rests on chance.
        """
        plan, method = self.plan, self.config.synthesis
        if self.mechanism is not None:
            yield from (self.mechanism(plan, self.streams.within("draw", first + done)) for done in range(count))
            return
        together = self.together(count)
        for done in range(0, count, together):
            size = min(together, count - done)
            settings = method if size == 1 else method.model_copy(update={"copies": method.copies * size})
            made = make(settings, plan, streams=self.streams.within("draw", first + done), jobs=self.jobs)
            each = len(made.copies) // size
            for number in range(size):
                copies = made.copies[number * each : (number + 1) * each]
                yield finish(method, replace(made, copies=copies, design=method.design(plan)), plan)[0]

    def refit(self) -> Refit:
        """Return a function that fits the mechanism to some of the records and makes copies."""
        if self.mechanism is None:
            return refitting(self.config.synthesis, self.plan)
        mechanism = self.mechanism

        def refit(rows: Codes, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
            return mechanism(part_of(self.plan, rows), Streams(int(rng.integers(2**63)))).copies

        return refit


def beside(plan: Plan, made: Release, *, schema: Schema | None = None) -> Comparison:
    """Lay copies whose row i was made from record i beside the original."""
    data = plan.released
    design = made.design
    return Comparison(
        data.frame,
        made.copies,
        schema or data.schema,
        aligned=True,
        groups=plan.tags.labels,
        proper=design.proper if design is not None else None,
        nests=design.imputations if design is not None else 1,
        mask_draw=made.mask_draw if made.mask_draw != "none" else None,
        rule=made.rule,
    )


# copies of a small file cost little once a model is fitted, and what is counted is a share per copy; of many records
# a few copies tell it as well
ENOUGH_COPIES = 5
MANY, COPIES_OF_MANY = 5_000, 2


def part_of(plan: Plan, rows: Codes) -> Plan:
    """Return the plan of some of the records.

    Levels, bounds and decimals stay those of the whole file, and so do risk groups and numbers of neighbours: every
    record is masked as it would be in the whole file, save where a mask is in units of the column's own spread.
    """
    whole = None if plan.whole is None else _some(plan.whole, rows)
    return replace(plan, data=_some(plan.data, rows), tags=plan.tags.of(rows), whole=whole)


def refitting(method: Method, plan: Plan, *, jobs: int = 1) -> Refit:
    """Return a function that fits the method to some of the records and makes copies.

    Parameters
    ----------
    method
        As configured, but 5 copies of one original where it makes fewer, and 2 of 5,000 records or more.
    plan
        Of the whole file.

    Notes
    -----
    ``refit(rows, rng)`` returns copies whose row k was made from record rows[k], for methods whose rows belong to
    records. It raises what the method raises: half of a file may lack a level that a model needs.
    """
    enough = method.with_copies(ENOUGH_COPIES)
    few = method if method.imputations > 1 else method.model_copy(update={"copies": COPIES_OF_MANY})

    def refit(rows: Codes, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
        part = part_of(plan, rows)
        some = enough if len(rows) < MANY else few
        made = make(some, part, streams=Streams(int(rng.integers(2**63))), jobs=jobs)
        return finish(some, made, part)[0].copies

    return refit


def _some(data: Microdata, rows: Codes) -> Microdata:
    return Microdata(data.frame.iloc[rows].reset_index(drop=True), data.schema)


@dataclass(frozen=True, repr=False)
class PlanShadows:
    """Fits a synthesizer to some records of a plan: what ``evaluate_shadow`` asks for.

    Parameters
    ----------
    method
        The synthesizer, its number of copies included: ``method.model_copy(update={"copies": 1})`` is quicker, and
        finds less where every copy says something new of a record.
    plan
        What the release is made from.
    groups
        How its records were put into risk groups.
    """

    method: Method
    plan: Plan
    groups: Neighbours | Rules | None = None

    def __repr__(self) -> str:
        return f"PlanShadows({type(self.method).__name__}, {len(self.plan.data)} records)"

    def __call__(self, rows: Codes, donors: Codes, *, rng: np.random.Generator) -> tuple[pd.DataFrame, ...]:
        """Return the copies of a file made of these records."""
        whole = self._file(rows, donors)
        seen = visible(whole)
        plan = replace(self.plan, data=seen, tags=tag(whole, self.groups), whole=None if seen is whole else whole)
        made = make(self.method, plan, streams=Streams(int(rng.integers(2**63))))
        return finish(self.method, made, plan)[0].copies

    def lawful(self, rows: Codes, donors: Codes) -> Booleans:
        """Return which pairs keep the constraints, and have values only where columns apply."""
        frame = _joined(self.plan.released, rows, donors)
        found = ~np.asarray(violated(frame, self.plan.constraints), dtype=np.bool_)
        for column in self.plan.released.schema.columns:
            if column.applies_when is not None:
                # a value where it applies, and nowhere else, whoever's value it is
                whose = donors if column.role is Role.REPLACE else rows
                own = self.plan.released.frame.iloc[whose].reset_index(drop=True)
                found &= applies.holds(column, frame) == applies.holds(column, own)
        return found

    def _file(self, rows: Codes, donors: Codes) -> Microdata:
        data = self.plan.released
        frame = _joined(data, rows, donors)
        return Microdata(
            frame, Schema(columns=tuple(_learnt(column, frame[column.name]) for column in data.schema.columns))
        )


@dataclass(frozen=True, repr=False)
class FrameShadows:
    """Lets any function from a table to tables be played against.

    Parameters
    ----------
    make
        Takes a table and a generator and returns copies.
    data
        The original, with its schema.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"x": [1.0, 2.5, 4.0]}), {"x": Variable(role="replace")})
    >>> shadows = FrameShadows(lambda frame, rng: [frame], data)
    >>> shadows(np.array([2, 0]), np.array([2, 1]), rng=np.random.default_rng(1))[0]["x"].tolist()
    [4.0, 2.5]
    """

    make: Maker
    data: Microdata

    def __repr__(self) -> str:
        return f"FrameShadows({len(self.data)} records)"

    def __call__(self, rows: Codes, donors: Codes, *, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
        """Return the copies of a file made of these records."""
        return self.make(_joined(self.data, rows, donors), rng)

    def lawful(self, rows: Codes, donors: Codes) -> Booleans:
        """Return that any pair will do."""
        return np.ones(len(rows), dtype=np.bool_)


def _joined(data: Microdata, rows: Codes, donors: Codes) -> pd.DataFrame:
    """Return the records with the replaced columns of others, and what is derived from both."""
    frame = data.frame.iloc[rows].reset_index(drop=True)
    if np.array_equal(rows, donors):
        return frame
    for column in data.schema.columns:
        if column.role is Role.REPLACE:
            frame[column.name] = data.frame[column.name].iloc[donors].to_numpy()
    return recompute(frame, data) if data.schema.derived() else frame


def _learnt(column: Column, series: pd.Series) -> Column:
    """Return a column with what was taken from the data taken from these records instead."""
    if column.bounds is None or column.bounds_public:
        return column
    values = numbers(series, column)
    known = values[np.isfinite(values)]
    if not len(known) or known.min() == known.max():
        return column
    return column.model_copy(update={"bounds": (float(known.min()), float(known.max()))})
