"""Synthesis by imputation: DA-MI (with masks) and Rubin's MI (without), one sampler for both.

    θ_m ~ p(θ | X, Z),      X̃_m ~ p(x | z, w_m, θ_m)  ∝  p(x | z, θ_m) · p(w_m | x, λ)

Given θ, a released value depends on the record's true value through W alone (and through its number of neighbours, or
its risk group by neighbours, where masks differ by them; of groups by rules see ``ruling``). The draw is joint; where
it is not exact, its chain starts from W and Z only.

References
----------
Jiang, Raftery, Steele, Wang (2022), JASA 117(537), 52-66. Reiter (2003), Survey Methodology 29(2) (inference).
The paper draws W once for all copies; its intervals are then too short (DESIGN section 1.3; reports/coverage).
"""

import dataclasses
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from synthdp import plugins
from synthdp.imputation.auto.model import Auto
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.pymc.program import Pymc
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.masking.mask import MaskDraw
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.synthesis import ruling
from synthdp.synthesis.constraints import TREES, binding
from synthdp.synthesis.design import Design
from synthdp.synthesis.nesting import incomplete, sample, started, with_roles
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.sampler import Imputing
from synthdp.table.applies import holds
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Role, Settings

MODELS: Mapping[str, type[Settings]] = plugins.Registry("models")
if TYPE_CHECKING:  # what is built in; models from outside keep the same protocol
    AnyModel = Regression | Auto | MaskedCart | Copula | Pymc
else:
    AnyModel = plugins.union("models", default="regression")
CANNOT = "cannot impute; use copula, or missing: keep."


class Imputed(Imputing):
    """What DA-MI and MI have in common.

    Parameters
    ----------
    model
        The association model p(X | Z, θ): ``regression``, ``cart`` (trees with donors), ``copula`` (one joint model
        of all columns, which takes missing values), or ``pymc`` (families and formulas of the user's own).
    copies
        How many synthetic copies are released (M); with several ``imputations``, how many of each (r).
    imputations
        How many completed originals copies are made of (m, with ``missing: impute``): m x r files, combined by
        ``reiter2004``. All models can do that (see ``nesting``).
    missing
        ``keep`` leaves missing cells of kept columns missing, ``impute`` fills them in. The copula always fills in
        missing cells of replaced columns. With ``imputations: 1`` only the copula can impute, and every copy has
        imputations of its own: as many completed originals as copies, one copy of each.
    shuffle
        Whether the rows of each copy are released in a random order of their own.
    sweeps
        How long the chain of a joint draw runs, where the draw is not exact.
    repair
        Whether records that are still named alone and rightly take a neighbour's synthetic keys (see ``making``).
    """

    model: AnyModel = Regression()
    copies: int = Field(default=5, ge=1)
    imputations: int = Field(default=1, ge=1)
    missing: Literal["keep", "impute"] = "keep"
    shuffle: bool = True
    sweeps: int = Field(default=20, ge=1)
    repair: bool = False

    @property
    def association(self) -> str:
        """The name of the association model."""
        return self.model.method

    @property
    def independent(self) -> bool:
        """Whether copies depend on each other only through the fit."""
        return self.imputations == 1 and self.mask_drawn in (None, "per_copy")

    @property
    def fitted_by_chance(self) -> bool:
        """Whether two fits to the same records differ, so that copies of one fit are more alike than those of two."""
        return self.model.fitted_by_chance

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        made = plan.design(proper=self.model.draws_parameters, copies=self.copies, mask_draw=self.mask_drawn)
        if self.imputations > 1:
            return dataclasses.replace(made, imputed=True, imputations=self.imputations)
        if not self._filled(plan):
            return made
        return dataclasses.replace(made, imputed=True, imputations=self.copies, copies=1)

    def _filled(self, plan: Plan) -> list[str]:
        """Return the columns whose missing values are filled in."""
        schema, frame = plan.data.schema, plan.data.frame
        columns = schema.columns if self.missing == "impute" else () if self.model.keeps_gaps else schema.replaced()
        return [c.name for c in columns if bool((frame[c.name].isna() & holds(c, frame)).any())]

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of this method, in sentences."""
        cautions = [TREES] if self.model.keeps_constraints == "drawn" and self._bound(plan) else []
        if self.imputations > 1:
            return cautions + self._completion_notes(plan)
        filled = self._filled(plan)
        if filled:  # analysts need another rule then, so this cannot be hidden without false intervals
            cautions.append(
                f"Missing values of {', '.join(filled)} are filled in, so every copy stands for a completed file "
                "of its own. The names of the files and the combining rule tell data users that a value was missing, "
                "even if it was one person's; they do not say whose. Leave such records out if that reveals too much."
            )
        return cautions

    def _bound(self, plan: Plan) -> tuple[str, ...]:
        """Return the constraints that draws can break."""
        return binding(plan.constraints, [column.name for column in plan.data.schema.replaced()])

    def _completion_notes(self, plan: Plan) -> list[str]:
        m, r = self.imputations, self.copies
        names = incomplete(plan.data, self.model.exclude)
        found = [
            f"Missing values are imputed {m} times and {r} copies made of each completed original: {m * r} files "
            f"({', '.join(names)})."
        ]
        if any(plan.data.schema[name].role is Role.KEEP for name in names):
            found.append(
                "Imputed cells of kept columns are drawn given the records' true values and released unmasked: where "
                "they are closely related to a replaced column they reveal it. Drop them, or use missing: keep."
            )
        if self.mask_drawn == "once":
            found.append("W is drawn once for each completed original: intervals come out a little too wide.")
        return found

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        if self.imputations > 1:
            found = self._completion_problems(plan.data)
        elif self.missing == "impute" and self.model.completes == "chained":
            found = [
                f"synthesis.missing: model {self.model.method} imputes before copies are made, not with them; set "
                "imputations: 5 (copies are then made of each), or use copula, or missing: keep."
            ]
        else:
            found = self.model.problems(plan.data)
            if self.missing == "impute" and self.model.completes is None:
                found.append(f"synthesis.missing: model {self.model.method} {CANNOT}")
        if self.model.keeps_constraints is None and self._bound(plan):
            found.append(
                f"constraints: model {self.model.method} is learnt as if there were none, so that copies are "
                "truncated twice, and intervals cover the truth in as few as half of all files; use model "
                "regression (or cart), or leave the constraints out."
            )
        if not plan.data.schema.replaced():
            found.append("variables: no column has role: replace; nothing would be synthesised.")
        # streams are told apart by a checksum of the name: equal ones would share their noise, and ruin coverage
        names = {column.name: zlib.crc32(column.name.encode()) for column in plan.data.schema.replaced()}
        if len(set(names.values())) < len(names):
            found.append("variables: two replaced columns have names of equal checksum; rename one.")
        return found

    def _completion_problems(self, data: Microdata) -> list[str]:
        """Return why completed originals cannot be made, or copies of them."""
        where = "synthesis.imputations"
        if self.missing == "keep":
            return [f"{where}: must be 1 with missing: keep, found {self.imputations}; set missing: impute."]
        if self.model.completes is None:
            return [f"{where}: model {self.model.method} {CANNOT}"]
        names = incomplete(data, self.model.exclude)
        if not names:
            return [
                f"{where}: no value is missing that could be imputed, found {self.imputations}; set imputations: 1."
            ]
        empty = [name for name in names if not data.frame[name].notna().any()]
        if empty:
            return [f"variables.{name}: has no value to learn from; set role: drop." for name in empty]
        # what is asked of the data must hold of the completed ones: any will do to see it
        filled = started(data, names, rng=np.random.default_rng(0))
        found = self.model.problems(filled)
        if self.model.keeps_gaps:  # these say how many values they need, which filled ones are not
            found = [*dict.fromkeys(found + self.model.problems(data))]
        if self.model.completes == "jointly":
            return found
        alone = self.model.of_one(())
        kept = [name for name in names if data.schema[name].role is Role.KEEP]
        return found + [
            f"variables.{name}: model {self.model.method} cannot impute its missing values; use copula, list it in "
            "synthesis.model.exclude, or set role: drop."
            for name in kept
            if alone.problems(with_roles(filled, (name,)))
        ]


class Mi(Imputed):
    """Rubin's multiple imputation: the replaced columns drawn from the model alone, nothing masked.

    Examples
    --------
    >>> Mi(copies=3).copies
    3
    """

    method: Literal["mi"] = "mi"

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Draw every copy given Z only."""
        unmasked = replace(plan, masks={}, masks_by_group={}, selection=None)
        return sample(unmasked, self, None, streams=streams, jobs=jobs, advance=advance)


class DaMi(Imputed):
    """Data-augmentation multiple imputation: the replaced columns drawn given Z and a masked W of each.

    Parameters
    ----------
    mask_draw
        ``per_copy`` (intervals cover; what leaks grows with the copies), ``once`` (the paper's way: intervals a
        little too short), ``once_orthogonal`` (noise orthogonal in sample to 1, Z and X).

    Examples
    --------
    >>> DaMi().mask_draw
    'per_copy'
    """

    method: Literal["da_mi"] = "da_mi"
    mask_draw: MaskDraw = "per_copy"

    @property
    def mask_drawn(self) -> str | None:
        """How W is drawn."""
        return self.mask_draw

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan) + ruling.problems(plan, self.model)
        groups = set(plan.tags.labels.cat.categories)
        for group in plan.masks_by_group:
            if group not in groups:
                found.append(f"masks_by_group.{group}: no such risk group; there are {', '.join(sorted(groups))}.")
        blocks = {"masks": plan.masks} | {f"masks_by_group.{g}": block for g, block in plan.masks_by_group.items()}
        replaced = {column.name: column for column in plan.data.schema.replaced()}
        for where, block in blocks.items():
            for name, mask in block.items():
                if name not in replaced:
                    found.append(f"{where}.{name}: only columns with role: replace are masked.")
                elif (why := mask.suits(replaced[name])) is not None:
                    found.append(f"{where}.{name}: {why}.")
                elif self.mask_draw == "once_orthogonal" and getattr(mask, "method", "") == "transition":
                    found.append(f"{where}.{name}: a transition mask has no noise to orthogonalise; use once.")
        gaps = self.imputations == 1 and set(self._filled(plan)) & set(replaced)
        if self.mask_draw == "once_orthogonal" and gaps:
            found.append("synthesis.mask_draw: noise cannot be orthogonal to values that are missing; use per_copy.")
        for name in replaced:
            groups_with = [group for group, block in plan.masks_by_group.items() if name in block]
            if name not in plan.masks and groups_with and set(groups_with) != groups:
                found.append(f"masks.{name}: some groups have a mask and others none; give a mask for all.")
        if replaced and not any(name in plan.masks for name in replaced) and not plan.masks_by_group:
            found.append("masks: da_mi needs a mask on at least one replaced column; use method: mi for none.")
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of this method, in sentences."""
        return super().notes(plan) + ruling.cautions(plan, self.model)

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Draw every copy given Z and W."""
        plan = replace(plan, selection=plan.selection or self.model.withdrawn)
        return sample(plan, self, self.mask_draw, streams=streams, jobs=jobs, advance=advance)
