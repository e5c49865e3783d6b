"""Private functions: laws of the noise, sums that must come out, refusals; and the two errors of a result."""

import math
import sys

import numpy as np
import pandas as pd
import pytest

from synthdp import dp
from synthdp.dp.declarations import Budget
from synthdp.dp.density import MOST_CELLS, NODES, expected_noise, from_size, least_bandwidth
from synthdp.dp.fourier import Circle, Coefficients
from synthdp.dp.functions import OnlineRelease, release_function
from synthdp.dp.kernels import gaussian_gram, least_decay, sobolev_gram, sobolev_sensitivity
from synthdp.dp.margins import minimise
from synthdp.dp.svm import svm
from synthdp.errors import InputError, Unfinished
from synthdp.privacy.mechanisms import Simulated

X = np.linspace(0, 1, 6)
GRAM = gaussian_gram(X, X, 0.2)
PRICE = {"epsilon": 1.0, "delta": 1e-5}
VALUES = np.clip(np.random.default_rng(1).normal(0.5, 0.15, 400), 0, 1)


def noise(seed=1):
    return Simulated(np.random.default_rng(seed))


def plain(values, x, h):
    return np.exp(-((x[:, None] - values) ** 2) / (2 * h**2)).mean(axis=1) / (h * math.sqrt(2 * math.pi))


class TestFunctions:
    def test_noise_is_the_process(self):
        runs = np.array(
            [release_function(np.sin(X), GRAM, sensitivity=0.3, **PRICE, source=noise(k)).estimate for k in range(1500)]
        )
        one = release_function(np.sin(X), GRAM, sensitivity=0.3, **PRICE, source=noise())
        sd = one.noise_sd[0]
        assert np.ptp(one.noise_sd) < 1e-6 * sd
        assert np.abs(runs.mean(axis=0) - np.sin(X)).max() < 4 * sd / math.sqrt(1500)
        assert np.abs(np.cov(runs.T) - sd**2 * GRAM).max() < 4 * math.sqrt(2 / 1500) * sd**2
        assert one.table()["noise_sd"].tolist() == pytest.approx([sd] * 6)
        assert (one.low < one.estimate).all()
        assert one.high - one.low == pytest.approx(np.full(6, 2 * 1.959964 * sd), rel=1e-6)

    def test_a_grid_is_the_product_of_its_axes(self):
        y = np.linspace(0, 1, 4)
        other, f = gaussian_gram(y, y, 0.3), np.add.outer(X, y**2)
        whole = np.kron(GRAM, other)
        price = {"sensitivity": 0.1, "epsilon": 1.0, "delta": 1e-5}
        parts = np.array([release_function(f, [GRAM, other], **price, source=noise(k)).estimate for k in range(1200)])
        sd = release_function(f, [GRAM, other], **price, source=noise()).noise_sd[0, 0]
        assert np.abs(np.cov(parts.reshape(1200, -1).T) - sd**2 * whole).max() < 4.5 * math.sqrt(2 / 1200) * sd**2

    def test_points_given_twice_get_one_value(self):
        twice = np.append(X, X[2])
        found = release_function(np.sin(twice), gaussian_gram(twice, twice, 0.2), sensitivity=0.3, **PRICE)
        assert found.estimate[2] == pytest.approx(found.estimate[6], abs=1e-9)

    def test_online_questions_cost_once(self):
        book = []

        class Ledger:
            def charge(self, what, **price):
                book.append((what, price["epsilon"], price["delta"], price["source"]))

        def kernel(a, b):
            return sobolev_gram(a, b, 3.0)

        asked = OnlineRelease(np.sin, kernel, sensitivity=0.1, what="wage curve", **PRICE, ledger=Ledger())
        first = asked.at(X)
        assert asked.at(X[::-1])[::-1] == pytest.approx(first, abs=1e-9)
        assert book == [("wage curve", 1.0, 1e-5, "secure")]
        assert repr(asked) == "OnlineRelease(6 coordinates; ε = 1, δ = 1e-05)"

    @pytest.mark.parametrize(
        ("values", "gram", "more", "sentence"),
        [
            (X, np.ones((6, 5)), {}, "gram: must be a square matrix of finite numbers, one row for each point."),
            (X, np.triu(GRAM), {}, "gram: must be symmetric, K(x, y) = K(y, x)."),
            (X, np.zeros((6, 6)), {}, "gram: all of it is 0, so the kernel holds no function at these points."),
            (X, GRAM - 0.9, {}, "gram: is no Gram matrix, as it has an eigenvalue below 0; check the kernel."),
            (X[:5], GRAM, {}, "values: must have one number for each point, (6,), found (5,)."),
            (X, GRAM, {"delta": 0.0}, "function: Gaussian noise needs a delta above 0, such as 1e-6, found 0."),
            (X, GRAM, {"sensitivity": 0.0}, "function: sensitivity: must be a finite number above 0, found 0."),
            (X, GRAM, {"epsilon": -1.0}, "epsilon: must be a number above 0, found -1.0."),
            (X * np.nan, GRAM, {}, "values: 6 of 6 are missing or infinite; a mechanism cannot release them."),
        ],
    )
    def test_refusals(self, values, gram, more, sentence):
        with pytest.raises(InputError) as error:
            release_function(values, gram, **{"sensitivity": 1.0, **PRICE, **more}, source=noise())
        assert str(error.value) == sentence

    def test_online_questions_in_order_close_together(self):
        """A row of points from which a Gaussian kernel all but knows the next: no coordinate is mere rounding."""

        class Told:
            name = "simulated"

            def __init__(self):
                self.coordinates = []

            def gaussian(self, centre, *, sd, sensitivity):
                self.coordinates.append(float(centre[0]))
                return centre

        n, at = 1e6, np.linspace(0, 1, 90)
        moved = math.sqrt(2) / n
        found = {}
        for last in (0.0, 0.9):

            def f(x, last=last):
                return np.sin(3 * x) + gaussian_gram(x, np.array([last]), 0.1)[:, 0] / n

            told = Told()
            asked = OnlineRelease(f, lambda a, b: gaussian_gram(a, b, 0.1), sensitivity=moved, **PRICE, source=told)
            # without noise each answer is the function, to what it adds to K
            assert asked.at(at) == pytest.approx(f(at), abs=1e-9)
            assert asked.at(at[::-1]).tolist() == asked.at(at)[::-1].tolist()
            found[last] = np.array(told.coordinates)
        assert len(found[0.0]) == 90
        apart = np.linalg.norm(found[0.0] - found[0.9])
        assert 0.99 * moved < apart <= moved * (1 + 1e-6)

    def test_a_matrix_written_as_rows_of_numbers(self):
        rows = GRAM.tolist()
        one, other = (
            release_function(np.sin(X), gram, sensitivity=0.3, **PRICE, source=noise()).estimate
            for gram in (GRAM, rows)
        )
        assert one.tolist() == other.tolist()
        grid = release_function(np.outer(X, X), [rows, rows], sensitivity=0.3, **PRICE, source=noise())
        assert grid.estimate.shape == (6, 6)

    def test_points_that_are_none(self):
        asked = OnlineRelease(np.sin, lambda a, b: gaussian_gram(a, b, 1), sensitivity=1.0, **PRICE, source=noise())
        with pytest.raises(InputError, match="points: must be a list of finite numbers, or of rows of them"):
            asked.at([math.inf])


class TestKernels:
    def test_sobolev_bound_holds_over_the_line_and_in_two_columns(self):
        """Norms on the whole line, by quadrature of ((f′)² + g²f²)/2g; products of columns by their tensors."""
        h, g = 0.1, 3.0
        grid = np.linspace(-1, 2, 3001)
        step = grid[1] - grid[0]

        def inner(x, y):
            f, k = (np.exp(-((grid - at) ** 2) / (2 * h**2)) / (h * math.sqrt(2 * math.pi)) for at in (x, y))
            return ((grid - x) * (grid - y) / h**4 * f * k + g**2 * f * k).sum() * step / (2 * g)

        shifts = np.linspace(0, 0.6, 61)
        one = np.array([inner(0.2, 0.2 + shift) for shift in shifts])
        assert math.sqrt(2 * (one[0] - one.min())) == pytest.approx(sobolev_sensitivity(1, [h], g), rel=1e-4)
        two = math.sqrt(2 * (one[0] ** 2 - np.multiply.outer(one, one).min()))
        assert two <= sobolev_sensitivity(1, [h, h], g) * (1 + 1e-9)
        assert two == pytest.approx(sobolev_sensitivity(1, [h, h], g), rel=1e-3)

    def test_the_best_decay_is_the_best(self):
        best = least_decay([0.1])
        assert all(
            sobolev_sensitivity(1, [0.1], best) <= sobolev_sensitivity(1, [0.1], best * f)
            for f in (0.7, 0.95, 1.05, 1.4)
        )


class TestDensity:
    @pytest.mark.parametrize(
        ("kernel", "delta"), [("gaussian", 1e-6), ("sobolev", 1e-6), ("fourier", 0.0), ("fourier", 1e-6)]
    )
    def test_without_noise_it_is_the_estimate(self, kernel, delta):
        found = dp.density(
            VALUES, bounds=(0, 1), bandwidth=0.05, kernel=kernel, epsilon=1e9, delta=delta, source=noise()
        )
        assert found.estimate == pytest.approx(plain(VALUES, found.axes[0], 0.05), abs=4e-3)
        assert found.weights.sum() == pytest.approx(1)

    @pytest.mark.parametrize("kernel", ["gaussian", "fourier"])
    def test_two_columns_in_their_units(self, kernel):
        rng = np.random.default_rng(2)
        a, b = rng.uniform(20, 80, 300), rng.uniform(0, 5, 300)
        frame = pd.DataFrame({"age": a, "score": b})
        price = {"epsilon": 1e9, "delta": 1e-6, "source": noise()}
        found = dp.density(frame, bounds=[(0, 100), (-1, 6)], bandwidth=[8, 0.7], kernel=kernel, grid=[9, 7], **price)
        ga, gb = found.axes
        direct = (
            np.einsum(
                "ik,jk->ij",
                *(
                    np.exp(-((at[:, None] - v) ** 2) / (2 * h**2)) / (h * math.sqrt(2 * math.pi))
                    for at, v, h in ((ga, a, 8), (gb, b, 0.7))
                ),
            )
            / 300
        )
        assert found.estimate == pytest.approx(direct, abs=2e-3 * direct.max())
        assert list(found.table().columns[:3]) == ["age", "score", "density"]
        drawn = found.sample(4000, rng=rng)
        assert drawn["age"].between(0, 100).all()
        assert abs(drawn["age"].mean() - a.mean()) < 4 * drawn["age"].std() / math.sqrt(4000) + 1.5

    def test_three_columns_and_gamma_noise(self):
        rng = np.random.default_rng(3)
        columns = [rng.uniform(0, 1, 5000) for _ in range(3)]
        found = dp.density(
            columns, bounds=[(0, 1)] * 3, bandwidth=0.25, grid=5, epsilon=1.0, delta=1e-6, source=noise()
        )
        assert found.estimate.shape == (5, 5, 5)
        one = dp.density(VALUES, bounds=(0, 1), grid=8, kernel="fourier", noise="gamma", epsilon=1.0, source=noise())
        assert np.isfinite(one.estimate).all()
        with pytest.raises(InputError, match="k-norm: has no sampler that is safe in floating point"):
            dp.density(VALUES, bounds=(0, 1), kernel="fourier", noise="gamma", epsilon=1.0)

    @pytest.mark.parametrize("shape", ["laplace", "gamma"])
    def test_noise_of_coefficients_has_the_sd_it_says(self, shape):
        circle = Circle.of([0.1], 4)
        made = Coefficients.of(Budget(1.0), 100, circle, shape, 1.0)
        zero = np.zeros(9)
        drawn = np.array([made.add(zero, noise(k)) for k in range(4000)])
        assert (drawn[:, 0] == 1).all()
        assert drawn[:, 1:].std(axis=0) == pytest.approx(np.full(8, made.sd), rel=0.1)
        again = made.draw(4000, np.random.default_rng(1))
        assert again.std(axis=1) == pytest.approx(np.full(8, made.sd), rel=0.1)

    def test_what_is_said_beforehand_is_what_comes(self):
        for kernel, delta in (("gaussian", 1e-6), ("sobolev", 1e-6), ("fourier", 0.0)):
            found = dp.density(VALUES, bounds=(0, 1), kernel=kernel, epsilon=1.0, delta=delta, source=noise())
            said = expected_noise(400, [1.0], Budget(1.0, delta), None, kernel)
            assert said == pytest.approx(np.median(found.noise_sd), rel=0.02)

    def test_safe_noise_a_ledger_and_withdrawn_claims(self):
        book = []

        class Ledger:
            def charge(self, what, **price):
                book.append((what, price["epsilon"], price["delta"]))

        series = pd.Series(VALUES, name="wage")
        dp.density(series, bounds=(0, 1), grid=8, epsilon=0.5, delta=1e-6, ledger=Ledger())
        dp.density(series, bounds=(0, 1), grid=8, epsilon=0.5, ledger=Ledger())
        assert book == [("density of wage", 0.5, 1e-6), ("density of wage", 0.5, 0.0)]
        void = dp.density(series, bounds="data", grid=8, epsilon=0.5, source=noise())
        assert (void.epsilon, void.delta) == (None, None)
        assert "NonPrivate: the bounds were taken from the data" in repr(void)
        assert "ε = " not in repr(void)

    @pytest.mark.parametrize("bounds", ["data", ["data"], [(0, 1)], (0, 1), np.array([0, 1])])
    def test_bounds_of_one_column_in_every_form(self, bounds):
        found = dp.density([VALUES], bounds=bounds, grid=8, epsilon=1.0, source=noise())
        assert (found.epsilon is None) == ("data" in bounds)

    def test_an_array_of_records_by_columns(self):
        both = np.column_stack([VALUES, VALUES**2])
        price = {"bounds": [(0, 1)] * 2, "grid": 4, **PRICE}
        found = dp.density(both, **price, source=noise())
        assert found.estimate.tolist() == dp.density(list(both.T), **price, source=noise()).estimate.tolist()

    def test_a_bandwidth_as_wide_as_the_bounds_is_remarked_on(self):
        found = dp.density(VALUES, bounds=(0, 1), bandwidth=5, grid=4, epsilon=1.0, source=noise())
        assert any(note.startswith("a bandwidth of 5 times the bounds' width: little is left") for note in found.notes)
        usual = dp.density(VALUES, bounds=(0, 1), grid=40, epsilon=1.0, source=noise())
        assert not any("bandwidth" in note for note in usual.notes)
        assert "Laplace noise" in usual.notes[1]
        assert "(one cell in 2, of 40)" in repr(usual)

    @pytest.mark.parametrize("ask", [dp.density, dp.smooth_median])
    def test_no_other_adjacency_is_recommended_where_there_is_none(self, ask):
        with pytest.raises(InputError) as error:
            ask([0.1, np.nan, 0.3], bounds=(0, 1), **PRICE)
        assert str(error.value) == "values: 1 values are missing; first at row 2. Fill them in."

    def test_it_says_when_all_is_noise(self):
        found = dp.density(VALUES, bounds=(0, 1), grid=8, epsilon=0.001, delta=1e-6, source=noise())
        assert any("this result is mostly noise; raise ε, or the bandwidth" in note for note in found.notes)
        assert found.weights.sum() == pytest.approx(1)

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ({"epsilon": 0}, "epsilon: must be a number above 0, found 0."),
            ({"bandwidth": 0}, "bandwidth: must be a finite number above 0, found 0."),
            ({"bandwidth": 1e-5}, "bandwidth: must be at least 0.000244 for these bounds, found 1e-05."),
            ({"bandwidth": "silverman"}, "bandwidth: must be a number known without the data, or be left out, found"),
            ({"bandwidth": [0.1, 0.2]}, "bandwidth: must be one for each of 1 columns, found 2."),
            ({"grid": [0.5, 1.5]}, "grid: must lie within the bounds [0, 1]."),
            ({"grid": 1}, "grid: must be a whole number of at least 2 cells, found 1."),
            ({"grid": [0.5, 0.2]}, "grid: must be a number of cells, or two or more increasing finite points."),
            ({"grid": MOST_CELLS + 1}, "grid: at most 1,000,000 cells, found 1,000,001."),
            ({"kernel": "uniform"}, "kernel: must be one of gaussian, sobolev, fourier, found 'uniform'."),
            (
                {"kernel": "gaussian"},
                "delta: the kernel gaussian needs one above 0, such as 1e-6; kernel fourier takes 0.",
            ),
            ({"noise": "cauchy"}, "noise: must be one of laplace, gamma, found 'cauchy'."),
            ({"noise": "gamma", "delta": 1e-6, "kernel": "fourier"}, "noise: gamma is for delta 0; leave it out"),
            ({"decay": 2.0}, "decay: belongs to the kernel sobolev, found with fourier."),
            (
                {"frequencies": 3, "delta": 1e-6},
                "frequencies and noise: belong to the kernel fourier, found with gaussian.",
            ),
            ({"frequencies": 0}, "frequencies: must be a whole number of at least 1, found 0."),
            ({"adjacency": "add_remove"}, "density: takes adjacency replace only, as bandwidth and noise follow from"),
            ({"bounds": (1, 0)}, "values: bounds must be increasing, found [1, 0]."),
            ({"bounds": None}, "values: bounds are missing."),
        ],
    )
    def test_refusals(self, more, sentence):
        with pytest.raises(InputError) as error:
            dp.density(VALUES, **{"bounds": (0, 1), "epsilon": 1.0, **more}, source=noise())
        assert str(error.value).startswith(sentence)

    def test_more_columns_and_coefficients_than_it_takes(self):
        with pytest.raises(
            InputError, match="density: takes one to three columns, found 4; noise grows fast with each"
        ):
            dp.density([VALUES] * 4, bounds=[(0, 1)] * 4, epsilon=1.0)
        with pytest.raises(InputError, match="grid: must be one for each of 2 columns, found 3"):
            dp.density([VALUES] * 2, bounds=[(0, 1)] * 2, grid=[2, 2, 2], epsilon=1.0)
        with pytest.raises(InputError, match="Fourier coefficients, at most 40,000; use a larger bandwidth"):
            dp.density([VALUES] * 2, bounds=[(0, 1)] * 2, bandwidth=0.005, epsilon=1.0)

    def test_bandwidths_from_n_are_never_too_narrow_for_the_table(self):
        assert from_size(10**30, 1) == least_bandwidth(1) == 4 / (NODES[1] - 1)


class TestSupportVectors:
    def test_the_minimum_is_that_of_a_general_solver(self):
        from scipy.optimize import minimize

        rng = np.random.default_rng(4)
        features, sign, lam = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30), 0.1
        found = minimise(features, sign, lam, 1e-6)

        def objective(w):
            return np.maximum(1 - sign * (features @ w), 0).mean() + lam * w @ w

        best = min(
            minimize(
                objective, found + rng.normal(0, 0.1, 3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
            ).fun
            for _ in range(3)
        )
        assert objective(found) <= best + 1e-9

    def test_the_logistic_minimum_is_certain(self):
        """The gradient is all there is to know of the distance: F is 2λ-strongly convex."""
        rng = np.random.default_rng(6)
        features, sign = rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], 60)
        for lam, within in ((1e-4, 1e-6), (1.0, 1e-9)):
            found = minimise(features, sign, lam, within, "logistic")
            wrong = 1 / (1 + np.exp(sign * (features @ found)))
            gradient = 2 * lam * found - (features * (sign * wrong)[:, None]).mean(axis=0)
            assert np.linalg.norm(gradient) <= 2 * lam * within

    def test_logistic_gives_probabilities(self):
        rng = np.random.default_rng(7)
        x = rng.uniform(0, 1, 20_000)
        y = rng.random(20_000) < 1 / (1 + np.exp(-4 * np.sin(5 * x)))
        found = svm(x, y, bounds=[(0, 1)], bandwidth=0.3, regularisation=1e-3, loss="logistic", **PRICE, source=noise())
        at = np.linspace(0.05, 0.95, 19)
        assert np.abs(1 / (1 + np.exp(-found.decision(at))) - 1 / (1 + np.exp(-4 * np.sin(5 * at)))).max() < 0.1
        assert found.statistic == "kernel logistic regression on x1"

    def test_it_learns_and_is_a_function_of_the_columns_own_units(self):
        rng = np.random.default_rng(5)
        x = pd.DataFrame({"age": rng.uniform(20, 80, 3000), "score": rng.uniform(0, 10, 3000)})
        y = x["age"] / 6 > x["score"]
        found = svm(x, y, bounds=[(0, 100), (0, 10)], bandwidth=[30, 3], regularisation=0.01, **PRICE)
        assert (found.predict(x) == np.where(y, 1, -1)).mean() > 0.85
        assert found.statistic == "support vector machine on age, score"
        assert found.without_interval
        assert len(found.table()) == len(found.landmarks[0]) * len(found.landmarks[1])
        assert "Classifier(2 columns" in repr(found)

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ({"y": VALUES}, "y: must be −1 or 1, or 0 or 1."),
            ({"y": [0, 1]}, "y: must be 400 numbers, one for each record."),
            ({"y": ["a"] * 400}, "y: must be 400 numbers, one for each record."),
            ({"regularisation": 0}, "regularisation: must be a finite number above 0, found 0."),
            ({"bandwidth": -1}, "bandwidth: must be a finite number above 0, found -1."),
            ({"bandwidth": 1e-4}, "svm: 10,001 landmarks, at most 2,000; use a larger bandwidth."),
            ({"adjacency": "add_remove"}, "svm: takes adjacency replace only, as its noise follows from the number of"),
            ({"delta": 0.0}, "svm: Gaussian noise needs a delta above 0, such as 1e-6, found 0."),
            ({"x": [VALUES] * 4}, "svm: takes one to three columns, found 4."),
            ({"loss": "squared"}, "loss: must be hinge or logistic, found 'squared'."),
        ],
    )
    def test_refusals(self, more, sentence):
        asked = {"x": VALUES, "y": VALUES > 0.5, "bounds": [(0, 1)], "bandwidth": 0.3, "regularisation": 0.1}
        with pytest.raises(InputError) as error:
            svm(**{**asked, **PRICE, **more}, source=noise())
        assert str(error.value).startswith(sentence)

    def test_what_cannot_be_finished_or_asked(self, monkeypatch):
        found = svm(VALUES, VALUES > 0.5, bounds=[(0, 1)], bandwidth=0.3, regularisation=0.1, **PRICE, source=noise())
        with pytest.raises(InputError, match="x: must have 1 columns, found an array of shape"):
            found.decision(np.zeros((2, 3)))
        for name in ("PASSES", "MOST_PASSES"):
            monkeypatch.setattr(sys.modules["synthdp.dp.margins"], name, 0)
        with pytest.raises(Unfinished, match="svm: not within 1% after 0 passes; use a larger regularisation"):
            minimise(np.ones((3, 1)), np.ones(3), 0.1, 1e-9)
        monkeypatch.setattr(sys.modules["synthdp.dp.margins"], "STEPS", 0)
        with pytest.raises(Unfinished, match="svm: not within 1% after 0 steps; use a larger regularisation"):
            minimise(np.ones((3, 1)), np.ones(3), 0.1, 1e-9, "logistic")


class TestTwoErrorsApart:
    """Privacy noise and sampling, side by side; for a normal mean their squares add up to those of the interval."""

    def test_squares_add_up(self):
        found = dp.mean(VALUES, bounds=(0, 1), epsilon=1.0, delta=1e-5, source=noise())
        half = (found.high - found.low) / 2
        assert half == pytest.approx(1.959964 * math.hypot(found.noise_sd, found.sampling_sd), rel=1e-6)
        assert "standard deviations: privacy noise " in repr(found)

    def test_each_is_what_it_says(self):
        rng = np.random.default_rng(6)
        frame = np.array([rng.normal(0.5, 0.1, 500) for _ in range(300)])
        price = {"bounds": (0, 1), "epsilon": 1.0, "delta": 1e-5}
        means = [dp.mean(row, **price, source=Simulated(rng)) for row in frame]
        errors = [one.estimate - row.mean() for one, row in zip(means, frame, strict=True)]
        assert np.std(errors) == pytest.approx(means[0].noise_sd, rel=4 / math.sqrt(600))
        assert np.median([one.sampling_sd for one in means]) == pytest.approx(0.1 / math.sqrt(500), rel=0.1)

    def test_records_in_the_file_are_not_sampled(self):
        counted = dp.count(VALUES, epsilon=0.5, source=noise())
        drawn = [Simulated(np.random.default_rng(k)).discrete_laplace(np.array([0]), scale=2.0)[0] for k in range(4000)]
        assert counted.noise_sd == pytest.approx(np.std(drawn), rel=0.1)
        assert counted.sampling_sd == 0.0
        cells = dp.histogram(VALUES, edges=[0, 0.5, 1], epsilon=1.0, source=noise())
        assert cells.noise_sd.tolist() == pytest.approx([counted.noise_sd] * 2)
        assert cells.sampling_sd.tolist() == [0.0, 0.0]

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_every_statistic_with_a_noise_of_its_own_tells_both(self, adjacency):
        price = {"epsilon": 2.0, "adjacency": adjacency, "source": noise()}
        found = (
            dp.mean(VALUES, bounds=(0, 1), **price),
            dp.variance(VALUES, bounds=(0, 1), **price),
            dp.sum(VALUES, bounds=(0, 1), **price),
            dp.count(VALUES, **price),
            dp.cov([VALUES, VALUES[::-1]], bounds=[(0, 1)] * 2, **price),
            dp.ols(VALUES, [VALUES[::-1]], bounds_y=(0, 1), bounds_x=[(0, 1)], **price),
        )
        for one in found:
            assert np.all(np.asarray(one.noise_sd) > 0), one.statistic
            assert np.all(np.asarray(one.sampling_sd) >= 0), one.statistic
            assert "standard deviations: privacy noise" in repr(one)
        # chosen, not blurred: the exponential mechanism has no noise with an sd
        assert dp.median(VALUES, bounds=(0, 1), **price).noise_sd is None
