"""Draws that keep totals of the file, beside a general optimiser and enumeration."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import synthdp
from synthdp.imputation.auto.matching import Problem, _walk, matched
from synthdp.imputation.auto.model import Auto
from synthdp.imputation.auto.totals import EQUAL, Totals, _equal
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag


def made(n=60, paths=4, kept=3, features=2, seed=1):
    rng = np.random.default_rng(seed)
    z = np.column_stack([np.ones(n), rng.normal(size=(n, kept - 1))])
    drawn = rng.normal(size=(features, n, paths))
    return Problem(z, drawn.mean(axis=2).T + 0.2 + 0.3 * rng.normal(size=(n, features)), drawn, np.zeros((n, paths)))


CHOSEN = [(0, 0, 0), (0, 0, 1), (1, 1, 2), (1, 0, 0)]


def terms(problem):
    return np.stack([problem.drawn[f] * (problem.kept[:, j] * problem.kept[:, k])[:, None] for f, j, k in CHOSEN])


def aims(problem):
    return np.array([(problem.seen[:, f] * problem.kept[:, j] * problem.kept[:, k]).sum() for f, j, k in CHOSEN])


def test_tilts_are_those_of_a_general_optimiser_and_reach_the_totals():
    problem = made()
    t, aim = terms(problem), aims(problem)

    def loss(tilt):
        return np.log(np.exp(np.einsum("t,tnk->nk", tilt, t)).sum(axis=1)).sum() - aim @ tilt

    found = problem.solve(CHOSEN, np.zeros(4))
    best = minimize(loss, np.zeros(4), method="BFGS").x
    # the prior is worth about a record, and the search ends when a step gains little
    np.testing.assert_allclose(found, best, atol=0.05)
    expected = (t * problem.shares(CHOSEN, best)).sum(axis=(1, 2))
    np.testing.assert_allclose(expected, aim, atol=1e-3)
    reached = (t * problem.shares(CHOSEN, found)).sum(axis=(1, 2))
    assert np.abs(reached - aim).max() < 0.1 * np.abs((t.mean(axis=2)).sum(axis=1) - aim).max()


def test_variances_and_covariances_are_those_of_enumerated_paths():
    problem = made()
    shares = problem.shares(CHOSEN, np.array([0.3, -0.2, 0.1, 0.4]))
    means = problem.means(shares)
    brute = np.array([[np.average(problem.drawn[f, i], weights=shares[i]) for f in range(2)] for i in range(60)])
    np.testing.assert_allclose(means, brute)
    spread = [
        [np.average((problem.drawn[f, i] - brute[i, f]) ** 2, weights=shares[i]) for f in range(2)] for i in range(60)
    ]
    np.testing.assert_allclose(problem.variances(shares, means), spread, atol=1e-12)
    t = terms(problem)
    centred = t - (t * shares).sum(axis=2, keepdims=True)
    covariance = np.einsum("ank,bnk,nk->ab", centred, centred, shares) / 60
    np.testing.assert_allclose(problem._covariance(CHOSEN, shares), covariance)


def test_the_walk_keeps_every_share_and_comes_nearer_than_independent_choices():
    problem = made(n=400)
    shares = problem.shares(CHOSEN, np.array([0.3, -0.2, 0.1, 0.4]))
    rng, repeats = np.random.default_rng(2), 400
    taken = np.stack([problem.walk(CHOSEN, shares, rng=rng) for _ in range(repeats)])
    often = np.stack([(taken == k).mean(axis=0) for k in range(4)], axis=1)
    common = (shares > 0.03) & (shares < 0.97)
    z = ((often - shares) / np.sqrt(shares * (1 - shares) / repeats))[common]
    # of some 1,500 shares the largest deviation, and their spread, are those of chance
    assert np.abs(z).max() < 4.5
    assert z.std() < 1.1
    t, expected = terms(problem), (terms(problem) * shares).sum(axis=(1, 2))
    off = np.stack([t[:, np.arange(400), one].sum(axis=1) for one in taken]) - expected
    alone = np.einsum("ank,nk->a", (t - (t * shares).sum(axis=2, keepdims=True)) ** 2, shares)
    assert (off.var(axis=0) < 0.2 * alone).all()


def test_how_many_equal_records_make_up_a_total():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(30, 2)), np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    found = _equal(x, [(0, 1)], z)
    for f, feature in enumerate((x[:, 0], x[:, 1], x[:, 0] * x[:, 1])):
        for j in range(3 if f < 2 else 1):
            for k in range(3):
                term = np.abs(feature * z[:, j] * z[:, k])
                assert found[f][j, k] == pytest.approx(term.sum() ** 2 / (term**2).sum())
    equal = _equal(np.repeat([1.0, 0.0], [7, 23])[:, None], [], z[:, :1])
    assert equal[0][0, 0] == pytest.approx(7)


def totals_of(frame, **variables):
    data = resolve(frame, {name: Variable.model_validate(said) for name, said in variables.items()})
    task = prepare(Plan(data, tag(data, Neighbours(k=5)), {}), Auto(), 1)[0]
    return Totals.of(task, tuple(variables))


def wealthy(n=400, seed=4):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": np.append(rng.normal(size=n - 1), 500.0), "z": rng.normal(size=n)})


def test_a_total_that_one_person_makes_up_is_left_alone():
    totals = totals_of(wealthy(), x={"kind": "continuous", "role": "replace"})
    assert totals is not None
    squares = next(f for f, feature in enumerate(totals.features) if feature.power == 2)
    assert totals.equal[squares][0, 0] < EQUAL
    rows, left = np.arange(400), np.ones((400, len(totals.features)))
    asked = totals.farthest(rows, left, np.full_like(left, 10.0), taken=(), most=100, near=0.0, bins=False)
    assert asked
    assert all(totals.equal[f][j, k] >= EQUAL for f, j, k in asked)
    # nor one that paths cannot move, nor one that was taken before
    assert not totals.farthest(rows, left, np.full_like(left, 0.1), taken=(), most=100, near=1e-9, bins=False)
    assert not totals.farthest(rows, left, np.full_like(left, 10.0), taken=asked, most=100, near=0.0, bins=False)


def test_a_number_far_beyond_all_others_counts_as_one_that_is_only_far():
    frame = wealthy()
    features = [
        totals_of(frame.replace({"x": {500.0: far}}), x={"kind": "continuous", "role": "replace"})
        for far in (500.0, 900.0)
    ]
    assert all(found is not None for found in features)
    # nobody learns from totals how far it is
    np.testing.assert_array_equal(features[0].original[:, :2], features[1].original[:, :2])
    one = features[0].features[0]
    assert 15 < one.most < 25
    assert one.of(np.array([500.0])) == one.of(np.array([one.most]))
    # numbers without such a one are as they are
    whole = totals_of(frame.iloc[:-1], x={"kind": "continuous", "role": "replace"})
    x = frame["x"].to_numpy()[:-1]
    np.testing.assert_allclose(whole.original[:, 0], (x - x.mean()) / x.std())


def test_missing_values_and_rare_levels_have_no_part_in_totals():
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    x[:50] = np.nan
    frame = pd.DataFrame({"x": x, "g": ["a"] * 300 + ["b"] * 190 + ["c"] * 10, "z": rng.normal(size=500)})
    totals = totals_of(frame, x={"kind": "continuous", "role": "replace"}, g={"kind": "nominal", "role": "replace"})
    assert totals is not None
    assert (totals.original[:50, :2] == 0).all()
    assert [feature.level for feature in totals.features if feature.link is None] == [1]
    drawn = totals.features[0].drawn(np.array([[np.nan, 0.0]]))
    assert drawn[0, 0] == 0
    few = totals_of(frame.iloc[300:450], x={"kind": "continuous", "role": "replace"})
    assert few is None


def test_where_nothing_can_be_matched_paths_are_chosen_by_their_weight():
    totals = totals_of(wealthy(), x={"kind": "continuous", "role": "replace"})
    assert totals is not None
    weight = np.tile(np.log([0.9, 0.1]), (400, 1))
    weight[0] = -np.inf
    taken, _ = matched(totals, np.arange(400), {"x": np.zeros((400, 2))}, weight, rng=np.random.default_rng(6))
    assert abs(taken[1:].mean() - 0.1) < 4 * np.sqrt(0.09 / 399)


def test_a_large_file_is_matched_part_by_part_with_the_same_totals(monkeypatch):
    from synthdp.imputation.auto import matching

    rng = np.random.default_rng(8)
    z = rng.normal(size=2_000)
    frame = pd.DataFrame({"x": z + rng.normal(size=2_000), "z": z})
    totals = totals_of(frame, x={"kind": "continuous", "role": "replace"})
    assert totals is not None
    link = totals.features[0].link
    assert link is not None
    paths = {"x": link.forward(frame["x"].to_numpy())[:, None] + rng.normal(0.1, 0.5, size=(2_000, 6))}
    weight = np.zeros((2_000, 6))

    def off(taken, rows):
        drawn = totals.paths({"x": paths["x"][rows]})[:, np.arange(len(rows)), taken].T
        left = totals.records(rows) - drawn
        return abs(left.sum(axis=0) / np.sqrt((left**2).sum(axis=0)))

    monkeypatch.setattr(matching, "SPACED", 300)
    monkeypatch.setattr(matching, "CURVED", 200)
    rows = np.arange(1_000)
    taken, tilt = matched(totals, rows, {"x": paths["x"][rows]}, weight[rows], rng=rng)
    assert tilt[0]
    assert off(taken, rows)[:2].max() < 0.5
    rest = np.arange(1_000, 2_000)
    taken, again = matched(totals, rest, {"x": paths["x"][rest]}, weight[rest], tilt, rng=rng)
    assert again[0] == tilt[0]
    assert off(taken, rest)[:2].max() < 0.5
    blind = off(rng.integers(6, size=1_000), rest)
    assert blind[:2].max() > 3


def test_parts_of_a_sorted_file_that_lack_a_level_are_matched_by_the_others():
    whole = made()
    kept = whole.kept.copy()
    kept[:, 2] = 0.0
    problem = Problem(kept, whole.seen, whole.drawn, whole.base)
    found = problem.solve(CHOSEN, np.array([0.0, 0.0, 0.7, 0.0]))
    # the third total has nothing here
    assert found[2] == 0.7
    others = [CHOSEN[k] for k in (0, 1, 3)]
    np.testing.assert_allclose(found[[0, 1, 3]], problem.solve(others, np.zeros(3)), atol=0.01)


def test_every_part_of_a_large_file_has_records_from_all_of_it(monkeypatch):
    from synthdp.imputation.auto import drawing

    rng = np.random.default_rng(9)
    z = np.repeat(["a", "b", "c"], [200, 500, 500])
    frame = pd.DataFrame({"x": (z == "b") + rng.normal(size=1_200), "z": z})
    settings = {
        "variables": {"x": {"role": "replace", "key": True}},
        "masks": {"x": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"copies": 1, "model": {"method": "auto"}},
    }
    monkeypatch.setattr(drawing, "BLOCK", 1_200 * 8 // 3)
    (copy,) = synthdp.synthesize(frame, settings, seed=1).copies
    off = (copy["x"] - frame["x"]).groupby(frame["z"]).mean()
    # independent draws would be off by 0.035 or so
    assert np.abs(off).max() < 0.03


def test_a_total_that_moves_only_where_nobody_looked_ends_no_walk(monkeypatch):
    from synthdp.imputation.auto import matching

    problem = made(n=100)
    monkeypatch.setattr(matching, "CURVED", 50)
    drawn = problem.drawn.copy()
    drawn[1, ::2] = 0.3
    still = Problem(problem.kept, problem.seen, drawn, problem.base)
    taken = still.walk(CHOSEN, still.shares(CHOSEN, np.zeros(4)), rng=np.random.default_rng(3))
    assert set(taken) <= {0, 1, 2, 3}


def test_the_walk_never_takes_a_path_without_a_share():
    shares = np.array([[0.4, 0.6 - 1e-9, 0.0]])
    steps = np.zeros((1, 3, 1), dtype=np.float32)
    assert _walk(shares, steps, np.zeros(1), np.array([1 - 1e-12]), 4.0).tolist() == [1]


def curved(n=600, seed=7):
    rng = np.random.default_rng(seed)
    z, b = rng.normal(size=n), rng.integers(2, size=n)
    x = 0.4 * z + rng.normal(size=n)
    return pd.DataFrame({"x": x, "b": b, "z": z, "y": 0.5 * x + 0.6 * x * b + rng.normal(size=n)})


@pytest.mark.parametrize(("totals", "near"), [(True, 0.15), (False, np.inf)])
def test_an_interaction_is_that_of_the_file(totals, near):
    frame = curved()
    settings = {
        "variables": {"x": {"role": "replace", "key": True}},
        "masks": {"x": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"model": {"method": "auto", "totals": totals}},
    }
    found = synthdp.pool(synthdp.synthesize(frame, settings, seed=1).copies, model="ols", formula="y ~ x * b + z")
    file = synthdp.pool([frame], model="ols", formula="y ~ x * b + z", rule="mean_se")
    off = np.abs(np.asarray(found.estimate) - np.asarray(file.estimate)) / np.asarray(file.se)
    assert off.max() < near
    assert (off.max() > 0.15) == (not totals)


def test_filling_in_keeps_no_total_of_a_file_with_gaps():
    assert Auto().of_one(()).totals is False
