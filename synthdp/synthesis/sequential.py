"""Sequential synthesis, as synthpop does it: column after column, each given those before it.

    x̃_j  ~  p(x_j | z, x̃_1 … x̃_(j-1), θ̂_j),      θ̂_j fitted to the original

No mask enters: the draw depends on a record's own values through the kept columns only, and through whatever the
model remembers of its donors. There is no formal statement about it.

References
----------
Nowok, Raab, Dibben (2016), Journal of Statistical Software 74(11). Reiter (2003), Survey Methodology 29(2)
(inference when some columns are kept). Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3)
(when none is).
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd
from pydantic import Field
from threadpoolctl import threadpool_limits

from synthdp import plugins
from synthdp.imputation.regression.forward import NormLogit, Regressions
from synthdp.imputation.trees.cart import Cart
from synthdp.parallel import Advance, each
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import TREES, binding, constrained
from synthdp.synthesis.design import Design
from synthdp.synthesis.plan import Method, Plan, Release
from synthdp.synthesis.truncation import TruncatedSequence


class _Copy(Protocol):
    @property
    def frame(self) -> pd.DataFrame: ...


class _Column(Protocol):
    def draw(self, copy: Any, *, rng: np.random.Generator) -> None: ...


class _Prepared(Protocol):
    @property
    def visits(self) -> tuple[str, ...]: ...
    def start(self) -> _Copy: ...
    def fit(self, name: str, *, rng: np.random.Generator | None) -> _Column: ...


MODELS: Mapping[str, Any] = plugins.Registry("models", "sequential")
if TYPE_CHECKING:  # what is built in; models from outside keep the same protocol
    AnyModel = Cart | NormLogit
else:
    AnyModel = plugins.union("models", "sequential", default="cart")

DEALT = (
    "Leaves dealt their values evenly, so copies vary less than the combining rule assumes: intervals cover a little "
    "more often than stated (see reports/sequential)."
)


class Sequential(Method):
    """Every replaced column drawn given the kept columns and the synthetic columns before it.

    Parameters
    ----------
    model
        ``cart`` (trees with donors) or ``regression`` (norm + logit).
    copies
        How many synthetic copies are released (M).
    proper
        Whether every copy has parameters of its own: trees grown on a Bayesian bootstrap of the records, regressions
        drawn from their posterior. The default, as in synthpop, fits once; under constraints regressions are always
        drawn (see ``truncation``).
    shuffle
        Whether the rows of each copy are released in a random order of their own.
    repair
        Whether records that are still named alone and rightly take a neighbour's synthetic keys (see ``making``).

    Notes
    -----
    Copies of which some columns are kept are combined by Reiter (2003), those of which none is by Raab, Nowok and
    Dibben (2016), which works for one copy too. With copies of the size of the original both variances have the
    same expectation there: v̄(1 + 1/M), or v̄(1 + 2/M) when ``proper``. Trees that deal the values of a leaf evenly
    make copies that vary less: Reiter's variance sees that, as it measures how much copies differ; the other does not
    and is too large (see ``reports/sequential``).

    Examples
    --------
    >>> Sequential(copies=3).model.method
    'cart'
    """

    method: Literal["sequential"] = "sequential"
    model: AnyModel = Cart()
    copies: int = Field(default=5, ge=1)
    proper: bool = False
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: bool = False

    @property
    def association(self) -> str:
        """The name of the association model."""
        return self.model.method

    @property
    def independent(self) -> bool:
        """Whether copies depend on each other only through the fit."""
        return True

    @property
    def fitted_by_chance(self) -> bool:
        """Whether two fits to the same records differ: where halves of them choose how small leaves may be."""
        return isinstance(self.model, Cart) and self.model.min_leaf is None

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        drawn = self.model.keeps_constraints == "learnt" and bool(binding(plan.constraints, _replaced(plan)))
        return plan.design(proper=self.proper or drawn, copies=self.copies)

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know of this method, in sentences."""
        evenly = isinstance(self.model, Cart) and self.model.dealing == "systematic"
        dealt = [DEALT] if evenly and not plan.released.schema.kept() else []
        if not binding(plan.constraints, _replaced(plan)):
            return dealt
        if self.model.keeps_constraints == "drawn":
            return [*dealt, TREES]
        drawn = "Under constraints the regressions' parameters are drawn for every copy, as proper: true asks."
        return [] if self.proper else [drawn]

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = self.model.problems(plan.data)
        if not plan.data.schema.replaced():
            found.append("variables: no column has role: replace; nothing would be synthesised.")
        return found

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Fit and draw.

        Columns are fitted, and copies drawn, in parallel threads; each depends on its own streams only, so the result
        is the same for any number of jobs.
        """
        started = time.perf_counter()
        model, told = self._chosen(plan, streams)
        # one BLAS thread: sums taken in another order would change the last digit with the number of jobs
        with threadpool_limits(limits=1, user_api="blas"):
            prepared: _Prepared = model.prepare(plan.data)
            once: dict[str, _Column] = {}
            if not self.proper:
                fits = each(lambda name: prepared.fit(name, rng=None), prepared.visits, jobs=jobs)
                once = dict(zip(prepared.visits, fits, strict=True))
            bound = binding(plan.constraints, prepared.visits)
            truncated = None
            if bound and isinstance(prepared, Regressions):
                truncated = TruncatedSequence.of(prepared, bound, rng=streams.generator("truncation"))
            fitted = time.perf_counter()

            def draw(m: int) -> pd.DataFrame:
                if truncated is not None:
                    return truncated.draw(rng=streams.generator("truncation", m))
                columns = {
                    name: once.get(name) or prepared.fit(name, rng=streams.generator("fit", name, m))
                    for name in prepared.visits
                }
                values = {name: streams.generator("values", name, m) for name in prepared.visits}

                def forward() -> pd.DataFrame:
                    copy = prepared.start()
                    for name in prepared.visits:
                        columns[name].draw(copy, rng=values[name])
                    return copy.frame

                return constrained(forward, plan.constraints, copy=m)

            copies = tuple(each(draw, range(1, self.copies + 1), jobs=jobs, advance=advance))
        chain = truncated.pace.rows() if truncated is not None else told
        seconds = {"fit": fitted - started, "draw": time.perf_counter() - fitted}
        return Release.of(self, plan, copies, chain=chain, seconds=seconds)

    def _chosen(self, plan: Plan, streams: Streams) -> tuple[Any, tuple[Mapping[str, object], ...]]:
        """Return the model with what it leaves to the data chosen, and what is to be told of that."""
        if not isinstance(self.model, Cart):
            return self.model, ()
        model = self.model.chosen(plan.data, rng=streams.generator("leaf"))
        chosen = {name: getattr(model, name) for name in ("min_leaf", "by")}
        told = {name: value for name, value in chosen.items() if value != getattr(self.model, name)}
        return model, ({"column": "every tree", **told},) if told else ()


def _replaced(plan: Plan) -> list[str]:
    return [column.name for column in plan.data.schema.replaced()]
