"""The models that are built in: six of numbers and levels, and fifteen regressions."""

import pandas as pd

from synthdp.inference.formulas import build, complete
from synthdp.inference.models import descriptive
from synthdp.inference.models.fit import Problem
from synthdp.inference.models.model import AnalysisModel, Asked
from synthdp.inference.models.regression import Regression, events


def _regression(name: str, *, linked: bool = False) -> AnalysisModel:
    def problem(asked: Asked) -> Problem:
        beside = () if asked.status is None else (asked.status,)
        design = build(asked.formula, asked.frame, asked.schema, beside=beside, where=asked.where)
        status = None
        if asked.status is not None:
            status = events(_used(asked)[asked.status], asked.where)
        return Regression(name, design, asked.where, asked.link, asked.power, status)

    return AnalysisModel(name, problem, linked=linked)


def _cells(name: str, *, crossed: bool, total: bool = False) -> AnalysisModel:
    def problem(asked: Asked) -> Problem:
        known = asked.levels
        if known is None:
            known = descriptive.levels_of([asked.frame], asked.columns, asked.schema)
        return descriptive.cells(_used(asked), known, asked.where, crossed=crossed, total=total)

    return AnalysisModel(name, problem, listed=True, of_levels=True)


def _used(asked: Asked) -> pd.DataFrame:
    return complete(asked.frame, asked.columns, asked.schema, where=asked.where)


def _mean(asked: Asked) -> Problem:
    return descriptive.means(_used(asked), asked.where)


def _quantile(asked: Asked) -> Problem:
    return descriptive.quantiles(_used(asked), asked.probabilities, asked.where)


def _correlation(asked: Asked) -> Problem:
    return descriptive.correlations(_used(asked), asked.where)


MEAN = AnalysisModel("mean", _mean, listed=True)
QUANTILE = AnalysisModel("quantile", _quantile, listed=True)
CORRELATION = AnalysisModel("correlation", _correlation, listed=True, fisher=True)
PROPORTION = _cells("proportion", crossed=False)
TABLE = _cells("table", crossed=True)
COUNT = _cells("count", crossed=True, total=True)

OLS = _regression("ols")
LOGIT = _regression("logit")
PROBIT = _regression("probit")
POISSON = _regression("poisson", linked=True)
WLS = _regression("wls")
GAUSSIAN = _regression("gaussian", linked=True)
BINOMIAL = _regression("binomial", linked=True)
GAMMA = _regression("gamma", linked=True)
INVERSE_GAUSSIAN = _regression("inverse_gaussian", linked=True)
TWEEDIE = _regression("tweedie", linked=True)
NEGATIVE_BINOMIAL = _regression("negative_binomial")
MULTINOMIAL = _regression("multinomial")
ORDERED_LOGIT = _regression("ordered_logit")
ORDERED_PROBIT = _regression("ordered_probit")
COX = _regression("cox")
