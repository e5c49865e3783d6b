"""Masks that depend on X through risk groups bias the copies unless the model knows the groups, or the rule itself."""

from dataclasses import replace

import numpy as np
import pytest

from synthdp.datasets.known_truth import right_model
from synthdp.imputation import predictors
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Rules, tag

pytestmark = pytest.mark.slow

REPLICATIONS = 40


def shifts(replications: int, *, rule_known: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the slope of y on x in the copies minus those in the original, in standard errors."""
    means, slopes = [], []
    for r in range(replications):
        frame = right_model(500, rng=np.random.default_rng(r))
        data = resolve(frame, {name: Variable(role="replace") for name in ("b1", "b2", "x")})
        masks = {"x": Gaussian(sd=0.2), "b1": ShiftedNormal(alpha=2), "b2": ShiftedNormal(alpha=2)}
        tags = tag(data, Rules(rules={"high": "x > 1.5"}))
        # groups of which nobody says what they are a function of, as those by neighbours
        tags = tags if rule_known else replace(tags, rules={})
        plan = Plan(data, tags, masks, {"high": {"x": Gaussian(sd=2.0)}})
        copies = DaMi(copies=5).synthesize(plan, streams=Streams(r)).copies
        se = frame["x"].std() / np.sqrt(len(frame))
        means.append((np.mean([copy["x"].mean() for copy in copies]) - frame["x"].mean()) / se)
        slope = [np.polyfit(copy["x"], copy["y"], 1)[0] for copy in (frame, *copies)]
        slopes.append((np.mean(slope[1:]) - slope[0]) * frame["x"].std() * np.sqrt(len(frame)))
    return np.asarray(means), np.asarray(slopes)


def test_the_group_covariate_removes_the_bias(monkeypatch):
    mean, slope = shifts(REPLICATIONS)
    by_rule = shifts(REPLICATIONS, rule_known=True)
    build = predictors.build
    monkeypatch.setattr(predictors, "build", lambda data, *, exclude=(), **_: build(data, exclude=exclude))
    ignored_mean, ignored_slope = shifts(REPLICATIONS)
    error = 4 / np.sqrt(REPLICATIONS)
    assert abs(ignored_mean.mean()) > 0.5
    assert abs(mean.mean()) < error * mean.std()
    assert abs(slope.mean()) < abs(ignored_slope.mean())
    for shift in by_rule:
        assert abs(shift.mean()) < error * shift.std()
