"""What the texts in a column say about it where its name says nothing: ``Married``, ``Divorced``: marital state."""

from collections.abc import Mapping

import pandas as pd

from synthdp.table.guess import names

MOST_LEVELS = 30
FEWEST_TELLING = 2
# a level tells when one of its words, or the whole of it, is listed; words that also mean other things are not
ANSWERS: Mapping[str, frozenset[str]] = {
    topic: frozenset(words.split())
    for topic, words in {
        "sex": "male female woman women nonbinary weiblich mannlich femme homme mujer hombre",
        "origin": "caucasian hispanic latino latina asian african indigenous mestizo mulatto catholic protestant "
        "muslim jewish hindu buddhist",
        "education": "bachelor bachelors masters doctorate phd undergraduate postgraduate highschool abitur",
        "marital": "married unmarried divorced widowed spouse verheiratet geschieden verwitwet ledig celibataire "
        "divorce casado casada soltero soltera viudo viuda",
    }.items()
}


def topic(series: pd.Series, name: str) -> str | None:
    """Return what a column of a few texts is about: two of its levels or more must say so.

    Examples
    --------
    >>> topic(pd.Series(["Married", "Divorced", "?"]), "rel_status"), topic(pd.Series(["Cat", "Dog"]), "pet")
    ('marital', None)
    """
    present = series.dropna()
    if pd.api.types.is_numeric_dtype(present) or pd.api.types.is_datetime64_any_dtype(present) or names.is_vetoed(name):
        return None
    levels = present.unique()
    if not FEWEST_TELLING <= len(levels) <= MOST_LEVELS:
        return None
    said = [set(names.words(str(level))) for level in levels]
    telling = {about: sum(bool(words & known) for words in said) for about, known in ANSWERS.items()}
    most = max(telling, key=lambda about: telling[about])
    return most if telling[most] >= FEWEST_TELLING else None
