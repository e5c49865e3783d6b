"""Data to try things on: real voters, a simulated registry, and small designs whose truth is known."""

from synthdp.datasets.designs import (
    ANALYSES,
    right_model,
    right_model_truth,
    unseen_outcome,
    unseen_outcome_truth,
    wrong_model,
    wrong_model_truth,
)
from synthdp.datasets.scleroderma import registry
from synthdp.datasets.voters import anes96

__all__ = [
    "ANALYSES",
    "anes96",
    "registry",
    "right_model",
    "right_model_truth",
    "unseen_outcome",
    "unseen_outcome_truth",
    "wrong_model",
    "wrong_model_truth",
]
