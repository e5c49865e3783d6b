"""DA-MI with a finite ε: W from a mask of fixed strength, and everything else from W.

* ``channel``: how (ε, δ) becomes a mask of every column, and W
* ``moments``: what W says of the moments of X, and how far off that is
* ``posterior``: draws of the moments given W, among those that records can have
* ``method``: the synthesizer ``dp_da_mi``
"""

from synthdp.synthesis.private.masked.method import DpDaMi

__all__ = ["DpDaMi"]
