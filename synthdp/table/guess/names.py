"""What the name of a column, and its label, say about it.

A name is read as words first (``date_of_birth``, ``dateOfBirth``), then, where a word is not known, as pieces written
together (``motheduc``: mother's education). All of a word must be made of known pieces, so that ``age`` is not found in
``wage``, ``percentage`` or ``agent``.
"""

import re
import unicodedata
from functools import cache

from synthdp.table.guess import abbreviations
from synthdp.table.guess import vocabulary as known

MOST_PIECES = 4
SHORTEST_STEM = 3
LONGEST_LABEL = 9
LONG_STEM = 4
SHORTEST_CUT = 6
RATIO = "to"  # debt_to_income
# a label that says how a column was computed: age - educ - 6, exper^2
FORMULA = re.compile(r"\^|\w \* \w|[a-z)] - [a-z\d(]+ -|/ ?\(")


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
    if is_vetoed(name):
        return None
    found = [part for word in words(name) for part in (pieces(word) or (word,))]
    together = "".join(words(name))
    coded = "".join(word for word in words(name) if word not in known.CODE_WORDS)
    if whole in known.CODED or coded in known.CODED:
        return known.CODED.get(whole) or known.CODED[coded]
    of_words = next((topic for topic, some in known.KEYS.items() if some & set(words(name))), None)
    of_pieces = next((topic for topic in known.KEYS if any(known.STEMS.get(part) == topic for part in found)), None)
    if (of_words or of_pieces) == "birth" and set(found) & known.AT_BIRTH:
        return None
    if (of_words or of_pieces) in known.SPENT and set(words(name)) & known.SPANS:
        return None
    if (of_words or of_pieces) in known.PAID_FOR and set(words(name)) & known.PAID:
        return None
    if (of_words or of_pieces) == "income" and RATIO in words(name)[1:-1]:
        return None
    if of_words or of_pieces:
        return of_words or of_pieces
    halves = [(together[:size], together[size:]) for size in range(1, len(together))]
    of_whom = [
        known.OF_RELATIVES[what] for who, what in halves if who in known.RELATIVES and what in known.OF_RELATIVES
    ]
    if of_whom:
        return of_whom[0]
    short = next((topic for word in words(name) if (topic := abbreviations.topic(word)) is not None), None)
    return _cut_short(words(name)) or short or (_topic_of_label(label) if label else None)


def is_vetoed(name: str) -> bool:
    """Return whether a name is that of an opinion, a score, a price or a change, whatever of."""
    return bool(set(words(name)) & known.NAME_VETOES)


def _cut_short(some: tuple[str, ...]) -> str | None:
    """Return the topic of a word that was cut off: old files have names of eight letters (``denomina``)."""
    for word in some:
        if len(word) < SHORTEST_CUT or word in known.WHOLE:
            continue
        about = {topic for topic, table in known.KEYS.items() if any(one.startswith(word) for one in table)}
        if len(about) == 1:
            return about.pop()
    return None


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
        found = _split(word, most)
        if found is not None and len(found) > 2 and len(found[0]) == len(found[-1]) == 1:
            continue  # letters on both sides: deduct is no d-educ-t
        if found is not None and any(len(part) >= SHORTEST_STEM and part in known.STEMS for part in found):
            return found
    return ()


def _split(word: str, most: int, before: str = "", *, first: bool = True) -> tuple[str, ...] | None:
    if not word:
        return ()
    if most == 0:
        return None
    for size in range(len(word), 0, -1):
        part = word[:size]
        fits = part in known.STEMS or part in known.BESIDE
        if size == 1:
            # a letter stands in front (xage), or after a stem that is none by chance (educb)
            long = len(before) >= LONG_STEM or before in known.LETTERS_AFTER or not first
            after = before in known.STEMS and long
            fits = not before or (len(word) == 1 and after) or (len(before) == 1 and _stands(word[1:]))
        rest = _split(word[size:], most - 1, part, first=not before) if fits else None
        if rest is not None:
            return (part, *rest)
    return None


def _stands(rest: str) -> bool:
    """Return whether two letters may stand before a piece: dykids, a dummy for young kids."""
    return rest in known.STEMS and len(rest) >= LONG_STEM


def _topic_of_label(label: str) -> str | None:
    found = [word for word in words(label) if len(word) > 1]
    if FORMULA.search(label):
        return None
    if not found or len(found) > LONGEST_LABEL or "?" in label or set(found) & known.VETOES:
        return None
    telling = set(found) - known.VAGUE
    if telling & known.PLACES:
        return "place"
    spelled = next((topic for topic, some in known.KEYS.items() if some & telling), None)
    if spelled == "birth" and telling & known.AT_BIRTH:
        return None
    return spelled or abbreviations.of_label(label)


def is_identifier(name: str, label: str = "") -> bool:
    """Return whether the name is that of a direct identifier."""
    some = words(name)
    if len(some) > 1 and some[-1] in known.MEASURES:
        return False
    named = any(word in known.IDENTIFIERS or word.endswith(known.IDENTIFIER_ENDINGS) for word in some)
    return named or bool({"identifier", "identification"} & set(words(label)))


def is_number_of_person(name: str) -> bool:
    """Return whether a name says that people are numbered: ``id`` or ``person_id``, not ``school_id``."""
    some = words(name)
    return bool(some) and some[-1] in known.PERSON_NUMBERS and set(some[:-1]) <= known.PERSONS


def is_unordered(name: str, label: str = "") -> bool:
    """Return whether whole numbers in such a column are codes without an order."""
    some = words(name)
    parts = {part for word in some for part in (pieces(word) or (word,))}
    if (
        set(some) & known.ORDERED
        or set(some) & known.SIZES
        or (parts & known.DURATIONS and not parts & known.CODE_WORDS)
    ):
        return False
    named = bool(set(some) & known.UNORDERED_WORDS) or any(word.endswith(known.UNORDERED_ENDINGS) for word in some)
    named = named or any(len(word) >= SHORTEST_CUT and _starts(word, known.UNORDERED_WORDS) for word in some)
    said = bool(set(words(label)) & known.CODE_LABELS) and not set(words(label)) & known.VETOES - {"injury"}
    about = topic(name, label)
    if is_institution(name, numbered=True):
        return True
    return about in known.UNORDERED or (about not in ("education", "age", "income") and (named or said))


def _starts(word: str, table: frozenset[str]) -> bool:
    return any(one.startswith(word) for one in table)


def is_person_name(name: str) -> bool:
    """Return whether the name says that people's own names, or what stands for them, are in a column.

    Examples
    --------
    >>> is_person_name("last_name"), is_person_name("Nachname"), is_person_name("clinic_name")
    (True, True, False)
    """
    some = set(words(name))
    return bool(some & known.PERSON_NAMES) or ("name" in some and bool(some & known.WHOSE_NAME))


def is_time(name: str) -> bool:
    """Return whether a column says when something was observed."""
    return means(name, known.TIMES)


def is_computed(name: str) -> bool:
    """Return whether a name says that its column was computed: ``IQ.ver.cen``, ``score_total``."""
    return bool(set(words(name)) & known.COMPUTED)


def is_institution(name: str, *, numbered: bool) -> bool:
    """Return whether a column names where people are together; ``numbered``: only with a word for its number."""
    some = words(name)
    beside = set(some) & known.NUMBERS or any(word.endswith(("id", "nr", "no", "num")) for word in some)
    # a letter at the end says when: the school in kindergarten (schoolidk)
    whole = {one for word in some for one in (word, word[:-1])}
    beside = beside or any(word.endswith(("id", "nr")) for word in whole)
    stems = {word.removesuffix(end) for word in whole for end in ("id", "nr", "no", "num", "code")} | set(some)
    return bool(stems & known.INSTITUTIONS) and (bool(beside) or not numbered)


def is_amount(name: str) -> bool:
    """Return whether a name says that its numbers count or measure: a size, a level."""
    return bool(set(words(name)) & (known.ORDERED | known.SIZES | known.AMOUNTS))


def is_month(name: str, label: str = "") -> bool:
    """Return whether the column holds months of the year."""
    some = {part for word in words(name) for part in (pieces(word) or (word,))} | set(words(label))
    return bool(some & known.MONTHS) or plain(name).startswith(known.MONTH_STARTS)


def means(name: str, table: frozenset[str], label: str = "") -> bool:
    """Return whether a name, as a whole, without its digits or as one of its words, is in a table."""
    whole = plain(name)
    return bool({whole, re.sub(r"[0-9]", "", whole), *words(name), *words(label)} & table)
