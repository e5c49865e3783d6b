"""What every way of making synthetic files has in common: ours and every baseline."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, SupportsIndex, overload

import pandas as pd

from synthdp.errors import InputError
from synthdp.masking.mask import MaskSettings
from synthdp.parallel import Advance
from synthdp.privacy.guarantees import Adjacency, Guarantee
from synthdp.seeding import Streams
from synthdp.showing import html
from synthdp.synthesis.design import NOTHING_MASKED, Design, rule_for
from synthdp.synthesis.fits import Fits
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Settings
from synthdp.tagging.groups import Tags


@dataclass(frozen=True, repr=False)
class Release:
    """The copies and how they came about. Row i of every copy was made from record i until it is shuffled.

    It has a length, and gives its copies one by one: ``release[0]``, ``for copy in release``. Neither seed nor W is
    part of it, so that it may be pickled; the order of its rows is that of the records, so that the pickle is as
    confidential as they are.

    Parameters
    ----------
    copies
        The synthetic files, same columns as the original.
    method
        Name of the synthesizer.
    rule
        The combining rule this design calls for.
    mask_draw
        ``per_copy``, ``once`` or ``once_orthogonal``; ``none`` when nothing was masked.
    masking
        What may be said formally about each column's mask, one entry per column and group.
    seconds
        How long fitting and drawing took.
    design
        How the copies came about, as far as inference depends on it; None when the method does not say.
    chain
        Per column, how often the first copy's chain moved and whether it had settled; empty for exact draws.
    privacy
        The guarantee of the whole release; None when it is not differentially private.
    """

    copies: tuple[pd.DataFrame, ...]
    method: str
    rule: str
    mask_draw: str
    masking: tuple[Mapping[str, object], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    chain: tuple[Mapping[str, object], ...] = ()
    design: Design | None = None
    privacy: Guarantee | None = None

    @classmethod
    def of(
        cls,
        method: "Designed",
        plan: "Plan",
        copies: Iterable[pd.DataFrame],
        *,
        seconds: Mapping[str, float],
        masking: tuple[Mapping[str, object], ...] = (),
        chain: tuple[Mapping[str, object], ...] = (),
        privacy: Guarantee | None = None,
    ) -> Self:
        """Return the copies that a method made of a plan, with the rule that its design calls for."""
        design = method.design(plan)
        return cls(
            copies=tuple(copies),
            method=method.method,
            rule=rule_for(design),
            mask_draw=design.mask_draw,
            masking=masking,
            seconds=seconds,
            chain=chain,
            design=design,
            privacy=privacy,
        )

    def __len__(self) -> int:
        return len(self.copies)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter(self.copies)

    @overload
    def __getitem__(self, place: SupportsIndex) -> pd.DataFrame: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[pd.DataFrame, ...]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> pd.DataFrame | tuple[pd.DataFrame, ...]:
        if not isinstance(place, SupportsIndex | slice):
            raise InputError(
                f"release[…]: must be the number of a copy, from 0 to {len(self) - 1}, found {type(place).__name__}; "
                "a column is release[0][…]."
            )
        if isinstance(place, slice):
            return self.copies[place]
        if not -len(self) <= place.__index__() < len(self):
            # an IndexError, by which a loop without __iter__ would end
            raise IndexError(f"release[{place.__index__()}]: there are {len(self)} copies, numbered from 0.")
        return self.copies[place]

    def table(self) -> pd.DataFrame:
        """Return one row per column: its type, whether copies differ in it, and counts of the first copy's values."""
        if not self.copies:
            return pd.DataFrame(columns=["column", "type", "differs", "distinct", "missing"])
        first, *others = self.copies
        return pd.DataFrame(
            {
                "column": [str(name) for name in first.columns],
                "type": [str(kind) for kind in first.dtypes],
                "differs": [any(not copy[name].equals(first[name]) for copy in others) for name in first.columns],
                "distinct": [int(first[name].nunique()) for name in first.columns],
                "missing": [int(first[name].isna().sum()) for name in first.columns],
            }
        )

    def __repr__(self) -> str:
        rows = len(self.copies[0]) if self.copies else 0
        return f"Release({self.method}: {len(self.copies)} copies x {rows} records)"

    def _repr_html_(self) -> str:
        columns = self.copies[0].shape[1] if self.copies else 0
        facts = [("columns", columns), ("masks drawn", self.mask_draw), ("combining rule", self.rule)]
        facts += [("fitted and drawn in", f"{sum(self.seconds.values()):.1f} s")] if self.seconds else []
        notes = [self.privacy.statement()] if self.privacy is not None else []
        notes += ["Row i of every copy belongs to record i: shuffle before giving a copy away, or use synthdp run."]
        return html(repr(self), (), facts, notes)


@dataclass(frozen=True, repr=False)
class Plan:
    """What a synthesizer works on: records, who is at risk, and the masks the user asked for.

    ``selection`` says what will look at the data before the copies are released (a gate), which withdraws every
    formal statement about the masks; None when nothing will. ``constraints`` must hold in every copy. ``whole`` holds
    the columns that no synthesizer may see (derived ones, the survey's cluster) too; None when there are none.
    ``analyses`` are the columns of each analysis that is planned, for methods that are told what will be asked.
    ``fits`` holds fits that were made before, where the same ones are asked for again.
    """

    data: Microdata
    tags: Tags
    masks: Mapping[str, MaskSettings] = field(default_factory=dict)
    masks_by_group: Mapping[str, Mapping[str, MaskSettings]] = field(default_factory=dict)
    selection: str | None = None
    constraints: tuple[str, ...] = ()
    whole: Microdata | None = None
    analyses: tuple[tuple[str, ...], ...] = ()
    fits: Fits | None = None

    @property
    def released(self) -> Microdata:
        """The original with all columns that are released."""
        return self.data if self.whole is None else self.whole

    def design(self, *, proper: bool, copies: int, mask_draw: str | None = None) -> Design:
        """Return the design of copies of this plan, in which the replaced columns are drawn anew."""
        return Design(
            replaced="some" if self.released.schema.kept() else "all",
            proper=proper,
            copies=copies,
            mask_draw=mask_draw or NOTHING_MASKED,
        )


class Designed(Protocol):
    """A method that says what inference from its copies depends on."""

    @property
    def method(self) -> str:
        """The method's name."""
        ...

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        ...


class Synthesizer(Protocol):
    """A way of making synthetic copies."""

    @property
    def copies(self) -> int:
        """How many copies are released."""
        ...

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        ...

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Make the copies; the first ones are the same for a larger number of copies."""
        ...


class Method(Settings):
    """What the settings of a synthesizer tell of it; the answers here are of one that masks and claims nothing."""

    # taken of its copies beside those that are taken by default, where ``evaluation`` does not say which
    measures: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # fields of every method, each with bounds and a default of its own
        method: str
        copies: int
        imputations: int
        shuffle: bool
        repair: bool

    @property
    def budget(self) -> float | None:
        """The ε that is claimed for the whole release; None for a method that is not differentially private."""
        return None

    @property
    def private(self) -> bool:
        """Whether the method is differentially private, so that nothing else may look at the records."""
        return self.budget is not None

    @property
    def relation(self) -> Adjacency:
        """Which files are neighbours, for a ledger."""
        return "replace"

    @property
    def simulated(self) -> bool:
        """Whether its noise comes from the seed, which is for studies only."""
        return False

    @property
    def mask_drawn(self) -> str | None:
        """How W is drawn (``mask_draw``); None for a method that uses no masks."""
        return None

    @property
    def association(self) -> str:
        """The name of the association model; empty for a method that has none."""
        return ""

    @property
    def independent(self) -> bool:
        """Whether copies depend on each other only through the fit, so that many may be cut from one long release."""
        return False

    @property
    def fitted_by_chance(self) -> bool:
        """Whether two fits to the same records differ, so that copies of one fit are more alike than those of two."""
        return False

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        return plan.design(proper=False, copies=self.copies)

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        return []

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Make the copies."""
        raise NotImplementedError

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of the method on this plan, in sentences."""
        return []

    def with_copies(self, fewest: int) -> Self:
        """Return the method with so many copies at least; one that imputes several originals makes enough anyway."""
        enough = self.imputations > 1 or self.copies >= fewest
        return self if enough else self.model_copy(update={"copies": fewest})
