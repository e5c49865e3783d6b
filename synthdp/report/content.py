"""Everything the report says, gathered in one frozen object; how it looks is decided elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.intruders import Intruder
from synthdp.report.plots import Figure


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

    def __repr__(self) -> str:
        return f"ReportContent({self.comparison!r})"


@dataclass(frozen=True)
class Table:
    """A table ready to be shown.

    Parameters
    ----------
    caption
        What the table holds, for readers and screen readers alike.
    head
        Column headings.
    rows
        Cells as text; the first cell of a row is its heading.
    align
        One letter per column: ``l`` for words, ``r`` for numbers.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str


@dataclass(frozen=True)
class Block:
    """One kind of risk in words, sentences, tables and plots; ``absent`` says why there are no figures."""

    title: str
    words: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    absent: str = ""
    figures: tuple[Figure, ...] = ()


def find(metrics: Mapping[str, Any] | None, *path: str) -> Any:
    """Return what lies at the path, or None where any step of it is missing.

    Examples
    --------
    >>> find({"utility": {"pmse": None}}, "utility", "pmse", "logit") is None
    True
    """
    here: Any = metrics
    for step in path:
        if not isinstance(here, Mapping):
            return None
        here = here.get(step)
    return here


def entries(found: Any) -> list[Mapping[str, Any]]:
    """Return the sections in a list; none where there is no list, and without what is no section.

    Examples
    --------
    >>> entries([{"k": 1}, None]), entries({"reason": "no keys"})
    ([{'k': 1}], [])
    """
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def reason(section: Any) -> str:
    """Return why a section holds no figures, without its full stop; empty where it says nothing."""
    return str(find(section, "reason") or "").rstrip(".")
