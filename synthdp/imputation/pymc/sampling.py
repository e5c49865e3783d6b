"""Draws from the posterior of a PyMC model by NUTS, or by ADVI for many records, and whether they can be trusted.

NUTS (by nutpie where it is installed) runs in two or more chains, until R-hat and the effective sample size are good.

ADVI fits a normal approximation with independent coordinates, where the posterior is nearly standard normal:

    θ = mode + L u,   L L' = (minus the second derivatives at the mode)⁻¹,     q(u) = N(m, diag s²)

θ are the model's unconstrained variables. Plain ADVI is slow where posterior sds are a thousandth of the prior's, and
its independent coordinates are too narrow where predictors are correlated; in u neither happens. m and log s climb the
evidence lower bound by the gradient of the log posterior at u = m + s ε (Kucukelbir et al. 2017).
PyMC compiles that gradient, once: the same function finds the mode, fits q and weighs its draws, which are re-weighted
by p/q, smoothed by a Pareto tail: k ≤ 0.7, or weights that are all but equal, or the approximation is not used.

PyMC compiles by numba: no C compiler is needed. Cost O(n · d) per gradient; NUTS takes some ten thousands of them, ADVI
d + some hundreds for the mode and its curvature, 2 · STEPS for the fit and one per draw.

References
----------
Hoffman, Gelman (2014), Journal of Machine Learning Research 15 (NUTS). Kucukelbir, Tran, Ranganath, Gelman, Blei
(2017), Journal of Machine Learning Research 18(14) (ADVI). Kingma, Ba (2015), ICLR (Adam). Yao, Vehtari, Simpson,
Gelman (2018), ICML (k < 0.7 as the limit for ADVI).
"""

import importlib.util
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from synthdp.errors import Unfinished
from synthdp.table.microdata import Floats

COMPILE = {"mode": "NUMBA"}  # no C compiler is needed


@dataclass(frozen=True, repr=False)
class Draws:
    """Draws of a model's variables, and what the release says of them.

    Parameters
    ----------
    values
        Of each variable, draws × its shape.
    """

    values: Mapping[str, Floats]
    row: Mapping[str, object]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def pick(self, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return one draw of θ."""
        at = int(rng.integers(len(self)))
        return {name: values[at] for name, values in self.values.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PyMC from talking: what matters of a run is in its diagnostics."""
    loggers = [logging.getLogger(name) for name in ("pymc", "pytensor")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


STEPS = 1_000
LEARNING_RATE = 0.02
DECAYS = (0.9, 0.999)
MOST_K = 0.7
NEARLY_EQUAL = 0.95
MOST_VARIABLES = 300
CURVATURE_STEP = 1e-4

Slope = Callable[[Floats], tuple[float, Floats]]


def approximate(model: Any, draws: int, least_ess: float, *, what: str, rng: np.random.Generator) -> Draws:
    """Return re-weighted draws of a variational approximation.

    Parameters
    ----------
    least_ess
        How many draws the re-weighted ones must be worth.

    Raises
    ------
    Unfinished
        When the posterior has no mode with curvature, or the approximation is too far from it.
    """
    import arviz as az

    falling, start = _falling(model, what)
    mode, root = _laplace(falling, start, what)

    def rising(u: Floats) -> tuple[float, Floats]:
        value, slope = falling(mode + root @ u)
        return -value, -(root.T @ slope)

    mean, sd = climb(rising, len(mode), rng=rng)
    noise = rng.standard_normal((draws, len(mode)))
    u = mean + sd * noise
    ratios = np.array([rising(row)[0] for row in u]) + 0.5 * (noise**2).sum(axis=1)
    log_weights, k = az.psislw(ratios - ratios.max())
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    ess = float(weights.sum() ** 2 / (weights**2).sum())
    # of weights that are all but equal the largest have no tail, and k is noise
    equal = ess >= NEARLY_EQUAL * draws
    if not ((equal or float(k) <= MOST_K) and ess >= least_ess):
        raise Unfinished(
            f"synthesis.model: ADVI is too far from the posterior of {what} (Pareto k {float(k):.2f}, at most {MOST_K} "
            f"is allowed; effective sample size {ess:.0f}); use sampler: nuts."
        )
    # equally spaced points on the cumulated weights, from one random start: less noise than independent choices
    points = (rng.random() + np.arange(draws)) / draws
    chosen = rng.permutation(np.searchsorted(np.cumsum(weights)[:-1] / weights.sum(), points))
    row = {"model": "pymc", "column": what, "sampler": "advi", "draws": draws, "ess": round(ess, 1)}
    row["pareto_k"], row["approximation"] = round(float(k), 3), "ADVI, re-weighted by importance sampling"
    return Draws(_values(model, mode + u[chosen] @ root.T), row)


def climb(rising: Slope, size: int, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return mean and sd of the independent normal q nearest to a log density, averaged over the second half.

    Parameters
    ----------
    rising
        The log density and its gradient.

    Examples
    --------
    >>> mean, sd = climb(lambda u: (float(-2 * (u @ u)), -4 * u), 1, rng=np.random.default_rng(1))
    >>> bool(abs(mean[0]) < 0.1), bool(abs(sd[0] - 0.5) < 0.1)
    (True, True)
    """
    at = np.zeros(2 * size)  # mean, log sd
    first, second, kept = np.zeros(2 * size), np.zeros(2 * size), np.zeros(2 * size)
    for step in range(1, STEPS + 1):
        noise, sd = rng.standard_normal(size), np.exp(at[size:])
        # the noise and its mirror image: what is linear in it cancels
        up, down = rising(at[:size] + sd * noise)[1], rising(at[:size] - sd * noise)[1]
        slope = np.concatenate([(up + down) / 2, (up - down) / 2 * sd * noise + 1.0])
        first = DECAYS[0] * first + (1 - DECAYS[0]) * slope
        second = DECAYS[1] * second + (1 - DECAYS[1]) * slope**2
        size_of_step = LEARNING_RATE * np.sqrt(1 - DECAYS[1] ** step) / (1 - DECAYS[0] ** step)
        at = at + size_of_step * first / (np.sqrt(second) + 1e-8)
        if step > STEPS // 2:
            kept += at / (STEPS - STEPS // 2)
    return kept[:size], np.exp(kept[size:])


def _falling(model: Any, what: str) -> tuple[Slope, Floats]:
    """Return minus the log posterior of the unconstrained variables with its gradient, and where to start."""
    from pymc.blocking import DictToArrayBijection

    start = np.asarray(DictToArrayBijection.map(model.initial_point()).data, dtype=np.float64)
    if len(start) > MOST_VARIABLES:
        raise Unfinished(
            f"synthesis.model: ADVI takes at most {MOST_VARIABLES} variables, the model of {what} has {len(start)}; "
            "use sampler: nuts."
        )
    function = model.logp_dlogp_function(ravel_inputs=True, mode=COMPILE["mode"])
    function.set_extra_values({})

    def falling(theta: Floats) -> tuple[float, Floats]:
        value, slope = function(theta)
        if not np.isfinite(value) or not np.isfinite(slope).all():
            return 1e300, np.zeros_like(theta)
        return -float(value), -np.asarray(slope)

    return falling, start


def _laplace(falling: Slope, start: Floats, what: str) -> tuple[Floats, Floats]:
    """Return the mode, and the root of the inverse curvature there. O(d) gradients."""
    from scipy.optimize import minimize

    found = minimize(falling, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-14})
    mode = np.asarray(found.x, dtype=np.float64)
    steps = CURVATURE_STEP * np.eye(len(mode))
    rows = np.stack([falling(mode + step)[1] - falling(mode - step)[1] for step in steps]) / (2 * CURVATURE_STEP)
    curvature = (rows + rows.T) / 2
    try:
        return mode, np.asarray(np.linalg.inv(np.linalg.cholesky(curvature)).T)
    except np.linalg.LinAlgError:
        raise Unfinished(
            f"synthesis.model: the posterior of {what} has no clear mode, which ADVI needs; use sampler: nuts."
        ) from None


def _values(model: Any, thetas: Floats) -> dict[str, Floats]:
    """Return the model's own variables of each row of unconstrained ones."""
    from pymc.blocking import DictToArrayBijection, RaveledVars

    start = DictToArrayBijection.map(model.initial_point())
    outputs = [*model.free_RVs, *model.deterministics]
    function = model.compile_fn(
        model.replace_rvs_by_values(outputs), inputs=model.value_vars, mode=COMPILE["mode"], on_unused_input="ignore"
    )
    rows = [function(DictToArrayBijection.rmap(RaveledVars(theta, start.point_map_info))) for theta in thetas]
    return {
        variable.name: np.stack([np.asarray(row[k], dtype=np.float64) for row in rows])
        for k, variable in enumerate(outputs)
    }


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
