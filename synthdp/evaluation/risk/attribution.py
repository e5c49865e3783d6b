"""Guessing a target from equal keys.

The modal guess, CAP and TCAP, and keys with a single value as synthpop counts them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans
from synthdp.table.microdata import Codes, Floats

# shares are quotients: 4/5 of 5 must not fall short of 0.8
HAIR = 1e-9


def guess(keys: Codes, truth: Codes, source_keys: Codes, source_targets: Codes, *, left_out: bool = False) -> Floats:
    """Return how often the most common value among the rows with the same keys is the true one, record by record.

    The intruder finds the rows of the source that have the keys of a target and guesses their most common value; where
    c values are equally common, one of them at random (success 1/c). Where no row has the keys, they guess the most
    common value of the whole source.

    Parameters
    ----------
    keys, truth
        Of the targets, coded together with the source.
    source_keys, source_targets
        Of the rows that the intruder reads (all copies stacked, or the original).
    left_out
        The source is the targets' own file, and everybody is left out of it when they are guessed: what the file
        would say of them had they not been in it.

    Notes
    -----
    O(n log n). Leaving one record out changes one count by one, so the new mode follows from the largest and second
    largest count of the cell and from how many values have them.

    Examples
    --------
    >>> keys, truth = np.array([0, 0, 0, 1]), np.array([5, 5, 6, 6])
    >>> guess(keys, truth, keys, truth).tolist(), guess(keys, truth, keys, truth, left_out=True).tolist()
    ([1.0, 1.0, 0.0, 1.0], [0.5, 0.5, 0.0, 0.0])
    """
    if len(keys) == 0 or len(source_keys) == 0:
        return np.zeros(len(keys))
    success, empty = _guess_in_cells(keys, truth, source_keys, source_targets, left_out)
    if empty.any():
        everybody = np.zeros(len(source_keys), dtype=np.int64)
        overall, _ = _guess_in_cells(np.zeros_like(keys), truth, everybody, source_targets, left_out)
        success[empty] = overall[empty]
    return success


def attribution_probability(
    keys: Codes,
    truth: Codes,
    source_keys: Codes,
    source_targets: Codes,
    *,
    own: list[tuple[Codes, Codes]] | None = None,
) -> Floats:
    """Return the correct attribution probability of each target: the share of rows with its keys that have its value.

    CAP_i = #{j: keys_j = keys_i, target_j = target_i} / #{j: keys_j = keys_i}, NaN where the denominator is 0: the
    success of somebody who points at one of these rows at random.

    Parameters
    ----------
    own
        For each copy the keys and target of the row that stands for target i, which is then not counted; only for
        aligned copies.

    References
    ----------
    Elliot (2015), Final report on the disclosure risk associated with the synthetic data produced by the SYLLS team;
    Taub, Elliot, Pampaka and Smith (2018), PSD 2018, LNCS 11126, 122-137.
    """
    width = 1 + int(max(truth.max(initial=0), source_targets.max(initial=0)))
    cells = 1 + int(max(keys.max(initial=0), source_keys.max(initial=0)))
    alike = np.bincount(source_keys, minlength=cells)[keys]
    right = _count(source_keys * width + source_targets, keys * width + truth)
    for own_keys, own_target in own or ():
        here = own_keys == keys
        alike = alike - here
        right = right - (here & (own_target == truth))
    share = np.full(len(keys), np.nan)
    np.divide(right, alike, out=share, where=alike > 0)
    return share


def targeted(
    keys: Codes, truth: Codes, copy_keys: Codes, copy_targets: Codes, *, tau: float
) -> tuple[float | None, int]:
    """Return the targeted correct attribution probability (TCAP) of one copy, and on how many rows it rests.

    The intruder looks only at rows of the copy whose keys nearly always go with their target: those with a
    within-equivalence-class attribution probability of at least τ. TCAP is the mean, over such rows whose keys occur
    in the original, of the share of original records with these keys that have the row's target.

    Notes
    -----
    Rows whose keys occur nowhere in the original are left out of the mean, as in the references. O(n log n).

    References
    ----------
    Taub and Elliot (2019), The synthetic data challenge, UNECE/Eurostat work session on statistical data
    confidentiality; Little, Elliot and Allmendinger (2022), PSD 2022, LNCS 13463.
    """
    sure = attribution_probability(copy_keys, copy_targets, copy_keys, copy_targets) >= tau - HAIR
    found = attribution_probability(copy_keys, copy_targets, keys, truth)
    used = sure & np.isfinite(found)
    return (float(found[used].mean()) if used.any() else None), int(used.sum())


def targeted_outsider(keys: Codes, truth: Codes, *, tau: float) -> tuple[float | None, int]:
    """Return how often a sure claim of the original is right about somebody who is not in it, and for how many.

    Everybody in turn is left out; where at least a share τ of the others with their keys have one value, the intruder
    claims it: what TCAP is held against. O(n log n).
    """
    others = np.bincount(keys)[keys] - 1
    width = int(truth.max(initial=0)) + 1
    pairs, counts = np.unique(keys * width + truth, return_counts=True)
    cell = pairs // width
    top, ties = _largest(cell, counts, int(keys.max(initial=0)) + 1)
    second, _ = _largest(cell, np.where(counts < top[cell], counts, 0), len(top))
    alone = (_count_from(pairs, counts, keys * width + truth) == top[keys]) & (ties[keys] == 1)
    remaining = np.where(alone, np.maximum(top[keys] - 1, second[keys]), top[keys])
    sure = (others > 0) & (remaining >= tau * others - HAIR)
    success = guess(keys, truth, keys, truth, left_out=True)[sure]
    return (float(success.mean()) if len(success) else None), len(success)


def _guess_in_cells(
    keys: Codes, truth: Codes, source_keys: Codes, source_targets: Codes, left_out: bool
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the success of the modal guess, and for whom no row of the source has the keys."""
    width = 1 + int(max(truth.max(), source_targets.max()))
    cells = 1 + int(max(keys.max(), source_keys.max()))
    pairs, counts = np.unique(source_keys * width + source_targets, return_counts=True)
    cell = pairs // width
    top, ties = _largest(cell, counts, cells)
    mine = _count_from(pairs, counts, keys * width + truth)
    most = top[keys]
    among = (mine == most) & (most > 0)
    if not left_out:
        return np.where(among, 1 / np.maximum(ties[keys], 1), 0.0), most == 0
    # one less of mine: with another value as common I am no longer at the top; alone at the top I may share it
    second, seconds = _largest(cell, np.where(counts < top[cell], counts, 0), cells)
    alone = among & (ties[keys] == 1)
    shared = alone & (second[keys] == most - 1)
    success = np.where(shared, 1 / (seconds[keys] + 1), np.where(alone, 1.0, 0.0))
    empty = alone & (most == 1)
    return np.where(empty, 0.0, success), empty


def _largest(cell: Codes, counts: Codes, cells: int) -> tuple[Codes, Codes]:
    """Return the largest count of each cell, and how many values have it."""
    top = np.zeros(cells, dtype=np.int64)
    np.maximum.at(top, cell, counts)
    return top, np.bincount(cell[(counts == top[cell]) & (counts > 0)], minlength=cells)


def _count(values: Codes, wanted: Codes) -> Codes:
    return _count_from(*np.unique(values, return_counts=True), wanted)


def _count_from(distinct: Codes, counts: Codes, wanted: Codes) -> Codes:
    place = np.minimum(np.searchsorted(distinct, wanted), max(0, len(distinct) - 1))
    return np.where(distinct[place] == wanted, counts[place], 0) if len(distinct) else np.zeros(len(wanted), np.int64)


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
