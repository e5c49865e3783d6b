"""Running the chains.

Margins completed first where values are missing, then two chains until they agree (split R-hat, effective sizes).

References
----------
Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Bayesian Analysis 16(2), 667-718: R-hat on rank-normalised split
chains, and the effective sample size with Geyer's (1992) initial monotone sequence.

The first chain starts where completing the margins ended, the second halfway between that and unrelated columns: a
start that still shows makes them disagree.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller

import numpy as np
from scipy.special import ndtri

from synthdp.errors import Unfinished
from synthdp.imputation.copula.chain import Sampler, State
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.latent import Latent
from synthdp.parallel import each
from synthdp.table.microdata import Floats


def r_hat(draws: Floats) -> Floats:
    """Return the rank-normalised split R-hat of each quantity: the larger of bulk and spread (folded).

    Parameters
    ----------
    draws
        chains × draws × quantities.

    Examples
    --------
    >>> together = r_hat(np.random.default_rng(1).standard_normal((2, 400, 1)))
    >>> bool(together[0] < 1.02)
    True
    """
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.maximum(_plain_r_hat(_ranked(split)), _plain_r_hat(_ranked(folded)))


def bulk_ess(draws: Floats) -> Floats:
    """Return the bulk effective sample size of each quantity. O(D log D) per quantity for D draws."""
    return _ess(_ranked(_split(draws)))


def tail_ess(draws: Floats) -> Floats:
    """Return the tail effective sample size of each quantity: the smaller of those for its 5% and 95% quantiles.

    Section 4.3 of Vehtari et al.: the effective sample size of being at most the quantile.
    """
    low, high = np.quantile(draws, (0.05, 0.95), axis=(0, 1))
    return np.minimum(_ess(_split((draws <= low).astype(np.float64))), _ess(_split((draws <= high).astype(np.float64))))


def _ess(draws: Floats) -> Floats:
    """Return the effective sample size of the mean of each quantity; draws of chains already split."""
    chains, n, quantities = draws.shape
    covariances = _autocovariances(draws)
    means = draws.mean(axis=1)
    within = covariances[:, 0].mean(axis=0) * n / (n - 1)
    total = within * (n - 1) / n + means.var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = 1 - (within - covariances.mean(axis=0)) / total
    correlations[0] = 1.0
    found = np.empty(quantities)
    for k in range(quantities):
        time = _autocorrelation_time(correlations[:, k])
        found[k] = chains * n / max(time, 1 / np.log10(chains * n)) if total[k] > 0 else np.nan
    return found


def _autocorrelation_time(rho: Floats) -> float:
    """Return 1 + 2 Σ ρ_t up to where pairs of neighbours stop being positive, the pairs made decreasing."""
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2)
    sums = pairs.sum(axis=1)
    last = max((len(rho) - 3) // 2, 1)  # where none is negative, ArviZ stops here
    negative = np.flatnonzero(~(sums[:last] > 0))
    stop = max(int(negative[0]) if len(negative) else last, 1)
    kept = np.minimum.accumulate(sums[:stop])
    # the first term after the last pair still helps when it is positive
    extra = max(float(pairs[stop, 0]), 0.0) if stop < len(pairs) else 0.0
    return float(-1 + 2 * kept.sum() + extra)


def _split(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _ranked(draws: Floats) -> Floats:
    from scipy.stats import rankdata

    chains, n, quantities = draws.shape
    ranks = rankdata(draws.reshape(chains * n, quantities), axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (chains * n + 0.25))).reshape(draws.shape)


def _plain_r_hat(draws: Floats) -> Floats:
    n = draws.shape[1]
    between = n * draws.mean(axis=1).var(axis=0, ddof=1)
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sqrt(((n - 1) / n * within + between / n) / within)
    return np.asarray(found)


def _autocovariances(draws: Floats) -> Floats:
    """Return chains × lags × quantities, divided by the number of draws at every lag."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n)


CHAINS = 2
ROUNDS = (60, 15, 15, 15, 15)  # sweeps before margins are completed anew
FIRST_RUN = 250
COMPLETIONS, APART = 3, 5  # of the margins, from each chain, and how many sweeps apart
FORGOTTEN = 150
GROWTH = (0.15, 0.5)


@dataclass(frozen=True, repr=False)
class Fit:
    """Draws of R and Γ, and how far they can be trusted.

    Parameters
    ----------
    r, gamma
        draws × free entries.
    codings
        The columns with margins completed from different states of the chains.
    sweeps
        How long each chain is.
    r_hat, ess, tail_ess
        Of the worst entry.
    """

    r: Floats
    gamma: Floats
    codings: tuple[Coding, ...]
    sweeps: int
    r_hat: float = float("nan")
    ess: float = float("nan")
    tail_ess: float = float("nan")

    def __repr__(self) -> str:
        return f"Fit({len(self.r)} draws)"


def settle(
    coding: Coding, *, rng: np.random.Generator, prior_records: Floats | None = None
) -> tuple[Coding, State | None]:
    """Return the coding with margins completed by the model, and where its chain stands.

    Fitted and filled in turn, as in stochastic EM; nothing is done where no margin has missing values. O(n q²).
    """
    if not incomplete(coding):
        return coding, None
    same, state = np.ones(len(coding.covariates)), None
    for sweeps in ROUNDS:
        curves = coding.curves(same)
        sampler = Sampler(coding.latent(curves), rng=rng, start=state, prior_records=prior_records)
        sampler.run(1, every=sweeps)
        state = sampler.state
        coding = coding.filled(state.y, curves)
    return coding, state


def incomplete(coding: Coding) -> bool:
    """Return whether a margin has missing values."""
    return any(item.margin is not None and item.missing().any() for item in coding.items)


def completions(coding: Coding, samplers: Sequence[Sampler]) -> tuple[Coding, ...]:
    """Return codings with margins completed anew, from several states of each chain.

    One completion for all copies would be an error that they share and their differences do not show. O(n q²).
    """
    if not incomplete(coding):
        return (coding,)
    curves = coding.curves(np.ones(len(coding.covariates)))

    def of_one(sampler: Sampler) -> list[Coding]:
        found = []
        for _ in range(COMPLETIONS):
            sampler.run(1, every=APART)
            found.append(coding.filled(sampler.state.y, curves))
        return found

    return tuple(one for found in each(of_one, samplers, jobs=CHAINS) for one in found)


def run_chains(
    coding: Coding,
    start: State | None,
    *,
    least_ess: float,
    most_r_hat: float,
    most_sweeps: int,
    rng: np.random.Generator,
    make: Callable[..., Sampler] = Sampler,
) -> Fit:
    """Run the chains until they agree. O(n q²) per sweep.

    Parameters
    ----------
    make
        Which kind of chain.

    Raises
    ------
    Unfinished
        When they do not within ``most_sweeps``.
    """
    own, latent = rng.spawn(CHAINS), coding.latent(coding.curves(np.ones(len(coding.covariates))))
    samplers = [make(latent, rng=stream, start=_apart(start, latent, k)) for k, stream in enumerate(own)]
    pairs, entries = np.nonzero(np.triu(~latent.shape.fixed())), latent.effects()
    kept: list[list[Floats]] = [[] for _ in samplers]
    total, run = 0, FIRST_RUN
    while True:
        traces = each(methodcaller("run", run), samplers, jobs=CHAINS)
        for chain, trace in zip(kept, traces, strict=True):
            chain.append(np.concatenate([trace.r[:, *pairs], trace.gamma[:, *entries]], axis=1))
        total += run
        # the start may still show in the first draws
        forgotten = min(total // 2, max(FORGOTTEN, total // 10))
        draws = np.stack([np.concatenate(chain)[forgotten:] for chain in kept])
        flat = draws.reshape(-1, draws.shape[2])
        r, gamma = flat[:, : len(pairs[0])], flat[:, len(pairs[0]) :]
        if not draws.shape[2]:
            return Fit(r, gamma, completions(coding, samplers), total)
        r_hat_, ess = float(np.nanmax(r_hat(draws))), float(np.nanmin(bulk_ess(draws)))
        # means of overrelaxed chains are known better than their spread: tails count too
        tail = float(np.nanmin(tail_ess(draws)))
        if r_hat_ <= most_r_hat and min(ess, tail) >= least_ess:
            return Fit(r, gamma, completions(coding, samplers), total, r_hat_, ess, tail)
        if total >= most_sweeps:
            raise Unfinished(
                f"synthesis.model: the copula's chains do not agree after {total} sweeps (R-hat {r_hat_:.2f}, "
                f"effective sample size {min(ess, tail):.0f}); set prior_records if few answer or a level is rare, "
                "raise most_sweeps, group rare levels, or exclude columns that nearly follow from others."
            )
        # both shrink as the inverse of the draws
        lacking = max(least_ess / min(ess, tail), (r_hat_**2 - 1) / (most_r_hat**2 - 1)) - 1
        growth = float(np.clip(1.1 * lacking * (1 - forgotten / total), *GROWTH))
        run = min(int(np.ceil(growth * total)), most_sweeps - total)


def _apart(start: State | None, latent: Latent, number: int) -> State | None:
    """Return where a chain starts: the first as given, the second from correlations and effects halved."""
    if start is None or number == 0:
        return start
    return State(start.y, start.gamma / 2, (start.sigma + latent.shape.start()) / 2)
