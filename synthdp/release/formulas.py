"""The combining rule as the README of a release writes it: the formula, Python, R, and the source."""

from collections.abc import Mapping

# the multiple of the mean variance, where the rule knows it without comparing copies
_FACTORS = {"raab2016": "1 + 1/M", "raab2016_proper": "1 + 2/M"}


def takes_one(rule: str) -> bool:
    """Return whether one copy gives a valid interval."""
    return rule in _FACTORS


def texts(rule: str) -> Mapping[str, str]:
    """Return what the README says for a rule, by place in it."""
    if rule not in _FACTORS:
        return _BETWEEN
    return {name: text.replace("FACTOR", _FACTORS[rule]) for name, text in _KNOWN.items()}


# the variance that synthesis adds is measured between copies
_BETWEEN = {
    "source": "Reiter 2003",
    "steps": """\
    estimate            q̄ = mean of the q
    between variance    b = Σ (q - q̄)² / (M - 1)
    within variance     ū = mean of the u
    total variance      T = ū + b / M
    interval            q̄ ± t(ν) · √T,   ν = (M - 1) (1 + M ū / b)²""",
    "python": """\
estimate = q.mean()
b = q.var(ddof=1)
T = u.mean() + b / M
nu = (M - 1) * (1 + M * u.mean() / b) ** 2
print(estimate, np.sqrt(T), nu)""",
    "r": """\
library(mice)
summary(pool.syn(as.mira(fits)), conf.int = TRUE)   # rule = "reiter2003", not pool()""",
    "reference": "Reiter, J. P. (2003). Inference for partially synthetic, public use microdata sets. Survey "
    "Methodology 29, 181-188.",
}
# it is known
_KNOWN = {
    "source": "Raab, Nowok and Dibben 2016: every column is drawn anew",
    "steps": """\
    estimate            q̄ = mean of the q
    within variance     ū = mean of the u
    total variance      T = ū · (FACTOR)
    interval            q̄ ± 1.96 · √T""",
    "python": """\
estimate = q.mean()
T = u.mean() * (FACTOR)
print(estimate, np.sqrt(T))""",
    "r": """\
M <- length(fits)
estimate <- rowMeans(do.call(cbind, lapply(fits, coef)))
se <- sqrt(rowMeans(do.call(cbind, lapply(fits, function(fit) diag(vcov(fit))))) * (FACTOR))
cbind(estimate, se, low = estimate - 1.96 * se, high = estimate + 1.96 * se)""",
    "reference": "Raab, G. M., Nowok, B., Dibben, C. (2016). Practical data synthesis for large samples. Journal of "
    "Privacy and Confidentiality 7(3), 67-97.",
}
