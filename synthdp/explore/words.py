"""What the words and figures on the page mean; of limits and measures, what the registry says."""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html

from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.measures import RISK, UTILITY

WORDS: Mapping[str, str] = {
    "role": "replace: drawn anew from the model and what the mask lets through. keep: released unchanged. drop: gone "
    "before anything else happens.",
    "key": "Whether somebody outside may know this of a person and find them by it. Undecided columns are asked about.",
    "usefulness": "How well intervals of analyses on the copies overlap those on the original: 1 is identical, 0 means "
    "that they only touch.",
    "risk / limit": "The largest of all risks that the gate judges, as a multiple of its limit; at most 1 passes.",
    "octave": "Twice as much noise. Two steps of a slider.",
    "risk group": "Records with many look-alikes on the keys are low, those with few are medium or high.",
}
# what stands at the head of a table, or in a headline, and is explained beside it
FIGURES: Mapping[str, str] = {
    "alone": "A record is alone on some columns if no other record has the same values in all of them: whoever knows "
    "them of a person knows which record is that person's.",
    "alone on it": "Records that no other one equals on this column by itself.",
    "alone without it": "Records that are still alone when this column is not known.",
    "it adds": "Records that are alone only because this column is known too.",
    "closest limit": "The limit that is used up most.",
    "limits": "Whether every risk that masks can change was within its limit in the trial.",
    "intruder": "Who tries it, and with what. Of several, the one who comes closest to the limit or goes furthest "
    "beyond.",
    "value": "The mean over all draws.",
    "95% interval": "Where the mean would lie with more draws. Of a risk its upper end must stay within the limit.",
    "limit": "The most that is let pass; of usefulness the least.",
    "overlap": "How far the 95% interval of an analysis on the copies overlaps that on the original: 1 is identical, 0 "
    "means that they only touch, less that they lie apart.",
    "difference": "How far apart the two estimates are, in standard errors of the original.",
    "group": WORDS["risk group"],
    "noise": "How strong all masks together were, as a multiple of where the search began with these settings.",
    "nobody beats it": "No other method is better on one of the two axes without being worse on the other.",
}


def meaning(name: str) -> str:
    """Return what a word, a limit or a measure means; empty where nobody says.

    Examples
    --------
    >>> meaning("panel")[:3]
    'How'
    >>> meaning("Overlap")[:7]
    'How far'
    """
    if name in LIMITS:
        asked = [one.asks for side in (RISK, UTILITY) for one in side.values() if name in one.limits]
        brief = LIMITS[name].brief
        return f"{name}: {brief}." + (f" {asked[0]}" if asked else "")
    own = WORDS.get(name.lower(), FIGURES.get(name.lower(), ""))
    return own or next((str(side[name].asks) for side in (UTILITY, RISK) if name in side), "")


def what(name: str) -> html.Details | str:
    """Return "what is this?" for a word, a limit or a measure; empty where nobody says."""
    said = meaning(name)
    return asked("what is this?", f"what is {name}?", [html.P(said)]) if said else ""


def heads(names: Sequence[str]) -> html.Details | str:
    """Return what the heads of a table mean; empty where they speak for themselves."""
    known = [name for name in names if meaning(name)]
    return asked("what is this?", f"what do {', '.join(known)} mean?", [_listed(known)]) if known else ""


def words() -> html.Details:
    """Return what the words on the page mean."""
    return asked("What do these words mean?", "What do these words mean?", [_listed(list(WORDS))])


def asked(summary: str, label: str, inside: list[Any]) -> html.Details:
    """Return an explanation that unfolds."""
    return html.Details([html.Summary(summary, **{"aria-label": label}), *inside], className="what")


def _listed(names: Sequence[str]) -> html.Dl:
    return html.Dl([part for name in names for part in (html.Dt(name), html.Dd(meaning(name)))])
