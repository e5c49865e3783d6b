"""Calibration of the chain: X from p(x | z, θ), W from p(w | x); draws of X given W must rank the true X uniformly."""

import numpy as np
import pytest
from scipy import stats

from synthdp.imputation.families.counts import NegativeBinomialDraw
from synthdp.imputation.families.normal import NormalDraw
from synthdp.imputation.families.ordered import OrderedDraw
from synthdp.imputation.families.unordered import MultinomialDraw
from synthdp.imputation.predictors import AsIndicators, AsNumber
from synthdp.imputation.regression.gibbs import GibbsParameters, Node
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.table.links import Link

pytestmark = pytest.mark.slow

N = 6000
CHAINS = 9
LINK = Link(2.0, 1.5)


def parameters(sweeps: int) -> tuple[GibbsParameters, np.ndarray]:
    """A number first, so that it enters every later regression and nothing is conjugate."""
    design = np.column_stack([np.ones(N), np.random.default_rng(1).normal(size=N)])
    nodes = (
        Node("x", NormalDraw(np.array([[0.2], [0.5]]), 0.8), AsNumber()),
        Node("o", OrderedDraw(np.array([[0.0], [0.4], [0.7]]), np.array([-0.8, 0.1, 0.9]), "probit"), AsIndicators(4)),
        Node(
            "g",
            MultinomialDraw(
                np.array([[0.1, -0.2], [0.3, 0.2], [0.5, -0.4], [0.2, 0.1], [0.4, 0.3], [0.5, 0.6]]),
            ),
            AsIndicators(3),
        ),
        Node(
            "c",
            NegativeBinomialDraw(np.array([[0.3], [0.2], [0.25], [0.1], [0.2], [0.3], [0.2], [-0.2]]), 0.3, 25, LINK),
            AsNumber(LINK.center, LINK.spread),
        ),
    )
    return GibbsParameters(design, nodes, sweeps), design


def flat() -> dict:
    return {
        "x": GaussianEvidence.flat(N),
        "o": LevelEvidence.flat(N, 4),
        "g": LevelEvidence.flat(N, 3),
        "c": GaussianEvidence.flat(N),
    }


def test_the_chain_is_calibrated_for_every_kind():
    rng = np.random.default_rng(2)
    forward, _ = parameters(sweeps=1)
    # without W the forward start is an exact draw of the model; its sweeps leave the model as it is
    truth = forward.draw(flat(), rng=rng)
    keep = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    masked = np.array([rng.choice(3, p=keep[int(level)]) for level in truth["g"]])
    evidence = {
        "x": GaussianEvidence.at(truth["x"] + 0.8 * rng.normal(size=N), np.full(N, 0.8**-2)),
        "o": LevelEvidence(-0.5 * ((truth["o"] + rng.normal(size=N))[:, None] - np.arange(4)) ** 2),
        "g": LevelEvidence(np.log(keep[:, masked].T)),
        "c": GaussianEvidence.at(LINK.forward(truth["c"]) + 0.7 * rng.normal(size=N), np.full(N, 0.7**-2)),
    }
    chain, _ = parameters(sweeps=12)
    below = {name: np.zeros(N, dtype=int) for name in truth}
    # ties of levels are broken by one uniform number per value, the truth's among them: ranks are uniform again
    lot = {name: rng.random(N) for name in truth}
    for _ in range(CHAINS):
        for name, drawn in chain.draw(evidence, rng=rng).items():
            below[name] += (drawn < truth[name]) | ((drawn == truth[name]) & (rng.random(N) < lot[name]))
    for ranks in below.values():
        assert stats.chisquare(np.bincount(ranks, minlength=CHAINS + 1)).pvalue > 1e-3
