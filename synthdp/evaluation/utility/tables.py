"""Do tables of counts come out the same? Measures of one-, two- and three-way tables of the original and a copy."""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.budget import go_on
from synthdp.evaluation.comparison import Halves, Sizes, summarise
from synthdp.evaluation.utility.classes import Classes

MOST_TABLES = 500
# a table with more cells than this is counted over the combinations that occur
DENSE = 100_000
MEASURES = (
    "pmse",
    "s_pmse",
    "voas_williamson",
    "freeman_tukey",
    "jensen_shannon",
    "hellinger",
    "total_variation",
)
Values = dict[str, float | None]


def measure(original: Floats | Codes, synthetic: Floats | Codes) -> Values:
    r"""Return how far two tables of counts are apart.

    With d and s the counts of a cell, n₁ and n₂ their totals, N = n₁ + n₂, c = n₂/N and t = d + s, over the cells that
    are not empty in both:

    * ``pmse`` = Σ t (s/t − c)²/N, the pMSE of a propensity model with one parameter per cell;
    * ``df``, the number of these cells − 1;
    * ``s_pmse`` = pmse/((1 − c)² c df/N), the ratio to its expectation for copies drawn from the original's shares;
    * ``voas_williamson`` = Σ (s − c t)²/(c (1 − c)² t): df times ``s_pmse``, and 2 Σ (s − d)²/(s + d) for equal totals;
    * ``freeman_tukey`` = 4 Σ (√s − √(d n₂/n₁))², of the same expectation;
    * ``jensen_shannon`` of the shares in bits, ``hellinger`` = √(½ Σ (√p − √q)²) and ``total_variation`` = ½ Σ |p − q|:
      0 for equal shares, 1 when no cell is common.

    Notes
    -----
    ``s_pmse`` has expectation 1 when the copy is drawn from the original's own shares, N/n₁ (2 for files of one size)
    when the files are independent samples, and less than 1 where kept columns are in the table.

    References
    ----------
    Snoke, Raab, Nowok, Dibben, Slavković (2018), JRSS A 181(3), 663–688, for pMSE and its expectation. Voas, Williamson
    (2001), Geographical and Environmental Modelling 5(2), 177–200. Freeman, Tukey (1950), Annals of Mathematical
    Statistics 21(4), 607–611. Raab, Nowok, Dibben (2021), arXiv:2109.12717, for the use of all of these on synthetic
    data.

    Examples
    --------
    >>> found = measure(np.array([30, 10]), np.array([20, 20]))
    >>> found["df"], found["total_variation"], round(found["s_pmse"], 4)
    (1, 0.25, 10.6667)
    """
    d, s = np.asarray(original, dtype=np.float64).ravel(), np.asarray(synthetic, dtype=np.float64).ravel()
    total = d + s
    filled = total > 0
    d, s, total = d[filled], s[filled], total[filled]
    n1, n2 = float(d.sum()), float(s.sum())
    if n1 == 0 or n2 == 0:
        return dict.fromkeys(("df", *MEASURES), None)
    n, c, df = n1 + n2, n2 / (n1 + n2), len(d) - 1
    squares = float(((s - c * total) ** 2 / total).sum())
    p, q = d / n1, s / n2
    return {
        "df": df,
        "pmse": squares / n,
        "s_pmse": squares / ((1 - c) ** 2 * c * df) if df else None,
        "voas_williamson": squares / ((1 - c) ** 2 * c),
        "freeman_tukey": 4 * float(((np.sqrt(s) - np.sqrt(d * (n2 / n1))) ** 2).sum()),
        "jensen_shannon": max(0.0, (_divergence(p, (p + q) / 2) + _divergence(q, (p + q) / 2)) / 2),
        "hellinger": math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2),
        "total_variation": float(np.abs(p - q).sum()) / 2,
    }


def _divergence(p: Floats, q: Floats) -> float:
    present = p > 0
    return float((p[present] * np.log2(p[present] / q[present])).sum())


def scaling(halves: Sizes, files: Sizes) -> dict[str, float]:
    """Return by what each measure of two halves is multiplied to hold for independent samples of the files' sizes.

    The expectation of ``pmse`` is proportional to n₁n₂/N³; that of ``s_pmse``, ``voas_williamson`` and
    ``freeman_tukey`` to N/n₁; of ``jensen_shannon`` to 1/n₁ + 1/n₂, of the two distances to its root.
    """
    variance = files.variance / halves.variance
    ratio = (1 - halves.share) / (1 - files.share)

    def pmse(sizes: Sizes) -> float:
        return sizes.share * (1 - sizes.share) / (sizes.first + sizes.second)

    return {
        "pmse": pmse(files) / pmse(halves),
        **dict.fromkeys(("s_pmse", "voas_williamson", "freeman_tukey"), ratio),
        "jensen_shannon": variance,
        **dict.fromkeys(("hellinger", "total_variation"), math.sqrt(variance)),
    }


def count(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the counts of all combinations of codes, the last column running fastest. Cost O(n)."""
    return np.bincount(_places(columns, sizes), minlength=math.prod(sizes))


def _places(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the cell of each record."""
    place = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        place = place * size + column
    return place


def evaluate_tables(
    classes: Classes,
    halves: Halves,
    *,
    ways: Collection[int] = (1, 2),
    columns: Collection[str] = (),
    most: int = MOST_TABLES,
    rng: np.random.Generator,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the ``tables`` entries of metrics.json and a summary of them.

    Parameters
    ----------
    classes
        Of all columns in all files.
    halves
        Halves of the original for the noise floor.
    ways
        Of how many columns the tables are.
    columns
        Only tables of these columns; all when empty.
    most
        The most tables of one number of ways: where there are more, that many are drawn at random and it is said.
    rng
        Draws them.

    Returns
    -------
    entries
        ``columns``, the measures (means over copies), their ``low`` and ``high`` over copies and the ``noise`` that
        two halves of the original give; ``per_copy`` for ``pmse`` and ``s_pmse``.
    summary
        For each number of ways the number of tables and the mean and largest ``s_pmse``; the ``matrix`` of pairwise
        ``s_pmse`` with the one-way ones on its diagonal; ``worst``, the tables with the largest ``s_pmse``; ``notes``.

    Notes
    -----
    Cost O(n M) per table: 190 two-way tables of 1,000,000 records take some seconds per file.
    """
    chosen = [place for place, name in enumerate(classes.names) if not columns or name in columns]
    entries: list[dict[str, Any]] = []
    notes: list[str] = []
    for way in sorted(set(ways)):
        number = math.comb(len(chosen), way)
        if number > most:
            notes.append(f"{most} of the {number} tables of {way} columns were drawn at random (most_tables).")
        entries += [_entry(classes, places, halves) for places in combinations(chosen, way, most, rng)]
    return entries, _summary(entries, [classes.names[place] for place in chosen], notes)


def combinations(chosen: Sequence[int], way: int, most: int, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Yield all tables of some columns, or as many as may be, drawn at random."""
    number = math.comb(len(chosen), way)
    if number <= most:
        yield from itertools.combinations(chosen, way)
        return
    taken: set[tuple[int, ...]] = set()
    while len(taken) < most:
        taken.add(tuple(sorted(int(place) for place in rng.choice(chosen, size=way, replace=False))))
    yield from sorted(taken)


def counts_of(classes: Classes, places: Sequence[int]) -> list[Codes]:
    """Return one table of the original and of every copy, over the same cells."""
    files, sizes = _cells_of(classes, places)
    return [count(file, sizes) for file in files]


def _cells_of(classes: Classes, places: Sequence[int]) -> tuple[list[list[Codes]], list[int]]:
    files = [[file[place] for place in places] for file in classes.files]
    sizes = [classes.sizes[place] for place in places]
    return _occurring(files, sizes) if math.prod(sizes) > DENSE else (files, sizes)


def _entry(classes: Classes, places: tuple[int, ...], halves: Halves) -> dict[str, Any]:
    go_on()
    files, sizes = _cells_of(classes, places)
    copies = [count(file, sizes) for file in files[1:]]
    original, first = count_halves(files[0], sizes, halves)
    return {"columns": [classes.names[place] for place in places]} | compare(original, copies, first)


def count_halves(columns: Sequence[Codes], sizes: Sequence[int], halves: Halves) -> tuple[Codes, list[Codes]]:
    """Return the counts of the whole original and of its first half in every split, all in one pass."""
    patterns = 2**halves.splits
    table = count([*columns, halves.pattern], [*sizes, patterns]).reshape(-1, patterns)
    held = [np.flatnonzero(np.arange(patterns) >> bit & 1) for bit in range(halves.splits)]
    return table.sum(axis=1), [table[:, one].sum(axis=1) for one in held]


def _occurring(files: Sequence[Sequence[Codes]], sizes: Sequence[int]) -> tuple[list[list[Codes]], list[int]]:
    """Return the combinations that occur as the codes of a single column."""
    joint = [_places(file, sizes) for file in files]
    found, place = np.unique(np.concatenate(joint), return_inverse=True)
    parts = np.split(place, np.cumsum([len(one) for one in joint])[:-1])
    return [[part] for part in parts], [len(found)]


def compare(original: Codes, copies: Sequence[Codes], halves: Sequence[Codes]) -> dict[str, Any]:
    """Return the measures of one table: means over copies, their spread, and what halves of the original give."""
    per_copy = [measure(original, copy) for copy in copies]
    files = Sizes(float(original.sum()), float(np.mean([copy.sum() for copy in copies])))
    floors: list[Mapping[str, float | None]] = []
    for half in halves:
        sizes = Sizes(float(half.sum()), float((original - half).sum()))
        found = measure(half, original - half)
        if min(sizes.first, sizes.second, files.second) > 0:
            factors = scaling(sizes, files)
            floors.append({name: _times(found[name], factors[name]) for name in MEASURES})
    spreads = {
        name: summarise([found[name] for found in per_copy], [floor[name] for floor in floors]) for name in MEASURES
    }
    cells = [found["df"] for found in per_copy if found["df"] is not None]
    df = float(np.mean(cells)) if cells else None
    return {
        **{name: spread["value"] for name, spread in spreads.items()},
        "df": int(df) if df is not None and df.is_integer() else df,
        "per_copy": {name: spreads[name]["per_copy"] for name in ("pmse", "s_pmse")},
        **{part: {name: spread[part] for name, spread in spreads.items()} for part in ("low", "high", "noise")},
    }


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _summary(entries: Sequence[Mapping[str, Any]], names: Sequence[str], notes: Sequence[str]) -> dict[str, Any]:
    matrix: list[list[float | None]] = [[None] * len(names) for _ in names]
    ways: dict[str, dict[str, Any]] = {}
    for entry in entries:
        places = [names.index(name) for name in entry["columns"]]
        if len(places) <= 2:
            matrix[places[0]][places[-1]] = matrix[places[-1]][places[0]] = entry["s_pmse"]
        ways.setdefault(str(len(places)), {"s_pmse": [], "noise": []})
        ways[str(len(places))]["s_pmse"].append(entry["s_pmse"])
        ways[str(len(places))]["noise"].append(entry["noise"]["s_pmse"])
    judged = sorted((e for e in entries if e["s_pmse"] is not None), key=lambda entry: -entry["s_pmse"])
    return {
        "ways": {way: _overall(found["s_pmse"], found["noise"]) for way, found in ways.items()},
        "matrix": {"columns": list(names), "s_pmse": matrix},
        "worst": [{"columns": entry["columns"], "s_pmse": entry["s_pmse"]} for entry in judged[:10]],
        "notes": list(notes),
    }


def _overall(found: Sequence[float | None], noise: Sequence[float | None]) -> dict[str, Any]:
    whole = summarise(found, noise)
    return {
        "tables": len(found),
        "mean_s_pmse": whole["value"],
        "max_s_pmse": whole["high"],
        "mean_noise": whole["noise"],
    }
