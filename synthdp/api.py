"""The command line's verbs for notebooks: tables in memory instead of files."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from synthdp.config import Config, parse
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import Pooled
from synthdp.inference.pooling import pool as pool_analysis
from synthdp.intake import lay_beside, prepare
from synthdp.pipeline import assess_comparison
from synthdp.planning import plan_of
from synthdp.seeding import Streams, fresh_seed
from synthdp.synthesis.making import make
from synthdp.synthesis.protocol import Release
from synthdp.tagging.groups import tag

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
    return make(config.synthesis, plan, streams=Streams(fresh_seed() if chosen is None else chosen), jobs=jobs)


def pool(
    copies: Sequence[pd.DataFrame],
    *,
    model: Literal["ols", "logit", "probit", "poisson", "mean"],
    formula: str,
    rule: str | None = None,
    level: float = 0.95,
) -> Pooled:
    """Return one analysis of several copies, combined (Reiter 2003 unless another rule is named)."""
    return pool_analysis(copies, Analysis(name=model, model=model, formula=formula, rule=rule), level=level)


def evaluate(frame: pd.DataFrame, copies: Sequence[pd.DataFrame], settings: Settings) -> dict[str, Any]:
    """Return how useful and how risky synthetic copies are, as the sections ``utility``, ``risk`` and ``gate``.

    Parameters
    ----------
    frame
        The confidential table.
    copies
        Files made by any tool, with the same columns. Unless ``evaluation.rows`` is ``none``, row i is record i.
    """
    config = _config(settings)
    data = prepare(frame, config)
    comparison = lay_beside(config, data, copies, groups=tag(data, config.groups).labels)
    found = assess_comparison(config, comparison, "reiter2003", Streams(0))
    return {"utility": found.utility, "risk": found.risk, "gate": found.verdict.section()}


def _config(settings: Settings) -> Config:
    if isinstance(settings, Config):
        return settings
    return parse({"data": {"path": "in memory"}, **settings})
