"""The analyses a data user would run: a model and a formula, estimated on one file."""

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError, field_validator, model_validator

from synthdp import plugins
from synthdp.errors import InputError
from synthdp.inference.estimates import Estimates
from synthdp.inference.formulas import absent, columns_used
from synthdp.inference.models.fit import MODELS, Asked, Fit, Levels, Link, Problem, ReplicateMethod
from synthdp.inference.rules import RULES, unknown_rule
from synthdp.inference.variances import linearised, replicated, sample, weight_column
from synthdp.table.microdata import Floats
from synthdp.table.schema import Schema, Settings

__all__ = ["Analysis", "Estimates", "analysis_of", "columns_used"]

if TYPE_CHECKING:
    Model = str
else:
    Model = Literal[plugins.names("analyses")]
Share = Annotated[float, Field(gt=0, lt=1)]


class Analysis(Settings):
    """One analysis: a model, a formula, how the records were sampled, and the rule that combines copies.

    Parameters
    ----------
    name
        What reports call it.
    model
        Of numbers: ``mean``, ``quantile``, ``correlation``; of levels: ``proportion`` (each column), ``table`` (shares
        of the columns crossed), ``count`` (the same as totals). Regressions: ``ols``, ``wls``, ``logit``, ``probit``,
        ``poisson``, ``negative_binomial``, ``multinomial``, ``ordered_logit``, ``ordered_probit``, ``cox``, and the
        generalised linear models ``gaussian``, ``binomial``, ``gamma``, ``inverse_gaussian``, ``tweedie``.
    formula
        A patsy formula such as ``vote ~ age + C(region)``; columns separated by commas for those of numbers and levels.
    rule
        The combining rule; None leaves it to the design of the release.
    status
        For ``cox``, whose formula is ``time ~ terms``: the column that says whether the time ends with the event (1,
        True, or the second of two levels) or the record is censored; without it all times end with the event.
    probabilities
        Of the quantiles.
    link, power
        Of a generalised linear model; canonical by default. The power p of Tweedie's variance μ^p.
    weights, strata, cluster
        Columns of the sampling design: standard errors are then linearised (robust), with clusters − strata degrees of
        freedom. For ``wls`` the weights are inverse error variances and the covariance is the model's.
    replicate_weights, replicate_method, replicate_scale
        Columns of replicate weights (``rw*`` takes all that begin so) instead of strata and cluster; their kind; and
        the factor of each squared deviation where the kind does not fix it.

    Notes
    -----
    Records with a missing value in a column the formula uses are left out. For ``logit`` and ``probit`` the response
    is 0/1, or takes two values that are not numbers: then the second one is coded 1, in the order of the schema's
    levels, or sorted where there is no schema (NO/YES models YES; False/True models True). Without a sampling design
    standard errors are those of the model, not robust ones. For ``mean`` the variance is s²/n; ``quantile`` and
    ``correlation`` are linearised. Tied times of ``cox`` are Breslow's.

    Examples
    --------
    >>> frame = pd.DataFrame({"y": [1.0, 2.0, 4.0, 5.0], "x": [0, 1, 2, 3]})
    >>> found = Analysis(name="trend", model="ols", formula="y ~ x").estimate(frame)
    >>> dict(zip(found.names, found.values.round(6).tolist()))
    {'Intercept': 0.9, 'x': 1.4}
    """

    name: str
    model: Model
    formula: str
    rule: Annotated[str, Field(json_schema_extra={"enum": [*RULES]})] | None = None
    status: str | None = None
    probabilities: tuple[Share, ...] = (0.25, 0.5, 0.75)
    link: Link | None = None
    power: float = Field(default=1.5, ge=1, le=2)
    weights: str | None = None
    strata: str | None = None
    cluster: str | None = None
    replicate_weights: tuple[str, ...] = ()
    replicate_method: ReplicateMethod | None = None
    replicate_scale: float | tuple[float, ...] | None = None

    @field_validator("model", mode="before")
    @classmethod
    def _known_model(cls, model: object) -> object:
        if isinstance(model, str) and model not in MODELS:
            near = difflib.get_close_matches(model, MODELS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(MODELS)}"
            raise ValueError(f"no model named {model!r}; {hint}")
        return model

    @field_validator("replicate_weights", mode="before")
    @classmethod
    def _several(cls, columns: object) -> object:
        return [name.strip() for name in columns.split(",")] if isinstance(columns, str) else columns

    @field_validator("rule")
    @classmethod
    def _known_rule(cls, rule: str | None) -> str | None:
        if rule is not None and (sentence := unknown_rule(rule)):
            raise ValueError(sentence)
        return rule

    @model_validator(mode="after")
    def _settings_belong_together(self) -> Self:
        if self.status is not None and self.model != "cox":
            raise ValueError(f"status belongs to model cox, not {self.model}")
        if self.link is not None and not MODELS[self.model].linked:
            linked = sorted(name for name, model in MODELS.items() if model.linked)
            raise ValueError(f"link belongs to generalised linear models ({', '.join(linked)})")
        if self.model == "wls" and (self.weights is None or self.strata or self.cluster or self.replicate_weights):
            raise ValueError("wls needs weights, and takes no other design; use ols for a weighted sample")
        if not self.probabilities:
            raise ValueError("probabilities must hold at least one number between 0 and 1")
        if self.replicate_weights:
            if self.weights is None or self.replicate_method is None:
                raise ValueError("replicate_weights need weights (the full sample's) and replicate_method")
            if self.strata or self.cluster:
                raise ValueError("replicate_weights carry strata and cluster already; leave these out")
            if self.model == "quantile" and self.replicate_method in ("jk1", "jkn"):
                raise ValueError("the jackknife does not work for quantiles; use strata and cluster, brr or bootstrap")
        elif self.replicate_method is not None or self.replicate_scale is not None:
            raise ValueError("replicate_method and replicate_scale need replicate_weights")
        return self

    @property
    def where(self) -> str:
        """How messages name this analysis."""
        return f"analyses.{self.name}"

    @property
    def surveyed(self) -> bool:
        """Whether standard errors come from a sampling design instead of the model."""
        return self.model != "wls" and any((self.weights, self.strata, self.cluster, self.replicate_weights))

    def columns(self) -> tuple[str, ...]:
        """Return the columns this analysis estimates from."""
        if MODELS[self.model].listed:
            return tuple(dict.fromkeys(name.strip() for name in self.formula.split(",") if name.strip()))
        beside = () if self.status is None else (self.status,)
        return tuple(dict.fromkeys([*columns_used(self.formula, where=self.where), *beside]))

    def problems(self, names: Iterable[str]) -> list[str]:
        """Return what is wrong before any record is read, given the names of the columns there are."""
        names = [str(name) for name in names]
        try:
            columns = self.columns()
        except InputError as error:
            return list(error.problems)
        if not columns:
            return [f"{self.where}: the {self.model} of what? Name a column in formula."]
        design = [name for name in (self.weights, self.strata, self.cluster) if name is not None]
        unmatched = [name for name in self.replicate_weights if not any(fnmatchcase(known, name) for known in names)]
        return absent(dict.fromkeys([*columns, *design, *unmatched]), names, where=self.where)

    def describe(self) -> str:
        """Return the analysis in a line, for printing: model, formula, and what else was asked for."""
        extras = {name: getattr(self, name) for name in ("status", "link", "weights", "strata", "cluster")}
        if self.replicate_weights:
            extras["replicates"] = self.replicate_method
        return ", ".join([f"{self.model} {self.formula}", *(f"{k} {v}" for k, v in extras.items() if v is not None)])

    def estimate(self, frame: pd.DataFrame, schema: Schema | None = None, *, levels: Levels | None = None) -> Estimates:
        """Return the estimates on one file.

        Parameters
        ----------
        frame, schema
            The file, and what its columns are.
        levels
            Of the columns of a table; those of this file and the schema by default.

        Raises
        ------
        InputError
            When the formula, the response or the design does not allow an estimate, or the likelihood has no maximum
            (separation).
        Unfinished
            When the fit does not converge for another reason.
        """
        if problems := self.problems(frame.columns):
            raise InputError(*problems)
        problem = self._problem(frame, schema, levels)
        design = sample(frame, weights=self.weights, strata=self.strata, cluster=self.cluster, where=self.where)
        weights = None if design.weights is None else design.weights[problem.rows]
        if weights is not None and not weights.any():
            raise InputError(f"{self.where}: no complete record has a weight above zero.")
        fit = problem.fit(weights)
        df: float | None
        if self.replicate_weights:
            covariance, df = self._replicated(frame, problem, fit)
        elif self.surveyed:
            influence = np.zeros((len(frame), len(fit.names)))
            influence[problem.rows] = fit.influence
            covariance, df = linearised(influence, design, where=self.where)
        else:
            covariance, df = fit.covariance, fit.df_residual
        return Estimates(fit.names, fit.values, covariance, df, len(problem.rows))

    def _problem(self, frame: pd.DataFrame, schema: Schema | None, levels: Levels | None) -> Problem:
        asked = Asked(
            frame=frame,
            schema=schema,
            formula=self.formula,
            columns=self.columns(),
            where=self.where,
            status=self.status,
            probabilities=self.probabilities,
            link=self.link,
            power=self.power,
            levels=levels,
        )
        return MODELS[self.model].problem(asked)

    def _replicated(self, frame: pd.DataFrame, problem: Problem, fit: Fit) -> tuple[Floats, float]:
        assert self.replicate_method is not None  # the validator has seen to it
        named = [
            str(name) for name in frame.columns if any(fnmatchcase(str(name), one) for one in self.replicate_weights)
        ]
        found = [problem.fit(weight_column(frame, name, self.where)[problem.rows]).values for name in named]
        return replicated(fit.values, found, self.replicate_method, self.replicate_scale, where=self.where)


def analysis_of(settings: Mapping[str, Any], *, sign: str = "") -> Analysis:
    """Return the analysis that arguments describe; what is wrong is said in sentences that begin with the argument.

    Parameters
    ----------
    settings
        The fields of an analysis; those that are None are left out.
    sign
        What comes before an argument's name in messages (``--`` on the command line).
    """
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return Analysis.model_validate(given)
    except ValidationError as error:
        raise InputError(*(_sentence(problem, sign) for problem in error.errors())) from None


def _sentence(problem: Any, sign: str) -> str:
    place = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place, Analysis.model_fields, n=1)
        return f"{sign}{place}: no such setting{f'; did you mean {near[0]!r}?' if near else '.'}"
    plain = str(problem["msg"]).removeprefix("Value error, ")
    plain = plain[:1].lower() + plain[1:]
    end = "" if plain.endswith((".", "?")) else "."
    return f"{sign}{place.replace('_', '-') if sign else place}: {plain}{end}" if place else f"{plain}{end}"
