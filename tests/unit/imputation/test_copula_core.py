"""The copula's core: latents inside their intervals, covariances from their exact density, chains that agree."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula import fitting, normals, rows
from synthdp.imputation.copula.chain import Covariance, Sampler, correlations
from synthdp.imputation.copula.latent import ONE_SIDED, SOME_OPEN, TWO_SIDED, Latent, Shape, truncated_at

MIXED = Shape.of(5, ((3, 2),))
TWO = Shape.of(5, ((1, 2), (3, 2)))


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
        np.testing.assert_allclose([normals.quantile(x) for x in p], ndtri(p), rtol=1e-13, atol=1e-15)
        assert normals.quantile(0.0) == -np.inf
        assert normals.quantile(1.0) == np.inf

    def test_the_distribution_is_scipys(self):
        x = np.concatenate([np.linspace(-36.9, 8, 4001), [-np.inf, np.inf, -50.0, 50.0]])
        np.testing.assert_allclose([normals.cumulative(v) for v in x], ndtr(x), rtol=2e-7)
        near = np.linspace(-7, 7, 2001)
        np.testing.assert_allclose([normals.cumulative(v) for v in near], ndtr(near), rtol=5e-9, atol=1e-15)

    @pytest.mark.parametrize(
        ("low", "high"), [(-np.inf, np.inf), (-1, 0.5), (2, np.inf), (8, 9), (-np.inf, -12), (40, 41), (-60, -50)]
    )
    def test_a_truncated_normal_stays_inside_and_agrees_with_numpy(self, low, high):
        u = np.linspace(0.01, 0.99, 23)
        drawn = np.array([normals.truncated(float(low), float(high), x) for x in u])
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
        loadings = np.array([0.7, -0.5, 0.6, 0.5, -0.3])
        p = np.linalg.inv(np.where(MIXED.fixed(), MIXED.start(), np.outer(loadings, loadings)))
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
        normals.cumulatives(x, found, work)
        np.testing.assert_allclose(found[:-2], ndtr(x[:-2].astype(np.float64)), rtol=5e-6)
        np.testing.assert_allclose(found[-2:], [0, 1], atol=1e-30)
        p = np.concatenate([np.linspace(0.001, 0.999, 2001), 10 ** -np.linspace(3, 10.8, 500)]).astype(np.float32)
        found, work = np.empty_like(p), np.empty_like(p)
        normals.quantiles(p, found, work)
        np.testing.assert_allclose(found, ndtri(p.astype(np.float64)), rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize(("low", "high"), [(-np.inf, -9.0), (7.0, np.inf), (-30, -20), (-np.inf, -5.5), (-7, -6.4)])
    def test_draws_far_out_are_those_of_double_precision(self, low, high):
        u = np.linspace(0.001, 0.999, 200).astype(np.float32)
        a, b, x = (np.full(200, value, dtype=np.float32) for value in (low, high, 0.0))
        two_sided = bool(np.isfinite(low) and np.isfinite(high))
        flipped = low > 0
        normals.draw_inside(200, a, b, x, u.copy(), 1.0, two_sided, np.empty((5, 200), dtype=np.float32))
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
        normals.draw_inside(size, a, b, after, u, 0.1, True, np.empty((5, size), dtype=np.float32))
        assert stats.kstest(after, stats.truncnorm(-0.4, 1.5).cdf).pvalue > 0.001
        assert np.corrcoef(before, after)[0, 1] < -0.9

    def test_uniforms_are_never_one(self):
        # words whose next number is 2³² − 1
        found = np.empty(1, dtype=np.float32)
        normals.uniforms(np.array([[0], [1], [1], [0xFFFFFFFF]], dtype=np.uint32), found)
        assert 1 - 2e-7 < found[0] < 1

    def test_uniforms_are_xoshiros(self):
        words = np.random.default_rng(17).integers(0, 2**32, (4, 100), dtype=np.uint32)
        twin, found = words.copy(), np.empty(100, dtype=np.float32)
        for count in (100, 37, 100):
            normals.uniforms(words, found[:count])
            np.testing.assert_array_equal(found[:count], twin_of_uniforms(twin, count).astype(np.float32))
        assert 0 < found.min() < found.max() < 1


def blocks_of(shape, worth):
    """Coordinates of each nominal column, then every other by itself; those worth more records first."""
    owner, order = shape.owner(), np.argsort(-worth, kind="stable")
    nominal = [order[owner[order] == column] for column in range(len(shape.first))]
    return nominal + [np.array([j]) for j in order if owner[j] < 0]


def prior_of(shape, size, worth, rng):
    """Draws of Σ from the prior as it is written, block by block, and by name the log ω and B they are made of."""
    sigma, named, before = np.zeros((size, shape.width, shape.width)), {}, np.arange(0)
    for number, mine in enumerate(blocks_of(shape, worth)):
        m, a = len(mine), len(before)
        c = np.where(np.eye(m) == 1, 1.0, 0.5)
        freedom, rate = m * (a + 2) + worth[mine].sum(), np.diag(np.linalg.inv(c)) @ (1 + worth[mine])
        omega = stats.invgamma.rvs(freedom / 2, scale=rate / 2, size=size, random_state=rng)[:, None, None]
        b = rng.standard_normal((size, a, m)) @ np.linalg.cholesky(c).T * np.sqrt(omega)
        b /= np.sqrt(1 + worth[before])[:, None]
        named |= names_of(number, omega[:, 0, 0], b)
        inner = sigma[:, before[:, None], before]
        sigma[:, before[:, None], mine] = inner @ b
        sigma[:, mine[:, None], before] = (inner @ b).transpose(0, 2, 1)
        sigma[:, mine[:, None], mine] = omega * c + b.transpose(0, 2, 1) @ inner @ b
        before = np.concatenate([before, mine])
    return sigma, named


def parts(sigma, shape, worth):
    """By name log ω and B of many Σ; what is left of utilities must have correlations of ½."""
    named, before = {}, np.arange(0)
    for number, mine in enumerate(blocks_of(shape, worth)):
        between = sigma[:, before[:, None], mine]
        b = np.linalg.solve(sigma[:, before[:, None], before], between)
        left = sigma[:, mine[:, None], mine] - b.transpose(0, 2, 1) @ between
        named |= names_of(number, left[:, 0, 0], b)
        c = np.broadcast_to(np.where(np.eye(len(mine)) == 1, 1.0, 0.5), left.shape)
        np.testing.assert_allclose(left / left[:, :1, :1], c, rtol=1e-6)
        before = np.concatenate([before, mine])
    return named


def names_of(number, omega, b):
    return {f"log ω[{number}]": np.log(omega)} | {
        f"B[{number}][{i}, {j}]": b[:, i, j] for i, j in np.ndindex(b.shape[1:])
    }


def weighted_moments(x, weight):
    """Mean and sd of weighted draws, each with its error (the delta method)."""
    mean = weight @ x
    squares = (x - mean) ** 2
    sd = np.sqrt(weight @ squares)
    return mean, np.sqrt(weight**2 @ squares), sd, np.sqrt(weight**2 @ (squares - sd**2) ** 2) / (2 * sd)


def chain_moments(x, batches=60):
    """The same of draws one after another, the errors from means of batches: ranks would hide what is skewed."""
    mean, sd = x.mean(), x.std()
    squares = (x - mean) ** 2
    errors = [part.reshape(batches, -1).mean(axis=1).std(ddof=1) / np.sqrt(batches) for part in (x, squares)]
    return mean, errors[0], sd, errors[1] / (2 * sd)


def agree(found, expected, what):
    mean, error, sd, sd_error = found
    assert abs(mean - expected[0]) < 4 * np.hypot(error, expected[1]), f"mean of {what}"
    assert abs(sd - expected[2]) < 4 * np.hypot(sd_error, expected[3]), f"sd of {what}"


def residuals(n, q, rng):
    return rng.standard_normal((n, q)) @ np.linalg.cholesky(0.6 * np.eye(q) + 0.4).T


class TestCovariance:
    @pytest.mark.parametrize("alpha", [None, 0.0, -0.8], ids=["drawn", "fresh", "overrelaxed"])
    @pytest.mark.parametrize("shape", [Shape.of(4), MIXED, TWO], ids=["numbers", "nominal", "two nominal"])
    def test_the_prior_is_drawn_and_the_steps_leave_it_as_it_is(self, shape, alpha):
        rng = np.random.default_rng(19)
        covariance, q = Covariance(shape), shape.width
        drawn = np.array([covariance.draw_prior(rng=rng) for _ in range(2000)])
        if alpha is not None:
            for at in range(len(drawn)):
                for _ in range(2):
                    drawn[at] = covariance.step(drawn[at], np.zeros((q, q)), 0, rng=rng, alpha=alpha)
        twin, _ = prior_of(shape, 20_000, np.zeros(q), rng)
        np.testing.assert_allclose(drawn, drawn.transpose(0, 2, 1), rtol=1e-9)
        (r, sd), (twin_r, twin_sd) = (zip(*map(correlations, each), strict=True) for each in (drawn, twin))
        r, sd, twin_r, twin_sd = (np.asarray(part) for part in (r, sd, twin_r, twin_sd))
        numbers = not len(shape.first)
        for j, k in zip(*np.nonzero(np.triu(~shape.fixed())), strict=True):
            assert stats.ks_2samp(r[:, j, k], twin_r[:, j, k]).pvalue > 0.001
            if numbers:
                assert stats.kstest(r[:, j, k], "uniform", (-1, 2)).pvalue > 0.001
        for j in range(q):
            assert stats.ks_2samp(np.log(sd[:, j]), np.log(twin_sd[:, j])).pvalue > 0.001
            if numbers:
                # a single variance of an inverse Wishart (q + 1, I) matrix has two degrees of freedom
                assert stats.kstest(sd[:, j] ** 2, stats.invgamma(1, scale=0.5).cdf).pvalue > 0.001
        if not numbers:
            j, k = np.flatnonzero(shape.owner() == 0)
            np.testing.assert_allclose(r[:, j, k], 0.5, rtol=1e-9)
            np.testing.assert_allclose(sd[:, j], sd[:, k], rtol=1e-9)

    @pytest.mark.parametrize("worth", [0.0, 4.0])
    def test_a_step_is_an_inverse_wishart_draw_without_nominal_columns(self, worth):
        rng = np.random.default_rng(20)
        e = residuals(15, 3, rng)
        covariance, sigma = Covariance(Shape.of(3), np.full(3, worth)), np.diag([1.0, 4.0, 9.0])
        drawn = np.array([covariance.step(sigma, e.T @ e, 15, rng=rng) for _ in range(3000)])
        exact = stats.invwishart(4 + 15 + worth, (1 + worth) * np.eye(3) + e.T @ e).rvs(30_000, random_state=rng)
        r, exact_r = (np.array([correlations(one)[0] for one in each]) for each in (drawn, exact))
        for j, k in zip(*np.triu_indices(3), strict=True):
            assert stats.ks_2samp(drawn[:, j, k], exact[:, j, k]).pvalue > 0.001
            if j < k:
                assert stats.ks_2samp(r[:, j, k], exact_r[:, j, k]).pvalue > 0.001

    def test_overrelaxed_steps_keep_the_inverse_wishart(self):
        rng = np.random.default_rng(21)
        e = residuals(15, 3, rng)
        exact = stats.invwishart(4 + 15, np.eye(3) + e.T @ e).rvs(100_000, random_state=rng)
        covariance, sigma, drawn = Covariance(Shape.of(3)), exact[0], []
        for _ in range(9000):
            sigma = covariance.step(sigma, e.T @ e, 15, rng=rng, alpha=-0.9)
            drawn.append(sigma)
        drawn, same = np.asarray(drawn), np.full(len(exact), 1 / len(exact))
        for j, k in zip(*np.triu_indices(3), strict=True):
            # without skewness, for the sake of the errors
            found, expected = (
                np.log(s[:, j, j]) if j == k else np.arctanh(s[:, j, k] / np.sqrt(s[:, j, j] * s[:, k, k]))
                for s in (drawn, exact)
            )
            agree(chain_moments(found), weighted_moments(expected, same), f"Σ[{j}, {k}]")
            assert np.corrcoef(found[:-1], found[1:])[0, 1] < -0.7

    @pytest.mark.parametrize(
        ("shape", "n", "worth"),
        [
            (Shape.of(3, ((1, 2),)), 8, (0, 0, 0)),
            (Shape.of(3, ((0, 1), (2, 1))), 8, (0, 0, 0)),
            (Shape.of(4, ((0, 2), (2, 2))), 6, (0, 0, 0, 0)),
            (Shape.of(3), 6, (0, 1, 3)),
            (Shape.of(4, ((1, 2), (3, 1))), 4, (0, 1, 3, 5)),
            (Shape.of(4, ((2, 2),)), 4, (1, 2, 0, 1)),
        ],
        ids=["one nominal", "two of two levels", "two of three levels", "numbers lack", "levels lack", "both lack"],
    )
    def test_the_posterior_is_that_of_weighted_prior_draws(self, shape, n, worth):
        """The twin: Σ from the prior as documented, weighted by the density of the residuals."""
        rng = np.random.default_rng(24)
        e, worth = residuals(n, shape.width, rng), np.array(worth, dtype=np.float64)
        cross = e.T @ e
        sigma, twin = prior_of(shape, 200_000, worth, rng)
        log = -0.5 * n * np.linalg.slogdet(sigma)[1] - 0.5 * (np.linalg.inv(sigma) * cross).sum(axis=(1, 2))
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        assert 1 / (weight**2).sum() > 2000
        for alpha in (0.0, -0.9):
            covariance, now, drawn = Covariance(shape, worth), shape.start(), []
            for number in range(6100):
                now = covariance.step(now, cross, n, rng=rng, alpha=alpha if number % 16 else 0.0)
                drawn.append(now)
            for name, x in parts(np.asarray(drawn[100:]), shape, worth).items():
                agree(chain_moments(x), weighted_moments(twin[name], weight), name)

    @pytest.mark.parametrize("alpha", [0.0, -0.9])
    def test_from_afar_a_step_finds_back(self, alpha):
        rng = np.random.default_rng(23)
        e = residuals(5000, 5, rng)
        far = MIXED.start() * np.outer([1e4, 1e-4, 1.0, 30.0, 30.0], [1e4, 1e-4, 1.0, 30.0, 30.0])
        covariance, sigma = Covariance(MIXED), far
        for number in range(300):
            sigma = covariance.step(sigma, e.T @ e, 5000, rng=rng, alpha=alpha if number % 16 else 0.0)
        # a variance's posterior sd is √(2/n) of it
        np.testing.assert_allclose(np.diag(sigma)[:3], np.diag(e.T @ e)[:3] / 5000, rtol=5 * np.sqrt(2 / 5000))


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

    def test_known_latents_leave_an_inverse_wishart_with_the_prior_worth_some_records(self):
        rng = np.random.default_rng(25)
        y = residuals(20, 3, rng).astype(np.float32).astype(np.float64)
        nothing = np.zeros((20, 0))
        latent = Latent(Shape.of(3), y, y, nothing.astype(np.int64), nothing, np.zeros((0, 3)))
        sampler = Sampler(latent, rng=rng, prior_records=np.full(3, 30.0))
        sampler.run(100)
        found = sampler.run(9000).r
        sigma = stats.invwishart(4 + 30 + 20, 31 * np.eye(3) + y.T @ y).rvs(50_000, random_state=rng)
        for j, k in zip(*np.triu_indices(3, 1), strict=True):
            expected = np.arctanh(sigma[:, j, k] / np.sqrt(sigma[:, j, j] * sigma[:, k, k]))
            same = np.full(len(expected), 1 / len(expected))
            agree(chain_moments(np.arctanh(found[:, j, k])), weighted_moments(expected, same), f"r[{j}, {k}]")

    def test_a_probit_correlation_and_its_constant_against_weighted_prior_draws(self):
        """Known x, binary b = (y > 0): the latents of b integrated out give a probit likelihood of β/s and γ/s."""
        rng = np.random.default_rng(15)
        x = rng.standard_normal(25)
        b = 0.4 + 0.8 * x + rng.standard_normal(25) > 0
        lower = np.column_stack([x, np.where(b, 0.0, -np.inf)])
        upper = np.column_stack([x, np.where(b, np.inf, 0.0)])
        lower[20:, 1], upper[20:, 1] = -np.inf, np.inf
        prior_sd = np.array([[0.0, 1.0]])
        latent = Latent(Shape.of(2), lower, upper, np.zeros((25, 0), dtype=np.int64), np.ones((25, 1)), prior_sd)
        sampler = Sampler(latent, rng=rng)
        sampler.run(1, every=200)
        trace = sampler.run(12_000)
        # an inverse Wishart (3, I) matrix, coordinate by coordinate: the variance of x, of which alone x tells, and
        # independent of it the regression of y on x
        variance = stats.invgamma.rvs((2 + 25) / 2, scale=(1 + x @ x) / 2, size=150_000, random_state=rng)
        s = np.sqrt(stats.invgamma.rvs(3 / 2, scale=1 / 2, size=150_000, random_state=rng))
        beta, gamma = s * rng.standard_normal(150_000), rng.standard_normal(150_000)
        log = sum(
            stats.norm.logcdf((2 * bi - 1) * (gamma + beta * xi) / s) for xi, bi in zip(x[:20], b[:20], strict=True)
        )
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        assert 1 / (weight**2).sum() > 4000
        sd = np.sqrt(s**2 + beta**2 * variance)
        agree(chain_moments(trace.r[:, 0, 1]), weighted_moments(beta * np.sqrt(variance) / sd, weight), "r")
        agree(chain_moments(trace.gamma[:, 0, 1]), weighted_moments(gamma / sd, weight), "γ")


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
        assert fitting.bulk_ess(draws[:, :, None])[0] == pytest.approx(direct_ess(draws), rel=1e-9)

    def test_an_autoregression_has_the_size_theory_gives(self):
        rng = np.random.default_rng(11)
        x = np.zeros((2, 4000, 3))
        for t in range(1, 4000):
            x[:, t] = 0.6 * x[:, t - 1] + rng.standard_normal((2, 3))
        assert fitting.bulk_ess(x) == pytest.approx(8000 * 0.4 / 1.6, rel=0.2)
        assert (fitting.r_hat(x) < 1.01).all()

    def test_chains_apart_in_place_or_spread_are_told(self):
        rng = np.random.default_rng(12)
        x = rng.standard_normal((2, 300, 3))
        x[1, :, 1] += 1.0
        x[1, :, 2] *= 3.0
        found = fitting.r_hat(x)
        assert found[0] < 1.02
        assert found[1] > 1.1
        assert found[2] > 1.1

    def test_a_constant_has_no_size(self):
        assert np.isnan(fitting.bulk_ess(np.ones((2, 50, 1)))[0])

    def test_they_are_arvizs(self):
        arviz = pytest.importorskip("arviz")
        rng = np.random.default_rng(18)
        draws = rng.standard_normal((4, 501, 6)).cumsum(axis=1) * np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
        draws += rng.standard_normal((4, 501, 6)) * np.array([1.0, 1.0, 0.5, 1.0, 3.0, 0.1])
        draws[:, :, 1] = np.exp(2 * draws[:, :, 1])
        for ours, name in ((fitting.bulk_ess, "bulk"), (fitting.tail_ess, "tail")):
            theirs = [float(arviz.ess(draws[:, :, k], method=name)) for k in range(6)]
            np.testing.assert_allclose(ours(draws), theirs, rtol=1e-9)
        theirs = [float(arviz.rhat(draws[:, :, k], method="rank")) for k in range(6)]
        np.testing.assert_allclose(fitting.r_hat(draws), theirs, rtol=1e-9)
