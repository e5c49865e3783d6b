"""The judgement of a release that is made shard by shard: every draw is made, attacked and thrown away."""
