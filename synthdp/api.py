"""The command line's verbs for notebooks: tables in memory instead of files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from synthdp.comparing.mapping import MethodMap
from synthdp.comparing.study import compare as compared
from synthdp.config import Config, parse
from synthdp.errors import InputError
from synthdp.inference.analyses import analysis_of
from synthdp.inference.combining import DEFAULT_RULE, Pooled, combine
from synthdp.inference.estimates import Estimates, fitted, from_pair
from synthdp.inference.pooling import estimate_each, records
from synthdp.inference.variances import bootstrap_estimator, bootstrap_statistic, waiting
from synthdp.release.reading import Opened, open_copies, pool_opened
from synthdp.seeding import Streams, fresh_seed
from synthdp.stages.alignment import lay_beside
from synthdp.stages.assessing import assess_comparison
from synthdp.stages.gating import judge_copies
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.design import Design
from synthdp.synthesis.making import finish, make
from synthdp.synthesis.plan import Release
from synthdp.tagging.groups import tag

Copies = str | Path | Release | Sequence[Any]
Settings = Config | Mapping[str, Any]


def synthesize(frame: pd.DataFrame, settings: Settings, *, seed: int | None = None, jobs: int = 1) -> Release:
    """Return synthetic copies of a table.

    Row i of each copy belongs to record i: shuffle before giving a copy away, or let ``synthdp run`` do all of it.

    Parameters
    ----------
    frame
        The confidential table.
    settings
        A config, or a mapping with its blocks; ``data`` may be left out.
    seed
        A secret by default. Give one only for studies: whoever knows it can remove the mask.
    """
    config = _config(settings)
    plan = plan_of(config, prepare(frame, config))
    chosen = seed if seed is not None else config.seed
    streams = Streams(fresh_seed() if chosen is None else chosen)
    return finish(config.synthesis, make(config.synthesis, plan, streams=streams, jobs=jobs), plan)[0]


def pool(
    copies: Copies,
    fit: Callable[[pd.DataFrame], Any] | None = None,
    *,
    model: str | None = None,
    formula: str | None = None,
    estimator: Any = None,
    statistic: Callable[[Any], Any] | None = None,
    bootstrap: int = 200,
    seed: int | None = None,
    names: Sequence[str] | None = None,
    rule: str | None = None,
    level: float = 0.95,
    **settings: Any,
) -> Pooled:
    """Return one analysis of several copies, combined into estimates with honest intervals.

    Parameters
    ----------
    copies
        A folder (``public/`` or its parent), files, tables, a release in memory, or the (estimate, covariance) pairs
        that were found on the copies elsewhere; a covariance may be a vector of variances.
    fit
        A function from a table to a fitted statsmodels model, or to an (estimate, covariance) pair.
    model, formula
        Or a model by name and its formula; see :class:`synthdp.inference.analyses.Analysis`, whose other fields
        (``weights``, ``strata``, ``cluster``, ``replicate_weights``, ``status``, ``link``, …) are ``settings`` here.
    estimator, statistic, bootstrap, seed
        Or a scikit-learn-like estimator and the formula that gives its y and X: its coefficients or importances, or
        ``statistic(fitted)``, with a covariance from ``bootstrap`` resamples of each copy. Without an estimator,
        ``statistic(table)`` itself is resampled. The same seed gives the same resamples.
    names
        Of the estimates, where they have none.
    rule
        The combining rule; by default the one that the release calls for, ``reiter2003`` for files and tables.
    level
        Coverage of the intervals.

    Raises
    ------
    InputError, Unfinished
        In one sentence, which names the copy.

    Examples
    --------
    >>> print(pool([(1.0, 0.01), (1.1, 0.01), (1.2, 0.01)], names=["effect"]))
    estimates
    term    estimate      se  95% low  95% high    df       p
    ---------------------------------------------------------
    effect       1.1  0.1155   0.8648     1.335  32.0  <0.001
    3 copies combined by reiter2003
    """
    ways = {"fit": fit, "model": model, "estimator": estimator}
    asked = [name for name, value in ways.items() if value is not None] or (["statistic"] if statistic else [])
    if len(asked) > 1:
        raise InputError(f"pool: give one of {' and '.join(asked)}, not both.")
    way = asked[0] if asked else None
    if settings and way != "model":
        raise InputError(f"pool: {', '.join(sorted(settings))} belong to an analysis by model and formula.")
    if way is None:
        each = copies if isinstance(copies, Sequence) and not isinstance(copies, str) else [copies]
        found = [_pair(one, number, names) for number, one in enumerate(each, start=1)]
        return combine(found, rule or DEFAULT_RULE, level, title="estimates")
    opened = open_copies(copies)
    opened.check(rule)
    if not opened.copies:
        raise InputError("copies: needs at least one copy, found none.")
    if way == "model":
        analysis = analysis_of({"name": model, "model": model, "formula": formula, "rule": rule, **settings})
        return pool_opened(opened, analysis, level=level, called="formula")
    if way == "fit":
        function = cast(Callable[[pd.DataFrame], Any], fit)
        title = getattr(function, "__name__", type(function).__name__)
        found = estimate_each(opened.copies, lambda frame: fitted(frame, function, names))
    else:
        if estimator is not None and formula is None:
            raise InputError("formula: an estimator needs one, such as 'y ~ age + C(sex)', for its y and X.")
        title = f"{type(estimator).__name__} {formula}" if estimator is not None else "statistic"
        title += f", {bootstrap} resamples"
        streams = Streams(fresh_seed() if seed is None else seed)
        found = _resampled(opened, estimator, formula, statistic, bootstrap, streams)
    return combine(found, rule or opened.rule, level, title=title + records(found), **opened.layout)


def evaluate(
    frame: pd.DataFrame,
    copies: Release | Sequence[pd.DataFrame],
    settings: Settings,
    *,
    design: Design | None = None,
    aligned: bool | None = None,
) -> dict[str, Any]:
    """Return how useful and how risky synthetic copies are, as the sections ``utility``, ``risk`` and ``gate``.

    The numbers are those that ``synthdp run`` and ``synthdp evaluate`` give for the same copies.

    Parameters
    ----------
    frame
        The confidential table.
    copies
        A release in memory, or tables made by any tool, with the same columns.
    design
        How tables came about, as far as measures depend on it; a release tells that itself. Without it the propensity
        score's expectation and the combining rule are those of partially synthetic copies of an unknown kind.
    aligned
        Whether row i of a copy was made from record i; by default as ``evaluation.rows`` says.
    """
    config = _config(settings)
    data = prepare(frame, config)
    if isinstance(copies, Release):
        design, copies = design or copies.design, copies.copies
    comparison = lay_beside(
        config, data, copies, groups=tag(data, config.groups).labels, design=design, aligned=aligned
    )
    found = assess_comparison(config, comparison)
    return {
        "utility": found.utility,
        "risk": found.risk,
        "gate": judge_copies(config, comparison, found).section(),
    }


def compare(
    frame: pd.DataFrame | Callable[..., Any],
    methods: Any = None,
    settings: Settings | None = None,
    *,
    seeds: int | Sequence[int] = 5,
    measures: Any = (),
    analyses: Mapping[str, Callable[[pd.DataFrame], Any]] | None = None,
    holdout: pd.DataFrame | None = None,
    truth: Mapping[str, Any] | None = None,
    n: int = 500,
    jobs: int = 1,
    out: str | Path | None = None,
) -> MethodMap:
    """Return several methods on one risk–utility map; publishes nothing.

    Parameters
    ----------
    frame
        The confidential table. Or a simulator, a function rng → table (of n and rng where it takes n): then every seed
        draws a table, and bias, RMSE, coverage and width of intervals are lines of the table too.
    methods
        By name: a synthesis block or whole blocks of settings, the name of a method, a synthesizer, a function table →
        tables (given ``rng`` or ``seed`` where it takes one), or files of another tool (a path or glob, a list of
        those, tables, ``{"files": …, "rows": "aligned"}``). By default the ``methods`` block of the settings.
    settings
        A config, or a mapping with its blocks: columns, analyses and measures, which all methods share.
    seeds
        How often each method is drawn (seeds 1, 2, …), or the seeds. Files are measured once.
    measures
        Besides those of ``evaluation.utility`` and ``.risk``: names of measures, such as "membership_shadow", and
        functions (table, copies) → number, or numbers by name, or (value, low, high).
    analyses
        Functions from a table to a fitted model, or to estimates and their covariance, by name.
    holdout
        Records like the table's that no method saw: the yardstick of what members lose.
    truth
        For a simulator, term → value, or analysis → term → value; designs of ``synthdp.datasets`` bring their own.
    n
        How many records a simulator draws.
    jobs
        Processes to use; the results do not depend on it.
    out
        A folder, where every finished method and seed is kept, so that a study that was killed goes on when it is
        called again; table and report are written there.

    Examples
    --------
    >>> import synthdp
    >>> voters = synthdp.datasets.anes96().head(200)
    >>> settings = {
    ...     "variables": {"age": {"role": "replace", "key": True, "tolerance": 3}},
    ...     "evaluation": {"utility": ["panel"], "risk": ["linkability"]},
    ... }
    >>> studied = compare(voters, ["mi", "da_mi"], settings, seeds=2)
    >>> studied
    MethodMap(2 methods x 2 seeds, 16 lines)
    """
    folder = None if out is None else Path(out)
    return compared(
        frame,
        methods,
        _config(settings if settings is not None else {}),
        seeds=seeds,
        measures=measures,
        analyses=analyses,
        holdout=holdout,
        truth=truth,
        n=n,
        jobs=jobs,
        out=folder,
    )


def _config(settings: Settings) -> Config:
    if isinstance(settings, Config):
        return settings
    return parse({"data": {"path": "in memory"}, **settings})


def _pair(one: Any, number: int, names: Sequence[str] | None) -> Estimates:
    if isinstance(one, Estimates):
        return one
    if isinstance(one, pd.DataFrame | str | Path | Release):
        raise InputError("pool: what should be estimated? Give model and formula, fit, estimator or statistic.")
    try:
        return from_pair(one, names)
    except InputError as error:
        raise InputError(f"copy {number}: {error}") from None


def _resampled(
    opened: Opened, estimator: Any, formula: str | None, statistic: Any, draws: int, streams: Streams
) -> list[Estimates]:
    """Return the bootstrap's estimates, every copy with a stream of its own."""
    generators = iter([streams.generator("bootstrap", m) for m in range(1, len(opened.copies) + 1)])
    with waiting("bootstrap") as advance:

        def one(frame: pd.DataFrame) -> Estimates:
            rng = next(generators)
            if estimator is None:
                return bootstrap_statistic(frame, statistic, draws=draws, rng=rng, advance=advance)
            return bootstrap_estimator(
                frame,
                estimator,
                str(formula),
                draws=draws,
                rng=rng,
                statistic=statistic,
                schema=opened.schema,
                advance=advance,
            )

        return estimate_each(opened.copies, one)
