"""Privacy regions: the pictures of the gallery, what they show in numbers, and the limit theorem's band."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.privacy.tradeoff.composing import compose, gaussian_limit
from synthdp.privacy.tradeoff.curves import Gaussian, Laplace, pure
from synthdp.privacy.tradeoff.figures import Region, area, bands, outline
from synthdp.privacy.tradeoff.gallery import gallery, pictures

ALPHA = np.linspace(0, 1, 1001)
FOLDS = (4, 16, 64, 256)


def measured() -> Results:
    """Return every region and limit in numbers."""
    rows = [
        {
            "picture": title,
            "region": region.name,
            "area": round(area(region.curve), 4),
            "total_variation": round(float(region.curve.delta(0.0)), 4),
            "fn_at_fp_0.05": round(float(region.curve(0.05)), 4),
        }
        for title, regions in gallery().items()
        for region in regions
    ]
    return {"regions": rows, "limits": [_limit(name, curve, k) for k in FOLDS for name, curve in _summands(k)]}


def draw(results: Results, out: Path) -> None:
    """Draw all regions: larger ones first, so that smaller ones lie in front."""
    panels = {
        title: [(region.name, *outline(region.curve)) for region in sorted(regions, key=lambda r: -area(r.curve))]
        for title, regions in gallery().items()
    }
    figures.regions(panels, out / "regions.svg")
    _interactive(out / "regions.html")


def _summands(k: int) -> tuple[tuple[str, Any], ...]:
    return ("(1/√k)-DP", pure(1 / math.sqrt(k))), ("Laplace, ε = 1/√k", Laplace(1 / math.sqrt(k)))


def _limit(name: str, curve: Any, k: int) -> dict[str, Any]:
    limit, true = gaussian_limit(curve, times=k), compose(curve, times=k)
    gap = float(np.abs(limit(ALPHA) - true(ALPHA)).max())
    return {
        "summand": name,
        "k": k,
        "mu": round(limit.mu, 4),
        "gamma": round(limit.gamma, 4),
        "largest_gap": round(gap, 5),
        "gap_to_1-GDP": round(float(np.abs(Gaussian(1.0)(ALPHA) - true(ALPHA)).max()), 5),
    }


def _interactive(path: Path) -> None:
    drawn = pictures()
    curve = pure(1 / 8)
    limit = gaussian_limit(curve, times=64)
    drawn["64 times (1/8)-DP: the limit theorem"] = bands(
        Region("limit", Gaussian(limit.mu)),
        limit.lower(ALPHA),
        limit.upper(ALPHA),
        ALPHA,
        Region("exact", compose(curve, times=64).curve),
    )
    parts = [
        f"<h2>{title}</h2>" + figure.to_html(full_html=False, include_plotlyjs=number == 0)
        for number, (title, figure) in enumerate(drawn.items())
    ]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Privacy regions</title>'
    path.write_text(head + "\n".join(parts) + "</html>\n", encoding="utf-8")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    regions, limits = results["regions"], results["limits"]
    return f"""# Privacy regions

How well any test can tell two neighbouring data sets apart: FP and FN of the best tests lie on the lower curve, and
everything between it and the line FP + FN = 1 can be reached. The pictures are those of Najib (2025), drawn from the
corrected formulas; all are exact but the Laplace limits below, which lie within 0.01 in ε. Regenerate:
`python -m reports regions` (also writes `regions.html`, where the curves can be read off). To move the parameters
yourself: `synthdp explore --export regions.html` ([what the page is for](../../docs/regions.md)).

![regions](regions.svg)

*area* is that of the region (0: nothing leaks, 0.5: everything); *total_variation* is δ at ε = 0.

{table_of(regions)}

The central limit theorem (Dong, Roth, Su 2022, Theorem 3.4): k releases together are near μ-GDP, within γ for FP in
[γ, 1 − γ]. *largest_gap* is what the approximation is really wrong by.

{table_of(limits)}
"""


STUDY = Study(
    name="regions",
    cells=lambda _: [{}],
    work=measured,
    results=lambda lines: dict(lines[0]),
    page=page,
    settings={"folds": list(FOLDS)},
    draw=draw,
)
