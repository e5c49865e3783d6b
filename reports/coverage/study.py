"""Do pooled intervals cover? The right association model, four mask strengths, every way of drawing W.

Each replication draws one data set from ``datasets.right_model``, synthesises it under every mask and scheme, pools
with Reiter's (2003) rule and asks whether each 95% interval holds the truth.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from reports import figures
from reports.cells import Cell, apart, draws
from reports.covering import coverage_rows, interval, monte_carlo_error, together, truth_vector
from reports.estimators import design, least_squares, logistic
from reports.markdown import table, table_of
from reports.study import Results, Study
from synthdp.datasets.known_truth import right_model, right_model_truth, unseen_outcome, unseen_outcome_truth
from synthdp.imputation.regression.association import Regression
from synthdp.inference.analyses import Estimates
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Floats, Microdata, resolve
from synthdp.table.schema import Role, Variable
from synthdp.tagging.groups import Neighbours, Tags, tag

N = 500
COPIES = 5
STRENGTHS = ((2.0, 0.5), (1.0, 1.0), (0.7, 2.0), (0.2, 5.0))
REPLACED = ("b1", "b2", "x")
SCHEMES = ("per_copy", "once_orthogonal", "once", "given_true_others")
VALID = ("per_copy", "once_orthogonal")
BAND = (0.93, 0.97)


def masks_of(sd: float, alpha: float) -> dict[str, MaskSettings]:
    """Return the masks of one strength."""
    return {"x": Gaussian(sd=sd), "b1": ShiftedNormal(alpha=alpha), "b2": ShiftedNormal(alpha=alpha)}


def estimate_seen(frame: pd.DataFrame) -> Estimates:
    """Return OLS, logit and a mean as one vector (their covariances with each other are not needed)."""
    y, b1, x = (frame[name].to_numpy(np.float64) for name in ("y", "b1", "x"))
    ols = least_squares(y, design(frame, "x", "b1", "b2", "z"), ("Intercept", "x", "b1", "b2", "z"))
    logit = logistic(b1, design(frame, "x", "z"), ("Intercept", "x", "z"))
    mean = least_squares(x, design(frame), ("Intercept",))
    return together({"ols": ols, "logit": logit, "mean": mean})


def estimate_unseen(frame: pd.DataFrame) -> Estimates:
    """Return the regression of the outcome that the synthesis never saw."""
    names = ("Intercept", "x", "b1", "z", "y")
    return together({"ols": least_squares(frame["u"].to_numpy(np.float64), design(frame, *names[1:]), names)})


class Synthesis:
    """One data set and the ways of synthesising it; what does not depend on the mask is prepared once."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self._model = Regression(exclude=("u",) if "u" in frame else ())
        self._prepared: dict[tuple[str, ...], tuple[Microdata, Tags]] = {}

    def copies(self, scheme: str, masks: dict[str, MaskSettings], streams: Streams) -> tuple[pd.DataFrame, ...]:
        """Return the synthetic copies under one scheme."""
        if scheme != "given_true_others":
            return self._draw(REPLACED, masks, scheme, streams)
        # the mistake of published code: each column drawn given the true values of the other replaced ones
        parts = {name: self._draw((name,), {name: masks[name]}, "once", streams) for name in REPLACED}
        return tuple(self._frame.assign(**{name: parts[name][m][name] for name in REPLACED}) for m in range(COPIES))

    def _draw(
        self, replaced: tuple[str, ...], masks: dict[str, MaskSettings], scheme: Any, streams: Streams
    ) -> tuple[pd.DataFrame, ...]:
        if replaced not in self._prepared:
            data = resolve(self._frame, {name: Variable(role=Role.REPLACE) for name in replaced})
            self._prepared[replaced] = (data, tag(data, Neighbours()))
        method = DaMi(copies=COPIES, mask_draw=scheme, model=self._model)
        return method.synthesize(Plan(*self._prepared[replaced], masks), streams=streams).copies


def one_replication(r: int, *, seed: int, unseen: bool) -> Floats:
    """Return estimate, variance and interval of every term: strengths × (schemes + original) × 4 × terms."""
    simulate, estimate = (unseen_outcome, estimate_unseen) if unseen else (right_model, estimate_seen)
    frame = simulate(N, rng=Streams(seed).generator("data", r))
    original = interval([estimate(frame)], "mean_se")
    synthesis = Synthesis(frame)
    schemes = ("per_copy",) if unseen else SCHEMES
    rows = []
    for strength, (sd, alpha) in enumerate(STRENGTHS):
        streams = apart(seed, "study", r, strength)
        found = [synthesis.copies(scheme, masks_of(sd, alpha), streams) for scheme in schemes]
        rows.append([*(interval([estimate(copy) for copy in copies], "reiter2003") for copies in found), original])
    return np.asarray(rows)


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return coverage, bias and variance ratio by strength, scheme and term."""
    truth = truth_vector(right_model_truth())
    strengths = [{"sd": sd, "alpha": alpha} for sd, alpha in STRENGTHS]
    return coverage_rows(draws, truth, strengths, (*SCHEMES, "original"))


def summarise_unseen(draws: Floats) -> list[dict[str, Any]]:
    """Return the bias for an outcome the synthesis never saw, by strength and term."""
    truth = truth_vector(unseen_outcome_truth())
    rows: list[dict[str, Any]] = []
    for s, (sd, alpha) in enumerate(STRENGTHS):
        estimate, _, low, high = (draws[:, s, 0, part] for part in range(4))
        covered = (low <= truth.to_numpy()) & (truth.to_numpy() <= high)
        for t, term in enumerate(truth.index):
            rows.append(
                {
                    "sd": sd,
                    "alpha": alpha,
                    "term": term,
                    "truth": float(truth.iloc[t]),
                    "bias": round(float(estimate[:, t].mean() - truth.iloc[t]), 4),
                    "mc_error": round(float(estimate[:, t].std() / np.sqrt(len(draws))), 4),
                    "coverage": round(float(covered[:, t].mean()), 4),
                }
            )
    return rows


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = pd.DataFrame(results["seen"])
    worst = rows.groupby(["scheme", "sd", "alpha"], sort=False).agg(
        lowest=("coverage", "min"),
        highest=("coverage", "max"),
        ratio_low=("variance_ratio", "min"),
        ratio_high=("variance_ratio", "max"),
        shift=("shift_from_original_in_se", lambda values: values.abs().max()),
    )
    each = rows[rows["scheme"] != "original"].pivot_table(
        index=["sd", "alpha", "term"], columns="scheme", values="coverage", sort=False
    )
    ols = (
        rows[rows["scheme"].isin(VALID) & rows["term"].str.startswith(("ols", "mean"))]["bias_in_mc_errors"].abs().max()
    )
    names = ("sd", "alpha", "term", "truth", "bias", "Monte Carlo error", "coverage")
    error = monte_carlo_error(settings["replications"])
    return f"""# Coverage of pooled intervals

n = {settings["n"]}, M = {settings["copies"]}, {settings["replications"]} replications, right association model;
x (continuous), b1 and b2 (binary) replaced, z and y kept; masks `gaussian` (sd in units of x's own sd) and
`shifted_normal` (alpha). Reiter's 2003 rule. Monte Carlo error of a coverage near 0.95: {error:.4f}.
Regenerate: `python -m reports coverage`.

![coverage by scheme and mask](coverage.svg)

## By scheme and mask: lowest and highest coverage over nine coefficients

`ratio` is E[T] / Var(pooled estimate): 1 when the interval has the right width. `shift` is the largest mean distance
from the estimate on the original data, in its standard errors.

{table(("scheme", "sd", "alpha", "lowest", "highest", "ratio low", "ratio high", "shift"), _lines(worst))}

* `per_copy`, `once_orthogonal`: valid.
* `once` (the paper's way): all copies share W's error, which b/M cannot see; too short at medium masks.
* `given_true_others`: each column drawn given the true values of the others. Wrong, shown as a warning.

Largest bias of OLS coefficients and the mean under the valid schemes: {ols:.1f} Monte Carlo errors.

## Coverage of every coefficient

{table(("sd", "alpha", "term", *SCHEMES), _lines(each[list(SCHEMES)]))}

## An outcome the synthesis never saw

The model knows nothing of `u`; what the mask does not let through is lost, so the slopes of x and b1 shrink as the
mask grows. {settings["unseen_replications"]} replications, W per copy. No bar is set: this is the price of a mask.

{table_of(results["unseen"], head=names)}
"""


def _lines(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the rows of a table of numbers, after what its index says."""
    return [(*map(str, index), *(f"{value:.3f}" for value in line)) for index, *line in frame.itertuples()]


def cells(count: int | None) -> Iterator[Cell]:
    """Yield the replications, and a quarter of them again with an outcome the synthesis does not see."""
    count = count or 2000
    yield from ({"r": r, "unseen": False} for r in range(count))
    yield from ({"r": r, "unseen": True} for r in range(max(count // 4, 2)))


SEED = 20221
STUDY = Study(
    name="coverage",
    cells=cells,
    work=partial(one_replication, seed=SEED),
    results=lambda lines: {
        "seen": summarise(draws(lines, unseen=False)),
        "unseen": summarise_unseen(draws(lines, unseen=True)),
    },
    page=page,
    settings={"n": N, "copies": COPIES, "seed": SEED},
    counts=lambda lines: {
        "replications": len(draws(lines, unseen=False)),
        "unseen_replications": len(draws(lines, unseen=True)),
    },
    draw=lambda results, out: figures.coverage(results["seen"], VALID, BAND, out / "coverage.svg"),
)
