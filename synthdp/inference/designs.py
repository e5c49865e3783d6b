"""Does a combining rule fit how the copies were made? If not, why not."""

from collections.abc import Iterator

from synthdp.designs import Design, rule_for
from synthdp.inference.rules import RULES, SINGLE_COPY_RULE, unknown_rule

__all__ = ["Design", "rule_for", "unfit"]


def unfit(rule: str, design: Design) -> str | None:
    """Return why a rule does not fit a design, in a sentence, or None.

    ``mean_se`` is never refused: it is labelled, wherever it is shown, as being without the variance of synthesis.

    Examples
    --------
    >>> print(unfit("rubin1987", Design(replaced="some", proper=True, copies=5)))
    rubin1987 is for imputed missing data, and nothing was imputed here: intervals come out too wide; use reiter2003.
    """
    if sentence := unknown_rule(rule):
        return f"{sentence}."
    if rule == SINGLE_COPY_RULE:
        return None
    reason = next(_reasons(rule, design), None)
    if reason is not None:
        advice = rule_for(design)
        return f"{rule} {reason}; use {advice if not _too_few(advice, design) else SINGLE_COPY_RULE}."
    if found := _too_few(rule, design):
        return f"{rule} {found}; give more copies, or ask for {SINGLE_COPY_RULE}."
    return None


def _reasons(rule: str, design: Design) -> Iterator[str]:
    if rule.startswith("raab2016"):
        yield from _whole(design)
        if rule.endswith("_proper") and not design.proper:
            yield "assumes parameters drawn anew for each copy, and here the model was fitted once: too wide"
        if not rule.endswith("_proper") and design.proper:
            yield "assumes a model fitted once, and here each copy has parameters of its own: too short"
    elif rule == "raghunathan2003":
        yield from _whole(design)
        if not design.proper:
            yield "assumes parameters drawn anew for each copy, and here the model was fitted once: of no use"
    elif rule == "reiter2003":
        if design.replaced == "none":
            yield "is for synthetic copies, and here nothing was replaced: intervals come out too short"
        if design.imputed and design.imputations > 1:
            yield f"takes no account of the missing data, here imputed {design.imputations} times: too short"
        if design.mask_draws > 1:
            yield f"assumes independent copies, and here they share {design.mask_draws} draws of W: a little too short"
        if design.replaced == "all" and not design.masked and design.ratio != 1:
            yield "needs copies as large as the original when all columns are drawn anew, and these are not"
    elif rule == "rubin1987":
        if not design.imputed:
            yield "is for imputed missing data, and nothing was imputed here: intervals come out too wide"
        if design.copies > 1 and design.imputations > 1:
            yield "assumes independent imputations, and here several copies come from each"
        if design.replaced != "none" and design.copies > 1:
            yield "treats replaced values as missing ones: intervals come out too wide"
    elif rule == "reiter2004":
        if not design.imputed or design.imputations < 2:
            yield "is for copies of several completed originals, and here there is one"
        if design.replaced == "none":
            yield "is for synthetic copies of completed originals, and here nothing was replaced"
    elif rule == "rubin2003":
        if not design.imputed or design.imputations < 2:
            yield "is for missing data imputed in two stages, and here they were not"
        if design.replaced != "none":
            yield "treats replaced values as missing ones: intervals come out too wide"
    elif design.mask_draws < 2:
        yield "is for several draws of W that copies share, and here there are none"


def _whole(design: Design) -> Iterator[str]:
    """Yield why copies are not samples from a model alone."""
    if design.replaced != "all":
        yield "assumes that every column is drawn anew, and here some are kept"
    if design.masked:
        yield "assumes copies drawn from the model alone, and here W brings in the records' own values"
    if design.imputed:
        yield "assumes a complete original, and here missing values were imputed"


def _too_few(rule: str, design: Design) -> str | None:
    known = RULES[rule]
    found = design.copies if known.nested else design.files
    if found >= known.fewest:
        return None
    each = " of each" if known.nested else ""
    return f"needs at least {known.fewest} copies{each}, found {found}"
