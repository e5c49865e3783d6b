"""A slice step for a scale."""

import math

import numpy as np


def stretch(k: float, square: float, cross: float, *, rng: np.random.Generator) -> float:
    """Draw b > 0 from b^(k−1) exp(−square·b²/2 + cross·b) by a slice step on log b, from b = 1 (Neal 2003)."""

    def log_density(t: float) -> float:
        return k * t - 0.5 * square * math.exp(2 * t) + cross * math.exp(t)

    level = log_density(0.0) + math.log(1.0 - rng.random())
    width = 3 / math.sqrt(2 * k)
    low = -width * rng.random()
    high = low + width
    while log_density(low) > level:
        low -= width
    while log_density(high) > level:
        high += width
    while True:
        t = rng.uniform(low, high)
        if log_density(t) > level:
            return math.exp(t)
        low, high = (t, high) if t < 0 else (low, t)
