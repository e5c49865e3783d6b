"""T = v̄ + b: never too short for partially synthetic copies, and easy to remember."""

import numpy as np

from synthdp.inference.rules.rule import BETWEEN, Formula, Replicates, Rule, Spread, added


def cautious(replicates: Replicates) -> Spread:
    return added(replicates.v_bar, replicates.b, np.full_like(replicates.b, replicates.m - 1.0))


CAUTIOUS = Rule(
    name="cautious",
    words="caution, for partially synthetic data",
    spread=cautious,
    fewest=2,
    reasons=lambda design: iter(["is for partially synthetic copies"] if design.replaced == "none" else []),
    formula=lambda ratio: Formula(
        source="caution",
        reference="See the documentation of synthdp-example.",
        steps=f"{BETWEEN}    total variance      T = ū + b\n    interval            q̄ ± t(ν) · √T,   ν = M - 1",
        python="b = q.var(axis=0, ddof=1)\nT = u.mean(axis=0) + b\nnu = np.full_like(T, M - 1)",
        r="b <- apply(q, 1, var)\nT <- rowMeans(u) + b\nnu <- rep(M - 1, length(T))",
        mata="b = diagonal(variance(q))'\nT = mean(u) + b\nnu = J(1, cols(T), M - 1)",
    ),
)
