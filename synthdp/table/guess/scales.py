"""The order of answers: scales of words, and ranges of numbers."""

import re
from collections.abc import Sequence

_SCALES = (
    "strongly disagree|disagree|somewhat disagree|neither agree nor disagree;neutral;undecided|somewhat agree|agree|"
    "strongly agree",
    "never|almost never|rarely;seldom|sometimes;occasionally|often;frequently|very often|almost always|always",
    "very poor|poor|fair;average|good|very good|excellent",
    "terrible|poor|ok;okay|good|great",
    "bad|good|better|best",
    "never|rarely|sometimes|frequently",
    "non-travel|travel rarely|travel frequently",
    "fail|pass|merit|distinction",
    "less than high school;no hs;< high school;lt hs;less than hs;lt high school;below college;primary;"
    "below high school|"
    "some high school;some hs|high school;hs;hs grad;high school grad;high school graduate;hs graduate|"
    "some college;somcol;some coll;college|associate;associates;associate's;junior college;2-year degree|"
    "bachelor;bachelors;bachelor's;college grad;college graduate;bachelor's degree;4-year degree|"
    "graduate;grad;master;masters;master's;advanced;advanced degree;post-grad;postgraduate;graduate degree|"
    "doctor;doctorate;phd;doctoral",
    "very bad|bad|fair;average;medium|good|very good",
    "very low|low|medium;moderate;middle|high|very high",
    "none|mild;slight|moderate|severe|very severe;extreme",
    "not at all|a little;slightly|somewhat;moderately|quite a bit;a lot|very;very much|extremely",
    "very dissatisfied|dissatisfied|mostly dissatisfied|neutral;mixed;neither|mostly satisfied|satisfied|"
    "very satisfied",
    "terrible|unhappy|mostly dissatisfied|mixed|mostly satisfied|pleased|delighted",
    "very unlikely|unlikely|neutral|likely|very likely",
    "none|passive|active",
    "no|no opinion;don't know;not sure;unsure;maybe|yes",
    "small|medium|large|very large",
    "first|second|third|fourth|fifth",
    "i|ii|iii|iv|v",
    "trifft nicht zu;stimme nicht zu|trifft eher nicht zu;stimme eher nicht zu|teils teils;teils/teils|"
    "trifft eher zu;stimme eher zu|trifft zu;stimme zu",
    "nie|selten|manchmal|oft;häufig|immer",
    "jamais|rarement|parfois|souvent|toujours",
    "nunca|raramente;rara vez|a veces;às vezes|a menudo;frequentemente|siempre;sempre",
    "no education|primary;primary/no education|vocational;vocational/grammar|secondary|"
    "post-secondary or higher;tertiary;higher",
)
_RANKS = [{word: rank for rank, same in enumerate(scale.split("|")) for word in same.split(";")} for scale in _SCALES]
_NUMBER = r"\d[\d.,' ]*"
_RANGE = re.compile(
    rf"^(?P<under><|≤|<=|under|below|less than|up to|lt|le)?(?P<above>>|≥|>=|over|above|more than|gt|ge)?\s*[$€£]?\s*"
    rf"(?P<low>{_NUMBER})\s*k?\s*((-|–|to|bis|t)\s*[$€£]?\s*{_NUMBER}\s*k?)?\s*"
    r"(?P<over>\+|and over|and more|or more|and older|plus)?\s*"
    r"(years?|yrs?|y|months?|km/h|kg|cm|mm|%|k|usd|eur)?\s*(old)?$"
)
# as R's cut writes them: (19,39], [40,Inf)
_INTERVAL = re.compile(r"^[\[(](-?inf|-?[\d.e+]+),\s*(inf|-?[\d.e+]+)[\])]$")


def in_order(levels: Sequence[str]) -> list[str] | None:
    """Return at least three texts in the order of their scale, or None when they have none.

    Examples
    --------
    >>> in_order(["often", "never", "sometimes"])
    ['never', 'sometimes', 'often']
    >>> in_order(["25-34", "16-24", "65+"])
    ['16-24', '25-34', '65+']
    >>> in_order(["red", "green", "blue"]) is None
    True
    """
    if len(levels) < 3:
        return None
    plain = {level: " ".join(level.lower().replace("`", "'").replace("_", " ").split()) for level in levels}
    for ranks in _RANKS:
        if all(word in ranks for word in plain.values()):
            return _sorted(levels, {level: float(ranks[word]) for level, word in plain.items()})
    starts: dict[str, float] = {}
    ranges = 0
    lows = {level: float(found[1]) for level, word in plain.items() if (found := _INTERVAL.match(word)) is not None}
    if len(lows) == len(levels):
        return _sorted(levels, lows)
    for level, word in plain.items():
        match = _RANGE.match(word)
        # plain numbers are no ranges, and at least a sign must say so somewhere
        if match is None:
            return None
        ranges += not word.replace(".", "").isdigit()
        low = float(re.sub(r"[,' ]", "", match["low"]).rstrip(".") or 0)
        starts[level] = low - 0.5 if match["under"] else low + 0.5 if match["above"] else low
    return _sorted(levels, starts) if ranges else None


def _sorted(levels: Sequence[str], place: dict[str, float]) -> list[str] | None:
    """Return the levels by place, or None when two share one."""
    return sorted(levels, key=place.__getitem__) if len(set(place.values())) == len(levels) else None
