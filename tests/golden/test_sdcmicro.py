"""Microaggregation, PRAM, rank swapping, counts of look-alikes and individual risk against sdcMicro 5.8.0 (R 4.2.2).

All on the 300 bundled patients of ``data/registry_small.csv``, d below. How the numbers came about, in R:

    c5 <- c("age", "disease_duration", "fvc", "dlco", "tlc");  x <- d[complete.cases(d[, c5]), c5]      # all 300
    m <- microaggregation(x, method = "mdav", aggr = k)$mx;  colSums((m - x)^2)
    microaggregation(d[, c("age", "fvc")], method = "onedims", aggr = 3)$mx
    set.seed(1);  attr(pram(data.frame(e = factor(d$education)), variables = "e", pd = .7, alpha = .5),
    "pram_params")$e$Rs set.seed(1);  runif(2, .7, 1)                       # the diagonal of its P, which it does not
    return
    rankSwap(data.frame(x = 1:300), TopPercent = 0, BottomPercent = 0, P = p, seed = s)   # for 1000 seeds below 1e9
    k5 <- age in (0, 45, 55, 65, 100], sex, race, education, duration in (-1, 5, 10, 20, 80], as whole numbers
    f <- freqCalc(d, keyVars = k5, w = "w")             # d$w: 20 + (1:300 %% 7) * 10
    indivRisk(f, method = "exact")$rk;  localSuppression(d[, k5], keyVars = 1:5, k = k)$supps

Two things to know of it: ``P`` is a share of the records there (its help says percent; with P = 5 every rank may change
places with every other), and a rank reaches one short of n·P. Seeds that follow each other give related draws.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.risk.uniqueness import population_risk
from synthdp.synthesis.maskings.exchange import invariant
from synthdp.synthesis.maskings.microaggregation import averaged
from synthdp.synthesis.maskings.ranks import partners
from synthdp.synthesis.maskings.suppression import agreeing, suppressed
from synthdp.table.coded import joint

PATIENTS = pd.read_csv(Path(__file__).parents[2] / "data" / "registry_small.csv")
NUMBERS = ["age", "disease_duration", "fvc", "dlco", "tlc"]
MDAV = {
    3: (3647.467, 1561.547, 7099.333, 9798.000, 5938.000),
    5: (5983.812, 2587.060, 11927.600, 15682.000, 9968.800),
    10: (8993.048, 4273.851, 17672.800, 26734.800, 13834.400),
}
FIRST = (
    (64.6666666666667, 32.4666666666667, 96.3333333333333, 53, 102.333333333333),
    (73.3666666666667, 6.3, 70.6666666666667, 54.6666666666667, 96.6666666666667),
    (77.1666666666667, 5.86666666666667, 99.3333333333333, 81.6666666666667, 107.666666666667),
)
RANKED = ((62.5666666666667, 105.333333333333), (78.1, 62), (69.0666666666667, 101))


@pytest.mark.parametrize("k", MDAV)
def test_mdav_loses_as_much(k):
    values = PATIENTS[NUMBERS].to_numpy()
    shown = averaged(values, k)
    assert ((shown - values) ** 2).sum(axis=0) == pytest.approx(MDAV[k], abs=1e-3)
    if k == 3:
        np.testing.assert_allclose(shown[:3], FIRST)


def test_individual_ranking_is_the_same():
    values = PATIENTS[["age", "fvc"]].to_numpy()
    shown = np.column_stack([averaged(values[:, [j]], 3) for j in range(2)])
    np.testing.assert_allclose(shown[:3], RANKED)


def test_invariant_pram_has_its_matrix():
    own = np.array([0.779652598943, 0.811637169891])
    matrix = np.array([[own[0], 1 - own[0]], [1 - own[1], own[1]]])
    counts = PATIENTS["education"].value_counts().loc[["college", "school"]].to_numpy()
    found = 0.5 * invariant(counts / 300, matrix) + 0.5 * np.eye(2)
    assert found == pytest.approx(np.array([[0.862796788383, 0.137203211617], [0.192084496264, 0.807915503736]]))


@pytest.mark.parametrize(
    ("share", "moved", "error", "correlation"),
    [(0.05, 0.027436533, 3.6e-5, 0.994411776), (0.1, 0.053858622, 7.4e-5, 0.977916277)],
)
def test_rank_swapping_moves_as_far(share, moved, error, correlation):
    rng, ranks = np.random.default_rng(1), np.arange(300)
    swapped = [partners(300, round(300 * share) - 1, rng) for _ in range(300)]
    distance = np.array([np.abs(one - ranks).mean() / 300 for one in swapped])
    assert abs(distance.mean() - moved) < 4 * np.hypot(error, distance.std() / np.sqrt(300))
    kept = np.array([np.corrcoef(one, ranks)[0, 1] for one in swapped])
    assert abs(kept.mean() - correlation) < 4 * kept.std() * np.sqrt(1 / 300 + 1 / 1000)


def classed():
    """Return the five keys of the 300 patients as codes."""
    age = pd.cut(PATIENTS["age"], [0, 45, 55, 65, 100], labels=False)
    duration = pd.cut(PATIENTS["disease_duration"], [-1, 5, 10, 20, 80], labels=False)
    levels = [pd.factorize(PATIENTS[name])[0] for name in ("sex", "race", "education")]
    return np.column_stack([age, *levels, duration]).astype(np.int64)


def test_counts_of_look_alikes():
    found = agreeing(classed(), 0b11111)
    assert [(found < k).sum() for k in (2, 3, 5)] == [25, 53, 96]
    assert [(found == k).sum() for k in range(1, 7)] == [25, 28, 15, 28, 20, 30]


def test_individual_risk():
    weights = 20 + (np.arange(1, 301) % 7) * 10.0
    found = population_risk(joint(list(classed().T)), weights)
    assert found["expected_links"] == pytest.approx(3.622607978168, rel=1e-10)
    assert found["max_individual"] == pytest.approx(0.157670119661, rel=1e-10)


@pytest.mark.parametrize(("k", "theirs"), [(3, (14, 0, 0, 1, 42)), (5, (22, 0, 0, 3, 79))])
def test_suppression_loses_no_more(k, theirs):
    """By their order of importance; the two choose among equal sets of columns in ways of their own."""
    keys = classed()
    gone = suppressed(keys, k, (4, 0, 3, 2, 1))
    assert gone.sum() <= sum(theirs)
    left = np.where(gone, -1, keys)
    alike = [((left == row) | (left == -1) | (row == -1)).all(axis=1).sum() for row in left]
    assert min(alike) >= k
