"""Attacks that look for near rows against plain twins: linkability, inference, membership, regression.

The twins compare everybody with every row and know nothing of cells, windows or compiled loops. Where an attack draws,
the twin draws the same.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_files import (
    Files,
    Z,
    estimate,
    few_large,
    fewer,
    held,
    mean_interval,
    mixed,
    plain,
    residual_plainly,
    rng,
    wilson_plainly,
)

from synthdp.evaluation.risk import regressing
from synthdp.evaluation.risk.linkability import evaluate_inference, evaluate_linkability, evaluate_membership
from synthdp.evaluation.risk.rates import auc, residual, roc, tpr_at, wilson
from synthdp.evaluation.risk.regressing import attack_by_regression
from synthdp.table.schema import Column

Record = tuple[Any, ...]
TIE = 1e-12


def spans(original: pd.DataFrame, columns: Sequence[Column]) -> list[float | None]:
    """The span of the middle 98% of each numeric column, by sorting."""
    found: list[float | None] = []
    for column in columns:
        if column.kind.categorical:
            found.append(None)
            continue
        known = sorted(value for value in plain(original[column.name], column) if value is not None)
        ends = []
        for share in (0.01, 0.99):
            place = share * (len(known) - 1)
            low = math.floor(place)
            high = min(low + 1, len(known) - 1)
            ends.append(known[low] + (place - low) * (known[high] - known[low]))
        found.append(ends[1] - ends[0] or known[-1] - known[0] or 1.0)
    return found


def distance(one: Record, other: Record, scale: Sequence[float | None]) -> float:
    total = 0.0
    for a, b, span in zip(one, other, scale, strict=True):
        if a is None or b is None:
            total += a is not b
        elif span is None:
            total += a != b
        else:
            total += min(1.0, abs(a - b) / span)
    return total / len(one)


def nearest_plainly(
    targets: Sequence[Record],
    rows: Sequence[Record],
    scale: Sequence[float | None],
    draw: np.random.Generator,
    *,
    k: int = 1,
    skip: Sequence[int] | None = None,
) -> list[list[tuple[float, int]]]:
    """For each target the k nearest rows: of equally near ones those that come first in a random order."""
    rank = {int(row): place for place, row in enumerate(draw.permutation(len(rows)))}
    found = []
    for i, target in enumerate(targets):
        left = [(distance(target, row, scale), r) for r, row in enumerate(rows) if skip is None or r != skip[i]]
        chosen: list[tuple[float, int]] = []
        while left and len(chosen) < k:
            least = min(far for far, _ in left)
            pick = min((one for one in left if one[0] <= least + TIE), key=lambda one: rank[one[1]])
            left.remove(pick)
            chosen.append(pick)
        found.append(chosen)
    return found


def check_rates(section: dict[str, Any], hits: float, total: int, control: tuple[float, int] | None) -> None:
    attack = wilson_plainly(hits, total)
    assert estimate(section["attack"]) == pytest.approx(attack, abs=1e-9)
    assert section["attacks"] == total
    if control is None:
        assert "evaluation.holdout" in section["reason"]
        return
    there = wilson_plainly(*control)
    assert estimate(section["control"]) == pytest.approx(there, abs=1e-9)
    wanted = residual_plainly(attack, there)
    assert estimate(section["risk"]) == ((None,) * 3 if wanted is None else pytest.approx(wanted, abs=1e-6))
    if wanted is not None:
        assert section["risk"]["value"] == pytest.approx(wanted[0], abs=1e-9)


# linking two lists, taking a value from the nearest row


@fewer
@given(mixed(), st.integers(1, 3), st.booleans())
def test_linkability_is_its_definition(files: Files, k: int, outside: bool) -> None:
    comparison = files.comparison
    holdout = files.holdout if outside else None
    sides = [[c for c in comparison.schema.columns if c.key is key] for key in (True, False)]
    found = evaluate_linkability(comparison, holdout=holdout, neighbours=k, rng=rng())
    draw = rng()
    scales = [spans(comparison.original, side) for side in sides]
    groups = {"members": draw.permutation(len(comparison.original))}
    if outside:
        groups["others"] = draw.permutation(len(files.holdout))
    people = {"members": comparison.original, "others": files.holdout}
    hits = {}
    for name, order in groups.items():
        linked = 0
        for copy in comparison.copies:
            both = []
            for side, scale in zip(sides, scales, strict=True):
                records = held(people[name], side)
                both.append(nearest_plainly([records[i] for i in order], held(copy, side), scale, draw, k=k))
            for one, other in zip(*both, strict=True):
                linked += bool({row for _, row in one} & {row for _, row in other})
        hits[name] = linked / len(comparison.copies)
    check_rates(
        found, hits["members"], len(comparison.original), (hits["others"], len(files.holdout)) if outside else None
    )
    meeting = []
    for copy in comparison.copies:
        n = len(copy)
        meeting.append(1 - math.comb(n - k, k) / math.comb(n, k) if k <= n else 1.0)
    assert found["baseline"]["value"] == pytest.approx(sum(meeting) / len(meeting), abs=1e-9)
    assert found["better_than_blind"] == (found["attack"]["value"] > found["baseline"]["value"])


@few_large
@given(mixed(), st.sampled_from(["pay", "site", "birth"]), st.booleans())
def test_inference_is_its_definition(files: Files, name: str, outside: bool) -> None:
    comparison = files.comparison
    keys = [key for key in comparison.schema.keys() if key.name != name]
    if not keys:
        return
    target = comparison.schema[name]
    holdout = files.holdout if outside else None
    (found,) = evaluate_inference(comparison, targets=[name], holdout=holdout, rng=rng())
    draw, scale = rng(), spans(comparison.original, keys)
    orders = [draw.permutation(len(comparison.original))]
    if outside:
        orders.append(draw.permutation(len(files.holdout)))

    def right(guess: Any, truth: Any) -> bool:
        if guess is None or truth is None:
            return guess is truth
        return guess == truth if target.kind.categorical else abs(guess - truth) <= target.tolerance * (1 + 1e-9)

    totals = []
    for frame, order in zip([comparison.original, files.holdout], orders, strict=False):
        records, truth = held(frame, keys), plain(frame[name], target)
        hits = blind = 0
        for copy in comparison.copies:
            values = plain(copy[name], target)
            near = nearest_plainly([records[i] for i in order], held(copy, keys), scale, draw)
            picks = draw.choice(len(values), len(order))
            for i, found_row, pick in zip(order, near, picks, strict=True):
                hits += right(values[found_row[0][1]], truth[i])
                blind += right(values[pick], truth[i])
        totals.append((hits / len(comparison.copies), blind / len(comparison.copies), len(order)))
    check_rates(found, totals[0][0], totals[0][2], (totals[1][0], totals[1][2]) if outside else None)
    assert estimate(found["baseline"]) == pytest.approx(wilson_plainly(totals[0][1], totals[0][2]), abs=1e-9)


# membership


def auc_plainly(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Every member against every outsider; the variance from the share each of them wins (DeLong et al. 1988)."""

    def won(a: float, b: float) -> float:
        return 1.0 if a > b else 0.5 if a == b else 0.0

    by_member = [sum(won(a, b) for b in theirs) / len(theirs) for a in ours]
    by_other = [sum(won(a, b) for a in ours) / len(ours) for b in theirs]
    value, low, high = mean_interval(by_member)
    spread = ((high - low) / 2) ** 2 + ((mean_interval(by_other)[2] - mean_interval(by_other)[1]) / 2) ** 2
    return value, max(0.0, value - math.sqrt(spread)), min(1.0, value + math.sqrt(spread))


def tpr_plainly(rate: float, ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """The lowest score of an outsider above which at most this share of outsiders lies, and what lies above it."""
    fair = [cut for cut in theirs if sum(b > cut for b in theirs) <= rate * len(theirs) + 1e-9]
    cut = min(fair)
    return sum(b > cut for b in theirs) / len(theirs), sum(a > cut for a in ours) / len(ours)


def curve_plainly(ours: Sequence[float], theirs: Sequence[float]) -> set[tuple[float, float]]:
    """All points of the curve: who is at or above each score."""
    points = {(0.0, 0.0), (1.0, 1.0)}
    for cut in {*ours, *theirs}:
        false, true = sum(b >= cut for b in theirs) / len(theirs), sum(a >= cut for a in ours) / len(ours)
        points.add((round(false, 9), round(true, 9)))
    return points


def check_scores(line: dict[str, Any], ours: Sequence[float], theirs: Sequence[float]) -> None:
    assert estimate(line["auc"]) == pytest.approx(auc_plainly(ours, theirs), abs=1e-9)
    for found, rate in zip(line["tpr"], (0.01, 0.05), strict=True):
        realised, recognised = tpr_plainly(rate, ours, theirs)
        assert (found["fpr"], found["fpr_realised"]) == pytest.approx((rate, realised), abs=1e-9)
        assert estimate(found) == pytest.approx(wilson_plainly(recognised * len(ours), len(ours)), abs=1e-9)
    points, every = {(round(a, 9), round(b, 9)) for a, b in line["roc"]}, curve_plainly(ours, theirs)
    assert points <= every
    assert {(0.0, 0.0), (1.0, 1.0)} <= points
    if len({*ours, *theirs}) <= 101:
        assert points == every


@fewer
@given(mixed())
def test_membership_is_its_definition(files: Files) -> None:
    comparison, outside = files.comparison, files.holdout
    found = evaluate_membership(comparison, holdout=outside, rng=rng())
    draw = rng()
    order = draw.permutation(len(outside))
    reference, tested = sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :])
    assert (found["members"], found["outsiders"]) == (len(comparison.original), len(tested))
    assert (found["reference"], found["sampled"]) == (len(reference), False)
    columns = comparison.schema.columns
    sets = {"all": columns, "replaced": comparison.schema.replaced()}
    lines = iter(found["attacks"])
    for name, chosen in sets.items():
        scale = spans(comparison.original, chosen)
        rows = [row for copy in comparison.copies for row in held(copy, chosen)]
        others = held(outside, chosen)
        population = [others[i] for i in reference]
        groups = [held(comparison.original, chosen), [others[i] for i in tested]]

        def closest(group: list[Record], rows: list[Record], scale: list[float | None] = scale) -> list[float]:
            draw.permutation(len(rows))
            return [round(min(distance(one, row, scale) for row in rows), 12) for one in group]

        near = [closest(group, rows) for group in groups]
        known = [closest(group, population) for group in groups]
        least = min([far for one in (*near, *known) for far in one if far > 0], default=1.0) / 2
        relative = [
            [round(math.log(b + least) - math.log(a + least), 12) for a, b in zip(*pair, strict=True)]
            for pair in zip(near, known, strict=True)
        ]
        for score, (ours, theirs) in {
            "distance": [[-far for far in one] for one in near],
            "relative": relative,
        }.items():
            line = next(lines)
            assert (line["columns"], line["score"]) == (name, score)
            check_scores(line, ours, theirs)
            medians = [float(np.median(one)) for one in near]
            assert list(line["median_distance"].values()) == pytest.approx(medians, abs=1e-9)
    assert next(lines, None) is None

    scale = spans(comparison.original, columns)
    size = min(len(comparison.original), len(outside))
    rows = [row for copy in comparison.copies for row in held(copy, columns)]
    sides = []
    for frame in (comparison.original, outside):
        chosen_rows = np.arange(len(frame))
        if len(frame) > size:
            chosen_rows = np.sort(draw.choice(chosen_rows, size, replace=False))
        people = held(frame, columns)
        sides.append([min(distance(row, people[i], scale) for i in chosen_rows) for row in rows])
        draw.permutation(size)
    nearer = sum(1.0 if a < b - TIE else 0.5 if abs(a - b) <= TIE else 0.0 for a, b in zip(*sides, strict=True))
    assert estimate(found["closer_to_members"]) == pytest.approx(wilson_plainly(nearer, len(rows)), abs=1e-9)


scores = st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5)), min_size=1, max_size=300)


@few_large
@given(scores, scores)
def test_scores_are_compared_one_by_one(ours: list[float], theirs: list[float]) -> None:
    a, b = np.array(ours), np.array(theirs)
    check_scores(
        {"auc": auc(a, b), "tpr": [tpr_at(rate, a, b) for rate in (0.01, 0.05)], "roc": roc(a, b)}, ours, theirs
    )


@few_large
@given(st.integers(1, 300), st.floats(0, 1), st.integers(1, 300), st.floats(0, 1))
def test_rates_are_compared_as_said(n: int, share: float, m: int, other: float) -> None:
    attack, control = (wilson_plainly(round(2 * p * size) / 2, size) for p, size in ((share, n), (other, m)))
    found = residual(wilson(round(2 * share * n) / 2, n), wilson(round(2 * other * m) / 2, m))
    wanted = residual_plainly(attack, control)
    assert estimate(found) == ((None,) * 3 if wanted is None else pytest.approx(wanted, rel=1e-5, abs=1e-5))


# regression


class Lookup:
    """A model anyone can check: the mean of the training rows with the same features, else of all."""

    def __init__(self, x: np.ndarray, y: np.ndarray, draw: np.random.Generator) -> None:
        draw.integers(2**31)
        self.rows = [(tuple(map(str, a)), b) for a, b in zip(x.tolist(), y.tolist(), strict=True) if math.isfinite(b)]

    def predict(self, x: np.ndarray) -> np.ndarray:
        every = [y for _, y in self.rows]
        alike = [[y for features, y in self.rows if features == tuple(map(str, one))] or every for one in x.tolist()]
        return np.array([math.fsum(found) / len(found) for found in alike])


def check_regression(
    line: dict[str, Any],
    members: tuple[Sequence[float], Sequence[float]],
    others: tuple[Sequence[float], Sequence[float]],
    tolerance: float,
    *,
    paired: bool,
) -> None:
    def hits(guesses: Sequence[float], truth: Sequence[float]) -> list[float]:
        return [float(abs(a - b) <= tolerance * (1 + 1e-9) + 1e-12) for a, b in zip(guesses, truth, strict=True)]

    def explained(guesses: Sequence[float], truth: Sequence[float]) -> float | None:
        mean = sum(truth) / len(truth)
        usable = [(a, b) for a, b in zip(guesses, truth, strict=True) if not math.isnan(a)]
        total = sum((b - mean) ** 2 for _, b in usable)
        return 1 - sum((a - b) ** 2 for a, b in usable) / total if total > 0 else None

    ours, theirs = hits(*members), hits(*others)
    assert line["targets"] == len(ours)
    for name, found in (("success", ours), ("baseline", theirs)):
        assert estimate(line[name]) == pytest.approx(wilson_plainly(sum(found), len(found)), abs=1e-9)
    gain = mean_interval([a - b for a, b in zip(ours, theirs, strict=True)]) if paired else mean_interval(ours, theirs)
    assert estimate(line["gain"]) == pytest.approx(gain, abs=1e-9)
    for name, (guesses, truth) in (("r2", members), ("r2_baseline", others)):
        wanted = explained(guesses, truth)
        assert line[name] == (None if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-9))


@fewer
@given(mixed(), st.booleans())
def test_the_regression_attack_is_its_definition(files: Files, outside: bool) -> None:
    comparison = files.comparison
    target, keys = comparison.schema["pay"], comparison.schema.keys()
    holdout = files.holdout if outside else None
    known, there = (
        [i for i, value in enumerate(plain(frame["pay"], target)) if value is not None]
        for frame in (comparison.original, files.holdout)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regressing, "_grow", Lookup)
        found = attack_by_regression(comparison, target, keys, holdout=holdout, rng=rng())
    truth = [plain(frame["pay"], target) for frame in (comparison.original, *comparison.copies, files.holdout)]
    if not any(value is not None for values in truth[1:-1] for value in values) or (outside and not there):
        assert found == []
        return
    tree, near = found
    draw = rng()
    frames = [comparison.original, *comparison.copies, files.holdout]
    features = [held(frame, keys) for frame in frames]
    mine, theirs = [truth[0][i] for i in known], [truth[-1][i] for i in there]

    def learnt(rows: list[tuple[Record, float]]) -> Callable[[Record], float]:
        draw.integers(2**31)
        every = [y for _, y in rows]

        def predict(one: Record) -> float:
            alike = [y for features, y in rows if features == one] or every
            return math.fsum(alike) / len(alike)

        return predict

    pairs = [
        (x, y)
        for number in range(1, len(frames) - 1)
        for x, y in zip(features[number], truth[number], strict=True)
        if y is not None
    ]
    model = learnt(pairs)
    guesses = [model(features[0][i]) for i in known]
    if outside:
        others = [model(features[-1][i]) for i in there], theirs
    else:
        fold = draw.permutation(len(known)) % 5
        left_out = [math.nan] * len(known)
        for one in range(5):
            inside = [k for k in range(len(known)) if fold[k] == one]
            if inside and len(inside) < len(known):
                model = learnt([(features[0][known[k]], mine[k]) for k in range(len(known)) if fold[k] != one])
                for k in inside:
                    left_out[k] = model(features[0][known[k]])
        others = left_out, mine
    check_regression(tree, (guesses, mine), others, target.tolerance, paired=not outside)

    scale = spans(comparison.original, keys)

    def closest(records: list[Record], files: Sequence[int], skip: list[int] | None = None) -> list[float]:
        told: list[list[float]] = [[] for _ in records]
        for number in files:
            usable = [i for i, y in enumerate(truth[number]) if y is not None]
            if not usable:
                continue
            place = None if skip is None else [usable.index(i) for i in skip]
            rows = nearest_plainly(records, [features[number][i] for i in usable], scale, draw, skip=place)
            for found_values, row in zip(told, rows, strict=True):
                found_values.append(truth[number][usable[row[0][1]]] if row else math.nan)
        return [math.fsum(values) / len(values) for values in told]

    copies = range(1, len(frames) - 1)
    members = closest([features[0][i] for i in known], copies)
    if outside:
        others = closest([features[-1][i] for i in there], copies), theirs
    else:
        others = closest([features[0][i] for i in known], [0], skip=known), mine
    check_regression(near, (members, mine), others, target.tolerance, paired=not outside)


@few_large
@given(st.integers(0, 10**6), st.integers(25, 300))
def test_a_leaf_of_the_tree_says_the_mean_of_its_rows(seed: int, n: int) -> None:
    draw = rng(seed)
    x = np.where(draw.random((n, 3)) < 0.1, np.nan, draw.integers(0, 9, (n, 3)).astype(float))
    y = np.where(draw.random(n) < 0.1, np.nan, draw.normal(size=n))
    tree = regressing._grow(x, y, rng())
    leaf, known, predicted = tree.apply(x), np.isfinite(y), tree.predict(x)
    for row in range(n):
        alike = [y[k] for k in range(n) if known[k] and leaf[k] == leaf[row]]
        assert len(alike) >= 10
        assert predicted[row] == pytest.approx(sum(alike) / len(alike), abs=1e-9)


def test_the_point_of_the_normal_is_the_one_used() -> None:
    from scipy.stats import norm

    assert pytest.approx(norm.ppf(0.975), abs=1e-12) == Z
