"""Running the chains.

Margins completed first where values are missing, then two chains until they agree (see ``trust``).

The first chain starts where completing the margins ended, the second halfway between that and unrelated columns: a
start that still shows makes them disagree.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller

import numpy as np

from synthdp.imputation.copula.chain import Sampler, State
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.latent import KNOWN, Latent
from synthdp.imputation.copula.trust import bulk_ess, r_hat, tail_ess
from synthdp.parallel import Advance, each
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Role

CHAINS = 2
ROUNDS = (60, 15, 15, 15, 15)  # sweeps before margins are completed anew
FIRST_RUN = 250
COMPLETIONS, APART = 3, 5  # of the margins, from each chain, and how many sweeps apart
FORGOTTEN = 150
GROWTH = (0.15, 0.5)
STEP_OF_SIGMA = 2.0  # latents that could be drawn in the meantime, over q³
MOST_JUDGED = 1500  # draws of each chain that are looked at, or as many as sizes need: else every other, every third


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


def completions(coding: Coding, samplers: Sequence[Sampler], *, jobs: int = 1) -> tuple[Coding, ...]:
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

    return tuple(one for found in each(of_one, samplers, jobs=min(jobs, CHAINS)) for one in found)


@dataclass(frozen=True)
class Limits:
    """When chains are long enough, and how long they may become.

    Parameters
    ----------
    least_ess, most_r_hat
        Of the worst entry that counts.
    most_sweeps
        After which the run is given up.
    most_work
        Latents drawn (records x unknown ones x sweeps, and what Σ takes) after which it is, or as soon as that many are
        to be expected; None for any.
    """

    least_ess: float
    most_r_hat: float
    most_sweeps: int
    most_work: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What is said of chains: the worst R-hat and effective sizes, and what has them."""

    r_hat: float
    ess: float
    tail_ess: float
    worst: str = ""

    @classmethod
    def of(cls, draws: Floats, names: Sequence[str], limits: Limits) -> "Verdict":
        """Judge draws, chains x draws x entries."""
        far, bulk = r_hat(draws), bulk_ess(draws)
        # means of overrelaxed chains are known better than their spread: tails count too
        tail = tail_ess(draws)
        lacking = np.fmax((far**2 - 1) / (limits.most_r_hat**2 - 1), limits.least_ess / np.fmin(bulk, tail))
        worst = names[int(np.nanargmax(lacking))]
        return cls(float(np.nanmax(far)), float(np.nanmin(bulk)), float(np.nanmin(tail)), worst)

    def lacking(self, limits: Limits) -> float:
        """Return how many times as long the chains would have to be."""
        return max(limits.least_ess / min(self.ess, self.tail_ess), (self.r_hat**2 - 1) / (limits.most_r_hat**2 - 1))

    def said(self, limits: Limits) -> str:
        """Return which limits are not kept, and where it is worst."""
        ess, wrong = min(self.ess, self.tail_ess), []
        if not self.r_hat <= limits.most_r_hat:
            wrong.append(f"R-hat {self.r_hat:.2f}, at most {limits.most_r_hat:g} wanted")
        if not ess >= limits.least_ess:
            wrong.append(f"effective sample size {ess:.0f}, at least {limits.least_ess:g} wanted")
        return f"{'; '.join(wrong)}; worst for {self.worst}"


@dataclass(frozen=True, repr=False)
class TooLong:
    """Chains that were given up.

    Parameters
    ----------
    samplers
        Where they stand.
    sweeps, verdict
        How long they became, and what was still wrong.
    """

    samplers: Sequence[Sampler]
    sweeps: int
    verdict: Verdict


def run_chains(
    coding: Coding,
    start: State | None,
    *,
    limits: Limits,
    rng: np.random.Generator,
    make: Callable[..., Sampler] = Sampler,
    jobs: int = 1,
    advance: Advance | None = None,
) -> Fit | TooLong:
    """Run the chains until they agree on what is released. O(n q²) per sweep.

    That is every entry but correlations between two kept columns (``released``).

    Parameters
    ----------
    make
        Which kind of chain.
    jobs
        How many chains run at a time.
    advance
        Told how many sweeps are done of how many it will take, as far as one can tell.
    """
    own, latent = rng.spawn(CHAINS), coding.latent(coding.curves(np.ones(len(coding.covariates))))
    samplers = [make(latent, rng=stream, start=_apart(start, latent, k)) for k, stream in enumerate(own)]
    pairs, entries = np.nonzero(np.triu(~latent.shape.fixed())), latent.effects()
    counted, names = released(coding, (pairs[0], pairs[1]), entries)
    # in small files the step of Σ takes longer than the latents
    effort = float(len(latent) * (latent.packed.kind != KNOWN).sum() + STEP_OF_SIGMA * latent.shape.width**3)
    kept: list[list[Floats]] = [[] for _ in samplers]
    total, run = 0, FIRST_RUN
    while True:
        traces = each(methodcaller("run", run), samplers, jobs=min(jobs, CHAINS))
        for chain, trace in zip(kept, traces, strict=True):
            chain.append(np.concatenate([trace.r[:, *pairs], trace.gamma[:, *entries]], axis=1))
        total += run
        # the start may still show in the first draws
        forgotten = min(total // 2, max(FORGOTTEN, total // 10))
        draws = np.stack([np.concatenate(chain)[forgotten:] for chain in kept])
        flat = draws.reshape(-1, draws.shape[2])
        r, gamma = flat[:, : len(pairs[0])], flat[:, len(pairs[0]) :]
        if not len(counted):
            return Fit(r, gamma, completions(coding, samplers, jobs=jobs), total)
        judged = max(MOST_JUDGED, int(2 * limits.least_ess))
        verdict = Verdict.of(draws[:, :: -(-draws.shape[1] // judged), counted], names, limits)
        lacking = verdict.lacking(limits)
        if lacking <= 1:
            said = verdict.r_hat, verdict.ess, verdict.tail_ess
            return Fit(r, gamma, completions(coding, samplers, jobs=jobs), total, *said)
        hopeless = limits.most_work is not None and effort * total * lacking > limits.most_work
        if total >= limits.most_sweeps or (hopeless and total > FIRST_RUN):
            return TooLong(samplers, total, verdict)
        if advance is not None:
            advance(total, min(int(np.ceil(total * lacking)), limits.most_sweeps))
        # both shrink as the inverse of the draws
        growth = float(np.clip(1.1 * (lacking - 1) * (1 - forgotten / total), *GROWTH))
        run = min(int(np.ceil(growth * total)), limits.most_sweeps - total)


def released(coding: Coding, pairs: tuple[Codes, Codes], entries: tuple[Codes, Codes]) -> tuple[Codes, list[str]]:
    """Return which entries of R and Γ count, and the columns of each: those of a replaced column, or of any effect.

    Where nothing is replaced missing values are filled in, and all of them count.
    """
    owner = np.concatenate([np.full(item.width, k) for k, item in enumerate(coding.items)])
    replaced = np.array([item.column.role is Role.REPLACE for item in coding.items])
    columns = [item.column.name for item in coding.items]
    one, other = owner[pairs[0]], owner[pairs[1]]
    among = replaced[one] | replaced[other] if replaced.any() else np.ones(len(one), dtype=np.bool_)
    names = [columns[j] if j == k else f"{columns[j]} with {columns[k]}" for j, k in zip(one, other, strict=True)]
    names += [columns[j] for j in owner[entries[1]]]
    counted = np.flatnonzero(np.concatenate([among, np.ones(len(entries[0]), dtype=np.bool_)]))
    return counted, [names[k] for k in counted]


def _apart(start: State | None, latent: Latent, number: int) -> State | None:
    """Return where a chain starts: the first as given, the second from correlations and effects halved."""
    if start is None or number == 0:
        return start
    return State(start.y, start.gamma / 2, (start.sigma + latent.shape.start()) / 2)
