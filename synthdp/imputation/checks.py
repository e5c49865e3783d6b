"""What every model refuses in the same words."""

from collections.abc import Sequence

from synthdp.applicability import holds, needs
from synthdp.microdata import Microdata


def settings_problems(data: Microdata, order: Sequence[str] | None, exclude: Sequence[str]) -> list[str]:
    """Return what is wrong with a model's order of columns and with the kept columns it must not see."""
    names = [column.name for column in data.schema.replaced()]
    kept = {column.name for column in data.schema.kept()}
    found = []
    if order is not None and sorted(order) != sorted(names):
        found.append(f"synthesis.model.order: must list each replaced column once ({', '.join(names)}).")
    return found + [f"synthesis.model.exclude: {name!r} is not a kept column." for name in exclude if name not in kept]


def order_problems(data: Microdata, order: Sequence[str] | None, *, joint: bool) -> list[str]:
    """Return which columns that do not apply to everyone stand too early in a model's order.

    Parameters
    ----------
    joint
        Whether they must come after all columns that apply to everyone, as in a joint draw.
    """
    columns = {column.name: column for column in data.schema.replaced()}
    if order is None or sorted(order) != sorted(columns):
        return []
    found = []
    for place, name in enumerate(order):
        later = order[place + 1 :]
        if columns[name].applies_when is None:
            continue
        early = [other for other in later if other in needs(columns[name])]
        early += [other for other in later if joint and columns[other].applies_when is None and other not in early]
        if early:
            found.append(
                f"synthesis.model.order: {name} does not apply to everyone and must come after {', '.join(early)}."
            )
    return found


def gap_problems(data: Microdata, who: str) -> list[str]:
    """Return which replaced columns have missing values, where they apply, that the model cannot take."""
    gaps = {
        column.name: int((data.frame[column.name].isna() & holds(column, data.frame)).sum())
        for column in data.schema.replaced()
    }
    return [
        f"variables.{name}: {who} complete replaced columns, found {missing} missing values; leave those records out "
        "of the file, or set role: keep."
        for name, missing in gaps.items()
        if missing
    ]
