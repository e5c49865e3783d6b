"""The membership game with shadow fits: whether copies look different when one person was in the data.

``game`` chooses whom to play for and deals who is in which fit, ``questions`` and ``scores`` turn the copies into what
the intruder looks at, ``trial`` says how well members were told from others and which score counts, ``influence`` how
much a record's weight among few explains; ``measure`` plays it all.
"""

from synthdp.evaluation.risk.shadow.measure import ShadowRisk, evaluate_shadow

__all__ = ["ShadowRisk", "evaluate_shadow"]
