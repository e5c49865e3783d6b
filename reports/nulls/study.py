"""Is the pMSE ratio 1 when the synthesis is right? Every null in the design it is for, and in one it is not for."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats, resolve

N = 500
COPIES = 3
PERMUTATIONS = 20
MASK_SD = 0.7
LEVELS = (2, 3, 2, 4)
MODELS = ("logit", "cart")


class Case(NamedTuple):
    """One way of making copies, judged against one null; ``right`` where that null is the one for it."""

    data: str
    synthesis: str
    null: str
    proper: bool
    models: tuple[str, ...]
    right: bool


CASES = (
    Case("tables", "full, plug-in", "auto", False, MODELS, True),
    Case("tables", "full, proper", "auto", False, MODELS, False),
    Case("tables", "full, proper", "permutation", True, MODELS, True),
    Case("tables", "partial, proper", "within_record", True, MODELS, True),
    Case("tables", "partial, proper", "permutation", True, MODELS, False),
    Case("tables", "partial, proper", "pairs", True, MODELS, True),
    Case("numbers", "full, plug-in", "formula", False, ("logit",), True),
    Case("numbers", "full, plug-in", "permutation", False, ("cart",), False),
    Case("numbers", "full, proper", "formula", False, ("logit",), False),
    Case("numbers", "full, proper", "permutation", True, MODELS, True),
    Case("numbers", "partial, plug-in", "within_record", False, ("logit",), True),
    Case("numbers", "partial, proper", "within_record", True, MODELS, True),
    Case("numbers", "partial, proper", "pairs", True, ("logit",), True),
    Case("numbers", "masked, proper", "within_record", True, MODELS, True),
    Case("numbers", "masked, proper", "permutation", True, MODELS, False),
)


def tables(rng: np.random.Generator) -> pd.DataFrame:
    """Return records of four dependent columns of levels."""
    common = rng.standard_normal(N)
    columns = {}
    for number, levels in enumerate(LEVELS):
        score = 0.6 * common + rng.standard_normal(N)
        columns[f"c{number}"] = np.clip(((score + 2) * levels / 4).astype(int), 0, levels - 1).astype(str)
    return pd.DataFrame(columns)


def numbers(rng: np.random.Generator) -> pd.DataFrame:
    """Return records of four normal columns, each a regression on those before it."""
    z = rng.standard_normal(N)
    x = 0.5 * z + rng.standard_normal(N)
    y = 0.3 * z - 0.5 * x + rng.standard_normal(N)
    return pd.DataFrame({"z": z, "x": x, "y": y, "u": 0.4 * y + rng.standard_normal(N)})


def draw_tables(frame: pd.DataFrame, kept: int, *, proper: bool, rng: np.random.Generator) -> pd.DataFrame:
    """Draw all but the first columns from the saturated table given those, its shares fitted or from their posterior.

    The posterior is Dirichlet with the counts as its parameters (Haldane's prior).
    """
    drawn = frame.copy()
    groups = frame.groupby(list(frame.columns[:kept])).indices.values() if kept else [np.arange(len(frame))]
    for rows in groups:
        shares = rng.dirichlet(np.ones(len(rows))) if proper else None
        picked = rng.choice(rows, len(rows), p=shares)
        drawn.iloc[rows] = frame.iloc[picked].to_numpy()
        drawn.iloc[rows, :kept] = frame.iloc[rows, :kept].to_numpy()
    return drawn


def draw_numbers(
    frame: pd.DataFrame, kept: int, *, proper: bool, mask_sd: float | None, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw all but the first columns from linear regressions on the columns before them, which is the right model.

    With a mask the first drawn column is seen with noise, W = x + N(0, mask_sd²), and is drawn given W as well; the
    columns after it are kept then, and they are predictors too.
    """
    drawn = frame.copy()
    for number in range(kept, frame.shape[1]) if mask_sd is None else [kept]:
        others = list(range(number)) if mask_sd is None else [j for j in range(frame.shape[1]) if j != number]
        truth = frame.iloc[:, number].to_numpy()
        coefficients, sd = _regression(frame.iloc[:, others].to_numpy(), truth, proper=proper, rng=rng)
        mean = _with_one(drawn.iloc[:, others].to_numpy()) @ coefficients
        if mask_sd is not None:
            w = truth + mask_sd * rng.standard_normal(len(frame))
            precision = 1 / sd**2 + 1 / mask_sd**2
            mean, sd = (mean / sd**2 + w / mask_sd**2) / precision, precision**-0.5
        drawn[drawn.columns[number]] = mean + sd * rng.standard_normal(len(frame))
    return drawn


def _with_one(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


def _regression(x: Floats, y: Floats, *, proper: bool, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return coefficients and residual sd: fitted, or drawn from their posterior under the usual flat prior."""
    design = _with_one(x)
    gram = design.T @ design
    fitted: Floats = np.asarray(np.linalg.solve(gram, design.T @ y), dtype=np.float64)
    rest, df = float(np.sum((y - design @ fitted) ** 2)), len(y) - design.shape[1]
    if not proper:
        return fitted, float(np.sqrt(rest / df))
    sd = float(np.sqrt(rest / rng.chisquare(df)))
    return np.asarray(rng.multivariate_normal(fitted, sd**2 * np.linalg.inv(gram)), dtype=np.float64), sd


def one_replication(r: int, *, seed: int, cases: tuple[Case, ...] = CASES) -> list[list[float]]:
    """Return ratio, pMSE and null of every case and model in one data set."""
    streams = Streams(seed)
    made: dict[tuple[str, str], Comparison] = {}
    rows = []
    for number, case in enumerate(cases):
        key = (case.data, case.synthesis)
        if key not in made:
            made[key] = _comparison(*key, streams, r)
        settings = Propensity(models=case.models, null=case.null, proper=case.proper, permutations=PERMUTATIONS)
        found = evaluate_propensity(made[key], settings, rng=streams.generator("judge", r, number))["pmse"]
        rows += [[float(found[model][part]) for part in ("ratio", "value", "null")] for model in case.models]
    return rows


def _comparison(data: str, synthesis: str, streams: Streams, r: int) -> Comparison:
    original = (tables if data == "tables" else numbers)(streams.generator("data", data, r))
    how, proper = synthesis.split(", ")
    kept = 0 if how == "full" else 1
    copies = []
    for copy in range(COPIES):
        rng = streams.generator("copy", data, synthesis, r, copy)
        if data == "tables":
            copies.append(draw_tables(original, kept, proper=proper == "proper", rng=rng))
        else:
            mask_sd = MASK_SD if how == "masked" else None
            copies.append(draw_numbers(original, kept, proper=proper == "proper", mask_sd=mask_sd, rng=rng))
    return Comparison(original, tuple(copies), resolve(original, {}).schema, aligned=True)


def summarise(draws: Floats, cases: tuple[Case, ...] = CASES) -> list[dict[str, Any]]:
    """Return each case and model's mean ratio with its Monte Carlo error, and the mean pMSE over the mean null."""
    names = [(case, model) for case in cases for model in case.models]
    return [
        {
            "data": case.data,
            "synthesis": case.synthesis,
            "model": model,
            "null": _null(case, model),
            "null_is_right": case.right,
            "mean_ratio": round(float(values[:, 0].mean()), 4),
            "mc_error": round(float(values[:, 0].std(ddof=1) / np.sqrt(len(values))), 4),
            "ratio_of_means": round(float(values[:, 1].mean() / values[:, 2].mean()), 4),
        }
        for (case, model), values in zip(names, draws.swapaxes(0, 1), strict=True)
    ]


def _null(case: Case, model: str) -> str:
    kind = case.null
    if kind == "auto":
        kind = "formula" if model == "logit" else "permutation"
    factor = ", plug-in" if not case.proper and kind in ("formula", "permutation", "within_record") else ""
    return kind.replace("_", " ") + factor


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    return f"""# Which null for which synthesis

n = {settings["n"]}, M = {settings["copies"]}, {settings["replications"]} data sets; nulls that are simulated stand on
{settings["permutations"]} exchanges per copy. `tables`: four columns of levels, drawn from the saturated table.
`numbers`: four normal columns, drawn from linear regressions; both models are right, so a null that fits the design
must give a mean ratio of 1. `partial` keeps the first column; `masked` draws one column given a mask of it and keeps
the others. Regenerate: `python -m reports nulls`.

{table_of(results["rows"])}

* Proper synthesis judged by the plug-in formula gives about 2: that formula is for draws from the fitted model.
* Permuted labels are wrong for partial and masked synthesis: the kept columns agree, and the ratio is below 1 (a little
  with one kept column of four, a tenth for a regression with a mask), so that a bad synthesis may look right.
* Plug-in draws of numbers fit means and regressions, not whatever else a tree can look at: judged by a tree and half
  the permutation null their ratio is near 2 although the model is right. Where the synthesis fits everything (tables)
  it is 1.
* Pairs of copies need not know whether parameters were drawn. Three pairs are few: a regression's pMSE with a handful
  of slopes varies so much that dividing by their mean gives more than 1 on average, although the means agree.
"""


STUDY = replicated(
    "nulls", 200, one_replication, summarise, page, seed=20231, n=N, copies=COPIES, permutations=PERMUTATIONS
)
