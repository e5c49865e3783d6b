"""Data to try things on: real voters, a simulated registry, and small designs whose truth is known."""

from synthdp.datasets.bundled import anes96, edwards, registry
from synthdp.datasets.known_truth import (
    ANALYSES,
    right_model,
    right_model_truth,
    unseen_outcome,
    unseen_outcome_truth,
    wrong_model,
    wrong_model_truth,
)
from synthdp.datasets.smokers import ages

__all__ = [
    "ANALYSES",
    "ages",
    "anes96",
    "edwards",
    "registry",
    "right_model",
    "right_model_truth",
    "unseen_outcome",
    "unseen_outcome_truth",
    "wrong_model",
    "wrong_model_truth",
]
