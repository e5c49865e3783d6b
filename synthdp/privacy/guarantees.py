"""What a release as a whole promises: ε and δ under a stated adjacency, or why it promises nothing."""

from dataclasses import dataclass
from typing import Any

from synthdp.privacy.accounting.events import Event
from synthdp.privacy.parameters import Adjacency


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of the mechanism that made the copies; copies drawn from its output cost nothing more.

    Parameters
    ----------
    epsilon, delta, adjacency
        The claim.
    source
        ``secure`` or ``simulated`` noise.
    event
        What was done, for the accountants: its cost is at most the claim.
    withdrawn
        Why the claim does not hold for the release (something looked at the data and chose); None when it does.

    Examples
    --------
    >>> from synthdp.privacy.accounting.events import Pure
    >>> Guarantee(1.0, 0.0, "replace", "secure", Pure(1.0)).section()["epsilon"]
    1.0
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    source: str
    event: Event
    withdrawn: str | None = None

    def section(self) -> dict[str, Any]:
        """Return what metrics.json says under ``privacy``; ε is None when the claim is withdrawn."""
        holds = self.withdrawn is None
        return {
            "epsilon": self.epsilon if holds else None,
            "delta": self.delta if holds else None,
            "adjacency": self.adjacency if holds else None,
            "source": self.source,
            "statement": self.statement(),
        }

    def statement(self) -> str:
        """Return the claim as a sentence for a privacy officer."""
        if self.withdrawn is not None:
            return (
                f"No epsilon is claimed for the release, although its copies come from a differentially private "
                f"mechanism: {self.withdrawn}."
            )
        slack = f", δ = {self.delta:g}" if self.delta else ""
        said = f"The release is differentially private: ε = {self.epsilon:g}{slack}, adjacency {self.adjacency}"
        if self.source == "simulated":
            return said + "; its noise is simulated from a seed, so it must not be published."
        return said + " (neighbours have the same number of records and differ in one)."
