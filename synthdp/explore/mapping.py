"""The map of risk against usefulness, drawn by ``tune``'s own picture as trials come in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from synthdp.config import Config
from synthdp.evaluation.blocks import Table, number
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.verdict import UNDECIDED
from synthdp.explore.trials import Tried
from synthdp.report.plots import Figure
from synthdp.synthesis.imputed import DaMi
from synthdp.table.microdata import Microdata
from synthdp.tuning.drawing import front
from synthdp.tuning.space import Space, told
from synthdp.tuning.strengths import masked_columns
from synthdp.tuning.trials import Trial

CAPTION = (
    "Each circle is a trial that was thrown away: settings drawn a few times and attacked by every intruder that a "
    "limit reads. Left of the dashed line every risk that masks can change is within its limit. The star is where the "
    "settings stand now. A few draws leave doubt; the verdict is judged on more."
)


# of usefulness; what lies closer together is not told apart by a few draws
NARROW = 0.02
# what is kept as it is gives these away, whatever masks do
BEYOND_MASKS = ("max_exposed", UNDECIDED)


def movable(trial: Trial) -> Trial:
    """Return a trial with the risks that masks can change."""
    checks = tuple(one for one in trial.checks if one.name not in BEYOND_MASKS)
    passed = all(one.passed for one in checks) and math.isfinite(trial.use)
    return replace(trial, checks=checks, passed=passed)


def fixed(trial: Trial) -> str:
    """Return in a sentence which limit is broken whatever masks do; empty where none is."""
    over = [one for one in trial.checks if one.name in BEYOND_MASKS and not one.passed]
    if not over:
        return ""
    worst = over[0]
    return (
        f"Besides, {LIMITS[worst.name].brief if worst.name in LIMITS else worst.name}: {number(worst.deciding)}, limit "
        f"{number(worst.limit)}. That is due to columns that are kept, and no mask changes it: see Columns."
    )


@dataclass(frozen=True)
class Seen:
    """What the picture is drawn of."""

    space: Space
    trials: Sequence[Trial]
    chosen: Trial


def space_of(config: Config, data: Microdata) -> Space:
    """Return what names the trials on the map."""
    made = config.synthesis
    model, copies, draw = (made.association, made.copies, made.mask_draw) if isinstance(made, DaMi) else ("", 1, "")
    return Space(config, masked_columns(data, config.masks), (), (str(model),), (copies,), (str(draw),))


def drawn(config: Config, data: Microdata, tried: Sequence[Tried], now: Tried | None) -> Figure | None:
    """Return the map; None before the first trial has come to something."""
    if not tried:
        return None
    space = space_of(config, data)
    names = tuple(one.name for one in space.columns)
    shown = [movable(one.drawn(names)) for one in tried]
    here = next((movable(one.drawn(names)) for one in tried if now is not None and one.mark == now.mark), None)
    found = front(Seen(space, shown, here or shown[-1]))
    least, most = min(one.use for one in shown), max(one.use for one in shown)
    if most - least < NARROW:  # such as one trial alone, around which an axis of its own would run from 0 to 1.5
        found.layout["yaxis"] |= {"range": [least - NARROW, most + NARROW]}
    marks = [trace for trace in found.data[:-1] if trace["x"]]
    star = {**found.data[-1], "name": "these settings"}
    if here is not None:
        marks.append(star)
        where = (
            f"These settings have a usefulness of {here.use:.3f}; their largest risk is {here.ratio:.2f} of its limit."
        )
    else:
        where = "These settings have not been tried yet."
    return replace(found, data=marks, caption=CAPTION, alt=f"Map of {len(shown)} trials. {where}")


def listed(config: Config, data: Microdata, tried: Sequence[Tried]) -> Table:
    """Return the trials beside the map, the last one first."""
    space = space_of(config, data)
    names = tuple(one.name for one in space.columns)
    rows = []
    for number_of, one in reversed(list(enumerate(tried, start=1))):
        trial = movable(one.drawn(names))
        worst = max(trial.worst().values(), key=lambda check: (check.deciding or 0) / (check.limit or 1), default=None)
        binding = "" if worst is None else f"{LIMITS[worst.name].brief if worst.name in LIMITS else worst.name}"
        rows.append(
            (
                str(number_of),
                told(space, trial.shape),
                number(round(trial.use, 3)),
                number(round(trial.ratio, 3)),
                "✔ within" if trial.passed else "✘ over",
                binding,
            )
        )
    head = (
        "Trial",
        "Masks (octaves from the column's own spread), model, copies",
        "Usefulness",
        "Risk / limit",
        "Limits",
        "Closest limit",
    )
    return Table("Trials of this session, the last one first", head, tuple(rows), "llrrll")
