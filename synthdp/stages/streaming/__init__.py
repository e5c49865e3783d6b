"""A run whose table need not fit into memory: shards on disk, passes over them, sums in the order of the blocks."""
