"""The best ε-DP answer to one count: what the linear programme finds, and Figures 2.1 and 2.2 of Hall (2012)."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.cells import Cell, Line
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.privacy.mechanisms import DiscreteLaplace, optimal_count, sensitivity
from synthdp.privacy.mechanisms.optimal import Rule, risk_body
from synthdp.privacy.tradeoff import pure
from synthdp.privacy.tradeoff.figures import area

SMALL = (1, 2, 5, 10, 20)
LARGE = 70
FEW = (0.25, 0.5, 1.0, 2.0)
BODIES = (0.05, 0.5, 1.0, 5.0)
MANY = (0.25, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)


def cells(_: int | None) -> list[Cell]:
    """Return every number of records, ε and rule."""
    small = [{"n": n, "epsilon": e, "rule": rule} for n in SMALL for e in FEW for rule in ("minimax", "equalizer")]
    return [*small, *({"n": LARGE, "epsilon": e, "rule": "minimax"} for e in MANY)]


def solved(n: int, epsilon: float, rule: Rule) -> dict[str, Any]:
    """Return the risk of the best answer, beside that of noise that is moved into the range."""
    began = time.perf_counter()
    made = optimal_count(n, epsilon, rule)
    return {
        "risk": float(made.risk().max()),
        "kept": bool(made.epsilon <= epsilon),
        "clamped": float(_clamped(n, epsilon).max()),
        "seconds": time.perf_counter() - began,
    }


def _clamped(n: int, epsilon: float) -> Any:
    """Return E|error| at every count of discrete Laplace noise, moved into 0..n."""
    scale = DiscreteLaplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon).scale
    reach = math.ceil(60 * scale) + n
    z = np.arange(-reach, reach + 1)
    p = np.exp(-np.abs(z) / scale)
    true = np.arange(n + 1)[:, None]
    return np.abs(np.clip(true + z, 0, n) - true) @ p / p.sum()


def results(lines: list[Line]) -> Results:
    """Return the tables of the page."""
    least = {(line["n"], line["epsilon"]): line for line in lines if line["rule"] == "minimax"}
    equal = {(line["n"], line["epsilon"]): line["risk"] for line in lines if line["rule"] == "equalizer"}
    return {
        "small": [{"n": n, **{f"ε = {e:g}": least[n, e]["risk"] for e in FEW}} for n in SMALL],
        "equaliser_differs_by": max(abs(least[key]["risk"] - risk) for key, risk in equal.items()),
        "seventy": [
            {
                "epsilon": e,
                "minimax": least[LARGE, e]["risk"],
                "clamped": least[LARGE, e]["clamped"],
                "limit": 1 / math.sinh(e),
                "laplace": 1 / e,
                "seconds": round(least[LARGE, e]["seconds"], 1),
            }
            for e in MANY
        ],
        "bodies": [
            {
                "epsilon": e,
                "area": 2 * area(pure(e)),
                "tanh(ε/2)": math.tanh(e / 2),
                "corner": float(risk_body(e)[1, 0]),
            }
            for e in BODIES
        ],
        "all_kept": all(line["kept"] for line in lines),
    }


def draw(results: Results, out: Path) -> None:
    """Draw the bodies of risks, and the risk against ε."""
    axes, figure = figures.panels(1, 2, (9, 4.4))
    for k, e in enumerate(BODIES):
        x, y = np.vstack([risk_body(e), risk_body(e)[:1]]).T
        axes[0].plot(x, y, color=figures.COLOURS[k], label=f"ε = {e:g}")
        axes[0].fill(x, y, color=figures.COLOURS[k], alpha=0.08)
    axes[0].set(xlabel="risk where the count is 0", ylabel="risk where the count is 1", aspect="equal")
    axes[0].set_title("one record: all risks that can be had", fontsize=9, loc="left")
    axes[0].legend(fontsize=8)
    rows = results["seventy"]
    epsilon = [row["epsilon"] for row in rows]
    axes[1].plot(epsilon, [row["minimax"] for row in rows], f"-{figures.MARKERS[0]}", label="best answer, n = 70")
    axes[1].plot(epsilon, [row["laplace"] for row in rows], "--", color="#555555", label="1/ε (Laplace noise)")
    axes[1].set(xlabel="ε", ylabel="largest expected absolute error", xlim=(0, 3.1), ylim=(0, None))
    axes[1].set_title("70 records", fontsize=9, loc="left")
    axes[1].legend(fontsize=8)
    figures.save(figure, out / "counts.svg")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    return f"""# One count: the best private answer

`privacy.mechanisms.optimal_count(n, epsilon, rule)` solves Hall's (2012, sections 1.3.5 and 2.3.3) linear programme
for the ε-DP answer to a count of 0 to n with the least risk, here the largest expected absolute error. Every matrix
{"kept" if results["all_kept"] else "DID NOT KEEP"} its ε exactly, in whole numbers. Regenerate:
`python -m reports counts`.

![counts](counts.svg)

*Left* (his Figure 2.1): risks that answers to a count of 0 or 1 can have; the lower left sides are the Bayes rules.

{table_of(results["bodies"], ("epsilon", "area:.6f", "tanh(ε/2):.6f", "corner:.6f"))}

*Right* (his Figure 2.2): *minimax* is the best answer at n = 70, *clamped* geometric noise moved into 0..70, *limit*
its error without ends, 1/sinh ε, *laplace* 1/ε. The best answer gains up to 4% over noise of whole numbers at ε = 0.25
and nothing from ε = 1, and both are below 1/ε: for a count of many records little is lost by taking `dp.count`.

{table_of(results["seventy"], ("epsilon", "minimax:.6f", "clamped:.6f", "limit:.6f", "laplace:.6f", "seconds"))}

Few records (the largest risk of the best answer); the best answer with equal risk everywhere has the same, within
{results["equaliser_differs_by"]:.1g}:

{table_of(results["small"], ("n", *(f"ε = {e:g}:.6f" for e in FEW)))}
"""


STUDY = Study(name="counts", cells=cells, work=solved, results=results, page=page, draw=draw)
