"""Do pooled intervals cover with ordinal, nominal and count columns? The right model, drawn by the Gibbs chain.

The analyses are those of :mod:`reports.coverage.study`: OLS of the kept outcome, a logit of a replaced binary column,
a plain mean. Beside them two analyses of one ordinal column, which differ only in how much of it they use.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from reports.cells import apart
from reports.covering import coverage_rows, interval, together, truth_vector
from reports.estimators import design, least_squares, logistic, ordered_probit
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.inference.analyses import Estimates
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Kind, Role, Variable
from synthdp.tagging.groups import tag

CORRELATION_ZY = 0.4
BINARY = {"Intercept": -0.2, "z": 0.4, "y": 0.3}
CUTPOINTS = (-0.9, -0.2, 0.5, 1.2)
ORDINAL = {"z": 0.4, "y": 0.3, "b": 0.2}
# intercept, z, y, b, then one per level of the ordinal column above the first
NOMINAL = (
    (0.2, 0.4, 0.0, 0.2, 0.1, 0.2, 0.3, 0.4),
    (0.0, 0.0, 0.4, -0.2, 0.0, 0.1, 0.1, 0.2),
    (-0.2, -0.3, 0.3, 0.1, 0.1, 0.0, 0.2, 0.1),
)
COUNT_LINEAR = {"Intercept": 0.4, "z": 0.2, "y": 0.15, "b": 0.2}
COUNT_O = (0.05, 0.1, 0.15, 0.2)
COUNT_G = (0.1, -0.1, 0.2)
DISPERSION = 4.0
# what least squares, maximum likelihood and the mean tend to: mean over 20 files of 500,000 records, seeds 0 to 19;
# the error that is left is about 1% of a standard error at n = 500
TRUTH: dict[str, dict[str, float]] = {
    "ols": {
        "Intercept": -0.68652,
        "z": 0.2159,
        "b": 0.30372,
        "o": 0.16453,
        "c": 0.06726,
        "g[b]": -0.01281,
        "g[c]": 0.30346,
        "g[d]": 0.1919,
    },
    "logit": {"Intercept": -0.6717, "z": 0.72538, "c": 0.17631},
    "mean": {"c": 2.05113},
    "ordered": {"z": 0.49, "c": 0.0695},
    "cut": {"Intercept": -0.89741, "z": 0.81221, "c": 0.11862},
}


def mixed_kinds(n: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Draw records with a binary b, an ordinal o (5 levels), a nominal g (4 levels) and a count c.

        (z, y) ~ N(0, [[1, 0.4], [0.4, 1]])
        b | z, y             probit
        o | z, y, b          ordered probit with four cutpoints
        g | z, y, b, o       multinomial logit
        c | z, y, b, o, g    negative binomial, log link, dispersion 4

    Every coefficient is our own choice, of moderate size: with 500 records no level is empty.

    Examples
    --------
    >>> list(mixed_kinds(10, rng=np.random.default_rng(1)).columns)
    ['z', 'y', 'b', 'o', 'g', 'c']
    """
    z = rng.standard_normal(n)
    y = CORRELATION_ZY * z + np.sqrt(1 - CORRELATION_ZY**2) * rng.standard_normal(n)
    b = (rng.random(n) < ndtr(BINARY["Intercept"] + BINARY["z"] * z + BINARY["y"] * y)).astype(np.int64)
    index = ORDINAL["z"] * z + ORDINAL["y"] * y + ORDINAL["b"] * b
    o = (rng.random(n)[:, None] > ndtr(np.asarray(CUTPOINTS) - index[:, None])).sum(axis=1)
    above = (o[:, None] == np.arange(1, 5)).astype(np.float64)
    design = np.column_stack([np.ones(n), z, y, b, above])
    utility = np.column_stack([np.zeros(n), design @ np.asarray(NOMINAL).T])
    g = (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)
    mean = np.exp(
        COUNT_LINEAR["Intercept"]
        + COUNT_LINEAR["z"] * z
        + COUNT_LINEAR["y"] * y
        + COUNT_LINEAR["b"] * b
        + above @ np.asarray(COUNT_O)
        + (g[:, None] == np.arange(1, 4)) @ np.asarray(COUNT_G)
    )
    c = rng.poisson(mean * rng.gamma(DISPERSION, 1 / DISPERSION, n))
    return pd.DataFrame({"z": z, "y": y, "b": b, "o": o, "g": np.array(list("abcd"))[g], "c": c})


def mixed_kinds_design(frame: pd.DataFrame) -> Floats:
    """Return the design of the regression of y: constant, z, b, o as a score, c, g as indicators."""
    g = frame["g"].to_numpy()
    columns = [np.ones(len(frame)), *(frame[name].to_numpy(np.float64) for name in ("z", "b", "o", "c"))]
    return np.column_stack([*columns, *((g == level).astype(np.float64) for level in "bcd")])


N = 500
COPIES = 5
SWEEPS = 10  # half the default: if this covers, the default does
STRENGTHS = ((2.0, 0.4, 0.5), (1.0, 0.55, 1.0), (0.7, 0.75, 2.0), (0.2, 0.95, 5.0))
BAND = (0.93, 0.97)
UPPER = 3
ASKED = ("ols", "logit", "mean")
TERMS = ("Intercept", "z", "b", "o", "c", "g[b]", "g[c]", "g[d]")
VARIABLES = {
    "b": Variable(kind=Kind.BINARY, role=Role.REPLACE),
    "o": Variable(kind=Kind.ORDINAL, role=Role.REPLACE),
    "g": Variable(kind=Kind.NOMINAL, role=Role.REPLACE),
    "c": Variable(kind=Kind.COUNT, role=Role.REPLACE),
}


def estimate(frame: pd.DataFrame) -> Estimates:
    """Return OLS of y on everything, a logit of b, the mean count; and o as it is and cut in two, on the same terms."""
    y, b, o, c = (frame[name].to_numpy(np.float64) for name in ("y", "b", "o", "c"))
    matrix, few = mixed_kinds_design(frame), design(frame, "z", "c")
    return together(
        {
            "ols": least_squares(y, matrix, TERMS),
            "logit": logistic(b, few, ("Intercept", "z", "c")),
            "mean": least_squares(c, matrix[:, :1], ("c",)),
            "ordered": ordered_probit(o, few[:, 1:], ("z", "c")),
            "cut": logistic((o >= UPPER).astype(np.float64), few, ("Intercept", "z", "c")),
        }
    )


def one_replication(r: int, *, seed: int) -> Floats:
    """Return the intervals of one data set: strengths × (per_copy, original) × 4 × terms."""
    frame = mixed_kinds(N, rng=Streams(seed).generator("data", r))
    data = resolve(frame, VARIABLES)
    tags = tag(data, None)
    original = interval([estimate(frame)], "mean_se")
    rows = []
    for strength, (sd, keep, alpha) in enumerate(STRENGTHS):
        masks: dict[str, MaskSettings] = {
            "b": ShiftedNormal(alpha=alpha),
            "o": ShiftedNormal(alpha=alpha),
            "g": Transition(keep=keep),
            "c": Gaussian(sd=sd),
        }
        method = DaMi(copies=COPIES, sweeps=SWEEPS)
        copies = method.synthesize(Plan(data, tags, masks), streams=apart(seed, "study", r, strength)).copies
        rows.append([interval([estimate(copy) for copy in copies], "reiter2003"), original])
    return np.asarray(rows)


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return coverage, bias and variance ratio by strength, scheme and term."""
    strengths = [{"sd": sd, "keep": keep, "alpha": alpha} for sd, keep, alpha in STRENGTHS]
    return coverage_rows(draws, truth_vector(TRUTH), strengths, ("per_copy", "original"))


def asked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the masked copies that repeat an analysis of the coverage study."""
    return [row for row in rows if row["scheme"] == "per_copy" and row["term"].split(":")[0] in ASKED]


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    masked = [row for row in results["rows"] if row["scheme"] == "per_copy"]
    repeated = asked(results["rows"])
    ordinal = [row for row in masked if row not in repeated]
    keys = ("sd", "keep", "alpha", "term", "coverage", "bias_in_mc_errors", "variance_ratio")
    lowest, highest = (pick(row["coverage"] for row in repeated) for pick in (min, max))
    return f"""# Coverage with ordinal, nominal and count columns

n = {settings["n"]}, M = {settings["copies"]}, {settings["replications"]} replications, right association model,
drawn by the Gibbs chain with {settings["sweeps"]} sweeps; b (binary) and o (ordinal, 5 levels; both `shifted_normal`),
g (nominal, 4 levels, `transition`), c (count, `gaussian`) replaced, z and y kept. W per copy, Reiter's 2003 rule.
Regenerate: `python -m reports kinds`.

The analyses of `reports/coverage`: OLS of y on all columns, a logit of the replaced binary column on z and c, the mean
count. Coverage of their 95% intervals over all masks and coefficients: {lowest:.3f} to {highest:.3f}.

{table_of(repeated, keys)}

## The ordinal column, used whole and cut in two

`ordered` is an ordered probit of o on z and c; `cut` is a logit of o >= {UPPER} on the same terms. Synthetic values of
o come from an ordered regression, whose one slope all cutpoints share. An analysis that throws the other cutpoints away
is less precise on original data than on the copies, so its intervals are too long, not too short (uncongeniality:
Meng 1994, Statistical Science 9(4)). Both fits see the same copies: E[T]/Var is the column to compare.

{table_of(ordinal, keys)}
"""


STUDY = replicated("kinds", 2000, one_replication, summarise, page, seed=20223, n=N, copies=COPIES, sweeps=SWEEPS)
