"""A measure over several copies: its mean, its spread, and the value that two halves of the original give."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.holdout import Booleans, clusters, split
from synthdp.microdata import Codes

SPLITS = 4


@dataclass(frozen=True)
class Sizes:
    """How many records the two files of a comparison have: the original's (or a half) first."""

    first: float
    second: float

    @property
    def variance(self) -> float:
        """1/n₁ + 1/n₂, to which the variance of a difference between independent samples is proportional."""
        return 1 / self.first + 1 / self.second

    @property
    def share(self) -> float:
        """The share c of the second file in the stack."""
        return self.second / (self.first + self.second)


@dataclass(frozen=True, eq=False, repr=False)
class Halves:
    """Several random splits of the original into halves: which records are in the first one."""

    masks: tuple[Booleans, ...]

    @property
    def splits(self) -> int:
        """How many splits there are."""
        return len(self.masks)

    @cached_property
    def pattern(self) -> Codes:
        """For each record a number whose bit i says whether it is in the first half of split i."""
        bits = (mask.astype(np.int64) << place for place, mask in enumerate(self.masks))
        return np.asarray(sum(bits, start=np.int64(0)), dtype=np.int64)

    def __repr__(self) -> str:
        return f"Halves({self.splits} splits)"


def halves(comparison: Comparison, *, rng: np.random.Generator, splits: int = SPLITS) -> Halves:
    """Return several random halves of the original; records of one cluster stay together.

    A file of one record, or of one cluster, has no halves: there are no splits then, and no noise floor.
    """
    n, cluster = len(comparison.original), clusters(comparison)
    found = [split(n, share=0.5, cluster=cluster, rng=rng) for _ in range(splits)]
    return Halves(tuple(half for half in found if 0 < half.sum() < n))


def sizes_of(comparison: Comparison) -> Sizes:
    """Return the sizes of the original and, on average, of the copies."""
    return Sizes(len(comparison.original), float(np.mean([len(copy) for copy in comparison.copies])))


def summarise(per_copy: Sequence[float | None], noise: Sequence[float | None] = ()) -> dict[str, Any]:
    """Return the mean over copies, every copy's value, the smallest and largest, and the noise floor.

    A copy without a value is left out of the mean; ``noise`` is the mean over splits of the original into halves,
    already at the sample size of the comparison.
    """
    found = [float(value) for value in per_copy if value is not None and np.isfinite(value)]
    floor = [float(value) for value in noise if value is not None and np.isfinite(value)]
    return {
        "value": float(np.mean(found)) if found else None,
        "low": min(found) if found else None,
        "high": max(found) if found else None,
        "per_copy": [None if value is None or not np.isfinite(value) else float(value) for value in per_copy],
        "noise": float(np.mean(floor)) if floor else None,
    }
