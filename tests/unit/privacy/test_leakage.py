"""Leakage of series (T18): the figures' numbers, the exact form against the joint law, fits, and plans."""

import itertools
import math
import time

import numpy as np
import pandas as pd
import pytest

from synthdp.dp.declarations import Budget
from synthdp.dp.noise import Noise
from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import delta_of_mu
from synthdp.privacy.leakage import farthest, fit_leakage, noise_sd, total_dependence, var_leakage
from synthdp.privacy.planning import plan
from synthdp.privacy.series import fit_var, persistence

TEXT = {"epsilon": 1, "delta": 0.05, "sensitivity": 0.5}
# the code of the source sets Δ/ε to 1: with Δ = 1/2 that is ε = 1/2, and 1.25 stands for 1.26
CODE = {"epsilon": 0.5, "delta": 0.05, "sensitivity": 0.5, "constant": 1.25, "form": "printed"}
A = np.arange(1, 10) / 10


def shocks(rho):
    return np.array([[1, rho], [rho, 1.0]])


def found(transition, rho, **asked):
    return var_leakage(transition, shocks(rho), **asked).found


@pytest.mark.parametrize(("form", "values"), [("printed", (2.0, 1.5714, 1.3364)), ("corrected", (2.0, 1.7475, 1.5714))])
def test_T18_figure_6_1_by_its_formula(form, values):
    asked = {**TEXT, "attack": "A1", "knowledge": "N2", "form": form}
    assert [found([[1, 0], [1, 0]], rho, **asked) for rho in (-1, 0, 1)] == pytest.approx(values, abs=5e-5)


@pytest.mark.parametrize(
    ("transition", "settings", "values"),
    [
        ([[0.5, 0.1], [0, 0.5]], CODE, (0.9938, 0.8905, 0.8139, 0.7542, 0.7059)),
        ([[0.5, 0.1], [0, 0.5]], TEXT | {"form": "printed"}, (1.9522, 1.3998, 1.1484, 0.9969, 0.8930)),
        ([[0.9, 0.5], [0, 0.9]], CODE, (0.5475, 0.5365, 0.5262, 0.5164, 0.5071)),
        ([[0.9, 0.5], [0, 0.9]], TEXT | {"form": "printed"}, (1.0508, 0.9790, 0.9201, 0.8708, 0.8286)),
    ],
)
def test_T18_figures_6_2_and_6_3(transition, settings, values):
    asked = {**settings, "attack": "A2", "knowledge": "N1"}
    assert [found(transition, rho, **asked) for rho in (-1, -0.5, 0, 0.5, 1)] == pytest.approx(values, abs=5e-5)


@pytest.mark.parametrize(
    ("second", "values"),
    [
        (lambda a: a, (0.434, 0.925, 1.112, 1.015, 0.873, 0.754, 0.660, 0.586, 0.526)),
        (lambda a: 1 - a, (1.558, 1.394, 1.199, 1.021, 0.873, 0.752, 0.644, 0.529, 0.343)),
    ],
)
def test_T18_figures_6_4_and_6_5(second, values):
    asked = {**CODE, "attack": "A2", "knowledge": "N1"}
    assert [found([[a, 0.5], [0, second(a)]], 0, **asked) for a in A] == pytest.approx(values, abs=6e-4)


def test_T18_total_dependence_adds_a_times_the_second():
    assert total_dependence((1, 2), -3) == 7
    # Gaussian releases: X_2 = aX_1 without shocks is one vector of two answers
    exact = var_leakage([[3.0]], [[0.0]], **TEXT, attack="A1", knowledge="N3")
    one = var_leakage([[3.0]], [[0.0]], **TEXT, attack="A1", knowledge="N1")
    assert exact.mu == pytest.approx(one.mu * math.hypot(1, 3))


def test_independent_periods_say_nothing_of_each_other():
    assert found(np.zeros((2, 2)), 0, **TEXT, attack="A1", knowledge="N2") == 0


@pytest.mark.parametrize("attack", ["A1", "A3", "A4"])
@pytest.mark.parametrize("knowledge", ["N1", "N2", "N3"])
def test_the_exact_form_is_that_of_the_joint_law(attack, knowledge):
    """μ² of two Gaussian vectors is d'C⁻¹d: mean and covariance of what is seen, from all normal variables at once."""
    rng = np.random.default_rng(3)
    a, root = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    noise, step = root @ root.T, 0.4
    asked = {"epsilon": (0.7, 1.3), "delta": (1e-3, 1e-2), "sensitivity": step}
    mine = var_leakage(a, noise, **asked, attack=attack, knowledge=knowledge, unit=1)
    sds = [step * math.sqrt(2 * math.log(1.26 / d)) / e for e, d in ((0.7, 1e-3), (1.3, 1e-2))]
    # both releases, as functions of X_1 and X_2 (unit by unit, range 3·step) and of the noise
    mean = np.full(3, 1 / 3)
    on_first = np.vstack([mean, mean @ a]) if attack != "A4" else np.vstack([mean, 0 * mean])
    on_second = np.vstack([0 * mean, mean]) if attack == "A4" else np.zeros((2, 3))
    hidden = mean @ noise @ mean if attack != "A4" else 0.0
    covariance = np.diag([sds[0] ** 2, sds[1] ** 2 + hidden])
    rows = {"N1": [0], "N2": [1], "N3": [0, 1]}[knowledge]
    changes = []
    for signs in itertools.product([-1, 1], repeat=3) if attack == "A3" else [(0, 1, 0)]:
        for other in (-1, 1):
            d = 3 * step * (on_first @ np.array(signs) + other * on_second @ np.array([0, 1, 0]))
            changes.append(d[rows] @ np.linalg.solve(covariance[np.ix_(rows, rows)], d[rows]))
    assert mine.mu == pytest.approx(math.sqrt(max(changes)))
    assert delta_of_mu(mine.mu, mine.found) == pytest.approx(mine.delta, rel=1e-6)
    assert mine.epsilon == mine.found


def test_the_longest_sum_of_signed_vectors():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        v = rng.normal(size=(n, 2))
        brute = max(np.hypot(*(np.array(s) @ v)) for s in itertools.product([-1, 1], repeat=n))
        assert farthest(v) == pytest.approx(brute)


def test_what_is_not_proven_shows_no_epsilon():
    for asked in (
        {"attack": "A2", "knowledge": "N1"},
        {"attack": "A2", "knowledge": "N3"},
        {"attack": "A1", "knowledge": "N2", "form": "printed"},
        {"attack": "A3", "knowledge": "N3", "form": "corrected"},
    ):
        one = var_leakage([[0.9, 0.5], [0, 0.9]], shocks(0), **TEXT, **asked)
        assert one.epsilon is None
        assert one.found > 0
        assert one.caution in one.sentence()
    assert (
        "if the series moves as supposed"
        in var_leakage([[0.9, 0.5], [0, 0.9]], shocks(0), **TEXT, attack="A1", knowledge="N1").sentence()
    )


def test_printed_compositions_are_the_proofs():
    a = np.array([[0.9, 0.5], [0, 0.9]])
    asked = {**TEXT, "form": "printed"}
    second = [found(a, 0, **asked, attack="A1", knowledge="N2", unit=unit) for unit in (0, 1)]
    both = var_leakage(a, shocks(0), **asked, attack="A1", knowledge="N3")
    assert both.found == pytest.approx(1 + second[0])
    assert both.delta == pytest.approx(math.e * 0.05 + math.exp(second[0]) * 0.05 + 0.0025)
    assert found(a, 0, **asked, attack="A3", knowledge="N3") == pytest.approx(2 + sum(second))
    assert found(a, 0, **asked, attack="A4", knowledge="N3") == 2
    assert found(a, 0, **asked, attack="A1", knowledge="N1") == found(a, 0, **asked, attack="A2", knowledge="N2") == 1


def series(a, periods, *, shared=0.0, seed=1):
    rng = np.random.default_rng(seed)
    n = len(a)
    noise = (1 - shared) * np.eye(n) + shared
    x = np.zeros((periods, n))
    drawn = rng.multivariate_normal(np.zeros(n), noise, periods)
    for t in range(1, periods):
        x[t] = a @ x[t - 1] + drawn[t]
    return pd.DataFrame(x + 100, columns=[f"u{k}" for k in range(n)])


def test_a_fit_finds_the_series_it_was_drawn_from():
    a = np.array([[0.5, 0.2], [-0.1, 0.6]])
    fitted = fit_var(series(a, 4000, shared=0.4))
    assert np.abs(fitted.transition - a).max() < 4 / np.sqrt(4000)
    assert fitted.noise == pytest.approx(np.array([[1, 0.4], [0.4, 1]]), abs=4 * np.sqrt(2 / 4000))
    assert fitted.persistence == persistence(fitted.transition) < 1
    assert repr(fitted) == "Fit(full VAR(1), 2 units, 4000 periods)"


def test_a_common_fit_takes_more_units_than_periods():
    fitted = fit_var(series(0.7 * np.eye(60), 30, shared=0.3), structure="common")
    assert fitted.transition[0, 0] == pytest.approx(0.7, abs=0.2)
    assert fitted.noise[0, 1] == pytest.approx(0.3 * fitted.noise[0, 0], rel=0.9)
    assert fitted.noise.shape == (60, 60)
    # what is computed without matrices is what they give
    for attack, knowledge in itertools.product(("A1", "A2", "A3", "A4"), ("N1", "N2", "N3")):
        asked = {**TEXT, "attack": attack, "knowledge": knowledge, "unit": 7}
        mine = fit_leakage(fitted, **asked)
        assert mine.mu == pytest.approx(var_leakage(fitted.transition, fitted.noise, **asked).mu)
    full = fit_var(series(0.7 * np.eye(3), 200))
    asked = {**TEXT, "attack": "A3", "knowledge": "N3"}
    assert fit_leakage(full, **asked) == var_leakage(full.transition, full.noise, **asked)


def test_ten_thousand_units_take_no_matrix():
    x = np.random.default_rng(2).normal(size=(24, 10_000)).cumsum(axis=0) * 0.1 + np.random.default_rng(3).normal(
        size=(24, 1)
    )
    fitted = fit_var(pd.DataFrame(x), structure="common")
    began = time.process_time()
    assert fit_leakage(fitted, **TEXT, attack="A3", knowledge="N3").found > 0
    assert time.process_time() - began < 1


def test_a_plan_keeps_the_budget_and_puts_the_least_noise_first():
    table = plan(12, epsilon=1, delta=1e-5, sensitivity=2.0)
    assert table["sd"].is_monotonic_increasing
    best = table.iloc[0]
    assert (best["noise"], best["accountant"]) == ("gaussian", "exact")
    # twelve Gaussian releases are one of √12 times the μ
    assert delta_of_mu(2.0 * math.sqrt(12) / best["sd"], 1.0) == pytest.approx(1e-5, rel=1e-6)
    pure = plan(12, epsilon=1, sensitivity=2.0)
    assert pure[["noise", "scale"]].to_numpy().tolist() == [["laplace", 24.0]]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": 0}, "epsilon: must be a finite number above 0, found 0"),
        ({"epsilon": (1, 1, 1)}, "epsilon: must be one number, or one for each of two periods, found 3"),
        ({"delta": 0}, "delta: must lie strictly between 0 and 1, found 0"),
        ({"sensitivity": -1}, "sensitivity: must be a finite number above 0"),
        ({"attack": "A5"}, "attack: must be one of A1, A2, A3, A4, found 'A5'"),
        ({"knowledge": "N4"}, "knowledge: must be one of N1, N2, N3"),
        ({"form": "own"}, "form: must be one of exact, printed, corrected"),
        ({"unit": 2}, "unit: must be from 0 to 1, found 2"),
        ({"constant": 1}, "constant: must be a finite number above 1, found 1"),
        ({"transition": [[1, 2]]}, "transition: must be a square matrix"),
        ({"noise": [[1]]}, "noise: must be a matrix of finite numbers of 2 rows"),
        ({"noise": [[1, 2], [2, 1]]}, "noise: must be a covariance matrix"),
        ({"transition": [[1, 1], [1, 1]], "attack": "A2", "knowledge": "N1"}, "transition: is singular"),
        ({"form": "printed", "attack": "A3", "knowledge": "N1"}, "A3 with N1: the source has no formula for it"),
    ],
)
def test_wrong_settings_are_refused(changed, words):
    asked = {"transition": np.eye(2), "noise": np.eye(2), **TEXT, "attack": "A1", "knowledge": "N2"} | changed
    with pytest.raises(InputError, match=words):
        var_leakage(asked.pop("transition"), asked.pop("noise"), **asked)


@pytest.mark.parametrize(
    ("frame", "structure", "words"),
    [
        (series(1.2 * np.eye(1), 80), "full", "series: is not stationary as fitted"),
        (series(np.eye(3), 7), "full", "series: 8 periods are needed for 3 units, found 7; use structure common"),
        (series(np.eye(3), 3), "common", "series: 4 periods are needed for 3 units, found 3"),
        (series(np.eye(2), 20).assign(u1=1.0), "full", "series: some units are constant or move together exactly"),
        (series(np.eye(2), 20) * 0, "common", "series: all units are constant; there is nothing to fit"),
        (series(np.eye(2), 20).assign(u1="a"), "full", "series.u1: must be numbers"),
        (series(np.eye(2), 20).assign(u1=np.nan), "full", "series.u1: 20 values are missing"),
        (pd.DataFrame(), "full", "series: must be a table"),
        (series(np.eye(2), 20), "own", "structure: must be full or common, found 'own'"),
    ],
)
def test_series_that_cannot_be_fitted_are_refused(frame, structure, words):
    with pytest.raises(InputError, match=words):
        fit_var(frame, structure=structure)


@pytest.mark.parametrize(
    ("releases", "price", "words"),
    [
        (0, {"epsilon": 1, "sensitivity": 1}, "releases: must be a whole number of at least 1"),
        (3, {"epsilon": 0, "sensitivity": 1}, "epsilon: must be a finite number above 0"),
        (3, {"epsilon": 1, "sensitivity": 0}, "sensitivity: must be a finite number above 0"),
        (3, {"epsilon": 1, "sensitivity": 1, "delta": 1}, "delta: must be 0 or more and below 1"),
    ],
)
def test_wrong_plans_are_refused(releases, price, words):
    with pytest.raises(InputError, match=words):
        plan(releases, **price)


def test_the_least_noise_is_that_of_the_package():
    """What `synthdp.dp` adds: with it one release is learnt at its own ε, where the classical noise hides more."""
    asked = {"transition": np.eye(2) / 2, "noise": np.eye(2), "epsilon": 0.5, "delta": 1e-6, "sensitivity": 0.5}
    own = var_leakage(**asked, attack="A1", knowledge="N1", constant=None)
    assert own.found == pytest.approx(0.5, rel=1e-9)
    assert var_leakage(**asked, attack="A1", knowledge="N1").found < 0.4
    assert noise_sd(0.5, 1e-6, 0.5) == pytest.approx(Noise.of(Budget(0.5, 1e-6), 0.5).sd)
    assert own.mu == pytest.approx(0.5 / noise_sd(0.5, 1e-6, 0.5))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": None}, "epsilon: must be a number, found NoneType"),
        ({"unit": 0.5}, "unit: must be a whole number of at least 0, found 0.5"),
        ({"constant": "a"}, "constant: must be a number, found str"),
        ({"constant": None, "form": "printed"}, "constant: must be a number above 1 for the form printed, found None"),
        ({"transition": "x"}, "transition: must be numbers"),
        ({"transition": [[1], [1, 2]]}, "transition: must be numbers"),
        ({"transition": np.zeros((0, 0)), "noise": np.zeros((0, 0))}, "transition: must be a square matrix"),
    ],
)
def test_what_is_no_number_is_refused(changed, words):
    asked = {"transition": np.eye(2), "noise": np.eye(2), **TEXT, "attack": "A1", "knowledge": "N2"} | changed
    with pytest.raises(InputError, match=words):
        var_leakage(**asked)


def test_printed_bounds_of_a_huge_epsilon_are_one():
    huge = TEXT | {"epsilon": np.int64(500), "form": "printed"}
    assert var_leakage(np.eye(2), np.eye(2), **huge, attack="A3", knowledge="N3").delta == 1


def test_a_series_that_repeats_itself_has_shocks_of_zero():
    halved = pd.DataFrame({"a": 2.0 ** -np.arange(6), "b": 2.0 ** -np.arange(6)})
    fitted = fit_var(halved, structure="common")
    assert (fitted.persistence, fitted.total_variance) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda x: x.replace(x.iloc[0, 0], math.inf),
            "series.a: 1 values are infinite or beyond 1e\\+70; use a larger",
        ),
        (lambda x: x * 1e200, "series.a: 20 values are infinite or beyond"),
        (lambda x: x + 1j, "series.a: must be numbers"),
        (lambda x: pd.concat([x, x], axis=1), "series.a: is the name of more than one column; rename them"),
    ],
)
def test_series_that_no_fit_can_take(change, words):
    x = pd.DataFrame(np.random.default_rng(3).normal(size=(20, 2)), columns=["a", "b"])
    with pytest.raises(InputError, match=words):
        fit_var(change(x))
