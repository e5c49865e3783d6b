"""Figures 4.1 and 4.5 of Kalaja (2020): how unstable SSP is, and what it matters when the records are prepared.

Figure 4.1 has SSP as Wang's program runs it, with a noise matrix that is not symmetric, and with the symmetric noise of
the classical Gaussian mechanism. Figure 4.5 has AdaSSP with means, sds and maxima of all records (before the split) and
of the training part (after it). As in the thesis none of it is private: those statistics are taken without noise.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reports.adassp.sets import DELTA, SETS, load, normalised, split, squared_error, varying
from reports.figures import COLOURS, MARKERS, panels, save
from reports.markdown import table
from synthdp import dp
from synthdp.dp.gram_noise import Calibration
from synthdp.dp.preparing import Strategy
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

# the classical Gaussian mechanism is proved for half of ε under 1 (SSP) and a third of it under 1 (AdaSSP)
SSP_EPSILONS = (0.1, 0.3, 1.0, 1.99)
ADASSP_EPSILONS = (0.1, 0.3, 1.0, 2.0, 2.99)
NOT_SYMMETRIC, SYMMETRIC, FIXED = "Wang's program", "Wang's noise, symmetric", "classical noise, symmetric"
SSPS: dict[str, Calibration] = {SYMMETRIC: "original", FIXED: "fixed"}
MAPPINGS: dict[str, Strategy] = {"max norm": "max_norm", "row norm": "row_norm"}


def instability(r: int, *, name: str, data: Path, seed: int) -> dict[str, float]:
    """Return held-out errors of three kinds of SSP on one split, over the error of θ = 0."""
    streams = Streams(seed)
    x, y = normalised(*load(data, name))
    train, test = split(len(y), streams.generator("split", name, r))
    trivial = squared_error(y[test], np.zeros(len(test)))
    errors: dict[str, float] = {}
    for epsilon in SSP_EPSILONS:
        thetas = {NOT_SYMMETRIC: not_symmetric(x[train], y[train], epsilon, _source(streams, name, r, epsilon))}
        for label, calibration in SSPS.items():
            fit = dp.ssp(
                x[train],
                y[train],
                x_norm=1.0,
                y_bound=1.0,
                epsilon=epsilon,
                delta=DELTA,
                calibration=calibration,
                source=_source(streams, name, r, epsilon),
            )
            thetas[label] = fit.theta
        errors |= {f"{label} {epsilon:g}": squared_error(y[test], x[test] @ t) / trivial for label, t in thetas.items()}
    return errors


def not_symmetric(x: Floats, y: Floats, epsilon: float, source: Simulated) -> Floats:
    """Return SSP with Wang's sd, √log(4/δ)/(ε/2), on every one of the d² entries of X'X."""
    sd = math.sqrt(math.log(4 / DELTA)) / (epsilon / 2)
    gram = source.gaussian((x.T @ x).ravel(), sd=sd, sensitivity=1.0).reshape(x.shape[1], -1)
    cross = source.gaussian(x.T @ y, sd=sd, sensitivity=1.0)
    return np.asarray(np.linalg.lstsq(gram, cross, rcond=None)[0], dtype=np.float64)


def when_prepared(r: int, *, name: str, data: Path, seed: int) -> dict[str, float]:
    """Return held-out errors over that of θ = 0 with statistics of all records and of the training part."""
    streams = Streams(seed)
    x, y = load(data, name)
    train, test = split(len(y), streams.generator("split", name, r))
    x = varying(x, train)
    trivial = squared_error(y[test], np.zeros(len(test)))
    errors = {}
    for mapping, strategy in MAPPINGS.items():
        for when, rows in (("before", np.arange(len(y))), ("after", train)):
            ready = dp.prepare(x[rows], y[rows], strategy=strategy)
            inside, response = ready.rows(x[train]), ready.response(x[train], y[train])
            ridge = np.asarray(np.linalg.solve(inside.T @ inside + np.eye(inside.shape[1]), inside.T @ response))
            errors[f"{mapping} {when} plain"] = squared_error(y[test], ready.predict(ridge, x[test])) / trivial
            for epsilon in ADASSP_EPSILONS:
                fit = dp.adassp(
                    inside,
                    response,
                    x_norm=1.0,
                    y_bound=1.0,
                    epsilon=epsilon,
                    delta=DELTA,
                    calibration="fixed",
                    source=_source(streams, name, r, epsilon),
                )
                error = squared_error(y[test], ready.predict(fit.theta, x[test])) / trivial
                errors[f"{mapping} {when} {epsilon:g}"] = error
    return errors


def _source(streams: Streams, name: str, r: int, epsilon: float) -> Simulated:
    # the same normal draws for every line of a figure, so that lines differ by what they are about
    return Simulated(streams.generator("noise", name, r, str(epsilon)))


def unstable(found: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean, median and the share of splits worse than θ = 0; a mean alone is that of the worst split."""
    return {
        key: {
            "mean": float(np.mean([row[key] for row in found])),
            "median": float(np.median([row[key] for row in found])),
            "worse": float(np.mean([row[key] > 1 for row in found])),
        }
        for key in found[0]
    }


def beside(found: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the mean errors before and after, and their ratio with its standard error over splits (delta method)."""
    results = {}
    for key in (key for key in found[0] if " before " in key):
        before, after = (np.array([row[k] for row in found]) for k in (key, key.replace(" before ", " after ")))
        ratio = float(after.mean() / before.mean())
        error = float(np.std(after - ratio * before, ddof=1) / math.sqrt(len(found)) / before.mean())
        line = {"before": float(before.mean()), "after": float(after.mean()), "ratio": ratio, "error": error}
        results[key.replace(" before ", " ")] = line
    return results


def draw_thesis(results: dict[str, Any], out: Path) -> None:
    """Draw both figures, one panel per data set."""
    axes, figure = panels(2, 3, (12, 7))
    for ax, name in zip(axes, SETS, strict=True):
        for k, label in enumerate((NOT_SYMMETRIC, SYMMETRIC, FIXED)):
            values = [results["instability"][name][f"{label} {e:g}"] for e in SSP_EPSILONS]
            means, medians = ([value[which] for value in values] for which in ("mean", "median"))
            ax.plot(SSP_EPSILONS, means, f"--{MARKERS[k]}", color=COLOURS[k], label=f"{label}, mean")
            ax.plot(
                SSP_EPSILONS, medians, f":{MARKERS[k]}", color=COLOURS[k], label=f"{label}, median", fillstyle="none"
            )
        ax.set_yscale("log")
        _finish(ax, name)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9)
    save(figure, out / "instability.svg")
    axes, figure = panels(2, 3, (12, 7))
    for ax, name in zip(axes, SETS, strict=True):
        for k, mapping in enumerate(MAPPINGS):
            values = [results["when_prepared"][name][f"{mapping} {e:g}"] for e in ADASSP_EPSILONS]
            for when, line in (("before", f"--{MARKERS[k]}"), ("after", f":{MARKERS[k + 2]}")):
                errors = [value[when] for value in values]
                colour = COLOURS[k + 2 * (when == "after")]
                ax.plot(ADASSP_EPSILONS, errors, line, color=colour, label=f"{mapping}, {when} the split")
        ax.set_ylim(0, 1.2)
        _finish(ax, name)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=9)
    save(figure, out / "when_prepared.svg")


def _finish(ax: Any, name: str) -> None:
    ax.axhline(1.0, color="#555555", linewidth=0.8)
    ax.set_title(name, fontsize=9, loc="left")
    ax.set_xlabel("ε")
    ax.set_ylabel("error / error of θ = 0")


def section(results: dict[str, Any], sets: Sequence[str]) -> str:
    """Return both figures in words."""
    ssp, prepared = results["instability"], results["when_prepared"]
    rows = [
        (
            name,
            *(
                "{mean:.3g} / {median:.2f} / {worse:.0%}".format_map(ssp[name][f"{label} {epsilon}"])
                for epsilon in ("1", "1.99")
                for label in (NOT_SYMMETRIC, SYMMETRIC, FIXED)
            ),
        )
        for name in sets
    ]
    head = (
        "set",
        *(f"{label}, ε = {epsilon}" for epsilon in ("1", "1.99") for label in (NOT_SYMMETRIC, SYMMETRIC, FIXED)),
    )
    ratios = [
        (
            name,
            mapping,
            *("{ratio:.3f} ± {error:.3f}".format_map(prepared[name][f"{mapping} {e:g}"]) for e in ADASSP_EPSILONS),
            f"{prepared[name][f'{mapping} plain']['ratio']:.3f}",
        )
        for mapping in MAPPINGS
        for name in sets
    ]
    bad = {
        label: [name for name in sets if ssp[name][f"{label} 1"]["mean"] > 1]
        for label in (NOT_SYMMETRIC, SYMMETRIC, FIXED)
    }
    far = [
        f"{name} ({mapping}, ε = {e:g}: {prepared[name][f'{mapping} {e:g}']['ratio']:.2f})"
        for mapping in MAPPINGS
        for name in sets
        for e in ADASSP_EPSILONS
        if abs(prepared[name][f"{mapping} {e:g}"]["ratio"] - 1) > FAR
    ]
    said = "\n".join(
        f"* {label}: worse than θ = 0 at ε = 1, by mean error, on {', '.join(names) or 'no set'}."
        for label, names in bad.items()
    )
    return f"""## Figure 4.1 of Kalaja (2020): SSP is unstable

Rows as published. *{NOT_SYMMETRIC}* puts noise of Wang's sd on all d² entries of X'X, *{SYMMETRIC}* on its upper
triangle, *{FIXED}* takes the sd of the classical Gaussian mechanism at (ε/2, δ/2), proved for ε < 2. Mean error /
median error, in units of the error of θ = 0, / share of splits in which θ = 0 is better.

{table(head, rows)}

{said}
* A mean here is the worst split's. The thesis says that symmetric noise changes little, and the medians agree: what
  hurts is that X'X + E can be nearly singular, with either kind of noise.

![SSP beside the trivial solution](instability.svg)

## Figure 4.5 of Kalaja (2020): prepared before or after the split

AdaSSP fixed; error with the statistics of the training part (after) over error with those of all records (before), same
splits and noise; ± one standard error over splits; the last column is ridge regression with λ = 1 without noise.

{table(("set", "mapping", *(f"ε = {e:g}" for e in ADASSP_EPSILONS), "no noise"), ratios)}

The thesis calls the two "almost identical". More than {FAR:.0%} apart here: {"; ".join(far) or "nowhere"}.

![before and after the split](when_prepared.svg)
"""


FAR = 0.05
