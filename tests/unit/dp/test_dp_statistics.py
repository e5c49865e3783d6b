"""DP statistics: closed forms against their twins, what is said, and what is refused."""

import numpy as np
import pytest
from scipy import integrate, stats

import synthdp
from synthdp import dp
from synthdp.dp.counting import discrete_laplace_reach
from synthdp.dp.declarations import Budget, bounded
from synthdp.dp.least_squares import release_products, sensitivities
from synthdp.dp.noise import Noise, laplace_normal_cdf, laplace_normal_pdf, laplace_normal_quantile
from synthdp.dp.quantiles import _scores
from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.mechanisms import Gaussian, Simulated


def source(*seed):
    return Simulated(np.random.default_rng(seed))


class Silent:
    """A source without noise: what would be released if ε were infinite."""

    name = "simulated"

    def laplace(self, centre, *, scale, sensitivity):
        return np.asarray(centre, dtype=float)

    def gaussian(self, centre, *, sd, sensitivity):
        return np.asarray(centre, dtype=float)

    def discrete_laplace(self, centre, *, scale):
        return np.asarray(centre)

    def largest(self, scores, *, scale, noise):
        return int(np.argmax(scores))

    def words(self, size):
        return np.arange(size, dtype=np.uint64)


X = np.random.default_rng(3).normal(50, 10, 500)
ROWS = {"x_norm": 1.0, "y_bound": 1.0, "delta": 1e-6}


class TestLaplaceNormal:
    def test_published_values(self):
        # digest of Biswal (2024), eq. 4.8: sigma 1, beta 2
        assert laplace_normal_pdf(0, 1, 2) == pytest.approx(0.174809, abs=5e-7)
        assert laplace_normal_pdf(3, 1, 2) == pytest.approx(0.0631127, abs=5e-8)

    @pytest.mark.parametrize(("sd", "scale"), [(1, 2), (2, 0.1), (0.01, 3), (1, 0.02)])
    def test_density_integrates_and_cdf_is_its_integral(self, sd, scale):
        width = 12 * (sd + scale * 3)
        grid = np.linspace(-width, width, 400_001)
        density = laplace_normal_pdf(grid, sd, scale)
        assert integrate.trapezoid(density, grid) == pytest.approx(1, abs=1e-6)
        assert integrate.trapezoid(density * grid**2, grid) == pytest.approx(sd**2 + 2 * scale**2, rel=1e-4)
        running = integrate.cumulative_trapezoid(density, grid, initial=0)
        assert np.abs(running - laplace_normal_cdf(grid, sd, scale)).max() < 1e-5

    @pytest.mark.parametrize("probability", [0.001, 0.3, 0.5, 0.975, 0.9999])
    @pytest.mark.parametrize(("sd", "scale"), [(1, 2), (1, 0), (0, 2), (1, 1e-3)])
    def test_quantile_inverts_cdf(self, probability, sd, scale):
        w = laplace_normal_quantile(probability, sd, scale)
        assert laplace_normal_cdf(w, sd, scale) == pytest.approx(probability, abs=1e-9)

    def test_no_error_at_all(self):
        assert laplace_normal_quantile(0.9, 0.0, 0.0) == 0

    def test_ends_are_the_two_laws(self):
        assert laplace_normal_quantile(0.975, 1, 0) == pytest.approx(stats.norm.ppf(0.975))
        assert laplace_normal_quantile(0.975, 0, 1) == pytest.approx(stats.laplace.ppf(0.975))


class TestWithoutNoise:
    """Without noise every estimate is the statistic itself."""

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_estimates(self, adjacency):
        settings = {"bounds": (0, 100), "epsilon": 1, "adjacency": adjacency, "source": Silent()}
        assert dp.mean(X, **settings).estimate == pytest.approx(X.mean())
        assert dp.variance(X, **settings).estimate == pytest.approx(X.var(ddof=1))
        assert dp.sum(X, **settings).estimate == pytest.approx(X.sum())
        assert dp.median(X, **settings).estimate == pytest.approx(np.median(X), abs=0.1)
        assert dp.quantile(X, 0.9, **settings).estimate == pytest.approx(np.quantile(X, 0.9), abs=0.3)
        assert dp.count(X, epsilon=1, adjacency=adjacency, source=Silent()).estimate == 500

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_cov_and_ols(self, adjacency):
        rng = np.random.default_rng(4)
        a, b = rng.uniform(2, 9, 500), rng.uniform(-1, 3, 500)
        y = 3 + 0.5 * a - 2 * b + rng.normal(0, 0.3, 500)
        common = {"epsilon": 1.0, "adjacency": adjacency, "source": Silent()}
        found = dp.cov([a, b], bounds=[(0, 10), (-2, 4)], **common)
        expected = np.cov(a, b)[np.triu_indices(2)]
        assert found.estimate == pytest.approx(expected)
        assert found.names == ("x1, x1", "x1, x2", "x2, x2")
        fit = dp.ols(y, [a, b], bounds_y=(-10, 20), bounds_x=[(0, 10), (-2, 4)], **common)
        design = np.column_stack([np.ones(500), a, b])
        assert fit.estimate == pytest.approx(np.linalg.lstsq(design, y, rcond=None)[0])
        assert fit.names == ("Intercept", "x1", "x2")
        estimate, low, high = fit["x2"]
        assert low < estimate < high

    def test_histograms(self):
        cells = dp.histogram([0, 1, 1, 5, 9, -3, np.nan], edges=[0, 2, 6], epsilon=1, source=Silent())
        assert cells.estimate.tolist() == [4, 2]
        assert cells.names == ("0 to 2", "2 to 6")
        assert cells.confidential == (
            "values: 2 of 6 were outside the edges and count in the nearest bin",
            "values: 1 are missing or not numbers and are in no bin",
        )
        levels = dp.histogram(["a", "b", "b", "z", None], levels=["a", "b"], epsilon=1, source=Silent())
        assert dict(zip(levels.names, levels.estimate, strict=True)) == {"a": 1, "b": 2, "other": 2}
        assert levels.confidential == ("values: 2 of 5 are none of the levels, or missing",)

    def test_count_of_a_value(self):
        assert dp.count(["F", "M", "F", None], equals="F", epsilon=1, source=Silent()).estimate == 2
        assert dp.count(["F", "M", "F", None], epsilon=1, source=Silent()).estimate == 3
        assert dp.count([1.0, 2.0, np.nan], equals="1", epsilon=1, source=Silent()).estimate == 1
        assert dp.count(["nan", None], equals="nan", epsilon=1, source=Silent()).estimate == 1
        assert dp.histogram([1, 2, 2], levels=["1", 2.0], epsilon=1, source=Silent()).estimate.tolist() == [1, 2, 0]


class TestSensitivities:
    """Random and extreme neighbours never move a release by more than the noise pays for."""

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    @pytest.mark.parametrize("columns", [1, 2, 3])
    def test_products(self, adjacency, columns):
        rng = np.random.default_rng(5)
        l1, l2 = sensitivities(columns, Budget(1.0, adjacency=adjacency))
        upper = np.triu_indices(columns + 1)
        for _ in range(500):
            one, other = (rng.choice([-1, -1 / 3, 0, 1, rng.uniform(-1, 1)], columns) for _ in range(2))
            r, s = np.append(1, one), np.append(1, other)
            moved = np.outer(r, r) - (np.outer(s, s) if adjacency == "replace" else 0)
            assert np.abs(moved[upper]).sum() <= l1 + 1e-12
            assert np.linalg.norm(moved[upper]) <= l2 + 1e-12
        one = np.ones(columns)
        far = np.append(1, -one / (columns + 1))
        moved = np.ones((columns + 1,) * 2) - (np.outer(far, far) if adjacency == "replace" else 0)
        assert np.abs(moved[upper]).sum() == pytest.approx(l1)

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_quantile_scores(self, adjacency):
        rng = np.random.default_rng(6)
        grid = np.linspace(0, 1, 41)
        for _ in range(300):
            q, aim = rng.uniform(0.05, 0.95), rng.uniform(-4, 4)
            x = rng.choice(grid, 9)
            neighbour = np.append(x[1:], rng.choice(grid)) if adjacency == "replace" else x[1:]
            scores = []
            for data in (x, neighbour):
                below = np.array([(data < t).sum() for t in grid]) - q * len(data)
                upto = np.array([(data <= t).sum() for t in grid]) - q * len(data)
                scores.append(_scores(below, upto, aim))
            allowed = 1 if adjacency == "replace" else max(q, 1 - q)
            assert np.abs(scores[0] - scores[1]).max() <= allowed + 1e-12

    def test_variance_and_mean_reach_theirs(self):
        x = np.zeros(20)
        x[0] = 7.0
        assert x.var(ddof=1) == pytest.approx(7.0**2 / 20)
        assert x.mean() == pytest.approx(7.0 / 20)

    def test_noise_scales(self):
        asked = []

        class Recording(Silent):
            def laplace(self, centre, *, scale, sensitivity):
                asked.append((scale, sensitivity))
                return super().laplace(centre, scale=scale, sensitivity=sensitivity)

        dp.sum(X, bounds=(-20, 80), epsilon=0.5, source=Recording())
        dp.sum(X, bounds=(-20, 80), epsilon=0.5, adjacency="add_remove", source=Recording())
        dp.mean(X, bounds=(0, 100), epsilon=0.5, sd=10, source=Recording())
        assert asked == [(200, 100), (160, 80), (pytest.approx(0.4), pytest.approx(0.2))]


def test_discrete_laplace_reach_is_the_smallest():
    for scale in (0.1, 1.0, 7.3, 40.0):
        for level in (0.5, 0.9, 0.95, 0.999):
            k = discrete_laplace_reach(scale, level)
            p = np.exp(-1 / scale)
            z = np.arange(-5000, 5001)
            weights = (1 - p) / (1 + p) * p ** np.abs(z)
            assert weights[np.abs(z) <= k].sum() >= level - 1e-9
            assert k == 0 or weights[np.abs(z) < k].sum() < level


def test_gaussian_noise_for_a_delta():
    noise = Noise.of(Budget(1.0, 1e-5), 3.0, 1.0)
    assert isinstance(noise.mechanism, Gaussian)
    assert noise.sd**2 == pytest.approx(13.918, abs=1e-3)  # Balle & Wang's calibration at (1, 1e-5)
    assert noise.quantile(0.975, sd=2.0) == pytest.approx(stats.norm.ppf(0.975) * np.hypot(2, noise.sd))
    drawn = noise.draw(4000, rng=np.random.default_rng(1))
    assert drawn.std() == pytest.approx(noise.sd, rel=4 / np.sqrt(2 * 4000))
    assert dp.mean(X, bounds=(0, 100), epsilon=1, delta=1e-5, source=source(1)).delta == 1e-5


class TestWhatIsSaid:
    def test_repr_has_price_and_interval_and_no_clipping(self):
        result = dp.mean(X, bounds=(40, 60), epsilon=1, source=source(2))
        text = repr(result)
        assert text.startswith("mean: ")
        assert "95% interval" in text
        assert "ε = 1, adjacency replace" in text
        assert "clipped to the bounds" in text
        outside = int(((X < 40) | (X > 60)).sum())
        assert result.confidential == (f"values: {outside} of 500 values were outside the bounds and were clipped",)
        assert str(outside) not in text

    def test_data_bounds_void_the_guarantee(self):
        for result in (
            dp.mean(X, bounds="data", epsilon=1, source=source(2)),
            dp.ols(X, [X**2], bounds_y=(0, 100), bounds_x=["data"], epsilon=1, source=source(3)),
        ):
            assert result.epsilon is None
            assert result.delta is None
            assert isinstance(result.event, events.NonPrivate)
            assert "NonPrivate: the bounds were taken from the data" in repr(result)
            assert "ε" not in repr(result).split("note")[0]

    def test_private_results_have_no_event_against_them(self):
        assert dp.count(X, epsilon=1, source=source(2)).event is None

    @pytest.mark.parametrize(
        "result",
        [
            lambda: dp.mean(X[:20], bounds=(0, 100), epsilon=0.01, source=source(4)),
            lambda: dp.mean(X[:20], bounds=(0, 100), epsilon=0.01, adjacency="add_remove", source=source(4)),
            lambda: dp.count(X[:20], epsilon=0.01, source=source(4)),
            lambda: dp.count(X[:20], epsilon=0.01, adjacency="add_remove", source=source(1)),
            lambda: dp.sum(X[:20], bounds=(0, 100), epsilon=0.01, source=source(4)),
            lambda: dp.sum(X[:20], bounds=(0, 100), epsilon=1e-4, adjacency="add_remove", source=source(4)),
            lambda: dp.histogram(X, edges=np.arange(0, 101), epsilon=0.05, source=source(5)),
            lambda: dp.histogram(["a"] * 9, levels=["a", "b"], epsilon=0.01, source=source(5)),
            lambda: dp.kmeans([X[:20]], 3, bounds=[(0, 100)], epsilon=0.01, source=source(4)),
            lambda: dp.adassp(X[:20, None] / 100, X[:20] / 100, **ROWS, epsilon=0.01, source=source(4)),
            lambda: dp.ssp(X[:20, None] / 100, X[:20] / 100, **ROWS, epsilon=0.01, source=source(4)),
            lambda: dp.variance(X[:20], bounds=(0, 100), epsilon=0.01, source=source(4)),
            lambda: dp.median(X[:20], bounds=(0, 100), epsilon=0.01, source=source(4)),
            lambda: dp.cov([X, X], bounds=[(0, 100)] * 2, epsilon=0.001, source=source(4)),
            lambda: dp.ols(X, [X], bounds_y=(0, 100), bounds_x=[(0, 100)], epsilon=0.001, source=source(4)),
        ],
    )
    def test_noise_is_called_noise(self, result):
        found = result()
        assert any("mostly noise; raise ε" in note for note in found.notes)
        assert "mostly noise" in repr(found)

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_results_are_not_called_noise_at_an_ordinary_budget(self, adjacency):
        common = {"epsilon": 1, "adjacency": adjacency, "source": source(6)}
        for found in (
            dp.mean(X, bounds=(0, 100), **common),
            dp.sum(X, bounds=(0, 100), **common),
            dp.count(X, **common),
            dp.median(X, bounds=(0, 100), **common),
            dp.variance(X, bounds=(0, 100), **common),
            dp.histogram(X, edges=[0, 40, 60, 100], **common),
            dp.cov([X, X], bounds=[(0, 100)] * 2, **common),
            dp.kmeans([X], 2, bounds=[(0, 100)], rounds=2, **common),
            dp.adassp(X[:, None] / 100, X / 100, **ROWS, **common),
        ):
            assert "mostly noise" not in repr(found)

    def test_tables(self):
        assert dp.mean(X, bounds=(0, 100), epsilon=1, source=source(1)).table().shape == (1, 3)
        cells = dp.histogram(["a"], levels=["a", "b"], epsilon=1, source=source(1))
        assert cells.table().index.tolist() == ["a", "b", "other"]
        assert "histogram, 95% intervals" in repr(cells)

    def test_missing_values_under_add_remove(self):
        gap = np.append(X, np.nan)
        found = dp.mean(gap, bounds=(0, 100), epsilon=1, adjacency="add_remove", source=Silent())
        assert found.estimate == pytest.approx(X.mean())
        assert found.confidential == ("values: 1 of 501 values are missing and were left out",)
        pair = dp.cov(
            [gap, np.append(X, 1.0)], bounds=[(0, 100)] * 2, epsilon=1, adjacency="add_remove", source=source(6)
        )
        assert pair.confidential[0] == "1 of 501 records have a missing value and were left out"

    def test_same_seed_same_release(self):
        first, second = (dp.median(X, bounds=(0, 100), epsilon=1, source=source(9)).estimate for _ in range(2))
        assert first == second

    def test_lazy_face(self):
        assert synthdp.dp.mean is dp.mean


GOOD = {"bounds": (0, 100), "epsilon": 1.0}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: dp.mean(X, bounds=(0, 1), epsilon=0), "epsilon: must be a number above 0, found 0."),
        (lambda: dp.mean(X, bounds=(0, 1), epsilon=float("nan")), "epsilon: must be a number above 0, found nan."),
        (lambda: dp.mean(X, bounds=(0, 1), epsilon=float("inf")), "epsilon: must be a number above 0, found inf."),
        (lambda: dp.mean(X, **GOOD, delta=1), "delta: must be at least 0 and under 1, found 1"),
        (lambda: dp.mean(X, **GOOD, adjacency="swap"), "adjacency: must be replace or add_remove, found 'swap'."),
        (lambda: dp.mean(X, **GOOD, level=95), "level: must be between 0 and 1, found 95."),
        (lambda: dp.mean(X, **GOOD, sd=-1), "sd: must be a number of at least 0, found -1."),
        (lambda: dp.mean(X, bounds=None, epsilon=1), "values: bounds are missing. Give the lowest and highest value"),
        (lambda: dp.mean(X, bounds=(1, 0), epsilon=1), "values: bounds must be increasing, found [1, 0]."),
        (lambda: dp.mean(X, bounds=(1,), epsilon=1), "values: bounds must be two finite numbers, low and high."),
        (lambda: dp.mean(X, bounds=(0, np.inf), epsilon=1), "values: bounds must be two finite numbers"),
        (
            lambda: dp.mean(X, bounds="auto", epsilon=1),
            'bounds must be two numbers, or "data", found',
        ),
        (lambda: dp.mean([1.0, 1.0], bounds="data", epsilon=1), "values: all values are equal, so the data give no"),
        (lambda: dp.mean(["a", "b"], **GOOD), "values: must be numbers."),
        (lambda: dp.mean([[1.0], [2.0]], **GOOD), "values: must be one column, found 2 dimensions."),
        (lambda: dp.mean([1.0], **GOOD), "values: at least 2 values are needed, found 1."),
        (lambda: dp.mean([1.0, np.nan, 2.0], **GOOD), "values: 1 values are missing; first at row 2. Fill them in"),
        (lambda: dp.quantile(X, 1.0, **GOOD), "probability: must be between 0 and 1, found 1.0."),
        (lambda: dp.quantile(X, 0.5, **GOOD, candidates=1), "candidates: must be at least 2, found 1."),
        (lambda: dp.histogram(X, epsilon=1), "histogram: give either edges, for numbers, or levels"),
        (lambda: dp.histogram(X, edges=[1, 0], epsilon=1), "edges: must be two or more increasing finite numbers."),
        (lambda: dp.histogram(X, edges=np.arange(10**6 + 2), epsilon=1), "edges: at most 1,000,000 cells, found"),
        (lambda: dp.histogram(X, levels=["a", "a"], epsilon=1), "levels: must differ from each other and from other"),
        (lambda: dp.cov([X], bounds=[(0, 1)], epsilon=1), "cov: at least 2 columns are needed, found 1."),
        (
            lambda: dp.cov([X, X], bounds=[(0, 1)], epsilon=1),
            "bounds: must be one pair for each of 2 columns",
        ),
        (lambda: dp.cov([X, X[1:]], bounds=[(0, 1)] * 2, epsilon=1), "x1, x2: must have the same number of records"),
        (lambda: dp.cov([X, X], bounds=[(0, 1)] * 2, epsilon=1, names=["a"]), "names: must be 2, one for each column"),
        (lambda: dp.ols(X, [], bounds_y=(0, 1), bounds_x=[], epsilon=1), "ols: at least 1 predictor is needed"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)


def test_products_print_dimensions_only():
    column = bounded(X, (0, 100), Budget(1.0))
    assert repr(column) == "Bounded(0 to 100)"
    assert repr(release_products([column], Budget(1.0), source(1))) == "Products(1 columns)"
