"""Draws from the posterior of a PyMC model, and whether they can be trusted.

NUTS (by nutpie where it is installed) in two or more chains, until R-hat and the effective sample size are good, or
ADVI for many records: the posterior is put in coordinates in which it is nearly standard normal (its mode and the
curvature there), a normal approximation with independent coordinates is fitted by stochastic gradients, and its draws
are re-weighted by Pareto-smoothed importance sampling, whose shape k says whether the approximation may be used.

PyMC compiles by numba: no C compiler is needed. Cost per gradient O(n · d); NUTS takes some ten thousands of them,
ADVI some thousands.

References
----------
Hoffman, Gelman (2014), Journal of Machine Learning Research 15 (NUTS). Kucukelbir et al. (2017), Journal of Machine
Learning Research 18 (ADVI). Yao, Vehtari, Simpson, Gelman (2018), ICML (k < 0.7 as the limit for ADVI).
"""

import importlib.util
from typing import Any, Literal, Protocol

import numpy as np

from synthdp.errors import Unfinished
from synthdp.imputation.programs.draws import COMPILE, Draws, quiet
from synthdp.imputation.programs.variational import approximate
from synthdp.microdata import Floats

SamplerName = Literal["auto", "nuts", "advi"]
LARGE = 20_000  # records beyond which auto means ADVI
LONGER = 2  # how often a run is done again with twice the draws
MOST_DIVERGENT = 0.01


class Effort(Protocol):
    """How long to sample, and what is good enough."""

    @property
    def sampler(self) -> SamplerName: ...  # noqa: D102
    @property
    def draws(self) -> int: ...  # noqa: D102
    @property
    def tune(self) -> int: ...  # noqa: D102
    @property
    def chains(self) -> int: ...  # noqa: D102
    @property
    def target_accept(self) -> float: ...  # noqa: D102
    @property
    def least_ess(self) -> float: ...  # noqa: D102
    @property
    def most_r_hat(self) -> float: ...  # noqa: D102


def fit(model: Any, effort: Effort, records: int, *, what: str, rng: np.random.Generator) -> Draws:
    """Return draws from p(θ | records).

    Parameters
    ----------
    what
        The column the model is of, for messages.

    Raises
    ------
    Unfinished
        When the chains do not agree, or the approximation is too far off.
    """
    if effort.sampler == "advi" or (effort.sampler == "auto" and records > LARGE):
        with quiet():
            return approximate(model, effort.draws * effort.chains, effort.least_ess, what=what, rng=rng)
    return _nuts(model, effort, what=what, rng=rng)


def nuts_sampler() -> str:
    """Return which sampler PyMC is asked for: nutpie where it is installed."""
    return "nutpie" if importlib.util.find_spec("nutpie") is not None else "pymc"


def _nuts(model: Any, effort: Effort, *, what: str, rng: np.random.Generator) -> Draws:
    import pymc as pm

    draws, tune = effort.draws, effort.tune
    sampler = nuts_sampler()
    # nutpie compiles by numba of itself, and takes no such wish
    compiled = {"compile_kwargs": COMPILE} if sampler == "pymc" else {}
    for attempt in range(LONGER + 1):
        with quiet():
            trace = pm.sample(
                draws=draws,
                tune=tune,
                chains=effort.chains,
                cores=1,
                nuts_sampler=sampler,
                target_accept=effort.target_accept,
                random_seed=int(rng.integers(2**31)),
                progressbar=False,
                compute_convergence_checks=False,
                model=model,
                **compiled,
            )
            found = _judged(trace)
        good = (
            found["r_hat"] <= effort.most_r_hat
            and found["ess"] >= effort.least_ess
            and found["divergences"] <= MOST_DIVERGENT * draws * effort.chains
        )
        if good:
            values = {str(name): _flat(trace.posterior[name].values) for name in trace.posterior.data_vars}
            row = {"model": "pymc", "column": what, "sampler": f"nuts ({sampler})", "draws": draws * effort.chains}
            return Draws(values, row | {"r_hat": round(found["r_hat"], 4), "ess": round(found["ess"], 1)})
        if attempt < LONGER:
            draws, tune = 2 * draws, 2 * tune
    raise Unfinished(
        f"synthesis.model: the chains of {what} do not agree after {draws} draws each (R-hat {found['r_hat']:.2f}, "
        f"effective sample size {found['ess']:.0f}, {found['divergences']:.0f} divergences); raise draws, tune or "
        "target_accept, or leave terms that nearly follow from others out of its formula."
    )


def _judged(trace: Any) -> dict[str, float]:
    """Return the worst R-hat and bulk effective sample size of all variables, and how many transitions diverged."""
    import arviz as az

    r_hat = max(float(np.nanmax(values)) for values in _arrays(az.rhat(trace)))
    ess = min(float(np.nanmin(values)) for values in _arrays(az.ess(trace, method="bulk")))
    stats = getattr(trace, "sample_stats", {})
    divergent = float(np.sum(stats["diverging"].values)) if "diverging" in stats else 0.0
    return {"r_hat": r_hat, "ess": ess, "divergences": divergent}


def _arrays(found: Any) -> list[Floats]:
    return [np.atleast_1d(found[name].values) for name in found.data_vars]


def _flat(values: Floats) -> Floats:
    return np.asarray(values.reshape(-1, *values.shape[2:]), dtype=np.float64)
