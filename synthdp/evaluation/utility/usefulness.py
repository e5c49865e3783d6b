"""The measures of usefulness beside pMSE and analyses, each taken when it is asked for."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.associations import evaluate_associations
from synthdp.evaluation.utility.classes import classify
from synthdp.evaluation.utility.distances import evaluate_distributions
from synthdp.evaluation.utility.prediction import evaluate_prediction
from synthdp.evaluation.utility.spread import halves
from synthdp.evaluation.utility.subgroups import evaluate_subgroups, levels_of, risk_groups
from synthdp.evaluation.utility.tables import MOST_TABLES, evaluate_tables
from synthdp.seeding import Streams

NO_TARGET = "no target was named; list the columns to predict in evaluation.targets"


@dataclass(frozen=True)
class UtilitySettings:
    """What the measures need to know beside the files; see ``config.Evaluation``."""

    targets: tuple[str, ...] = ()
    ways: tuple[int, ...] = (1, 2)
    columns: tuple[str, ...] = ()
    most: int = MOST_TABLES
    subgroups: str | None = None


DEFAULT = UtilitySettings()


def evaluate_utility(
    comparison: Comparison, asked: Collection[str], settings: UtilitySettings, *, streams: Streams
) -> dict[str, Any]:
    """Return the sections ``tables``, ``subgroups``, ``distributions``, ``correlations`` and ``prediction``.

    ``tables`` brings ``table_summary`` and, where subgroups can be told in the copies, ``subgroups`` with it.
    """
    sections: dict[str, Any] = {}
    if not {"tables", "distributions", "correlations", "prediction"} & set(asked):
        return sections
    split = halves(comparison, rng=streams.generator("evaluate", "halves"))
    if {"tables", "correlations"} & set(asked):
        classes = classify(comparison)
        if "tables" in asked:
            sections["tables"], sections["table_summary"] = evaluate_tables(
                classes,
                split,
                ways=settings.ways,
                columns=settings.columns,
                most=settings.most,
                rng=streams.generator("evaluate", "tables"),
            )
            grouping = risk_groups(comparison)
            if settings.subgroups is not None and settings.subgroups in classes.names:
                grouping = levels_of(classes, settings.subgroups)
            if grouping is not None:
                sections["subgroups"] = evaluate_subgroups(classes, grouping, split)
        if "correlations" in asked:
            sections["correlations"] = evaluate_associations(comparison, classes, split)
    if "distributions" in asked:
        sections["distributions"] = evaluate_distributions(comparison, split)
    if "prediction" in asked:
        rng = streams.generator("evaluate", "prediction")
        found = evaluate_prediction(comparison, settings.targets, rng=rng)
        sections["prediction"] = found if settings.targets else {"reason": NO_TARGET}
    return sections
