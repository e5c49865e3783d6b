"""What every way of making synthetic files has in common: ours and every baseline."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

import pandas as pd

from synthdp.masking.mask import MaskSettings
from synthdp.parallel import Advance
from synthdp.privacy.guarantees import Adjacency, Guarantee
from synthdp.seeding import Streams
from synthdp.synthesis.design import NOTHING_MASKED, Design, rule_for
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Settings
from synthdp.tagging.groups import Tags


@dataclass(frozen=True, repr=False)
class Release:
    """The copies and how they came about. Row i of every copy was made from record i until it is shuffled.

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

    def __repr__(self) -> str:
        rows = len(self.copies[0]) if self.copies else 0
        return f"Release({self.method}: {len(self.copies)} copies x {rows} records)"


@dataclass(frozen=True, repr=False)
class Plan:
    """What a synthesizer works on: records, who is at risk, and the masks the user asked for.

    ``selection`` says what will look at the data before the copies are released (a gate), which withdraws every
    formal statement about the masks; None when nothing will. ``constraints`` must hold in every copy. ``whole`` holds
    the columns that no synthesizer may see (derived ones, the survey's cluster) too; None when there are none.
    """

    data: Microdata
    tags: Tags
    masks: Mapping[str, MaskSettings] = field(default_factory=dict)
    masks_by_group: Mapping[str, Mapping[str, MaskSettings]] = field(default_factory=dict)
    selection: str | None = None
    constraints: tuple[str, ...] = ()
    whole: Microdata | None = None

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
