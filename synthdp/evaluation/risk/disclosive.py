"""Attribute disclosure counted as synthpop counts it: keys that occur in a copy with a single value of the target."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.evaluation.combinations import Booleans
from synthdp.microdata import Codes

# one level, or one pair of a key's level and the target's, behind most disclosures is a finding about the file as a
# whole ("nobody in this region has that disease") rather than about persons
FEWEST_1WAY, SHARE_1WAY = 50, 0.9
FEWEST_2WAY, SHARE_2WAY = 5, 0.8
PERCENT = ("UiO", "UiS", "UiOiS", "repU", "Dorig", "Dsyn", "iS", "DiS", "DiSCO", "DiSDiO")


@dataclass(frozen=True, repr=False)
class Disclosive:
    """One copy against the original, for one target.

    The intruder holds the keys of a person and reads the copy. A key combination is disclosive in a file when all its
    rows there have one value of the target: whoever has these keys must have this value, the copy says.

    Parameters
    ----------
    percent
        UiO, UiS: % of original (synthetic) records unique on the keys in their own file. UiOiS: % of original records
        that are unique and whose keys occur in the copy. repU: % of original records unique in both. Dorig, Dsyn: % of
        original (synthetic) records whose keys are disclosive in their own file. iS: % of original records whose keys
        occur in the copy; DiS: and are disclosive there; DiSCO: and the value is the true one; DiSDiO: and the keys
        are disclosive in the original too.
    disclosed
        The records counted by DiSCO; confidential.

    References
    ----------
    Raab, Nowok and Dibben (2024), Practical privacy metrics for synthetic data, arXiv:2406.16826.
    """

    percent: dict[str, float]
    disclosed: Booleans

    def __repr__(self) -> str:
        return f"Disclosive({len(self.disclosed)} records)"


def disclosive(keys: Codes, target: Codes, copy_keys: Codes, copy_target: Codes) -> Disclosive:
    """Count the disclosures of one copy; codes are those of :func:`synthdp.evaluation.combinations.combine`.

    Notes
    -----
    O(n log n): pairs of keys and target are sorted once in each file.
    """
    cells = 1 + int(max(keys.max(initial=-1), copy_keys.max(initial=-1)))
    here, there = (np.bincount(one, minlength=cells) for one in (keys, copy_keys))
    value_here, value_there = _only_value(keys, target, cells), _only_value(copy_keys, copy_target, cells)
    unique, found = here[keys] == 1, there[keys] > 0
    told = value_there[keys] >= 0
    right = told & (value_there[keys] == target)
    shares = {
        "UiO": unique.mean(),
        "UiS": (there[copy_keys] == 1).mean() if len(copy_keys) else 0.0,
        "UiOiS": (unique & found).mean(),
        "repU": (unique & (there[keys] == 1)).mean(),
        "Dorig": (value_here[keys] >= 0).mean(),
        "Dsyn": (value_there[copy_keys] >= 0).mean() if len(copy_keys) else 0.0,
        "iS": found.mean(),
        "DiS": told.mean(),
        "DiSCO": right.mean(),
        "DiSDiO": (right & (value_here[keys] >= 0)).mean(),
    }
    return Disclosive({name: 100 * float(share) for name, share in shares.items()}, right)


def warn(
    disclosed: Booleans, target: Codes, keys: dict[str, Codes], *, labels: dict[str, dict[int, str]]
) -> list[dict[str, Any]]:
    """Name the level of the target, or pair of levels, that stands behind most disclosures (DiSCO) of a copy.

    1-way: a level of the target with at least 50 disclosed records that are at least 90% of all disclosed ones.
    2-way: a level of one key together with a level of the target with at least 5 disclosed records that are at least
    80% of all disclosed ones and at least 80% of all records with that pair.

    Parameters
    ----------
    disclosed, target
        Of the original records: counted by DiSCO; the target's class.
    keys
        The class of each original record on each key, by the key's name.
    labels
        What the classes are called, by column ("" is the target); classes without a name are counted, not named.

    Notes
    -----
    Modelled on the warnings of synthpop's ``disclosure`` (defaults 50, 90% and 4, 80%); the definitions are our own,
    not checked against its output. O(n) for each key.
    """
    total = int(disclosed.sum())
    if total == 0:
        return []
    found: list[dict[str, Any]] = []
    level, count = _commonest(target[disclosed])
    if count >= FEWEST_1WAY and count >= SHARE_1WAY * total:
        found.append({"ways": 1, "level": labels[""].get(level), "records": count, "share": count / total})
    width = int(target.max()) + 1
    for name, key in keys.items():
        pairs = key * width + target
        pair, count = _commonest(pairs[disclosed])
        of_pair = count / int((pairs == pair).sum())
        if count >= FEWEST_2WAY and count >= SHARE_2WAY * total and of_pair >= SHARE_2WAY:
            names = {"key_level": labels[name].get(pair // width), "level": labels[""].get(pair % width)}
            found.append({"ways": 2, "key": name, **names, "records": count, "share": count / total})
    return found


def _only_value(keys: Codes, target: Codes, cells: int) -> Codes:
    """Return for each key combination the only value its records have; -1 where there are several or none."""
    low = np.full(cells, np.iinfo(np.int64).max)
    high = np.full(cells, -1, dtype=np.int64)
    np.minimum.at(low, keys, target)
    np.maximum.at(high, keys, target)
    return np.where(low == high, high, -1)


def _commonest(values: Codes) -> tuple[int, int]:
    counts = np.bincount(values)
    level = int(counts.argmax())
    return level, int(counts[level])
