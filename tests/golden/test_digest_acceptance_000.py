"""Acceptance values of digest 000, section 13: Biswal (2024), "Disclosure control and differential privacy", U. Ottawa.

Every value of the digest that belongs to mechanisms, accounting, DP statistics and the maskings; a test carries the
name of its value. Where more is tested elsewhere:

====  ======================================================  =====================================================
T1    k of the six customers                                  tests/unit/evaluation/test_anonymity.py
T3    mean squares on many records                            tests/unit/synthesis/test_maskings.py
T6    Laplace and Gaussian at other settings, by quadrature   tests/unit/privacy/test_mechanisms.py
T7    randomised response at other settings                   tests/unit/privacy/test_responses.py
T8    Laplace–normal at other settings                        tests/unit/dp/test_dp_statistics.py
T9    the sum of two Laplace noises                           tests/statistical/test_sensitivity_studies.py
T10   zCDP conversions, both ways, two methods                tests/unit/privacy/test_accounting.py
T11   smooth medians, and a local mechanism that fails        tests/unit/privacy/test_smooth.py
T12   weighted sensitivity                                    tests/statistical/test_sensitivity_studies.py
T13   mixed noise, as claimed and as it is                    tests/statistical/test_sensitivity_studies.py
T14   blocks                                                  the same, and tests/unit/dp/test_aggregation.py
T15   the law of bounded draws                                tests/unit/privacy/test_mechanisms.py
T16   the variance of noisy records, without the noise's part tests/statistical/test_sensitivity_studies.py
T17   the shipped interval of ``dp.mean``                     tests/statistical/test_dp_coverage.py, the same
T18   leakage of series                                       tests/unit/privacy/test_leakage.py
T19   descent with adaptive noise                             tests/unit/dp/test_learning.py
T20   local sensitivities                                     tests/unit/privacy/test_smooth.py
====  ======================================================  =====================================================
"""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from synthdp import datasets, dp
from synthdp.datasets.smokers import AGE_COUNTS, AGE_EDGES
from synthdp.dp.noise import laplace_normal_pdf
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.shown import evaluate_odds
from synthdp.evaluation.risk.uniqueness import evaluate_anonymity
from synthdp.evaluation.utility.moves import evaluate_moves
from synthdp.masking.categorical import Transition
from synthdp.masking.mask import Target
from synthdp.privacy.accounting import closed_forms
from synthdp.privacy.mechanisms import (
    BoundedLaplace,
    Bounds,
    Gaussian,
    Kary,
    Laplace,
    Sensitivity,
    Simulated,
    responses,
    sensitivity,
)
from synthdp.privacy.mechanisms.additive import analytic_ratio, classical_ratio, exact_delta
from synthdp.privacy.mechanisms.shaped import bounded_scale
from synthdp.seeding import Streams
from synthdp.synthesis.maskings.exchange import posterior, truth_odds, uniform_matrix
from synthdp.synthesis.maskings.grouped import KNoise, KPram, expected_group_size, group_edges
from synthdp.synthesis.maskings.pram import Pram
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable
from synthdp.tagging.groups import Neighbours, tag


def ages(seed=1):
    """Return a surrogate of the file as an array."""
    return datasets.ages(rng=np.random.default_rng(seed))["age"].to_numpy()


def even_ages(seed=1):
    """Return 659 ages for which all twelve groups hold at least k, which those of the file (9, 2 and 1) do not."""
    values = np.random.default_rng(seed).uniform(19, 79, 659)
    values[:2] = 19, 79
    return values


def source(*seed):
    return Simulated(np.random.default_rng(seed))


def test_T1_k_of_each_column_is_3_and_jointly_1():
    frame = pd.DataFrame({"age": [32, 45, 27, 19, 31, 25], "amount": [75.5, 120, 16.75, 85, 50, 40.5]})
    # 120 stands in the class 51–100 of Table 3.3
    classes = pd.DataFrame({"age": frame["age"] > 30, "amount": frame["amount"] > 50}).astype(str)
    found = {}
    for keys in (("age",), ("amount",), ("age", "amount")):
        data = resolve(classes, {name: Variable(key=True) for name in keys})
        comparison = Comparison(data.frame, (classes,), data.schema, aligned=False)
        found[keys] = evaluate_anonymity(comparison)["original"]["k"]
    assert found == {("age",): 3, ("amount",): 3, ("age", "amount"): 1}


AGE = Column(name="age", kind="continuous", role="replace", key=True)
GENDER = Column(name="gender", kind="binary", role="replace", key=True, levels=("m", "w"))
GIVEN = {"k": 1, "edges": {"age": AGE_EDGES}}
"""The groups of the experiment, the last of which hold 9, 2 and 1 records."""


@pytest.mark.parametrize("variant", ["uniform", "shuffle", "matrix"])
def test_T2_k_pram_keeps_the_12_counts_and_moves_less_than_5(variant):
    values = ages()
    moved = KPram(variant=variant, **GIVEN).move(values, AGE, np.random.default_rng(2))
    assert np.histogram(moved, AGE_EDGES)[0].tolist() == list(AGE_COUNTS) == np.histogram(values, AGE_EDGES)[0].tolist()
    assert np.abs(moved - values).max() < 5
    # without edges of the user's own, fewer and longer groups are made until each has k
    assert group_edges(even_ages(), 5, 12) == pytest.approx(AGE_EDGES)
    assert len(group_edges(values, 5, 12)) < 13


def test_T3_k_noise_mean_square_ratio_and_bias():
    """As the measure ``moves`` finds them in a copy, on the surrogate and with the experiment's groups."""
    data = resolve(datasets.ages(rng=np.random.default_rng(1)), {"age": Variable(role="replace", bounds=(0, 110))})
    found = {}
    for name, method in (("noise", KNoise(**GIVEN)), ("pram", KPram(**GIVEN))):
        copy = Plan(data, tag(data, Neighbours()))
        copies = method.synthesize(copy, streams=Streams(3)).copies
        found[name] = evaluate_moves(Comparison(data.frame, copies, data.schema, aligned=True))[0]
    square, root, bias = ({name: one[key]["value"] for name, one in found.items()} for key in ("mse", "rmse", "bias"))
    assert square["noise"] == pytest.approx(25 / 12, abs=0.25)
    assert square["pram"] == pytest.approx(25 / 6, abs=4 * 0.17)
    assert 0.65 <= root["noise"] / root["pram"] <= 0.77
    assert abs(bias["noise"]) < 0.2
    assert abs(bias["pram"]) < 0.2
    # Table 3.4, one run on the file itself, lies inside
    assert abs(2.060666 - 25 / 12) < 0.25
    assert 0.65 <= 1.435502 / 2.097275 <= 0.77


def test_example_3_2_1_posterior_odds_and_the_epsilon_of_its_matrix():
    """The ε is a number of the example: a release by ``pram`` claims none."""
    matrix, half = uniform_matrix(0.8, 2), np.array([0.5, 0.5])
    assert posterior(half, matrix)[0, 0] == pytest.approx(0.8)
    assert truth_odds(half, matrix) == pytest.approx([4, 4])
    assert Transition(keep=0.8).event(Target(GENDER, None, np.ones(1))).epsilon == pytest.approx(1.386294, abs=1e-6)
    people = pd.DataFrame({"gender": ["m", "w"] * 500})
    data = resolve(people, {"gender": Variable(role="replace")})
    release = Pram(keep=0.8).synthesize(Plan(data, tag(data, Neighbours())), streams=Streams(1))
    assert release.privacy is None
    found = evaluate_odds(Comparison(people, release.copies, data.schema, aligned=True))[0]
    assert abs(found["posterior"] - 0.8) < 4 * math.sqrt(0.16 / 500)
    assert found["odds"] == pytest.approx(found["posterior"] / (1 - found["posterior"]))


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=60),
    st.floats(-60, 60),
    st.floats(0.01, 30),
)
def test_T4_more_than_half_of_the_group_is_expected_to_stay(numbers, x, half):
    """Theorem 3.5.1, strict; the strictly nearer records are those of the theorem."""
    values = np.asarray(numbers)
    expected = expected_group_size(values, np.array([x]), half=half, radius=2 * half)[0]
    before = int((np.abs(values - x) < 2 * half).sum())
    assert expected > before / 2 - 1e-9
    if before:
        assert expected > before / 2 * (1 - 1e-9)


@pytest.mark.parametrize(("half", "radius"), [(2.5, 2.5), (2.5, 5.0), (3.0, 1.0)])
def test_T4_the_expectation_is_that_of_its_formula_and_of_the_noise(half, radius):
    values, at = ages()[::7], np.linspace(15, 85, 29)
    distance = np.abs(values[None, :] - at[:, None])
    overlap = np.minimum(distance + half, radius) - np.maximum(distance - half, -radius)
    twin = np.maximum(overlap, 0).sum(axis=1) / (2 * half)
    found = expected_group_size(values, at, half=half, radius=radius)
    np.testing.assert_allclose(found, twin, atol=1e-9)
    runs = 2000
    noisy = values + np.random.default_rng(5).uniform(-half, half, (runs, len(values)))
    counts = np.stack([(np.abs(noisy - x) <= radius).sum(axis=1) for x in at])
    assert (np.abs(counts.mean(axis=1) - found) <= 4.5 * counts.std(axis=1) / math.sqrt(runs) + 1e-9).all()


def test_T5_mean_expected_group_size_of_the_surrogate_is_79():
    means = [expected_group_size(x, x, half=2.5, radius=2.5).mean() for x in map(ages, range(40))]
    assert all(76 <= mean <= 84 for mean in means)
    assert np.mean(means) == pytest.approx(79.2, abs=4 * 0.6 / math.sqrt(40))
    assert np.std(means) == pytest.approx(0.6, abs=0.3)


def test_T6_laplace_ratio_is_epsilon_and_classical_gaussian_keeps_delta():
    x = np.linspace(-50, 50, 20_001)
    for epsilon in (0.1, 1.0, 3.0):
        law = stats.laplace(scale=Laplace.calibrated(Sensitivity(2.0, "l1", "replace"), epsilon=epsilon).scale)
        assert np.abs(law.logpdf(x) - law.logpdf(x - 2)).max() == pytest.approx(epsilon, rel=1e-9)
    for epsilon, delta in ((0.1, 1e-5), (0.5, 1e-5), (0.99, 1e-2), (0.3, 1e-9)):
        assert exact_delta(classical_ratio(epsilon, delta), epsilon) <= delta


def test_T7_threshold_of_randomised_response_and_the_example_at_ln_3():
    for epsilon, delta in ((1.0, 0.0), (math.log(3), 0.1), (0.2, 0.3)):
        lie = Kary.calibrated(2, epsilon=epsilon, delta=delta).matrix[0, 1]
        assert lie == pytest.approx((1 - delta) / (1 + math.exp(epsilon)), abs=1e-12)
    # p = 1/4, ε = ln 3, δ = 0.1: one answer keeps it, two do not
    once = np.array([[3 / 4, 1 / 4], [1 / 4, 3 / 4]])
    assert responses.Transition.of(once).delta(math.log(3)) == pytest.approx(0, abs=1e-12)
    twice = responses.Transition.of(np.kron(once, once)[[0, 3]])
    assert twice.delta(math.log(3)) == pytest.approx(9 / 16 - 3 / 16)
    assert twice.delta(math.log(3)) > 0.1


def test_T8_laplace_normal_density_integral_variance_and_fourth_moment():
    assert laplace_normal_pdf(0.0, 1.0, 2.0) == pytest.approx(0.174809, abs=5e-7)
    assert laplace_normal_pdf(3.0, 1.0, 2.0) == pytest.approx(0.0631127, abs=5e-8)
    moment = [
        2 * integrate.quad(lambda w, k=k: float(w**k * laplace_normal_pdf(w, 1.0, 2.0)), 0, 120, limit=400)[0]
        for k in (0, 2, 4)
    ]
    assert moment == pytest.approx([1, 9, 435], rel=1e-7)
    assert stats.norm.pdf(0, scale=3) == pytest.approx(0.132981, abs=5e-7)
    assert stats.laplace.pdf(0, scale=3 / math.sqrt(2)) == pytest.approx(0.235702, abs=5e-7)


def test_T10_groups_zcdp_and_the_table_of_variances():
    assert closed_forms.group(1.0, 1e-5, 2) == pytest.approx((2, 3.7183e-5), rel=1e-4)
    assert closed_forms.group(1.0, 1e-5, 5) == pytest.approx((5, 8.5791e-4), rel=1e-4)
    for epsilon in (0.1, 1.0, 5.0):
        rho = closed_forms.rho_of_epsilon(epsilon, 1e-5)
        assert closed_forms.epsilon_of_rho(rho, 1e-5) == pytest.approx(epsilon)
        assert rho == pytest.approx((math.sqrt(epsilon + math.log(1e5)) - math.sqrt(math.log(1e5))) ** 2)
    table = {
        0.1: (2312.57, 2347.21, 945.54),
        0.3: (259.17, 260.80, 126.29),
        0.5: (94.09, 93.89, 49.45),
        1.0: (24.02, 23.47, 13.92),
    }
    for epsilon, row in table.items():
        # the classical formula is no proof at ε = 1; its value is in the table all the same
        classical = 2 * math.log(1.25e5) / epsilon**2
        concentrated = closed_forms.gaussian_sd_of_epsilon(1.0, epsilon, 1e-5) ** 2
        assert (concentrated, classical, analytic_ratio(epsilon, 1e-5) ** 2) == pytest.approx(row, rel=4e-4)
    # the last table of section 5.3
    assert analytic_ratio(0.5, 1e-5) ** 2 == pytest.approx(49.447, abs=5e-4)
    assert analytic_ratio(1.0, 1e-2) ** 2 == pytest.approx(3.526, abs=5e-4)
    assert 2 * math.log(1.25e2) == pytest.approx(9.657, abs=5e-4)


@pytest.mark.parametrize(
    ("high", "step", "epsilon", "delta", "scale"),
    [
        (1, 1, 1, 0, 1.0),
        (1, 0.1, 1, 0, 0.161156),
        (1, 0.1, 0.5, 0, 0.352787),
        (1, 0.1, 1, 0.01, 0.159273),
        (1, 0.01, 1, 0, 0.0161261),
        (110, 1, 1, 0, 1.612605),
        (110, 110, 1, 0, 110.0),
    ],
)
def test_T15_bounded_laplace_scale_support_and_ratio(high, step, epsilon, delta, scale):
    bounds, moves = Bounds(0, high), Sensitivity(step, "l1", "replace")
    assert bounded_scale(bounds, step, epsilon, delta) == pytest.approx(scale, rel=4e-6)
    made = BoundedLaplace.calibrated(moves, bounds, epsilon=epsilon, delta=delta)
    drawn = made.release(np.full(300, float(high) / 5), source=source(15))
    assert ((drawn >= 0) & (drawn <= high)).all()
    grid = np.linspace(0, high, 801)
    ratio = max(
        np.abs(made.log_density(grid, q) - made.log_density(grid, min(q + step, high))).max()
        for q in np.linspace(0, high, 41)
    )
    assert ratio == pytest.approx(epsilon - math.log1p(-delta), rel=2e-3)


def test_T16_noise_on_records_has_n_times_the_variance_of_the_mean():
    for n, width, epsilon in ((20, 10.0, 1.0), (659, 110.0, 1.0)):
        after = Laplace.calibrated(sensitivity.mean(Bounds(0, width), n, "replace"), epsilon=epsilon).sd
        before = Laplace.calibrated(sensitivity.identity(Bounds(0, width)), epsilon=epsilon).sd / math.sqrt(n)
        assert before**2 == pytest.approx(n * after**2)
    # 659 ages, Λ = 110: 6.06 and 0.236
    assert (before, after) == pytest.approx((6.06, 0.236), abs=5e-3)


def test_T16_median_noise_on_records_wins_at_the_true_sensitivity():
    """659 ages, Λ = 110, ε = 1: before 4.66, after 155.6; with the code's sensitivity of 1, which is no bound, 1.41."""
    x, runs = ages(), 4000
    before = np.median(x + np.random.default_rng(17).laplace(scale=110, size=(runs, len(x))), axis=1)
    error = before.std() / math.sqrt(2 * runs)
    assert before.std() == pytest.approx(4.66, abs=4 * error + 0.05)
    bounds = Bounds(0, 110)
    after = Laplace.calibrated(sensitivity.order_statistic(bounds, "replace"), epsilon=1).sd
    assert after == pytest.approx(155.6, abs=0.05)
    assert Laplace(Sensitivity(1.0, "l1", "replace"), 1.0).sd == pytest.approx(1.41, abs=5e-3)
    assert before.std() < after
    assert before.mean() - np.median(x) == pytest.approx(40.5 - 38.8, abs=0.8), "a median of noisy records is biased"
    # what is shipped chooses a value by its rank, and is far better than both
    ours = np.array([dp.median(x, bounds=(0, 110), epsilon=1, source=source(18, r)).estimate for r in range(60)])
    assert ours.std() < 1


@pytest.mark.parametrize(("n", "width", "naive"), [(1000, 0.0522, 0.82), (100, 0.396, 0.42)])
def test_T17_intervals_with_the_noise_cover_and_without_it_do_not(n, width, naive):
    """U[0, 1], ε = ε₁ = 0.5, δ = 1e-5, classical noise, 95%; σ known, and with noise on the variance."""
    runs, bounds = 20_000, Bounds(0, 1)
    rng = np.random.default_rng([17, n])
    noise = Gaussian.calibrated(sensitivity.mean(bounds, n, "replace", norm="l2"), epsilon=0.5, delta=1e-5)
    sd = classical_ratio(0.5, 1e-5) / n
    assert noise.sd < sd, "what is shipped by default is the analytic noise, which is less"
    values = rng.uniform(size=(runs // 20, 20, n))
    mean, s2 = values.mean(axis=2).ravel(), values.var(axis=2, ddof=1).ravel()
    centre = mean + rng.normal(scale=sd, size=runs)
    known = 1.96 * math.sqrt(1 / 12 / n + sd**2)
    spread = Laplace.calibrated(sensitivity.variance(bounds, n, "replace"), epsilon=0.5).scale
    # clipped at 0, not drawn again until it is positive: that is not covered by the proof
    noisy = 1.96 * np.sqrt(np.maximum(s2 + rng.laplace(scale=spread, size=runs), 0) / n + sd**2)
    off = np.abs(centre - 0.5)
    assert (off <= known).mean() == pytest.approx(0.95, abs=0.01)
    assert (off <= noisy).mean() == pytest.approx(0.95, abs=0.01)
    assert 2 * noisy.mean() == pytest.approx(width, rel=0.02)
    plain = (off <= 1.96 * np.sqrt(s2 / n)).mean()
    assert plain == pytest.approx(naive, abs=0.015)
    assert plain < 0.9
