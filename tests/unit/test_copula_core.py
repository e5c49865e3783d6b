"""The copula's core: latents inside their intervals, correlations from their exact density, chains that agree."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula import blocks, collapsing, convergence, correlation, loops, rows, slices
from synthdp.imputation.copula.chain import Sampler
from synthdp.imputation.copula.latent import ONE_SIDED, SOME_OPEN, TWO_SIDED, Latent, Shape, truncated_at

MIXED = Shape.of(5, ((3, 2),))


def twin_of_rows(latent, y, gamma, weights, sd, reach, words):
    """Block by block of records, column by column, in double precision; the same order as the compiled loop."""
    y, mean, shape = y.copy(), latent.covariates @ gamma, latent.shape
    owner = shape.owner()
    for start in range(0, len(y), rows.BLOCK):
        at = slice(start, start + rows.BLOCK)
        for j in range(y.shape[1]):
            center = mean[at, j] + (y[at] - mean[at]) @ weights[j]
            low, high = latent.lower[at, j], latent.upper[at, j]
            if owner[j] >= 0:
                first, size = shape.first[owner[j]], shape.size[owner[j]]
                code = latent.codes[at, owner[j]]
                block = y[at, first : first + size]
                others = np.delete(block, j - first, axis=1)
                chosen = np.take_along_axis(block, np.maximum(code - 1, 0)[:, None], axis=1)[:, 0]
                mine = code == j - first + 1
                low = np.where(mine, np.maximum(others.max(axis=1, initial=0.0), 0.0), -np.inf)
                high = np.where(mine | (code < 0), np.inf, np.where(code == 0, 0.0, chosen))
            unknown = np.flatnonzero(low < high)
            if not len(unknown):
                continue
            low, high, center = low[unknown], high[unknown], center[unknown]
            u = twin_of_uniforms(words, len(unknown))
            a, b, x = ((part - center) / sd[j] for part in (low, high, y[at, j][unknown]))
            flipped = (a > -np.inf) if latent.packed.kind[j] == ONE_SIDED else (a > 0)
            a, b, x = np.where(flipped, -b, a), np.where(flipped, -a, b), np.where(flipped, -x, x)
            if reach[j] < 0.5:
                v = (ndtr(x) - ndtr(a)) / (ndtr(b) - ndtr(a))
                u = 1 - np.abs(1 - np.abs(1 - v + reach[j] * (2 * u - 1)))
            drawn = np.where(flipped, -1, 1) * truncated_at(a, b, u)
            y[np.arange(len(y))[at][unknown], j] = center + sd[j] * drawn
    return y


def twin_of_uniforms(words, count):
    """xoshiro128++ of Blackman and Vigna (2021), ACM Transactions on Mathematical Software 47(4), 36."""
    mask = np.uint64(0xFFFFFFFF)

    def turned(x, k):
        return ((x << np.uint64(k)) | (x >> np.uint64(32 - k))) & mask

    s = words[:, :count].astype(np.uint64)
    result = (turned((s[0] + s[3]) & mask, 7) + s[0]) & mask
    t = (s[1] << np.uint64(9)) & mask
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = turned(s[3], 11)
    words[:, :count] = s.astype(np.uint32)
    return (result >> np.uint64(8)).astype(np.float64) * 2.0**-24 + 2.0**-25


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

    @pytest.mark.parametrize("reach", [1.0, 0.1])
    def test_rows_agree_with_the_numpy_twin(self, reach):
        rng = np.random.default_rng(3)
        n = rows.BLOCK + 300
        latent = records(n, rng)
        packed, shape = latent.packed, latent.shape
        assert packed.kind.tolist() == [SOME_OPEN, ONE_SIDED, TWO_SIDED, ONE_SIDED, ONE_SIDED]
        y, gamma = latent.start(rng=rng).astype(np.float32), np.array([[0.0, 0.0, 0.0, 0.2, -0.3]])
        r = correlation.draw_prior(MIXED, rng=rng)
        p = np.linalg.inv(r)
        weights = -p / np.diag(p)[:, None]
        np.fill_diagonal(weights, 0.0)
        sd, far = 1 / np.sqrt(np.diag(p)), np.where(np.arange(5) % 2, reach, 1.0)
        words = rng.integers(0, 2**32, (4, rows.BLOCK), dtype=np.uint32)
        expected = twin_of_rows(latent, y.astype(np.float64), gamma, weights, sd, far, words.copy())
        store, cross, moved = np.ascontiguousarray(y.T), np.empty((5, 5)), np.empty((1, 5))
        singles = [part.astype(np.float32) for part in (gamma, weights, sd)]
        rows.sweep_rows(
            store, packed.covariates, singles[0], packed.lower, packed.upper, shape.owner(), shape.first, shape.size,
            packed.codes, packed.kind, packed.open_from, packed.open_rows, *singles[1:], far, words, cross, moved,
        )  # fmt: skip
        np.testing.assert_allclose(store.T, expected, rtol=1e-4, atol=1e-4)
        residual = store.T.astype(np.float64) - latent.covariates @ gamma
        np.testing.assert_allclose(cross, residual.T @ residual, rtol=1e-5, atol=1e-3)
        np.testing.assert_allclose(moved, latent.covariates.T @ residual, rtol=1e-5, atol=1e-3)

    def test_single_precision_probabilities_and_quantiles_are_scipys(self):
        x = np.concatenate([np.linspace(-12, 8, 4001), [-np.inf, np.inf]]).astype(np.float32)
        found, work = np.empty_like(x), np.empty_like(x)
        blocks.cumulatives(x, found, work)
        np.testing.assert_allclose(found[:-2], ndtr(x[:-2].astype(np.float64)), rtol=5e-6)
        np.testing.assert_allclose(found[-2:], [0, 1], atol=1e-30)
        p = np.concatenate([np.linspace(0.001, 0.999, 2001), 10 ** -np.linspace(3, 10.8, 500)]).astype(np.float32)
        found, work = np.empty_like(p), np.empty_like(p)
        blocks.quantiles(p, found, work)
        np.testing.assert_allclose(found, ndtri(p.astype(np.float64)), rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize(("low", "high"), [(-np.inf, -9.0), (7.0, np.inf), (-30, -20), (-np.inf, -5.5), (-7, -6.4)])
    def test_draws_far_out_are_those_of_double_precision(self, low, high):
        u = np.linspace(0.001, 0.999, 200).astype(np.float32)
        a, b, x = (np.full(200, value, dtype=np.float32) for value in (low, high, 0.0))
        two_sided = bool(np.isfinite(low) and np.isfinite(high))
        flipped = low > 0
        blocks.draw_inside(200, a, b, x, u.copy(), 1.0, two_sided, np.empty((5, 200), dtype=np.float32))
        v = 1 - u if flipped else u
        expected = truncated_at(np.full(200, float(low)), np.full(200, float(high)), v.astype(np.float64))
        np.testing.assert_allclose(x, expected, rtol=3e-6)

    def test_overrelaxed_draws_are_of_the_same_distribution_on_the_other_side(self):
        rng = np.random.default_rng(16)
        size = 40_000
        a, b = (np.full(size, value, dtype=np.float32) for value in (-0.4, 1.5))
        before = stats.truncnorm.rvs(-0.4, 1.5, size=size, random_state=rng).astype(np.float32)
        after = before.copy()
        u = rng.random(size).astype(np.float32)
        blocks.draw_inside(size, a, b, after, u, 0.1, True, np.empty((5, size), dtype=np.float32))
        assert stats.kstest(after, stats.truncnorm(-0.4, 1.5).cdf).pvalue > 0.001
        assert np.corrcoef(before, after)[0, 1] < -0.9

    def test_uniforms_are_xoshiros(self):
        words = np.random.default_rng(17).integers(0, 2**32, (4, 100), dtype=np.uint32)
        twin, found = words.copy(), np.empty(100, dtype=np.float32)
        for count in (100, 37, 100):
            blocks.uniforms(words, found[:count])
            np.testing.assert_array_equal(found[:count], twin_of_uniforms(twin, count).astype(np.float32))
        assert 0 < found.min() < found.max() < 1

    @pytest.mark.parametrize("alpha", [-0.8, -0.3])
    def test_overrelaxed_correlations_are_the_same_compiled_or_not(self, alpha):
        rng = np.random.default_rng(4)
        r = correlation.draw_prior(MIXED, rng=rng)
        e = rng.standard_normal((50, 5)) @ np.linalg.cholesky(r).T  # from afar every step would be refused
        found = []
        for function in (slices.overrelax_correlations, slices.overrelax_correlations.py_func):
            moved, p = r.copy(), np.linalg.inv(r)
            moves = function(moved, p, e.T @ e, 50.0, 6.0, MIXED.fixed(), alpha, np.random.default_rng(1))
            np.testing.assert_allclose(p, np.linalg.inv(moved), rtol=1e-8)
            found.append((moves, moved))
        assert found[0][0] == found[1][0] > 0
        np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-12)

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

    @pytest.mark.parametrize("alpha", [0.0, -0.8])
    def test_the_steps_leave_the_prior_as_it_is_with_a_nominal_column(self, alpha):
        rng = np.random.default_rng(7)
        start = [correlation.draw_prior(MIXED, rng=rng) for _ in range(1500)]
        nothing = np.zeros((5, 5))
        after = []
        for r in start:
            r = correlation.step(r, np.linalg.inv(r), nothing, 0, MIXED.fixed(), rng=rng, alpha=alpha, passes=3)
            after.append(r)
        for j, k in zip(*np.nonzero(np.triu(~MIXED.fixed())), strict=True):
            before = [r[j, k] for r in start]
            assert stats.ks_2samp(before, [r[j, k] for r in after]).pvalue > 0.001
        assert all(r[3, 4] == pytest.approx(0.5) for r in start + after)

    @pytest.mark.parametrize("alpha", [0.0, -0.8])
    def test_two_coordinates_against_quadrature(self, alpha):
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
        for number in range(6000):
            step = alpha if number % 2 else 0.0
            r = correlation.step(r, np.linalg.inv(r), cross, n, Shape.of(2).fixed(), rng=rng, alpha=step)
            drawn.append(r[0, 1])
        # a single coordinate's slice step all but forgets where it was; overrelaxed steps are between two of these
        size = 3000 if alpha == 0 else 1500
        assert np.mean(drawn) == pytest.approx(mean, abs=4 * sd / np.sqrt(size))
        assert np.std(drawn) == pytest.approx(sd, rel=4 / np.sqrt(size))

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
            rounding = 1e-6  # latents are kept in single precision
            inside = (y >= latent.lower - rounding) & (y <= latent.upper + rounding)
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

    def test_they_are_arvizs(self):
        arviz = pytest.importorskip("arviz")
        rng = np.random.default_rng(18)
        draws = rng.standard_normal((4, 501, 6)).cumsum(axis=1) * np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
        draws += rng.standard_normal((4, 501, 6)) * np.array([1.0, 1.0, 0.5, 1.0, 3.0, 0.1])
        draws[:, :, 1] = np.exp(2 * draws[:, :, 1])
        for ours, name in ((convergence.bulk_ess, "bulk"), (convergence.tail_ess, "tail")):
            theirs = [float(arviz.ess(draws[:, :, k], method=name)) for k in range(6)]
            np.testing.assert_allclose(ours(draws), theirs, rtol=1e-9)
        theirs = [float(arviz.rhat(draws[:, :, k], method="rank")) for k in range(6)]
        np.testing.assert_allclose(convergence.r_hat(draws), theirs, rtol=1e-9)
