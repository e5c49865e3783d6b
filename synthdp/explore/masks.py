"""How strong the masks are, as sliders: one for every masked column, and one for every risk group that stands out.

A slider has steps of half an octave, as ``tune`` has: two steps are twice the noise. The unit is that of
``tuning.strengths``: the noise's spread over the column's own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthdp.config import Config
from synthdp.stages.kept_advice import given_settings
from synthdp.table.microdata import Microdata
from synthdp.tagging.groups import HIGH, LOW, MEDIUM, Rules
from synthdp.tuning.strengths import Masked, masked_columns, usual_masks

LEAST, MOST = -8, 8
MOST_STRONGER = 6


@dataclass(frozen=True)
class Slider:
    """One slider.

    Parameters
    ----------
    name
        The column, or the risk group.
    step
        Where it stands: half octaves around a noise as large as the column's own spread; for a group, how much
        stronger its masks are than those of everybody else.
    says
        What that means, in words.
    """

    name: str
    step: int
    says: str
    low: int = LEAST
    high: int = MOST


def columns_of(config: Config, data: Microdata) -> tuple[Masked, ...]:
    """Return the columns that have a slider."""
    return masked_columns(data, config.masks)


def groups_of(config: Config) -> tuple[str, ...]:
    """Return the risk groups that may have stronger masks than everybody else."""
    if isinstance(config.groups, Rules):
        return tuple(name for name in config.groups.rules if name != LOW)
    return (MEDIUM, HIGH)


def sliders(config: Config, data: Microdata) -> tuple[tuple[Slider, ...], tuple[Slider, ...]]:
    """Return the sliders of columns and of risk groups as the config has them."""
    columns = columns_of(config, data)
    mine = tuple(Slider(one.name, _step(one.strength()), one.given.describe()) for one in columns)
    theirs = []
    for group in groups_of(config):
        block = config.masks_by_group.get(group, {})
        others = [
            _step(Masked(one.name, one.levels, one.key, one.spread, block[one.name]).strength()) - _step(one.strength())
            for one in columns
            if one.name in block
        ]
        step = max(others, default=0)
        said = "the same masks as everybody else" if not step else f"noise {2 ** (step / 2):.2g} times as large"
        theirs.append(Slider(group, step, said, 0, MOST_STRONGER))
    return mine, tuple(theirs)


def steps_of(config: Config, data: Microdata) -> tuple[dict[str, int], int]:
    """Return how strong the masks are by column, and how much stronger those of the riskiest group."""
    mine, theirs = sliders(config, data)
    return {one.name: one.step for one in mine}, max((one.step for one in theirs), default=0)


def moved(config: Config, data: Microdata, column: str, step: int) -> dict[str, Any]:
    """Return the whole config with one column's mask as strong as its slider says, in every risk group."""
    columns = {one.name: one for one in columns_of(config, data)}
    _, groups = sliders(config, data)
    raw = given_settings(config)
    raw["masks"] = {**raw.get("masks", {}), column: _written(columns[column], step)}
    stronger = {one.name: one.step for one in groups if one.step}
    blocks = {group: dict(block) for group, block in raw.get("masks_by_group", {}).items()}
    for group, more in stronger.items():
        blocks[group] = {**blocks.get(group, {}), column: _written(columns[column], step + more)}
    return _with_groups(raw, blocks)


def protected(config: Config, data: Microdata, group: str, more: int) -> dict[str, Any]:
    """Return the whole config with a risk group's masks so many half octaves stronger than everybody else's."""
    columns = columns_of(config, data)
    raw = given_settings(config)
    blocks = {name: dict(block) for name, block in raw.get("masks_by_group", {}).items()}
    left = {name: mask for name, mask in blocks.get(group, {}).items() if name not in {one.name for one in columns}}
    more_of = {one.name: _written(one, _step(one.strength()) + more) for one in columns} if more else {}
    return _with_groups(raw, {**blocks, group: {**left, **more_of}})


def shifted(config: Config, data: Microdata, by: int) -> dict[str, Any]:
    """Return the whole config with all masks stronger or weaker by so many half octaves."""
    mine, theirs = sliders(config, data)
    columns = {one.name: one for one in columns_of(config, data)}
    raw = given_settings(config)
    at = {one.name: min(max(one.step + by, LEAST), MOST) for one in mine}
    raw["masks"] = {**raw.get("masks", {}), **{name: _written(columns[name], step) for name, step in at.items()}}
    blocks = {group: dict(block) for group, block in raw.get("masks_by_group", {}).items()}
    for one in theirs:
        if one.step:
            blocks[one.name] = blocks.get(one.name, {}) | {
                name: _written(columns[name], step + one.step) for name, step in at.items()
            }
    return _with_groups(raw, blocks)


def masked_too(config: Config, data: Microdata) -> dict[str, Any]:
    """Return the whole config with the usual mask for every replaced column that has none."""
    raw = given_settings(config)
    new = {name: _block(mask) for name, mask in usual_masks(data, tuple(config.masks)).items()}
    return {**raw, "masks": {**raw.get("masks", {}), **new}}


def _with_groups(raw: dict[str, Any], blocks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    kept = {group: dict(block) for group, block in blocks.items() if block}
    if kept or "masks_by_group" in raw:
        raw["masks_by_group"] = kept
    return raw


def _step(strength: float) -> int:
    return min(max(round(2 * math.log2(strength)), LEAST), MOST)


def _written(one: Masked, step: int) -> dict[str, Any]:
    return _block(one.of(2 ** (step / 2)))


def _block(mask: Any) -> dict[str, Any]:
    return {"method": mask.method, **given_settings(mask)}
