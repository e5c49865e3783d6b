"""The command line's verbs for notebooks: tables in memory, or files by name; results that show themselves."""

from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import pandas as pd

from synthdp.comparing.mapping import MethodMap
from synthdp.comparing.study import compare as compared
from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.face.arguments import (
    IN_MEMORY,
    Copies,
    Settings,
    Table,
    config_of,
    copies_of,
    design_of,
    folder_of,
    jobs_of,
    limits_of,
    names_of,
    path_of,
    say_if_ignored,
    seed_of,
    table_of,
    text_of,
    truth_of,
)
from synthdp.face.evaluation import Evaluation
from synthdp.face.pooled import Pooled, check_pooling
from synthdp.inference.analyses import analysis_of
from synthdp.inference.combining import DEFAULT_RULE, combine
from synthdp.inference.estimates import Estimates, fitted, from_pair
from synthdp.inference.pooling import estimate_each, records
from synthdp.inference.variances import bootstrap_estimator, bootstrap_statistic, waiting
from synthdp.release.reading import Opened, open_copies, pool_opened
from synthdp.seeding import Streams, fresh_seed
from synthdp.stages.alignment import Known, align, lay_beside
from synthdp.stages.assessing import assess_comparison, making_of
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge as judge_draws
from synthdp.stages.gating import judge_copies
from synthdp.stages.intake import prepare
from synthdp.stages.planning import analysis_problems, plan_of, raise_if
from synthdp.synthesis.design import Design
from synthdp.synthesis.making import finish, make
from synthdp.synthesis.plan import Release
from synthdp.table import io
from synthdp.table.microdata import Microdata
from synthdp.tagging.groups import tag
from synthdp.tuning.asking import limited
from synthdp.tuning.result import Tuned
from synthdp.tuning.study import tune as tuned


def read(path: str | PathLike[str], dialect: io.Dialect | None = None, *, drop: Collection[str] = ()) -> pd.DataFrame:
    """Return the table in a file; the ending of its name says what it is. See :func:`synthdp.table.io.read`."""
    if dialect is not None and not isinstance(dialect, io.Dialect):
        raise InputError(
            "dialect: must be a synthdp.table.io.Dialect, such as Dialect(separator=';'), found "
            f"{type(dialect).__name__}."
        )
    return io.read(path_of(path, "path"), dialect or io.Dialect(), drop=names_of(drop, "drop"))


def synthesize(frame: Table, settings: Settings, *, seed: int | None = None, jobs: int = 1) -> Release:
    """Return synthetic copies of a table.

    Row i of each copy belongs to record i: shuffle before giving a copy away, or let ``synthdp run`` do all of it.

    Parameters
    ----------
    frame
        The confidential table, or its file.
    settings
        A config, a mapping with its blocks (``data`` may be left out), or its YAML file.
    seed
        A secret by default. Give one only for studies: whoever knows it can remove the mask. Differentially private
        methods draw their noise elsewhere, and warn.
    jobs
        How many threads may work.
    """
    config, jobs = config_of(settings), jobs_of(jobs)
    table = table_of(frame, config)
    plan = plan_of(config, prepare(table.frame, config, unread=table.unread))
    chosen = seed_of(config.seed if seed is None else seed)
    say_if_ignored(config, chosen)
    streams = Streams(fresh_seed() if chosen is None else chosen)
    return finish(config.synthesis, make(config.synthesis, plan, streams=streams, jobs=jobs), plan)[0]


def pool(
    copies: Any,
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
        A folder (``public/`` or its parent), one file or table or several, a release in memory, or the (estimate,
        covariance) pairs that were found on the copies elsewhere; a covariance may be a vector of variances.
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
    check_pooling(asked, ways, statistic, bootstrap, level, {"model": model, "formula": formula, "rule": rule})
    if len(asked) > 1:
        raise InputError(f"pool: give one of {' and '.join(asked)}, not both.")
    way = asked[0] if asked else None
    if settings and way != "model":
        raise InputError(f"pool: {', '.join(sorted(settings))} belong to an analysis by model and formula.")
    if way is None:
        each = copies if isinstance(copies, Sequence) and not isinstance(copies, str) else [copies]
        found = [_pair(one, number, names) for number, one in enumerate(each, start=1)]
        return Pooled.of(combine(found, rule or DEFAULT_RULE, level, title="estimates"))
    opened = open_copies(copies)
    opened.check(rule)
    if not opened.copies:
        raise InputError("copies: needs at least one copy, found none.")
    if way == "model":
        analysis = analysis_of({"name": model, "model": model, "formula": formula, "rule": rule, **settings})
        return Pooled.of(pool_opened(opened, analysis, level=level, called="formula"))
    if way == "fit":
        function = cast(Callable[[pd.DataFrame], Any], fit)
        title = getattr(function, "__name__", type(function).__name__)
        found = estimate_each(opened.copies, lambda frame: fitted(frame, function, names))
    else:
        if estimator is not None and formula is None:
            raise InputError("formula: an estimator needs one, such as 'y ~ age + C(sex)', for its y and X.")
        title = f"{type(estimator).__name__} {formula}" if estimator is not None else "statistic"
        title += f", {bootstrap} resamples"
        chosen = seed_of(seed)
        streams = Streams(fresh_seed() if chosen is None else chosen)
        found = _resampled(opened, estimator, formula, statistic, bootstrap, streams)
    pooled = combine(found, rule or opened.rule, level, title=title + records(found), **opened.layout)
    return Pooled.of(opened.noted(pooled))


def evaluate(
    frame: Table,
    copies: Copies,
    settings: Settings,
    *,
    design: Design | Mapping[str, Any] | None = None,
    rule: str | None = None,
    aligned: bool | None = None,
    holdout: Table | None = None,
    judge: bool = False,
    jobs: int = 1,
) -> Evaluation:
    """Return how useful and how risky synthetic copies are.

    The numbers are those that ``synthdp run`` and ``synthdp evaluate`` give for the same copies.

    Parameters
    ----------
    frame
        The confidential table, or its file.
    copies
        A release in memory; or one table or several, made by any tool; or files or the folder of a release.
    settings
        A config, a mapping with its blocks (``data`` may be left out), or its YAML file.
    design
        How tables came about, as far as measures depend on it; a release tells that itself. A mapping such as
        ``{"replaced": "all", "proper": False}`` will do. Without it the propensity score's expectation and the
        combining rule are those of partially synthetic copies of an unknown kind.
    rule
        The combining rule of analyses that name none; by default the one that the design calls for.
    aligned
        Whether row i of a copy was made from record i; by default as ``evaluation.rows`` says. Where nobody said it
        and nothing in the copies shows it, measures that need it are not taken, and ``cautions`` say so.
    holdout
        Records, or their file, that the synthesis never saw; takes the place of ``evaluation.holdout``.
    judge
        Whether the gate judges draws of the method in ``settings``, as ``synthdp run`` does, instead of these copies;
        measures that make copies again can then be taken, too. Takes as long as a run.
    jobs
        How many threads may make those draws.

    Raises
    ------
    InputError
        Listing everything that is wrong, in one sentence each.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [20.5, 31.0, 44.5, 58.0] * 5, "sex": list("fm") * 10})
    >>> settings = {"variables": {"age": {"role": "replace", "key": True, "tolerance": 3}}}
    >>> found = evaluate(people, people, settings | {"evaluation": {"utility": []}})
    >>> list(found), found.gate["passed"]
    (['utility', 'risk', 'gate'], False)
    """
    config, given, jobs = config_of(settings), copies_of(copies), jobs_of(jobs)
    table = table_of(frame, config)
    data = prepare(table.frame, config, unread=table.unread)
    known = Known(
        design=design_of(design, len(given)) or (given.design if isinstance(given, Release) else None),
        rule=text_of(rule, "rule"),
        aligned=truth_of(aligned, "aligned"),
        sure=isinstance(given, Release),
        holdout=None if holdout is None else table_of(holdout, config, "holdout").frame,
    )
    groups = tag(data, config.groups).labels
    if isinstance(given, Release):
        comparison = lay_beside(config, data, given.copies, groups=groups, known=known)
    elif all(isinstance(one, Path) for one in given):
        paths = [one for one in given if isinstance(one, Path)]
        comparison = align(config, data, paths, groups=groups, labels=table.labels, known=known)
    else:
        frames = [one for one in given if isinstance(one, pd.DataFrame)]
        comparison = lay_beside(config, data, frames, groups=groups, known=known)
    raise_if(analysis_problems(config, data.schema.names()))
    sections, notes = _measured(config, comparison, _draws(config, data, jobs) if truth_of(judge, "judge") else None)
    if isinstance(given, Release) and given.privacy is not None and config.synthesis.method == given.method:
        notes += tuple(config.synthesis.notes(plan_of(config, data)))
    return Evaluation(sections, comparison, notes)


def _draws(config: Config, data: Microdata, jobs: int) -> Draws:
    return Draws(config, plan_of(config, data), Streams(fresh_seed() if config.seed is None else config.seed), jobs)


def _measured(config: Config, comparison: Comparison, draws: Draws | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the sections of metrics.json, and what the gate has to say; judged over draws, where there are any."""
    making = None if draws is None else making_of(config, draws.plan, draws.jobs)
    found = assess_comparison(config, comparison, making)
    if draws is None:
        judged = judge_copies(config, comparison, found)
    else:
        judged = judge_draws(draws, holdout=comparison.holdout)
    return {"utility": found.utility, "risk": found.risk, "gate": judged.section()}, judged.notes


def compare(
    frame: Table | Callable[..., Any],
    methods: Any = None,
    settings: Settings | None = None,
    *,
    seeds: int | Sequence[int] = 5,
    measures: Any = (),
    analyses: Mapping[str, Callable[[pd.DataFrame], Any]] | None = None,
    holdout: Table | None = None,
    truth: Mapping[str, Any] | None = None,
    n: int | None = None,
    jobs: int = 1,
    out: str | Path | None = None,
) -> MethodMap:
    """Return several methods on one risk–utility map; publishes nothing.

    Parameters
    ----------
    frame
        The confidential table, or its file. Or a simulator, a function rng → table (of n and rng where it takes n):
        then every seed draws a table, and bias, RMSE, coverage and width of intervals are lines of the table too.
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
        Records, or their file, like the table's that no method saw: the yardstick of what members lose.
    truth
        For a simulator, term → value, or analysis → term → value; designs of ``synthdp.datasets`` bring their own.
    n
        How many records a simulator draws; 500 by default.
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
    ...     "masks": {"age": {"method": "gaussian", "sd": 1.0}},
    ...     "evaluation": {"utility": ["panel"], "risk": ["linkability"]},
    ... }
    >>> studied = compare(voters, ["mi", "da_mi"], settings, seeds=2)
    >>> studied
    MethodMap(2 methods x 2 seeds, 16 lines)
    """
    folder, config = folder_of(out), config_of(settings if settings is not None else {})
    return compared(
        table_of(frame, config) if frame is None or isinstance(frame, str | PathLike | pd.DataFrame) else frame,
        methods,
        config,
        seeds=seeds,
        measures=measures,
        analyses=analyses,
        holdout=None if holdout is None else table_of(holdout, config, "holdout").frame,
        truth=truth,
        n=n,
        jobs=jobs_of(jobs),
        out=folder,
    )


def tune(
    frame: Table,
    settings: Settings,
    *,
    max_risk: Mapping[str, float] | None = None,
    budget: str | int | None = None,
    seed: int | None = None,
    jobs: int = 1,
    out: str | Path | None = None,
) -> Tuned:
    """Return the most useful settings that stay within every limit of the gate; publishes nothing.

    Parameters
    ----------
    frame
        The confidential table, or its file.
    settings
        A config, a mapping with its blocks (``data`` may be left out), or its YAML file. Its ``tuning`` block says what
        may be varied and what is aimed at.
    max_risk
        Limits on risks by name, in place of those of the settings: ``{"max_individual": 0.2}``.
    budget
        How long it may take ("90s", "20m", "1h"), or how many trials (40).
    seed
        A secret by default. The same seed makes the same trials.
    jobs
        How many threads may work.
    out
        A folder, where every finished trial is kept, so that a search that was killed goes on when it is called again;
        ``tuned.yaml``, table and report are written there.

    Raises
    ------
    GateRefused
        When nothing satisfies the limits: which one binds, who or what is to blame, what would free it.

    Examples
    --------
    >>> import synthdp
    >>> voters = synthdp.datasets.anes96()[["age", "educ", "vote"]].head(100)
    >>> settings = {
    ...     "variables": {"age": {"role": "replace", "key": True, "tolerance": 3}, "educ": {"key": False}},
    ...     "tuning": {"vary": ["masks"]},
    ... }
    >>> tuned = tune(voters, settings, budget="20m")  # doctest: +SKIP
    >>> tuned.settings.masks["age"].method  # doctest: +SKIP
    'gaussian'
    """
    config = config_of(settings)
    chosen, folder = seed_of(config.seed if seed is None else seed), folder_of(out)
    config = limited(config.model_copy(update={"seed": chosen}), limits_of(max_risk))
    if isinstance(frame, str | PathLike) and str(config.data.path) == IN_MEMORY:
        # tuned.yaml names the file that was tuned for
        data = config.data.model_copy(update={"path": path_of(frame, "frame")})
        config = config.model_copy(update={"data": data})
    return tuned(
        config,
        table=table_of(frame, config),
        budget=None if budget is None else str(budget),
        out=folder,
        resume=folder is not None,
        jobs=jobs_of(jobs),
    )


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
