"""What is guessed about one column."""

from dataclasses import dataclass

from synthdp.schema import Kind, Level, Role


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
    evidence: tuple[str, ...] = ()
    decide: tuple[str, ...] = ()
    question: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.kind is not None and not self.kind.categorical and self.kind is not Kind.DATE
