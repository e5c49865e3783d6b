"""Audits: does a mechanism keep its promise? Run it many times on two neighbouring data sets and try to tell.

The auditor holds two neighbouring data sets and may run the mechanism on either as often as they like. On the first
half of the runs they learn a score that tells the two apart; on the second half, which they have not looked at, they
count its errors. What they find is true with the stated confidence whatever the score; a poor score finds less.

* ``epsilon_bound``: ε is at least so much, with confidence (one event, Clopper–Pearson).
* ``check_curve``: are the errors of all tests compatible with a promised trade-off function?
* ``shipped``: every mechanism of the package on neighbours that are hard for it.

An audit can show that a promise is broken; it never proves that it is kept.

References
----------
Jagielski, Ullman, Oprea (2020), "Auditing differentially private machine learning", NeurIPS, Theorem 3 (bound by
Clopper–Pearson). Kong, Muñoz Medina, Ribero, Syed (2024), "DP-Auditorium", IEEE S&P (any mechanism as a function, a
distinguisher learnt from samples). Nasr et al. (2023), USENIX Security (auditing a whole trade-off function).
"""

from synthdp.privacy.audit.bounds import CurveCheck, EpsilonBound, Point, check_curve, epsilon_bound
from synthdp.privacy.audit.cases import Case, Verdict, judge
from synthdp.privacy.audit.runs import Sampler, repeated

__all__ = [
    "Case",
    "CurveCheck",
    "EpsilonBound",
    "Point",
    "Sampler",
    "Verdict",
    "check_curve",
    "epsilon_bound",
    "judge",
    "repeated",
]
