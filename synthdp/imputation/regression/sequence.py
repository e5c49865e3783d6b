"""Sequential regressions of any family: one per replaced column, drawn by Gibbs sampling."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.imputation.families.counts import NegativeBinomial
from synthdp.imputation.families.family import Family, FamilyPosterior
from synthdp.imputation.families.links import LinkName
from synthdp.imputation.families.normal import Normal, Semicontinuous
from synthdp.imputation.families.ordered import Ordered
from synthdp.imputation.families.unordered import Binary, Multinomial
from synthdp.imputation.model import Posterior, Task, certain, filled, learnt
from synthdp.imputation.predictors import Encoding, encoding_of, point_of
from synthdp.imputation.regression.gibbs import GibbsParameters, Node
from synthdp.imputation.regression.grouped import Grouped
from synthdp.imputation.regression.grouped_chain import GroupedChain
from synthdp.masking.evidence import Evidence
from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Kind

BEYOND_LARGEST = 1.5


@dataclass(frozen=True, repr=False)
class Step:
    """One column's place in the sequence."""

    name: str
    family: Family
    encoding: Encoding
    values: Floats
    prior_sd: float
    link: Link | None = None
    counted: bool = False


def steps_of(task: Task, order: tuple[str, ...], link: LinkName, prior_sd: float, linear_sd: float) -> list[Step]:
    """Return the regression of each replaced column, chosen by its kind."""
    return [_step(task, name, link, prior_sd, linear_sd) for name in order]


def largest_count(task: Task, name: str) -> int:
    """Return the largest count that can be drawn: the upper bound, or half again the largest in the file."""
    bounds = task.data.schema[name].bounds
    if bounds is not None:
        return int(bounds[1])
    return int(np.ceil(BEYOND_LARGEST * np.nanmax(task.data.numbers(name)))) + 1


def _step(task: Task, name: str, link: LinkName, prior_sd: float, linear_sd: float) -> Step:
    column, working, scale = task.data.schema[name], task.working[name], task.links.get(name)
    encoding, levels = encoding_of(column, scale), len(column.levels)
    if scale is None:
        by_kind: dict[Kind, Family] = {Kind.BINARY: Binary(link), Kind.ORDINAL: Ordered(levels, link)}
        return Step(name, by_kind.get(column.kind, Multinomial(levels)), encoding, working, prior_sd)
    if column.kind is Kind.COUNT:
        # the counts themselves, with those that were rejected; plus zero, as a rounded one may be minus zero
        values = np.round(scale.inverse(working)) + 0.0
        family = NegativeBinomial(largest_count(task, name), scale)
        return Step(name, family, encoding, values, prior_sd, scale, counted=True)
    if column.kind is Kind.SEMICONTINUOUS:
        parts = Semicontinuous(point_of(scale), link, linear_widening=linear_sd / prior_sd)
        return Step(name, parts, encoding, working, prior_sd, scale)
    return Step(name, Normal(), encoding, working, linear_sd, scale)


@dataclass(frozen=True, repr=False)
class SequencePosterior(Posterior):
    """The posteriors of all regressions of the sequence."""

    design: Floats
    steps: tuple[Step, ...]
    fits: tuple[FamilyPosterior, ...]
    sweeps: int

    @classmethod
    def fit(cls, task: Task, steps: list[Step], *, rng: np.random.Generator) -> "SequencePosterior":
        """Fit each column's regression on the predictors and the true values of the columns before it."""
        design = task.predictors.matrix
        fits = []
        for j, step in enumerate(steps):
            before = [(earlier.name, earlier.encoding.columns(earlier.values)) for earlier in steps[:j]]
            full, rows, prior = learnt(task, step.name, step.prior_sd, before)
            fits.append(step.family.fit(full, step.values[rows], prior, rng=rng))
        return cls(design, tuple(steps), tuple(fits), task.sweeps)

    def draw(self, *, rng: np.random.Generator) -> "SequenceParameters":
        """Draw θ: every regression's parameters."""
        nodes = tuple(
            Node(step.name, fit.draw(rng=rng), step.encoding) for step, fit in zip(self.steps, self.fits, strict=True)
        )
        return SequenceParameters(GibbsParameters(self.design, nodes, self.sweeps), self.steps)


@dataclass(frozen=True, repr=False)
class SequenceParameters:
    """One draw of θ; its draws of X are on the working scale and, if ``bounded``, inside the bounds."""

    gibbs: GibbsParameters
    steps: tuple[Step, ...]
    bounded: bool = True

    def of(self, rows: Codes | slice) -> "SequenceParameters":
        """Return the same θ for some of the records."""
        return replace(self, gibbs=replace(self.gibbs, design=self.gibbs.design[rows]))

    def unbounded(self, rows: Codes) -> "SequenceParameters":
        """Return the same θ for some of the records, drawn forward (exact without evidence) and without bounds."""
        forward = replace(self.gibbs, design=self.gibbs.design[rows], sweeps=0)
        return replace(self, gibbs=forward, bounded=False)

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ)."""
        return self.chain(evidence, rng=rng)[0]

    def chain(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Return the draw and the chain's trace."""
        values, trace = self.gibbs.chain(evidence, rng=rng)
        return self._written(values), trace

    def draw_grouped(self, about: Grouped, *, rng: np.random.Generator) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Draw them where masks differ by a rule on the values themselves (see ``grouped_chain``)."""
        scales = {step.name: step.link for step in self.steps if step.counted and step.link is not None}
        values, trace = GroupedChain(self.gibbs, about, scales).run(rng=rng)
        return self._written(values), trace

    def _written(self, values: dict[str, Floats]) -> dict[str, Floats]:
        """Return the chain's values on the working scale, inside their bounds where they are asked to be."""
        for step in self.steps:
            if step.link is not None:
                drawn = step.link.forward(values[step.name]) if step.counted else values[step.name]
                values[step.name] = np.clip(drawn, *step.link.limits()) if self.bounded else drawn
        return values

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, drawn where they do not apply: forward, which is exact here."""
        known = certain(task.working, task.data.schema.replaced())
        forward = replace(self, gibbs=replace(self.gibbs, sweeps=0))
        return filled(task.working, forward.draw(known, rng=rng))
