"""What is guessed about one column, and which kept columns a person must decide on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.exposure import LARGEST_SET, SHARE, evaluate_exposure
from synthdp.evaluation.risk.undecided import questions, undecided
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Design, Kind, Level, Role, Schema


@dataclass(frozen=True)
class Guess:
    """One column: what it is, what should happen to it, why, and what a person must decide.

    Parameters
    ----------
    key
        Whether an intruder may know it; None where only a person can say.
    evidence
        What speaks for the guess: counts and shares, no values.
    decide
        Sentences about what only a person can decide.
    question
        Whether an intruder may know it, with figures, where ``run`` will ask.
    design
        Its part in the survey's design, as ``data`` will say.
    technical
        Whether it belongs to the survey's design at all: a second weight, the number of a household.
    constant
        Whether all records have the same value.
    keep_anyway
        Whether it is kept although it gives a replaced column away.
    """

    name: str
    role: Role
    kind: Kind | None = None
    key: bool | None = None
    levels: tuple[Level, ...] = ()
    tolerance: float | None = None
    decimals: int | None = None
    log: bool = False
    derived: str | None = None
    applies_when: str | None = None
    applies_exceptions: float = 0.0
    evidence: tuple[str, ...] = ()
    decide: tuple[str, ...] = ()
    question: str | None = None
    design: Design | None = None
    technical: bool = False
    constant: bool = False
    keep_anyway: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.kind is not None and not self.kind.categorical and self.kind is not Kind.DATE


HARMLESS = f"no key: no set of up to {LARGEST_SET} kept columns with it makes more than {SHARE:.0%} unique"
LABEL = "no key: the label of a cluster tells nothing by itself"
RECOMPUTED = "no key of its own: its sources are judged"


@dataclass(frozen=True)
class Decided:
    """The columns with ``key`` settled, and what is left for a person.

    Parameters
    ----------
    asked
        The undecided columns, those first whose decision settles most.
    alone
        How many records are alone on the kept keys together.
    unique
        The share of records that are unique on all kept columns together.
    """

    guesses: dict[str, Guess]
    asked: tuple[str, ...]
    alone: int
    unique: float


def decide(guesses: Mapping[str, Guess], data: Microdata) -> Decided:
    """Settle ``key`` for every column, or give it the question that only a person can answer.

    Parameters
    ----------
    guesses
        Roles as they will be written; keys that are known by name have ``key: True``.
    data
        The table, missing codes gone, dropped columns possibly still there.

    Notes
    -----
    Costs what ``run`` needs for the same questions (:mod:`synthdp.evaluation.risk.undecided`).
    """
    columns = tuple(
        column.model_copy(
            update={
                "role": guess.role,
                "key": bool(guess.key),
                "key_decided": guess.key is not None,
                "design": guess.design,
            }
        )
        for column in data.schema.columns
        if (guess := guesses[column.name]).role is not Role.DROP
    )
    written = Microdata(data.frame, Schema(columns=columns))
    found = undecided(written)
    asked = dict(zip((one.name for one in found), questions(written, found, most=len(found)), strict=True))
    exposure = evaluate_exposure(Comparison(written.frame, (), written.schema, aligned=True), size=1)
    return Decided(
        {name: _settled(guess, asked.get(name)) for name, guess in guesses.items()},
        tuple(asked),
        int(exposure.alone.sum()),
        float(exposure.unique.mean()),
    )


def _settled(guess: Guess, question: str | None) -> Guess:
    if guess.role is Role.DROP or guess.key is not None:
        return guess
    if question is not None:
        return replace(guess, question=question)
    why = RECOMPUTED if guess.role is Role.DERIVED else LABEL if guess.design == "cluster" else HARMLESS
    return replace(guess, key=False, evidence=(*guess.evidence, why))
