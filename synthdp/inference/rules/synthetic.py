"""Rules for synthetic copies.

Some columns are drawn anew, or every column is and nothing is masked; and the mean standard error, which ignores
synthesis.
"""

from collections.abc import Iterator

import numpy as np

from synthdp.inference.rules.rule import (
    BETWEEN,
    MATA_NESTED,
    MEANS,
    NESTED,
    PYTHON_NESTED,
    R_NESTED,
    RAAB_2016,
    Formula,
    Replicates,
    Rule,
    Spread,
    added,
    over,
    scaled,
    t_df,
)
from synthdp.synthesis.design import Design

_REITER_2003 = (
    "Reiter, J. P. (2003). Inference for partially synthetic, public use microdata sets. Survey Methodology 29, "
    "181-188."
)


def reiter2003(replicates: Replicates) -> Spread:
    """Return T = b/M + v̄ and ν = (M − 1)(1 + 1/r)², r = b/(M v̄): the rule for partially synthetic copies.

    Notes
    -----
    Holds when every replaced value is drawn from a model fitted to the replaced records only, or to all records when
    all are replaced. The t interval is too short for very few copies: when a whole column is redrawn, nominal 0.95
    covers 0.929 with 2 copies, 0.945 with 3, 0.950 with 5 (by quadrature, in the tests).

    Holds for copies of which every column is drawn anew too, as long as they have as many records as the original:
    then v̄ is the variance of the original's estimate.

    References
    ----------
    Reiter (2003), Survey Methodology 29(2), 181–188: T_p, and ν_p of its t reference
    distribution.
    """
    extra = replicates.b / replicates.m
    return added(replicates.v_bar, extra, t_df(replicates.m, replicates.v_bar, extra))


def _after_reiter2003(design: Design) -> Iterator[str]:
    if design.replaced == "none":
        yield "is for synthetic copies, and here nothing was replaced: intervals come out too short"
    if design.completed:
        yield "takes the original for known, and here only its masked records were: too short"
    if design.imputed and design.imputations > 1:
        yield f"takes no account of the missing data, here imputed {design.imputations} times: too short"
    if design.mask_draws > 1:
        yield f"assumes independent copies, and here they share {design.mask_draws} draws of W: a little too short"
    if design.replaced == "all" and not design.masked and design.ratio != 1:
        yield "needs copies as large as the original when all columns are drawn anew, and these are not"


def reiter2003_nested(replicates: Replicates) -> Spread:
    """Return T = v̄ + B/m and ν = (m − 1)(1 + m v̄/B)²: W drawn m times, r copies from each draw.

    Given the original, the nests are independent and the mean of a nest estimates what the original would give, so
    Reiter's (2003) argument holds for the means of nests as it does for copies with a W of their own (r = 1). b/(m r)
    over all copies is too small: copies of one nest share the error of their W.

    Notes
    -----
    More copies from the same draws do not make up for few draws: B/m keeps W's share whatever r is.
    """
    m, v_bar = replicates.nests, replicates.v_bar
    extra = replicates.between / m
    return added(v_bar, extra, t_df(m, v_bar, extra))


def _after_nests(design: Design) -> Iterator[str]:
    if design.mask_draws < 2:
        yield "is for several draws of W that copies share, and here there are none"


def mean_se(replicates: Replicates) -> Spread:
    """Return T = v̄ with normal intervals: blind to the variance that synthesis adds.

    It is what synthpop's comparison of fits uses (its "mean standard error" is √v̄, not the mean of the standard
    errors: checked on its own output), and all that one copy of which some columns are kept can give.
    """
    return scaled(replicates, original=1.0, extra=0.0)


REITER2003 = Rule(
    name="reiter2003",
    words="Reiter (2003), for partially synthetic data",
    spread=reiter2003,
    fewest=2,
    reasons=_after_reiter2003,
    formula=lambda ratio: Formula(
        source="Reiter 2003",
        reference=_REITER_2003,
        steps=f"""{BETWEEN}    total variance      T = ū + b / M
    interval            q̄ ± t(ν) · √T,   ν = (M - 1) (1 + M ū / b)²""",
        python="""\
b = q.var(axis=0, ddof=1)
T = u.mean(axis=0) + b / M
nu = (M - 1) * (1 + M * u.mean(axis=0) / b) ** 2""",
        r="""\
b <- apply(q, 1, var)
T <- rowMeans(u) + b / M
nu <- (M - 1) * (1 + M * rowMeans(u) / b)^2""",
        mata="""\
b = diagonal(variance(q))'
T = mean(u) + b :/ M
nu = (M - 1) :* (1 :+ M :* mean(u) :/ b):^2""",
    ),
)
REITER2003_NESTED = Rule(
    name="reiter2003_nested",
    words="Reiter (2003) over draws of the mask",
    spread=reiter2003_nested,
    fewest=1,
    nested=True,
    reasons=_after_nests,
    formula=lambda ratio: Formula(
        source="Reiter 2003, for m draws of the mask with r copies of each",
        reference=_REITER_2003,
        steps=f"""{NESTED}    total variance      T = ū + B / m
    interval            q̄ ± t(ν) · √T,   ν = (m - 1) (1 + m ū / B)²""",
        python=f"""{PYTHON_NESTED}\
T = u.mean(axis=0) + B / m
nu = (m - 1) * (1 + m * u.mean(axis=0) / B) ** 2""",
        r=f"""{R_NESTED}\
T <- rowMeans(u) + B / m
nu <- (m - 1) * (1 + m * rowMeans(u) / B)^2""",
        mata=f"""{MATA_NESTED}\
T = mean(u) + B :/ m
nu = (m - 1) :* (1 :+ m :* mean(u) :/ B):^2""",
    ),
)
# never refused: it is labelled, wherever it is shown, as being without the variance of synthesis
MEAN_SE = Rule(
    name="mean_se",
    words="mean estimate with mean standard error, without the variance that synthesis adds",
    spread=mean_se,
    fewest=1,
    reasons=lambda design: iter(()),
    formula=lambda ratio: Formula(
        source="the mean variance",
        reference=RAAB_2016,
        steps=f"""{MEANS}    total variance      T = ū
    interval            q̄ ± 1.96 · √T   (without what synthesis adds)""",
        python="T = u.mean(axis=0)",
        r="T <- rowMeans(u)",
        mata="T = mean(u)",
    ),
    label="without the variance that synthesis adds",
)


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


def _whole(design: Design) -> Iterator[str]:
    """Yield why copies are not samples from a model alone."""
    if design.replaced != "all":
        yield "assumes that every column is drawn anew, and here some are kept"
    if design.masked or design.completed:
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


def _raab(name: str, *, proper: bool, sample: bool) -> Rule:
    """Return a rule of Raab, Nowok and Dibben: T = v̄ (n_syn/n + 1/M), normal; one copy is enough.

    The variance that synthesis adds is known without comparing copies, because a copy is a sample from the fitted
    model: v̄/M.

    Parameters
    ----------
    proper
        Parameters are drawn anew for each copy, not fitted once: (1 + n_syn/n)/M takes the place of 1/M.
    sample
        How far q̄ is from the estimate that the original itself would give, not from the population's parameter: n_syn/n
        is left out.

    References
    ----------
    Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3), 67–97. The four cases (population or
    sample, plug-in or proper) are those that synthpop computes.
    """

    def spread(replicates: Replicates) -> Spread:
        extra = (1 + replicates.ratio if proper else 1) / replicates.m
        return scaled(replicates, original=0.0 if sample else replicates.ratio, extra=extra)

    def formula(ratio: float) -> Formula:
        added = f"{1 + ratio if proper else 1:g} / M"
        times = added if sample else f"{ratio:g} + {added}"
        return Formula(
            source="Raab, Nowok and Dibben 2016: every column is drawn anew",
            reference=RAAB_2016,
            steps=f"""{MEANS}    total variance      T = ū · ({times})
    interval            q̄ ± 1.96 · √T""",
            python=f"T = u.mean(axis=0) * ({times})",
            r=f"T <- rowMeans(u) * ({times})",
            mata=f"T = mean(u) :* ({times})",
        )

    whom = "the original's own estimate" if sample else "fully synthetic data"
    return Rule(
        name=name,
        words=f"Raab, Nowok and Dibben (2016), for {whom}{' with drawn parameters' if proper and not sample else ''}",
        spread=spread,
        fewest=1,
        reasons=_drawn_anew if proper else _fitted_once,
        formula=formula,
        label="for the estimate that the original would give, not for the population" if sample else "",
    )


RAGHUNATHAN2003 = Rule(
    name="raghunathan2003",
    words="Raghunathan, Reiter and Rubin (2003), for fully synthetic data",
    spread=raghunathan2003,
    fewest=2,
    reasons=lambda design: _drawn_anew(design, "of no use"),
    formula=_raghunathan,
)
RAAB2016 = _raab("raab2016", proper=False, sample=False)
RAAB2016_PROPER = _raab("raab2016_proper", proper=True, sample=False)
RAAB2016_SAMPLE = _raab("raab2016_sample", proper=False, sample=True)
RAAB2016_SAMPLE_PROPER = _raab("raab2016_sample_proper", proper=True, sample=True)
