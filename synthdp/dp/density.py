"""A private density estimate: a curve instead of a histogram, with the pointwise band of its noise.

The estimate is the mean of normal kernels over the records, on a public grid. Its bandwidth is declared, or follows
from the number of records, h = ¼·width·n^(−1/(4+d)): one that is read off the data would void the promise. Noise:

``gaussian``  a Gaussian process as smooth as the estimate (needs δ > 0)
``sobolev``   a rough one, of covariance e^{−g|x−y|} (needs δ > 0)
``fourier``   noise on the means of cosines and sines (δ = 0: Laplace, or gamma in studies; δ > 0: Gaussian)

Records are first moved to the nearest of 2¹⁴ public points (2¹⁰ for two columns, 2⁸ for three), each on its own, so a
million of them take no longer than a table of those points.

References
----------
Hall (2012, PhD thesis, CMU), sections 3.3.1, 3.3.2 and 4.4.1; see `kernels`, `functions` and `fourier` for the proofs
and the misprints. Silverman (1986), section 3.4, for the order of the bandwidth.
"""

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Bounded, Budget, Limits
from synthdp.dp.fourier import SHAPES, Circle, Coefficients, Shape, estimated
from synthdp.dp.functions import Basis, along, mechanism_of, reach, spread
from synthdp.dp.kernels import (
    KERNELS,
    Kernel,
    gaussian_gram,
    gaussian_sensitivity,
    least_decay,
    sobolev_gram,
    sobolev_sensitivity,
)
from synthdp.dp.least_squares import named
from synthdp.dp.released_density import Density as Density
from synthdp.dp.request import NoisePrice, Request, priced
from synthdp.dp.smoothing import MOST_CELLS as MOST_CELLS
from synthdp.dp.smoothing import NODES as NODES
from synthdp.dp.smoothing import bandwidths, grid_of
from synthdp.dp.smoothing import expected_noise as expected_noise
from synthdp.dp.smoothing import from_size as from_size
from synthdp.dp.smoothing import least_bandwidth as least_bandwidth
from synthdp.errors import InputError
from synthdp.privacy.guarantees import positive
from synthdp.privacy.mechanisms import Source
from synthdp.table.microdata import Floats

WIDE = 0.5
BAND = (
    "the band is for the same estimate without noise, at each point on its own: it accounts neither for sampling "
    "(sampling_sd) nor for smoothing, and not for the whole curve at once"
)


@priced(NoisePrice)
def density(
    values: Any,
    *,
    bounds: Any,
    bandwidth: float | Sequence[float] | None = None,
    kernel: Kernel | None = None,
    grid: Any = None,
    decay: float | None = None,
    frequencies: int | None = None,
    noise: Shape = "laplace",
    names: Sequence[str] | None = None,
    **price: Unpack[NoisePrice],
) -> Density:
    """Release the density of one column, or of two or three together, on a grid.

    Parameters
    ----------
    values
        A column of numbers, or a data frame, list or array (records by columns) of up to three.
    bounds
        Lowest and highest possible value, known without the data; a list of pairs for several columns.
    bandwidth
        In the column's own unit, one per column, chosen without looking at the data; from the number of records when
        absent.
    kernel
        ``gaussian``, ``sobolev`` or ``fourier``; when absent, the first where δ > 0 and the last where δ = 0.
    grid
        How many cells between the bounds (256, 48 or 16 per column), or increasing points inside them, per column.
    decay
        For ``sobolev``: g in e^{−g|x−y|}, x and y as shares of the width; the g of least sensitivity when absent.
    frequencies
        For ``fourier``: how many frequencies are released of each column; from the bandwidth when absent.
    noise
        For ``fourier`` with δ = 0: ``laplace``, or ``gamma``, which has no sampler that is safe for a release.

    Notes
    -----
    Cost: O(n + points of the table), then linear algebra on the grid. See reports/functions for coverage and figures.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> rng = np.random.default_rng(1)
    >>> incomes = rng.gamma(2, 15_000, 4000)
    >>> curve = density(incomes, bounds=(0, 150_000), grid=64, epsilon=1, delta=1e-6, source=Simulated(rng))
    >>> bool(abs(curve.axes[0][curve.estimate.argmax()] - 15_000) < 6000), len(curve.sample(5, rng=rng))
    (True, 5)
    """
    request = Request(**price)
    columns, limits = _columns(values, bounds)
    budget = request.budget
    request.replace_only(
        "density: takes adjacency replace only, as bandwidth and noise follow from the number of records, which must "
        "be public."
    )
    called = named(names, _names(columns))
    inside = [request.column(columns[0], limits[0])] if len(columns) == 1 else request.columns(columns, limits, called)
    n, d = len(inside[0]), len(inside)
    chosen: Kernel = kernel or ("fourier" if budget.pure else "gaussian")
    _check(chosen, decay, frequencies, noise, budget)
    widths = [column.width for column in inside]
    units = bandwidths(bandwidth, n, widths, public=request.reason is None)
    edges, centres = grid_of(grid, inside)
    points = [(at - column.low) / column.width for at, column in zip(centres, inside, strict=True)]
    # what a sum over the table may be off by in double arithmetic, for two files
    widened = 1 + 2 * n * d * NODES[d] * 2.0**-53
    source = request.source(f"density of {', '.join(called)}")
    if chosen == "fourier":
        circle = Circle.of(units, frequencies)
        coefficients = Coefficients.of(budget, n, circle, noise, widened)
        means = along([circle.basis(axis, _nodes(d)).T for axis in range(d)], _mass(inside))
        estimate, sd, wide = estimated(circle, coefficients, means, points, budget.level, source)
        law = ("Laplace" if noise == "laplace" else noise) if budget.pure else "Gaussian"
        said = f"{circle.frequencies[0]} frequencies per column, {law} noise"
    else:
        estimate, sd, said = _smooth(inside, points, units, chosen, decay, widened, budget, source)
        wide = reach(budget)
    scale = math.prod(widths)
    flat = math.prod(1 / (2 * h * math.sqrt(math.pi)) for h in units)
    sampling = np.sqrt(np.maximum(estimate, 0.0) * np.maximum(flat - np.maximum(estimate, 0.0), 0.0) / n)
    notes = [BAND, said, *_beyond(units), *_noisy(sd)]
    return Density(
        tuple(called),
        tuple(centres),
        tuple(edges),
        estimate / scale,
        sd / scale,
        sampling / scale,
        wide * sd / scale,
        chosen,
        tuple(h * width for h, width in zip(units, widths, strict=True)),
        budget,
        tuple(notes),
        request.reason,
        confidential=request.confidential,
    )


def _smooth(
    inside: Sequence[Bounded],
    points: Sequence[Floats],
    units: Sequence[float],
    kernel: Kernel,
    decay: float | None,
    widened: float,
    budget: Budget,
    source: Source,
) -> tuple[Floats, Floats, str]:
    """Return estimate and sd of its noise on [0, 1]^d under a Gaussian process, and what to say of it."""
    n, d = len(inside[0]), len(inside)
    if kernel == "sobolev":
        g = least_decay(units) if decay is None else positive(decay, "decay")
        bases = [Basis.of(sobolev_gram(x, x, g)) for x in points]
        moved, said = sobolev_sensitivity(n, units, g), f"noise of covariance exp(−{g:g}|x − y|) on shares of the width"
    else:
        bases = [Basis.of(gaussian_gram(x, x, h)) for x, h in zip(points, units, strict=True)]
        moved, said = gaussian_sensitivity(n, units), "noise as smooth as the estimate"
    mechanism = mechanism_of(budget, moved * widened, f"density: kernel {kernel}")
    nodes = _nodes(d)
    # each node's own coordinates first: the map from records to coordinates is then one fixed matrix
    maps = [
        basis.into @ (gaussian_gram(x, nodes, h) / (math.sqrt(2 * math.pi) * h))
        for basis, x, h in zip(bases, points, units, strict=True)
    ]
    noisy = mechanism.release(along(maps, _mass(inside)), source=source)
    backs = [basis.back for basis in bases]
    return along(backs, noisy), spread(backs, mechanism.sd), said


def _nodes(columns: int) -> Floats:
    return np.linspace(0, 1, NODES[columns])


def _mass(inside: Sequence[Bounded]) -> Floats:
    """Return the share of records at every node of the public table."""
    size = NODES[len(inside)]
    cells = np.zeros(len(inside[0]), dtype=np.int64)
    for column in inside:
        place = np.rint((column.values - column.low) / column.width * (size - 1)).astype(np.int64)
        cells = cells * size + np.clip(place, 0, size - 1)
    counts = np.bincount(cells, minlength=size ** len(inside))
    return np.asarray(counts.reshape((size,) * len(inside)) / len(cells))


def _columns(values: Any, bounds: Any) -> tuple[list[Any], list[Limits]]:
    if isinstance(values, pd.DataFrame):
        columns = [values.iloc[:, j] for j in range(values.shape[1])]
    elif isinstance(values, list | tuple) and len(values) and np.ndim(values[0]) == 1:
        columns = list(values)
    elif isinstance(values, np.ndarray) and values.ndim == 2:
        columns = list(values.T)
    else:
        return [values], [bounds]
    if not 1 <= len(columns) <= len(NODES):
        raise InputError(f"density: takes one to three columns, found {len(columns)}; noise grows fast with each.")
    if len(columns) == 1:
        # one pair, or a list that holds it, or "data"
        listed = isinstance(bounds, list | tuple | np.ndarray) and (len(bounds) == 1 or np.ndim(bounds[0]) > 0)
        return columns, [bounds[0] if listed else bounds]
    # a single word or number is told column by column why it is no pair
    if isinstance(bounds, str) or not hasattr(bounds, "__len__"):
        bounds = [bounds] * len(columns)
    return columns, list(bounds)


def _names(columns: Sequence[Any]) -> list[str]:
    given = [getattr(column, "name", None) for column in columns]
    single = len(columns) == 1
    return [("value" if single else f"x{k + 1}") if name is None else str(name) for k, name in enumerate(given)]


def _check(kernel: Kernel, decay: float | None, frequencies: int | None, noise: str, budget: Budget) -> None:
    if kernel not in KERNELS:
        raise InputError(f"kernel: must be one of {', '.join(KERNELS)}, found {kernel!r}.")
    if noise not in SHAPES:
        raise InputError(f"noise: must be one of {', '.join(SHAPES)}, found {noise!r}.")
    if decay is not None and kernel != "sobolev":
        raise InputError(f"decay: belongs to the kernel sobolev, found with {kernel}.")
    if (frequencies is not None or noise != "laplace") and kernel != "fourier":
        raise InputError(f"frequencies and noise: belong to the kernel fourier, found with {kernel}.")
    if kernel != "fourier" and budget.pure:
        raise InputError(f"delta: the kernel {kernel} needs one above 0, such as 1e-6; kernel fourier takes 0.")


def _beyond(units: Sequence[float]) -> list[str]:
    if max(units) <= WIDE:
        return []
    return [
        f"a bandwidth of {max(units):.3g} times the bounds' width: little is left of the data's shape, and much of the "
        "estimate lies beyond the bounds"
    ]


def _noisy(sd: Floats) -> list[str]:
    # an even density is 1 in these units, whatever the data
    if (worst := float(np.median(sd))) <= 1:
        return []
    return [
        f"the noise has sd {worst:.3g} where an even density is 1: this result is mostly noise; raise ε, or the "
        "bandwidth"
    ]
