"""The copula's core: latents inside their intervals, correlations from their exact density, chains that agree."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula import collapsing, convergence, correlation, loops, slices
from synthdp.imputation.copula.chain import Sampler
from synthdp.imputation.copula.latent import Latent, Shape, truncated_at

MIXED = Shape.of(5, ((3, 2),))


def twin_of_rows(y, mean, lower, upper, shape, codes, weights, sd, uniforms):
    """Column by column over all records: the same order within a record as the compiled loop over rows."""
    y = y.copy()
    owner = shape.owner()
    for j in range(y.shape[1]):
        center = mean[:, j] + (y - mean) @ weights[j]
        low, high = lower[:, j], upper[:, j]
        if owner[j] >= 0:
            first, size = shape.first[owner[j]], shape.size[owner[j]]
            code = codes[:, owner[j]]
            others = np.delete(y[:, first : first + size], j - first, axis=1)
            chosen = np.take_along_axis(y[:, first : first + size], np.maximum(code - 1, 0)[:, None], axis=1)[:, 0]
            mine = code == j - first + 1
            low = np.where(mine, np.maximum(others.max(axis=1, initial=0.0), 0.0), -np.inf)
            high = np.where(mine | (code < 0), np.inf, np.where(code == 0, 0.0, chosen))
        drawn = center + sd[j] * truncated_at((low - center) / sd[j], (high - center) / sd[j], uniforms[:, j])
        y[:, j] = np.where(low == high, y[:, j], drawn)
    return y


def records(n: int, rng: np.random.Generator) -> Latent:
    y = rng.standard_normal((n, 5))
    lower, upper = y.copy(), y.copy()
    lower[:, 1], upper[:, 1] = np.where(y[:, 1] > 0.2, 0.2, -np.inf), np.where(y[:, 1] > 0.2, np.inf, 0.2)
    edges = np.array([-np.inf, -0.5, 0.5, np.inf])
    place = np.searchsorted(edges, y[:, 2]) - 1
    lower[:, 2], upper[:, 2] = edges[place], edges[place + 1]
    gone = rng.random((n, 3)) < 0.2
    lower[:, :3][gone], upper[:, :3][gone] = -np.inf, np.inf
    codes = rng.integers(-1, 3, (n, 1))
    return Latent(MIXED, lower, upper, codes, np.ones((n, 1)), np.array([[0.0, 0.0, 0.0, 1.0, 1.0]]))


class TestLoops:
    def test_the_quantile_is_scipys(self):
        p = np.concatenate(
            [10.0 ** -np.arange(1, 300, 7), np.linspace(0.001, 0.999, 77), 1 - 10.0 ** -np.arange(1, 14)]
        )
        np.testing.assert_allclose([loops.quantile(x) for x in p], ndtri(p), rtol=1e-13, atol=1e-15)
        assert loops.quantile(0.0) == -np.inf
        assert loops.quantile(1.0) == np.inf

    def test_the_distribution_is_scipys(self):
        x = np.concatenate([np.linspace(-36.9, 8, 4001), [-np.inf, np.inf, -50.0, 50.0]])
        np.testing.assert_allclose([loops.cumulative(v) for v in x], ndtr(x), rtol=2e-7)
        near = np.linspace(-7, 7, 2001)
        np.testing.assert_allclose([loops.cumulative(v) for v in near], ndtr(near), rtol=5e-9, atol=1e-15)

    @pytest.mark.parametrize(
        ("low", "high"), [(-np.inf, np.inf), (-1, 0.5), (2, np.inf), (8, 9), (-np.inf, -12), (40, 41), (-60, -50)]
    )
    def test_a_truncated_normal_stays_inside_and_agrees_with_numpy(self, low, high):
        u = np.linspace(0.01, 0.99, 23)
        drawn = np.array([loops.truncated(float(low), float(high), x) for x in u])
        assert ((drawn >= low) & (drawn <= high)).all()
        np.testing.assert_allclose(drawn, truncated_at(np.full(23, float(low)), np.full(23, float(high)), u), rtol=1e-6)
        if abs(low) < 30 and abs(high) < 30:
            grid = stats.truncnorm.ppf(u, low, high)
            np.testing.assert_allclose(drawn, grid, rtol=1e-6, atol=1e-9)

    def test_rows_agree_with_the_numpy_twin(self):
        rng = np.random.default_rng(3)
        latent = records(300, rng)
        y, mean = latent.start(rng=rng), 0.1 * rng.standard_normal((300, 5))
        r = correlation.draw_prior(MIXED, rng=rng)
        p = np.linalg.inv(r)
        weights = -p / np.diag(p)[:, None]
        np.fill_diagonal(weights, 0.0)
        sd, u = 1 / np.sqrt(np.diag(p)), rng.random((300, 5))
        expected = twin_of_rows(y, mean, latent.lower, latent.upper, MIXED, latent.codes, weights, sd, u)
        shape = latent.shape
        loops.sweep_rows(
            y, mean, latent.lower, latent.upper, shape.owner(), shape.first, shape.size, latent.codes, weights, sd, u
        )
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-9)

    def test_correlations_are_the_same_compiled_or_not(self):
        rng = np.random.default_rng(4)
        r = correlation.draw_prior(MIXED, rng=rng)
        e = rng.standard_normal((50, 5))
        plain, compiled = r.copy(), r.copy()
        p, q = np.linalg.inv(r), np.linalg.inv(r)
        slices.sweep_correlations(compiled, p, e.T @ e, 50.0, 6.0, MIXED.fixed(), np.random.default_rng(1))
        slices.sweep_correlations.py_func(plain, q, e.T @ e, 50.0, 6.0, MIXED.fixed(), np.random.default_rng(1))
        np.testing.assert_allclose(compiled, plain, atol=1e-12)
        np.testing.assert_allclose(p, np.linalg.inv(compiled), rtol=1e-8)
        assert compiled[3, 4] == 0.5
        assert np.linalg.eigvalsh(compiled).min() > 0

    def test_a_change_of_one_correlation_is_the_difference_of_log_densities(self):
        rng = np.random.default_rng(5)
        r, e = correlation.draw_prior(Shape.of(4), rng=rng), rng.standard_normal((20, 4))
        p, cross = np.linalg.inv(r), e.T @ e
        inner = p @ cross @ p
        qs = np.array([inner[1, 1], inner[1, 3], inner[3, 3]])
        least, most = -1 / (np.sqrt(p[1, 1] * p[3, 3]) + p[1, 3]), 1 / (np.sqrt(p[1, 1] * p[3, 3]) - p[1, 3])
        for t in (0.9 * least, 0.4 * most, 0.99 * most):
            moved = r.copy()
            moved[1, 3] = moved[3, 1] = r[1, 3] + t
            exact = correlation.log_density(moved, cross, 20) - correlation.log_density(r, cross, 20)
            found = slices.change(t, p[1, 1], p[1, 3], p[3, 3], qs, 20.0, 5.0, p, 1, 3)
            assert found == pytest.approx(exact, rel=1e-8)
        moved[1, 3] = moved[3, 1] = r[1, 3] + 1.01 * most
        assert correlation.log_density(moved, cross, 20) == -np.inf
        assert slices.change(1.01 * most, p[1, 1], p[1, 3], p[3, 3], qs, 20.0, 5.0, p, 1, 3) == -np.inf


class TestCorrelation:
    def test_every_correlation_is_uniform_beforehand(self):
        rng = np.random.default_rng(6)
        drawn = np.array([correlation.draw_prior(Shape.of(5), rng=rng) for _ in range(2000)])
        for j, k in zip(*np.triu_indices(5, 1), strict=True):
            assert stats.kstest(drawn[:, j, k], "uniform", (-1, 2)).pvalue > 0.001

    def test_the_steps_leave_the_prior_as_it_is_with_a_nominal_column(self):
        rng = np.random.default_rng(7)
        start = [correlation.draw_prior(MIXED, rng=rng) for _ in range(1500)]
        nothing = np.zeros((5, 5))
        after = []
        for r in start:
            for _ in range(3):
                r = correlation.step(r, np.linalg.inv(r), nothing, 0, MIXED.fixed(), rng=rng)
            after.append(r)
        for j, k in zip(*np.nonzero(np.triu(~MIXED.fixed())), strict=True):
            before = [r[j, k] for r in start]
            assert stats.ks_2samp(before, [r[j, k] for r in after]).pvalue > 0.001
        assert all(r[3, 4] == pytest.approx(0.5) for r in start + after)

    def test_two_coordinates_against_quadrature(self):
        """With known variances the posterior is not that of a rescaled inverse Wishart."""
        rng = np.random.default_rng(8)
        cross, n = np.array([[7.0, 6.0], [6.0, 14.0]]), 12
        grid = np.linspace(-0.9999, 0.9999, 20001)
        log = np.array([correlation.log_density(np.array([[1, t], [t, 1]]), cross, n) for t in grid[::20]])
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        mean = (weight * grid[::20]).sum()
        sd = np.sqrt((weight * (grid[::20] - mean) ** 2).sum())
        r, drawn = np.eye(2), []
        for _ in range(6000):
            r = correlation.step(r, np.linalg.inv(r), cross, n, Shape.of(2).fixed(), rng=rng)
            drawn.append(r[0, 1])
        # neighbouring draws of a single coordinate's slice step are all but independent
        assert np.mean(drawn) == pytest.approx(mean, abs=4 * sd / np.sqrt(3000))
        assert np.std(drawn) == pytest.approx(sd, rel=4 / np.sqrt(3000))

    def test_the_prior_of_two_nominal_columns_is_not_drawn(self):
        with pytest.raises(ValueError, match="at most one nominal column"):
            correlation.draw_prior(Shape.of(4, ((0, 2), (2, 2))), rng=np.random.default_rng(1))


class TestCollapsed:
    def test_the_same_compiled_or_not(self):
        latent = records(60, np.random.default_rng(13))
        rows = []
        for function in (collapsing.collapse, collapsing.collapse.py_func):
            rng = np.random.default_rng(14)
            y, mean, gamma = latent.start(rng=rng), np.zeros((60, 5)), np.zeros((1, 5))
            r = correlation.draw_prior(MIXED, rng=rng)
            p, shape = np.linalg.inv(r), latent.shape
            known = (latent.lower, latent.upper, shape.owner(), shape.first, shape.size, latent.codes)
            for j in (2, 4):
                function(j, y, mean, *known, latent.covariates, latent.prior_sd, gamma, r, p, 6.0, shape.fixed(), rng)
            np.testing.assert_allclose(p, np.linalg.inv(r), rtol=1e-7)
            np.testing.assert_allclose(mean, latent.covariates @ gamma, atol=1e-12)
            rows.append((y, gamma, r))
        for compiled, plain in zip(*rows, strict=True):
            np.testing.assert_allclose(compiled, plain, atol=1e-10)
        assert rows[0][2][3, 4] == 0.5

    def test_a_probit_correlation_and_its_constant_against_quadrature(self):
        """Known x, binary b = (y > 0): the latents of b integrated out give a probit likelihood of r and γ."""
        rng = np.random.default_rng(15)
        x = rng.standard_normal(25)
        b = 0.4 + 0.8 * x + rng.standard_normal(25) > 0
        lower = np.column_stack([x, np.where(b, 0.0, -np.inf)])
        upper = np.column_stack([x, np.where(b, np.inf, 0.0)])
        lower[20:, 1], upper[20:, 1] = -np.inf, np.inf
        prior_sd = np.array([[0.0, 1.0]])
        latent = Latent(Shape.of(2), lower, upper, np.zeros((25, 0), dtype=np.int64), np.ones((25, 1)), prior_sd)
        sampler = Sampler(latent, rng=rng)
        drawn = []
        for _ in range(5000):
            sampler.collapse()
            drawn.append((sampler.state.r[0, 1], sampler.state.gamma[0, 1]))
        r, g = np.meshgrid(np.linspace(-0.995, 0.995, 200), np.linspace(-3, 4, 200), indexing="ij")
        log = -(g**2) / 2  # r is uniform beforehand, and x says nothing of r alone
        for xi, bi in zip(x[:20], b[:20], strict=True):
            log += stats.norm.logcdf((2 * bi - 1) * (g + r * xi) / np.sqrt(1 - r**2))
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        sizes = convergence.bulk_ess(np.asarray(drawn).reshape(2, 2500, 2))
        for grid, found, size in zip((r, g), np.asarray(drawn).T, sizes, strict=True):
            mean = (weight * grid).sum()
            sd = np.sqrt((weight * (grid - mean) ** 2).sum())
            assert found.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(size))
            assert found.std() == pytest.approx(sd, rel=4 / np.sqrt(size))


class TestSampler:
    def test_latents_start_and_stay_where_the_records_say(self):
        rng = np.random.default_rng(9)
        latent = records(200, rng)
        assert "200 records x 5" in repr(latent)
        sampler = Sampler(latent, rng=rng)
        for _ in range(4):
            y = sampler.state.y
            inside = (y >= latent.lower - 1e-12) & (y <= latent.upper + 1e-12)
            assert inside[:, :3].all()
            level = np.column_stack([np.zeros(200), y[:, 3:]]).argmax(axis=1)
            known = latent.codes[:, 0] >= 0
            assert (level == latent.codes[:, 0])[known].all()
            sampler.sweep()
        trace = sampler.run(3, every=2)
        assert repr(trace) == "Trace(3 draws)"
        assert trace.gamma.shape == (3, 1, 5)
        assert (trace.gamma[:, 0, :3] == 0).all()


def direct_ess(draws):
    """The definition, with sums written out."""
    half = draws.shape[1] // 2
    chains = np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
    ranks = stats.rankdata(chains).reshape(chains.shape)
    z = ndtri((ranks - 0.375) / (chains.size + 0.25))
    m, n = z.shape
    own = [[((row[: n - t] - row.mean()) * (row[t:] - row.mean())).sum() / n for t in range(n)] for row in z]
    within = np.mean([c[0] for c in own]) * n / (n - 1)
    total = within * (n - 1) / n + np.var(z.mean(axis=1), ddof=1)
    rho = [1.0] + [1 - (within - np.mean([c[t] for c in own])) / total for t in range(1, n)]
    pairs, t = [], 0
    while t + 1 < n and rho[t] + rho[t + 1] > 0:
        pairs.append(min(rho[t] + rho[t + 1], pairs[-1] if pairs else np.inf))
        t += 2
    return m * n / max(-1 + 2 * sum(pairs) + max(rho[t], 0.0), 1 / np.log10(m * n))


class TestConvergence:
    def test_the_effective_size_is_its_definition(self):
        rng = np.random.default_rng(10)
        noise = rng.standard_normal((2, 200))
        draws = noise + 0.7 * np.roll(noise, 1, axis=1) + 0.4 * np.roll(noise, 2, axis=1)
        assert convergence.bulk_ess(draws[:, :, None])[0] == pytest.approx(direct_ess(draws), rel=1e-9)

    def test_an_autoregression_has_the_size_theory_gives(self):
        rng = np.random.default_rng(11)
        x = np.zeros((2, 4000, 3))
        for t in range(1, 4000):
            x[:, t] = 0.6 * x[:, t - 1] + rng.standard_normal((2, 3))
        assert convergence.bulk_ess(x) == pytest.approx(8000 * 0.4 / 1.6, rel=0.2)
        assert (convergence.r_hat(x) < 1.01).all()

    def test_chains_apart_in_place_or_spread_are_told(self):
        rng = np.random.default_rng(12)
        x = rng.standard_normal((2, 300, 3))
        x[1, :, 1] += 1.0
        x[1, :, 2] *= 3.0
        found = convergence.r_hat(x)
        assert found[0] < 1.02
        assert found[1] > 1.1
        assert found[2] > 1.1

    def test_a_constant_has_no_size(self):
        assert np.isnan(convergence.bulk_ess(np.ones((2, 50, 1)))[0])
