"""The posteriors of all programs, one draw of θ, and the joint draw of X given it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.imputation.model import Task
from synthdp.imputation.predictors import REGULARISING_SD, Encoding, encoding_of, point_of
from synthdp.imputation.pymc.columns import Columns, Everything, Formula, Node, Regressors
from synthdp.imputation.pymc.families import FamilyName, Outcome
from synthdp.imputation.pymc.joint_draw import Chain, Conditional
from synthdp.imputation.pymc.sampling import Draws, Effort, fit
from synthdp.imputation.pymc.terms import Terms
from synthdp.imputation.regression.sequence import largest_count
from synthdp.masking.evidence import Evidence
from synthdp.table.links import Link
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.schema import Kind


def true_values(data: Microdata, links: Mapping[str, Link]) -> dict[str, Floats]:
    """Return the records' replaced columns as the chain keeps them: working values, counts, positions in the levels."""
    found: dict[str, Floats] = {}
    for column in data.schema.replaced():
        if column.kind.categorical:
            found[column.name] = data.codes(column.name).astype(np.float64)
        else:
            numbers = data.numbers(column.name)
            found[column.name] = numbers if column.kind is Kind.COUNT else links[column.name].forward(numbers)
    return found


@dataclass(frozen=True, repr=False)
class Program:
    """One column's design, outcome and draws of its parameters."""

    name: str
    outcome: Outcome
    design: Regressors
    width: int
    draws: Draws

    def node(self, *, rng: np.random.Generator) -> Node:
        """Draw θ_j."""
        return Node(self.name, self.outcome.drawn(self.draws.pick(rng=rng), self.width), self.design)


@dataclass(frozen=True, repr=False)
class ProgramPosterior:
    """p(θ | X, Z): a product over columns, so θ is drawn column by column."""

    task: Task
    programs: tuple[Program, ...]

    @classmethod
    def fit(
        cls,
        task: Task,
        families: Mapping[str, FamilyName],
        terms: Mapping[str, Terms | None],
        prior_sd: float,
        effort: Effort,
        *,
        rng: np.random.Generator,
    ) -> "ProgramPosterior":
        """Sample every column's program given the true values of its parents.

        Parameters
        ----------
        families, terms
            Of each replaced column, parents first.
        """
        columns, values = Columns(task.data, task.links), true_values(task.data, task.links)
        masks = task.predictors.matrix[:, len(task.predictors.names) - task.predictors.regularised :]
        made: list[Program] = []
        before: list[tuple[str, Encoding]] = []
        for name, family in families.items():
            written = terms[name]
            design: Regressors
            if written is None:
                design = Everything(task.predictors.matrix, tuple(before))
                matrix = design.matrix(values, np.arange(len(task.data)))
                own = np.full(matrix.shape[1], prior_sd)
                own[: task.predictors.matrix.shape[1]] = task.predictors.prior_sd(prior_sd)
            else:
                design, matrix = Formula.learn(columns, written, values, masks)
                own = np.full(matrix.shape[1], prior_sd)
                own[len(own) - masks.shape[1] :] = min(REGULARISING_SD, prior_sd)
            outcome = _outcome(task, name, family, values[name])
            draws = fit(outcome.program(matrix, own[1:]), effort, len(task.data), what=name, rng=rng)
            made.append(Program(name, outcome, design, matrix.shape[1], draws))
            before.append((name, encoding_of(task.data.schema[name], task.links.get(name))))
        return cls(task, tuple(made))

    def __repr__(self) -> str:
        return f"ProgramPosterior({len(self.programs)} columns)"

    def diagnostics(self) -> tuple[Mapping[str, object], ...]:
        """Return, per column, how it was sampled and how well."""
        return tuple(program.draws.row for program in self.programs)

    def draw(self, *, rng: np.random.Generator) -> "ProgramParameters":
        """Draw θ."""
        return ProgramParameters(tuple(program.node(rng=rng) for program in self.programs), self.task)


@dataclass(frozen=True, repr=False)
class ProgramParameters:
    """One draw of θ; its draws of X are on the working scale and inside the bounds."""

    columns: tuple[Conditional, ...]
    task: Task

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ)."""
        return self.chain(evidence, rng=rng)[0]

    def chain(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Return the draw and the chain's trace."""
        values, trace = Chain(self.columns, self.task.sweeps).run(evidence, rng=rng)
        for name, link in self.task.links.items():
            counted = self.task.data.schema[name].kind is Kind.COUNT
            values[name] = np.clip(link.forward(values[name]) if counted else values[name], *link.limits())
        return values, trace

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, which apply to everyone and are complete."""
        return dict(task.working)


def _outcome(task: Task, name: str, family: FamilyName, y: Floats) -> Outcome:
    column, link = task.data.schema[name], task.links.get(name)
    return Outcome(
        family,
        y,
        levels=len(column.levels),
        largest=largest_count(task, name) if column.kind is Kind.COUNT else 0,
        link=link,
        zero=column.bounds[0] if column.bounds is not None else 0.0,
        atom=point_of(link) if link is not None and column.kind is Kind.SEMICONTINUOUS else 0.0,
    )
