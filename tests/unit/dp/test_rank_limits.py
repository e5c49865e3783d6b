"""Limits of DP quantiles: their law against simulation, their counts against neighbours, and when there are none."""

import numpy as np
import pytest
from scipy import stats

from synthdp import dp
from synthdp.dp.rank_limits import Aims, Ranks, aims, coarser, laplaces_above, limits
from synthdp.privacy.mechanisms import Simulated

RUNS = 400_000


@pytest.mark.parametrize(("scale", "other"), [(2.0, 0.0), (2.0, 5.0), (2.0, 2.0), (3.0, 0.1)])
def test_the_law_of_the_noise(scale, other):
    rng = np.random.default_rng(1)
    drawn = rng.laplace(0, scale, RUNS) - rng.laplace(0, scale, RUNS)
    drawn += rng.laplace(0, other, RUNS) if other else 0.0
    for x in (-6.0, -0.5, 0.0, 1.0, 8.0, 20.0):
        found = float(laplaces_above(np.array([x]), scale, other)[0])
        assert np.mean(drawn > x) == pytest.approx(found, abs=4 * np.sqrt(found * (1 - found) / RUNS) + 1e-6)


@pytest.mark.parametrize(
    ("n", "q", "scale", "count_scale"), [(30, 0.1, 2.0, 0.0), (400, 0.5, 6.0, 20.0), (90_000, 0.3, 50.0, 0.0)]
)
def test_thresholds_leave_their_tail(n, q, scale, count_scale):
    rng = np.random.default_rng(2)
    noise = rng.laplace(0, scale, RUNS) - rng.laplace(0, scale, RUNS)
    if count_scale:
        # sampling is taken to be a little wider there, so the tail is what is simulated in the same way
        more = int(np.ceil(n + 2 * count_scale))
        drawn = rng.binomial(more, q, RUNS) - q * (more - n) + q * rng.laplace(0, count_scale, RUNS) + noise
    else:
        drawn = rng.binomial(n, q, RUNS) + noise
    ranks = Ranks(n, q, scale, count_scale)
    for tail in (0.025, 0.05):
        error = 4 * np.sqrt(tail / RUNS) + 5e-4
        assert np.mean(drawn < ranks.below(tail)) == pytest.approx(tail, abs=error)
        assert np.mean(drawn > ranks.above(tail)) == pytest.approx(tail, abs=error)


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_one_record_moves_all_counts_the_same_way_and_by_one(adjacency):
    rng = np.random.default_rng(3)
    grid = np.linspace(0, 1, 21)
    for _ in range(200):
        x = rng.choice(grid, 9)
        other = np.append(x[1:], rng.choice(grid)) if adjacency == "replace" else x[1:]
        for counts in (lambda t, data: (data <= t).sum(), lambda t, data: -(data < t).sum()):
            moved = np.array([counts(t, x) - counts(t, other) for t in grid])
            assert np.abs(moved).max() <= 1
            assert (moved >= 0).all() or (moved <= 0).all()


class Quiet(Simulated):
    """A source without noise."""

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(0))

    def laplace(self, centre, *, scale, sensitivity):
        return np.asarray(centre, dtype=np.float64)


def test_without_noise_limits_are_order_statistics():
    x = np.arange(1.0, 101.0)
    grid = np.linspace(0, 110, 1101)
    below, upto = np.searchsorted(x, grid, "left"), np.searchsorted(x, grid, "right")
    found = limits(below, upto, grid, Aims(20.0, 60.0, 0.025, 1.0), adjacency="replace", source=Quiet())
    # the first candidate with 20 up to it is 20, the last with 60 below it is 61; one step further each
    assert found == pytest.approx((19.9, 61.1))
    assert limits(below, upto, grid, Aims(None, None, 0.05, 0.0), adjacency="replace", source=Quiet()) == (0.0, 110.0)


def test_aims_give_up_a_limit_before_both():
    both = aims(1000.0, 0.5, level=0.95, epsilon=1.0, share=0.35, count_scale=0.0)
    one = aims(100.0, 0.01, level=0.95, epsilon=3.0, share=0.35, count_scale=0.0)
    none = aims(30.0, 0.5, level=0.95, epsilon=0.1, share=0.35, count_scale=0.0)
    assert (both.limits, one.limits, none.limits) == (2, 1, 0)
    assert both.tail == pytest.approx(0.025)
    assert both.epsilon == pytest.approx(0.35)
    assert one.low is None
    assert one.tail == pytest.approx(0.05)
    assert one.epsilon == pytest.approx(2.1)
    assert none.epsilon == 0.0


def test_fewer_candidates_where_noise_is_wide():
    assert len(coarser(2001, 5.0)) == 20
    assert len(coarser(2001, 1e6)) == 2001
    assert len(coarser(5, 1e6)) == 5
    some = coarser(2001, 100.0)
    assert some[0] == 0
    assert some[-1] == 2000
    assert (np.diff(some) > 0).all()


def test_no_interval_is_said_and_not_made_up():
    x = np.random.default_rng(4).uniform(0, 100, 30)
    found = dp.median(x, bounds=(0, 100), epsilon=0.1, source=Simulated(np.random.default_rng(5)))
    assert found.low is None
    assert found.high is None
    assert repr(found).splitlines()[0].endswith("no interval")
    assert any(note.startswith("no interval: with 30 records and ε = 0.1 none is narrower") for note in found.notes)
    assert found.table()[["low", "high"]].isna().all(axis=None)
    private = dp.median(
        x, bounds=(0, 100), epsilon=0.1, adjacency="add_remove", source=Simulated(np.random.default_rng(6))
    )
    if private.low is None:
        assert any("with about" in note for note in private.notes)


@pytest.mark.parametrize(("q", "side"), [(0.01, "lower"), (0.99, "upper")])
def test_a_limit_that_cannot_be_told_is_the_bound(q, side):
    x = np.random.default_rng(7).uniform(20, 80, 100)
    found = dp.quantile(x, q, bounds=(0, 100), epsilon=3, source=Simulated(np.random.default_rng(8)))
    assert (found.low == 0) == (side == "lower")
    assert (found.high == 100) == (side == "upper")
    assert any(note.startswith(f"the {side} limit is the bound itself: with 100 records") for note in found.notes)


def test_mirrored_quantiles_have_mirrored_limits():
    # the same noise against mirrored data: seen from above it is the same problem
    x = np.random.default_rng(9).exponential(10, 500).round(3)
    low, high = (
        dp.quantile(values, q, bounds=bounds, epsilon=2, source=Simulated(np.random.default_rng(10)))
        for values, q, bounds in ((x, 0.2, (0, 100)), (-x, 0.8, (-100, 0)))
    )
    assert (low.low, low.high) == pytest.approx((-high.high, -high.low))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("draw", "ppf", "bounds"),
    [
        (lambda rng, n: rng.random(n), lambda q: q, (-5, 10)),
        (lambda rng, n: rng.poisson(3, n) * 1.0, lambda q: stats.poisson.ppf(q, 3), (0, 20)),
    ],
    ids=["far bounds", "ties"],
)
def test_intervals_cover_extreme_quantiles_of_few_records(draw, ppf, bounds, adjacency):
    runs = 150
    for n, q, epsilon in ((100, 0.05, 1.0), (300, 0.99, 3.0), (1000, 0.9, 0.5)):
        hits, given = 0, 0
        for r in range(runs):
            rng = np.random.default_rng([r, n])
            found = dp.quantile(
                draw(rng, n), q, bounds=bounds, epsilon=epsilon, adjacency=adjacency, source=Simulated(rng)
            )
            if found.low is not None and found.high is not None:
                given += 1
                hits += found.low - 1e-9 <= ppf(q) <= found.high + 1e-9
        assert given > runs / 2
        assert hits / given > 0.95 - 4 * np.sqrt(0.05 * 0.95 / given)
