"""k-means: without noise it is Lloyd's algorithm, sensitivities are those of neighbours, names stand in its table."""

import itertools

import numpy as np
import pytest

from synthdp import dp
from synthdp.dp.kmeans import _nearest
from synthdp.dp.noise import Noise
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Simulated


def test_without_noise_it_is_lloyds_algorithm(monkeypatch):
    monkeypatch.setattr(Noise, "add", lambda self, centre, source: centre)
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal([[20], [60]], 2, (2, 200)).ravel(), rng.normal([[1], [4]], 0.2, (2, 200)).ravel()])
    found = dp.kmeans(
        list(x.T), 2, bounds=[(0, 100), (0, 5)], rounds=6, epsilon=1, source=Simulated(np.random.default_rng(2))
    )
    order = np.argsort(found.centres[:, 0])
    np.testing.assert_allclose(found.centres[order], [x[:200].mean(axis=0), x[200:].mean(axis=0)], rtol=1e-10)
    assert found.sizes[order].tolist() == [200, 200]


@pytest.mark.parametrize(("adjacency", "most"), [("replace", 2.0), ("add_remove", 1.0)])
def test_no_neighbour_moves_counts_or_sums_further_than_the_noise_is_for(adjacency, most):
    # every change of one record of three, values on a grid that holds the corners, centres anywhere
    rng = np.random.default_rng(3)
    grid = [np.array(point) / 2 for point in itertools.product([-1.0, 0.0, 1.0], repeat=2)]
    reached = np.zeros(2)
    for _ in range(40):
        centres = rng.uniform(-0.5, 0.5, (3, 2))
        base = rng.choice(len(grid), 3)
        one = _statistics(np.array([grid[i] for i in base]), centres)
        for value in grid:
            rows = [grid[i] for i in base]
            other = [value, *rows[1:]] if adjacency == "replace" else [*rows, value]
            two = _statistics(np.array(other), centres)
            reached = np.maximum(reached, [np.abs(a - b).sum() for a, b in zip(one, two, strict=True)])
    assert (reached <= most + 1e-12).all()
    np.testing.assert_allclose(reached, most)


def _statistics(points, centres):
    nearest = _nearest(points, centres)
    counts = np.bincount(nearest, minlength=len(centres)).astype(float)
    return counts, np.array([points[nearest == k].sum(axis=0) for k in range(len(centres))])


def test_every_round_pays_its_share():
    for adjacency, moved in (("replace", 2.0), ("add_remove", 1.0)):
        source = Simulated(np.random.default_rng(1))
        found = dp.kmeans(
            [np.linspace(0, 1, 50)], 2, bounds=[(0, 1)], rounds=4, epsilon=2, adjacency=adjacency, source=source
        )
        assert f"noise of scale {moved / (2 / 8):.3g} on every count and sum" in found.notes[0]


def test_names_and_absence_are_told():
    ages = np.linspace(18, 90, 300)
    found = dp.kmeans(
        [ages], 2, bounds=[(18, 90)], names=["size"], epsilon=5, source=Simulated(np.random.default_rng(1))
    )
    assert found.table().columns.tolist() == ["size", "noisy size"]
    assert found.table().index.name == "cluster"
    both = dp.kmeans(
        [ages], 2, bounds=[(18, 90)], names=["cluster"], epsilon=5, source=Simulated(np.random.default_rng(1))
    )
    assert both.table().reset_index().columns.tolist() == ["number", "cluster", "size"]
    assert found.text().startswith("Clusters, 2 means\n")
    assert "no interval: centres depend on where the rounds began" in found.text()
    with pytest.raises(InputError, match="names: must be 1, one for each column, found 2"):
        dp.kmeans([ages], 2, bounds=[(18, 90)], names=["a", "b"], epsilon=1)
