"""Coverage after sequential synthesis, with leaf values drawn independently and dealt evenly.

*records*: norm + logit is nearly the right model here, CART is not. *tables*: three columns of levels, which trees can
tell completely, so that what is left is the draw; all of them replaced, or two.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from reports.cells import Cell, Line, apart, draws
from reports.coverage.study import COPIES, REPLACED, N, estimate_seen
from reports.covering import coverage_rows, interval, monte_carlo_error, together, truth_vector
from reports.estimators import design, least_squares, logistic
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.datasets.known_truth import right_model, right_model_truth
from synthdp.imputation.regression.forward import NormLogit
from synthdp.imputation.trees.cart import Cart
from synthdp.inference.analyses import Estimates
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Role, Variable
from synthdp.tagging.groups import tag

SEED, REPLICATIONS = 20226, 1000
LEAF = 5
DEALT, DRAWN = Cart(min_leaf=LEAF), Cart(min_leaf=LEAF, dealing="independent")
METHODS = tuple(
    (f"{label}{', proper' if proper else ''}", model, proper)
    for label, model in (("CART, dealt", DEALT), ("CART, drawn", DRAWN), ("norm+logit", NormLogit()))
    for proper in (False, True)
)
# P(a), P(b | a), and the logit of P(y | a, b)
SHARE_A, SHARE_B, LOGIT = 0.5, (0.35, 0.6), (-0.2, 0.8, -0.6)
COLUMNS: dict[str, tuple[str, ...]] = {"all": ("a", "b", "y"), "a and y": ("a", "y")}
TABLES = tuple(
    (f"{replaced} replaced, {label}{', proper' if proper else ''}, by {rule}", replaced, model, proper, rule)
    for replaced, rules in (
        ("all", ({False: ("raab2016", "reiter2003"), True: ("raab2016_proper", "reiter2003")})),
        ("a and y", ({False: ("reiter2003",), True: ("reiter2003",)})),
    )
    for label, model in (("dealt", DEALT), ("drawn", DRAWN))
    for proper in (False, True)
    for rule in rules[proper]
)


def cells(asked: int | None) -> Iterator[Cell]:
    """Yield every replication of both designs."""
    for r in range(asked or REPLICATIONS):
        yield {"part": "records", "r": r}
        yield {"part": "tables", "r": r}


def one_replication(*, part: str, r: int) -> Floats:
    """Return the intervals of one data set: 1 × (schemes + original) × 4 × terms."""
    if part == "tables":
        return _of_tables(r)
    frame = right_model(N, rng=Streams(SEED).generator("data", r))
    data = resolve(frame, {name: Variable(role=Role.REPLACE) for name in REPLACED})
    plan = Plan(data, tag(data, None))
    found = []
    for number, (_, model, proper) in enumerate(METHODS):
        method = Sequential(model=model, copies=COPIES, proper=proper)
        copies = method.synthesize(plan, streams=apart(SEED, "study", r, number)).copies
        found.append(interval([estimate_seen(copy) for copy in copies], "reiter2003"))
    return np.asarray([[*found, interval([estimate_seen(frame)], "mean_se")]])


def _of_tables(r: int) -> Floats:
    rng = Streams(SEED).generator("tables", r)
    a = rng.random(N) < SHARE_A
    b = rng.random(N) < np.where(a, SHARE_B[1], SHARE_B[0])
    y = rng.random(N) < expit(LOGIT[0] + LOGIT[1] * a + LOGIT[2] * b)
    frame = pd.DataFrame({"a": a, "b": b, "y": y}).astype(int)
    made: dict[tuple[str, str, bool], list[Estimates]] = {}
    found = []
    for number, (_, replaced, model, proper, rule) in enumerate(TABLES):
        key = (replaced, model.dealing, proper)
        if key not in made:
            kinds = {name: Variable(role=Role.REPLACE, kind="binary") for name in COLUMNS[replaced]}
            data = resolve(frame, kinds)
            method = Sequential(model=model, copies=COPIES, proper=proper)
            copies = method.synthesize(Plan(data, tag(data, None)), streams=apart(SEED, "tables", r, number)).copies
            made[key] = [estimate_tables(copy) for copy in copies]
        found.append(interval(made[key], rule))
    return np.asarray([[*found, interval([estimate_tables(frame)], "mean_se")]])


def estimate_tables(frame: pd.DataFrame) -> Estimates:
    """Return the logistic regression of y, and the share of y."""
    y = frame["y"].to_numpy(np.float64)
    logit = logistic(y, design(frame, "a", "b"), ("Intercept", "a", "b"))
    return together({"logit": logit, "share of y": least_squares(y, design(frame), ("Intercept",))})


def tables_truth() -> dict[str, dict[str, float]]:
    """Return what the table was drawn with."""
    share = sum(
        abs(1 - a - SHARE_A) * abs(1 - b - SHARE_B[a]) * float(expit(LOGIT[0] + LOGIT[1] * a + LOGIT[2] * b))
        for a in (0, 1)
        for b in (0, 1)
    )
    return {"logit": dict(zip(("Intercept", "a", "b"), LOGIT, strict=True)), "share of y": {"Intercept": share}}


def results(lines: list[Line]) -> Results:
    """Return coverage, shift and variance ratio by design, scheme and term."""
    found: Results = {}
    for part, truth, names in (
        ("records", right_model_truth(), [name for name, _, _ in METHODS]),
        ("tables", tables_truth(), [name for name, *_ in TABLES]),
    ):
        own = draws(lines, part=part)
        if len(own):
            found[part] = coverage_rows(own, truth_vector(truth), [{}], (*names, "original"))
    return found | {"replications": len(draws(lines, part="tables"))}


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    keys = ("scheme", "term", "coverage", "shift_from_original_in_se", "variance_ratio")
    dealt = [row for row in results["tables"] if ", dealt" in row["scheme"]]
    ranges = {rule: _range([row for row in dealt if row["scheme"].endswith(f"by {rule}")]) for rule in RULES}
    return f"""# Coverage after sequential synthesis

n = {settings["n"]}, M = {settings["copies"]}, {results["replications"]} replications of either design, whose coverages
have a Monte Carlo error of {monte_carlo_error(results["replications"]):.3f}; leaves of {LEAF}, which is what the
default chooses in these designs. *Dealt*: leaves deal their values evenly (`dealing: systematic`, the default);
*drawn*: every record for itself (`independent`). Regenerate: `python -m reports sequential`.

## Where trees are right: three columns of two levels

a, then b given a, then y given both; what is estimated is the logistic regression of y and its share. variance_ratio is
the mean stated variance over the actual one, 1 where a rule is right.

Dealt copies are nearer to the file than draws are, so a rule that takes the noise of draws for granted overstates it:
`raab2016` and `raab2016_proper`, which need one copy only, state v̄(1 + 1/M) and v̄(1 + 2/M) whatever the copies do.
`reiter2003` states v̄ + b/M and sees in b how much dealt copies differ; with all columns replaced and trees fitted
once it is the rule that fits. A release of which no column is kept is combined by `raab2016` all the same: its
intervals are then a little too wide. Coverage of dealt copies:
{"; ".join(f"`{rule}` {said}" for rule, said in ranges.items())}.

{table_of(results["tables"], keys)}

## Where trees are not quite right: numbers

The coverage study's design; x, b1 and b2 replaced, z and y kept, no mask; Reiter's 2003 rule, the one for files of
which some columns are kept. Norm + logit is nearly the right model (the truth is probit), so its intervals should
cover; a tree is not, and what it misses shows as a shift.

{table_of(results["records"], keys)}
"""


RULES = ("raab2016", "raab2016_proper", "reiter2003")


def _range(rows: list[dict[str, Any]]) -> str:
    covered = [row["coverage"] for row in rows]
    return f"{min(covered):.3f} to {max(covered):.3f}"


STUDY = Study(
    name="sequential",
    cells=cells,
    work=one_replication,
    results=results,
    page=page,
    settings={"seed": SEED, "n": N, "copies": COPIES, "leaf": LEAF},
)
