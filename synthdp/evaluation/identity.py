"""Identity risk: whether somebody who knows a person's keys can find that person's row."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.microdata import Floats
from synthdp.neighbours import Matches, average, encode_keys, match
from synthdp.neighbours.loops import Booleans
from synthdp.schema import Column

CHANCE_LEVEL = 0.95


@dataclass(frozen=True, repr=False)
class IdentityRisk:
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
    individual, true_match_mask
        Record by record; confidential, not part of :meth:`section`.

    References
    ----------
    Reiter and Mitra (2009), Journal of Privacy and Confidentiality 1(1), 99-110, for c_i and I_i.
    """

    expected_match: float
    expected_match_rate: float
    expected_match_reference: float
    true_match: int
    true_match_rate: float
    true_match_chance: int
    false_match_rate: float | None
    no_candidate: int
    mean_individual: float
    max_individual: float
    mean_unconditional: float
    per_group: tuple[dict[str, Any], ...]
    individual: Floats
    true_match_mask: Booleans

    def __repr__(self) -> str:
        return f"IdentityRisk({len(self.individual)} targets)"

    def section(self) -> dict[str, Any]:
        """Return the attack's section of metrics.json: numbers about the file, none about a record."""
        by_record = ("individual", "true_match_mask")
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in by_record}
        return found | {"per_group": [dict(line) for line in self.per_group]}


def evaluate_identity(
    comparison: Comparison, *, averaged: bool, rng: np.random.Generator, permutations: int = 200
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

    Notes
    -----
    Permuting the rows of all copies alike moves candidates but changes neither their number nor their probabilities,
    so a replicate only asks whether the one best row now stands where the target is: O(n), without matching again.

    Examples
    --------
    >>> from synthdp.microdata import resolve
    >>> from synthdp.schema import Variable
    >>> data = resolve(pd.DataFrame({"age": [30, 31, 90]}), {"age": Variable(key=True, tolerance=2)})
    >>> copy = pd.DataFrame({"age": [31, 30, 91]})
    >>> comparison = Comparison(data.frame, (copy,), data.schema, aligned=True)
    >>> risk = evaluate_identity(comparison, averaged=False, rng=np.random.default_rng(1))
    >>> risk.expected_match, risk.true_match
    (2.0, 1)
    """
    name = "identity_averaged" if averaged else "identity"
    keys = comparison.schema.keys()
    _refuse_unless_possible(comparison, keys, name)
    copies = (average(comparison.copies, keys),) if averaged else comparison.copies
    targets, *files = encode_keys([comparison.original, *copies], keys)
    found = match(targets, files)
    n = len(targets)
    chance = [int(np.sum(found.winner == rng.permutation(n))) for _ in range(permutations)]
    return _summarise(found, int(np.quantile(chance, CHANCE_LEVEL, method="higher")), comparison.groups)


def evaluate_original(comparison: Comparison, *, rng: np.random.Generator, permutations: int = 200) -> IdentityRisk:
    """Attack the original itself: the risk before synthesis, against which the copies are held."""
    itself = replace(comparison, copies=(comparison.original,), aligned=True)
    return evaluate_identity(itself, averaged=False, rng=rng, permutations=permutations)


def _refuse_unless_possible(comparison: Comparison, keys: Sequence[Column], name: str) -> None:
    if not comparison.aligned:
        raise InputError(
            f"{name}: needs to know which row of a copy belongs to which record; "
            "set evaluation.rows to aligned or to a file with the row order."
        )
    if not keys:
        raise InputError(f"{name}: needs to know what an intruder knows; set key: true for at least one column.")
    if not comparison.copies:
        raise InputError(f"{name}: needs at least one copy, found none.")
    for number, copy in enumerate(comparison.copies, start=1):
        absent = [key.name for key in keys if key.name not in copy.columns]
        if absent:
            raise InputError(f"{name}: copy {number} has no column {absent[0]!r}, which is a key.")
        if len(copy) != len(comparison.original):
            raise InputError(
                f"{name}: aligned copies need as many rows as the original ({len(comparison.original)}), "
                f"copy {number} has {len(copy)}."
            )


def _summarise(found: Matches, chance: int, groups: pd.Series | None) -> IdentityRisk:
    n = len(found.best)
    unique = found.best == 1
    true_match = unique & found.hit
    share = np.where(found.hit, 1.0, 0.0) / np.maximum(found.best, 1)
    no_candidate = int(np.sum(~found.any_candidate))
    return IdentityRisk(
        expected_match=float(share.sum()),
        expected_match_rate=float(share.sum()) / n,
        expected_match_reference=float(share.sum()) + no_candidate / n,
        true_match=int(true_match.sum()),
        true_match_rate=float(true_match.mean()),
        true_match_chance=chance,
        false_match_rate=float(np.mean(~found.hit[unique])) if unique.any() else None,
        no_candidate=no_candidate,
        mean_individual=float(found.individual.mean()),
        max_individual=float(found.individual.max()),
        mean_unconditional=float(found.unconditional.mean()),
        per_group=_by_group(groups, share, true_match, found.individual),
        individual=found.individual,
        true_match_mask=true_match,
    )


def _by_group(
    groups: pd.Series | None, share: Floats, true_match: Booleans, individual: Floats
) -> tuple[dict[str, Any], ...]:
    if groups is None:
        return ()
    labels = groups.astype("category")
    lines = []
    for position, group in enumerate(labels.cat.categories):
        members = labels.cat.codes.to_numpy() == position
        if members.any():
            lines.append(
                {
                    "group": str(group),
                    "records": int(members.sum()),
                    "expected_match": float(share[members].sum()),
                    "true_match": int(true_match[members].sum()),
                    "mean_individual": float(individual[members].mean()),
                }
            )
    return tuple(lines)
