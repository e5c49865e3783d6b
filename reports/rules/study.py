"""Coverage of every combining rule in the design it is for, and of a wrong one beside it.

Each replication draws one data set of ``chain``, makes copies of it by every design, combines them by the rules that
fit and by some that do not, and asks whether each 95% interval holds the truth.
"""

from typing import Any

import numpy as np
import pandas as pd

from reports.covering import monte_carlo_error, verdict
from reports.markdown import table
from reports.rules import designs
from reports.rules.designs import CASES, MASK_SD, MASK_SHIFT, SCHEMES, TERMS, TRUTH
from reports.study import Results, replicated
from synthdp.inference.combining import combine
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

N = 500
BAND = (0.93, 0.97)


def one_replication(r: int, *, seed: int) -> Floats:
    """Return truth, estimate, variance, lower and upper limit of every case: cases × 5 × terms."""
    data = designs.original(N, rng=Streams(seed).generator("data", r))
    own = designs.estimates(data)[0].values
    rows = []
    for number, scheme in enumerate(SCHEMES):
        copies = designs.estimates(scheme.make(data, Streams(seed).generator("copies", r, number)))
        for rule, _ in scheme.rules:
            pooled = combine(copies, rule, nests=scheme.nests, ratio=scheme.ratio)
            truth = own if rule.startswith("raab2016_sample") else TRUTH
            rows.append([truth, pooled.estimate, pooled.se**2, pooled.low, pooled.high])
    return np.asarray(rows)


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return coverage, variance ratio and length by design, rule and estimand.

    Parameters
    ----------
    draws
        replications × cases × (truth, estimate, variance, low, high) × terms.
    """
    truth, estimate, variance, low, high = (draws[:, :, part] for part in range(5))
    covered = (low <= truth) & (truth <= high)
    error = (estimate - truth).var(axis=0)
    return [
        {
            "design": scheme.name,
            "rule": rule,
            "standing": standing,
            "estimand": term,
            "coverage": round(float(covered[:, c, t].mean()), 4),
            "variance_ratio": round(float(variance[:, c, t].mean() / error[c, t]), 3),
            "median_length": round(float(np.median((high - low)[:, c, t])), 4),
        }
        for c, (scheme, rule, standing) in enumerate(CASES)
        for t, term in enumerate(TERMS)
    ]


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = pd.DataFrame(results["rows"])
    fitting = rows[rows["standing"] == "fits"]
    words = " of rules in a design they are for"
    found = verdict(fitting, BAND, words, lambda row: f"{row.rule}, {row.design}, {row.estimand}")
    index = ["design", "standing", "rule"]
    wide = rows.pivot(index=index, columns="estimand", values="coverage")
    ratio = rows.groupby(index)["variance_ratio"].mean()
    length = rows.pivot(index=index, columns="estimand", values="median_length")
    order = list(dict.fromkeys(rows[index].itertuples(index=False, name=None)))
    lines = [
        (
            *case,
            *(f"{wide.loc[case, term]:.3f}" for term in TERMS),
            f"{ratio[case]:.2f}",
            f"{length.loc[case, TERMS[0]]:.2f}",
        )
        for case in order
    ]
    few = rows[rows["standing"] == "few copies"]
    designs_told = "\n".join(f"* **{scheme.name}**: {scheme.words}." for scheme in SCHEMES)
    error = monte_carlo_error(settings["replications"])
    return f"""# Combining rules, each in the design it is for

n = {settings["n"]}, {settings["replications"]} replications; 95% intervals; Monte Carlo error of a coverage near 0.95:
{error:.4f}. The copies come from the right model, drawn by `reports/rules/designs.py` (normal regressions exactly, the
logistic one by its large-sample posterior); all designs see the same originals. `raab2016_sample` is held to the
original's own estimate, every other rule to the population's parameter. `E[T]/Var` is the mean over the three
estimands, 1 when the variance is right; `length` is the median length of the interval for the mean.
Regenerate: `python -m reports rules`.

{found}

{table(("design", "standing", "rule", *TERMS, "E[T]/Var", "length"), lines)}

{designs_told}

## What to read in it

* Rubin's rule in synthetic data covers nearly always: it adds b once too often, and its intervals are too long.
* `raghunathan2003` needs many copies. T is a difference, and its degrees of freedom vanish where T is near zero: with 5
  and 20 copies of the size of the original it covers {few["coverage"].min():.3f} to {few["coverage"].max():.3f}, with
  intervals that have no bound on their length. Quadrature says 0.996 and 0.992, then 0.964 at 50 and 0.952 at 100
  copies: 100 were taken for its own design for this reason, before anything was simulated. `raab2016_proper` covers in
  the same design with any number of copies.
* On copies from a model fitted once `raghunathan2003` estimates next to nothing, as a difference of two equal numbers:
  its intervals cover, and are of no use.
* `reiter2003` holds for full synthesis too, as long as copies have as many records as the original; with twice as many
  it does not.
* Copies of imputed data share their imputations: `reiter2003` over all of them is far too short.
* Copies that share a draw of W are not independent either. With one draw for all copies the intervals are too short,
  and no rule can mend that; with five draws it hardly shows (E[T]/Var, not coverage, tells the two rules apart here).
* `mean_se` leaves out what synthesis adds: little with many copies, half of the variance with one fully synthetic one.
"""


STUDY = replicated(
    "rules", 2000, one_replication, summarise, page, seed=20265, n=N, mask_sd=MASK_SD, mask_shift=MASK_SHIFT
)
