"""Rules for copies of which some columns are drawn anew, and the mean standard error, which ignores synthesis."""

from collections.abc import Iterator

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
