"""The combining rules by name, and whether one fits how copies were made."""

import difflib
from collections.abc import Mapping

from synthdp import plugins
from synthdp.inference.rules.rule import Formula, Replicates, Rule, Spread
from synthdp.synthesis.design import Design, rule_for

__all__ = [
    "DEFAULT_RULE",
    "RULES",
    "SINGLE_COPY_RULE",
    "Formula",
    "Replicates",
    "Rule",
    "Spread",
    "unfit",
    "unknown_rule",
]

DEFAULT_RULE = "reiter2003"
SINGLE_COPY_RULE = "mean_se"
RULES: Mapping[str, Rule] = plugins.Registry("rules")
# how alike two names must be for a typing error, as difflib has it
_ALIKE = 0.6


def unknown_rule(rule: str) -> str | None:
    """Return a sentence when there is no such rule, with the nearest one that there is."""
    if rule in RULES:
        return None
    likeness = {name: difflib.SequenceMatcher(None, name, rule).ratio() for name in RULES}
    nearest = max(RULES, key=likeness.__getitem__)
    hint = f"did you mean {nearest!r}?" if likeness[nearest] >= _ALIKE else f"choose from {', '.join(RULES)}"
    return f"no combining rule named {rule!r}; {hint}"


def unfit(rule: str, design: Design) -> str | None:
    """Return why a rule does not fit a design, in a sentence, or None.

    Examples
    --------
    >>> print(unfit("rubin1987", Design(replaced="some", proper=True, copies=5)))
    rubin1987 is for imputed missing data, and nothing was imputed here: intervals come out too wide; use reiter2003.
    """
    if sentence := unknown_rule(rule):
        return sentence if sentence.endswith("?") else f"{sentence}."
    reason = next(RULES[rule].reasons(design), None)
    if reason is not None:
        advice = rule_for(design)
        return f"{rule} {reason}; use {advice if not RULES[advice].too_few(design) else SINGLE_COPY_RULE}."
    if found := RULES[rule].too_few(design):
        return f"{rule} {found}; give more copies, or ask for {SINGLE_COPY_RULE}."
    return None
