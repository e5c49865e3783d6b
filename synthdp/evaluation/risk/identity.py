"""Identity risk: whether somebody who knows a person's keys can find that person's row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.errors import InputError
from synthdp.evaluation.combinations import require_copies, require_keys
from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.measure import Claims
from synthdp.evaluation.risk.rates import interval
from synthdp.table.microdata import Codes, Floats
from synthdp.tagging.neighbours import Keys, Matches, average, count_neighbours, encode_keys, match

CHANCE_LEVEL, PERMUTATIONS = 0.95, 200
# above this many pairs of a target and a candidate in one copy, targets are sampled
MOST_PAIRS = 10**9
FEWEST_TARGETS = 1000
# above, hits by chance are drawn by their law: permuting would take longer than the attack
MOST_PERMUTED = 2000


@dataclass(frozen=True, repr=False)
class IdentityRisk(Claims):
    """What a matching intruder achieves.

    The intruder holds the true keys of a target (age, sex, …), knows that the target is in the file, and holds all
    copies. In each copy they list the candidates: the rows equal on every categorical key and within the tolerance on
    every numeric key; each of s candidates is the target with probability 1/s. They average this probability over the
    copies row by row (row i of every copy stands for record i, which a real intruder would first have to find out)
    and point at the row with the largest mean, at random among ties. Pointing at the target's own row is success.
    The averaging intruder first averages the copies into one file, which undoes part of the noise.

    Parameters
    ----------
    expected_match
        Σ I_i/c_i: c_i rows share the largest probability, I_i = 1 if the target's own row is one of them.
    expected_match_rate
        The same per record.
    expected_match_reference
        The same, with a random pick among all n where no copy has a candidate.
    true_match, true_match_rate
        Targets with c_i = 1 and I_i = 1, and per record.
    true_match_chance
        The 95% point of true matches in the same attack on row-permuted copies.
    false_match_rate
        Share of wrong ones among unique matches (c_i = 1); None when there is none.
    no_candidate
        Targets without a candidate in any copy.
    mean_individual, max_individual
        Of Pr(J = i), the probability given to the target's own row (0 where it is no candidate).
    mean_unconditional
        Mean of 1/s, whether or not the own row is a candidate.
    per_group
        Records, expected and true matches and mean_individual for each risk group.
    one_copy
        Of an intruder who holds one copy only, the mean over which one it is: ``expected_match``, ``true_match`` and
        their rates; None where the attack uses one file. With one copy all candidates are alike, so the expected
        match rate is ``mean_individual``.
    sampled
        None, or how many targets the figures rest on and their 95% intervals, when the file was too large to attack
        every record: counts are then estimates for all records, and the largest risk is that of the sample.

    References
    ----------
    Reiter and Mitra (2009), Journal of Privacy and Confidentiality 1(1), 99-110, for c_i and I_i.
    """

    expected_match: float
    expected_match_rate: float
    expected_match_reference: float
    true_match: float
    true_match_rate: float
    true_match_chance: float
    false_match_rate: float | None
    no_candidate: int
    mean_individual: float
    max_individual: float
    mean_unconditional: float
    per_group: list[dict[str, Any]]
    one_copy: dict[str, float] | None = None
    sampled: dict[str, Any] | None = None


def evaluate_identity(
    comparison: Comparison, *, averaged: bool, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> IdentityRisk:
    """Attack the copies by matching on the keys.

    Parameters
    ----------
    comparison
        Aligned copies with all key columns.
    averaged
        Average the copies into one file before matching.
    rng
        For the permutations.
    permutations
        How many row-permuted replicates the chance level rests on.

    Raises
    ------
    InputError
        If the attack cannot be made on these files.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"age": [30, 31, 90]}), {"age": Variable(key=True, tolerance=2)})
    >>> copy = pd.DataFrame({"age": [31, 30, 91]})
    >>> comparison = Comparison(data.frame, (copy,), data.schema, aligned=True)
    >>> risk = evaluate_identity(comparison, averaged=False, rng=np.random.default_rng(1))
    >>> risk.expected_match, risk.true_match
    (2.0, 1)
    """
    keys = comparison.schema.keys()
    refuse_unless_aligned(comparison, "identity_averaged" if averaged else "identity")
    copies = (average(comparison.copies, keys),) if averaged else comparison.copies
    return attack_by_matching(comparison, copies, rng=rng, permutations=permutations)


def evaluate_original(comparison: Comparison, *, rng: np.random.Generator) -> IdentityRisk:
    """Attack the original itself: the risk before synthesis, against which the copies are held."""
    itself = replace(comparison, copies=(comparison.original,), aligned=True)
    return evaluate_identity(itself, averaged=False, rng=rng)


def attack_by_matching(
    comparison: Comparison,
    copies: Sequence[pd.DataFrame],
    *,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
    presence: Floats | None = None,
    most_pairs: int = MOST_PAIRS,
) -> IdentityRisk:
    """Match the original's keys against files whose row i stands for record i.

    Parameters
    ----------
    presence
        Probability that a person like record i is in the file at all; None: the intruder knows that the target is.
        Every probability and every expected count is multiplied by it.
    most_pairs
        Above this many pairs of a target and its candidates in the first file, targets are sampled.

    Notes
    -----
    Permuting the rows of all copies alike moves candidates but changes neither their number nor their probabilities,
    so a replicate only asks whether the one best row now stands where the target is, without matching again.
    """
    targets, *files = encode_keys([comparison.original, *copies], comparison.schema.keys())
    n = len(targets)
    sample = comparison.targets if comparison.targets is not None else _sample(targets, files[0], most_pairs, rng)
    found = match(targets, files, sample=sample)
    rows = np.arange(n) if sample is None else sample
    weight = np.ones(len(rows)) if presence is None else presence[rows]
    chance = chance_hits(found.winner, rows, n, permutations, rng=rng, weight=weight)
    return _summarise(found, chance, comparison.groups, rows=rows, weight=weight, n=n, files=len(files))


def chance_hits(
    winner: Codes,
    rows: Codes,
    n: int,
    permutations: int,
    *,
    rng: np.random.Generator,
    weight: Floats | None = None,
) -> list[float]:
    """Return how many picks are right by chance, in files whose rows are permuted.

    Parameters
    ----------
    winner
        The row pointed at for each target, -1 for none.
    rows
        Which records the targets are.
    n
        How many records there are.

    Notes
    -----
    O(n) each. In files too large to permute so often, hits are drawn as Poisson with the same mean, picks/n: the law
    they have in the limit, and a little wider where several targets point at one row.
    """
    value = np.ones(len(rows)) if weight is None else weight
    if n <= MOST_PERMUTED:
        return [float(value[winner == rng.permutation(n)[rows]].sum()) for _ in range(permutations)]
    picks = np.flatnonzero(winner >= 0)
    hits = rng.poisson(len(picks) / n, permutations)
    return [float(value[rng.choice(picks, size=hit)].sum()) if hit else 0.0 for hit in hits]


def _sample(targets: Keys, file: Keys, most_pairs: int, rng: np.random.Generator) -> Codes | None:
    """Return which targets to attack, or None for all of them."""
    n = len(targets)
    if n * len(file) <= most_pairs:
        return None
    # targets with equal keys are looked up once
    held = pd.DataFrame(np.column_stack([targets.cells, targets.numbers]))
    distinct = np.flatnonzero(~held.duplicated().to_numpy())
    if len(distinct) * len(file) <= most_pairs:
        return None
    few = np.sort(rng.choice(distinct, min(FEWEST_TARGETS, len(distinct)), replace=False))
    mean = float(count_neighbours(Keys(targets.cells[few], targets.numbers[few], targets.tolerances), file).mean())
    if len(distinct) * mean <= most_pairs:
        return None
    size = max(FEWEST_TARGETS, int(most_pairs / mean))
    return some(n, size, rng=rng)


def refuse_unless_aligned(comparison: Comparison, name: str) -> None:
    """Raise InputError, by the attack's name, when it cannot be made on these files."""
    if not comparison.aligned:
        raise InputError(
            f"{name}: needs to know which row of a copy belongs to which record; "
            "set evaluation.rows to aligned or to a file with the row order."
        )
    refuse_without_keys(comparison, name)
    for number, copy in enumerate(comparison.copies, start=1):
        if len(copy) != len(comparison.original):
            raise InputError(
                f"{name}: aligned copies need as many rows as the original ({len(comparison.original)}), "
                f"copy {number} has {len(copy)}."
            )


def refuse_without_keys(comparison: Comparison, name: str) -> None:
    """Raise InputError, by the attack's name, when there is nothing to attack or nothing to attack it with."""
    require_copies(comparison.copies, require_keys(comparison.schema, name), name, which="a key")


def _summarise(
    found: Matches,
    chance: Sequence[float],
    groups: pd.Series | None,
    *,
    rows: Codes,
    weight: Floats,
    n: int,
    files: int,
) -> IdentityRisk:
    unique = found.best == 1
    true_match = unique & found.hit
    share = np.where(found.hit, weight, 0.0) / np.maximum(found.best, 1)
    individual = found.individual * weight
    scale = n / len(rows)
    expected, nobody = float(share.sum()) * scale, int(np.sum(~found.any_candidate))
    return IdentityRisk(
        *everybody(n, rows, individual, np.where(found.any_candidate, found.top * weight, np.nan), share),
        expected_match=expected,
        expected_match_rate=expected / n,
        expected_match_reference=expected + float(weight[~found.any_candidate].sum()) * scale / n,
        true_match=_count(float(weight[true_match].sum()) * scale),
        true_match_rate=float(weight[true_match].sum()) * scale / n,
        true_match_chance=_count(float(np.quantile(chance, CHANCE_LEVEL, method="higher")) * scale),
        false_match_rate=float(np.mean(~found.hit[unique])) if unique.any() else None,
        no_candidate=round(nobody * scale),
        mean_individual=float(individual.mean()),
        max_individual=float(individual.max()),
        mean_unconditional=float((found.unconditional * weight).mean()),
        per_group=_by_group(groups, rows, share, weight * true_match, individual),
        one_copy=None if files == 1 else _one_copy(individual, weight * found.alone / files, n),
        sampled=None if len(rows) == n else _intervals(n, share, weight * true_match, individual),
    )


def _one_copy(individual: Floats, alone: Floats, n: int) -> dict[str, float]:
    expected, true = float(individual.mean()), float(alone.mean())
    return {
        "expected_match": expected * n,
        "expected_match_rate": expected,
        "true_match": true * n,
        "true_match_rate": true,
    }


def _count(value: float) -> float:
    """Return a count as a whole number where it is one: it is not when targets were sampled or may be absent."""
    return int(value) if value.is_integer() else value


def _intervals(n: int, share: Floats, true_match: Floats, individual: Floats) -> dict[str, Any]:
    """Return 95% intervals of what a simple random sample of targets says about all of them."""
    counts = {"expected_match": share, "true_match": true_match}
    found = {name: interval(values, n, scale=n) for name, values in counts.items()}
    return {"targets": len(share), **found, "mean_individual": interval(individual, n)}


def everybody(
    n: int, rows: Codes, individual: Floats, confidence: Floats, right: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return what is known of the rows attacked as :class:`Claims` has it, of all n records."""
    whole = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n)
    for all_, part in zip(whole, (individual, confidence, right), strict=True):
        all_[rows] = part
    return whole


def members_by_group(groups: pd.Series | None, rows: Codes) -> Iterator[tuple[str, int, Booleans]]:
    """Yield each risk group that was attacked: its name, its records, and which of the rows attacked are among them."""
    if groups is None:
        return
    labels = groups.astype("category")
    everyone = labels.cat.codes.to_numpy()
    for position, group in enumerate(labels.cat.categories):
        members = everyone[rows] == position
        if members.any():
            yield str(group), int(np.sum(everyone == position)), members


def _by_group(
    groups: pd.Series | None, rows: Codes, share: Floats, true_match: Floats, individual: Floats
) -> list[dict[str, Any]]:
    return [
        {
            "group": group,
            "records": records,
            "expected_match": float(share[members].sum()) * (records / int(members.sum())),
            "true_match": _count(float(true_match[members].sum()) * (records / int(members.sum()))),
            "mean_individual": float(individual[members].mean()),
        }
        for group, records, members in members_by_group(groups, rows)
    ]
