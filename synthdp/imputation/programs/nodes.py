"""One replaced column of a program at one draw of θ, as the chain meets it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthdp.evidence import Evidence, GaussianEvidence
from synthdp.imputation.families.protocol import FamilyDraw, LevelDraw, NormalLike
from synthdp.imputation.programs.candidates import Exact, Mixture, Proposal
from synthdp.imputation.programs.chain import Conditional
from synthdp.imputation.programs.designs import Design
from synthdp.imputation.programs.outcomes import LogNormalDraw, StudentDraw
from synthdp.microdata import Codes, Floats


@dataclass(frozen=True, repr=False)
class Node:
    """A family at drawn parameters, and the design its linear predictor is made of."""

    name: str
    family: FamilyDraw | StudentDraw | LogNormalDraw
    design: Design

    @property
    def parents(self) -> tuple[str, ...]:
        """The replaced columns it depends on."""
        return self.design.parents

    def eta(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Return the linear predictors of some records."""
        return np.asarray(self.design.matrix(values, rows) @ self.family.beta)

    def log_density(self, values: Mapping[str, Floats], rows: Codes) -> Floats:
        """Return log p(own value | parents) of some records at the chain's values."""
        return self.family.log_density(values[self.name][rows], self.eta(values, rows))

    def levels(self) -> Floats | None:
        """Return the values to enumerate, or None for numbers."""
        return self.family.level_values() if isinstance(self.family, LevelDraw) else None

    def log_levels(self, values: Mapping[str, Floats], about: Evidence) -> Floats:
        """Return log p(level | parents) p(w | level) of all records and levels."""
        if not isinstance(self.family, LevelDraw):
            raise TypeError("numbers cannot be enumerated")
        eta = self.eta(values, np.arange(len(about)))
        return np.asarray(self.family.log_levels(eta) + self.family.level_weights(about))

    def proposal(self, values: Mapping[str, Floats], rows: Codes, about: Evidence) -> Proposal:
        """Return where candidates of some records come from: the exact conditional where there is one."""
        eta = self.eta(values, rows)
        if isinstance(self.family, StudentDraw | LogNormalDraw):
            return Mixture(self.family, eta, about)
        return Exact(self.family, eta, about)

    def told_by(self, child: Conditional, values: Mapping[str, Floats]) -> GaussianEvidence | None:
        """Return what a normal child x = a + b·y + e says about a normal y, where it has y as it is.

        The slope b may differ between records: interactions with other columns are part of it.
        """
        if not (isinstance(child, Node) and child.design.straight_in(self.name)):
            return None
        if not (isinstance(self.family, NormalLike) and isinstance(child.family, NormalLike)):
            return None
        own = values[self.name]
        every = np.arange(len(own))
        at_zero = child.eta({**values, self.name: np.zeros(len(own))}, every)[:, 0]
        slope = child.eta({**values, self.name: np.ones(len(own))}, every)[:, 0] - at_zero
        variance = child.family.variance
        return GaussianEvidence(slope * (values[child.name] - at_zero) / variance, slope**2 / variance)
