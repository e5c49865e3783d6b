"""The page and the figures of the study of private functions."""

from pathlib import Path

import numpy as np

from reports import figures
from reports.markdown import table_of
from reports.study import Results
from synthdp.dp.kernels import wrapped_kernel

CURVES = (
    ("gaussian", "Gaussian kernel, δ = .1"),
    ("sobolev", "Sobolev kernel, δ = .1"),
    ("fourier, δ = 0", "Fourier, Laplace noise, δ = 0"),
)


def draw(results: Results, out: Path) -> None:
    """Draw the four pictures of chapter 3, the wrapped kernel, and the two classifiers."""
    _curves(results["pictured"], out)
    _wrapped(out)
    _classes(results["classified"], out)


def _curves(found: Results, out: Path) -> None:
    axes, figure = figures.panels(2, 2, (10.5, 7))
    x, basis = np.array(found["x"]), found["basis"]
    for k, (name, values) in enumerate(basis["shown"].items()):
        if name == "whole":
            axes[0].plot(basis["x"], values, color="black", linewidth=2, label="the function")
        else:
            axes[0].plot(basis["x"], values, "--", color=figures.COLOURS[k], label=f"{name} functions")
    axes[0].set_title("a function on the first eigenfunctions of its kernel", fontsize=9, loc="left")
    for k, (ax, (name, title)) in enumerate(zip(axes[1:], CURVES, strict=True)):
        curve, half = np.array(found["curves"][name]), found["half"][name]
        ax.fill_between(x, curve - half, curve + half, color=figures.COLOURS[k], alpha=0.18, linewidth=0)
        ax.plot(x, curve, color=figures.COLOURS[k], label="released, with its band")
        ax.plot(x, found["plain"], color="black", linestyle="--", linewidth=1.2, label="without noise")
        ax.set_title(f"{title}; n = 100, h = .1, ε = 1", fontsize=9, loc="left")
        ax.set(xlabel="x", ylabel="density")
    axes[0].set(xlabel="x", ylabel="value of the function")
    for ax in axes:
        ax.legend(fontsize=8)
    figures.save(figure, out / "curves.svg")


def _wrapped(out: Path) -> None:
    axes, figure = figures.panels(1, 2, (9, 3.6))
    x = np.linspace(0, 1, 301)
    for ax, centre in zip(axes, (0.2, 0.3), strict=True):
        plain = np.exp(-((x - centre) ** 2) / 0.02) / (0.1 * np.sqrt(2 * np.pi))
        curve = wrapped_kernel(x, centre, 0.1)
        ax.plot(x, curve, color=figures.COLOURS[0], label="wrapped")
        ax.plot(x, plain, color="black", linestyle="--", linewidth=1.2, label="normal density")
        ax.set_title(f"s = .1, centre {centre:g}: {curve[-1]:.7f} at 1", fontsize=9, loc="left")
        ax.set(xlabel="x", ylabel="density")
        ax.legend(fontsize=8)
    figures.save(figure, out / "wrapped.svg")


def _classes(found: Results, out: Path) -> None:
    axes, figure = figures.panels(1, 2, (9.5, 4.6))
    points, labels = np.array(found["points"]), np.array(found["labels"])
    at = np.linspace(0, 1, 60)
    sides = figures.COLOURS[0], figures.COLOURS[3]
    for ax, (name, values) in zip(axes, found["maps"].items(), strict=True):
        decisions = np.array(values).T
        ax.contourf(at, at, decisions, levels=[-1e9, 0, 1e9], colors=sides, alpha=0.18)
        ax.contour(at, at, decisions, levels=[0], colors="black", linewidths=1.2)
        for label in (0, 1):
            here = points[labels == label]
            ax.plot(*here.T, figures.MARKERS[label], color=sides[label], markersize=3, label=f"class {label}")
        ax.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xlabel="first column", ylabel="second column")
        ax.legend(fontsize=8, loc="upper right")
        ax.set_title(f"support vector machine, {name}; every tenth record", fontsize=9, loc="left")
    figures.save(figure, out / "classes.svg")


COVERED = (
    "kernel",
    "n",
    "bandwidth:.3f",
    "noise_sd:.4f",
    "sampling_sd:.4f",
    "pointwise:.4f",
    "pointwise_se:.4f",
    "whole_curve:.3f",
    "true_density:.3f",
    "truncation:.1e",
)
SHAPES = ("kernel", "noise_sd:.4f", "peaks_kept", "roughness:.2f", "roughness_plain:.2f")
CLASSIFIED = ("release", "noise_sd:.3f", "right:.3f", "near_records:.3f", "elsewhere:.3f")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    pictured, moved = results["pictured"], results["moved"]
    return f"""# Private functions: densities, curves and classifiers

`dp.density`, `dp.release_function`, `dp.OnlineRelease` and `dp.svm`: the figures of Hall (2012), chapters 3 and 4,
drawn by the package, and what the bands cover. Regenerate: `python -m reports functions`.

![curves](curves.svg)

*Above left* (his Figure 3.1): a function of a Gaussian kernel's space and its projections. The others (3.2, 3.3) are
private densities of 100 records with modes at .3 and .7 (their sds, and the Sobolev kernel's g, are not printed; ours
are .08 and the g of least noise), dashed the estimate without noise. The Sobolev curve is rougher: *roughness* is the
total of its ups and downs. Pure ε (Fourier) takes far more noise, as its price grows with every frequency.

{table_of(pictured["figures"], SHAPES)}

{table_of(pictured["basis"]["errors"], ("functions", "largest_error:.4f"))}

## What the band covers

{settings["runs"]:,} files each, ε = 1, δ = 10⁻⁶ (Fourier: 0), bandwidth from n. *pointwise*: the share of points at
which the 95% band holds the same estimate without noise, which is what it is for. *whole_curve*: the share of files in
which it does so everywhere: it is no simultaneous band. That of Fourier coefficients is a little wide, as its quantile
is the largest of those simulated at a few points. *true_density*: the share of points at which it holds the
density that the records were drawn from: sampling and the bias of smoothing are not in it. *sampling_sd* says how large
the first of these is (beside *noise_sd*); the bias nobody knows. *truncation*: the largest distance of a release at
ε = 10⁹ from the estimate computed directly.

{table_of(results["covered"], COVERED)}

## One record's reach

Δ of a density of 100 records, in the norm of its kernel; ten times smaller for 1,000. That of the Sobolev kernel is a
proved bound of our own, which the largest value found by search comes within 0.03% of.

{table_of(moved["densities"], ("bandwidth", "gaussian:.6f", "g = 1:.6f", "g = 10:.6f"))}

Hall's noise in the shape of the trigonometric moments' body is printed with Δ = 2/n. *gauge* is what two records can
be apart: m + 1. So it keeps only (m + 1)/2 times the ε it claims, and with the right Δ it is worse than Laplace noise:
it is not part of the package. *l1* is 4m, with which Fourier coefficients get their Laplace noise here (all of these
are to be divided by n).

{table_of(moved["body"], ("m", "printed", "gauge:.4f", "l1:.0f"))}

![the wrapped kernel](wrapped.svg)

*The kernel behind the Fourier estimate* (his Figure 4.1) lifts one end of [0, 1] by what lies at the other. Hence
records are moved two bandwidths away from both ends first.

## A support vector machine

1,500 records of two classes, bandwidth .25, λ = .01, δ = 10⁻⁵ (his Figure 3.4, for which no numbers are printed).
*right* on 10,000 fresh records; *near_records* and *elsewhere*: decided as without noise, within .04 of a record and
beyond.

![classes](classes.svg)

{table_of(results["classified"]["rows"], CLASSIFIED)}

## Speed

A million records.

{table_of(results["timed"], ("kernel", "columns", "cells", "noise_sd:.5f", "seconds:.2f"))}
"""
