"""Known words written short: without vowels (``mrtl``), cut off (``ethni``), with a stop (``indus.``), misspelt."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

SHORTEST_CUT = 5
SHORTEST_SKELETON = 3
SHORTEST_DOTTED = 4
# words that people shorten, by what they are about
SHORTENED: Mapping[str, str] = {
    word: topic
    for topic, words in {
        "birth": "birthday birthdate birthyear birthmonth",
        "sex": "gender female",
        "origin": "ethnicity religion nationality citizenship country immigrant hispanic language indigenous migrant "
        "birthplace denomination",
        "place": "region county district province municipality department village community residence urban rural "
        "neighborhood metropolitan",
        "education": "education schooling qualification university college",
        "marital": "marital married divorced widowed separated",
        "occupation": "occupation occupational industry industrial profession manufacturing",
        "household": "household children siblings dependents family",
        "income": "income earnings salary wages",
        "disability": "disability disabled",
        "veteran": "veteran military",
    }.items()
    for word in words.split()
}
# beginnings that are also those of other words
AMBIGUOUS = frozenset(
    ("count", "distr", "provi", "house", "resid", "depar", "commu", "commun", "famil", "depen", "profe", "profess")
)


@cache
def topic(word: str) -> str | None:
    """Return what a shortened word is about, or None where it is none or may be several.

    Examples
    --------
    >>> topic("mrtl"), topic("rgn"), topic("ethni"), topic("maried"), topic("count"), topic("cost")
    ('marital', 'place', 'origin', 'marital', None, None)
    """
    about = {of for one, of in SHORTENED.items() if _cut(word, one) or _without_vowels(word, one) or _single(word, one)}
    return about.pop() if len(about) == 1 else None


def _cut(word: str, one: str) -> bool:
    return len(word) >= SHORTEST_CUT and word not in AMBIGUOUS and word != one and one.startswith(word)


def _without_vowels(word: str, one: str) -> bool:
    """Return whether a word is another's consonants, the first letter kept, perhaps without its last ones."""
    bare = one[0] + re.sub(r"[aeiou]", "", one[1:])
    doubled = re.sub(r"(.)\1", r"\1", bare)
    enough = len(word) >= SHORTEST_SKELETON and not re.search(r"[aeiou]", word[1:])
    return enough and (word in (bare, doubled) or (len(word) > SHORTEST_SKELETON and bare.startswith(word)))


def _single(word: str, one: str) -> bool:
    """Return whether words differ only in letters that stand twice: ``maried``, ``occuppation``."""
    return len(word) > SHORTEST_CUT and word != one and _undoubled(word) == _undoubled(one)


@cache
def _undoubled(word: str) -> str:
    return re.sub(r"(.)\1", r"\1", word)


def of_label(label: str) -> str | None:
    """Return what the words of a label that end with a full stop are short for.

    Examples
    --------
    >>> of_label("=1 if in services indus."), of_label("hours per week")
    ('occupation', None)
    """
    found: Sequence[str] = re.findall(rf"([a-z]{{{SHORTEST_DOTTED},}})\.", label.lower())
    about = {of for short in found for one, of in SHORTENED.items() if one.startswith(short)}
    return about.pop() if len(about) == 1 else None
