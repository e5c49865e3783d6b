"""What every model refuses in the same words."""

from collections.abc import Sequence

from synthdp.microdata import Microdata


def settings_problems(data: Microdata, order: Sequence[str] | None, exclude: Sequence[str]) -> list[str]:
    """Return what is wrong with a model's order of columns and with the kept columns it must not see."""
    names = [column.name for column in data.schema.replaced()]
    kept = {column.name for column in data.schema.kept()}
    found = []
    if order is not None and sorted(order) != sorted(names):
        found.append(f"synthesis.model.order: must list each replaced column once ({', '.join(names)}).")
    return found + [f"synthesis.model.exclude: {name!r} is not a kept column." for name in exclude if name not in kept]


def gap_problems(data: Microdata, who: str) -> list[str]:
    """Return which replaced columns have missing values that the model cannot take."""
    gaps = {column.name: int(data.frame[column.name].isna().sum()) for column in data.schema.replaced()}
    return [
        f"variables.{name}: {who} complete replaced columns, found {missing} missing values; leave those records out "
        "of the file, or set role: keep."
        for name, missing in gaps.items()
        if missing
    ]
