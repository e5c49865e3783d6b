"""Columns that belong together by their names: the items of a battery, and the same questions about somebody else.

Twenty opinions on spending are named alike (``natcity``, ``nateduc``), and have the same answers; what follows the
common letters is then no word for who somebody is. The other way round, ``ded`` says nothing, but beside ``dage``,
``drace`` and ``ed`` it is the education of a father; and indicators of which nobody has two (four regions, nine
industries) answer one question, whatever each is called.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

FEWEST_ITEMS = 5
SHARED_LETTERS = 3
MOST_ANSWERS = 11
LONGEST_PREFIX = 3
SHORTEST_REST = 2
FEWEST_SIBLINGS = 2
FEWEST_INDICATORS = 3
AGREED = 0.4


def battery(frame: pd.DataFrame) -> frozenset[str]:
    """Return the items of batteries: five columns or more with the same first letters and the same few numbers.

    Two answers are not enough: the indicators of nine regions are named alike too, and say where somebody lives.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {f"nat{what}": np.arange(30) % 3 for what in ("city", "educ", "race", "drug", "road")}
    >>> sorted(battery(pd.DataFrame({**columns, "race": np.arange(30) % 3})))
    ['natcity', 'natdrug', 'nateduc', 'natrace', 'natroad']
    """
    alike: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for name in frame.columns:
        series = frame[name]
        if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
            continue
        answers = series.dropna().unique()
        if 2 < len(answers) <= MOST_ANSWERS and len(str(name)) > SHARED_LETTERS:
            shared = (str(name)[:SHARED_LETTERS].lower(), tuple(sorted(float(one) for one in answers)))
            alike.setdefault(shared, []).append(name)
    return frozenset(name for items in alike.values() if len(items) >= FEWEST_ITEMS for name in items)


def siblings(columns: Sequence[str], topics: Mapping[str, str]) -> dict[str, str]:
    """Return the topics of columns that repeat known ones about somebody else, after the same one to three letters.

    Examples
    --------
    >>> siblings(["race", "age", "ed", "drace", "dage", "ded"], {"race": "origin", "age": "age", "ed": "education"})
    {'drace': 'origin', 'dage': 'age', 'ded': 'education'}
    """
    pairs = [
        (name, name[:size], name[size:].lstrip("_."))
        for name in columns
        for size in range(1, LONGEST_PREFIX + 1)
        if len(name) >= size + SHORTEST_REST
    ]
    pairs = [pair for pair in pairs if pair[2] in columns and pair[2] != pair[0]]
    many = Counter(prefix for _, prefix, _ in pairs)
    return {
        name: topics[rest]
        for name, prefix, rest in pairs
        if many[prefix] >= FEWEST_SIBLINGS and rest in topics and name not in topics
    }


def indicators(frame: pd.DataFrame, topics: Mapping[str, str]) -> dict[str, str]:
    """Return the topics of indicators that no record has together with indicators of a known topic.

    Neighbours in the file of which nobody has two are the answers to one question: what two fifths of them and at
    least two are known to be about, and no other topic, all are about.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> codes = pd.get_dummies(pd.Series(rng.choice(["south", "west", "purdue", "x"], 200))).astype(int)
    >>> indicators(codes[["south", "west", "purdue"]], {"south": "place", "west": "place"})
    {'purdue': 'place'}
    """
    found: dict[str, str] = {}
    for family in _exclusive(frame):
        about = [topics[name] for name in family if name in topics]
        if len(about) >= max(2, AGREED * len(family)) and len(set(about)) == 1:
            found |= {name: about[0] for name in family if name not in topics}
    return found


def _exclusive(frame: pd.DataFrame) -> list[list[str]]:
    """Return runs of neighbouring columns of 0 and 1 that nobody has two of, though chance would give some both."""
    runs: list[list[str]] = []
    run: list[str] = []
    taken = np.zeros(len(frame), dtype=np.bool_)
    for name in frame.columns:
        yes = _yes(frame[name])
        if yes is None:
            runs, run = ([*runs, run] if run else runs), []
            continue
        # as many as would be in both by chance
        expected = float(taken.sum()) * float(yes.sum()) / max(len(frame), 1)
        if run and ((taken & yes).any() or expected < FEWEST_ITEMS):
            runs, run = [*runs, run], []
        taken = yes if not run else taken | yes
        run.append(str(name))
    return [one for one in [*runs, run] if len(one) >= FEWEST_INDICATORS]


def _yes(series: pd.Series) -> "np.ndarray[tuple[int], np.dtype[np.bool_]] | None":
    if not pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series):
        return None
    values = series.to_numpy(np.float64, na_value=np.nan)
    known = values[np.isfinite(values)]
    return values == 1 if len(known) and np.isin(known, (0.0, 1.0)).all() else None
