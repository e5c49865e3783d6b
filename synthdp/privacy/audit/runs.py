"""Running a mechanism many times on two data sets, and learning a score that tells its outputs apart.

* few different outputs: the ratio of their counts;
* one number: the ratio of counts between quantiles, so any shape of ratio can be learnt;
* several numbers: boosted trees on the numbers, on their projection on the difference of means, and on the sum of the
  ratios that each number has by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.table.microdata import Floats

Score = Callable[[Floats], Floats]
Places = npt.NDArray[np.int64]

MOST_ATOMS = 256
BINS = 64
# added to every count, so that an output seen once does not look like proof
PRIOR = 2.0


def learn(one: Floats, two: Floats) -> Score:
    """Return a score of outputs, high where the second data set is more likely; cost O(n log n), n runs.

    Parameters
    ----------
    one, two
        Outputs on the first and the second data set, one row per run.
    """
    pooled = np.concatenate([one, two])
    if pooled.shape[1] == 1:
        return _single(one[:, 0], two[:, 0])
    atoms = np.unique(pooled, axis=0)
    return _atoms(atoms, one, two) if len(atoms) <= MOST_ATOMS else _boosted(one, two)


def _single(one: Floats, two: Floats) -> Score:
    pooled = np.concatenate([one, two])
    values = np.unique(pooled)
    if len(values) <= MOST_ATOMS:
        edges = (values[1:] + values[:-1]) / 2
    else:
        # finer near both ends, where a ratio is largest
        places = np.sort(np.concatenate([np.linspace(0, 1, BINS + 1)[1:-1], [0.002, 0.005, 0.995, 0.998]]))
        edges = np.unique(np.quantile(pooled, places))

    def place(x: Floats) -> Places:
        return np.searchsorted(edges, x, side="right").astype(np.int64)

    ratios = _ratios(
        np.bincount(place(one), minlength=len(edges) + 1), np.bincount(place(two), minlength=len(edges) + 1)
    )
    return lambda rows: ratios[place(rows[:, 0])]


def _atoms(atoms: Floats, one: Floats, two: Floats) -> Score:
    place = {row.tobytes(): k for k, row in enumerate(np.ascontiguousarray(atoms))}

    def find(rows: Floats) -> Places:
        return np.fromiter((place.get(row.tobytes(), len(atoms)) for row in np.ascontiguousarray(rows)), np.int64)

    counts = [np.bincount(find(rows), minlength=len(atoms) + 1) for rows in (one, two)]
    ratios = _ratios(*counts)
    return lambda rows: ratios[find(rows)]


def _boosted(one: Floats, two: Floats) -> Score:
    from sklearn.ensemble import HistGradientBoostingClassifier

    spread = np.concatenate([one - one.mean(axis=0), two - two.mean(axis=0)]).std(axis=0)
    direction = (two.mean(axis=0) - one.mean(axis=0)) / np.maximum(spread, 1e-12) ** 2

    # the sum of the ratios of single numbers is the best score there is when the numbers have noise of their own
    singles = [_single(one[:, k], two[:, k]) for k in range(one.shape[1])]

    def features(rows: Floats) -> Floats:
        ratios = sum((single(rows[:, [k]]) for k, single in enumerate(singles)), np.zeros(len(rows)))
        return np.column_stack([rows, rows @ direction, ratios])

    # seeded: it decides only which runs stop the growth early
    model = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8, min_samples_leaf=50, random_state=0)
    model.fit(features(np.concatenate([one, two])), np.repeat([0, 1], [len(one), len(two)]))
    return lambda rows: np.asarray(model.decision_function(features(rows)), dtype=float)


def _ratios(one: Places, two: Places) -> Floats:
    return np.asarray(np.log(two + PRIOR) - np.log(one + PRIOR), dtype=float)


LEAST_RUNS = 200


class Sampler(Protocol):
    """A mechanism that can be run many times: one row of numbers per run."""

    def __call__(self, data: Any, runs: int, rng: np.random.Generator) -> Any:
        """Return the outputs of so many runs, an array whose first axis is the run."""
        ...


def repeated(mechanism: Callable[[Any, np.random.Generator], Any]) -> Sampler:
    """Return a sampler that calls a mechanism once per run; it must return a number or a list of a fixed length."""

    def sample(data: Any, runs: int, rng: np.random.Generator) -> Any:
        return [mechanism(data, rng) for _ in range(runs)]

    return sample


@dataclass(frozen=True)
class Scored:
    """Scores of runs on the first and on the second data set: those learnt from, and those kept back."""

    learnt: tuple[Floats, Floats]
    kept: tuple[Floats, Floats]


def score_runs(
    mechanism: Sampler, first: Any, second: Any, *, runs: int, rng: np.random.Generator, score: Score | None = None
) -> Scored:
    """Run a mechanism on two data sets and score what it says: a high score speaks for the second.

    Parameters
    ----------
    mechanism
        The mechanism under audit.
    first, second
        Two neighbouring data sets, in whatever form the mechanism takes.
    runs
        Runs on each data set; half are learnt from.
    rng
        For the mechanism, when it uses it.
    score
        A score of the auditor's own; learnt when absent.
    """
    if runs < LEAST_RUNS:
        raise InputError(f"runs: at least {LEAST_RUNS} are needed, found {runs}.")
    outputs = [_rows(mechanism(data, runs, rng), runs) for data in (first, second)]
    if outputs[0].shape != outputs[1].shape:
        raise InputError("mechanism: gave outputs of another length on the second data set; pad them to one length.")
    half = runs // 2
    rule = score if score is not None else learn(outputs[0][:half], outputs[1][:half])
    one, two = (rule(rows) for rows in outputs)
    return Scored((one[:half], two[:half]), (one[half:], two[half:]))


def _rows(outputs: Any, runs: int) -> Floats:
    try:
        rows = np.asarray(outputs, dtype=np.float64).reshape(runs, -1)
    except (TypeError, ValueError):
        raise InputError(f"mechanism: must give {runs} outputs of one length, all numbers.") from None
    # a missing or infinite output is an answer like any other, and may be the one that tells
    return np.nan_to_num(rows, nan=-1e150, posinf=1e151, neginf=-1e151)
