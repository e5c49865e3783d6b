"""An intruder who takes the nearest row, and whether means are kept: a measure each of risk and of usefulness."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.evaluation.blocks import Block, number
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import IDENTITY_LIMITS, Figures, Need, Plain
from synthdp.table.microdata import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """How probable each record's own row is; the gate reads ``individual``, ``confidence`` and ``right``."""

    individual: Floats
    confidence: Floats

    @property
    def right(self) -> Floats:
        return self.individual

    def section(self) -> dict[str, float]:
        return {
            "expected_match": float(np.nansum(self.individual)),
            "mean_individual": float(np.nanmean(self.individual)),
            "max_individual": float(np.nanmax(self.individual)),
        }


def nearest_row(files: Comparison, rng: np.random.Generator) -> Found:
    """Point at the rows of the first copy that are nearest to a person's numeric keys, and guess among ties."""
    names = [key.name for key in files.schema.keys() if not key.kind.categorical]
    n = len(files.original)
    true, released = (frame[names].to_numpy(dtype=float) for frame in (files.original, files.copies[0]))
    scale = np.maximum(true.std(axis=0), 1e-12) if names else np.ones(0)
    individual, confidence = np.full(n, np.nan), np.full(n, np.nan)
    for i in range(n) if files.targets is None else files.targets:
        distance = np.nan_to_num(np.abs((released - true[i]) / scale)).sum(axis=1)
        nearest = distance <= distance.min() + 1e-9
        individual[i], confidence[i] = nearest[i] / nearest.sum(), 1 / nearest.sum()
    return Found(individual, confidence)


def nearest_block(section: Mapping[str, Any]) -> Block:
    said = f"The nearest row is the right one for {number(section['expected_match'])} records, by expectation."
    return Block("Nearest row", "The intruder points at the row that is nearest to a person's keys.", (said,))


NEAREST_ROW = Plain(
    "nearest_row",
    "Whom can an intruder find who takes the nearest row?",
    nearest_row,
    frozenset({Need.KEYS, Need.ROWS}),
    IDENTITY_LIMITS,
    title="Nearest row",
    words="The intruder points at the row that is nearest to a person's keys.",
    tells=nearest_block,
)


def means(files: Comparison, rng: np.random.Generator) -> Figures:
    """Take the largest difference between a mean of the copies and of the original, in sds of the original."""
    numeric = [column.name for column in files.schema.replaced() if not column.kind.categorical]
    original = files.original[numeric].astype(float)
    each = [((copy[numeric].astype(float).mean() - original.mean()) / original.std()).abs() for copy in files.copies]
    worst = float(np.mean([one.max() for one in each])) if numeric else 0.0
    return Figures({"value": worst, "columns": len(numeric)})


MEANS = Plain(
    "means",
    "Are the means of numbers kept?",
    means,
    limits=("max_means",),
    title="Means",
    reads=lambda section: {"": section["value"]},
    tells=lambda section: Block("Means", "Are the means kept?", (f"Worst: {number(section['value'])} sd.",)),
)
