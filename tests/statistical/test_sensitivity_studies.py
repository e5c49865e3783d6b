"""The studies beyond global sensitivity: acceptance values of digest 000 (T9, T12, T13, T16, T17), slices, results."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from reports.before_after import study as before_after
from reports.blocks import study as blocks
from reports.gradient import study as gradient
from reports.leakage import study as leakage
from reports.mixed_noise import study as mixed
from reports.sensitivities import study as sensitivities
from synthdp import dp
from synthdp.dp.noise import laplace_normal_pdf
from synthdp.dp.noisy_records import noise_variance, variance_of_noisy
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Simulated

REPORTS = Path(__file__).parents[2] / "reports"


def committed(study):
    return json.loads((REPORTS / study / "results.json").read_text(encoding="utf-8"))["results"]


def test_T9_the_sum_of_two_laplace_noises_is_private():
    q = np.linspace(-200, 200, 40_001)
    assert np.abs(before_after.sum_log_ratio(q)).max() < 1
    # the density in the study is that of the sum: a convolution by quadrature
    for z in (0.0, 0.7, 3.0):
        whole = integrate.quad(lambda t, z=z: math.exp(-abs(t) - abs(z - t)) / 4, -40, 40, points=[0.0, z], limit=200)[
            0
        ]
        shifted = integrate.quad(
            lambda t, z=z: math.exp(-abs(t) - abs(z - 1 - t)) / 4, -40, 40, points=[0.0, z - 1], limit=200
        )[0]
        assert before_after.sum_log_ratio(np.array([z]))[0] == pytest.approx(math.log(whole / shifted), abs=1e-8)


def test_figure_4_1_is_drawn_from_the_density_of_the_product():
    law = committed("before_after")["law"]
    assert (law["f(0)"], law["f(3)"], law["variance"]) == (0.174809, 0.0631127, pytest.approx(9, abs=1e-3))
    assert laplace_normal_pdf([0.0, 3.0], 1.0, 2.0) == pytest.approx([0.174809, 0.0631127], abs=1e-6)


def test_T12_thresholds_of_weighted_sensitivity():
    found = [sensitivities.least_b(epsilon, 0.1) for epsilon in sensitivities.EPSILONS]
    assert found == pytest.approx([0.9067, 0.8366, 0.7388, 0.5042, 0.4653], abs=5e-5)
    assert [sensitivities.claimed_delta(e, b) for e, b in zip(sensitivities.EPSILONS, found, strict=True)] == (
        pytest.approx([0.1] * 5)
    )
    # the correct variance leaves b under 1/2, the printed one under 1/√2
    assert sensitivities.useful_b(0.0) == 0.5


@pytest.mark.parametrize(("epsilon", "b"), [(0.5, 0.95), (1.0, 0.84), (2.0, 0.75), (15.0, 0.4653)])
def test_T12_the_exact_delta_is_below_the_claim(epsilon, b):
    assert sensitivities.exact_delta(epsilon, b, grid=5) <= sensitivities.claimed_delta(epsilon, b)


def test_T12_the_exact_delta_at_two_settings():
    assert sensitivities.claimed_delta(1.0, 0.84) == pytest.approx(0.0937, abs=5e-5)
    assert sensitivities.exact_delta(1.0, 0.84, grid=2) == pytest.approx(3.36e-4, rel=0.01)
    assert sensitivities.exact_delta(15.0, 0.4653, grid=2) == pytest.approx(5.9e-7, rel=0.02)


def test_T12_the_variance_has_a_factor_of_eight():
    rng = np.random.default_rng(1)
    drawn = [sensitivities.release(0.0, 0.3, 1.5, 0.6, rng=rng) for _ in range(40_000)]
    expected = sensitivities.variance(1.5, 0.3, 0.6)
    assert abs(np.var(drawn) - expected) < 4 * expected * math.sqrt(5 / 40_000)


def test_committed_sensitivities_say_which_median_wins():
    rows = committed("sensitivities")["medians"]
    wins = [row["dp.median"] < min(row[way] for way in sensitivities.WAYS[:2]) for row in rows]
    assert all(wins)
    assert sum(row["dp.median"] < row["smooth heavy tail"] for row in rows) >= len(rows) - 2


@pytest.mark.slow
def test_a_slice_of_sensitivities_is_as_committed():
    draws = np.asarray([sensitivities.one_replication(r, seed=99)[0, 1, 1] for r in range(4)])
    (row,) = [
        row
        for row in committed("sensitivities")["medians"]
        if (row["data"], row["n"], row["epsilon"]) == ("uniform", 1000, 1.0)
    ]
    assert np.abs(draws[:, -1]).max() < 6 * row["dp.median"]


def test_T13_branches_and_the_true_delta():
    for delta in mixed.DELTAS.values():
        at = mixed.threshold(1.0, delta)
        assert mixed.takes_normal(at, 1.0, delta)
        assert not mixed.takes_normal(np.nextafter(at, 1), 1.0, delta)
    assert [mixed.threshold(1.0, delta) for delta in mixed.DELTAS.values()] == pytest.approx(
        [1.7725e-3, 8.862e-4, 7.927e-5, 3.545e-6], rel=2e-4
    )
    found = [mixed.true_delta(epsilon) for epsilon in (0.1, 0.5, 1, 2, 4)]
    assert found == pytest.approx([0.002640, 0.015954, 0.039633, 0.114525, 0.372302], abs=5e-7)


def test_T13_ratios_by_simulation():
    rng = np.random.default_rng(3)
    for delta, expected in zip(mixed.DELTAS.values(), (0.1553, 0.1402, 0.1048, 0.0790), strict=True):
        drawn = np.array([mixed.noises(0.01, delta, rng) for _ in range(4000)])
        ratio = (drawn[:, 0] ** 2).sum() / (drawn[:, 1] ** 2).sum()
        assert abs(ratio - expected) < 4 * expected * math.sqrt((5 + 2) / 4000)
    assert committed("mixed_noise")["expected"] == {
        "1/n": 0.1553, "1/(2n)": 0.1402, "n^-1.5": 0.1048, "n^-2": 0.0790
    }  # fmt: skip


def test_T13_limits_of_one_outlier():
    limits = mixed.outlier_limits()
    names = ("Laplace", "Gaussian 1/n", "Gaussian n^-1.5", "Gaussian n^-2", "mixed")
    assert [limits[name] for name in names] == pytest.approx([92.39, 52.72, 44.45, 39.14, 93.15], abs=0.03)


def test_T13_orders_of_the_table():
    rows = {(row["family"], row["number"], row["delta"]): row for row in committed("mixed_noise")["rows"]}
    for (family, number, _), row in rows.items():
        assert row["hits_Gaussian"] <= min(row["hits_Laplace"], row["hits_mixed"]) + 0.5, (family, number)
    for family, numbers in mixed.FAMILIES.items():
        by_number = [rows[family, number, "n^-2"]["hits_Gaussian"] for number in numbers]
        if family in ("t", "Pareto"):
            assert by_number == sorted(by_number)
        for number in numbers:
            hits = [rows[family, number, delta]["hits_Gaussian"] for delta in ("1/n", "n^-1.5", "n^-2")]
            assert hits[0] >= hits[1] - 0.5
            assert hits[1] >= hits[2] - 0.5


def test_a_slice_of_mixed_noise_is_as_committed():
    draws = np.asarray([mixed.one_replication(r, seed=99) for r in range(60)])
    rows = committed("mixed_noise")["rows"]
    hits = 100 * draws[..., 3:6].mean(axis=0).reshape(-1, 3)
    for mine, row in zip(hits, rows, strict=True):
        for value, name in zip(mine, mixed.MECHANISMS, strict=True):
            share = min(max(row[f"hits_{name}"] / 100, 0.01), 0.99)
            assert abs(value / 100 - share) < 0.01 + 4.5 * math.sqrt(share * (1 - share) / 60)


def test_T14_committed_blocks_are_as_predicted_and_the_first_way_is_blind():
    rows = {(row["data"], row["blocks"], row["method"]): row for row in committed("blocks")["rows"]}
    for method in ("ranges", "aggregate"):
        for size in blocks.BLOCKS:
            expected, spread = blocks.PREDICTED[method][size]
            assert abs(rows["uniform", size, method]["mse"] - expected) < 3 * spread
            assert abs(blocks.PRINTED[method][size] - expected) < 3 * spread
    for size in blocks.BLOCKS:
        assert rows["uniform", size, "ranges"]["mse"] < rows["uniform", size, "aggregate"]["mse"]
        assert abs(rows["skewed", size, "ranges"]["bias"]) > 30
        assert abs(rows["skewed", size, "aggregate"]["bias"]) < 4


def test_T16_variance_of_noisy_records():
    n, scale = 20, 10.0
    x = np.random.default_rng(4).uniform(0, 10, n)
    spread = x.var(ddof=1)
    rng = np.random.default_rng(5)
    found = [variance_of_noisy(x + rng.laplace(scale=scale, size=n), scale=scale) for _ in range(20_000)]
    estimates = np.array([one.estimate for one in found])
    expected = noise_variance(n, spread, scale)
    # the bias of 2b² is gone
    assert abs(estimates.mean() - spread) < 4 * math.sqrt(expected / 20_000)
    assert abs(estimates.var() - expected) < 4 * np.std((estimates - spread) ** 2) / math.sqrt(20_000)
    # the digest's numbers, for s² near 6.8
    assert noise_variance(n, 6.83, scale) == pytest.approx(10_498, abs=1)
    assert noise_variance(n, 6.83, scale) + 4 * scale**4 == pytest.approx(50_498, abs=1)


@pytest.mark.parametrize(
    ("values", "words"),
    [([1.0], "values: must be one column of at least 2"), ([1.0, np.nan], "values: 1 are missing or infinite")],
)
def test_noisy_records_that_cannot_be_used_are_refused(values, words):
    with pytest.raises(InputError, match=words):
        variance_of_noisy(values, scale=1.0)
    with pytest.raises(InputError, match="scale: must be a finite number above 0"):
        variance_of_noisy([1.0, 2.0], scale=0)


def test_T16_medians_before_and_after():
    rows = {row["statistic"]: row for row in committed("before_after")["rows"]}
    assert rows["median before"]["sd"] == pytest.approx(4.66, abs=4 * 4.66 / math.sqrt(2 * 1000))
    assert rows["median after"]["sd"] == pytest.approx(155.6, abs=4 * 155.6 * math.sqrt(5 / 4000))
    assert rows["median after, Δ of the code"]["sd"] == pytest.approx(1.41, abs=4 * 1.41 * math.sqrt(5 / 4000))
    # noise on records is the better one, and a little too high
    assert 1 < rows["median before"]["mean"] - rows["median before"]["truth"] < 3
    draws = np.asarray([before_after.one_replication(r, seed=99) for r in range(150)])
    assert draws[:, 2].std() == pytest.approx(rows["median before"]["sd"], rel=4 / math.sqrt(300))
    assert draws[:, 6].mean() == pytest.approx(
        committed("before_after")["variance"][1]["truth"],
        abs=4 * committed("before_after")["variance"][1]["sd expected"] / math.sqrt(150),
    )


@pytest.mark.parametrize("n", [100, 1000])
def test_T17_intervals_with_the_noise_cover_and_without_it_do_not(n):
    runs, sd = 400, math.sqrt(1 / 12)
    hits = np.zeros((runs, 3))
    for r in range(runs):
        rng = np.random.default_rng((n, r))
        x = rng.random(n)
        asked = {"bounds": (0, 1), "epsilon": 0.5, "delta": 1e-5, "source": Simulated(rng)}
        known, unknown = dp.mean(x, sd=sd, **asked), dp.mean(x, **asked | {"epsilon": 1.0, "delta": 2e-5})
        half = stats.norm.ppf(0.975) * sd / math.sqrt(n)
        hits[r] = known.low <= 0.5 <= known.high, unknown.low <= 0.5 <= unknown.high, abs(known.estimate - 0.5) <= half
    shares = hits.mean(axis=0)
    error = 4 * math.sqrt(0.95 * 0.05 / runs)
    assert abs(shares[0] - 0.95) < error
    assert abs(shares[1] - 0.95) < error + 0.01
    assert shares[2] < 0.9


def test_T18_committed_leakage_is_what_the_product_finds():
    again = leakage.measured()
    assert json.loads(json.dumps(again)) == committed("leakage")
    assert [row["code"] for row in again["6.1"]][::2] == [1.0, 0.7444, 0.6191]


def test_T19_committed_gaps_are_below_their_bounds_and_the_descent_is_the_weaker_one():
    found = committed("gradient")
    for row in found["gaps"]:
        assert row["gap"] < row["bound"]
        assert row["bound"] == pytest.approx(gradient.bound_of(row["kappa"]), rel=1e-3)
    for row in found["errors"]:
        assert row["gradient_descent"] > 10 * row["sgd"]


@pytest.mark.parametrize("study", [blocks, mixed, sensitivities, before_after, leakage, gradient])
def test_pages_are_those_of_the_results(study):
    folder = REPORTS / study.STUDY.name
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    page = study.STUDY.page(record["results"], record["settings"]).rstrip() + "\n"
    assert (folder / "README.md").read_text(encoding="utf-8") == page
