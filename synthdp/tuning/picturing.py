"""Trials that only the pictures need: the strength of all masks for few copies and many, and one column at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from synthdp.evaluation.gate import LIMITS
from synthdp.tuning.leaves import TREES
from synthdp.tuning.rays import HIGHEST, LOWEST
from synthdp.tuning.space import Shape
from synthdp.tuning.trials import DEAR, Laboratory, Trial

# as in the figures of reports/tuning
FEW, MANY = 3, 20
LADDER = (-4, 0, 4)
# a mean over records needs few draws, and a copy more or less of each column is compared under the same noise
DRAWS, DRAWS_OF_COLUMNS = {FEW: 2, MANY: 1}, 4
MOST_COLUMNS = 8
# of so few draws' intervals: about where those of sixty draws end
LEVEL_OF_COLUMNS = 0.35
# an octave: half as strong
WEAKER = 2
SHOWN = ("max_expected_match_rate", "max_mean_individual", "max_claims_right", "max_individual")
# cells beyond which many copies of every rung take longer than a picture is worth
LARGE = 100_000


def shown_risk(lab: Laboratory) -> str | None:
    """Return the limit whose figure is drawn against the strength: a rate where there is one."""
    return next((name for name in SHOWN if lab.space.config.limits.limit(name) is not None), None)


def strengths(lab: Laboratory, chosen: Trial, *, more: Callable[[], bool]) -> list[Trial]:
    """Try the chosen shape with few copies and with many, weaker and stronger."""
    name = shown_risk(lab)
    if name is None or "masks" not in lab.space.config.tuning.vary or chosen.shape.model == TREES:
        return []
    off = [other for other in LIMITS if other != name]
    found: list[Trial] = []
    for copies in (FEW, MANY):
        if copies == MANY and len(lab.data) * len(lab.data.schema.columns) > LARGE and lab.rows is None:
            continue
        for step in LADDER:
            rung = min(max(chosen.rung + step, LOWEST), HIGHEST)
            if more() and all(one.rung != rung or one.shape.copies != copies for one in found):
                shape = replace(chosen.shape, copies=copies)
                found.append(lab.try_out("lambda", shape, rung, draws=DRAWS[copies], whole=lab.rows is None, off=off))
    return found


def columns(lab: Laboratory, chosen: Trial, *, more: Callable[[], bool]) -> list[Trial]:
    """Try the chosen settings with the mask of one column half as strong, one column after the other."""
    varied = "masks" in lab.space.config.tuning.vary and chosen.shape.model != TREES
    if len(lab.space.columns) < 2 or not varied:
        return []
    shapes = [chosen.shape, *(weakened(chosen, place) for place in range(min(len(lab.space.columns), MOST_COLUMNS)))]
    return [
        lab.try_out(
            "column",
            shape,
            chosen.rung,
            draws=DRAWS_OF_COLUMNS,
            whole=lab.rows is None,
            off=DEAR,
            level=LEVEL_OF_COLUMNS,
        )
        for shape in shapes
        if more()
    ]


def weakened(chosen: Trial, place: int) -> Shape:
    """Return the chosen shape with one column's mask half as strong."""
    steps: Sequence[int] = chosen.shape.relative
    return replace(chosen.shape, relative=tuple(step - WEAKER * (number == place) for number, step in enumerate(steps)))
