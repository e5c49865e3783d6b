"""Who looks like whom on the keys: the one counting kernel for tagging, repair and risk.

Two records are neighbours when they agree on every categorical key and differ by at most the tolerance on every
numeric key. Files are sorted by cell (combination of categorical keys, cut into strips along a second numeric key) and
by the sharpest numeric key, so a record's neighbours lie in a few stretches found by bisection; only those are read.
"""

from synthdp.neighbours.averaging import average
from synthdp.neighbours.matching import Keys, Matches, count_neighbours, encode_keys, match, sum_neighbours

__all__ = ["Keys", "Matches", "average", "count_neighbours", "encode_keys", "match", "sum_neighbours"]
