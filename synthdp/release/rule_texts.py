"""The combining rules as the README of a release writes them: the formula, Python, R, Stata, and the source."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """One rule, in words for each reader; M, m and r stand for themselves.

    Parameters
    ----------
    source, reference
        Who it is from, in short and in full.
    steps
        The formula from estimates q and variances u on.
    python, r, mata
        The same as code: from ``q`` and ``u`` (copies in rows; in columns for R) to ``T`` and, for t intervals, ``nu``.
    fewest
        Copies it needs.
    imputed
        Whether it is a rule for imputed data, which software for missing data applies by itself.
    """

    source: str
    reference: str
    steps: str
    python: str
    r: str
    mata: str
    fewest: int = 2
    imputed: bool = False

    @property
    def exact(self) -> bool:
        """Whether intervals are normal, with no degrees of freedom."""
        return "nu =" not in self.python


def formula_of(rule: str, ratio: float = 1.0) -> Formula:
    """Return the formula of the rule that a release calls for.

    Parameters
    ----------
    rule
        Its name.
    ratio
        Records of a copy over records of the original.
    """
    if rule == "raab2016":
        return _raab(f"{ratio:g} + 1 / M")
    if rule == "raab2016_proper":
        return _raab(f"{ratio:g} + {1 + ratio:g} / M")
    return _FORMULAS[rule]


_REITER_2003 = (
    "Reiter, J. P. (2003). Inference for partially synthetic, public use microdata sets. Survey Methodology 29, "
    "181-188."
)
_RAAB_2016 = (
    "Raab, G. M., Nowok, B., Dibben, C. (2016). Practical data synthesis for large samples. Journal of Privacy and "
    "Confidentiality 7(3), 67-97."
)
_MEANS = """\
    estimate            q̄ = mean of the q
    within variance     ū = mean of the u
"""
_BETWEEN = """\
    estimate            q̄ = mean of the q
    between variance    b = Σ (q - q̄)² / (M - 1)
    within variance     ū = mean of the u
"""
_NESTED = """\
    estimate            q̄ = mean of all q
    within variance     ū = mean of all u
    between nests       B = variance of the means of the m nests (the first number in the files' names)
    within nests        b̄ = mean over the nests of the variance of their r estimates
"""
_PYTHON_NESTED = """\
nests = q.reshape(m, r, *q.shape[1:])
B = nests.mean(axis=1).var(axis=0, ddof=1)
"""
_PYTHON_WITHIN = "b = nests.var(axis=1, ddof=1).mean(axis=0)\n"
_R_NESTED = """\
nest <- rep(seq_len(m), each = r)
B <- apply(q, 1, function(x) var(tapply(x, nest, mean)))
"""
_R_WITHIN = "b <- apply(q, 1, function(x) mean(tapply(x, nest, var)))\n"
_MATA_NESTED = """\
means = J(m, cols(q), .)
b = J(1, cols(q), 0)
for (i = 1; i <= m; i++) means[i, .] = mean(q[|(i-1)*r+1, 1 \\ i*r, cols(q)|])
for (i = 1; i <= m; i++) if (r > 1) b = b + diagonal(variance(q[|(i-1)*r+1, 1 \\ i*r, cols(q)|]))' :/ m
B = diagonal(variance(means))'
"""


def _raab(factor: str) -> Formula:
    return Formula(
        source="Raab, Nowok and Dibben 2016: every column is drawn anew",
        reference=_RAAB_2016,
        steps=f"""{_MEANS}    total variance      T = ū · ({factor})
    interval            q̄ ± 1.96 · √T""",
        python=f"T = u.mean(axis=0) * ({factor})",
        r=f"T <- rowMeans(u) * ({factor})",
        mata=f"T = mean(u) :* ({factor})",
        fewest=1,
    )


_FORMULAS = {
    "reiter2003": Formula(
        source="Reiter 2003",
        reference=_REITER_2003,
        steps=f"""{_BETWEEN}    total variance      T = ū + b / M
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
    "rubin1987": Formula(
        source="Rubin 1987",
        reference="Rubin, D. B. (1987). Multiple Imputation for Nonresponse in Surveys. Wiley.",
        steps=f"""{_BETWEEN}    total variance      T = ū + (1 + 1/M) b
    interval            q̄ ± t(ν) · √T,   ν = (M - 1) (1 + ū / ((1 + 1/M) b))²""",
        python="""\
b = (1 + 1 / M) * q.var(axis=0, ddof=1)
T = u.mean(axis=0) + b
nu = (M - 1) * (1 + u.mean(axis=0) / b) ** 2""",
        r="""\
b <- (1 + 1 / M) * apply(q, 1, var)
T <- rowMeans(u) + b
nu <- (M - 1) * (1 + rowMeans(u) / b)^2""",
        mata="""\
b = (1 + 1 / M) :* diagonal(variance(q))'
T = mean(u) + b
nu = (M - 1) :* (1 :+ mean(u) :/ b):^2""",
        imputed=True,
    ),
    "reiter2004": Formula(
        source="Reiter 2004: missing values were imputed m times, then r copies made of each",
        reference="Reiter, J. P. (2004). Simultaneous use of multiple imputation for missing data and disclosure "
        "limitation. Survey Methodology 30, 235-242.",
        steps=f"""{_NESTED}    total variance      T = (1 + 1/m) B - b̄ / r + ū;   if negative, (1 + 1/m) B + ū
    interval            q̄ ± t(ν) · √T,   1/ν = ((1 + 1/m) B / T)² / (m - 1) + (b̄ / (r T))² / (m (r - 1))""",
        python=f"""{_PYTHON_NESTED}{_PYTHON_WITHIN}\
T = (1 + 1 / m) * B - b / r + u.mean(axis=0)
nu = T**2 / (((1 + 1 / m) * B) ** 2 / (m - 1) + (b / r) ** 2 / (m * (r - 1)))
nu = np.where(T > 0, nu, (m - 1) * (1 + m * u.mean(axis=0) / ((m + 1) * B)) ** 2)
T = np.where(T > 0, T, (1 + 1 / m) * B + u.mean(axis=0))""",
        r=f"""{_R_NESTED}{_R_WITHIN}\
T <- (1 + 1 / m) * B - b / r + rowMeans(u)
nu <- T^2 / (((1 + 1 / m) * B)^2 / (m - 1) + (b / r)^2 / (m * (r - 1)))
nu <- ifelse(T > 0, nu, (m - 1) * (1 + m * rowMeans(u) / ((m + 1) * B))^2)
T <- ifelse(T > 0, T, (1 + 1 / m) * B + rowMeans(u))""",
        mata=f"""{_MATA_NESTED}\
T = (1 + 1 / m) :* B - b :/ r + mean(u)
nu = T:^2 :/ (((1 + 1 / m) :* B):^2 :/ (m - 1) + (b :/ r):^2 :/ (m * (r - 1)))""",
    ),
    "rubin2003": Formula(
        source="Rubin 2003: missing values were imputed in two stages",
        reference="Rubin, D. B. (2003). Nested multiple imputation of NMES via partially incompatible MCMC. "
        "Statistica Neerlandica 57, 3-18.",
        steps=f"""{_NESTED}    total variance      T = ū + (1 + 1/m) B + (1 - 1/r) b̄
    interval            q̄ ± t(ν) · √T,   1/ν = ((1 + 1/m) B / T)² / (m - 1) + ((1 - 1/r) b̄ / T)² / (m (r - 1))""",
        python=f"""{_PYTHON_NESTED}{_PYTHON_WITHIN}\
T = u.mean(axis=0) + (1 + 1 / m) * B + (1 - 1 / r) * b
nu = T**2 / (((1 + 1 / m) * B) ** 2 / (m - 1) + ((1 - 1 / r) * b) ** 2 / (m * (r - 1)))""",
        r=f"""{_R_NESTED}{_R_WITHIN}\
T <- rowMeans(u) + (1 + 1 / m) * B + (1 - 1 / r) * b
nu <- T^2 / (((1 + 1 / m) * B)^2 / (m - 1) + ((1 - 1 / r) * b)^2 / (m * (r - 1)))""",
        mata=f"""{_MATA_NESTED}\
T = mean(u) + (1 + 1 / m) :* B + (1 - 1 / r) :* b
nu = T:^2 :/ (((1 + 1 / m) :* B):^2 :/ (m - 1) + ((1 - 1 / r) :* b):^2 :/ (m * (r - 1)))""",
        imputed=True,
    ),
    "reiter2003_nested": Formula(
        source="Reiter 2003, for m draws of the mask with r copies of each",
        reference=_REITER_2003,
        steps=f"""{_NESTED}    total variance      T = ū + B / m
    interval            q̄ ± t(ν) · √T,   ν = (m - 1) (1 + m ū / B)²""",
        python=f"""{_PYTHON_NESTED}\
T = u.mean(axis=0) + B / m
nu = (m - 1) * (1 + m * u.mean(axis=0) / B) ** 2""",
        r=f"""{_R_NESTED}\
T <- rowMeans(u) + B / m
nu <- (m - 1) * (1 + m * rowMeans(u) / B)^2""",
        mata=f"""{_MATA_NESTED}\
T = mean(u) + B :/ m
nu = (m - 1) :* (1 :+ m :* mean(u) :/ B):^2""",
    ),
    "mean_se": Formula(
        source="the mean variance",
        reference=_RAAB_2016,
        steps=f"""{_MEANS}    total variance      T = ū
    interval            q̄ ± 1.96 · √T   (without what synthesis adds)""",
        python="T = u.mean(axis=0)",
        r="T <- rowMeans(u)",
        mata="T = mean(u)",
        fewest=1,
    ),
}
