"""The copula's shortcut: shares of levels, scores, moments, what follows from what, threads and progress."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp import parallel
from synthdp.errors import Unfinished
from synthdp.imputation.copula import model as copula_model
from synthdp.imputation.copula.bending import Bends, coefficients
from synthdp.imputation.copula.choices import constants, shares, slopes
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.features import Features, Steps, scores
from synthdp.imputation.copula.fitting import Fit, Limits, Verdict, run_chains, settle
from synthdp.imputation.copula.gaps import Records
from synthdp.imputation.copula.implied import Implied, implied
from synthdp.imputation.copula.information import least_information, shown
from synthdp.imputation.copula.latent import Shape
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.copula.moments import (
    COMPLETIONS,
    DRAWS,
    SMALLEST_EIGENVALUE,
    Approach,
    draws_of,
    fit_moments,
    possible,
    simulated,
)
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag


def records(n: int = 1500, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = 0.6 * x + 0.8 * rng.standard_normal(n)
    v = np.column_stack([np.zeros(n), 0.5 * x, -0.4 * x]) + np.sqrt(0.5) * rng.standard_normal((n, 3))
    return pd.DataFrame({"x": x, "y": y, "b": (y + rng.standard_normal(n) > 0).astype(int), "g": v.argmax(axis=1)})


def plan_of(frame: pd.DataFrame) -> Plan:
    kinds = {"g": Variable(kind="nominal"), "b": Variable(kind="binary")}
    data = resolve(frame.astype({"g": str}), {**kinds, "x": Variable(role="replace")})
    return Plan(data, tag(data, None), {"x": Gaussian(sd=0.7)})


def coding_of(frame: pd.DataFrame) -> Coding:
    return Coding.of(prepare(plan_of(frame), Copula(), 20)[0], (), 1.0, {})


class TestChoices:
    def test_shares_are_those_of_simulated_choices(self):
        m = np.array([0.4, -0.9, 0.1])
        v = np.concatenate([[0.0], m]) + np.sqrt(0.5) * np.random.default_rng(1).standard_normal((200_000, 4))
        assert shares(m) == pytest.approx(np.bincount(v.argmax(axis=1))[1:] / len(v), abs=0.004)

    def test_two_levels_are_a_probit(self):
        assert shares(np.array([0.7]))[0] == pytest.approx(stats.norm.cdf(0.7), abs=1e-9)

    def test_slopes_are_differences_of_shares(self):
        m, step = np.array([0.4, -0.9, 0.1]), 1e-5
        by_hand = [(shares(m + step * e) - shares(m - step * e)) / (2 * step) for e in np.eye(3)]
        assert slopes(m) == pytest.approx(np.transpose(by_hand), abs=1e-7)

    def test_constants_give_back_the_shares(self):
        wanted = np.array([0.3, 0.25, 0.02, 0.001])
        assert shares(constants(wanted)) == pytest.approx(wanted, abs=1e-8)


class TestMoments:
    def test_scores_are_means_of_truncated_normals(self):
        lower, upper = np.array([-np.inf, -0.5, 1.0, 0.3]), np.array([-0.5, 1.0, np.inf, 0.3])
        steps = Steps.of(lower, upper)
        by_hand = [stats.truncnorm.mean(a, b) for a, b in zip(lower[:3], upper[:3], strict=True)]
        assert steps.score == pytest.approx(by_hand)
        assert steps(np.array([-2.0, 0.0, 3.0], dtype=np.float32)) == pytest.approx(by_hand)

    def test_known_latents_are_their_own_scores(self):
        y = np.array([-1.0, 0.2])
        assert Steps.of(y, y)(y) == pytest.approx(y)

    def test_correlations_of_no_matrix_become_some(self):
        shape = Shape.of(4, ((0, 2),))
        wanted = shape.start()
        wanted[2:, :2] = 0.95
        wanted[2, 3] = wanted[3, 2] = -0.9
        found = possible(wanted, shape)
        assert np.linalg.eigvalsh(found)[0] >= SMALLEST_EIGENVALUE * (1 - 1e-9)
        assert found[0, 1] == pytest.approx(0.5)
        assert np.diag(found) == pytest.approx(np.ones(4))

    def test_known_correlations_are_found_with_their_spread(self):
        coding = coding_of(records())
        latent, rng = coding.latent(coding.curves(np.ones(1500))), np.random.default_rng(3)
        way = Approach(Records(coding, latent, rng=rng), latent.shape.start(), rng=rng, jobs=1)
        r, _ = draws_of(way, lambda _done, _total: None)
        truth = {(0, 1): 0.6, (0, 3): 0.5, (0, 4): -0.4}
        at = {item.column.name: item.first for item in coding.items}
        order = coding.items[-1].order
        assert r[:, at["x"], at["y"]].mean() == pytest.approx(truth[0, 1], abs=0.07)
        # the sd of a correlation of two normals is (1 - r²)/√n
        assert r[:, at["x"], at["y"]].std() == pytest.approx((1 - 0.36) / np.sqrt(1500), rel=0.3)
        effect = np.array([0.0, 0.5, -0.4])
        for k in (1, 2):
            by = effect[order[k]] - effect[order[0]]
            assert r[:, at["x"], at["g"] + k - 1].mean() == pytest.approx(by / np.sqrt(1 + by**2), abs=0.1)

    def test_missing_cells_are_drawn_and_known_ones_stay(self):
        frame = records(400)
        frame.loc[:49, "y"] = np.nan
        coding = coding_of(frame)
        latent = coding.latent(coding.curves(np.ones(400)))
        held = Records(coding, latent, rng=np.random.default_rng(1))
        before = held.found.copy()
        r = latent.shape.start()
        r[0, 1] = r[1, 0] = 0.99
        held.fill(r, np.zeros(len(r)), 3)
        assert np.array_equal(before[:, 50:], held.found[:, 50:])
        assert np.corrcoef(held.found[:2, :50])[0, 1] > 0.9
        assert held.known[0, 1] == pytest.approx(0.875)

    def test_standardised_covariances_with_weights(self):
        found = np.random.default_rng(1).standard_normal((2, 60), dtype=np.float32)
        weights = np.random.default_rng(2).integers(0, 3, 60).astype(np.float32)
        features = Features(Shape.of(2), (Steps(*np.zeros((3, 0), dtype=np.float32)),) * 2)
        s = features.standardised(features.moments(found, weights)[1])
        repeated = np.repeat(found, weights.astype(int), axis=1)
        assert s[0, 1] == pytest.approx(np.corrcoef(repeated)[0, 1], rel=1e-5)


class TestFollowing:
    def test_a_level_that_follows_is_found(self):
        frame = records(600)
        frame["g"] = np.where(frame["x"] < -1, 3, frame["g"])
        assert implied(coding_of(frame)) == (Implied("g", "x"),)

    def test_levels_that_do_not_are_not(self):
        assert implied(coding_of(records(600))) == ()

    def test_the_file_is_finished_and_the_column_named(self):
        frame = records(600)
        frame["g"] = np.where(frame["x"] < -1, 3, frame["g"])
        release = DaMi(model=Copula(), copies=2).synthesize(plan_of(frame), streams=Streams(1))
        assert {"model": "copula", "by": "moments"} in release.chain
        assert {"column": "g", "follows_from": "x"} in release.chain

    def test_where_there_is_no_shortcut_the_sentence_names_it(self):
        frame = records(200)
        frame["g"] = np.where(frame["x"] < -1, 3, frame["g"])
        model = Copula(shortcut="never", most_sweeps=250, least_ess=1e5)
        with pytest.raises(Unfinished, match="g has a level that follows from x"):
            DaMi(model=model, copies=2).synthesize(plan_of(frame), streams=Streams(1))


class TestBending:
    def test_two_halves_are_an_arcsine(self):
        lower, upper = np.array([-np.inf, 0.0]), np.array([0.0, np.inf])
        c = coefficients(lower, upper, scores(lower, upper))
        # cov of the signs of two normals is 2/pi asin(r), and scores are signs times sqrt(2/pi)
        by_hand = 2 / np.pi * (2 / np.pi) * np.arcsin(0.6)
        assert (c**2 * 0.6 ** np.arange(1, len(c) + 1)).sum() == pytest.approx(by_hand, rel=1e-6)

    def test_coefficients_of_levels_are_integrals(self):
        edges = np.array([-np.inf, -0.7, 0.4, 1.6, np.inf])
        score = scores(edges[:-1], edges[1:])
        c = coefficients(edges[:-1], edges[1:], score)
        y = np.linspace(-9, 9, 200_001)
        f = score[np.searchsorted(edges[1:-1], y)]
        density = stats.norm.pdf(y) * (y[1] - y[0])
        hermite = {1: y, 2: (y**2 - 1) / np.sqrt(2), 3: (y**3 - 3 * y) / np.sqrt(6)}
        for m, h in hermite.items():
            assert c[m - 1] == pytest.approx((f * h * density).sum(), abs=1e-4)

    def test_a_number_with_a_heap_is_itself_elsewhere(self):
        lower, upper = np.array([-np.inf]), np.array([-0.3])
        score = scores(lower, upper)
        c = coefficients(lower, upper, score)
        y = np.linspace(-9, 9, 200_001)
        f = np.where(y < -0.3, score[0], y)
        density = stats.norm.pdf(y) * (y[1] - y[0])
        assert c[1] == pytest.approx((f * (y**2 - 1) / np.sqrt(2) * density).sum(), abs=1e-4)

    def test_slopes_are_derivatives_of_simulated_covariances(self):
        coding = coding_of(records())
        features = Features.of(coding.latent(coding.curves(np.ones(1500))))
        b, x = (next(item.first for item in coding.items if item.column.name == name) for name in "bx")
        bends = Bends(features, np.full(5, 0.3))
        r = np.full((5, 5), 0.5)
        assert bends.slopes(r)[x] == pytest.approx(np.ones(5))
        assert bends.slopes(np.zeros((5, 5))) == pytest.approx(np.ones((5, 5)))
        # the middle of a normal cut at t: density of two such normals at (t, t) over that at r = 0
        t = float(features.steps[b].upper[0])
        both = stats.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]).pdf([t, t])
        assert bends.slopes(r)[b, b] == pytest.approx(both / stats.norm.pdf(t) ** 2, rel=1e-4)
        assert (bends.shortened(-r) <= 1).all()


class TestInformation:
    def test_what_a_binary_column_shows(self):
        frame = records(4000)
        coding = coding_of(frame)
        curves = coding.curves(np.ones(4000))
        b = next(k for k, item in enumerate(coding.items) if item.column.name == "b")
        p = frame["b"].mean()
        by_hand = stats.norm.pdf(stats.norm.ppf(p)) ** 2 / (p * (1 - p))
        assert shown(coding.items[b], curves[b]) == pytest.approx([by_hand], rel=1e-6)

    def test_numbers_show_all_and_missing_pairs_nothing(self):
        frame = records(1000)[["x", "y"]]
        frame.loc[:399, "y"] = np.nan
        data = resolve(frame, {"x": Variable(role="replace")})
        plan = Plan(data, tag(data, None), {"x": Gaussian(sd=0.7)})
        coding = Coding.of(prepare(plan, Copula(), 20)[0], (), 1.0, {})
        # normal scores of 1,000 records have a variance of .99
        assert least_information(coding) == pytest.approx(600, rel=0.02)

    def test_two_kept_columns_do_not_count(self):
        coding = coding_of(records(1000))
        curves = coding.curves(np.ones(1000))
        known = {item.column.name: shown(item, curve).min() for item, curve in zip(coding.items, curves, strict=True)}
        # of x, which is replaced, with the others; not of the two columns with levels
        assert least_information(coding) == pytest.approx(1000 * known["x"] * min(known[name] for name in "ybg"))
        assert known["b"] * known["g"] < known["x"] * known["g"]
        kept = tuple(item for item in coding.items if item.column.name != "x")
        assert least_information(replace(coding, items=kept)) == np.inf

    def test_plenty_of_records_need_no_chain(self, monkeypatch):
        def refused(*_given, **_named):
            raise AssertionError("a chain was run")

        monkeypatch.setattr(copula_model, "run_chains", refused)
        monkeypatch.setattr(copula_model, "LITTLE_WORK", 1e6)
        monkeypatch.setattr(copula_model, "PLENTY", 100.0)
        release = DaMi(model=Copula(), copies=1).synthesize(plan_of(records(1000)), streams=Streams(1))
        assert {"model": "copula", "by": "moments"} in release.chain
        monkeypatch.setattr(copula_model, "PLENTY", 1e6)
        with pytest.raises(AssertionError, match="a chain was run"):
            DaMi(model=Copula(), copies=1).synthesize(plan_of(records(1000)), streams=Streams(1))


class TestSimulated:
    def test_covariances_are_those_of_many_records_without_error_between_numbers(self):
        coding = coding_of(records())
        latent = coding.latent(coding.curves(np.ones(1500)))
        features = Features.of(latent)
        r = latent.shape.start()
        r[0, 1] = r[1, 0] = 0.6
        r[0, 2] = r[2, 0] = 0.5
        mean = np.zeros(len(r))
        found = simulated(features, r, mean, 40_000, rng=np.random.default_rng(1), jobs=2)
        y = np.random.default_rng(2).multivariate_normal(mean, r, 400_000).astype(np.float32)
        plain = features.standardised(features.moments(features(y.T))[1])
        assert found[0, 1] == pytest.approx(0.6, abs=1e-5)
        assert np.abs(found - plain).max() < 4 * np.sqrt(1 / 40_000 + 1 / 400_000)

    def test_moments_say_what_chains_say(self):
        frame = records(3000)
        frame.loc[::10, "y"] = np.nan
        coding = coding_of(frame)
        short = fit_moments(coding, rng=np.random.default_rng(6))
        settled, start = settle(coding, rng=np.random.default_rng(7))
        long = run_chains(settled, start, limits=Limits(200, 1.02, 5000), rng=np.random.default_rng(8))
        assert isinstance(long, Fit)
        away = (short.r.mean(axis=0) - long.r.mean(axis=0)) / long.r.std(axis=0)
        # moments of pairs are not all there is to know: root mean square over ten such files, .17 to .42 by entry
        assert np.abs(away).max() < 4 * 0.42
        # the sd of 60 draws is known to 1/√120 of itself
        assert np.abs(np.log(short.r.std(axis=0) / long.r.std(axis=0))).max() < 4 / np.sqrt(2 * DRAWS)

    def test_margins_are_completed_where_missingness_depends_on_another_column(self):
        frame = records(3000)
        truth = frame["y"].mean()
        frame["y"] = frame["y"].where(np.random.default_rng(4).random(3000) > stats.norm.cdf(frame["x"]))
        fit = fit_moments(coding_of(frame), rng=np.random.default_rng(5))
        assert len(fit.codings) == COMPLETIONS
        means = []
        for coding in fit.codings:
            margin = next(item.margin for item in coding.items if item.column.name == "y")
            means.append(margin.values[margin.filled].mean())
        assert frame["y"].mean() < truth - 0.2
        # half of the values are imputed given x, which leaves .8 of their sd: twice the error of all values' mean
        assert np.mean(means) == pytest.approx(truth, abs=4 * 2 * 0.8 / np.sqrt(3000))


class TestVerdict:
    LIMITS = Limits(60.0, 1.05, 1000)

    def test_only_what_fails_is_said(self):
        assert Verdict(1.04, 50.0, 80.0, "x with g").said(self.LIMITS) == (
            "effective sample size 50, at least 60 wanted; worst for x with g"
        )
        assert Verdict(1.2, 90.0, 80.0, "x").said(self.LIMITS) == "R-hat 1.20, at most 1.05 wanted; worst for x"

    def test_the_worst_entry_is_named(self):
        draws = np.random.default_rng(1).standard_normal((2, 200, 3))
        draws[1, :, 2] += 3
        assert Verdict.of(draws, ["a", "b", "c with d"], self.LIMITS).worst == "c with d"


class TestWork:
    def test_too_long_a_chain_ends_in_the_shortcut(self, monkeypatch):
        monkeypatch.setattr(copula_model, "MOST_WORK", 1.0)
        model = Copula(least_ess=1e6)
        release = DaMi(model=model, copies=1).synthesize(plan_of(records(600)), streams=Streams(1))
        assert {"model": "copula", "by": "moments"} in release.chain

    def test_one_job_is_one_thread(self, monkeypatch):
        def refused(**_):
            raise AssertionError("a thread was started")

        monkeypatch.setattr(parallel, "ThreadPoolExecutor", refused)
        for shortcut in ("never", "always"):
            model = Copula(least_ess=2, most_r_hat=5, shortcut=shortcut)
            DaMi(model=model, copies=1).synthesize(plan_of(records(300)), streams=Streams(1), jobs=1)

    def test_progress_is_told_from_inside_the_fit(self):
        told = []
        model = Copula(shortcut="always")
        plan = plan_of(records(300))
        DaMi(model=model, copies=1).synthesize(
            plan, streams=Streams(1), advance=lambda done, total: told.append((done, total))
        )
        assert len(told) > 20
        assert all(done <= total for done, total in told)
