"""Rules for copies of which every column is drawn from a model and nothing is masked."""

from collections.abc import Callable, Iterator

import numpy as np

from synthdp.inference.rules.rule import BETWEEN, MEANS, RAAB_2016, Formula, Replicates, Rule, Spread, over, scaled
from synthdp.synthesis.design import Design


def raghunathan2003(replicates: Replicates) -> Spread:
    """Return T = (1 + 1/M) b − v̄ and ν = (M − 1)(1 − v̄/((1 + 1/M) b))²: the rule for fully synthetic copies.

    Every column is drawn anew, with parameters of its own for each copy. Where T is not positive it is (n_syn/n) v̄,
    term by term.

    Notes
    -----
    T is a difference, and b has M − 1 degrees of freedom only: with copies as large as the original T is negative for
    20% of the terms at M = 5, 3% at M = 20. Near zero ν vanishes and the interval grows without bound, so that nominal
    0.95 covers 0.996 and 0.992, and 0.952 at M = 100 (by quadrature, in the tests). Use many copies, or
    ``raab2016_proper``, which needs one. We know of no published ν for the replaced T; here it is M − 1.

    References
    ----------
    Raghunathan, Reiter, Rubin (2003), Journal of Official Statistics 19(1), 1–16: T_f and ν_f. Reiter (2002), the same
    journal 18(4), 531–544: the non-negative variance.
    """
    m, v_bar = replicates.m, replicates.v_bar
    spread = (1 + 1 / m) * replicates.b
    sound = spread > v_bar
    variance = np.where(sound, spread - v_bar, replicates.ratio * v_bar)
    share = np.divide(v_bar, spread, out=np.zeros_like(v_bar), where=sound)
    df = np.where(sound, (m - 1) * (1 - share) ** 2, m - 1.0)
    return Spread(variance, df, np.where(sound, np.minimum(over(replicates.b / m, variance), 1.0), 0.0))


def raab2016(replicates: Replicates) -> Spread:
    """Return T = v̄ (n_syn/n + 1/M), normal: every column drawn from a model fitted once; one copy is enough.

    The variance that synthesis adds is known without comparing copies, because a copy is a sample from the fitted
    model: v̄/M.

    References
    ----------
    Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3), 67–97. The four cases (population or
    sample, plug-in or proper) are those that synthpop computes.
    """
    return scaled(replicates, original=replicates.ratio, extra=1 / replicates.m)


def raab2016_proper(replicates: Replicates) -> Spread:
    """Return T = v̄ (n_syn/n + (1 + n_syn/n)/M), normal: as ``raab2016``, parameters drawn anew for each copy."""
    return scaled(replicates, original=replicates.ratio, extra=(1 + replicates.ratio) / replicates.m)


def raab2016_sample(replicates: Replicates) -> Spread:
    """Return T = v̄/M, normal: how far q̄ is from the estimate that the original itself would give.

    For ``raab2016``'s design. The interval is for the original's estimate, not for the population's parameter.
    """
    return scaled(replicates, original=0.0, extra=1 / replicates.m)


def raab2016_sample_proper(replicates: Replicates) -> Spread:
    """Return T = v̄ (1 + n_syn/n)/M, normal: ``raab2016_sample`` when parameters are drawn anew for each copy."""
    return scaled(replicates, original=0.0, extra=(1 + replicates.ratio) / replicates.m)


def _whole(design: Design) -> Iterator[str]:
    """Yield why copies are not samples from a model alone."""
    if design.replaced != "all":
        yield "assumes that every column is drawn anew, and here some are kept"
    if design.masked:
        yield "assumes copies drawn from the model alone, and here W brings in the records' own values"
    if design.imputed:
        yield "assumes a complete original, and here missing values were imputed"


def _drawn_anew(design: Design, otherwise: str = "too wide") -> Iterator[str]:
    yield from _whole(design)
    if not design.proper:
        yield f"assumes parameters drawn anew for each copy, and here the model was fitted once: {otherwise}"


def _fitted_once(design: Design) -> Iterator[str]:
    yield from _whole(design)
    if design.proper:
        yield "assumes a model fitted once, and here each copy has parameters of its own: too short"


def _raab(factor: Callable[[float], str]) -> Callable[[float], Formula]:
    def formula(ratio: float) -> Formula:
        times = factor(ratio)
        return Formula(
            source="Raab, Nowok and Dibben 2016: every column is drawn anew",
            reference=RAAB_2016,
            steps=f"""{MEANS}    total variance      T = ū · ({times})
    interval            q̄ ± 1.96 · √T""",
            python=f"T = u.mean(axis=0) * ({times})",
            r=f"T <- rowMeans(u) * ({times})",
            mata=f"T = mean(u) :* ({times})",
        )

    return formula


def _raghunathan(ratio: float) -> Formula:
    return Formula(
        source="Raghunathan, Reiter and Rubin 2003: every column is drawn anew",
        reference="Raghunathan, T. E., Reiter, J. P., Rubin, D. B. (2003). Multiple imputation for statistical "
        "disclosure limitation. Journal of Official Statistics 19, 1-16.",
        steps=f"""{BETWEEN}    total variance      T = (1 + 1/M) b - ū;   if negative, {ratio:g} ū
    interval            q̄ ± t(ν) · √T,   ν = (M - 1) (1 - ū / ((1 + 1/M) b))²;   if T was negative, M - 1""",
        python=f"""\
b = (1 + 1 / M) * q.var(axis=0, ddof=1)
T = b - u.mean(axis=0)
nu = np.where(T > 0, (M - 1) * (1 - u.mean(axis=0) / b) ** 2, M - 1)
T = np.where(T > 0, T, {ratio:g} * u.mean(axis=0))""",
        r=f"""\
b <- (1 + 1 / M) * apply(q, 1, var)
T <- b - rowMeans(u)
nu <- ifelse(T > 0, (M - 1) * (1 - rowMeans(u) / b)^2, M - 1)
T <- ifelse(T > 0, T, {ratio:g} * rowMeans(u))""",
        mata=f"""\
b = (1 + 1 / M) :* diagonal(variance(q))'
T = b - mean(u)
nu = (T :> 0) :* (M - 1) :* (1 :- mean(u) :/ b):^2 + (T :<= 0) :* (M - 1)
T = (T :> 0) :* T + (T :<= 0) :* {ratio:g} :* mean(u)""",
    )


_SAMPLE = "for the estimate that the original would give, not for the population"
_RAAB = "Raab, Nowok and Dibben (2016), for"

RAGHUNATHAN2003 = Rule(
    name="raghunathan2003",
    words="Raghunathan, Reiter and Rubin (2003), for fully synthetic data",
    spread=raghunathan2003,
    fewest=2,
    reasons=lambda design: _drawn_anew(design, "of no use"),
    formula=_raghunathan,
)
RAAB2016 = Rule(
    name="raab2016",
    words=f"{_RAAB} fully synthetic data",
    spread=raab2016,
    fewest=1,
    reasons=_fitted_once,
    formula=_raab(lambda ratio: f"{ratio:g} + 1 / M"),
)
RAAB2016_PROPER = Rule(
    name="raab2016_proper",
    words=f"{_RAAB} fully synthetic data with drawn parameters",
    spread=raab2016_proper,
    fewest=1,
    reasons=_drawn_anew,
    formula=_raab(lambda ratio: f"{ratio:g} + {1 + ratio:g} / M"),
)
RAAB2016_SAMPLE = Rule(
    name="raab2016_sample",
    words=f"{_RAAB} the original's own estimate",
    spread=raab2016_sample,
    fewest=1,
    reasons=_fitted_once,
    formula=_raab(lambda ratio: "1 / M"),
    label=_SAMPLE,
)
RAAB2016_SAMPLE_PROPER = Rule(
    name="raab2016_sample_proper",
    words=f"{_RAAB} the original's own estimate",
    spread=raab2016_sample_proper,
    fewest=1,
    reasons=_drawn_anew,
    formula=_raab(lambda ratio: f"{1 + ratio:g} / M"),
    label=_SAMPLE,
)
