"""The logit that the informed intruder learns: scikit-learn's optimum, reached by other steps."""

import numpy as np
import pytest

from synthdp.stages.logit_fit import fit_logit

WEAK = 10.0


def pairs(n: int, levels: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of levels and a badly scaled number, and which level each record has."""
    draw = np.random.default_rng(seed)
    hidden = draw.normal(size=(n, 2))
    shares = (hidden[:, :1] > np.array([-1.0, 0.0, 1.5])).astype(float)
    features = np.column_stack([np.ones(n), 40 * hidden[:, 1], shares])
    scores = hidden @ draw.normal(size=(2, levels)) + draw.gumbel(size=(n, levels))
    return features, scores.argmax(axis=1)


def loss(features: np.ndarray, y: np.ndarray, constants: np.ndarray, slopes: np.ndarray) -> float:
    """Return the penalised sum of losses, record by record."""
    total = 0.0
    for row, level in zip(features, y, strict=True):
        scores = constants + slopes @ row
        total += float(np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[level])
    return total + float((slopes**2).sum()) / (2 * WEAK)


@pytest.mark.parametrize("levels", [2, 4])
def test_the_optimum_is_scikit_learns(levels: int) -> None:
    from sklearn.linear_model import LogisticRegression

    features, y = pairs(400, levels)
    constants, slopes = fit_logit(features, y, levels, weak=WEAK)
    sure = LogisticRegression(C=WEAK, max_iter=100_000, tol=1e-10).fit(features, y)
    told = np.exp(constants + features @ slopes.T)
    told /= told.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(told, sure.predict_proba(features), atol=2e-3)
    if levels == 2:
        # the first level is the reference, and the penalty that of one difference
        assert not slopes[0].any()
        assert constants[0] == 0
        reference = np.concatenate([np.zeros((1, features.shape[1])), sure.coef_])
        best = loss(features, y, np.array([0.0, sure.intercept_[0]]), reference)
    else:
        best = loss(features, y, sure.intercept_, sure.coef_)
    assert best - 1e-9 <= loss(features, y, constants, slopes) < best + 400 * 1e-6


def test_nobody_elses_records_matter() -> None:
    features, y = pairs(300, 3)
    one = fit_logit(features[:200], y[:200], 3, weak=WEAK)
    fit_logit(features, y, 3, weak=WEAK)
    again = fit_logit(features[:200], y[:200], 3, weak=WEAK)
    np.testing.assert_array_equal(one[1], again[1])
