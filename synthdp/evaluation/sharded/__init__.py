"""Intruders who look through a file that is never in memory as a whole: what one shard says of the people looked for.

Every attack is cut in three: what the intruder holds (a few hundred people, laws learnt from a sample), what one shard
says (a small thing that adds up), and what all shards come to. Candidates are always all rows of the file, so that
nobody seems to be hidden in a smaller crowd, or in a larger one, than there is.
"""
