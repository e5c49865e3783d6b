"""The regression association model: a regression per replaced column, by its kind.

Binary: probit or logit; ordinal: ordered probit or logit; nominal: multinomial logit; count: negative binomial;
semicontinuous: two parts; continuous: normal. The joint p(X | Z, θ) is the sequence of these regressions, each on the
kept columns and the replaced columns before it. The posterior factorises the same way, so θ is drawn column by column;
X is drawn jointly, exactly where that is possible (see ``joint``), by a chain otherwise (see ``gibbs``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from synthdp.imputation.families.links import LinkName
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.families.sampling import IndependenceSampler
from synthdp.imputation.families.unordered import binary_sampler
from synthdp.imputation.model import (
    Completes,
    Constrains,
    InOrder,
    Posterior,
    Task,
    certain,
    filled,
    gap_problems,
    learnt,
    order_problems,
    settings_problems,
)
from synthdp.imputation.regression.grouped import Grouped, draw_consistent
from synthdp.imputation.regression.joint import ROWS_AT_ONCE, JointLaw, JointModel
from synthdp.imputation.regression.sequence import SequencePosterior, steps_of
from synthdp.masking.evidence import Evidence, about_levels, about_numbers
from synthdp.table.applies import visits
from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind, Schema

MOST_BINARY = 12
MOST_LEVELS = 50
MOST_COUNT = 200


class RegressionSettings(InOrder):
    """What the regressions share, drawn jointly or forward."""

    prior_sd: float = Field(default=2.5, gt=0)
    linear_prior_sd: float = Field(default=10.0, gt=0)
    keeps_constraints: ClassVar[Constrains | None] = "learnt"


class Regression(RegressionSettings):
    """Sequential regressions, drawn jointly.

    Parameters
    ----------
    order
        The replaced columns in the order of the regressions; default: file order, continuous ones last, and after all
        others those that do not apply to everyone (see ``imputation.model``).
    link
        ``probit`` or ``logit`` for binary columns.
    prior_sd
        Prior sd of the binary regressions' coefficients on standardised predictors.
    linear_prior_sd
        Prior sd of the linear regressions' coefficients in units of the residual sd.
    exclude
        Kept columns the model must not see.
    splines
        Knots of a restricted cubic spline for every numeric kept column; 0 for straight lines.

    Examples
    --------
    >>> Regression(order=("sex", "age")).link
    'probit'
    """

    method: Literal["regression"] = "regression"
    link: LinkName = "probit"
    splines: int = Field(default=0, ge=0, le=20)
    completes: ClassVar[Completes | None] = "chained"
    groups_by_rule: ClassVar[bool] = True
    by_block: ClassVar[bool] = True

    def problems(self, data: Microdata) -> list[str]:
        """Return why this model cannot replace the columns the schema asks for."""
        found: list[str] = []
        for column in data.schema.replaced():
            if column.kind is Kind.DATE:
                found.append(f"variables.{column.name}: regression cannot replace dates; use trees, or set role: keep.")
            found += size_problems(column, data, "regression", "transform: log")
        found += gap_problems(data, "regression needs") + settings_problems(data, self.order, self.exclude)
        return found + order_problems(data, self.order, joint=True)

    def fit(self, task: Task, *, rng: np.random.Generator) -> "RegressionPosterior | SequencePosterior":
        """Return the posterior of every column's regression. Cost O(n·d²) per column.

        Binary columns followed by continuous ones are drawn exactly; anything else by a chain.
        """
        order = self.arranged(task.data.schema)
        parts = exact_parts(task.data.schema, order)
        if parts is None:
            steps = steps_of(task, order, self.link, self.prior_sd, self.linear_prior_sd)
            return SequencePosterior.fit(task, steps, rng=rng)
        binary, numbers = parts
        design = task.predictors.matrix
        binary_fits: list[IndependenceSampler] = []
        for j, name in enumerate(binary):
            before = [(earlier, task.working[earlier][:, None]) for earlier in binary[:j]]
            full, rows, prior = learnt(task, name, self.prior_sd, before)
            binary_fits.append(binary_sampler(full, task.working[name][rows], prior, link=self.link, rng=rng))
        number_fits: list[LinearPosterior] = []
        for j, name in enumerate(numbers):
            before = [(earlier, task.working[earlier][:, None]) for earlier in binary + numbers[:j]]
            full, rows, prior = learnt(task, name, self.linear_prior_sd, before)
            number_fits.append(LinearPosterior.fit(full, task.working[name][rows], prior))
        limits = limits_of(task.links, numbers)
        return RegressionPosterior(design, binary, numbers, tuple(binary_fits), tuple(number_fits), limits, self.link)

    def arranged(self, schema: Schema) -> tuple[str, ...]:
        """Return the replaced columns in the order of their regressions."""
        if self.order is not None:
            return self.order
        # numbers last: what can be integrated out exactly is
        by_kind = sorted(schema.replaced(), key=lambda column: column.kind is Kind.CONTINUOUS)
        return visits(sorted(by_kind, key=lambda column: column.applies_when is not None))


def exact_parts(schema: Schema, order: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the binary columns and the numbers after them; None where the joint draw is not exact."""
    kinds = [schema[name].kind for name in order]
    count = sum(kind is Kind.BINARY for kind in kinds)
    exact = set(kinds) <= {Kind.BINARY, Kind.CONTINUOUS} and Kind.BINARY not in kinds[count:]
    return (order[:count], order[count:]) if exact and count <= MOST_BINARY else None


def limits_of(links: Mapping[str, Link], numbers: Sequence[str]) -> Floats:
    """Return the smallest and the largest working value of each number, 2 × q."""
    return np.asarray([links[name].limits() for name in numbers], dtype=np.float64).reshape(-1, 2).T


def size_problems(column: Column, data: Microdata, who: str, otherwise: str) -> list[str]:
    """Return why a column has more levels, or higher counts, than can be enumerated.

    Parameters
    ----------
    who
        The model that enumerates them.
    otherwise
        How it replaces a high count as a continuous number.
    """
    where = f"variables.{column.name}"
    if column.kind.categorical and len(column.levels) > MOST_LEVELS:
        return [
            f"{where}: {who} replaces columns of at most {MOST_LEVELS} levels, found {len(column.levels)}; group rare "
            "levels, or use trees."
        ]
    if column.kind is not Kind.COUNT:
        return []
    values = data.numbers(column.name)
    bad = int(np.sum((values < 0) | (np.isfinite(values) & (values != np.round(values)))))
    if bad:
        return [f"{where}: a count needs whole numbers from 0, found {bad} others; set kind: continuous."]
    if (np.nanmax(values) if column.bounds is None else column.bounds[1]) > MOST_COUNT:
        return [f"{where}: {who} replaces counts up to {MOST_COUNT}; set kind: continuous with {otherwise}."]
    return []


@dataclass(frozen=True, repr=False)
class RegressionPosterior(Posterior):
    """The posteriors of all regressions."""

    design: Floats
    binary: tuple[str, ...]
    numbers: tuple[str, ...]
    binary_fits: tuple[IndependenceSampler, ...]
    number_fits: tuple[LinearPosterior, ...]
    limits: Floats
    link: LinkName

    def draw(self, *, rng: np.random.Generator) -> "RegressionParameters":
        """Draw θ: every regression's coefficients, and solve the sequence for the numbers' joint distribution."""
        d, b, q = self.design.shape[1], len(self.binary), len(self.numbers)
        binary_beta, binary_previous = np.zeros((d, b)), np.zeros((b, b))
        for j, binary_fit in enumerate(self.binary_fits):
            beta = binary_fit.draw(rng=rng)
            binary_beta[:, j], binary_previous[j, :j] = beta[:d], beta[d:]
        number_beta, number_shift = np.zeros((d, q)), np.zeros((b, q))
        previous, residual_sd = np.zeros((q, q)), np.zeros(q)
        for j, number_fit in enumerate(self.number_fits):
            drawn = number_fit.draw(rng=rng)
            beta = drawn.beta[:, 0]
            number_beta[:, j], number_shift[:, j], previous[j, :j] = beta[:d], beta[d : d + b], beta[d + b :]
            residual_sd[j] = np.sqrt(drawn.variance)
        # x = A x + B z + S b + e  gives  x = (I - A)⁻¹ (B z + S b + e)
        solve = np.linalg.inv(np.eye(q) - previous)
        model = JointModel(
            binary_beta=binary_beta,
            binary_previous=binary_previous,
            number_beta=number_beta @ solve.T,
            number_shift=number_shift @ solve.T,
            root=solve * residual_sd,
            limits=self.limits,
            link=self.link,
        )
        return RegressionParameters(self.design, self.binary, self.numbers, model)


@dataclass(frozen=True, repr=False)
class RegressionParameters:
    """One draw of θ."""

    design: Floats
    binary: tuple[str, ...]
    numbers: tuple[str, ...]
    model: JointModel

    def of(self, rows: Codes | slice) -> "RegressionParameters":
        """Return the same θ for some of the records."""
        return replace(self, design=self.design[rows])

    def unbounded(self, rows: Codes) -> "RegressionParameters":
        """Return the same θ for some of the records, drawn without bounds."""
        limits = np.full_like(self.model.limits, np.inf) * [[-1.0], [1.0]]
        return replace(self.of(rows), model=replace(self.model, limits=limits))

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ)."""
        return self.named(*self.model.draw(self.design, *self._read(evidence), rng=rng))

    def draw_grouped(self, about: Grouped, *, rng: np.random.Generator) -> tuple[dict[str, Floats], None]:
        """Draw them where masks differ by a rule on the values themselves (see ``grouped``)."""
        parts = []
        for start in range(0, len(self.design), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(self.design)))
            some, here = about[rows], self.of(rows)
            parts.append(draw_consistent([here.law(part) for part in some.parts], some, rng=rng))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, None

    def law(self, evidence: Mapping[str, Evidence]) -> "RegressionLaw":
        """Return p(x | z, w, θ), to be weighed and drawn from."""
        return RegressionLaw(self, self.model.law(self.design, *self._read(evidence)))

    def _read(self, evidence: Mapping[str, Evidence]) -> tuple[Floats, Floats, Floats]:
        """Return what W says: log weights of levels, and centres and precisions of numbers."""
        n = len(self.design)
        levels = np.zeros((n, len(self.binary), 2))
        for j, name in enumerate(self.binary):
            levels[:, j, :] = about_levels(evidence[name]).log_weights
        centers, precisions = np.zeros((n, len(self.numbers))), np.zeros((n, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            about = about_numbers(evidence[name])
            centers[:, j], precisions[:, j] = about.mean(), about.precision
        return levels, centers, precisions

    def named(self, binary: Codes, numbers: Floats) -> dict[str, Floats]:
        """Return drawn columns by name."""
        drawn = {name: binary[:, j].astype(np.float64) for j, name in enumerate(self.binary)}
        return drawn | {name: numbers[:, j] for j, name in enumerate(self.numbers)}

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, drawn where they do not apply given all that is known."""
        return filled(task.working, self.draw(certain(task.working, task.data.schema.replaced()), rng=rng))


@dataclass(frozen=True, repr=False)
class RegressionLaw:
    """The exact joint law of some records."""

    parameters: RegressionParameters
    law: JointLaw

    def log_norm(self) -> Floats:
        """Return log ∫ p(x | z, θ) p(w | x) dx of each record."""
        return self.law.log_norm()

    def draw(self, rows: Codes, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw some of the records, inside their bounds."""
        model = self.parameters.model
        cells, numbers = self.law.draw(rows, rng=rng)
        return self.parameters.named(model.cells()[cells], np.clip(numbers, *model.limits))
