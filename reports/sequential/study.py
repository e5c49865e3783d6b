"""Do intervals cover after sequential synthesis? Norm + logit is nearly the right model here, CART is not."""

from typing import Any

import numpy as np

from reports.cells import apart
from reports.coverage.study import COPIES, REPLACED, N, estimate_seen
from reports.covering import coverage_rows, interval, truth_vector
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.datasets.known_truth import right_model, right_model_truth
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import MODELS, Sequential
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Role, Variable
from synthdp.tagging.groups import tag

METHODS = tuple(
    (f"{label}{', proper' if proper else ''}", model, proper)
    for label, model in (("CART", "cart"), ("norm+logit", "regression"))
    for proper in (False, True)
)


def one_replication(r: int, *, seed: int) -> Floats:
    """Return the intervals of one data set: 1 × (methods + original) × 4 × terms."""
    frame = right_model(N, rng=Streams(seed).generator("data", r))
    data = resolve(frame, {name: Variable(role=Role.REPLACE) for name in REPLACED})
    plan = Plan(data, tag(data, None))
    found = []
    for number, (_, model, proper) in enumerate(METHODS):
        method = Sequential(model=MODELS[model](), copies=COPIES, proper=proper)
        copies = method.synthesize(plan, streams=apart(seed, "study", r, number)).copies
        found.append(interval([estimate_seen(copy) for copy in copies], "reiter2003"))
    return np.asarray([[*found, interval([estimate_seen(frame)], "mean_se")]])


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    keys = ("scheme", "term", "coverage", "shift_from_original_in_se", "variance_ratio")
    return f"""# Coverage after sequential synthesis

n = {settings["n"]}, M = {settings["copies"]}, {settings["replications"]} replications of the coverage study's design;
x, b1 and b2 replaced, z and y kept, no mask; Reiter's 2003 rule, the one for files of which some columns are kept.
Norm + logit is nearly the right model (the truth is probit), so its intervals should cover; a tree is not, and what it
misses shows as a shift. Regenerate: `python -m reports sequential`.

{table_of(results["rows"], keys)}
"""


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return coverage, shift and variance ratio by method and term."""
    names = (*(name for name, _, _ in METHODS), "original")
    return coverage_rows(draws, truth_vector(right_model_truth()), [{}], names)


STUDY = replicated("sequential", 1000, one_replication, summarise, page, seed=20226, n=N, copies=COPIES)
