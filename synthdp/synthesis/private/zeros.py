"""What cannot be, as somebody declared it: cells of tables that hold nobody, whatever the noise says.

Three declarations say so: ``zeros`` of the method (conditions under which there is nobody), ``constraints`` of the
config (what is true of everybody), and ``applies_when`` of a column (who has a value in it at all). Each becomes a
table over the columns that it names, in which a cell is ruled out when no record in it could be: of a bin, all its
values are tried. These tables are part of the model, so that it gives such cells no mass.

A bin begins wherever a declaration on one number changes what can be. Bins of two numbers that hang together by one may
hold values of both kinds; records drawn from them that break it get other values of the same cells.

Nothing here looks at a record, so that it costs nothing; that the data keep what was declared is a condition of the
guarantee, like their levels and bounds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.errors import InputError, Unfinished
from synthdp.synthesis.constraints import violated
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.domain import Axis, Domain
from synthdp.synthesis.private.junction import Columns, Junction, blocks_of, cells_of
from synthdp.table import applies, expressions
from synthdp.table.coded import first_row
from synthdp.table.microdata import Codes

MOST_TRIED = 4_000_000
MOST_RULED = 1_000_000
MOST_ROUNDS = 200
Ruled = Mapping[Columns, Booleans]
"""By columns: which cells hold nobody."""


@dataclass(frozen=True)
class Declaration:
    """One thing that cannot be: where it stands, the columns it takes, and which rows break it."""

    where: str
    names: frozenset[str]
    broken: Callable[[pd.DataFrame], Booleans]


def declarations(plan: Plan, zeros: Sequence[str]) -> tuple[Declaration, ...]:
    """Return everything that was declared to be impossible, as far as it can be read."""
    found = [
        Declaration(f"{where}, number {number}", names, broken(text))
        for where, texts, broken in (("synthesis.zeros", zeros, _there), ("constraints", plan.constraints, _against))
        for number, text in enumerate(texts, start=1)
        if (names := _names(text)) is not None
    ]
    for column in applies.conditional(plan.data.schema):
        names = frozenset(applies.needs(column) | {column.name})
        found.append(Declaration(f"variables.{column.name}.applies_when", names, _beside(column.name, plan)))
    return tuple(found)


def _names(text: str) -> frozenset[str] | None:
    try:
        return frozenset(expressions.names(text))
    except InputError:
        return None


def _there(text: str) -> Callable[[pd.DataFrame], Booleans]:
    return lambda frame: expressions.evaluate(text, frame).to_numpy(dtype=bool)


def _against(text: str) -> Callable[[pd.DataFrame], Booleans]:
    return lambda frame: violated(frame, [text])


def _beside(name: str, plan: Plan) -> Callable[[pd.DataFrame], Booleans]:
    column = plan.data.schema[name]
    return lambda frame: np.asarray(~applies.holds(column, frame) & frame[name].notna().to_numpy(), dtype=np.bool_)


def zero_problems(plan: Plan, zeros: Sequence[str]) -> list[str]:
    """Return why ``zeros`` cannot be taken: not in the language, of other columns, or untrue of the data."""
    found = []
    for number, text in enumerate(zeros, start=1):
        where = f"synthesis.zeros, number {number}"
        try:
            unknown = sorted(expressions.names(text) - set(plan.data.schema.names()))
            if unknown:
                found.append(f"{where}: may name replaced columns only, found {', '.join(unknown)}.")
                continue
            holds = expressions.evaluate(text, plan.data.frame)
        except InputError as error:
            found.append(f"{where}: {error}")
            continue
        if not pd.api.types.is_bool_dtype(holds.dtype):
            found.append(f"{where}: must be a condition, true or false for each record.")
        elif holds.any():
            rows = holds.to_numpy(dtype=bool)
            found.append(
                f"{where}: {int(rows.sum())} records of the data are there; first at row {first_row(rows)}. Correct "
                "the data, or the condition."
            )
    return found


def rule_problems(plan: Plan, domain: Domain, zeros: Sequence[str]) -> list[str]:
    """Return why what was declared cannot be kept; from what is public alone."""
    found = _size_problems(plan, domain, zeros)
    if found or not declarations(plan, zeros):
        return found
    sizes, ruled = tuple(axis.size for axis in domain.axes), ruled_out(plan, domain, zeros)
    held = cells_of(sizes, blocks_of(sizes, ruled))
    if held > MOST_RULED:
        return [
            f"constraints: they hang together in a model of {held:,} cells, at most {MOST_RULED:,} can be held; use "
            "fewer bins, or leave some out."
        ]
    model = Junction.of(sizes, tuple(ruled))
    with np.errstate(invalid="ignore"):
        beliefs = model.beliefs([np.where(out, -np.inf, 0.0) for out in ruled.values()])
    if not all(np.isfinite(belief).all() for belief in beliefs):
        return ["constraints: together with zeros and applies_when they leave no cell in which anybody could be."]
    return []


def _size_problems(plan: Plan, domain: Domain, zeros: Sequence[str]) -> list[str]:
    """Return which declarations take too many values to be gone through, or columns that are computed."""
    found = []
    places = {axis.column.name: axis for axis in domain.axes}
    for one in declarations(plan, zeros):
        unknown = sorted(one.names - set(places))
        if unknown:
            found.append(f"{one.where}: DP methods keep conditions on replaced columns only, found {unknown[0]}.")
            continue
        tried = math.prod(_count(places[name]) for name in one.names)
        if tried > MOST_TRIED:
            found.append(
                f"{one.where}: its columns have {tried:,} combinations of values, at most {MOST_TRIED:,} are gone "
                "through; write numbers with fewer decimals, or split the condition."
            )
    return found


def _count(axis: Axis) -> int:
    return axis.size if axis.column.kind.categorical else axis.steps + axis.spike + axis.missing


def divided(plan: Plan, domain: Domain, zeros: Sequence[str]) -> Domain:
    """Return the domain with a bin begun wherever a declaration on one number changes what can be beside it.

    Bins then hold values of one kind. Declarations on two numbers or more are left to the draw of the values.
    """
    if not declarations(plan, zeros) or _size_problems(plan, domain, zeros):
        return domain
    place = {axis.column.name: at for at, axis in enumerate(domain.axes)}
    edges: dict[int, set[int]] = {}
    for one in declarations(plan, zeros):
        numbers = [place[name] for name in one.names if not domain.axes[place[name]].column.kind.categorical]
        if len(numbers) == 1:
            axis, rest = domain.axes[numbers[0]], [domain.axes[place[name]] for name in sorted(one.names)]
            others = [other for other in rest if other is not axis]
            broken, _ = _tried(one, [replace(axis, spike=False, missing=False), *others], plan)
            # the first axis are the number's values, in their order
            kinds = broken.reshape(axis.steps, -1)
            changes = 1 + np.flatnonzero((kinds[1:] != kinds[:-1]).any(axis=1))
            edges.setdefault(numbers[0], set()).update(map(int, changes))
    axes = [axis.begun(edges[at]) if edges.get(at) else axis for at, axis in enumerate(domain.axes)]
    return Domain(tuple(axes))


def ruled_out(plan: Plan, domain: Domain, zeros: Sequence[str]) -> Ruled:
    """Return the cells that hold nobody, by the columns of each declaration. Cost O(combinations of values)."""
    place = {axis.column.name: at for at, axis in enumerate(domain.axes)}
    found: dict[Columns, Booleans] = {}
    for one in declarations(plan, zeros):
        columns = tuple(sorted(place[name] for name in one.names))
        axes = [domain.axes[v] for v in columns]
        broken, cells = _tried(one, axes, plan)
        possible = np.zeros([axis.size for axis in axes], dtype=np.bool_)
        possible[tuple(own[~broken] for own in cells)] = True
        found[columns] = found.get(columns, np.zeros_like(possible)) | ~possible
    return {columns: out for columns, out in found.items() if out.any()}


def _tried(one: Declaration, axes: Sequence[Axis], plan: Plan) -> tuple[Booleans, list[Codes]]:
    """Return which combinations of all values break a declaration, and the cell of each; the first column slowest."""
    listed = [_listed(axis, plan.data.frame[axis.column.name]) for axis in axes]
    at = np.indices([len(cells) for _, cells in listed]).reshape(len(axes), -1)
    frame = pd.DataFrame(
        {
            axis.column.name: values.take(rows).reset_index(drop=True)
            for axis, (values, _), rows in zip(axes, listed, at, strict=True)
        }
    )
    return one.broken(frame), [own[rows] for (_, own), rows in zip(listed, at, strict=True)]


def open_cells(columns: Columns, sizes: Sequence[int], ruled: Ruled) -> int:
    """Return how many cells of a table may hold somebody, as far as declarations on some of its columns say so.

    Examples
    --------
    >>> open_cells((0, 2), (2, 3, 4), {(0,): np.array([False, True])})
    4
    """
    free = np.ones([sizes[v] for v in columns], dtype=np.bool_)
    for own, out in ruled.items():
        if set(own) <= set(columns):
            free &= ~out.reshape([sizes[v] if v in own else 1 for v in columns])
    return int(free.sum())


def _listed(axis: Axis, series: pd.Series) -> tuple[pd.Series, Codes]:
    """Return every value of a column, as the copies have it, and the cell of each."""
    if axis.column.kind.categorical:
        cells = np.arange(axis.size)
        return axis.labels(cells, series.iloc[np.zeros(axis.size, dtype=np.int64)].reset_index(drop=True)), cells
    values, cells = axis.listed()
    like = series.iloc[np.zeros(len(values), dtype=np.int64)].reset_index(drop=True)
    return axis.written(values, like), cells


def settled(draw: Callable[[], pd.DataFrame], broken: Callable[[pd.DataFrame], Booleans]) -> pd.DataFrame:
    """Return a copy whose values keep all declarations; those that do not are drawn again within their cells.

    Raises
    ------
    Unfinished
        When some still do not after ``MOST_ROUNDS`` draws.
    """
    frame = draw()
    wrong = broken(frame)
    for _ in range(MOST_ROUNDS):
        if not wrong.any():
            return frame
        again = draw()
        taken = wrong & ~broken(again)
        if taken.any():
            frame = pd.DataFrame({name: frame[name].where(~taken, again[name]) for name in frame}, index=frame.index)
        wrong &= ~taken
    raise Unfinished(
        "synthesis.bins: some bins hold hardly any value that keeps all constraints together; use bins whose edges are "
        "those of the constraints, or more of them."
    )
