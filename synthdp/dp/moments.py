"""DP mean and variance of one column, with intervals that hold sampling and privacy noise together.

Under ``replace`` the number of records is public, and the mean and the sample variance are released themselves:
sensitivities Λ/n and Λ²/n for bounds of width Λ. Under ``add_remove`` it is not, and a count, a sum and a sum of
squares are released, centred at the middle of the bounds where one record moves them least.

The interval of a mean needs the variance, so a part of ε pays for that (`SHARE`), unless the user knows the sd.

References
----------
Biswal (2024), thesis, U. Ottawa, Theorem 5.7.2: noisy mean and noisy variance. Its rewriting of the noise variance,
c²Λ/(εn), must be c²Λ²/(ε²n²), and drawing the variance again until it is positive is not covered by the proof: here a
negative one is moved to 0, which is post-processing. Its noise is Gaussian; with Laplace noise the law of the error is
Laplace–normal (`synthdp.dp.noise`), so the interval is exact given the variance.
Ferrando, Wang, Sheldon (2022), AISTATS: parametric bootstrap for private estimates, used where no law is known.
"""

import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from synthdp.dp.declarations import Bounded, Budget, Limits
from synthdp.dp.noise import Noise, bootstrap_generator
from synthdp.dp.request import NoisePrice, Released, Request, mostly_noise, priced
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Source
from synthdp.table.microdata import Floats

SHARE = 0.2
DRAWS = 4000


@priced(NoisePrice)
def mean(values: Any, *, bounds: Limits | None, sd: float | None = None, **price: Unpack[NoisePrice]) -> Released:
    """Release a mean with an interval for the mean of the population.

    Parameters
    ----------
    values
        Numbers, one per record.
    bounds
        Lowest and highest possible value, known without the data.
    epsilon, delta
        The price of estimate and interval together; δ = 0 asks for Laplace noise.
    sd
        The population's sd, where it is known: then all of ε goes into the mean.
    adjacency
        ``replace`` (n is public) or ``add_remove``.
    source
        Where the noise comes from; the default is safe in floating point and cannot be seeded.

    Returns
    -------
    Released
        Under ``replace`` the interval is exact for normal means given the variance; under ``add_remove`` it is a
        parametric bootstrap.

    Notes
    -----
    The interval is for the mean of the values as clipped. Cost: O(n).
    """
    request = Request(**price)
    if sd is not None and not (sd >= 0 and math.isfinite(sd)):
        raise InputError(f"sd: must be a number of at least 0, found {sd}.")
    budget, column = request.budget, request.column(values, bounds)
    source = request.source("mean", values)
    notes = ["the interval accounts for sampling and privacy noise; it refers to the values as clipped to the bounds"]
    if budget.replacing:
        found = mean_of_known_size(column, budget, sd, source)
    else:
        found = _mean_of_unknown_size(column, budget, sd, source)
        notes.append("parametric bootstrap")
    *numbers, noise_sd, sampling_sd = found
    notes += mostly_noise(noise_sd, column.width, "bounds")
    inside = (float(np.clip(value, column.low, column.high)) for value in numbers)
    return request.number("mean", notes, *inside, noise_sd=noise_sd, sampling_sd=sampling_sd)


@priced(NoisePrice)
def variance(values: Any, *, bounds: Limits | None, **price: Unpack[NoisePrice]) -> Released:
    """Release a sample variance (divisor n − 1) with an interval by parametric bootstrap under a normal model.

    Notes
    -----
    The normal model gives the sampling part of the interval: too wide for flat columns, too narrow for columns with
    heavy tails inside their bounds. A variance cannot exceed n/(n − 1)·Λ²/4, and the result is moved below that.
    """
    request = Request(**price)
    budget, column = request.budget, request.column(values, bounds)
    source = request.source("variance", values)
    rng = bootstrap_generator(source)
    if budget.replacing:
        n = float(len(column))
        noise = Noise.of(budget, column.width**2 / n)
        estimate = float(noise.add(np.array([np.var(column.values, ddof=1)]), source)[0])
        centre = min(max(estimate, 0.0), column.width**2 / 4)
        drawn = centre * rng.chisquare(n - 1, DRAWS) / (n - 1) + noise.draw(DRAWS, rng=rng)
        noise_sd = noise.sd
    else:
        sums = _release_sums(column, budget, (SHARE, (1 - SHARE) / 2, (1 - SHARE) / 2), source)
        unit = (column.width / 2) ** 2
        estimate = unit * sums.variance()
        centre = min(max(estimate, 0.0), unit)
        n = max(sums.n, 2.0)
        again = sums.redraw(sums.mean(), centre / unit, DRAWS, rng=rng)
        drawn = unit * (again.square - again.total**2 / again.n) / np.maximum(again.n - 1, 1)
        noise_sd = unit * sums.noises[2].sd / sums.surely()
    low, high = _basic(estimate, drawn - centre, budget)
    top = column.width**2 / 4 * n / (n - 1)
    notes = ("parametric bootstrap, normal model", *mostly_noise(noise_sd, column.width**2 / 4, "possible variances"))
    inside = (float(np.clip(value, 0, top)) for value in (estimate, low, high))
    sampling_sd = centre * math.sqrt(2 / max(n - 1, 1))
    return request.number("variance", notes, *inside, noise_sd=float(noise_sd), sampling_sd=float(sampling_sd))


class _Sums(NamedTuple):
    """A count, a sum and a sum of squares of values scaled to [-1, 1], with their noise."""

    n: Any
    total: Any
    square: Any
    noises: tuple[Noise, Noise, Noise]

    def surely(self) -> float:
        """Return how many records there are at least, as far as the noisy count tells: less two sd of its noise."""
        return max(float(self.n) - 2 * self.noises[0].sd, 1.0)

    def mean(self) -> float:
        return float(np.clip(self.total / self.n, -1, 1))

    def variance(self) -> float:
        return float((self.square - self.total**2 / self.n) / max(self.n - 1, 1))

    def redraw(self, mean: float, variance: float, draws: int, *, rng: np.random.Generator) -> "_Sums":
        """Return what the three could have been for records of this mean and variance."""
        count, total, square = (noise.draw(draws, rng=rng) for noise in self.noises)
        n = max(round(self.n), 2)
        means = mean + math.sqrt(variance / n) * rng.standard_normal(draws)
        scatter = variance * rng.chisquare(n - 1, draws)
        noisy = np.maximum(n + count, 1.0)
        return _Sums(noisy, n * means + total, scatter + n * means**2 + square + count / 2, self.noises)


def _release_sums(column: Bounded, budget: Budget, shares: tuple[float, float, float], source: Source) -> _Sums:
    z = column.scaled()
    parts = [budget.part(share) for share in shares]
    # z² lies in [0, 1]: less 1/2 it moves the sum by at most 1/2, and the noisy count brings the half back
    noises = (Noise.of(parts[0], 1.0), Noise.of(parts[1], 1.0), Noise.of(parts[2], 0.5))
    true = (float(len(z)), math.fsum(z), math.fsum(z**2 - 0.5))
    count, total, square = (
        float(noise.add(np.array([value]), source)[0]) for noise, value in zip(noises, true, strict=True)
    )
    return _Sums(max(count, 1.0), total, square + count / 2, noises)


def mean_of_known_size(
    column: Bounded, budget: Budget, sd: float | None, source: Source
) -> tuple[float, float, float, float, float]:
    """Return a noisy mean, its limits and the sds of noise and sampling, where the number of values is public."""
    n = len(column)
    noise = Noise.of(budget if sd is not None else budget.part(1 - SHARE), column.width / n)
    estimate = float(noise.add(np.array([math.fsum(column.values) / n]), source)[0])
    if sd is None:
        spread = Noise.of(budget.part(SHARE), column.width**2 / n)
        noisy = float(spread.add(np.array([np.var(column.values, ddof=1)]), source)[0])
        sd = math.sqrt(np.clip(noisy, 0, column.width**2 / 4))
    sampling = sd / math.sqrt(n)
    half = noise.quantile((1 + budget.level) / 2, sd=sampling)
    return estimate, estimate - half, estimate + half, noise.sd, float(sampling)


def _mean_of_unknown_size(
    column: Bounded, budget: Budget, sd: float | None, source: Source
) -> tuple[float, float, float, float, float]:
    unit = column.width / 2
    shares = (SHARE, 1 - 2 * SHARE, SHARE)
    sums = _release_sums(column, budget, shares, source)
    variance = np.clip(sums.variance(), 0, 1) if sd is None else (sd / unit) ** 2
    again = sums.redraw(sums.mean(), float(variance), DRAWS, rng=bootstrap_generator(source))
    low, high = _basic(sums.mean(), again.total / again.n - sums.mean(), budget)
    at = column.middle
    sampling = unit * math.sqrt(float(variance) / max(sums.n, 1.0))
    return (
        at + unit * sums.mean(),
        at + unit * low,
        at + unit * high,
        unit * sums.noises[1].sd / sums.surely(),
        sampling,
    )


def _basic(estimate: float, errors: Floats, budget: Budget) -> tuple[float, float]:
    """Return the basic bootstrap interval: the estimate less the quantiles of its error."""
    low, high = np.quantile(errors, budget.tails)
    return estimate - float(high), estimate - float(low)
