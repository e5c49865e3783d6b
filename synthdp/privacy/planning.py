"""A budget plan for k releases of the same mean: how much noise each may have, by every accountant.

Nothing is supposed of how the series moves: all k releases may be about the same values, so what holds here holds for
any series. What a model adds is said by `synthdp.privacy.leakage`.
"""

import math

import pandas as pd

from synthdp.privacy import events
from synthdp.privacy.accounting.accountants import least_noise
from synthdp.privacy.accounting.closed_forms import analytic_ratio, rho_of_epsilon
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive, slack_of, whole


def plan(releases: int, *, epsilon: float, delta: float = 0.0, sensitivity: float) -> pd.DataFrame:
    """Return the sd of the noise of each of k releases that keep (ε, δ) together, by noise and accountant.

    Parameters
    ----------
    releases
        k.
    epsilon, delta
        The budget of all together; with δ = 0 only pure releases can keep it.
    sensitivity
        Δ, how far one record can move one mean.

    Returns
    -------
    DataFrame
        Columns ``noise``, ``accountant``, ``sd``, ``scale`` (what the mechanism takes: scale of Laplace noise, sd of
        Gaussian noise) and ``alone`` (the sd if one release had all of the budget), the least noise first.

    Examples
    --------
    >>> plan(12, epsilon=1, delta=1e-5, sensitivity=1)[["noise", "accountant"]].to_numpy().tolist()[0]
    ['gaussian', 'exact']
    """
    count, step = whole(releases, "releases", 1), positive(sensitivity, "sensitivity")
    epsilon, delta = epsilon_of(epsilon), slack_of(delta)
    root = math.sqrt(2)
    rows = [("laplace", "basic", root * step * count / epsilon, step * count / epsilon, root * step / epsilon)]
    if delta > 0:
        delta_of(delta)
        composed = step * least_noise(
            lambda scale: events.Repeated(events.Laplace(1 / scale), count), epsilon=epsilon, delta=delta
        )
        rows.append(("laplace", "loss", root * composed, composed, root * step / epsilon))
        alone = step * analytic_ratio(epsilon, delta)
        for name, sd in (
            ("basic", step * analytic_ratio(epsilon / count, delta / count)),
            ("concentrated", step * math.sqrt(count / (2 * rho_of_epsilon(epsilon, delta, method="tight")))),
            ("exact", alone * math.sqrt(count)),
        ):
            rows.append(("gaussian", name, sd, sd, alone))
    found = pd.DataFrame(rows, columns=["noise", "accountant", "sd", "scale", "alone"])
    return found.sort_values("sd", kind="stable", ignore_index=True)
