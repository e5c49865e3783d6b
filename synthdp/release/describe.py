"""What a data user is told about a release: codebook and release.json, none of it from the true values."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp import __version__
from synthdp.designs import Design
from synthdp.io import Labels, spelled
from synthdp.microdata import codes
from synthdp.privacy.guarantees import Guarantee, section_of
from synthdp.release.reading import RELEASE_VERSION, file_names
from synthdp.schema import Column, Kind, Role, Schema

_ROLES = {Role.REPLACE: "replaced", Role.KEEP: "kept", Role.DERIVED: "derived"}


def codebook(
    schema: Schema,
    copies: Sequence[pd.DataFrame],
    *,
    declared_levels: Collection[str] = (),
    labels: Labels | None = None,
) -> pd.DataFrame:
    """Return one row per released column: name, kind, role, levels, public bounds, decimals, labels, when it applies.

    And how it was made coarser: in which way, not by how much, as a topcode may be a person's value.

    Parameters
    ----------
    schema
        The resolved columns.
    copies
        The released tables. Only levels that occur in them are listed: a level that the data had and the copies do
        not would tell that someone with it exists.
    declared_levels
        Columns whose levels the config states; these are public and listed in full.
    labels
        Those that may be published (`synthdp.io.published`).
    """
    labels = labels or Labels()
    rows = []
    for column in schema.columns:
        bounds = column.bounds if column.bounds_public and column.bounds is not None else (None, None)
        levels = column.levels if column.name in declared_levels else _released_levels(column, copies)
        rows.append(
            {
                "name": column.name,
                "kind": str(column.kind),
                "role": _ROLES[column.role],
                "levels": json.dumps(spelled(levels), ensure_ascii=False) if column.kind.categorical else None,
                "lower": bounds[0],
                "upper": bounds[1],
                "decimals": _decimals(column),
                "label": labels.variables.get(column.name),
                "value_labels": _value_labels(labels, column.name),
                "applies_when": column.applies_when,
                "coarsened": ", ".join(column.coarsened) or None,
            }
        )
    return pd.DataFrame(rows).astype({"lower": "float64", "upper": "float64", "decimals": "float64"})


def describe(
    schema: Schema,
    *,
    method: str,
    imputations: int,
    copies: int,
    mask_draw: str | None,
    rule: str,
    records: int,
    masks: Mapping[str, str],
    format: str,
    design: Design | None = None,
    privacy: Guarantee | None = None,
    escaped_formulas: bool = False,
) -> dict[str, Any]:
    """Return the contents of ``release.json``.

    Parameters
    ----------
    schema
        The resolved columns.
    method
        How the copies were made (``da_mi``, ``mi``).
    imputations, copies
        m completed originals, and r copies of each.
    mask_draw
        ``per_copy``, ``once`` or ``once_orthogonal``; None when nothing was masked.
    rule
        The combining rule the design calls for.
    records
        Rows of each copy.
    masks
        The mask's method by column; strengths stay out, as they may depend on the record.
    format
        Of the synthetic files.
    design
        What inference depends on beyond that; None when it is not known.
    privacy
        The guarantee of the release; ``epsilon`` is null when there is none, or when it was withdrawn.
    escaped_formulas
        Text of CSV files that a spreadsheet would take for a formula has a quotation mark before it.
    """
    return {
        "version": RELEASE_VERSION,
        "software": {"name": "synthdp", "version": __version__},
        "method": method,
        "imputations": imputations,
        "copies": copies,
        "mask_draw": mask_draw,
        "rule": rule,
        "records": records,
        "format": format,
        "files": file_names(imputations, copies, format),
        **({"escaped_formulas": True} if escaped_formulas else {}),
        "columns": [_column(column) for column in schema.columns],
        "masks": dict(masks),
        **({"design": design.facts()} if design is not None else {}),
        "privacy": section_of(privacy),
    }


def _decimals(column: Column) -> int | None:
    if column.kind.categorical:
        return None
    return 0 if column.kind is Kind.COUNT else column.decimals


def _column(column: Column) -> dict[str, str]:
    described = {"name": column.name, "kind": str(column.kind), "role": _ROLES[column.role]}
    if column.derived is not None:
        described["formula"] = column.derived
    if column.applies_when is not None:
        described["applies_when"] = column.applies_when
    return described


def _value_labels(labels: Labels, name: str) -> str | None:
    found = {str(code): text for code, text in labels.values.get(name, {}).items()}
    return json.dumps(found, ensure_ascii=False) if found else None


def _released_levels(column: Column, copies: Sequence[pd.DataFrame]) -> tuple[Any, ...]:
    if not column.kind.categorical:
        return ()
    found = [np.unique(codes(copy[column.name], column)) for copy in copies]
    return tuple(column.levels[i] for i in np.unique(np.concatenate(found)) if i >= 0)
