"""The page a person reads and signs: everything it says, in one frozen object; how it looks is decided elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.intruders import Intruder


@dataclass(frozen=True)
class MaskLine:
    """One mask in words: which column, for which risk group, how strong.

    Examples
    --------
    >>> MaskLine("age", "high", "Gaussian noise, sd 1.5 of the column's own sd").group
    'high'
    """

    column: str
    group: str
    description: str


@dataclass(frozen=True, repr=False)
class ReportContent:
    """What the page shows. The seed is a key that removes the mask, so there is no place for it here.

    Parameters
    ----------
    title
        Heading of the page.
    data_name
        What the confidential file is called.
    comparison
        The original and its copies; only counts and summaries of it reach the page.
    metrics
        The structure of ``metrics.json``. Any part may be missing or None; a part that could not be computed may
        carry ``reason``, which is then shown.
    baseline_risk
        Shaped like ``metrics["risk"]["identity"]``, for the original matched against itself.
    masks
        One line per column and risk group.
    method, model
        The synthesizer and its association model; ``external`` for files made by another tool.
    copies
        Number of synthetic files.
    mask_draw
        ``per_copy``, ``once`` or ``once_orthogonal``.
    notes
        Warnings for the signatory.
    versions
        Version by name of program.
    dropped
        Names of the columns that were removed before anything else happened.
    intruders
        The user's own intruders by name, to say in words what they know.
    labels
        What columns are called in words, where their file says so.
    sampled_from
        How many records the file has, where the comparison is of a sample of them.
    """

    title: str
    data_name: str
    comparison: Comparison
    metrics: Mapping[str, Any]
    baseline_risk: Mapping[str, Any]
    masks: tuple[MaskLine, ...]
    method: str
    model: str
    copies: int
    mask_draw: str
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    dropped: tuple[str, ...] = ()
    intruders: Mapping[str, Intruder] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    sampled_from: int | None = None

    @property
    def records(self) -> int:
        """How many records the file has."""
        return self.sampled_from or len(self.comparison.original)

    def __repr__(self) -> str:
        return f"ReportContent({self.comparison!r})"
