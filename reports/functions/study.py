"""Private functions: the figures of Hall (2012), chapters 3 and 4, what the band covers, and what a release costs."""

import math
import time
from functools import partial
from typing import Any

import numpy as np

from reports.cells import Cell, Line
from reports.functions.orbitope import gauges, moments
from reports.functions.page import draw, page
from reports.study import Results, Study
from synthdp.dp.density import Density, density
from synthdp.dp.kernels import Kernel, fourier_l1, gaussian_sensitivity, sobolev_sensitivity
from synthdp.dp.svm import svm
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

RUNS = 1000
SIZES = (100, 1000, 10_000)
KERNELS: tuple[Kernel, ...] = ("gaussian", "sobolev", "fourier")
DELTAS = {"gaussian": 1e-6, "sobolev": 1e-6, "fourier": 0.0}
GRID = 40
MANY = 10**6
FREQUENCIES = (1, 2, 3, 5, 10)


def mixture(n: int, rng: np.random.Generator) -> Floats:
    """Return n values in [0, 1] with modes at .3 and .7; the thesis does not print the sds, ours are .08."""
    return np.clip(np.where(rng.random(n) < 0.5, 0.3, 0.7) + 0.08 * rng.standard_normal(n), 0, 1)


def mixture_density(x: Floats) -> Floats:
    """Return its density (but for the 10⁻⁴ that is clipped)."""
    peaks = [np.exp(-((x - at) ** 2) / (2 * 0.08**2)) for at in (0.3, 0.7)]
    return np.asarray(np.sum(peaks, axis=0) / (2 * 0.08 * math.sqrt(2 * math.pi)))


def smoothed(values: Floats, x: Floats, h: float) -> Floats:
    """Return the estimate without noise, directly."""
    return np.asarray(np.exp(-((x[:, None] - values) ** 2) / (2 * h**2)).mean(axis=1) / (h * math.sqrt(2 * math.pi)))


def covered(kernel: Any, n: int, runs: int, *, seed: int) -> Results:
    """Return how often bands hold the estimate without noise, all of it at once, and the true density.

    The estimate without noise is what the same release tends to at a huge ε: for the Fourier kernel it is wrapped and
    truncated, which costs next to nothing (``truncation``).
    """
    rng = Streams(seed).generator(kernel, n)
    price: dict[str, Any] = {"bounds": (0, 1), "kernel": kernel, "grid": GRID}
    inside, whole, true, noise, truncation = [], [], [], [], 0.0
    for _ in range(runs):
        values = mixture(n, rng)
        found = density(values, **price, epsilon=1.0, delta=DELTAS[kernel], source=Simulated(rng))
        plain = smoothed(values, found.axes[0], found.bandwidths[0])
        within = np.abs(plain - found.estimate) <= found.half
        inside.append(within.mean())
        whole.append(within.all())
        true.append((np.abs(mixture_density(found.axes[0]) - found.estimate) <= found.half).mean())
        noise.append(((found.estimate - plain) ** 2).mean())
    bare = density(values, **price, epsilon=1e9, delta=DELTAS[kernel], source=Simulated(rng))
    truncation = float(np.abs(bare.estimate - plain).max())
    return {
        "bandwidth": found.bandwidths[0],
        "noise_sd": float(np.median(found.noise_sd)),
        "sampling_sd": float(np.median(found.sampling_sd)),
        "pointwise": float(np.mean(inside)),
        "pointwise_se": float(np.std(inside) / math.sqrt(runs)),
        "whole_curve": float(np.mean(whole)),
        "true_density": float(np.mean(true)),
        "noise_mise": float(np.mean(noise)),
        "truncation": truncation,
    }


def timed(kernel: Any, columns: int, n: int, *, seed: int) -> Results:
    """Return how long a density of many records takes."""
    rng = Streams(seed).generator("timed", kernel, columns)
    values = [mixture(n, rng) for _ in range(columns)]
    began = time.perf_counter()
    price: dict[str, Any] = {"epsilon": 1.0, "delta": DELTAS[kernel], "source": Simulated(rng)}
    found = density(values, bounds=[(0, 1)] * columns, kernel=kernel, **price)
    return {
        "cells": found.estimate.size,
        "noise_sd": float(np.median(found.noise_sd)),
        "seconds": time.perf_counter() - began,
    }


def pictured(*, seed: int) -> Results:
    """Return the curves of Figures 3.1 to 3.3."""
    rng = Streams(seed).generator("pictures")
    values = mixture(100, rng)
    price: dict[str, Any] = {
        "bounds": (0, 1),
        "bandwidth": 0.1,
        "epsilon": 1.0,
        "delta": 0.1,
        "grid": np.linspace(0, 1, 1000),
    }
    curves: dict[str, Density] = {
        kernel: density(values, **price, kernel=kernel, source=Simulated(rng)) for kernel in KERNELS
    }
    curves["fourier, δ = 0"] = density(values, **{**price, "delta": 0.0}, kernel="fourier", source=Simulated(rng))
    x = curves["gaussian"].axes[0]
    return {
        "x": x[::5].round(4).tolist(),
        "plain": smoothed(values, x[::5], 0.1).round(4).tolist(),
        "curves": {name: curve.estimate[::5].round(4).tolist() for name, curve in curves.items()},
        "half": {name: float(np.median(curve.half)) for name, curve in curves.items()},
        "figures": [
            {
                "kernel": name,
                "noise_sd": float(np.median(curve.noise_sd)),
                "peaks_kept": _two_peaks(x, curve.estimate),
                "roughness": float(np.abs(np.diff(curve.estimate)).sum()),
                "roughness_plain": float(np.abs(np.diff(smoothed(values, x, 0.1))).sum()),
            }
            for name, curve in curves.items()
        ],
        "basis": _truncated(),
    }


def _two_peaks(x: Floats, f: Floats) -> bool:
    """Whether the curve is higher near .3 and near .7 than it ever is near .5."""
    near = {at: f[np.abs(x - at) < 0.08] for at in (0.3, 0.5, 0.7)}
    return bool(min(near[0.3].max(), near[0.7].max()) > near[0.5].min() + 0.05)


def _truncated() -> Results:
    """Return a function of the Gaussian kernel's space and its projections on the first eigenfunctions (Figure 3.1)."""
    x = np.linspace(0, 1, 200)
    gram = np.exp(-(np.subtract.outer(x, x) ** 2) / (2 * 0.1**2))
    f = gram[:, [25, 70, 110, 160]] @ np.array([1.0, -0.7, 1.2, -0.4])
    _, vectors = np.linalg.eigh(gram)
    shown = {"whole": f.round(4).tolist()}
    errors = []
    for size in (5, 10, 15):
        basis = vectors[:, -size:]
        near = basis @ (basis.T @ f)
        shown[str(size)] = near.round(4).tolist()
        errors.append({"functions": size, "largest_error": float(np.abs(near - f).max())})
    return {"x": x.round(4).tolist(), "shown": shown, "errors": errors}


def classified(*, seed: int) -> Results:
    """Return the decisions of a support vector machine with and without noise on a grid (Figure 3.4)."""
    rng = Streams(seed).generator("classes")
    x, y = _two_classes(750, rng)
    at = np.linspace(0, 1, 60)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(at, at, indexing="ij")], axis=1)
    near = np.min(np.linalg.norm(grid[:, None] - x[None, ::5], axis=2), axis=1) < 0.04
    price: dict[str, Any] = {"bounds": [(0, 1)] * 2, "bandwidth": 0.25, "regularisation": 0.01, "delta": 1e-5}
    plain = svm(x, y, **price, epsilon=1e6, source=Simulated(rng))
    fresh, truth = _two_classes(5000, rng)
    maps = {"no noise": plain}
    for epsilon in (0.5, 1.0, 5.0):
        maps[f"ε = {epsilon:g}"] = svm(x, y, **price, epsilon=epsilon, source=Simulated(rng))
    rows = []
    for name, found in maps.items():
        same = found.predict(grid) == plain.predict(grid)
        rows.append(
            {
                "release": name,
                "noise_sd": found.noise_sd if name != "no noise" else 0.0,
                "right": float((found.predict(fresh) == 2 * truth - 1).mean()),
                "near_records": float(same[near].mean()),
                "elsewhere": float(same[~near].mean()),
            }
        )
    shown = {name: maps[name].decision(grid).reshape(60, 60).round(3).tolist() for name in ("no noise", "ε = 1")}
    return {"rows": rows, "maps": shown, "points": x[::10].round(3).tolist(), "labels": y[::10].tolist()}


def _two_classes(each: int, rng: np.random.Generator) -> tuple[Floats, Any]:
    """Return records around two places of the unit square, and which of them each belongs to."""
    x = [rng.normal(place, (0.12, 0.1), (each, 2)) for place in ((0.35, 0.6), (0.6, 0.35))]
    return np.clip(np.concatenate(x), 0, 1), np.repeat([0, 1], each)


def moved(*, seed: int) -> Results:
    """Return sensitivities: of densities, and of Fourier coefficients as printed, as found on grids, and as proved."""
    x = np.append(np.linspace(0, 1, 400), [1 / (m + 1) for m in FREQUENCIES])
    bodies = {m: float(gauges(moments(x, m) - moments(np.zeros(1), m)).max()) for m in FREQUENCIES}
    return {
        "densities": [
            {
                "bandwidth": h,
                "gaussian": gaussian_sensitivity(100, [h]),
                **{f"g = {g}": sobolev_sensitivity(100, [h], g) for g in (1, 10)},
            }
            for h in (0.05, 0.1, 0.2)
        ],
        "body": [{"m": m, "printed": 2, "gauge": bodies[m], "l1": fourier_l1(1, m)} for m in FREQUENCIES],
    }


PARTS: dict[str, Any] = {
    "covered": covered,
    "timed": timed,
    "pictured": pictured,
    "classified": classified,
    "moved": moved,
}


def worked(part: str, *, seed: int, **cell: Any) -> Results:
    """Return what one part finds."""
    found: Results = PARTS[part](**cell, seed=seed)
    return found


def cells(count: int | None) -> list[Cell]:
    """Return every part: pictures first, coverage, and speed."""
    return [
        *({"part": part} for part in ("pictured", "classified", "moved")),
        *({"part": "covered", "kernel": k, "n": n, "runs": count or RUNS} for k in KERNELS for n in SIZES),
        *({"part": "timed", "kernel": k, "columns": d, "n": MANY} for k in KERNELS for d in (1, 2)),
    ]


def results(lines: list[Line]) -> Results:
    """Return the tables of the page and what the figures show."""
    found: Results = {part: [dict(line) for line in lines if line["part"] == part] for part in PARTS}
    return {part: rows if part in ("covered", "timed") else rows[0] for part, rows in found.items()}


SEED = 31_234
STUDY = Study(
    name="functions",
    cells=cells,
    work=partial(worked, seed=SEED),
    results=results,
    page=page,
    settings={"seed": SEED},
    counts=lambda lines: {"runs": next(line["runs"] for line in lines if line["part"] == "covered")},
    draw=draw,
)
