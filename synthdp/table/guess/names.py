"""What the name of a column, and its label, say about it.

A name is read as words first (``date_of_birth``, ``dateOfBirth``), then, where a word is not known, as pieces written
together (``motheduc``: mother's education). All of a word must be made of known pieces, so that ``age`` is not found in
``wage``, ``percentage`` or ``agent``.
"""

import re
import unicodedata
from functools import cache

from synthdp.table.guess import vocabulary as known

MOST_PIECES = 4
SHORTEST_STEM = 3
LONGEST_LABEL = 9


def words(name: str) -> tuple[str, ...]:
    """Return the words of a column name, in small letters without accents.

    Examples
    --------
    >>> words("dateOfBirth_2")
    ('date', 'of', 'birth')
    >>> words("État-civil")
    ('etat', 'civil')
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain.replace("ß", "ss").replace("ł", "l").replace("ø", "o"))
    return tuple(re.findall(r"[^\W\d_]+", split.lower()))


@cache
def topic(name: str, label: str = "") -> str | None:
    """Return what an intruder would know the column as, or None; the label is read where the name says nothing.

    Examples
    --------
    >>> topic("Age_raw"), topic("Geschlecht"), topic("RAC1P"), topic("cholesterol")
    ('age', 'sex', 'origin', None)
    >>> topic("motheduc"), topic("percentage"), topic("v7", "Age of respondent"), topic("v8", "Ideal age to marry")
    ('education', None, 'age', None)
    """
    whole = plain(name)
    found = [part for word in words(name) for part in (pieces(word) or (word,))]
    if whole in known.CODED:
        return known.CODED[whole]
    of_words = next((topic for topic, some in known.KEYS.items() if some & set(words(name))), None)
    of_pieces = next((topic for topic in known.KEYS if any(known.STEMS.get(part) == topic for part in found)), None)
    return of_words or of_pieces or (_topic_of_label(label) if label else None)


def plain(name: str) -> str:
    """Return a name in small letters, letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def pieces(word: str) -> tuple[str, ...]:
    """Return the known pieces a word is written of, as few as possible, or nothing.

    Examples
    --------
    >>> pieces("husage"), pieces("kidslt"), pieces("wage"), pieces("agent")
    (('hus', 'age'), ('kids', 'lt'), ('wage',), ())
    """
    if word in known.WHOLE:
        return ()
    for most in range(1, MOST_PIECES + 1):
        found = _split(word, most, first=True)
        if found is not None and any(len(part) >= SHORTEST_STEM and part in known.STEMS for part in found):
            return found
    return ()


def _split(word: str, most: int, *, first: bool) -> tuple[str, ...] | None:
    if not word:
        return ()
    if most == 0:
        return None
    for size in range(len(word), 0, -1):
        part = word[:size]
        fits = part in known.STEMS or (part in known.BESIDE and (first or part not in known.SINGLE))
        rest = _split(word[size:], most - 1, first=False) if fits else None
        if rest is not None:
            return (part, *rest)
    return None


def _topic_of_label(label: str) -> str | None:
    found = [word for word in words(label) if len(word) > 1]
    if not found or len(found) > LONGEST_LABEL or "?" in label or set(found) & known.VETOES:
        return None
    telling = set(found) - known.VAGUE
    if telling & known.PLACES:
        return "place"
    return next((topic for topic, some in known.KEYS.items() if some & telling), None)


def is_identifier(name: str, label: str = "") -> bool:
    """Return whether the name is that of a direct identifier."""
    named = any(word in known.IDENTIFIERS or word.endswith(known.IDENTIFIER_ENDINGS) for word in words(name))
    return named or bool({"identifier", "identification"} & set(words(label)))


def is_unordered(name: str, label: str = "") -> bool:
    """Return whether whole numbers in such a column are codes without an order."""
    some = words(name)
    if set(some) & known.SIZES:
        return False
    named = bool(set(some) & known.UNORDERED_WORDS) or any(word.endswith(known.UNORDERED_ENDINGS) for word in some)
    said = bool(set(words(label)) & known.CODE_LABELS) and not set(words(label)) & known.VETOES - {"injury"}
    about = topic(name, label)
    return about in known.UNORDERED or (about not in ("education", "age", "income") and (named or said))


def is_month(name: str, label: str = "") -> bool:
    """Return whether the column holds months of the year."""
    some = {part for word in words(name) for part in (pieces(word) or (word,))} | set(words(label))
    return bool(some & known.MONTHS) or plain(name).startswith(known.MONTH_STARTS)


def means(name: str, table: frozenset[str], label: str = "") -> bool:
    """Return whether a name, as a whole, without its digits or as one of its words, is in a table."""
    whole = plain(name)
    return bool({whole, re.sub(r"[0-9]", "", whole), *words(name), *words(label)} & table)
