"""Columns that follow from others.

What :mod:`synthdp.table.relations` finds, and the formula where a simple one fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from synthdp.table import derived, relations
from synthdp.table.guess.shapes import edge, quoted
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata
from synthdp.table.relations import Relation
from synthdp.table.schema import Role, Schema

MOST_COLUMNS = 80
FORWARD = ("monotone", "coarsening", "function", "formula")
# bands of a number are so many, at least
BANDS = 3
POWERS = (-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Relative:
    """A column that can be told from its sources, the words for it, and the formula if one fits."""

    sources: tuple[str, ...]
    words: str
    formula: str | None


def everywhere(data: Microdata) -> dict[str, Relation]:
    """Return for each column the relation by which it follows from columns before it in the file.

    Bands of a number may also stand before it, where a formula gives them: the number does not follow from its bands.
    In a file of many columns nothing is looked for here; what would give a replaced column away is found by
    :func:`giving_away` in any case.
    """
    names = [name for name in data.schema.names() if data.frame[name].nunique() > 1]
    if len(names) > MOST_COLUMNS:
        return {}
    found: dict[str, Relation] = {}
    all_of_them = relations.find(data, kept=names, replaced=names)
    for relation in all_of_them:
        last = max(names.index(source) for source in relation.replaced)
        if last < names.index(relation.kept):
            found.setdefault(relation.kept, relation)
    for relation in all_of_them:
        # of two levels one may be whom the number is asked of, or who has none
        bands = relation.kind == "coarsening" and len(data.schema[relation.kept].levels) >= BANDS
        if not bands or relation.kept in found or len(relation.replaced) > 1:
            continue
        (number,) = relation.replaced
        # a number with hardly more values than there are levels is another name of theirs, as a density is of its area
        if data.frame[number].nunique() < 2 * len(data.schema[relation.kept].levels):
            continue
        # what the number was said to be is that it tells its bands
        own = found.get(number)
        if (own is None or own.replaced == (relation.kept,)) and describe(data, relation).formula is not None:
            found.pop(number, None)
            found[relation.kept] = relation
    return found


def giving_away(data: Microdata, kept: Sequence[str], replaced: Sequence[str]) -> tuple[Relation, ...]:
    """Return the relations by which kept columns give replaced ones away."""
    return relations.find(data, kept=kept, replaced=replaced)


def describe(data: Microdata, relation: Relation) -> Relative:
    """Return a relation in words, with its formula where a simple one reproduces the column."""
    formula = None
    if relation.kind in FORWARD:
        forms = _forms(data, relation.kept, relation.replaced)
        formula = next((form for form in forms if _fits(data, relation.kept, form)), None)
    return Relative(relation.replaced, words(relation), formula)


def words(relation: Relation) -> str:
    """Return what a column is to its sources."""
    sources = " and ".join(relation.replaced)
    what = {"determines": "determines", "near-copy": "nearly a copy of", "coarsening": "a coarsening of"}
    return f"{what.get(relation.kind, 'a function of')} {sources}"


def _fits(data: Microdata, name: str, form: str) -> bool:
    columns = [
        column.model_copy(update={"role": Role.DERIVED, "derived": form}) if column.name == name else column
        for column in data.schema.columns
    ]
    return not derived.problems(Microdata(data.frame, Schema(columns=tuple(columns))))


def _forms(data: Microdata, name: str, sources: Sequence[str]) -> Iterator[str]:
    """Yield simple formulas that may give a column, the simplest first."""
    schema = data.schema
    if any(schema[source].kind.categorical for source in sources):
        return
    inputs = [data.numbers(source) for source in sources]
    if schema[name].kind.categorical:
        yield from _cuts(data, name, sources[0], inputs[0]) if len(sources) == 1 else ()
        return
    y = data.numbers(name)
    known = np.isfinite(np.column_stack([y, *inputs])).all(axis=1)
    y, inputs = y[known], [values[known] for values in inputs]
    names = [quoted(source) for source in sources]
    if len(sources) == 1:
        yield from _of_one(y, inputs[0], names[0])
    yield from _linear(y, inputs, names)
    yield from _powers(y, inputs, names)


def _of_one(y: Floats, x: Floats, name: str) -> Iterator[str]:
    for shape, change, back in (
        ("log({})", np.exp, "exp"),
        ("sqrt({})", np.square, "square"),
        ("exp({})", np.log, "log"),
    ):
        with np.errstate(all="ignore"):
            moved = change(y) - x
        if back != "log" or bool((y > 0).all()):
            shift = float(f"{np.median(moved):.6g}")
            # a rounded column shows its shift with an error, so round it further
            for digits in (3, 6):
                plain = float(f"{shift:.{digits}g}") if abs(shift) > 1e-6 else 0.0
                yield shape.format(f"{name} {'-' if plain < 0 else '+'} {abs(plain):g}" if plain else name)
    yield f"round({name})"
    yield f"floor({name})"


def _linear(y: Floats, inputs: Sequence[Floats], names: Sequence[str]) -> Iterator[str]:
    design = np.column_stack([*inputs, np.ones(len(y))])
    slopes = np.linalg.lstsq(design, y, rcond=None)[0]
    for digits in (3, 6, 10):
        terms = [f"{_rounded(slope, digits)} * {name}" for slope, name in zip(slopes, names, strict=False)]
        constant = _rounded(slopes[-1], digits)
        yield " + ".join([*terms, *([constant] if constant != "0" else [])]).removeprefix("1 * ")


def _powers(y: Floats, inputs: Sequence[Floats], names: Sequence[str]) -> Iterator[str]:
    if bool((y <= 0).any()) or any(bool((values <= 0).any()) for values in inputs):
        return
    for powers in product(POWERS, repeat=len(inputs)):
        factor = np.log(y) - sum(p * np.log(values) for p, values in zip(powers, inputs, strict=True))
        if float(np.std(factor)) < 1e-3:
            shown = " * ".join(f"{name} ** {power:g}" for name, power in zip(names, powers, strict=True))
            for digits in (3, 6, 10):
                yield f"{_rounded(float(np.exp(np.median(factor))), digits)} * {shown}"


def _cuts(data: Microdata, name: str, source: str, x: Floats) -> Iterator[str]:
    codes, levels = data.codes(name), data.schema[name].levels
    both = (codes != MISSING) & np.isfinite(x)
    used = sorted(set(codes[both].tolist()), key=lambda code: float(x[both & (codes == code)].min()))
    ranges = [(x[both & _is(codes, code)].min(), x[both & _is(codes, code)].max()) for code in used]
    edges = [float(edge(float(low[1]), float(high[0]))) for low, high in pairwise(ranges)]
    shown = ", ".join(f"{one:g}" for one in edges)
    labels = ", ".join(_literal(str(levels[code])) for code in used)
    # every edge must part the levels; where ranges overlap it would not
    apart = all(bool(ranges[i][1] < one) for i, one in enumerate(edges))
    if edges and apart and edges == sorted(set(edges)):
        yield f"cut({quoted(source)}, [{shown}], [{labels}])"
        yield f"cut({quoted(source)}, [{shown}])"


def _is(codes: Codes, code: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    return np.asarray(codes == code)


def _rounded(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if abs(value) > 1e-8 else "0"


def _literal(text: str) -> str:
    return f"'{text}'" if "'" not in text else f'"{text}"'
