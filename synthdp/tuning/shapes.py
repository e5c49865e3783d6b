"""Which shape to try next: a few that are set, then what Optuna makes of those that were tried.

Optuna's sampler (tree-structured Parzen estimator; constrained, so that shapes of which no strength keeps the limits
count by how far they are from it) is asked anew for every shape, with a seed that depends on how many there were: what
it proposes depends on the seed and on what was found, not on whether the search was interrupted in between.

References
----------
Akiba, Sano, Yanase, Ohta and Koyama (2019), KDD; Watanabe and Hutter (2023), IJCAI (the constrained sampler).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.tuning.space import Shape, Space

MANY_TRIES = 20
EXCESS = "excess"


@dataclass(frozen=True)
class Tried:
    """A shape with the usefulness at its border; ``excess``: how far its largest risk is beyond the limit, or 0."""

    shape: Shape
    use: float
    excess: float


def propose(space: Space, tried: Sequence[Tried], *, seed: int) -> Shape | None:
    """Return a shape that has not been tried; None where none is found."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, Any] = {
        name: optuna.distributions.IntDistribution(min(values), max(values))
        if name.startswith("masks.")
        else optuna.distributions.CategoricalDistribution(values)
        for name, values in space.choices().items()
    }
    if not distributions:
        return None
    known = {one.shape for one in tried}
    for attempt in range(MANY_TRIES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=(seed + 1009 * len(tried) + attempt) % 2**32,
                n_startup_trials=4,
                multivariate=True,
            )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for one in tried:
            study.add_trial(
                optuna.trial.create_trial(
                    params=one.shape.params(space),
                    distributions=distributions,
                    value=one.use,
                    constraints={EXCESS: one.excess},
                )
            )
        found = space.shape(study.ask(distributions).params)
        if found not in known:
            return found
    return None
