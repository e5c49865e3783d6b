"""Trees given a mask, against trees without one and against regressions: an outcome nobody told the synthesis about.

Data from ``datasets.registry`` (age bends and interacts); age, sex and education are replaced and are the keys; lung
disease within a year is excluded from every model. What the copies say of it comes from the kept columns and from W.
Each association model is run from no mask at all to a mask that lets nearly everything through; plain CART, which has
no mask, is run over its own dial, the smallest leaf.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reports import figures
from reports.cells import apart
from reports.estimators import logistic
from reports.markdown import table, table_of
from reports.study import replicated
from synthdp.datasets import registry
from synthdp.evaluation.utility.analyses import ci_overlap
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import combine
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan, Synthesizer
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import Floats, Microdata, resolve
from synthdp.table.schema import Role, Variable
from synthdp.tagging.groups import tag
from synthdp.tagging.neighbours import average, encode_keys, match

ANALYSES = ("straight", "curved")
INTRUDERS = {
    "mean_individual": "uses the copies as they are",
    "mean_individual_averaged": "averages the copies first",
}


def page(results: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the page."""
    outcome = settings["outcome"]
    measures = (*INTRUDERS, *(f"overlap_{name}" for name in ANALYSES))
    points = [
        (row["curve"], row["setting"], *(_with_error(row, name, "{:.4f}") for name in measures))
        for row in results["rows"]
    ]
    climbs = table_of(
        [{**row, "every_step": "yes" if row["every_step"] else "no"} for row in results["rises"]],
        ("curve", "analysis", "{rise:+.3f} ± {error:.3f}", "every_step"),
        ("model", "analysis", "rise from no mask to the clearest", "no step down"),
    )
    return f"""# Trees given a mask

The simulated registry, n = {settings["n"]}, {settings["replications"]} data sets, M = {settings["copies"]}. Age, sex
and education are replaced and are the keys (tolerance {settings["tolerance"]:g} years); `{outcome}` is excluded from
every model. Analyses: logit of `{outcome}` on age, sex, education, diffuse and fvc (`straight`), and with the square
of age (`curved`; the truth is curved). Overlap is the mean interval overlap of all terms with the original's; risk is
`mean_individual` of the matching intruder. W is drawn per copy unless the name says once. `no mask` of the regression
is method `mi`. Plain CART is method `sequential`; its dial is the smallest leaf. ± is one Monte Carlo error.
Regenerate: `python -m reports trees`.

![overlap against mask and against risk](trees.svg)

## Does overlap for an unseen outcome rise with what the mask lets through?

{climbs}

## Is it better than plain CART at equal risk?

Overlap of each model minus that of plain CART, at the risk that plain CART has at each setting of its own dial. Empty
where that risk lies outside what the model reaches in more than half of the data sets: with the same leaf, trees
without a mask are as risky as plain CART, and a mask only adds to it.

{"".join(_intruder(results["equal_risk"], risk) for risk in INTRUDERS)}## Every point

{table(("model", "setting", *measures), points)}
"""


def _intruder(rows: Sequence[Mapping[str, Any]], risk: str) -> str:
    here = [row for row in rows if row["risk"] == risk]
    lines = [
        (row["plain"], row["curve"], row["inside"], *(_with_error(row, f"overlap_{a}", "{:+.3f}") for a in ANALYSES))
        for row in here
    ]
    return f"""### The intruder {INTRUDERS[risk]}

Beyond two Monte Carlo errors, over both analyses:

{chr(10).join(_counts(here))}

{table(("plain CART", "model", "data sets inside", *ANALYSES), lines)}

"""


def _counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for curve in dict.fromkeys(row["curve"] for row in rows):
        found = Counter(
            _verdict(row[f"overlap_{a}"], row[f"overlap_{a}_error"])
            for row in rows
            for a in ANALYSES
            if row["curve"] == curve and row[f"overlap_{a}"] is not None
        )
        yield f"* {curve}: better in {found['better']}, even in {found['even']}, worse in {found['worse']}"


def _verdict(gain: float, error: float) -> str:
    return "even" if abs(gain) <= 2 * error else "better" if gain > 0 else "worse"


def _with_error(row: Mapping[str, Any], name: str, form: str) -> str:
    if row[name] is None:
        return ""
    places = form[form.index(".") + 1]
    return f"{form.format(row[name])} ± {row[f'{name}_error']:.{places}f}"


N = 800
COPIES = 5
TOLERANCE = 3.0
OUTCOME = "one_year_ild"
STRENGTHS = ((2.0, 0.5), (1.0, 1.0), (0.5, 2.0), (0.25, 3.0), (0.1, 5.0))
LEAVES = (1, 2, 5, 10, 20, 50)
MODELS = {
    "regression": DaMi(model=Regression(exclude=(OUTCOME,)), copies=COPIES),
    "DA-CART, leaf 5": DaMi(model=MaskedCart(exclude=(OUTCOME,)), copies=COPIES),
    "DA-CART, leaf 20": DaMi(model=MaskedCart(exclude=(OUTCOME,), min_leaf=20), copies=COPIES),
    "DA-CART, leaf 20, W once": DaMi(
        model=MaskedCart(exclude=(OUTCOME,), min_leaf=20), copies=COPIES, mask_draw="once"
    ),
}
PLAIN = "plain CART"
MEASURES = ("mean_individual", "mean_individual_averaged", *(f"overlap_{name}" for name in ANALYSES))
RISKS, OVERLAPS = MEASURES[:2], MEASURES[2:]


class Run(NamedTuple):
    """One way of synthesising: a curve, the setting of its dial, and how the copies are made."""

    curve: str
    setting: str
    method: Synthesizer
    masks: dict[str, MaskSettings]


def runs() -> list[Run]:
    """Return every point of every curve, the least information first."""
    found = []
    for curve, method in MODELS.items():
        found.append(Run(curve, "no mask", Mi(model=method.model, copies=COPIES), {}))
        for sd, alpha in STRENGTHS:
            masks: dict[str, MaskSettings] = {"age": Gaussian(sd=sd)}
            masks |= {name: ShiftedNormal(alpha=alpha) for name in ("sex", "education")}
            found.append(Run(curve, f"sd {sd:g}, α {alpha:g}", method, masks))
    for leaf in reversed(LEAVES):
        cart = Cart(exclude=(OUTCOME,), min_leaf=leaf)
        found.append(Run(PLAIN, f"leaf {leaf}", Sequential(model=cart, copies=COPIES), {}))
    return found


def estimate(frame: pd.DataFrame, analysis: str) -> Estimates:
    """Return the logistic regression of lung disease within a year, age straight or with its square."""
    decades = (frame["age"].to_numpy(np.float64) - 55) / 10
    columns = {
        "Intercept": np.ones(len(frame)),
        "age": decades,
        "sex": (frame["sex"] == "M").to_numpy(np.float64),
        "education": (frame["education"] == "school").to_numpy(np.float64),
        "diffuse": frame["diffuse"].to_numpy(np.float64),
        "fvc": frame["fvc"].to_numpy(np.float64) / 10,
    }
    if analysis == "curved":
        columns["age squared"] = decades**2
    return logistic(frame[OUTCOME].to_numpy(np.float64), np.column_stack(list(columns.values())), tuple(columns))


def measure(data: Microdata, copies: Sequence[pd.DataFrame]) -> list[float]:
    """Return both risks and the mean overlap of both analyses."""
    keys = data.schema.keys()
    target, together, *files = encode_keys([data.frame, average(copies, keys), *copies], keys)
    found = [float(match(target, part).individual.mean()) for part in (files, [together])]
    for analysis in ANALYSES:
        original = combine([estimate(data.frame, analysis)], rule="mean_se")
        pooled = combine([estimate(copy, analysis) for copy in copies], rule="reiter2003")
        found.append(float(ci_overlap(original.low, original.high, pooled.low, pooled.high).mean()))
    return found


def one_replication(r: int, *, seed: int) -> Floats:
    """Return runs × measures of one data set."""
    frame = registry(N, rng=Streams(seed).generator("data", r), complete=True)
    variables = {name: Variable(role=Role.REPLACE, key=True) for name in ("sex", "education")}
    data = resolve(frame, {"age": Variable(role=Role.REPLACE, key=True, tolerance=TOLERANCE), **variables})
    tags = tag(data, None)
    rows = []
    for k, run in enumerate(runs()):
        streams = apart(seed, "study", r, k)
        rows.append(measure(data, run.method.synthesize(Plan(data, tags, run.masks), streams=streams).copies))
    return np.asarray(rows)


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return the mean of every measure and its Monte Carlo error, by curve and setting."""
    rows = []
    for k, run in enumerate(runs()):
        row: dict[str, Any] = {"curve": run.curve, "setting": run.setting}
        for m, name in enumerate(MEASURES):
            row[name] = round(float(draws[:, k, m].mean()), 5)
            row[f"{name}_error"] = round(_error(draws[:, k, m]), 5)
        rows.append(row)
    return rows


def rises(draws: Floats) -> list[dict[str, Any]]:
    """Return, per model and analysis, by how much overlap rises from no mask to the most information.

    ``every_step`` says that no step goes down by more than two standard errors of its paired difference.
    """
    rows = []
    for curve in MODELS:
        here = [k for k, run in enumerate(runs()) if run.curve == curve]
        for name in OVERLAPS:
            values = draws[:, here, MEASURES.index(name)]
            steps = np.diff(values, axis=1)
            errors = steps.std(axis=0) / np.sqrt(len(steps))
            whole = values[:, -1] - values[:, 0]
            rows.append(
                {
                    "curve": curve,
                    "analysis": name.removeprefix("overlap_"),
                    "rise": round(float(whole.mean()), 4),
                    "error": round(_error(whole), 4),
                    "every_step": bool((steps.mean(axis=0) >= -2 * errors).all()),
                }
            )
    return rows


def equal_risk(draws: Floats) -> list[dict[str, Any]]:
    """Return how much more overlap each model gives than plain CART at plain CART's own risk.

    In each data set the model's overlap is interpolated along its curve of masks at the risk that plain CART has; data
    sets where that risk lies outside the curve are left out (``inside`` counts the others).
    """
    labels = runs()
    rows = []
    for risk in RISKS:
        at = MEASURES.index(risk)
        for k, plain in enumerate(labels):
            if plain.curve != PLAIN:
                continue
            for curve in MODELS:
                here = [j for j, run in enumerate(labels) if run.curve == curve]
                order = np.argsort(draws[:, here, at], axis=1)
                known = np.take_along_axis(draws[:, here, at], order, axis=1)
                wanted = draws[:, k, at]
                inside = (known[:, 0] <= wanted) & (wanted <= known[:, -1])
                row = {"risk": risk, "plain": plain.setting, "curve": curve, "inside": int(inside.sum())}
                for name in OVERLAPS:
                    overlap = draws[:, :, MEASURES.index(name)]
                    along = np.take_along_axis(overlap[:, here], order, axis=1)
                    reached = [np.interp(wanted[r], known[r], along[r]) for r in np.flatnonzero(inside)]
                    gains = np.asarray(reached) - overlap[inside, k]
                    # fewer than half of the data sets are not a fair sample of them
                    fair = 2 * len(gains) >= len(draws) and len(gains) > 1
                    row[name] = round(float(gains.mean()), 4) if fair else None
                    row[f"{name}_error"] = round(_error(gains), 4) if fair else None
                rows.append(row)
    return rows


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


STUDY = replicated(
    "trees",
    60,
    one_replication,
    lambda draws: {
        "rows": summarise(draws),
        "rises": rises(draws),
        "equal_risk": equal_risk(draws),
    },
    page,
    seed=20225,
    n=N,
    copies=COPIES,
    tolerance=TOLERANCE,
    outcome=OUTCOME,
    draw=lambda results, out: figures.trees(results["rows"], PLAIN, out / "trees.svg"),
)
