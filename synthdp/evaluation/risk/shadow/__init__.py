"""The membership game with shadow fits: whether copies look different when one person was in the data.

``game`` deals who is in which fit, ``targets`` chooses whom to play for, ``coding`` and ``counting`` read the copies,
``scores`` turns them into what the intruder looks at, ``judging`` says how well members were told from others,
``deciding`` which score counts, ``influence`` how much a record's weight among few explains; ``measure`` plays it all.
"""

from synthdp.evaluation.risk.shadow.measure import ShadowRisk, evaluate_shadow

__all__ = ["ShadowRisk", "evaluate_shadow"]
