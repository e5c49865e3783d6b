"""What every measure must do: ask a question, find the same twice, and tell copies of the records from strangers."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.measure import Finding, Measure, identifies, lacking
from synthdp.evaluation.utility.propensity import Propensity
from synthdp.inference.analyses import Analysis
from synthdp.table.schema import Column
from synthdp.testing.synthesis import respondents

COPIES = 2
# how far from its end a measure may stay where copies are the original: intervals from copies use other quantiles
HAIR = 0.01


@dataclass(frozen=True)
class Extreme:
    """What is known of a measure of usefulness beforehand.

    Parameters
    ----------
    figure
        One number of the section.
    itself
        What it is where copies are the original.
    shuffled
        Whether it must notice that the replaced columns of the copies were shuffled: what looks at one column at a time
        must not.
    """

    figure: Callable[[Any], float]
    itself: float
    shuffled: bool = True


def _largest(figures: Iterator[float]) -> float:
    return max(abs(figure) for figure in figures)


# by the measure's name; add your own before you run the contract
EXTREMES: dict[str, Extreme] = {
    "pmse": Extreme(lambda section: section["logit_interactions"]["value"], itself=0.0),
    "panel": Extreme(lambda section: section["mean"], itself=1.0),
    "analyses": Extreme(lambda section: section[0]["mean_ci_overlap"], itself=1.0),
    "tables": Extreme(lambda section: _largest(line["total_variation"] for line in section), itself=0.0),
    "distributions": Extreme(lambda section: _largest(line["ks"]["value"] for line in section), 0.0, shuffled=False),
    "correlations": Extreme(lambda section: _largest(line["cramers_v"]["value"] for line in section), itself=0.0),
    "moves": Extreme(lambda section: _largest(line["share"]["value"] for line in section), itself=0.0),
    "prediction": Extreme(
        lambda section: _largest(
            score["original"] - score["value"] for line in section for score in line["scores"].values()
        ),
        itself=0.0,
    ),
}


def files(*, shuffled: bool = False, moved: bool = False, order: int | None = None) -> Comparison:
    """Return a survey beside copies of it: as it is, or with every replaced column in an order of its own.

    Parameters
    ----------
    moved
        Whether numbers that were replaced are all moved to one half of their span, in an order of their own too.
    order
        In which of several orders all records stand, on both sides alike.
    """
    data = respondents()
    changed = data.schema.replaced() if shuffled or moved else ()
    rng = np.random.default_rng(6)

    def drawn(column: Column) -> pd.Series:
        values = data.frame[column.name]
        made = pd.Series(rng.permutation(values.to_numpy()), values.index)
        if moved and not column.kind.categorical:
            made = (made + values.max()) // 2
        return made.astype(values.dtype)

    copies = [data.frame.assign(**{column.name: drawn(column) for column in changed}) for _ in range(COPIES)]
    rows = np.arange(len(data)) if order is None else np.random.default_rng(order).permutation(len(data))
    place: list[pd.DataFrame] = [frame.iloc[rows].reset_index(drop=True) for frame in (data.frame, *copies)]
    # people who are not in the file
    outsiders = place[0].iloc[: len(data) // 4].assign(z=lambda frame: frame["z"].fillna(0.0) + 100)
    asked = Request(targets=("smoker",), analyses=(Analysis(name="age", model="mean", formula="age"),))
    return Comparison(place[0], tuple(place[1:]), data.schema, aligned=True, holdout=outsiders, request=asked)


def asks_a_question(measure: Measure) -> None:
    """Check that name, question and title can be shown, and that limits have names."""
    assert measure.name.isidentifier()
    assert measure.asks.endswith("?")
    assert all(limit.startswith(("max_", "min_")) for limit in measure.limits)


def section_is_json(measure: Measure) -> None:
    """Check that metrics.json can hold the section, and that the report's blocks can be made of it."""
    section = _section(measure, files(shuffled=True))
    if section is None:
        return
    json.dumps(section, allow_nan=False)
    for block in measure.blocks(section):
        assert block.title


def same_rng_same_finding(measure: Measure) -> None:
    """Check that nothing but the generator is random."""
    first, second = (_section(measure, files(shuffled=True)) for _ in range(2))
    assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def limits_are_held_against_numbers(measure: Measure) -> None:
    """Check what a limit that is no intruder's reads: a number for each target."""
    if identifies(measure) or not measure.limits or lacking(measure, files()) is not None:
        return
    judged = measure.judged(files(shuffled=True), rng=np.random.default_rng(1))
    assert all(isinstance(target, str) and isinstance(value, int | float) for target, value in judged.items())


def points_at_originals_and_not_at_strangers(measure: Measure) -> None:
    """Check an intruder's two ends: found where copies are the original, as good as never where they were shuffled."""
    if not identifies(measure) or lacking(measure, files()) is not None:
        return
    itself, strangers = (_individual(measure, files(shuffled=one)) for one in (False, True))
    assert ((itself >= 0) & (itself <= 1)).all()
    # who leaves columns that are released as they are to `exposure` finds nobody where all are
    assert not itself.any() or strangers.mean() < itself.mean() / 2
    assert strangers.mean() < 0.05


def usefulness_falls_from_the_original_to_strangers(measure: Measure) -> None:
    """Check the two ends of a measure of usefulness: best where copies are the original, worse where they are not.

    Judged are the figures that limits are held against, and what :data:`EXTREMES` declares.
    """
    ends = [_analysed(files(**how)) for how in ({}, {"shuffled": True}, {"moved": True})]
    for limit in (name for name in measure.limits if name in LIMITS and LIMITS[name].judges == "use"):
        sign = 1 if limit.startswith("min_") else -1
        best, _, worst = (_judged(measure, comparison) for comparison in ends)
        assert all(sign * best[target] >= sign * worst[target] for target in best.keys() & worst.keys())
    known = EXTREMES.get(measure.name)
    if known is None:
        return
    itself, shuffled, moved = (known.figure(_section(measure, comparison)) for comparison in ends)
    assert abs(itself - known.itself) <= HAIR
    assert abs(moved - known.itself) > 10 * HAIR
    assert (abs(shuffled - known.itself) > 2 * HAIR) == known.shuffled


def order_of_rows_does_not_matter(measure: Measure) -> None:
    """Check that an intruder gives each record about the same chance wherever it stands in the file."""
    if not identifies(measure) or lacking(measure, files()) is not None:
        return
    one, other = (_individual(measure, files(order=order)) for order in (1, 2))
    np.testing.assert_allclose(one.mean(), other.mean(), atol=0.02)


def _section(measure: Measure, comparison: Comparison) -> Any:
    found = _take(measure, comparison)
    return None if found is None else found.section()


def _judged(measure: Measure, comparison: Comparison) -> Mapping[str, float]:
    return measure.judged(comparison, rng=np.random.default_rng(1))


def _analysed(comparison: Comparison) -> Comparison:
    """Return the files with a request that looks at columns together."""
    slope = Analysis(name="slope", model="ols", formula="age ~ z")
    asked = replace(
        comparison.request, targets=("sex",), analyses=(slope,), propensity=Propensity(models=("logit_interactions",))
    )
    return replace(comparison, request=asked)


def _individual(measure: Measure, comparison: Comparison) -> Any:
    found: Any = _take(measure, comparison)
    return found.individual[np.isfinite(found.individual)]


def _take(measure: Measure, comparison: Comparison) -> Finding | None:
    """Take a measure; None where the files cannot give what it needs."""
    if lacking(measure, comparison) is not None:
        return None
    try:
        return measure.take(comparison, rng=np.random.default_rng(1))
    except InputError:
        if measure.insists:
            raise
        return None


MEASURE = (
    asks_a_question,
    section_is_json,
    same_rng_same_finding,
    limits_are_held_against_numbers,
    points_at_originals_and_not_at_strangers,
    usefulness_falls_from_the_original_to_strangers,
    order_of_rows_does_not_matter,
)
