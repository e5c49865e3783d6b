"""Which columns a program can replace, and by which family."""

import numpy as np

from synthdp.imputation.programs.families import SUITED, FamilyName
from synthdp.imputation.regression import MOST_COUNT, MOST_LEVELS
from synthdp.microdata import Microdata
from synthdp.schema import Column, Kind

WHERE = "synthesis.model.columns"


def column_problems(column: Column, data: Microdata, family: FamilyName) -> list[str]:
    """Return why a program of this family cannot replace a column."""
    where = f"variables.{column.name}"
    if column.kind is Kind.DATE:
        return [f"{where}: pymc cannot replace dates; use trees, or set role: keep."]
    if column.applies_when is not None:
        return [f"{where}: pymc cannot replace columns with applies_when; use model: regression."]
    suited = SUITED[column.kind]
    if family not in suited:
        return [
            f"{WHERE}.{column.name}.family: {family} does not suit a {column.kind} column; use {' or '.join(suited)}."
        ]
    if column.kind.categorical and len(column.levels) > MOST_LEVELS:
        return [
            f"{where}: pymc replaces columns of at most {MOST_LEVELS} levels, found {len(column.levels)}; group rare "
            "levels, or use trees."
        ]
    return _number_problems(column, data, family, where)


def _number_problems(column: Column, data: Microdata, family: FamilyName, where: str) -> list[str]:
    if column.kind.categorical:
        return []
    values = data.numbers(column.name)
    if column.kind is Kind.COUNT:
        if bad := int(np.sum((values < 0) | (np.isfinite(values) & (values != np.round(values))))):
            return [f"{where}: a count needs whole numbers from 0, found {bad} others; set kind: continuous."]
        if (np.nanmax(values) if column.bounds is None else column.bounds[1]) > MOST_COUNT:
            return [f"{where}: pymc replaces counts up to {MOST_COUNT}; set kind: continuous with family: log_normal."]
    if family == "log_normal":
        if column.transform != "none":
            return [f"{where}: transform bends the column already; use family: normal, or leave the transform out."]
        zero = column.bounds[0] if column.bounds is not None else 0.0
        if low := int(np.sum(values <= zero)):
            return [f"{where}: log_normal needs values above the lower bound (0 without one), found {low} others."]
    return []
