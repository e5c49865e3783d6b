"""Attacks over shards against their twins in memory: the same file, the same draw, cut in one, three or sixteen."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import evaluate_identity
from synthdp.evaluation.risk.likelihood import TEMPERATURES, evaluate_likelihood
from synthdp.evaluation.risk.public import evaluate_public
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.sharded import likelihood, public
from synthdp.evaluation.sharded.matching import match_rows
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.neighbours import average

N, COPIES = 3000, 3


def files(n: int = N, copies: int = COPIES, sd: float = 4.0, seed: int = 3) -> Comparison:
    draw = np.random.default_rng(seed)
    age = np.round(draw.normal(50, 15, n), 1)
    age[draw.random(n) < 0.01] = np.nan
    frame = pd.DataFrame(
        {
            "region": draw.choice(list("NESW"), n),
            "sex": draw.choice(["F", "M"], n),
            "age": age,
            "income": np.round(np.exp(draw.normal(8, 1, n))),
            "kept": np.round(draw.normal(size=n), 2),
        }
    )
    data = resolve(
        frame,
        {
            "region": Variable(key=True),
            "sex": Variable(role="replace", key=True),
            "age": Variable(role="replace", key=True, tolerance=2.0),
            "income": Variable(role="replace", key=True, tolerance=400.0),
        },
    )
    made = []
    for _ in range(copies):
        flip = draw.random(n) < 0.2
        made.append(
            data.frame.assign(
                sex=np.where(flip, draw.choice(["F", "M"], n), data.frame["sex"]),
                age=np.round(data.frame["age"] + draw.normal(0, sd, n), 1),
                income=np.round(data.frame["income"] * np.exp(draw.normal(0, 0.1 * sd, n))),
            )
        )
    return Comparison(data.frame, tuple(made), data.schema, aligned=True)


def cut(n: int, parts: int) -> list[slice]:
    edges = np.linspace(0, n, parts + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]


def own_in(targets: np.ndarray, rows: slice) -> np.ndarray:
    return np.where((targets >= rows.start) & (targets < rows.stop), targets - rows.start, -1)


def some(frame: pd.DataFrame, rows: slice) -> pd.DataFrame:
    return frame.iloc[rows].reset_index(drop=True)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("parts", [1, 3, 16])
def test_matching_is_exact(parts: int, averaged: bool) -> None:
    whole = files()
    targets = np.sort(np.random.default_rng(5).choice(N, 200, replace=False))
    keys = whole.schema.keys()
    held = whole.original.iloc[targets].reset_index(drop=True)
    found = []
    for rows in cut(N, parts):
        copies = [some(copy, rows) for copy in whole.copies]
        found.append(match_rows(held, [average(copies, keys)] if averaged else copies, keys, own_in(targets, rows)))
    twin = evaluate_identity(whole, averaged=averaged, rng=np.random.default_rng(1), permutations=2)
    typical = np.ones(len(targets), dtype=bool)
    ours = reduce(add, found).risk(N, typical)
    for name in ("individual", "confidence", "right"):
        np.testing.assert_allclose(getattr(ours, name), getattr(twin, name)[targets], rtol=0, atol=1e-12)


def test_matching_many_copies_needs_no_table_of_patterns() -> None:
    whole = files(n=300, copies=12)
    keys = whole.schema.keys()
    everyone = np.arange(300)
    parts = [
        match_rows(whole.original, [some(copy, rows) for copy in whole.copies], keys, own_in(everyone, rows))
        for rows in cut(300, 4)
    ]
    ours = reduce(add, parts).risk(300, np.ones(300, dtype=bool))
    twin = evaluate_identity(whole, averaged=False, rng=np.random.default_rng(1), permutations=2)
    np.testing.assert_allclose(ours.individual, twin.individual, atol=1e-12)
    np.testing.assert_allclose(ours.right, twin.right, atol=1e-12)
    assert ours.expected_match == pytest.approx(twin.expected_match)
    assert ours.true_match == twin.true_match
    assert ours.mean_unconditional == pytest.approx(twin.mean_unconditional)
    assert ours.one_copy == pytest.approx(twin.one_copy)
    assert ours.expected_match_reference == pytest.approx(twin.expected_match_reference)


@pytest.mark.parametrize("parts", [1, 7])
def test_likelihood_is_that_of_the_whole_file(parts: int) -> None:
    whole = files()
    # the same folds, the same few to tune on: the twin draws them from the same stream
    rng = np.random.default_rng(9)
    folds = rng.permutation(N) % FOLDS
    targets = np.arange(0, N, 5)
    tuned = rng.permutation(targets)[: likelihood.TUNED_ON]

    twin = evaluate_likelihood(replace(whole, targets=targets), rng=np.random.default_rng(9), permutations=2)
    lesson = likelihood.learn(whole, folds)
    held = whole.original.iloc[targets].reset_index(drop=True)
    found = reduce(
        add,
        [
            likelihood.look(lesson, held, folds[targets], [some(c, rows) for c in whole.copies], own_in(targets, rows))
            for rows in cut(N, parts)
        ],
    )
    few = np.searchsorted(targets, tuned)
    ours = found.risk(N, np.ones(len(targets), dtype=bool), TEMPERATURES, folds=folds[targets], few=few)
    np.testing.assert_allclose(ours.individual, twin.individual[targets], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.confidence, twin.confidence[targets], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.right, twin.right[targets], atol=1e-12)
    assert ours.expected_links == pytest.approx(twin.expected_links)


@pytest.mark.parametrize("parts", [1, 5])
def test_the_intruder_with_public_files_only(parts: int) -> None:
    whole = files(n=1500)
    # everybody is alone on the kept columns, so that being told which rows belong together tells nothing
    frame = whole.original.assign(kept=np.arange(1500.0))
    copies = tuple(copy.assign(kept=np.arange(1500.0)) for copy in whole.copies)
    whole = replace(whole, original=frame, copies=copies)
    targets = np.arange(0, 1500, 3)
    twin = evaluate_public(replace(whole, targets=targets), targets=targets, rng=np.random.default_rng(4))
    rng = np.random.default_rng(4)
    lesson = public.learn(whole, mask_draw="per_copy", rng=rng)
    folds = rng.permutation(1500) % FOLDS
    tuned = rng.permutation(targets)[: public.TUNED_ON]
    blocks = likelihood.learn(whole, folds).blocks
    held = whole.original.iloc[targets].reset_index(drop=True)
    found = reduce(
        add,
        [
            public.look(lesson, blocks, held, [some(c, rows) for c in copies], own_in(targets, rows))
            for rows in cut(1500, parts)
        ],
    )
    few = np.searchsorted(targets, tuned)
    ours = found.risk(1500, np.ones(len(targets), dtype=bool), public.TEMPERATURES, folds=folds[targets], few=few)
    np.testing.assert_allclose(ours.individual, twin.individual[targets], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.right, twin.right[targets], atol=1e-12)
