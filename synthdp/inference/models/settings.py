"""The closed sets of words in an analysis: models, links and kinds of replicate weights."""

from typing import Literal, get_args

Model = Literal[
    "ols",
    "logit",
    "probit",
    "poisson",
    "mean",
    "proportion",
    "quantile",
    "table",
    "count",
    "correlation",
    "wls",
    "gaussian",
    "binomial",
    "gamma",
    "inverse_gaussian",
    "tweedie",
    "negative_binomial",
    "multinomial",
    "ordered_logit",
    "ordered_probit",
    "cox",
]
Link = Literal[
    "identity", "log", "logit", "probit", "cloglog", "loglog", "cauchy", "inverse", "inverse_squared", "sqrt"
]
ReplicateMethod = Literal["brr", "jk1", "jkn", "bootstrap"]

MODELS: tuple[str, ...] = get_args(Model)
# these take columns separated by commas where the others take a formula
DESCRIPTIVE = frozenset({"mean", "proportion", "quantile", "table", "count", "correlation"})
# these take a link of the user's choice
LINKED = frozenset({"gaussian", "binomial", "gamma", "inverse_gaussian", "tweedie", "poisson"})
