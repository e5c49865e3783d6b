"""Guessing a target from keys by looking up who has the same keys: the modal guess, CAP and TCAP."""

import numpy as np
import numpy.typing as npt

from synthdp.microdata import Codes, Floats

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
