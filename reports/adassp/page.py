"""The page and the figures of the study of private regression."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.adassp.thesis import section
from reports.figures import COLOURS, MARKERS, panels, save
from reports.markdown import table

FIGURES = {
    "calibrations": ("AdaSSP original", "AdaSSP fixed", "AdaSSP analytic", "AdaSSP joint", "SSP analytic"),
    "mapping": ("max norm", "row norm", "row norm, y too", "max norm, intercept", "bounds bought with ε/5"),
    "clipping": ("max norm", "clip 1.0", "clip 1.3", "clip 1.6", "clip 2.5"),
    "clipping_where": ("max norm", "clip 1.6", "clip 1.6, both tails", "clip 1.6, test too"),
}
WITHIN = 0.25


def draw(results: dict[str, Any], sets: Sequence[str], epsilons: Sequence[float], out: Path) -> None:
    """Draw held-out error against ε, one panel per data set, in units of the error of θ = 0."""
    for figure_name, curves in FIGURES.items():
        axes, figure = panels(2, 3, (12, 7))
        part = "as_published" if figure_name == "calibrations" else "by_preparation"
        for ax, name in zip(axes, sets, strict=True):
            found = results[part][name]
            unit = found["trivial"]["mean"] if part == "as_published" else 1.0
            for k, curve in enumerate(curves):
                at = [e for e in epsilons if f"{curve} {e:g}" in found]
                values = [found[f"{curve} {e:g}"]["mean"] / unit for e in at]
                # the mean error of SSP is that of its worst split, and its bars would fill the panel
                errors = None if curve.startswith("SSP") else [2 * found[f"{curve} {e:g}"]["error"] / unit for e in at]
                ax.errorbar(at, values, errors, fmt=f"-{MARKERS[k]}", color=COLOURS[k], capsize=2, label=curve)
            reference = "non_private" if part == "as_published" else f"{curves[0]} plain"
            plain = found[reference]["mean"] / unit
            ax.axhline(1.0, color="#555555", linewidth=0.8)
            ax.axhline(plain, color="#555555", linewidth=0.8, linestyle=":")
            ax.set_ylim(0, 1.6)
            ax.set_title(name, fontsize=9, loc="left")
            ax.set_xlabel("ε")
            ax.set_ylabel("error / error of θ = 0")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=9)
        save(figure, out / f"{figure_name}.svg")


def verdicts(results: dict[str, Any], sets: Sequence[str]) -> dict[str, Any]:
    """Return what the study was to show: close to what was published, and analytic never worse than fixed."""
    close, worse = {}, []
    for epsilon in ("0.1", "1"):
        ratios = {
            name: results["as_published"][name][f"AdaSSP original {epsilon}"]["mean"]
            / results["published"][name][f"AdaSSP eps {epsilon}"]
            for name in sets
        }
        close[epsilon] = [name for name, ratio in ratios.items() if abs(ratio - 1) <= WITHIN]
    for name in sets:
        found = results["as_published"][name]
        for key in found:
            fixed = found.get(key.replace("analytic", "fixed"))
            if key.startswith("AdaSSP analytic") and fixed and found[key]["mean"] > fixed["mean"]:
                worse.append(f"{name}, ε = {key.split()[-1]}")
    return {"close": close, "worse": worse}


def page(results: dict[str, Any], settings: dict[str, Any], sets: Sequence[str]) -> str:
    """Return the page."""
    found = verdicts(results, sets)
    made = results["as_published"]
    rows = []
    for epsilon in ("0.1", "1"):
        for name in sets:
            at, published = made[name], results["published"][name]
            cells = [f"{at[f'AdaSSP {kind} {epsilon}']['mean']:.4f}" for kind in ("fixed", "analytic", "joint")]
            original = at[f"AdaSSP original {epsilon}"]
            rows.append(
                (
                    name,
                    epsilon,
                    f"{at['trivial']['mean']:.4f} ({published['trivial']})",
                    f"{at['non_private']['mean']:.4f} ({published['non_private']})",
                    published[f"AdaSSP eps {epsilon}"],
                    f"{original['mean']:.4f} ± {original['error']:.4f}",
                    f"{original['mean'] / published[f'AdaSSP eps {epsilon}'] - 1:+.0%}",
                    *cells,
                    f"{at[f'SSP original {epsilon}']['mean']:.3g} ({published[f'SSP eps {epsilon}']})",
                )
            )
    head = ("set", "ε", "θ = 0", "ridge λ = 1", "published AdaSSP", "original", "difference", "fixed", "analytic")
    return f"""# AdaSSP beside its published errors, and what preprocessing does

δ = {settings["delta"]:g}, {settings["replications"]} random splits with {settings["held_out"]:.0%} held out, noise
simulated (seeded), the same normal draws for every calibration. Mean squared error on held-out records. Regenerate:
`python -m reports adassp --data DIR`.

## As published

Predictors z-scored, every row divided by its norm, y divided by max |y|, all before the split (Wang 2018). In brackets
the published value. ± is one standard error over splits.

{table((*head, "joint", "SSP original"), rows)}

* Within {WITHIN:.0%} of the published AdaSSP: {len(found["close"]["0.1"])} of {len(sets)} sets at ε = 0.1,
  {len(found["close"]["1"])} of {len(sets)} at ε = 1.
* Analytic worse than fixed, over all sets and every ε of the figure: {", ".join(found["worse"]) or "nowhere"}.
* `original` is not shown to be (ε, δ)-DP: its noise, √log(6/δ)/(ε/3), is 0.72 of the classical Gaussian mechanism's
  √(2 log(3.75/δ))/(ε/3) at this δ. `fixed` is the classical one (Kalaja 2020, Algorithm 3), `analytic` Balle and Wang's
  at (ε/3, δ/3), `joint` one calibration of the three releases together at (ε, δ).

![calibrations](calibrations.svg)

{section(results, sets)}
## By preparation

Statistics of the training part only, analytic AdaSSP, errors in units of the error of θ = 0 (1 = trivial). Every way
takes something from the data without noise, so **nothing formal can be claimed for any line here**: all but the last
means, sds and maxima, the last one a range of mean ± 10 sd in place of a codebook, inside which it buys its bounds
(two private quantiles of every column) with a fifth of ε; with a real codebook that line would be private.
A predictor that is constant in the training part is left out (elevators has two that
vary in 2 and 3 of its 16,599 records: they set its largest norm, and a held-out record that differs in them is far
from all others; the last column leaves them out). ε runs to 2.99, as `fixed` holds below 3 only.

{_preparations(results, sets, "1")}

{_preparations(results, sets, "2.99")}

{_findings(results, sets)}

![mapping](mapping.svg)

![clipping](clipping.svg)

![where to clip](clipping_where.svg)
"""


def _ways(results: dict[str, Any], sets: Sequence[str], epsilon: str) -> list[str]:
    end = f" {epsilon}"
    return [key.removesuffix(end) for key in results["by_preparation"][sets[0]] if key.endswith(end)]


def _preparations(results: dict[str, Any], sets: Sequence[str], epsilon: str) -> str:
    found = results["by_preparation"]
    rows = [
        (way, *(f"{found[name][f'{way} {epsilon}']['mean']:.3f}" for name in found))
        for way in _ways(results, sets, epsilon)
    ]
    return table((f"ε = {epsilon}", *found), rows)


def _findings(results: dict[str, Any], sets: Sequence[str]) -> str:
    found = results["by_preparation"]

    def better(way: str, than: str, epsilon: str = "2.99") -> list[str]:
        of = {name: [found[name][f"{each} {epsilon}"]["mean"] for each in (way, than)] for name in sets}
        return [name for name, (mine, theirs) in of.items() if mine < theirs]

    best = {
        name: min(_ways(results, sets, "2.99"), key=lambda way, name=name: found[name][f"{way} 2.99"]["mean"])  # type: ignore[misc]
        for name in sets
    }
    made = results["as_published"]
    ssp = [name for name in sets if made[name]["SSP analytic 1"]["mean"] > made[name]["trivial"]["mean"]]

    def named(names: list[str]) -> str:
        return ", ".join(names) or "no set"

    return f"""At ε = 2.99, by mean error:

* row norm beats max norm on {named(better("row norm", "max norm"))}.
* dividing y by the row's norm as well beats row norm on {named(better("row norm, y too", "row norm"))}.
* an intercept helps max norm on {named(better("max norm, intercept", "max norm"))}.
* clipping at 1.6 sd (upper tail) helps max norm on {named(better("clip 1.6", "max norm"))}; both tails beat the upper
  one on {named(better("clip 1.6, both tails", "clip 1.6"))}; clipping the test records too helps on
  {named(better("clip 1.6, test too", "clip 1.6"))}.
* best of all ways: {"; ".join(f"{name}: {way}" for name, way in best.items())}.
* SSP at ε = 1 (analytic, as published otherwise) is worse than θ = 0 on {named(ssp)}."""
