"""How copies came about, as far as inference from them depends on it, and the combining rule that this calls for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Replaced = Literal["none", "some", "all"]
NOTHING_MASKED = "none"
MARKS = ("altered", "completed")
"""What ``release.json`` says of designs that have it, and leaves out of others."""


@dataclass(frozen=True)
class Design:
    """The design of a release; nothing in it depends on a record.

    Parameters
    ----------
    replaced
        Which of the released columns are drawn anew: ``none`` (missing values were imputed, no more), ``some``,
        ``all``. Columns computed from the others do not count.
    proper
        Whether every copy has parameters drawn anew; otherwise the model was fitted once.
    mask_draw
        ``per_copy``, ``once`` or ``once_orthogonal``; ``none`` when nothing was masked.
    imputed
        Whether missing values were imputed before the copies were made.
    imputations, mask_draws
        How many completed originals, and how many draws of W that several copies share.
    copies
        Copies of each.
    ratio
        Records of a copy over records of the original.
    altered
        Whether replaced columns are the records' own values with errors in them, and no draws from a model: no rule
        knows of the bias.
    completed
        Whether copies complete masked records, the only ones that their parameters were drawn from: imputations of the
        original given W.

    Examples
    --------
    >>> rule_for(Design(replaced="all", proper=False, copies=5))
    'raab2016'
    """

    replaced: Replaced
    proper: bool
    copies: int
    mask_draw: str = NOTHING_MASKED
    imputed: bool = False
    imputations: int = 1
    mask_draws: int = 1
    ratio: float = 1.0
    altered: bool = False
    completed: bool = False

    @property
    def masked(self) -> bool:
        """Whether something of the true values passes through a mask."""
        return self.mask_draw != NOTHING_MASKED

    @property
    def nests(self) -> int:
        """How many groups of copies share something that was drawn for them."""
        return self.imputations * self.mask_draws

    @property
    def files(self) -> int:
        """How many copies there are in all."""
        return self.nests * self.copies

    def facts(self) -> dict[str, Any]:
        """Return what ``release.json`` says beyond its own ``imputations``, ``copies`` and ``mask_draw``."""
        names = ("replaced", "proper", "imputed", "mask_draws", "ratio")
        found = {name: getattr(self, name) for name in names}
        return found | {name: True for name in MARKS if getattr(self, name)}

    @classmethod
    def of(cls, contents: Mapping[str, Any]) -> "Design | None":
        """Return the design that a ``release.json`` tells; None when it tells none (made by another tool)."""
        facts = contents.get("design")
        if not isinstance(facts, Mapping) or not {"replaced", "proper"} <= set(facts):
            return None
        known = {
            name: facts[name]
            for name in ("replaced", "proper", "imputed", "mask_draws", "ratio", *MARKS)
            if name in facts
        }
        return cls(
            **known,
            imputations=int(contents.get("imputations", 1)),
            copies=int(contents["copies"]),
            mask_draw=contents.get("mask_draw") or NOTHING_MASKED,
        )


def rule_for(design: Design) -> str:
    """Return the combining rule that a design calls for.

    Notes
    -----
    * Own values altered by a masking: ``mean_se``, as no rule knows of the errors.
    * Masked records completed by parameters that saw nothing else: ``rubin1987``, as the original is what is missing.
    * Missing values imputed, nothing replaced: ``rubin1987``, or ``rubin2003`` when imputed in two stages.
    * Imputed and then replaced: ``reiter2004``. With one copy of each completed original its b̄ cannot be had, and
      ``rubin1987`` is the safe choice (too wide by b).
    * Several draws of W, each shared by some copies: ``reiter2003_nested``.
    * All columns drawn from a model, nothing masked: ``raab2016``, or ``raab2016_proper`` when each copy has parameters
      of its own (``raghunathan2003`` fits that design too, but needs many copies).
    * Otherwise ``reiter2003``.
    """
    if design.altered:
        return "mean_se"
    if design.completed:
        return "rubin1987"
    if design.replaced == "none":
        if not design.imputed:
            return "mean_se"
        return "rubin2003" if design.imputations > 1 and design.copies > 1 else "rubin1987"
    if design.imputed and design.imputations > 1:
        return "reiter2004" if design.copies > 1 else "rubin1987"
    if design.mask_draws > 1:
        return "reiter2003_nested"
    if design.replaced == "all" and not design.masked:
        return "raab2016_proper" if design.proper else "raab2016"
    return "reiter2003"
