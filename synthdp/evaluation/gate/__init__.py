"""May it go out? Measured risks and usefulness against the limits that the data holder has set."""

from synthdp.evaluation.gate.limits import LIMITS, Limit, Thresholds
from synthdp.evaluation.gate.verdict import Check, Verdict, accepted_risks

__all__ = ["LIMITS", "Check", "Limit", "Thresholds", "Verdict", "accepted_risks"]
