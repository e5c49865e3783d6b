"""Composition and conversion: closed forms against enumeration, accountants against each other and print."""

import itertools
import math
import time

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.accounting import accountants, closed_forms
from synthdp.privacy.accounting.accountants import least_noise
from synthdp.privacy.accounting.closed_forms import Region
from synthdp.privacy.mechanisms.additive import exact_delta


def dominating_pair(epsilon, delta, eta):
    """Outcomes (certain, e^ε, 1, e^−ε, certain for the other) of the DP-TV region as two vectors."""
    telling = (eta - delta) / math.tanh(epsilon / 2)
    up = telling / (1 + math.exp(-epsilon))
    middle = 1 - delta - telling
    p = np.array([delta, up, middle, telling - up, 0.0])
    return p, p[[4, 3, 2, 1, 0]]


def enumerated(pairs, epsilon):
    """Hockey-stick divergence of a product of pairs, outcome by outcome."""
    total = 0.0
    for outcome in itertools.product(range(5), repeat=len(pairs)):
        a = math.prod(p[o] for (p, _), o in zip(pairs, outcome, strict=True))
        b = math.prod(q[o] for (_, q), o in zip(pairs, outcome, strict=True))
        total += max(a - math.exp(epsilon) * b, 0.0)
    return total


@pytest.mark.parametrize(("epsilon", "delta"), [(0.6, 0.05), (0.1, 0.0), (2.0, 1e-4)])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_optimal_composition_is_enumeration(epsilon, delta, k):
    pair = dominating_pair(epsilon, delta, closed_forms.widest_variation(epsilon, delta))
    region = closed_forms.optimal(epsilon, delta, k)
    assert [e for e, _ in region.pairs] == pytest.approx([(k - 2 * i) * epsilon for i in range(k // 2 + 1)])
    for at, found in region.pairs:
        assert found == pytest.approx(enumerated([pair] * k, at), abs=1e-13)
        assert accountants.delta(events.Repeated(events.Approximate(epsilon, delta), k), at) == pytest.approx(
            found, abs=3e-4 * epsilon
        )


@pytest.mark.parametrize(
    ("epsilon", "delta", "eta"), [(0.6, 0.05, 0.2), (0.6, 0.15, 0.25), (0.3, 0.0, 0.05), (1.5, 0.01, 0.01)]
)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
def test_total_variation_composition_is_enumeration(epsilon, delta, eta, k):
    pair = dominating_pair(epsilon, delta, eta)
    region = closed_forms.total_variation(epsilon, delta, eta, k)
    assert len(region.pairs) == k + 1
    event = events.Repeated(events.TotalVariation(epsilon, delta, eta), k)
    for at, found in region.pairs:
        assert found == pytest.approx(enumerated([pair] * k, at), abs=1e-13)
        assert accountants.delta(event, at) == pytest.approx(found, abs=3e-4 * epsilon)


@pytest.mark.parametrize("k", [1, 4, 7])
def test_total_variation_at_its_largest_is_optimal(k):
    eta = closed_forms.widest_variation(0.6, 0.05)
    wide = dict(closed_forms.total_variation(0.6, 0.05, eta, k).pairs)
    for at, found in closed_forms.optimal(0.6, 0.05, k).pairs:
        assert min(abs(d - found) for e, d in wide.items() if abs(e - at) < 1e-9) < 1e-12


def test_knowing_the_variation_helps():
    narrow = closed_forms.total_variation(0.6, 0.05, 0.15, 5)
    assert narrow.delta(1.8) < closed_forms.optimal(0.6, 0.05, 5).delta(1.8)


@pytest.mark.parametrize("seed", range(3))
def test_loss_distribution_of_unequal_events_is_enumeration(seed):
    rng = np.random.default_rng(seed)
    given = [(float(e), float(d)) for e, d in zip(rng.uniform(0.1, 1, 4), rng.uniform(0, 0.02, 4), strict=True)]
    pairs = [dominating_pair(e, d, closed_forms.widest_variation(e, d)) for e, d in given]
    event = events.Composed(tuple(events.Approximate(e, d) for e, d in given))
    for at in (0.0, 0.5, 1.1):
        exact = enumerated(pairs, at)
        assert exact - 1e-12 <= accountants.delta(event, at) <= exact + 3e-4
    slack, (total, both) = 0.01, closed_forms.simplified(given, 0.01)
    assert both == pytest.approx(1 - (1 - slack) * np.prod([1 - d for _, d in given]))
    assert enumerated(pairs, total) <= both


@pytest.mark.parametrize("levels", [2, 5])
def test_randomised_response_loss(levels):
    epsilon = 0.7
    eta = math.expm1(epsilon) / (math.expm1(epsilon) + levels)
    pair = dominating_pair(epsilon, 0.0, eta)
    event = events.Repeated(events.RandomisedResponse(epsilon, levels), 3)
    assert accountants.delta(event, 0.7) == pytest.approx(enumerated([pair] * 3, 0.7), abs=1e-4)


def test_region_reads_between_its_points():
    region = closed_forms.optimal(0.5, 0.001, 4)
    pair = dominating_pair(0.5, 0.001, closed_forms.widest_variation(0.5, 0.001))
    for at in np.linspace(0, 2.2, 12):
        exact = enumerated([pair] * 4, float(at))
        assert region.delta(float(at)) >= exact - 1e-13
        reached = region.epsilon(exact)
        assert reached == math.inf or reached >= at - 1e-6 or region.delta(reached) <= exact + 1e-12
    assert region.epsilon(1e-9) == math.inf
    assert region.epsilon(0.99) == 0.0
    odd = closed_forms.optimal(0.5, 0.0, 3)
    assert odd.delta(0.0) >= enumerated([dominating_pair(0.5, 0.0, math.tanh(0.25))] * 3, 0.0)
    assert odd.epsilon(0.0) == pytest.approx(1.5)
    assert odd.delta(9.0) == 0.0
    assert Region(((1.0, 0.0),)).epsilon(0.0) == pytest.approx(1.0)


def test_basic_gaussian_concentrated_parallel_and_group():
    assert closed_forms.basic([(0.1, 0.0), (0.2, 1e-6)]) == pytest.approx((0.3, 1e-6))
    assert closed_forms.gaussian([3.0, 4.0]) == 5.0
    assert closed_forms.concentrated([0.1, 0.2]) == pytest.approx(0.3)
    parts = [(0.1, 1e-6), (0.5, 0.0), (0.3, 1e-7)]
    assert closed_forms.parallel(parts, touched=1) == (0.5, 1e-6)
    assert closed_forms.parallel(parts, touched=2) == pytest.approx((0.8, 1.1e-6))
    assert closed_forms.group(1.0, 1e-5, 2) == pytest.approx((2, 3.7183e-5), rel=1e-4)
    assert closed_forms.group(1.0, 1e-5, 5) == pytest.approx((5, 8.5791e-4), rel=1e-4)
    assert closed_forms.group(1.0, 0.5, 9)[1] == 1.0


# --- conversions ---


@pytest.mark.parametrize(
    ("epsilon", "printed", "right"),
    [(0.1, 9230.33, 2312.57), (0.3, 1030.03, 259.17), (0.5, 372.40, 94.09), (1.0, 94.09, 24.02)],
)
def test_zcdp_variance_table(epsilon, printed, right):
    lot = math.log(1e5)
    wrong = (math.sqrt(2 * lot) + math.sqrt(2 * lot + epsilon)) ** 2 / epsilon**2
    sd = closed_forms.gaussian_sd_of_epsilon(1.0, epsilon, 1e-5)
    assert wrong == pytest.approx(printed, rel=1e-4)
    assert sd**2 == pytest.approx(right, rel=3e-4)
    # through the conversion it reaches ε exactly, the printed one far less
    assert closed_forms.epsilon_of_rho(1 / (2 * sd**2), 1e-5) == pytest.approx(epsilon)
    assert exact_delta(sd, epsilon) <= 1e-5


@pytest.mark.parametrize("method", ["simple", "tight"])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_zcdp_round_trip_on_the_private_side(method, epsilon, delta):
    rho = closed_forms.rho_of_epsilon(epsilon, delta, method=method)
    back = closed_forms.epsilon_of_rho(rho, delta, method=method)
    assert epsilon * (1 - 1e-6) <= back <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("rho", [1e-4, 0.1, 2.0])
def test_tight_conversion_lies_between_exact_and_simple(rho):
    mu = math.sqrt(2 * rho)
    tight = closed_forms.epsilon_of_rho(rho, 1e-6, method="tight")
    assert closed_forms.epsilon_of_mu(mu, 1e-6) <= tight <= closed_forms.epsilon_of_rho(rho, 1e-6)


def test_tight_conversion_by_grid():
    rho, delta = 0.1, 1e-6
    order = 1 + np.exp(np.linspace(-3, 8, 200_001))
    twin = order * rho + (-np.log(delta * (order - 1)) + order * np.log1p(-1 / order)) / (order - 1)
    assert closed_forms.epsilon_of_rho(rho, delta, method="tight") == pytest.approx(twin.min(), rel=1e-7)
    assert closed_forms.epsilon_of_rho(rho, delta, xi=0.2) == pytest.approx(
        0.2 + closed_forms.epsilon_of_rho(rho, delta)
    )
    assert accountants.rho(events.Pure(0.2)) == pytest.approx(0.02)


@pytest.mark.parametrize("mu", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_gdp_both_ways(mu, delta):
    epsilon = closed_forms.epsilon_of_mu(mu, delta)
    assert closed_forms.delta_of_mu(mu, epsilon) <= delta
    if epsilon > 0:
        assert closed_forms.delta_of_mu(mu, epsilon * (1 - 1e-6)) > delta
        assert closed_forms.mu_of_epsilon(epsilon, delta) == pytest.approx(mu, rel=1e-6)
    assert closed_forms.delta_of_mu(mu, 0.3) == pytest.approx(exact_delta(1 / mu, 0.3))


def test_total_variation_alone_may_be_enough():
    assert closed_forms.epsilon_of_mu(0.001, 0.1) == 0.0


# --- accountants ---


def test_gaussian_composition_is_exact_in_every_accountant():
    event = events.Repeated(events.Gaussian(0.1), 100)
    exact = closed_forms.epsilon_of_mu(1.0, 1e-5)
    assert accountants.cost(event, 1e-5) == accountants.Cost(exact, 1e-5, "gaussian")
    mixed = events.Composed((event, events.Laplace(1e-3)))
    found = accountants.cost(mixed, 1e-5)
    assert found.method == "loss"
    assert exact < found.epsilon < exact + 1e-3
    assert exact < renyi(dp_accounting.GaussianDpEvent(10.0), 100, 1e-5) < 1.1 * exact
    assert accountants.delta(event, exact) <= 1e-5


def test_pure_events_need_no_delta():
    event = events.Composed((events.Laplace(0.1), events.Pure(0.2), events.DiscreteLaplace(10.0, 1)))
    assert accountants.cost(event) == accountants.Cost(pytest.approx(0.4), 0.0, "basic")
    assert accountants.cost(events.Gaussian(1.0)).epsilon == math.inf
    assert accountants.cost(events.Composed(())).epsilon == 0.0
    assert accountants.cost(events.Repeated(events.Laplace(1.0), 0)).epsilon == 0.0
    assert accountants.delta(events.Composed(()), 0.1) == 0.0


def test_what_is_not_private_costs_everything():
    event = events.Composed((events.Laplace(0.1), events.Parallel((events.NonPrivate("data"),), 1)))
    assert accountants.cost(event, 1e-6).epsilon == math.inf
    assert accountants.delta(event, 1.0) == 1.0
    assert accountants.rho(event) is None
    assert accountants.cost(events.Repeated(events.NonPrivate("x"), 2), 0.1).epsilon == math.inf


def test_parallel_events_cost_their_worst_parts():
    parts = (events.Laplace(0.1), events.Laplace(0.5), events.Laplace(0.5), events.Laplace(0.3))
    assert accountants.cost(events.Parallel(parts, 1)).epsilon == 0.5
    assert accountants.cost(events.Parallel(parts, 2)).epsilon == 1.0
    both = events.Composed((events.Parallel(parts, 1), events.Laplace(0.2)))
    assert accountants.cost(both).epsilon == pytest.approx(0.7)
    assert accountants.cost(events.Parallel((), 1)).epsilon == 0.0
    assert accountants.delta(events.Parallel(parts, 1), 0.2) == pytest.approx(
        accountants.delta(events.Laplace(0.5), 0.2)
    )


def test_zcdp_events_use_zcdp():
    event = events.Composed((events.ZeroConcentrated(0.01), events.Gaussian(0.1), events.Pure(0.1)))
    found = accountants.cost(event, 1e-6)
    assert found.method == "concentrated"
    assert found.epsilon == pytest.approx(closed_forms.epsilon_of_rho(0.02, 1e-6, method="tight"))
    assert accountants.rho(event) == pytest.approx(0.02)
    assert accountants.rho(events.Approximate(0.1, 1e-9)) is None
    with pytest.raises(InputError, match="only zCDP is known"):
        accountants.delta(event, 1.0)
    assert accountants.cost(events.DiscreteGaussian(10.0, 1), 1e-6).epsilon == pytest.approx(
        closed_forms.epsilon_of_mu(0.1, 1e-6), rel=1e-2
    )


def test_small_deltas_do_without_transforms():
    event = events.Repeated(events.Laplace(0.05), 50)
    assert accountants.cost(event, 1e-12).method == "concentrated"
    assert accountants.cost(events.Composed((event, events.Approximate(0.1, 1e-6))), 1e-7).epsilon == math.inf


@pytest.mark.parametrize(
    ("event", "other"),
    [
        (events.Laplace(0.3), dp_accounting.LaplaceDpEvent(1 / 0.3)),
        (events.Pure(0.3), dp_accounting.RandomizedResponseDpEvent(2 / (math.expm1(0.3) + 2), 2)),
        (events.RandomisedResponse(0.3, 4), dp_accounting.RandomizedResponseDpEvent(4 / (math.expm1(0.3) + 4), 4)),
        (events.DiscreteGaussian(3.0, 1), dp_accounting.ZCDpEvent(1 / 18)),
        (events.ZeroConcentrated(0.1), dp_accounting.ZCDpEvent(0.1)),
    ],
)
def test_the_best_accountant_is_not_above_the_renyi_accountant_of_dp_accounting(event, other):
    assert 0 < accountants.epsilon(events.Repeated(event, 10), 1e-6) <= renyi(other, 10, 1e-6) * (1 + 1e-9)


def renyi(event, times, delta):
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    return accountant.compose(event, times).get_epsilon(delta)


def test_calibration_ends_on_the_private_side():
    event = lambda sd: events.Repeated(events.Gaussian(1 / sd), 7)  # noqa: E731
    sd = least_noise(event, epsilon=0.8, delta=1e-6)
    exact = math.sqrt(7) / closed_forms.mu_of_epsilon(0.8, 1e-6)
    assert exact <= sd <= exact * (1 + 2e-6)
    assert accountants.epsilon(event(sd), 1e-6) <= 0.8
    assert least_noise(lambda s: events.Repeated(events.Laplace(1 / s), 4), epsilon=2.0) == pytest.approx(2, rel=2e-6)
    with pytest.raises(InputError, match="no amount of noise keeps this budget"):
        least_noise(lambda s: events.NonPrivate("x"), epsilon=1.0)
    with pytest.raises(InputError, match="keeps this budget without noise"):
        least_noise(lambda s: events.Composed(()), epsilon=1.0)


def test_hundredfold_composition_is_quick():
    accountants.cost(events.Repeated(events.Laplace(0.2), 2), 1e-6)  # loading is not composing
    mixed = events.Composed(tuple(events.Laplace(0.05 + 0.001 * i) for i in range(100)))
    for event in (
        events.Repeated(events.Laplace(0.1), 100),
        events.Repeated(events.Approximate(0.1, 1e-9), 100),
        mixed,
    ):
        began = time.process_time()
        accountants.cost(event, 1e-6)
        assert time.process_time() - began < 2
    began = time.process_time()
    closed_forms.optimal(0.1, 1e-9, 100)
    assert time.process_time() - began < 2


# --- wrong input ---


def test_bad_input():
    with pytest.raises(InputError, match="at least one release needed, found 0"):
        closed_forms.basic([])
    with pytest.raises(InputError, match="at least one release needed, found 0"):
        closed_forms.optimal(0.1, 0.0, 0)
    with pytest.raises(InputError, match="changes 1 or 2 parts, found 3"):
        closed_forms.parallel([(0.1, 0.0)], touched=3)
    with pytest.raises(InputError, match="changes 1 or 2 parts, found 0"):
        accountants.cost(events.Parallel((events.Laplace(0.1),), 0))
    with pytest.raises(InputError, match=r"eta: must lie between delta and 0\.291313"):
        closed_forms.total_variation(0.6, 0.0, 0.4, 2)
    with pytest.raises(InputError, match="slack: must lie strictly"):
        closed_forms.simplified([(0.1, 0.0)], 0.0)
    with pytest.raises(InputError, match="group: at least one record needed, found 0"):
        closed_forms.group(0.1, 0.0, 0)
    with pytest.raises(InputError, match="times must not be below 0, found -1"):
        accountants.cost(events.Repeated(events.Laplace(0.1), -1))
    with pytest.raises(InputError, match="Laplace: numbers of an event must be finite"):
        accountants.cost(events.Laplace(math.nan))
    with pytest.raises(InputError, match="give the parts equal budgets"):
        accountants.cost(events.Parallel(tuple(events.Laplace(0.1 + i / 100) for i in range(40)), 2))
    with pytest.raises(InputError, match="rho: must be"):
        closed_forms.epsilon_of_rho(0.0, 1e-5)
