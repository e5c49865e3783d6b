"""Columns that know nothing of each other: x_j ~ N(μ_j, σ_j²) on the working scale, or levels of probability π_j."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthdp.imputation.model import Association, Task, filled, gap_problems
from synthdp.masking.evidence import Evidence, about_levels, about_numbers, draw_levels
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.schema import Kind


@dataclass(frozen=True, repr=False)
class Margins:
    """θ: a mean and a variance for every number, log probabilities for every column of levels."""

    numbers: Mapping[str, tuple[float, float]]
    levels: Mapping[str, Floats]
    limits: Mapping[str, tuple[float, float]]

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        drawn = {}
        for name, says in evidence.items():
            if name in self.levels:
                drawn[name] = draw_levels(self.levels[name] + about_levels(says).log_weights, rng=rng).astype(float)
                continue
            mean, variance = self.numbers[name]
            known = about_numbers(says)
            precision = 1 / variance + known.precision
            centre = (mean / variance + known.linear) / precision
            drawn[name] = np.clip(centre + rng.standard_normal(len(centre)) / np.sqrt(precision), *self.limits[name])
        return drawn

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        return filled(task.working, task.working)  # every value is there: see ``problems``


@dataclass(frozen=True, repr=False)
class MarginsPosterior:
    task: Task

    def draw(self, *, rng: np.random.Generator) -> Margins:
        numbers, levels = {}, {}
        for name, x in self.task.working.items():
            if name in self.task.links:
                variance = x.var() * len(x) / rng.chisquare(len(x) - 1)
                numbers[name] = (rng.normal(x.mean(), np.sqrt(variance / len(x))), variance)
            else:
                counts = np.bincount(x.astype(int), minlength=len(self.task.data.schema[name].levels))
                levels[name] = np.log(rng.dirichlet(counts + 0.5))
        return Margins(numbers, levels, {name: link.limits() for name, link in self.task.links.items()})

    def diagnostics(self) -> tuple[Mapping[str, object], ...]:
        return ()  # the draws are exact: there is no chain to look at


class Independent(Association):
    method: Literal["independent"] = "independent"
    splines: Literal[0] = 0

    def problems(self, data: Microdata) -> list[str]:
        unfit = [column for column in data.schema.replaced() if column.kind is Kind.DATE or column.applies_when]
        found = [f"variables.{column.name}: independent cannot replace it; set role: keep." for column in unfit]
        return found + gap_problems(data, "independent needs")

    def fit(self, task: Task, *, rng: np.random.Generator) -> MarginsPosterior:
        return MarginsPosterior(task)
