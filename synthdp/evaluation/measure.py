"""What every measure of usefulness and risk has in common: a name, a question, what it needs, and a finding."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

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


class Finding(Protocol):
    """What a measure found."""

    def section(self) -> Any:
        """Return the measure's section of metrics.json: figures about the file, none about a record."""
        ...


class Measure(Protocol):
    """One measure of usefulness or risk.

    ``asks`` is its question in a sentence: who the intruder is, or what an analyst would notice. ``limits`` are the
    limits of the gate that read it.
    """

    @property
    def name(self) -> str:
        """How config, metrics.json and report call it."""
        ...

    @property
    def asks(self) -> str:
        """What it asks, in a sentence."""
        ...

    @property
    def needs(self) -> frozenset[Need]:
        """What it cannot do without."""
        ...

    @property
    def limits(self) -> tuple[str, ...]:
        """Which limits of the gate read it."""
        ...

    def take(self, comparison: Comparison, *, rng: np.random.Generator) -> Finding:
        """Take the measure; refuses with InputError, by its name, on files it cannot be taken on."""
        ...


@dataclass(frozen=True)
class Figures:
    """A finding that is nothing but its section."""

    figures: Any

    def section(self) -> Any:
        """Return the figures."""
        return self.figures


@dataclass(frozen=True)
class Plain:
    """A measure made of a function.

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

    def take(self, comparison: Comparison, *, rng: np.random.Generator) -> Finding:
        """Call the function."""
        return self.function(comparison, rng)


def lacking(needs: frozenset[Need], comparison: Comparison) -> str | None:
    """Return why a measure with these needs cannot be taken on these files; None when it can."""
    have = {
        Need.KEYS: bool(comparison.schema.keys()),
        Need.ROWS: comparison.aligned,
        Need.HOLDOUT: comparison.holdout is not None,
    }
    return next((MISSING[need] for need in Need if need in needs and not have.get(need, True)), None)
