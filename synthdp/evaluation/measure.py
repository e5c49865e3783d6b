"""What every measure of usefulness and risk has in common: a name, a question, what it needs, and a finding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from synthdp.arrays import Booleans, Floats
from synthdp.evaluation.blocks import Block
from synthdp.evaluation.comparison import Comparison


class Need(StrEnum):
    """What a measure cannot do without; where it is unavailable, the measure reports that as its reason."""

    KEYS = "keys"
    ROWS = "rows"
    HOLDOUT = "holdout"
    TARGETS = "targets"
    PLAN = "plan"
    DRAWS = "draws"


MISSING = {
    Need.KEYS: "no column is declared as key: true, so there is no intruder to model",
    Need.ROWS: "rows of these files cannot be traced to records (evaluation.rows: none)",
    Need.HOLDOUT: "needs records that the synthesis never saw: name their file in evaluation.holdout.",
    Need.TARGETS: "no column is to be learnt: every replaced column is a key, and evaluation.targets names none",
    Need.PLAN: "knows how the copies are made, so it needs a run that makes them; files made elsewhere are attacked by "
    "identity_likelihood and identity_public.",
    Need.DRAWS: "is taken over several draws of the mechanism, so it needs a run that makes them.",
}


IDENTITY_LIMITS = ("max_expected_match_rate", "max_individual", "max_claims_right", "max_mean_individual")
MATCHING_LIMITS = (*IDENTITY_LIMITS, "max_excess_true_match")


# what a section leaves out: always, and where there is nothing to say
RECORD_BY_RECORD = ("individual", "confidence", "right", "chance", "person")
AT_TIMES = ("one_copy", "sampled")


class Finding(Protocol):
    """What a measure found."""

    def section(self) -> Any:
        """Return the measure's section of metrics.json: figures about the file, none about a record."""
        ...


class Identified(Finding, Protocol):
    """What the gate reads of one identity attack: an array of all records each, NaN for those not attacked."""

    @property
    def individual(self) -> Floats:
        """The probability given to each record's own row."""
        ...

    @property
    def confidence(self) -> Floats:
        """The probability given to the row the intruder points at; NaN where they make no claim."""
        ...

    @property
    def right(self) -> Floats:
        """The probability that the claim is right: one over the ties that hold the own row, else 0."""
        ...


class Measure(Protocol):
    """One measure of usefulness or risk.

    ``title`` is what report and terminal call it, ``asks`` its question in a sentence: who the intruder is, or what an
    analyst would notice; ``words`` says of an intruder who points at rows how they go about it. ``limits`` are the
    limits of the gate that read it. Where ``insists``, input that the measure refuses stops the run; otherwise the
    reason stands in the measure's place.
    """

    @property
    def name(self) -> str:
        """How config and metrics.json call it."""
        ...

    @property
    def title(self) -> str:
        """How report and terminal call it."""
        ...

    @property
    def asks(self) -> str:
        """What it asks, in a sentence."""
        ...

    @property
    def words(self) -> str:
        """How an intruder goes about it."""
        ...

    @property
    def needs(self) -> frozenset[Need]:
        """What it cannot do without."""
        ...

    @property
    def limits(self) -> tuple[str, ...]:
        """Which limits of the gate read it."""
        ...

    @property
    def insists(self) -> bool:
        """Whether input that it refuses stops everything."""
        ...

    def take(self, comparison: Comparison, *, rng: np.random.Generator) -> Finding:
        """Take the measure; refuses with InputError, by its name, on files it cannot be taken on."""
        ...

    def judged(self, comparison: Comparison, *, rng: np.random.Generator, found: Any = None) -> Mapping[str, float]:
        """Return the figures that its limits are held against, by target ('' for the file as a whole).

        ``found`` is the section, where it has been taken already.
        """
        ...

    def blocks(self, section: Any) -> tuple[Block, ...]:
        """Return what the report shows of a section; blocks of one title, from several measures, are shown as one."""
        ...


@dataclass(frozen=True)
class Figures:
    """A finding that is nothing but its section, and what stands beside it in metrics.json under names of its own."""

    figures: Any
    beside: Mapping[str, Any] = field(default_factory=dict)

    def section(self) -> Any:
        """Return the figures."""
        return self.figures


@dataclass(frozen=True, repr=False)
class Claims:
    """What an intruder who points at rows says of every record: confidential, not part of :meth:`section`.

    Parameters
    ----------
    individual
        The probability given to the record's own row; NaN for records that were not attacked.
    confidence
        The probability given to the row pointed at, one of several where they are tied; NaN where there is no
        candidate, so no claim, and for records that were not attacked.
    right
        The probability that the claim is right: 1/ties where the own row is one of the best, otherwise 0.
    """

    individual: Floats
    confidence: Floats
    right: Floats

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.individual)} targets)"

    @property
    def true_match_mask(self) -> Booleans:
        """Whether the only best row is the record's own."""
        return np.asarray(self.right == 1.0)

    def section(self) -> dict[str, Any]:
        """Return the attack's section of metrics.json: numbers about the file, none about a record."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in RECORD_BY_RECORD}
        return {name: value for name, value in found.items() if value is not None or name not in AT_TIMES}


@dataclass(frozen=True)
class Plain:
    """A measure made of functions.

    Parameters
    ----------
    function
        Takes the measure: of the files and a generator.
    reads
        Returns what the limits are held against, from the section.
    tells
        Returns what the report shows, from the section.

    Examples
    --------
    >>> Plain("rows", "How many rows?", lambda files, rng: Figures(len(files.original))).needs
    frozenset()
    """

    name: str
    asks: str
    function: Callable[[Comparison, np.random.Generator], Finding]
    needs: frozenset[Need] = frozenset()
    limits: tuple[str, ...] = ()
    title: str = ""
    words: str = ""
    insists: bool = False
    reads: Callable[[Any], Mapping[str, float]] | None = None
    tells: Callable[[Any], Block | None] | None = None

    def take(self, comparison: Comparison, *, rng: np.random.Generator) -> Finding:
        """Call the function."""
        return self.function(comparison, rng)

    def judged(self, comparison: Comparison, *, rng: np.random.Generator, found: Any = None) -> Mapping[str, float]:
        """Read the section, which is taken where it is not there."""
        section = self.take(comparison, rng=rng).section() if found is None else found
        return {} if self.reads is None else self.reads(section)

    def blocks(self, section: Any) -> tuple[Block, ...]:
        """Return the block, if there is one."""
        block = None if self.tells is None else self.tells(section)
        return () if block is None else (block,)


@dataclass(frozen=True)
class Wide(Plain):
    """A measure whose blocks need more than its own section: the sections beside it, and the files themselves."""

    shows: Callable[[Mapping[str, Any], Comparison | None], tuple[Block, ...]] | None = None

    def shown(self, sections: Mapping[str, Any], files: Comparison | None = None) -> tuple[Block, ...]:
        """Return what the report shows, given all sections of usefulness or of risk."""
        return () if self.shows is None else self.shows(sections, files)

    def blocks(self, section: Any) -> tuple[Block, ...]:
        """Return what can be shown of the section alone."""
        return self.shown({self.name: section})


def identifies(measure: Measure) -> bool:
    """Return whether a measure points at rows: its finding tells records apart."""
    return set(IDENTITY_LIMITS) <= set(measure.limits)


def lacking(measure: Measure, comparison: Comparison) -> str | None:
    """Return why a measure cannot be taken on these files; None when it can."""
    if Need.PLAN in measure.needs and comparison.making is None:
        return f"{measure.name}: {MISSING[Need.PLAN]}"
    have = {
        Need.KEYS: bool(comparison.schema.keys()),
        Need.ROWS: comparison.aligned,
        Need.HOLDOUT: comparison.holdout is not None,
    }
    return next((MISSING[need] for need in Need if need in measure.needs and not have.get(need, True)), None)
