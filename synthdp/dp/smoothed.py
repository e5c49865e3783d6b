"""A DP median whose noise is as wide as these records need: smooth sensitivity (`synthdp.privacy.mechanisms.smooth`).

`synthdp.dp.median` chooses a value by the exponential mechanism instead, is pure ε-DP and has an interval; in
reports/sensitivities it is closer to the truth in every case. This one is for those who have to follow the sources.

References
----------
Nissim, Raskhodnikova, Smith (2007), "Smooth sensitivity and sampling in private data analysis", STOC.
"""

from typing import Any, Unpack

import numpy as np

from synthdp.dp.declarations import Limits
from synthdp.dp.request import Price, Released, Request, priced
from synthdp.privacy.mechanisms import Bounds
from synthdp.privacy.mechanisms.smooth import Law, SmoothNoise
from synthdp.privacy.mechanisms.smooth import smooth_median as bound_of


class DeltaPrice(Price, total=False):
    """Of a release without an interval that may cost a δ."""

    delta: float


@priced(DeltaPrice)
def smooth_median(
    values: Any, *, bounds: Limits | None, noise: Law = "laplace", **price: Unpack[DeltaPrice]
) -> Released:
    """Release a median with noise scaled by its smooth sensitivity.

    Parameters
    ----------
    bounds
        Lowest and highest possible value, known without the data.
    epsilon, delta
        The price; ``laplace`` and ``gaussian`` need a δ above 0, ``heavy_tail`` has none.
    noise
        The law of the noise; ``heavy_tail`` has no safe sampler, so only studies can use it.

    Returns
    -------
    Released
        Without an interval: how wide the noise is depends on the records and is not released.

    Notes
    -----
    Under replace only: the bound holds for records that are exchanged. Cost: O(n log n).

    Examples
    --------
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> ages = np.random.default_rng(1).integers(18, 90, 2000)
    >>> spent = {"epsilon": 1, "delta": 1e-6, "source": Simulated(np.random.default_rng(2))}
    >>> noisy = smooth_median(ages, bounds=(18, 90), **spent)
    >>> bool(abs(noisy.estimate - np.median(ages)) < 10), noisy.low is None
    (True, True)
    """
    request = Request(**price)
    request.replace_only("smooth_median: is known under replace only; use median, which knows add_remove.")
    mechanism = SmoothNoise.calibrated(noise, epsilon=request.budget.epsilon, delta=request.budget.delta)
    column = request.column(values, bounds)
    source = request.source("smooth median", values)
    within = Bounds(column.low, column.high)
    spread = bound_of(column.values, within, mechanism.beta)
    estimate = mechanism.release(float(np.median(column.values)), spread, bounds=within, source=source)
    notes = [
        "no interval: how wide the noise is depends on the records",
        "dp.median is pure, has an interval, and was closer to the truth wherever the two were compared",
    ]
    return request.number("smooth median", notes, estimate, None, None)
