"""The order in which the rows of a copy are released: a permutation of all rows that can be made piece by piece.

Every record takes one of as many buckets as there are blocks of records, at random; buckets follow each other, and the
rows of each are in an order of their own. That is a uniformly random permutation of all rows, whatever the sizes of the
buckets come to: the place of a row tells nothing of the record behind it, nor of its block. The buckets of a block's
records need no other block, and the order within a bucket no other bucket, so that files which do not fit into memory
are shuffled in two passes, into the same order.
"""

import numpy as np

from synthdp.arrays import Codes
from synthdp.seeding import Streams, in_blocks


def row_order(streams: Streams, copy: int, records: int) -> Codes:
    """Return which row of a copy stands in each place of the released file."""
    blocks = list(in_blocks(records))
    if len(blocks) == 1:
        return streams.generator("shuffle", copy).permutation(records)
    taken = [buckets(streams, copy, number, rows.stop - rows.start, len(blocks)) for number, rows in blocks]
    chosen = np.concatenate(taken)
    order = np.argsort(chosen, kind="stable")
    cuts = np.cumsum(np.bincount(chosen, minlength=len(blocks)))[:-1]
    parts = (part[within(streams, copy, bucket, len(part))] for bucket, part in enumerate(np.split(order, cuts)))
    return np.concatenate(list(parts))


def buckets(streams: Streams, copy: int, block: int, records: int, count: int) -> Codes:
    """Return which of so many buckets each record of a block takes."""
    return streams.block(block, "shuffle", copy).integers(count, size=records)


def within(streams: Streams, copy: int, bucket: int, rows: int) -> Codes:
    """Return the order of the rows of a bucket, which come in that of the records."""
    return streams.generator("shuffle", copy, "bucket", bucket).permutation(rows)
