"""Running a mechanism many times on two data sets, and splitting the runs in halves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.audit.scoring import Score, learn

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
