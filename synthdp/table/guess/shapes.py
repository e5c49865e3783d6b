"""Formulas that may have made a column, the simplest first: tried on a few records, so to be checked on all."""

from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword

import numpy as np

from synthdp.arrays import Booleans, Floats
from synthdp.table.microdata import Microdata

FEWEST_APART = 10
MOST_LEVELS = 60
CLOSE = 1e-6
EXACT_R2 = 1 - 1e-11
MOST_UNKNOWN = 0.01
FEWEST_SUMMED, MOST_SUMMED, MOST_PICKED = 3, 30, 8

Forms = Iterator[tuple[str, tuple[str, ...]]]


def _same(a: Floats, b: Floats) -> Booleans:
    """Return along the first axis whether all numbers agree as far as single precision does."""
    with np.errstate(all="ignore"):
        close: Booleans = np.abs(a - b) <= CLOSE * np.maximum(1.0, np.abs(b))
    return np.asarray(close.all(axis=0))


def of_one(others: Sequence[str], table: Floats, y: Floats) -> Forms:
    """Yield the column itself, its log, powers, root, a line through it, and one over a line."""
    column = y[:, None]
    with np.errstate(all="ignore"):
        shapes = {
            "{}": table,
            "log({})": np.log(table),
            "log({} + 1)": np.log1p(table),
            "log(max({}, 1))": np.log(np.maximum(table, 1)),
            "{} ** 2": table**2,
            "{} ** 3": table**3,
            "{} ** 2 / 100": table**2 / 100,
            "sqrt({})": np.sqrt(table),
            "exp({})": np.exp(table),
            "1 / {}": 1 / table,
            "log({} / 100)": np.log(table / 100),
            "log({} / 1000)": np.log(table / 1000),
        }
    for shape, values in shapes.items():
        for at in np.flatnonzero(_same(values, column)).tolist():
            yield shape.format(quoted(others[at])), (others[at],)
    yield from _lines(others, table, y, "{}")
    if not (y == 0).any():
        yield from _lines(others, table, 1 / y, "1 / ({})")


def _lines(others: Sequence[str], table: Floats, y: Floats, shape: str) -> Forms:
    """Yield lines through a column, within a shape."""
    centred = table - table.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    moved = y - y.mean()
    with np.errstate(all="ignore"):
        r2 = np.nan_to_num((centred * moved[:, None]).sum(axis=0) / (norm * np.sqrt((moved**2).sum()))) ** 2
    for at in np.flatnonzero(r2 > EXACT_R2).tolist():
        slope, constant = np.polyfit(table[:, at], y, 1)
        yield from ((shape.format(form), (others[at],)) for form in _line([slope], constant, [others[at]]))


def of_two(others: Sequence[str], table: Floats, y: Floats) -> Forms:
    """Yield products and ratios of two columns."""
    first = y[:, None]
    with np.errstate(all="ignore"):
        for at, name in enumerate(others):
            x = table[:, [at]]
            for beside in np.flatnonzero(_same(x * table, first)).tolist():
                if beside > at:
                    yield f"{quoted(name)} * {quoted(others[beside])}", (name, others[beside])
            for beside in np.flatnonzero(_same(x / table, first)).tolist():
                if beside != at:
                    yield f"{quoted(name)} / {quoted(others[beside])}", (name, others[beside])


def sums(others: Sequence[str], table: Floats, y: Floats, *, clipped: bool) -> Forms:
    """Yield a·x + b·z + c of two columns, also cut off at zero."""
    rows = (y != 0) if clipped else np.ones(len(y), dtype=np.bool_)
    usable = np.flatnonzero(np.isfinite(table[rows]).all(axis=0) & (np.ptp(table[rows], axis=0) > 0))
    if rows.sum() < FEWEST_APART or len(usable) < 2:
        return
    x, target = table[np.ix_(rows, usable)], y[rows]
    with np.errstate(all="ignore"):
        together = np.corrcoef(np.column_stack([target, x]), rowvar=False)
        a, c = together[0, 1:], together[1:, 1:]
        r2 = (a[:, None] ** 2 + a[None, :] ** 2 - 2 * a[:, None] * a[None, :] * c) / (1 - c**2)
    one_does = a**2 > EXACT_R2
    good = np.nan_to_num(np.triu((r2 > EXACT_R2) & (c**2 < EXACT_R2) & ~one_does[:, None] & ~one_does[None, :], 1))
    for i, j in np.argwhere(good):
        pair = [others[usable[i]], others[usable[j]]]
        design = np.column_stack([x[:, i], x[:, j], np.ones(len(x))])
        slopes = np.linalg.lstsq(design, target, rcond=None)[0]
        for form in _line(slopes[:2].tolist(), float(slopes[2]), pair):
            yield form, tuple(pair)
            if clipped:
                yield f"max({form}, 0)", tuple(pair)


def totals(others: Sequence[str], table: Floats, y: Floats) -> Forms:
    """Yield sums and means of three columns or more: neighbours in the file, or those that explain most, one by one."""
    whole: Booleans = np.asarray(np.isfinite(table).all(axis=0))
    kept = [name for name, usable in zip(others, whole, strict=True) if usable]
    table = table[:, whole]
    if len(kept) < FEWEST_SUMMED or float(np.ptp(y)) == 0:
        return
    for size in range(FEWEST_SUMMED, min(MOST_SUMMED, len(kept)) + 1):
        sums = np.lib.stride_tricks.sliding_window_view(table, size, axis=1).sum(axis=2)
        for divisor in (1, size):
            for at in np.flatnonzero(_same(sums / divisor, y[:, None])).tolist():
                yield _total(kept[at : at + size], divisor), tuple(kept[at : at + size])
    chosen, missed = list[int](), y
    while len(chosen) < min(MOST_PICKED, len(kept)) and float(np.ptp(missed)) > 0:
        centred = table - table.mean(axis=0)
        with np.errstate(all="ignore"):
            along = np.nan_to_num(missed @ centred / np.sqrt((centred**2).sum(axis=0)))
        along[chosen] = 0
        chosen.append(int(np.argmax(along)))
        missed = y - table[:, chosen].sum(axis=1)
        if len(chosen) >= FEWEST_SUMMED and _same(missed[:, None] + y[:, None], y[:, None])[0]:
            used = [kept[at] for at in sorted(chosen)]
            yield _total(used, 1), tuple(used)
            return


def _total(used: Sequence[str], divisor: int) -> str:
    text = " + ".join(quoted(name) for name in used)
    return text if divisor == 1 else f"({text}) / {divisor}"


def _line(slopes: Sequence[float], constant: float, used: Sequence[str]) -> Iterator[str]:
    size = max(abs(slope) for slope in slopes)
    for digits in (3, 6, 10):
        shown = [f"{slope:.{digits}g}" for slope in slopes]
        if any(abs(float(text)) < 1e-8 * size for text in shown):
            continue
        terms = [
            quoted(name) if text == "1" else f"{text} * {quoted(name)}" for text, name in zip(shown, used, strict=True)
        ]
        last = float(f"{constant:.{digits}g}") if abs(constant) > CLOSE * max(size, 1) else 0.0
        text = " + ".join([*terms, *([f"{last:.10g}"] if last else [])])
        yield text.replace("+ -1 * ", "- ").replace("+ -", "- ")


def indicators(data: Microdata, others: Mapping[str, Floats], y: Floats) -> Forms:
    """Yield conditions on one column under which a column of 0 and 1 is 1."""
    known = np.isfinite(y)
    if not np.isin(y[known], (0.0, 1.0)).all():
        return
    for name, x in others.items():
        both = known & np.isfinite(x)
        yes, no = x[both & (y == 1)], x[both & (y == 0)]
        if min(len(yes), len(no)) < FEWEST_APART or both.sum() < (1 - MOST_UNKNOWN) * known.sum():
            continue
        shown = quoted(name)
        if len(np.unique(x[both])) == 2:
            continue
        if yes.min() > no.max():
            yield f"where({shown} >= {edge(float(no.max()), float(yes.min()))}, 1, 0)", (name,)
        elif yes.max() < no.min():
            yield f"where({shown} < {edge(float(yes.max()), float(no.min()))}, 1, 0)", (name,)
        elif (yes == yes[0]).all() and not (no == yes[0]).any():
            yield f"where({shown} == {yes[0]:g}, 1, 0)", (name,)
    yield from _of_texts(data, y, known)


def _of_texts(data: Microdata, y: Floats, known: Booleans) -> Forms:
    for column in data.schema.columns:
        if len(column.levels) < 3 or len(column.levels) > MOST_LEVELS or data.frame[column.name].dtype.kind in "iufb":
            continue
        codes = data.codes(column.name)
        yes = np.unique(codes[known & (y == 1)])
        if len(yes) == 1 and yes[0] >= 0 and not (codes[known & (y == 0)] == yes[0]).any():
            level = str(column.levels[int(yes[0])])
            literal = f"'{level}'" if "'" not in level else f'"{level}"'
            yield f"where({quoted(column.name)} == {literal}, 1, 0)", (column.name,)


def edge(below: float, above: float) -> str:
    """Return the roundest number in (below, above]: an edge of the data's own would be somebody's value."""
    for digits in range(1, 16):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(max(abs(above), abs(below), 1e-12))))
        rounded = float(np.floor(above * scale) / scale)
        if rounded > below:
            return f"{rounded:.15g}"
    return f"{above:.15g}"


def quoted(name: str) -> str:
    """Return a column as expressions name it."""
    return name if name.isidentifier() and not iskeyword(name) else f"`{name}`"
