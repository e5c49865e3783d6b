"""Measures that count classes, predicates and equal rows against plain twins, from the frames themselves.

Attribute disclosure, anonymity, population uniqueness, exposure, singling out, rows copied over, intruders of the
user's own and the Bayes intruder: no codes, no sorting, everybody compared with everybody.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_files import (
    Files,
    estimate,
    few_large,
    fewer,
    held,
    mean_interval,
    mixed,
    plain,
    residual_plainly,
    rng,
    told_apart,
    wilson_plainly,
)

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.pairing import stand_ins, unlike_stand_ins
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.evaluation.risk.attribute import evaluate_attribute
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.evaluation.risk.intruders import Intruder, evaluate_intruder
from synthdp.evaluation.risk.singling import (
    ABSENT,
    AT_LEAST,
    AT_MOST,
    EQUAL,
    evaluate_singling,
    multivariate,
    tabulate,
    univariate,
)
from synthdp.evaluation.risk.uniqueness import evaluate_anonymity, evaluate_population
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable

Pair = tuple[Any, Any]


def known(frame: pd.DataFrame, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    """What an intruder can tell apart, record by record."""
    return [
        tuple(told_apart(value, column) for value, column in zip(record, columns, strict=True))
        for record in held(frame, columns)
    ]


def paired(frame: pd.DataFrame, keys: Sequence[Column], target: Column) -> list[Pair]:
    values = [told_apart(value, target) for value in plain(frame[target.name], target)]
    return list(zip(known(frame, keys), values, strict=True))


# attribute disclosure


def guessed(target: Pair, source: Sequence[Pair]) -> float:
    counts = Counter(t for k, t in source if k == target[0]) or Counter(t for _, t in source)
    best = [value for value, count in counts.items() if count == max(counts.values())]
    return (target[1] in best) / len(best) if best else 0.0


def share(target: Pair, source: Sequence[Pair]) -> float | None:
    alike = [t for k, t in source if k == target[0]]
    return sum(t == target[1] for t in alike) / len(alike) if alike else None


def percents(original: Sequence[Pair], copy: Sequence[Pair]) -> dict[str, float]:
    here, there = Counter(k for k, _ in original), Counter(k for k, _ in copy)
    values = [{k: {t for key, t in rows if key == k} for k, _ in rows} for rows in (original, copy)]
    flags: dict[str, list[bool]] = {
        "UiO": [here[k] == 1 for k, _ in original],
        "UiS": [there[k] == 1 for k, _ in copy],
        "UiOiS": [here[k] == 1 and there[k] > 0 for k, _ in original],
        "repU": [here[k] == 1 and there[k] == 1 for k, _ in original],
        "Dorig": [len(values[0][k]) == 1 for k, _ in original],
        "Dsyn": [len(values[1][k]) == 1 for k, _ in copy],
        "iS": [there[k] > 0 for k, _ in original],
        "DiS": [len(values[1].get(k, ())) == 1 for k, _ in original],
        "DiSCO": [values[1].get(k) == {t} for k, t in original],
        "DiSDiO": [values[1].get(k) == {t} and len(values[0][k]) == 1 for k, t in original],
    }
    return {name: 100 * sum(found) / len(found) for name, found in flags.items()}


@fewer
@given(mixed(aligned=True), st.sampled_from(["pay", "site", "sex"]), st.booleans(), st.sampled_from([0.5, 0.8, 1.0]))
def test_attribute_disclosure_is_its_definition(files: Files, name: str, outside: bool, tau: float) -> None:
    comparison = files.comparison
    target = comparison.schema[name]
    keys = [key for key in comparison.schema.keys() if key.name != name]
    if not keys:
        return
    holdout = files.holdout if outside else None
    (found,) = evaluate_attribute(comparison, targets=[name], holdout=holdout, tau=tau, rng=rng())
    original = paired(comparison.original, keys, target)
    copies = [paired(copy, keys, target) for copy in comparison.copies]
    stacked = [row for copy in copies for row in copy]
    others = paired(files.holdout, keys, target)
    rest = [original[:i] + original[i + 1 :] for i in range(len(original))]

    per_copy = [percents(original, copy) for copy in copies]
    assert len(found["per_copy"]) == len(per_copy)
    for line, wanted in zip(found["per_copy"], per_copy, strict=True):
        assert line == pytest.approx(wanted, abs=1e-9)
    for measure in per_copy[0]:
        assert found[measure] == pytest.approx(sum(one[measure] for one in per_copy) / len(per_copy), abs=1e-9)

    members = [guessed(one, stacked) for one in original]
    left_out = [guessed(one, source) for one, source in zip(original, rest, strict=True)]
    strangers = [guessed(one, stacked) for one in others] if outside else left_out
    for part, values in (("success", members), ("baseline", strangers)):
        assert estimate(found["guess"][part]) == pytest.approx(wilson_plainly(sum(values), len(values)), abs=1e-9)
    differences = [a - b for a, b in zip(members, left_out, strict=True)]
    gain = mean_interval(members, strangers) if outside else mean_interval(differences)
    assert estimate(found["guess"]["gain"]) == pytest.approx(gain, abs=1e-9)
    alone = [d for d, (k, _) in zip(differences, original, strict=True) if sum(k == one for one, _ in original) == 1]
    assert found["gain_unique"]["records"] == len(alone)
    if alone:
        assert estimate(found["gain_unique"]) == pytest.approx(mean_interval(alone), abs=1e-9)
    gains = [found["guess"]["gain"]["value"], *(one["gain"]["value"] for one in found["regression"])]
    assert found["gain"] == max(gains)

    def mean(values: Sequence[float | None]) -> float:
        return sum(value or 0.0 for value in values) / len(values)

    assert found["cap"] == pytest.approx(
        {
            "value": mean([share(one, stacked) for one in original]),
            "baseline": mean(
                [share(one, stacked) for one in others]
                if outside
                else [share(one, source) for one, source in zip(original, rest, strict=True)]
            ),
            "original": mean([share(one, original) for one in original]),
            "marginal": mean([sum(t == v for _, v in stacked) / len(stacked) for _, t in original]),
        },
        abs=1e-9,
    )
    for place, copy in enumerate(copies):
        sure = [share(row, original) for row in copy if (share(row, copy) or 0.0) >= tau - 1e-9]
        sure = [value for value in sure if value is not None]
        assert found["tcap"]["rows"][place] == len(sure)
        assert found["tcap"]["per_copy"][place] == (pytest.approx(mean(sure), abs=1e-9) if sure else None)
    claims = []
    for one, source in zip(original, rest, strict=True):
        counts = Counter(t for k, t in source if k == one[0])
        if counts and max(counts.values()) >= tau * sum(counts.values()) - 1e-9:
            claims.append(guessed(one, source))
    assert found["tcap"]["baseline"] == (pytest.approx(mean(claims), abs=1e-9) if claims else None)
    raised = []
    for i, one in enumerate(original):
        without = [row for copy in copies for r, row in enumerate(copy) if r != i]
        raised.append((share(one, stacked) or 0.0) - (share(one, without) or 0.0))
    assert estimate(found["own_row"]) == pytest.approx(mean_interval(raised), abs=1e-9)


# classes of look-alikes, the population, the kept columns


def ordered(values: set[Any], target: Column) -> list[Any]:
    """The values of a file in their order, missing last."""
    place = {level: number for number, level in enumerate(target.levels or ())}
    return sorted(values, key=lambda v: (v == "missing", 0 if v == "missing" else place.get(v, v)))


@few_large
@given(mixed())
def test_anonymity_is_its_definition(files: Files) -> None:
    comparison = files.comparison
    keys, names = comparison.schema.keys(), ["pay", "site", "children"]
    found = evaluate_anonymity(comparison, targets=names)
    frames = [comparison.original, *comparison.copies]
    for frame, section in zip(frames, [found["original"], *found["copies"]], strict=True):
        cells = known(frame, keys)
        sizes = Counter(cells)
        assert (section["k"], section["classes"]) == (min(sizes.values()), len(sizes))
        for line in section["below"]:
            assert line["rate"] == pytest.approx(sum(sizes[c] < line["k"] for c in cells) / len(cells), abs=1e-9)
        for name, line in zip(names, section["targets"], strict=True):
            target = comparison.schema[name]
            values = [told_apart(value, target) for value in plain(frame[name], target)]
            scale = ordered(set(values), target)
            overall = [values.count(value) / len(values) for value in scale]
            distinct, entropy, far = [], [], []
            for cell in sizes:
                inside = [v for v, c in zip(values, cells, strict=True) if c == cell]
                shares = [inside.count(value) / len(inside) for value in scale]
                distinct.append(len(set(inside)))
                entropy.append(math.exp(-sum(p * math.log(p) for p in shares if p > 0)))
                gaps = [p - q for p, q in zip(shares, overall, strict=True)]
                if name == "site":
                    far.append(sum(abs(gap) for gap in gaps) / 2)
                else:
                    moved = [abs(sum(gaps[: place + 1])) for place in range(len(gaps))]
                    far.append(sum(moved) / (len(gaps) - 1) if len(gaps) > 1 else 0.0)
            assert line["l_distinct"] == min(distinct)
            assert line["l_entropy"] == pytest.approx(min(entropy), abs=1e-9)
            assert line["t"] == pytest.approx(max(far), abs=1e-9)


def inverse_plainly(sample: int, rate: float) -> float:
    """E(1/F) by adding up the distribution of F until nothing is left."""
    term, total, size = rate**sample, 0.0, sample
    while term > 1e-18 or size < sample / rate:
        total += term / size
        term *= size / (size - sample + 1) * (1 - rate)
        size += 1
    return total


@few_large
@given(mixed())
def test_population_uniqueness_is_its_definition(files: Files) -> None:
    comparison = files.comparison
    found = evaluate_population(comparison)
    cells, weights = known(comparison.original, comparison.schema.keys()), comparison.original["w"].tolist()
    sizes = Counter(cells)
    people = {cell: sum(w for w, c in zip(weights, cells, strict=True) if c == cell) for cell in sizes}
    rates = {cell: min(1.0, sizes[cell] / people[cell]) for cell in sizes}
    unique = [rates[cell] for cell in cells if sizes[cell] == 1]
    risks = [inverse_plainly(sizes[cell], rates[cell]) for cell in cells]
    assert found == pytest.approx(
        {
            "sample_unique": len(unique),
            "population_unique": sum(unique),
            "population_unique_rate": sum(unique) / len(cells),
            "expected_links": sum(risks),
            "expected_links_rate": sum(risks) / len(cells),
            "max_individual": max(risks),
        },
        abs=1e-9,
        rel=1e-9,
    )


@few_large
@given(mixed(), st.lists(st.sampled_from(["age", "children", "birth", "sex"]), unique=True, min_size=1))
def test_exposure_is_its_definition(files: Files, kept: list[str]) -> None:
    comparison = files.comparison
    columns = tuple(
        column.model_copy(update={"role": "keep"}) if column.name in kept else column
        for column in comparison.schema.columns
    )
    schema = comparison.schema.model_copy(update={"columns": columns})
    found = evaluate_exposure(replace(comparison, schema=schema)).section()

    def alone(chosen: Sequence[Column]) -> list[bool]:
        records = held(comparison.original, chosen)
        return [records.count(record) == 1 for record in records]

    assert found["columns"] == [column.name for column in schema.kept()]
    assert found["unique"] == sum(alone(schema.kept()))
    knowable = [column for column in schema.kept() if column.key]
    lines = iter(found["subsets"])
    reached = [False] * len(comparison.original)
    for size in range(1, min(3, len(knowable)) + 1):
        for chosen in combinations(knowable, size):
            line, single = next(lines), alone(chosen)
            reached = [a or b for a, b in zip(reached, single, strict=True)]
            assert (line["columns"], line["unique"]) == ([column.name for column in chosen], sum(single))
        assert found["unique_on_some"][size - 1]["unique"] == sum(reached)
    assert next(lines, None) is None


# singling out


def holds(value: Any, says: int, wanted: Any) -> bool:
    if value is None or says == ABSENT:
        return value is None and says == ABSENT
    return bool({EQUAL: value == wanted, AT_MOST: value <= wanted, AT_LEAST: value >= wanted}[says])


class Sheet:
    """A file as lists of plain numbers, levels by their place in the schema."""

    def __init__(self, frame: pd.DataFrame, columns: Sequence[Column], present: dict[str, list[Any]]) -> None:
        self.columns = []
        for column in columns:
            values = plain(frame[column.name], column)
            if column.kind.categorical:
                # codes are dense over the levels that occur in any of the files
                values = [None if v is None else float(present[column.name].index(v)) for v in values]
            self.columns.append(values)

    def count(self, predicate: Sequence[tuple[int, int, float]]) -> int:
        rows = range(len(self.columns[0]))
        return sum(all(holds(self.columns[c][row], says, value) for c, says, value in predicate) for row in rows)


@few_large
@given(mixed(), st.booleans())
def test_singling_out_is_its_definition(files: Files, outside: bool) -> None:
    comparison = files.comparison
    columns = comparison.schema.columns
    attacks, size = 6, 3
    holdout = files.holdout if outside else None
    found = evaluate_singling(comparison, holdout=holdout, attacks=attacks, size=size, rng=rng())
    frames = [comparison.original, *comparison.copies, *([files.holdout] if outside else [])]
    present = {
        column.name: [v for v in column.levels if any((frame[column.name] == v).any() for frame in frames)]
        for column in columns
        if column.kind.categorical
    }
    sheets = [Sheet(frame, columns, present) for frame in frames]
    copies = sheets[1 : 1 + len(comparison.copies)]
    flags = [column.kind.categorical for column in columns]
    draw = rng()
    each = -(-attacks // len(copies))

    single = []
    for sheet in copies:
        made = []
        for c, values in enumerate(sheet.columns):
            present_values = [v for v in values if v is not None]
            if len(values) - len(present_values) == 1:
                made.append(((c, ABSENT, 0.0),))
            made += [((c, EQUAL, v),) for v in sorted(set(present_values)) if present_values.count(v) == 1]
            if present_values and not flags[c]:
                for says, end in ((AT_MOST, min(present_values)), (AT_LEAST, max(present_values))):
                    if present_values.count(end) == 1:
                        made.append(((c, says, end),))
        assert all(sheet.count(predicate) == 1 for predicate in made)
        if len(made) > each:
            made = [made[k] for k in sorted(draw.choice(len(made), each, replace=False))]
        single += made

    def blindly(length: int) -> list[tuple[Any, ...]]:
        made = []
        for _ in range(attacks):
            chosen = sorted(draw.choice(len(columns), length, replace=False))
            conditions = []
            for c in chosen:
                values = sorted({v for v in copies[0].columns[c] if v is not None})
                if not values:
                    conditions.append((c, ABSENT, 0.0))
                elif flags[c]:
                    conditions.append((c, EQUAL, draw.choice(values)))
                else:
                    says = int(draw.choice([AT_MOST, AT_LEAST]))
                    conditions.append((c, says, draw.uniform(values[0], values[-1])))
            made.append(tuple(conditions))
        return made

    several = []
    for sheet in copies:
        made = {}
        n = len(sheet.columns[0])
        for _ in range(20 * each):
            if len(made) >= each:
                break
            row, chosen = int(draw.integers(n)), sorted(draw.choice(len(columns), size, replace=False))
            conditions = []
            for c in chosen:
                value = sheet.columns[c][row]
                if value is None:
                    conditions.append((c, ABSENT, 0.0))
                elif flags[c]:
                    conditions.append((c, EQUAL, value))
                else:
                    middle = float(np.median([v for v in sheet.columns[c] if v is not None]))
                    conditions.append((c, AT_LEAST if value >= middle else AT_MOST, value))
            if tuple(conditions) not in made and sheet.count(conditions) == 1:
                made[tuple(conditions)] = None
        several += list(made)

    def success(predicates: Sequence[Any], sheet: Sheet, sample: int) -> float:
        n, total = len(sheet.columns[0]), 0.0
        for predicate in predicates:
            count = sheet.count(predicate)
            # of all samples of this size, those that hold exactly one of the records it is true of
            total += count * math.comb(n - count, sample - 1) / math.comb(n, sample) if count else 0.0
        return total

    original, n = sheets[0], len(comparison.original)
    for kind, predicates, blind in (
        ("univariate", single[:attacks], blindly(1)),
        ("multivariate", several[:attacks], blindly(size)),
    ):
        section = found[kind]
        assert section["attacks"] == len(predicates)
        baseline = wilson_plainly(success(blind, original, n), attacks)
        assert estimate(section["baseline"]) == pytest.approx(baseline, abs=1e-9)
        if not predicates:
            assert section["attack"]["value"] is None
            continue
        attack = wilson_plainly(success(predicates, original, n), len(predicates))
        assert estimate(section["attack"]) == pytest.approx(attack, abs=1e-9)
        assert section["better_than_blind"] == (attack[0] > baseline[0])
        if outside:
            least = min(n, len(files.holdout))
            rates = [wilson_plainly(success(predicates, one, least), len(predicates)) for one in (original, sheets[-1])]
            assert estimate(section["matched"]) == pytest.approx(rates[0], abs=1e-9)
            assert estimate(section["control"]) == pytest.approx(rates[1], abs=1e-9)
            wanted = residual_plainly(*rates)
            assert estimate(section["risk"]) == ((None,) * 3 if wanted is None else pytest.approx(wanted, abs=1e-6))


@few_large
@given(mixed())
def test_predicates_are_true_of_one_row_of_the_frame(files: Files) -> None:
    columns, copy = files.comparison.schema.columns, files.comparison.copies[0]
    (table,) = tabulate([copy], columns)
    present = {c.name: [v for v in c.levels if (copy[c.name] == v).any()] for c in columns if c.kind.categorical}
    sheet = Sheet(copy, columns, present)
    for predicate in [*univariate(table), *multivariate(table, attacks=5, size=2, rng=rng())]:
        assert sheet.count(predicate) == 1


# rows copied over


def limit_plainly(hits: int, times: int, most: int, level: float, likelier: float = 1.0) -> int:
    """The largest count that a binomial tail at this level does not rule out."""
    rate = likelier / (likelier + times)
    for count in range(1, most + 1):
        trials = count + hits
        below = sum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(count))
        if 1 - below <= level:
            return count - 1
    return most


@few_large
@given(mixed(aligned=True), st.booleans(), st.integers(0, 5))
def test_rows_copied_over_are_counted_and_chance_is_what_stand_ins_give(
    files: Files, aligned: bool, planted: int
) -> None:
    comparison = replace(files.comparison, aligned=aligned)
    kept, replaced = comparison.schema.kept(), comparison.schema.replaced()
    names = [column.name for column in replaced]
    if planted:
        copies = [copy.copy() for copy in comparison.copies]
        for copy in copies:
            copy.loc[: planted - 1, names] = comparison.original.loc[: planted - 1, names]
        comparison = replace(comparison, copies=tuple(copies))
    original, n = comparison.original, len(comparison.original)
    found = evaluate_verbatim(comparison, rng=rng())
    x, z = held(original, replaced), held(original, kept)
    scaled = np.column_stack([spread(plain(original[c.name], c), c) for c in replaced])
    rows = [list(zip(held(copy, kept), held(copy, replaced), strict=True)) for copy in comparison.copies]
    asked = [i for i in range(n) if any(x[i] == y for copy in rows for _, y in copy)]
    draw = rng()
    near = stand_ins(scaled, rng=draw, rows=np.array(asked, dtype=np.int64))

    def has(copy: Sequence[Pair], whose: int, values: Any) -> bool:
        """Whether a row that may be this record's has these replaced values."""
        if aligned and z.count(z[whose]) > 1:
            return bool(copy[whose][1] == values)
        return (z[whose], values) in copy

    own = [[has(copy, i, x[i]) for i in asked] for copy in rows]
    hits = [sum(has(copy, int(j), x[i]) for i, js in zip(asked, near, strict=True) for j in js) for copy in rows]
    times, m = near.shape[1], len(rows)
    pooled = limit_plainly(sum(hits), times * m, n, 0.01 / m)
    limits = [max(pooled, limit_plainly(hit, times, n, 0.01)) for hit in hits]
    counts = [sum(one) for one in own]
    assert found["per_copy"] == counts
    excess = max(count - limit for count, limit in zip(counts, limits, strict=True))
    assert found["rows"] - found["chance"] == excess
    everywhere = None
    if m > 1:
        count = sum(all(marks) for marks in zip(*own, strict=True))
        everywhere = {"rows": count, "chance": 0}
        if count:
            unlike = unlike_stand_ins(scaled, rng=draw, rows=np.array(asked, dtype=np.int64), most=20)
            shared = sum(
                all(has(copy, int(j), x[i]) for copy in rows) for i, js in zip(asked, unlike, strict=True) for j in js
            )
            everywhere["chance"] = limit_plainly(shared, unlike.shape[1], n, 0.005, 3.0)
            excess = max(excess, count - everywhere["chance"])
    assert found["in_all"] == everywhere
    assert found["excess"] == max([0, excess, *(line["excess"] for line in found["values"])])


def spread(values: list[Any], column: Column) -> list[float]:
    """Values in units of their standard deviation; missing ones ten of them away."""
    numbers = [
        None if v is None else float(column.levels.index(v)) if column.kind.categorical else float(v) for v in values
    ]
    present = [v for v in numbers if v is not None]
    mean = float(np.mean(present))
    sd = float(np.std(present)) or 1.0
    return [10.0 if v is None else (v - mean) / sd for v in numbers]


@fewer
@given(st.integers(0, 10**6), st.sampled_from([30, 300]), st.sampled_from([0, 1]))
def test_stand_ins_are_the_nearest_and_unlike_ones_differ(seed: int, n: int, decimals: int) -> None:
    x = np.round(rng(seed).normal(size=(n, 2)), decimals)
    rows = np.arange(0, n, 7)
    far = np.array([[math.dist(a, b) for b in x] for a in x])
    near = stand_ins(x, rng=rng(), rows=rows)
    for i, js in zip(rows, near, strict=True):
        assert i not in js or (far[i] == 0).sum() > 10
        wanted = sorted(np.delete(far[i], i))[:10]
        assert sorted(far[i, js]) == pytest.approx(wanted, abs=1e-7)
    unlike = unlike_stand_ins(x, rng=rng(), rows=rows, most=5)
    values = [tuple(one) for one in x]
    fine = len(set(values)) >= 50
    for i, js in zip(rows, unlike, strict=True):
        if not fine:
            assert sorted(far[i, js]) == pytest.approx(sorted(np.delete(far[i], i))[:5], abs=1e-7)
            continue
        assert len({values[j] for j in js} | {values[i]}) == 6
        every = sorted(math.dist(values[i], other) for other in set(values) - {values[i]})
        assert sorted(far[i, js]) == pytest.approx(every[:5], abs=1e-7)


# intruders of the user's own


@fewer
@given(mixed(aligned=True), st.data())
def test_an_intruder_of_ones_own_is_matching_with_what_they_know(files: Files, data: st.DataObject) -> None:
    comparison = files.comparison
    names = [key.name for key in comparison.schema.keys()]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    chosen = [name for name in names if name in chosen]
    error = {name: 0.3 for name in chosen if name in ("sex", "age") and data.draw(st.booleans())}
    tolerance = {"age": 2.0} if "age" in chosen and data.draw(st.booleans()) else {}
    intruder = Intruder(
        keys=tuple(chosen),
        error=error,
        tolerance=tolerance,
        member=data.draw(st.booleans()),
        copies=data.draw(st.sampled_from(["one", "all"])),
        draws=2,
    )
    found = evaluate_intruder(comparison, intruder, name="x", rng=rng(), permutations=3).section()
    keys = [
        key.model_copy(update={"tolerance": tolerance.get(key.name, key.tolerance)})
        for key in (comparison.schema[name] for name in chosen)
    ]
    n, draw = len(comparison.original), rng()
    truth = held(comparison.original, keys)

    def matches(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        for a, b, key in zip(one, other, keys, strict=True):
            if a is None or b is None:
                if a is not b:
                    return False
            elif key.kind.categorical:
                if a != b:
                    return False
            elif abs(a - b) > key.tolerance:
                return False
        return True

    weight = [1.0] * n
    if not intruder.member:
        weights = comparison.original["w"].tolist()
        for i in range(n):
            alike = [j for j in range(n) if matches(truth[i], truth[j])]
            weight[i] = min(1.0, len(alike) / sum(weights[j] for j in alike))
    sections = []
    for _ in range(intruder.draws if error else 1):
        columns = [list(values) for values in zip(*truth, strict=True)]
        for name, size in error.items():
            place = chosen.index(name)
            if name == "age":
                moved = draw.normal(0.0, size, n)
                columns[place] = [None if v is None else v + e for v, e in zip(columns[place], moved, strict=True)]
            else:
                wrong, shift = draw.random(n) < size, draw.integers(1, 2, n)
                columns[place] = [
                    v if v is None or not bad else "FM"[("FM".index(v) + int(step)) % 2]
                    for v, bad, step in zip(columns[place], wrong, shift, strict=True)
                ]
        remembered = list(zip(*columns, strict=True))
        for copies in [[copy] for copy in comparison.copies] if intruder.copies == "one" else [comparison.copies]:
            rows = [held(copy, keys) for copy in copies]
            probability = [[0.0] * n for _ in range(n)]
            unconditional, single = [0.0] * n, [0.0] * n
            for copy in rows:
                for i in range(n):
                    inside = [r for r in range(n) if matches(remembered[i], copy[r])]
                    for r in inside:
                        probability[i][r] += 1 / len(inside) / len(rows)
                    unconditional[i] += (1 / len(inside) if inside else 0.0) / len(rows)
                    single[i] += (inside == [i]) / len(rows)
            best = []
            for i in range(n):
                top = max(probability[i])
                best.append([r for r in range(n) if top > 0 and probability[i][r] >= top - 1e-12])
            chances = []
            for _ in range(3):
                order = draw.permutation(n)
                chances.append(sum(weight[i] for i in range(n) if best[i] == [order[i]]))
            expected = [weight[i] / len(best[i]) if i in best[i] else 0.0 for i in range(n)]
            true = [weight[i] * (best[i] == [i]) for i in range(n)]
            individual = [weight[i] * probability[i][i] for i in range(n)]
            nobody = [weight[i] for i in range(n) if not best[i]]
            pointed = [best[i] == [i] for i in range(n) if len(best[i]) == 1]
            section: dict[str, Any] = {
                "expected_match": sum(expected),
                "expected_match_rate": sum(expected) / n,
                "expected_match_reference": sum(expected) + sum(nobody) / n,
                "true_match": sum(true),
                "true_match_rate": sum(true) / n,
                "true_match_chance": max(chances),
                "false_match_rate": 1 - sum(pointed) / len(pointed) if pointed else None,
                "no_candidate": len(nobody),
                "mean_individual": sum(individual) / n,
                "max_individual": max(individual),
                "mean_unconditional": sum(u * w for u, w in zip(unconditional, weight, strict=True)) / n,
            }
            if len(rows) > 1:
                section["alone"] = sum(s * w for s, w in zip(single, weight, strict=True)) / n
            sections.append(section)
    for name, first in sections[0].items():
        values = [section[name] for section in sections if section[name] is not None]
        wanted = None if not values else max(values) if name == "max_individual" else sum(values) / len(values)
        got = found["one_copy"]["true_match_rate"] if name == "alone" else found[name]
        assert got == (None if wanted is None else pytest.approx(wanted, abs=1e-9)), (name, first)
    assert found["per_group"] == []


# the Bayes intruder


@few_large
@given(st.integers(0, 10**6), st.integers(10, 120), st.booleans(), st.sampled_from([1.0, 2.0, 50.0]))
def test_the_bayes_intruder_is_their_definition(seed: int, n: int, ties: bool, sharp: float) -> None:
    make = rng(seed)
    frame = pd.DataFrame({"age": make.normal(50, 10, n), "site": make.choice(list("ab"), n)})
    variables = {
        "age": Variable(kind="continuous", role="replace", key=True),
        "site": Variable(kind="nominal", key=True, levels=("a", "b")),
    }
    data = resolve(frame, variables)
    copy = frame.assign(age=frame["age"] + make.normal(0, 3, n))
    comparison = Comparison(data.frame, (copy,), data.schema, aligned=True)
    score = -sharp * np.abs(frame["age"].to_numpy()[:, None] - copy["age"].to_numpy()[None, :]) / 10
    score = np.round(score, 0 if ties else 12)

    def posterior(targets: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(score[np.ix_(targets, rows)])

    found = evaluate_bayes(comparison, posterior, rng=rng(), permutations=3)
    links, own, claimed = [], [], []
    site = frame["site"].tolist()
    for i in range(n):
        inside = [r for r in range(n) if site[r] == site[i]]
        top = max(score[i, r] for r in inside)
        best = [r for r in inside if score[i, r] >= top - 1e-9]
        total = math.fsum(math.exp(score[i, r] - top) for r in inside)
        links.append(1 / len(best) if i in best else 0.0)
        own.append(math.exp(score[i, i] - top) / total)
        claimed.append(1 / total)
    np.testing.assert_allclose(found.individual, own, atol=1e-9)
    np.testing.assert_allclose(found.confidence, claimed, atol=1e-9)
    assert found.expected_links == pytest.approx(sum(links), abs=1e-9)
    assert found.expected_links_rate == pytest.approx(sum(links) / n, abs=1e-9)
    assert found.predicted_links == pytest.approx(sum(claimed), abs=1e-9)
