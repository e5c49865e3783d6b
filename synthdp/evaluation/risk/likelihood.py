"""Identity risk without a tolerance: the intruder who knows how released values scatter around true ones."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from synthdp.budget import go_on
from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.measure import Claims
from synthdp.evaluation.risk.identity import (
    CHANCE_LEVEL,
    chance_hits,
    everybody,
    members_by_group,
    refuse_unless_aligned,
)
from synthdp.evaluation.risk.rates import interval
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.risk.scoring import score_rows
from synthdp.evaluation.risk.traces import Traces, trace
from synthdp.table.microdata import Codes, Floats

NAME = "identity_likelihood"
# densities looked up before targets are sampled: a few seconds
MOST_WORK = 4e8
FEWEST_TARGETS = 500
# records whose own rows the temperature is tuned on, and pairs of those with all rows
TUNED_ON, FEWEST_TUNED, TUNING_PAIRS = 500, 100, 2 * 10**6
TEMPERATURES = np.outer(2.0 ** np.arange(-6, 2), [1.0, np.sqrt(2.0)]).ravel()[:15]
WORST_LOG = -50.0


@dataclass(frozen=True, repr=False)
class LikelihoodRisk(Claims):
    """What an intruder achieves who knows how released values scatter around true ones.

    The intruder holds the true keys x of a target, knows that the target is in the file, and holds all copies with
    their rows lined up. They know the law of the released value given the true one, key by key (at worst: estimated
    here from the aligned files, without the target's own fold of records), and give row r the evidence

        Σ_keys [ Σ_copies log f(y_r | x) − log Σ_x' p(x') Π_copies f(y_r | x') ],

    the second term being how common such rows are. They point at the row with the most evidence, at random among
    ties; pointing at the target's own row is success. There is no tolerance for a mask to be shaped around.

    Parameters
    ----------
    expected_links, expected_links_rate
        Σ 1{own row has the most evidence}/ties, and the same per record.
    expected_links_chance
        The 95% point of correct links when the rows of all copies are permuted alike.
    expected_links_kept
        What the keys that no copy changed give by themselves: Σ 1/(records that agree on them).
    predicted_links
        Sum over records of the probability the intruder gives to the row they point at, ∝ exp(t · evidence). Copies
        that share a mask are no independent witnesses; t is chosen on other folds of records, so that the intruder is
        neither too bold nor too timid, and this is close to expected_links.
    mean_posterior, max_posterior
        Of the probability given to the target's own row.
    per_group
        Records, expected links and mean posterior for each risk group.
    sampled
        None, or how many targets the figures rest on and a 95% interval.

    Notes
    -----
    Keys are taken as independent given the target, and copies as independent given the true value; neither is true,
    so a cleverer intruder may do better (who knows mask, model and parameters: see ``evaluation.risk.bayes``). The
    ceiling, reached by a raw file, is the number of distinct key combinations. Cost: O(M n log n) and the number of
    candidates, which are the rows of the same block within the errors ever observed on the sharpest key.
    """

    expected_links: float
    expected_links_rate: float
    expected_links_chance: float
    expected_links_kept: float
    predicted_links: float
    mean_posterior: float
    max_posterior: float
    per_group: list[dict[str, Any]]
    sampled: dict[str, Any] | None = None


def evaluate_likelihood(
    comparison: Comparison, *, rng: np.random.Generator, permutations: int = 200, most_work: float = MOST_WORK
) -> LikelihoodRisk:
    """Attack aligned copies by the likelihood of their rows.

    Parameters
    ----------
    rng
        For folds, ties, samples and permutations.
    most_work
        How many densities may be looked up before targets are sampled.

    Raises
    ------
    InputError
        If the attack cannot be made on these files.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> age = np.arange(200.0)
    >>> data = resolve(pd.DataFrame({"age": age}), {"age": Variable(role="replace", key=True, tolerance=3)})
    >>> files = Comparison(data.frame, (pd.DataFrame({"age": age + 10}),), data.schema, aligned=True)
    >>> evaluate_likelihood(files, rng=np.random.default_rng(1)).expected_links
    200.0
    """
    refuse_unless_aligned(comparison, NAME)
    held = trace(comparison, rng=rng)
    n = len(held.order)
    targets = comparison.targets
    if targets is None:
        most = n if held.work <= most_work else max(FEWEST_TARGETS, int(n * most_work / held.work))
        targets = some(n, most, rng=rng)
    tuned_on = int(np.clip(TUNING_PAIRS // n, FEWEST_TUNED, TUNED_ON))
    few = rng.permutation(targets)[:tuned_on]
    share, winner, mine, top = tuned(partial(_score, held), targets, few, held.folds, TEMPERATURES, rng=rng)
    chance = chance_hits(winner, targets, n, permutations, rng=rng)
    return summarise(held.block_sizes, comparison.groups, targets, share, np.exp(mine), np.exp(top), chance)


class Score(Protocol):
    """How rows are scored: what :func:`synthdp.evaluation.risk.scoring.score_rows` returns, winners as records."""

    def __call__(self, targets: Codes, pick: Floats, temperatures: Floats) -> tuple[Floats, Codes, Floats, Floats]:
        """Return shares, winners and the log posteriors at each temperature; ``pick`` decides among ties."""


def tuned(
    score: Score, targets: Codes, few: Codes, folds: Codes, grid: Floats, *, rng: np.random.Generator
) -> tuple[Floats, Codes, Floats, Floats]:
    """Return shares, winners and log posteriors of targets, each at the temperature of its fold.

    The temperature of a fold is the one under which the own rows of other folds are most probable. It is chosen on a
    few of the targets, whose posteriors at every temperature are then there already: nobody is scored twice.

    Parameters
    ----------
    few
        Those of the targets to tune on.
    grid
        The temperatures to choose from.
    """
    rng.random(len(few))  # ties do not matter to tuning, and had numbers of their own once
    pick = rng.random(len(targets))
    place = np.searchsorted(targets, few) if np.all(np.diff(targets) > 0) else _places(targets, few)
    go_on()
    first = score(few, pick[place], np.tile(grid, (FOLDS, 1)))
    best = best_by_fold(first[2], folds[few])
    count = len(targets)
    share, winner = np.empty(count), np.empty(count, dtype=np.int64)
    mine, top = np.empty(count), np.empty(count)
    each = np.arange(len(few)), best[folds[few]]
    share[place], winner[place], mine[place], top[place] = first[0], first[1], first[2][each], first[3][each]
    rest = np.setdiff1d(np.arange(count), place)
    if len(rest):
        go_on()
        later = score(targets[rest], pick[rest], np.ascontiguousarray(grid[best][:, None]))
        share[rest], winner[rest], mine[rest], top[rest] = later[0], later[1], later[2][:, 0], later[3][:, 0]
    return share, winner, mine, top


def best_by_fold(mine: Floats, folds: Codes) -> Codes:
    """Return for each fold the temperature under which the own rows of other folds are most probable.

    ``mine`` are log posteriors of own rows, one line for each record and one column for each temperature.
    """
    bounded = np.maximum(mine, WORST_LOG)
    return np.asarray([bounded[folds != fold].sum(axis=0).argmax() for fold in range(FOLDS)])


def _places(targets: Codes, few: Codes) -> Codes:
    order = np.argsort(targets, kind="stable")
    return order[np.searchsorted(targets[order], few)]


def _score(held: Traces, targets: Codes, pick: Floats, temperatures: Floats) -> tuple[Floats, Codes, Floats, Floats]:
    share, winner, mine, top = score_rows(
        *(targets, held.folds, held.start, held.stop, held.own, pick, held.centre, held.value, held.bins),
        *(held.density, held.level, held.pattern, held.shown, held.kinds, held.transition, held.marginal),
        temperatures,
    )
    return share, np.where(winner >= 0, held.order[winner], -1), mine, top


def summarise(
    block_sizes: Codes,
    groups: pd.Series | None,
    targets: Codes,
    share: Floats,
    posterior: Floats,
    predicted: Floats,
    chance: list[float],
) -> LikelihoodRisk:
    """Return the risk of all records from the targets attacked; ``block_sizes`` as :class:`Traces` has them."""
    n, size = len(block_sizes), len(targets)
    scale = n / size
    sampled = None if size == n else {"targets": size, "expected_links": interval(share, n, scale=n)}
    return LikelihoodRisk(
        *everybody(n, targets, posterior, np.where(predicted > 0, predicted, np.nan), share),
        expected_links=float(share.sum()) * scale,
        expected_links_rate=float(share.mean()),
        expected_links_chance=float(np.quantile(chance, CHANCE_LEVEL, method="higher")) * scale,
        expected_links_kept=float((1 / block_sizes).sum()),
        predicted_links=float(predicted.sum()) * scale,
        mean_posterior=float(posterior.mean()),
        max_posterior=float(posterior.max()),
        per_group=[
            {
                "group": group,
                "records": records,
                "expected_links": float(share[members].mean()) * records,
                "mean_posterior": float(posterior[members].mean()),
            }
            for group, records, members in members_by_group(groups, targets)
        ],
        sampled=sampled,
    )
