"""Every measure of every identity attack against a plain twin that compares everybody with every row.

Files are made by hypothesis: keys of every kind, ties, gaps, tolerances from zero, groups; most are small, some have
300 records. The twins follow the definitions and know nothing of sorting, windows or compiled loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import attack_by_matching, evaluate_identity
from synthdp.evaluation.risk.likelihood import TEMPERATURES, TUNED_ON, evaluate_likelihood
from synthdp.evaluation.risk.linking import evaluate_linked, linked_file
from synthdp.evaluation.risk.scatter import (
    BANDWIDTHS,
    BINS,
    FOLDS,
    NODES,
    numeric_law,
    pattern_marginal,
    patterns,
    transition,
)
from synthdp.evaluation.risk.traces import Traces, _gather, _leading, trace
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Column, Variable
from synthdp.tagging.neighbours import average, encode_keys, match

PERMUTATIONS = 7
NUMBERS = ("age", "children", "birth")
SLACK = 1e-12


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def files(draw: st.DrawFn) -> Comparison:
    n = draw(st.sampled_from([0] * 8 + [120, 300])) or draw(st.integers(3, 40))
    make = rng(draw(st.integers(0, 10**6)))
    gaps = draw(st.sampled_from([0.0, 0.0, 0.15, 0.5]))
    step = draw(st.sampled_from([0.0, 0.5, 1.0, 10.0]))
    spread = draw(st.sampled_from([0.0, 0.3, 3.0, 30.0]))

    def frame(base: pd.DataFrame | None) -> pd.DataFrame:
        age = make.normal(50, 10, n) if base is None else base["age"].to_numpy() + make.normal(0, spread, n)
        age = np.round(age / step) * step if step else age
        children = make.poisson(1.5, n) if base is None else base["children"] + make.integers(-1, 2, n)
        days = make.integers(0, 400, n) if base is None else make.integers(-20, 21, n)
        start = pd.Timestamp("1970-01-01") if base is None else base["birth"].to_numpy()
        birth = pd.Series(start + pd.to_timedelta(days, unit="D"))
        sex = make.choice(["F", "M"], n) if base is None else base["sex"].to_numpy(dtype=object)
        sex = np.where(make.random(n) < 0.2, make.choice(["F", "M"], n), sex)
        made = pd.DataFrame({"age": age, "children": np.asarray(children, float), "birth": birth, "sex": sex})
        made = made.mask(make.random(made.shape) < gaps)
        site = make.choice(list("abc"), n) if base is None else base["site"].to_numpy()
        return made.assign(site=site)

    original = frame(None)
    # two records without gaps, so that no column is constant or missing everywhere
    birthdays = pd.to_datetime(["1970-02-01", "1971-01-01"])
    for row, values in enumerate(([50.0, 0.0, birthdays[0], "F"], [60.0, 1.0, birthdays[1], "M"])):
        original.loc[row, ["age", "children", "birth", "sex"]] = values
    chosen = draw(st.lists(st.sampled_from([*NUMBERS, "sex", "site"]), min_size=1, max_size=4, unique=True))
    tolerance = {
        "age": draw(st.sampled_from([0.0, 0.5, 3.0, 1e6])),
        "children": draw(st.sampled_from([0.0, 1.0])),
        "birth": draw(st.sampled_from([0.0, 31.0])),
    }
    kinds = {"age": "continuous", "children": "count", "birth": "date"}
    variables = {
        name: Variable(kind=kinds[name], role="replace", key=name in chosen, tolerance=tolerance[name])
        for name in NUMBERS
    }
    variables["sex"] = Variable(kind="nominal", role="replace", key="sex" in chosen, levels=("F", "M"))
    variables["site"] = Variable(kind="nominal", key="site" in chosen, levels=("a", "b", "c"))
    data = resolve(original, variables)
    groups = pd.Series(pd.Categorical(make.choice(["low", "high"], n), ["low", "medium", "high"], ordered=True))
    copies = tuple(frame(original) for _ in range(draw(st.integers(1, 4))))
    return Comparison(data.frame, copies, data.schema, aligned=True, groups=draw(st.sampled_from([None, groups])))


few_large = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


# matching


def plain(series: pd.Series, column: Column) -> list[Any]:
    """A column as values that can be compared: None where missing."""
    values = [None if pd.isna(value) else value for value in series]
    if column.kind.categorical:
        return values
    return [
        value
        if value is None
        else (pd.Timestamp(value) - pd.Timestamp(0)).total_seconds() / 86400
        if column.name == "birth"
        else float(value)
        for value in values
    ]


def candidates(original: pd.DataFrame, copy: pd.DataFrame, keys: Sequence[Column]) -> np.ndarray:
    """Who is a candidate for whom: every record with every row."""
    n = len(original)
    inside = np.ones((n, n), dtype=bool)
    for key in keys:
        x, y = plain(original[key.name], key), plain(copy[key.name], key)
        for i in range(n):
            for r in range(n):
                if x[i] is None or y[r] is None:
                    inside[i, r] &= x[i] is y[r]
                elif key.kind.categorical:
                    inside[i, r] &= x[i] == y[r]
                else:
                    inside[i, r] &= abs(x[i] - y[r]) <= key.tolerance
    return inside


@dataclass
class Twin:
    """The matching attack by its definition; ``own`` says which row stands for each record."""

    probability: np.ndarray
    unconditional: np.ndarray
    groups: pd.Series | None
    alone: np.ndarray | None

    @classmethod
    def of(cls, comparison: Comparison, copies: Sequence[pd.DataFrame]) -> "Twin":
        n = len(comparison.original)
        probability, unconditional, alone = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        for copy in copies:
            inside = candidates(comparison.original, copy, comparison.schema.keys())
            size = np.maximum(inside.sum(axis=1), 1)
            probability += inside / size[:, None] / len(copies)
            unconditional += inside.any(axis=1) / size / len(copies)
            alone += (inside.sum(axis=1) == 1) & np.diag(inside)
        return cls(probability, unconditional, comparison.groups, alone / len(copies) if len(copies) > 1 else None)

    def picks(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many rows share the largest probability, whether the own one is among them, and nobody at all."""
        largest = self.probability.max(axis=1)
        best = (self.probability >= largest[:, None] - SLACK) & (largest[:, None] > 0)
        return best.sum(axis=1), best[np.arange(len(own)), own], largest == 0

    def section(self, draw: np.random.Generator) -> dict[str, Any]:
        n = len(self.probability)
        count, hit, nobody = self.picks(np.arange(n))
        share, true = hit / np.maximum(count, 1), hit & (count == 1)
        individual = np.diag(self.probability)
        by_chance = []
        for _ in range(PERMUTATIONS):
            number, right, _ = self.picks(draw.permutation(n))
            by_chance.append(int(np.sum(right & (number == 1))))
        lines = []
        for group in [] if self.groups is None else ["low", "medium", "high"]:
            members = (self.groups == group).to_numpy()
            if members.any():
                lines.append(
                    {
                        "group": group,
                        "records": int(members.sum()),
                        "expected_match": share[members].sum(),
                        "true_match": int(true[members].sum()),
                        "mean_individual": individual[members].mean(),
                    }
                )
        found = {
            "expected_match": share.sum(),
            "expected_match_rate": share.mean(),
            "expected_match_reference": share.sum() + nobody.sum() / n,
            "true_match": int(true.sum()),
            "true_match_rate": true.mean(),
            "true_match_chance": sorted(by_chance)[int(np.ceil(0.95 * (PERMUTATIONS - 1)))],
            "false_match_rate": float(np.mean(~hit[count == 1])) if np.any(count == 1) else None,
            "no_candidate": int(nobody.sum()),
            "mean_individual": individual.mean(),
            "max_individual": individual.max(),
            "mean_unconditional": self.unconditional.mean(),
            "per_group": lines,
        }
        if self.alone is not None:
            expected, true = individual.mean(), self.alone.mean()
            rates = {"expected_match_rate": expected, "true_match_rate": true}
            found["one_copy"] = rates | {"expected_match": expected * n, "true_match": true * n}
        return found


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Equal in every measure."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        if name == "one_copy":
            assert found[name] == pytest.approx(value, abs=1e-9)
        elif name == "per_group":
            assert len(found[name]) == len(value)
            for here, there in zip(found[name], value, strict=True):
                assert here == pytest.approx(there, abs=1e-9)
        else:
            assert found[name] == (value if value is None else pytest.approx(value, abs=1e-9)), name


def averaged_plainly(copies: Sequence[pd.DataFrame], keys: Sequence[Column]) -> pd.DataFrame:
    made: dict[str, list[Any]] = {}
    for key in keys:
        columns = [plain(copy[key.name], key) for copy in copies]
        made[key.name] = []
        for row in range(len(copies[0])):
            present = [column[row] for column in columns if column[row] is not None]
            if not present:
                made[key.name].append(None)
            elif key.kind.categorical:
                made[key.name].append(max(key.levels, key=lambda level: (present.count(level), -_place(key, level))))
            else:
                made[key.name].append(sum(present) / len(present))
    frame = pd.DataFrame(made)
    if "birth" in frame:
        frame["birth"] = pd.Timestamp(0) + pd.to_timedelta(frame["birth"].astype(float), unit="D")
    return frame


def _place(key: Column, level: Any) -> int:
    return [str(one) for one in key.levels].index(str(level))


@few_large
@given(files())
def test_matching_is_its_definition_in_every_measure(comparison: Comparison) -> None:
    found = evaluate_identity(comparison, averaged=False, rng=rng(), permutations=PERMUTATIONS)
    twin = Twin.of(comparison, comparison.copies)
    same(found.section(), twin.section(rng()))
    np.testing.assert_allclose(found.individual, np.diag(twin.probability), atol=1e-12)
    count, hit, _ = twin.picks(np.arange(len(found.individual)))
    np.testing.assert_array_equal(found.true_match_mask, hit & (count == 1))


@few_large
@given(files())
def test_averaging_is_its_definition_in_every_measure(comparison: Comparison) -> None:
    found = evaluate_identity(comparison, averaged=True, rng=rng(), permutations=PERMUTATIONS)
    file = averaged_plainly(comparison.copies, comparison.schema.keys())
    if any(key.tolerance == 0 for key in comparison.schema.keys() if not key.kind.categorical):
        # at tolerance zero the last bit of a mean decides, which both sides may round differently
        file = rounded_alike(comparison)
    same(found.section(), Twin.of(comparison, [file]).section(rng()))


def rounded_alike(comparison: Comparison) -> pd.DataFrame:
    """The means as the attack rounds them, which are those of the twin but for the last digits."""
    means = averaged_plainly(comparison.copies, comparison.schema.keys())
    made = average(comparison.copies, comparison.schema.keys())
    for key in comparison.schema.keys():
        here, there = plain(made[key.name], key), plain(means[key.name], key)
        for one, other in zip(here, there, strict=True):
            assert one == (pytest.approx(other, abs=1e-6) if isinstance(other, float) else other)
    return made


@few_large
@given(files())
def test_linking_is_its_definition_in_every_measure(comparison: Comparison) -> None:
    found = evaluate_linked(comparison, rng=rng(), permutations=PERMUTATIONS)
    draw = rng()
    file = linked_file(comparison, comparison.schema.keys(), rng=draw)
    same(found.section(), Twin.of(comparison, [file]).section(draw))


@few_large
@given(files(), st.booleans())
def test_rows_are_linked_to_rows_with_the_same_kept_values_and_no_row_twice(
    comparison: Comparison, aligned: bool
) -> None:
    # the number of the row, as a key of its own, in another digit of each copy: the mean says who was linked
    n, m = len(comparison.original), len(comparison.copies)
    base = n + 1
    numbered = tuple(
        copy.sample(frac=1, random_state=k).reset_index(drop=True).assign(row=np.arange(n) * float(base**k))
        for k, copy in enumerate(comparison.copies)
    )
    row = Column(name="row", kind="continuous", role="replace", key=True, tolerance=0.0)
    shuffled = Comparison(comparison.original, numbered, comparison.schema, aligned=aligned)
    total = np.rint(linked_file(shuffled, [row], rng=rng())["row"].to_numpy() * m).astype(np.int64)
    site = comparison.original["site"].to_numpy()
    first = None
    for k in range(m):
        rows = total // base**k % base
        assert sorted(rows) == list(range(n))
        kept = numbered[k]["site"].to_numpy()[rows]
        if k == 0:
            first = kept
            assert np.array_equal(rows, np.arange(n)) if aligned else np.array_equal(kept, site)
        assert np.array_equal(kept, first)


@few_large
@given(files())
def test_a_sample_of_everybody_is_everybody(comparison: Comparison) -> None:
    targets, *copies = encode_keys([comparison.original, *comparison.copies], comparison.schema.keys())
    n = len(targets)
    whole, part = match(targets, copies), match(targets, copies, sample=np.arange(n))
    for name in ("individual", "unconditional", "best", "hit", "winner"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))
    some = np.sort(rng().choice(n, max(1, n // 2), replace=False))
    half = match(targets, copies, sample=some)
    for name in ("individual", "unconditional", "best", "hit", "winner"):
        np.testing.assert_array_equal(getattr(half, name), getattr(whole, name)[some])
    full = attack_by_matching(comparison, comparison.copies, rng=rng(), permutations=2)
    asked = attack_by_matching(comparison, comparison.copies, rng=rng(), permutations=2, most_pairs=1)
    assert asked.sampled is None  # never fewer targets than give an interval, and here that is everybody
    same({**asked.section(), "true_match_chance": 0}, {**full.section(), "true_match_chance": 0})
    sections = [
        evaluate_likelihood(comparison, rng=rng(), permutations=2, most_work=work).section() for work in (4e8, 1.0)
    ]
    assert sections[0] == sections[1]


# the likelihood attack


def scores_plainly(held: Traces, i: int) -> Floats:
    """The evidence of every row for record i; minus infinity for rows that are no candidates."""
    n, fold = len(held.order), held.folds[i]
    found = np.full(n, -np.inf)
    for row in range(held.start[i], held.stop[i]):
        score = -held.marginal[row]
        for key in range(held.centre.shape[1]):
            for value in held.value[key, :, row]:
                step = value - held.centre[i, key]
                if np.isfinite(step):
                    score += held.density[key, fold, int(np.clip(np.floor(step), -1, held.bins[key])) + 1]
        for key in range(held.level.shape[1]):
            for released in held.shown[key, held.pattern[key, row]]:
                score += held.transition[key, fold, held.level[i, key], released]
        found[row] = score
    return found


def likelihood_plainly(comparison: Comparison) -> dict[str, Any]:
    """Every figure of the attack, given the laws, drawing what it draws in the same order."""
    draw = rng()
    held = trace(comparison, rng=draw)
    n = len(held.order)
    evidence = np.stack([scores_plainly(held, i) for i in range(n)])

    def posteriors(i: int, t: float) -> Floats:
        scores = t * (evidence[i] - evidence[i].max())
        return np.asarray(np.exp(scores) / np.exp(scores).sum())

    few = draw.permutation(np.arange(n))[:TUNED_ON]
    draw.random(len(few))
    chosen = []
    for fold in range(FOLDS):
        others = [i for i in few if held.folds[i] != fold]
        totals = []
        for t in TEMPERATURES:
            mine = [posteriors(i, t)[held.own[i]] if held.start[i] < held.stop[i] else 0.0 for i in others]
            totals.append(sum(max(np.log(p) if p > 0 else -np.inf, -50.0) for p in mine))
        chosen.append(TEMPERATURES[int(np.argmax(totals))])
    pick = draw.random(n)
    share, mine, top, winner = np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, -1)
    for i in range(n):
        if held.start[i] == held.stop[i]:
            continue
        best = np.flatnonzero(evidence[i] >= evidence[i].max() - 1e-9)
        share[i] = (held.own[i] in best) / len(best)
        winner[i] = held.order[best[min(int(pick[i] * len(best)), len(best) - 1)]]
        posterior = posteriors(i, chosen[held.folds[i]])
        mine[i], top[i] = posterior[held.own[i]], posterior.max()
    hits = [int(np.sum(winner == draw.permutation(n))) for _ in range(PERMUTATIONS)]
    lines = []
    for group in [] if comparison.groups is None else ["low", "medium", "high"]:
        members = (comparison.groups == group).to_numpy()
        if members.any():
            part = {"expected_links": share[members].sum(), "mean_posterior": mine[members].mean()}
            lines.append({"group": group, "records": int(members.sum()), **part})
    return {
        "expected_links": share.sum(),
        "expected_links_rate": share.mean(),
        "expected_links_chance": sorted(hits)[int(np.ceil(0.95 * (PERMUTATIONS - 1)))],
        "expected_links_kept": kept_plainly(comparison),
        "predicted_links": top.sum(),
        "mean_posterior": mine.mean(),
        "max_posterior": mine.max(),
        "per_group": lines,
    }


def kept_plainly(comparison: Comparison) -> float:
    """The sum of 1 over those who agree on the keys, and on the gaps in keys, that no copy changed."""
    labels: list[list[Any]] = []
    for key in comparison.schema.keys():
        columns = [plain(frame[key.name], key) for frame in (comparison.original, *comparison.copies)]
        absent = [[value is None for value in column] for column in columns]
        labels += [versions[0] for versions in (columns, absent) if all(version == versions[0] for version in versions)]
    people = list(zip(*labels, strict=True)) or [()] * len(comparison.original)
    return float(sum(1 / people.count(person) for person in people))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(files())
def test_the_likelihood_attack_is_its_definition_in_every_measure(comparison: Comparison) -> None:
    found = evaluate_likelihood(comparison, rng=rng(), permutations=PERMUTATIONS).section()
    same(found, likelihood_plainly(comparison))


@few_large
@given(files())
def test_candidates_are_the_rows_of_the_block_within_reach(comparison: Comparison) -> None:
    held = trace(comparison, rng=rng())
    found = _gather(comparison)
    folds = rng().permutation(len(held.order)) % FOLDS
    lead, at, reach = _leading(found, [numeric_law(x, y, folds) for x, y, _ in found.numbers])
    for i in range(len(held.order)):
        wanted = np.flatnonzero((found.block == found.block[i]) & (np.abs(lead - at[i]) <= reach))
        assert sorted(held.order[held.start[i] : held.stop[i]]) == wanted.tolist()
    assert np.array_equal(held.order[held.own], np.arange(len(held.order)))


# the laws it rests on


def density_plainly(errors: Floats, low: float, width: float, bins: int, bandwidth: float) -> Floats:
    """log density in each bin: counts, smoothed by a normal kernel that is cut at four bandwidths, never zero."""
    counts = np.zeros(bins + 2)
    for e in errors:
        counts[int(np.floor(min(max((e - low) / width, -1.0), float(bins)))) + 1] += 1
    total, inside = counts.sum(), counts[1:-1].copy()
    if bandwidth > 0.3:
        reach = min(int(np.ceil(4 * bandwidth)), bins)
        weights = {d: np.exp(-0.5 * (d / bandwidth) ** 2) for d in range(-reach, reach + 1)}
        norm = sum(weights.values())
        inside = np.zeros(bins)
        for bin_ in np.flatnonzero(counts[1:-1]):
            for d, weight in weights.items():
                if 0 <= bin_ + d < bins:
                    inside[bin_ + d] += counts[1 + bin_] * weight / norm
    share = 1 / (total + 2)
    density = (1 - share) * inside / max(total, 1.0) + share / bins
    outside = [(counts[side] + 0.5) / (total + 1) / bins for side in (0, -1)]
    return np.log(np.array([outside[0], *density, outside[1]]) / width)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([10, 60, 150]), st.booleans(), st.sampled_from([(0.0, 1.0), (20.0, 0.3)]))
def test_the_law_of_a_number_is_estimated_as_said(seed: int, n: int, whole: bool, line: tuple[float, float]) -> None:
    draw = rng(seed)
    x = draw.normal(50, 10, n)
    y = line[0] + line[1] * x + draw.normal(0, 2, (2, n))
    if whole:
        x, y = np.round(x), np.round(y)
    x[0], y[1, 2] = np.nan, np.nan
    folds = draw.permutation(n) % FOLDS
    law = numeric_law(x, y, folds)
    pairs = [(x[i], y[m, i], folds[i]) for m in range(2) for i in range(n) if np.isfinite(x[i] + y[m, i])]
    e = np.array([b - law.intercept - law.slope * a for a, b, _ in pairs])
    owner = np.array([fold for _, _, fold in pairs])
    if (law.intercept, law.slope) != (0.0, 1.0):
        slope, intercept = np.polyfit([a for a, _, _ in pairs], [b for _, b, _ in pairs], 1)
        assert (law.slope, law.intercept) == pytest.approx((slope, intercept), rel=1e-6, abs=1e-6)
    bins = law.log_density.shape[1] - 2
    assert bins <= BINS + 2
    quartiles = np.quantile(e, [0.25, 0.75])
    rule = 2 * (quartiles[1] - quartiles[0]) / len(e) ** (1 / 3) / law.width
    # on a fitted line whole years are smoothed over at least half a year
    least = 0.5 / law.width if whole and law.slope != 1.0 else 0.0
    best, chosen = -np.inf, None
    for factor in BANDWIDTHS:
        bandwidth = max(factor * rule, least)
        tables = [density_plainly(e[owner != fold], law.low, law.width, bins, bandwidth) for fold in range(FOLDS)]
        score = 0.0
        for error, fold in zip(e, owner, strict=True):
            place = int(np.floor(min(max((error - law.low) / law.width, -1.0), float(bins)))) + 1
            score += tables[fold][place]
        if score > best + 1e-9:
            best, chosen = score, tables
    np.testing.assert_allclose(law.log_density, chosen, atol=1e-9)
    edges = law.low + law.width * np.arange(bins + 1)
    assert all(b > a for a, b in pairwise(edges))


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 30.0]))
def test_how_common_a_row_is_is_the_sum_over_its_nodes(seed: int, sd: float) -> None:
    draw = rng(seed)
    n = 40
    x = draw.normal(50, 10, n)
    y = x + draw.normal(0, sd, (2, n))
    y[0, 1], y[:, 2] = np.nan, np.nan
    law = numeric_law(x, y, np.arange(n) % FOLDS)
    table = law.log_density.mean(axis=0)
    reach = law.width * (len(table) - 2)
    narrow = abs(law.slope) * np.ptp(x) > reach
    counts, edges = np.histogram(x, bins=max(5, int(np.sqrt(n))))
    found = law.log_marginal(x, y)
    for i in range(n):
        present = [value for value in y[:, i] if np.isfinite(value)]
        if not present:
            assert found[i] == 0.0
            continue
        total = 0.0
        for q in range(NODES):
            if narrow:
                node = law.low + reach * (q + 0.5) / NODES
                at = (sum(present) / len(present) - law.intercept - node) / law.slope
                place = next((b for b in range(len(counts)) if at < edges[b + 1]), len(counts) - 1)
                weight = counts[place] + 0.5
            else:
                at, weight = np.quantile(x, (q + 0.5) / NODES), 1.0
            for value in present:
                error = value - law.intercept - law.slope * at
                place = int(np.floor(min(max((error - law.low) / law.width, -1.0), len(table) - 2.0))) + 1
                weight *= np.exp(table[place])
            total += weight
        assert found[i] == pytest.approx(np.log(total), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 60), st.integers(1, 3), st.integers(2, 5))
def test_the_law_of_a_level_is_counted_as_said(seed: int, n: int, copies: int, levels: int) -> None:
    draw = rng(seed)
    x, y = draw.integers(0, levels, n), draw.integers(0, levels, (copies, n))
    folds = draw.permutation(n) % FOLDS
    found = transition(x, y, folds, levels)
    flat = [int(value) for value in y.ravel()]
    common = [(flat.count(level) + 0.5) / (len(flat) + 0.5 * levels) for level in range(levels)]
    for fold in range(FOLDS):
        for a in range(levels):
            cells = [
                sum(int(x[i] == a and y[m, i] == b and folds[i] != fold) for m in range(copies) for i in range(n))
                + 0.5 * copies * common[b]
                for b in range(levels)
            ]
            np.testing.assert_allclose(found[fold, a], np.log(np.array(cells) / sum(cells)), atol=1e-12)
    table = found.mean(axis=0)
    prior = [(int(np.sum(x == a)) + 0.5) / (n + 0.5 * levels) for a in range(levels)]
    marginal = pattern_marginal(x, *patterns(y), found)
    for i in range(n):
        total = sum(prior[a] * np.exp(sum(table[a, y[m, i]] for m in range(copies))) for a in range(levels))
        assert marginal[i] == pytest.approx(np.log(total), abs=1e-12)
