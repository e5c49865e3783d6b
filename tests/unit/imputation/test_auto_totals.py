"""Draws that keep totals of the file, beside a general optimiser and enumeration."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import synthdp
from synthdp.imputation.auto.matching import Matching
from synthdp.imputation.auto.model import Auto
from synthdp.imputation.auto.totals import EQUAL, Totals, _equal
from synthdp.imputation.auto.weighing import Weighing, moments
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

CHOSEN = ((0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 2))
TILT = np.array([0.3, -0.2, 0.4, 0.1])


class Made:
    """Records, their paths and totals, and the same by enumeration."""

    def __init__(self, n=60, paths=4, kept=3, features=2, seed=1, still=False, lacking=False):
        rng = np.random.default_rng(seed)
        self.kept = np.column_stack([np.ones(n), rng.normal(size=(n, kept - 1))])
        # single precision is what the product works with
        self.drawn = rng.normal(size=(n, paths, features)).astype(np.float32)
        self.seen = self.drawn.mean(axis=1) + 0.2 + 0.3 * rng.normal(size=(n, features))
        if still:
            self.drawn[::2, :, 1] = 0.3
        if lacking:
            self.kept[:, 2] = 0.0
        self.problem = self.of(CHOSEN)
        times = [(f, self.kept[:, j] * self.kept[:, k]) for f, j, k in CHOSEN]
        self.terms = np.stack([self.drawn[:, :, f] * product[:, None] for f, product in times])
        self.aim = np.array([(self.seen[:, f] * self.kept[:, j] * self.kept[:, k]).sum() for f, j, k in CHOSEN])

    def of(self, chosen):
        return Weighing.of(self.kept, self.seen, self.drawn, np.zeros(self.drawn.shape[:2]), chosen)

    def shares(self, tilt):
        weights = np.exp(np.einsum("t,tnk->nk", tilt, self.terms))
        return weights / weights.sum(axis=1, keepdims=True)


def test_shares_value_and_slope_are_those_of_enumerated_paths():
    made = Made()
    np.testing.assert_allclose(made.problem.shares(TILT), made.shares(TILT), rtol=1e-5)

    def likelihood(tilt):
        logs = np.log(np.exp(np.einsum("t,tnk->nk", tilt, made.terms)).sum(axis=1)).sum()
        return made.aim @ tilt - logs - 0.5 * made.problem.precision @ tilt**2

    value, slope = made.problem.slope(TILT)
    assert value == pytest.approx(likelihood(TILT), abs=1e-4)
    steps = 1e-4 * np.eye(4)
    numeric = [(likelihood(TILT + step) - likelihood(TILT - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(slope, numeric, atol=1e-3)


def test_tilts_are_those_of_a_general_optimiser_and_reach_the_totals():
    made = Made()

    def loss(tilt):
        return np.log(np.exp(np.einsum("t,tnk->nk", tilt, made.terms)).sum(axis=1)).sum() - made.aim @ tilt

    found = made.problem.solve(np.zeros(4))
    best = minimize(loss, np.zeros(4), method="BFGS").x
    # the prior is worth about a record, and the search ends when a step gains little
    np.testing.assert_allclose(found, best, atol=0.05)
    np.testing.assert_allclose((made.terms * made.shares(best)).sum(axis=(1, 2)), made.aim, atol=1e-3)
    reached = (made.terms * made.problem.shares(found)).sum(axis=(1, 2))
    assert np.abs(reached - made.aim).max() < 0.1 * np.abs(made.terms.mean(axis=2).sum(axis=1) - made.aim).max()


def test_a_search_that_starts_far_off_ends_where_another_does():
    made = Made(n=200)
    near = made.problem.solve(np.zeros(4))
    # there every path but one of a record has no weight, so that the first step is far too long
    far = made.problem.solve(np.array([9.0, -9.0, 9.0, 9.0]))
    assert made.problem.slope(far)[0] == pytest.approx(made.problem.slope(near)[0], abs=0.05)


def test_variances_and_correlations_are_those_of_enumerated_paths():
    made = Made()
    shares = made.shares(TILT)
    expected, variance, squares = made.problem.spread(shares)
    means = (made.terms * shares).sum(axis=2, keepdims=True)
    centred = made.terms - means
    each = (centred**2 * shares).sum(axis=2)
    np.testing.assert_allclose(expected, means.sum(axis=(1, 2)), rtol=1e-4)
    np.testing.assert_allclose(variance, each.sum(axis=1), rtol=1e-4)
    np.testing.assert_allclose(squares, (each**2).sum(axis=1), rtol=1e-4)
    covariance = np.einsum("ank,bnk,nk->ab", centred, centred, shares)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(made.problem.correlation(shares), covariance / np.outer(sd, sd), atol=1e-5)


def test_without_totals_paths_are_chosen_by_weight_alone():
    nothing = Made().of(())
    assert set(nothing.walk(nothing.solve(np.empty(0)), rng=np.random.default_rng(1))) == {0, 1, 2, 3}


@pytest.mark.parametrize("again", [1 / 16, 2.0])
def test_the_walk_keeps_every_share_and_comes_nearer_than_independent_choices(monkeypatch, again):
    from synthdp.imputation.auto import weighing

    monkeypatch.setattr(weighing, "AGAIN", again)
    made = Made(n=400)
    shares = made.shares(TILT)
    rng, repeats = np.random.default_rng(2), 400
    taken = np.stack([made.problem.walk(TILT, rng=rng) for _ in range(repeats)])
    often = np.stack([(taken == k).mean(axis=0) for k in range(4)], axis=1)
    common = (shares > 0.03) & (shares < 0.97)
    z = ((often - shares) / np.sqrt(shares * (1 - shares) / repeats))[common]
    # of some 1,500 shares the largest deviation, and their spread, are those of chance
    assert np.abs(z).max() < 4.5
    assert z.std() < 1.1
    expected = (made.terms * shares).sum(axis=(1, 2))
    off = np.stack([made.terms[:, np.arange(400), one].sum(axis=1) for one in taken]) - expected
    alone = np.einsum("ank,nk->a", (made.terms - (made.terms * shares).sum(axis=2, keepdims=True)) ** 2, shares)
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
    values = {"x": np.array([[np.nan, 0.0, 1.0]]), "g": np.zeros((1, 3))}
    absent = [place for place, feature in enumerate(totals.features) if feature.absent]
    assert [totals.features[place].column for place in absent] == ["x"]
    drawn = totals.paths(values)[0]
    assert drawn[0, 0] == 0
    assert drawn[:, absent[0]].tolist() == [1, 0, 0]
    assert totals.original[:, absent[0]].sum() == 50


def test_a_path_with_a_rare_gap_is_neither_favoured_nor_avoided():
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    x[:5] = np.nan
    totals = totals_of(pd.DataFrame({"x": x, "z": rng.normal(size=500)}), x={"kind": "continuous", "role": "replace"})
    assert totals is not None
    assert not any(feature.absent for feature in totals.features)
    drawn = totals.paths({"x": np.array([[np.nan, 0.0, 1.0], [np.nan, np.nan, np.nan]])})
    np.testing.assert_allclose(drawn[0, 0], drawn[0, 1:].mean(axis=0), rtol=1e-6)
    assert (drawn[1] == 0).all()


def test_files_of_few_records_keep_no_totals():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=150), "z": rng.normal(size=150)})
    assert totals_of(frame, x={"kind": "continuous", "role": "replace"}) is None


def test_where_nothing_can_be_matched_paths_are_chosen_by_their_weight():
    totals = totals_of(wealthy(), x={"kind": "continuous", "role": "replace"})
    assert totals is not None
    values = {"x": np.zeros((400, 2))}
    matching = Matching(totals)
    weight = np.tile(np.log([0.9, 0.1]), (400, 1))
    weight[0] = -np.inf
    taken, _ = matching.taken(np.arange(400), values, weight, rng=np.random.default_rng(6))
    assert abs(taken[1:].mean() - 0.1) < 4 * np.sqrt(0.09 / 399)


def test_totals_are_matched_in_every_part_of_the_file(monkeypatch):
    from synthdp.imputation.auto import matching

    rng = np.random.default_rng(8)
    z = rng.normal(size=2_000)
    frame = pd.DataFrame({"x": z + rng.normal(size=2_000), "z": z})
    totals = totals_of(frame, x={"kind": "continuous", "role": "replace"})
    assert totals is not None
    link = totals.features[0].link
    assert link is not None
    paths = link.forward(frame["x"].to_numpy())[:, None] + rng.normal(0.1, 0.5, size=(2_000, 6))

    def off(taken, rows):
        drawn = totals.paths({"x": paths[rows]})[np.arange(len(rows)), taken]
        left = totals.records(rows) - drawn
        return abs(left.sum(axis=0) / np.sqrt((left**2).sum(axis=0)))

    # chosen by all records of a part, or by some
    for spaced in (4_000, 300):
        monkeypatch.setattr(matching, "SPACED", spaced)
        chosen = matching.Matching(totals)
        for rows in (np.arange(1_000), np.arange(1_000, 2_000)):
            taken, chosen = chosen.taken(rows, {"x": paths[rows]}, np.zeros((1_000, 6)), rng=rng)
            assert off(taken, rows)[:2].max() < 0.5
            assert off(rng.integers(6, size=1_000), rows)[:2].max() > 3


def test_features_that_are_used_are_those_of_all_features():
    rng = np.random.default_rng(10)
    frame = pd.DataFrame({"x": rng.normal(size=300), "g": rng.choice(["a", "b"], size=300), "z": rng.normal(size=300)})
    totals = totals_of(frame, x={"kind": "continuous", "role": "replace"}, g={"kind": "nominal", "role": "replace"})
    assert totals is not None
    values = {"x": rng.normal(size=(300, 3)), "g": rng.integers(2, size=(300, 3)).astype(float)}
    used = [0, len(totals.features)]
    np.testing.assert_array_equal(totals.paths(values, used), totals.paths(values)[:, :, used])
    np.testing.assert_array_equal(totals.records(np.arange(9), used), totals.records(np.arange(9))[:, used])
    a, b = totals.crossed[0]
    every = totals.paths(values)
    np.testing.assert_allclose(every[:, :, used[1]], every[:, :, a] * every[:, :, b], rtol=1e-6)


def test_parts_of_a_sorted_file_that_lack_a_level_are_matched_by_the_others():
    made = Made(lacking=True)
    found = made.problem.solve(np.array([0.0, 0.0, 0.0, 0.7]))
    # the last total has nothing here
    assert found[3] == 0.7
    np.testing.assert_allclose(found[:3], made.of(CHOSEN[:3]).solve(np.zeros(3)), atol=0.01)


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
    from synthdp.imputation.auto import weighing

    monkeypatch.setattr(weighing, "CURVED", 50)
    still = Made(n=100, still=True).problem
    assert set(still.walk(still.solve(np.zeros(4)), rng=np.random.default_rng(3))) <= {0, 1, 2, 3}


def test_the_walk_never_takes_a_path_without_a_share():
    made = Made(n=50, paths=3)
    base = np.log(np.tile([0.4, 0.6 - 1e-9, 1e-300], (50, 1)))
    base[:, 2] = -np.inf
    problem = Weighing.of(made.kept, made.seen, made.drawn, base, CHOSEN)
    assert not (problem.walk(np.zeros(4), rng=np.random.default_rng(4)) == 2).any()


def curved(n=600, seed=7):
    rng = np.random.default_rng(seed)
    z, b = rng.normal(size=n), rng.integers(2, size=n)
    x = 0.4 * z + rng.normal(size=n)
    return pd.DataFrame({"x": x, "b": b, "z": z, "y": 0.5 * x + 0.6 * x * b + rng.normal(size=n)})


@pytest.mark.parametrize("totals", [True, False])
def test_an_interaction_is_that_of_the_file(totals):
    settings = {
        "variables": {"x": {"role": "replace", "key": True}},
        "masks": {"x": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"model": {"method": "auto", "totals": totals}},
    }
    off = []
    for seed in range(4):
        frame = curved(seed=seed)
        copies = synthdp.synthesize(frame, settings, seed=seed).copies
        found = synthdp.pool(copies, model="ols", formula="y ~ x * b + z")
        file = synthdp.pool([frame], model="ols", formula="y ~ x * b + z", rule="mean_se")
        off.append((np.asarray(found.estimate) - np.asarray(file.estimate)) / np.asarray(file.se))
    # in standard errors of the file's own estimates
    assert (np.sqrt(np.mean(np.square(off), axis=0)).max() < 0.15) == totals


def test_filling_in_keeps_no_total_of_a_file_with_gaps():
    assert Auto().of_one(()).totals is False


def test_margins_go_first_and_take_up_to_half_of_the_places():
    rng = np.random.default_rng(3)
    z = rng.normal(size=400)
    frame = pd.DataFrame({"x": z + rng.normal(size=400), "g": rng.choice(list("abcd"), 400), "z": z})
    totals = totals_of(frame, x={"kind": "continuous", "role": "replace"}, g={"role": "replace"})
    assert totals is not None
    # every record is off by much more where z is large, so that products with it are farthest off
    left = np.outer(1.0 + 20.0 * z, np.ones(len(totals.features) + len(totals.crossed)))
    asked = totals.farthest(np.arange(400), left, 1e3 * np.ones_like(left), taken=(), most=4, near=0.0, bins=False)
    margins = [total for total in asked if total[1:] == (0, 0) and total[0] < len(totals.features)]
    assert asked[:2] == margins
    assert len(asked) == 4


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("most", [3, 12, 1000])
def test_the_farthest_totals_are_those_of_looking_at_one_after_the_other(bins, most):
    rng = np.random.default_rng(11)
    z = rng.normal(size=400)
    frame = pd.DataFrame({"x": z + rng.normal(size=400), "g": rng.choice(list("abc"), 400), "z": z})
    frame["h"] = rng.choice(list("pqrstuvw"), 400)
    frame["y"] = rng.normal(size=400)
    levels = {"role": "replace", "kind": "nominal"}
    totals = totals_of(frame, x={"kind": "continuous", "role": "replace"}, g=levels, h=levels)
    assert totals is not None
    assert totals.strengths
    left, reach = rng.normal(size=(400, totals.many)), 0.2 * rng.random((400, totals.many))

    def look(taken):
        return totals.farthest(np.arange(400), left, reach, taken=taken, most=most, near=0.1, bins=bins)

    taken = look(())[::2]
    found = {}
    for f in range(totals.many):
        plain = f < len(totals.features)
        if (plain and totals.features[f].low is not None) != bins:
            continue
        both = plain and not bins
        for k in range(totals.kept.shape[1] if not bins else 1):
            for j in range(k + 1) if both else (0,):
                times = totals.kept[:, k] * (totals.kept[:, j] if both else 1.0)
                off, usual = abs((left[:, f] * times).sum()), np.sqrt((left[:, f] ** 2 * times**2).sum())
                far = (reach[:, f] * np.abs(times)).sum()
                which = (f, j, k) if both else (f, 0, k)
                movable = (1 if f >= totals.plain else 2) * off <= far
                if totals.equal[f][j if both else 0, k] >= EQUAL and movable and off > 0.1 * usual:
                    found[which] = off / usual
    ranked = [which for which in sorted(found, key=lambda one: -found[one]) if which not in taken]
    margins = [which for which in ranked if which[0] < len(totals.features) and which[1:] == (0, 0)][: -(-most // 2)]
    assert look(taken) == [*margins, *(which for which in ranked if which not in margins)][:most]


def test_moments_of_paths_are_those_of_the_sums():
    made = Made()
    shares = made.shares(TILT)
    mean, sd = moments(made.drawn, shares)
    np.testing.assert_allclose(mean, np.einsum("nkq,nk->nq", made.drawn, shares), atol=1e-12)
    squares = np.einsum("nkq,nk->nq", (made.drawn - mean[:, None, :]) ** 2, shares)
    np.testing.assert_allclose(sd, np.sqrt(squares), atol=1e-12)


def test_a_column_of_those_who_are_asked_keeps_their_totals():
    rng = np.random.default_rng(5)
    z, works = rng.normal(size=800), rng.random(800) < 0.6
    pay = np.where(works, np.where(rng.random(800) < 0.4, 0.0, np.exp(0.4 * z + 0.5 * rng.normal(size=800))), np.nan)
    frame = pd.DataFrame({"works": works.astype(int), "pay": pay, "z": z})
    when = {"kind": "semicontinuous", "role": "replace", "key": True, "applies_when": "works == 1", "bounds": [0, 50]}
    totals = totals_of(frame, pay=when)
    assert totals is not None
    asked = totals.asked(np.arange(800), {"pay": np.ones((800, 3))})["pay"]
    assert np.array_equal(np.isnan(asked[:, 0]), ~works)
    assert not any(feature.absent for feature in totals.features)
    settings = {
        "variables": {"pay": when},
        "masks": {"pay": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"model": {"method": "auto"}, "copies": 4},
    }
    copies = synthdp.synthesize(frame, settings, seed=2).copies
    se = np.nanstd(pay) / np.sqrt(works.sum())
    assert all(abs(copy.pay.mean() - np.nanmean(pay)) < 0.3 * se for copy in copies)
    assert all(abs((copy.pay * z).mean() - np.nanmean(pay * z)) < 0.5 * np.nanstd(pay * z) / 20 for copy in copies)
    assert all(np.array_equal(copy.pay.notna(), works) for copy in copies)
    # where whether it applies is drawn, there are none
    assert totals_of(frame, works={"role": "replace"}, pay=when).asked(np.arange(2), {}) == {}
