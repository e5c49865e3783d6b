"""Can a model tell the synthetic records from the original ones? Propensity scores and what they say.

The original and one copy are stacked, and a model predicts which file a record comes from. If the files are alike,
every prediction is near the share of synthetic records.
"""

from synthdp.evaluation.utility.propensity.measuring import evaluate_propensity, propensity
from synthdp.evaluation.utility.propensity.nulls import Propensity, Scores

__all__ = ["Propensity", "Scores", "evaluate_propensity", "propensity"]
